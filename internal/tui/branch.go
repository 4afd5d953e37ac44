package tui

import (
	tea "charm.land/bubbletea/v2"

	"varve/internal/harness/drive"
	"varve/internal/session"
)

// Going back, and into branches (BRN). What is asked for here is appended to the
// session: nothing is lost by it, and each can be taken back.

// A Turn is a message that can be gone back to.
type Turn struct {
	Item session.Seq
	Text string
	Age  string
}

// A Limb is a branch in the tree of a session.
type Limb struct {
	Name, Parent string
	Title        string // "" for none
	First        string // what its own first message says
	Messages     int    // of its own
	Here         bool   // it is the one on the screen
	Deleted      bool
	From         session.Seq // the last event that it took over of its parent
	Reverts      []Revert
	Marks        []Mark // in the browser: messages of its own, and checkpoints
}

// A Revert is one that can be taken back.
type Revert struct {
	Label, Preview, Age string
	Taken               bool // it was taken back
	Back                bool // and nothing was done since
	At, Left            session.Seq
}

// Operated is what a branch operation made.
type Operated struct {
	ID     Identity // who is on the screen then
	Branch string   // that it was done on, or that a fork made
	Label  string   // of a revert
	Text   string   // for the composer: the message that a revert went back to
	Held   bool     // of a rollback: something waits in the queue, until it is sent
}

const (
	turnsPicker   = "turns"
	revertsPicker = "reverts"
)

type (
	turnMsg    struct{ Turn } // one was chosen, to act on
	operateMsg struct {
		op   drive.Operation
		what string  // it is about: a message, or a restore's time
		in   *picked // of the browser; nil: on the screen
	}
	copyMsg struct{ text string }
	wentMsg struct {
		id   Identity
		said string
		err  error
	}
)

// idleOnly refuses where a turn runs: a branch operation would end it.
func (r *Root) idleOnly() bool {
	if r.runs() {
		r.say("warning", "A turn is running: stop it first ("+r.frame.Keys.Key(ActInterrupt)+"), or wait.")
		return false
	}
	return true
}

// turns lists the messages of this branch, newest first.
func (r *Root) turns(title string, first []PickRow, then func(Turn) tea.Msg) tea.Cmd {
	if !r.idleOnly() {
		return nil
	}
	box := waitingPicker(turnsPicker, title, "type to filter", func(row PickRow) tea.Msg {
		if t, ok := row.Value.(Turn); ok {
			return then(t)
		}
		return row.Value
	})
	r.open(box)
	return func() tea.Msg {
		turns, err := r.agent.Turns(r.ctx)
		rows := append([]PickRow{}, first...)
		for _, t := range turns {
			rows = append(rows, PickRow{Title: t.Text, Note: t.Age, Value: t})
		}
		return PickRowsMsg{Name: turnsPicker, To: box, Rows: rows, Err: err}
	}
}

func (r *Root) actOnMessage() tea.Cmd {
	return r.turns("Act on a message of yours", nil, func(t Turn) tea.Msg { return turnMsg{t} })
}

func (r *Root) fork() tea.Cmd {
	now := PickRow{Title: "from here, as it is now", Value: operateMsg{op: drive.Fork{From: session.Reference{Branch: r.state.Branch.Name, Select: "head"}}}}
	return r.turns("Fork: a new branch that ends before…", []PickRow{now}, func(t Turn) tea.Msg { return r.forkBefore(t) })
}

func (r *Root) forkBefore(t Turn) tea.Msg {
	return operateMsg{drive.Fork{From: session.Reference{Branch: r.state.Branch.Name, Seq: t.Item, Select: "before"}}, t.Text, nil}
}

func (r *Root) revert() tea.Cmd {
	return r.turns("Revert: go back to before…", nil, func(t Turn) tea.Msg { return r.revertTo(t) })
}

func (r *Root) revertTo(t Turn) tea.Msg {
	return operateMsg{drive.Revert{Branch: r.state.Branch.Name, Message: t.Item, Preview: []byte(oneLine(t.Text))}, t.Text, nil}
}

// act offers what can be done with a message.
func (r *Root) act(t Turn) tea.Cmd {
	r.open(NewConfirm("Your message", t.Text,
		Choice{Key: "c", Label: "Copy it", Msg: copyMsg{t.Text}},
		Choice{Key: "r", Label: "Revert: go back to before it", Msg: r.revertTo(t)},
		Choice{Key: "f", Label: "Fork: a new branch that ends before it", Msg: r.forkBefore(t)}))
	return nil
}

// rollback lists the reverts of this branch, and the restores of files; with a
// label it takes that revert back.
func (r *Root) rollback(label string) tea.Cmd {
	if !r.idleOnly() {
		return nil
	}
	branch := r.state.Branch.Name
	back := func(label string) operateMsg { return operateMsg{op: drive.RollBack{Branch: branch, Label: label}} }
	if label != "" {
		return answer(back(label))
	}
	box := waitingPicker(revertsPicker, "Rollback: take a revert back, or a restore of files", "type to filter", func(row PickRow) tea.Msg { return row.Value })
	r.open(box)
	return func() tea.Msg {
		limbs, err := r.agent.Limbs(r.ctx)
		if err != nil {
			return PickRowsMsg{Name: revertsPicker, To: box, Err: err}
		}
		restores, err := r.agent.Restores(r.ctx)
		rows := rollbackRows(branch, limbs, restores, func(op drive.Operation, what string) tea.Msg { return operateMsg{op: op, what: what} })
		return PickRowsMsg{Name: revertsPicker, To: box, Rows: rows, Err: err}
	}
}

// wentBack reports an event behind which the branch has another history.
func wentBack(e session.Entry) bool {
	switch e.Event.(type) {
	case session.BranchReverted, session.BranchRolledBack:
		return true
	}
	return false
}

// went shows another branch.
func (r *Root) went(m wentMsg) tea.Cmd {
	if m.err != nil {
		r.say("error", r.faultWords(m.err))
		return nil
	}
	cmd := r.anew(m.id)
	r.say("success", m.said)
	return cmd
}

// anew shows the branch as it is now. It is the same session: what is looked at
// stays open, and what was said at its start is not said again.
func (r *Root) anew(id Identity) tea.Cmd {
	id.Notice, id.Draft = "", ""
	plan := r.chat.planOpen
	cmd := r.switched(switchedMsg{id: id})
	r.chat.planOpen = plan
	return cmd
}
