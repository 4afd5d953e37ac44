package content

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Hold keeps blobs where they are until free is called: no removal goes on in
// their folders meanwhile. Who writes a line that names them holds them until it
// is in the file (CAS-5). It is ErrMissing where one is not there (CAS-2).
func (s *Store) Hold(shas []string) (free func(), err error) {
	var locks []func()
	free = func() {
		for _, unlock := range locks {
			unlock()
		}
	}
	defer func() {
		if err != nil {
			free()
			free = nil
		}
	}()
	held := map[string]bool{}
	for _, sha := range shas {
		path, err := s.path(sha)
		if err != nil {
			return free, err
		}
		if dir := filepath.Dir(path); !held[dir] {
			unlock, err := lock(dir, syscall.LOCK_SH)
			if errors.Is(err, fs.ErrNotExist) {
				return free, fmt.Errorf("hold %s: %w", sha, ErrMissing)
			}
			if err != nil {
				return free, fmt.Errorf("hold %s: %w", sha, err)
			}
			held[dir], locks = true, append(locks, unlock)
		}
		if ok, err := s.Has(sha); err != nil || !ok {
			if err == nil {
				err = fmt.Errorf("hold %s: %w", sha, ErrMissing)
			}
			return free, err
		}
	}
	return free, nil
}

// A Blob is a blob as a listing sees it: nothing of it is read.
type Blob struct {
	SHA256 string
	Size   int64
	Put    time.Time // when it was put last
}

// Each visits all blobs in order of their hashes, until visit returns an error.
// Files that are no blobs are passed over.
func (s *Store) Each(visit func(Blob) error) error {
	dirs, err := os.ReadDir(s.root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list content: %w", err)
	}
	for _, d := range dirs {
		if !d.IsDir() || len(d.Name()) != 2 {
			continue
		}
		entries, err := os.ReadDir(filepath.Join(s.root, d.Name()))
		if err != nil {
			return fmt.Errorf("list content: %w", err)
		}
		for _, e := range entries {
			if _, err := s.path(e.Name()); err != nil || e.Name()[:2] != d.Name() || !e.Type().IsRegular() {
				continue
			}
			st, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) { // removed meanwhile
				continue
			}
			if err != nil {
				return fmt.Errorf("list content: %w", err)
			}
			if err := visit(Blob{e.Name(), st.Size(), st.ModTime()}); err != nil {
				return err
			}
		}
	}
	return nil
}

// Sweep removes those of shas that were put last before then and that used does
// not know, and returns them in order. Folder by folder: used is asked while no
// put and no [Store.Hold] goes on there, so that what it says still holds when
// the blobs go. Where it fails nothing more is removed. removed, if not nil, is
// told of each.
func (s *Store) Sweep(shas []string, then time.Time, used func() (func(sha string) bool, error), removed func(sha string)) error {
	shas = slices.Clone(shas)
	slices.Sort(shas)
	for len(shas) > 0 {
		n := 0
		for n < len(shas) && strings.HasPrefix(shas[n], shas[0][:min(2, len(shas[0]))]) {
			n++
		}
		if err := s.sweep(shas[:n], then, used, removed); err != nil {
			return err
		}
		shas = shas[n:]
	}
	return nil
}

func (s *Store) sweep(shas []string, then time.Time, used func() (func(string) bool, error), removed func(string)) error {
	path, err := s.path(shas[0])
	if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	free, err := lock(dir, syscall.LOCK_EX)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove %s: %w", shas[0], err)
	}
	defer free()
	in, err := used()
	if err != nil {
		return err
	}
	any := false
	for _, sha := range shas {
		if in(sha) {
			continue
		}
		gone, err := s.remove(sha, then)
		if err != nil {
			return err
		}
		if any = any || gone; gone && removed != nil {
			removed(sha)
		}
	}
	if any {
		return s.layer.SyncDir(dir)
	}
	return nil
}

// Leftovers are what puts that were killed have left, last written before then:
// paths, with their sizes.
func (s *Store) Leftovers(then time.Time) (map[string]int64, error) {
	entries, err := os.ReadDir(s.root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list content: %w", err)
	}
	out := map[string]int64{}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), tempPrefix) || !e.Type().IsRegular() {
			continue
		}
		if st, err := e.Info(); err == nil && st.ModTime().Before(then) {
			out[filepath.Join(s.root, e.Name())] = st.Size()
		}
	}
	return out, nil
}
