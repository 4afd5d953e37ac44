package tui

import (
	"slices"
	"time"

	"varve/internal/tui/plain"
)

// An anchor is the row and the line of it at the top of the view; it is not
// used while the view follows the end.
type anchor struct {
	row   *row
	line  int
	fixed bool
}

// A line is one visible line, and where it belongs.
type line struct {
	text string
	row  *row
	n    int // of the row's lines
}

// narrow is the least width that rows are drawn for; below it they are cut.
const narrow = 20

// view draws h lines of width w. They hold until the next call.
func (t *transcript) view(w, h int) []string {
	h = max(h, 0)
	t.now, t.coloured = t.look.now(), false
	if w = max(w, 1); w != t.width {
		t.resize(w)
	}
	t.height = h
	if cap(t.shown) < h {
		t.shown = make([]line, h)
	}
	t.shown = t.shown[:h]
	n, fits := 0, false
	if t.anchor.fixed {
		if n, fits = t.downward(); fits {
			t.anchor = anchor{} // the end is reached: follow it again
		}
	}
	if !t.anchor.fixed {
		n = t.upward()
	}
	t.short = n < h
	t.shown = t.shown[:n]
	t.sweep()
	t.out = t.out[:0]
	for _, l := range t.shown {
		if w < narrow {
			l.text = plain.Truncate(l.text, w)
		}
		t.out = append(t.out, l.text)
	}
	for len(t.out) < h {
		t.out = append(t.out, "")
	}
	return t.out
}

// resize is another width. The row at the top stays there.
func (t *transcript) resize(w int) {
	r, line, had := t.anchor.row, t.anchor.line, 0
	if r != nil {
		had = len(r.drawn)
	}
	t.width = w
	if i := t.index(r); t.anchor.fixed && i >= 0 && had > 0 {
		t.anchor.line = line * len(t.lines(i)) / had
	}
}

// count is the number of rows, what passes included.
func (t *transcript) count() int { return len(t.rows) + len(t.live) }

func (t *transcript) at(i int) *row {
	if i < len(t.rows) {
		return t.rows[i]
	}
	return t.live[i-len(t.rows)]
}

// index is the place of a row, -1 where it is gone.
func (t *transcript) index(r *row) int {
	if r == nil {
		return -1
	}
	if i := r.n - t.base; i >= 0 && i < len(t.rows) && t.rows[i] == r {
		return i
	}
	if i := slices.Index(t.live, r); i >= 0 {
		return len(t.rows) + i
	}
	return -1
}

// lines draws row i, or has its lines.
func (t *transcript) lines(i int) []string {
	r := t.at(i)
	if r.hidden {
		return nil
	}
	had := len(r.drawn)
	r.draw(t)
	t.cost += len(r.drawn) - had
	return r.drawn
}

// upward fills the view with the last lines, and returns how many there are.
func (t *transcript) upward() int {
	at := len(t.shown)
	for i := t.count() - 1; i >= 0 && at > 0; i-- {
		ls := t.lines(i)
		for j := len(ls) - 1; j >= 0 && at > 0; j-- {
			at--
			t.shown[at] = line{ls[j], t.at(i), j}
		}
	}
	return copy(t.shown, t.shown[at:])
}

// downward fills the view from the anchor, and reports whether it ended before
// the view was full.
func (t *transcript) downward() (n int, fits bool) {
	i := t.index(t.anchor.row)
	if i < 0 {
		return 0, true
	}
	skip := t.anchor.line
	for ; i < t.count() && n < len(t.shown); i++ {
		ls := t.lines(i)
		for j := max(min(skip, len(ls)-1), 0); j < len(ls) && n < len(t.shown); j++ {
			t.shown[n] = line{ls[j], t.at(i), j}
			n++
		}
		skip = 0
	}
	return n, n < len(t.shown)
}

// scroll moves the view by n lines, up where n is negative. New output never
// moves a view that does not follow the end.
func (t *transcript) scroll(n int) {
	t.homing = false
	if n == 0 || t.count() == 0 || !t.anchor.fixed && n > 0 {
		return
	}
	if !t.anchor.fixed {
		t.anchor = t.top(t.height)
	}
	i := t.index(t.anchor.row)
	if i < 0 {
		t.anchor = anchor{}
		return
	}
	at := min(t.anchor.line, max(len(t.lines(i))-1, 0)) + n
	for at < 0 && i > 0 {
		i--
		at += len(t.lines(i))
	}
	for at > 0 && i+1 < t.count() && at >= len(t.lines(i)) {
		at -= len(t.lines(i))
		i++
	}
	t.anchor = anchor{row: t.at(i), line: max(at, 0), fixed: true}
	if n > 0 && t.ends() {
		t.anchor = anchor{}
	}
}

// ends reports whether the view shows the last line.
func (t *transcript) ends() bool {
	left := t.height
	skip := t.anchor.line
	for i := t.index(t.anchor.row); i >= 0 && i < t.count(); i++ {
		if left -= max(len(t.lines(i))-skip, 0); left < 0 {
			return false
		}
		skip = 0
	}
	return true
}

// page scrolls by n views, less a line.
func (t *transcript) page(n int) { t.scroll(n * max(t.height-1, 1)) }

// top is the anchor of a view of h lines at the end.
func (t *transcript) top(h int) anchor {
	for i := t.count() - 1; i >= 0; i-- {
		n := len(t.lines(i))
		if n >= h {
			return anchor{row: t.at(i), line: n - h, fixed: true}
		}
		h -= n
	}
	return anchor{row: t.at(0), fixed: true}
}

// following reports whether the view shows the end.
func (t *transcript) following() bool { return !t.anchor.fixed }

// unfolds reports whether a row is drawn in full.
func (t *transcript) unfolds(r *row) bool {
	if t.all {
		return !r.shut
	}
	return r.open
}

// unfold shows everything in full, or folds it again.
func (t *transcript) unfold() {
	t.redraw(func() { t.all = !t.all })
}

// redraw changes how rows are drawn, and keeps the row at the top there.
func (t *transcript) redraw(change func()) {
	if t.anchor.fixed && t.anchor.row != nil && len(t.anchor.row.drawn) > 0 {
		had := len(t.anchor.row.drawn)
		change()
		if i := t.index(t.anchor.row); i >= 0 {
			t.anchor.line = t.anchor.line * len(t.lines(i)) / had
		}
		return
	}
	change()
}

// wake is how long it takes until the view shows something else although
// nothing came: a clock, or colours that are still to be made. 0 is never.
func (t *transcript) wake() time.Duration {
	const again = 30 * time.Millisecond
	var wait time.Duration
	var seen *row
	for _, l := range t.shown {
		r := l.row
		if r == seen {
			continue
		}
		seen = r
		d := time.Duration(0)
		switch {
		case r.doc != nil && r.doc.Pending():
			d = again
		case r.counts():
			d = r.next(t.now)
		}
		if d > 0 && (wait == 0 || d < wait) {
			wait = d
		}
	}
	// A wait for the model is not shown at once.
	for _, r := range t.live {
		if d := r.next(t.now); r.counts() && len(r.drawn) == 0 && t.following() && (wait == 0 || d < wait) {
			wait = d
		}
	}
	return wait
}

// ticks reports whether there is something to wake for.
func (t *transcript) ticks() bool { return t.wake() > 0 }

// next is when the clock of the row says something else: never before a
// moment has passed.
func (r *row) next(now time.Time) time.Duration {
	d := r.time(now) % time.Second
	if r.pulse.Kind != "retry" {
		d = time.Second - max(d, 0)
	}
	return max(d, 20*time.Millisecond)
}

// sweep forgets the lines of rows that are far from the view.
func (t *transcript) sweep() {
	if t.cost <= t.sweepAt || len(t.shown) == 0 {
		return
	}
	const near = 100
	first, last := t.index(t.shown[0].row), t.index(t.shown[len(t.shown)-1].row)
	t.cost = 0
	for i, r := range t.rows {
		if i < first-near || i > last+near {
			r.drawn, r.doc = nil, nil
			r.forget()
		}
		t.cost += len(r.drawn)
	}
	t.sweepAt = t.cost + keepLines
}
