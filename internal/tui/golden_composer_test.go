package tui

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
)

var goldenSizes = [][2]int{{40, 12}, {80, 24}, {120, 40}}

// sheet draws a moment at each size, one below the other.
func sheet(draw func(w, h int) string) string {
	var b strings.Builder
	for _, s := range goldenSizes {
		fmt.Fprintf(&b, "\n==== %dx%d\n%s\n", s[0], s[1], draw(s[0], s[1]))
	}
	return b.String()
}

// bottom is the composer with what it offers, as it stands at the bottom of a window: a third of it at most. The cursor is
// told below.
func (d *desk) bottom(w, h int) string {
	rows, x, y := d.View(w, h/3, NoTheme())
	popup := d.Popup(w, h-len(rows), NoTheme())
	all := append(append([]string{}, popup...), rows...)
	for i := range all {
		all[i] = strings.TrimRight(all[i], " ")
	}
	return strings.Join(all, "\n") + fmt.Sprintf("\n(the cursor is at column %d of row %d)", x, len(popup)+y)
}

func TestGoldenComposer(t *testing.T) { // TUI-4, TUI-9
	files := FilesMsg{Paths: []string{"README.md", "internal/tui/composer.go", "internal/tui/composer_view.go", "internal/tui/complete.go", "docs/keys.md", "docs/日本語.md", "internal/session/compose_a_very_long_name_that_does_not_fit_into_forty_columns.go"}}
	sixty := strings.Repeat("a line of a log\n", 60)
	for _, c := range []struct {
		name, look string
		keys       func(d *desk)
	}{
		{"empty", "One row, the hint behind the mark is cut at the edge, the cursor stands before it.", func(d *desk) {}},
		{"wrapped", "Words wrap, wide characters part, a cluster is never cut; it grows to a third of the window and then shows the part with the cursor.", func(d *desk) {
			d.Paste("Please rename the flag, and then look at every place that reads it.\n日本語のテキストは文字の間で折り返されます。絵文字 👨\u200d👩\u200d👧 と é も正しく。\n\n\tan indented line")
		}},
		{"chip", "The paste is one chip; above what is written stand the files that match, the chosen one with a mark.", func(d *desk) {
			d.press("compare ")
			d.Paste(sixty)
			d.press(" with @comp")
			d.Listed(files)
			d.press("<down>")
		}},
		{"commands", "Commands with their words; those that do nothing yet say so.", func(d *desk) { d.press("/re") }},
		{"shell", "The mark says that this runs here and is no message.", func(d *desk) { d.press("!go test ./... 2>&1 | tail") }},
		{"search", "The search stands above the message that it found, the cursor behind what is searched.", func(d *desk) { d.press("a draft<ctrl+r>flag") }},
		{"search_nothing", "Nothing is found: the label says so, and the last match stays.", func(d *desk) { d.press("a draft<ctrl+r>flags of all nations") }},
	} {
		golden(t, "composer_"+c.name, c.look, sheet(func(w, h int) string {
			d := newDesk("say hi", "rename the flag\nand its test", "thanks")
			d.Files = func() tea.Cmd { return func() tea.Msg { return nil } }
			d.View(w, h/3, NoTheme())
			c.keys(d)
			inside(t, d.Composer, w, h/3)
			return d.bottom(w, h)
		}))
	}
}

func TestGoldenOverlays(t *testing.T) { // TUI-12, SET-3, case TUI-14
	cmds, _ := NewCommands()
	for _, c := range []struct {
		name, look string
		open       func() overlay
		keys       []string
	}{
		{"help", "Keys and what they do, from the table; the foot says how much more there is.", func() overlay { return NewHelp(cmds) }, nil},
		{"help_end", "The end of the help: commands, those that do nothing yet marked.", func() overlay { return NewHelp(cmds) }, []string{"end"}},
		{"palette", "Actions with their keys, then commands.", func() overlay { return NewPalette(DefaultKeymap(), cmds) }, nil},
		{"palette_found", "What matches \"mod\", best first within its group.", func() overlay { return NewPalette(DefaultKeymap(), cmds) }, []string{"m", "o", "d"}},
		{"picker", "Sixty rows in three groups: the 46th is chosen and in view.", func() overlay { return newSixty(0, 0).overlay }, strings.Fields(strings.Repeat("down ", 45))},
		{"picker_off", "A row that can't be chosen says why, in its note and in the foot.", func() overlay { return newSixty(0, 0).overlay }, []string{"down", "down", "down"}},
		{"picker_nothing", "Nothing matches: the box keeps its size and says so.", func() overlay { return newSixty(0, 0).overlay }, []string{"q", "q"}},
		{"overlay_confirm", "A question with its choices; the harmless one is chosen.", func() overlay {
			return NewConfirm("Quit?", "A turn is running. What was received so far is kept, and the turn can be continued later.", Choice{"n", "stay", nil}, Choice{"y", "interrupt it and quit", nil})
		}, nil},
	} {
		golden(t, c.name, c.look, sheet(func(w, h int) string {
			s := &table{overlay: c.open(), f: frameOf(w, h)}
			s.press(c.keys...)
			sized(t, s)
			rows := strings.Split(s.screen(), "\n")
			for i, r := range rows {
				rows[i] = strings.TrimRight(r, " ")
			}
			return strings.Join(rows, "\n")
		}))
	}
}
