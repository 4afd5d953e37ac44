// Package content keeps immutable bytes under their hash.
//
// A blob stands in blobs/sha256/<2 hex>/<64 hex> (CAS-2). It is written to a
// temporary file beside those folders, synced, and renamed: a name that is there
// holds all of its bytes, or bytes that fail their hash when they are read (CAS-3).
package content

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"syscall"
)

// Errors that a caller tells apart, each wrapped with the blob's hash.
var (
	// ErrMissing: no blob has this hash.
	ErrMissing = errors.New("content is missing")
	// ErrCorrupt: the bytes under this hash are not the bytes that were put.
	ErrCorrupt = errors.New("content is corrupt")
	// ErrTooLarge: the reader had more bytes than allowed. Nothing was kept.
	ErrTooLarge = errors.New("content is too large")
	// ErrHash: not a SHA-256 in 64 lower-case hex digits.
	ErrHash = errors.New("not a content hash")
	// ErrFull: no space or quota is left. Nothing was kept.
	ErrFull = errors.New("disk full")
)

// A Layer does what changes the disk. Tests put one in to record the order
// (LOG-5: content, then the line that names it) or to fail; they embed Disk.
type Layer interface {
	Write(f *os.File, p []byte) (int, error)
	Sync(f *os.File) error
	Rename(from, to string) error
	SyncDir(dir string) error
}

// Disk is the real Layer.
type Disk struct{}

// Write is os.File.Write.
func (Disk) Write(f *os.File, p []byte) (int, error) { return f.Write(p) }

// Sync is os.File.Sync.
func (Disk) Sync(f *os.File) error { return f.Sync() }

// Rename is os.Rename.
func (Disk) Rename(from, to string) error { return os.Rename(from, to) }

// SyncDir is fsync(2) on a directory.
func (Disk) SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err = d.Sync(); errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil // a file system that can't, and needs no such sync
	}
	return err
}

// A Store keeps blobs in one directory. It may be used by several goroutines, and
// several processes may have a Store there.
type Store struct {
	root  string // …/blobs/sha256
	layer Layer
}

// Open is the Store under dir, the data directory. It does no I/O.
func Open(dir string) *Store { return OpenOn(dir, Disk{}) }

// OpenOn is Open on another Layer.
func OpenOn(dir string, layer Layer) *Store {
	return &Store{root: filepath.Join(dir, "blobs", "sha256"), layer: layer}
}

// Put keeps b and returns its hash, 64 hex. When it returns, the blob is on the
// disk. A blob that is there already, and sound, is not written again but made
// young (CAS-3, CAS-5); one that is corrupt is replaced.
func (s *Store) Put(b []byte) (sha string, err error) {
	h := sha256.Sum256(b)
	sha = hex.EncodeToString(h[:])
	if ok, err := s.renew(sha, int64(len(b))); ok || err != nil {
		return sha, err
	}
	t, err := s.temp()
	if err != nil {
		return "", blame(err)
	}
	defer t.discard()
	if _, err := t.Write(b); err != nil {
		return "", blame(err)
	}
	return sha, t.commit(sha)
}

// PutReader keeps what r gives, at most max bytes, and returns its hash and size.
// The bytes are not held in memory.
func (s *Store) PutReader(r io.Reader, max int64) (sha string, size int64, err error) {
	t, err := s.temp()
	if err != nil {
		return "", 0, blame(err)
	}
	defer t.discard()
	h := sha256.New()
	max = min(max, math.MaxInt64-1)
	size, err = io.Copy(io.MultiWriter(t, h), io.LimitReader(r, max+1))
	if err != nil {
		return "", 0, blame(err)
	}
	if size > max {
		return "", 0, fmt.Errorf("put content: %w: more than %d bytes", ErrTooLarge, max)
	}
	sha = hex.EncodeToString(h.Sum(nil))
	if ok, err := s.renew(sha, size); ok || err != nil {
		return sha, size, err
	}
	return sha, size, t.commit(sha)
}

// Get returns a blob's bytes, checked against its hash.
func (s *Store) Get(sha string) ([]byte, error) {
	r, err := s.open(sha)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	st, err := r.f.Stat()
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", sha, err)
	}
	b := make([]byte, 0, st.Size()+1)
	for {
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err == io.EOF {
			return b, nil
		}
		if err != nil {
			return nil, err
		}
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
	}
}

// Open returns a blob to be read in parts. The read that would give io.EOF gives
// ErrCorrupt instead where the bytes before it fail their hash; until then they
// are not to be trusted.
func (s *Store) Open(sha string) (io.ReadCloser, error) {
	r, err := s.open(sha)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Has says whether a blob of that name is there. It does not read it.
func (s *Store) Has(sha string) (bool, error) {
	path, err := s.path(sha)
	if err != nil {
		return false, err
	}
	st, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for %s: %w", sha, err)
	}
	return st.Mode().IsRegular(), nil
}

// Path is where a blob is or would be. It is for people and for collection; the
// bytes there are checked by Get and Open only.
func (s *Store) Path(sha string) (string, error) { return s.path(sha) }

func (s *Store) path(sha string) (string, error) {
	ok := len(sha) == 2*sha256.Size
	for i := 0; ok && i < len(sha); i++ {
		c := sha[i]
		ok = c-'0' <= 9 || c-'a' <= 5
	}
	if !ok {
		return "", fmt.Errorf("%w: %.80q", ErrHash, sha)
	}
	return filepath.Join(s.root, sha[:2], sha), nil
}

func (s *Store) open(sha string) (*reader, error) {
	path, err := s.path(sha)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("get %s: %w", sha, ErrMissing)
	}
	if errors.Is(err, syscall.ELOOP) {
		return nil, fmt.Errorf("get %s: %w: it is a symbolic link", sha, ErrCorrupt)
	}
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", sha, err)
	}
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		f.Close()
		return nil, fmt.Errorf("get %s: %w: it is not a regular file", sha, ErrCorrupt)
	}
	return &reader{f: f, sha: sha, h: sha256.New()}, nil
}

type reader struct {
	f   *os.File
	sha string
	h   hash.Hash
}

func (r *reader) Read(p []byte) (int, error) {
	n, err := r.f.Read(p)
	r.h.Write(p[:n])
	if err == io.EOF {
		if got := hex.EncodeToString(r.h.Sum(nil)); got != r.sha {
			return n, fmt.Errorf("get %s: %w: its hash is %s", r.sha, ErrCorrupt, got)
		}
		return n, io.EOF
	}
	if err != nil {
		return n, fmt.Errorf("get %s: %w", r.sha, err)
	}
	return n, nil
}

func (r *reader) Close() error { return r.f.Close() }

// blame gives an error of the system its kind and its advice.
func blame(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
		return fmt.Errorf("put content: %w (%w): make room, then try again", ErrFull, err)
	}
	return fmt.Errorf("put content: %w", err)
}

func random() string {
	var b [16]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
