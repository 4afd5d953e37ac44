package tui

import (
	"strings"
	"testing"

	"varve/internal/harness/drive"
	"varve/internal/session"
)

// Esc Esc leads to the messages, and from one of them back: its text is below, to be
// changed. // BRN-4, TUI-4
func TestRevertFromTheScreen(t *testing.T) {
	scene(t, func(s *stage) {
		turn := s.works("first of all")
		s.a.put(session.TurnEnded{Turn: turn, Status: "completed"})
		s.a.branches.turns = []Turn{{Item: 14, Text: "the second\nof two lines", Age: "2 min ago"}, {Item: 6, Text: "first of all", Age: "1 h ago"}}
		s.a.branches.back = "the second\nof two lines"
		s.now()
		s.press("<esc><esc>")
		s.sees("Act on a message of yours", "the second of two lines", "2 min ago", "first of all")
		s.press("<enter>")
		s.sees("Your message", "Copy it", "Revert: go back to before it", "Fork: a new branch that ends before it")
		s.press("r")
		if n := s.asksOf("drive.Revert {Branch:main Message:14"); n != 1 {
			t.Errorf("asked for %v", s.a.did)
		}
		s.wantDraft("the second\nof two lines")
		s.sees("Back to before “the second of two lines”", "are as they were.", "/rollback v1 takes it back.")
	})
}

// /fork begins with where one is, /rollback lists the reverts of this branch, /tree
// all branches. // BRN-3, BRN-5, BRW-2
func TestBranchCommands(t *testing.T) {
	scene(t, func(s *stage) {
		turn := s.works("first of all")
		s.a.put(session.TurnEnded{Turn: turn, Status: "completed"})
		s.a.branches.turns = []Turn{{Item: 6, Text: "first of all"}}
		s.a.branches.limbs = []Limb{
			{Name: "main", Here: true, Messages: 3, Reverts: []Revert{{Label: "v1", Preview: "an old way"}, {Label: "v2", Preview: "a newer way"}}},
			{Name: "b2", Title: "a try", Parent: "main", Messages: 1, Reverts: []Revert{{Label: "v1", Preview: "not of here"}}},
			{Name: "b3", Parent: "b2", Deleted: true},
		}
		s.now()
		s.press("/fork<enter>")
		s.sees("from here, as it is now", "first of all")
		s.press("<enter>")
		if n := s.asksOf("drive.Fork {From:{Branch:main Seq:0 Select:head}}"); n != 1 {
			t.Errorf("asked for %v", s.a.did)
		}
		s.press("/rollback<enter>")
		s.sees("v2  a newer way", "v1  an old way")
		s.lacks("not of here")
		s.press("<enter>")
		if n := s.asksOf("drive.RollBack {Branch:main Label:v2}"); n != 1 {
			t.Errorf("asked for %v", s.a.did)
		}
		s.press("/tree<enter>")
		s.sees("main", "3 of yours · here", "b2  a try", "1 of yours", "b3", "deleted")
		s.press("a try<enter>")
		if n := s.asksOf("open  b2"); n != 1 {
			t.Errorf("asked for %v", s.a.did)
		}
	})
}

// While a turn runs nothing of this is begun, and what is refused is said. // BRW-3
func TestBranchesWaitForTheTurn(t *testing.T) {
	scene(t, func(s *stage) {
		turn := s.works("first of all")
		s.now()
		for _, c := range []string{"/fork", "/revert", "/rollback", "/rollback v1"} {
			s.press(c + "<enter>")
			s.sees("A turn is running: stop it first (Esc), or wait.")
			s.lacks("go back to before…")
		}
		s.a.put(session.TurnEnded{Turn: turn, Status: "completed"})
		s.a.branches.refused = drive.ErrBusy
		s.now()
		s.press("/rollback v7<enter>")
		s.sees("✗ a turn is running")
		if n := len(s.a.did); n > 0 && strings.Contains(strings.Join(s.a.did, "\n"), "drive.Fork") {
			t.Errorf("%v", s.a.did)
		}
	})
}

// What another window takes back is taken from this screen too. // LOG-6
func TestRevertElsewhereIsSeen(t *testing.T) {
	scene(t, func(s *stage) {
		turn := s.works("first of all")
		s.a.put(session.TurnEnded{Turn: turn, Status: "completed"})
		s.now()
		before := s.asksOf("tail")
		s.a.put(session.BranchReverted{To: session.Reference{Branch: "main", Seq: turn, Select: "before"}, Label: "v1"})
		s.now()
		if s.asksOf("tail") != before+1 {
			t.Errorf("the conversation was not read anew: %v", s.a.did)
		}
	})
}

// Where there is more than one branch the one on the screen is named, main too. // TUI-6
func TestBranchIsNamed(t *testing.T) {
	onStage(t, 80, 24, noColours(), func(s *stage) { s.begun() }, func(s *stage) {
		s.sees("acme/large")
		s.lacks("on main")
		s.a.branches.limbs = []Limb{{Name: "main", Here: true}, {Name: "b2", Parent: "main"}}
		s.a.put(session.ToastPosted{Level: "info", Code: "saved", Args: map[string]string{"what": "it"}})
		s.now()
		s.lacks("on main")
		s.a.say("hello") // another window's branch is no news of this one
		s.now()
		s.sees("on main")
	})
}
