package tui

import (
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"varve/internal/tui/plain"
)

// inside checks what holds after any key: the cursor stands between clusters of the text, the rows that are kept are those
// that would be cut anew, and what is drawn has the asked size with the cursor in it.
func inside(t interface {
	Helper()
	Fatalf(string, ...any)
}, c *Composer, width, height int,
) {
	t.Helper()
	rows, x, y := c.View(width, height, DarkTheme())
	if len(rows) < 1 || len(rows) > height || x < 0 || x >= width || y < 0 || y >= len(rows) {
		t.Fatalf("%d rows of %d, cursor at %d, %d of %d columns", len(rows), height, x, y, width)
	}
	popup := c.Popup(width, height, DarkTheme())
	if len(popup) > height {
		t.Fatalf("%d rows are offered, %d fit", len(popup), height)
	}
	for _, r := range slices.Concat(rows, popup) {
		if w := plain.Width(r); w != width || strings.ContainsAny(ansi.Strip(r), "\x1b\n\t\r\a") {
			t.Fatalf("a row of %d columns, not %d: %q", w, width, r)
		}
	}
	tx := &c.text
	if tx.cur.line >= len(tx.lines) || tx.cur.off > len(tx.lines[tx.cur.line].s) {
		t.Fatalf("the cursor %v is outside", tx.cur)
	}
	at, s := 0, tx.lines[tx.cur.line].s
	for at < tx.cur.off {
		n, _ := tx.cluster(s[at:])
		at += n
	}
	if at != tx.cur.off {
		t.Fatalf("the cursor is within a cluster: %d of %q", tx.cur.off, s)
	}
	for i := range tx.lines {
		kept := slices.Clone(tx.rowsOf(i))
		tx.lines[i].rows = nil
		if fresh := tx.rowsOf(i); !slices.Equal(kept, fresh) {
			t.Fatalf("line %q has rows at %v, cut anew %v", tx.lines[i].s, kept, fresh)
		}
	}
}

// piece is text as people, terminals and files give it.
func piece() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringMatching(`[a-z]{1,12}`),
		rapid.SampledFrom([]string{" ", "  ", "日本語", "é", "e\u0301", "👨\u200d👩\u200d👧", "🇩🇪", "\u0301", "\u200d", "ｶ", "a b", "x\ty", "word word word word", "、", "/", "@", "!", "\\", "👍🏽", "\u0600", "ﷺ"}),
	)
}

// The composer against a string and an index: whatever is written, moved and deleted, the text is the model's (TUI-4).
func TestComposerIsItsModel(t *testing.T) {
	long := strings.Repeat("pasted\n", 12)
	rapid.Check(t, func(t *rapid.T) {
		d := newDesk()
		width, height := rapid.IntRange(8, 40).Draw(t, "width"), rapid.IntRange(1, 6).Draw(t, "height")
		model, at := "", 0 // with pastes whole, without knowing of chips
		write := func(s string) { model = model[:at] + s + model[at:]; at += len(s) }
		cursor := func() int {
			return len(d.Draft().Whole()) - len(Draft{Text: d.Draft().Text[d.Draft().At:], Pastes: d.Draft().Pastes}.Whole())
		}
		for range rapid.IntRange(1, 40).Draw(t, "n") {
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0, 1, 2:
				s := piece().Draw(t, "text")
				d.text.write(s)
				write(s)
			case 3:
				s := rapid.SampledFrom([]string{"two\nlines", "\n", "a\n日本\n\nb", long}).Draw(t, "paste")
				d.Paste(s)
				write(s)
			case 4:
				key := rapid.SampledFrom([]string{"backspace", "delete", "ctrl+w", "alt+d", "ctrl+k", "ctrl+u"}).Draw(t, "delete")
				before := cursor()
				tail := model[before:]
				d.press("<" + key + ">")
				now := d.Draft().Whole()
				switch key { // what is left is what stood before or after the cursor
				case "backspace", "ctrl+w", "ctrl+u":
					if !strings.HasSuffix(now, tail) || !strings.HasPrefix(model, now[:len(now)-len(tail)]) {
						t.Fatalf("%s made %q of %q at %d", key, now, model, before)
					}
				default:
					if !strings.HasPrefix(now, model[:before]) || !strings.HasSuffix(model, now[before:]) {
						t.Fatalf("%s made %q of %q at %d", key, now, model, before)
					}
				}
				model = now
			case 5:
				was := d.Draft().Whole()
				d.press("<alt+z><alt+r>") // undo and redo are where we were
				if now := d.Draft().Whole(); now != was && len(d.text.undone) > 0 {
					t.Fatalf("undo and redo made %q of %q", now, was)
				}
				model = d.Draft().Whole()
			case 6:
				d.press("<alt+o>")
				if now := d.Draft().Whole(); strings.ReplaceAll(now, "\n", "") != strings.ReplaceAll(model, "\n", "") {
					t.Fatalf("expanding made %q of %q", now, model)
				}
				model = d.Draft().Whole()
			default:
				d.text.do2(rapid.SampledFrom([]string{"left", "right", "up", "down", "alt+b", "alt+f", "home", "end"}).Draw(t, "move"), d)
			}
			at = cursor()
			if got := d.Draft().Whole(); got != model {
				t.Fatalf("the text is %q, the model %q", got, model)
			}
			inside(t, d.Composer, width, height)
			if rapid.IntRange(0, 9).Draw(t, "resize") == 0 {
				width = rapid.IntRange(8, 40).Draw(t, "width")
				inside(t, d.Composer, width, height)
			}
		}
		// All of it can be undone, and done again.
		for len(d.text.done) > 0 {
			d.press("<alt+z>")
			inside(t, d.Composer, width, height)
		}
		if !d.Empty() {
			t.Fatalf("undone to %q", d.Draft().Whole())
		}
		for len(d.text.undone) > 0 {
			d.press("<alt+r>")
		}
		if got := d.Draft().Whole(); got != model {
			t.Fatalf("done again %q, want %q", got, model)
		}
	})
}

// do2 moves without the history, which would bring other text.
func (t *draftText) do2(key string, d *desk) {
	d.offer = offer{}
	switch key {
	case "up":
		t.up()
	case "down":
		t.down()
	default:
		d.press("<" + key + ">")
	}
}

// Any keys, in any order, with a history, offers and searches: nothing panics, all is in bounds (TUI-4, case TUI-13).
func TestComposerTakesAnyKey(t *testing.T) {
	var keys []string
	for _, b := range bindings() {
		if b.Where&(typing|InSearch) != 0 {
			keys = append(keys, b.Keys...)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		d := newDesk("earlier", "a longer message that was sent", "日本語", "two\nlines")
		d.Files = func() tea.Cmd { return func() tea.Msg { return nil } }
		width, height := rapid.IntRange(1, 60).Draw(t, "width"), rapid.IntRange(1, 8).Draw(t, "height")
		for range rapid.IntRange(1, 60).Draw(t, "n") {
			more := rapid.IntRange(0, 4).Draw(t, "more") == 0
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0, 1, 2, 3:
				d.Key(tea.KeyPressMsg{Code: 'x', Text: piece().Draw(t, "text")}, d.keys, d.at, more)
			case 4:
				d.Paste(rapid.String().Draw(t, "paste"))
			case 5:
				d.Listed(FilesMsg{Paths: []string{"a/b.go", "with space.md", "dir/", "日本/語.txt", "\x1b[2Jevil"}})
			case 6:
				d.Click(rapid.IntRange(0, 60).Draw(t, "x"), rapid.IntRange(0, 8).Draw(t, "y"), rapid.IntRange(0, 3).Draw(t, "popup"))
			default:
				act, _ := d.Key(keyOf(rapid.SampledFrom(keys).Draw(t, "key")), d.keys, d.at, more)
				if act == ActSend {
					if more {
						t.Fatalf("sent while more was waiting")
					}
					d.Sent()
				}
			}
			inside(t, d.Composer, max(width, 8), height)
			if s, _ := d.Value(); strings.ContainsAny(s, "\x1b\x00\a\r") {
				t.Fatalf("controls in %q", s)
			}
		}
	})
}

// Whatever is pasted: what is sent is the cleaned text, and drawing it holds its bounds (TUI-4, case TUI-02).
func FuzzComposerPaste(f *testing.F) {
	for _, s := range []string{"", "one", "\x1b[31mred\x1b[201~\r\n\ttab", strings.Repeat("line\n", 20), strings.Repeat("é", 2001), "\U0010F000", "\xff\xfe", "🇩🇪\u0301\u200d日", "a\rb\u202ec", "\U0010F000\u0301"} {
		f.Add(s, "x", uint8(20))
	}
	f.Fuzz(func(t *testing.T, paste, typed string, width uint8) {
		d := newDesk()
		d.press("ab<left>")
		d.Paste(paste)
		clean := cleanInput(paste)
		if got := d.Draft().Whole(); got != "a"+clean+"b" {
			t.Fatalf("%q became %q", paste, got)
		}
		w := max(int(width), 8)
		inside(t, d.Composer, w, 6)
		d.text.write(cleanTyped(typed))
		inside(t, d.Composer, w, 6)
		d.press("<backspace><left><alt+o><up><alt+d>")
		inside(t, d.Composer, w, 6)
		d.Restore(d.Draft())
		for range 4 {
			d.press("<alt+z>")
			inside(t, d.Composer, w, 6)
		}
	})
}

// case TUI-02 and PERF: a paste, and keys in long texts.
func BenchmarkComposer(b *testing.B) {
	log := strings.Repeat("\x1b[32m2026-01-01\x1b[m INFO a line of a log that goes on\r\n", 2<<20/55)
	cjk := strings.Repeat("日本語のテキスト", 2<<20/24)
	b.Run("paste2MB", func(b *testing.B) {
		for b.Loop() {
			d := newDesk()
			d.Paste(log)
			d.View(100, 10, DarkTheme())
			d.Value()
		}
	})
	for _, c := range []struct{ name, text string }{{"lines", log}, {"oneLine", strings.Repeat("x y ", 500<<10)}, {"cjk", cjk}} {
		b.Run("key/"+c.name, func(b *testing.B) {
			d := newDesk()
			d.Paste(c.text)
			d.Expand()
			d.View(100, 10, DarkTheme())
			for b.Loop() {
				d.press("x<backspace>")
				d.View(100, 10, DarkTheme())
			}
		})
	}
}
