package harness

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"varve/internal/harness/drive"
	"varve/internal/providers/scripted"
	"varve/internal/session"
)

// asking waits until a stage is being asked for, at the server.
func (w *wire) asking(l *Local, stage string, n int) {
	w.t.Helper()
	until(w.t, l, stage, func(e session.Entry) bool {
		ev, ok := e.Event.(session.RequestSent)
		if ok && ev.Purpose == stage {
			n--
		}
		return n <= 0
	})
	n = 0
	for _, r := range requests(w.t, l) {
		if r.Purpose != "" {
			n++
		}
	}
	if err := w.srv.Await(w.t.Context(), n); err != nil {
		w.t.Fatal(err)
	}
}

// Esc ends a compaction at once, whatever stage hangs: the request is given up,
// the source and what was accepted stay, nothing is tried again by itself; the
// next /compact goes on and repeats no map. // MR-9, MR-12, SUM-4, TUI-5, S07, case CMP-17
func TestWireEscape(t *testing.T) {
	for _, stage := range []string{"one_shot", "map", "reduce", "audit", "correct"} {
		t.Run(stage, func(t *testing.T) {
			w := newWire(t, 200_000)
			w.opts.Clock = System{}
			if stage != "one_shot" {
				w.summarizers(12_000)
			}
			l := w.talked(4, 5_000)
			w.does("audit", func(_ int, r scripted.Request) []scripted.Step {
				if strings.Contains(r.LastUser(), "## Objective\ncorrected") {
					return whole("PASS")
				}
				return whole("the second part is missing")
			})
			good := w.says[stage]
			w.does(stage, func(n int, r scripted.Request) []scripted.Step {
				if stage == "map" && partOf(r) < "2" {
					return good(n, r)
				}
				return []scripted.Step{scripted.Role(), scripted.Text("half"), scripted.Hang()}
			})
			before := shownView(t, l)
			submit(t, l, drive.Compact{})
			if stage == "map" {
				w.asking(l, "map", 4)
				until(t, l, "two maps", func(session.Entry) bool { g := l.State().Branch.Staging; return g != nil && len(g.Maps) == 2 })
			} else {
				w.asking(l, stage, 1)
			}
			began := time.Now()
			submit(t, l, drive.Cancel{By: "user"})
			f := over(t, l, 0)
			if took := time.Since(began); f == nil || f.Kind != "cancelled" || f.Defers || took > 300*time.Millisecond {
				t.Errorf("%+v after %v", f, took)
			}
			sent := len(w.srv.Requests())
			if err := w.srv.AwaitEnd(t.Context(), sent); err != nil {
				t.Fatal(err)
			}
			for _, r := range w.srv.Requests()[4:] {
				if stageOf(r) == stage && !r.Cancelled && (stage != "map" || partOf(r) >= "2") {
					t.Errorf("request %d (%s) was not given up", r.N, stage)
				}
			}
			if shownView(t, l) != before {
				t.Errorf("the view has changed\n%s", shownView(t, l))
			}
			open := map[session.Seq]bool{}
			for _, e := range must(l.Session.Entries(0, 1<<20)) {
				switch ev := e.Event.(type) {
				case session.RequestSent:
					open[e.Seq] = true
				case session.ReplyCompleted:
					delete(open, ev.Request)
				case session.ReplyRejected:
					delete(open, ev.Request)
				}
			}
			if len(open) > 0 {
				t.Errorf("requests without an end: %v", open)
			}
			kept := 0
			if g := l.State().Branch.Staging; g != nil {
				kept = len(g.Maps)
			}
			w.does(stage, good)
			maps := w.count("map")
			if f := compacted(t, l); f != nil {
				t.Fatalf("%+v\n%s", f, staged(t, l))
			}
			if n := w.count("map") - maps; stage != "one_shot" && n != 4-kept || stage == "map" && kept != 2 {
				t.Errorf("%d maps after %d were kept", n, kept)
			}
		})
	}
}

// Esc in a compaction of a turn: the turn goes on with its source and tries no
// more. A fork in which somebody says something is not stopped by it, and
// begins nothing by itself. // CMP-10, case CMP-17
func TestWireEscapeInATurn(t *testing.T) {
	w := newWire(t, 60_000)
	w.triggers(12_000)
	l := w.filled(14_000)
	w.answers("one_shot", []scripted.Step{scripted.Hang()})
	w.answers("agent", looks(1), looks(2), whole("Looked."))
	say(t, l, "Look around.")
	w.asking(l, "one_shot", 1)
	submit(t, l, drive.Say{Text: []byte("And mind the gaps."), Steer: true})
	submit(t, l, drive.Cancel{By: "user"})
	if end := ended(t, l, 2); end.Status != "completed" || w.count("one_shot") != 1 {
		t.Errorf("%+v, %d summaries", end, w.count("one_shot"))
	}
	w.proves(l, "escape", "Esc during the compaction of a turn: the turn goes on with what was said meanwhile.")

	out, err := l.Operate(t.Context(), drive.Fork{From: session.Reference{Branch: "main", Select: "head"}})
	if err != nil {
		t.Fatal(err)
	}
	w.answers("one_shot", whole(handoff("in the fork")))
	l.Close()
	sent := len(w.srv.Requests())
	w.opts.Branch = out.Branch
	f := w.resume(l.Session.Path())
	if b := f.State().Branch; b.Compaction != nil || b.Asked != nil || len(w.srv.Requests()) != sent {
		t.Errorf("%+v", b)
	}
	say(t, f, "Go on.")
	idle(t, f)
	if b := f.State().Branch; b.Last.Status != "completed" || b.Checkpoint.At == 0 || w.count("one_shot") != 2 {
		t.Errorf("%+v, %d summaries", b.Last, w.count("one_shot"))
	}
}

// What is asked for while a compaction runs waits for it: a message becomes the
// next turn behind the checkpoint; what it says is in no summary. A stop of
// before does not kill a compaction. // CMP-9, case CMP-16
func TestWireSaidMeanwhile(t *testing.T) {
	w := newWire(t, 60_000)
	let := make(chan struct{})
	l := w.filled(2_000)
	if err := l.Submit(t.Context(), drive.Cancel{By: "user"}); err == nil {
		t.Error("there was something to stop")
	}
	w.answers("one_shot", append([]scripted.Step{scripted.Wait(let)}, whole(handoff("go on"))...))
	submit(t, l, drive.Compact{})
	w.asking(l, "one_shot", 1)
	say(t, l, "And now?")
	if err := l.Submit(t.Context(), drive.Compact{}); err != drive.ErrCompacting {
		t.Error(err)
	}
	close(let)
	if end := ended(t, l, 2); end.Status != "completed" {
		t.Errorf("%+v", end)
	}
	w.proves(l, "meanwhile", "A message during /compact stands behind the checkpoint, and is answered.")
}

// /compact in a turn runs at its next safe boundary, and the turn goes on by
// itself; a queued message is delivered. At rest it starts no turn.
// // CMP-5, CMP-9, case CMP-16, case CMP-29
func TestWireCompactInATurn(t *testing.T) {
	w := newWire(t, 60_000)
	l := w.filled(2_000)
	let := make(chan struct{})
	w.answers("agent", append([]scripted.Step{scripted.Wait(let)}, looks(1)...), looks(2), whole("Looked."), whole("Yes."))
	say(t, l, "Look around.")
	until(t, l, "the request", func(session.Entry) bool { s := l.State().Branch.Turn; return s != nil && s.Open.Seq != 0 })
	submit(t, l, drive.Compact{})
	say(t, l, "Is that all?")
	close(let)
	if end := ended(t, l, 3); end.Status != "completed" {
		t.Errorf("%+v", end)
	}
	w.proves(l, "in-a-turn", "CMP-9: /compact while a call is open waits for its result; the turn goes on, then the queue.")
	if f := compacted(t, l); f != nil {
		t.Errorf("%+v", f)
	}
	idle(t, l)
	if n := w.count("agent"); n != 5 || w.count("one_shot") != 2 {
		t.Errorf("%d requests of the agent", n)
	}
}

// /compact during the last request of a turn covers that turn too: it is over
// when the compaction begins. // CMP-9
func TestWireCompactAtTheEnd(t *testing.T) {
	w := newWire(t, 60_000)
	let := make(chan struct{})
	w.answers("agent", append([]scripted.Step{scripted.Wait(let)}, long(2_000)...))
	l := w.start()
	say(t, l, "Tell me about sediment.")
	until(t, l, "the request", func(session.Entry) bool { s := l.State().Branch.Turn; return s != nil && s.Open.Seq != 0 })
	submit(t, l, drive.Compact{})
	close(let)
	if f := over(t, l, 0); f != nil {
		t.Errorf("%+v", f)
	}
	wantStory(t, l, `
request
asked by user
ended completed
started manual one_shot of [{6 11}]
started wire/m 1/1 
sent one_shot 1, limit 0
committed [{6 11}]`)
}

// Esc takes a /compact back that waits for a request, as its line says; the next
// one ends the turn at once. // CMP-9, TUI-5
func TestWireEscapeWithACompactQueued(t *testing.T) {
	w := newWire(t, 60_000)
	l := w.filled(2_000)
	w.answers("agent", []scripted.Step{scripted.Role(), scripted.Text("half"), scripted.Hang()}, whole("Done."))
	say(t, l, "Look around.")
	until(t, l, "the request", func(session.Entry) bool { s := l.State().Branch.Turn; return s != nil && s.Open.Seq != 0 })
	submit(t, l, drive.Compact{})
	submit(t, l, drive.Cancel{By: "user"})
	if b := l.State().Branch; b.Asked != nil || b.Turn == nil || b.Turn.Cancelled != "" {
		t.Fatalf("%+v %+v", b.Asked, b.Turn)
	}
	submit(t, l, drive.Cancel{By: "user"})
	if end := ended(t, l, 2); end.Status != "interrupted" || w.count("one_shot") != 0 {
		t.Errorf("%+v, %d summaries", end, w.count("one_shot"))
	}
	if b := l.State().Branch; b.Asked != nil || b.Compaction != nil {
		t.Errorf("%+v %+v", b.Asked, b.Compaction)
	}
}

// On a full disk Esc ends a compaction all the same; that is recorded when there
// is room again. A summary that came meanwhile is installed then. // LOG-8, TUI-5
func TestWireFullDisk(t *testing.T) {
	for _, esc := range []bool{true, false} {
		w := newWire(t, 60_000)
		disk := &recorder{}
		w.opts.layer = disk
		l := w.filled(2_000)
		let := make(chan struct{})
		w.answers("one_shot", append([]scripted.Step{scripted.Role(), scripted.Wait(let)}, whole(handoff("go on"))...))
		submit(t, l, drive.Compact{})
		w.asking(l, "one_shot", 1)
		disk.set(func(r *recorder) { r.fail = func([]string) error { return syscall.ENOSPC } })
		if esc {
			submit(t, l, drive.Cancel{By: "user"})
		} else {
			close(let)
			follows(t, l, "the fault", func(u Update) bool { return u.Fault != nil })
		}
		if err := w.srv.AwaitEnd(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		disk.set(func(r *recorder) { r.fail = nil })
		if f := over(t, l, 0); (f != nil) != esc {
			t.Errorf("esc %v: %+v", esc, f)
		}
		if n := w.count("one_shot"); n != 1 {
			t.Errorf("esc %v: %d requests", esc, n)
		}
	}
}
