package harness

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"varve/internal/jsonl"
	"varve/internal/session"
)

// ErrShared says that another session refers to content that a purge would take
// out: nothing was changed (RPR-2).
var ErrShared = errors.New("another session refers to the same content")

// ErrNothing says that there is nothing to purge.
var ErrNothing = errors.New("there is nothing to purge: the session does not hold it any more")

// whenever is later than any put.
var whenever = time.Unix(1<<40, 0)

// Purge takes texts of items out of a session that nobody has open: it writes the
// file anew without them, in the place of the old one, and removes the content
// that only they named. It is the one declared exception to LOG-3. Events keep
// their numbers; line 2 of the new file says which are others now. The session is
// to be opened again afterwards.
//
// A crash leaves the old file or the new one, whole. Content that is left by it
// goes with the next purge or collection.
func (s *Session) Purge(ctx context.Context, dataDir, stateDir string, items []session.ItemID) (*Purging, error) {
	var held []string
	for _, l := range s.Limbs() {
		h, err := take(ctx, stateDir, sessionName(s.path), l.Name)
		if err != nil {
			return nil, err
		}
		defer h.release()
		held = append(held, l.Name)
	}
	s.writes.Lock()
	defer s.writes.Unlock()
	left, err := jsonl.Leftovers(s.path)
	if err != nil {
		return nil, err
	}
	for _, name := range left {
		if err := os.Remove(name); err != nil {
			return nil, err
		}
	}
	doomed, err := s.blobs.Doomed()
	if err != nil {
		return nil, err
	}
	before := doomed[sessionName(s.path)] // by a purge that was killed
	var p *Purging
	free := func() {}
	defer func() { free() }()
	err = s.file.Replace(ctx, func(to *jsonl.Successor) error {
		for _, l := range s.Limbs() {
			if !slices.Contains(held, l.Name) {
				return ErrHeld
			}
		}
		var err error
		if p, err = s.planPurge(ctx, dataDir, items); err != nil {
			return err
		}
		switch {
		case len(p.Shared) > 0:
			return fmt.Errorf("%w: %s", ErrShared, strings.Join(p.Shared, ", "))
		case len(p.gone) == 0:
			return ErrNothing
		}
		free, err = s.rewrite(ctx, p, to)
		return err
	}, func() error {
		before = append(before, p.Contents...)
		if len(before) == 0 {
			return nil
		}
		return s.blobs.Doom(sessionName(s.path), before)
	})
	if err != nil && !errors.Is(err, ErrNothing) {
		return p, err
	}
	free()
	free = func() {}
	if cerr := s.dropContents(context.WithoutCancel(ctx), p, dataDir, before); cerr != nil {
		return p, fmt.Errorf("the session was written anew; its old content is still there until `agent gc` can remove it: %w", cerr)
	}
	return p, err
}

// dropContents removes content that no session names any more, whatever its age,
// and what killed puts left of it.
func (s *Session) dropContents(ctx context.Context, p *Purging, dataDir string, shas []string) error {
	slices.Sort(shas)
	count := newCensus(dataDir, s.blobs)
	err := s.blobs.Sweep(slices.Compact(shas), whenever, func() (func(string) bool, error) { return count.knows, count.take(ctx) }, nil)
	if err != nil {
		return err
	}
	left, err := s.blobs.Leftovers(whenever)
	if err != nil {
		return err
	}
	for name := range left {
		b, err := os.ReadFile(name)
		if err != nil || p == nil || !p.Eraser.In(b) {
			continue
		}
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return s.blobs.Undoom(sessionName(s.path))
}

// rewrite writes the lines of the new file, and holds what they name until free
// is called.
func (s *Session) rewrite(ctx context.Context, p *Purging, to *jsonl.Successor) (free func(), err error) {
	drop, move, err := s.roomForTwo(ctx)
	if err != nil {
		return nil, err
	}
	removed, gaps, err := s.removed(ctx, p, drop, move)
	if err != nil {
		return nil, err
	}
	z := s.erasure(p)
	var refs []string
	free = func() {}
	store := func(part session.Part) (session.Part, error) {
		f := session.Fact{Body: []session.Part{part}}
		err := s.store(&f)
		if err == nil && f.Body[0].Ref != nil {
			refs = append(refs, f.Body[0].Ref.SHA256)
		}
		return f.Body[0], err
	}
	var moved []byte
	at := s.clock.Now().UTC().Truncate(time.Millisecond)
	err = s.eachEntry(ctx, func(env session.Envelope, e session.Entry, raw []byte) error {
		rest, err := jsonl.Rest(raw)
		if err != nil {
			return err
		}
		r, err := z.line(env, e, raw)
		if err == nil && r != nil {
			rest, err = r.rest(env, store)
		}
		switch {
		case err != nil:
			return err
		case e.Seq == 1:
			return s.openNew(to, env, session.SessionPurged{Removed: removed, Requests: slices.Concat(s.Unprintable(), p.Requests)}, gaps, at)
		case e.Seq == 2 && move != 0:
			moved = bytes.Clone(rest)
			return nil
		case e.Seq == move:
			rest = moved
		case drop[e.Seq]:
			return nil
		}
		return to.Add(uint64(e.Seq), rest)
	})
	if err != nil {
		return free, err
	}
	if err := s.showPlaceholders(p, to, at); err != nil {
		return free, err
	}
	if free, err = s.blobs.Hold(refs); err != nil {
		return func() {}, err
	}
	return free, nil
}

// openNew writes the two lines that open the new file.
func (s *Session) openNew(to *jsonl.Successor, env session.Envelope, told session.SessionPurged, gaps bool, at time.Time) error {
	origin, err := json.Marshal(session.Origin{Session: sessionName(s.path), Seq: s.Head(), Why: "purge", Gaps: gaps})
	if err != nil {
		return err
	}
	data, err := session.SetFacts(env.Data, map[string][]byte{"from": origin})
	if err != nil {
		return err
	}
	first, err := env.Rest(data, nil)
	if err != nil {
		return err
	}
	if err := to.Add(1, first); err != nil {
		return err
	}
	second, err := session.EncodeRest(session.Fact{Branch: string(env.Branch), Event: told}, at)
	if err != nil {
		return err
	}
	return to.Add(2, second)
}

// roomForTwo makes room for the event of the purge, which has number 2: what had
// it gives way where nothing refers to it. The settings that a run begins with
// take the number of its start. Repairs are dropped: the bytes that they name are
// not in the new file.
func (s *Session) roomForTwo(ctx context.Context) (drop map[session.Seq]bool, move session.Seq, err error) {
	drop = map[session.Seq]bool{}
	var second session.Entry
	settled := false
	err = s.eachEntry(ctx, func(_ session.Envelope, e session.Entry, _ []byte) error {
		if _, ok := e.Event.(session.LogRepaired); ok {
			drop[e.Seq] = true
		}
		switch {
		case settled || e.Seq == 1:
		case second.Seq == 0:
			second, settled = e, e.Seq > 2
			switch e.Event.(type) {
			case session.SessionPurged, session.RunStarted, session.RunEnded, session.ToastPosted, session.LogRepaired:
				drop[2], settled = drop[2] || !settled, true
			case session.SessionConfigured:
			default:
				if !settled {
					return fmt.Errorf("%w: its event 2 is %s, which can't give its number away", ErrNoRoom, e.Type)
				}
			}
		default:
			switch e.Event.(type) {
			case session.RunStarted:
				if settled = e.Branch == second.Branch; settled {
					move = e.Seq
					return nil
				}
			case session.ModelChosen, session.ToolsDefined, session.ToolsExtended, session.SessionConfigured, session.SessionRenamed, session.LogRepaired:
				return nil
			}
			return fmt.Errorf("%w: its event 2 is %s, and no start of a run follows, whose number it could take", ErrNoRoom, second.Type)
		}
		return nil
	})
	if err == nil && second.Seq == 2 && !settled {
		err = fmt.Errorf("%w: its event 2 is %s, and no start of a run follows, whose number it could take", ErrNoRoom, second.Type)
	}
	return drop, move, err
}

// removed are the lines that the new file does not have as they were, those of
// earlier purges too, and whether numbers are missing in it.
func (s *Session) removed(ctx context.Context, p *Purging, drop map[session.Seq]bool, move session.Seq) (out []session.Removed, gaps bool, err error) {
	last := session.Seq(2)
	err = s.eachEntry(ctx, func(_ session.Envelope, e session.Entry, raw []byte) error {
		if ev, ok := e.Event.(session.SessionPurged); ok && e.Seq == 2 {
			out = append(out, ev.Removed...)
			return nil
		}
		if drop[e.Seq] || p.gone[e.Seq] || move != 0 && (e.Seq == 2 || e.Seq == move) {
			sum := sha256.Sum256(raw)
			out = append(out, session.Removed{Seq: e.Seq, SHA256: hex.EncodeToString(sum[:])})
		}
		if e.Seq > 2 && !drop[e.Seq] {
			gaps, last = gaps || e.Seq != last+1, e.Seq
		}
		return nil
	})
	slices.SortStableFunc(out, func(a, b session.Removed) int { return int(a.Seq) - int(b.Seq) })
	return out, gaps || last < s.Head(), err
}

// showPlaceholders records on each branch that shows an item that its text is
// another one: what the next request carries breaks there (PFX-1).
func (s *Session) showPlaceholders(p *Purging, to *jsonl.Successor, at time.Time) error {
	next := s.Head() + 1
	for _, name := range p.Shown {
		st := s.State(name).Branch
		if st.ReadOnly != "" {
			continue
		}
		for it := range st.View.All {
			if it.Kind != session.UserItem && it.Kind != session.ResultItem || !p.gone[it.At] || !p.own[it.At] {
				continue
			}
			rest, err := session.EncodeRest(session.Fact{
				Branch: name,
				Event:  session.ItemReplaced{Item: it.ID, Why: "redact", Tokens: session.Estimate(len(placeholder.Bytes))},
				Body:   []session.Part{placeholder},
			}, at)
			if err != nil {
				return err
			}
			if err := to.Add(uint64(next), rest); err != nil {
				return err
			}
			next++
		}
	}
	return nil
}

// Unprintable are the requests that purges have made impossible to print.
func (s *Session) Unprintable() []session.Seq {
	e, err := s.Entry(2)
	if err != nil {
		return nil // a file of one event, or with gaps
	}
	ev, _ := e.Event.(session.SessionPurged)
	return ev.Requests
}
