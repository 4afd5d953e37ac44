package session

import (
	"slices"
	"sort"
)

// An ItemKind says what a context item is (CTX-1).
type ItemKind string

// The kinds of items.
const (
	UserItem        ItemKind = "user"
	ShellItem       ItemKind = "shell"
	AssistantItem   ItemKind = "assistant"
	ReasoningItem   ItemKind = "reasoning"
	CallItem        ItemKind = "tool_call"
	ResultItem      ItemKind = "tool_result"
	InstructionItem ItemKind = "instruction"
	CatalogItem     ItemKind = "catalog"
	PlanKind        ItemKind = "plan"
	CheckpointItem  ItemKind = "checkpoint"
	NativeItem      ItemKind = "native"
)

// A Source says whose words an item holds.
type Source string

// The sources.
const (
	FromUser     Source = "user"
	FromSteering Source = "steering"
	FromModel    Source = "model"
	FromTool     Source = "tool"
	FromRuntime  Source = "runtime"
)

// An Item is one whole piece of context, as facts. Its text is body entry
// Text.B of the event At, which is its own event until it is replaced.
type Item struct {
	ID     ItemID
	Kind   ItemKind
	Source Source
	At     Seq
	Text   Text
	Tokens Tokens
	Turn   Seq    // the turn it belongs to, 0 for none
	Call   ItemID // of a result: the call it answers
	CallID string // of a call: the provider's id
	Name   string // of a call: the tool
	Key    string // of an instruction or catalog
	Media  []Media
	Model  Model  // of a part of a reply: who said it
	Marked string // "interrupted": kept of a reply that was cut short
	Failed bool   // of a result: it is an error
	Masked *Item  // of a masked result: what it was before
}

// A View is what the next request will carry, apart from tools: instructions
// by key, then the checkpoint, then items in recorded order (CTX-4). It is a
// value that later events never change.
type View struct {
	table        table
	spans        []span   // in recorded order
	instructions []Item   // by key
	edited       []Item   // masked and replaced items, by id
	removed      []ItemID // in order
	checkpoint   *Item
	covered      []Range // in order, none in another
	tokens       int     // of everything in it
}

// Tokens is the sum of the sizes of all items in the view, as they were
// recorded.
func (v View) Tokens() int { return v.tokens }

// Len counts the recorded items of the view, covered ones included.
func (v View) Len() int {
	n := len(v.instructions)
	for _, s := range v.spans {
		n += len(s.at)
	}
	return n
}

// Shown is how many recorded items are not covered. It looks at few of them.
func (v View) Shown() int {
	n := 0
	for _, s := range v.spans {
		n += len(s.at)
		for _, r := range v.covered {
			n -= s.before(&v, r.To, true) - s.before(&v, r.From, false)
		}
	}
	return n
}

// before is how many items of the span were introduced before id, or with it.
func (s span) before(v *View, id ItemID, with bool) int {
	return sort.Search(len(s.at), func(i int) bool {
		c := v.table.ref(int(s.at[i])).ID.Compare(id)
		return c > 0 || c == 0 && !with
	})
}

// All visits the items in the order in which they are sent. A result stands
// at its call's place, and what was recorded while a group of calls was open
// stands after the group.
func (v View) All(yield func(Item) bool) {
	v.Refs(func(it *Item) bool { return yield(*it) })
}

// Refs is All without copies. Nobody writes what it points to.
func (v View) Refs(yield func(*Item) bool) {
	for i := range v.instructions {
		if !yield(&v.instructions[i]) {
			return
		}
	}
	if v.checkpoint != nil && !yield(v.checkpoint) {
		return
	}
	var g group
	for _, span := range v.spans {
		for _, i := range span.at {
			if it, ok := v.resolve(v.table.ref(int(i))); ok && !g.add(it, yield) {
				return
			}
		}
	}
	g.flush(yield)
}

// Recorded visits every recorded item of the view, in recorded order, with
// whether it is shown: it is not covered by the checkpoint. What was removed
// is left out, edits are applied. Nobody writes what it points to.
func (v View) Recorded(yield func(it *Item, shown bool) bool) {
	for _, span := range v.spans {
		for _, i := range span.at {
			it, ok := v.changed(v.table.ref(int(i)))
			if ok && !yield(it, !Within(v.covered, it.ID)) {
				return
			}
		}
	}
}

// Find is a recorded item of the view by its id, covered ones included, with
// edits applied. What was removed or is of another branch is none.
func (v View) Find(id ItemID) (Item, bool) {
	for _, s := range v.spans {
		if i := s.before(&v, id, false); i < len(s.at) {
			if it := v.table.ref(int(s.at[i])); it.ID == id {
				it, ok := v.changed(it)
				return *it, ok
			}
		}
	}
	return Item{}, false
}

// Checkpoint is the checkpoint item that stands for what is covered.
func (v View) Checkpoint() (Item, bool) {
	if v.checkpoint == nil {
		return Item{}, false
	}
	return *v.checkpoint, true
}

// Covered are the ranges that the checkpoint stands for, in order. Nobody
// writes them.
func (v View) Covered() []Range { return v.covered }

// Masked reports whether an item of ranges, in order, that is not covered is
// masked.
func (v View) Masked(ranges []Range) bool {
	return slices.ContainsFunc(v.edited, func(it Item) bool {
		return it.Masked != nil && Within(ranges, it.ID) && !Within(v.covered, it.ID)
	})
}

// resolve applies coverage, removals and edits to a recorded item.
func (v *View) resolve(it *Item) (*Item, bool) {
	if Within(v.covered, it.ID) {
		return it, false
	}
	return v.changed(it)
}

// changed applies removals and edits.
func (v *View) changed(it *Item) (*Item, bool) {
	if len(v.removed) > 0 {
		if _, ok := slices.BinarySearchFunc(v.removed, it.ID, ItemID.Compare); ok {
			return it, false
		}
	}
	if len(v.edited) > 0 {
		if i, ok := v.edit(it.ID); ok {
			return &v.edited[i], true
		}
	}
	return it, true
}

// edit is where the edit of an item stands, or would.
func (v *View) edit(id ItemID) (int, bool) {
	return slices.BinarySearchFunc(v.edited, id, func(e Item, id ItemID) int { return e.ID.Compare(id) })
}

// A group holds back what follows a reply with calls until each call has its
// result: the results stand next to their reply, in call order.
type group struct {
	parts   []*Item // of the reply, from its first call on
	results []*Item // by part, nil where there is none
	late    []*Item // recorded meanwhile
	missing int
}

func (g *group) add(it *Item, yield func(*Item) bool) bool {
	switch {
	case it.Kind == ResultItem:
		// One that no call waits for is no part of the view (PRV-4).
		for i, p := range g.parts {
			if p.Kind == CallItem && p.ID == it.Call && g.results[i] == nil {
				g.results[i] = it
				g.missing--
			}
		}
		if g.missing == 0 {
			return g.flush(yield)
		}
		return true
	case len(g.parts) == 0 && it.Kind == CallItem, len(g.parts) > 0 && g.parts[0].ID.Seq == it.ID.Seq:
		g.parts = append(g.parts, it)
		g.results = append(g.results, nil)
		if it.Kind == CallItem {
			g.missing++
		}
		return true
	case len(g.parts) == 0:
		return yield(it)
	case waits(it.Kind):
		g.late = append(g.late, it)
		return true
	}
	// Another reply: the group stays without some results, which the adapter
	// closes before it sends (PRV-4).
	return g.flush(yield) && g.add(it, yield)
}

// waits reports whether an item that is recorded while a group of calls is
// open stands after the group.
func waits(k ItemKind) bool {
	return k == UserItem || k == ShellItem || k == PlanKind || k == CatalogItem
}

func (g *group) flush(yield func(*Item) bool) bool {
	for _, held := range [][]*Item{g.parts, g.results, g.late} {
		for _, it := range held {
			if it != nil && !yield(it) {
				return false
			}
		}
	}
	g.parts, g.results, g.late, g.missing = g.parts[:0], g.results[:0], g.late[:0], 0
	return true
}

// shows reports whether All will visit an item that is recorded behind those
// of the view: a result only where a call of the last group waits for it.
func (v View) shows(it Item) bool {
	if _, ok := v.resolve(&it); !ok || it.Kind != ResultItem {
		return ok
	}
	for n := len(v.spans) - 1; n >= 0; n-- {
		for i := len(v.spans[n].at) - 1; i >= 0; i-- {
			o, ok := v.resolve(v.table.ref(int(v.spans[n].at[i])))
			switch {
			case !ok || waits(o.Kind) || o.Kind == ResultItem && o.Call != it.Call:
			case o.ID == it.Call:
				return o.Kind == CallItem
			case o.ID.Seq != it.Call.Seq || o.Kind == ResultItem:
				return false
			}
		}
	}
	return false
}

// with returns the view with the last element of b's list behind the others.
func (v View) with(t table, b *branch) View {
	v.table = t
	if it := t.at(int(b.list[len(b.list)-1])); v.shows(it) {
		v.tokens += it.Tokens.N
	}
	n, end := len(v.spans), len(b.list)
	if n > 0 && v.spans[n-1].of == b && v.spans[n-1].from+len(v.spans[n-1].at) == end-1 {
		v.spans = append([]span(nil), v.spans...)
		v.spans[n-1].at = b.list[v.spans[n-1].from:end:end]
	} else {
		v.spans = append(v.spans[:n:n], span{of: b, from: end - 1, at: b.list[end-1 : end : end]})
	}
	return v
}

// A span is a run of a branch's own items, in recorded order. Its slice is
// never written again, so a kept view stays what it was.
type span struct {
	of   *branch
	from int     // where at begins in the branch's list
	at   []int32 // table indexes
}
