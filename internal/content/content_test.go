package content

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const helloSHA = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" // of "hello"

// tree lists what is under dir, with modes.
func tree(t *testing.T, dir string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == dir {
			return err
		}
		st, err := d.Info()
		rel, _ := filepath.Rel(dir, p)
		out = append(out, fmt.Sprintf("%04o %s", st.Mode().Perm(), rel))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func kept(sha string) []string {
	return []string{"0700 blobs", "0700 blobs/sha256", "0700 blobs/sha256/" + sha[:2], "0600 blobs/sha256/" + sha[:2] + "/" + sha}
}

func TestPlaceAndModes(t *testing.T) { // CAS-2, SEC-2, case SES-11
	defer syscall.Umask(syscall.Umask(0))
	for _, umask := range []int{0o000, 0o002, 0o022, 0o277} {
		syscall.Umask(0o022)
		dir := t.TempDir()
		syscall.Umask(umask)
		s := Open(dir)
		if len(tree(t, dir)) > 0 {
			t.Fatal("Open does I/O")
		}
		sha, err := s.Put([]byte("hello"))
		if err != nil || sha != helloSHA {
			t.Fatal(sha, err)
		}
		if d := cmp.Diff(kept(helloSHA), tree(t, dir)); d != "" {
			t.Errorf("umask %03o: %s", umask, d)
		}
	}
}

func TestRoundTrip(t *testing.T) { // CAS-3
	s := Open(t.TempDir())
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), 0, 5000).Draw(t, "b")
		sha, err := s.Put(b)
		if err != nil {
			t.Fatal(err)
		}
		sha2, size, err := s.PutReader(bytes.NewReader(b), int64(len(b)))
		if err != nil || sha2 != sha || size != int64(len(b)) {
			t.Fatal(sha2, size, err)
		}
		got, err := s.Get(sha)
		if err != nil || !bytes.Equal(got, b) {
			t.Fatal(err)
		}
		r, err := s.Open(sha)
		if err != nil {
			t.Fatal(err)
		}
		got, err = io.ReadAll(r)
		if err != nil || !bytes.Equal(got, b) || r.Close() != nil {
			t.Fatal(err)
		}
		if ok, err := s.Has(sha); !ok || err != nil {
			t.Fatal(ok, err)
		}
	})
}

func TestMissingAndCorrupt(t *testing.T) { // CAS-3
	s := Open(t.TempDir())
	if _, err := s.Get(helloSHA); !errors.Is(err, ErrMissing) {
		t.Error(err)
	}
	if ok, err := s.Has(helloSHA); ok || err != nil {
		t.Error(ok, err)
	}
	if _, err := s.Put([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	path, _ := s.Path(helloSHA)
	for name, spoil := range map[string]func() error{
		"changed":  func() error { return os.WriteFile(path, []byte("hellO"), 0o600) },
		"cut":      func() error { return os.Truncate(path, 3) },
		"emptied":  func() error { return os.Truncate(path, 0) },
		"grown":    func() error { return os.WriteFile(path, []byte("hello!"), 0o600) },
		"a folder": func() error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
		"a link":   func() error { return errors.Join(os.Remove(path), os.Symlink("/dev/null", path)) },
		"a pipe":   func() error { return errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)) },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Get(helloSHA); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: get: %v", name, err)
		}
		if r, err := s.Open(helloSHA); err == nil {
			if _, err := io.ReadAll(r); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s: open: %v", name, err)
			}
			r.Close()
		} else if !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: open: %v", name, err)
		}
		if name == "a folder" {
			os.Remove(path)
		}
		if _, err := s.Put([]byte("hello")); err != nil { // heals: a line may name it now
			t.Errorf("%s: put: %v", name, err)
		}
		if b, err := s.Get(helloSHA); err != nil || string(b) != "hello" {
			t.Errorf("%s: after put: %q %v", name, b, err)
		}
	}
}

func TestHashesAreNamesOnly(t *testing.T) { // SEC-3
	s := Open(t.TempDir())
	for _, bad := range []string{"", "..", "../../etc/passwd", strings.ToUpper(helloSHA), helloSHA[1:], helloSHA + "0", strings.Repeat("/", 64), strings.Repeat(".", 64)} {
		_, e1 := s.Get(bad)
		_, e2 := s.Open(bad)
		_, e3 := s.Has(bad)
		_, e4 := s.Remove(bad, time.Time{})
		for _, err := range []error{e1, e2, e3, e4} {
			if !errors.Is(err, ErrHash) {
				t.Errorf("%q: %v", bad, err)
			}
		}
	}
}

func TestTooLarge(t *testing.T) {
	dir := t.TempDir()
	s := Open(dir)
	if _, _, err := s.PutReader(strings.NewReader("hello"), 4); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
	if d := cmp.Diff(kept(helloSHA)[:2], tree(t, dir)); d != "" {
		t.Error(d)
	}
}

func TestStoredOnceAndMadeYoung(t *testing.T) { // CAS-3, CAS-5
	s := Open(t.TempDir())
	s.Put([]byte("hello"))
	path, _ := s.Path(helloSHA)
	first, _ := os.Stat(path)
	old := time.Now().Add(-100 * 24 * time.Hour)
	for _, put := range []func() error{
		func() error { _, err := s.Put([]byte("hello")); return err },
		func() error { _, _, err := s.PutReader(strings.NewReader("hello"), 9); return err },
	} {
		os.Chtimes(path, old, old)
		if err := put(); err != nil {
			t.Fatal(err)
		}
		st, _ := os.Stat(path)
		if !os.SameFile(first, st) || !st.ModTime().After(old.Add(time.Hour)) {
			t.Errorf("written again, or still old: %v", st.ModTime())
		}
	}
	os.Chtimes(path, old, old)
	s.Get(helloSHA) // reading does not renew (CAS-4)
	if st, _ := os.Stat(path); !st.ModTime().Equal(old) {
		t.Error("reading made it young")
	}
	if gone, err := s.Remove(helloSHA, old); gone || err != nil {
		t.Error("removed too early", err)
	}
	if gone, err := s.Remove(helloSHA, old.Add(time.Second)); !gone || err != nil {
		t.Error("not removed", err)
	}
	if gone, err := s.Remove(helloSHA, time.Now()); gone || err != nil {
		t.Error("removed twice", err)
	}
}

func TestConcurrentPuts(t *testing.T) { // CAS-3, CAS-5
	dir := t.TempDir()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			s := Open(dir)
			for i := range 20 {
				b := []byte(strings.Repeat(fmt.Sprint(i%5), 9999))
				sha, err := s.Put(b)
				if err != nil {
					t.Error(err)
					continue
				}
				// A collection runs beside; what is young stays, whatever it does.
				if _, err := s.Remove(sha, time.Now().Add(-time.Hour)); err != nil {
					t.Error(err)
				}
				if got, err := s.Get(sha); err != nil || !bytes.Equal(got, b) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for _, name := range tree(t, dir) {
		if strings.Contains(name, tempPrefix) {
			t.Error("left behind:", name)
		}
	}
}

// steps is a disk that notes what is done, and dies before the nth step.
type steps struct {
	Disk
	did   []string
	limit int
	err   error
}

func (l *steps) do(what string) error {
	if l.limit > 0 && len(l.did) >= l.limit {
		return l.err
	}
	l.did = append(l.did, what)
	return nil
}

func (l *steps) Write(f *os.File, p []byte) (int, error) {
	if err := l.do("write"); err != nil {
		n, _ := f.Write(p[:len(p)/2])
		return n, err
	}
	return l.Disk.Write(f, p)
}

func (l *steps) Sync(f *os.File) error {
	if err := l.do("sync"); err != nil {
		return err
	}
	return l.Disk.Sync(f)
}

func (l *steps) Rename(from, to string) error {
	if err := l.do("rename"); err != nil {
		return err
	}
	return l.Disk.Rename(from, to)
}

func (l *steps) SyncDir(dir string) error {
	if err := l.do("sync " + filepath.Base(dir)); err != nil {
		return err
	}
	return l.Disk.SyncDir(dir)
}

func TestOrderAndFaults(t *testing.T) { // CAS-2, LOG-5, LOG-8
	dir := t.TempDir()
	l := &steps{}
	if _, err := OpenOn(dir, l).Put([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	want := []string{"sync " + filepath.Base(dir), "sync blobs", "write", "sync sha256", "sync", "rename", "sync 2c"}
	if d := cmp.Diff(want, l.did); d != "" {
		t.Fatal(d)
	}
	for n := 1; n < len(want); n++ {
		dir := t.TempDir()
		l := &steps{limit: n, err: syscall.ENOSPC}
		if sha, err := OpenOn(dir, l).Put([]byte("hello")); !errors.Is(err, ErrFull) {
			t.Errorf("fault before %q: %q %v", want[n], sha, err)
		}
		s := Open(dir)
		ok, _ := s.Has(helloSHA)
		if renamed := n == len(want)-1; ok != renamed {
			t.Errorf("fault before %q: visible %v", want[n], ok)
		}
		for _, name := range tree(t, dir) {
			if strings.Contains(name, tempPrefix) {
				t.Errorf("fault before %q: left behind %s", want[n], name)
			}
		}
		if _, err := s.Put([]byte("hello")); err != nil { // the fault is gone
			t.Error(err)
		}
		if b, err := s.Get(helloSHA); err != nil || string(b) != "hello" {
			t.Error(err)
		}
	}
}

// crash ends the goroutine at the rename, as a kill would: nothing runs after it.
type crash struct{ Disk }

func (crash) Rename(string, string) error { panic("killed") }

func TestCrashBeforeRename(t *testing.T) { // CAS-2
	dir := t.TempDir()
	func() {
		defer func() { recover() }()
		OpenOn(dir, crash{}).Put([]byte("hello"))
	}()
	s := Open(dir)
	if _, err := s.Get(helloSHA); !errors.Is(err, ErrMissing) {
		t.Error(err)
	}
	if _, err := s.Put([]byte("hello")); err != nil {
		t.Error(err)
	}
	// And what a killed process leaves is in no later put's way.
	left := filepath.Join(dir, "blobs", "sha256", tempPrefix+random())
	os.WriteFile(left, []byte("hel"), 0o600)
	if _, err := s.Put([]byte("other")); err != nil {
		t.Error(err)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestReaderFails(t *testing.T) {
	dir := t.TempDir()
	if _, _, err := Open(dir).PutReader(io.MultiReader(strings.NewReader("x"), broken{}), 10); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
	if d := cmp.Diff(kept(helloSHA)[:2], tree(t, dir)); d != "" {
		t.Error(d)
	}
}
