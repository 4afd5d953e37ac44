package drive

import (
	"errors"
	"fmt"
	"slices"

	"varve/internal/session"
)

// Branch operations (BRN). They are decided from the fold of a whole session,
// and each is one appended reference: nothing is copied and nothing removed.

// Family is what they are decided from: a [session.Fold].
type Family interface {
	State(branch string) session.State
	Select(session.Reference) (session.Branch, error)
	Limbs() []session.Limb
	Label(branch, label string) (session.Label, error)
	NextLabel(branch string) string
	Item(session.ItemID) (session.Item, bool)
}

// An Operation is something a person asks of a branch.
type Operation interface {
	// Of is the branch that it is asked of.
	Of() string
}

type (
	// Fork begins a branch at a reference; one to a head that names none is
	// pinned to the head of now.
	Fork struct{ From session.Reference }
	// Revert goes back to before a user message. Preview is a line of it.
	Revert struct {
		Branch  string
		Message session.Seq
		Preview []byte
	}
	// RollBack takes a labelled revert back.
	RollBack struct{ Branch, Label string }
	// Delete puts a tombstone on a branch.
	Delete struct{ Branch string }
	// Retitle gives a branch a title.
	Retitle struct {
		Branch string
		Title  []byte
	}
)

// Of is the branch of the reference.
func (o Fork) Of() string { return o.From.Branch }

// Of is the branch that goes back.
func (o Revert) Of() string { return o.Branch }

// Of is the branch that goes forth again.
func (o RollBack) Of() string { return o.Branch }

// Of is the branch that is deleted.
func (o Delete) Of() string { return o.Branch }

// Of is the branch that gets a title.
func (o Retitle) Of() string { return o.Branch }

// ErrNotYours says that a message is none that a revert can go back to.
var ErrNotYours = errors.New("only a message of the user's can be gone back to")

// A Step is what an operation records next. Branch is where it is recorded,
// which expects that head; More says that the operation goes on from there.
type Step struct {
	Branch string
	Expect session.Seq
	Facts  []session.Fact
	Label  string // of a revert
	More   bool
	// Swapped is what a replacement comes to, once for each of its swaps.
	Swapped []Swapped
}

// Operate decides an operation. live says that the branch is being worked on:
// then it is refused where a turn is open (BRW-3), but for a fork that takes
// nothing of that turn (LOG-6). A turn that nobody works on is closed first
// (BRN-10).
func Operate(f Family, op Operation, live bool) (Step, error) {
	branch := op.Of()
	s := f.State(branch).Branch
	if !slices.ContainsFunc(f.Limbs(), func(l session.Limb) bool { return l.Name == branch }) {
		return Step{}, session.ErrNoBranch
	}
	if live && s.Turn != nil && !endsBefore(op, s.Turn.ID) {
		return Step{}, ErrBusy
	}
	step := Step{Branch: branch, Expect: s.Head}
	if o, ok := op.(Fork); ok {
		return fork(f, o)
	}
	if s.ReadOnly != "" {
		if s.ReadOnly == "branch.deleted" {
			return Step{}, session.ErrDeleted
		}
		return Step{}, ErrReadOnly
	}
	if o, ok := op.(Replace); ok {
		return replace(f, o, s)
	}
	if o, ok := op.(Retitle); ok {
		step.Facts = []session.Fact{text(session.BranchRenamed{}, o.Title)}
		return step, nil
	}
	if err := possible(f, op); err != nil {
		return Step{}, err
	}
	if s.Compaction != nil || s.Asked != nil { // BRN-10: what was under way is closed
		step.Facts, step.More = abandon(f.State(branch), "cancelled", nil), true
		return step, nil
	}
	if t := s.Turn; t != nil {
		step.Facts, step.More = closing(*t), true
		return step, nil
	}
	switch o := op.(type) {
	case Revert:
		to := session.Reference{Branch: branch, Seq: o.Message, Select: "before"}
		sel, err := f.Select(to)
		if err != nil {
			return Step{}, err
		}
		step.Label = f.NextLabel(branch)
		step.Facts = []session.Fact{text(session.BranchReverted{To: to, Left: s.Head, Label: step.Label, Plan: sel.Plan.At}, o.Preview)}
	case RollBack:
		l, err := f.Label(branch, o.Label)
		if err != nil {
			return Step{}, err
		}
		step.Facts = facts(session.BranchRolledBack{Label: l.Name, To: l.Left, Left: s.Head})
	case Delete:
		for _, l := range f.Limbs() {
			if l.Parent == branch && l.Purpose == "task" && !l.Deleted { // a sub-agent's goes with it (BRN-1)
				step, err := Operate(f, Delete{l.Name}, live)
				step.More = true
				return step, err
			}
		}
		step.Facts = facts(session.BranchDeleted{})
	}
	return step, nil
}

// endsBefore reports whether an operation is a fork that ends before a turn.
func endsBefore(op Operation, turn session.Seq) bool {
	o, ok := op.(Fork)
	q := o.From.Seq
	return ok && q != 0 && (q < turn || q == turn && o.From.Select == "before")
}

// possible refuses an operation before anything is closed for it.
func possible(f Family, op Operation) error {
	switch o := op.(type) {
	case Revert:
		it, ok := f.Item(o.Message.Item())
		if _, err := f.Select(session.Reference{Branch: o.Branch, Seq: o.Message, Select: "before"}); err != nil {
			return err
		}
		if !ok || it.Kind != session.UserItem {
			return ErrNotYours
		}
	case RollBack:
		_, err := f.Label(o.Branch, o.Label)
		return err
	}
	return nil
}

// fork is recorded on the new branch, as its first event, and expects that
// nobody has used the name.
func fork(f Family, o Fork) (Step, error) {
	if o.From.Select == "head" && o.From.Seq == 0 {
		o.From.Seq = f.State(o.From.Branch).Branch.Head
	}
	sel, err := f.Select(o.From)
	if err != nil {
		return Step{}, err
	}
	limbs := f.Limbs()
	n := len(limbs) + 1
	for slices.ContainsFunc(limbs, func(l session.Limb) bool { return l.Name == fmt.Sprintf("b%d", n) }) {
		n++
	}
	name := fmt.Sprintf("b%d", n)
	made := session.BranchCreated{Name: name, From: o.From, Plan: sel.Plan.At, Purpose: "fork", API: sel.Model.API}
	return Step{Branch: name, Facts: facts(made)}, nil
}

// closing is all of what ends a turn that nobody works on.
func closing(t session.Turn) []session.Fact {
	out := facts(session.TurnCancelled{Turn: t.ID, By: "branch"})
	if t.Cancelled != "" {
		out = nil
	}
	if t.Open.Seq != 0 {
		out = append(out, facts(session.ReplyRejected{Request: t.Open.Seq, Class: "cancelled"})...)
	}
	for _, c := range t.Calls {
		switch {
		case c.Done:
		case c.Started:
			out = append(out, told(c.ID, "lost", wordsLost))
		default:
			out = append(out, told(c.ID, "user", wordsNotRun))
		}
	}
	return append(out, facts(session.TurnEnded{Turn: t.ID, Status: "interrupted", Requests: t.Requests})...)
}
