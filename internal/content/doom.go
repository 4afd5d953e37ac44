package content

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// doomPrefix opens the names of lists of blobs that are to go whatever their age,
// as soon as nothing refers to them: a purge notes them before the last reference
// goes, and a crash behind that forgets none.
const doomPrefix = "doomed-"

// Doom notes blobs that are to go, under a name, in place of what was noted under
// it before. The note is on the disk when it returns.
func (s *Store) Doom(name string, shas []string) error {
	t, err := s.temp()
	if err != nil {
		return blame(err)
	}
	defer t.discard()
	if _, err := t.Write([]byte(strings.Join(shas, "\n") + "\n")); err != nil {
		return blame(err)
	}
	err = s.layer.Sync(t.File)
	if err == nil {
		err = s.layer.Rename(t.Name(), filepath.Join(s.root, doomPrefix+name))
	}
	if err == nil {
		err = s.layer.SyncDir(s.root)
	}
	if err != nil {
		return blame(err)
	}
	return nil
}

// Doomed are the notes, by their names.
func (s *Store) Doomed() (map[string][]string, error) {
	entries, err := os.ReadDir(s.root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list content: %w", err)
	}
	out := map[string][]string{}
	for _, e := range entries {
		name, ok := strings.CutPrefix(e.Name(), doomPrefix)
		if !ok || !e.Type().IsRegular() {
			continue
		}
		b, err := os.ReadFile(filepath.Join(s.root, e.Name()))
		if err != nil {
			return nil, fmt.Errorf("list content: %w", err)
		}
		for _, sha := range strings.Fields(string(b)) {
			if _, err := s.path(sha); err == nil {
				out[name] = append(out[name], sha)
			}
		}
	}
	return out, nil
}

// Undoom takes a note away.
func (s *Store) Undoom(name string) error {
	if err := os.Remove(filepath.Join(s.root, doomPrefix+name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove a note: %w", err)
	}
	return nil
}
