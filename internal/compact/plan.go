package compact

import (
	"cmp"
	"slices"

	"varve/internal/session"
)

// A Cut is what a compaction covers.
type Cut struct {
	Ranges   []session.Range // of the branch's own lineage, those of the checkpoint before included
	Source   string          // their fingerprint, see [session.Fingerprint]
	Items    []session.Item  // the source, in order; an older checkpoint comes first
	Covers   int             // tokens of Items, as recorded
	Replaces session.ItemID  // the checkpoint before, zero for none
	Kept     int             // tokens that stay beside the handoff: tools, instructions, tail, plan
}

// A Reach says how much of a history is covered.
type Reach int

// The reaches. Unanswered input is never covered by any of them (CMP-5).
const (
	Older     Reach = iota // what is older than the tail and the two newest exchanges (CMP-4)
	Responded              // all that was responded to: by hand, or where a request is too long once more (CMP-9, CMP-14)
)

// An atom is what is never separated: a reply with the results of its calls,
// or another item.
type atom struct {
	items   []session.Item
	tokens  int
	settled session.Seq // the turn that it opens, where that has ended
	keep    bool        // never covered
}

// Plan cuts the history of a view. It reports false where there is nothing to
// cover.
func Plan(s session.State, b Budget, reach Reach) (Cut, bool) {
	all, fixed := atoms(s)
	cut := len(all)
	if reach == Older {
		cut = tail(all, b.Tail)
		if cut < len(all) {
			cut = exchanges(all, cut, fixed, b)
		}
	}
	c := Cut{Kept: fixed}
	if old, ok := s.Branch.View.Checkpoint(); ok {
		c.Items, c.Covers, c.Replaces = append(c.Items, old), old.Tokens.N, old.ID
	}
	source := map[session.ItemID]bool{}
	for i, a := range all {
		if i >= cut || a.keep {
			c.Kept += a.tokens
			continue
		}
		c.Items = append(c.Items, a.items...)
		c.Covers += a.tokens
		for _, it := range a.items {
			source[it.ID] = true
		}
	}
	if len(source) == 0 {
		return Cut{}, false
	}
	c.Ranges = ranges(s.Branch.View, source)
	c.Source = session.Fingerprint(s.Branch.View, c.Ranges)
	return c, true
}

// atoms are those of the view, in order, and the tokens of what is in every
// request: tools and instructions.
func atoms(s session.State) (all []atom, fixed int) {
	fixed = s.Branch.Tools.Tokens.N
	for _, m := range s.Branch.Tools.More {
		fixed += m.Tokens.N
	}
	running := session.Seq(0)
	if t := s.Branch.Turn; t != nil {
		running = t.ID
	}
	newest := map[string]int{} // catalogs by key
	replied, planned := -1, -1
	for it := range s.Branch.View.All {
		switch {
		case it.Kind == session.InstructionItem:
			fixed += it.Tokens.N
			continue
		case it.Kind == session.CheckpointItem:
			continue
		case len(all) > 0 && together(all[len(all)-1], it):
			a := &all[len(all)-1]
			a.items, a.tokens = append(a.items, it), a.tokens+it.Tokens.N
			continue
		}
		a := atom{items: []session.Item{it}, tokens: it.Tokens.N}
		switch it.Kind {
		case session.UserItem:
			a.keep = running != 0 && it.Turn == running
			if !a.keep && it.Turn == it.ID.Seq {
				a.settled = it.Turn
			}
		case session.PlanKind: // one of a plan that has changed since says what is no longer so (PLAN-8)
			if planned >= 0 {
				all[planned].keep = false
			}
			planned, a.keep = len(all), it.ID.Seq > s.Branch.Plan.At
		case session.CatalogItem:
			if i, ok := newest[it.Key]; ok {
				all[i].keep = false
			}
			newest[it.Key], a.keep = len(all), true
		default:
			if ofReply(it.Kind) {
				replied = len(all)
			}
		}
		all = append(all, a)
	}
	for i, a := range all {
		switch {
		case i > replied && a.items[0].Kind == session.ShellItem:
			all[i].keep = true // nobody has responded to it
		case !whole(a):
			all[i].keep = true
		}
	}
	return all, fixed
}

func ofReply(k session.ItemKind) bool {
	switch k {
	case session.AssistantItem, session.ReasoningItem, session.CallItem, session.NativeItem:
		return true
	}
	return false
}

func together(a atom, it session.Item) bool {
	first := a.items[0]
	switch {
	case !ofReply(first.Kind):
		return false
	case it.Kind == session.ResultItem:
		return it.Call.Seq == first.ID.Seq
	}
	return ofReply(it.Kind) && it.ID.Seq == first.ID.Seq
}

// whole reports whether each call of an atom has its result.
func whole(a atom) bool {
	calls := 0
	for _, it := range a.items {
		switch it.Kind {
		case session.CallItem:
			calls++
		case session.ResultItem:
			calls--
		}
	}
	return calls <= 0
}

// tail is where the raw tail of at most n tokens begins. A reply whose results
// lie in it is in it whole; where that alone is more than n, or the newest
// atom is, there is none (CMP-4).
func tail(all []atom, n int) int {
	sum := 0
	for i := len(all) - 1; i >= 0; i-- {
		a := all[i]
		if sum+a.tokens <= n {
			sum += a.tokens
			continue
		}
		last := a.items[len(a.items)-1]
		reaches := len(a.items) > 1 && sum+last.Tokens.N <= n
		switch {
		case a.tokens > n && (reaches || sum == 0):
			return len(all)
		case reaches:
			return i
		}
		return i + 1
	}
	return 0
}

// exchanges moves the cut before the two newest settled exchanges, while tail,
// plan and fixed cost stay under half the trigger.
func exchanges(all []atom, cut, fixed int, b Budget) int {
	half := b.Trigger
	if half == 0 {
		half = unknown / 5 * 4
	}
	half /= 2
	begin := len(all)
	for range 2 {
		begin--
		for begin >= 0 && all[begin].settled == 0 {
			begin--
		}
		if begin < 0 {
			break
		}
		size := fixed
		for i, a := range all {
			if i >= begin || a.keep {
				size += a.tokens
			}
		}
		if size >= half {
			break
		}
		cut = min(cut, begin)
	}
	return cut
}

// ranges are runs of source items in recorded order. What an older checkpoint
// covers goes on being covered; what stays in the view ends a run.
func ranges(v session.View, source map[session.ItemID]bool) []session.Range {
	var out []session.Range
	open := false
	for it, shown := range v.Recorded {
		switch {
		case shown && !source[it.ID]:
			open = false
		case open:
			out[len(out)-1].To = it.ID
		default:
			out, open = append(out, session.Range{From: it.ID, To: it.ID}), true
		}
	}
	return sorted(out)
}

func sorted(out []session.Range) []session.Range {
	slices.SortFunc(out, func(a, b session.Range) int {
		return cmp.Or(cmp.Compare(a.From.Seq, b.From.Seq), cmp.Compare(a.From.Part, b.From.Part))
	})
	return out
}
