package jsonl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// recorder is a disk that tells what was done to it, in order.
type recorder struct {
	Disk
	mu  sync.Mutex
	did []string
}

func (l *recorder) note(s string) {
	l.mu.Lock()
	l.did = append(l.did, s)
	l.mu.Unlock()
}

func (l *recorder) Write(f *os.File, p []byte) (int, error) {
	l.note(fmt.Sprintf("write %d", bytes.Count(p, []byte("\n"))))
	return l.Disk.Write(f, p)
}

func (l *recorder) Sync(f *os.File) error {
	l.note("sync")
	return l.Disk.Sync(f)
}

func (l *recorder) SyncDir(dir string) error {
	l.note("sync " + filepath.Base(dir))
	return l.Disk.SyncDir(dir)
}

func TestPolicies(t *testing.T) { // LOG-5
	for policy, want := range map[Policy][]string{
		Turn:   {"sync up", "sync s", "write 2", "write 1", "effect", "sync", "effect", "effect"},
		"":     {"sync up", "sync s", "write 2", "write 1", "effect", "sync", "effect", "effect"},
		Always: {"sync up", "sync s", "write 2", "sync", "write 1", "sync", "effect", "effect", "effect"},
		Never:  {"write 2", "write 1", "effect", "effect", "effect"},
	} {
		up := filepath.Join(t.TempDir(), "up")
		if err := os.Mkdir(up, 0o700); err != nil {
			t.Fatal(err)
		}
		l := &recorder{}
		w := create(t, filepath.Join(up, "s", "a.jsonl"), Options{Policy: policy, Layer: l})
		w.append("a", "b")
		w.append("c")
		l.note("effect")
		for range 2 { // the second has nothing to bring
			if err := w.f.Sync(); err != nil {
				t.Fatal(err)
			}
			l.note("effect")
		}
		w.f.Close()
		if d := cmp.Diff(want, l.did); d != "" {
			t.Errorf("policy %q: %s", policy, d)
		}
	}
}

func TestSyncCoversOthersLines(t *testing.T) { // LOG-5, LOG-6
	path := filepath.Join(t.TempDir(), "a.jsonl")
	a := create(t, path, Options{})
	l := &recorder{}
	b := open(t, path, Options{Policy: Turn, Layer: l})
	a.append("theirs")
	if err := b.f.CatchUp(nil); err != nil {
		t.Fatal(err)
	}
	if err := b.f.Sync(); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"sync"}, l.did); d != "" {
		t.Fatal(d)
	}
}

// unsynced is a disk that can't bring anything to rest as long as err is set.
type unsynced struct {
	recorder
	err error
}

func (l *unsynced) Sync(f *os.File) error {
	l.note("sync")
	return l.err
}

// A sync that fails is told, and what it was to bring counts as not on the disk: the next one tries again. An append
// that syncs says that its lines are there all the same.
func TestSyncFails(t *testing.T) { // LOG-5, LOG-8
	for cause, kind := range map[error]error{syscall.ENOSPC: ErrFull, syscall.EDQUOT: ErrFull, syscall.EIO: syscall.EIO} {
		l := &unsynced{err: cause}
		w := create(t, filepath.Join(t.TempDir(), "a.jsonl"), Options{Layer: l})
		w.append("one")
		l.did = nil
		for range 2 {
			if err := w.f.Sync(); !errors.Is(err, kind) || !errors.Is(err, cause) {
				t.Errorf("%v: %v", cause, err)
			}
		}
		l.err = nil
		for range 2 {
			if err := w.f.Sync(); err != nil {
				t.Error(err)
			}
		}
		if d := cmp.Diff([]string{"sync", "sync", "sync"}, l.did); d != "" {
			t.Errorf("%v: %s", cause, d)
		}
		l.err, w.f.opts.Policy = cause, Always
		lines, err := w.f.Append(ctx, rests("two"), nil)
		if len(lines) != 1 || lines[0].Seq != 2 || !errors.Is(err, kind) {
			t.Errorf("%v: %v %v", cause, lines, err)
		}
		l.err = nil
		w.take(lines, nil)
		w.append("three")
		if d := cmp.Diff(clean(t, w.f.Path()), w.seen); d != "" {
			t.Error(d)
		}
	}
}

func TestFullAtEveryByte(t *testing.T) { // case SES-10, LOG-8, REL-2
	for _, cause := range []error{syscall.ENOSPC, syscall.EDQUOT, nil} { // nil: a short write without an error
		for after := 0; ; after++ {
			path := filepath.Join(t.TempDir(), "a.jsonl")
			w := create(t, path, Options{Policy: Never})
			w.append("one")
			old := read(t, path)
			w.f.opts.Layer = failing{after: after, err: cause}
			lines, err := w.f.Append(ctx, rests("two", "three"), nil)
			if err == nil && after > 200 { // it fits
				break
			}
			if lines != nil || !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), "disk full") {
				t.Fatalf("%v after %d bytes: %v %v", cause, after, lines, err)
			}
			if cause != nil && !errors.Is(err, cause) {
				t.Fatalf("the cause is lost: %v", err)
			}
			torn := read(t, path)
			if len(torn) != len(old)+after {
				t.Fatalf("%d bytes are there, not %d", len(torn)-len(old), after)
			}
			w.f.opts.Layer = Disk{} // room again
			w.append("four")
			w.f.Close()
			if !bytes.HasPrefix(read(t, path), torn) {
				t.Fatal("the torn piece was changed")
			}
			if d := cmp.Diff(clean(t, path), w.seen); d != "" {
				t.Fatalf("after %d bytes the writer saw otherwise:\n%s", after, d)
			}
		}
	}
}

func TestGone(t *testing.T) { // REL-2: file removed under us
	for name, remove := range map[string]func(t *testing.T, path string){
		"removed": func(t *testing.T, path string) { os.Remove(path) },
		"replaced": func(t *testing.T, path string) {
			write(t, path+".new", read(t, path))
			os.Rename(path+".new", path)
		},
		"folder moved": func(t *testing.T, path string) { os.Rename(filepath.Dir(path), filepath.Dir(path)+"x") },
	} {
		for _, opened := range []bool{true, false} {
			path := filepath.Join(t.TempDir(), "d", "a.jsonl")
			w := create(t, path, Options{})
			w.append("one")
			if !opened { // the handle for writing is not there yet
				w = open(t, path, Options{})
			}
			remove(t, path)
			if _, err := w.f.Append(ctx, rests("two"), nil); !errors.Is(err, ErrGone) {
				t.Errorf("%s: %v", name, err)
			}
			if st, err := w.f.r.Stat(); err != nil || st.Size() != w.f.Last().End() {
				t.Errorf("%s: the ghost was written to", name)
			}
		}
	}
}

func TestCutShortUnderUs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	w := create(t, path, Options{})
	w.append("one", "two")
	l := w.f.Last()
	if err := os.Truncate(path, l.Off); err != nil {
		t.Fatal(err)
	}
	if err := w.f.CatchUp(nil); !errors.Is(err, ErrChanged) {
		t.Error(err)
	}
	if _, err := w.f.Read(l); !errors.Is(err, ErrChanged) {
		t.Error(err)
	}
	if _, err := w.f.Append(ctx, rests("three"), nil); !errors.Is(err, ErrChanged) {
		t.Error(err)
	}
}

func TestConflict(t *testing.T) { // LOG-6
	path := filepath.Join(t.TempDir(), "a.jsonl")
	a := create(t, path, Options{})
	b := open(t, path, Options{})
	a.append("one", "two")
	old := read(t, path)
	conflict := errors.New("conflict")
	_, err := b.f.Append(ctx, rests("three"), func() error {
		if d := cmp.Diff([]string{"1:one", "2:two"}, b.seen); d != "" {
			t.Errorf("agree was asked too early: %s", d)
		}
		return conflict
	})
	if !errors.Is(err, conflict) || !bytes.Equal(old, read(t, path)) {
		t.Fatalf("%v\n%s", err, read(t, path))
	}
	b.append("three")
	a.append("four")
	if d := cmp.Diff(clean(t, path), a.seen); d != "" {
		t.Fatal(d)
	}
}

func TestVisitErrorIsNotSkipped(t *testing.T) { // LOG-7
	path := filepath.Join(t.TempDir(), "a.jsonl")
	sample(t, path)
	f, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	stop := errors.New("stop")
	var seen []uint64
	visit := func(l Line, _ []byte) error {
		if seen = append(seen, l.Seq); len(seen) == 2 {
			return stop
		}
		return nil
	}
	if err := f.CatchUp(visit); !errors.Is(err, stop) {
		t.Fatal(err)
	}
	if err := f.CatchUp(visit); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]uint64{1, 2, 2, 3}, seen); d != "" {
		t.Fatal(d)
	}
}

func TestLockedFor10s(t *testing.T) { // LOG-6
	path := filepath.Join(t.TempDir(), "a.jsonl")
	sample(t, path)
	holder, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	if ok, err := tryLock(holder); !ok || err != nil {
		t.Fatal(ok, err)
	}
	synctest.Test(t, func(t *testing.T) {
		r := open(t, path, Options{}) // readers are not in its way
		defer r.f.Close()
		began := time.Now()
		_, err := r.f.Append(ctx, rests("x"), nil)
		if !errors.Is(err, ErrLocked) || time.Since(began) != 10*time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if _, err := r.f.Append(short, rests("x"), nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		go func() {
			time.Sleep(3 * time.Second)
			unlock(holder)
		}()
		done := make(chan error)
		go func() {
			_, err := r.f.Append(ctx, rests("x"), nil)
			done <- err
		}()
		synctest.Wait()
		if err := r.f.CatchUp(nil); err != nil { // and a waiting writer is in no reader's way
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	clean(t, path)
}

func TestModes(t *testing.T) { // case SES-11, LOG-1
	defer syscall.Umask(syscall.Umask(0))
	for _, umask := range []int{0o000, 0o002, 0o022, 0o277} {
		syscall.Umask(0o022)
		dir := t.TempDir()
		syscall.Umask(umask)
		path := filepath.Join(dir, "new", "deep", "a.jsonl")
		w := create(t, path, Options{})
		w.append("one")
		w.f.Close()
		for p, want := range map[string]fs.FileMode{path: 0o600, filepath.Dir(path): 0o700, filepath.Join(dir, "new"): 0o700} {
			if st, err := os.Stat(p); err != nil || st.Mode().Perm() != want {
				t.Errorf("umask %03o: %s is %v, not %v (%v)", umask, p, st.Mode().Perm(), want, err)
			}
		}
	}
	path := filepath.Join(t.TempDir(), "a.jsonl")
	sample(t, path)
	os.Chmod(path, 0o644)
	r := open(t, path, Options{ReadOnly: true})
	if st, _ := os.Stat(path); st.Mode().Perm() != 0o644 || !errors.Is(r.f.Loose(), ErrMode) {
		t.Errorf("reading only: %v, %v", st.Mode(), r.f.Loose())
	}
	r = open(t, path, Options{})
	if st, _ := os.Stat(path); st.Mode().Perm() != 0o600 || r.f.Loose() != nil {
		t.Errorf("reopened: %v, %v", st.Mode(), r.f.Loose())
	}
	if _, err := Create(path, Options{}); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
}

func TestReadOnly(t *testing.T) { // LOG-8, REL-2
	path := filepath.Join(t.TempDir(), "a.jsonl")
	old := sample(t, path)
	r := open(t, path, Options{ReadOnly: true})
	if _, err := r.f.Append(ctx, rests("x"), nil); !errors.Is(err, ErrReadOnly) {
		t.Error(err)
	}
	for _, cause := range []error{syscall.EROFS, syscall.EACCES, syscall.EPERM} {
		w := open(t, path, Options{Layer: failing{after: 0, err: cause}})
		if _, err := w.f.Append(ctx, rests("x"), nil); !errors.Is(err, ErrReadOnly) || !errors.Is(err, cause) {
			t.Error(err)
		}
	}
	if os.Getuid() != 0 { // root may write anything
		os.Chmod(path, 0o400)
		w := open(t, path, Options{})
		if _, err := w.f.Append(ctx, rests("x"), nil); !errors.Is(err, ErrReadOnly) {
			t.Error(err)
		}
		os.Chmod(path, 0o600) // the fault is gone
		w.append("y")
		return
	}
	if !bytes.Equal(old, read(t, path)) {
		t.Error("something was written")
	}
}

func TestNotAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	if _, err := Open(path, Options{}); err == nil {
		t.Error("a pipe was opened")
	}
	if _, err := Open(filepath.Dir(path), Options{}); err == nil {
		t.Error("a folder was opened")
	}
	if _, err := Open(path+"x", Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
