package session

import (
	"iter"
	"sort"
)

// Grew reports whether a view is an older one with items behind it, and
// nothing of the older one was changed. It looks at no item.
func (v View) Grew(old View) bool {
	if v.checkpoint != old.checkpoint || !one(v.instructions, old.instructions) || !one(v.edited, old.edited) ||
		!one(v.removed, old.removed) || !one(v.covered, old.covered) || len(v.spans) < len(old.spans) {
		return false
	}
	for i, was := range old.spans {
		now := v.spans[i]
		if now.of != was.of || now.from != was.from || len(now.at) < len(was.at) || len(now.at) > len(was.at) && i < len(old.spans)-1 {
			return false
		}
	}
	return true
}

// one reports whether two slices are the same memory. What a view points to is
// never written again.
func one[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// From visits what All visits from an item on: the first one of a reply, or one
// that is no part of a reply. What comes before is not looked at.
func (v View) From(id ItemID) iter.Seq[Item] {
	return func(yield func(Item) bool) {
		var g group
		copied := func(it *Item) bool { return yield(*it) }
		for _, span := range v.spans {
			if len(span.at) == 0 || v.table.at(int(span.at[len(span.at)-1])).ID.Before(id) {
				continue
			}
			n := sort.Search(len(span.at), func(i int) bool { return !v.table.at(int(span.at[i])).ID.Before(id) })
			for _, i := range span.at[n:] {
				if it, ok := v.resolve(v.table.ref(int(i))); ok && !g.add(it, copied) {
					return
				}
			}
		}
		g.flush(copied)
	}
}
