package tui

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// tabWidth is how wide a tab is drawn here: always the same, so that a row can be cut from its start alone.
const tabWidth = 4

// cluster measures the first cluster of s, which is not empty: its bytes and columns. A chip is as wide as its label.
func (t *draftText) cluster(s string) (n, width int) {
	if c := s[0]; c < 0x80 && (len(s) == 1 || s[1] < 0x80) {
		if c == '\t' {
			return 1, min(tabWidth, t.width)
		}
		return 1, 1
	}
	if n, ok := chipAt(s); ok {
		if n < len(t.labels) {
			return chipBytes, min(len(t.labels[n]), t.width)
		}
		return chipBytes, 1
	}
	c, w := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
	if at := strings.Index(c, chipLead); at > 0 {
		if _, ok := chipAt(c[at:]); ok {
			c, w = c[:at], ansi.StringWidth(c[:at])
		}
	}
	if c == "\t" {
		w = tabWidth
	}
	return max(len(c), 1), min(w, t.width)
}

// rowEnd is where the row that starts at from ends. Rows break after a space or between wide characters where they can;
// nothing is dropped, but one space may hang over the edge. more says that a row follows, which may be empty: the cursor
// behind a hanging space stands there.
//
// The end depends on nothing before from: recut relies on it.
func (t *draftText) rowEnd(s string, from int) (end int, more bool) {
	col, brk := 0, -1
	for i := from; i < len(s); {
		n, w := t.cluster(s[i:])
		if s[i] == ' ' && n == 1 && col == t.width {
			return i + 1, true
		}
		if w > 1 && i > from {
			brk = i
		}
		if col+w > t.width && i > from {
			if brk > from {
				return brk, true
			}
			return i, true
		}
		i += n
		col += w
		if w > 1 || s[i-n] == ' ' {
			brk = i
		}
	}
	return len(s), false
}

// rowsOf are where the rows of a line begin; the first is 0.
func (t *draftText) rowsOf(i int) []int {
	l := &t.lines[i]
	if l.rows == nil || l.width != t.width {
		l.rows, l.width = []int{0}, t.width
		for end, more := t.rowEnd(l.s, 0); more; end, more = t.rowEnd(l.s, end) {
			l.rows = append(l.rows, end)
		}
	}
	return l.rows
}

// recut is the rows of a line that was old and is s, after a change that put new bytes at byte at. Rows that end well
// before the change stay, and from where old and new begin a row at the same text after it the old ones go on.
func (t *draftText) recut(old draftLine, s string, at, fresh int) []int {
	if old.width != t.width {
		return nil
	}
	keep, _ := slices.BinarySearch(old.rows, at+1)
	keep = max(keep-1, 1) // the row of the change, and the one before, are cut again
	if keep > 1 {
		keep--
	}
	rows := slices.Clone(old.rows[:keep])
	grown := len(s) - len(old.s)
	for end, more := t.rowEnd(s, rows[len(rows)-1]); more; end, more = t.rowEnd(s, end) {
		if end >= at+fresh {
			if j, same := slices.BinarySearch(old.rows, end-grown); same {
				for _, r := range old.rows[j:] {
					rows = append(rows, r+grown)
				}
				return rows
			}
		}
		rows = append(rows, end)
	}
	return rows
}

// rowAt is the number of the row of its line in which a spot stands; a spot between two rows stands in the second.
func (t *draftText) rowAt(p spot) int {
	i, same := slices.BinarySearch(t.rowsOf(p.line), p.off)
	if same {
		return i
	}
	return i - 1
}

// rowStart is where that row begins.
func (t *draftText) rowStart(p spot) int { return t.rowsOf(p.line)[t.rowAt(p)] }

// column is how far from the left of its row a spot stands.
func (t *draftText) column(p spot) (col int) {
	s := t.lines[p.line].s
	for at := t.rowStart(p); at < p.off; {
		n, w := t.cluster(s[at:])
		at += n
		col += w
	}
	return col
}

// atColumn is the spot in a row at a column, or as near before it as there is one.
func (t *draftText) atColumn(l, row, col int) spot {
	rows := t.rowsOf(l)
	s := t.lines[l].s
	at, end := rows[row], len(s)
	if row+1 < len(rows) {
		end = rows[row+1]
	}
	for c := 0; at < end; {
		n, w := t.cluster(s[at:])
		if c+w > col || row+1 < len(rows) && at+n >= end {
			break // the end of a row that goes on is the start of the next
		}
		at += n
		c += w
	}
	return spot{l, at}
}

// up and down move by rows and keep to the column where they began. ok is false at the edge.
func (t *draftText) up() (ok bool) {
	row := t.rowAt(t.cur)
	l := t.cur.line
	switch {
	case row > 0:
		row--
	case l > 0:
		l--
		row = len(t.rowsOf(l)) - 1
	default:
		return false
	}
	t.toRow(l, row)
	return true
}

func (t *draftText) down() (ok bool) {
	row := t.rowAt(t.cur)
	l := t.cur.line
	switch {
	case row < len(t.rowsOf(l))-1:
		row++
	case l < len(t.lines)-1:
		l, row = l+1, 0
	default:
		return false
	}
	t.toRow(l, row)
	return true
}

func (t *draftText) toRow(l, row int) {
	goal := t.goal
	if goal < 0 {
		goal = t.column(t.cur)
	}
	t.cur = t.atColumn(l, row, goal)
	t.goal = goal
}

// rowEdge are the first and the last spot of the cursor's row.
func (t *draftText) rowEdge() (first, last spot) {
	row := t.rowAt(t.cur)
	return spot{t.cur.line, t.rowStart(t.cur)}, t.atColumn(t.cur.line, row, 1<<30)
}
