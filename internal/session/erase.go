package session

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// LeastErased is the length, in bytes, from which on a text is looked for inside
// of others. A shorter one stands in too many of them by chance.
const LeastErased = 8

// deepest is how often a text may have been put into a JSON string: a call's
// arguments, in a request, in a log, in a tool's result.
const deepest = 5

// An Eraser takes texts out of other texts, however often, and in whatever way,
// they were escaped for JSON there.
type Eraser struct {
	texts   [][]byte // longest first
	anchors [][]byte // of each a part that no escaping changes, but as \uXXXX; nil: it has none
	lines   []string // as one line, which a preview may begin with
	put     []byte
}

// NewEraser takes texts out, and puts another in their place, which needs no
// escaping in JSON. Blanks around a text are no part of it.
func NewEraser(texts [][]byte, put string) *Eraser {
	x := &Eraser{put: []byte(put)}
	add := func(b []byte) {
		if len(b) >= LeastErased && !slices.ContainsFunc(x.texts, func(t []byte) bool { return bytes.Equal(t, b) }) {
			x.texts = append(x.texts, b)
		}
	}
	for _, t := range texts {
		t = bytes.TrimSpace(t)
		if len(t) < LeastErased || string(t) == put {
			continue
		}
		line := strings.Join(strings.Fields(string(t)), " ")
		x.lines = append(x.lines, line)
		add(t)
		add([]byte(line))
		add(bytes.ToValidUTF8(t, []byte("\uFFFD")))
	}
	slices.SortStableFunc(x.texts, func(a, b []byte) int { return len(b) - len(a) })
	for _, t := range x.texts {
		x.anchors = append(x.anchors, anchor(t))
	}
	return x
}

// anchor is the longest run of a text that stands in JSON as it is.
func anchor(t []byte) []byte {
	var best []byte
	for len(t) > 0 {
		n := 0
		for n < len(t) && t[n] >= ' ' && t[n] < 0x7f && strings.IndexByte(`"\/<>&'+`, t[n]) < 0 {
			n++
		}
		if n > len(best) {
			best = t[:n]
		}
		t = t[max(n, 1):]
	}
	return best
}

// may is a quick look: what it denies is not in b, however deep.
func (x *Eraser) may(b []byte) bool {
	return bytes.Contains(b, []byte(`\u`)) || slices.ContainsFunc(x.anchors, func(a []byte) bool { return bytes.Contains(b, a) })
}

// Idle reports that there is nothing to look for.
func (x *Eraser) Idle() bool { return len(x.texts) == 0 }

// In reports whether a text holds one of those that are to go.
func (x *Eraser) In(b []byte) bool {
	_, found := x.level(b)
	return found
}

// level is how often b must be unescaped to find a text in it.
func (x *Eraser) level(b []byte) (n int, found bool) {
	for ; n <= deepest && x.may(b); n++ {
		if slices.ContainsFunc(x.texts, func(t []byte) bool { return bytes.Contains(b, t) }) {
			return n, true
		}
		if bytes.IndexByte(b, '\\') < 0 {
			break
		}
		b = unescape(b, nil)
	}
	return 0, false
}

// Text returns a text without those that are to go, and whether it held one.
func (x *Eraser) Text(b []byte) (out []byte, held bool) {
	for {
		n, found := x.level(b)
		if !found {
			break
		}
		b, held = x.at(b, n), true
	}
	if stem, cut := bytes.CutSuffix(bytes.TrimSpace(b), []byte("…")); cut && len(stem) >= LeastErased && len(b) < 2000 {
		line := strings.Join(strings.Fields(string(stem)), " ")
		if slices.ContainsFunc(x.lines, func(l string) bool { return strings.HasPrefix(l, line) }) {
			return x.put, true
		}
	}
	return b, held
}

// at takes out what is found in b after it was unescaped n times.
func (x *Eraser) at(b []byte, n int) []byte {
	view, from := b, []int(nil) // from is where each byte of the view begins in b; its end too
	for range n {
		var starts []int
		view = unescape(view, &starts)
		if from != nil {
			for i, s := range starts {
				starts[i] = from[s]
			}
		}
		from = starts
	}
	in := func(i int) int {
		if from == nil {
			return i
		}
		return from[i]
	}
	var out []byte
	done := 0
	for i := 0; i < len(view); {
		t := slices.IndexFunc(x.texts, func(t []byte) bool { return bytes.HasPrefix(view[i:], t) })
		if t < 0 {
			next := len(view)
			for _, t := range x.texts {
				if j := bytes.Index(view[i+1:], t); j >= 0 {
					next = min(next, i+1+j)
				}
			}
			i = next
			continue
		}
		out = append(append(out, b[done:in(i)]...), x.put...)
		i += len(x.texts[t])
		done = in(i)
	}
	return append(out, b[done:]...)
}

// unescape reads b as the inside of a JSON string. A backslash that escapes
// nothing stands for itself. starts, if not nil, gets the offset in b of each
// byte of the result, and the length of b.
func unescape(b []byte, starts *[]int) []byte {
	out := make([]byte, 0, len(b))
	add := func(at int, bs ...byte) {
		out = append(out, bs...)
		if starts != nil {
			for range bs {
				*starts = append(*starts, at)
			}
		}
	}
	if starts != nil {
		*starts = make([]int, 0, len(b)+1)
	}
	for i := 0; i < len(b); {
		if n := bytes.IndexByte(b[i:], '\\'); n != 0 { // a run without one
			if n < 0 {
				n = len(b) - i
			}
			out = append(out, b[i:i+n]...)
			for at := i; starts != nil && at < i+n; at++ {
				*starts = append(*starts, at)
			}
			i += n
			continue
		}
		if i+1 == len(b) {
			add(i, '\\')
			i++
			continue
		}
		switch c := b[i+1]; c {
		case '"', '\\', '/':
			add(i, c)
		case 'b', 'f', 'n', 'r', 't':
			add(i, "\b\f\n\r\t"[strings.IndexByte("bfnrt", c)])
		case 'u':
			r, n := unicodeAt(b[i:])
			if n == 0 {
				add(i, '\\')
				i++
				continue
			}
			add(i, utf8.AppendRune(nil, r)...)
			i += n
			continue
		default:
			add(i, '\\')
			i++
			continue
		}
		i += 2
	}
	if starts != nil {
		*starts = append(*starts, len(b))
	}
	return out
}

// unicodeAt reads \uXXXX, or two of them that are one character; n is 0 where
// none stands there.
func unicodeAt(b []byte) (r rune, n int) {
	unit := func(b []byte) (rune, bool) {
		if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
			return 0, false
		}
		v, err := strconv.ParseUint(string(b[2:6]), 16, 16)
		return rune(v), err == nil
	}
	first, ok := unit(b)
	if !ok {
		return 0, 0
	}
	if second, ok := unit(b[6:]); ok && first&^0x3ff == 0xd800 && second&^0x3ff == 0xdc00 {
		return 0x10000 + (first&0x3ff)<<10 + second&0x3ff, 12
	}
	return first, 6
}
