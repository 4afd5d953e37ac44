package harness

import (
	"fmt"
	"strings"
	"testing"

	"varve/internal/harness/drive"
	"varve/internal/providers/scripted"
	"varve/internal/session"
)

// unsaid is a refusal of a request as too long that names no limit.
var unsaid = `{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","type":"invalid_request_error","code":"context_length_exceeded"}}`

func started(t *testing.T, l *Local, typ string) (n int) {
	t.Helper()
	for _, e := range must(l.Session.Entries(0, 1<<20)) {
		if e.Type == typ {
			n++
		}
	}
	return n
}

// A request that is too long is made shorter and sent again in the same turn:
// at most twice in a row, each time shorter, the second time at the cost of the
// newest exchanges; what the user waits for an answer to is in each. No call
// runs again. After that the turn fails, and says so. // CMP-5, CMP-14
func TestWireRecovery(t *testing.T) {
	for name, c := range map[string]struct {
		refused     int // requests in a row
		compactions int
		status      string
	}{
		"once": {1, 1, "completed"}, "twice": {2, 2, "completed"}, "for ever": {99, 2, "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWire(t, 60_000)
			l := w.talked(6, 3_000)
			from := w.count("agent")
			w.does("agent", func(n int, _ scripted.Request) []scripted.Step {
				switch n -= from; {
				case n == 1:
					return looks(1)
				case n <= 1+c.refused:
					return refusedWith(400, unsaid)
				}
				return whole("Looked.")
			})
			say(t, l, "Look around.")
			end := ended(t, l, 7)
			if end.Status != c.status || w.count("one_shot") != c.compactions || started(t, l, "tool.started") != 1 {
				t.Errorf("%+v, %d summaries, %d calls", end, w.count("one_shot"), started(t, l, "tool.started"))
			}
			if c.status == "failed" && (end.Error == nil || end.Error.Kind != "context_length") {
				t.Errorf("%+v", end.Error)
			}
			size := 1 << 30
			for _, r := range w.agents()[from+1:] {
				if len(r.Body) >= size || !strings.Contains(string(r.Body), "Look around.") {
					t.Errorf("request %d: %d bytes, the one before %d", r.N, len(r.Body), size)
				}
				size = len(r.Body)
			}
			if c.refused == 2 {
				w.proves(l, "recovery", "CMP-14: a request is refused as too long, and the shorter one as well.")
			}
		})
	}
}

// With no summary to be had, or in a fresh session, the turn fails with its
// source as it was, also where the trigger was deferred. // CMP-11, CMP-14, case CMP-23
func TestWireNoRecovery(t *testing.T) {
	w := newWire(t, 60_000)
	l := w.talked(6, 3_000)
	w.answers("agent", refusedWith(400, unsaid), whole("Done."))
	w.answers("one_shot", cutOff("length"))
	before := shownView(t, l)
	say(t, l, "Go on.")
	if end := ended(t, l, 7); end.Status != "failed" || end.Error.Kind != "context_length" || w.count("one_shot") != 3 {
		t.Errorf("%+v, %d summaries", end, w.count("one_shot"))
	}
	if got := shownView(t, l); got != before+"\nuser: Go on." {
		t.Error(got)
	}

	w = newWire(t, 1_500)
	w.answers("agent", refusedWith(400, unsaid))
	l = w.start()
	for i := range 2 {
		say(t, l, "Hello.")
		if end := ended(t, l, 1+i); end.Status != "failed" || end.Error.Kind != "context_length" {
			t.Errorf("%+v", end)
		}
	}
	if len(w.srv.Requests()) != 2 || started(t, l, "compaction.started") != 0 {
		t.Errorf("%d requests\n%s", len(w.srv.Requests()), compactions(t, l))
	}
	n := toasts(t, l, "compaction.failed")
	if len(n) != 2 || n[0]["kind"] != "nothing" || !strings.Contains(n[0]["detail"], "tools and instructions take about 1") || !strings.Contains(n[0]["detail"], "of 1500 tokens") {
		t.Errorf("%v", n)
	}
}

// Switched off, nothing is compacted by itself: not over the threshold, not
// when a request is too long. By hand it works, and a larger model is sent the
// source as it is. // CMP-3, case CMP-14
func TestWireDisabled(t *testing.T) {
	for name, m := range map[string]*string{"disabled": mode("disabled"), "left out": nil} {
		t.Run(name, func(t *testing.T) {
			w := newWire(t, 8_000)
			w.models["large"] = 200_000
			w.opts.Settings.Compaction.Mode = m
			l := w.talked(3, 2_500)
			w.does("agent", func(n int, r scripted.Request) []scripted.Step {
				if r.Model() == "m" {
					return refusedWith(400, unsaid)
				}
				return whole("Done.")
			})
			say(t, l, "Go on.")
			if end := ended(t, l, 4); end.Status != "failed" || end.Error.Kind != "context_length" {
				t.Errorf("%+v", end)
			}
			if started(t, l, "compaction.requested") != 0 {
				t.Error(compactions(t, l))
			}
			submit(t, l, drive.Choose{Model: session.Model{Provider: "wire", API: "openai-chat", Model: "large"}, By: "user"})
			say(t, l, "Go on.")
			if end := ended(t, l, 5); end.Status != "completed" {
				t.Errorf("%+v", end)
			}
			all := w.agents()
			small, large := all[len(all)-2], all[len(all)-1]
			n := len(small.Get("messages").Array())
			if got := large.Get("messages").Array(); len(got) != n+1 || got[n-1].Raw != small.Get(fmt.Sprintf("messages.%d", n-1)).Raw {
				t.Errorf("%d messages, then %d", n, len(got))
			}
			if f := compacted(t, l); f != nil {
				t.Errorf("%+v", f)
			}
		})
	}
}

// Hello never compacts, whatever is known of the window: what a window has no
// room for is for the provider to say. // CMP-1, case CMP-19
func TestWireWindows(t *testing.T) {
	for _, window := range []int{0, 1, 2_048, 40_000, 1_000_000} {
		w := newWire(t, window)
		l := w.start()
		say(t, l, "Hello.")
		if end := ended(t, l, 1); end.Status != "completed" || len(w.srv.Requests()) != 1 || started(t, l, "compaction.requested") != 0 {
			t.Errorf("window %d: %+v\n%s", window, end, compactions(t, l))
		}
	}
}

// Maps that are refused as too long, by a provider that names no limit, are
// divided three times at most, by whole items. The same model is not tried
// again then; another one goes on. // MR-4, MR-11, S09
func TestWireRepartitions(t *testing.T) {
	w := newWire(t, 200_000)
	w.summarizers(0)
	l := w.talked(8, 5_000)
	w.answers("one_shot", refusedWith(400, unsaid))
	w.does("map", func(_ int, r scripted.Request) []scripted.Step {
		if partOf(r) == "0" {
			return whole("notes of 0")
		}
		return refusedWith(400, unsaid)
	})
	f := compacted(t, l)
	if f == nil || f.Kind != "repartitions" && f.Kind != "item_too_large" || started(t, l, "staging.repartitioned") > 3 || w.count("one_shot") != 1 {
		t.Fatalf("%+v\n%s", f, staged(t, l))
	}
	first := staged(t, l)
	maps := w.count("map")
	if maps > 32 {
		t.Errorf("%d maps", maps)
	}
	f = compacted(t, l)
	if f == nil || f.Kind != "stuck" || w.count("map") != maps {
		t.Fatalf("%+v, %d maps more\n%s", f, w.count("map")-maps, first)
	}
	w.models["s2"] = 200_000
	other := []session.Model{{Provider: "wire", API: "openai-chat", Model: "s2"}}
	w.opts.Summarizers = func() []session.Model { return other }
	l = restarted(t, w, l)
	w.does("map", func(_ int, r scripted.Request) []scripted.Step { return whole("notes of " + partOf(r)) })
	if f := compacted(t, l); f != nil || started(t, l, "staging.renewed") != 1 {
		t.Errorf("%+v\n%s", f, staged(t, l))
	}
}

// Maps that are refused as too long side by side are divided together, when the
// last of them is answered: that is one round of three. // MR-4
func TestWireOverflowsTogether(t *testing.T) {
	w := newWire(t, 200_000)
	w.summarizers(12_000)
	l := w.talked(6, 2_000)
	all, last := make(chan struct{}), make(chan struct{})
	w.does("map", func(n int, r scripted.Request) []scripted.Step {
		if n == 3 {
			close(all)
		}
		<-all
		switch part := partOf(r); {
		case len(r.Body)*10/33 < 3_500:
			return whole("notes of " + part)
		case strings.Contains(part, "5"):
			return append([]scripted.Step{scripted.Wait(last)}, refusedWith(400, unsaid)...)
		}
		return refusedWith(400, unsaid)
	})
	submit(t, l, drive.Compact{})
	sent, refused := 0, 0
	until(t, l, "all but one", func(e session.Entry) bool {
		switch ev := e.Event.(type) {
		case session.RequestSent:
			if ev.Compaction != 0 {
				sent++
			}
		case session.ReplyRejected:
			refused++
		}
		return sent == 3 && refused == 2
	})
	close(last)
	if f := over(t, l, 0); f != nil || started(t, l, "staging.repartitioned") != 1 {
		t.Errorf("%+v\n%s", f, staged(t, l))
	}
	for _, e := range must(l.Session.Entries(0, 1<<20)) {
		if ev, ok := e.Event.(session.StagingRepartitioned); ok && (ev.Target != 3_000 || ev.Window != nil || len(ev.Dropped) != 3) {
			t.Errorf("%+v", ev) // half of what was too much; nobody has named another window
		}
	}
}

// What is too long in bytes, or together with an output limit, is not sent again
// unchanged. // FIN-3, PRV-6
func TestWireOtherOverflows(t *testing.T) {
	for name, steps := range map[string][]scripted.Step{
		"bytes":  refusedWith(413, `{"error":{"message":"Request Entity Too Large"}}`),
		"budget": refusedWith(400, `{"error":{"message":"This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (1000 in the messages, 8000 in the completion). Please reduce the length of the messages or completion.","code":"context_length_exceeded"}}`),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWire(t, 60_000)
			l := w.filled(2_000)
			w.answers("one_shot", steps)
			if f := compacted(t, l); f == nil || w.count("one_shot") != 1 {
				t.Errorf("%+v after %d\n%s", f, w.count("one_shot"), compactions(t, l))
			}
		})
	}
}

// The output of a handoff is what the user and the connector say, by hand and by
// itself; nothing is made up. A target is said and sent where the text is
// installed, and nowhere else. // CMP-16, FIN-5, MR-6, case CMP-04
func TestWireOutputLimits(t *testing.T) {
	type limits map[string]string
	for name, c := range map[string]struct {
		target, output int // 0: not set
		small          int // window of a summarizer, 0: the agent itself
		want           limits
	}{
		"nothing":                     {want: limits{"one_shot": ""}},
		"the user's limit":            {output: 700, want: limits{"one_shot": "700"}},
		"a target":                    {target: 500, output: 700, want: limits{"one_shot": "500"}},
		"a target in a MapReduce":     {target: 500, small: 12_000, want: limits{"map": "", "reduce": "500", "correct": "500", "audit": ""}},
		"a limit that is the agent's": {output: 700, small: 12_000, want: limits{"map": "", "reduce": "", "correct": "", "audit": ""}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWire(t, 200_000)
			if c.target > 0 {
				w.opts.Settings.Compaction.Target = &c.target
			}
			if c.output > 0 {
				w.opts.Settings.OutputLimit = &c.output
			}
			if c.small > 0 {
				w.summarizers(c.small)
			}
			l := w.talked(4, 5_000)
			w.answers("audit", whole("the second part is missing"), whole("PASS"))
			if f := compacted(t, l); f != nil {
				t.Fatalf("%+v", f)
			}
			got := limits{}
			for _, r := range w.srv.Requests()[4:] {
				limit := r.Get("max_tokens").Raw + r.Get("max_completion_tokens").Raw
				if old, ok := got[stageOf(r)]; ok && old != limit {
					t.Errorf("%s: %q and %q", stageOf(r), old, limit)
				}
				got[stageOf(r)] = limit
				said := strings.Contains(r.LastUser(), "Use at most 500 tokens.")
				if asks := stageOf(r) == "one_shot" || stageOf(r) == "reduce" || stageOf(r) == "correct"; said != (asks && c.target > 0) {
					t.Errorf("request %d: %s names a target: %v", r.N, stageOf(r), said)
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// The agent's own model is asked with its reasoning choice and its prefix, so
// that its cache counts; a model of the list with neither. // SUM-2, SUM-6, SUM-10
func TestWirePrefixAndReasoning(t *testing.T) {
	for name, own := range map[string]bool{"own": true, "of the list": false} {
		t.Run(name, func(t *testing.T) {
			w := newWire(t, 60_000)
			w.opts.Reasoning = "high"
			if !own {
				w.summarizers(60_000)
			}
			l := w.filled(2_000)
			if f := compacted(t, l); f != nil {
				t.Fatalf("%+v", f)
			}
			sent := compactionsSent(t, l)[0]
			a, b := w.srv.Requests()[0], w.srv.Requests()[1]
			if a.Get("reasoning_effort").Str != "high" || (b.Get("reasoning_effort").Str == "high") != own || (sent.Shared > 0) != own {
				t.Errorf("%q, then %q; %d bytes shared", a.Get("reasoning_effort"), b.Get("reasoning_effort"), sent.Shared)
			}
			if own && b.Shared.Messages != b.Shared.Of {
				t.Errorf("%+v", b.Shared)
			}
			body := must(l.Session.Request(session.Seq(compactionSeq(t, l))))
			if string(body) != string(b.Body) {
				t.Error("the request can't be made again from the log")
			}
		})
	}
}

func compactionSeq(t *testing.T, l *Local) session.Seq {
	t.Helper()
	for _, e := range must(l.Session.Entries(0, 1<<20)) {
		if ev, ok := e.Event.(session.RequestSent); ok && ev.Compaction != 0 {
			return e.Seq
		}
	}
	return 0
}

// A changed list counts from the next turn or /compact on. // SUM-7
func TestWireListOfTheMoment(t *testing.T) {
	w := newWire(t, 60_000)
	w.triggers(12_000)
	w.models["new"] = 60_000
	w.summarizers(60_000)
	w.opts.Summarizers = func() []session.Model {
		return []session.Model{{Provider: "wire", API: "openai-chat", Model: "new"}}
	}
	l := w.filled(14_000)
	say(t, l, "Go on.")
	ended(t, l, 2)
	if f := compacted(t, l); f != nil {
		t.Logf("%+v", f)
	}
	var by []string
	for _, r := range w.srv.Requests() {
		if stageOf(r) == "one_shot" {
			by = append(by, r.Model())
		}
	}
	if got := strings.Join(by, " "); got != "new new" {
		t.Error(got)
	}
}

// What is too little for any handoff to be smaller is nothing to compact: nobody
// is asked. // CMP-9
func TestWireTooLittle(t *testing.T) {
	w := newWire(t, 60_000)
	l := w.start()
	say(t, l, "Hello.")
	ended(t, l, 1)
	head := l.Session.Head()
	if err := l.Submit(t.Context(), drive.Compact{}); err != drive.ErrNothingToCompact || l.Session.Head() != head {
		t.Errorf("%v, %d events more", err, l.Session.Head()-head)
	}
}

// Where a model of the list has no room however the work is divided, the next one
// goes on with it, with what was accepted. // MR-4, SUM-3
func TestWireNextModelHasRoom(t *testing.T) {
	w := newWire(t, 200_000)
	w.summarizers(12_000, 100_000)
	l := w.talked(6, 5_000)
	first := make(chan struct{})
	w.does("map", func(n int, r scripted.Request) []scripted.Step {
		if n == 2 {
			close(first)
		}
		switch {
		case r.Model() == "s1" && partOf(r) != "0":
			return refusedWith(400, unsaid)
		case r.Model() == "s1":
			<-first
		}
		return whole("notes of " + partOf(r))
	})
	if f := compacted(t, l); f != nil {
		t.Fatalf("%+v\n%s", f, staged(t, l))
	}
	again := 0
	for _, r := range w.srv.Requests() {
		if stageOf(r) == "map" && r.Model() == "s2" && partOf(r) == "0" {
			again++
		}
	}
	if story := staged(t, l); again != 0 || !strings.Contains(story, "spent wire/s1 1/2") || !strings.Contains(story, "started wire/s2 2/2") {
		t.Errorf("%d maps again\n%s", again, story)
	}
}

// So it is where it was divided three times, and that was not enough.
// // MR-4, SUM-3
func TestWireNextModelAfterThreeRounds(t *testing.T) {
	w := newWire(t, 200_000)
	w.summarizers(4_000, 100_000)
	l := w.talked(40, 100)
	w.does("map", func(n int, r scripted.Request) []scripted.Step {
		if r.Model() == "s1" {
			return refusedWith(400, unsaid)
		}
		return whole(fmt.Sprint("notes ", n))
	})
	if f := compacted(t, l); f != nil || started(t, l, "staging.repartitioned") != 3 || !strings.Contains(staged(t, l), "spent wire/s1 1/2 repartitions\nstarted wire/s2 2/2") {
		t.Fatalf("%+v\n%s", f, staged(t, l))
	}
}
