package jsonl

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// A Layer does what changes the disk. Tests put one in to record the order of
// write and sync (LOG-5), or to fail like a full disk (LOG-8); they embed Disk
// for the rest.
type Layer interface {
	// Write adds p at the end of f, like os.File.Write.
	Write(f *os.File, p []byte) (int, error)
	// Sync brings f's data and size to the disk.
	Sync(f *os.File) error
	// SyncDir brings the entries of a directory to the disk.
	SyncDir(dir string) error
}

// Disk is the real Layer. Its Sync is fdatasync; on macOS it is fsync without
// F_FULLFSYNC, which leaves the data in the drive's own cache.
type Disk struct{}

// Write is os.File.Write: one write(2), gone on with only where the system took a part.
func (Disk) Write(f *os.File, p []byte) (int, error) { return f.Write(p) }

// Sync is fdatasync(2).
func (Disk) Sync(f *os.File) error {
	return control(f, func(fd int) error { return again(func() error { return datasync(fd) }) })
}

// SyncDir is fsync(2) on a directory.
func (Disk) SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	err = d.Sync()
	// Some file systems can't sync a directory and say so; nothing is lost by that.
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil
	}
	return err
}

// tryLock takes the exclusive flock, or says at once that it is taken. The lock
// belongs to this open file, so two Files in one process exclude each other too,
// and the kernel frees it when the process dies.
func tryLock(f *os.File) (bool, error) {
	err := control(f, func(fd int) error {
		return again(func() error { return syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB) })
	})
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

func unlock(f *os.File) error {
	return control(f, func(fd int) error { return syscall.Flock(fd, syscall.LOCK_UN) })
}

func again(call func() error) error {
	for {
		if err := call(); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

func control(f *os.File, do func(fd int) error) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := c.Control(func(fd uintptr) { inner = do(int(fd)) }); err != nil {
		return err
	}
	return inner
}

// makeDirs makes dir and what is missing above it, 0700 whatever the umask
// (LOG-1), and returns the directories in which an entry was made.
func makeDirs(dir string) (touched []string, err error) {
	st, err := os.Stat(dir)
	if err == nil {
		if !st.IsDir() {
			return nil, fmt.Errorf("%s is not a directory", dir)
		}
		return nil, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	up := filepath.Dir(dir)
	if up != dir {
		if touched, err = makeDirs(up); err != nil {
			return nil, err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		if errors.Is(err, fs.ErrExist) { // another process was quicker
			return touched, nil
		}
		return nil, err
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return nil, err
	}
	return append(touched, up), nil
}

// blame gives an error of the system its kind and its advice.
func (f *File) blame(doing string, err error) error {
	if err == nil {
		return nil
	}
	var cause error = err
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		cause = p.Err
	}
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		return fmt.Errorf("%s %s: %w (%w): make room, then try again", doing, f.path, ErrFull, cause)
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s %s: %w (%w): make it writable, then try again", doing, f.path, ErrReadOnly, cause)
	case errors.Is(err, fs.ErrNotExist):
		return f.gone(doing)
	}
	return fmt.Errorf("%s %s: %w", doing, f.path, cause)
}

func (f *File) gone(doing string) error {
	return fmt.Errorf("%s %s: %w: put the file back, or open another session", doing, f.path, ErrGone)
}
