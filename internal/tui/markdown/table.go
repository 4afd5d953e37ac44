package markdown

import (
	"slices"
	"strings"

	extast "github.com/yuin/goldmark/extension/ast"

	"varve/internal/tui/plain"
)

const (
	columnGap = 3 // " │ "
	minColumn = 4 // a table whose columns would be narrower is drawn as records
)

// A cell is a table cell's content and the columns it would like.
type cell struct {
	flow
	text  string
	lines []plain.Span
	want  int
}

// table draws a table as wide as it needs to be, or with its widest columns wrapped to fit; one that can't fit is drawn
// as a list of records, one line "header: value" per cell.
func (r *renderer) table(t *extast.Table) {
	var rows [][]cell
	r.inTable = true
	for n := t.FirstChild(); n != nil; n = n.NextSibling() {
		style := r.theme.Text
		if len(rows) == 0 {
			style += r.theme.Strong
		}
		row := make([]cell, len(t.Alignments))
		i := 0
		for c := n.FirstChild(); c != nil && i < len(row); c = c.NextSibling() {
			r.inline(&row[i].flow, c, style)
			row[i].text = string(row[i].flow.text)
			for line := range strings.SplitSeq(row[i].text, "\n") {
				row[i].want = max(row[i].want, plain.Width(line))
			}
			i++
		}
		rows = append(rows, row)
	}
	r.inTable = false
	if len(rows) == 0 || len(t.Alignments) == 0 {
		return
	}
	first, rest := r.room()
	widths, ok := fit(rows, min(first, rest))
	if !ok {
		r.records(rows)
		return
	}
	for i, row := range rows {
		r.row(row, widths, t.Alignments)
		if i == 0 {
			r.rule(widths)
		}
	}
}

// fit chooses the widths of columns: what they want if that fits, else the widest ones are cut to one common width.
func fit(rows [][]cell, room int) (widths []int, ok bool) {
	n := len(rows[0])
	widths = make([]int, n)
	for _, row := range rows {
		for i := range row {
			widths[i] = max(widths[i], row[i].want, 1)
		}
	}
	left := room - columnGap*(n-1)
	sorted := slices.Sorted(slices.Values(widths))
	for i, w := range sorted { // the narrow ones keep their width, the rest share what remains
		if share := left / (n - i); w > share {
			if share < minColumn {
				return nil, false
			}
			spare := left % (n - i)
			for j := range widths {
				if widths[j] > share {
					widths[j] = share
					if spare > 0 {
						widths[j]++
						spare--
					}
				}
			}
			return widths, true
		}
		left -= w
	}
	return widths, true
}

// row draws one row of as many lines as its highest cell.
func (r *renderer) row(row []cell, widths []int, align []extast.Alignment) {
	height := 1
	for i := range row {
		c := &row[i]
		c.lines = c.lines[:0]
		pos := 0
		for line := range strings.SplitSeq(c.text, "\n") {
			from := len(c.lines)
			c.lines = plain.Breaks(c.lines, line, widths[i], widths[i])
			for j := from; j < len(c.lines); j++ {
				c.lines[j].From += pos
				c.lines[j].To += pos
			}
			pos += len(line) + 1
		}
		height = max(height, len(c.lines))
	}
	bar := " │ "
	if s := r.theme.Dim; s != "" {
		bar = " " + s + "│\x1b[m "
	}
	var b []byte
	for h := range height {
		b = append(b[:0], r.first.text...)
		for i := range row {
			if i > 0 {
				b = append(b, bar...)
			}
			c := &row[i]
			span := plain.Span{}
			if h < len(c.lines) {
				span = c.lines[h]
			}
			pad := max(0, widths[i]-plain.Width(c.text[span.From:span.To]))
			left := 0
			switch align[i] {
			case extast.AlignRight:
				left = pad
			case extast.AlignCenter:
				left = pad / 2
			}
			b = append(b, spaces(left)...)
			b = paint(b, c.text, c.runs, span.From, span.To)
			if i < len(row)-1 {
				b = append(b, spaces(pad-left)...)
			}
		}
		r.out = append(r.out, Line{strings.TrimRight(string(b), " "), r.block, r.first.w, h > 0})
		r.first = r.rest
	}
}

// rule draws the line under the header.
func (r *renderer) rule(widths []int) {
	var b strings.Builder
	for i, w := range widths {
		if i > 0 {
			b.WriteString("─┼─")
		}
		b.WriteString(strings.Repeat("─", w))
	}
	f := flow{}
	f.add(b.String(), r.theme.Dim)
	r.emit(b.String(), f.runs, 0, b.Len(), 0, false)
}

// records draws each row as lines "header: value".
func (r *renderer) records(rows [][]cell) {
	for i, row := range rows {
		if i == 0 && len(rows) > 1 {
			continue
		}
		if i > 1 {
			r.blank()
		}
		for j := range row {
			f := flow{}
			if i > 0 {
				f.join(&rows[0][j].flow)
				f.add(": ", r.theme.Text)
			}
			f.join(&row[j].flow)
			r.flow(&f)
		}
	}
}

// join appends g.
func (f *flow) join(g *flow) {
	from := 0
	for _, run := range g.runs {
		f.add(string(g.text[from:run.end]), run.style)
		from = run.end
	}
}

func spaces(n int) string { return strings.Repeat(" ", n) }
