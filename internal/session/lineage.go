package session

import "slices"

// A Lineage is what one branch needs of the events of its session: its own
// events, those too that a revert left, and of the branches it began from what
// it took over. Folded alone they make the same view, plan and queue (BRN-9).
type Lineage struct {
	Branch string
	reach  map[string]Seq // the last event that counts, by branch
	late   []Seq          // results behind it, of calls before it
	began  map[string]source
}

// Lineage returns what a branch needs. A branch that was deleted is refused.
func (f *Fold) Lineage(name string) (Lineage, error) {
	b := f.branches[name]
	switch {
	case b == nil:
		return Lineage{}, ErrNoBranch
	case b.limb.Deleted:
		return Lineage{}, ErrDeleted
	}
	l := Lineage{Branch: name, reach: map[string]Seq{}, began: map[string]source{}}
	l.take(b, f.head)
	for _, name := range f.names {
		to, of := l.reach[name], f.branches[name]
		if to == 0 {
			continue
		}
		i, _ := f.own(of, to+1)
		for _, at := range of.list[i:] {
			if it := f.table.at(int(at)); it.Kind == ResultItem && it.Call.Seq <= to && of.during(it.ID.Seq) == of.during(to) {
				l.late = append(append(l.late, it.ID.Seq), of.plansOf(it.Call)...)
			}
		}
	}
	return l, nil
}

// plansOf are the plans that a call has made.
func (b *branch) plansOf(call ItemID) []Seq {
	var out []Seq
	for _, in := range b.parts {
		for _, p := range in.plans {
			if p.todo && p.after != nil && *p.after == call {
				out = append(out, p.at)
			}
		}
	}
	return out
}

// take notes that a branch counts up to an event, and what it began from until
// then.
func (l *Lineage) take(b *branch, upTo Seq) {
	if l.reach[b.state.Name] >= upTo {
		return
	}
	l.reach[b.state.Name] = upTo
	for _, in := range b.parts {
		if in.start > upTo {
			break
		}
		if in.start == b.limb.Created {
			l.began[b.state.Name] = in.base
		}
		if in.base.in != nil && in.base.in.of != b {
			l.take(in.base.in.of, in.base.upTo)
		}
	}
}

// Holds reports whether an event belongs to the lineage. Titles and what was
// learned of windows and endpoints are the session's, whoever recorded them.
// What says where bytes stand in this very file belongs to no other.
func (l Lineage) Holds(e Entry) bool {
	to, mine := l.reach[e.Branch]
	switch e.Event.(type) {
	case LogRepaired, ContentCarried, SessionExported:
		return false
	case SessionCreated, SessionRenamed, WindowLearned, EndpointLearned:
		return true
	case BranchRenamed, BranchDeleted:
		return mine
	}
	return mine && (e.Seq <= to || slices.Contains(l.late, e.Seq))
}

// Anew returns a branch's creation that names its beginning by events that the
// lineage holds, where the recorded one does not: "before X" names X, which
// stays behind.
func (l Lineage) Anew(e Entry) (BranchCreated, bool) {
	ev, ok := e.Event.(BranchCreated)
	to, there := l.reach[ev.From.Branch]
	if !ok || there && ev.From.Seq <= to {
		return ev, false
	}
	from := l.began[e.Branch]
	switch {
	case from.in == nil:
		ev.From = Reference{Branch: MainBranch, Seq: 1, Select: "empty"}
	case ev.From.Select == "through":
		ev.From.Branch = from.in.of.state.Name
	default:
		ev.From = Reference{Branch: from.in.of.state.Name, Seq: from.upTo, Select: "head"}
	}
	return ev, true
}
