package tools

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

func hashOf(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// current is a file as a plan found it.
type current struct {
	at    Path
	data  []byte
	info  fs.FileInfo // nil: there is none
	sha   string
	links uint64
	mode  uint32 // of a file that is made; 0: what the umask leaves
}

// look reads the file that a writing tool is about, and says whether the session may change it: never what it has not
// read, or what changed since (by hash).
func (p *prep) look(ctx context.Context, at Path, mustExist bool) (current, error) {
	c := current{at: at}
	data, fi, err := load(ctx, at.Real)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !mustExist:
		return c, nil
	case errors.Is(err, fs.ErrNotExist):
		return c, errors.New(p.missing(at))
	case err != nil:
		return c, fmt.Errorf("%s %w", at.Name, unreadable(err))
	}
	c.data, c.info, c.sha = data, fi, hashOf(data)
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		c.links = uint64(st.Nlink)
	}
	switch sha, seen := p.known.Hash(at.Real); {
	case !seen:
		return c, fmt.Errorf("%s exists and has not been read in this conversation; read it first", at.Name)
	case sha != c.sha:
		return c, fmt.Errorf("%s has changed since it was last read; read it again and repeat the change", at.Name)
	}
	return c, nil
}

// unreadable makes any error of openFile or load end a sentence that begins with the path.
func unreadable(err error) error {
	var nf errNotFile
	if errors.As(err, &nf) {
		return nf
	}
	return fmt.Errorf("can't be read: %w", cause(err))
}

// replace puts new content in the place of what a plan found, if that is still there: a temporary file beside it,
// synced and renamed, with the old mode (TOOL-3). A hard link's other names keep the old content. The change and the
// new hash go into r; old content is kept in Blobs before anything is written.
func (p *prep) replace(c current, after []byte, r *Result) error {
	defer p.Locks.lock(c.at.Real)()
	again, err := p.resolve(c.at.Name)
	if err != nil {
		return err
	}
	if again != c.at {
		return fmt.Errorf("not written: %s now leads to another place (%s)", c.at.Name, again.Real)
	}
	ch := Change{Path: c.at.Real, Op: Created}
	keep := func(b []byte) string {
		if p.Blobs == nil {
			ch.MissingWhy = "no content store"
			return ""
		}
		sha, err := p.Blobs.Put(b)
		if err != nil {
			ch.MissingWhy = err.Error()
		}
		return sha
	}
	if c.info != nil {
		ch.Op, ch.Before = Modified, keep(c.data)
	}
	defer p.files.changing()()
	if ch.Mode, err = p.put(c, after); err != nil {
		return err
	}
	ch.After = keep(after)
	p.files.told(ch)
	r.Changes = append(r.Changes, ch)
	r.Observed = append(r.Observed, Observed{c.at.Real, hashOf(after), int64(len(after))})
	return nil
}

func (p *prep) put(c current, after []byte) (mode uint32, err error) {
	wrap := func(err error) error {
		switch {
		case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR):
			err = errors.New("a folder on the way to it is not one, or was replaced by a link")
		case errors.Is(err, unix.EEXIST):
			err = errors.New("it was made meanwhile; read it first")
		}
		return fmt.Errorf("%s not written: %w", c.at.Name, cause(err))
	}
	dir, err := openDir(filepath.Dir(c.at.Real), c.info == nil)
	if err != nil {
		return 0, wrap(err)
	}
	defer unix.Close(dir)
	base := filepath.Base(c.at.Real)
	temp := ".varve-" + rand.Text()[:16] + ".tmp"
	perm := uint32(0o666) // less the umask, for a new file
	if c.info != nil || c.mode != 0 {
		perm = 0o600
	}
	fd, err := openIn(dir, temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, perm)
	if err != nil {
		return 0, wrap(err)
	}
	f := os.NewFile(uintptr(fd), temp)
	defer func() {
		f.Close()
		if err != nil {
			_ = unix.Unlinkat(dir, temp, 0)
		}
	}()
	if _, err = f.Write(after); err != nil {
		return 0, wrap(err)
	}
	switch {
	case c.info != nil:
		err = keepOwner(f, c.info)
	case c.mode != 0:
		err = f.Chmod(fs.FileMode(c.mode).Perm())
	}
	if err != nil {
		return 0, wrap(err)
	}
	if err = f.Sync(); err != nil {
		return 0, wrap(err)
	}
	fi, err := f.Stat()
	if err != nil {
		return 0, wrap(err)
	}
	if c.info == nil {
		if err = renameNew(dir, temp, base); errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.ENOTSUP) {
			if err = unchanged(dir, base, nil); err == nil { // a file system without an exclusive rename
				err = unix.Renameat(dir, temp, dir, base)
			}
		}
	} else if err = p.still(dir, base, c); err == nil {
		err = unix.Renameat(dir, temp, dir, base)
	}
	if err != nil {
		return 0, wrap(err)
	}
	syncDir(c.at.Real)
	return uint32(fi.Mode().Perm()), nil
}

// keepOwner gives the new file the mode of the old one, and its owner where we may.
func keepOwner(f *os.File, old fs.FileInfo) error {
	if st, ok := old.Sys().(*syscall.Stat_t); ok {
		if fi, err := f.Stat(); err == nil {
			if now := fi.Sys().(*syscall.Stat_t); now.Uid != st.Uid || now.Gid != st.Gid {
				_ = f.Chown(int(st.Uid), int(st.Gid)) // only root may; the mode below is kept either way
			}
		}
	}
	return f.Chmod(old.Mode().Perm())
}

// still checks, as late as can be, that what is about to be replaced is what the plan read.
func (p *prep) still(dir int, base string, c current) error {
	if err := unchanged(dir, base, c.info); err != nil {
		return err
	}
	data, _, err := load(context.Background(), c.at.Real)
	if err != nil {
		return err
	}
	if hashOf(data) != c.sha {
		return errors.New("it has changed since it was last read; read it again and repeat the change")
	}
	return nil
}

func unchanged(dir int, base string, was fs.FileInfo) error {
	var st unix.Stat_t
	err := unix.Fstatat(dir, base, &st, unix.AT_SYMLINK_NOFOLLOW)
	if was == nil {
		if err == nil {
			return unix.EEXIST
		}
		if err == unix.ENOENT {
			return nil
		}
		return err
	}
	if err != nil {
		return err
	}
	if old, ok := was.Sys().(*syscall.Stat_t); ok && (uint64(old.Ino) != uint64(st.Ino) || uint64(old.Dev) != uint64(st.Dev)) {
		return errors.New("it was replaced since it was last read; read it again and repeat the change")
	}
	return nil
}

// syncDir makes the rename durable; a folder that can't be synced loses nothing but that.
func syncDir(real string) {
	if d, err := os.Open(filepath.Dir(real)); err == nil {
		_ = d.Sync()
		d.Close()
	}
}
