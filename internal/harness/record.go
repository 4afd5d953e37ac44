package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"varve/internal/content"
	"varve/internal/harness/drive"
	"varve/internal/jsonl"
	"varve/internal/session"
)

// ErrConflict says that somebody else changed the branch meanwhile: nothing
// was written (LOG-6).
var ErrConflict = drive.ErrConflict

// errWritten says that the lines are in the file and count, but that it is not
// known whether they are on the disk: nothing that depends on them may be done
// until a sync succeeds.
var errWritten = errors.New("written, but not on the disk yet")

// Record appends facts to a branch that stands at expect, as one write, and
// folds them. Content goes to the store first; where an effect depends on the
// lines they are on the disk before anybody sees them (LOG-5).
func (s *Session) Record(ctx context.Context, branch string, expect session.Seq, facts []session.Fact) error {
	s.writes.Lock()
	defer s.writes.Unlock()
	at := s.clock.Now().UTC().Truncate(time.Millisecond)
	rests, events := make([][]byte, len(facts)), make([]session.Event, len(facts))
	durable := false
	for i := range facts {
		events[i] = facts[i].Event
		if facts[i].Branch == "" {
			facts[i].Branch = branch
		}
		var err error
		if facts[i], err = session.Spill(facts[i]); err != nil {
			return err
		}
	}
	free, err := s.keep(facts)
	if err != nil {
		return err
	}
	defer free()
	for i := range facts {
		if rests[i], err = session.EncodeRest(facts[i], at); err != nil {
			return err
		}
		durable = durable || mustSync(facts[i].Event)
	}
	if err := s.create(); err != nil {
		return err
	}
	lines, err := s.file.Append(ctx, rests, func() error {
		if head := s.State(branch).Branch.Head; head != expect {
			return fmt.Errorf("%w: event %d is not the last any more, %d is", ErrConflict, expect, head)
		}
		return nil
	})
	if err == nil && durable {
		err = s.file.Sync()
	}
	if err != nil && len(lines) > 0 {
		err = fmt.Errorf("%w: %w", errWritten, err)
	}
	s.mu.Lock()
	for i, l := range lines {
		e := session.Entry{Seq: session.Seq(l.Seq), Branch: facts[i].Branch, At: at, Type: session.Name(events[i]), Event: events[i]}
		if aerr := s.apply(l, e); aerr != nil {
			s.mu.Unlock()
			panic("harness: internal error: " + aerr.Error())
		}
	}
	s.mu.Unlock()
	return err
}

// create makes the file, if there is none yet.
func (s *Session) create() error {
	if s.opened() != nil {
		return nil
	}
	f, err := jsonl.Create(s.path, s.opts)
	if err != nil {
		return fmt.Errorf("create session: %w", err)
	}
	s.mu.Lock()
	s.file = f
	s.mu.Unlock()
	return nil
}

// keep stores the large texts of facts, and holds what they name until it is in
// the file: a line never names content that is not there, nor any that a
// collection is removing (CAS-2, CAS-5).
func (s *Session) keep(facts []session.Fact) (free func(), err error) {
	for tries := 0; ; tries++ {
		kept := slices.Clone(facts)
		var refs []string
		for i := range kept {
			if err := s.store(&kept[i]); err != nil {
				return nil, err
			}
			for _, p := range kept[i].Body {
				if p.Ref != nil {
					refs = append(refs, p.Ref.SHA256)
				}
			}
		}
		if len(refs) == 0 {
			return func() {}, nil
		}
		free, err = s.blobs.Hold(refs)
		if err == nil {
			copy(facts, kept)
			return free, nil
		}
		// Between put and hold a collection without grace may have been faster.
		if tries == 3 || !errors.Is(err, content.ErrMissing) {
			return nil, fmt.Errorf("nothing was recorded: %w", err)
		}
	}
}

// store moves a fact's large texts to the content store (CAS-2).
func (s *Session) store(f *session.Fact) error {
	for i, p := range f.Body {
		if p.Ref != nil || len(p.Bytes) <= session.InlineLimit {
			continue
		}
		sha, err := s.blobs.Put(p.Bytes)
		if err != nil {
			return fmt.Errorf("store content: %w", err)
		}
		ref := session.Ref{SHA256: sha, MediaType: p.MediaType, Encoding: p.Encoding, Size: int64(len(p.Bytes))}
		if ref.MediaType == "" {
			ref.MediaType = "text/plain"
		}
		body := append([]session.Part(nil), f.Body...)
		body[i] = session.Part{Ref: &ref}
		f.Body = body
	}
	return nil
}

// mustSync lists the five places where the disk comes before the effect.
func mustSync(e session.Event) bool {
	switch ev := e.(type) {
	case session.RequestSent, session.CheckpointCommitted, session.TurnEnded,
		session.BranchCreated, session.BranchReverted, session.BranchRolledBack, session.BranchDeleted:
		return true
	case session.ToolStarted:
		for _, x := range ev.Effects {
			if x != "read" {
				return true
			}
		}
	}
	return false
}

// Refs lists what a line refers to, for verify.
func Refs(raw []byte, visit func(session.Ref)) error {
	env, ok := session.Scan(raw)
	if !ok {
		if !bytes.Contains(raw, []byte(`"ref"`)) {
			return nil
		}
		e, err := session.Decode(raw)
		if err != nil {
			return err
		}
		parts, err := e.Parts()
		if err != nil {
			return err
		}
		for _, p := range parts {
			if p.Ref != nil {
				visit(*p.Ref)
			}
		}
		return nil
	}
	return env.Refs(visit)
}
