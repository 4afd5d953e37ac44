package tui

import (
	"fmt"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"varve/internal/session"
)

// What faults that were planted by hand in the browser showed to be held by no test.

// A click on what was found is one on the session above it. // BRW-1, TUI-9
func TestClickOnWhatWasFound(t *testing.T) {
	onStage(t, 80, 24, noColours(), func(s *stage) {
		twoTrees(s)
		s.a.said = map[string][]Saying{"perhaps": {{"s1", "main", "it is ", "perhaps", " here"}, {"s2", "main", "or ", "perhaps", " there"}}}
	}, func(s *stage) {
		s.press("<ctrl+s>perhaps")
		s.later(time.Second)
		s.wantChosen("The first")
		s.clickOn("or perhaps there", "")
		s.wantChosen("The second")
	})
}

// Gone back to from a tree, the list has the session though it is of another folder. // BRW-2
func TestTreeOfAnotherFolderIsLeft(t *testing.T) {
	onStage(t, 80, 24, noColours(), func(s *stage) {
		twoTrees(s)
		s.a.sessions[1].Here = false
		s.a.trees[""] = s.a.trees["s2"]
	}, func(s *stage) {
		s.types("/tree")
		s.sees("said in two")
		s.press("<alt+t>")
		s.sees("all folders")
		s.wantChosen("The second")
	})
}

// Where the chosen session is gone, the next one in its place is chosen. // BRW-1
func TestChoiceKeepsItsPlace(t *testing.T) {
	onStage(t, 80, 24, noColours(), func(s *stage) {
		s.begun()
		for i := range 6 {
			s.a.sessions = append(s.a.sessions, aSession(fmt.Sprint("s", i), fmt.Sprint("number ", i), "work/greet", i))
		}
	}, func(s *stage) {
		s.press("<ctrl+s><down><down><down>")
		s.wantChosen("number 3")
		s.a.sessions = append(s.a.sessions[:3:3], s.a.sessions[4:]...)
		s.start(s.overlays[0].(*browser).reload())
		s.later(time.Second)
		s.wantChosen("number 4")
	})
}

// Of a branch that was deleted nothing is read. // BRW-2
func TestDeletedBranchIsNotRead(t *testing.T) {
	onStage(t, 120, 40, noColours(), func(s *stage) {
		twoTrees(s)
		s.a.trees["s1"] = Tree{Session: "s1", Limbs: []Limb{{Name: "main", Messages: 1}, {Name: "gone", Parent: "main", Deleted: true}}}
	}, func(s *stage) {
		s.press("<ctrl+s><alt+t><down>")
		s.later(time.Second)
		s.sees("deleted: what was written in it stays")
		if s.asksOf("peek s1/gone") != 0 {
			t.Errorf("%q", s.a.did)
		}
	})
}

// A branch goes back to its own messages, and to those of its parents up to where
// it left them. // BRN-4, BRW-3
func TestTurnsOfABranch(t *testing.T) {
	mark := func(q int) Mark { return Mark{Seq: session.Seq(q), Text: fmt.Sprint("m", q)} }
	limbs := []Limb{
		{Name: "main", Marks: []Mark{mark(2), mark(5), mark(30)}},
		{Name: "a", Parent: "main", From: 7, Marks: []Mark{mark(10), {Seq: 12, Checkpoint: true, Text: "no message"}, mark(20)}},
		{Name: "b", Parent: "a", From: 3, Marks: []Mark{mark(25)}}, // it left a within what that took over
	}
	for name, want := range map[string]string{"main": "m30 m5 m2 ", "a": "m20 m10 m5 m2 ", "b": "m25 m2 ", "none": ""} {
		got := ""
		for _, x := range turnsOf(limbs, name) {
			got += x.Text + " "
		}
		if got != want {
			t.Errorf("%s goes back to %q, want %q", name, got, want)
		}
	}
}

// The wheel over the preview scrolls that, and elsewhere the list. // TUI-9
func TestWheelInTheBrowser(t *testing.T) {
	onStage(t, 120, 24, noColours(), func(s *stage) {
		twoTrees(s)
		var long []Message
		for i := range 30 {
			long = append(long, Message{"you", fmt.Sprint("line ", i)})
		}
		s.a.peeks["s1/main/0"] = long
	}, func(s *stage) {
		s.press("<ctrl+s>")
		s.later(time.Second)
		s.sees("line 29")
		l := s.overlays[0].(*browser).layout(s.frame)
		s.send(tea.MouseWheelMsg{X: l.paneX, Y: l.paneY, Button: tea.MouseWheelUp})
		s.lacks("line 29")
		s.wantChosen("The first")
		s.send(tea.MouseWheelMsg{X: l.box.x + 2, Y: l.listY, Button: tea.MouseWheelDown})
		s.wantChosen("The second")
	})
}

// Damage is the file's: it is said once, not of each branch. // BRW-4
func TestDamageIsSaidOnce(t *testing.T) {
	onStage(t, 120, 40, noColours(), func(s *stage) {
		twoTrees(s)
		s.a.sessions[0].Damage = "line 3 was changed"
		s.a.sessions[0].Branches = []BranchInfo{{Name: "main"}, {Name: "b2", Title: "another"}}
	}, func(s *stage) {
		s.press("<ctrl+s><down><down>")
		s.sees("(damaged) The first", "└ b2  another")
	})
}

// A revert of the branch on the screen takes no draft's place. // BRW-3, TUI-4
func TestRevertInTheBrowserKeepsTheDraft(t *testing.T) {
	onStage(t, 120, 40, noColours(), func(s *stage) {
		turn := s.works("and short")
		s.a.put(session.TurnEnded{Turn: turn, Status: "completed"})
		s.a.branches.back = "and short"
		s.a.trees = map[string]Tree{"": aTree()}
	}, func(s *stage) {
		s.press("my draft")
		s.start(s.tree())
		s.later(time.Second)
		s.press("short<alt+r>")
		s.later(time.Second)
		s.press("<esc><esc>")
		s.wantDraft("my draft")
	})
}

// What was read for another place is not shown for this one. // BRW-2
func TestLatePreviewIsOfAnotherPlace(t *testing.T) {
	onStage(t, 120, 40, noColours(), twoTrees, func(s *stage) {
		s.press("<ctrl+s>")
		s.later(time.Second)
		b := s.overlays[0].(*browser)
		old := peekMsg{b: b, key: b.peek.key, list: []Message{{"you", "an older look"}}}
		s.press("<down>")
		s.later(time.Second)
		s.send(old)
		s.sees("the end of two")
		s.lacks("an older look")
	})
}
