package permit

import (
	"path"
	"strings"
)

// matchPath matches a slash-separated path. ** as a whole segment is any number of
// segments, * any characters of one, ? one character, and \ takes the next as it is.
// Everything else stands for itself. The time is bounded by the product of the lengths.
func matchPath(pattern, name string) bool {
	return matchSegments(strings.Split(pattern, "/"), strings.Split(name, "/"))
}

func matchSegments(pat, segs []string) bool {
	// reach[i]: the segments so far can be taken by pat[:i].
	reach := make([]bool, len(pat)+1)
	reach[0] = true
	skip := func() {
		for i, p := range pat {
			if p == "**" && reach[i] {
				reach[i+1] = true
			}
		}
	}
	skip()
	for _, seg := range segs {
		next := make([]bool, len(pat)+1)
		for i, p := range pat {
			switch {
			case !reach[i]:
			case p == "**":
				next[i] = true
			case matchName(p, seg):
				next[i+1] = true
			}
		}
		reach = next
		skip()
	}
	return reach[len(pat)]
}

// matchName matches one segment.
func matchName(pat, name string) bool {
	star, mark := -1, 0 // behind the last *, and what of the name it has taken
	p, n := 0, 0
	for n < len(name) {
		if p < len(pat) && pat[p] == '*' {
			p++
			star, mark = p, n
			continue
		}
		if p < len(pat) {
			want, has := head(pat[p:]), head(name[n:])
			one := want == "?"
			if want == `\` && p+1 < len(pat) {
				p++
				want = head(pat[p:])
			}
			if one || want == has {
				p, n = p+len(want), n+len(has)
				continue
			}
		}
		if star < 0 {
			return false
		}
		mark += len(head(name[mark:]))
		p, n = star, mark
	}
	for p < len(pat) && pat[p] == '*' {
		p++
	}
	return p == len(pat)
}

// head is the first character of a text, or its first byte where that is none.
func head(s string) string {
	for i := range s {
		if i > 0 {
			return s[:i]
		}
	}
	return s
}

// escapeGlob writes a path as the pattern that matches it alone.
func escapeGlob(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if strings.IndexByte(`*?\`, name[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(name[i])
	}
	return b.String()
}

// tidy is a pattern without a leading ./ or a trailing /.
func tidy(pattern string) string {
	for strings.HasPrefix(pattern, "./") {
		pattern = pattern[2:]
	}
	if len(pattern) > 1 {
		pattern = strings.TrimSuffix(pattern, "/")
	}
	return pattern
}

// allows says whether a pattern takes in a path. Only where the path really leads counts,
// never the name it was called by.
func (p Path) allows(pattern, root string) bool {
	pattern = tidy(pattern)
	if strings.HasPrefix(pattern, "/") {
		return matchPath(pattern, p.Real)
	}
	rel, ok := p.rel(root)
	return ok && matchPath(pattern, rel)
}

// denies says whether a pattern takes in a path by any of its names. Case does not count,
// because some file systems don't count it, and a pattern without a slash is any file of
// that name.
func (p Path) denies(pattern, root string) bool {
	names := []string{path.Clean(p.Name), p.Real, strings.TrimPrefix(p.Real, "/")}
	if rel, ok := p.rel(root); ok {
		names = append(names, rel)
	}
	return deniesNames(pattern, names)
}

func deniesNames(pattern string, names []string) bool {
	pattern = strings.ToLower(tidy(pattern))
	for _, name := range names {
		name = strings.ToLower(name)
		if matchPath(pattern, name) || !strings.Contains(pattern, "/") && matchPath(pattern, path.Base(name)) {
			return true
		}
		if strings.HasSuffix(pattern, "/**") && matchPath(strings.TrimSuffix(pattern, "/**"), name) {
			return true
		}
	}
	return false
}

// rel is the real path below the workspace; "." is the workspace itself.
func (p Path) rel(root string) (string, bool) {
	if !p.Inside {
		return "", false
	}
	if p.Real == root {
		return ".", true
	}
	rel, ok := strings.CutPrefix(p.Real, strings.TrimSuffix(root, "/")+"/")
	return rel, ok
}
