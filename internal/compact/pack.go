package compact

import (
	"slices"

	"varve/internal/session"
)

// Pack groups whole items in order (MR-2). The target is soft: what does not
// fit the rest of a group goes whole to the next, and what is larger than the
// target is a group of its own. Calls stay with their results.
func Pack(items []session.Item, target int) [][]session.Item {
	var all atoms
	for i := range items {
		all.add(&items[i], i)
	}
	return group(items, all, target)
}

func group(items []session.Item, all atoms, target int) [][]session.Item {
	var out [][]session.Item
	from, room := 0, 0
	for i, a := range all {
		if i == 0 || a.tokens > room {
			out, from, room = append(out, nil), a.from, target
		}
		out[len(out)-1] = items[from:a.to:a.to]
		room -= a.tokens
	}
	return out
}

// Repack makes smaller groups of what is missing, of at most target tokens,
// and reports whether it could: with a single item in each group there is no
// boundary left (MR-4). A reply that is larger than the target is divided
// between its items.
func Repack(groups [][]session.Item, target int) ([][]session.Item, bool) {
	var out [][]session.Item
	smaller := false
	for _, g := range groups {
		var parts [][]session.Item
		for _, p := range Pack(g, target) {
			var each atoms
			n := 0
			for i := range p {
				each = append(each, atom{from: i, to: i + 1, tokens: p[i].Tokens.N})
				n += p[i].Tokens.N
			}
			if n > target {
				parts = append(parts, group(p, each, target)...)
			} else {
				parts = append(parts, p)
			}
		}
		if len(parts) == 1 && len(g) > 1 { // together they are small, and were too much
			parts = [][]session.Item{g[:len(g)/2], g[len(g)/2:]}
		}
		smaller = smaller || len(parts) > 1
		out = append(out, parts...)
	}
	return out, smaller
}

// Segments names groups: ordinals from first on, exact ranges, a fingerprint
// each.
func Segments(v session.View, groups [][]session.Item, first int) []session.Segment {
	labels := make([]label, 0, v.Shown()+1)
	for it := range v.Refs {
		if it.Kind != session.InstructionItem {
			labels = append(labels, label{it.ID, apart})
		}
	}
	sortLabels(labels)
	out := make([]session.Segment, len(groups))
	for i, g := range groups {
		out[i] = session.Segment{Ordinal: first + i, Tokens: session.Tokens{By: "est"}}
		for _, it := range g {
			out[i].Tokens.N += it.Tokens.N
			at, ok := slices.BinarySearchFunc(labels, it.ID, func(l label, id session.ItemID) int { return l.id.Compare(id) })
			if ok {
				labels[at].in = i
			}
		}
	}
	for i, r := range runs(labels, nil, len(groups)) {
		out[i].Ranges, out[i].Fingerprint = r, session.Fingerprint(v, r)
	}
	return out
}

// ItemsOf are the items of ranges that a view shows, in the order of the view,
// nothing of them masked; the checkpoint is one where ranges hold it.
func ItemsOf(v session.View, ranges []session.Range) []session.Item {
	var at []*session.Item
	for it := range v.Refs {
		if it.Kind != session.InstructionItem && session.Within(ranges, it.ID) {
			at = append(at, unmasked(it))
		}
	}
	out := make([]session.Item, len(at)) // once: items are large
	for i, it := range at {
		out[i] = *it
	}
	return out
}

// unmasked is an item as a summarizer reads it: what the agent has masked, it
// is shown (SUM-10).
func unmasked(it *session.Item) *session.Item {
	if it.Masked != nil {
		return it.Masked
	}
	return it
}

// A label says which run an item belongs to.
type label struct {
	id session.ItemID
	in int
}

// apart is what is in no run, and ends those around it.
const apart = -1

// sortLabels takes few steps for those of a view: results stand with their
// calls, and the rest is in order.
func sortLabels(all []label) {
	for i := range all {
		for k := i; k > 0 && all[k].id.Before(all[k-1].id); k-- {
			all[k], all[k-1] = all[k-1], all[k]
		}
	}
}

// runs are n lists of ranges, in order, of items in recorded order. What is
// covered already is in the first of them.
func runs(labels []label, covered []session.Range, n int) [][]session.Range {
	sortLabels(labels)
	out := make([][]session.Range, n)
	open := apart
	put := func(r session.Range, in int) {
		switch {
		case in == apart:
		case in == open:
			out[in][len(out[in])-1].To = r.To
		default:
			out[in] = append(out[in], r)
		}
		open = in
	}
	for _, l := range labels {
		for len(covered) > 0 && covered[0].From.Before(l.id) {
			put(covered[0], 0)
			covered = covered[1:]
		}
		put(session.Range{From: l.id, To: l.id}, l.in)
	}
	for _, r := range covered {
		put(r, 0)
	}
	return out
}
