package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"varve/internal/session"
	"varve/internal/tui/plain"
)

// A Frame is what a screen or an overlay may know when it is asked: read only.
type Frame struct {
	W, H  int // of the window
	Theme Theme
	Keys  Keymap
	State session.State
	Mouse bool // the mouse is ours, not the terminal's
}

// An overlay lies on the screen and takes keys, mouse and paste. It closes by returning nil, and answers, if it has an
// answer, with one message of its own type. Its View is a box of rows of equal width; root lays it in the middle, at
// overlayAt. Mouse messages come with the coordinates of the window.
type overlay interface {
	Update(msg tea.Msg, f Frame) (overlay, tea.Cmd)
	View(f Frame) string
}

// A cursored overlay has a place for the terminal's cursor, in coordinates of the window (case TUI-04).
type cursored interface {
	Cursor(f Frame) (x, y int)
}

// overlayAt is where the top left of an overlay belongs.
func overlayAt(f Frame, view string) (x, y int) {
	first, _, _ := strings.Cut(view, "\n")
	b := boxFor(f, plain.Width(first), strings.Count(view, "\n")+1)
	return b.x, b.y
}

// answer is a command that only says msg; nil says nothing.
func answer(msg tea.Msg) tea.Cmd {
	if msg == nil {
		return nil
	}
	return func() tea.Msg { return msg }
}

// A box is where an overlay lies. Within are its inner rows: a border and a column of air at the sides are its own.
type box struct{ x, y, w, h int }

// overlayNarrow is the width below which a box takes the whole of it.
const overlayNarrow = 60

// boxFor is a box in the middle of the window that is as large as wanted, or as there is room.
func boxFor(f Frame, w, h int) box {
	if f.W < overlayNarrow {
		w = f.W
	}
	b := box{w: max(min(w, f.W), 8), h: max(min(h, f.H), 3)}
	b.x, b.y = max((f.W-b.w)/2, 0), max((f.H-b.h)/2, 0)
	return b
}

func (b box) innerW() int { return b.w - 4 }
func (b box) innerH() int { return b.h - 2 }

// row is which inner row a place in the window is, -1 for none.
func (b box) row(x, y int) int {
	if x <= b.x || x >= b.x+b.w-1 || y <= b.y || y >= b.y+b.h-1 {
		return -1
	}
	return y - b.y - 1
}

// draw is the box with a title above, a foot below, and rows between: as many as fit.
func (b box) draw(title, foot string, rows []string, th Theme) string {
	var out strings.Builder
	out.WriteString(b.edge("╭", title, "╮", th.Title, th))
	side := th.Border.Of("│")
	for i := range b.innerH() {
		row := ""
		if i < len(rows) {
			row = rows[i]
		}
		out.WriteString("\n" + side + " " + fitLine(row, b.innerW()) + " " + side)
	}
	out.WriteString("\n" + b.edge("╰", foot, "╯", th.Dim, th))
	return out.String()
}

func (b box) edge(left, text, right string, st Style, th Theme) string {
	if text == "" {
		return th.Border.Of(left + strings.Repeat("─", b.w-2) + right)
	}
	text = " " + plain.Truncate(text, max(b.w-6, 0)) + " "
	return th.Border.Of(left+"─") + st.Of(text) + th.Border.Of(strings.Repeat("─", max(b.w-3-ansi.StringWidth(text), 0))+right)
}

// wheel is how many rows a turn of the wheel goes, 0 for another message.
func wheel(msg tea.Msg) int {
	m, ok := msg.(tea.MouseWheelMsg)
	switch {
	case ok && m.Button == tea.MouseWheelUp:
		return -3
	case ok && m.Button == tea.MouseWheelDown:
		return 3
	}
	return 0
}
