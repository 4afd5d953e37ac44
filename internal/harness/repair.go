package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"

	"varve/internal/jsonl"
	"varve/internal/session"
)

// A Repair is one place of a session file that can't be read, or is not what
// was written there, and what that costs.
type Repair struct {
	jsonl.Damage
	Type string // the event that stood there, as far as its line says so; "" where it does not
	// The events that are lost, both included; 0 and 0 for none. Where the line
	// itself is read (a gap, a changed line) they are others than its own.
	First, Last session.Seq
	Changed     bool // the line is read all the same, and is not what was written there
}

// ErrEmpty says that a file holds no event that can be read.
var ErrEmpty = errors.New("no event of this file can be read")

// Repair appends an event for each place that can't be read, under the append
// lock and after catching up, so that the session can be written again (LOG-7).
// It checks every byte first, as verify does. No earlier byte changes, and
// nothing that is lost comes back. It returns what the new events name, in
// file order: nothing where the file was whole, or a repair had named it.
func (s *Session) Repair(ctx context.Context) ([]Repair, error) {
	s.writes.Lock()
	defer s.writes.Unlock()
	f := s.opened()
	if f == nil || s.Head() == 0 {
		return nil, fmt.Errorf("repair %s: %w: it is no session, or nothing of it is left", s.path, ErrEmpty)
	}
	rep, err := jsonl.Verify(s.path, checkLine)
	if err != nil {
		return nil, err
	}
	named, err := f.Repair(ctx, rep.Damage...)
	if len(named) == 0 {
		return nil, err
	}
	costs, cerr := s.costs(named)
	return costs, errors.Join(err, cerr)
}

// CheckLine is what a line of a session must be. A reader of the file learns
// from it where numbers may be missing, and which damage was named.
func CheckLine(f *jsonl.File, raw []byte) (session.Entry, error) {
	e, err := session.Decode(raw)
	if err != nil {
		return e, fmt.Errorf("%w: %w", jsonl.ErrUnreadable, err)
	}
	switch ev := e.Event.(type) {
	case session.SessionCreated:
		if ev.From != nil && ev.From.Gaps {
			f.AllowGaps()
		}
	case session.LogRepaired:
		if err := f.Forgive(ev.From, ev.To, ev.SHA256); err != nil {
			return e, fmt.Errorf("%w: %w", jsonl.ErrUnreadable, err)
		}
	}
	return e, nil
}

func checkLine(f *jsonl.File, _ jsonl.Line, raw []byte) error {
	_, err := CheckLine(f, raw)
	return err
}

// costs says of each place that was just named what is lost there. The events
// that name them are the last of the session.
func (s *Session) costs(named []jsonl.Damage) ([]Repair, error) {
	file, err := os.Open(s.path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", s.path, err)
	}
	defer file.Close()
	old := s.Head() - session.Seq(len(named))
	out := make([]Repair, len(named))
	taken := session.Seq(0) // the last event that a place before is blamed for
	for i, d := range named {
		r := Repair{Damage: d}
		head := make([]byte, min(d.To-d.From, 512)) // enough for what stands before the facts
		if _, err := file.ReadAt(head, d.From); err != nil {
			return nil, fmt.Errorf("read %s: %w", s.path, err)
		}
		r.Type = typeIn(head)
		at := max(session.Seq(d.Seq), taken+1)
		switch d.Kind {
		case jsonl.Chain:
			r.Changed = true
		case jsonl.Gap:
			r.First, r.Last = at, s.seqAt(d.From)-1
		default:
			l, _, there := s.line(at)
			switch {
			case there && l.Off == d.From && at <= old: // folded, but its texts can't be read
				r.First, r.Last, r.Changed = at, at, true
			case at <= old && !there, at > old && bytes.HasPrefix(head, []byte(`{"seq":`)): // else it never was an event of ours
				r.First, r.Last = at, at
			}
		}
		if r.Last < r.First {
			r.First, r.Last = 0, 0
		}
		taken = max(taken, r.Last)
		out[i] = r
	}
	return out, nil
}

// seqAt is the event whose line begins at an offset, 0 where none does.
func (s *Session) seqAt(off int64) session.Seq {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, l := range s.lines {
		if l.Off == off {
			return session.Seq(l.Seq)
		}
	}
	return 0
}

// typeIn is the name of the event that a line's beginning carries, or "".
func typeIn(head []byte) string {
	_, rest, ok := bytes.Cut(head, []byte(`,"type":"`))
	name, _, whole := bytes.Cut(rest, []byte(`"`))
	if !ok || !whole || len(bytes.Trim(name, "abcdefghijklmnopqrstuvwxyz._")) > 0 {
		return ""
	}
	return string(name)
}
