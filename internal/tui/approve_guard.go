package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"
)

// Whose a key is while a question waits: the message's, the question's, or for
// a moment nobody's.

// typingPause is how long nothing is typed before a key can be an answer.
const typingPause = 700 * time.Millisecond

// keysTo is who gets letters while a question waits.
type keysTo int

const (
	keysAnswer  keysTo = iota // the question
	keysWait                  // the question, in a moment: until then they begin a message
	keysMessage               // what is written below
	keysCovered               // what lies on top
)

// lettersTo says where a letter goes that comes now, alone.
func (c *chat) lettersTo(now time.Time) keysTo {
	switch {
	case c.question.saying:
		return keysAnswer
	case !c.comp.Empty():
		return keysMessage
	case c.typing(now, false):
		return keysWait
	}
	return keysAnswer
}

// writes reports whether a key belongs to the message and not to the question
// that waits. Enter after a message sends it: it never allows, where something
// is written or the question only just came up.
func (c *chat) writes(k tea.KeyPressMsg, now time.Time, more bool) bool {
	if c.question.saying {
		return false
	}
	switch k.String() {
	case "up", "down", "pgup", "pgdown", "esc", "alt+up":
		return false
	case "enter":
		return !c.comp.Empty() || c.typing(now, more)
	}
	return !c.comp.Empty() || k.Text != "" && c.typing(now, more)
}

// typing reports whether a letter belongs to a message: a question that comes
// up while one is written, or came up a moment ago, must not take the letter
// for an answer, nor does one of several that came together.
func (c *chat) typing(now time.Time, more bool) bool {
	return more || now.Before(c.typed.Add(typingPause)) || now.Before(c.guard)
}

// hold makes answers wait for so long: what is pressed until then was meant for
// something else that was on the screen.
func (c *chat) hold(now time.Time, d time.Duration) {
	if until := now.Add(d); until.After(c.guard) {
		c.guard = until
	}
}

// opens is how long it takes until letters are answers, 0 where they are or
// where time alone does not make them so. The screen says when they are, so it
// is drawn once more then.
func (c *chat) opens(now time.Time) time.Duration {
	if c.question == nil || c.lettersTo(now) != keysWait {
		return 0
	}
	last := c.typed.Add(typingPause)
	if c.guard.After(last) {
		last = c.guard
	}
	return last.Sub(now)
}
