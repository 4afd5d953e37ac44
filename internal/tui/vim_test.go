package tui

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"varve/internal/session"
)

// vimDesk is a composer with the keys of vi, in the normal mode, with a text: its cursor is where a bar stands.
func vimDesk(text string) *desk {
	d := newDesk()
	d.UseVim(true)
	d.View(40, 10, NoTheme())
	before, after, _ := strings.Cut(text, "|")
	d.Restore(Draft{Text: before + after, At: len(before)})
	if text != "|" && after != "" && after[0] != '\n' {
		d.press("<right>")
	}
	d.press("<esc>")
	return d
}

// mode is the text with a bar for the cursor, behind the mark that is drawn before it.
func (d *desk) mode() string {
	rows, _, _ := d.View(40, 10, NoTheme())
	return strings.TrimSpace(ansi.Strip(rows[0])[:2]) + " " + d.shown()
}

func TestVimKeys(t *testing.T) { // TUI-4: N before the text is the normal mode
	for _, c := range []struct{ text, keys, want string }{
		// the modes
		{"ab|c", "", "N ab|c"},
		{"ab|c", "i", "> ab|c"},
		{"ab|c", "ix", "> abx|c"},
		{"ab|c", "a", "> abc|"},
		{"ab|c", "ax<esc>", "N abc|x"},
		{"  a|b", "Ix", ">   x|ab"},
		{"|ab\ncd", "A!", "> ab!|\ncd"},
		{"|ab\ncd", "ox", "> ab\nx|\ncd"},
		{"ab\nc|d", "Ox", "> ab\nx|\ncd"},
		{"|", "", "N |"},
		{"|", "zq", "N |"},
		{"ab|c", "qzZ;%", "N ab|c"},
		// motions
		{"ab|c", "h", "N a|bc"},
		{"ab|c", "hhhh", "N |abc"},
		{"|abc", "ll", "N ab|c"},
		{"|abc", "9l", "N ab|c"},
		{"|abc", "<space>", "N a|bc"},
		{"ab|c", "<backspace>", "N a|bc"},
		{"ab\n|cd", "h", "N ab\n|cd"},
		{"a|bc\nx\ndef", "jj", "N abc\nx\nd|ef"},
		{"abc\nx\nd|ef", "kk", "N a|bc\nx\ndef"},
		{"abc\nx\nd|ef", "2k", "N a|bc\nx\ndef"},
		{"|abc\nx\ndef", "$jj", "N abc\nx\nde|f"},
		{"|abc\nx\ndef", "$2j", "N abc\nx\nde|f"},
		{"|one, two", "w", "N one|, two"},
		{"|one, two", "W", "N one, |two"},
		{"|one, two", "ww", "N one, |two"},
		{"|one, two", "3w", "N one, tw|o"},
		{"|one\n\ntwo", "w", "N one\n|\ntwo"},
		{"|one\n\n  two", "2w", "N one\n\n  |two"},
		{"one\n\ntw|o", "bb", "N one\n|\ntwo"},
		{"one\ntwo|", "2b", "N |one\ntwo"},
		{"one, tw|o", "bb", "N one|, two"},
		{"one, |two", "B", "N |one, two"},
		{"|one, two", "e", "N on|e, two"},
		{"|one, two", "ee", "N one|, two"},
		{"|one, two", "2E", "N one, tw|o"},
		{"|one\n\n two", "2e", "N one\n\n tw|o"},
		{"  on|e", "0", "N |  one"},
		{"  on|e", "^", "N   |one"},
		{"|one\ntwo", "$", "N on|e\ntwo"},
		{"|one\ntwo", "2$", "N one\ntw|o"},
		{"a\nb\n  |c", "gg", "N |a\nb\n  c"},
		{"|a\nb\n  c", "G", "N a\nb\n  |c"},
		{"|a\nb\n  c", "2G", "N a\n|b\n  c"},
		{"|a\nb\n  c", "2gg", "N a\n|b\n  c"},
		{"a|\nb", "gx", "N |a\nb"},
		{"|abcabc", "fc", "N ab|cabc"},
		{"|abcabc", "2fc", "N abcab|c"},
		{"|abcabc", "tc", "N a|bcabc"},
		{"|abc", "fz", "N |abc"},
		{"|a b", "f<space>", "N a| b"},
		{"|a?b", "f?", "N a|?b"},
		{"|abc\nd", "fd", "N |abc\nd"},
		// deleting
		{"a|bc", "x", "N a|c"},
		{"|abc", "2x", "N |c"},
		{"|abc", "9x", "N |"},
		{"ab|c", "x", "N a|b"},
		{"ab|c", "X", "N a|c"},
		{"|abc", "X", "N |abc"},
		{"a|\nb", "xx", "N |\nb"},
		{"one |two three", "D", "N one| "},
		{"one |two three", "C!", "> one !|"},
		{"|one two three", "dw", "N |two three"},
		{"|one two three", "d2w", "N |three"},
		{"|one two three", "2dw", "N |three"},
		{"|a b c d e f g", "2d2w", "N |e f g"},
		{"one |two", "dw", "N one| "},
		{"one |two\nthree", "dw", "N one| \nthree"},
		{"|one\n  two", "dw", "N |\n  two"},
		{"|one\ntwo three", "d2w", "N |three"},
		{"one tw|o", "db", "N one |o"},
		{"one\n|two", "db", "N |\ntwo"},
		{"|one two", "de", "N | two"},
		{"one tw|o", "d0", "N |o"},
		{"|one two", "d$", "N |"},
		{"|one two", "dft", "N |wo"},
		{"|one two", "dtt", "N |two"},
		{"|one two", "dfz", "N |one two"},
		{"|one two", "dh", "N |one two"},
		{"a\n|b\nc", "dd", "N a\n|c"},
		{"a\nb\n|c", "dd", "N a\n|b"},
		{"|a", "dd", "N |"},
		{"|a\nb\nc", "2dd", "N |c"},
		{"a\n|b\nc", "9dd", "N |a"},
		{"|a\nb\nc", "dj", "N |c"},
		{"a\n|b\nc", "dk", "N |c"},
		{"|a\nb\nc", "dk", "N |a\nb\nc"},
		{"a\n|b\nc", "dG", "N |a"},
		{"a\nb\n|c", "dgg", "N |"},
		{"a\n|b\n  c", "dd", "N a\n  |c"},
		{"\n|b", "dd", "N |"},
		{"|one two", "d<esc>w", "N one |two"},
		{"|one two", "2<esc>x", "N |ne two"},
		{"|one two", "dzw", "N one |two"},
		// changing
		{"|one two", "cwx", "> x| two"},
		{"|a b", "cwx", "> x| b"},
		{"|one two three", "c2wx", "> x| three"},
		{"one| two", "cwx", "> onex|two"},
		{"|one, two", "cWx", "> x| two"},
		{"one\ntw|o", "cc!", "> one\n!|"},
		{"one\ntw|o\nx", "Sy", "> one\ny|\nx"},
		{"|one\ntwo\nx", "2ccy", "> y|\nx"},
		{"|one\ntwo\nx", "cjy", "> y|\nx"},
		{"|one", "sx", "> x|ne"},
		{"|one two", "cfex", "> x| two"},
		{"one tw|o", "cbx", "> one x|o"},
		{"|abc", "rx", "N |xbc"},
		{"|abc", "2rx", "N x|xc"},
		{"|abc", "4rx", "N |abc"},
		{"|abc", "r<esc>x", "N |bc"},
		{"|aBc", "~", "N A|Bc"},
		{"|aBc", "9~", "N Ab|C"},
		{"|a\n  b", "J", "N a| b"},
		{"|a\nb\nc\nd", "3J", "N a b| c\nd"},
		{"|f(x\n)", "J", "N f(x|)"},
		{"a\n|b", "J", "N a\n|b"},
		// put
		{"|one two", "dwp", "N tone| wo"},
		{"|one two", "dw$p", "N twoone| "},
		{"|one two", "dwP", "N one| two"},
		{"|one two", "yw", "N |one two"},
		{"one |two", "yb", "N |one two"},
		{"|ab", "yl2p", "N aa|ab"},
		{"|a\nb", "ddp", "N b\n|a"},
		{"a\n|b", "ddP", "N |b\na"},
		{"|a\nb", "yyp", "N a\n|a\nb"},
		{"|a\nb", "Y2P", "N |a\na\na\nb"},
		{"a\n|b\nc", "yk", "N |a\nb\nc"},
		{"|a\nb\nc", "yjGp", "N a\nb\nc\n|a\nb"},
		{"|", "p", "N |"},
		{"|a\nb", "ddi<ctrl+u><esc>yyp", "N b\n|b"},
		{"|one two", "ddi<ctrl+y>", "> one two|"},
		// undo
		{"|one two", "dwu", "N |one two"},
		{"|one two", "dwdwuu", "N |one two"},
		{"|one two", "dwu<ctrl+r>", "N |two"},
		{"|abc", "xxx2u", "N |bc"},
		{"|a\nb\nc", "Ju", "N |a\nb\nc"},
		{"|a\nb\nc", "3Ju", "N |a\nb\nc"},
		// characters, not bytes
		{"|日本語", "x", "N |本語"},
		{"|日本語", "$", "N 日本|語"},
		{"|日本語", "f語", "N 日本|語"},
		{"|e\u0301a", "l", "N e\u0301|a"},
		{"|e\u0301a", "x", "N |a"},
		{"|👨\u200d👩\u200d👧!", "l", "N 👨\u200d👩\u200d👧|!"},
		{"|👨\u200d👩\u200d👧!", "rx", "N |x!"},
		{"|日本 語", "w", "N 日本 |語"},
		// other keys are what they were
		{"|one two", "<alt+f>", "N one| two"},
		{"|one two", "<ctrl+e>", "N one tw|o"},
		{"one |two", "<ctrl+w>", "N |two"},
		{"|one two", "<delete>", "N |ne two"},
		{"|one\ntwo", "<down>", "N one\n|two"},
		{"|one\ntwo", "d<down>x", "N one\n|wo"},
		{"|one two", "<ctrl+j>x", "> one two\nx|"},
		{"|", "/he", "> /he|"},
		{"|", "!ls<esc>", "N !l|s"},
		{"|", "@a", "> @a|"},
		{"|a", "/", "N |a"},
	} {
		d := vimDesk(c.text)
		if acts := d.press(c.keys); len(acts) > 0 {
			t.Errorf("%q %s: left %v to root", c.text, c.keys, acts)
		}
		if got := d.mode(); got != c.want {
			t.Errorf("%q %s gives %q, want %q", c.text, c.keys, got, c.want)
		}
	}
}

// Without the setting no letter is a key. // TUI-4
func TestVimIsOffUnlessAskedFor(t *testing.T) {
	d := newDesk()
	if acts := d.press("one two<esc>dw"); len(acts) != 1 || acts[0] != ActInterrupt || d.mode() != "> one twodw|" {
		t.Errorf("%v, %s", acts, d.mode())
	}
	d.UseVim(true)
	d.press("<esc>x")
	if d.UseVim(false); d.mode() != "> one two|d" {
		t.Errorf("switched off: %s", d.mode())
	}
	if d.press("x"); d.mode() != "> one twox|d" {
		t.Errorf("switched off: %s", d.mode())
	}
}

// In the normal mode Enter and Esc are what they are without vi, and the next message begins with writing. // TUI-4
func TestVimSends(t *testing.T) {
	d := vimDesk("one tw|o")
	if acts := d.press("<enter>"); len(acts) != 1 || acts[0] != ActSend {
		t.Errorf("Enter: %v", acts)
	}
	if acts := d.press("<esc>"); len(acts) != 1 || acts[0] != ActInterrupt || d.TookEsc() {
		t.Errorf("Esc: %v", acts)
	}
	if acts := d.press("2d<esc>"); len(acts) != 0 || !d.TookEsc() {
		t.Errorf("Esc within a command: %v", acts)
	}
	d.Sent()
	if d.mode() != "> |" {
		t.Errorf("sent: %s", d.mode())
	}
	d.press("two<esc><up>")
	if d.mode() != "N one tw|o" {
		t.Errorf("the message before: %s", d.mode())
	}
	if d.press("<down>"); d.mode() != "N tw|o" {
		t.Errorf("back to the draft: %s", d.mode())
	}
	for name, put := range map[string]func(){
		"a text of the editor's": func() { d.SetText("new") }, "a draft": func() { d.Restore(Draft{Text: "new", At: 3}) },
		"a text that is given": func() { d.Give("new") },
	} {
		d.press("<esc>")
		if put(); d.mode() != "> new|" {
			t.Errorf("%s: %s", name, d.mode())
		}
	}
	d.Give("new")
	d.press("<esc>") // who moves in a text that was given makes it theirs
	if d.Given() {
		t.Error("the text is still one that nobody wrote")
	}
	if d.press("iX"); d.mode() != "> neX|w" {
		t.Errorf("a given text: %s", d.mode())
	}
	for _, key := range []string{"?", "<f1>"} {
		d = vimDesk("|")
		if acts := d.press(key); len(acts) != 1 || acts[0] != ActHelp {
			t.Errorf("%s where nothing is written: %v", key, acts)
		}
	}
}

// A paste is one character where it is folded, and goes in behind the cursor. // TUI-4, case TUI-01, case TUI-02
func TestVimPaste(t *testing.T) {
	long := strings.Repeat("many\n", 50)
	d := vimDesk("a|b")
	d.Paste(long)
	if d.mode() != "N ab|▪" {
		t.Fatalf("pasted: %s", d.mode())
	}
	for _, step := range []struct{ keys, want string }{
		{"yl", "N ab|▪"},
		{"0p", "N a|▪b▪"},
		{"$x", "N a▪|b"},
		{"u", "N a▪b|▪"},
		{"F", "N a▪b|▪"},
		{"bb", "N a|▪b▪"},
		{"dw", "N a|b▪"},
		{"P", "N a|▪b▪"},
		{"cwX<esc>", "N a|Xb▪"},
		{"0e", "N aX|b▪"},
		{"e", "N aXb|▪"},
		{"0dE", "N |"},
		{"uu", "N a|b▪"},
	} {
		if d.press(step.keys); d.mode() != step.want {
			t.Fatalf("%s: %q, want %q", step.keys, d.mode(), step.want)
		}
	}
	if got, _ := d.Value(); got != "ab"+long {
		t.Errorf("%d bytes", len(got))
	}
	d = vimDesk("a!|")
	d.Paste(long)
	if d.press("0wdw"); d.mode() != "N a|▪" {
		t.Errorf("a mark beside a paste is a word of its own: %s", d.mode())
	}
	d = vimDesk("|")
	d.press("d") // gives way
	d.Paste("one\ntwo")
	if d.press("w"); d.mode() != "N one\n|two" {
		t.Errorf("lines: %s", d.mode())
	}
	for _, c := range []struct{ text, keys, want string }{
		{"one |two", "dw", "N one| "},
		{"|one two", "dwix", "> x|two"}, // letters that come together are keys
		{"|ab", "x\rx\r", "N |"},        // and nothing of them is sent
		{"a|b", "ione\rtwo\r", "> aone\ntwo\n|b"},
		{"a|b", "d\r\nw\tl", "N a|b"},
	} {
		d := vimDesk(c.text)
		if acts := d.burst(c.keys); len(acts) > 0 || d.mode() != c.want {
			t.Errorf("%q: %v, %s, want %s", c.keys, acts, d.mode(), c.want)
		}
	}
}

// What is offered and searched is so while writing, and only then. // TUI-4
func TestVimOffers(t *testing.T) {
	d := newDesk("an earlier one")
	d.UseVim(true)
	d.press("/he")
	if !d.Offering() {
		t.Fatal("nothing is offered")
	}
	if acts := d.press("<esc>"); len(acts) > 0 || d.Offering() || d.mode() != "> /he|" {
		t.Errorf("Esc closes what is offered: %v, %s", acts, d.mode())
	}
	if d.press("<esc>h"); d.Offering() || d.mode() != "N /|he" {
		t.Errorf("in the normal mode: %s", d.mode())
	}
	if d.press("A"); !d.Offering() {
		t.Error("back to the writing nothing is offered")
	}
	d.press("<ctrl+u><ctrl+r>earl")
	if !d.Searching() || d.shown() != "an |earlier one" {
		t.Errorf("searched: %s", d.shown())
	}
	if d.press("<esc>"); d.Searching() || d.mode() != "> |" {
		t.Errorf("given up: %s", d.mode())
	}
	d.press("one two<esc>")
	d.Click(4, 0, 0)
	if d.mode() != "N on|e two" {
		t.Errorf("clicked: %s", d.mode())
	}
	d.Click(39, 0, 0)
	if d.mode() != "N one tw|o" {
		t.Errorf("clicked behind the end: %s", d.mode())
	}
}

// The setting acts at once; Esc is counted from the normal mode on, and a question is answered as ever. // SET-1, TUI-4, TUI-12, PERM-2
func TestVimOnTheScreen(t *testing.T) {
	onStage(t, 80, 24, noColours(), func(s *stage) { s.ready(`{` + acmeProvider + `}`) }, func(s *stage) {
		s.press("/settings<enter>")
		s.clickOn("Appearance", "")
		s.sees("Vim keys                off")
		s.clickOn("Vim keys", "")
		s.sees("Vim keys                on", "Saved: the keys of vi are on.")
		s.press("<esc>")
		s.lacks("Vim keys")
		turn := s.works("first of all")
		s.now()
		s.sees("> Alt+Enter sends it", "Esc Esc stops")
		s.press("<esc>")
		s.sees("N Enter queues", "Esc stops")
		s.lacks("Esc Esc", "Act on a message")
		s.wantCommands("")
		s.press("<esc>")
		s.wantCommands("drive.Cancel{By:user}")
		s.a.put(session.TurnEnded{Turn: turn, Status: "completed"})
		s.now()
		s.later(2 * time.Second)
		s.press("<esc>")
		s.sees("Esc again: go back to")
		s.press("<esc>")
		s.sees("Act on a message of yours")
		s.press("j<esc>")
		s.lacks("Act on a message")
		s.press("?")
		s.sees("─ Help ─")
		s.press("<esc>")
		s.works("second of all")
		s.question("bash", `{"command":"rm -r x"}`, "rm -r x")
		s.now()
		s.later(typingPause)
		s.press("n")
		if got := s.commands(); !strings.HasPrefix(got, "answer ") {
			t.Errorf("n did %q", got)
		}
	})
}
