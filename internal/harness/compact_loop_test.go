package harness

import (
	"strings"
	"testing"

	"varve/internal/harness/drive"
	"varve/internal/providers/scripted"
	"varve/internal/session"
)

// The failure loop over the wire: the summarizer is the agent's model, its
// summaries end on length while small tool calls go on. One bounded sequence in
// the turn, no ceiling, one notice, and the agent goes on with its source; the
// same source succeeds by hand. // CMP-10, FIN-1, FIN-3, FIN-5, SUM-8, S01, case CMP-01
func TestWireFailureLoop(t *testing.T) {
	w := newWire(t, 60_000)
	w.triggers(12_000)
	l := w.filled(14_000)
	w.answers("one_shot", cutOff("length"))
	w.answers("agent", looks(1), looks(2), whole("Looked."))
	say(t, l, "Look around, twice.")
	if end := ended(t, l, 2); end.Status != "completed" || w.count("one_shot") != 3 || w.count("agent") != 4 {
		t.Errorf("%+v, %d summaries, %d requests", end, w.count("one_shot"), w.count("agent"))
	}
	for _, r := range w.srv.Requests() {
		if r.Get("max_tokens").Exists() || r.Get("max_completion_tokens").Exists() {
			t.Errorf("request %d has an output limit", r.N)
		}
	}
	if n := toasts(t, l, "compaction.asks"); len(n) != 1 || n[0]["i"] != "1" || n[0]["n"] != "1" {
		t.Errorf("notices of models: %v", n)
	}
	if n := toasts(t, l, "compaction.failed"); len(n) != 1 || n[0]["kind"] != "exhausted" {
		t.Errorf("notices of failures: %v", n)
	}
	if u := usedBy(l, "m"); u.Input != 3*70 || u.Output != 3*7 {
		t.Errorf("usage of rejected replies: %+v", u)
	}
	w.answers("one_shot", whole(handoff("by hand")))
	if f := compacted(t, l); f != nil || w.count("one_shot") != 4 {
		t.Errorf("%+v, %d summaries", f, w.count("one_shot"))
	}
	w.proves(l, "loop", "S01: a summary ends on length three times while the turn goes on; by hand it succeeds.")
}

// Once the summarizer ends as it should, a new turn's trigger and /compact each
// need one request. // CMP-10, FIN-5
func TestWireFreshTurn(t *testing.T) {
	w := newWire(t, 60_000)
	w.triggers(12_000)
	l := w.filled(14_000)
	w.answers("one_shot", cutOff("length"), cutOff("length"), cutOff("length"), whole(handoff("second turn")))
	for i := range 2 {
		w.answers("agent", looks(i), whole("Looked."))
		say(t, l, "Look around.")
		ended(t, l, 2+i)
	}
	if f := compacted(t, l); f != nil || w.count("one_shot") != 5 {
		t.Errorf("%+v, %d summaries", f, w.count("one_shot"))
	}
	w.proves(l, "fresh-turn", "A turn whose compaction failed defers it; the next one tries afresh, and so does /compact.")
}

// Exhausted in mid-turn, after calls have run: none of them runs again, and the
// turn ends as it would have. Steering does not lift the deferral. // CMP-10, case CMP-16
func TestWireExhaustedInMidTurn(t *testing.T) {
	w := newWire(t, 60_000)
	w.triggers(12_000)
	w.answers("one_shot", cutOff("content_filter"))
	l := w.filled(8_000)
	let := make(chan struct{})
	w.answers("agent", append([]scripted.Step{scripted.Text(strings.Repeat("so it is. ", 2000))}, looks(1)...), append([]scripted.Step{scripted.Wait(let)}, looks(2)...), looks(3), whole("Looked."))
	say(t, l, "Look around.")
	until(t, l, "the request behind the failure", func(e session.Entry) bool {
		ev, ok := e.Event.(session.RequestSent)
		return ok && ev.Compaction == 0 && l.State().Branch.Turn != nil && l.State().Branch.Turn.Deferred
	})
	submit(t, l, drive.Say{Text: []byte("And mind the gaps."), Steer: true})
	close(let)
	if end := ended(t, l, 2); end.Status != "completed" || w.count("one_shot") != 3 || w.count("agent") != 5 {
		t.Errorf("%+v, %d summaries, %d requests", end, w.count("one_shot"), w.count("agent"))
	}
	ran := 0
	for _, e := range must(l.Session.Entries(0, 1<<20)) {
		if e.Type == "tool.started" {
			ran++
		}
	}
	if ran != 3 {
		t.Errorf("%d calls were run", ran)
	}
	w.proves(l, "mid-turn", "A call is run, then a compaction fails: the turn goes on with its source, steered in between.")
}

// A handoff that leaves no room, or is no smaller than what it stands for, is
// rejected: once, the view is as it was, and the turn goes on.
// CMP-7, CMP-10, S05, S06, case CMP-01, case CMP-02
func TestWireOversized(t *testing.T) {
	for name, c := range map[string]struct {
		handoff int
		why     string
	}{
		"over the trigger": {11_900, "over_trigger"},
		"not smaller":      {30_000, "not_smaller"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWire(t, 60_000)
			w.triggers(12_000)
			w.answers("one_shot", whole(handoff(strings.Repeat("so it is. ", c.handoff*33/100))))
			l := w.filled(14_000)
			w.answers("agent", looks(1), looks(2), whole("Looked."))
			say(t, l, "Look around.")
			if end := ended(t, l, 2); end.Status != "completed" || w.count("one_shot") != 1 {
				t.Errorf("%+v, %d summaries", end, w.count("one_shot"))
			}
			if got := shownView(t, l); strings.Contains(got, "checkpoint") || !strings.HasPrefix(got, "user: Tell me about sediment.\nassistant: so it is.") {
				t.Error(got)
			}
			if n := toasts(t, l, "compaction.failed"); len(n) != 1 || n[0]["kind"] != c.why || !strings.Contains(n[0]["detail"], "tokens") {
				t.Errorf("%v", n)
			}
			w.proves(l, "oversized-"+c.why, "A handoff is "+c.why+": it is asked for once, and the turn goes on with the source.")
		})
	}
}

// A compaction that succeeded may run again in the same turn, when new work has
// filled the budget; and does not where it has not. // CMP-10, S06
func TestWireRegrowth(t *testing.T) {
	w := newWire(t, 60_000)
	w.triggers(12_000)
	l := w.filled(14_000)
	more := func(n int) []scripted.Step {
		return append([]scripted.Step{scripted.Text(strings.Repeat("so it is. ", 4000))}, looks(n)...)
	}
	w.answers("agent", looks(1), looks(2), more(3), looks(4), whole("Looked."))
	say(t, l, "Look around.")
	if end := ended(t, l, 2); end.Status != "completed" || w.count("one_shot") != 2 {
		t.Errorf("%+v, %d summaries", end, w.count("one_shot"))
	}
	if got := shownView(t, l); strings.Count(got, "checkpoint:") != 1 || !strings.Contains(got, "user: Look around.") {
		t.Error(got)
	}
	w.proves(l, "regrowth", "Two compactions succeed in one turn: work of that turn has filled the budget again.")
}
