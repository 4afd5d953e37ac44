package harness

import (
	"context"
	"strings"
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

// Settings that change count from the next turn or /compact on. A mode that was
// switched on stays, unless that setting is what has changed. // SUM-7, CMP-2, PERM-1
func TestSettingsOfTheNextTurn(t *testing.T) {
	w := roomy(t, 100_000, text("One. "+strings.Repeat("It is. ", 300)), text("Two."), text("Three."), text(handoff("count")))
	now := w.opts.Settings
	now.PermissionMode = "ask"
	w.opts.Renew = func() session.SessionConfigured { return now } // called by the loop
	l := w.start()
	change := func(how func()) {
		t.Helper()
		if err := l.loop.do(t.Context(), how); err != nil {
			t.Fatal(err)
		}
	}
	stands := func(mode string, threshold, target int) {
		t.Helper()
		s := l.State().Session
		is := func(n *int, want int) bool { return n != nil && *n == want || n == nil && want == 0 }
		if c := s.Settings.Compaction; s.Mode != mode || !is(c.Threshold, threshold) || !is(c.Target, target) {
			t.Errorf("mode %s, %+v, want %s, %d, %d", s.Mode, c, mode, threshold, target)
		}
	}
	say(t, l, "one")
	ended(t, l, 1)
	submit(t, l, drive.SetMode{Mode: "edit"})
	many, few := 90_000, 2_000
	change(func() { now.Compaction.Threshold = &many })
	stands("edit", 0, 0)
	say(t, l, "two")
	ended(t, l, 2)
	stands("edit", many, 0)
	change(func() { now.PermissionMode = "full" })
	say(t, l, "three")
	ended(t, l, 3)
	stands("full", many, 0)
	change(func() { now.Compaction.Target = &few })
	submit(t, l, drive.Compact{})
	until(t, l, "the checkpoint", func(e session.Entry) bool { return e.Type == "checkpoint.committed" })
	stands("full", many, few)
}

// Who only compacts begins no turn, though one waits in the queue. // CMP-9, case CMP-29
func TestNoTurns(t *testing.T) {
	w := roomy(t, 100_000, big("One is a number.", 200), text(handoff("count")))
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

// A compaction that a run left open when it died goes on when it is asked for
// again: what was accepted counts, and a focus begins anew. // MR-9, LOG-14, CMP-9
func TestCompactGoesOnAfterAKill(t *testing.T) {
	for focus, want := range map[string]string{
		"": `
asked by user
started manual one_shot of [{6 10}]
started script/m 1/1 
sent one_shot 1, limit 0
rejected lost
sent one_shot 2, limit 0
committed [{6 10}]`,
		"the numbers": `
asked by user
started manual one_shot of [{6 10}]
started script/m 1/1 
sent one_shot 1, limit 0
rejected lost
failed cancelled, defers false
asked by user
started manual one_shot of [{6 10}]
started script/m 1/1 
sent one_shot 1, limit 0
committed [{6 10}]`,
	} {
		t.Run(focus, func(t *testing.T) {
			w := roomy(t, 100_000, text("One is a number. "+strings.Repeat("It is. ", 200)))
			l := w.start()
			say(t, l, "one")
			ended(t, l, 1)
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			path := l.Session.Path()
			s := must(Open(path, w.opts.blobs(), w.opts.Policy, w.opts.Clock))
			dies(t, s)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			w.rest = text(handoff("count"))
			l = must(Resume(t.Context(), w.opts, path))
			defer l.Close()
			submit(t, l, drive.Compact{Focus: []byte(focus)})
			until(t, l, "the checkpoint", func(e session.Entry) bool { return e.Type == "checkpoint.committed" })
			wantStory(t, l, "request\nended completed"+want)
		})
	}
}

// dies records what a run leaves that is killed while a summarizer answers.
func dies(t *testing.T, s *Session) {
	t.Helper()
	record := func(f ...session.Fact) {
		t.Helper()
		if err := s.Record(t.Context(), "main", s.State("main").Branch.Head, f); err != nil {
			t.Fatal(err)
		}
	}
	st := s.State("main")
	m := st.Branch.Model
	record(session.Fact{Event: session.RunStarted{Run: "gone"}})
	record(session.Fact{Event: session.CompactionRequested{By: "user"}})
	h := &Hands{sess: s, speaker: &Speaker{sess: s, resolve: func(context.Context, session.Model) (Target, error) {
		return Target{Window: session.Capacity{N: 100_000, Source: "setting"}}, nil
	}}}
	p := h.prepare(t.Context(), s.State("main")).Prepared
	record(session.Fact{Event: p.Started, Body: []session.Part{{Bytes: p.Prompt}}})
	at := s.State("main").Branch.Compaction.At
	record(session.Fact{Event: session.SummarizerTried{Compaction: at, I: 1, N: 1, Model: m, Outcome: "started"}})
	record(session.Fact{
		Event: session.RequestSent{Job: "brief", Purpose: "one_shot", Compaction: at, Unit: "one_shot", Attempt: 1, I: 1, N: 1, Model: m, Recipe: []session.Step{}},
	})
}
