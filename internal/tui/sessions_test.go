package tui

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"varve/internal/tui/plain"
)

// chosenLine is the row of the screen that is chosen, and which one it is.
func (s *stage) chosenLine() string {
	for i, l := range strings.Split(s.screen(), "\n") {
		if _, row, ok := strings.Cut(l, "▸ "); ok {
			return fmt.Sprint(i, " ", strings.TrimSpace(strings.TrimSuffix(row, "│")))
		}
	}
	return ""
}

func fourSessions(a *fakeAgent) {
	a.sessions = []SessionInfo{
		{ID: "01f1a", Title: "Plant the garden", Workspace: "/home/ada/work/greet", Here: true, Age: "2 min", Size: "12 KB"},
		{ID: "01f1b", Title: "Mend the fence", Workspace: "/home/ada/work/greet", Here: true, Age: "1 h", Size: "4 KB"},
		{ID: "01f1c", Title: "Garden party", Workspace: "/home/ada/f1", Age: "3 h", Size: "4 KB"},
		{ID: "02f1d", Title: "Nothing of it", Workspace: "/home/ada/f2", Age: "4 h", Size: "4 KB"},
	}
}

// Typing finds sessions by their title at once, and by what was said in them a
// moment later, below the others: what is chosen does not move. // BRW-1
func TestSessionsAreFoundByWhatWasSaid(t *testing.T) {
	onStage(t, 80, 24, noColours(), func(s *stage) {
		s.begun()
		fourSessions(s.a)
		s.a.other = s.a
		s.a.said = map[string][]Saying{
			"garden": {
				{"02f1d", "in the middle I mention a ", "Garden", " of rhododendrons"},
				{"01f1a", "it is found by its title: ", "garden", ""},
				{"gone", "", "garden", ""},
				{"01f1b", "", "GARDEN", " gate"},
			},
			"rhodo": {{"02f1d", strings.Repeat("long before ", 20), "rhodo", strings.Repeat("dendron ", 20)}},
		}
	}, func(s *stage) {
		s.press("<ctrl+s>")
		s.sees("titles, folders, messages (from 3 letters)")
		s.press("ga")
		s.later(time.Second)
		s.sees("2 of 4")
		s.press("rden")
		s.sees("looking in messages", "Plant the garden", "Garden party")
		s.lacks("rhododendrons", "Mend the fence")
		s.press("<down>")
		at := s.chosenLine()
		if !strings.HasSuffix(strings.SplitN(at, "  ", 2)[0], "Garden party") {
			t.Fatalf("chosen %q", at)
		}
		s.later(time.Second)
		s.sees("Where it was said", "Nothing of it", "in the middle I mention a Garden of rhododendrons", "Mend the fence", "GARDEN gate", "╰─ 4 ·")
		s.lacks("looking in", "by its title")
		if now := s.chosenLine(); now != at {
			t.Errorf("the chosen row went from %q to %q", at, now)
		}
		if n := s.asksOf("said "); n != 1 {
			t.Errorf("looked %d times: %q", n, s.a.did)
		}
		s.press("<down><enter>")
		if n := s.asksOf("switch 02f1d"); n != 1 {
			t.Errorf("asked for %q", s.a.did)
		}

		s.press("<ctrl+s>")
		s.send(tea.PasteMsg{Content: "rhodo"})
		s.sees(`no title or folder has "rhodo"`)
		s.later(time.Second)
		s.sees("before rhododendron dendron", "Nothing of it")
		if got := s.chosenLine(); !strings.Contains(got, "Nothing of it") {
			t.Errorf("chosen %q", got)
		}
		s.press("x")
		s.lacks("Nothing of it")
		s.later(time.Second)
		s.sees(`nothing matches "rhodox" in titles, folders or messages.`, "`agent session search`")
		s.press("<esc>")
	})
}

// What could not be looked at is said, and so is why; a search whose list is
// closed ends. // BRW-1, REL-2
func TestSearchOfSessionsSaysWhatItMissed(t *testing.T) {
	onStage(t, 80, 24, noColours(), func(s *stage) {
		s.begun()
		fourSessions(s.a)
	}, func(s *stage) {
		s.a.unsaid = "2 places of damaged sessions could not be searched"
		s.press("<ctrl+s>garden")
		s.later(time.Second)
		s.sees("2 places of damaged sessions could not be searched", "Garden party")
		s.a.noSaid = errors.New("input/output error")
		s.press("er")
		s.later(time.Second)
		s.sees(" input/output error", "messages could not be", "searched")
		n := s.asksOf("said ")
		s.press("<backspace><esc>")
		s.later(time.Second)
		if got := s.asksOf("said "); got != n {
			t.Errorf("searched for a list that is closed")
		}
	})
}

// Titles and folders have the words as they are typed, ids begin so. // BRW-1
func TestSessionsAreFoundByTheirWords(t *testing.T) {
	for _, c := range []struct{ keys, sees, lacks string }{
		{"f1", "Garden party", "Plant Mend Nothing"},
		{"01f1", "Plant Mend Garden", "Nothing"},
		{"GARDEN plant", "Plant", "Mend Nothing party"},
		{"gdn", "", "Plant Garden Mend Nothing"},
		{"folder", "", "Plant Garden Mend Nothing"},
	} {
		onStage(t, 80, 24, noColours(), func(s *stage) { s.begun(); fourSessions(s.a) }, func(s *stage) {
			s.press("<ctrl+s>" + c.keys)
			s.sees(strings.Fields(c.sees)...)
			s.lacks(strings.Fields(c.lacks)...)
		})
	}
}

// With 5,000 sessions a key waits for no search, and no frame for all rows.
func TestManySessionsStayQuick(t *testing.T) { // BRW-1
	rows := make([]PickRow, 5000)
	found := make([]PickFound, len(rows))
	for i := range rows {
		rows[i] = PickRow{Title: fmt.Sprintf("session %d about greetings", i), Also: "/home/ada/work", Key: fmt.Sprint("k", i), Group: "Elsewhere"}
		found[i] = PickFound{rows[i].Key, "it was ", "said", " so"}
	}
	p := NewPicker("Sessions", rows, func(PickRow) tea.Msg { return nil })
	p.Name, p.Deeper = "sessions", &Deeper{Look: func(string) tea.Cmd { return nil }, Group: "Where it was said"}
	s := &table{overlay: p, f: frameOf(80, 24)}
	worst := time.Duration(0)
	for _, k := range []string{"s", "a", "i", "d"} {
		began := time.Now()
		s.press(k)
		s.View(s.f)
		worst = max(worst, time.Since(began))
	}
	if s.send(PickFoundMsg{Name: "sessions", Text: "sai", Found: found}); strings.Contains(ansi.Strip(s.View(s.f)), "said so") {
		t.Error("what was typed before is found")
	}
	began := time.Now()
	s.send(PickFoundMsg{Name: "sessions", Text: "said", Found: found})
	for _, k := range []string{"end", "home", "pgdown"} {
		s.press(k)
		s.View(s.f)
	}
	took := time.Since(began)
	if !strings.Contains(ansi.Strip(s.View(s.f)), "it was said so") {
		t.Error("not found")
	}
	t.Logf("a key %v, all found %v", worst, took)
	if worst > 200*time.Millisecond || took > time.Second { // a tenth of it is usual
		t.Errorf("a key took %v, what was found %v", worst, took)
	}
}

// The line below the last row is in view with it, and the match in each line.
func TestLinesThatWereFoundAreInView(t *testing.T) { // BRW-1, TUI-9
	var rows []PickRow
	var found []PickFound
	for i := range 30 {
		rows = append(rows, PickRow{Title: fmt.Sprint("row ", i), Key: fmt.Sprint(i)})
		found = append(found, PickFound{fmt.Sprint(i), strings.Repeat("日本 ", i), fmt.Sprintf("needle-%d.", i), strings.Repeat(" after", i)})
	}
	p := NewPicker("Sessions", rows, func(PickRow) tea.Msg { return nil })
	p.Deeper = &Deeper{Look: func(string) tea.Cmd { return nil }, Group: "Said"}
	for _, h := range []int{6, 10, 12, 24} {
		s := &table{overlay: p, f: frameOf(60, h)}
		s.send(tea.PasteMsg{Content: "needle"})
		s.send(PickFoundMsg{Text: "needle", Found: found})
		s.press("home")
		for i := range rows {
			view := ansi.Strip(s.View(s.f))
			fits(t, strings.Split(view, "\n"), 60, strings.Count(view, "\n")+1)
			if !strings.Contains(view, fmt.Sprint("▸ row ", i)) || h > 8 && !strings.Contains(view, fmt.Sprintf("needle-%d.", i)) {
				t.Fatalf("height %d: row %d is not in view with its line:\n%s", h, i, view)
			}
			s.press("down")
		}
		s.press("ctrl+u")
	}
	if n := plain.Width((PickFound{"", "", strings.Repeat("x", 99), ""}).draw(40, frameOf(40, 10).Theme)); n != 40 {
		t.Errorf("%d columns", n)
	}
}
