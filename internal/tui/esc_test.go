package tui

import (
	"testing"
	"time"

	"varve/internal/session"
)

// The first Esc on an empty prompt says what the second does, as long as it does it. // TUI-4, TUI-12
func TestFirstEscSaysWhatTheSecondDoes(t *testing.T) {
	const says = "Esc again: go back to, fork or copy a message"
	scene(t, func(s *stage) {
		s.press("<esc>")
		s.lacks(says) // there is no message yet
		s.later(2 * time.Second)
		turn := s.works("first of all")
		s.now()
		s.press("<esc>")
		s.lacks(says) // it stopped the turn
		s.a.put(session.TurnEnded{Turn: turn, Status: "completed"})
		s.now()
		s.later(2 * time.Second)
		s.press("<esc>")
		s.sees(says)
		s.later(2 * time.Second)
		s.lacks(says)
		s.press("<esc>a")
		s.lacks(says)
		s.press("<esc>")
		s.lacks(says) // something is written
		s.press("<backspace><esc>")
		s.sees(says)
		s.press("<esc>")
		s.sees("Act on a message of yours")
		s.lacks(says)
	})
}
