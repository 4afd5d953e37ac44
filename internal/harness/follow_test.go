package harness

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"varve/internal/harness/drive"
	"varve/internal/session"
)

// gate lets jobs of one kind through when it is opened.
type gate struct {
	kind  drive.Kind
	began chan drive.Job
	open  chan struct{}
}

func newGate(kind drive.Kind) *gate {
	return &gate{kind: kind, began: make(chan drive.Job, 100), open: make(chan struct{})}
}

// hands does the work first, and hands it over when the gate is open.
func (g *gate) hands(run Runner) Runner {
	return func(ctx context.Context, s session.State, j drive.Job) drive.Result {
		r := run(ctx, s, j)
		if j.Kind == g.kind {
			g.began <- j
			<-g.open
		}
		return r
	}
}

// follows reads updates from the first entry on until one satisfies ok.
func follows(t *testing.T, l *Local, what string, ok func(Update) bool) Update {
	t.Helper()
	return followsOn(t, l, what, 0, 0, ok)
}

// followsOn reads what is new behind an entry and a version.
func followsOn(t *testing.T, l *Local, what string, after session.Seq, version uint64, ok func(Update) bool) Update {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for {
		u, err := l.Follow(ctx, after, version)
		if err != nil {
			t.Fatalf("waiting for %s: %v\n%s", what, err, story(t, l))
		}
		if ok(u) {
			return u
		}
		version = u.Version
		if n := len(u.Entries); n > 0 {
			after = u.Entries[n-1].Seq
		}
	}
}

// Two windows on one file: the second one follows live, starts nothing, and is
// refused when it would act. // LOG-6, LOG-14
func TestTwoWindows(t *testing.T) {
	g := newGate(drive.Tool)
	w := newWorld(t, calls("bash", runs("once")), text("Done."), text("Again."))
	w.opts.hands = g.hands
	a := w.start()
	say(t, a, "first")
	<-g.began
	b := w.resume(a.Session.Path())
	u := follows(t, b, "what is there", func(u Update) bool { return u.State.Branch.Turn != nil })
	if !u.Busy || u.Ours || b.Paused() {
		t.Errorf("busy=%v ours=%v paused=%v", u.Busy, u.Ours, b.Paused())
	}
	for _, cmd := range []drive.Command{drive.Say{Text: []byte("mine")}, drive.Resume{}, drive.Cancel{By: "user"}, drive.Rename{Title: []byte("x")}} {
		if err := b.Submit(t.Context(), cmd); !errors.Is(err, ErrHeld) {
			t.Errorf("%T: %v", cmd, err)
		}
	}
	close(g.open)
	if end := ended(t, b, 1); end.Status != "completed" {
		t.Fatal(end)
	}
	ended(t, a, 1) // the first one shows it when it is on the disk
	if sa, sb := story(t, a), story(t, b); sa != sb || strings.Contains(sb, "mine") {
		t.Errorf("they tell different stories:\n%s\n%s", sa, sb)
	}
	if n := len(w.sent()); n != 2 {
		t.Errorf("%d requests", n)
	}
	// The first window goes: the second one is told, and may act.
	u = follows(t, b, "all of it", func(u Update) bool { return u.State.Branch.Turn == nil })
	a.Close()
	followsOn(t, b, "the lock", b.Session.Head(), u.Version, func(u Update) bool { return !u.Busy })
	say(t, b, "second")
	if end := ended(t, b, 2); end.Status != "completed" {
		t.Fatal(end)
	}
	intact(t, b.Session.Path())
}

// A command that comes to nothing takes the session from nobody. // LOG-14
func TestRefusedHoldsNothing(t *testing.T) {
	w := newWorld(t, text("One."), text("Two."))
	a := w.start()
	say(t, a, "first")
	ended(t, a, 1)
	a.Close()
	b, c := w.resume(a.Session.Path()), w.resume(a.Session.Path())
	for _, cmd := range []drive.Command{drive.Cancel{}, drive.Resume{}, drive.Say{}} {
		if err := b.Submit(t.Context(), cmd); err == nil {
			t.Fatalf("%T: accepted", cmd)
		}
		if b.Ours() || Held(w.opts.StateDir, b.ID(), b.Branch) {
			t.Fatalf("%T: the lock is held for nothing", cmd)
		}
	}
	say(t, c, "second")
	ended(t, b, 2)
}

// Another process works on the session and is killed, in the middle of work or
// while it waits: the second window has followed it live, sees without any line
// in the log that the turn is paused, starts nothing by itself, and goes on
// when a person says so. // LOG-6, LOG-14, REL-1
func TestOtherProcessDies(t *testing.T) {
	for name, lines := range map[string]session.Seq{"work": 30, "wait": 0} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			cmd, out := part(t, name, dir)
			if !out.Scan() {
				t.Fatal("the process says nothing")
			}
			go func() {
				for out.Scan() { // it must not stand still for want of a reader
				}
			}()
			p := &script{rest: text("Done.")}
			o := machine(dir, p)
			o.Clock = hurry(20)
			b, err := Resume(t.Context(), o, onlySession(dir))
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			from := b.Session.Head()
			u := follows(t, b, "what the other one does", func(u Update) bool { return u.Busy && b.Session.Head() >= from+lines })
			if err := b.Submit(t.Context(), drive.Say{Text: []byte("mine")}); !errors.Is(err, ErrHeld) {
				t.Fatal(err)
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			followsOn(t, b, "its death", b.Session.Head(), u.Version, func(u Update) bool { return !u.Busy })
			if !b.Paused() || len(p.sent()) > 0 {
				t.Fatalf("paused=%v, %d requests", b.Paused(), len(p.sent()))
			}
			submit(t, b, drive.Resume{})
			if s := idle(t, b); s.Branch.Last.Status != "completed" {
				t.Fatalf("%+v\n%s", s.Branch.Last, story(t, b))
			}
			once(t, b)
			b.Close()
			intact(t, b.Session.Path())
		})
	}
}

// A toast and a new title from elsewhere are seen at once, and are no conflict
// for a running turn. // LOG-6
func TestForeignLines(t *testing.T) {
	g := newGate(drive.Tool)
	w := newWorld(t, calls("bash", runs("once")), text("Done."))
	w.opts.hands = g.hands
	l := w.start()
	say(t, l, "first")
	<-g.began
	foreign(t, l, session.Fact{Event: session.ToastPosted{Code: "x", Level: "info"}})
	foreign(t, l, session.Fact{Event: session.SessionRenamed{By: "user"}, Body: []session.Part{{Bytes: []byte("Renamed")}}})
	until(t, l, "the new title", func(e session.Entry) bool { return e.Type == "session.renamed" })
	close(g.open)
	if end := ended(t, l, 1); end.Status != "completed" {
		t.Fatal(end)
	}
	if s := l.State(); s.Session.Toasts != 1 || s.Session.Title == 0 {
		t.Errorf("%+v", s.Session)
	}
	l.Close()
	intact(t, l.Session.Path())
}

// A ticking clock is one that says when it was asked for the time.
type ticking struct {
	System
	mu   sync.Mutex
	next chan struct{} // closed at the next question
}

func (c *ticking) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next != nil {
		close(c.next)
		c.next = nil
	}
	return c.System.Now()
}

func (c *ticking) asked() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = make(chan struct{})
	return c.next
}

// Another process changes the branch between the decision and the line: nothing
// is written, and the loop decides anew. What a tool came to is not lost, and
// neither is a message. // LOG-6, architecture rule 9
func TestConflictDecidesAnew(t *testing.T) {
	queued := session.Fact{Event: session.InputQueued{Kind: "steer"}, Body: []session.Part{{Bytes: []byte("from elsewhere")}}}
	for name, act := range map[string]func(*testing.T, *Local, *gate){
		"result":  func(_ *testing.T, _ *Local, g *gate) { close(g.open) },
		"message": func(t *testing.T, l *Local, _ *gate) { go say(t, l, "from here") },
	} {
		t.Run(name, func(t *testing.T) {
			g, c := newGate(drive.Tool), &ticking{}
			w := newWorld(t, calls("bash", runs("once")), text("Done."), text("Done again."))
			w.opts.hands, w.opts.Clock = g.hands, c
			r := &recorder{}
			w.opts.layer = r
			l := w.start()
			say(t, l, "first")
			<-g.began
			head := l.Session.Head()
			// Nothing is written or read here from now on …
			l.Session.writes.Lock()
			asked := c.asked()
			act(t, l, g)
			<-asked // … but the loop has read the state that it decides from.
			foreign(t, l, queued)
			l.Session.writes.Unlock()
			if name != "result" {
				until(t, l, "the message", func(e session.Entry) bool { return e.Seq > head+1 && e.Type == "input.queued" })
				close(g.open)
			}
			idle(t, l)
			s := story(t, l)
			if !strings.Contains(s, `error=false "once`) || !strings.Contains(s, "from elsewhere") || (name == "message") != strings.Contains(s, "from here") {
				t.Errorf("%s", s)
			}
			if e, err := l.Session.Entry(head + 1); err != nil || e.Type != "input.queued" {
				t.Errorf("event %d is %s: there was no conflict to decide", head+1, e.Type)
			}
			once(t, l)
		})
	}
}

// Record writes nothing where the branch has moved on. // LOG-6
func TestConflictWritesNothing(t *testing.T) {
	w := newWorld(t, text("Done."))
	l := w.start()
	say(t, l, "first")
	ended(t, l, 1)
	l.Close()
	l = w.resume(l.Session.Path())
	stale := l.State().Branch.Head
	f := session.Fact{Event: session.InputQueued{Kind: "queue"}, Body: []session.Part{{Bytes: []byte("more")}}}
	foreign(t, l, f)
	was := intact(t, l.Session.Path())
	if err := l.Session.Record(t.Context(), l.Branch, stale, []session.Fact{f}); !errors.Is(err, ErrConflict) {
		t.Fatal(err)
	}
	if now := intact(t, l.Session.Path()); now.Bytes != was.Bytes {
		t.Errorf("%d bytes were written", now.Bytes-was.Bytes)
	}
}
