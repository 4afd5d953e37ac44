package tui

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// spot is a place in a text: a line, and a byte of it. It never stands within a cluster of characters.
type spot struct{ line, off int }

func (a spot) before(b spot) bool { return a.line < b.line || a.line == b.line && a.off < b.off }

// A draftText is what the composer edits: lines, a cursor, and what can be undone. Every change is one splice, so undo is the
// same splice turned round. Rows (see composer_wrap.go) are kept for each line, and after a change only those that may
// differ are cut again: a key costs the same in a long text as in a short one.
type draftText struct {
	lines      []draftLine // at least one
	cur        spot
	goal       int // the column that moving up and down wants, -1 for where the cursor is
	width      int // columns of a row
	pastes     []string
	labels     []string // of chips
	done       []change
	undone     []change
	typingFrom int // length of done when a run of typing can be joined to its last change, 0 for not
}

// draftLine is one line of the text, and where its rows begin at width.
type draftLine struct {
	s     string
	rows  []int // nil: not cut yet
	width int
}

// A change is a splice that was made: at from, removed was replaced with inserted. cur is where the cursor was.
type change struct {
	from              spot
	removed, inserted string
	cur               spot
}

// undoDepth bounds what is kept for undo.
const undoDepth = 1000

func newText() draftText { return draftText{lines: []draftLine{{}}, goal: -1, width: 80} }

func (t *draftText) empty() bool { return len(t.lines) == 1 && t.lines[0].s == "" }

// all is the text with its chips as they are.
func (t *draftText) all() string { return t.between(spot{}, t.end()) }

func (t *draftText) end() spot {
	last := len(t.lines) - 1
	return spot{last, len(t.lines[last].s)}
}

func (t *draftText) between(from, to spot) string {
	if from.line == to.line {
		return t.lines[from.line].s[from.off:to.off]
	}
	var b strings.Builder
	b.WriteString(t.lines[from.line].s[from.off:])
	for _, l := range t.lines[from.line+1 : to.line] {
		b.WriteByte('\n')
		b.WriteString(l.s)
	}
	b.WriteByte('\n')
	b.WriteString(t.lines[to.line].s[:to.off])
	return b.String()
}

// splice replaces what is between two spots and returns where ins ends. The cursor is left to the caller.
func (t *draftText) splice(from, to spot, ins string) spot {
	head, tail := t.lines[from.line].s[:from.off], t.lines[to.line].s[to.off:]
	n := strings.Count(ins, "\n")
	if n == 0 {
		old := t.lines[from.line]
		l := draftLine{s: head + ins + tail, width: old.width}
		if from.line == to.line && old.rows != nil {
			l.rows = t.recut(old, l.s, from.off, len(ins))
		}
		if from.line == to.line {
			t.lines[from.line] = l
		} else {
			l.rows = nil
			t.lines = slices.Replace(t.lines, from.line, to.line+1, l)
		}
		return spot{from.line, from.off + len(ins)}
	}
	fresh := make([]draftLine, 0, n+1)
	for part := range strings.SplitSeq(ins, "\n") {
		fresh = append(fresh, draftLine{s: part})
	}
	last := len(fresh) - 1
	end := spot{from.line + last, len(fresh[last].s)}
	fresh[0].s = head + fresh[0].s
	fresh[last].s += tail
	t.lines = slices.Replace(t.lines, from.line, to.line+1, fresh...)
	return end
}

// replace is a splice that can be undone. The cursor goes to its end.
func (t *draftText) replace(from, to spot, ins string) {
	if from == to && ins == "" {
		return
	}
	t.done = append(t.done, change{from, t.between(from, to), ins, t.cur})
	if len(t.done) > undoDepth {
		t.done = slices.Delete(t.done, 0, len(t.done)-undoDepth)
	}
	t.undone, t.typingFrom, t.goal = nil, 0, -1
	t.cur = t.splice(from, to, ins)
	t.snap()
}

// write puts in what was typed. A run of letters is undone as one.
func (t *draftText) write(s string) {
	run := t.typingFrom
	if n := len(t.done); run > 0 && run == n {
		if c := &t.done[n-1]; c.removed == "" && s != "\n" && s != " " && t.follows(*c) {
			c.inserted += s
			t.undone, t.goal = nil, -1
			t.cur = t.splice(t.cur, t.cur, s)
			t.snap()
			return
		}
	}
	t.replace(t.cur, t.cur, s)
	t.typingFrom = len(t.done)
}

// follows says that the cursor stands where a change on one line ended.
func (t *draftText) follows(c change) bool {
	return !strings.Contains(c.inserted, "\n") && t.cur == spot{c.from.line, c.from.off + len(c.inserted)}
}

func (t *draftText) undo() {
	if n := len(t.done); n > 0 {
		c := t.done[n-1]
		t.done, t.typingFrom, t.goal = t.done[:n-1], 0, -1
		t.splice(c.from, endOf(c.from, c.inserted), c.removed)
		t.cur = c.cur
		t.undone = append(t.undone, c)
		t.snap()
	}
}

func (t *draftText) redo() {
	if n := len(t.undone); n > 0 {
		c := t.undone[n-1]
		t.undone, t.typingFrom, t.goal = t.undone[:n-1], 0, -1
		t.cur = t.splice(c.from, endOf(c.from, c.removed), c.inserted)
		t.done = append(t.done, c)
		t.snap()
	}
}

// endOf is where s ends that begins at a spot.
func endOf(from spot, s string) spot {
	if at := strings.LastIndexByte(s, '\n'); at >= 0 {
		return spot{from.line + strings.Count(s, "\n"), len(s) - at - 1}
	}
	return spot{from.line, from.off + len(s)}
}

// snap moves the cursor to the end of the cluster that it stands in: an edit beside it may have joined what were two.
func (t *draftText) snap() {
	s := t.lines[t.cur.line].s
	t.cur.off = min(t.cur.off, len(s))
	at := t.rowStart(t.cur)
	for at < t.cur.off {
		n, _ := t.cluster(s[at:])
		at += n
	}
	t.cur.off = at
}

// prev and next are the spots a cluster away; the ends of the text stay.
func (t *draftText) prev(p spot) spot {
	if p.off == 0 {
		if p.line == 0 {
			return p
		}
		return spot{p.line - 1, len(t.lines[p.line-1].s)}
	}
	s := t.lines[p.line].s
	at := t.rowStart(spot{p.line, p.off - 1})
	for {
		n, _ := t.cluster(s[at:])
		if at+n >= p.off {
			return spot{p.line, at}
		}
		at += n
	}
}

func (t *draftText) next(p spot) spot {
	s := t.lines[p.line].s
	if p.off == len(s) {
		if p.line == len(t.lines)-1 {
			return p
		}
		return spot{p.line + 1, 0}
	}
	n, _ := t.cluster(s[p.off:])
	return spot{p.line, p.off + n}
}

// inWord says that a cluster belongs to a word. A chip is a word of its own, which is not said here.
func inWord(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '_'
}

// at is what stands right of a spot, to the end of its line; "" at the end of a line.
func (t *draftText) at(p spot) string { return t.lines[p.line].s[p.off:] }

// wordLeft and wordRight go over what is between words, then over one.
func (t *draftText) wordLeft(p spot) spot {
	step := func(in bool) {
		for q := t.prev(p); q != p && inWord(t.at(q)) == in; q = t.prev(p) {
			if _, chip := chipAt(t.at(q)); chip {
				return
			}
			p = q
		}
	}
	from := p
	step(false)
	step(true)
	if q := t.prev(p); p == from && q != p {
		return q // a chip
	}
	return p
}

func (t *draftText) wordRight(p spot) spot {
	step := func(in bool) {
		for q := t.next(p); q != p && inWord(t.at(p)) == in; q = t.next(p) {
			if _, chip := chipAt(t.at(p)); chip {
				return
			}
			p = q
		}
	}
	from := p
	step(false)
	step(true)
	if q := t.next(p); p == from && q != p {
		return q
	}
	return p
}
