package tui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"varve/internal/tui/plain"
)

// A FilesMsg brings the paths of the workspace, best known first, with "/" at the end of folders. It answers
// Composer.Files, and is handed to Composer.Listed.
type FilesMsg struct {
	Paths []string
	Err   error
}

// offerKind says what is offered.
type offerKind uint8

const (
	offerNothing offerKind = iota
	offerCommands
	offerFiles
	offerArgs
)

// offerRows is how many rows are shown at once, and offerFileLimit how many paths are looked through: more would be felt
// at each key.
const (
	offerRows      = 8
	offerFileLimit = 20000
	longestWord    = 512 // bytes before the cursor that are looked at
)

// An offer is what may stand for the word at the cursor.
type offer struct {
	kind    offerKind
	from    spot // where the word begins
	query   string
	all     []Command // offerCommands
	of      string    // offerArgs: the command
	args    []argOffer
	moved   bool // offerArgs: a row was gone to
	rows    []ranked
	list    list
	closed  bool // by the user: not offered again for this word
	waiting bool // paths were asked for
	err     error
}

// refresh looks what to offer for the word at the cursor. The command asks for paths.
func (c *Composer) refresh() tea.Cmd {
	if c.search != nil {
		return nil
	}
	if c.vim.normal {
		c.offer = offer{}
		return nil
	}
	kind, from, query := c.word()
	cmd, at, words, ok := c.argsAt()
	if ok {
		kind, from, query = offerArgs, at, words
	}
	o := &c.offer
	switch {
	case c.walking: // Up and Down go on through the history
		*o = offer{kind: kind, from: from, closed: true}
		return nil
	case kind == offerNothing:
		*o = offer{}
		return nil
	case o.kind == kind && o.from == from && o.of == cmd.Name && (o.closed || o.query == query && (len(o.rows) > 0 || o.waiting)):
		return nil
	}
	var asks tea.Cmd
	if o.kind != kind || o.from != from || o.of != cmd.Name {
		*o = offer{kind: kind, from: from, of: cmd.Name}
		switch {
		case kind == offerFiles && c.Files != nil:
			o.waiting, asks = true, c.Files()
		case kind == offerArgs && c.Args != nil:
			o.waiting, asks = true, c.Args(cmd)
		}
	}
	c.rank(query)
	return asks
}

// Listed takes the paths that were asked for. The choice stays on its path: it may
// have been made among those of before.
func (c *Composer) Listed(msg FilesMsg) {
	o, was := &c.offer, ""
	shown := o.kind == offerFiles && !o.closed
	if shown && o.list.at > 0 && o.list.at < len(o.rows) {
		was = c.files[o.rows[o.list.at].Index]
	}
	c.files = msg.Paths[:min(len(msg.Paths), offerFileLimit)]
	if !shown {
		return
	}
	o.waiting, o.err, o.rows = false, msg.Err, nil
	c.rank(o.query)
	if i := slices.IndexFunc(o.rows, func(r ranked) bool { return c.files[r.Index] == was }); i > 0 {
		o.list.Select(i)
	}
}

// rank finds the rows for a query. One that goes on from the last looks only through what that found.
func (c *Composer) rank(query string) {
	o := &c.offer
	switch {
	case o.kind == offerCommands:
		o.all = slices.DeleteFunc(slices.Clone(c.Commands.All()), func(x Command) bool { return x.Later })
		o.rows = rankCommands(query, o.all)
	case o.kind == offerArgs:
		o.rows, o.moved = rankArgs(query, o.args), false
	case o.rows != nil && o.query != "" && strings.HasPrefix(query, o.query):
		o.rows = rank(query, len(o.rows), func(i int) string { return c.files[o.rows[i].Index] }, o.rows)
	default:
		o.rows = rank(query, len(c.files), func(i int) string { return c.files[i] }, nil)
	}
	o.query = query
	o.list = list{n: len(o.rows)}
}

// word is what stands before the cursor, if something can be offered for it: "/" and letters at the start of the text, or
// "@" and a path (in quotes, if it has spaces) at the start of a word.
func (c *Composer) word() (kind offerKind, from spot, query string) {
	t := &c.text
	s := t.lines[t.cur.line].s[:t.cur.off]
	skip := max(len(s)-longestWord, 0)
	if t.cur.line == 0 && strings.HasPrefix(s, "/") && !strings.ContainsAny(s[1:], "/ \t") {
		return offerCommands, spot{}, s[1:]
	}
	s = s[skip:]
	if at := strings.LastIndex(s, `@"`); at >= 0 && !strings.Contains(s[at+2:], `"`) && beginsWord(s[:at]) {
		return offerFiles, spot{t.cur.line, skip + at}, s[at+2:]
	}
	word := s[strings.LastIndexAny(s, " \t")+1:]
	if at := strings.LastIndexByte(word, '@'); at >= 0 && beginsWord(word[:at]) {
		return offerFiles, spot{t.cur.line, skip + len(s) - len(word) + at}, word[at+1:]
	}
	return offerNothing, spot{}, ""
}

func beginsWord(before string) bool {
	return before == "" || strings.IndexByte(" \t([{'\"", before[len(before)-1]) >= 0
}

// take puts the chosen row in place of the word. run says that it is a command that needs no more words.
func (c *Composer) take() (run bool) {
	o, t := c.offer, &c.text
	if len(o.rows) == 0 {
		return false
	}
	if o.kind == offerArgs {
		return c.takeArg()
	}
	row := o.rows[o.list.at].Index
	end := t.cur
	if o.kind == offerCommands {
		cmd := o.all[row]
		s := t.lines[0].s
		end.off = len(s)
		if at := strings.IndexAny(s, " \t"); at >= 0 {
			end.off = at
		}
		rest := t.at(end)
		ins := "/" + cmd.Name
		if rest == "" && cmd.Args != "" {
			ins += " "
		}
		t.replace(o.from, end, ins)
		c.offer = offer{kind: offerCommands, closed: true}
		return !strings.HasPrefix(cmd.Args, "<") || strings.TrimSpace(rest) != ""
	}
	path := noChips(plain.Clean(c.files[row]))
	ins := "@" + path
	folder := strings.HasSuffix(path, "/")
	switch spaces := strings.ContainsAny(path, " \t"); {
	case spaces && folder:
		ins = `@"` + path
	case spaces:
		ins = `@"` + path + `"`
	}
	if !folder {
		ins += " "
	}
	t.replace(o.from, end, ins)
	c.offer = offer{}
	return false
}

// Popup draws what is offered, at most maxHeight rows of exactly width columns, nil for nothing. Root lays it right above
// the composer.
func (c *Composer) Popup(width, maxHeight int, th Theme) []string {
	o := &c.offer
	if o.closed || maxHeight < 1 || c.search != nil {
		return nil
	}
	if len(o.rows) == 0 {
		switch {
		case o.kind == offerFiles && o.err != nil:
			return []string{fitLine(th.Error.Of(plain.Truncate("  files can't be listed: "+plain.Clean(o.err.Error()), width)), width)}
		case o.kind == offerArgs && o.err != nil:
			return []string{fitLine(th.Error.Of(plain.Truncate("  these can't be listed: "+oneLine(o.err.Error()), width)), width)}
		case o.kind == offerArgs && o.waiting:
			return []string{fitLine(th.Dim.Of("  looking"), width)}
		case o.kind == offerFiles && o.waiting:
			return []string{fitLine(th.Dim.Of("  looking for files"), width)}
		case o.kind == offerCommands:
			return []string{fitLine(th.Dim.Of("  no such command"), width)}
		}
		return nil
	}
	var rows []string
	from, to := o.list.Window(min(maxHeight, offerRows))
	for i := from; i < to; i++ {
		r := o.rows[i]
		item := listItem{Selected: i == o.list.at, Marks: r.At}
		switch o.kind {
		case offerArgs:
			item = o.argRow(i)
		case offerCommands:
			cmd := o.all[r.Index]
			item.Title, item.Note = commandTitle(cmd), commandNote(cmd)
			item.Dim = cmd.Later
		default:
			item.Title = noChips(plain.Clean(c.files[r.Index]))
			if item.Title != c.files[r.Index] {
				item.Marks = nil
			}
		}
		rows = append(rows, item.draw(width, offerColumn, th))
	}
	return rows
}

// offerColumn is where the notes of commands begin.
const offerColumn = 28

// commandTitle is a command as it is written: /resume [session].
func commandTitle(cmd Command) string {
	if cmd.Args == "" {
		return "/" + cmd.Name
	}
	return "/" + cmd.Name + " " + cmd.Args
}

// commandNote is what it does, and its other names.
func commandNote(cmd Command) string {
	note := cmd.Says
	if len(cmd.Aliases) > 0 {
		note += " (/" + strings.Join(cmd.Aliases, ", /") + ")"
	}
	switch {
	case cmd.Later:
		note = "not yet: " + note
	case cmd.Project:
		note += " (of this project)"
	case cmd.Custom:
		note += " (yours)"
	}
	return note
}
