package index

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"varve/internal/session"
)

// A needle is a text that is looked for, whatever its case. ASCII letters match
// each other only (k is not the Kelvin sign); all others fold as Unicode says.
type needle struct {
	runes []rune // folded
	raw   anchor // in the bytes of a line
	plain anchor // in a text
}

func newNeedle(text string) *needle {
	n := &needle{}
	for _, r := range text {
		n.runes = append(n.runes, fold(r))
	}
	n.raw = newAnchor(n.runes, func(r rune) []byte { return session.AppendEscaped(nil, utf8.AppendRune(nil, r)) })
	n.plain = newAnchor(n.runes, func(r rune) []byte { return utf8.AppendRune(nil, r) })
	return n
}

// fold is the same rune for all cases of one.
func fold(r rune) rune {
	if r < utf8.RuneSelf {
		return unicode.ToLower(r)
	}
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		if f >= utf8.RuneSelf {
			least = min(least, f)
		}
	}
	return least
}

func cases(r rune) []rune {
	all := []rune{r}
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		if f >= utf8.RuneSelf {
			all = append(all, f)
		}
	}
	return all
}

// find returns where the needle stands in a text, from a place on; -1 for
// nowhere.
func (n *needle) find(text []byte, from int) (start, end int) {
	for at := from; ; at++ {
		if at = n.plain.index(text, at); at < 0 {
			return -1, -1
		}
		start := at
		for range n.plain.before {
			_, w := utf8.DecodeLastRune(text[:start])
			start -= w
		}
		if end := n.at(text, start); end > 0 && start >= from {
			return start, end
		}
	}
}

// at is where the needle ends if it begins at a place, or -1.
func (n *needle) at(text []byte, i int) int {
	for _, want := range n.runes {
		r, w := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && w <= 1 || fold(r) != want {
			return -1
		}
		i += w
	}
	return i
}

// An anchor is what stands in any bytes that hold a needle: one of some patterns.
type anchor struct {
	any    []pattern
	before int // runes of the needle before it
}

// newAnchor takes the longest part of a needle that looks the same in all cases
// but for ASCII letters. Where there is none, it takes a rune in each of its cases.
func newAnchor(runes []rune, bytesOf func(rune) []byte) anchor {
	var best, run []byte
	before, start := 0, 0
	for i, r := range runes {
		if r >= utf8.RuneSelf && len(cases(r)) > 1 {
			run, start = nil, i+1
			continue
		}
		if run = append(run, bytesOf(r)...); len(run) > len(best) {
			best, before = run, start
		}
	}
	if len(best) > 0 {
		return anchor{[]pattern{newPattern(best)}, before}
	}
	a := anchor{}
	for _, r := range cases(runes[0]) {
		a.any = append(a.any, newPattern(bytesOf(r)))
	}
	return a
}

// index is the first place of a pattern in b, from a place on; -1 for none.
func (a *anchor) index(b []byte, from int) int {
	first := -1
	for i := range a.any {
		if at := a.any[i].index(b, from); at >= 0 && (first < 0 || at < first) {
			first = at
		}
	}
	return first
}

// A pattern is bytes whose ASCII letters stand for both of their cases.
type pattern struct {
	low       []byte // lower case
	rare      int    // the place of the byte to look for
	one, both byte   // it, and its other case or itself
}

// common are the bytes of session lines, the most frequent first.
const common = " etaoinsrlhdcu\\\"mpfg,.:_y-b=(/)w;01v{}k23x456789z[]j*q<>'|EATSRICNOLDPMFBGUHWV"

func newPattern(b []byte) pattern {
	p := pattern{low: bytes.Clone(b)}
	least := -1
	for i, c := range p.low {
		c = lower(c)
		p.low[i] = c
		rank := strings.IndexByte(common, c)
		if rank < 0 {
			rank = len(common)
		}
		if rank > least || rank == len(common) { // the last byte of a rune says more than its first
			least, p.rare, p.one, p.both = rank, i, c, c
			if 'a' <= c && c <= 'z' {
				p.both = c - 'a' + 'A'
			}
		}
	}
	return p
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

func (p *pattern) index(b []byte, from int) int {
	last := len(b) - len(p.low) + p.rare // of the rare byte's places
	one, both := from+p.rare-1, len(b)
	if p.one != p.both {
		both = next(b, from+p.rare, p.both)
	}
	one = next(b, one+1, p.one)
	for {
		at := min(one, both)
		if at > last || at >= len(b) {
			return -1
		}
		if p.is(b[at-p.rare:]) {
			return at - p.rare
		}
		if at == one {
			one = next(b, one+1, p.one)
		} else {
			both = next(b, both+1, p.both)
		}
	}
}

func (p *pattern) is(b []byte) bool {
	for i, c := range p.low {
		if b[i] != c && lower(b[i]) != c {
			return false
		}
	}
	return true
}

// next is the first place of c in b from a place on, or len(b).
func next(b []byte, from int, c byte) int {
	if from >= len(b) {
		return len(b)
	}
	if i := bytes.IndexByte(b[from:], c); i >= 0 {
		return from + i
	}
	return len(b)
}

// plainly reports whether a body's bytes show what its texts say: the escapes are
// those that session.AppendEscaped writes, and no entry is an object (a reference,
// base64). Other bodies are decoded before they are judged.
func plainly(body []byte) bool {
	quotes := bytes.Count(body, []byte{'"'}) // those that have no backslash before them
	for b := body; ; {
		i := bytes.IndexByte(b, '\\')
		if i < 0 {
			break
		}
		if i+1 >= len(b) || b[i+1] == '/' || b[i+1] == 'u' && !controlEscape(b[i:]) {
			return false
		}
		if b[i+1] == '"' {
			quotes--
		}
		b = b[i+2:]
	}
	if quotes == 2 {
		return true // one string, as most bodies
	}
	for b := body; ; {
		i := bytes.IndexByte(b, '{')
		if i < 0 {
			return true
		}
		b = b[i+1:]
		// Inside a string a quote has a backslash before it. A string that ends in a
		// brace is decoded for nothing.
		j := 0
		for j < len(b) && (b[j] == ' ' || b[j] == '\t' || b[j] == '\r') {
			j++
		}
		if j < len(b) && b[j] == '"' {
			return false
		}
	}
}

// controlEscape reports whether b begins with \u00XX as it is written for a control
// character that has no short escape.
func controlEscape(b []byte) bool {
	if len(b) < 6 || b[2] != '0' || b[3] != '0' || b[4] != '0' && b[4] != '1' {
		return false
	}
	if b[4] == '0' {
		return '0' <= b[5] && b[5] <= '7' || b[5] == 'b' || b[5] == 'e' || b[5] == 'f'
	}
	return '0' <= b[5] && b[5] <= '9' || 'a' <= b[5] && b[5] <= 'f'
}
