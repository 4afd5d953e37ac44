package tui

import (
	"errors"
	"testing"

	"varve/internal/harness/drive"
	"varve/internal/session"
)

// held refuses messages to a branch that another window has, until a fork was made.
func held(s *stage, why error) {
	s.a.notOurs = true
	s.a.answers = func(drive.Command) error {
		for _, d := range s.a.did {
			if len(d) > 10 && d[:10] == "drive.Fork" {
				return nil
			}
		}
		return why
	}
}

// A message that another window is in the way of is offered two ways on, and is never lost.
// LOG-6, TUI-4
func TestConflictOffersTwoWays(t *testing.T) {
	for name, c := range map[string]struct {
		running bool
		why     error
		sees    []string
		fork    string
	}{
		"while a turn runs there": {true, drive.ErrHeld, []string{"another window or process is working on", "▸ w  Wait until it is closed there", "was said before"}, "Seq:5 Select:before"},
		"while it is idle":        {false, drive.ErrHeld, []string{"another window has this branch open.", "▸ w  Wait until it is closed there", "with what you see"}, "Seq:5 Select:head"},
		"it was faster":           {false, drive.ErrConflict, []string{"another window has changed this", "▸ r  Reload: show what is there now"}, "Seq:5 Select:head"},
	} {
		t.Run(name, func(t *testing.T) {
			scene(t, func(s *stage) {
				turn := s.works("theirs")
				s.a.busy = errors.Is(c.why, drive.ErrHeld)
				if !c.running {
					s.a.put(session.TurnEnded{Turn: turn, Status: "completed"})
				}
				held(s, c.why)
				s.now()
				tails := s.asksOf("tail")

				s.press("mine<enter>")
				s.sees(append(c.sees, "Another window works here", "Your message was not sent", "stays below.", "f  Fork from here, and send it")...)
				s.press("<esc>")
				s.wantDraft("mine")
				s.wantCommands("")

				s.press("<enter><enter>")
				if n := s.asksOf("tail"); n != tails+1 {
					t.Errorf("read anew %d times", n-tails)
				}
				s.wantDraft("mine")
				s.wantCommands("")

				s.press("<enter>f")
				s.sees("A new branch; /tree leads back to the other.")
				if n := s.asksOf("drive.Fork {From:{Branch:main " + c.fork); n != 1 {
					t.Errorf("asked for %q", s.a.did)
				}
				s.wantCommands(`say "mine" steer=false`)
				s.wantDraft("")
			})
		})
	}
	moment(t, "conflict", "A message to a branch that another window works on: wait, or fork; it stays below.", Options{}, func(s *stage) {
		s.works("theirs")
		s.a.busy = true
		held(s, drive.ErrHeld)
	}, func(s *stage) { s.press("mine<enter>") })
}

// Where no branch can be made, or nothing sent there, the message is below. // LOG-6, TUI-4
func TestConflictLosesNoDraft(t *testing.T) {
	scene(t, func(s *stage) {
		s.works("theirs")
		held(s, drive.ErrHeld)
		s.now()
		s.a.branches.refused = errors.New("the disk is full")
		s.press("mine<enter>f")
		s.sees("No branch was made: the disk is full")
		s.wantDraft("mine")
		s.a.branches.refused = nil
		s.a.answers = func(drive.Command) error { return drive.ErrHeld }
		s.press("<enter>f")
		s.wantDraft("mine")
		s.sees("Another window works here")
	})
	// What was written since the message was sent stands behind it.
	scene(t, func(s *stage) {
		s.works("theirs")
		held(s, drive.ErrHeld)
		s.now()
		s.chat.comp.SetText("and more")
		s.send(refusedMsg{drive.ErrHeld, "mine"})
		s.wantDraft("mine\nand more")
		s.press("f")
		s.wantCommands(`say "mine" steer=false`)
		s.wantDraft("and more")
	})
	// A command of the user's own comes back too.
	scene(t, func(s *stage) {
		s.works("theirs")
		s.a.noShell = drive.ErrHeld
		s.now()
		s.press("!ls -l<enter>")
		s.sees("✗ another window or process")
		s.wantDraft("!ls -l")
	})
	// What is refused for another reason is offered nothing.
	scene(t, func(s *stage) {
		s.works("theirs")
		s.now()
		s.send(refusedMsg{drive.ErrReadOnly, "mine"})
		s.sees("✗ this branch holds events of a newer program")
		s.lacks("Fork from here")
		s.wantDraft("mine")
	})
}

// A revert that is in another window's way can be a fork. // LOG-6, BRN-3
func TestConflictOfRevert(t *testing.T) {
	scene(t, func(s *stage) {
		goesBack(s)
		s.a.notOurs, s.a.branches.refused = true, drive.ErrHeld
		s.now()
		s.press("/revert<enter><enter>")
		s.sees("Nothing was changed: another window has this branch open.", "w  Wait until it is closed there", "f  Fork from here")
		s.lacks("send it", "stays below")
		s.a.branches.refused = nil
		s.press("f")
		if n := s.asksOf("drive.Fork {From:{Branch:main Seq:14 Select:before}}"); n != 1 {
			t.Errorf("asked for %q", s.a.did)
		}
		s.wantDraft("the second")
		s.a.branches.refused = drive.ErrHeld
		s.press("<ctrl+c>/rollback v1<enter>")
		s.sees("✗ another window or process is working on this branch")
	})
}

// What was kept from an earlier run is given once, not again with each branch.
// TUI-4
func TestDraftIsGivenOnce(t *testing.T) {
	onStage(t, 80, 24, noColours(), func(s *stage) { s.a.ident.Draft = "from before" }, func(s *stage) {
		s.wantDraft("from before")
		s.press("<ctrl+c>")
		goesBack(s)
		s.press("/revert<enter><enter>")
		s.wantDraft("the second")
	})
}

// Who waits for the other window is told when it is done, once. // LOG-6, TUI-7
func TestWaitingForTheOtherWindow(t *testing.T) {
	for _, c := range []struct{ keys, says string }{
		{"", "✓ The other window is done: Enter sends what waits below."},
		{"<ctrl+u>", "✓ The other window is done: you can send now."},
	} {
		scene(t, func(s *stage) {
			s.works("theirs")
			s.a.busy = true
			held(s, drive.ErrHeld)
			s.now()
			s.sees("Another window works on this session: it is followed here.")
			s.press("mine<enter>w" + c.keys)
			s.lacks("is done")
			s.a.put(session.TurnEnded{Turn: 5, Status: "completed"})
			s.now()
			s.sees("Another window has this session open: it is followed here.")
			s.lacks("is done")
			s.a.busy = false
			s.now()
			s.sees(c.says)
			s.lacks("Another window")
			s.later(errorStays)
			s.a.busy = true
			s.now()
			s.a.busy = false
			s.now()
			s.lacks("is done")
		})
	}
}
