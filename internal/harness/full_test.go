package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"varve/internal/harness/drive"
	"varve/internal/jsonl"
	"varve/internal/session"
)

// faulty follows until there is a fault of the log, or none.
func faulty(t *testing.T, l *Local, want bool) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	after, version := l.Session.Head(), uint64(0)
	for {
		u, err := l.Follow(ctx, after, version)
		if err != nil {
			t.Fatalf("waiting for fault=%v: %v\n%s", want, err, story(t, l))
		}
		if (u.Fault != nil) == want {
			return u.Fault
		}
		version = u.Version
		if n := len(u.Entries); n > 0 {
			after = u.Entries[n-1].Seq
		}
	}
}

// The disk fills up at every event of a turn, with and without a part of the
// line written, and for each of the system's reasons. The effect that depends
// on the event does not happen; who follows is told, for as long as it lasts;
// a new message is refused with the reason; and when there is room again the
// turn goes on by itself, nothing twice and nothing lost.
// LOG-8, REL-2, case SES-10
func TestFullDisk(t *testing.T) {
	for i, at := range []string{"user.said", "assembly.reported", "request.sent", "reply.completed", "call.judged", "tool.started", "tool.finished", "turn.ended"} {
		for _, short := range []int{0, 40} {
			cause := []error{syscall.ENOSPC, syscall.EROFS, syscall.EDQUOT}[i%3]
			t.Run(fmt.Sprint(at, " ", short), func(t *testing.T) { fullAt(t, at, short, cause) })
		}
	}
}

func fullAt(t *testing.T, at string, short int, cause error) {
	r := &recorder{short: short}
	w := newWorld(t, calls("bash", runs("once")), text("Done."))
	w.opts.Clock = hurry(20)
	w.on(r)
	l := w.start()
	var full atomic.Bool
	attempts := make(chan bool, 1000)
	r.set(func(r *recorder) {
		r.fail = func(types []string) error {
			if full.Load() {
				attempts <- l.Fault() != nil
			}
			if slices.Contains(types, at) {
				full.Store(true)
			}
			if full.Load() {
				return cause
			}
			return nil
		}
	})
	first := l.Submit(t.Context(), drive.Say{Text: []byte("first")})
	refused := func(err error) {
		t.Helper()
		if !errors.Is(err, jsonl.ErrFull) && !errors.Is(err, jsonl.ErrReadOnly) {
			t.Fatalf("a message on a full disk: %v", err)
		}
	}
	if at == "user.said" {
		refused(first)
	} else {
		if first != nil {
			t.Fatal(first)
		}
		faulty(t, l, true)
		for range 3 { // it goes on trying, and goes on saying so
			if !<-attempts {
				t.Error("the fault was taken back though the disk is full")
			}
		}
	}
	refused(l.Submit(t.Context(), drive.Say{Text: []byte("second")}))
	did := r.did()
	for effect, cause := range map[string]string{"effect send": "write request.sent", "effect tool": "write tool.started"} {
		if n, m := count(did, effect), count(did, cause); n > m {
			t.Errorf("%s %d times after %d records", effect, n, m)
		}
	}
	r.set(func(r *recorder) { r.fail = nil })
	if at == "user.said" {
		say(t, l, "first")
	}
	faulty(t, l, false)
	if end := ended(t, l, 1); end.Status != "completed" {
		t.Fatalf("%+v\n%s", end, story(t, l))
	}
	say(t, l, "third")
	idle(t, l)
	s := story(t, l)
	for _, words := range []string{`user.said "first"`, `user.said "third"`} {
		if strings.Count(s, words) != 1 {
			t.Errorf("%d times %s\n%s", strings.Count(s, words), words, s)
		}
	}
	if strings.Contains(s, `"second"`) {
		t.Errorf("a message that was refused is there\n%s", s)
	}
	if ran := ranIn(t, w.opts.Workspace); len(ran) != 1 || !strings.Contains(s, `error=false "once`) {
		t.Errorf("ran: %q\n%s", ran, s)
	}
	l.Close()
	intact(t, l.Session.Path())
}

func count(list []string, s string) (n int) {
	for _, x := range list {
		if x == s {
			n++
		}
	}
	return n
}

// A sync that fails: the line is in the file, but what depends on it waits;
// another line that was written well does not set it free. // LOG-5, LOG-8
func TestSyncFails(t *testing.T) {
	for _, policy := range []jsonl.Policy{jsonl.Turn, jsonl.Always} {
		r := &recorder{}
		w := newWorld(t, calls("bash", runs("once")), text("Done."))
		w.opts.Clock, w.opts.Policy = hurry(20), policy
		w.on(r)
		l := w.start()
		r.set(func(r *recorder) {
			r.fail = func(types []string) error {
				if slices.Contains(types, "tool.started") {
					r.set(func(r *recorder) { r.sync = syscall.EIO })
				}
				return nil
			}
		})
		say(t, l, "first")
		if err := faulty(t, l, true); !errors.Is(err, syscall.EIO) {
			t.Fatal(err)
		}
		// It counts: it is in the file. To refuse it would be to have it twice.
		say(t, l, "second")
		if err := l.Fault(); err == nil {
			t.Fatalf("%s: the fault is forgotten", policy)
		}
		if n := count(r.did(), "effect tool"); n != 0 {
			t.Fatalf("%s: the call ran before its start was on the disk", policy)
		}
		r.set(func(r *recorder) { r.sync, r.fail = nil, nil })
		faulty(t, l, false)
		idle(t, l)
		if ran := ranIn(t, w.opts.Workspace); len(ran) != 1 {
			t.Errorf("%s: ran %q\n%s", policy, ran, story(t, l))
		}
		if s := story(t, l); strings.Count(s, `"second"`) != 1 {
			t.Error(s)
		}
		l.Close()
	}
}

// A result that waits for the disk is not given up for an interrupt that comes
// when there is room again. // LOG-8, TUI-5
func TestInterruptKeepsResult(t *testing.T) {
	r := &recorder{}
	w := newWorld(t, calls("bash", runs("once")), text("Done."))
	w.on(r)
	l := w.start()
	r.set(func(r *recorder) {
		r.fail = func(types []string) error {
			if slices.Contains(types, "tool.finished") {
				return syscall.ENOSPC
			}
			return nil
		}
	})
	say(t, l, "first")
	faulty(t, l, true)
	submit(t, l, drive.Cancel{By: "user"}) // room for this line, and not for the result yet
	r.set(func(r *recorder) { r.fail = nil })
	if end := ended(t, l, 1); end.Status != "interrupted" {
		t.Fatal(end)
	}
	if s := story(t, l); !strings.Contains(s, `error=false "once`) {
		t.Errorf("the result is lost:\n%s", s)
	}
}

// No full disk keeps a command running: it is stopped at once, and that it was
// is recorded when there is room. // TUI-5, LOG-8
func TestInterruptOnFullDisk(t *testing.T) {
	r := &recorder{}
	w := newWorld(t, calls("bash", `{"command":"sleep 100"}`), text("Done."))
	w.on(r)
	noted, gone := w.opts.hands, make(chan struct{})
	w.opts.hands = func(run Runner) Runner {
		run = noted(run)
		return func(ctx context.Context, s session.State, j drive.Job) drive.Result {
			if j.Kind == drive.Tool {
				defer close(gone)
			}
			return run(ctx, s, j)
		}
	}
	l := w.start()
	say(t, l, "first")
	until(t, l, "the call", func(e session.Entry) bool { return e.Type == "tool.started" })
	r.set(func(r *recorder) { r.fail = func([]string) error { return syscall.ENOSPC } })
	submit(t, l, drive.Cancel{By: "user"})
	<-gone
	if l.Fault() == nil {
		t.Error("nobody says that the disk is full")
	}
	r.set(func(r *recorder) { r.fail = nil })
	if end := ended(t, l, 1); end.Status != "interrupted" {
		t.Fatalf("%+v\n%s", end, story(t, l))
	}
	once(t, l)
	say(t, l, "second")
	if end := ended(t, l, 2); end.Status != "completed" {
		t.Fatalf("%+v\n%s", end, story(t, l))
	}
}

// The file is taken away under a running turn, and put back. // REL-2, LOG-8
func TestFileRemoved(t *testing.T) {
	hold := make(chan struct{})
	w := newWorld(t, calls("bash", runs("once")), text("Done."))
	w.opts.Clock = hurry(20)
	w.opts.hands = func(run Runner) Runner {
		return func(ctx context.Context, s session.State, j drive.Job) drive.Result {
			if j.Kind == drive.Judge {
				<-hold
			}
			return run(ctx, s, j)
		}
	}
	l := w.start()
	say(t, l, "first")
	until(t, l, "the reply", func(e session.Entry) bool { return e.Type == "reply.completed" })
	path := l.Session.Path()
	aside := filepath.Join(t.TempDir(), "aside")
	if err := os.Rename(path, aside); err != nil {
		t.Fatal(err)
	}
	close(hold)
	if err := faulty(t, l, true); !errors.Is(err, jsonl.ErrGone) {
		t.Fatal(err)
	}
	if err := l.Submit(t.Context(), drive.Say{Text: []byte("second")}); !errors.Is(err, jsonl.ErrGone) {
		t.Fatal(err)
	}
	if ran := ranIn(t, w.opts.Workspace); len(ran) != 0 {
		t.Fatalf("it ran, and nothing says so: %q", ran)
	}
	if Exists(path) {
		t.Fatal("a new file took the old one's place")
	}
	if err := os.Rename(aside, path); err != nil {
		t.Fatal(err)
	}
	faulty(t, l, false)
	if end := ended(t, l, 1); end.Status != "completed" {
		t.Fatal(end)
	}
	l.Close()
	intact(t, path)
}

// The same on a real file system of one megabyte. // REL-2, case SES-10
func TestRealSmallDisk(t *testing.T) {
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Skip("mounting a small file system needs Linux and root")
	}
	dir := t.TempDir()
	small := filepath.Join(dir, "data")
	if err := os.Mkdir(small, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", small).CombinedOutput(); err != nil {
		t.Skipf("mounting is not allowed here: %s", out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", small).Run() })
	w := newWorld(t, text("First."), calls("bash", runs("once")), text("Done."))
	w.opts.DataDir, w.opts.Clock = small, hurry(20)
	l := w.start()
	say(t, l, "first")
	ended(t, l, 1)
	ballast := filepath.Join(small, "ballast")
	f, err := os.Create(ballast)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	for err = nil; err == nil; {
		_, err = f.Write([]byte{0})
	}
	f.Close()
	// What is left of the session file's last block is room for some lines.
	fill := func() error {
		for i := range 100 {
			if err := l.Submit(t.Context(), drive.Rename{Title: fmt.Append(nil, strings.Repeat("x", 500), i)}); err != nil {
				return err
			}
		}
		return nil
	}
	if err := fill(); !errors.Is(err, jsonl.ErrFull) {
		t.Fatal(err)
	}
	if err := l.Submit(t.Context(), drive.Say{Text: []byte(strings.Repeat("second ", 100))}); !errors.Is(err, jsonl.ErrFull) {
		t.Fatal(err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	say(t, l, "third")
	if end := ended(t, l, 2); end.Status != "completed" || len(ranIn(t, w.opts.Workspace)) != 1 {
		t.Fatalf("%+v\n%s", end, story(t, l))
	}
	l.Close()
	intact(t, l.Session.Path())
}
