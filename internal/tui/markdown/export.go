package markdown

import (
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// Parse is the grammar of this package for who draws otherwise. src is clean
// text (package plain); the nodes point into it.
func Parse(src []byte) ast.Node { return grammar().Parse(text.NewReader(src)) }

// A Stretch of code ends at a byte and begins where the one before ends. Class is
// the part it plays: keyword, type, func, string, number, comment, added,
// removed, hunk, heading, or "" for none.
type Stretch struct {
	End   int
	Class string
}

// Colour says what the parts of code are, for a fence's info string. Code of a
// language that is not known, or of more than 64 KiB, is one stretch.
func Colour(info, code string) []Stretch {
	c := colourer{budget: maxCode + 1}
	tokens, _ := c.tokens(language(info), code, 0)
	var out []Stretch
	end := 0
	for _, t := range tokens {
		if t.end > end {
			out, end = append(out, Stretch{t.end, t.role.class()}), t.end
		}
	}
	if end < len(code) {
		out = append(out, Stretch{len(code), ""})
	}
	return out
}

func (r role) class() string {
	return [...]string{"", "keyword", "type", "func", "string", "number", "comment", "added", "removed", "hunk", "heading"}[r]
}

// Text is what a node's text says: escapes and entities resolved, and clean.
func Text(raw []byte) string { return oneLine(unescape(raw)) }
