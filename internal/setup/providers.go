package setup

import (
	"slices"
	"strings"
)

// builtins are the providers that need nothing but a key, or a server on this machine.
// Their base URLs are what the vendors document for their own SDKs.
func builtins() []struct {
	name, api, url string
	env            []string
} {
	type row = struct {
		name, api, url string
		env            []string
	}
	return []row{
		{"anthropic", "anthropic-messages", "https://api.anthropic.com", []string{"ANTHROPIC_API_KEY"}},
		{"openai", "openai-chat", "https://api.openai.com/v1", []string{"OPENAI_API_KEY"}},
		{"gemini", "gemini", "https://generativelanguage.googleapis.com", []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}},
		{"deepseek", "openai-chat", "https://api.deepseek.com/v1", []string{"DEEPSEEK_API_KEY"}},
		{"zai", "openai-chat", "https://api.z.ai/api/paas/v4", []string{"ZAI_API_KEY"}},
		{"moonshot", "openai-chat", "https://api.moonshot.ai/v1", []string{"MOONSHOT_API_KEY"}},
		{"openrouter", "openai-chat", "https://openrouter.ai/api/v1", []string{"OPENROUTER_API_KEY"}},
		{"groq", "openai-chat", "https://api.groq.com/openai/v1", []string{"GROQ_API_KEY"}},
		{"mistral", "openai-chat", "https://api.mistral.ai/v1", []string{"MISTRAL_API_KEY"}},
		{"xai", "openai-chat", "https://api.x.ai/v1", []string{"XAI_API_KEY"}},
		{"ollama", "openai-chat", "http://127.0.0.1:11434/v1", nil},
		{"lmstudio", "openai-chat", "http://127.0.0.1:1234/v1", nil},
		{"llamacpp", "openai-chat", "http://127.0.0.1:8080/v1", nil},
		{"vllm", "openai-chat", "http://127.0.0.1:8000/v1", nil},
	}
}

func builtin(name string) (Provider, bool) {
	for _, b := range builtins() {
		if b.name == name {
			return Provider{
				API: b.api, BaseURL: b.url, StallTimeout: DefaultStall, keyEnv: b.env,
				Headers: map[string]Secret{}, Models: map[string]ModelLimits{},
			}, true
		}
	}
	return Provider{StallTimeout: DefaultStall}, false
}

// Provider is a provider by its exact name: the file's entry over the built-in one. An
// entry that was refused is not there, and the built-in one doesn't stand in for it.
func (s *Setup) Provider(name string) (Provider, bool) {
	if p, ok := s.Providers[name]; ok {
		return p, true
	}
	if s.refused[name] {
		return Provider{}, false
	}
	return builtin(name)
}

// Limits are the user's corrections for a model, which go before every table (PRV-8).
func (s *Setup) Limits(m ModelRef) ModelLimits {
	p, _ := s.Provider(m.Provider)
	return p.Models[m.Model]
}

// A KeyState says what is known of a provider's key without using it.
type KeyState string

const (
	KeyPresent   KeyState = "present"
	KeyMissing   KeyState = "missing"
	KeyByCommand KeyState = "command"    // known only when the command has run
	KeyNotNeeded KeyState = "not_needed" // a server on this machine
)

// Usable is one row of the providers there are.
type Usable struct {
	Name    string
	API     string
	BaseURL string
	Key     KeyState
	From    string // where the key is: $NAME, setup.json, key file, command; "" if nowhere
	BuiltIn bool   // the file says nothing of it
}

// Usables lists the configured providers in the file's order, then the built-in ones.
// It looks at the environment and at stored keys; it runs no command and asks no server.
func (s *Setup) Usables() []Usable {
	names := slices.Clone(s.order)
	for _, b := range builtins() {
		if _, mine := s.Providers[b.name]; !mine && !s.refused[b.name] {
			names = append(names, b.name)
		}
	}
	var out []Usable
	for _, name := range names {
		p, _ := s.Provider(name)
		_, mine := s.Providers[name]
		u := Usable{Name: name, API: p.API, BaseURL: p.BaseURL, BuiltIn: !mine}
		place, err := s.findKey(name, p)
		u.From = place.from
		switch {
		case err != nil:
			u.Key = KeyMissing
		case place.from == "":
			u.Key = KeyNotNeeded
		case place.command != "":
			u.Key = KeyByCommand
		default:
			u.Key = KeyPresent
		}
		out = append(out, u)
	}
	return out
}

// KeyEnvNames are the variables that hold provider keys, to be taken out of the
// environment of commands (SEC-2): the vendors' customary names, and every $NAME that the
// settings refer to, less those that permissions.env gives back. Sorted.
func (s *Setup) KeyEnvNames() []string {
	names := strings.Fields(`
		AI_GATEWAY_API_KEY ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN AZURE_OPENAI_API_KEY CEREBRAS_API_KEY
		COHERE_API_KEY DASHSCOPE_API_KEY DEEPSEEK_API_KEY FIREWORKS_API_KEY GEMINI_API_KEY GOOGLE_API_KEY
		GROQ_API_KEY HUGGINGFACE_API_KEY KIMI_API_KEY LITELLM_API_KEY LM_API_TOKEN MINIMAX_API_KEY
		MISTRAL_API_KEY MOONSHOT_API_KEY NVIDIA_API_KEY OLLAMA_API_KEY OPENAI_API_KEY OPENROUTER_API_KEY
		PERPLEXITY_API_KEY SAMBANOVA_API_KEY TOGETHER_API_KEY VLLM_API_KEY XAI_API_KEY ZAI_API_KEY ZHIPU_API_KEY`)
	for _, b := range builtins() {
		names = append(names, b.env...)
	}
	for _, p := range s.Providers {
		for _, ref := range append([]Secret{p.APIKey}, values(p.Headers)...) {
			if name, ok := ref.variable(); ok {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return slices.DeleteFunc(names, func(n string) bool { return slices.Contains(s.Permissions.Env, n) })
}

func values(m map[string]Secret) (out []Secret) {
	for _, v := range m {
		out = append(out, v)
	}
	return out
}
