package harness

import (
	"context"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"varve/internal/harness/drive"
	"varve/internal/providers"
	"varve/internal/session"
)

// alone is a world without a second window to look out for: all of it can stand
// in a bubble, where time goes on only when nothing else does.
func alone(t *testing.T, replies ...answer) *world {
	t.Helper()
	w := newWorld(t, replies...)
	w.opts.Interactive = false
	return w
}

// full lets every write fail, or none.
func (r *recorder) full(is bool) {
	r.set(func(r *recorder) {
		r.fail = nil
		if is {
			r.fail = func([]string) error { return syscall.ENOSPC }
		}
	})
}

// fullFor lets every write of an event of a type fail.
func (r *recorder) fullFor(name string) {
	r.set(func(r *recorder) {
		r.fail = func(types []string) error {
			if slices.Contains(types, name) {
				return syscall.ENOSPC
			}
			return nil
		}
	})
}

// What a command came to after it was left behind is the truth, as long as the
// log has not said otherwise: a full disk had kept it from saying anything.
// LOG-8, TUI-5, architecture rule 9
func TestLateResultOfFullDisk(t *testing.T) {
	for name, room := range map[string]time.Duration{"there is room when it comes": 500 * time.Millisecond, "there is none yet": 3 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k, r := stick(drive.Tool), &recorder{}
				w := alone(t, calls("bash", runs("late")), text("Done."))
				w.opts.hands, w.opts.layer = k.hands, r
				l := w.start()
				say(t, l, "first")
				<-k.began
				r.full(true)
				submit(t, l, drive.Cancel{By: "user"})
				time.AfterFunc(room, func() { r.full(false) })
				time.AfterFunc(500*time.Millisecond, func() { close(k.free) })
				if end := ended(t, l, 1); end.Status != "interrupted" {
					t.Errorf("%+v", end)
				}
				if s := story(t, l); !strings.Contains(s, `error=false "late`) {
					t.Errorf("the result is lost:\n%s", s)
				}
				once(t, l)
			})
		})
	}
}

// An interrupt that a full disk kept out of the log goes there before anything
// that came of it: what was received is kept, and nobody reads that the turn
// failed. // TUI-5, LOG-8
func TestInterruptGoesFirst(t *testing.T) {
	for _, how := range []string{"answer", "answer, and little room"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, r := newGate(drive.Send), &recorder{}
				w := alone(t, hang("half an ans"))
				w.opts.hands, w.opts.layer = g.hands, r
				l := w.start()
				say(t, l, "first")
				until(t, l, "the request", func(e session.Entry) bool { return e.Type == "request.sent" })
				r.full(true)
				submit(t, l, drive.Cancel{By: "user"})
				<-g.began
				synctest.Wait()
				if how == "answer" {
					r.full(false) // there is room again, and the loop has not tried it yet
				} else {
					r.fullFor("turn.cancelled")
				}
				close(g.open)
				synctest.Wait()
				r.full(false)
				if end := ended(t, l, 1); end.Status != "interrupted" {
					t.Errorf("%+v", end)
				}
				if s := story(t, l); !strings.Contains(s, "reply.rejected cancelled kept=true") {
					t.Errorf("what was received is lost:\n%s", s)
				}
			})
		})
	}
	for _, kind := range []drive.Kind{drive.Discover, drive.Encode, drive.Send, drive.Judge, drive.Tool} {
		t.Run(string(kind)+" hangs", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k, r := stick(kind), &recorder{}
				w := alone(t, calls("bash", runs("late")), text("Done."))
				w.opts.hands, w.opts.layer = k.hands, r
				l := w.start()
				say(t, l, "first")
				<-k.began
				r.full(true)
				submit(t, l, drive.Cancel{By: "user"})
				time.AfterFunc(grace/2, func() { r.full(false) })
				if end := ended(t, l, 1); end.Status != "interrupted" {
					t.Errorf("%+v", end)
				}
				if s := story(t, l); strings.Contains(s, "fault.recorded") || strings.Contains(s, "tool.finished") {
					t.Errorf("an interrupt is taken for a fault:\n%s", s)
				}
				close(k.free)
				once(t, l)
			})
		})
	}
}

// An interrupt answers within 300 ms, whatever hangs: time stands still but for
// what the loop waits for. // TUI-5
func TestInterruptIsQuick(t *testing.T) {
	for _, kind := range []drive.Kind{drive.Discover, drive.Encode, drive.Send, drive.Judge, drive.Tool} {
		t.Run(string(kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := stick(kind)
				w := alone(t, calls("bash", runs("late")), text("Done."))
				w.opts.hands = k.hands
				l := w.start()
				say(t, l, "first")
				<-k.began
				asked := time.Now()
				submit(t, l, drive.Cancel{By: "user"})
				ended(t, l, 1)
				if took := time.Since(asked); took > 300*time.Millisecond {
					t.Errorf("it took %s", took)
				}
				synctest.Wait()
				if p, _ := l.Pulses().Read(); len(p) > 0 {
					t.Errorf("what was left behind still shows: %+v", p)
				}
				close(k.free)
			})
		})
	}
}

// A result that waits for the log is recorded when the session closes, if there
// is room by then, and is not taken for a job that hangs. // LOG-8, RUN-2
func TestCloseRecordsWhatWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		w := alone(t, calls("bash", runs("once")), text("Done."))
		w.opts.layer = r
		l := w.start()
		r.fullFor("tool.finished")
		say(t, l, "first")
		faulty(t, l, true)
		r.full(false)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		w.opts.layer = nil
		l = w.resume(l.Session.Path())
		s := story(t, l)
		if !strings.Contains(s, `error=false "once`) || !strings.Contains(s, "turn.ended interrupted") || !strings.HasSuffix(s, "run.ended\n") {
			t.Errorf("%s", s)
		}
		once(t, l)
	})
}

// A crowded clock lets somebody in whenever the time is asked for, which is
// between what the loop decides and what it records.
type crowded struct {
	System
	mu  sync.Mutex
	act func()
}

func (c *crowded) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.act != nil {
		c.act()
	}
	return c.System.Now()
}

// crowd lets another process change the branch so often, each time when it was
// read here and before anything is written. What it returns is closed after that.
func (c *crowded) crowd(t *testing.T, l *Local, times int) (over chan struct{}) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	over = make(chan struct{})
	last := l.Session.Head()
	c.act = func() {
		if times == 0 || l.Session.Head() < last {
			return // it has not read yet what the other one wrote
		}
		last = l.Session.Head() + 1
		foreign(t, l, session.Fact{Event: session.InputQueued{Kind: "queue"}, Body: []session.Part{{Bytes: []byte("from elsewhere")}}})
		if times--; times == 0 {
			close(over)
		}
	}
	return over
}

// Another process is faster once, twice, or as often as the loop tries: what a
// command came to is offered again, at once or a second later. It is recorded
// once, and the command ran once. // LOG-6, architecture rule 9
func TestResultAmongOthers(t *testing.T) {
	for times, wait := range map[int]time.Duration{1: 0, 2: 0, 3: time.Second, 4: time.Second} {
		t.Run(strings.Repeat("I", times), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, c := newGate(drive.Tool), &crowded{}
				w := alone(t, calls("bash", runs("once")))
				w.script.rest = text("Done.")
				w.opts.hands, w.opts.Clock = g.hands, c
				l := w.start()
				say(t, l, "first")
				<-g.began
				began := time.Now()
				over := c.crowd(t, l, times)
				close(g.open)
				<-over
				idle(t, l)
				e := until(t, l, "the result", func(e session.Entry) bool { return e.Type == "tool.finished" })
				if took := e.At.Sub(began); took < wait || took > wait+100*time.Millisecond {
					t.Errorf("recorded after %s, not %s\n%s", took, wait, story(t, l))
				}
				s := story(t, l)
				if ran := ranIn(t, w.opts.Workspace); len(ran) != 1 || strings.Count(s, "from elsewhere") != times {
					t.Errorf("ran %q\n%s", ran, s)
				}
				once(t, l)
			})
		})
	}
}

// A request that was under way when its run died is closed as lost before it is
// made again: each answer belongs to a request of its own. // LOG-14, REL-1, PRV-1
func TestLostRequest(t *testing.T) {
	w := newWorld(t, hang("half"))
	l := w.start()
	say(t, l, "first")
	sent := until(t, l, "the request", func(e session.Entry) bool { return e.Type == "request.sent" })
	p := &script{rest: text("Done.")}
	c := crashed(t, w, l, p)
	submit(t, c, drive.Resume{})
	idle(t, c)
	all, err := c.Session.Entries(sent.Seq, 100)
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	var again session.Seq
	for _, e := range all {
		types = append(types, e.Type)
		switch ev := e.Event.(type) {
		case session.ReplyRejected:
			if ev.Request != sent.Seq || ev.Class != "lost" {
				t.Errorf("%+v", ev)
			}
		case session.RequestSent:
			again = e.Seq
		case session.ReplyCompleted:
			if ev.Request != again {
				t.Errorf("the answer is to request %d, not %d", ev.Request, again)
			}
		}
	}
	want := "run.ended run.started reply.rejected turn.resumed request.sent reply.completed turn.ended"
	if got := strings.Join(types, " "); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	if n := len(p.sent()); n != 1 {
		t.Errorf("%d requests were made", n)
	}
	once(t, c)
}

// A call that was to start when the disk was full is not started after an
// interrupt, whoever wakes the loop when there is room. // TUI-5, LOG-8
func TestInterruptBeforeTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		w := alone(t, calls("bash", runs("never")))
		w.opts.layer = r
		l := w.start()
		r.fullFor("tool.started")
		say(t, l, "first")
		faulty(t, l, true)
		r.full(true)
		submit(t, l, drive.Cancel{By: "user"})
		synctest.Wait()
		r.fullFor("turn.cancelled")
		l.loop.Nudge()
		synctest.Wait()
		r.full(false)
		l.loop.Nudge()
		if end := ended(t, l, 1); end.Status != "interrupted" {
			t.Errorf("%+v", end)
		}
		if ran := ranIn(t, w.opts.Workspace); len(ran) > 0 || strings.Contains(story(t, l), "tool.started") {
			t.Errorf("%q ran\n%s", ran, story(t, l))
		}
	})
}

// So does a turn that only waits for its next attempt: it is over as soon as
// there is room to say so, and the fault with it. // TUI-5, LOG-8
func TestInterruptOfAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		w := alone(t, func(context.Context, string, providers.Sink) providers.Reply {
			return providers.Reply{Class: providers.Failed, Err: &providers.Error{Kind: providers.RateLimit, Retry: true, Told: true, After: 50 * time.Second}}
		})
		w.opts.layer = r
		l := w.start()
		say(t, l, "first")
		until(t, l, "the rejection", func(e session.Entry) bool { return e.Type == "reply.rejected" })
		r.full(true)
		submit(t, l, drive.Cancel{By: "user"})
		faulty(t, l, true)
		began := time.Now()
		time.AfterFunc(3500*time.Millisecond, func() { r.full(false) })
		ended(t, l, 1)
		if took := time.Since(began); took < 3*time.Second || took > 5*time.Second {
			t.Errorf("it took %s", took)
		}
		faulty(t, l, false)
		synctest.Wait()
		if p, _ := l.Pulses().Read(); len(p) > 0 || len(w.sent()) != 1 {
			t.Errorf("%+v, %d requests", p, len(w.sent()))
		}
	})
}

// Others who are faster, as often as it is tried, take no interrupt back that
// was accepted. // LOG-6, TUI-5
func TestInterruptAmongOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, r, c := newGate(drive.Send), &recorder{}, &crowded{}
		w := alone(t, hang("half an ans"))
		w.opts.hands, w.opts.layer, w.opts.Clock = g.hands, r, c
		l := w.start()
		say(t, l, "first")
		until(t, l, "the request", func(e session.Entry) bool { return e.Type == "request.sent" })
		r.full(true)
		submit(t, l, drive.Cancel{By: "user"})
		<-g.began
		synctest.Wait()
		r.full(false)
		over := c.crowd(t, l, 3)
		l.loop.Nudge()
		<-over
		close(g.open)
		if end := ended(t, l, 1); end.Status != "interrupted" {
			t.Errorf("%+v", end)
		}
		if s := story(t, l); !strings.Contains(s, "reply.rejected cancelled kept=true") || len(w.sent()) != 1 {
			t.Errorf("%d requests\n%s", len(w.sent()), s)
		}
	})
}
