package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"varve/internal/tui/plain"
)

// A field is one line to write in, with the terminal's own cursor in it (case TUI-04): the filter of a list, a name.
type field struct{ t draftText }

func newField(s string) field {
	f := field{newText()}
	f.t.width = 1 << 20
	f.write(s)
	return f
}

func (f *field) String() string { return f.t.lines[0].s }

// write puts in a text: of a key, or pasted; only its first line.
func (f *field) write(s string) {
	s, _, _ = strings.Cut(noChips(plain.Clean(s)), "\n")
	if s != "" {
		f.t.write(s)
	}
}

// do does an action of writing; ok is false for another.
func (f *field) do(act Action) (ok bool) {
	t := &f.t
	end := t.end()
	switch act {
	case ActLeft:
		t.cur = t.prev(t.cur)
	case ActRight:
		t.cur = t.next(t.cur)
	case ActWordLeft:
		t.cur = t.wordLeft(t.cur)
	case ActWordRight:
		t.cur = t.wordRight(t.cur)
	case ActLineStart:
		t.cur = spot{}
	case ActLineEnd:
		t.cur = end
	case ActDeleteBack:
		t.replace(t.prev(t.cur), t.cur, "")
	case ActDeleteForward:
		t.replace(t.cur, t.next(t.cur), "")
	case ActDeleteWordBk:
		t.replace(t.wordLeft(t.cur), t.cur, "")
	case ActDeleteWordFw:
		t.replace(t.cur, t.wordRight(t.cur), "")
	case ActKillToStart:
		t.replace(spot{}, t.cur, "")
	case ActKillToEnd:
		t.replace(t.cur, end, "")
	default:
		return false
	}
	return true
}

// key does what a key does that is no action of a list: it moves, deletes or writes. ok says that it did.
func (f *field) key(msg tea.KeyPressMsg, act Action) (ok bool) {
	if act != "" {
		return f.do(act)
	}
	if msg.Text != "" && msg.Mod&(tea.ModCtrl|tea.ModAlt) == 0 {
		f.write(msg.Text)
		return true
	}
	return false
}

// view is the field behind a label, in exactly width columns, and the cursor's column in it. A text that is too long is cut
// at its left, so that the cursor is in view.
func (f *field) view(label, hint string, width int, th Theme) (row string, cursorX int) {
	s := f.String()
	before, after := s[:f.t.cur.off], s[f.t.cur.off:]
	room := max(width-plain.Width(label)-1, 1)
	if over := plain.Width(before) - room; over > 0 {
		before = ansi.TruncateLeft(before, over, "")
	}
	cursorX = min(plain.Width(label)+plain.Width(before), width-1)
	if s == "" {
		after = th.Dim.Of(plain.Truncate(hint, room))
	}
	return fitLine(th.Accent.Of(label)+before+after, width), cursorX
}
