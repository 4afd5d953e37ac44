package session

import (
	"fmt"
	"slices"
)

// A mark is a kept state of a branch: what its events before at come to. One
// is kept before each user item, and behind each event that changes what
// selection can't make anew from items.
type mark struct {
	at    Seq
	state Branch
}

// A planned is one recorded plan, and the item that has to survive for it to
// apply (PLAN-5).
type planned struct {
	at     Seq
	plan   Plan
	after  *ItemID // nil in the legacy shape (PLAN-7)
	landed bool    // a branch operation put it there
	todo   bool    // the model's own: the result of its call shows it
}

// A stretch is a part of a branch in which nothing was taken back: from its
// first event, or from a branch operation, to the next one. What it began with
// it took over from another.
type stretch struct {
	of    *branch
	start Seq    // the operation, 0 for none
	base  source // where what it began with was recorded
	view  View   // what it began with
	plans []planned
	// staging is what a MapReduce came to in it, nil for none; staged says that
	// it is known here, whatever it took over.
	staging *Staging
	staged  bool
}

// A Label is a revert that can be taken back (BRN-4, BRN-5).
type Label struct {
	Name    string // v1, v2, …
	At      Seq    // the revert
	To      Reference
	Left    Seq  // the head that it left
	Back    Seq  // the newest event that took it back, 0 for none
	Preview Text // a line of what was left, of the event At
	state   Branch
	from    source
}

// A Limb is a branch as the tree of branches shows it (BRW-2).
type Limb struct {
	Name    string
	Parent  string // "" for the first one
	From    Reference
	Purpose string
	Created Seq // 0 for the first one
	Title   Seq // the event that holds it, 0 for none
	Deleted bool
	Head    Seq
	Labels  []Label
	Users   int // user items of its own
	First   Seq // the first of them, 0 for none
}

// Limbs lists all branches, oldest first.
func (f *Fold) Limbs() []Limb {
	out := make([]Limb, 0, len(f.names))
	for _, name := range f.names {
		b := f.branches[name]
		l := b.limb
		l.Name, l.Head, l.Labels = name, b.state.Head, slices.Clone(b.labels)
		out = append(out, l)
	}
	return out
}

// A Span is a part of a file that belongs to a branch: the events that a
// branch recorded from one to another, both included.
type Span struct {
	Branch   string
	From, To Seq
}

// History is what a branch consists of, oldest first: what it took over, and
// its own. What a revert left is no part of it.
func (f *Fold) History(name string) []Span {
	b := f.branches[name]
	if b == nil {
		return nil
	}
	var out []Span
	for at := (source{b.now(), f.head}); at.in != nil; at = at.in.base {
		if at.upTo >= at.in.start {
			out = append(out, Span{at.in.of.state.Name, at.in.start, at.upTo})
		}
	}
	slices.Reverse(out)
	return out
}

// Label finds a revert of a branch by its label.
func (f *Fold) Label(name, label string) (Label, error) {
	b := f.branches[name]
	if b == nil {
		return Label{}, ErrNoBranch
	}
	i := slices.IndexFunc(b.labels, func(l Label) bool { return l.Name == label })
	if i < 0 {
		return Label{}, ErrNoLabel
	}
	return b.labels[i], nil
}

// NextLabel is the label of the next revert of a branch.
func (f *Fold) NextLabel(name string) string {
	if b := f.branches[name]; b != nil {
		return fmt.Sprintf("v%d", len(b.labels)+1)
	}
	return "v1"
}

// idle closes what a branch operation closes (BRN-10), and holds what waits.
func idle(s Branch) Branch {
	s.Turn, s.Asked, s.Compaction, s.Deferred = nil, nil, nil, false
	s.Queue = slices.Clone(s.Queue)
	for i := range s.Queue {
		s.Queue[i].Held = true
	}
	return s
}

// land moves a branch to a selected state: what [Fields] says that moves. The
// next request begins anew.
func (f *Fold) land(b *branch, to Branch, from source, e Entry) {
	was := b.state
	to.Name, to.Head, to.Last, to.Run, to.ReadOnly = was.Name, e.Seq, was.Last, was.Run, was.ReadOnly
	if was.Sent.Seq != 0 {
		to.Sent = was.Sent
	}
	to.View.table = f.table
	b.state = to
	b.state.cut("branch", ItemID{})
	b.parts = append(b.parts, &stretch{
		of: b, start: e.Seq, base: from, view: to.View, staging: to.Staging, staged: true, plans: []planned{{at: e.Seq, plan: to.Plan, landed: true}},
	})
	f.keep(b, e.Seq+1)
}

// keep marks the state of now as that behind all events before at.
func (f *Fold) keep(b *branch, at Seq) { b.marks = append(b.marks, mark{at, b.state}) }

func (f *Fold) applyBranch(b *branch, e Entry) {
	switch ev := e.Event.(type) {
	case BranchCreated:
		f.create(b, e, ev)
	case BranchRenamed:
		b.limb.Title = e.Seq
	case BranchDeleted:
		b.limb.Deleted, b.state.ReadOnly, b.state.Turn = true, e.Type, nil
	case BranchReverted:
		to, from, err := f.choose(ev.To)
		if err != nil {
			b.state.ReadOnly = e.Type // the view would be a guess
			return
		}
		f.planOf(&to, ev.Plan)
		b.labels = append(b.labels, Label{Name: ev.Label, At: e.Seq, To: ev.To, Left: ev.Left, Preview: ev.Preview, state: idle(b.state), from: source{b.now(), e.Seq - 1}})
		f.land(b, to, from, e)
	case BranchRolledBack:
		i := slices.IndexFunc(b.labels, func(l Label) bool { return l.Name == ev.Label && l.Left == ev.To })
		if i < 0 {
			b.state.ReadOnly = e.Type
			return
		}
		b.labels[i].Back = e.Seq
		f.land(b, b.labels[i].state, b.labels[i].from, e)
	}
}

func (f *Fold) create(b *branch, e Entry, ev BranchCreated) {
	if b.limb.Created != 0 || len(b.list) > 0 || ev.From.Branch == e.Branch {
		return // it is there already
	}
	to, from, err := f.choose(ev.From)
	b.limb = Limb{Parent: ev.From.Branch, From: ev.From, Purpose: ev.Purpose, Created: e.Seq}
	if err != nil {
		b.state.ReadOnly = e.Type
		return
	}
	to.Queue = nil // what waits there is sent there
	if p := f.branches[ev.From.Branch]; p != nil {
		b.mine = mine{settings: p.mine.settings, configured: p.mine.configured, mode: p.mine.settings.PermissionMode}
	}
	f.planOf(&to, ev.Plan)
	f.land(b, to, from, e)
}

// planOf puts the plan into a state that a branch operation names, where it
// was recorded.
func (f *Fold) planOf(s *Branch, q Seq) {
	if q == s.Plan.At {
		return
	}
	s.Plan = Plan{}
	for _, name := range f.names {
		for _, in := range f.branches[name].parts {
			for _, p := range in.plans {
				if q != 0 && p.plan.At == q && !p.landed {
					s.Plan = p.plan
					f.showsPlan(s)
				}
			}
		}
	}
}
