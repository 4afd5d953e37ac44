package tui

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/charmbracelet/x/ansi"

	"varve/internal/tui/plain"
)

// desk is a composer with keys, as root would use it.
type desk struct {
	*Composer
	keys Keymap
	at   Where
}

func newDesk(history ...string) *desk {
	cmds, _ := NewCommands()
	c := NewComposer(ParseHistory(history), cmds)
	c.Placeholder = "Ask, or / for commands, @ for files, ! for a shell command"
	return &desk{c, DefaultKeymap(), InChat}
}

// press presses keys: names of the table in angle brackets, other characters as they are. It returns what was left to root.
func (d *desk) press(keys string) (acts []Action) {
	for keys != "" {
		var msg tea.KeyPressMsg
		if end := strings.IndexByte(keys, '>'); keys[0] == '<' && end > 1 {
			if strings.HasPrefix(keys[end:], ">>") {
				end++
			}
			msg, keys = keyOf(keys[1:end]), keys[end+1:]
		} else {
			r := []rune(keys)[0]
			msg, keys = tea.KeyPressMsg{Code: r, Text: string(r)}, keys[len(string(r)):]
		}
		if act, _ := d.Key(msg, d.keys, d.at, false); act != "" {
			acts = append(acts, act)
		}
	}
	return acts
}

// burst delivers a text as keys that are all waiting at once.
func (d *desk) burst(text string) (acts []Action) {
	runes := []rune(text)
	for i, r := range runes {
		msg := tea.KeyPressMsg{Code: r, Text: string(r)}
		switch r {
		case '\r':
			msg = keyOf("enter")
		case '\n':
			msg = keyOf("ctrl+j")
		case '\t':
			msg = keyOf("tab")
		}
		if act, _ := d.Key(msg, d.keys, d.at, i < len(runes)-1); act != "" {
			acts = append(acts, act)
		}
	}
	return acts
}

func (d *desk) value() string { s, kind := d.Value(); return fmt.Sprintf("%s %q", kind, s) }

// shown is the text with a bar where the cursor is.
func (d *desk) shown() string {
	draft := d.Draft()
	mark := func(s string) string {
		s, _ = eachChip(s, 0, func(n int) string { return "▪" })
		return s
	}
	return mark(draft.Text[:draft.At]) + "|" + mark(draft.Text[draft.At:])
}

func TestComposerKeys(t *testing.T) { // TUI-4
	for _, c := range []struct{ keys, want string }{
		{"hello", "hello|"},
		{"a<left>b", "b|a"},
		{"one two<ctrl+w>", "one |"},
		{"one two<ctrl+w><ctrl+y><ctrl+y>", "one twotwo|"},
		{"one two<alt+b><alt+b>x", "x|one two"},
		{"one, two<alt+left><alt+left><alt+right>", "one|, two"},
		{"one two<ctrl+a><alt+d>", "| two"},
		{"one<ctrl+j>two<ctrl+a><backspace>", "one|two"},
		{"one<ctrl+j>two<up><ctrl+e><ctrl+k>", "one|two"},
		{"one<ctrl+j>two<ctrl+u>", "one\n|"},
		{"one<ctrl+j>two<ctrl+u><ctrl+u>", "one|"},
		{"one<ctrl+j><ctrl+j>two<alt+<><delete>", "|ne\n\ntwo"},
		{"abc<ctrl+j>x<ctrl+j>abc<left><up><up>", "ab|c\nx\nabc"},
		{"abc<ctrl+j>x<up><down>", "abc\nx|"},
		{"日本語<left><backspace>", "日|語"},
		{"e\u0301x<left><left>", "|e\u0301x"},
		{"e\u0301<backspace>", "|"},
		{"👨\u200d👩\u200d👧!<left><backspace>", "|!"},
		{"one two<alt+z>", "one|"},
		{"one two<alt+z><alt+z><alt+r>", "one|"},
		{"one two<alt+z><alt+z><alt+r><alt+r>", "one two|"},
		{"one<left>x<alt+z>", "on|e"},
		{"a<space>b", "a b|"},
		{"<backspace><delete><left><right><ctrl+k><ctrl+u><ctrl+w><alt+d><ctrl+y><alt+z><alt+r><alt+o>", "|"},
		{"x?", "x?|"},
	} {
		d := newDesk()
		d.View(40, 10, NoTheme())
		if acts := d.press(c.keys); len(acts) > 0 {
			t.Errorf("%s: left %v to root", c.keys, acts)
		}
		if got := d.shown(); got != c.want {
			t.Errorf("%s gives %q, want %q", c.keys, got, c.want)
		}
	}
}

func TestValue(t *testing.T) { // TUI-4; TUI, "a path that starts with / is text"
	for _, c := range []struct{ text, want string }{
		{"", ` ""`},
		{"  \n ", ` ""`},
		{"hi \n", `prompt "hi"`},
		{"!ls -l", `shell "ls -l"`},
		{"! ", ` ""`},
		{" !ls", `prompt " !ls"`},
		{"/help", `slash "/help"`},
		{"/model a/b", `slash "/model a/b"`},
		{"/unknown", `slash "/unknown"`},
		{"/tmp", `slash "/tmp"`},
		{"/usr/bin is a folder", `prompt "/usr/bin is a folder"`},
		{"/usr/", `prompt "/usr/"`},
		{"//", `prompt "//"`},
		{" /help", `prompt " /help"`},
		{"say /help", `prompt "say /help"`},
	} {
		d := newDesk()
		d.SetText(c.text)
		if c.text == "hi \n" || c.text == "  \n " {
			d.empty()
			d.Paste(c.text)
		}
		if got := d.value(); got != c.want {
			t.Errorf("%q is %s, want %s", c.text, got, c.want)
		}
	}
}

// case TUI-10: CR sends; LF, ESC CR, CSI 13;2u, CSI 27;2;13~ and backslash CR begin a line.
func TestNewlineKeys(t *testing.T) {
	for _, c := range []struct {
		keys, want string
		sends      bool
	}{
		{"a<enter>", "a|", true},
		{"a<ctrl+j>", "a\n|", false},
		{"a<alt+enter>", "a\n|", false},
		{"a<shift+enter>", "a\n|", false},
		{`a\<enter>`, "a\n|", false},
		{"<enter>", "|", true}, // root may have something that it goes on with
	} {
		d := newDesk()
		acts := d.press(c.keys)
		if got := d.shown(); got != c.want || c.sends != (len(acts) == 1 && acts[0] == ActSend) {
			t.Errorf("%s gives %q and %v, want %q", c.keys, got, acts, c.want)
		}
	}
	d := newDesk()
	d.at |= WhenWorking
	if acts := d.press("a<alt+enter>"); len(acts) != 1 || acts[0] != ActSteer {
		t.Errorf("alt+enter while the agent works is %v", acts) // TUI-5
	}
}

// case TUI-01: a paste without brackets sends nothing that a person didn't send.
func TestBurstOfKeysSendsNothing(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"one\rtwo\rthree\r", "one\ntwo\nthree\n|"},
		{"one\r\ntwo\r\n", "one\ntwo\n|"},
		{"\tone\r\ttwo\r", "\tone\n\ttwo\n|"},
		{"a\n\nb", "a\n\nb|"},
		{"/help\r/exit\r", "/help\n/exit\n|"},
		{"?\r?", "?\n?|"},
		{"@\rx", "@\nx|"},
	} {
		d := newDesk()
		d.Files = func() tea.Cmd { return nil }
		d.Listed(FilesMsg{Paths: []string{"a", "b"}})
		if acts := d.burst(c.text); len(acts) > 0 {
			t.Errorf("%q did %v", c.text, acts)
		}
		if got := d.shown(); got != c.want {
			t.Errorf("%q gives %q, want %q", c.text, got, c.want)
		}
		// After a pause Enter sends.
		if acts := d.press(" x<enter>"); len(acts) != 1 || acts[0] != ActSend {
			t.Errorf("%q, then Enter: %v", c.text, acts)
		}
	}
	// What a script types into a terminal, one line with its Enter, is sent.
	d := newDesk()
	if acts := d.burst("hello\r"); len(acts) != 1 || acts[0] != ActSend || d.value() != `prompt "hello"` {
		t.Errorf("one line at once: %v, %s", acts, d.value())
	}
}

func TestPaste(t *testing.T) { // TUI-4, case TUI-01, case TUI-02
	sixty := strings.Repeat("\tline of a file\r\n", 60)
	d := newDesk()
	d.press("see ")
	d.Paste(sixty)
	d.press(" there")
	if got := d.shown(); got != "see ▪ there|" {
		t.Errorf("shown %q", got)
	}
	whole := strings.ReplaceAll(sixty, "\r\n", "\n")
	if got, _ := d.Value(); got != "see "+whole+" there" {
		t.Errorf("sent %q", got)
	}
	rows, _, _ := d.View(60, 5, NoTheme())
	if want := "> see [pasted 60 lines #1] there"; strings.TrimRight(ansi.Strip(rows[0]), " ") != want {
		t.Errorf("drawn %q, want %q", rows[0], want)
	}
	d.press("<alt+b><left><backspace>") // one key takes all of it
	if got := d.shown(); got != "see | there" {
		t.Errorf("after backspace %q", got)
	}
	d.press("<alt+z><alt+o>") // back again, and opened
	if got := d.shown(); got != "see "+strings.TrimSuffix(whole, "\n")+"| there" {
		t.Errorf("expanded %q", got)
	}
	d.press("<alt+z>")
	if got := d.shown(); got != "see ▪| there" {
		t.Errorf("folded again %q", got)
	}
	if d.Sent(); d.shown() != "|" {
		t.Error("sent text stays")
	}

	for _, c := range []struct{ paste, shown, label string }{
		{strings.Repeat("x\n", 10), strings.Repeat("x\n", 10) + "|", ""},
		{strings.Repeat("x\n", 11), "▪|", "[pasted 11 lines #1]"},
		{strings.Repeat("é", 2000), strings.Repeat("é", 2000) + "|", ""},
		{strings.Repeat("é", 2001), "▪|", "[pasted 2,001 characters #1]"},
		{"a\x1b[31mred\x1b[m\x00\x07b", "aredb|", ""},
		{"x\x1b[201~y", "xy|", ""},
		{"fake \U0010F000 chip", "fake \ufffd chip|", ""},
		{"one\rtwo\r\nthree\tfour", "one\ntwo\nthree\tfour|", ""},
	} {
		d := newDesk()
		d.Paste(c.paste)
		if got := d.shown(); got != c.shown {
			t.Errorf("%.40q gives %.60q", c.paste, got)
		}
		if rows, _, _ := d.View(60, 3, NoTheme()); c.label != "" && !strings.Contains(rows[0], c.label) {
			t.Errorf("%.40q is drawn as %q", c.paste, rows[0])
		}
	}
}

// A chip of a draft that was put away comes back with its text, beside others.
func TestDraftSurvives(t *testing.T) { // TUI-4, case TUI-11
	long := strings.Repeat("many\n", 50)
	d := newDesk()
	d.Paste(long)
	d.press("<ctrl+c>") // given up
	d.Paste(strings.Repeat("other\n", 20))
	d.press(" and ")
	draft := d.Draft()

	e := newDesk()
	e.Restore(draft)
	if got, _ := e.Value(); got != strings.Repeat("other\n", 20)+" and" {
		t.Errorf("restored %q", got)
	}
	d.press("<up>") // no message begins so: all are walked
	if got, _ := d.Value(); got != long {
		t.Errorf("from the history %q", got)
	}
	d.press("!<down>")
	if got := d.Draft().Whole(); got != draft.Whole() {
		t.Errorf("the draft is %q", got)
	}
	d.press("<up>")
	if got, _ := d.Value(); got != long+"!" {
		t.Errorf("what was changed on the way is %q", got)
	}
}

func TestPasteIsQuickAndKeysBehindItToo(t *testing.T) { // case TUI-02: measured in BenchmarkComposer; here only that it is right
	d := newDesk()
	one := strings.Repeat("x", 300<<10)
	d.Paste(one)
	d.View(80, 8, NoTheme())
	d.press("<alt+o>abc<left><left><backspace>")
	if got, _ := d.Value(); got != one+"bc" {
		t.Errorf("%d bytes", len(got))
	}
	rows, x, y := d.View(80, 8, NoTheme())
	if len(rows) != 8 || y != 7 || !strings.Contains(rows[7][:x], "x") || rows[7][x:x+2] != "bc" {
		t.Errorf("cursor at %d, %d of %q", x, y, rows)
	}
}

func TestCursorIsWhereTextGoesIn(t *testing.T) { // case TUI-04
	for _, c := range []struct {
		keys string
		x, y int
	}{
		{"", 2, 0},
		{"ab", 4, 0},
		{"日本", 6, 0},
		{"日本<left>", 4, 0},
		{"e\u0301", 3, 0},
		{"👩\u200d💻x", 5, 0},
		{"ab<ctrl+j>", 2, 1},
		{"1234567", 9, 0},   // a full row: the cursor stands behind it
		{"1234567 ", 2, 1},  // behind the hanging space begins the next
		{"123456 89", 4, 1}, // a word that does not fit begins a row
		{"1234567<left>", 8, 0},
		{"12345日", 9, 0},
		{"123456日", 4, 1}, // a wide character is not cut
	} {
		d := newDesk()
		d.View(10, 9, NoTheme())
		d.press(c.keys)
		rows, x, y := d.View(10, 9, NoTheme())
		if x != c.x || y != c.y {
			t.Errorf("%q: cursor at %d, %d of %q, want %d, %d", c.keys, x, y, rows, c.x, c.y)
		}
		for _, r := range rows {
			if plain.Width(r) != 10 {
				t.Errorf("%q: a row of %d columns: %q", c.keys, plain.Width(r), r)
			}
		}
	}
}

func TestScrolling(t *testing.T) { // TUI-4
	d := newDesk()
	d.Paste("1\n2\n3\n4\n5\n6\n7\n8")
	see := func(want string) {
		t.Helper()
		rows, _, _ := d.View(10, 3, NoTheme())
		got := ""
		for _, r := range rows {
			got += strings.TrimSpace(strings.TrimLeft(ansi.Strip(r), "> "))
		}
		if got != want {
			t.Errorf("in view are %s, want %s", got, want)
		}
	}
	see("678")
	d.press("<up><up>")
	see("678")
	d.press("<up>")
	see("567")
	d.press("<alt+<>")
	see("123")
	d.press("<down><down><down>")
	see("234")
	d.press("<alt+>>")
	see("678")
	d.press("<backspace><backspace><backspace><backspace>") // no room is left empty while rows are hidden
	see("456")
}

// What joins the character before or after it does not join a chip.
func TestChipStaysApart(t *testing.T) { // TUI-4, TUI-9
	long := strings.Repeat("many\n", 20)
	for _, before := range []string{"\u0600", "🇩", "e", "\u200d", "क\u094d", "👩\u200d"} {
		for _, after := range []string{"\u0301", "\u200d", "\ufe0f", "\u0903"} {
			d := newDesk()
			d.text.write(before)
			d.Paste(long)
			d.text.write(after)
			inside(t, d.Composer, 40, 5)
			d.press("<left>")
			if d.shown() != before+"▪|"+after {
				t.Errorf("%q, a chip, %q: left of the last is %q", before, after, d.shown())
			}
			if d.press("<backspace>"); d.Draft().Whole() != before+after {
				t.Errorf("%q, a chip, %q: the chip went with something: %q", before, after, d.Draft().Whole())
			}
		}
	}
}

func TestSetTextIsClean(t *testing.T) { // TUI-4, SEC-5: what an editor wrote
	d := newDesk()
	d.press("before")
	d.SetText("one\x1b[2J\r\n\ttwo\n\n")
	if d.shown() != "one\n\ttwo|" {
		t.Errorf("shown %q", d.shown())
	}
	if d.press("<alt+z>"); d.shown() != "before|" {
		t.Errorf("undone %q", d.shown())
	}
}

func TestClickPutsTheCursor(t *testing.T) { // TUI-9
	d := newDesk()
	d.press("one two three<ctrl+j>日本語")
	d.View(13, 9, NoTheme()) // "one two", "three", "日本語"
	for _, c := range []struct {
		x, y int
		want string
	}{{2, 0, "|one two three\n日本語"}, {3, 1, "one two t|hree\n日本語"}, {5, 2, "one two three\n日|本語"}, {99, 9, "one two three\n日本語|"}, {0, 0, "|one two three\n日本語"}} {
		if d.Click(c.x, c.y, 0); d.shown() != c.want {
			t.Errorf("a click at %d, %d gives %q, want %q", c.x, c.y, d.shown(), c.want)
		}
	}
}
