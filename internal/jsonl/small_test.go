package jsonl

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// limited appends beside a limit that the kernel sets on the size of files: at
// several places of a record of two lines, at and beside their ends. It is a process
// of its own, since the limit is the process's.
func limited(path string) error {
	f, err := Create(path, Options{Policy: Always, Repaired: repaired})
	if err != nil {
		return err
	}
	var had syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &had); err != nil {
		return err
	}
	limit := func(n int64) error {
		now := had
		if n >= 0 {
			now.Cur = uint64(n)
		}
		return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &now)
	}
	if _, err := f.Append(ctx, rests("first"), nil); err != nil {
		return err
	}
	long := rest("long", strings.Repeat("é", 9000))
	for i, room := range []int64{0, 1, 30, 4096, 17_000, 18_200} {
		old := f.Last().End()
		if err := limit(old + room); err != nil {
			return err
		}
		lines, err := f.Append(ctx, [][]byte{long, rest("and", "")}, nil)
		if lines != nil || !errors.Is(err, ErrFull) || !errors.Is(err, syscall.EFBIG) || !strings.Contains(err.Error(), "make room") {
			return fmt.Errorf("room for %d bytes: %v, %w", room, lines, err)
		}
		if st, err := os.Stat(path); err != nil || st.Size() != old+room {
			return fmt.Errorf("room for %d bytes: %d were written (%w)", room, st.Size()-old, err)
		}
		if err := limit(-1); err != nil {
			return err
		}
		if lines, err = f.Append(ctx, rests(fmt.Sprint("again", i)), nil); err != nil || len(lines) != 1 {
			return fmt.Errorf("there is room again: %v %w", lines, err)
		}
	}
	return f.Close()
}

// The kernel itself ends a write in the middle of a record. // REL-2, LOG-8, case SES-10
func TestFullInMidRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "VARVE_JSONL_LIMITED="+path)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := []string{"first", "again0", "again1", "again2", "again3", "again4", "long", "again5"}
	// Room for 18,200 bytes is room for the long line, whose LF had been written too.
	got := events(clean(t, path))
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// mounted is a real file system of n KiB.
func mounted(t *testing.T, kib int) string {
	t.Helper()
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Skip("mounting a small file system needs Linux and root; TestFullInMidRecord needs neither")
	}
	dir := filepath.Join(t.TempDir(), "small")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%dk", kib), "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("mounting is not allowed here: %s", out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", dir).Run() })
	return dir
}

func mount(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		t.Skipf("%q is not allowed here: %s", args, out)
	}
}

// The same on a file system that is full: a record longer than the room that is
// left arrives in part. Then there is room again. // REL-2, LOG-8, case SES-10
func TestSmallDisk(t *testing.T) {
	dir := mounted(t, 64)
	path := filepath.Join(dir, "a.jsonl")
	w := create(t, path, Options{Policy: Always})
	w.append("one")
	old := read(t, path)
	ballast := filepath.Join(dir, "ballast")
	b, err := os.Create(ballast)
	for err == nil {
		_, err = b.Write(make([]byte, 4096))
	}
	b.Close()
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	for range 2 { // and it goes on saying so
		lines, err := w.f.Append(ctx, [][]byte{rest("two", strings.Repeat("x", 9000))}, nil)
		if lines != nil || !errors.Is(err, ErrFull) || !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("%v %v", lines, err)
		}
	}
	torn := read(t, path)
	if len(torn) <= len(old) || !bytes.HasPrefix(torn, old) {
		t.Fatalf("%d bytes, there were %d: nothing arrived in part, so this tests nothing", len(torn), len(old))
	}
	if q := open(t, path, Options{ReadOnly: true}); len(q.seen) != 1 || len(q.f.Damage()) != 0 { // reading needs no room
		t.Errorf("%q, %+v", q.seen, q.f.Damage())
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	w.append("three")
	w.f.Close()
	if !bytes.HasPrefix(read(t, path), torn) {
		t.Error("the torn piece was changed")
	}
	if d := fmt.Sprint(events(clean(t, path))); d != "[one three]" {
		t.Error(d)
	}
}

// A file system that becomes read-only, becomes writable again, and is taken away. // REL-2, LOG-8
func TestReadOnlyDisk(t *testing.T) {
	dir := mounted(t, 64)
	path := filepath.Join(dir, "a.jsonl")
	w := create(t, path, Options{Policy: Always})
	w.append("one")
	w.f.Close() // a file that is open for writing keeps its file system writable
	old := read(t, path)
	mount(t, "mount", "-o", "remount,ro", dir)
	w = open(t, path, Options{Policy: Always})
	for range 2 {
		if lines, err := w.f.Append(ctx, rests("two"), nil); lines != nil || !errors.Is(err, ErrReadOnly) || !errors.Is(err, syscall.EROFS) {
			t.Fatalf("%v %v", lines, err)
		}
	}
	if _, err := w.f.Repair(ctx); !errors.Is(err, ErrReadOnly) {
		t.Error(err)
	}
	if _, err := Create(filepath.Join(dir, "b.jsonl"), Options{}); !errors.Is(err, ErrReadOnly) {
		t.Error(err)
	}
	if !bytes.Equal(old, read(t, path)) {
		t.Error("something was written")
	}
	mount(t, "mount", "-o", "remount,rw", dir)
	w.append("three")
	clean(t, path)
	mount(t, "umount", "-l", dir)
	if lines, err := w.f.Append(ctx, rests("four"), nil); lines != nil || !errors.Is(err, ErrGone) {
		t.Errorf("%v %v", lines, err)
	}
	w.f.Close()
}
