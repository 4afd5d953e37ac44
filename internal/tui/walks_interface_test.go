package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"varve/internal/session"
	"varve/internal/setup"
)

// Rows that hold what is typed are shown without those that only hold its
// letters; a name goes before what is found beside it, and no row is found by
// what its group says. // SET-3
func TestPickerFindsWhatIsTyped(t *testing.T) {
	rows := []PickRow{
		{Title: "openrouter", Note: "no key; set $OPENROUTER_API_KEY", Group: "Nothing to choose yet", Also: "openrouter"},
		{Title: "local/good", Note: "32.8k", Group: "Used last", Also: "local"},
		{Title: "pine", Group: "acme · key: setup.json", Also: "acme cut"},
		{Title: "local/cut", Note: "32.8k", Group: "Used last", Also: "local"},
		{Title: "oak", Group: "acme · key: setup.json", Also: "acme"},
	}
	for _, c := range []struct{ typed, want string }{
		{"cut", "local/cut pine"},
		{"CUT loc", "local/cut"},
		{"acme", "oak pine"},
		{"lgd", "local/good"}, // nothing holds it as it is: letters are enough
		{"key", ""},
	} {
		p := NewPicker("Models", rows, nil)
		p.filter.write(c.typed)
		p.match()
		var got []string
		for _, l := range p.shown {
			if l.row >= 0 {
				got = append(got, p.rows[l.row].Title)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%q finds %q, want %q", c.typed, got, c.want)
		}
		if c.typed == "cut" && (len(p.shown) < 2 || len(p.shown[1].marks) != 3 || p.shown[1].marks[0] != len("local/")) {
			t.Errorf("what is marked: %+v", p.shown)
		}
	}
}

// The picker says which models are on the list already, and offers another one
// first; one may be added twice. // SET-2, SET-3
func TestAddingSaysWhatIsThere(t *testing.T) {
	onStage(t, 80, 24, noColours(), func(s *stage) {
		s.ready(`{` + acmeProvider + `,"routing":{"summarization_models":[{"provider":"acme","model":"large"}]}}`)
		s.a.models[0].By = "set"
	}, func(s *stage) {
		s.press("/summarizers<enter><down><enter>")
		s.sees("Add a summarization model", "large  number 1 already · 200k (your setting)")
		s.wantChosen("small")
		s.press("large<enter>")
		s.wantListed("large large")
	})
	if got := modelNote(ModelInfo{Model: session.Model{Model: "x"}, Window: 32_800, By: "reported"}); got != "32.8k (reported)" {
		t.Errorf("%q", got)
	}
}

// In a small window settings say which rows are in view, and all keys of the
// chosen row; what is only said is said whole. // SET-1, TUI-9
func TestSettingsInASmallWindow(t *testing.T) {
	onStage(t, 40, 12, noColours(), func(s *stage) { s.ready(three) }, func(s *stage) {
		s.press("/settings<enter>")
		s.sees("· rows 1–7 of 8", "each change is saved at once", "Enter open · Esc leave", "Context and compaction    at 80 %")
		s.lacks("in ~/…", "Appearance")
		s.press("<end>")
		s.sees("· rows 2–8 of 8", "Appearance")
		s.press("<esc>/summarizers<enter>")
		s.sees("Alt+Up/Down move · Delete remove", "Enter replace · Esc leave")
		s.press("<down><down><down>")
		s.lacks("move · Delete")
		s.press("<down><up>")
		s.sees("asked in this order, and no", "others; from the next summary on")
		s.press("<home><down><down>")
		s.sees("Enter fold · Esc leave")
		s.send(tea.WindowSizeMsg{Width: 100, Height: 40})
		s.wantChosen("Summarization models")
		s.sees("asked in this order, and no others; from the next summary on", "summarized by models, at 80 %", "each change is saved at once, in ")
		s.lacks("rows 1–")
	})
	for mode, want := range map[string]string{"provider": "summarized by the provider, at 80 %", "disabled": "summarized with /compact alone"} {
		set := &setup.Setup{}
		set.Context.Compaction.Mode = mode
		s := &settings{info: SettingsInfo{Set: set}}
		if got := s.roomText(); got != want {
			t.Errorf("%s: %q", mode, got)
		}
	}
}
