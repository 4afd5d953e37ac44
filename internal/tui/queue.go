package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"varve/internal/harness/drive"
	"varve/internal/session"
	"varve/internal/tui/plain"
)

// A queueBox lists the messages that wait, to be edited, moved and removed
// (TUI-5). What is asked for is asked one by one, each once the one before was
// answered, so that two quick moves are two moves; the list shows what will be.
type queueBox struct {
	text   func(session.Seq) (string, bool) // of an entry; false while it can't be read
	submit func(drive.Command) tea.Cmd      // answers with a queueDoneMsg
	list   list
	ids    []session.Seq // as they are shown
	seen   []session.Seq // as the session had them when it was looked at last
	asked  []drive.Command
	busy   bool // one of them is on its way
	edit   *Composer
	entry  session.Seq // that is edited
	note   string      // until the next key
	more   func() bool // more input is waiting behind a key
}

// A queueDoneMsg says what came of a command of a list's.
type queueDoneMsg struct {
	of  *queueBox
	cmd drive.Command
	err error
}

// openQueue shows what waits.
func (r *Root) openQueue() tea.Cmd {
	if len(r.state.Branch.Queue) == 0 {
		r.chat.hint = "Nothing waits. What is sent while the agent works does."
		return nil
	}
	var q *queueBox
	q = &queueBox{
		text: func(id session.Seq) (string, bool) {
			s := r.chat.tr.queued(id)
			src := r.chat.tr.queue[id]
			return s, !src.missing && src.broken == ""
		},
		submit: func(cmd drive.Command) tea.Cmd {
			return func() tea.Msg { return queueDoneMsg{q, cmd, r.agent.Submit(r.ctx, cmd)} }
		},
		more: func() bool { return r.more },
	}
	q.look(r.frame)
	q.list.Select(len(q.ids) - 1)
	r.open(q)
	return nil
}

// on tells the list what came of its command, though it may be closed: what was
// asked for behind that is still to be done. Words that were not taken come
// back: to the composer, or where that has others to its history.
func (m queueDoneMsg) on(r *Root) tea.Cmd {
	var cmds []tea.Cmd
	if m.err != nil {
		r.say("error", "What waits was not changed: "+r.faultWords(m.err))
		if e, ok := m.cmd.(drive.EditQueued); ok && r.chat.comp.Empty() {
			r.chat.comp.SetText(string(e.Text))
		} else if ok {
			cmds = append(cmds, r.remember(r.chat.comp.history.Add(Draft{Text: cleanInput(string(e.Text))})))
			r.say("info", "What was written for it is in the history: "+r.frame.Keys.Key(ActHistorySearch)+" finds it.")
		}
	}
	return tea.Batch(append(cmds, m.of.done(m.err))...)
}

// look takes over what waits by now. While something is asked for, the order is
// the one that was asked for.
func (q *queueBox) look(f Frame) {
	var now []session.Seq
	for _, x := range f.State.Branch.Queue {
		now = append(now, x.ID)
	}
	if slices.Equal(now, q.seen) {
		return
	}
	q.seen = now
	if !q.busy {
		q.show(now)
		return
	}
	gone := func(id session.Seq) bool { return !slices.Contains(now, id) }
	next := slices.DeleteFunc(slices.Clone(q.ids), gone)
	for _, id := range now {
		if !slices.Contains(next, id) && !q.removes(id) {
			next = append(next, id)
		}
	}
	q.show(next)
}

// removes reports whether it is asked for that an entry goes.
func (q *queueBox) removes(id session.Seq) bool {
	return slices.ContainsFunc(q.asked, func(c drive.Command) bool { return c == drive.Command(drive.RemoveQueued{Entry: id}) })
}

// show shows entries. The choice stays with its entry; where that is gone, in its
// place.
func (q *queueBox) show(ids []session.Seq) {
	at := q.list.at
	if at < len(q.ids) {
		if i := slices.Index(ids, q.ids[at]); i >= 0 {
			at = i
		}
	}
	q.ids, q.list.n = ids, len(ids)
	q.list.Select(at)
}

// ask asks for a command, behind those that were asked for.
func (q *queueBox) ask(cmd drive.Command) tea.Cmd {
	q.asked = append(q.asked, cmd)
	if q.busy {
		return nil
	}
	q.busy = true
	return q.submit(cmd)
}

// done goes on with what is asked for next. After a refusal nothing more is
// asked, and the list is what waits.
func (q *queueBox) done(err error) tea.Cmd {
	q.busy = false
	if len(q.asked) > 0 {
		q.asked = q.asked[1:]
	}
	if err != nil {
		q.asked, q.seen = nil, nil
		return nil
	}
	if len(q.asked) > 0 {
		q.busy = true
		return q.submit(q.asked[0])
	}
	return nil
}

// Update takes keys, mouse and paste.
func (q *queueBox) Update(msg tea.Msg, f Frame) (overlay, tea.Cmd) {
	q.look(f)
	b := q.box(f)
	switch m := msg.(type) {
	case tea.PasteMsg:
		if q.edit != nil {
			return q, q.edit.Paste(m.Content)
		}
	case tea.MouseWheelMsg:
		if q.edit == nil {
			q.list.Move(wheel(m))
		}
	case tea.MouseClickMsg:
		return q, q.click(m, b)
	case tea.KeyPressMsg:
		q.note = ""
		if q.edit != nil {
			return q, q.writes(m, f)
		}
		act, _ := f.Keys.Action(m, InList)
		if act == ActClose {
			return nil, nil
		}
		if !q.list.Do(act, b.innerH()) {
			return q, q.do(act)
		}
	}
	return q, nil
}

// do does something with the chosen entry.
func (q *queueBox) do(act Action) tea.Cmd {
	at := q.list.at
	if at >= len(q.ids) {
		return nil
	}
	id := q.ids[at]
	switch act {
	case ActChoose:
		text, ok := q.text(id)
		if !ok {
			q.note = "its text can't be read yet: try again"
			return nil
		}
		q.edit, q.entry = NewComposer(History{}, Commands{}), id
		q.edit.SetText(text)
	case ActRemove:
		q.show(slices.Delete(slices.Clone(q.ids), at, at+1))
		return q.ask(drive.RemoveQueued{Entry: id})
	case ActMoveUp, ActMoveDown:
		to := at - 1
		if act == ActMoveDown {
			to = at + 1
		}
		if to < 0 || to >= len(q.ids) {
			return nil
		}
		ids := slices.Insert(slices.Delete(slices.Clone(q.ids), at, at+1), to, id)
		q.show(ids)
		before := session.Seq(0)
		if to+1 < len(ids) {
			before = ids[to+1]
		}
		return q.ask(drive.MoveQueued{Entry: id, Before: before})
	}
	return nil
}

// writes is a key while an entry is edited. It keeps its place until it is taken.
func (q *queueBox) writes(k tea.KeyPressMsg, f Frame) tea.Cmd {
	act, cmd := q.edit.Key(k, f.Keys, InChat, q.more())
	switch act {
	case ActInterrupt:
		q.edit = nil
	case ActSend:
		text := strings.TrimRight(q.edit.Draft().Whole(), " \t\n")
		if strings.TrimSpace(text) == "" {
			q.note = "an empty message can't wait: " + f.Keys.Key(ActRemove) + " in the list removes it"
			return cmd
		}
		old, _ := q.text(q.entry)
		if q.edit = nil; text == strings.TrimRight(old, " \t\n") {
			return cmd
		}
		return tea.Batch(cmd, q.ask(drive.EditQueued{Entry: q.entry, Text: []byte(text)}))
	}
	return cmd
}

// queueControls stand at the end of the chosen row, for the mouse.
const queueControls = " [↑] [↓] [x]"

// controlled says that a row has room for them.
func controlled(w int) bool { return w >= 40 }

// click chooses an entry, edits the chosen one, or does what a control says.
func (q *queueBox) click(m tea.MouseClickMsg, b box) tea.Cmd {
	row := b.row(m.X, m.Y)
	if m.Button != tea.MouseLeft || row < 0 {
		return nil
	}
	if q.edit != nil {
		q.edit.Click(m.X-b.x-2, row, 0)
		return nil
	}
	from, to := q.list.Window(b.innerH())
	if from+row >= to {
		return nil
	}
	if from+row != q.list.at {
		q.list.Select(from + row)
		return nil
	}
	switch x := m.X - (b.x + 2 + b.innerW() - plain.Width(queueControls)); {
	case x < 1, !controlled(b.innerW()):
		return q.do(ActChoose)
	case x < 5:
		return q.do(ActMoveUp)
	case x < 9:
		return q.do(ActMoveDown)
	case x < plain.Width(queueControls): // behind it is air
		return q.do(ActRemove)
	}
	return nil
}

func (q *queueBox) box(f Frame) box {
	n := max(len(q.ids), 3)
	if q.edit != nil {
		n = max(n, 8)
	}
	return boxFor(f, min(f.W-4, pickWide), min(n+2, max(f.H-2, 5)))
}

// View draws the list, or the entry that is edited.
func (q *queueBox) View(f Frame) string {
	q.look(f)
	b := q.box(f)
	foot := []string{}
	keys := func(pairs ...string) {
		for i := 0; i < len(pairs); i += 2 {
			if key := f.Keys.Key(Action(pairs[i])); key != "" {
				foot = append(foot, key+" "+pairs[i+1])
			}
		}
	}
	if q.edit != nil {
		rows, _, _ := q.edit.View(b.innerW(), b.innerH(), f.Theme)
		keys(string(ActSend), "keep", string(ActInterrupt), "leave it as it was", string(ActNewline), "new line")
		return b.draw("A message that waits", q.foot(foot), rows, f.Theme)
	}
	var rows []string
	from, to := q.list.Window(b.innerH())
	for i := from; i < to; i++ {
		rows = append(rows, q.row(i, b.innerW(), f))
	}
	if len(q.ids) == 0 {
		rows = []string{f.Theme.Dim.Of(plain.Truncate("Nothing waits any more.", b.innerW()))}
		keys(string(ActClose), "close")
		return b.draw("What waits", q.foot(foot), rows, f.Theme)
	}
	keys(string(ActClose), "close", string(ActChoose), "edit", string(ActRemove), "remove", string(ActMoveUp), "up", string(ActMoveDown), "down")
	return b.draw(fmt.Sprintf("What waits (%d)", len(q.ids)), q.foot(foot), rows, f.Theme)
}

func (q *queueBox) foot(keys []string) string {
	if q.note != "" {
		return oneLine(q.note)
	}
	return strings.Join(keys, " · ")
}

// row is an entry: its place, its words on one line, and what it waits for.
func (q *queueBox) row(i, w int, f Frame) string {
	text, _ := q.text(q.ids[i])
	item := listItem{Title: fmt.Sprintf("%d. %s", i+1, oneLine(strings.Join(strings.Fields(text), " "))), Selected: i == q.list.at}
	at := slices.IndexFunc(f.State.Branch.Queue, func(x session.Queued) bool { return x.ID == q.ids[i] })
	note := ""
	switch {
	case at < 0:
	case f.State.Branch.Queue[at].Held:
		note = "  held"
	case f.State.Branch.Queue[at].Kind == "steer":
		note = "  for this turn"
	}
	if item.Selected && controlled(w) {
		note += queueControls
	}
	room := max(w-2-plain.Width(note), 8)
	item.Title = plain.Truncate(item.Title, room)
	item.Title += strings.Repeat(" ", max(room-plain.Width(item.Title), 0)) + note
	return item.draw(w, w, f.Theme)
}

// Cursor is in the entry that is edited; a list has none.
func (q *queueBox) Cursor(f Frame) (x, y int) {
	if q.edit == nil {
		return -1, -1
	}
	b := q.box(f)
	_, x, y = q.edit.View(b.innerW(), b.innerH(), f.Theme)
	return b.x + 2 + x, b.y + 1 + y
}
