package tui

import (
	"errors"
	"testing"
	"time"

	"varve/internal/harness/drive"
)

// What comes late, or finds another thing open than it was asked for.

// twoTrees are two sessions whose branches have the same names.
func twoTrees(s *stage) {
	s.begun()
	s.a.sessions = []SessionInfo{aSession("s1", "The first", "work/greet", 1), aSession("s2", "The second", "work/greet", 2)}
	tree := func(id, text string) Tree {
		return Tree{Session: id, Title: id, Limbs: []Limb{{Name: "main", Messages: 1, Marks: []Mark{{Seq: 7, Text: text, Age: "1 h ago"}}}}}
	}
	s.a.trees = map[string]Tree{"s1": tree("s1", "said in one"), "s2": tree("s2", "said in two")}
	s.a.peeks = map[string][]Message{"s1/main/0": {{"you", "the end of one"}}, "s2/main/0": {{"you", "the end of two"}}}
}

// What was said of an earlier text is not shown for this one. // BRW-1
func TestFoundForAnEarlierText(t *testing.T) {
	onStage(t, 80, 24, noColours(), twoTrees, func(s *stage) {
		s.press("<ctrl+s>second")
		s.later(time.Second)
		b := s.overlays[0].(*browser)
		s.send(foundMsg{b, saidIn{text: "sec", found: []Saying{{"s1", "main", "", "sec", ""}}}})
		s.lacks("The first", "Where it was said")
	})
}

// A list that was asked for before another one is not shown when it comes behind
// that. // BRW-1
func TestOlderListIsLate(t *testing.T) {
	onStage(t, 80, 24, noColours(), twoTrees, func(s *stage) {
		s.press("<ctrl+s>")
		s.later(time.Second)
		b := s.overlays[0].(*browser)
		old := listedMsg{b: b, listing: b.listing, shelf: newShelf(nil)}
		s.start(b.reload())
		s.later(time.Second)
		s.send(old)
		s.sees("▸ The first", "2 sessions")
	})
}

// Models that come when nobody looks for them any more are not told of. // SET-3
func TestModelsThatComeToNobody(t *testing.T) {
	for _, open := range []string{"/model<enter>", "/summarizers<enter><enter>"} {
		onStage(t, 100, 40, noColours(), func(s *stage) {
			s.ready(`{}`)
			s.a.kept.silent = make(chan struct{})
		}, func(s *stage) {
			s.press(open)
			s.sees("large")
			s.a.kept.live, s.a.kept.noLive = acme("newer"), errors.New("acme does not answer")
			s.press("<esc>")
			close(s.a.kept.silent)
			s.settle()
			s.lacks("does not answer", "newer")
			s.press("<esc>" + open)
			s.sees("newer", "does not answer")
		})
	}
}

// Letters of a message that is being written replace no file. // TUI-4
func TestLettersOfAMessageReplaceNoFile(t *testing.T) {
	scene(t, func(s *stage) {
		s.begun()
		s.now()
		s.a.reports.there = "notes.md"
		s.press("yes")
		s.send(exportedMsg{"notes.md", "", &ThereError{"/home/ada/notes.md"}})
		s.press("y")
		s.sees("is there already. Replace it?")
		s.press("<enter>")
		s.wantDraft("yes")
		if s.asksOf("export") != 0 {
			t.Errorf("%q", s.a.did)
		}
	})
}

// A place of another session is never offered as one of this. // BRW-3
func TestLatePlacesAreOfTheirSession(t *testing.T) {
	onStage(t, 120, 40, noColours(), func(s *stage) {
		twoTrees(s)
		s.a.slowTree = map[string]chan struct{}{"s1": make(chan struct{})}
	}, func(s *stage) {
		s.press("<ctrl+s><alt+r>")
		s.sees("Revert main", "looking")
		s.press("<esc><down><alt+r>")
		s.sees("said in two")
		close(s.a.slowTree["s1"])
		s.settle()
		s.sees("said in two")
		s.lacks("said in one")
		s.press("<enter>")
		if s.asksOf("at s2 drive.Revert {Branch:main Message:7") != 1 {
			t.Errorf("%q", s.a.did)
		}
	})
}

// The preview is of the tree that is shown, though branches are named alike. // BRW-2
func TestPreviewIsOfItsSession(t *testing.T) {
	onStage(t, 120, 40, noColours(), twoTrees, func(s *stage) {
		s.press("<ctrl+s><alt+t>")
		s.later(time.Second)
		s.sees("the end of one")
		s.press("<tab><esc><down><alt+t><tab>")
		s.later(time.Second)
		s.sees("the end of two")
		s.lacks("the end of one")
	})
}

// What was to lie on a browser that was closed meanwhile takes no keys. // BRW-3
func TestNothingLiesOnAClosedBrowser(t *testing.T) {
	onStage(t, 120, 40, noColours(), twoTrees, func(s *stage) {
		for _, keys := range [][]string{{"alt+n", "esc"}, {"alt+e", "esc"}, {"delete", "esc"}, {"alt+r", "esc"}} {
			s.press("<ctrl+s>")
			s.burst(keys...)
			if len(s.overlays) != 0 {
				t.Errorf("%v leaves %T open", keys, s.overlays[0])
			}
		}
	})
}

// A list that is gone back to before its tree came has the choice that it had. // BRW-2
func TestTreeThatIsLeftAtOnce(t *testing.T) {
	for _, c := range []struct {
		name string
		set  func(a *fakeAgent)
	}{
		{"slow", func(a *fakeAgent) { a.slowTree = map[string]chan struct{}{"s2": make(chan struct{})} }},
		{"unreadable", func(a *fakeAgent) { a.noTree = errors.New("disk on fire") }},
	} {
		onStage(t, 80, 24, noColours(), func(s *stage) { twoTrees(s); c.set(s.a) }, func(s *stage) {
			s.press("<ctrl+s><down>")
			s.wantChosen("The second")
			s.press("<alt+t><esc>")
			s.wantChosen("The second")
			if slow := s.a.slowTree["s2"]; slow != nil {
				close(slow)
			}
			s.settle()
			s.wantChosen("The second")
		})
	}
}

// A session is deleted, but its file stays: the list is read anew all the same. // BRW-3
func TestHalfDeletedSession(t *testing.T) {
	onStage(t, 80, 24, noColours(), twoTrees, func(s *stage) {
		s.press("<ctrl+s>")
		s.later(time.Second)
		s.a.noRemove = errors.New("permission denied")
		before := s.asksOf("browse")
		s.press("<delete>f")
		s.sees("It is deleted, but its file stays: permission denied")
		if s.asksOf("browse") != before+1 {
			t.Error("the list is not read anew")
		}
	})
}

// A session that has no title can be told from a fault. // BRW-3
func TestSessionWithoutATitle(t *testing.T) {
	onStage(t, 80, 24, noColours(), func(s *stage) {
		twoTrees(s)
		s.a.sessions[0].Title = ""
	}, func(s *stage) {
		s.press("<ctrl+s><alt+e><enter>")
		if s.asksOf("export s1 main main.md") != 1 {
			t.Errorf("%q", s.a.did)
		}
		s.press("<delete>")
		s.sees("Delete this session?")
	})
}

// Going elsewhere stops a summary: that is asked as by /resume. // BRW-3, case SES-08
func TestBrowserAsksBeforeASummaryIsLost(t *testing.T) {
	onStage(t, 80, 24, noColours(), func(s *stage) {
		s.summing("user")
		fourSessions(s.a)
	}, func(s *stage) {
		s.ours = true
		s.press("<ctrl+s><down><enter>")
		s.sees("The conversation is being summarized. Going to another session or", "branch stops that;")
		s.press("n")
		if s.asksOf("open") != 0 {
			t.Errorf("%q", s.a.did)
		}
	})
}

// Renaming waits for the turn like the rest (BRW-3), and it is said what can be
// done meanwhile.
func TestRenameSaysWhyItWaits(t *testing.T) {
	onStage(t, 120, 40, noColours(), twoTrees, func(s *stage) {
		s.a.refusal = drive.ErrBusy
		s.press("<ctrl+s><alt+n>x<enter>")
		s.sees("It was not renamed: a turn is running", "the browser changes nothing", "/rename names this session at once.")
	})
}
