package openaichat

import (
	"net"
	"net/url"
	"strings"
	"sync"

	"varve/internal/providers"
	"varve/internal/session"
)

// A Profile says how one family of servers differs (wire.md §1.2, §5). It is
// data: the code asks for a property, never for a name.
type Profile struct {
	Name       string
	Hosts      []string // suffixes of host names
	Port       string   // its usual port, on this machine
	Anywhere   bool     // that port means it on any host
	Role       string   // of the instructions
	MaxField   string   // name of the output limit
	NullText   bool     // an assistant message of calls alone has content null, not ""
	CacheKey   bool     // takes prompt_cache_key
	NoStore    bool     // takes store:false
	Effort     string   // how reasoning is asked for: see reasoningFields
	Reasoning  string   // replay: "as it came", "everywhere", "none"
	Takes      string   // the fields in which reasoning goes back as it came
	IDs        string   // form of call ids: "strict", "loose", "nine"
	ToolName   bool     // results carry the tool's name
	Notes      bool     // takes annotations back
	Refusal    bool     // takes a refusal back
	Extra      []field  // members that every request carries
	ExtraTools []field  // the same, where there are tools
	Local      string   // how it tells its window: "props", "ollama", "lmstudio"
}

var profiles = sync.OnceValue(func() []Profile {
	list := []Profile{
		{
			Name: "openai", Hosts: []string{"api.openai.com", ".openai.azure.com"}, Role: "developer", MaxField: "max_completion_tokens",
			NullText: true, CacheKey: true, NoStore: true, Refusal: true, Effort: "effort", Reasoning: "none",
		},
		{Name: "deepseek", Hosts: []string{"deepseek.com"}, Effort: "thinking+effort", Reasoning: "everywhere"},
		{Name: "zai", Hosts: []string{"z.ai", "bigmodel.cn"}, Effort: "zai", Reasoning: "everywhere", ExtraTools: []field{{"tool_stream", "true"}}},
		{Name: "qwen", Hosts: []string{"dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com", "aliyuncs.com"}, Effort: "enable_thinking", Takes: "reasoning_content"},
		{Name: "moonshot", Hosts: []string{"moonshot.ai", "moonshot.cn", "kimi.com"}, Effort: "kimi", Reasoning: "everywhere", IDs: "loose"},
		{Name: "openrouter", Hosts: []string{"openrouter.ai"}, Effort: "object", Takes: "reasoning reasoning_details", Notes: true, Refusal: true, Extra: []field{{"transforms", "[]"}}},
		{Name: "groq", Hosts: []string{"groq.com"}, Effort: "effort+parsed", Reasoning: "none"},
		{Name: "mistral", Hosts: []string{"mistral.ai"}, Effort: "effort", Takes: "content", CacheKey: true, IDs: "nine", ToolName: true},
		{Name: "cerebras", Hosts: []string{"cerebras.ai"}, Effort: "effort", Takes: "reasoning"},
		{Name: "xai", Hosts: []string{"x.ai"}, Effort: "effort", Reasoning: "none"},
		{Name: "together", Hosts: []string{"together.xyz", "together.ai"}, Effort: "enabled", Takes: "reasoning reasoning_content", IDs: "loose"},
		{Name: "ollama", Hosts: []string{"ollama.com"}, Port: "11434", Anywhere: true, Effort: "effort", Takes: "reasoning", IDs: "loose", Local: "ollama"},
		{Name: "llamacpp", Port: "8080", Effort: "effort", Takes: "reasoning_content", IDs: "loose", Local: "props"},
		{Name: "lmstudio", Port: "1234", Anywhere: true, Effort: "effort", Takes: "reasoning reasoning_content", IDs: "loose", Local: "lmstudio"},
		{Name: "vllm", Port: "8000", Effort: "effort", Takes: "reasoning reasoning_content", IDs: "loose"},
		{Name: "generic", Effort: "effort"},
	}
	for i := range list {
		p := &list[i]
		set := func(field *string, to string) {
			if *field == "" {
				*field = to
			}
		}
		set(&p.Role, "system")
		set(&p.MaxField, "max_tokens")
		set(&p.Reasoning, "as it came")
		set(&p.Takes, "reasoning_content reasoning reasoning_text reasoning_details content")
		set(&p.IDs, "strict")
	}
	return list
})

// Named returns the profile of that name. Common other names of a vendor are
// known too.
func Named(name string) (Profile, bool) {
	name = strings.ToLower(name)
	switch name {
	case "glm", "zhipu", "z.ai", "zhipuai":
		name = "zai"
	case "dashscope", "alibaba":
		name = "qwen"
	case "kimi", "moonshotai":
		name = "moonshot"
	case "llama.cpp", "llama-cpp", "llama-server":
		name = "llamacpp"
	case "lm-studio", "lm studio":
		name = "lmstudio"
	case "grok", "x.ai":
		name = "xai"
	case "azure":
		name = "openai"
	}
	for _, p := range profiles() {
		if p.Name == name {
			return p, true
		}
	}
	return Profile{}, false
}

// ProfileFor returns the profile that fits a provider's name, else its URL's
// host or port, else the generic one.
func ProfileFor(provider, baseURL string) Profile {
	u, err := url.Parse(strings.TrimSpace(baseURL))
	known := err == nil && u.Hostname() != ""
	if known {
		host := strings.ToLower(u.Hostname())
		for _, p := range profiles() {
			for _, h := range p.Hosts {
				if host == strings.TrimPrefix(h, ".") || strings.HasSuffix(host, "."+strings.TrimPrefix(h, ".")) {
					return p
				}
			}
		}
	}
	// A name is taken for the vendor's even on another host: a proxy, a fake.
	if p, ok := Named(provider); ok {
		return p
	}
	if known {
		ip := net.ParseIP(u.Hostname())
		here := u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
		for _, p := range profiles() {
			if p.Port != "" && p.Port == u.Port() && (here || p.Anywhere) {
				return p
			}
		}
	}
	p, _ := Named("generic")
	return p
}

// profileOf is the profile of an endpoint.
func profileOf(to providers.Endpoint) Profile {
	if p, ok := Named(to.Profile); ok {
		return p
	}
	return ProfileFor(to.Provider, to.BaseURL)
}

// with applies what an endpoint has shown. Fields to be dropped are returned.
func (p Profile) with(quirks []session.EndpointLearned) (Profile, map[string]bool) {
	drop := map[string]bool{}
	for _, q := range quirks {
		switch q.Quirk {
		case providers.QuirkDrop:
			drop[q.Value] = true
		case providers.QuirkMaxField:
			p.MaxField = q.Value
		case providers.QuirkRole:
			p.Role = q.Value
		case providers.QuirkReasoning:
			p.Reasoning = q.Value
		}
	}
	return p, drop
}

// field is a top-level member of a request.
type field struct{ name, json string }

// reasoningFields ask for an amount of reasoning; level "" is the provider's
// own default.
func (p Profile) reasoningFields(model, level string) []field {
	off := level == "none" || level == "off"
	quoted := string(session.AppendQuoted(nil, []byte(level)))
	thinking := field{"thinking", `{"type":"enabled"}`}
	if off {
		thinking.json = `{"type":"disabled"}`
	}
	if p.Effort == "zai" {
		// What was thought is kept in the context, and so replayed as it was.
		if off {
			return []field{thinking}
		}
		all := []field{{"thinking", `{"type":"enabled","clear_thinking":false}`}}
		if level != "" {
			all = append(all, field{"reasoning_effort", quoted})
		}
		return all
	}
	if level == "" {
		return nil
	}
	effort := field{"reasoning_effort", quoted}
	switch p.Effort {
	case "thinking+effort":
		if off {
			return []field{thinking}
		}
		return []field{thinking, effort}
	case "enable_thinking":
		if off {
			return []field{{"enable_thinking", "false"}}
		}
		return []field{{"enable_thinking", "true"}}
	case "kimi":
		if strings.Contains(strings.ToLower(model), "k3") {
			return []field{effort}
		}
		return []field{thinking}
	case "object":
		if off {
			return []field{{"reasoning", `{"enabled":false}`}}
		}
		return []field{{"reasoning", `{"effort":` + quoted + `}`}}
	case "enabled":
		if off {
			return []field{{"reasoning", `{"enabled":false}`}}
		}
		return []field{{"reasoning", `{"enabled":true}`}}
	case "effort+parsed":
		return []field{effort, {"reasoning_format", `"parsed"`}}
	}
	return []field{effort}
}
