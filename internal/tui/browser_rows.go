package tui

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"varve/internal/tui/plain"
	"varve/internal/words"
)

// The rows of the browser: columns, what was found, and the preview.

// A column is one of the list's, behind the title.
type column struct {
	name  string
	width int
	of    func(SessionInfo, int) string
}

type columns []column

// columns are those that fit beside a title, the more telling ones first.
func (b *browser) columns(width int) columns {
	all := columns{
		{"workspace", 16, func(s SessionInfo, i int) string {
			if i > 0 {
				return ""
			}
			path := shortPath(s.Workspace, b.home)
			if over := plain.Width(path) - 16; over > 0 { // its end tells more
				path = "…" + ansi.TruncateLeft(path, over+1, "")
			}
			return path
		}},
		{"age", 8, func(s SessionInfo, i int) string { return strings.TrimSuffix(branchOf(s, i).Age, " ago") }},
		{" msgs", 5, func(s SessionInfo, i int) string {
			if !s.Whole {
				return "    –"
			}
			return fmt.Sprintf("%5d", branchOf(s, i).Messages)
		}},
		{"model", 14, func(s SessionInfo, i int) string { return branchOf(s, i).Model }},
		{"size", 9, func(s SessionInfo, i int) string {
			if i > 0 {
				return "same file"
			}
			return s.Size
		}},
		{"$/tokens", 8, func(s SessionInfo, i int) string {
			if t := strings.TrimSuffix(branchOf(s, i).Spent, " tokens"); t != "" {
				return t
			}
			return "–"
		}},
	}
	order := []int{1, 2, 0, 3, 5, 4} // which are given room first
	if !b.all {
		order = []int{1, 2, 3, 5, 4}
	}
	room, in := width-2-browseTitle, map[int]bool{}
	for _, i := range order {
		if n := all[i].width + 2; n <= room {
			in[i] = true
			room -= n
		} else {
			break
		}
	}
	var out columns
	for i, c := range all {
		if in[i] {
			out = append(out, c)
		}
	}
	return out
}

func (c columns) width() (n int) {
	for _, x := range c {
		n += x.width + 2
	}
	return n
}

func (c columns) head(width int) string {
	s := fitLine("  title", width-c.width())
	for _, x := range c {
		s += "  " + fitLine(x.name, x.width)
	}
	return s
}

// row is the i-th of the list, in exactly width columns.
func (b *browser) row(i, width int, cols columns, th Theme) string {
	b.drawn++
	l := b.lines[i]
	switch {
	case l.found != nil:
		return drawFound(*l.found, width, th)
	case l.head != "":
		return th.Strong.Of(plain.Truncate(l.head, width))
	case l.limb != nil:
		title, note, long := l.treeText()
		item := listItem{Title: l.indent + title, Selected: i == b.list.at, Dim: l.limb.Deleted || l.revert != nil && l.revert.Taken}
		room := max(width-plain.Width(note)-2, width*2/5)
		if n := plain.Width(long) + 2; plain.Width(item.Title)+2+n <= width {
			room, note = width-n, long
		}
		row := item.draw(room, 0, th)
		if width-room > 2 {
			note = "  " + plain.Truncate(note, width-room-2)
			if item.Selected {
				return row + th.Selection.Of(fitLine(note, width-room))
			}
			row += th.Dim.Of(fitLine(note, width-room))
		}
		return row
	}
	s := b.shelf.all[l.session]
	br := branchOf(s, l.branch)
	title, fork := oneLine(br.Title), ""
	if l.branch > 0 {
		fork = "├ "
		if l.branch == len(s.Branches)-1 || b.lines[min(i+1, len(b.lines)-1)].session != l.session {
			fork = "└ "
		}
		title = br.Name + "  " + title
	}
	damage := ""
	if l.branch == 0 {
		damage = s.Damage
	}
	turn := br.Turn
	switch {
	case br.Shown:
		turn = "here"
	case turn == "" && br.Reverted != "":
		turn = "reverted"
	}
	lead := width - cols.width()
	all := fork + words.Listed(title, turn, oneLine(damage))
	if damage != "" && plain.Width(all) > lead-2 { // its detail says the rest
		all = fork + words.Listed("(damaged) "+title, turn, "")
	}
	title = all
	cells := ""
	for _, c := range cols {
		cells += "  " + fitLine(plain.Truncate(oneLine(c.of(s, l.branch)), c.width), c.width)
	}
	if i == b.list.at {
		return th.Selection.Of(fitLine("▸ "+plain.Truncate(title, lead-2), lead) + cells)
	}
	return fitLine("  "+plain.Truncate(title, lead-2), lead) + th.Dim.Of(cells)
}

// detail is what a narrow row has no room for.
func (b *browser) detail() string {
	l, ok := b.chosen()
	switch {
	case !ok:
		return ""
	case l.limb != nil:
		title, _, note := l.treeText()
		if l.mark != nil || l.revert != nil {
			title = "in " + l.limb.Name + ": " + strings.TrimLeft(title, "·◆↶ ")
		}
		return title + ", " + note
	}
	s := b.shelf.all[l.session]
	br := branchOf(s, l.branch)
	var parts []string
	add := func(s string) {
		if s != "" {
			parts = append(parts, s)
		}
	}
	if !s.Here {
		add(shortPath(s.Workspace, b.home))
	}
	if s.Damage != "" {
		add("damaged, opens read-only: " + s.Damage)
	}
	if s.Whole {
		add(words.Count(br.Messages, "message"))
	}
	if br.Reverted != "" {
		add("its end was reverted (" + br.Reverted + ")")
	}
	add(br.Age)
	add(br.Model)
	add(s.Size)
	add(br.Spent)
	if n := len(s.Branches); n > 1 {
		add(fmt.Sprintf("%s, of %d branches", br.Name, n))
	}
	return oneLine(strings.Join(parts, " · "))
}

// paneRows is the preview: the end of what was said at the chosen place.
func (b *browser) paneRows(l layout, th Theme) []string {
	if !l.pane || l.paneH < 1 {
		return nil
	}
	p := &b.peek
	says := ""
	chosen, ok := b.chosen()
	switch {
	case !ok:
	case chosen.limb != nil && chosen.limb.Deleted:
		says = "deleted: what was written in it stays in the file"
	case p.waits:
		says = "reading …"
	case p.err != nil:
		says = "It can't be read: " + oneLine(p.err.Error())
	case len(p.list) == 0:
		says = "nothing was said here"
	}
	if says != "" || !ok {
		var rows []string
		for _, s := range plain.Wrap(says, l.paneW) {
			rows = append(rows, th.Dim.Of(s))
		}
		return fit(rows, l.paneH)
	}
	if p.width != l.paneW {
		p.width, p.rows = l.paneW, nil
		for i, m := range p.list {
			if i > 0 {
				p.rows = append(p.rows, "")
			}
			p.rows = append(p.rows, th.Accent.Of(plain.Truncate(oneLine(m.Who), l.paneW)))
			for _, s := range strings.Split(strings.TrimSpace(plain.Clean(m.Text)), "\n") {
				p.rows = append(p.rows, plain.Wrap(noChips(s), l.paneW)...)
			}
		}
	}
	p.up = min(p.up, max(len(p.rows)-l.paneH, 0))
	end := len(p.rows) - p.up
	return fit(append([]string{}, p.rows[max(end-l.paneH, 0):end]...), l.paneH)
}

// drawFound is the line that holds what was found, so that it can be seen.
func drawFound(x Saying, width int, th Theme) string {
	room := max(width-4, 1)
	match := plain.Truncate(x.Match, room)
	before := x.Before
	for most := max(room-plain.Width(match), 0) / 2; plain.Width(before) > most; {
		_, n := utf8.DecodeRuneInString(strings.TrimPrefix(before, "…"))
		if before = strings.TrimPrefix(before, "…")[n:]; before == "" {
			break
		}
		before = "…" + before
	}
	after := plain.Truncate(x.After, max(room-plain.Width(before)-plain.Width(match), 0))
	return fitLine("    "+th.Dim.Of(before)+th.Match.Of(match)+th.Dim.Of(after), width)
}
