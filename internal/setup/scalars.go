package setup

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/viper"
)

// MaxTokens is the largest limit that is believed.
const MaxTokens = 100_000_000

// A scalar is one setting with one value, which flags, environment and files may give.
type scalar struct {
	path     string
	field    any      // *string, *bool or **int in the Setup being filled
	def      any      // string, bool or nil
	oneOf    []string // of a string; nil is any
	nullable bool     // null is a value of its own: "none"
	project  bool     // a trusted project may set it (CFG-1)
	says     string   // for docs/setup.md and the schema
}

// scalars is the table of all of them. docs/setup.md and the schema are held to it.
func (s *Setup) scalars() []scalar {
	return []scalar{
		{path: "model.provider", field: &s.Model.Provider, def: "", says: "who answers"},
		{path: "model.model", field: &s.Model.Model, def: "", says: "the provider's name for the model, or `auto` for the router"},
		{
			path: "model.reasoning", field: &s.Model.Reasoning, def: "", project: true,
			oneOf: []string{"", "none", "minimal", "low", "medium", "high", "xhigh", "max"}, says: "effort; empty is the provider's default",
		},
		{
			path: "context.input_limit_tokens", field: &s.Context.InputLimitTokens, nullable: true, project: true,
			says: "budget for input; null is what the model is known to take, at most 204,800",
		},
		{
			path: "context.compaction.mode", field: &s.Context.Compaction.Mode, def: "", project: true,
			oneOf: []string{"standalone", "provider", "disabled"}, says: "omitted is `standalone`",
		},
		{
			path: "context.compaction.threshold_tokens", field: &s.Context.Compaction.ThresholdTokens, nullable: true, project: true,
			says: "compaction starts here; null is 80 % of the budget",
		},
		{
			path: "context.compaction.target_tokens", field: &s.Context.Compaction.TargetTokens, nullable: true, project: true,
			says: "size asked of a summary; null asks for none",
		},
		{path: "cache.anthropic_ttl", field: &s.Cache.AnthropicTTL, def: "5m", oneOf: []string{"5m", "1h"}, says: "how long Anthropic keeps the prompt"},
		{
			path: "cache.openai_retention", field: &s.Cache.OpenAIRetention, def: "", nullable: true,
			oneOf: []string{"in_memory", "24h"}, says: "null sends nothing",
		},
		{path: "permissions.mode", field: &s.Permissions.Mode, def: "ask", oneOf: []string{"ask", "edit", "full"}, says: "what runs without a question"},
		{path: "appearance.theme", field: &s.Appearance.Theme, def: "auto", says: "`auto` follows the terminal"},
		{path: "appearance.mouse", field: &s.Appearance.Mouse, def: true, says: "clicks and wheel"},
		{
			path: "appearance.notify", field: &s.Appearance.Notify, def: "auto", oneOf: []string{"auto", "bell", "off"},
			says: "when a turn ends or an answer is needed and the window is out of focus: `auto` rings, tells the desktop and shows progress, `bell` only rings",
		},
		{path: "appearance.plain", field: &s.Appearance.Plain, def: false, says: "lines of text in place of the screen, for a screen reader; `--plain` does so once"},
		{
			path: "appearance.diff", field: &s.Appearance.Diff, def: "auto", oneOf: []string{"auto", "unified"},
			says: "`auto` draws the two sides of a change beside each other in a window of 120 columns, `unified` always one below the other",
		},
		{path: "appearance.vim", field: &s.Appearance.Vim, def: false, says: "keys of vi where a message is written: Esc leaves the writing, `i` goes back to it"},
		{path: "log.sync", field: &s.Log.Sync, def: "turn", oneOf: []string{"turn", "always", "never"}, says: "when the session file is synced"},
		{path: "network.ca_file", field: &s.Network.CAFile, def: "", says: "PEM file of a private CA, added to the system's; looked for in this file's folder"},
	}
}

// EnvName is the variable that sets a scalar: model.provider is VARVE_MODEL_PROVIDER.
func EnvName(path string) string {
	return "VARVE_" + strings.ToUpper(strings.ReplaceAll(path, ".", "_"))
}

// sourced is a value on the ladder with the place it came from, so that one look-up
// answers both.
type sourced struct {
	value  any // string, bool, int; nil is null
	origin Origin
}

// climb fills the scalars. Viper is the ladder (flags, environment, project, user,
// defaults) and nothing else: it never sees a name that a user chose, because it lowers
// case, and it never writes. A value that is nonsense is reported and stays off the
// ladder, so that the rung beneath it holds. An empty variable counts as unset.
func (s *Setup) climb(flags map[string]string, files ...file) {
	v := viper.NewWithOptions(viper.KeyDelimiter("\x1f"))
	for _, f := range files {
		rung := map[string]any{}
		for _, c := range s.scalars() {
			n := f.root.at(ParsePath(c.path))
			if n == nil || f.from == FromProject && !c.project {
				continue
			}
			at := originAt(f.from, f.name, f.doc, n)
			val, ok, what := c.fromJSON(n)
			if what != "" {
				s.problem(ParsePath(c.path), at, what)
			} else if ok {
				rung[c.path] = sourced{val, at}
			}
		}
		if err := v.MergeConfigMap(rung); err != nil {
			panic("setup: internal error: " + err.Error())
		}
	}
	given := map[string]bool{}
	for _, c := range s.scalars() {
		given[c.path] = true
		v.SetDefault(c.path, sourced{c.def, Origin{From: FromDefault}})
		if text := os.Getenv(EnvName(c.path)); text != "" {
			if _, what := c.fromText(text); what != "" {
				s.problem(ParsePath(c.path), Origin{From: FromEnvironment, Name: EnvName(c.path)}, what)
			} else if err := v.BindEnv(c.path, EnvName(c.path)); err != nil {
				panic("setup: internal error: " + err.Error())
			}
		}
		if text, ok := flags[c.path]; ok {
			at := Origin{From: FromFlag, Name: c.path}
			if val, what := c.fromText(text); what != "" {
				s.problem(ParsePath(c.path), at, what)
			} else {
				v.Set(c.path, sourced{val, at})
			}
		}
		c.fill(s, v.Get(c.path))
	}
	for path := range flags {
		if !given[path] {
			panic("setup: internal error: no scalar " + path)
		}
	}
}

// fill puts what the ladder holds into the field.
func (c scalar) fill(s *Setup, held any) {
	val, ok := held.(sourced)
	if !ok { // a variable, judged before it was bound
		parsed, _ := c.fromText(held.(string))
		val = sourced{parsed, Origin{From: FromEnvironment, Name: EnvName(c.path)}}
	}
	s.origins[c.path] = val.origin
	switch field := c.field.(type) {
	case *string:
		*field, _ = val.value.(string)
	case *bool:
		*field = val.value.(bool)
	case **int:
		*field = nil
		if n, ok := val.value.(int); ok {
			*field = &n
		}
	}
}

// fromJSON judges a value of a file. ok is false where null means "as if absent".
func (c scalar) fromJSON(n *node) (val any, ok bool, what string) {
	if n.kind == 'n' {
		return nil, c.nullable, ""
	}
	switch c.field.(type) {
	case *string:
		if n.kind != '"' {
			return nil, false, "must be text, not " + kindName(n.kind)
		}
		val, what = c.text(n.text)
	case *bool:
		if n.kind != 't' && n.kind != 'f' {
			return nil, false, "must be true or false, not " + kindName(n.kind)
		}
		val = n.kind == 't'
	case **int:
		val, what = limit(n)
	}
	return val, what == "", what
}

// fromText judges a flag or a variable.
func (c scalar) fromText(text string) (val any, what string) {
	if c.nullable && text == "null" {
		return nil, ""
	}
	switch c.field.(type) {
	case *bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return nil, fmt.Sprintf("must be true or false, not %q", text)
		}
		return b, ""
	case **int:
		return tokensFrom(text)
	}
	return c.text(text)
}

func (c scalar) text(text string) (any, string) {
	if c.oneOf == nil {
		return text, ""
	}
	for _, word := range c.oneOf {
		if word == text {
			return text, ""
		}
	}
	var words []string
	for _, word := range c.oneOf {
		if word != "" {
			words = append(words, word)
		}
	}
	return nil, fmt.Sprintf("%q is not one of %s", text, strings.Join(words, ", "))
}

// limit judges a number of tokens (CFG-11).
func limit(n *node) (any, string) {
	if n.kind != '0' {
		return nil, "must be a number of tokens, not " + kindName(n.kind)
	}
	return tokensFrom(n.text)
}

func tokensFrom(text string) (any, string) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > MaxTokens {
		return nil, fmt.Sprintf("%s is not a number of tokens: a whole number from 1 to %d", text, MaxTokens)
	}
	return n, ""
}

func kindName(k jsontext.Kind) string {
	switch k {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "text"
	case '0':
		return "a number"
	case 'n':
		return "null"
	}
	return "true or false"
}
