package harness

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"varve/internal/content"
	"varve/internal/harness/drive"
	"varve/internal/jsonl"
	"varve/internal/providers"
	"varve/internal/session"
)

// A stuck job of one kind does not end before it is let go, whatever it is
// told.
type stuck struct {
	kind  drive.Kind
	began chan string   // its id, once
	free  chan struct{} // lets it go
	gone  sync.WaitGroup
	once  sync.Once
}

func stick(kind drive.Kind) *stuck {
	return &stuck{kind: kind, began: make(chan string, 1), free: make(chan struct{})}
}

func (k *stuck) hands(run Runner) Runner {
	return func(ctx context.Context, s session.State, j drive.Job) drive.Result {
		hangs := false
		if j.Kind == k.kind {
			k.once.Do(func() { hangs = true })
		}
		if !hangs {
			return run(ctx, s, j)
		}
		k.gone.Add(1)
		defer k.gone.Done()
		// It does its work in spite of all, and hands it over much too late.
		r := run(context.WithoutCancel(ctx), s, j)
		k.began <- j.ID
		<-k.free
		return r
	}
}

// An interrupt answers whatever hangs: a look for instructions, the making of
// a request, the provider, a judgement, a tool. What comes when it is over is
// dropped, and is never taken for an answer to something else. What is seen
// here is that the turn ends while the job still hangs; the loop's grace of
// 200 ms is all that it waits for. // TUI-5, case SES-08
func TestInterruptWhateverHangs(t *testing.T) {
	for _, kind := range []drive.Kind{drive.Discover, drive.Encode, drive.Send, drive.Judge, drive.Tool} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			k := stick(kind)
			w := newWorld(t)
			w.script.rest = func(ctx context.Context, body string, sink providers.Sink) providers.Reply {
				if strings.Contains(body, "user second") {
					return text("The second answer.")(ctx, body, sink)
				}
				return calls("bash", runs("late"))(ctx, body, sink)
			}
			w.opts.hands = k.hands
			l := w.start()
			say(t, l, "first")
			job := <-k.began
			submit(t, l, drive.Cancel{By: "user"})
			if end := ended(t, l, 1); end.Status != "interrupted" {
				t.Fatalf("%+v\n%s", end, story(t, l))
			}
			say(t, l, "second")
			if end := ended(t, l, 2); end.Status != "completed" {
				t.Fatalf("%+v\n%s", end, story(t, l))
			}
			before := story(t, l)
			close(k.free)
			k.gone.Wait()
			say(t, l, "second, again")
			if end := ended(t, l, 3); end.Status != "completed" {
				t.Fatalf("%+v\n%s", end, story(t, l))
			}
			after := story(t, l)
			if !strings.HasPrefix(after, before) {
				t.Fatalf("the story has changed:\n%s\n%s", before, after)
			}
			if strings.Contains(after, `error=false "late`) {
				t.Errorf("the late result of %s was taken:\n%s", job, after)
			}
			once(t, l)
		})
	}
}

// once fails unless each request and each call has one end.
func once(t *testing.T, l *Local) {
	t.Helper()
	ends := map[string]int{}
	entries, err := l.Session.Entries(0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		switch ev := e.Event.(type) {
		case session.RequestSent:
			ends[fmt.Sprint("request ", e.Seq)] += 0
		case session.ReplyCompleted:
			ends[fmt.Sprint("request ", ev.Request)]++
			for i, p := range ev.Parts {
				if p.Call != nil {
					ends["call "+session.ItemID{Seq: e.Seq, Part: i + 1}.String()] += 0
				}
			}
		case session.ReplyRejected:
			ends[fmt.Sprint("request ", ev.Request)]++
		case session.ToolFinished:
			ends["call "+ev.Call.String()]++
		case session.ToolInterrupted:
			ends["call "+ev.Call.String()]++
		}
	}
	for what, n := range ends {
		if n != 1 {
			t.Errorf("%s has %d ends\n%s", what, n, story(t, l))
		}
	}
}

// A command that ignores TERM does not hold an interrupt up, and is not left
// behind. // TUI-5, TOOL-3
func TestInterruptDeafCommand(t *testing.T) {
	w := newWorld(t, calls("bash", `{"command":"trap '' TERM INT; echo up > up; while :; do sleep 0.05; done"}`), text("Good."))
	l := w.start()
	say(t, l, "first")
	until(t, l, "the call", func(e session.Entry) bool { return e.Type == "tool.started" })
	submit(t, l, drive.Cancel{By: "user"})
	if end := ended(t, l, 1); end.Status != "interrupted" {
		t.Fatal(end)
	}
	say(t, l, "second")
	if end := ended(t, l, 2); end.Status != "completed" {
		t.Fatal(end)
	}
	once(t, l)
}

// Closing the session does not wait for what hangs either, and the log says
// how the turn and the run ended. // RUN-2, TUI-5
func TestCloseWhateverHangs(t *testing.T) {
	for _, kind := range []drive.Kind{drive.Discover, drive.Encode, drive.Send, drive.Judge, drive.Tool} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			k := stick(kind)
			w := newWorld(t, calls("bash", runs("late")), text("Done."))
			w.opts.hands = k.hands
			l := w.start()
			say(t, l, "first")
			<-k.began
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			close(k.free)
			k.gone.Wait()
			w.opts.hands = nil
			l2 := w.resume(l.Session.Path())
			s := story(t, l2)
			if l2.State().Branch.Turn != nil || !strings.Contains(s, "turn.ended interrupted") || !strings.HasSuffix(s, "run.ended\n") {
				t.Errorf("%s", s)
			}
			once(t, l2)
		})
	}
}

// Two sessions in one process: what A's calls come to goes to A, though B was
// opened and worked meanwhile. // case SES-08
func TestTwoSessions(t *testing.T) {
	k := stick(drive.Tool)
	a, b := newWorld(t, calls("bash", `{"command":"echo of-A"}`), text("A is done.")), newWorld(t, calls("bash", `{"command":"echo of-B"}`), text("B is done."))
	b.opts.DataDir, b.opts.StateDir, b.opts.Workspace = a.opts.DataDir, a.opts.StateDir, a.opts.Workspace
	b.opts.Judge = a.opts.Judge
	a.opts.hands = k.hands
	la, lb := a.start(), b.start()
	say(t, la, "to A")
	<-k.began
	say(t, lb, "to B")
	ended(t, lb, 1)
	close(k.free)
	ended(t, la, 1)
	sa, sb := story(t, la), story(t, lb)
	for _, word := range []string{"A", "B"} {
		if strings.Contains(sa, "of-"+word) != (word == "A") || strings.Contains(sb, "of-"+word) != (word == "B") {
			t.Errorf("A:\n%s\nB:\n%s", sa, sb)
		}
	}
	if la.State().Session.ID != la.ID() || lb.State().Session.ID != lb.ID() || la.ID() == lb.ID() {
		t.Errorf("%s %s", la.ID(), lb.ID())
	}
}

// A panic in any job, in the adapter or the rules ends at its border: it is
// recorded, the turn ends, and the session goes on. // REL-7
func TestPanic(t *testing.T) {
	boom := func(kind drive.Kind) func(*world) {
		return func(w *world) {
			var once sync.Once
			w.opts.hands = func(run Runner) Runner {
				return func(ctx context.Context, s session.State, j drive.Job) drive.Result {
					if j.Kind == kind && kind == drive.ShowPlan {
						panic("boom in plan") // each time
					}
					if j.Kind == kind {
						once.Do(func() { panic("boom in " + string(kind)) })
					}
					return run(ctx, s, j)
				}
			}
		}
	}
	cases := map[string]struct {
		where string
		set   func(*world)
	}{
		"discover": {"discover", boom(drive.Discover)},
		"encode":   {"encode", boom(drive.Encode)},
		"send":     {"send", boom(drive.Send)},
		"judge":    {"judge", boom(drive.Judge)},
		"tool":     {"tool", boom(drive.Tool)},
		"plan":     {"plan", boom(drive.ShowPlan)},
		"adapter": {"send", func(w *world) {
			w.replies[0] = func(context.Context, string, providers.Sink) providers.Reply { panic("boom in send") }
		}},
		"encoder": {"encode", func(w *world) {
			// The first resolve is for the definitions of the tools.
			var n int
			good := w.opts.Resolve
			w.opts.Resolve = func(ctx context.Context, m session.Model) (Target, error) {
				target, err := good(ctx, m)
				if n++; n == 2 {
					target.Adapter = badEncoder{target.Adapter}
				}
				return target, err
			}
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, calls("todo", `{"items":[{"content":"look","active_form":"looking","status":"pending"}]}`, "bash", runs("once")))
			w.script.rest = text("Good.")
			c.set(w)
			l := w.start()
			say(t, l, "first")
			ended(t, l, 1)
			if name == "plan" { // one that no result shows, as after a checkpoint
				foreign(t, l, session.Fact{
					Event: session.PlanChanged{By: "user", NextID: 2, Items: []session.PlanItem{{ID: "task-1", Status: "pending", ActiveForm: 1}}},
					Body:  []session.Part{{Bytes: []byte("look")}, {Bytes: []byte("looking")}},
				})
			}
			say(t, l, "second")
			if end := ended(t, l, 2); end.Status != "completed" {
				t.Fatalf("%+v\n%s", end, story(t, l))
			}
			s := story(t, l)
			if n := strings.Count(s, "fault.recorded \"boom in "+c.where); n != 1 {
				t.Errorf("recorded %d times\n%s", n, s)
			}
			once(t, l)
		})
	}
}

type badEncoder struct{ providers.Adapter }

func (badEncoder) NewEncoder() providers.Encoder { return badEncoder{} }
func (badEncoder) Encode(providers.Ask, providers.Load) ([]providers.Block, error) {
	panic("boom in encode")
}

// foreign records a fact of another process into a session's file.
func foreign(t *testing.T, l *Local, f session.Fact) {
	t.Helper()
	s, err := Open(l.Session.Path(), content.Open(l.opts.DataDir), jsonl.Turn, System{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Record(t.Context(), l.Branch, s.State(l.Branch).Branch.Head, []session.Fact{f}); err != nil {
		t.Fatal(err)
	}
}
