package session

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"sort"
)

// Fingerprint is a hash over the items of ranges, in order, as a view shows
// them, the checkpoint included: another item, another text of one, or one that
// is not shown makes it another. An item is recorded once, so its id and what
// was put in its place say what it holds.
func Fingerprint(v View, ranges []Range) string {
	var b []byte
	last := Seq(0)
	put := func(it *Item) {
		b = appendUvarint(b, uint64(it.ID.Seq-last))
		last = it.ID.Seq
		own := uint64(1)
		if it.At != it.ID.Seq {
			own = 0
		}
		if b = appendUvarint(b, uint64(it.ID.Part)<<1|own); own == 0 {
			b = appendUvarint(appendUvarint(b, uint64(it.At)), uint64(it.Text.B))
		}
	}
	if c := v.checkpoint; c != nil && Within(ranges, c.ID) {
		put(c)
	}
	for _, span := range v.spans {
		for _, r := range ranges {
			from := span.before(&v, r.From, false)
			for _, i := range span.at[from:max(from, span.before(&v, r.To, true))] {
				if it, ok := v.resolve(v.table.ref(int(i))); ok {
					put(it)
				}
			}
		}
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

func appendUvarint(b []byte, x uint64) []byte {
	for ; x >= 0x80; x >>= 7 {
		b = append(b, byte(x)|0x80)
	}
	return append(b, byte(x))
}

// Within reports whether ranges, in order, hold an item.
func Within(ranges []Range, id ItemID) bool {
	i := sort.Search(len(ranges), func(i int) bool { return !ranges[i].To.Before(id) })
	return i < len(ranges) && !id.Before(ranges[i].From)
}

// inOrder are the same ranges in order, those that meet joined and those that
// end before they begin left out: what [Within] relies on, whatever a log says.
func inOrder(ranges []Range) []Range {
	var out []Range
	all := slices.Clone(ranges)
	slices.SortFunc(all, func(a, b Range) int { return a.From.Compare(b.From) })
	for _, r := range all {
		switch n := len(out); {
		case r.To.Before(r.From):
		case n > 0 && !out[n-1].To.Before(r.From):
			if out[n-1].To.Before(r.To) {
				out[n-1].To = r.To
			}
		default:
			out = append(out, r)
		}
	}
	return out
}
