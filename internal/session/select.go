package session

import (
	"errors"
	"fmt"
	"slices"
	"sort"
)

// Why a reference selects nothing (BRN-2).
var (
	ErrNoBranch  = errors.New("there is no such branch")
	ErrDeleted   = errors.New("the branch was deleted")
	ErrNoMessage = errors.New("no message of that branch begins there")
	ErrNoLabel   = errors.New("no revert of that branch has this label")
)

// Select returns the state that a reference names, idle: no turn is open in it
// and no input waits, but what waited before a user item. Nothing of it is
// copied; it is a view of the same items.
//
// The message may also stand in a part of the branch that a revert has left. A
// call that is kept keeps its result, and one that is dropped drops it; of
// plans the last one applies whose item survives.
func (f *Fold) Select(ref Reference) (Branch, error) {
	s, _, err := f.choose(ref)
	return s, err
}

// A source is where a selected state is taken from: a stretch, up to an event.
type source struct {
	in   *stretch
	upTo Seq
}

// choose is Select, with the source.
func (f *Fold) choose(ref Reference) (Branch, source, error) {
	b := f.branches[ref.Branch]
	switch {
	case b == nil:
		return Branch{}, source{}, ErrNoBranch
	case b.limb.Deleted:
		return Branch{}, source{}, ErrDeleted
	case ref.Select == "empty":
		return Branch{}, source{}, nil
	case ref.Select == "head" && ref.Seq >= b.state.Head:
		return idle(b.state), source{b.now(), f.head}, nil
	case ref.Select == "head": // the branch has moved on since
		in := b.now()
		for in.start > ref.Seq && in.base.in != nil {
			in = in.base.in
		}
		return f.upTo(in, in.of, ref.Seq, ref.Seq+1), source{in, ref.Seq}, nil
	case ref.Select != "before" && ref.Select != "through":
		return Branch{}, source{}, fmt.Errorf("%w: %q selects nothing", ErrNoMessage, ref.Select)
	}
	in, owner := f.find(b, ref.Seq, ref.Select == "through")
	if in == nil {
		return Branch{}, source{}, ErrNoMessage
	}
	at, _ := f.own(owner, ref.Seq)
	switch f.table.at(int(owner.list[at])).Kind {
	case ResultItem, PlanKind, CatalogItem: // they stand with others, or are ours
		return Branch{}, source{}, ErrNoMessage
	}
	if ref.Select == "before" {
		return f.upTo(in, owner, ref.Seq-1, ref.Seq), source{in, ref.Seq - 1}, nil
	}
	next := f.ends(in, ref.Seq)
	return f.upTo(in, owner, ref.Seq, next), source{in, next - 1}, nil
}

// find returns the stretch in which a branch has a message, and the branch
// that recorded it. A message that is the last one with which a later stretch
// began stands in that one too: what was recorded there next belongs to it.
func (f *Fold) find(b *branch, q Seq, last bool) (*stretch, *branch) {
	for in := b.now(); in != nil; in = in.base.in {
		if q > in.start && in.of.during(q) == in {
			if _, ok := f.own(in.of, q); ok {
				return in, in.of
			}
			break
		}
		if !f.began(in, q) {
			break
		}
		if last && f.newest(in.view) == q {
			for from := in.base.in; from != nil; from = from.base.in {
				if _, ok := f.own(from.of, q); ok {
					return in, from.of
				}
			}
		}
	}
	if _, ok := f.own(b, q); ok { // a revert has left it
		return b.during(q), b
	}
	return nil, nil
}

// now is the stretch that goes on.
func (b *branch) now() *stretch { return b.parts[len(b.parts)-1] }

// during is the stretch that an event of the branch stands in.
func (b *branch) during(q Seq) *stretch {
	for _, in := range slices.Backward(b.parts) {
		if in.start <= q {
			return in
		}
	}
	return nil
}

// began reports whether a stretch began with the items of an event.
func (f *Fold) began(in *stretch, q Seq) bool {
	for _, span := range in.view.spans {
		for _, i := range span.at {
			if f.table.at(int(i)).ID.Seq == q {
				return true
			}
		}
	}
	return false
}

// own is where in its list a branch has the first item of an event.
func (f *Fold) own(b *branch, q Seq) (int, bool) {
	i := sort.Search(len(b.list), func(i int) bool { return f.table.at(int(b.list[i])).ID.Seq >= q })
	return i, i < len(b.list) && f.table.at(int(b.list[i])).ID.Seq == q
}

// ends is where what belongs to a message ends in a stretch: at the next one,
// or with the stretch.
func (f *Fold) ends(in *stretch, q Seq) Seq {
	b, next := in.of, in.of.state.Head+1
	for _, part := range b.parts {
		if part.start > in.start {
			next = part.start
			break
		}
	}
	at, _ := f.own(b, max(q, in.start)+1)
	for _, i := range b.list[at:] {
		if it := f.table.at(int(i)); it.Kind != ResultItem {
			return min(next, it.ID.Seq)
		}
	}
	return next
}

// Newest is the last recorded item of the view, covered or not; zero for none.
// It is the after_item of a plan that is recorded now (PLAN-1).
func (v View) Newest() ItemID {
	if len(v.spans) == 0 {
		return ItemID{}
	}
	at := v.spans[len(v.spans)-1].at
	return v.table.at(int(at[len(at)-1])).ID
}

// newest is the event of the last item of a view that is no result.
func (f *Fold) newest(v View) Seq {
	for _, span := range slices.Backward(v.spans) {
		for _, i := range slices.Backward(span.at) {
			if it := f.table.at(int(i)); it.Kind != ResultItem {
				return it.ID.Seq
			}
		}
	}
	return 0
}

// upTo is the state with all items up to an event that b recorded, and the
// results of the calls among them; its plan is one of the stretch, recorded
// before next.
func (f *Fold) upTo(in *stretch, b *branch, last, next Seq) Branch {
	n := sort.Search(len(b.marks), func(i int) bool { return b.marks[i].at > last+1 })
	s, from := Branch{Name: b.state.Name}, Seq(0)
	if n > 0 {
		s, from = b.marks[n-1].state, b.marks[n-1].at
	}
	waits := len(s.Queue) > 0 && from == last+1
	f.extend(&s, b, from, last)
	f.plan(&s, in, next)
	f.stagingOf(&s, in)
	s = idle(s)
	if !waits {
		s.Queue = nil
	}
	return s
}

// extend adds the items of [from, last] to a kept state, and the results of
// its open calls, whenever they came.
func (f *Fold) extend(s *Branch, b *branch, from, last Seq) {
	i, _ := f.own(b, from)
	calls := map[ItemID]bool{}
	for _, at := range b.list[:i] { // calls of before the mark may have their results behind it
		if it := f.table.at(int(at)); it.Kind == CallItem {
			calls[it.ID] = true
		}
	}
	part, in := &branch{state: Branch{Name: s.Name}}, b.during(last)
	for _, at := range b.list[i:] {
		it := f.table.at(int(at))
		switch {
		case it.Kind == ResultItem && !(calls[it.Call] && (it.ID.Seq <= last || b.during(it.ID.Seq) == in)):
			continue
		case it.Kind != ResultItem && it.ID.Seq > last:
			continue
		case it.Kind == CallItem:
			calls[it.ID] = true
		}
		part.list = append(part.list, at)
		was := s.View.tokens
		s.View = s.View.with(f.table, part)
		s.Size.Since += s.View.tokens - was
	}
}

// plan puts the plan into a selected state that applies there (PLAN-5). One of
// the legacy shape says not behind what it was recorded (PLAN-7).
func (f *Fold) plan(s *Branch, in *stretch, next Seq) {
	kept := map[ItemID]bool{}
	for _, span := range s.View.spans {
		for _, at := range span.at {
			kept[f.table.at(int(at)).ID] = true
		}
	}
	s.Plan = Plan{}
	for ; in != nil; in = in.base.in {
		for _, p := range slices.Backward(in.plans) {
			shown := slices.ContainsFunc(f.copies[p.at], func(id ItemID) bool { return kept[id] })
			if shown || p.at < next && (p.landed || p.after != nil && (p.after.IsZero() || kept[*p.after])) {
				s.Plan = p.plan
				f.showsPlan(s)
				return
			}
		}
	}
}
