package tools

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Found is what stands at a path, for whoever is going to put earlier content there (BRN-8).
type Found struct {
	SHA256 string // "": nothing is there
	Why    string // why nothing may be put there; it ends a sentence that begins with the path
}

// Find looks at the real path that a change was recorded under.
func (b *Box) Find(ctx context.Context, real string) Found {
	c, why := b.stands(ctx, real)
	return Found{c.sha, why}
}

// ErrNotAsFound says that something else stands there by now.
var ErrNotAsFound = errors.New("changed since")

// PutBack writes content in the place of what was found there, the way the tools write: through no link, never outside
// the workspace, a temporary file synced and renamed. A file keeps its mode; one that is made gets mode, 0 is what the
// umask leaves. The error ends a sentence that begins with the path.
func (b *Box) PutBack(ctx context.Context, real, found string, content []byte, mode uint32) (Change, error) {
	c, why := b.stands(ctx, real)
	switch {
	case why != "":
		return Change{}, errors.New(why)
	case c.sha != found:
		return Change{}, ErrNotAsFound
	}
	c.mode = mode
	var r Result
	if err := (&prep{Box: b}).replace(c, content, &r); err != nil {
		return Change{}, errors.New(strings.TrimPrefix(err.Error(), real+" "))
	}
	return r.Changes[0], nil
}

// TakeAway deletes the file that was found there; its content is kept first. Mode of the change is what it had.
func (b *Box) TakeAway(ctx context.Context, real, found string) (Change, error) {
	defer b.Locks.lock(real)()
	c, why := b.stands(ctx, real)
	switch {
	case why != "":
		return Change{}, errors.New(why)
	case c.info == nil || c.sha != found:
		return Change{}, ErrNotAsFound
	}
	ch := Change{Path: real, Op: Deleted, Mode: uint32(c.info.Mode().Perm())}
	if b.Blobs == nil {
		return Change{}, errors.New("not deleted: there is no content store to keep it in")
	}
	var err error
	if ch.Before, err = b.Blobs.Put(c.data); err != nil {
		return Change{}, err
	}
	dir, err := openDir(filepath.Dir(real), false)
	if err != nil {
		return Change{}, cause(err)
	}
	defer unix.Close(dir)
	base := filepath.Base(real)
	if err := (&prep{Box: b}).still(dir, base, c); err != nil {
		return Change{}, ErrNotAsFound
	}
	defer b.files.changing()()
	if err := unix.Unlinkat(dir, base, 0); err != nil {
		return Change{}, err
	}
	b.files.told(ch)
	syncDir(real)
	return ch, nil
}

// stands reads what is at a path, or says why it is not to be touched.
func (b *Box) stands(ctx context.Context, real string) (c current, why string) {
	if !filepath.IsAbs(real) || filepath.Clean(real) != real || !within(b.workspace, real) {
		return c, "outside the workspace"
	}
	at, err := b.resolve(real)
	switch {
	case err != nil:
		return c, "can't be read: " + cause(err).Error()
	case at.Real != real:
		return c, "is a link, or is reached through one"
	case at.Protected:
		return c, "belongs to Varve itself"
	}
	c.at = at
	data, info, err := load(ctx, real)
	var no errNotFile
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return c, ""
	case errors.As(err, &no):
		why, _, _ = strings.Cut(string(no), ";")
		return c, why
	case err != nil:
		return c, unreadable(err).Error()
	}
	c.data, c.info, c.sha = data, info, hashOf(data)
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		c.links = uint64(st.Nlink)
	}
	return c, ""
}
