package tui

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

func (d *desk) offered() string {
	var out []string
	for _, r := range d.Popup(60, 6, NoTheme()) {
		out = append(out, strings.TrimRight(ansi.Strip(r), " "))
	}
	return strings.Join(out, "\n")
}

// A list that comes later leaves the choice on the path that was gone to, and says
// why there is none.
func TestLaterFilesKeepTheChoice(t *testing.T) { // TUI-4
	d := newDesk()
	d.Files = func() tea.Cmd { return func() tea.Msg { return nil } }
	d.press("@")
	d.Listed(FilesMsg{Paths: []string{"a.go", "b.go", "c.go"}})
	d.press("a<tab>@<down>")
	if d.offered() != "  a.go\n▸ b.go\n  c.go" {
		t.Fatal(d.offered())
	}
	d.Listed(FilesMsg{Paths: []string{"new.go", "a.go", "b.go", "c.go"}})
	if d.offered() != "  new.go\n  a.go\n▸ b.go\n  c.go" {
		t.Errorf("offered\n%s", d.offered())
	}
	d.Listed(FilesMsg{Paths: []string{"new.go", "a.go"}})
	if d.offered() != "▸ new.go\n  a.go" {
		t.Errorf("offered\n%s", d.offered())
	}
	d.Listed(FilesMsg{Err: errors.New("disk on fire")})
	if d.offered() != "  files can't be listed: disk on fire" {
		t.Errorf("offered\n%s", d.offered())
	}
}

func TestFilesAreOffered(t *testing.T) { // TUI-4
	asked := 0
	d := newDesk()
	d.Files = func() tea.Cmd { asked++; return func() tea.Msg { return nil } }
	d.press("see (@")
	if asked != 1 || d.offered() != "  looking for files" {
		t.Fatalf("asked %d times, %q", asked, d.offered())
	}
	d.Listed(FilesMsg{Paths: []string{"README.md", "internal/tui/composer.go", "internal/tui/", "a file.md", "two words/", "\x1b[2Jevil"}})
	if got := d.offered(); got != "▸ README.md\n  internal/tui/composer.go\n  internal/tui/\n  a file.md\n  two words/\n  evil" {
		t.Errorf("offered\n%s", got)
	}
	for _, c := range []struct{ keys, want string }{
		{"comp<tab>", "see (@internal/tui/composer.go |"},
		{"comp<enter>", "see (@internal/tui/composer.go |"},
		{"<down><down><up><tab>", "see (@internal/tui/composer.go |"},
		{"tui<tab>", "see (@internal/tui/|"},
		{"tui<tab>comp<tab>", "see (@internal/tui/composer.go |"},
		{"file<tab>", `see (@"a file.md" |`},
		{"words<tab>", `see (@"two words/|`},
		{"zzz<enter>", "see (@zzz|"},
		{"<esc>", "see (@|"},
		{"<esc>comp<tab>", "see (@internal/tui/composer.go |"}, // Tab offers again, and there is one
		{"comp<left>", "see (@com|p"},
		{"comp ", "see (@comp |"},
	} {
		e := newDesk()
		e.Files = func() tea.Cmd { return func() tea.Msg { return nil } }
		e.press("see (@")
		e.Listed(FilesMsg{Paths: d.files})
		e.press(c.keys)
		if strings.HasPrefix(c.keys, "<esc>comp") {
			if e.shown() != "see (@comp|" || !e.Offering() {
				t.Errorf("Tab after Esc gives %q", e.shown())
			}
			e.press("<tab>")
		}
		if e.shown() != c.want {
			t.Errorf("%s gives %q, want %q", c.keys, e.shown(), c.want)
		}
	}
	d.press("zzz")
	if d.Offering() || d.offered() != "" {
		t.Errorf("nothing matches: %q", d.offered())
	}
	d.press("<backspace><backspace><backspace>")
	if asked != 1 || !d.Offering() {
		t.Errorf("asked %d times for one word", asked)
	}
	if d.press(" mail@example"); d.Offering() || asked != 1 {
		t.Error("an @ within a word is offered files")
	}
	if d.press(" @"); asked != 2 {
		t.Errorf("a new word asks anew: %d", asked)
	}
	d.Listed(FilesMsg{Err: fmt.Errorf("no such folder\x1b[2J")})
	if got := d.offered(); got != "  files can't be listed: no such folder" {
		t.Errorf("an error is %q", got)
	}
}

func TestCommandsAreOffered(t *testing.T) { // TUI-4
	for _, c := range []struct {
		keys, want, acts string
	}{
		{"/mod<tab>", "/model |", ""},
		{"/mod<enter>", "/model |", "send"},
		{"/quit<enter>", "/exit|", "send"},
		{"/renam<enter>", "/rename |", ""}, // it needs words
		{"/renam<enter>x<enter>", "/rename x|", "send"},
		{"/new<enter>", "/new|", "send"},
		{"/nosuch<enter>", "/nosuch|", "send"}, // root has it parsed, and says that there is none
		{"/<esc><enter>", "/|", "send"},
		{"/us/<enter>", "/us/|", "send"},
		{"a /m<tab>", "a /m|", ""},
		{"/help<ctrl+j>", "/help\n|", ""},
	} {
		d := newDesk()
		var acts []string
		for _, a := range d.press(c.keys) {
			acts = append(acts, string(a))
		}
		if d.shown() != c.want || strings.Join(acts, " ") != c.acts {
			t.Errorf("%s gives %q and %q, want %q and %q", c.keys, d.shown(), acts, c.want, c.acts)
		}
	}
	d := newDesk()
	d.press("/re")
	if first, _, _ := strings.Cut(d.offered(), "\n"); !strings.HasPrefix(first, "▸ /resume [session]") {
		t.Errorf("offered\n%s", d.offered())
	}
	d.press("<ctrl+u>/sessions")
	if first, _, _ := strings.Cut(d.offered(), "\n"); !strings.HasPrefix(first, "▸ /resume [session]") {
		t.Errorf("by its other name\n%s", d.offered())
	}
	d.press("<ctrl+u>/con") // /settings is called /config, too
	if first, _, _ := strings.Cut(d.offered(), "\n"); !strings.HasPrefix(first, "▸ /context") {
		t.Errorf("an alias comes before a name\n%s", d.offered())
	}
	d.Commands, _ = NewCommands(Command{Name: "mod", Says: "one whose name begins another's"})
	d.press("<ctrl+u>/mod")
	if first, _, _ := strings.Cut(d.offered(), "\n"); !strings.HasPrefix(first, "▸ /mod  ") {
		t.Errorf("what is named so is not first\n%s", d.offered())
	}
	d.Commands, _ = NewCommands(Command{Name: "review-everything-that-was-changed-since-the-last-release", Says: "long"})
	d.press("<ctrl+u>/revi")
	d.press("<backspace><backspace>")
	all := func() string { return ansi.Strip(strings.Join(d.Popup(60, 30, NoTheme()), "\n")) }
	long, tree := strings.Index(all(), "/review-every"), strings.Index(all(), "/tree")
	if long < 0 || tree >= 0 && tree < long {
		t.Errorf("what begins so is not before what holds the letters\n%s", all())
	}
	d.press("<ctrl+u>/nosuch")
	if d.offered() != "  no such command" || d.Offering() {
		t.Errorf("offered %q", d.offered())
	}
	d.press("<ctrl+u>/model ")
	if rows, x, _ := d.View(40, 3, NoTheme()); strings.TrimRight(ansi.Strip(rows[0]), " ") != "> /model [provider/model]" || x != 9 {
		t.Errorf("hinted %q, cursor at %d", rows[0], x)
	}
}

func TestRank(t *testing.T) { // SET-3: words in any order, letters with gaps
	texts := []string{"anthropic claude-opus", "openai gpt-large", "openai gpt-small", "local qwen coder"}
	for _, c := range []struct{ query, want string }{
		{"", "0 1 2 3"},
		{"gpt", "1 2"},
		{"small open", "2"},
		{"open small", "2"},
		{"qc", "3"},
		{"GPT", "1 2"},
		{"  gpt  ", "1 2"},
		{"zzz", ""},
		{"gpt zzz", ""},
	} {
		var got []string
		for _, r := range rank(c.query, len(texts), func(i int) string { return texts[i] }, nil) {
			got = append(got, fmt.Sprint(r.Index))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%q finds %q, want %q", c.query, got, c.want)
		}
	}
}
