package paint

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/vt"
	"pgregory.net/rapid"
)

var trueColor = []string{"TERM=xterm-256color", "COLORTERM=truecolor"}

// shown is what an emulator of w by h shows of content, drawn whole: the reference.
func shown(content string, w, h int) (rows []string) {
	b := uv.NewScreenBuffer(w, h)
	uv.NewStyledString(content).Draw(b, b.Bounds())
	for y := range h {
		for x := range w {
			if c := b.CellAt(x, y); c != nil && c.Width > 0 {
				rows = append(rows, fmt.Sprintf("%d,%d %q %v", x, y, strings.TrimRight(c.Content, " "), c.Style))
			}
		}
	}
	return rows
}

func cells(e *vt.Emulator, w, h int) (rows []string) {
	for y := range h {
		for x := range w {
			if c := e.CellAt(x, y); c != nil && c.Width > 0 {
				rows = append(rows, fmt.Sprintf("%d,%d %q %v", x, y, strings.TrimRight(c.Content, " "), c.Style))
			}
		}
	}
	return rows
}

// TUI-13, TUI-9: whatever frames come, and whatever is kept from one to the next, the terminal shows the last one.
func TestFramesShowTheirView(t *testing.T) {
	words := []string{
		"plain", "宽字", "\x1b[1mbold\x1b[m", "\x1b[31mred\x1b[0m", "\x1b[44m open", "e\u0301", "   ", "─────",
		"\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", "x",
	}
	rapid.Check(t, func(t *rapid.T) {
		w, h := rapid.IntRange(1, 30).Draw(t, "w"), rapid.IntRange(1, 12).Draw(t, "h")
		s, e := newScreen(trueColor, w, h), vt.NewEmulator(w, h)
		s.sync = rapid.Bool().Draw(t, "sync")
		var lines []string
		for range rapid.IntRange(1, 8).Draw(t, "frames") {
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0: // a transcript grows
				lines = append(lines, rapid.SliceOfN(rapid.SampledFrom(words), 0, 4).Draw(t, "line")...)
			case 1: // a line changes
				if len(lines) > 0 {
					lines[rapid.IntRange(0, len(lines)-1).Draw(t, "at")] = strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 4).Draw(t, "new"), "")
				}
			case 2: // scrolls
				lines = lines[min(len(lines), rapid.IntRange(0, 3).Draw(t, "scroll")):]
			case 3:
				w, h = rapid.IntRange(1, 30).Draw(t, "w"), rapid.IntRange(1, 12).Draw(t, "h")
				e.Resize(w, h)
				s.resize(w, h)
			case 4:
				s.redraw()
			case 5:
				s.enter()
			}
			v := tea.NewView(strings.Join(lines, "\n"))
			if rapid.Bool().Draw(t, "cursor") {
				v.Cursor = tea.NewCursor(rapid.IntRange(-1, 31).Draw(t, "x"), rapid.IntRange(-1, 13).Draw(t, "y"))
			}
			e.Write(s.frame(v))
			if again := s.frame(v); again != nil {
				t.Fatalf("the same view again wrote %q", again)
			}
			want, got := shown(v.Content, w, h), cells(e, w, h)
			if strings.Join(want, "\n") != strings.Join(got, "\n") {
				t.Fatalf("shows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if c := v.Cursor; c != nil {
				x, y := min(max(c.X, 0), w-1), min(max(c.Y, 0), h-1)
				if p := e.CursorPosition(); p.X != x || p.Y != y {
					t.Fatalf("the cursor is at %v, want %d,%d", p, x, y)
				}
			}
		}
	})
}

// PERF-5: a transcript that scrolls by a line costs that line, not the screen.
func TestScrollCostsALine(t *testing.T) {
	s := newScreen(trueColor, 120, 40)
	view := func(top int) tea.View {
		var b strings.Builder
		for i := range 34 {
			fmt.Fprintf(&b, "\x1b[36mline %d\x1b[m %s\n", top+i, strings.Repeat("text of the transcript ", 4))
		}
		v := tea.NewView(b.String() + "────\n> \n────\nstatus")
		v.Cursor = tea.NewCursor(2, 35)
		return v
	}
	s.frame(view(0))
	for i := range 5 {
		if out := s.frame(view(i + 1)); len(out) > 300 {
			t.Errorf("scrolling by a line of 100 characters wrote %d bytes: %q", len(out), out)
		}
	}
}

// TUI-9: text that somebody forgot to clean cannot drive the terminal.
func TestContentCannotDriveTheTerminal(t *testing.T) {
	s := newScreen(trueColor, 60, 5)
	v := tea.NewView("a\x1bPtmux;\x1b\x1b]52;c;eA==\a\x1b\\b\n\x1b_Gx\x1b\\\x1b]52;c;eA==\a\x1b[2J\x1b[?1049l\x90q\x9b\nc")
	v.WindowTitle = "t\x1b]52;c;eA==\a\u009b2J"
	out := string(s.frame(v))
	for _, bad := range []string{"\x1bP", "\x1b_", "\x1b]52", "\x1b[?1049l", "\x90", "\u009b"} {
		if strings.Contains(out, bad) {
			t.Errorf("%q reached the terminal: %q", bad, out)
		}
	}
}

// TUI-11: what each terminal is told.
func TestNotification(t *testing.T) {
	for _, c := range []struct {
		text, term string
		tmux       bool
		want       string
	}{
		{"turn ended", "xterm-256color", false, "\x1b]9;turn ended\a"},
		{"4;3;50", "xterm", false, "\x1b]9; 4;3;50\a"},
		{"a;b", "rxvt-unicode", false, "\x1b]777;notify;a,b;\a"},
		{"x", "tmux-256color", true, "\x1bPtmux;\x1b\x1b]9;x\a\x1b\\"},
	} {
		if got := notification(c.text, c.term, c.tmux); got != c.want {
			t.Errorf("%q on %s: %q, want %q", c.text, c.term, got, c.want)
		}
	}
	if got := printable("a\x1b]\a\nb\u009b"); got != "a] b" {
		t.Errorf("printable: %q", got)
	}
}

// TUI-9: what is copied inside tmux goes to tmux, and through it; other sequences go once.
func TestCopyThroughTmux(t *testing.T) {
	t.Parallel()
	x := program(t, "TMUX=/tmp/tmux-0/default,1,0")
	x.sees("ok|")
	x.in("\x19")
	x.writes(0, "\x1b]52;c;Y29waWVk\a\x1bPtmux;\x1b\x1b]52;c;Y29waWVk\a\x1b\\")
	x.typed("a", "key a")
	if strings.Contains(x.bytes(0), "tmux;\a") {
		t.Error("the bell went through as well")
	}
	x.in("\x11")
	x.writes(0, "DEMO-EXIT err=<nil>")
}

// case TUI-13: a terminal without a size has the one that the environment tells, and a size of zero is no news.
func TestNoSize(t *testing.T) {
	null := openNull(t)
	p := newPainter(t.Context(), emptyModel{}, Options{In: null, Out: null, Env: []string{"TERM=xterm", "COLUMNS=90", "LINES=no"}})
	want := tea.WindowSizeMsg{Width: 90, Height: 24}
	for _, size := range []tea.WindowSizeMsg{{}, {Width: 10}, {Height: 10}, want} {
		if msg := p.filter(nil, size); msg != nil || p.size != want {
			t.Errorf("%v was passed on as %v; the size is %v, want %v", size, msg, p.size, want)
		}
	}
}

// TUI-11: progress goes to terminals that are known to show it, is given back, and costs nothing while it stays.
func TestProgress(t *testing.T) {
	for _, c := range []struct {
		env   []string
		shows bool
	}{
		{[]string{"TERM=xterm-ghostty"}, true},
		{[]string{"TERM=xterm-256color", "TERM_PROGRAM=WezTerm"}, true},
		{[]string{"TERM=xterm-256color", "WT_SESSION=1"}, true},
		{[]string{"TERM=xterm-256color"}, false},
		{[]string{"TERM=xterm-256color", "TERM_PROGRAM=iTerm.app"}, false},
		{[]string{"TERM=tmux-256color", "TERM_PROGRAM=WezTerm", "TMUX=/tmp/x"}, false},
	} {
		s := newScreen(c.env, 20, 3)
		v := tea.NewView("x")
		if out := string(s.frame(v)); strings.Contains(out, "\x1b]9;4") {
			t.Errorf("%v: nothing was to be shown: %q", c.env, out)
		}
		v.ProgressBar = tea.NewProgressBar(tea.ProgressBarIndeterminate, 0)
		if out := string(s.frame(v)); strings.Contains(out, "\x1b]9;4;3") != c.shows {
			t.Errorf("%v: %q", c.env, out)
		}
		if out := s.frame(v); len(out) > 0 {
			t.Errorf("%v: it is told again: %q", c.env, out)
		}
		if strings.Contains(s.leaving(), "\x1b]9;4;0") != c.shows {
			t.Errorf("%v: leaving is %q", c.env, s.leaving())
		}
		v.ProgressBar = nil
		if out := string(s.frame(v)); strings.Contains(out, "\x1b]9;4;0") != c.shows {
			t.Errorf("%v: at the end: %q", c.env, out)
		}
	}
}
