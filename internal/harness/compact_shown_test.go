package harness

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"varve/internal/harness/drive"
	"varve/internal/providers/scripted"
	"varve/internal/session"
)

// What is shown of a summary is the attempt that runs: the text of the one
// before is withdrawn, never joined. Maps are not shown. // FIN-4, MR-12, case CMP-05
func TestWireShownAttempt(t *testing.T) {
	w := newWire(t, 60_000)
	w.answers("one_shot", cutOff("length"), []scripted.Step{scripted.Role(), scripted.Text("the second"), scripted.Hang()})
	l := w.filled(2_000)
	submit(t, l, drive.Compact{})
	u := follows(t, l, "the second attempt's text", func(u Update) bool {
		for _, p := range u.Pulses {
			if p.Kind == "text" && strings.Contains(string(p.Text), "second") {
				return true
			}
		}
		return false
	})
	shown, texts := 0, ""
	for _, p := range u.Pulses {
		if p.Kind == "text" {
			texts += string(p.Text)
		}
		if p.Kind == "summary" {
			shown++
			if p.Name != "one_shot" || p.Why != "wire/m" {
				t.Errorf("%+v", p)
			}
		}
	}
	if texts != "the second" || shown != 1 {
		t.Errorf("%q, %d boxes", texts, shown)
	}
	submit(t, l, drive.Cancel{By: "user"})
	over(t, l, 0)
	follows(t, l, "nothing left", func(u Update) bool { return len(u.Pulses) == 0 })
}

// By itself a compaction keeps the newest exchanges as they were, and the thoughts
// that a strict server wants back with a call. // CMP-4, PFX, S02, S11, case CMP-28
func TestWireTail(t *testing.T) {
	w := newWire(t, 30_000)
	w.triggers(12_000)
	resolve := w.opts.Resolve
	w.opts.Resolve = func(ctx context.Context, m session.Model) (Target, error) {
		to, err := resolve(ctx, m)
		to.Endpoint.Profile = "deepseek"
		return to, err
	}
	thinks := append([]scripted.Step{scripted.Reasoning("", "hm, ", "look")}, looks(1)...)
	var again []scripted.Step
	again = append(again, scripted.Reasoning("", "more"), scripted.Text(strings.Repeat("so it is. ", 600)))
	again = append(again, looks(2)...)
	w.answers("agent", long(5_700), long(500), long(500), long(3_000), thinks, again, whole("Done."))
	l := w.start()
	for i := range 4 {
		say(t, l, fmt.Sprint("question ", i))
		ended(t, l, i+1)
	}
	say(t, l, "Look around.")
	if end := ended(t, l, 5); end.Status != "completed" || w.count("one_shot") != 1 {
		t.Errorf("%+v, %d summaries", end, w.count("one_shot"))
	}
	all := w.agents()
	last := all[len(all)-1]
	if !strings.Contains(string(last.Body), `"reasoning_content":"hm, look"`) || !strings.Contains(string(last.Body), `"reasoning_content":"more"`) {
		t.Error("a call has lost its thoughts")
	}
	w.proves(l, "tail", "CMP-4: the newest stays as it was, calls with their thoughts and results.")
}

// A masked result is read in full by the summarizer, as a transcript: the
// agent's prefix has it no more. // SUM-10
func TestWireMaskedSource(t *testing.T) {
	w := newWire(t, 60_000)
	w.answers("agent", append([]scripted.Step{scripted.Text(strings.Repeat("so it is. ", 500))}, looks(1)...), whole("Done."))
	l := w.start()
	say(t, l, "Look around.")
	ended(t, l, 1)
	var result session.Item
	for it := range l.State().Branch.View.All {
		if it.Kind == session.ResultItem {
			result = it
		}
	}
	foreign(t, l, session.Fact{
		Event: session.ItemMasked{Item: result.ID, Call: result.Call, Text: session.Text{B: 0}, Tokens: session.Estimate(8)},
		Body:  []session.Part{{Bytes: []byte("[masked]")}},
	})
	if f := compacted(t, l); f != nil {
		t.Fatalf("%+v", f)
	}
	all := w.srv.Requests()
	if s := all[len(all)-1]; s.Get("tools").Exists() || strings.Contains(s.LastUser(), "[masked]") || !strings.Contains(s.LastUser(), "./\n[empty]") {
		t.Errorf("%.800s", s.LastUser())
	}
}

// Whether a request fits is measured as the provider counts, once it has.
// // CTX-6, MR-1, MR-3
func TestWireMeasuredTokens(t *testing.T) {
	w := newWire(t, 60_000)
	twice := func(tokens int) []scripted.Step {
		return append(long(tokens)[:3:3], scripted.UsageStep(scripted.Usage{Prompt: 4_000, Output: int64(tokens) * 2}), scripted.Done())
	}
	w.triggers(59_000)
	w.answers("agent", twice(12_000), twice(6_000), whole("Done."))
	l := w.start()
	for i := range 2 {
		say(t, l, fmt.Sprint("question ", i))
		ended(t, l, 1+i)
	}
	if r := l.State().Ratio(w.opts.Model); r < 1_200 {
		t.Fatalf("the model's tokens are not told apart from ours: %d", r)
	}
	w.models["m"] = 24_000 // by our own count it would fit
	if f := compacted(t, l); f != nil || w.count("one_shot") != 0 || w.count("map") != 3 {
		t.Errorf("%+v, %d one-shots\n%s", f, w.count("one_shot"), staged(t, l))
	}
}

// What an endpoint refuses in a summarizer's request is left out of the next
// attempt, and known of that model from then on. // PRV-7
func TestWireSummarizerQuirk(t *testing.T) {
	w := newWire(t, 60_000)
	w.summarizers(60_000)
	w.does("one_shot", func(_ int, r scripted.Request) []scripted.Step {
		if r.Get("stream_options").Exists() {
			return refusedWith(400, `{"error":{"message":"Unrecognized request argument supplied: stream_options","type":"invalid_request_error","param":"stream_options"}}`)
		}
		return whole(handoff("without it"))
	})
	l := w.filled(2_000)
	if f := compacted(t, l); f != nil || w.count("one_shot") != 2 {
		t.Fatalf("%+v after %d\n%s", f, w.count("one_shot"), compactions(t, l))
	}
	if q := l.State().Session.Quirks; len(q) != 1 || q[0].Model != "s1" {
		t.Errorf("%+v", q)
	}
	say(t, l, "And now?")
	ended(t, l, 2)
	if all := w.agents(); !all[len(all)-1].Get("stream_options").Exists() {
		t.Error("the agent's model has learned it too")
	}
}
