package harness

import (
	"context"
	"errors"

	"varve/internal/harness/drive"
	"varve/internal/session"
)

// An Outcome is what a branch operation made.
type Outcome struct {
	Branch string // the new one of a fork, else the one that was asked
	Label  string // of a revert
	// Swapped is what a replacement came to, once for each of its swaps.
	Swapped []drive.Swapped
}

// Select returns the state that a reference names (BRN-2).
func (s *Session) Select(ref session.Reference) (session.Branch, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.fold.Select(ref)
}

// Limbs lists all branches, oldest first.
func (s *Session) Limbs() []session.Limb {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.fold.Limbs()
}

// live is why a branch can't be gone on with: there is none, or it was deleted.
func (s *Session) live(name string) error {
	for _, l := range s.Limbs() {
		switch {
		case l.Name != name:
		case l.Deleted:
			return session.ErrDeleted
		default:
			return nil
		}
	}
	return session.ErrNoBranch
}

// History is what a branch consists of, oldest first.
func (s *Session) History(branch string) []session.Span {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.fold.History(branch)
}

// Lineage is what a branch needs of the session's events (BRN-9).
func (s *Session) Lineage(branch string) (session.Lineage, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.fold.Lineage(branch)
}

// Operate does a branch operation in a session that nobody here works on. It
// holds the run lock of the branch meanwhile, but for a fork, which changes
// nothing of it (LOG-14). What it appended is on the disk when it returns
// (LOG-5).
func (s *Session) Operate(ctx context.Context, stateDir string, op drive.Operation) (Outcome, error) {
	live := false
	if _, fork := op.(drive.Fork); fork {
		live = Held(stateDir, sessionName(s.path), op.Of())
	} else {
		h, err := take(ctx, stateDir, sessionName(s.path), op.Of())
		if err != nil {
			return Outcome{}, err
		}
		defer h.release()
	}
	if err := s.CatchUp(); err != nil {
		return Outcome{}, err
	}
	return s.operate(ctx, op, live)
}

// operate decides anew when others were faster.
func (s *Session) operate(ctx context.Context, op drive.Operation, live bool) (Outcome, error) {
	for tries := 0; ; {
		s.mu.RLock()
		step, err := drive.Operate(s.fold, op, live)
		s.mu.RUnlock()
		if err != nil {
			return Outcome{}, err
		}
		if len(step.Facts) > 0 {
			err = s.Record(ctx, step.Branch, step.Expect, step.Facts)
		}
		switch {
		case errors.Is(err, ErrConflict) && tries < 2:
			tries++
		case err != nil:
			return Outcome{}, err
		case !step.More:
			return Outcome{step.Branch, step.Label, step.Swapped}, nil
		}
	}
}

// Operate does a branch operation. One of the branch that this process works
// on is done in its turn, while nothing runs there.
func (l *Local) Operate(ctx context.Context, op drive.Operation) (Outcome, error) {
	var out Outcome
	var err error
	if derr := l.loop.do(ctx, func() {
		mine := l.loop.held != nil && op.Of() == l.Branch
		switch t := l.State().Branch.Turn; {
		case mine && t != nil && t.Run == l.run:
			err = drive.ErrBusy
		case mine:
			out, err = l.Session.operate(ctx, op, false)
		default:
			out, err = l.Session.Operate(ctx, l.opts.StateDir, op)
		}
	}); derr != nil {
		return out, derr
	}
	return out, err
}

// LastBranch is the branch that was used last, of those that were not deleted.
func (s *Session) LastBranch() string {
	last, head := session.MainBranch, session.Seq(0)
	for _, l := range s.Limbs() {
		if !l.Deleted && l.Head >= head {
			last, head = l.Name, l.Head
		}
	}
	return last
}
