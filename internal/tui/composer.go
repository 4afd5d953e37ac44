package tui

import (
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// A Kind says what a text in the composer asks for.
type Kind string

const (
	Nothing   Kind = ""
	Prompt    Kind = "prompt"
	ShellKind Kind = "shell" // begins with "!": a command of the user's own
	SlashKind Kind = "slash" // begins with "/" and is no path: see Commands.Parse
)

// A Composer is where a message is written. It is one per screen and belongs to the event loop: its methods change it.
//
//	composer.go      what it is, and what root asks of it
//	composer_keys.go what keys do
//	composer_view.go how it is drawn
//	composer_text.go the text; composer_wrap.go its rows; composer_chip.go pastes
//	vim.go           the keys of vi, where they are asked for; vim_move.go where they go
//	complete.go      what it offers; history.go what was written before
//
// What may be relied on: text that comes in is clean (plain.Clean); a paste is one edit and never sends (case TUI-01);
// what was written is in the text, in the history or under undo, whatever key was pressed (TUI-4, case TUI-11).
type Composer struct {
	Placeholder string                // shown where nothing is written
	Commands    Commands              // offered after "/"
	Files       func() tea.Cmd        // answers with a FilesMsg; nil offers no files
	Args        func(Command) tea.Cmd // answers with what it takes; nil offers nothing
	text        draftText
	vim         vim
	killed      Draft // what was cut last
	history     History
	recall      *recall // nil: the draft is shown
	search      *search // nil: not searching
	walking     bool    // through the history, with the last key: what is shown asks for no offers
	given       bool    // the program wrote it and nobody changed it: what is typed replaces it
	offer       offer
	files       []string
	cleared     string // the line of the draft that ActClear gave up
	gaveUp      string // and the draft

	waiting bool // the key now handled was waiting when the one before was
	broken  bool // keys that came together held an Enter: the rest of them sends nothing
	afterCR bool // the last of them was that Enter
	top     spot // line and row (not byte) that is drawn first
}

// NewComposer is an empty composer with what was written before.
func NewComposer(h History, cmds Commands) *Composer {
	return &Composer{text: newText(), history: h, Commands: cmds}
}

// Value is the text as it would be sent, pastes whole, and what it asks for. The command of a ShellKind is without its "!".
func (c *Composer) Value() (string, Kind) {
	raw := c.text.all()
	whole := expandChips(strings.TrimRight(raw, " \t\n"), c.text.pastes)
	switch {
	case strings.TrimSpace(whole) == "":
		return "", Nothing
	case strings.HasPrefix(raw, "!"):
		if cmd := strings.TrimSpace(whole[1:]); cmd != "" {
			return cmd, ShellKind
		}
		return "", Nothing
	case isCommand(raw):
		return strings.TrimSpace(whole), SlashKind
	}
	return whole, Prompt
}

// Empty says that nothing is written.
func (c *Composer) Empty() bool { return c.text.empty() }

// Searching and Offering say that keys go to the history search, or to what is offered.
func (c *Composer) Searching() bool { return c.search != nil }
func (c *Composer) Offering() bool  { return len(c.offer.rows) > 0 }

// Draft is what is written, to be kept for after a crash, and Restore puts it back. Undo goes back over a Restore.
func (c *Composer) Draft() Draft {
	at := c.text.cur.off
	for _, l := range c.text.lines[:c.text.cur.line] {
		at += len(l.s) + 1
	}
	return prune(Draft{c.text.all(), c.text.pastes, at})
}

// Restore replaces what is written.
func (c *Composer) Restore(d Draft) {
	c.leave()
	c.put(d)
}

// SetText replaces what is written with a text of elsewhere (the editor, a queued message), whole and clean, as one edit.
func (c *Composer) SetText(s string) {
	c.leave()
	c.given = false
	c.text.replace(spot{}, c.text.end(), strings.TrimRight(cleanInput(s), "\n"))
}

// Give is SetText for a text that nobody wrote: Enter sends it, and what is typed or pasted replaces it. Who moves in it or
// changes it makes it theirs.
func (c *Composer) Give(s string) {
	c.SetText(s)
	c.given = !c.Empty()
}

// Given says that the text is one that was given, as it was.
func (c *Composer) Given() bool { return c.given }

// replaces takes out a given text for what is written instead. Undo brings it back.
func (c *Composer) replaces() {
	if c.given {
		c.given = false
		c.text.replace(spot{}, c.text.end(), "")
	}
}

// Sent records what is written in the history and empties the composer. The line is for the history on disk, "" for none.
func (c *Composer) Sent() (line string) {
	if c.recall != nil && c.recall.at != c.history.Len() {
		c.history.Add(c.recall.draft)
	}
	line = c.history.Add(c.Draft())
	c.empty()
	return line
}

// clear is Sent for what is given up: it stays in the history.
func (c *Composer) clear() {
	if c.search != nil {
		c.searchKey(ActSearchCancel, "")
	}
	c.gaveUp = c.Draft().Whole()
	c.cleared = c.Sent()
}

// Cleared is what ActClear gave up, "" for nothing and when it was taken already, and its line for the history on disk, ""
// where none is to be kept.
func (c *Composer) Cleared() (line, text string) {
	line, text, c.cleared, c.gaveUp = c.cleared, c.gaveUp, "", ""
	return line, text
}

// Load puts what was written in earlier runs before what was written in this one. A walk through the history ends with what
// it shows; a search begins again in all of it.
func (c *Composer) Load(h History) {
	if s := c.search; s != nil {
		c.searchKey(ActSearchCancel, "")
		defer func() {
			c.beginSearch()
			c.ask(s.query)
		}()
	}
	c.recall = nil
	mine := c.history.drafts
	c.history = h
	for _, d := range mine {
		c.history.Add(d)
	}
}

func (c *Composer) empty() {
	width := c.text.width
	c.text = newText()
	c.text.width = width
	c.top = spot{}
	c.given = false
	c.leave()
}

// leave ends search, walk and offers, and stays with what is shown. Another text is one to write in.
func (c *Composer) leave() {
	c.search, c.recall, c.offer = nil, nil, offer{}
	c.vim.insert()
}

// put shows a draft as one edit. Its pastes are taken over.
func (c *Composer) put(d Draft) {
	s, at := adopt(d, c.chip)
	if s != c.text.all() {
		c.text.replace(spot{}, c.text.end(), s)
	}
	c.text.cur = endOf(spot{}, s[:at])
	c.text.snap()
}

// show is put that leaves nothing for undo. The text has to come back as it was before anything else is edited.
func (c *Composer) show(d Draft) {
	s, at := adopt(d, c.chip)
	c.text.splice(spot{}, c.text.end(), s)
	c.text.cur, c.text.goal = endOf(spot{}, s[:at]), -1
	c.text.snap()
}

// chip is the character for a paste: the one it has, or a new one. It is the paste itself where there are no more, or where
// it is short.
func (c *Composer) chip(paste string) string {
	for i, p := range c.text.pastes {
		if p == paste {
			return string(firstChip + rune(i))
		}
	}
	label, ok := folds(paste)
	n := len(c.text.pastes)
	if !ok || n > int(lastChip-firstChip) {
		return paste
	}
	c.text.pastes = append(c.text.pastes, paste)
	c.text.labels = append(c.text.labels, "["+label+" #"+strconv.Itoa(n+1)+"]")
	return string(firstChip + rune(n))
}

// Paste puts a text in at the cursor, as one edit. A long one becomes a chip (TUI-4). While the history is searched it goes
// into the search.
func (c *Composer) Paste(s string) tea.Cmd {
	s = cleanInput(s)
	if c.search != nil {
		c.ask(c.search.query + strings.TrimLeft(s, "\n"))
		return nil
	}
	c.replaces()
	if _, ok := folds(s); ok {
		s = c.chip(s)
	}
	if c.vim.normal {
		c.vim.drop()
		c.putOn(s, c.text.within(c.text.cur))
		return nil
	}
	c.text.replace(c.text.cur, c.text.cur, s)
	return c.refresh()
}

// Expand shows the text of the chip at the cursor, before it, or else of the last one. It is one edit.
func (c *Composer) Expand() (ok bool) {
	t := &c.text
	at := t.cur
	n, ok := chipAt(t.at(at))
	if !ok {
		at = t.prev(t.cur)
		n, ok = chipAt(t.at(at))
	}
	for l := len(t.lines) - 1; l >= 0 && !ok; l-- {
		s := t.lines[l].s
		for off := strings.LastIndex(s, chipLead); off >= 0 && !ok; off = strings.LastIndex(s[:off], chipLead) {
			at = spot{l, off}
			n, ok = chipAt(s[off:])
		}
	}
	if ok && n < len(t.pastes) {
		t.replace(at, spot{at.line, at.off + chipBytes}, strings.TrimSuffix(t.pastes[n], "\n"))
	}
	return ok
}
