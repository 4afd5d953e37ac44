package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"varve/internal/session"
	"varve/internal/tui/plain"
)

// What faults that were planted by hand showed to be held by no test.

// Whatever can't be had is said, and nothing else is lost for it.
func TestWhatCantBeHadIsSaid(t *testing.T) { // REL-2, TUI-7
	disk := errors.New("input/output error")
	for _, c := range []struct {
		set  func(*fakeAgent)
		keys string
		says string
	}{
		{func(a *fakeAgent) { a.noTail = disk }, "", "✗ input/output error"},
		{func(a *fakeAgent) { a.noOld = disk }, "", "! The history can't be read: input/output error"},
		{func(a *fakeAgent) { a.noOld = disk }, "hello<enter>", "! The history can't be saved: input/output error"},
		{func(a *fakeAgent) { a.noFiles = disk }, "look at @gre", "  files can't be listed: input/output error"},
		{func(a *fakeAgent) { a.noContext = disk }, "/context<enter>", "✗ input/output error"},
		{func(a *fakeAgent) { a.noShell = disk }, "!ls<enter>", "✗ input/output error"},
	} {
		onStage(t, 80, 24, noColours(), func(s *stage) { s.begun(); c.set(s.a) }, func(s *stage) {
			s.press(c.keys)
			s.sees(c.says)
			s.lacks("╭─ Context")
		})
	}
	scene(t, func(s *stage) {
		s.press("my draft")
		s.send(editedMsg{err: errors.New("exit status 1")})
		s.sees("✗ The editor failed: exit status 1")
		s.wantDraft("my draft")
	})
}

// The session that can't be followed any more is said, as long as it lasts; that
// the program ends is no news.
func TestFollowingThatFails(t *testing.T) { // REL-2
	scene(t, func(s *stage) {
		s.a.followed <- errors.New("input/output error")
		s.settle()
		s.sees("✗ input/output error")
	})
	scene(t, func(s *stage) {
		s.a.followed <- context.Canceled
		s.settle()
		s.lacks("✗")
	})
}

// A question is told with a bell where nobody looks, and nowhere else.
func TestQuestionRingsOnlyOutOfFocus(t *testing.T) { // TUI-11
	for _, focused := range []bool{true, false} {
		scene(t, func(s *stage) {
			if !focused {
				s.send(tea.BlurMsg{})
			}
			s.asksCommand("make")
			s.asked()
			if rang := strings.Contains(fmt.Sprint(s.other), "needs an answer"); rang == focused {
				t.Errorf("in focus %v, rang %v", focused, rang)
			}
		})
	}
}

// Another session begins without the fault of the one before.
func TestSwitchLeavesTheFaultBehind(t *testing.T) { // SES-08
	scene(t, func(s *stage) {
		s.begun()
		s.a.fault = errors.New("no space left on device")
		s.now()
		s.sees("✗ no space left on device")
		s.handle(switchedMsg{id: s.a.ident})
		s.lacks("no space left")
	})
}

// A hint of a key that is pressed twice goes when its own time is up, not when
// that of an earlier one is.
func TestHintGoesInItsTime(t *testing.T) { // TUI-5
	scene(t, func(s *stage) {
		s.press("a<ctrl+c>")
		s.later(time.Second)
		s.press("b<ctrl+c>")
		s.later(time.Second) // the time of the first is up
		s.sees("Ctrl+C again quits")
		s.later(time.Second)
		s.lacks("Ctrl+C again quits")
	})
}

// What scrolls into view is asked for then, without another key.
func TestStoredTextThatScrollsIntoView(t *testing.T) { // TUI-2
	onStage(t, 80, 12, noColours(), func(s *stage) {
		s.begun()
		ref := session.Part{Ref: &session.Ref{SHA256: strings.Repeat("a", 64), MediaType: "text/plain", Size: 100_000}}
		q := s.a.fact(session.Fact{Event: session.ShellRan{}, Body: []session.Part{ref}})
		s.a.bodies = map[want]string{{q, 0}: "$ make\nfrom the store"}
		for i := range 40 {
			s.a.put(session.ShellRan{}, fmt.Sprintf("$ echo %d", i))
		}
	}, func(s *stage) {
		if n := s.asksOf("body"); n != 0 {
			t.Errorf("asked %d times for what is not in view", n)
		}
		s.press("<ctrl+home>")
		s.sees("from the store")
	})
}

// A row is as wide as it is, also behind a character that joins what follows it.
func TestRowsDontJoinWhatFollows(t *testing.T) { // TUI-9, case TUI-04
	for _, s := range []string{"word \u0600", "\u0600", "\u0600\u0600\u0600\u0600\u0600\u0600", "日本\u0600", "plain", "", "more than there is room for"} {
		for width := range 12 {
			row := fitLine(s, width)
			if n := plain.Width(row); n != width {
				t.Errorf("%q in %d: %q is %d columns", s, width, row, n)
			}
			if n := plain.Width(row + " |"); n != width+2 {
				t.Errorf("%q in %d: %q takes in what follows: %d columns", s, width, row, n)
			}
		}
	}
}

// The window's title is safe: a folder may be called anything.
func TestTitleIsClean(t *testing.T) { // SEC-5, TUI-11
	onStage(t, 80, 24, noColours(), func(s *stage) { s.a.ident.Workspace = "/home/ada/a\x1b]0;x\ab\nc" }, func(s *stage) {
		if got := s.frameNow().WindowTitle; strings.ContainsAny(got, "\x1b\a\n") || !strings.HasPrefix(got, "Varve ~/a") {
			t.Errorf("the title is %q", got)
		}
	})
}
