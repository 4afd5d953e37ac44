package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"varve/internal/tui/plain"
)

// How much a step of a search does, so that keys don't wait for it: bytes of
// texts that are looked through, and of texts that are drawn.
const (
	findBytes = 256 << 10
	findDrawn = 32 << 10
	findRow   = 256 // what the drawing of a row counts, however short its text is
)

// A find is a search through the transcript. Rows are looked through from the
// newest to the oldest, a little at a time; older pages are fetched where nothing
// was found in what is there. What is counted are places as they are drawn.
type find struct {
	needle
	hits     []hit // by the number of their row
	low      int   // rows from low up to high were looked at
	high     int
	lacking  []*row // whose texts are on their way
	row      *row   // where the search stands: the k-th place in row
	k        int
	toward   int    // where it goes: -1 up, 1 down, 0 nowhere
	first    bool   // it has not been anywhere
	said     string // why it went nowhere
	stepping bool
}

type hit struct {
	row *row
	n   int
}

// lastPlace stands for the last place in a row.
const lastPlace = 1 << 30

// newFind looks for a text from the end of the view upwards.
func newFind(text string, t *transcript) *find {
	end := t.base + len(t.rows)
	f := &find{needle: newNeedle(text), low: end, high: end, first: true, k: lastPlace}
	f.goTo(-1, t)
	return f
}

// A findStepMsg lets a search go on.
type findStepMsg struct{}

func (findStepMsg) on(r *Root) tea.Cmd {
	if d := r.reader(); d != nil && d.find != nil {
		d.find.stepping = false
		d.goes()
	}
	return nil
}

// seeks lets the search of the transcript go on, where there is one with
// something to do.
func (r *Root) seeks() tea.Cmd {
	d := r.reader()
	if d == nil || d.find == nil || d.find.stepping || !d.find.works(d.tr) {
		return nil
	}
	d.find.stepping = true
	return answer(findStepMsg{})
}

// works reports whether there is something to look at.
func (f *find) works(t *transcript) bool {
	return f.scans(t) || f.toward != 0 && (!t.older || t.whole || t.barred)
}

func (f *find) scans(t *transcript) bool {
	return f.low > t.base || f.high < t.base+len(t.rows) || slices.ContainsFunc(f.lacking, has)
}

// has reports whether what a row draws is there, or can't be had.
func has(r *row) bool {
	return !slices.ContainsFunc(r.sources(), func(s *source) bool { return s.missing })
}

// step looks through some rows, and goes where it is wanted.
func (f *find) step(t *transcript) {
	texts, drawn := 0, 0
	for texts < findBytes && drawn < findDrawn {
		var r *row
		switch i := slices.IndexFunc(f.lacking, has); {
		case i >= 0:
			r = f.lacking[i]
			f.lacking = slices.Delete(f.lacking, i, i+1)
			t.sought = f.lacking
		case f.high < t.base+len(t.rows):
			r = t.rows[f.high-t.base]
			f.high++
		case f.low > t.base:
			f.low--
			r = t.rows[f.low-t.base]
		default:
			f.resolve(t)
			return
		}
		texts += r.size()
		if f.look(t, r) > 0 {
			drawn += findRow + r.size()
		}
	}
	f.resolve(t)
}

// look counts the places in a row.
func (f *find) look(t *transcript, r *row) (n int) {
	if i := t.index(r); i >= 0 && !r.hidden && f.near(r) {
		if n = len(f.in(t.lines(i))); n == 0 && t.all && r.shut {
			n = 1 // it is unfolded when one goes there
		}
	}
	if !has(r) && !slices.Contains(f.lacking, r) {
		f.lacking = append(f.lacking, r)
		t.sought = f.lacking
	}
	f.note(r, n)
	return n
}

// note keeps how many places a row has.
func (f *find) note(r *row, n int) {
	i, has := slices.BinarySearchFunc(f.hits, r.n, func(h hit, n int) int { return h.row.n - n })
	switch {
	case has && n == 0:
		f.hits = slices.Delete(f.hits, i, i+1)
	case has:
		f.hits[i].n = n
	case n > 0:
		f.hits = slices.Insert(f.hits, i, hit{r, n})
	}
}

// resolve goes to the next place, if it is known by now which that is.
func (f *find) resolve(t *transcript) {
	if f.toward == 0 || f.row != nil && f.low > f.row.n && f.low > t.base {
		return // what is between is not looked through
	}
	i, k := f.next(f.toward)
	switch {
	case i >= 0:
		f.row, f.k = f.hits[i].row, k
	case f.toward > 0:
		f.stops(t, "no match below this one")
		return
	case f.low > t.base:
		return
	case !t.whole && !t.barred && t.first > 1:
		t.older = true
		return
	case f.first: // nothing is above the end of the view: below it, then
		f.k--
		if i, k = f.next(1); i < 0 {
			f.stops(t, "")
			return
		}
		f.row, f.k = f.hits[i].row, k
	case t.barred:
		f.stops(t, "no match above this one in what can be read")
		return
	default:
		f.stops(t, "no match above this one: this was the first")
		return
	}
	f.stops(t, "")
	f.first = false
	f.arrive(t)
}

func (f *find) stops(t *transcript, why string) { f.toward, f.said, t.older = 0, why, false }

// next is the place above or below the one where the search stands: the hit, and
// the place in its row.
func (f *find) next(toward int) (i, k int) {
	if len(f.hits) == 0 {
		return -1, 0
	}
	at := 1 << 60
	if f.row != nil {
		at = f.row.n
	}
	i, same := slices.BinarySearchFunc(f.hits, at, func(h hit, n int) int { return h.row.n - n })
	if same {
		if k = min(f.k, f.hits[i].n) + toward; k >= 0 && k < f.hits[i].n {
			return i, k
		}
	}
	if toward > 0 {
		if same {
			i++
		}
		if i >= len(f.hits) {
			return -1, 0
		}
		return i, 0
	}
	if i--; i < 0 {
		return -1, 0
	}
	return i, f.hits[i].n - 1
}

// arrive brings the place into view. A row that is folded is unfolded for it.
func (f *find) arrive(t *transcript) {
	r := f.row
	if r.shut {
		r.shut = false
		r.forget()
	}
	i := t.index(r)
	if i < 0 {
		return
	}
	places := f.in(t.lines(i))
	f.note(r, len(places))
	if len(places) == 0 {
		return
	}
	f.k = min(f.k, len(places)-1)
	t.reveal(r, places[f.k][0].line)
}

// reveal brings a line of a row into view, with some of what is before it.
func (t *transcript) reveal(r *row, n int) {
	for _, l := range t.shown {
		if l.row == r && l.n == n {
			return
		}
	}
	t.anchor = anchor{row: r, line: n, fixed: true}
	t.scroll(-t.height / 3)
}

// goTo looks for the next place up or down: from where the search stands, or where
// that is not in view, from there.
func (f *find) goTo(toward int, t *transcript) {
	f.toward, f.said = toward, ""
	shown := slices.DeleteFunc(slices.Clone(t.shown), func(l line) bool { return l.row.kind == rowLive })
	if len(shown) == 0 || f.inView(t) {
		return
	}
	if toward < 0 {
		from := shown[len(shown)-1]
		f.row, f.k = from.row, f.above(t, from.row, from.n+1, lastPlace)
		return
	}
	f.row, f.k = shown[0].row, f.above(t, shown[0].row, shown[0].n, 0)-1
}

// inView reports whether the place where the search stands is seen.
func (f *find) inView(t *transcript) bool {
	seen := func(n int) bool {
		return slices.ContainsFunc(t.shown, func(l line) bool { return l.row == f.row && l.n == n })
	}
	i := t.index(f.row)
	if i < 0 {
		return false
	}
	places := f.in(t.lines(i))
	return f.k >= 0 && f.k < len(places) && slices.ContainsFunc(places[f.k], func(s span) bool { return seen(s.line) })
}

// above is how many of a row's places begin before one of its lines. What a folded
// row hides has no line: those are as many as is said.
func (f *find) above(t *transcript, r *row, line, folded int) (n int) {
	if r.shut {
		return folded
	}
	for _, place := range f.in(t.lines(t.index(r))) {
		if place[0].line < line {
			n++
		}
	}
	return n
}

// place is which of how many places the search is at, from 1.
func (f *find) place() (at, of int) {
	for _, h := range f.hits {
		if h.row == f.row {
			at = of + min(f.k, h.n-1) + 1
		}
		of += h.n
	}
	return at, of
}

// status says where the search is, and what was not looked at.
func (f *find) status(t *transcript) string {
	what := "“" + plain.Truncate(plain.Clean(f.text), 24) + "”"
	at, of := f.place()
	var out []string
	switch {
	case f.toward != 0:
		out = append(out, "looking for "+what)
	case of == 0:
		out = append(out, what+" is nowhere here")
	case at == 0:
		out = append(out, fmt.Sprintf("%s: %s", what, countOf(of)))
	default:
		out = append(out, fmt.Sprintf("%s: %d of %d", what, at, of))
	}
	switch {
	case f.said != "":
		out = append(out, f.said)
	case t.older:
		out = append(out, t.toGo())
	case f.scans(t):
		out = append(out, "still counting")
	case len(f.lacking) > 0:
		out = append(out, "long texts are still being read")
	case !t.whole && t.first > 1:
		out = append(out, "older entries not read yet")
	}
	return strings.Join(out, ", ")
}

func countOf(n int) string {
	if n == 1 {
		return "one match"
	}
	return fmt.Sprintf("%d matches", n)
}
