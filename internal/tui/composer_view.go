package tui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"varve/internal/tui/plain"
)

// markWidth is how wide the mark before the text is: "> " for a message, "$ " for a shell command, "N " in vi's normal mode.
const markWidth = 2

// View draws the composer: at least one row and at most maxHeight, each exactly width columns. It grows with the text, and
// then scrolls so that the cursor is in view. cursorX and cursorY are where the terminal's own cursor belongs, from the top
// left of the rows (case TUI-04). What is offered is drawn by Popup. Widths below 8 are drawn as 8.
func (c *Composer) View(width, maxHeight int, th Theme) (rows []string, cursorX, cursorY int) {
	width, maxHeight = max(width, 8), max(maxHeight, 1)
	if c.search != nil {
		return c.viewSearch(width, maxHeight, th)
	}
	return c.viewText(width, maxHeight, th)
}

func (c *Composer) viewText(width, maxHeight int, th Theme) (rows []string, cursorX, cursorY int) {
	t := &c.text
	t.width = width - markWidth - 1 // a column for the cursor behind a full row
	sign, ink := ">", th.User
	if c.shell() {
		sign, ink = "$", th.Warn
	}
	if c.vim.normal {
		sign = "N"
	}
	mark := ink.Of(sign) + " "
	if c.Empty() {
		hint := th.Dim.Of(plain.Truncate(c.Placeholder, width-markWidth))
		c.top = spot{}
		return []string{fitLine(mark+hint, width)}, markWidth, 0
	}
	c.scroll(maxHeight)
	at := c.top
	for len(rows) < maxHeight {
		cuts := t.rowsOf(at.line)
		s := t.lines[at.line].s
		end := len(s)
		if at.off+1 < len(cuts) {
			end = cuts[at.off+1]
		}
		row := c.draw(s[cuts[at.off]:end], th)
		if c.given {
			row = th.Dim.Of(row)
		}
		if t.cur.line == at.line && t.rowAt(t.cur) == at.off {
			cursorX, cursorY = min(markWidth+t.column(t.cur), width-1), len(rows)
			row += c.hint(width-markWidth-t.column(t.cur), th)
		}
		rows = append(rows, fitLine(mark+row, width))
		mark = "  "
		if at.off+1 < len(cuts) {
			at.off++
		} else if at.line+1 < len(t.lines) {
			at = spot{at.line + 1, 0}
		} else {
			break
		}
	}
	return rows, cursorX, cursorY
}

// scroll moves the top as little as needed: the cursor's row is in view, and no room is left below the last row while rows
// are hidden above.
func (c *Composer) scroll(height int) {
	t := &c.text
	cur := spot{t.cur.line, t.rowAt(t.cur)}
	c.top.line = min(c.top.line, len(t.lines)-1)
	c.top.off = min(c.top.off, len(t.rowsOf(c.top.line))-1)
	if lowest := t.rowsBack(cur, height-1); c.top.before(lowest) {
		c.top = lowest
	}
	if cur.before(c.top) {
		c.top = cur
	}
	last := len(t.lines) - 1
	if last-c.top.line < height {
		if lowest := t.rowsBack(spot{last, len(t.rowsOf(last)) - 1}, height-1); lowest.before(c.top) {
			c.top = lowest
		}
	}
}

// rowsBack is the line and row that is n rows above, or the first.
func (t *draftText) rowsBack(at spot, n int) spot {
	for ; n > 0; n-- {
		if at.off > 0 {
			at.off--
		} else if at.line > 0 {
			at = spot{at.line - 1, len(t.rowsOf(at.line-1)) - 1}
		}
	}
	return at
}

// draw is a row of the text as it is shown: tabs as spaces, chips as their labels.
func (c *Composer) draw(s string, th Theme) string {
	s = strings.ReplaceAll(s, "\t", strings.Repeat(" ", min(tabWidth, c.text.width)))
	s, _ = eachChip(s, 0, func(n int) string {
		if n < len(c.text.labels) {
			return th.Chip.Of(ansi.Truncate(c.text.labels[n], c.text.width, ""))
		}
		return "?"
	})
	return s
}

// hint is what may be written next, dimmed: the words of a command.
func (c *Composer) hint(room int, th Theme) string {
	t := &c.text
	if len(t.lines) != 1 || t.cur != t.end() || c.offer.kind == offerCommands && c.Offering() {
		return ""
	}
	name, found := strings.CutSuffix(t.lines[0].s, " ")
	cmd, ok := c.Commands.Find(strings.TrimPrefix(name, "/"))
	if !found || !ok || !strings.HasPrefix(name, "/") {
		return ""
	}
	return th.Dim.Of(plain.Truncate(cmd.Args, room-1))
}

// viewSearch draws the search in the history: what is looked for, and the message that was found.
func (c *Composer) viewSearch(width, maxHeight int, th Theme) (rows []string, cursorX, cursorY int) {
	label := "search: "
	if !c.search.found {
		label = "no match: "
	}
	query := c.search.query
	if over := plain.Width(query) - (width - len(label) - 1); over > 0 {
		query = ansi.TruncateLeft(query, over, "")
	}
	head := fitLine(th.Accent.Of(label)+query, width)
	cursorX = min(len(label)+plain.Width(query), width-1)
	if maxHeight == 1 {
		return []string{head}, cursorX, 0
	}
	rows, _, _ = c.viewText(width, maxHeight-1, th)
	return append([]string{head}, rows...), cursorX, 0
}

// fitLine is a row that is exactly width columns, whatever stands behind it: cut between clusters, or filled with spaces.
// Styles end with it.
func fitLine(s string, width int) string {
	w := plain.Width(s)
	if w > width {
		s = ansi.Truncate(s, width, "")
		w = plain.Width(s)
		if strings.Contains(s, "\x1b") {
			s += "\x1b[m"
		}
	}
	if w < width {
		open := s != "" && s[len(s)-1] >= 0x80
		s += strings.Repeat(" ", width-w)
		// A few characters (U+0600) join what follows: then a space is missing.
		for n := 1; open && n <= 2; n++ {
			if w = plain.Width(s); w >= width {
				break
			}
			s += " "
		}
	}
	if s != "" && s[len(s)-1] >= 0x80 && plain.Width(s+" ") <= width { // such a one at the end would take in what follows
		return fitLine(ansi.Truncate(s, width-1, ""), width)
	}
	return s
}
