package permit

import (
	"errors"
	"fmt"
	"strings"
)

// A Decision is what a rule says and what a verdict is. A rule never says Ask.
type Decision string

const (
	Allow Decision = "allow"
	Ask   Decision = "ask"
	Deny  Decision = "deny"
)

// A Rule says yes or no to calls of a tool. Its text is `tool` (every call of it) or
// `tool(pattern)`.
//
// The tool may end in * (`mcp_github_*`). For paths two names stand for kinds: `read` is
// every call that reads files, `edit` and `write` are every call that writes them.
//
// A pattern is, by what the call is about:
//
//   - a command: words, as a shell takes them apart; a lone * is any words (none too), a *
//     in a word any characters. Quoted characters stand for themselves.
//   - paths: relative to the workspace, or absolute; ** is any folders (none too), * and ?
//     stay inside one name, a backslash takes the next character as it is.
//   - a host: * is any characters.
type Rule struct {
	Tool, Pattern string
	Effect        Decision // Allow or Deny
	Scope         string   // once, run, always: who remembers it; not judged here
	Origin        string   // where it is written; not judged here
}

// String is the text of the rule; ParseRule reads it back.
func (r Rule) String() string {
	if r.Pattern == "" {
		return r.Tool
	}
	return r.Tool + "(" + r.Pattern + ")"
}

// ParseRule reads `tool` or `tool(pattern)`. Effect, Scope and Origin are the caller's to
// fill. A rule for commands must be plain words: what can't match is refused here, not
// kept in silence.
func ParseRule(text string) (Rule, error) {
	tool, rest, found := strings.Cut(strings.TrimSpace(text), "(")
	tool = strings.TrimSpace(tool)
	if tool == "" {
		return Rule{}, errors.New("a rule begins with the name of a tool, as in bash(go test *)")
	}
	for i, c := range tool {
		last := i == len(tool)-1
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' && c != '.' && (c != '*' || !last) {
			return Rule{}, fmt.Errorf("%q is no name of a tool; rules look like bash(go test *) or edit(docs/**)", tool)
		}
	}
	if !found {
		return Rule{Tool: tool}, nil
	}
	pattern, closed := strings.CutSuffix(rest, ")")
	pattern = strings.TrimSpace(pattern)
	switch {
	case !closed:
		return Rule{}, fmt.Errorf("%s has no closing )", text)
	case pattern == "":
		return Rule{}, fmt.Errorf("%s has nothing between ( and ); %s alone means every call", text, tool)
	case strings.IndexFunc(pattern, unseen) >= 0:
		return Rule{}, errors.New("a rule holds a control character or a line break")
	}
	if tool == "bash" {
		if _, why := plain(pattern); why != "" {
			return Rule{}, fmt.Errorf("%s can't match: a rule for commands is plain words, and this has %s", text, why)
		}
	}
	return Rule{Tool: tool, Pattern: pattern}, nil
}

// names says whether the rule names the call's tool.
func (r Rule) names(c Call) bool {
	stem, ok := strings.CutSuffix(r.Tool, "*")
	return r.Tool == c.Tool || ok && strings.HasPrefix(c.Tool, stem)
}

// forbidding says whether a deny rule is about the call: by its tool, or by what it does
// to files.
func (r Rule) forbidding(c Call) bool {
	files := c.Command == "" && len(c.Paths) > 0
	return r.names(c) || files && (r.Tool == "read" && c.has(Read) || (r.Tool == "edit" || r.Tool == "write") && c.has(Write))
}

// allowing says the same of an allow rule, which must take in everything that the call
// does: a rule for reading allows no write.
func (r Rule) allowing(c Call) bool {
	files := c.Command == "" && len(c.Paths) > 0
	switch r.Tool {
	case "read":
		return c.only(Read) && (r.names(c) || files)
	case "edit", "write":
		return c.only(Read, Write) && (r.names(c) || files && c.has(Write))
	}
	return r.names(c)
}
