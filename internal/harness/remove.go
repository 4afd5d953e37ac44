package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ErrLeft says that a session's file can't be removed: there are branches in
// it that were not deleted.
var ErrLeft = errors.New("other branches share the file")

// Left lists the branches that were not deleted, oldest first.
func (s *Session) Left() []string {
	var out []string
	for _, l := range s.Limbs() {
		if !l.Deleted {
			out = append(out, l.Name)
		}
	}
	return out
}

// Remove removes the file of a session of which every branch was deleted
// (BRN-6): else [ErrLeft]. Nobody may be working on any of them ([ErrHeld]).
// One that is damaged stays: what can't be read may be a branch. The content
// that it named is left to collection.
func (s *Session) Remove(ctx context.Context, stateDir string) error {
	for _, l := range s.Limbs() {
		h, err := take(ctx, stateDir, sessionName(s.path), l.Name)
		if err != nil {
			return err
		}
		defer h.release()
	}
	if err := s.CatchUp(); err != nil {
		return err
	}
	if d := s.Damage(); len(d) > 0 {
		return fmt.Errorf("line %d can't be read, and may be a branch's: repair the session first", d[0].Line)
	}
	if len(s.Left()) > 0 {
		return ErrLeft
	}
	if err := os.Remove(s.path); err != nil {
		return err
	}
	for _, l := range s.Limbs() {
		_ = os.Remove(lockPath(stateDir, sessionName(s.path), l.Name)) // it says nothing
	}
	d, err := os.Open(filepath.Dir(s.path))
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
