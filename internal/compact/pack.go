package compact

import "varve/internal/session"

// Pack groups whole items in order (MR-2). The target is soft: what does not
// fit the rest of a group goes whole to the next, and what is larger than the
// target is a group of its own. Calls stay with their results.
func Pack(items []session.Item, target int) [][]session.Item {
	var units []atom
	for _, it := range items {
		if n := len(units); n > 0 && together(units[n-1], it) {
			units[n-1].items = append(units[n-1].items, it)
			units[n-1].tokens += it.Tokens.N
			continue
		}
		units = append(units, atom{items: []session.Item{it}, tokens: it.Tokens.N})
	}
	return group(units, target)
}

func group(units []atom, target int) [][]session.Item {
	var out [][]session.Item
	room := 0
	for _, u := range units {
		if len(out) == 0 || u.tokens > room {
			out, room = append(out, nil), target
		}
		out[len(out)-1] = append(out[len(out)-1], u.items...)
		room -= u.tokens
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
		parts := Pack(g, target)
		if len(parts) == 1 && len(g) > 1 {
			units := make([]atom, len(g))
			for i, it := range g {
				units[i] = atom{items: []session.Item{it}, tokens: it.Tokens.N}
			}
			if parts = group(units, target); len(parts) == 1 { // together they are small, and were too much
				parts = [][]session.Item{g[:len(g)/2], g[len(g)/2:]}
			}
		}
		smaller = smaller || len(parts) > 1
		out = append(out, parts...)
	}
	return out, smaller
}

// Segments names groups: ordinals from first on, exact ranges, a fingerprint
// each.
func Segments(v session.View, groups [][]session.Item, first int) []session.Segment {
	out := make([]session.Segment, len(groups))
	for i, g := range groups {
		s := session.Segment{Ordinal: first + i, Ranges: runs(v, g), Tokens: session.Tokens{By: "est"}}
		for _, it := range g {
			s.Tokens.N += it.Tokens.N
		}
		s.Fingerprint = session.Fingerprint(v, s.Ranges)
		out[i] = s
	}
	return out
}

// ItemsOf are the items of ranges that a view shows, in the order of the view.
func ItemsOf(v session.View, ranges []session.Range) []session.Item {
	var out []session.Item
	for it := range v.All {
		if it.Kind != session.InstructionItem && session.Within(ranges, it.ID) {
			out = append(out, it)
		}
	}
	return out
}

// runs are ranges that hold the items of a group and nothing else that is
// shown.
func runs(v session.View, items []session.Item) []session.Range {
	in := make(map[session.ItemID]bool, len(items))
	var out []session.Range
	for _, it := range items {
		if it.Kind == session.CheckpointItem {
			out = append(out, session.Range{From: it.ID, To: it.ID})
		} else {
			in[it.ID] = true
		}
	}
	open := false
	for it, shown := range v.Recorded {
		switch {
		case !shown:
		case !in[it.ID]:
			open = false
		case open:
			out[len(out)-1].To = it.ID
		default:
			out, open = append(out, session.Range{From: it.ID, To: it.ID}), true
		}
	}
	return sorted(out)
}
