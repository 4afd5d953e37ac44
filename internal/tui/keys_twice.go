package tui

import (
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"
)

// twiceWithin is how soon a key has to be pressed again to be the same key twice (Esc Esc, Ctrl+C Ctrl+C).
const twiceWithin = 1200 * time.Millisecond

// Twice knows whether a key is the one that was just pressed. It has no clock: the time is up when TwiceMsg says so.
type Twice struct {
	last string
	turn int
}

// A TwiceMsg says that the time for a second press is up. It is handed to Twice.Expire.
type TwiceMsg struct{ turn int }

// Press notes a key and returns WhenAgain if it is the same one again, else 0. The command is the wait; keys that do nothing
// of their own when pressed twice have none.
func (w *Twice) Press(msg tea.KeyPressMsg, keys Keymap) (Where, tea.Cmd) {
	key := msg.Keystroke()
	again := w.last == key
	w.turn++
	w.last = key
	if !slices.ContainsFunc(keys.byKey[key], func(i int) bool { return keys.rows[i].Where&WhenAgain != 0 }) {
		w.last = ""
		return 0, nil
	}
	if again {
		w.last = "" // a third press is a first
		return WhenAgain, nil
	}
	turn := w.turn
	return 0, tea.Tick(twiceWithin, func(time.Time) tea.Msg { return TwiceMsg{turn} })
}

// Waiting says that the second press of a key that was pressed once would count; for a hint.
func (w *Twice) Waiting() bool { return w.last != "" }

// Expire forgets a key whose time is up.
func (w *Twice) Expire(msg TwiceMsg) {
	if msg.turn == w.turn {
		w.last = ""
	}
}

// Reset forgets the key: what it did must not be taken for the first half of something else.
func (w *Twice) Reset() { w.last = "" }
