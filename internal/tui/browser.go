package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"
)

// The session browser (BRW) lies on the whole window: the list of sessions with
// their branches, or the tree of one, and beside it what was said last at the
// chosen place. It reads nothing itself: what it shows comes in messages, and
// what it is to do goes to root.

const (
	// pauseToLook is how long nothing is typed before messages are searched,
	// pauseToPeek how long the choice rests before its place is read.
	pauseToLook = 150 * time.Millisecond
	pauseToPeek = 80 * time.Millisecond
	// pauseToList is the least time between two lists.
	pauseToList = 200 * time.Millisecond
	// enoughToLook is how many characters messages are searched for.
	enoughToLook = 3
)

type browser struct {
	ctx   context.Context
	end   context.CancelFunc // of ctx
	agent browsing
	home  string

	shelf     *shelf // nil until a list came
	waiting   int    // sessions that are still to be read whole
	whole     bool   // all that there is to know is known
	err       error
	listing   int // which list is awaited: others are late
	unlist    context.CancelFunc
	all       bool // of all folders
	sort      int
	scoped    int // rows of the scope, and those of them that are shown
	shown     int
	elsewhere int // found in other folders

	tree *grown // nil: the list
	only bool   // it was opened with a tree: closing that closes it

	filter field
	said   saidIn
	unlook context.CancelFunc

	lines []browseLine
	list  list
	want  string // the row to choose when it comes
	was   string // the row that was chosen in the list before, until it is arranged
	kept  bool   // the choice stays at its place where its row is gone

	preview int // of the pane: as the width has it, shown, hidden
	peek    peeked
	unpeek  context.CancelFunc

	notice browserNotice
	page   int // of the keys in the foot
	drawn  int // rows, for a test
}

// A grown tree is the one that is shown.
type grown struct {
	id    string // "" for the session on the screen
	tree  Tree
	lines []browseLine
	reads bool
	err   error
	from  string // the row of the list that it was gone to from
}

// saidIn is what was found in messages.
type saidIn struct {
	text  string // that is looked for, "" for nothing
	waits bool
	found []Saying
	note  string
	err   error
}

type peeked struct {
	at    Point
	key   string // of the row; "" for nothing
	waits bool
	list  []Message
	err   error
	rows  []string // for a width
	width int
	up    int // rows that it is scrolled up
}

type browserNotice struct{ level, text string }

type (
	listedMsg struct {
		b       *browser
		listing int
		shelf   *shelf
		from    <-chan Browsed
		Browsed
		last bool
	}
	foundMsg struct {
		b *browser
		saidIn
	}
	treeMsg struct {
		b    *browser
		id   string
		tree Tree
		err  error
	}
	peekMsg struct {
		b    *browser
		key  string
		list []Message
		err  error
	}
)

func (m listedMsg) on(r *Root) tea.Cmd { return r.toBrowser(m.b, m) }
func (m foundMsg) on(r *Root) tea.Cmd  { return r.toBrowser(m.b, m) }
func (m treeMsg) on(r *Root) tea.Cmd   { return r.toBrowser(m.b, m) }
func (m peekMsg) on(r *Root) tea.Cmd   { return r.toBrowser(m.b, m) }

// reload reads the list anew, and the tree that is shown. What is shown stays
// until it comes.
func (b *browser) reload() tea.Cmd {
	b.listing++
	if b.unlist != nil {
		b.unlist()
	}
	ctx, stop := context.WithCancel(b.ctx)
	b.unlist = stop
	n, agent := b.listing, b.agent
	b.peek.key = ""
	cmds := []tea.Cmd{func() tea.Msg { return nextList(b, n, agent.Browse(ctx), 0) }}
	if b.tree != nil {
		cmds = append(cmds, b.grow(b.tree.id))
	}
	return tea.Batch(cmds...)
}

// nextList waits for a list, and makes it ready.
func nextList(b *browser, n int, from <-chan Browsed, pause time.Duration) tea.Msg {
	time.Sleep(pause)
	x, ok := <-from
	if !ok {
		return listedMsg{b: b, listing: n, last: true}
	}
	return listedMsg{b: b, listing: n, shelf: newShelf(x.Sessions), from: from, Browsed: x}
}

// grow reads a tree.
func (b *browser) grow(id string) tea.Cmd {
	if b.tree == nil || b.tree.id != id {
		b.tree = &grown{id: id}
	}
	b.tree.reads = true
	ctx, agent := b.ctx, b.agent
	return func() tea.Msg {
		t, err := agent.Tree(ctx, id)
		return treeMsg{b, id, t, err}
	}
}

// close ends what is read.
func (b *browser) close() { b.end() }

// Update takes keys, mouse and paste, what was read, and a resize.
func (b *browser) Update(msg tea.Msg, f Frame) (overlay, tea.Cmd) {
	var cmd tea.Cmd
	switch m := msg.(type) {
	case listedMsg:
		cmd = b.listed(m)
	case treeMsg:
		b.treeCame(m)
	case foundMsg:
		if m.text == b.said.text && b.tree == nil {
			b.said = m.saidIn
			b.kept = true
			b.arrange()
		}
	case peekMsg:
		if m.key == b.peek.key {
			b.peek.waits, b.peek.list, b.peek.err, b.peek.width = false, m.list, m.err, 0
		}
	case tea.PasteMsg:
		b.filter.write(m.Content)
		cmd = b.typed()
	case tea.MouseWheelMsg:
		if l := b.layout(f); l.inPane(m.X, m.Y) {
			b.peek.up = max(b.peek.up-wheel(m), 0)
		} else {
			b.list.Move(wheel(m))
		}
	case tea.MouseClickMsg:
		if m.Button == tea.MouseLeft {
			return b.click(m, f)
		}
	case tea.KeyPressMsg:
		act, ok := f.Keys.Action(m, InBrowser)
		if !ok {
			act, _ = f.Keys.Action(m, InList)
		}
		if act == ActRemove {
			act = ActBrowseDelete
		}
		return b.do(act, m, f)
	}
	return b, tea.Batch(cmd, b.look(f))
}

// click chooses a row; one that is chosen already is opened, and a key in the
// foot is pressed.
func (b *browser) click(m tea.MouseClickMsg, f Frame) (overlay, tea.Cmd) {
	l := b.layout(f)
	if act := l.keyAt(m.X, m.Y); act != "" {
		return b.do(act, tea.KeyPressMsg{}, f)
	}
	i := m.Y - l.listY
	from, to := b.list.Window(l.listH)
	if m.X < l.box.x+2 || m.X >= l.box.x+2+l.listW || i < 0 || from+i >= to {
		return b, nil
	}
	i += from
	if b.lines[i].found != nil {
		i-- // it belongs to the row above
	}
	if b.list.heading(i) {
		return b, nil
	}
	if i == b.list.at {
		return b.do(ActChoose, tea.KeyPressMsg{}, f)
	}
	b.notice, b.want = browserNotice{}, ""
	b.list.Select(i)
	return b, b.look(f)
}

// do does what a key does.
func (b *browser) do(act Action, k tea.KeyPressMsg, f Frame) (overlay, tea.Cmd) {
	b.notice, b.want = browserNotice{}, "" // who goes on is not moved by what comes late
	var cmd tea.Cmd
	switch act {
	case ActClose:
		if b.tree != nil && !b.only {
			return b, tea.Batch(b.leaveTree(), b.look(f))
		}
		b.close()
		return nil, nil
	case ActBrowseTree:
		cmd = b.toggleTree()
	case ActBrowseFolders:
		b.all = !b.all
		b.arrange()
	case ActBrowseSort:
		b.sort = (b.sort + 1) % sorts
		b.arrange()
	case ActBrowsePreview:
		if b.layout(f).pane {
			b.preview = 2
		} else {
			b.preview = 1
		}
	case ActBrowseKeys:
		b.page++
	case ActPeekUp:
		b.peek.up++
	case ActPeekDown:
		b.peek.up = max(b.peek.up-1, 0)
	case ActChoose:
		return b.openChosen()
	case ActBrowseFork, ActBrowseRevert, ActBrowseRollback, ActBrowseRename, ActBrowseExport, ActBrowseDelete:
		cmd = b.act(act)
	default:
		if b.list.Do(act, b.layout(f).listH) {
			break
		}
		if before := b.filter.String(); b.filter.key(k, act) && b.filter.String() != before {
			cmd = b.typed()
		}
	}
	return b, tea.Batch(cmd, b.look(f))
}

// listed takes a list, and waits for the next one.
func (b *browser) listed(m listedMsg) tea.Cmd {
	if m.listing != b.listing {
		return nil
	}
	if m.last {
		b.whole = true
		return nil
	}
	if l, ok := b.chosen(); ok && b.tree == nil {
		b.was = b.key(l) // rows name their place in the old shelf
	}
	b.shelf, b.waiting, b.err = m.shelf, m.Waiting, m.Err
	if b.tree == nil {
		b.kept = true
		b.arrange()
	}
	return func() tea.Msg { return nextList(b, m.listing, m.from, pauseToList) }
}

func (b *browser) treeCame(m treeMsg) {
	if b.tree == nil || b.tree.id != m.id {
		return
	}
	t := b.tree
	t.reads, t.err = false, m.err
	if m.err == nil {
		first := t.lines == nil
		t.tree, t.lines = m.tree, treeLines(m.tree.Limbs)
		if first && b.want == "" {
			for _, l := range m.tree.Limbs {
				if l.Here {
					b.want = l.Name
				}
			}
		}
		b.kept = true
		b.arrange()
	}
}

// toggleTree goes to the tree of the chosen session, or back to the list.
func (b *browser) toggleTree() tea.Cmd {
	if b.tree != nil {
		return b.leaveTree()
	}
	p, ok := b.pick()
	if !ok {
		return nil
	}
	l, _ := b.chosen()
	from := b.key(l)
	b.filter, b.want = newField(""), p.branch
	cmd := b.grow(p.id)
	b.tree.from = from
	b.arrange()
	return tea.Batch(cmd, b.unsay())
}

func (b *browser) leaveTree() tea.Cmd {
	id := b.tree.tree.Session
	branch := ""
	if l, ok := b.chosen(); ok && l.limb != nil {
		branch = l.limb.Name
	}
	from := b.tree.from
	b.tree, b.only, b.filter = nil, false, newField("")
	if b.want = from; branch != "" {
		b.want = id + "/" + branch
	}
	if b.shelf != nil {
		for _, s := range b.shelf.all {
			if s.ID == id && !b.inScope(s) {
				b.all = true // else its row would not be there
			}
		}
	}
	b.arrange()
	b.want = ""
	return nil
}
