package permit

import "strings"

// Narrow is the rule that "always allow" would keep: this command word for word, this
// file, this host. ok is false where there is none that is narrow: for a command that is
// more than one plain command, that a shell would expand, or that hands code to a shell
// or an interpreter; for several files, or one outside the workspace (SEC-13).
func Narrow(c Call) (r Rule, ok bool) {
	r = Rule{Tool: c.Tool, Effect: Allow, Scope: "always"}
	switch {
	case c.Command != "":
		words, why := simple(c.Command)
		if why != "" {
			return Rule{}, false
		}
		if base := baseName(words[0].text); shell(base) || interpreter(base) {
			return Rule{}, false
		}
		for _, w := range words {
			if w.wild() || carrier(w.text) {
				return Rule{}, false
			}
		}
		r.Pattern = strings.Trim(c.Command, " \t\n")
	case len(c.Paths) == 1:
		rel, inside := c.Paths[0].rel(c.Root)
		if !inside || c.Paths[0].Protected || rel == "." {
			return Rule{}, false
		}
		r.Pattern = escapeGlob(rel)
		if c.has(Write) && c.only(Read, Write) {
			r.Tool = "edit" // whichever tool changes that file next
		}
	case len(c.Paths) > 1:
		return Rule{}, false
	case c.Host != "":
		if strings.ContainsAny(c.Host, `*?\`) {
			return Rule{}, false
		}
		r.Pattern = c.Host
	case c.has(Exec) && c.Tool == "bash":
		return Rule{}, false
	}
	// What is kept is text: it must read back as itself.
	back, err := ParseRule(r.String())
	return r, err == nil && back.Tool == r.Tool && back.Pattern == r.Pattern
}
