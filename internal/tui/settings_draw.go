package tui

import (
	"fmt"
	"strings"

	"varve/internal/tui/plain"
)

// How settings are drawn.

// View draws the list, or what is chosen or written in its place.
func (s *settings) View(f Frame) string {
	if s.child != nil {
		return s.child.View(f)
	}
	s.fit(f)
	b := s.box(f)
	rows := s.head(f, b.innerW())
	from, to := s.list.Window(b.innerH() - len(rows))
	title := "Settings"
	if to-from < len(s.rows) {
		title += fmt.Sprintf(" · rows %d–%d of %d", from+1, to, len(s.rows))
	}
	for i := from; i < to; i++ {
		rows = append(rows, s.draw(i, b.innerW(), f.Theme))
	}
	return b.draw(title, s.foot(f), rows, f.Theme)
}

// head says above the list what came of the last change: an error in full, as
// far as there is room; else the keys that the foot has no room for.
func (s *settings) head(f Frame, width int) []string {
	switch {
	case s.bad:
		return wrapped(s.note, width, f.Theme.Error)
	case s.note != "":
		return wrapped(s.note, width, f.Theme.OK)
	}
	text := "reading"
	if s.info.Set == nil && s.err != nil {
		return wrapped(oneLine(s.err.Error()), width, f.Theme.Error)
	}
	if s.info.Set != nil {
		text = "each change is saved at once"
		if long := text + ", in " + shortPath(s.info.Set.Path, s.home); plain.Width(long) <= width {
			text = long
		}
		if _, rest := s.keys(f); rest != "" {
			text = rest
		}
	}
	return []string{f.Theme.Dim.Of(plain.Truncate(text, width))}
}

func wrapped(text string, width int, style Style) (rows []string) {
	for _, r := range plain.Wrap(text, width) {
		rows = append(rows, style.Of(r))
	}
	return rows[:min(len(rows), 4)]
}

func (s *settings) draw(i, width int, th Theme) string {
	row := s.rows[i]
	indent := strings.Repeat("  ", row.level)
	if row.fixed {
		style := th.Dim
		if row.marked {
			style = th.Warn
		}
		return style.Of(plain.Truncate("  "+indent+row.title, width))
	}
	item := listItem{Title: indent + row.title, Note: row.value, Selected: i == s.list.at}
	if row.level == 0 {
		return drawHead(row, item.Selected, width, th)
	}
	if !row.controls {
		return item.draw(width, setColumn, th)
	}
	buttons := "    ×"
	if row.move != nil {
		buttons = "↑ ↓ ×"
	}
	return item.draw(max(width-controlsWide-1, 1), setColumn, th) + " " + th.Key.Of(buttons)
}

// drawHead is the row of a block: its title, and what is set, whole before it is
// in line with others.
func drawHead(row setRow, selected bool, width int, th Theme) string {
	title := plain.Truncate(row.title, max(width-2, 1))
	used := plain.Width(title)
	value := row.value
	if row.short != "" && used+1+plain.Width(value) > width-2 {
		value = row.short
	}
	start := max(used+1, min(setColumn, width-2-plain.Width(value)))
	gap := strings.Repeat(" ", start-used)
	value = plain.Truncate(value, max(width-2-start, 0))
	if selected {
		return th.Selection.Of(fitLine("▸ "+title+gap+value, width))
	}
	return fitLine("  "+th.Strong.Of(title)+gap+th.Dim.Of(value), width)
}

// keys are what keys do to the chosen row, and how to leave: those that the foot
// has room for, and the rest.
func (s *settings) keys(f Frame) (foot, rest string) {
	var keys, left []string
	row := s.chosen()
	if row.enter != nil {
		keys = append(keys, f.Keys.Key(ActChoose)+" "+row.enters)
	}
	if row.remove != nil {
		keys = append(keys, f.Keys.Key(ActRemove)+" "+row.removes)
	}
	if row.move != nil {
		keys = append(keys, bothKeys(f.Keys.Key(ActMoveUp), f.Keys.Key(ActMoveDown))+" move")
	}
	leaves := f.Keys.Key(ActClose) + " leave"
	for room := s.box(f).w - 6; len(keys) > 1 && plain.Width(strings.Join(append(keys, leaves), " · ")) > room; {
		left = append(left, keys[len(keys)-1])
		keys = keys[:len(keys)-1]
	}
	return strings.Join(append(keys, leaves), " · "), strings.Join(left, " · ")
}

func (s *settings) foot(f Frame) string {
	foot, _ := s.keys(f)
	return foot
}

// bothKeys are two keys in short: Alt+Up/Down, PgUp/PgDn.
func bothKeys(a, b string) string {
	i := strings.LastIndexByte(a, '+') + 1
	switch {
	case a == "" || b == "":
		return a + b
	case strings.HasPrefix(b, a[:i]):
		return a + "/" + b[i:]
	}
	return a + ", " + b
}

// fit lays what is only said into rows that hold it.
func (s *settings) fit(f Frame) {
	if w := s.box(f).innerW(); w != s.width {
		s.width = w
		s.build(s.key())
	}
}

// wrapRows gives what is only said as many rows as it needs.
func wrapRows(rows []setRow, width int) []setRow {
	if width <= 0 {
		return rows
	}
	var out []setRow
	for _, r := range rows {
		if !r.fixed {
			out = append(out, r)
			continue
		}
		for _, text := range plain.Wrap(r.title, max(width-2-2*r.level, 8)) {
			r.title = text
			out = append(out, r)
		}
	}
	return out
}
