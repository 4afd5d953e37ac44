package tui

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"varve/internal/tui/plain"
)

// A list is which of n rows is chosen and which are in view. The chosen row always is (case TUI-14). The zero value has no
// rows.
type list struct {
	n, at int
	top   int // the first in view
	fixed []bool
	under []bool // fixed ones that belong to the row above, and are in view with it
}

// Move goes by rows and stops at the ends. Rows that can't be chosen (headings) are passed over.
func (l *list) Move(by int) {
	if l.n == 0 {
		return
	}
	step, to := 1, min(max(l.at+by, 0), l.n-1)
	if by < 0 {
		step = -1
	}
	for to >= 0 && to < l.n && l.heading(to) {
		to += step
	}
	if to < 0 || to >= l.n { // headings up to the end: the last row before them
		to = min(max(l.at+by, 0), l.n-1)
		for l.heading(to) && to != l.at {
			to -= step
		}
	}
	l.at = to
}

func (l *list) heading(i int) bool { return i < len(l.fixed) && l.fixed[i] }

// Select chooses a row. One that can't be chosen, or is not there, gives the next one that can.
func (l *list) Select(i int) {
	l.at = min(max(i, 0), max(l.n-1, 0))
	if l.heading(l.at) {
		l.Move(0)
	}
}

// Window is the rows in view where there is room for so many, from included and to not. It scrolls as little as needed, and
// shows a heading with the first of its rows.
func (l *list) Window(height int) (from, to int) {
	height = max(height, 1)
	last := l.at
	for last+1 < len(l.under) && l.under[last+1] && last+1-l.at < height {
		last++
	}
	l.top = min(max(l.top, last-height+1), max(l.n-height, 0))
	first := l.at
	for height > 1 && first > 0 && l.heading(first-1) && last-first+1 < height {
		first--
	}
	l.top = max(min(l.top, first), 0)
	return l.top, min(l.top+height, l.n)
}

// Do does an action of lists; ok is false for another.
func (l *list) Do(act Action, page int) (ok bool) {
	switch act {
	case ActListUp:
		l.Move(-1)
	case ActListDown:
		l.Move(1)
	case ActListPageUp:
		l.Move(-max(page-1, 1))
	case ActListPageDn:
		l.Move(max(page-1, 1))
	case ActListFirst:
		l.Move(-l.n)
		l.top = 0
	case ActListLast:
		l.Move(l.n)
	default:
		return false
	}
	return true
}

// A listItem is one row of a list, as it is drawn.
type listItem struct {
	Title, Note string
	Marks       []int // bytes of Title that a query found
	Selected    bool
	Dim         bool // it can't be chosen, or does nothing yet
}

// draw is the row in exactly width columns. Notes begin at a column, or where the title ends, and are left out where too
// little of them could be read. The chosen row has a mark too, for screens without colour.
func (i listItem) draw(width, column int, th Theme) string {
	mark := "  "
	if i.Selected {
		mark = "▸ "
	}
	room := max(width-2, 1)
	title := plain.Truncate(i.Title, room)
	used := plain.Width(title)
	note := ""
	if i.Note != "" {
		start := max(used+2, min(column, room/2))
		if left := room - start; left >= 8 {
			note = strings.Repeat(" ", start-used) + plain.Truncate(i.Note, left)
		}
	}
	if i.Selected {
		return th.Selection.Of(fitLine(mark+title+note, width))
	}
	shown := marked(title, i.Marks, th.Match)
	if i.Dim {
		shown = th.Dim.Of(title)
	}
	return fitLine(mark+shown+th.Dim.Of(note), width)
}

// marked is s with the clusters that hold bytes at in a style.
func marked(s string, at []int, st Style) string {
	if len(at) == 0 || st == "" {
		return s
	}
	at = slices.Sorted(slices.Values(at))
	var b strings.Builder
	for i := 0; i < len(s); {
		c, _ := ansi.FirstGraphemeCluster(s[i:], ansi.GraphemeWidth)
		n := max(len(c), 1)
		j, _ := slices.BinarySearch(at, i)
		if j < len(at) && at[j] < i+n {
			b.WriteString(st.Of(s[i : i+n]))
		} else {
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}
