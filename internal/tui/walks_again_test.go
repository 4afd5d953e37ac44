package tui

import (
	"strings"
	"testing"

	"varve/internal/harness/drive"
	"varve/internal/session"
)

// What a second round of newcomers found.

// A command or an @ in the history holds nobody there: Up and Down go on. // TUI-4
func TestHistoryGoesThroughCommands(t *testing.T) {
	scene(t, func(s *stage) {
		s.begun()
		s.now()
		for _, line := range []string{"an old message", "/theme dark", "look at @go.mod"} {
			s.chat.comp.history.Add(Draft{Text: line})
		}
		for _, want := range []string{"look at @go.mod", "/theme dark", "an old message"} {
			s.press("<up>")
			s.wantDraft(want)
		}
		s.press("<down>")
		s.wantDraft("/theme dark")
		s.press("<bs>") // what is changed is written, and asks for offers again
		s.sees("/theme")
	})
}

// "?" is help also where the program has written something that nobody touched. // TUI-12
func TestHelpOverAGivenText(t *testing.T) {
	scene(t, func(s *stage) {
		s.begun()
		s.now()
		s.chat.comp.Give("The tests fail. Please find out why.")
		s.press("?")
		s.sees("Conversation")
		s.press("<esc>")
		s.wantDraft("The tests fail. Please find out why.")
	})
}

// A queued message that is taken back stands in the draft before the queue loses
// it: a crash between the two loses nothing. // TUI-4, TUI-5, CTX-3
func TestTakenBackIsDraftedFirst(t *testing.T) {
	scene(t, func(s *stage) {
		s.works("first")
		s.queues("queue", "precious")
		s.now()
		order := ""
		s.a.answers = func(cmd drive.Command) error {
			if _, ok := cmd.(drive.RemoveQueued); ok {
				order = strings.Join(s.a.did, "\n")
			}
			return nil
		}
		s.press("<alt+up>")
		if !strings.Contains(order, "precious") {
			t.Errorf("before it was removed this was done:\n%s", order)
		}
	})
}

// The status line names a branch that is not the first. // TUI-6
func TestStatusNamesTheBranch(t *testing.T) {
	var s session.State
	s.Branch.Name = "b2"
	if line := statusOf(100, Identity{GitBranch: "main"}, s); !strings.Contains(line, "on b2") {
		t.Errorf("%q", line)
	}
	s.Branch.Name = "main"
	if line := statusOf(100, Identity{GitBranch: "main"}, s); strings.Contains(line, "on main") {
		t.Errorf("%q", line)
	}
}
