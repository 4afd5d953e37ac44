package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

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

// The keys say what they do to the chosen row of the tree, and their place does
// not jump; a fork says where it began, an empty one that it has nothing yet. // BRW-2, BRW-3
func TestTreeSaysWhatKeysDo(t *testing.T) {
	onStage(t, 80, 24, noColours(), func(s *stage) {
		s.begun()
		many(s.a)
		tree := aTree()
		tree.Limbs = append(tree.Limbs, Limb{Name: "b5", Parent: "main", From: 39}, Limb{Name: "b6", Parent: "main", From: 3})
		s.a.trees = map[string]Tree{"s1": tree}
	}, func(s *stage) {
		s.press("<ctrl+s>")
		s.sees("Alt+F fork from its end", "Alt+R revert…", "Alt+B take a revert back…", "Delete delete…", "$/tokens")
		s.lacks("scroll the preview")
		s.press("<tab>")
		s.sees("Shift+Up scroll the preview")
		s.press("<tab><alt+t>")
		for _, c := range []struct{ row, fork, revert, rollback string }{
			{"main  “the first", "Alt+F fork from its end", "Alt+R revert…", "Alt+B take a revert back…"},
			{"└ b6", "Alt+F fork from its end", "Alt+R revert…", "Alt+B take a revert back…"},
			{"│ · the first of all", "Alt+F fork before it", "Alt+R revert to before it", "Alt+B take a revert back…"},
			{"│ ↶ revert v1", "Alt+F fork what it left", "Alt+R revert…", "Alt+B go there again"},
			{"│ ↶ revert v2", "Alt+F fork what it left", "Alt+R revert…", "Alt+B take it back"},
			{"│ ◆ checkpoint", "Alt+F fork behind it", "Alt+R revert…", "Alt+B take a revert back…"},
		} {
			for s.press("<home>"); !strings.Contains(s.screen(), "▸ "+strings.Replace(c.row, "└ b6", "├ b6", 1)); {
				was := s.chosenLine()
				if s.press("<down>"); s.chosenLine() == was {
					t.Fatalf("no row %q:\n%s", c.row, s.screen())
				}
			}
			s.sees(c.fork, c.revert, c.rollback)
		}
		b := s.overlays[0].(*browser)
		for w := 40; w <= 140; w++ {
			first := len(b.layout(frameOf(w, 24)).foot)
			for i := range b.lines {
				b.list.Select(i)
				if n := len(b.layout(frameOf(w, 24)).foot); n != first {
					t.Fatalf("at %d columns the keys take %d rows, and %d on row %d", w, first, n, i)
				}
			}
		}
		s.sees("begins where v2 of main went back from, nothing new yet", "begins before “the first of all”, nothing new yet")
	})
}

// What is quoted is cut behind a word, where it has one. // TUI-9
func TestQuotesEndAtWords(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"Rule: never change go.mod. Rounding must be half to even", 40, "Rule: never change go.mod. Rounding…"},
		{"short", 40, "short"},
		{"one two three", 8, "one two…"},
		{"one two three", 9, "one two…"},
		{"unbreakable", 6, "unbre…"},
		{"日本語の挨拶を直す", 9, "日本語の…"},
	} {
		if got := wholeWords(c.text, c.width); got != c.want {
			t.Errorf("%q in %d: %q, want %q", c.text, c.width, got, c.want)
		}
	}
}

// Where a command holds what is typed, those that only hold its letters are not
// offered. // TUI-3
func TestCommandsHoldWhatIsTyped(t *testing.T) {
	all := []Command{{Name: "resume"}, {Name: "summarizers"}, {Name: "context"}, {Name: "settings", Aliases: []string{"config"}}}
	for query, want := range map[string]string{"res": "resume", "con": "context settings", "smr": "summarizers", "ume": "resume"} {
		var got []string
		for _, r := range rankCommands(query, all) {
			got = append(got, all[r.Index].Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q offers %q, want %q", query, got, want)
		}
	}
}

// The keys below a box are whole or not there. // TUI-9
func TestKeysInAFootAreWhole(t *testing.T) {
	for w := 24; w <= 100; w++ {
		f := frameOf(w, 10)
		p := NewPicker("Models", sixty(), func(PickRow) tea.Msg { return nil })
		p.Mark = func(PickRow) tea.Msg { return nil }
		c := NewConfirm("Both?", strings.Repeat("a long question\n", 20), Choice{Label: "Keep it", Key: "n"})
		for _, o := range []overlay{p, c} {
			rows := strings.Split(ansi.Strip(o.View(f)), "\n")
			if foot := rows[len(rows)-1]; strings.Contains(foot, "…") && w >= 36 {
				t.Errorf("at %d columns: %s", w, foot)
			}
		}
	}
}

// A model that no row holds is chosen as it is typed, where its provider is set
// up: also one that does not answer. Nobody else's is. // SET-2, SET-3
func TestModelAsItIsTyped(t *testing.T) {
	onStage(t, 80, 24, noColours(), func(s *stage) {
		s.ready(`{` + acmeProvider + `}`)
		s.a.models = append(s.a.models, ModelInfo{Model: session.Model{Provider: "dead", API: "openai-chat"}, State: "does not answer at http://127.0.0.1:1/v1"},
			ModelInfo{Model: session.Model{Provider: "keyless", API: "openai-chat"}, State: "no key", NeedsKey: true})
	}, func(s *stage) {
		s.press("/summarizers<enter><enter>")
		s.press("acme/small")
		s.lacks("As it is typed") // there is one
		s.wantChosen("small")
		for _, none := range []string{"keyless/x", "nosuch/x", "dead", "dead/", "acme/auto", "dead/x y"} {
			s.press("<ctrl+u>" + none)
			s.lacks("As it is typed")
		}
		s.press("<ctrl+u>dead/x")
		s.sees("As it is typed", "dead/x", "its provider does not answer at http://127.0.0.1:1/v1")
		s.press("<backspace>y")
		s.sees("dead/y")
		s.lacks("dead/x")
		s.press("<enter>")
		s.sees("Saved: dead/y is added.")
		if doc := s.doc(); !strings.Contains(doc, `"dead"`) || !strings.Contains(doc, `"y"`) {
			t.Error(doc)
		}
		s.press("<down><enter>acme/huge")
		s.sees("acme/huge", "its provider does not list it")
	})
}
