package jsonl

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"slices"
)

// Repair appends an event of Options.Repaired for each piece of Damage, for what
// broke off at the end, and for what also lists besides: damage that only Verify
// sees. No earlier byte changes (LOG-3, LOG-7). The events go to Options.Visit.
//
// It returns what they name, in file order; nothing, where the file is whole.
// also is refused with ErrChanged where its bytes are not there any more.
func (f *File) Repair(ctx context.Context, also ...Damage) (named []Damage, err error) {
	told := func(ds []Damage) {
		named = slices.SortedFunc(slices.Values(ds), func(a, b Damage) int { return cmp.Compare(a.From, b.From) })
	}
	_, err = f.commit(ctx, func() (batch, error) {
		f.mu.Lock()
		leading, open, trailing := f.split()
		b := batch{repairs: slices.Concat(leading, open), trailing: slices.Clone(trailing), told: told}
		forgiven := slices.Clone(f.forgiven)
		f.mu.Unlock()
		for _, d := range slices.Concat(b.repairs, trailing) {
			forgiven = append(forgiven, span{d.From, d.To})
		}
		for _, d := range also {
			if slices.ContainsFunc(forgiven, func(s span) bool { return s.covers(d) }) {
				continue
			}
			h, err := f.hash(d.From, d.To)
			if err == nil && hex.EncodeToString(h[:]) != d.SHA256 {
				err = fmt.Errorf("repair %s: %w: bytes %d to %d are others now: try again", f.path, ErrChanged, d.From, d.To)
			}
			if err != nil {
				return batch{}, err
			}
			b.repairs = append(b.repairs, d)
		}
		return b, nil
	})
	return named, err
}
