package session

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// LeastErased is the length, in bytes, from which on a text is looked for inside
// of others. A shorter one stands in too many of them by chance.
const LeastErased = 8

// An Eraser takes texts out of other texts, whatever form JSON gave them there.
type Eraser struct {
	forms [][]byte // longest first
	lines []string // texts as one line, which a preview may begin with
	put   []byte
}

// NewEraser takes texts out, and puts another in their place, which needs no
// escaping in JSON. Blanks around a text are no part of it.
func NewEraser(texts [][]byte, put string) *Eraser {
	x := &Eraser{put: []byte(put)}
	add := func(b []byte) {
		if !slices.ContainsFunc(x.forms, func(f []byte) bool { return bytes.Equal(f, b) }) {
			x.forms = append(x.forms, b)
		}
	}
	for _, t := range texts {
		t = bytes.TrimSpace(t)
		if len(t) < LeastErased || string(t) == put {
			continue
		}
		line := strings.Join(strings.Fields(string(t)), " ")
		x.lines = append(x.lines, line)
		for _, b := range [][]byte{t, []byte(line)} {
			for range 3 { // itself, in a string, in a string of a string
				add(b)
				web, err := jsontext.AppendQuote(nil, b)
				if v := jsontext.Value(web); err == nil && v.Canonicalize(jsontext.EscapeForHTML(true)) == nil {
					add(v[1 : len(v)-1])
				}
				b = AppendEscaped(nil, b)
			}
		}
	}
	slices.SortStableFunc(x.forms, func(a, b []byte) int { return len(b) - len(a) })
	return x
}

// Idle reports that there is nothing to look for.
func (x *Eraser) Idle() bool { return len(x.forms) == 0 }

// In reports whether bytes hold a text, in a form that a line may give it.
func (x *Eraser) In(b []byte) bool {
	return slices.ContainsFunc(x.forms, func(f []byte) bool { return bytes.Contains(b, f) })
}

// Text returns a text without those that are to go, and whether it held one. In
// JSON each string is looked at as what it means.
func (x *Eraser) Text(b []byte) ([]byte, bool) { return x.text(b, 0) }

func (x *Eraser) text(b []byte, depth int) ([]byte, bool) {
	held := false
	for _, f := range x.forms {
		if bytes.Contains(b, f) {
			b, held = bytes.ReplaceAll(b, f, x.put), true
		}
	}
	if stem, cut := bytes.CutSuffix(bytes.TrimSpace(b), []byte("…")); cut && len(stem) >= LeastErased && len(b) < 2000 {
		line := strings.Join(strings.Fields(string(stem)), " ")
		if slices.ContainsFunc(x.lines, func(l string) bool { return strings.HasPrefix(l, line) }) {
			return x.put, true
		}
	}
	if depth < 4 && len(x.forms) > 0 && mayBeJSON(b) {
		if now, deeper := x.JSON(b, depth); deeper {
			return now, true
		}
	}
	return b, held
}

// mayBeJSON is a quick look: an object, list or string with an escape in it.
// Without one, what a string means is what it looks like.
func mayBeJSON(b []byte) bool {
	t := bytes.TrimSpace(b)
	return len(t) > 1 && (t[0] == '{' || t[0] == '[' || t[0] == '"') && bytes.IndexByte(t, '\\') >= 0 && jsontext.Value(t).IsValid()
}

// JSON is Text for each string of a JSON value, names too. What holds nothing
// stays byte for byte.
func (x *Eraser) JSON(b []byte, depth int) ([]byte, bool) {
	var out []byte
	done := 0
	d := jsontext.NewDecoder(bytes.NewBuffer(b), jsontext.AllowDuplicateNames(true))
	for {
		t, err := d.ReadToken()
		if err != nil {
			break
		}
		if t.Kind() != '"' {
			continue
		}
		now, held := x.text([]byte(t.String()), depth+1)
		if !held {
			continue
		}
		end := int(d.InputOffset())
		start := stringStart(b, done, end)
		out = append(out, b[done:start]...)
		out = AppendQuoted(out, now)
		done = end
	}
	if done == 0 {
		return b, false
	}
	return append(out, b[done:]...), true
}

// stringStart is where the string begins that ends at end: behind a quote that
// nothing escapes.
func stringStart(b []byte, from, end int) int {
	for i := end - 2; i >= from; i-- {
		if b[i] != '"' {
			continue
		}
		n := 0
		for i-1-n >= from && b[i-1-n] == '\\' {
			n++
		}
		if n%2 == 0 {
			return i
		}
	}
	return from
}
