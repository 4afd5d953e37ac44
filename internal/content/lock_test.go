package content

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// watched is a disk that sees how a blob's folder is locked at each step in it.
type watched struct {
	Disk
	did []string
}

// held says which lock somebody holds on a folder: ex, sh or none.
func held(dir string) string {
	d, err := os.Open(dir)
	if err != nil {
		return err.Error()
	}
	defer d.Close()
	if syscall.Flock(int(d.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
		return "none"
	}
	if syscall.Flock(int(d.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil {
		return "sh"
	}
	return "ex"
}

func (l *watched) Rename(from, to string) error {
	l.did = append(l.did, "rename "+held(filepath.Dir(to)))
	return l.Disk.Rename(from, to)
}

func (l *watched) SyncDir(dir string) error {
	if len(filepath.Base(dir)) == 2 {
		l.did = append(l.did, "sync "+held(dir))
	}
	return l.Disk.SyncDir(dir)
}

// CAS-5: a put holds its folder against a removal from before its name is there until the name is on the disk, also
// where the blob is there already, whose name is synced again: the put that made it may have died before it could.
func TestPutHoldsItsFolder(t *testing.T) {
	for name, put := range map[string]func(*Store) error{
		"bytes":  func(s *Store) error { _, err := s.Put([]byte("hello")); return err },
		"reader": func(s *Store) error { _, _, err := s.PutReader(strings.NewReader("hello"), 9); return err },
	} {
		dir := t.TempDir()
		l := &watched{}
		for range 2 {
			if err := put(OpenOn(dir, l)); err != nil {
				t.Fatal(err)
			}
			l.did = append(l.did, "done "+held(filepath.Join(dir, "blobs", "sha256", "2c")))
		}
		if d := cmp.Diff([]string{"rename sh", "sync sh", "done none", "sync sh", "done none"}, l.did); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// CAS-5: a removal waits for the puts under way, and looks at the blob's age after them.
func TestRemoveWaitsForPuts(t *testing.T) {
	if _, err := os.Stat("/proc/locks"); err != nil {
		t.Skip("only Linux says who waits for a lock:", err)
	}
	s := Open(t.TempDir())
	if _, err := s.Put([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	path, _ := s.Path(helloSHA)
	old := time.Now().Add(-100 * 24 * time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	free, err := lock(filepath.Dir(path), syscall.LOCK_SH) // as a put under way has it
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		gone, err := s.Remove(helloSHA, time.Now().Add(-time.Hour))
		if gone {
			err = errors.New("removed, though it was put meanwhile")
		}
		done <- err
	}()
	st, err := os.Stat(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	inode := fmt.Sprintf(":%d ", st.Sys().(*syscall.Stat_t).Ino)
	for waits := false; !waits; runtime.Gosched() {
		select {
		case err := <-done:
			t.Fatalf("it did not wait: %v", err)
		default:
		}
		locks, err := os.ReadFile("/proc/locks")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(locks)) {
			waits = waits || strings.Contains(line, "-> FLOCK") && strings.Contains(line, inode)
		}
	}
	now := time.Now()
	if err := os.Chtimes(path, now, now); err != nil {
		t.Fatal(err)
	}
	free()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if b, err := s.Get(helloSHA); err != nil || string(b) != "hello" {
		t.Errorf("%q %v", b, err)
	}
}

// short is a disk that takes a part and says nothing, as a full one may.
type short struct{ Disk }

func (short) Write(f *os.File, p []byte) (int, error) { return f.Write(p[:len(p)/2]) }

func TestShortWriteIsAFullDisk(t *testing.T) { // LOG-8
	dir := t.TempDir()
	s := OpenOn(dir, short{})
	if sha, err := s.Put([]byte("hello")); !errors.Is(err, ErrFull) {
		t.Errorf("put: %q %v", sha, err)
	}
	if sha, _, err := s.PutReader(strings.NewReader("hello"), 9); !errors.Is(err, ErrFull) {
		t.Errorf("put a reader: %q %v", sha, err)
	}
	if d := cmp.Diff(kept(helloSHA)[:2], tree(t, dir)[:2]); d != "" {
		t.Error(d)
	}
	if ok, err := s.Has(helloSHA); ok || err != nil {
		t.Error("half a blob has its name", err)
	}
}

func TestSize(t *testing.T) { // CAS-1: a reference says how many bytes it means
	s := Open(t.TempDir())
	for _, text := range []string{"", "hello", strings.Repeat("x", 100_000)} {
		sha, err := s.Put([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if n, err := s.Size(sha); err != nil || n != int64(len(text)) {
			t.Errorf("%d bytes are %d (%v)", len(text), n, err)
		}
	}
	if _, err := s.Size(strings.Repeat("0", 64)); !errors.Is(err, ErrMissing) {
		t.Error(err)
	}
	if _, err := s.Size("../x"); !errors.Is(err, ErrHash) {
		t.Error(err)
	}
}

// A blob of the right length and other bytes is no reason not to write it again (CAS-3).
func TestPutLooksAtTheBytes(t *testing.T) {
	s := Open(t.TempDir())
	for _, put := range []func() error{
		func() error { _, err := s.Put([]byte("hello")); return err },
		func() error { _, _, err := s.PutReader(strings.NewReader("hello"), 5); return err },
	} {
		if err := put(); err != nil {
			t.Fatal(err)
		}
		path, _ := s.Path(helloSHA)
		if err := os.WriteFile(path, []byte("jello"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := put(); err != nil {
			t.Fatal(err)
		}
		if b, err := s.Get(helloSHA); err != nil || string(b) != "hello" {
			t.Errorf("%q %v", b, err)
		}
	}
}
