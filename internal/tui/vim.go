package tui

import (
	"strings"
	"unicode"

	tea "charm.land/bubbletea/v2"
)

// The keys of vi in the composer (appearance.vim). There are two modes. In the insert mode keys do what they do without
// vi, but Esc, which goes to the normal mode. There letters are vi's keys; other keys still do what they do without it.
//
// What may be relied on: without appearance.vim nothing here is asked; a key of vi changes the text by edits that undo goes
// back over; in the normal mode the cursor stands on a character, nothing is offered, and no letter is written.

// vim is what the composer knows of vi's keys. A new text begins in the insert mode.
type vim struct {
	on, normal bool
	op         string // the operator that waits for its motion: d, c, y
	wait       string // the key that waits for one more: g, f, t, r
	count      int    // as it is written, 0 for none
	opCount    int    // the one before the operator
	lines      bool   // what was cut last is whole lines
	tookEsc    bool   // with the last key
}

// vimMost bounds a count, and vimPut what one p puts in, in bytes.
const (
	vimMost = 999
	vimPut  = 1 << 20
)

func (v *vim) insert() {
	v.normal = false
	v.drop()
}

// drop forgets what a command has so far.
func (v *vim) drop() { v.op, v.wait, v.count, v.opCount = "", "", 0, 0 }

func (v *vim) pending() bool { return v.op != "" || v.wait != "" || v.count > 0 }

// times is the count of a command; asked says that one was given.
func (v *vim) times() (n int, asked bool) {
	return min(max(v.count, 1)*max(v.opCount, 1), vimMost), v.count > 0 || v.opCount > 0
}

// UseVim switches the keys of vi on or off. Writing goes on in the insert mode.
func (c *Composer) UseVim(on bool) {
	c.vim.on = on
	c.vim.insert()
}

// TookEsc says that the last key was an Esc that meant the composer: it is no half of Esc Esc.
func (c *Composer) TookEsc() bool { return c.vim.tookEsc }

// EscLeaves says that Esc goes to the normal mode before it does anything else.
func (c *Composer) EscLeaves() bool { return c.vim.on && !c.vim.normal }

// vimPress takes a key, or leaves it to what it does without vi.
func (c *Composer) vimPress(msg tea.KeyPressMsg, act Action, bound bool) (took bool) {
	v, t, stroke := &c.vim, &c.text, msg.Keystroke()
	esc := stroke == "esc" || stroke == "ctrl+[" && !bound
	if !v.normal {
		if !esc || c.Offering() {
			return false
		}
		v.normal, v.tookEsc, c.given = true, true, false
		if t.typingFrom, t.goal = 0, -1; t.cur.off > 0 {
			t.cur = t.prev(t.cur)
		}
		return true
	}
	letter := ""
	if msg.Mod&(tea.ModCtrl|tea.ModAlt) == 0 {
		letter = cleanTyped(msg.Text)
	}
	n, _ := v.times()
	switch pending := v.pending(); {
	case esc && pending:
		v.drop()
		v.tookEsc = true
	case letter != "" && !pending && !bound && c.Empty() && strings.Contains("/!@", letter):
		v.insert() // they begin something of their own
		return false
	case letter != "" && (pending || !bound):
		c.vimLetter(letter)
	case stroke == "backspace":
		c.vimLetter("h")
	case stroke == "ctrl+r":
		v.drop()
		for range n {
			t.redo()
		}
	case act == ActNewline:
		v.drop()
		c.vimCommand("o", 1)
	default:
		v.drop()
		return false
	}
	return true
}

// vimLetter is a letter in the normal mode.
func (c *Composer) vimLetter(k string) {
	v, t := &c.vim, &c.text
	t.typingFrom, c.given = 0, false
	lead := v.wait
	v.wait = ""
	n, _ := v.times()
	digit := len(k) == 1 && (k >= "1" && k <= "9" || k == "0" && v.count > 0)
	if k != "j" && k != "k" && !digit {
		t.goal = -1
	}
	switch {
	case lead == "g" && k == "g":
		c.vimGo("gg", "")
	case lead == "f" || lead == "t":
		c.vimGo(lead, k)
	case lead == "r":
		c.vimReplace(k, n)
	case lead != "":
	case digit:
		v.count = min(v.count*10+int(k[0]-'0'), vimMost)
		return
	case k == "g" || k == "f" || k == "t" || k == "r" && v.op == "":
		v.wait = k
		return
	case v.op == "" && (k == "d" || k == "c" || k == "y"):
		v.op, v.opCount, v.count = k, v.count, 0
		return
	case k == v.op:
		c.vimLines(n)
	case v.op == "" && c.vimCommand(k, n):
	default:
		c.vimGo(k, "")
	}
	v.drop()
}

// vimGo moves by a motion, or does with what it takes in what the operator says.
func (c *Composer) vimGo(key, arg string) {
	v, t := &c.vim, &c.text
	n, asked := v.times()
	if v.op == "" && (key == "j" || key == "k") { // by rows, as Up and Down do
		step := t.down
		if key == "k" {
			step = t.up
		}
		for n > 0 && step() {
			n--
		}
		return
	}
	m, ok := t.motion(key, n, asked, arg)
	if !ok {
		return
	}
	if v.op == "" {
		if t.cur = m.to; key == "$" {
			t.goal = 1 << 30 // j and k stay at the ends
		}
		return
	}
	if big := key == "W"; v.op == "c" && (big || key == "w") && classOf(t.at(t.cur), big) != classBlank {
		// What stands behind the word stays.
		m = stretch{to: t.prev(t.runEnd(t.cur, big)), takes: true}
		for range n - 1 {
			m.to = t.wordEnd(m.to, big)
		}
	}
	c.vimOperate(t.span(key, m))
}

// vimLines is an operator on n lines from the cursor's on.
func (c *Composer) vimLines(n int) {
	at := c.text.cur.line
	c.vimOperate(spot{at, 0}, c.text.lineEnd(min(at+n-1, len(c.text.lines)-1)), true)
}

// vimOperate does what the operator says with a part of the text. Whole lines go with their ends.
func (c *Composer) vimOperate(from, to spot, whole bool) {
	v, t := &c.vim, &c.text
	if from != to || whole {
		c.keep(from, to, whole)
	}
	op := v.op
	switch {
	case op == "c":
		t.replace(from, to, "")
		t.cur = from
		v.insert()
	case op == "y" && whole:
		if from.line < t.cur.line {
			t.cur = t.lineText(from.line)
		}
	case op == "y":
		t.cur = from
	case whole:
		at := from.line
		if to.line+1 < len(t.lines) {
			to = spot{to.line + 1, 0}
		} else if from.line > 0 {
			from = t.lineEnd(from.line - 1)
		}
		t.replace(from, to, "")
		t.cur = t.lineText(min(at, len(t.lines)-1))
	default:
		t.replace(from, to, "")
	}
}

// vimCommand is a letter that is no motion and needs none; ok is false where it is another.
func (c *Composer) vimCommand(k string, n int) (ok bool) {
	v, t := &c.vim, &c.text
	line := t.cur.line
	does := func(op, motion string) {
		v.op = op
		c.vimGo(motion, "")
	}
	switch k {
	case "x":
		does("d", "l")
	case "X":
		does("d", "h")
	case "s":
		does("c", "l")
	case "D":
		does("d", "$")
	case "C":
		does("c", "$")
	case "S":
		v.op = "c"
		c.vimLines(n)
	case "Y":
		v.op = "y"
		c.vimLines(n)
	case "p", "P":
		c.vimPut(k == "p", n)
	case "i":
		v.insert()
	case "a":
		t.cur = t.within(t.cur)
		v.insert()
	case "I":
		t.cur = t.lineText(line)
		v.insert()
	case "A":
		t.cur = t.lineEnd(line)
		v.insert()
	case "o":
		end := t.lineEnd(line)
		t.replace(end, end, "\n")
		v.insert()
	case "O":
		t.replace(spot{line, 0}, spot{line, 0}, "\n")
		t.cur = spot{line, 0}
		v.insert()
	case "~":
		c.vimCase(n)
	case "J":
		c.vimJoin(n)
	case "u":
		for range n {
			t.undo()
		}
	default:
		return false
	}
	return true
}

// putOn puts a text in at a spot; the cursor is on its last character, or its first where it has several lines.
func (c *Composer) putOn(s string, at spot) {
	if s == "" {
		return
	}
	t := &c.text
	t.replace(at, at, s)
	if strings.Contains(s, "\n") {
		t.cur = at
	} else {
		t.cur = t.prev(t.cur)
	}
}

// vimPut puts in what was cut last, n times: after the cursor or before it, whole lines below its line or above.
func (c *Composer) vimPut(after bool, n int) {
	t := &c.text
	s, _ := adopt(c.killed, c.chip)
	if s == "" && !c.vim.lines {
		return
	}
	n = max(min(n, vimPut/(len(s)+1)), 1)
	line, at := t.cur.line, t.cur
	switch {
	case !c.vim.lines && after:
		at = t.within(at)
		fallthrough
	case !c.vim.lines:
		c.putOn(strings.Repeat(s, n), at)
		return
	case after:
		at = t.lineEnd(line)
		t.replace(at, at, strings.Repeat("\n"+s, n))
		line++
	default:
		t.replace(spot{line, 0}, spot{line, 0}, strings.Repeat(s+"\n", n))
	}
	t.cur = t.lineText(line)
}

// ahead is n clusters right of the cursor on its line, or as many as there are.
func (c *Composer) ahead(n int) (end spot, all bool) {
	end = c.text.cur
	for range n {
		if c.text.at(end) == "" {
			return end, false
		}
		end = c.text.next(end)
	}
	return end, true
}

// vimReplace puts a character in place of each of n.
func (c *Composer) vimReplace(k string, n int) {
	if end, all := c.ahead(n); all {
		c.text.replace(c.text.cur, end, strings.Repeat(k, n))
		c.text.cur = c.text.prev(c.text.cur)
	}
}

// vimCase turns small letters into capitals and back.
func (c *Composer) vimCase(n int) {
	end, _ := c.ahead(n)
	c.text.replace(c.text.cur, end, strings.Map(func(r rune) rune {
		if unicode.IsLower(r) {
			return unicode.ToUpper(r)
		}
		return unicode.ToLower(r)
	}, c.text.between(c.text.cur, end)))
}

// vimJoin makes n lines one, with a space where they meet, unless there is one or a bracket closes. It is one edit.
func (c *Composer) vimJoin(n int) {
	t := &c.text
	line := t.cur.line
	last := min(line+max(n, 2)-1, len(t.lines)-1)
	if last == line {
		return
	}
	s, at := t.lines[line].s, 0
	for _, l := range t.lines[line+1 : last+1] {
		add := strings.TrimLeft(l.s, " \t")
		at = len(s)
		if s != "" && classOf(s[len(s)-1:], false) != classBlank && add != "" && add[0] != ')' {
			s += " "
		}
		s += add
	}
	t.replace(spot{line, 0}, t.lineEnd(last), s)
	t.cur = spot{line, at}
	t.snap()
}
