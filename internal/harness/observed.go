package harness

import (
	"slices"

	"varve/internal/session"
)

// File returns the content that the session last saw at a path.
func (s *Session) File(path string) (session.FileObserved, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.fold.File(path)
}

// FileOn returns the content that a branch last saw at a path.
func (s *Session) FileOn(branch, path string) (session.FileObserved, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.fold.FileOn(branch, path)
}

// Observed lists what the session last saw of each file, by path.
func (s *Session) Observed() []session.FileObserved {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.fold.Files()
}

// Files lists the files whose content the session has seen.
func (s *Session) Files() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clip(s.seen)
}
