package harness

import (
	"context"
	"testing"

	"varve/internal/harness/drive"
	"varve/internal/providers"
	"varve/internal/session"
)

// A list of summarizers that changes counts from the next turn on, also from one
// that waited in the queue, and never inside one that runs. // SUM-7
func TestSummarizersOfTheNextTurn(t *testing.T) {
	gate := make(chan struct{})
	w := roomy(t, 100_000, text("One."), func(ctx context.Context, body string, sink providers.Sink) providers.Reply {
		<-gate
		return text("Two.")(ctx, body, sink)
	}, text("Three."), text("Four."))
	now := []session.Model{{Provider: "script", Model: "a"}}
	w.opts.Summarizers = func() []session.Model { return now } // called by the loop, changed between turns or while one waits
	l := w.start()
	configured := func() (out []string) {
		for _, e := range must(l.Session.Entries(0, 1<<20)) {
			switch ev := e.Event.(type) {
			case session.SessionConfigured:
				name := ""
				for _, m := range ev.Summarizers {
					name += m.Model
				}
				out = append(out, "list "+name)
			case session.UserSaid:
				out = append(out, "turn")
			}
		}
		return out
	}
	say(t, l, "one")
	ended(t, l, 1)
	if err := l.loop.do(t.Context(), func() { now = []session.Model{{Model: "b"}, {Model: "c"}} }); err != nil {
		t.Fatal(err)
	}
	say(t, l, "two")
	requests := 0
	until(t, l, "the second request", func(e session.Entry) bool {
		if e.Type == "request.sent" {
			requests++
		}
		return requests == 2
	})
	say(t, l, "three") // waits
	if err := l.loop.do(t.Context(), func() { now = nil }); err != nil {
		t.Fatal(err)
	}
	close(gate)
	ended(t, l, 3)
	say(t, l, "four")
	ended(t, l, 4)
	want := []string{"list a", "turn", "list bc", "turn", "list ", "turn", "turn"}
	if got := configured(); len(got) != len(want) {
		t.Errorf("%q, want %q", got, want)
	} else {
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%q, want %q", got, want)
				break
			}
		}
	}
}

// Who only compacts begins no turn, though one waits in the queue. // CMP-9, case CMP-29
func TestNoTurns(t *testing.T) {
	w := roomy(t, 100_000, text("One is a number."), text(handoff("count")))
	l := w.start()
	say(t, l, "one")
	ended(t, l, 1)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	path := l.Session.Path()
	// As a process leaves it that is killed between a turn's end and the next one.
	s := must(Open(path, w.opts.blobs(), w.opts.Policy, w.opts.Clock))
	st := s.State("main")
	if err := s.Record(t.Context(), "main", st.Branch.Head, []session.Fact{{Event: session.InputQueued{Kind: "queue"}, Body: []session.Part{{Bytes: []byte("two")}}}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	w.opts.NoTurns = true
	l = must(Resume(t.Context(), w.opts, path))
	defer l.Close()
	submit(t, l, drive.Compact{})
	until(t, l, "the checkpoint's toast", func(e session.Entry) bool {
		toast, ok := e.Event.(session.ToastPosted)
		return ok && (toast.Code == "compaction.done" || toast.Code == "compaction.failed")
	})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if n := len(w.sent()); n != 2 {
		t.Errorf("%d requests, want the turn's and the summary's", n)
	}
	if q := l.State().Branch.Queue; len(q) != 1 {
		t.Errorf("the queue is %v", q)
	}
}
