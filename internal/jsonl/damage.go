package jsonl

import (
	"encoding/hex"
	"fmt"
	"slices"
)

// A span is a range of bytes that a repair has accounted for.
type span struct{ from, to int64 }

func (s span) covers(d Damage) bool { return d.From >= s.from && d.To <= s.to }

// Damage is what was found so far and is not repaired, in file order. Not in it
// is what a crash leaves and the next append accounts for: lines that broke off
// at the very end with no event after them, or before the event with seq 1.
func (f *File) Damage() []Damage {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, open, _ := f.split()
	return slices.Clone(open)
}

// split parts the damage: torn lines at the start and at the end, that the next
// append repairs, and between them what must be repaired on request. Lines at the
// start are ours to repair only if seq 1 came again after them. It needs mu.
func (f *File) split() (leading, open, trailing []Damage) {
	end := int64(0)
	if f.last.Seq > 0 {
		end = f.last.End()
	}
	i, j := 0, len(f.damage)
	for j > 0 && f.damage[j-1].Kind == Torn && f.damage[j-1].From >= end {
		j--
	}
	for i < j && f.first.Seq == 1 && f.damage[i].Kind == Torn && f.damage[i].From < f.first.Off {
		i++
	}
	return f.damage[:i], f.damage[i:j], f.damage[j:]
}

// Forgive says that an event in the file records the repair of [from, to), whose
// bytes then had the given SHA-256 (64 hex). Damage in that range is damage no
// longer, if the bytes are still those; otherwise the error is ErrChanged.
func (f *File) Forgive(from, to int64, sha string) error {
	if from < 0 || to < from {
		return fmt.Errorf("repair of bytes %d to %d in %s: %w: no such range", from, to, f.path, ErrChanged)
	}
	h, err := f.hash(from, to)
	if err != nil {
		return err
	}
	if got := hex.EncodeToString(h[:]); got != sha {
		return fmt.Errorf("repair of bytes %d to %d in %s: %w: their hash is %s", from, to, f.path, ErrChanged, got)
	}
	f.forgive(span{from, to})
	return nil
}

func (f *File) forgive(s span) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forgiven = append(f.forgiven, s)
	f.damage = slices.DeleteFunc(f.damage, s.covers)
}

// record keeps new damage, in file order and once for each line.
func (f *File) record(found []Damage) error {
	for i, d := range found {
		if d.SHA256 == "" {
			h, err := f.hash(d.From, d.To)
			if err != nil {
				return err
			}
			found[i].SHA256 = hex.EncodeToString(h[:])
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, d := range found {
		if slices.ContainsFunc(f.forgiven, func(s span) bool { return s.covers(d) }) {
			continue
		}
		i, known := slices.BinarySearchFunc(f.damage, d, func(a, b Damage) int { return a.Line - b.Line })
		if !known {
			f.damage = slices.Insert(f.damage, i, d)
		}
	}
	if len(f.damage) > maxDamage {
		return fmt.Errorf("read %s: %w: more than %d lines are no events: is this a session file?", f.path, ErrDamaged, maxDamage)
	}
	return nil
}

// refuse is ErrDamaged with the first damage named, or nil.
func (f *File) refuse(open []Damage) error {
	if len(open) == 0 {
		return nil
	}
	d := open[0]
	more := ""
	if len(open) > 1 {
		more = fmt.Sprintf(" and %d more", len(open)-1)
	}
	return fmt.Errorf("append to %s: %w: line %d (%s, byte %d)%s; `agent session repair` names what is lost, and then it goes on", f.path, ErrDamaged, d.Line, d.Kind, d.Bad, more)
}
