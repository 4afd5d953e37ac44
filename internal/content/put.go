package content

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// tempPrefix opens the names of files that are not blobs yet. What a crash leaves
// of them is nobody's.
const tempPrefix = "tmp-"

// A temp is a blob before it has its name.
type temp struct {
	*os.File
	s *Store
}

// temp makes a private file of an unpredictable name (SEC-2), on the file system
// of the blobs.
func (s *Store) temp() (*temp, error) {
	if err := s.makeDirs(s.root); err != nil {
		return nil, err
	}
	path := filepath.Join(s.root, tempPrefix+random())
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	t := &temp{f, s}
	if err := f.Chmod(0o600); err != nil { // whatever the umask
		t.discard()
		return nil, err
	}
	return t, nil
}

// Write goes through the Layer, and takes a short write for a full disk.
func (t *temp) Write(p []byte) (int, error) {
	n, err := t.s.layer.Write(t.File, p)
	if err == nil && n < len(p) {
		err = syscall.ENOSPC
	}
	return n, err
}

// commit syncs the bytes, gives them their name, and syncs that.
func (t *temp) commit(sha string) error {
	path, err := t.s.path(sha)
	if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	if err := t.s.makeDirs(dir); err != nil {
		return blame(err)
	}
	if err := t.s.layer.Sync(t.File); err != nil {
		return blame(err)
	}
	if err := t.Close(); err != nil {
		return blame(err)
	}
	free, err := lock(dir, syscall.LOCK_SH)
	if err != nil {
		return blame(err)
	}
	defer free()
	if err := t.s.layer.Rename(t.Name(), path); err != nil {
		return blame(err)
	}
	if err := t.s.layer.SyncDir(dir); err != nil {
		return blame(err)
	}
	return nil
}

// discard removes the file, unless it has become a blob.
func (t *temp) discard() {
	t.Close()
	os.Remove(t.Name())
}

// renew makes a sound blob of that size young, and says whether there is one. Its
// name is synced again: the put that made it may have died before it could.
func (s *Store) renew(sha string, size int64) (bool, error) {
	path, err := s.path(sha)
	if err != nil {
		return false, err
	}
	if st, err := os.Lstat(path); err != nil || st.Size() != size {
		return false, nil
	}
	free, err := lock(filepath.Dir(path), syscall.LOCK_SH)
	if err != nil {
		return false, nil
	}
	defer free()
	r, err := s.open(sha)
	if err != nil {
		return false, nil
	}
	defer r.Close()
	if _, err := io.Copy(io.Discard, r); err != nil {
		return false, nil
	}
	if now := time.Now(); os.Chtimes(path, now, now) != nil {
		return false, nil // a blob that can't be made young is written anew
	}
	if err := s.layer.SyncDir(filepath.Dir(path)); err != nil {
		return false, blame(err)
	}
	return true, nil
}

// Remove deletes a blob whose last put is before then, and says whether it did.
// No put of the same blob runs meanwhile: a blob is gone before a put returns, or
// young afterwards (CAS-5). It waits for puts under way.
func (s *Store) Remove(sha string, then time.Time) (bool, error) {
	path, err := s.path(sha)
	if err != nil {
		return false, err
	}
	free, err := lock(filepath.Dir(path), syscall.LOCK_EX)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("remove %s: %w", sha, err)
	}
	defer free()
	return s.remove(sha, then)
}

// remove needs the exclusive lock on the blob's folder.
func (s *Store) remove(sha string, then time.Time) (bool, error) {
	path, err := s.path(sha)
	if err != nil {
		return false, err
	}
	st, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !st.ModTime().Before(then) {
		return false, nil
	}
	if err == nil {
		err = os.Remove(path)
	}
	if err != nil {
		return false, fmt.Errorf("remove %s: %w", sha, err)
	}
	return true, nil
}

// lock takes a flock on a folder of blobs: shared to put, exclusive to remove.
func lock(dir string, how int) (free func(), err error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	c, err := d.SyscallConn()
	if err == nil {
		var inner error
		err = c.Control(func(fd uintptr) {
			for inner = syscall.Flock(int(fd), how); errors.Is(inner, syscall.EINTR); {
				inner = syscall.Flock(int(fd), how)
			}
		})
		err = errors.Join(err, inner)
	}
	if err != nil {
		d.Close()
		return nil, err
	}
	return func() { d.Close() }, nil
}

// makeDirs makes dir and what is missing above it, 0700 whatever the umask, and
// syncs each directory that got an entry.
func (s *Store) makeDirs(dir string) error {
	if st, err := os.Stat(dir); err == nil {
		if !st.IsDir() {
			return fmt.Errorf("%s is not a directory", dir)
		}
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	up := filepath.Dir(dir)
	if up != dir {
		if err := s.makeDirs(up); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return err
	}
	if err := s.layer.SyncDir(up); err != nil {
		os.Remove(dir) // so that the next put makes and syncs it again
		return err
	}
	return nil
}
