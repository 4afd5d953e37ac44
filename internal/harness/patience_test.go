package harness

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"varve/internal/harness/drive"
	"varve/internal/jsonl"
	"varve/internal/providers"
	"varve/internal/session"
)

// A full disk is tried once a second, for as long as it is full: not in a
// circle, and not never. // LOG-8
func TestFullDiskIsTriedOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		w := alone(t, calls("bash", runs("once")), text("Done."))
		w.opts.layer = r
		l := w.start()
		r.fullFor("tool.finished")
		say(t, l, "first")
		faulty(t, l, true)
		before := count(r.did(), "full")
		time.Sleep(10*time.Second + time.Millisecond)
		if n := count(r.did(), "full") - before; n < 9 || n > 20 {
			t.Errorf("it was tried %d times in 10 s", n)
		}
		r.full(false)
		began := time.Now()
		ended(t, l, 1)
		if took := time.Since(began); took > time.Second {
			t.Errorf("there was room for %s before it was seen", took)
		}
	})
}

// What depends on a line that no sync brought to the disk waits for as long as
// that is so, however often it is tried. // LOG-5, LOG-8
func TestNothingRunsBeforeTheSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		w := alone(t, calls("bash", runs("once")), text("Done."))
		w.on(r)
		l := w.start()
		r.set(func(r *recorder) {
			r.fail = func(types []string) error {
				if types[0] == "tool.started" {
					r.set(func(r *recorder) { r.sync = syscall.EIO })
				}
				return nil
			}
		})
		say(t, l, "first")
		faulty(t, l, true)
		time.Sleep(10 * time.Second)
		if did := r.did(); count(did, "effect tool") > 0 || l.Fault() == nil {
			t.Fatalf("fault %v\n%s", l.Fault(), strings.Join(did, "\n"))
		}
		r.set(func(r *recorder) { r.sync, r.fail = nil, nil })
		ended(t, l, 1)
		did := strings.Join(r.did(), " ")
		if !strings.Contains(did, "write tool.started sync fails") || !strings.Contains(did, "sync fails sync effect tool") {
			t.Error(did)
		}
	})
}

// A session whose file another program has cut short says so until that is
// mended, though nothing has to be recorded. // REL-2, LOG-8
func TestIdleFileCut(t *testing.T) {
	cutShort := func(t *testing.T, l *Local) (mend func()) {
		t.Helper()
		whole, err := os.ReadFile(l.Session.Path())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(l.Session.Path(), int64(len(whole)-10)); err != nil {
			t.Fatal(err)
		}
		return func() {
			if err := os.WriteFile(l.Session.Path(), whole, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Run("for a while", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := alone(t, text("Done."), text("Done again."))
			l := w.start()
			say(t, l, "first")
			ended(t, l, 1)
			mend := cutShort(t, l)
			l.loop.Nudge()
			faulty(t, l, true)
			time.Sleep(10 * time.Second)
			if err := l.Fault(); !errors.Is(err, jsonl.ErrChanged) {
				t.Errorf("the file is not what it was, and the fault is %v", err)
			}
			mend()
			faulty(t, l, false)
			say(t, l, "second")
			if end := ended(t, l, 2); end.Status != "completed" {
				t.Errorf("%+v", end)
			}
		})
	})
	t.Run("as it happens", func(t *testing.T) {
		w := newWorld(t, text("Done."))
		w.opts.Clock = hurry(20)
		l := w.start()
		say(t, l, "first")
		ended(t, l, 1)
		mend := cutShort(t, l)
		if err := faulty(t, l, true); !errors.Is(err, jsonl.ErrChanged) {
			t.Fatal(err)
		}
		mend()
		faulty(t, l, false)
	})
}

// Another process is faster where the loop records what follows by itself:
// nobody has to wake it for another try. // LOG-6
func TestConflictOfWhatFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crowded{}
		w := alone(t, text("Done."))
		w.opts.Clock = c
		l := w.start()
		others := 0
		c.mu.Lock()
		c.act = func() {
			if turn := l.State().Branch.Turn; turn != nil && turn.ReplyAt != 0 && others == 0 {
				others++
				foreign(t, l, session.Fact{Event: session.InputQueued{Kind: "queue"}, Body: []session.Part{{Bytes: []byte("from elsewhere")}}})
			}
		}
		c.mu.Unlock()
		say(t, l, "first")
		synctest.Wait()
		if s := story(t, l); others != 1 || !strings.Contains(s, "turn.ended completed") {
			t.Errorf("%s", s)
		}
	})
}

// Calls that only read run side by side, eight at a time; what they come to
// stands in the order in which they were asked for. // TOOL-6
func TestHandsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(drive.Tool)
		var asked []string
		for range 20 {
			asked = append(asked, "ls", `{"path":"."}`)
		}
		w := alone(t, calls(asked...), text("Done."))
		w.opts.hands = g.hands
		l := w.start()
		say(t, l, "first")
		synctest.Wait()
		if n := len(g.began); n != 8 {
			t.Errorf("%d at once", n)
		}
		close(g.open)
		if end := ended(t, l, 1); end.Status != "completed" || len(g.began) != 20 {
			t.Errorf("%+v after %d calls", end, len(g.began))
		}
		once(t, l)
	})
}

// A provider that asks for 7 s is left alone for as long, and who watches is
// told until when. // PRV-6
func TestToldToWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := alone(t, func(context.Context, string, providers.Sink) providers.Reply {
			return providers.Reply{Class: providers.Failed, Err: &providers.Error{Kind: providers.RateLimit, Retry: true, Told: true, After: 7 * time.Second}}
		}, text("Done."))
		l := w.start()
		say(t, l, "first")
		synctest.Wait()
		until7 := time.Now().Add(7 * time.Second)
		p, _ := l.Pulses().Read()
		if len(p) != 1 || p[0].Kind != "retry" || p[0].Until.Sub(until7).Abs() > time.Millisecond || p[0].Why != "rate_limit" {
			t.Errorf("%+v", p)
		}
		ended(t, l, 1)
		if late := time.Since(until7); late < 0 || late > time.Millisecond || len(w.sent()) != 2 {
			t.Errorf("%s after it was allowed, %d requests", late, len(w.sent()))
		}
		synctest.Wait()
		if p, _ := l.Pulses().Read(); len(p) > 0 {
			t.Errorf("after the turn: %+v", p)
		}
	})
}

// Who asks is answered: by a session that is closed, and where the loop is busy
// and the asking is given up.
func TestSubmitGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := alone(t, text("Done."))
		busy, good := make(chan struct{}), w.opts.Resolve
		w.opts.Resolve = func(ctx context.Context, m session.Model) (Target, error) {
			<-busy
			return good(ctx, m)
		}
		l := w.start()
		first := make(chan error)
		go func() { first <- l.Submit(t.Context(), drive.Say{Text: []byte("first")}) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.Submit(ctx, drive.Say{Text: []byte("second")}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		close(busy)
		if err := <-first; err != nil {
			t.Error(err)
		}
		ended(t, l, 1)
		l.Close()
		if err := l.Submit(t.Context(), drive.Say{Text: []byte("third")}); err == nil {
			t.Error("a closed session took a message")
		}
	})
}

// Pulses alone are told as often as an eye sees, however fast a model writes;
// an entry is told at once. // PERF-5, PERF-6
func TestPulsesAreGathered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := alone(t, func(_ context.Context, _ string, sink providers.Sink) providers.Reply {
			for range 1010 {
				time.Sleep(time.Millisecond)
				sink.Delta("text", "", []byte("x"))
			}
			return providers.Reply{Class: providers.Natural, Parts: []providers.Part{{Kind: session.AssistantItem, Bytes: []byte("x")}}}
		})
		l := w.start()
		say(t, l, "first")
		after, version, told := session.Seq(0), uint64(0), 0
		for {
			u, err := l.Follow(t.Context(), after, version)
			if err != nil {
				t.Fatal(err)
			}
			version = u.Version
			if len(u.Entries) == 0 {
				told++
				continue
			}
			last := u.Entries[len(u.Entries)-1]
			after = last.Seq
			if late := time.Since(last.At); late > time.Millisecond {
				t.Errorf("%s was told %s late", last.Type, late)
			}
			if last.Type == "turn.ended" {
				break
			}
		}
		if told < 25 || told > 31 {
			t.Errorf("told of pulses %d times in a second", told)
		}
	})
}
