package tui

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"varve/internal/session"
)

// appearance.notify says how the end of a turn is told to who looks elsewhere; a
// turn that the user stopped is no news.
func TestNotifyAsSet(t *testing.T) { // TUI-11, CFG-2
	for _, c := range []struct {
		set, status  string
		rings, tells bool
	}{
		{"auto", "completed", true, true}, {"", "failed", true, true}, {"bell", "completed", true, false}, {"off", "completed", false, false}, {"auto", "interrupted", false, false},
	} {
		o := noColours()
		o.Looks.Notify = c.set
		onStage(t, 80, 24, o, nil, func(s *stage) {
			turn := s.works("hello")
			s.now()
			s.send(tea.BlurMsg{})
			if on := s.frameNow().ProgressBar != nil; on != (c.set == "auto" || c.set == "") {
				t.Errorf("%s: progress is shown: %v", c.set, on)
			}
			s.a.put(session.TurnEnded{Turn: turn, Status: c.status})
			s.now()
			got := fmt.Sprintf("%q", s.other)
			if rings, tells := strings.Contains(got, `\a`), strings.Contains(got, "Varve "); rings != c.rings || tells != c.tells {
				t.Errorf("%s, %s: told by %s", c.set, c.status, got)
			}
			if s.frameNow().ProgressBar != nil {
				t.Error("progress is shown of nothing")
			}
		})
	}
}

// The window's title is the session's, and says what it does or waits for.
func TestTitleIsTheSessions(t *testing.T) { // TUI-11, SEC-5
	scene(t, func(s *stage) {
		title := func(want string) {
			t.Helper()
			if got := s.frameNow().WindowTitle; got != want {
				t.Errorf("the title is %q, want %q", got, want)
			}
		}
		s.begun()
		s.now()
		title("Varve ~/work/greet")
		s.a.put(session.SessionRenamed{By: "user"}, "挨拶 🎉\x1b]0;evil\a\nand \u202emore")
		s.now()
		got := s.frameNow().WindowTitle
		if !strings.HasPrefix(got, "Varve 挨拶 🎉") || strings.ContainsAny(got, "\x1b\a\n\u202e") {
			t.Errorf("the title is %q", got)
		}
		s.a.put(session.SessionRenamed{By: "user"}, "Greetings")
		s.now()
		title("Varve Greetings")
		s.works("hello")
		s.now()
		title("● Varve Greetings")
		s.question("bash", `{"command":"make"}`, "make")
		s.asked()
		title("? Varve Greetings")
		if s.frameNow().ProgressBar.State != tea.ProgressBarWarning {
			t.Error("that an answer is needed can be seen")
		}
	})
}
