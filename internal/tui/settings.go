package tui

import (
	"context"
	"slices"

	tea "charm.land/bubbletea/v2"

	"varve/internal/session"
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
	width int     // columns of a row, 0 before it was drawn
}

// A setRow is a row of the list.
type setRow struct {
	key      string // names it, so that the choice stays on it
	title    string
	value    string
	short    string // the same where there is little room, "" for none
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
	s.rows = wrapRows(s.makeRows(), s.width)
	top := s.list.top
	s.list = list{n: len(s.rows), top: top}
	for i, r := range s.rows {
		s.list.fixed = append(s.list.fixed, r.fixed)
		s.list.under = append(s.list.under, r.fixed && i > 0 && (r.level > s.rows[i-1].level || r.level == s.rows[i-1].level && s.list.under[i-1]))
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
	s.fit(f)
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

// Cursor is where something is written.
func (s *settings) Cursor(f Frame) (x, y int) {
	if c, ok := s.child.(cursored); ok {
		return c.Cursor(f)
	}
	return -1, -1
}
