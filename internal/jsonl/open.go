package jsonl

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Create makes a new, empty file: 0600, in directories that are 0700 where they
// had to be made, whatever the umask (LOG-1). The new entries are on the disk
// when it returns, unless the policy is Never. An existing file is fs.ErrExist.
func Create(path string, opts Options) (*File, error) {
	f := newFile(path, opts)
	if opts.ReadOnly {
		return nil, fmt.Errorf("create %s: %w", path, ErrReadOnly)
	}
	touched, err := makeDirs(filepath.Dir(path))
	if err != nil {
		return nil, f.blame("create", err)
	}
	w, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, f.blame("create", err)
	}
	f.w = w
	if err := w.Chmod(0o600); err != nil {
		w.Close()
		return nil, f.blame("create", err)
	}
	if f.r, err = os.Open(path); err != nil {
		w.Close()
		return nil, f.blame("create", err)
	}
	if f.id, err = f.r.Stat(); err == nil {
		if st, e := w.Stat(); e != nil || !os.SameFile(f.id, st) {
			err = fs.ErrNotExist
		}
	}
	if err != nil {
		f.Close()
		return nil, f.blame("create", err)
	}
	if f.opts.Policy != Never {
		for _, dir := range append(touched, filepath.Dir(path)) {
			if err := f.opts.Layer.SyncDir(dir); err != nil {
				f.Close()
				return nil, f.blame("create", err)
			}
		}
	}
	f.scanned = true
	return f, nil
}

// Open opens an existing file. It reads, writes and repairs nothing (LOG-14);
// modes that let others read are tightened unless ReadOnly, and Loose says when
// that failed. A file that can be read but not written opens, and Append says
// ErrReadOnly for as long as that lasts.
func Open(path string, opts Options) (*File, error) {
	f := newFile(path, opts)
	// O_NONBLOCK: a pipe in the file's place is refused, not waited for.
	r, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	st, err := r.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		r.Close()
		return nil, fmt.Errorf("open log %s: %w", path, err)
	}
	f.r, f.id = r, st
	if loose := st.Mode().Perm() & 0o077; loose != 0 {
		err := error(nil)
		if !opts.ReadOnly {
			err = r.Chmod(st.Mode().Perm() &^ 0o077)
		}
		if opts.ReadOnly || err != nil {
			f.mode = fmt.Errorf("%s: %w (mode %04o): chmod 600 it", path, ErrMode, st.Mode().Perm())
		}
	}
	return f, nil
}

func newFile(path string, opts Options) *File {
	if opts.Layer == nil {
		opts.Layer = Disk{}
	}
	if opts.Policy == "" {
		opts.Policy = Turn
	}
	if opts.LockWait == 0 {
		opts.LockWait = 10 * time.Second
	}
	return &File{
		path: path, opts: opts, chain: newChain(),
		pen: make(chan struct{}, 1), turn: make(chan struct{}, 1),
	}
}

// Close closes the file. It brings nothing to the disk.
func (f *File) Close() error {
	f.turn <- struct{}{}
	defer func() { <-f.turn }()
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.r.Close()
	if f.w != nil {
		err = errors.Join(err, f.w.Close())
	}
	return err
}

// Sync brings all lines read or written so far to the disk, other writers' too,
// unless they are known to be there or the policy is Never. It may run beside an
// Append.
func (f *File) Sync() error {
	if f.opts.Policy == Never || f.opts.ReadOnly {
		return nil
	}
	f.mu.Lock()
	end, synced, h := f.end, f.synced, f.w
	f.mu.Unlock()
	if end <= synced {
		return nil
	}
	if h == nil {
		h = f.r
	}
	if err := f.opts.Layer.Sync(h); err != nil {
		return f.blame("sync", err)
	}
	f.mu.Lock()
	f.synced = max(f.synced, end)
	f.mu.Unlock()
	return nil
}
