package harness

import (
	"fmt"
	"strings"
	"testing"

	"varve/internal/harness/drive"
	"varve/internal/providers/scripted"
	"varve/internal/session"
)

// summarizers are the models that summarize, with their windows.
func (w *wire) summarizers(windows ...int) {
	var list []session.Model
	for i, n := range windows {
		m := session.Model{Provider: "wire", API: "openai-chat", Model: fmt.Sprint("s", i+1)}
		list = append(list, m)
		if n >= 0 {
			w.models[m.Model] = n
		}
	}
	w.opts.Settings.Summarizers = list
	w.opts.Summarizers = func() []session.Model { return list }
}

// talked is a session of so many exchanges, each of about so many tokens.
func (w *wire) talked(exchanges, tokens int) *Local {
	w.t.Helper()
	w.does("agent", func(n int, _ scripted.Request) []scripted.Step { return numbered(n-1, tokens) })
	l := w.start()
	for i := range exchanges {
		say(w.t, l, fmt.Sprintf("question %d", i))
		ended(w.t, l, i+1)
	}
	return l
}

// numbered is a long answer that can be told from others.
func numbered(n, tokens int) []scripted.Step {
	return whole(fmt.Sprintf("answer %d: %s", n, strings.Repeat("so it is. ", tokens*33/100)))
}

// partOf is which answers a map is given.
func partOf(r scripted.Request) string {
	var out []string
	for i := range 10 {
		if strings.Contains(r.LastUser(), fmt.Sprintf("answer %d: ", i)) {
			out = append(out, fmt.Sprint(i))
		}
	}
	return strings.Join(out, "+")
}

// staged is the story of a MapReduce without what runs side by side.
func staged(t *testing.T, l *Local) string {
	t.Helper()
	var out []string
	for _, line := range strings.Split(compactions(t, l), "\n") {
		if !strings.HasPrefix(line, "request") && !strings.HasPrefix(line, "ended") {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}

// What does not fit is mapped, the maps end in any order, and are reduced in the
// order of what they cover. // MR-1, MR-4, case CMP-11
func TestWireOutOfOrder(t *testing.T) {
	w := newWire(t, 200_000)
	w.summarizers(12_000)
	l := w.talked(4, 5_000)
	first := make(chan struct{})
	ended := make(chan struct{})
	w.does("map", func(n int, r scripted.Request) []scripted.Step {
		part := partOf(r)
		steps := whole("notes of " + part)
		switch part {
		case "0":
			return append([]scripted.Step{scripted.Wait(first)}, steps...)
		case "1":
			return append([]scripted.Step{scripted.Wait(ended)}, steps...)
		}
		return steps
	})
	w.does("audit", func(n int, _ scripted.Request) []scripted.Step {
		if n == 1 {
			return whole("Nobody said that the tests may not be run.")
		}
		return whole("PASS")
	})
	submit(t, l, drive.Compact{})
	mapped := func(ordinal int) {
		until(t, l, fmt.Sprint("map ", ordinal), func(e session.Entry) bool {
			ev, ok := e.Event.(session.StagingMapped)
			return ok && ev.Ordinal == ordinal
		})
	}
	mapped(3)
	mapped(2)
	close(ended)
	mapped(1)
	close(first)
	if f := over(t, l, 0); f != nil {
		t.Fatalf("%+v", f)
	}
	for _, r := range w.srv.Requests() {
		if stageOf(r) == "reduce" || stageOf(r) == "audit" {
			s, last := r.LastUser(), -1
			for i := range 4 {
				at := strings.Index(s, fmt.Sprintf("=== Notes %d\n\nnotes of %d", i+1, i))
				if at <= last {
					t.Errorf("request %d: notes %d stand at %d", r.N, i, at)
				}
				last = at
			}
		}
	}
	if got := shownView(t, l); !strings.HasPrefix(got, "checkpoint: ## Objective corrected") {
		t.Error(got)
	}
}

// A map that fails stops new ones; what runs is waited for and accepted; the
// rest is asked for one at a time, by the log. // MR-4, S08
func TestWirePartialFailure(t *testing.T) {
	w := newWire(t, 200_000)
	w.summarizers(12_000)
	l := w.talked(6, 5_000)
	failed, all := make(chan struct{}), make(chan struct{})
	w.does("map", func(n int, r scripted.Request) []scripted.Step {
		if n == 4 {
			close(all)
		}
		part := partOf(r)
		switch {
		case part == "2" && n <= 4:
			<-all // so many run at once
			return refusedWith(500, `{"error":{"message":"engine died"}}`)
		case n <= 4:
			<-failed
		}
		return whole("notes of " + part)
	})
	submit(t, l, drive.Compact{})
	until(t, l, "the failure", func(e session.Entry) bool { return e.Type == "reply.rejected" })
	sent := len(compactionsSent(t, l))
	close(failed)
	if f := over(t, l, 0); f != nil {
		t.Fatalf("%+v\n%s", f, staged(t, l))
	}
	story := staged(t, l)
	if sent != 4 || w.count("map") != 7 || !strings.Contains(story, "sequenced [2 4 5] server") {
		t.Errorf("%d sent at first, %d maps\n%s", sent, w.count("map"), story)
	}
	_, rest, _ := strings.Cut(story, "sequenced")
	if got, want := rest[strings.Index(rest, "\n")+1:], `sent map/2 2, limit 0
mapped 2
sent map/4 1, limit 0
mapped 4
sent map/5 1, limit 0
mapped 5
sent reduce/1/0 1, limit 0
reduced 1/0 [0 1 2 3 4 5] final true
sent audit/0/0 1, limit 0
audited [0 1 2 3 4 5] true
committed`; !strings.HasPrefix(got, want) {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// tooLong is what a server says of a request that is too long for it.
func tooLong(limit int) []scripted.Step {
	return refusedWith(400, fmt.Sprintf(`{"error":{"message":"This model's maximum context length is %d tokens. However, your messages resulted in %d tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, limit, limit+1))
}

// strictWindow refuses what is longer than a window, in tokens of our estimate.
func (w *wire) strictWindow(stage string, limit int, say func(n int, r scripted.Request) []scripted.Step) {
	w.does(stage, func(n int, r scripted.Request) []scripted.Step {
		if len(r.Body)*10/33 > limit {
			return tooLong(limit)
		}
		return say(n, r)
	})
}

// A window that nobody knows is what the provider says that it is: a one-shot
// that is refused goes on as MapReduce with the same model, cut by whole items
// as often as it takes, at most three times; what was accepted is not asked for
// again. The agent's window is what it was. // MR-4, MR-13, SUM-9, S09
func TestWireReportedWindow(t *testing.T) {
	w := newWire(t, 200_000)
	w.summarizers(0)
	l := w.talked(6, 5_000)
	w.strictWindow("one_shot", 13_000, nil)
	w.strictWindow("map", 13_000, func(_ int, r scripted.Request) []scripted.Step { return whole("notes of " + partOf(r)) })
	before := l.State().Session.Windows
	if f := compacted(t, l); f != nil {
		t.Fatalf("%+v\n%s", f, staged(t, l))
	}
	s := l.State()
	for _, x := range s.Session.Windows[len(before):] {
		if x.Role != "summarizer" || x.Model.Model != "s1" || x.Limit != 13_000 {
			t.Errorf("%+v", x)
		}
	}
	say(t, l, "And now?")
	ended(t, l, 7)
	all := requests(t, l)
	if c := all[len(all)-1].Capacity; c.N != 200_000 || all[0].Capacity != c {
		t.Errorf("the agent's window is %+v", c)
	}
	seen := map[string]int{}
	for _, r := range w.srv.Requests() {
		if stageOf(r) == "map" && r.Status == 200 {
			seen[partOf(r)]++
		}
	}
	for part, n := range seen {
		if n > 1 {
			t.Errorf("part %s was mapped %d times", part, n)
		}
	}
	if len(seen) != 6 {
		t.Errorf("%v", seen)
	}
}

// The agent's own model summarizes, and is refused as too long: the agent's
// window is not what the summarizer learned. // SUM-9
func TestWireOwnOverflow(t *testing.T) {
	w := newWire(t, 200_000)
	l := w.talked(4, 5_000)
	w.strictWindow("one_shot", 13_000, nil)
	if f := compacted(t, l); f != nil {
		t.Fatalf("%+v\n%s", f, staged(t, l))
	}
	say(t, l, "And now?")
	ended(t, l, 5)
	all := requests(t, l)
	if c := all[len(all)-1].Capacity; c.N != 200_000 {
		t.Errorf("the agent's window is %+v", c)
	}
	for _, x := range l.State().Session.Windows {
		if x.Role == "agent" {
			t.Errorf("%+v", x)
		}
	}
}

// An item that fits no request of its summarizer is named; what ran meanwhile is
// waited for and kept, and is not asked for again by a model that has the room.
// // MR-3, MR-4, MR-11, SUM-3
func TestWireIndivisible(t *testing.T) {
	w := newWire(t, 200_000)
	w.summarizers(12_000)
	w.does("agent", func(n int, _ scripted.Request) []scripted.Step {
		if n == 3 {
			return numbered(2, 30_000)
		}
		return numbered(n-1, 5_000)
	})
	l := w.start()
	for i := range 4 {
		say(t, l, fmt.Sprintf("question %d", i))
		ended(t, l, i+1)
	}
	before := shownView(t, l)
	let := make(chan struct{})
	w.does("map", func(_ int, r scripted.Request) []scripted.Step {
		return append([]scripted.Step{scripted.Wait(let)}, whole("notes of "+partOf(r))...)
	})
	submit(t, l, drive.Compact{})
	until(t, l, "the wait for what runs", func(e session.Entry) bool { return e.Type == "staging.sequenced" })
	close(let)
	f := over(t, l, 0)
	if f == nil || f.Kind != "item_too_large" || shownView(t, l) != before {
		t.Fatalf("%+v\n%s", f, staged(t, l))
	}
	n := toasts(t, l, "compaction.failed")
	if len(n) != 1 || !strings.Contains(n[0]["detail"], "item 20 has about 30") {
		t.Errorf("%v", n)
	}
	if kept, maps := len(l.State().Branch.Staging.Maps), w.count("map"); kept != maps || kept != 2 {
		t.Errorf("%d maps kept of %d", kept, maps)
	}
	w.summarizers(12_000, 100_000)
	l.opts.Summarizers = w.opts.Summarizers
	l2 := restarted(t, w, l)
	if f := compacted(t, l2); f != nil {
		t.Fatalf("%+v\n%s", f, staged(t, l2))
	}
	parts := map[string]int{}
	for _, r := range w.srv.Requests() {
		if stageOf(r) == "map" {
			parts[partOf(r)]++
		}
	}
	for part, n := range parts { // the user's words of the long answer are a part of their own
		if n > 1 {
			t.Errorf("part %q was asked for %d times", part, n)
		}
	}
	if story := staged(t, l2); !strings.Contains(story, "spent wire/s1 1/2 item_too_large: item 20 has about") {
		t.Error(story)
	}
}

// restarted closes a session and opens it in another run.
func restarted(t *testing.T, w *wire, l *Local) *Local {
	t.Helper()
	path := l.Session.Path()
	l.Close()
	return w.resume(path)
}

// Notes that do not fit one request are reduced in groups, in order, before the
// handoff is made of the results; the audit sees all of the notes, as many at a
// time as fit. Notes that fit in no pair fail by name. // MR-7, MR-8
func TestWireLevels(t *testing.T) {
	w := newWire(t, 200_000)
	w.summarizers(12_000)
	l := w.talked(6, 5_000)
	w.does("map", func(_ int, r scripted.Request) []scripted.Step {
		return whole("notes of " + partOf(r) + ": " + strings.Repeat("so it is. ", 600))
	})
	w.does("reduce", func(n int, r scripted.Request) []scripted.Step {
		if strings.Contains(r.LastUser(), "What you write is the handoff itself") {
			return whole(handoff("joined"))
		}
		return whole(fmt.Sprintf("joint notes %d", n))
	})
	if f := compacted(t, l); f != nil {
		t.Fatalf("%+v\n%s", f, staged(t, l))
	}
	_, story, _ := strings.Cut(staged(t, l), "sent reduce")
	if want := `/1/0 1, limit 0
reduced 1/0 [0 1 2] final false
sent reduce/1/1 1, limit 0
reduced 1/1 [3 4 5] final false
sent reduce/2/0 1, limit 0
reduced 2/0 [0 1] final true
sent audit/0/0 1, limit 0
audited [0 1 2] true
sent audit/0/3 1, limit 0
audited [3 4 5] true
committed [{6 35}]`; story != want {
		t.Errorf("%s\nwant\n%s", story, want)
	}
	var last string
	for _, r := range w.srv.Requests() {
		if stageOf(r) == "reduce" {
			last = r.LastUser()
		}
	}
	if !strings.HasSuffix(last, "=== Notes 1\n\njoint notes 1\n\n=== Notes 2\n\njoint notes 2") {
		t.Errorf("%.900s", last)
	}

	w = newWire(t, 200_000)
	w.summarizers(12_000)
	l = w.talked(3, 5_000)
	w.does("map", func(int, scripted.Request) []scripted.Step { return long(4_500) })
	w.does("reduce", func(int, scripted.Request) []scripted.Step { return long(4_600) }) // each alone, and none the shorter for it
	before := shownView(t, l)
	if f := compacted(t, l); f == nil || f.Kind != "summaries_too_large" || shownView(t, l) != before || w.count("reduce") != 3 {
		t.Errorf("%+v\n%s", f, staged(t, l))
	}
	w.summarizers(12_000) // its budget is spent; a larger model goes on with its notes
	w.models["s2"] = 100_000
	other := []session.Model{{Provider: "wire", API: "openai-chat", Model: "s2"}}
	if f := compacted(t, l); f == nil || f.Kind != "stuck" {
		t.Errorf("%+v", f)
	}
	offers := ""
	for _, e := range must(l.Session.Entries(0, 1<<20)) {
		if ev, ok := e.Event.(session.ToastPosted); ok && ev.Code == "compaction.failed" {
			offers += fmt.Sprint(ev.Args["kind"], ev.Actions, "\n")
		}
	}
	if offers != "summaries_too_large[focus models go_on]\nstuck[anew models go_on]\n" {
		t.Errorf("what is offered would be refused: %s", offers)
	}
	w.opts.Summarizers = func() []session.Model { return other }
	w.does("reduce", func(int, scripted.Request) []scripted.Step { return whole(handoff("joined")) })
	l = restarted(t, w, l)
	if f := compacted(t, l); f != nil || w.count("map") != 3 {
		t.Errorf("%+v, %d maps\n%s", f, w.count("map"), staged(t, l))
	}
}
