package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"varve/internal/content"
	"varve/internal/harness/drive"
	"varve/internal/session"
)

// A Holding is an event that holds bytes of what is to be purged.
type Holding struct {
	Event   session.Seq `json:"event"`
	Branch  string      `json:"branch"`
	Type    string      `json:"type"`
	Own     bool        `json:"own,omitempty"`     // it is the message's own: all of its text goes
	Content bool        `json:"content,omitempty"` // some of it is stored content
	Stays   bool        `json:"stays,omitempty"`   // among its facts, which stay
}

// A Purging is what a purge takes out, and where that is (RPR-2).
type Purging struct {
	Items    []drive.Swapped
	Holdings []Holding     // in order of events
	Shown    []string      // branches that show an item
	Covered  []session.Seq // checkpoints that stand for one
	Requests []session.Seq // that can't be printed byte for byte afterwards
	Contents []string      // stored content that goes
	Shared   []string      // other sessions that refer to such content: then nothing is purged
	Also     []string      // other sessions, and content of theirs, that hold the same text and keep it
	Short    []session.ItemID
	Eraser   *session.Eraser
	Remnants []Remnant // of [Session.PlanPurge]

	texts     [][]byte
	own, gone map[session.Seq]bool
	blobs     map[string]bool
}

// ErrNoRoom says that a purge can't record itself in the new file.
var ErrNoRoom = errors.New("it can't be purged")

// PlanPurge says what a purge of items would take out, and changes nothing. Of
// the error's kinds [ErrUnread] says that another session can't be read.
func (s *Session) PlanPurge(ctx context.Context, dataDir string, items []session.ItemID) (*Purging, error) {
	if err := s.CatchUp(); err != nil {
		return nil, err
	}
	p, err := s.planPurge(ctx, dataDir, items)
	if err == nil {
		p.Remnants, err = s.remnants(ctx, p)
	}
	return p, err
}

func (s *Session) planPurge(ctx context.Context, dataDir string, items []session.ItemID) (*Purging, error) {
	p := &Purging{own: map[session.Seq]bool{}, gone: map[session.Seq]bool{}, blobs: map[string]bool{}}
	ids := map[session.ItemID]bool{}
	for _, id := range items {
		it, found := s.Item(id)
		came := drive.Swapped{Item: id, Outcome: drive.Replaced}
		switch {
		case !found:
			came.Outcome = drive.NotFound
		case it.Kind != session.UserItem && it.Kind != session.ResultItem:
			came.Outcome, came.Why = drive.NotReplaceable, "kind"
		default:
			ids[id] = true
		}
		p.Items = append(p.Items, came)
	}
	texts, err := s.ownEvents(ctx, p, ids)
	if err != nil {
		return nil, err
	}
	p.texts, p.Eraser = texts, session.NewEraser(texts, drive.WordsRedacted)
	for id := range ids {
		if it, _ := s.Item(id); it.Source != session.FromRuntime && p.Eraser.Idle() {
			p.Short = append(p.Short, id)
		}
	}
	if err := s.holdings(ctx, p); err != nil {
		return nil, err
	}
	for _, l := range s.Limbs() {
		for it := range s.State(l.Name).Branch.View.All {
			if ids[it.ID] && !slices.Contains(p.Shown, l.Name) && !l.Deleted {
				p.Shown = append(p.Shown, l.Name)
			}
		}
	}
	if p.Requests, err = s.unprintable(ctx, func(q session.Seq) bool { return p.gone[q] }); err != nil {
		return nil, err
	}
	return p, s.elsewhere(ctx, p, dataDir)
}

// eachEntry visits all events, with their lines.
func (s *Session) eachEntry(ctx context.Context, visit func(env session.Envelope, e session.Entry, raw []byte) error) error {
	s.mu.RLock()
	lines, f := s.lines, s.file
	s.mu.RUnlock()
	for _, l := range lines {
		if err := ctx.Err(); err != nil {
			return err
		}
		raw, err := f.Read(l)
		if err != nil {
			return err
		}
		env, err := session.Envelop(raw)
		if err != nil {
			return err
		}
		e, err := env.Decode()
		if err != nil {
			return err
		}
		if err := visit(env, e, raw); err != nil {
			return err
		}
	}
	return nil
}

// ownEvents finds the events whose text is that of an item: the message or
// result, the queue entry that it took, what replaced or masked it, the preview
// of a revert. It returns their texts, but for the words of the program's own.
func (s *Session) ownEvents(ctx context.Context, p *Purging, ids map[session.ItemID]bool) ([][]byte, error) {
	entries := map[session.Seq]bool{}
	for id := range ids {
		p.own[id.Seq] = true
		if e, err := s.Entry(id.Seq); err != nil {
			return nil, err
		} else if ev, ok := e.Event.(session.UserSaid); ok && ev.Entry != 0 {
			entries[ev.Entry] = true
		}
	}
	var texts [][]byte
	err := s.eachEntry(ctx, func(_ session.Envelope, e session.Entry, _ []byte) error {
		own, ours := p.own[e.Seq], false
		switch ev := e.Event.(type) {
		case session.UserSaid:
			own = own || ev.Entry != 0 && entries[ev.Entry]
		case session.InputQueued:
			own = own || entries[e.Seq]
		case session.InputEdited:
			own = own || entries[ev.Entry]
		case session.ItemReplaced:
			own = own || ids[ev.Item]
		case session.ItemMasked:
			own, ours = own || ids[ev.Item], true
		case session.ToolInterrupted:
			ours = true
		case session.BranchReverted:
			own, ours = own || ids[ev.To.Seq.Item()], true
		case session.CheckpointCommitted:
			for id := range ids {
				if slices.ContainsFunc(ev.Ranges, func(r session.Range) bool { return !id.Before(r.From) && !r.To.Before(id) }) {
					p.Covered = append(p.Covered, e.Seq)
					break
				}
			}
		}
		if !own {
			return nil
		}
		p.own[e.Seq] = true
		parts, err := e.Parts()
		if err != nil {
			return err
		}
		for _, part := range parts {
			if part.Ref != nil {
				p.blobs[part.Ref.SHA256] = true
			}
			if b, err := s.Bytes(part); err == nil && !ours {
				texts = append(texts, b)
			}
		}
		return nil
	})
	return texts, err
}

// erasure is what takes out what p says.
func (s *Session) erasure(p *Purging) *erasure {
	return &erasure{own: p.own, gone: p.blobs, x: p.Eraser, load: s.blobs.Get, seen: map[string][]byte{}}
}

// holdings finds the events that hold any of it.
func (s *Session) holdings(ctx context.Context, p *Purging) error {
	z := s.erasure(p)
	return s.eachEntry(ctx, func(env session.Envelope, e session.Entry, raw []byte) error {
		r, err := z.line(env, e, raw)
		if err != nil {
			return err
		}
		h := Holding{Event: e.Seq, Branch: e.Branch, Type: e.Type, Own: p.own[e.Seq]}
		if r == nil {
			if h.Stays = p.Eraser.In(raw); h.Stays {
				p.Holdings = append(p.Holdings, h)
			}
			return nil
		}
		if already(raw, env, r) {
			return nil
		}
		h.Content = r.content
		for _, sha := range r.refs {
			if !slices.Contains(p.Contents, sha) {
				p.Contents = append(p.Contents, sha)
			}
		}
		p.gone[e.Seq] = true
		p.Holdings = append(p.Holdings, h)
		rest, err := r.rest(env, func(part session.Part) (session.Part, error) { return placeholder, nil })
		if err == nil && p.Eraser.In(rest) {
			h.Own, h.Content, h.Stays = false, false, true
			p.Holdings = append(p.Holdings, h)
		}
		return err
	})
}

// already reports whether a line is already as it is to be.
func already(raw []byte, env session.Envelope, r *rewritten) bool {
	now, err := env.Rest(r.data, r.swap)
	return err == nil && bytes.HasSuffix(raw, now)
}

// elsewhere looks at the other sessions, and at content that no session names.
func (s *Session) elsewhere(ctx context.Context, p *Purging, dataDir string) error {
	if len(p.Holdings) == 0 {
		return nil
	}
	count := newCensus(dataDir, s.blobs)
	var err error
	if count.except, err = os.Stat(s.path); err != nil {
		return err
	}
	names := map[string]bool{}
	for _, sha := range p.Contents {
		names[sha] = true
	}
	count.see = func(path string, raw []byte) error {
		if p.Eraser.In(raw) && !slices.Contains(p.Also, path) {
			p.Also = append(p.Also, path)
		}
		return Refs(raw, func(r session.Ref) {
			if names[r.SHA256] && !slices.Contains(p.Shared, path) {
				p.Shared = append(p.Shared, path)
			}
		})
	}
	if err := count.take(ctx); err != nil {
		return err
	}
	for sha := range count.refs { // by an edge that is no reference
		if names[sha] && len(p.Shared) == 0 {
			p.Shared = append(p.Shared, "(a report of another session)")
		}
	}
	if p.Eraser.Idle() {
		return nil
	}
	mine := map[string]bool{}
	if err := s.eachEntry(ctx, func(_ session.Envelope, _ session.Entry, raw []byte) error {
		return Refs(raw, func(r session.Ref) { mine[r.SHA256] = true })
	}); err != nil {
		return err
	}
	return s.blobs.Each(func(b content.Blob) error {
		if err := ctx.Err(); err != nil || mine[b.SHA256] {
			return err
		}
		raw, err := s.blobs.Get(b.SHA256)
		if err != nil {
			return nil // it is lost, or not what was put
		}
		if _, held := p.Eraser.Text(raw); !held {
			return nil
		}
		if count.knows(b.SHA256) {
			p.Also = append(p.Also, fmt.Sprintf("content %s", b.SHA256))
		} else {
			p.Contents = append(p.Contents, b.SHA256)
		}
		return nil
	})
}

// unprintable are the requests whose bytes can't be made again any more, where
// what changed names is not what it was.
func (s *Session) unprintable(ctx context.Context, changed func(session.Seq) bool) ([]session.Seq, error) {
	bad := map[session.Seq]int64{} // where a body begins to be another
	var out []session.Seq
	for _, q := range s.Unprintable() {
		bad[q] = 0
	}
	err := s.eachEntry(ctx, func(_ session.Envelope, e session.Entry, _ []byte) error {
		if _, ok := e.Event.(session.RequestSent); !ok {
			return nil
		}
		if _, known := bad[e.Seq]; known {
			return nil
		}
		r, lits, err := s.sentAt(e.Seq)
		if err != nil {
			bad[e.Seq] = 0
			out = append(out, e.Seq)
			return nil
		}
		if at, ok := s.firstChanged(e.Seq, r, lits, bad, changed); ok {
			bad[e.Seq] = at
			out = append(out, e.Seq)
		}
		return nil
	})
	return out, err
}

func (s *Session) firstChanged(q session.Seq, r session.RequestSent, lits [][]byte, bad map[session.Seq]int64, changed func(session.Seq) bool) (int64, bool) {
	at := int64(0)
	for i, step := range r.Recipe {
		from, spoiled := bad[step.From]
		switch {
		case step.From != 0 && spoiled && from < step.Take:
			return from, true
		case step.From != 0:
			at += step.Take
		case step.L != nil && changed(q):
			return at, true
		case step.L != nil:
			if *step.L < len(lits) {
				at += int64(len(lits[*step.L]))
			}
		case changed(step.Seq):
			return at, true
		case slices.ContainsFunc(r.Recipe[i:], func(o session.Step) bool { return o.Seq != 0 && changed(o.Seq) || o.L != nil && changed(q) }):
			b, err := s.Load(step.Seq, step.B)
			if err != nil {
				return at, true
			}
			if step.As == "str" {
				b = session.AppendEscaped(nil, b)
			}
			at += int64(len(b))
		}
	}
	return 0, false
}
