package setup

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// APIKinds are the wire protocols.
func APIKinds() []string {
	return []string{"openai-responses", "openai-chat", "anthropic-messages", "gemini"}
}

// DefaultAPI is what an entry speaks that doesn't say: most servers do.
const DefaultAPI = "openai-chat"

// DefaultStall ends a reply that has been silent for so long.
const DefaultStall = 120 * time.Second

// A file is one source of settings: its document and where to report to.
type file struct {
	s    *Setup
	from Source
	name string
	doc  []byte
	root *node
}

func (s *Setup) problem(at Path, o Origin, what string) {
	s.Problems = append(s.Problems, Problem{Path: at, Origin: o, What: what})
}

func (f file) wrong(at Path, n *node, what string) {
	f.s.problem(at, originAt(f.from, f.name, f.doc, n), what)
}

// decode reads what is not a scalar: everything with names that the user chose.
func (s *Setup) decode(f file) {
	s.Routing.Auto = f.chain(Path{"routing", "auto"})
	s.Routing.SummarizationModels = f.chain(Path{"routing", "summarization_models"})
	s.Permissions.Allow = f.texts(Path{"permissions", "allow"})
	s.Permissions.Deny = f.texts(Path{"permissions", "deny"})
	s.Permissions.Env = f.texts(Path{"permissions", "env"})
	s.Tools.Disabled = f.texts(Path{"tools", "disabled"})
	s.Providers = map[string]Provider{}
	for _, m := range f.object(Path{"providers"}) {
		if p, ok := f.provider(Path{"providers", m.key}, m.value); ok {
			s.Providers[m.key] = p
			s.order = append(s.order, m.key)
		} else {
			s.refused[m.key] = true
		}
	}
	s.MCP.Servers = map[string]jsontext.Value{}
	for _, m := range f.object(Path{"mcp", "servers"}) {
		if m.value.kind != '{' {
			f.wrong(Path{"mcp", "servers", m.key}, m.value, "must be an object, not "+kindName(m.value.kind))
			continue
		}
		s.MCP.Servers[m.key] = f.raw(m.value)
	}
	if n := f.root.get("hooks"); n != nil {
		f.object(Path{"hooks"})
		if n.kind == '{' {
			s.Hooks = f.raw(n)
		}
	}
	s.Appearance.Keys = map[string][]string{}
	for _, m := range f.object(Path{"appearance", "keys"}) {
		at := Path{"appearance", "keys", m.key}
		if m.value.kind == '"' {
			s.Appearance.Keys[m.key] = []string{m.value.text}
		} else {
			s.Appearance.Keys[m.key] = f.texts(at)
		}
	}
	s.Appearance.Themes = map[string]map[string]string{}
	for _, m := range f.object(Path{"appearance", "themes"}) {
		at := Path{"appearance", "themes", m.key}
		s.Appearance.Themes[m.key] = map[string]string{}
		for _, role := range f.object(at) {
			if role.value.kind != '"' {
				f.wrong(at.At(role.key), role.value, "must be text, not "+kindName(role.value.kind))
				continue
			}
			s.Appearance.Themes[m.key][role.key] = role.value.text
		}
	}
	for _, name := range []string{"model", "routing", "context", "cache", "permissions", "tools", "mcp", "appearance", "log", "network"} {
		f.object(Path{name})
	}
	f.object(Path{"context", "compaction"})
}

// fromProject takes the safe subset of a trusted project's file: besides the scalars
// marked so, it may only take away (deny rules, disabled tools). Everything else there,
// above all base URLs, chains, hooks and modes, is reported and not read (CFG-1, SEC-07).
func (s *Setup) fromProject(f file) {
	if f.root == nil {
		return
	}
	s.Permissions.Deny = append(s.Permissions.Deny, f.texts(Path{"permissions", "deny"})...)
	s.Tools.Disabled = append(s.Tools.Disabled, f.texts(Path{"tools", "disabled"})...)
	safe := map[string]bool{"$schema": true, "permissions.deny": true, "tools.disabled": true}
	for _, c := range s.scalars() {
		safe[c.path] = safe[c.path] || c.project
	}
	var walk func(at Path, n *node)
	walk = func(at Path, n *node) {
		for _, m := range n.members {
			here := at.At(m.key)
			switch {
			case safe[here.String()]:
			case m.value.kind == '{' && leads(here, safe):
				walk(here, m.value)
			default:
				f.wrong(here, m.value, "a project may not set this; put it into your own setup.json")
			}
		}
	}
	walk(nil, f.root)
}

func leads(p Path, safe map[string]bool) bool {
	for path := range safe {
		if strings.HasPrefix(path, p.String()+".") {
			return true
		}
	}
	return false
}

// agree checks settings against each other, where one that is fine alone is not (PRV-12).
func (s *Setup) agree() {
	c := &s.Context.Compaction
	if c.Mode != "provider" {
		return
	}
	at, origin := Path{"context", "compaction", "mode"}, s.origins["context.compaction.mode"]
	p, known := s.Provider(s.Model.Provider)
	least := 0
	switch {
	case !known:
	case p.API == "openai-chat" || p.API == "gemini":
		s.problem(at, origin, fmt.Sprintf("%s (%s) can't compact inside a generation; use standalone", s.Model.Provider, p.API))
		c.Mode = ""
		return
	case p.API == "openai-responses":
		least = 1_000
	case p.API == "anthropic-messages":
		least = 50_000
	}
	if c.ThresholdTokens != nil && *c.ThresholdTokens < least {
		s.problem(Path{"context", "compaction", "threshold_tokens"}, s.origins["context.compaction.threshold_tokens"],
			fmt.Sprintf("in mode provider %s takes %d tokens or more", p.API, least))
		c.ThresholdTokens = nil
	}
}

// object lists the members at a path; absent and null are none.
func (f file) object(at Path) []member {
	n := f.root.at(at)
	if n == nil || n.kind == 'n' {
		return nil
	}
	if n.kind != '{' {
		f.wrong(at, n, "must be an object, not "+kindName(n.kind))
	}
	return n.members
}

// texts reads a list of strings; what is not text is reported and left out.
func (f file) texts(at Path) []string {
	out := []string{}
	for i, n := range f.list(at) {
		if n.kind != '"' {
			f.wrong(at.At(fmt.Sprint(i)), n, "must be text, not "+kindName(n.kind))
			continue
		}
		out = append(out, n.text)
	}
	return out
}

func (f file) list(at Path) []*node {
	n := f.root.at(at)
	if n == nil || n.kind == 'n' {
		return nil
	}
	if n.kind != '[' {
		f.wrong(at, n, "must be a list, not "+kindName(n.kind))
	}
	return n.elems
}

// chain reads a list of models. An entry that is wrong is reported and kept, blank where
// it can't be read: whoever walks the chain passes it over and says so (SUM-3).
func (f file) chain(at Path) []ModelRef {
	out := []ModelRef{}
	for i, n := range f.list(at) {
		here := at.At(fmt.Sprint(i))
		var ref ModelRef
		if n.kind != '{' {
			f.wrong(here, n, `must be {"provider": …, "model": …}, not `+kindName(n.kind))
		} else {
			ref = ModelRef{f.word(here, n, "provider"), f.word(here, n, "model")}
			if isAuto(ref.Provider) || isAuto(ref.Model) {
				f.wrong(here, n, "auto is the router and no model that can be listed here; name a model")
			}
		}
		out = append(out, ref)
	}
	return out
}

func isAuto(s string) bool { return strings.EqualFold(strings.TrimSpace(s), "auto") }

func (f file) word(at Path, n *node, key string) string {
	v := n.get(key)
	switch {
	case v == nil || v.kind == 'n':
		f.wrong(at.At(key), n, "is missing")
	case v.kind != '"':
		f.wrong(at.At(key), v, "must be text, not "+kindName(v.kind))
	case strings.TrimSpace(v.text) == "":
		f.wrong(at.At(key), v, "is blank")
	default:
		return v.text
	}
	return ""
}

// provider reads one entry. A wrong base URL or header takes the whole entry out: half
// of an endpoint must not receive a key.
func (f file) provider(at Path, n *node) (Provider, bool) {
	if n.kind != '{' {
		f.wrong(at, n, "must be an object, not "+kindName(n.kind))
		return Provider{}, false
	}
	p, known := builtin(at[len(at)-1])
	ok := true
	bad := func(at Path, n *node, what string) { f.wrong(at, n, what); ok = false }
	text := func(key string, to *string) *node {
		v := n.get(key)
		if v == nil || v.kind == 'n' {
			return nil
		}
		if v.kind != '"' {
			bad(at.At(key), v, "must be text, not "+kindName(v.kind))
			return nil
		}
		*to = v.text
		return v
	}
	if v := text("api", &p.API); v != nil && !slices.Contains(APIKinds(), p.API) {
		bad(at.At("api"), v, fmt.Sprintf("%q is not one of %s", p.API, strings.Join(APIKinds(), ", ")))
	}
	vendor := p.BaseURL
	if v := text("base_url", &p.BaseURL); v != nil {
		if err := CheckBaseURL(p.BaseURL); err != nil {
			bad(at.At("base_url"), v, err.Error())
		} else if known && !sameHost(vendor, p.BaseURL) {
			p.keyEnv = nil // the vendor's key is for the vendor's host alone (CFG-08)
		}
	}
	p.API = cmp.Or(p.API, DefaultAPI)
	if ok && p.BaseURL == "" {
		bad(at, n, "needs a base_url, which comes first: it is none of the built-in providers")
	}
	if v := text("api_key", (*string)(&p.APIKey)); v != nil {
		if what := p.APIKey.check(); what != "" {
			f.wrong(at.At("api_key"), v, what)
			p.APIKey = ""
		}
	}
	var stall string
	if v := text("stall_timeout", &stall); v != nil {
		if d, err := time.ParseDuration(stall); err != nil || d < time.Second || d > 24*time.Hour {
			f.wrong(at.At("stall_timeout"), v, fmt.Sprintf("%q is not a time from 1s to 24h, such as 120s or 5m", stall))
		} else {
			p.StallTimeout = d
		}
	}
	p.Headers = map[string]Secret{}
	for _, m := range f.object(at.At("headers")) {
		here := at.At("headers", m.key)
		if what := badHeader(m); what != "" {
			bad(here, m.value, what)
			continue
		}
		p.Headers[m.key] = Secret(m.value.text)
	}
	p.Models = map[string]ModelLimits{}
	for _, m := range f.object(at.At("models")) {
		p.Models[m.key] = f.limits(at.At("models", m.key), m.value)
	}
	return p, ok
}

func (f file) limits(at Path, n *node) (l ModelLimits) {
	if n.kind != '{' {
		f.wrong(at, n, "must be an object, not "+kindName(n.kind))
		return l
	}
	read := func(key string) *int {
		v := n.get(key)
		if v == nil || v.kind == 'n' {
			return nil
		}
		tokens, what := limit(v)
		if what != "" {
			f.wrong(at.At(key), v, what)
			return nil
		}
		out := tokens.(int)
		return &out
	}
	l.ContextWindow, l.MaxOutputTokens = read("context_window"), read("max_output_tokens")
	if l.ContextWindow != nil && l.MaxOutputTokens != nil && *l.MaxOutputTokens >= *l.ContextWindow {
		f.wrong(at.At("max_output_tokens"), n.get("max_output_tokens"), "must be smaller than context_window")
		l.MaxOutputTokens = nil
	}
	return l
}

// badHeader says why an extra header is refused (PRV-7).
func badHeader(m member) string {
	for _, own := range []string{"Authorization", "Host", "Content-Type"} {
		if strings.EqualFold(m.key, own) {
			return "this header is the program's own; use api_key or base_url"
		}
	}
	if m.value.kind != '"' {
		return "must be text, not " + kindName(m.value.kind)
	}
	if m.key == "" || strings.IndexFunc(m.key, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", r))
	}) >= 0 {
		return "is not a header name"
	}
	return Secret(m.value.text).check()
}

func (f file) raw(n *node) jsontext.Value {
	return jsontext.Value(slices.Clone(f.doc[n.start:n.end]))
}
