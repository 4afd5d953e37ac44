package setup

import (
	"strings"
)

// Path names a value of the document, one segment a key (or an index of a list).
type Path []string

// ParsePath reads the dotted form, in which a backslash keeps the next character:
// `providers.local.models.glm-4\.6` has four segments. ParsePath and String are a pair.
func ParsePath(s string) Path {
	if s == "" {
		return nil
	}
	var p Path
	var seg strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			i++
			seg.WriteByte(s[i])
		case s[i] == '.':
			p = append(p, seg.String())
			seg.Reset()
		default:
			seg.WriteByte(s[i])
		}
	}
	return append(p, seg.String())
}

// String is the dotted form.
func (p Path) String() string {
	var b strings.Builder
	for i, seg := range p {
		if i > 0 {
			b.WriteByte('.')
		}
		for j := 0; j < len(seg); j++ {
			if seg[j] == '.' || seg[j] == '\\' {
				b.WriteByte('\\')
			}
			b.WriteByte(seg[j])
		}
	}
	return b.String()
}

// At is p with further segments; p is not changed.
func (p Path) At(seg ...string) Path {
	return append(p[:len(p):len(p)], seg...)
}

// touches says whether one path is the other or lies inside it.
func (p Path) touches(q Path) bool {
	n := min(len(p), len(q))
	for i := range n {
		if p[i] != q[i] {
			return false
		}
	}
	return true
}
