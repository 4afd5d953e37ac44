package compact

import "varve/internal/session"

// A Cut is what a compaction covers.
type Cut struct {
	Ranges   []session.Range // of the branch's own lineage, the checkpoint before and those of it included
	Source   string          // their fingerprint, see [session.Fingerprint]
	Covers   int             // tokens of the source, as the view shows them
	Replaces session.ItemID  // the checkpoint before, zero for none
	Kept     int             // tokens that stay beside the handoff: tools, instructions, tail, plan
	view     session.View
}

// Items are the source, see [ItemsOf].
func (c Cut) Items() []session.Item { return ItemsOf(c.view, c.Ranges) }

// A Reach says how much of a history is covered.
type Reach int

// The reaches. Unanswered input is never covered by any of them (CMP-5).
const (
	Older     Reach = iota // what is older than the tail and the two newest exchanges (CMP-4)
	Responded              // all that was responded to: by hand, or where a request is too long once more (CMP-9, CMP-14)
)

// Plan cuts the history of a view. It reports false where there is nothing to
// cover.
func Plan(s session.State, b Budget, reach Reach) (Cut, bool) {
	v := s.Branch.View
	h := historyOf(s)
	cut := len(h.atoms)
	if reach == Older {
		cut = h.tail(b.Tail)
		if cut < len(h.atoms) {
			cut = h.exchanges(cut, b)
		}
	}
	c := Cut{Kept: h.fixed, view: v}
	found := false
	for i := range h.atoms {
		a := &h.atoms[i]
		if a.keep = a.keep || i >= cut; a.keep {
			c.Kept += a.tokens
		} else {
			c.Covers += a.tokens
			found = found || a.first.Kind != session.PlanKind // there is nothing to say of it
		}
	}
	if !found {
		return Cut{}, false
	}
	for i, l := range h.labels {
		h.labels[i].in = 0
		if h.atoms[l.in].keep {
			h.labels[i].in = apart
		}
	}
	if old, ok := v.Checkpoint(); ok {
		c.Covers, c.Replaces = c.Covers+old.Tokens.N, old.ID
		h.labels = append(h.labels, label{old.ID, 0})
	}
	c.Ranges = runs(h.labels, v.Covered(), 1)[0]
	c.Source = session.Fingerprint(v, c.Ranges)
	return c, true
}

// A history is what a view holds besides instructions and checkpoint, in the
// order in which it is sent.
type history struct {
	atoms  atoms
	labels []label // of the items: their atoms
	fixed  int     // tokens of what is in every request: tools and instructions
}

// An atom is what is never separated: a reply with the results of its calls,
// or another item.
type atom struct {
	first    *session.Item
	from, to int // of the items
	calls    int // without a result
	acts     bool
	tokens   int
	last     int  // tokens of its last item
	keep     bool // never covered
	settled  bool // the input of a turn that ended with a final answer
}

type atoms []atom

// add puts item i behind the others.
func (all *atoms) add(it *session.Item, i int) {
	if n := len(*all); n == 0 || !together((*all)[n-1].first, it) {
		*all = append(*all, atom{first: it, from: i})
	}
	a := &(*all)[len(*all)-1]
	a.to, a.tokens, a.last = i+1, a.tokens+it.Tokens.N, it.Tokens.N
	switch it.Kind {
	case session.CallItem:
		a.calls, a.acts = a.calls+1, true
	case session.ResultItem:
		a.calls--
	}
}

func together(first, it *session.Item) bool {
	switch {
	case !ofReply(first.Kind):
		return false
	case it.Kind == session.ResultItem:
		return it.Call.Seq == first.ID.Seq
	}
	return ofReply(it.Kind) && it.ID.Seq == first.ID.Seq
}

func ofReply(k session.ItemKind) bool {
	switch k {
	case session.AssistantItem, session.ReasoningItem, session.CallItem, session.NativeItem:
		return true
	}
	return false
}

func historyOf(s session.State) history {
	n := s.Branch.View.Shown()
	h := history{atoms: make(atoms, 0, n/2+1), labels: make([]label, 0, n+1)}
	h.fixed = s.Branch.Tools.Tokens.N
	for _, m := range s.Branch.Tools.More {
		h.fixed += m.Tokens.N
	}
	for it := range s.Branch.View.Refs {
		switch it.Kind {
		case session.InstructionItem:
			h.fixed += it.Tokens.N
		case session.CheckpointItem:
		default:
			h.atoms.add(it, len(h.labels))
			h.labels = append(h.labels, label{it.ID, len(h.atoms) - 1})
		}
	}
	h.mark(s.Branch)
	return h
}

// mark finds what is never covered (CMP-5), and the settled exchanges.
func (h *history) mark(b session.Branch) {
	opener, said, replied, planned := -1, -1, -1, -1
	catalogs := map[string]int{} // the newest, by key
	for i := range h.atoms {
		a := &h.atoms[i]
		first := a.first
		switch first.Kind {
		case session.UserItem:
			if said = i; first.Turn == first.ID.Seq {
				opener = i
			}
		case session.PlanKind: // one of a plan that has changed since says what is no longer so (PLAN-8)
			if planned >= 0 {
				h.atoms[planned].keep = false
			}
			planned, a.keep = i, first.ID.Seq > b.Plan.At
		case session.CatalogItem:
			if old, ok := catalogs[first.Key]; ok {
				h.atoms[old].keep = false
			}
			catalogs[first.Key], a.keep = i, true
		default:
			if !ofReply(first.Kind) {
				break
			}
			replied = i
			a.keep = a.calls > 0
			if opener >= 0 && first.Turn == h.atoms[opener].first.Turn {
				h.atoms[opener].settled = !a.acts && first.Marked == ""
			}
		}
	}
	open := session.Seq(0)
	switch {
	case b.Turn != nil:
		open = b.Turn.ID
	case said > replied && h.atoms[said].first.Turn != b.Last.Turn:
		open = h.atoms[said].first.Turn // a selection ends in it: nobody has responded
	}
	for i := range h.atoms {
		a := &h.atoms[i]
		switch first := a.first; {
		case first.Kind == session.UserItem && open != 0 && first.Turn == open:
			a.keep, a.settled = true, false
		case i > replied && (first.Kind == session.ShellItem || first.Kind == session.UserItem): // nobody has responded to it
			a.keep, a.settled = true, false
		}
	}
}

// tail is where the raw tail of at most n tokens begins. A reply whose results
// lie in it is in it whole; where that alone is more than n, or the newest
// atom is, there is none (CMP-4).
func (h *history) tail(n int) int {
	sum := 0
	for i := len(h.atoms) - 1; i >= 0; i-- {
		a := h.atoms[i]
		if sum+a.tokens <= n {
			sum += a.tokens
			continue
		}
		reaches := a.to-a.from > 1 && sum+a.last <= n
		switch {
		case a.tokens > n && (reaches || sum == 0):
			return len(h.atoms)
		case reaches:
			return i
		}
		return i + 1
	}
	return 0
}

// exchanges moves the cut before the two newest settled exchanges, while tail,
// plan and fixed cost stay under half the trigger.
func (h *history) exchanges(cut int, b Budget) int {
	half := b.Trigger
	if half == 0 {
		half = unknown * 4 / 5
	}
	half /= 2
	size := h.fixed
	for _, a := range h.atoms {
		if a.keep {
			size += a.tokens
		}
	}
	found := 0
	for i := len(h.atoms) - 1; i >= 0 && found < 2; i-- {
		if !h.atoms[i].keep {
			size += h.atoms[i].tokens
		}
		if size >= half {
			break
		}
		if h.atoms[i].settled {
			cut, found = min(cut, i), found+1
		}
	}
	return cut
}
