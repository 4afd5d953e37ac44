package plain

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"
)

func TestClean(t *testing.T) { // SEC-5, TUI-9
	for _, c := range []struct{ name, in, want string }{
		{"plain", "one\ntwo", "one\ntwo"},
		{"colour", "\x1b[1;31mred\x1b[0m", "red"},
		{"clear screen", "a\x1b[2Jb", "ab"},
		{"title", "a\x1b]0;owned\x07b", "ab"},
		{"clipboard, ended by ST", "a\x1b]52;c;QUJD\x1b\\b", "ab"},
		{"dcs", "a\x1bP+q544e\x1b\\b", "ab"},
		{"eight bit csi", "a\u009b31mb", "ab"},
		{"eight bit osc", "a\u009d0;x\u009cb", "ab"},
		{"charset", "a\x1b(Bb", "ab"},
		{"a link shows its target", "\x1b]8;;http://evil.example/\x1b\\good.example\x1b]8;;\x1b\\", "<http://evil.example/> good.example"},
		{"a link's target is cleaned too", "\x1b]8;;http://a/\u202e\x07b", "<http://a/\\u202e> b"},
		{"an unended string hides nothing", "a\x1b]0;rm -rf /\nb", "a]0;rm -rf /\nb"},
		{"a string doesn't reach over a line", "\x1b]0;x\nrm -rf /\x07y", "]0;x\nrm -rf /y"},
		{"an unended string at the end", "a\x1b]0;rm -rf /", "a]0;rm -rf /"},
		{"a broken csi hides nothing", "\x1b[31\nx", "[31\nx"},
		{"a string broken by another sequence", "\x1b]0;t\x1b[31mx", "x"},
		{"cancelled", "\x1b]0;t\x18x", "x"},
		{"controls", "a\x00\x07\x08\x0b\x0c\x7fb", "ab"},
		{"c1", "a\u0085\u0080b", "ab"},
		{"crlf", "a\r\nb\r\r\nc", "a\nb\nc"},
		{"lone cr ends a line", "10%\r20%\r", "10%\n20%\n"},
		{"tabs", "a\tb\n\tc\n12345678\td", "a       b\n        c\n12345678        d"},
		{"tabs after wide text", "日本\tx", "日本    x"},
		{"bidi", "a\u202eb\u2066c", `a\u202eb\u2066c`},
		{"zero width", "a\u200bb\ufeff\u00ad", `a\u200bb\ufeff\u00ad`},
		{"tags", "a\U000e0041", `a\U000e0041`},
		{"line separator", "a\u2028b", `a\u2028b`},
		{"family", "👨\u200d👩\u200d👧", "👨\u200d👩\u200d👧"},
		{"heart", "❤\ufe0f\u200d🔥 1\ufe0f\u20e3", "❤\ufe0f\u200d🔥 1\ufe0f\u20e3"},
		{"joiner between letters", "a\u200db", `a\u200db`},
		{"persian non-joiner", "می\u200cخواهم", "می\u200cخواهم"},
		{"devanagari joiner", "क्\u200dष", "क्\u200dष"},
		{"many selectors", "❤\ufe0f\ufe0f", `❤` + "\ufe0f" + `\ufe0f`},
		{"invalid", "a\xff\xfeb", "a\ufffd\ufffdb"},
		{"combining", "e\u0301", "e\u0301"},
	} {
		if got := Clean(c.in); got != c.want {
			t.Errorf("%s: Clean(%q) = %q, want %q", c.name, c.in, got, c.want)
		}
	}
	if got := CleanTabs("a\tb\x1b[m", 0); got != "a\tb" {
		t.Errorf("tabs are not kept: %q", got)
	}
	long := "\x1b]52;c;" + strings.Repeat("A", maxSequence) + "\x07end"
	if got := Clean(long); !strings.HasPrefix(got, "]52;c;AAA") || !strings.HasSuffix(got, "Aend") {
		t.Errorf("a string over the bound is text: %.20q", got)
	}
}

func TestVisible(t *testing.T) { // case SEC-11
	for _, c := range []struct {
		in, want string
		hidden   int
	}{
		{"ls -l\nrm x", "ls -l\nrm x", 0},
		{"echo hi\rrm -rf ~\x1b[2K", `echo hi\rrm -rf ~\x1b[2K`, 2},
		{"a\u202eb\tc", `a\u202eb\tc`, 2},
		{"a\u00a0b\u3000", `a\u00a0b\u3000`, 2},
		{"👨\u200d👩", `👨\u200d👩`, 1},
		{"\xff\xc3", `\xff\xc3`, 2},
		{"\u0301x", `\u0301x`, 1},
		{"日本 é", "日本 é", 0},
	} {
		if got := Visible(c.in); got != c.want {
			t.Errorf("Visible(%q) = %q, want %q", c.in, got, c.want)
		}
		if got := Hidden(c.in); got != c.hidden {
			t.Errorf("Hidden(%q) = %d, want %d", c.in, got, c.hidden)
		}
	}
}

func TestWrap(t *testing.T) { // TUI-9
	for _, c := range []struct {
		in    string
		width int
		want  string
	}{
		{"", 10, ""},
		{"one two three", 7, "one two|three"},
		{"one two three", 8, "one two|three"},
		{"one     two", 5, "one|two"},
		{"a averylongword b", 6, "a|averyl|ongwor|d b"},
		{"one\n\ntwo  ", 5, "one||two"},
		{"日本語の文字", 5, "日本|語の|文字"},
		{"日本。語", 4, "日|本。|語"},
		{"see 日本語", 6, "see 日|本語"},
		{"👨\u200d👩\u200d👧👨\u200d👩\u200d👧", 3, "👨\u200d👩\u200d👧|👨\u200d👩\u200d👧"},
		{"e\u0301e\u0301e\u0301", 2, "e\u0301e\u0301|e\u0301"},
		{"日", 1, "日"},
	} {
		if got := strings.Join(Wrap(c.in, c.width), "|"); got != c.want {
			t.Errorf("Wrap(%q, %d) = %q, want %q", c.in, c.width, got, c.want)
		}
	}
	if got := strings.Join(Fold("  if x {  y", 4), "|"); got != "  if| x {|  y" {
		t.Errorf("Fold = %q", got)
	}
	if got := Truncate("日本語", 4); got != "日…" {
		t.Errorf("Truncate = %q", got)
	}
}

// nasty is text out of which terminals are driven.
func nasty() *rapid.Generator[string] {
	bits := []string{
		"a", "word ", "\n", "\r", "\t", "\x1b", "[", "]", "8;;http://x", "0;t", "31m", "\x07", "\\", "\x9c", "\u009c", "\u009b",
		"\u009d", "P", "\x18", "日", "👨", "\u200d", "👩", "\ufe0f", "\u202e", "é", "e\u0301", "\xff", "\xf0\x9f", "\x00", "\u2028", "क्", " ",
	}
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(bits), 0, 30).Draw(t, "bits"), "")
	})
}

func TestCleanerEqualsClean(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, tab := nasty().Draw(t, "s"), rapid.SampledFrom([]int{0, 4, 8}).Draw(t, "tab")
		c, out := Cleaner{Tab: tab}, []byte(nil)
		for rest := s; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			out = c.Append(out, rest[:n])
			rest = rest[n:]
		}
		if got, want := string(c.Flush(out)), CleanTabs(s, tab); got != want && (tab == 0 || ansi.StringWidth(s) == len(s)) {
			t.Fatalf("in pieces %q, whole %q", got, want)
		}
	})
}

func TestWrapKeepsAllAndFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, width := Clean(nasty().Draw(t, "s")), rapid.IntRange(2, 20).Draw(t, "width")
		for _, l := range append(Wrap(s, width), Fold(s, width)...) {
			if w := Width(l); w > width {
				t.Fatalf("%q is %d wide", l, w)
			}
		}
		squeeze := strings.NewReplacer(" ", "", "\n", "")
		if got := squeeze.Replace(strings.Join(Wrap(s, width), "")); got != squeeze.Replace(s) {
			t.Fatalf("Wrap lost text: %q of %q", got, s)
		}
		if got := strings.Join(Fold(s, width), ""); got != strings.ReplaceAll(s, "\n", "") {
			t.Fatalf("Fold lost text: %q of %q", got, s)
		}
	})
}

func TestPlainTextIsNotCopied(t *testing.T) {
	s := strings.Repeat("plain text\n", 100)
	if n := testing.AllocsPerRun(10, func() { Clean(s); Visible(s); Hidden(s) }); n != 0 {
		t.Errorf("%v allocations for plain text", n)
	}
}

func checkSafe(t *testing.T, s string) {
	t.Helper()
	if !utf8.ValidString(s) {
		t.Errorf("not UTF-8: %q", s)
	}
	for _, r := range s {
		if r != '\n' && unicode.IsControl(r) {
			t.Errorf("a control passes: %q", s)
		}
		if r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			t.Errorf("a bidi control passes: %q", s)
		}
	}
}

func FuzzClean(f *testing.F) { // SEC-5
	for _, s := range []string{"a\tb\r\n", "\x1b]8;;http://x\x07y\x1b]8;;\x07", "\x1b[31", "\u009b\u202e", "👨\u200d👩\u200d👧", "\xff\x1bP\x1b\x1b\\"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := Clean(s)
		checkSafe(t, out)
		checkSafe(t, Visible(s))
		if again := Clean(out); again != out {
			t.Errorf("Clean isn't settled: %q, then %q", out, again)
		}
		for _, l := range Wrap(out, 20) {
			if Width(l) > 20 {
				t.Errorf("%q is too wide", l)
			}
		}
	})
}

func BenchmarkClean(b *testing.B) {
	for _, c := range []struct{ name, s string }{
		{"ascii", strings.Repeat("plain text in a line of code, more of it\n", 1000)},
		{"utf8", strings.Repeat("text – with “quotes” and 日本語 \t in it\n", 1000)},
		{"colour", strings.Repeat("\x1b[32mok\x1b[0m  varve/internal/tui  0.013s\n", 1000)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.s)))
			b.ReportAllocs()
			for b.Loop() {
				Clean(c.s)
			}
		})
	}
}
