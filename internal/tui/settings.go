package tui

import (
	"context"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"varve/internal/session"
	"varve/internal/tui/plain"
)

// Settings (SET-1): blocks that open, each with its values. A change is saved
// at once. What is on the screen is what is saved, but for changes that are on
// their way; if one can't be saved it is taken back, and what was to follow it.
type settings struct {
	ctx   context.Context
	agent Agent
	now   session.Model // the agent's, of this session
	home  string

	info  SettingsInfo
	err   error        // why there is nothing to show
	sums  []Summarizer // as they will be, once what is on its way is saved
	wait  bool         // nothing was read yet
	open  map[string]bool
	rows  []setRow
	list  list
	note  string // what came of the last change, until the next key
	bad   bool   // it is an error
	queue []settingOp
	was   string  // the chosen row before the first of them
	child overlay // what is chosen or written now, in place of the list
}

// A setRow is a row of the list.
type setRow struct {
	key      string // names it, so that the choice stays on it
	title    string
	value    string
	why      string // it can't be used; said in a row below
	level    int    // 0: the head of a block
	fixed    bool   // only said
	marked   bool   // something is wrong with it
	enter    func() tea.Cmd
	remove   func() tea.Cmd
	move     func(by int) tea.Cmd
	enters   string // what Enter does, for the foot
	removes  string // what the key that removes does
	controls bool   // ↑ ↓ × where it moves, × where it can only go
}

// A settingOp is a change: its edits are made of the settings that are there
// when its turn comes, "" for what is said when it is saved.
type settingOp struct {
	edits func(SettingsInfo) ([]SettingEdit, error)
	says  string
	looks string // the value of appearance that it is about, "" for none
}

type (
	settingsMsg struct {
		of   *settings
		info SettingsInfo
		err  error
	}
	settingsSavedMsg struct {
		of   *settings
		op   settingOp
		info SettingsInfo
		err  error
	}
	// A toSettingsMsg opens settings on a block.
	toSettingsMsg struct{ block string }
	// A settingMsg is what a picker or a line inside of settings answers.
	settingMsg struct {
		of *settings
		do func() tea.Cmd
	}
)

// settings opens them, on a block that is opened, or with "" on the first.
func (r *Root) settings(block string) tea.Cmd {
	s := &settings{ctx: r.ctx, agent: r.agent, now: r.model(), home: r.id.Home, wait: true, open: map[string]bool{block: true}}
	s.list.at = -1
	s.build("head:" + block)
	r.open(s)
	return func() tea.Msg {
		info, err := s.agent.Settings(s.ctx)
		return settingsMsg{s, info, err}
	}
}

func (m toSettingsMsg) on(r *Root) tea.Cmd { return r.settings(m.block) }

func (m settingsMsg) on(r *Root) tea.Cmd {
	s := m.of
	if m.info.Set != nil {
		first := s.wait
		s.wait, s.info, s.sums = false, m.info, slices.Clone(m.info.Summarizers)
		key := s.key()
		if first && key == "head:"+sumBlock && s.open[sumBlock] {
			key = "sum:0"
			if len(s.sums) == 0 {
				key = "sum:add"
			}
		}
		s.build(key)
	}
	if m.err != nil {
		s.note, s.bad, s.err = oneLine(m.err.Error()), true, m.err
	}
	return nil
}

// on takes a saved change over, and begins the next.
func (m settingsSavedMsg) on(r *Root) tea.Cmd {
	s := m.of
	if m.info.Set != nil {
		s.info = m.info
		r.looksChanged(m.op.looks, m.info)
	}
	if m.err != nil {
		s.note, s.bad = oneLine(m.err.Error()), true
		if len(s.queue) > 1 {
			s.note += " (nor is what was to follow it)"
		}
		s.queue = nil
		if !r.shown(s) {
			r.say("error", m.err.Error())
		}
	} else {
		s.queue = s.queue[1:]
		s.note, s.bad = m.op.says, false
	}
	key := s.key()
	if len(s.queue) == 0 {
		s.sums = slices.Clone(s.info.Summarizers)
	}
	if m.err != nil {
		key = s.was
	}
	s.build(key)
	return s.next()
}

// shown reports whether an overlay still lies there.
func (r *Root) shown(o overlay) bool { return slices.Contains(r.overlays, o) }

func (m settingMsg) on(*Root) tea.Cmd { return m.do() }

// change saves, in its turn. The choice goes to the row of that key, and comes
// back where the change can't be saved.
func (s *settings) change(key string, op settingOp) tea.Cmd {
	if len(s.queue) == 0 {
		s.was = s.key()
	}
	s.build(key)
	s.queue = append(s.queue, op)
	s.note, s.bad = "", false
	if len(s.queue) > 1 {
		return nil
	}
	return s.next()
}

// next saves the first that waits.
func (s *settings) next() tea.Cmd {
	if len(s.queue) == 0 {
		return nil
	}
	op, info := s.queue[0], s.info
	return func() tea.Msg {
		edits, err := op.edits(info)
		if err != nil {
			return settingsSavedMsg{s, op, info, err}
		}
		now, err := s.agent.Change(s.ctx, edits)
		return settingsSavedMsg{s, op, now, err}
	}
}

// chosen is the chosen row, an empty one where there is none.
func (s *settings) chosen() setRow {
	if s.list.at >= 0 && s.list.at < len(s.rows) {
		return s.rows[s.list.at]
	}
	return setRow{}
}

func (s *settings) key() string { return s.chosen().key }

// build makes the rows and puts the choice on the row of that key, or where it
// was.
func (s *settings) build(key string) {
	at := s.list.at
	s.rows = s.makeRows()
	top := s.list.top
	s.list = list{n: len(s.rows), top: top}
	for i, r := range s.rows {
		s.list.fixed = append(s.list.fixed, r.fixed)
		s.list.under = append(s.list.under, r.fixed && i > 0 && r.level > s.rows[i-1].level)
	}
	if i := slices.IndexFunc(s.rows, func(r setRow) bool { return r.key == key && !r.fixed }); key != "" && i >= 0 {
		at = i
	}
	s.list.Select(at)
}

// Update takes keys and mouse, for what is chosen or written first.
func (s *settings) Update(msg tea.Msg, f Frame) (overlay, tea.Cmd) {
	if s.child != nil {
		var cmd tea.Cmd
		s.child, cmd = s.child.Update(msg, f)
		return s, cmd
	}
	b := s.box(f)
	switch msg := msg.(type) {
	case tea.MouseWheelMsg:
		s.list.Move(wheel(msg))
	case tea.MouseClickMsg:
		return s, s.click(msg, f, b)
	case tea.KeyPressMsg:
		s.note, s.bad = "", false
		act, _ := f.Keys.Action(msg, InList)
		if act == ActClose {
			return nil, nil
		}
		if s.list.Do(act, b.innerH()-len(s.head(f, b.innerW()))) {
			return s, nil
		}
		return s, s.act(act)
	}
	return s, nil
}

// act does to the chosen row what a key asks for.
func (s *settings) act(act Action) tea.Cmd {
	row := s.chosen()
	switch {
	case act == ActChoose && row.enter != nil:
		return row.enter()
	case act == ActRemove && row.remove != nil:
		return row.remove()
	case act == ActMoveUp && row.move != nil:
		return row.move(-1)
	case act == ActMoveDown && row.move != nil:
		return row.move(1)
	}
	return nil
}

// click chooses a row and does what Enter does, or what the control below it
// says.
func (s *settings) click(msg tea.MouseClickMsg, f Frame, b box) tea.Cmd {
	head := len(s.head(f, b.innerW()))
	i := b.row(msg.X, msg.Y) - head
	from, to := s.list.Window(b.innerH() - head)
	if msg.Button != tea.MouseLeft || i < 0 || from+i >= to || s.list.heading(from+i) {
		return nil
	}
	s.note, s.bad = "", false
	s.list.Select(from + i)
	row := s.rows[from+i]
	if col := msg.X - (b.x + 2 + b.innerW() - controlsWide); row.controls && col >= 0 {
		switch {
		case col < 2 && row.move != nil:
			return s.act(ActMoveUp)
		case col < 4 && row.move != nil:
			return s.act(ActMoveDown)
		case col == controlsWide-1:
			return s.act(ActRemove)
		}
		return nil // beside a control is not on the row
	}
	return s.act(ActChoose)
}

const (
	setColumn    = 26
	controlsWide = len("u d x")
)

func (s *settings) box(f Frame) box {
	// As high as there is room, so that it does not jump when a block opens.
	return boxFor(f, min(f.W-4, pickWide), max(f.H-2, 10))
}

// View draws the list, or what is chosen or written in its place.
func (s *settings) View(f Frame) string {
	if s.child != nil {
		return s.child.View(f)
	}
	b := s.box(f)
	rows := s.head(f, b.innerW())
	from, to := s.list.Window(b.innerH() - len(rows))
	for i := from; i < to; i++ {
		rows = append(rows, s.draw(i, b.innerW(), f.Theme))
	}
	return b.draw("Settings", s.foot(f), rows, f.Theme)
}

// head says above the list what came of the last change: an error in full, as
// far as there is room.
func (s *settings) head(f Frame, width int) []string {
	switch {
	case s.bad:
		return wrapped(s.note, width, f.Theme.Error)
	case s.note != "":
		return wrapped(s.note, width, f.Theme.OK)
	}
	if r := s.chosen(); plain.Width(r.why)+8 > width { // more than its row can hold
		return wrapped(r.why, width, f.Theme.Warn)
	}
	text := "reading"
	if s.info.Set == nil && s.err != nil {
		return wrapped(oneLine(s.err.Error()), width, f.Theme.Error)
	}
	if s.info.Set != nil {
		text = "each change is saved at once, in " + shortPath(s.info.Set.Path, s.home)
	}
	return []string{f.Theme.Dim.Of(plain.Truncate(text, width))}
}

func wrapped(text string, width int, style Style) (rows []string) {
	for _, r := range plain.Wrap(text, width) {
		rows = append(rows, style.Of(r))
	}
	return rows[:min(len(rows), 4)]
}

func (s *settings) draw(i, width int, th Theme) string {
	row := s.rows[i]
	indent := strings.Repeat("  ", row.level)
	if row.fixed {
		style := th.Dim
		if row.marked {
			style = th.Warn
		}
		return style.Of(plain.Truncate("  "+indent+row.title, width))
	}
	item := listItem{Title: indent + row.title, Note: row.value, Selected: i == s.list.at}
	if row.level == 0 {
		return drawHead(row, item.Selected, width, th)
	}
	if !row.controls {
		return item.draw(width, setColumn, th)
	}
	buttons := "    ×"
	if row.move != nil {
		buttons = "↑ ↓ ×"
	}
	return item.draw(max(width-controlsWide-1, 1), setColumn, th) + " " + th.Key.Of(buttons)
}

// drawHead is the row of a block: its title, and what is set, whole before it is
// in line with others.
func drawHead(row setRow, selected bool, width int, th Theme) string {
	title := plain.Truncate(row.title, max(width-2, 1))
	used := plain.Width(title)
	start := max(used+1, min(setColumn, width-2-plain.Width(row.value)))
	gap, value := strings.Repeat(" ", start-used), plain.Truncate(row.value, max(width-2-start, 0))
	if selected {
		return th.Selection.Of(fitLine("▸ "+title+gap+value, width))
	}
	return fitLine("  "+th.Strong.Of(title)+gap+th.Dim.Of(value), width)
}

// foot says what keys do to the chosen row, and how to close: where there is little
// room the last of the others go.
func (s *settings) foot(f Frame) string {
	var keys []string
	row := s.chosen()
	if row.enter != nil {
		keys = append(keys, f.Keys.Key(ActChoose)+" "+row.enters)
	}
	if row.remove != nil {
		keys = append(keys, f.Keys.Key(ActRemove)+" "+row.removes)
	}
	if row.move != nil {
		keys = append(keys, f.Keys.Key(ActMoveUp)+", "+f.Keys.Key(ActMoveDown)+" move")
	}
	closes := f.Keys.Key(ActClose) + " close"
	for room := s.box(f).w - 6; len(keys) > 1 && plain.Width(strings.Join(append(keys, closes), " · ")) > room; {
		keys = keys[:len(keys)-1]
	}
	return strings.Join(append(keys, closes), " · ")
}

// Cursor is where something is written.
func (s *settings) Cursor(f Frame) (x, y int) {
	if c, ok := s.child.(cursored); ok {
		return c.Cursor(f)
	}
	return -1, -1
}
