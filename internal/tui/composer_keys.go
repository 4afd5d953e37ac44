package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
)

// Where is where a key goes that is pressed in the composer: at is InChat with what root knows (WhenWorking, WhenAgain).
func (c *Composer) Where(at Where) Where {
	at &^= places | WhenEmpty
	switch {
	case c.search != nil:
		at |= InSearch
	case c.Offering():
		at |= InOffer
	default:
		at |= InChat
	}
	if c.Empty() || c.given {
		at |= WhenEmpty
	}
	return at
}

// Key does what a key does while the composer has the keys, and returns the action that is left to root, "" where there is
// none. ActSend means that Enter was meant: root asks for Value, which may be Nothing, and calls Sent when it was accepted.
// ActClear comes when the composer has cleared itself.
//
// more says that further input is already waiting. A terminal without bracketed paste delivers a paste as keys: an Enter
// with more behind it begins a line and sends nothing, nor does an Enter that came with such a one (case TUI-01).
func (c *Composer) Key(msg tea.KeyPressMsg, keys Keymap, at Where, more bool) (Action, tea.Cmd) {
	burst := more || c.waiting
	c.waiting = more
	act, cmd, ok := Action(""), tea.Cmd(nil), false
	c.walking, c.vim.tookEsc = false, false
	if burst && c.search == nil {
		act, ok = c.burst(msg, more)
	}
	if !ok {
		c.afterCR = false
		act = c.press(msg, keys, at)
	}
	if c.vim.normal && c.search == nil {
		c.text.cur = c.text.onChar(c.text.cur)
	}
	if !more {
		c.broken, c.afterCR = false, false
		cmd = c.refresh()
	}
	return act, cmd
}

// burst is a key among others that came with it, taken as part of a text if it can be. In vi's normal mode letters that
// come together are keys all the same; an Enter among them sends nothing there either.
func (c *Composer) burst(msg tea.KeyPressMsg, more bool) (act Action, ok bool) {
	switch stroke := msg.Keystroke(); {
	case stroke == "enter" && (more || c.broken):
		c.broken, c.afterCR = true, true
		c.offer = offer{}
		if c.vim.drop(); !c.vim.normal {
			c.text.write("\n")
		}
	case stroke == "ctrl+j" && c.afterCR: // CR LF is one end of a line
		c.afterCR = false
	case stroke == "tab" && (more || c.broken):
		if c.afterCR = false; !c.vim.normal {
			c.text.write("\t")
		}
	case !c.vim.normal && msg.Text != "" && msg.Mod&(tea.ModCtrl|tea.ModAlt) == 0:
		c.afterCR = false
		c.replaces()
		c.text.write(cleanTyped(msg.Text))
	default:
		return "", false
	}
	return "", true
}

// press is a key that a person pressed.
func (c *Composer) press(msg tea.KeyPressMsg, keys Keymap, at Where) Action {
	act, bound := keys.Action(msg, c.Where(at))
	typed := ""
	if !bound && msg.Mod&(tea.ModCtrl|tea.ModAlt) == 0 {
		typed = cleanTyped(msg.Text)
	}
	if c.search != nil {
		switch act {
		case ActRedraw, ActSuspend:
			return act
		}
		c.searchKey(act, typed)
		return ""
	}
	if c.vim.on && c.vimPress(msg, act, bound) {
		return ""
	}
	if !bound {
		if typed != "" {
			c.replaces()
			c.text.write(typed)
		}
		return ""
	}
	return c.do(act)
}

// do does an action of the composer's, and returns one that is not.
func (c *Composer) do(act Action) Action {
	t := &c.text
	t.typingFrom = 0
	if act != ActUp && act != ActDown {
		t.goal = -1
	}
	switch act {
	case ActSend:
		return c.enter()
	case ActNewline:
		t.write("\n")
	case ActClear:
		c.clear()
		return act
	case ActUp:
		if !t.up() {
			if c.walking = c.earlier(); !c.walking {
				t.cur, _ = t.rowEdge()
			}
		}
	case ActDown:
		if !t.down() {
			if c.walking = c.later(); !c.walking {
				_, t.cur = t.rowEdge()
			}
		}
	case ActLeft:
		t.cur = t.prev(t.cur)
	case ActRight:
		t.cur = t.next(t.cur)
	case ActWordLeft:
		t.cur = t.wordLeft(t.cur)
	case ActWordRight:
		t.cur = t.wordRight(t.cur)
	case ActLineStart:
		t.cur, _ = t.rowEdge()
	case ActLineEnd:
		_, t.cur = t.rowEdge()
	case ActTextStart:
		t.cur = spot{}
	case ActTextEnd:
		t.cur = t.end()
	case ActDeleteBack:
		t.replace(t.prev(t.cur), t.cur, "")
	case ActDeleteForward:
		t.replace(t.cur, t.next(t.cur), "")
	case ActDeleteWordBk:
		c.kill(t.wordLeft(t.cur), t.cur)
	case ActDeleteWordFw:
		c.kill(t.cur, t.wordRight(t.cur))
	case ActKillToEnd:
		c.kill(t.cur, c.lineEdge(len(t.at(t.cur)), t.next))
	case ActKillToStart:
		c.kill(c.lineEdge(-t.cur.off, t.prev), t.cur)
	case ActYank:
		s, _ := adopt(c.killed, c.chip)
		t.replace(t.cur, t.cur, s)
	case ActUndo:
		t.undo()
	case ActRedo:
		t.redo()
	case ActHistorySearch:
		c.beginSearch()
	case ActExpandPaste:
		c.Expand()
	case ActComplete:
		c.offer = offer{}
	case ActOfferNext:
		c.offer.step(1)
	case ActOfferPrev:
		c.offer.step(-1)
	case ActOfferTake:
		c.take()
	case ActOfferEnter:
		if !c.offer.picked() || c.take() {
			return ActSend
		}
	case ActOfferClose:
		c.offer = offer{kind: c.offer.kind, from: c.offer.from, of: c.offer.of, closed: true}
	default:
		return act
	}
	c.given = false
	return ""
}

// enter is Enter: a backslash before the cursor makes it a new line, for terminals that have no other key for that (case
// TUI-10).
func (c *Composer) enter() Action {
	t := &c.text
	if at := t.prev(t.cur); at != t.cur && t.between(at, t.cur) == `\` {
		t.replace(at, t.cur, "\n")
		return ""
	}
	return ActSend
}

// lineEdge is the spot so many bytes away in the line, or if that is here, the next one over: killing at the end of a line
// takes the line's end.
func (c *Composer) lineEdge(by int, over func(spot) spot) spot {
	if by == 0 {
		return over(c.text.cur)
	}
	return spot{c.text.cur.line, c.text.cur.off + by}
}

// kill takes out what is between two spots and keeps it for ActYank.
func (c *Composer) kill(from, to spot) {
	if from == to {
		return
	}
	c.keep(from, to, false)
	c.text.replace(from, to, "")
}

// keep takes a copy for ActYank; lines says that it is whole lines, for vi's p.
func (c *Composer) keep(from, to spot, lines bool) {
	c.killed = prune(Draft{Text: c.text.between(from, to), Pastes: c.text.pastes})
	c.vim.lines = lines
}

// Click puts the cursor where the mouse is: x and y are from the top left of what View drew last. Above that, in the popup
// rows of what is offered, it takes what is there; then it reports whether that is to be sent, as ActOfferEnter does.
func (c *Composer) Click(x, y, popup int) (send bool) {
	if c.search != nil {
		return false
	}
	if y < 0 {
		from, to := c.offer.list.Window(min(popup, offerRows))
		if at := from + popup + y; c.Offering() && at >= from && at < to {
			c.offer.list.Select(at)
			return c.take()
		}
		return false
	}
	t := &c.text
	at := c.top
	for range y {
		if at.off+1 < len(t.rowsOf(at.line)) {
			at.off++
		} else if at.line+1 < len(t.lines) {
			at = spot{at.line + 1, 0}
		}
	}
	t.cur, t.goal, t.typingFrom = t.atColumn(at.line, at.off, max(0, x-markWidth)), -1, 0
	c.offer = offer{}
	if c.vim.drop(); c.vim.normal {
		t.cur = t.onChar(t.cur)
	}
	return false
}

// shell says that what is written is a command of the user's own.
func (c *Composer) shell() bool { return strings.HasPrefix(c.text.lines[0].s, "!") }
