package harness

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"varve/internal/harness/drive"
	"varve/internal/providers"
	"varve/internal/session"
)

// handoff is a text that has all that it needs.
func handoff(objective string) string {
	return "## Objective\n" + objective + "\n## Constraints\nnone\n## Work State\n### Completed\nall\n## Next Action\nwait"
}

func mode(m string) *string { return &m }

// roomy is a world whose model has a window, with the default mode.
func roomy(t *testing.T, window int, replies ...answer) *world {
	w := newWorld(t, replies...)
	w.opts.Settings.Compaction.Mode = mode("standalone")
	w.opts.Resolve = func(context.Context, session.Model) (Target, error) {
		return Target{
			Adapter: w.script, Endpoint: providers.Endpoint{Provider: "script", BaseURL: "script:"},
			Window: session.Capacity{N: window, Source: "setting"},
		}, nil
	}
	return w
}

// failing ends a request with a class and no text that counts.
func failing(class providers.Class) answer {
	return func(_ context.Context, _ string, sink providers.Sink) providers.Reply {
		sink.Delta("text", "", []byte("## Objective\nhalf"))
		return providers.Reply{
			Class: class, RawFinish: string(class), Usage: &session.Usage{Input: 10, Output: 3},
			Parts: []providers.Part{{Kind: session.AssistantItem, Bytes: []byte("## Objective\nhalf")}},
		}
	}
}

func compactions(t *testing.T, l *Local) string {
	t.Helper()
	var out []string
	for _, e := range must(l.Session.Entries(0, 1<<20)) {
		switch ev := e.Event.(type) {
		case session.CompactionRequested:
			out = append(out, "asked by "+ev.By)
		case session.CompactionStarted:
			out = append(out, fmt.Sprintf("started %s %s of %v", ev.Reason, ev.Route, ev.Ranges))
		case session.SummarizerTried:
			out = append(out, fmt.Sprintf("%s %s %d/%d %s", ev.Outcome, ev.Model, ev.I, ev.N, ev.Why))
		case session.RequestSent:
			if ev.Compaction != 0 {
				out = append(out, fmt.Sprintf("sent %s %d, limit %d", ev.Unit, ev.Attempt, ev.OutputLimit))
			} else {
				out = append(out, "request")
			}
		case session.ReplyRejected:
			out = append(out, "rejected "+ev.Class)
		case session.HandoffRejected:
			out = append(out, "no handoff: "+ev.Why)
		case session.CheckpointCommitted:
			out = append(out, fmt.Sprintf("committed %v", ev.Ranges))
		case session.CompactionFailed:
			out = append(out, fmt.Sprintf("failed %s, defers %v", ev.Kind, ev.Defers))
		case session.StagingCreated:
			out = append(out, fmt.Sprintf("staging of %d", ev.N))
		case session.StagingMapped:
			out = append(out, fmt.Sprintf("mapped %d", ev.Ordinal))
		case session.StagingReduced:
			out = append(out, fmt.Sprintf("reduced %d/%d %v final %v", ev.Level, ev.Group, ev.Inputs, ev.Final))
		case session.StagingAudited:
			out = append(out, fmt.Sprintf("audited %v %v", ev.Maps, ev.Pass))
		case session.StagingCorrected:
			out = append(out, fmt.Sprintf("corrected %d", ev.Round))
		case session.StagingRepartitioned:
			out = append(out, fmt.Sprintf("repartitioned %v into %d", ev.Dropped, ev.N))
		case session.StagingSequenced:
			out = append(out, fmt.Sprintf("sequenced %v %s", ev.Missing, ev.Why))
		case session.TurnEnded:
			out = append(out, "ended "+ev.Status)
		}
	}
	return strings.Join(out, "\n")
}

func wantStory(t *testing.T, l *Local, want string) {
	t.Helper()
	if got := compactions(t, l); got != strings.TrimSpace(want) {
		t.Errorf("got\n%s\nwant\n%s", got, strings.TrimSpace(want))
	}
}

func shownView(t *testing.T, l *Local) string {
	t.Helper()
	var out []string
	for it := range l.State().Branch.View.All {
		if it.Kind != session.InstructionItem {
			text := must(l.Session.Text(it))
			if it.Kind == session.CheckpointItem {
				_, text, _ = bytes.Cut(text, []byte("\n\n")) // what it is
			}
			out = append(out, string(it.Kind)+": "+cut(strings.ReplaceAll(string(text), "\n", " ")))
		}
	}
	return strings.Join(out, "\n")
}

// By hand the whole responded history becomes one handoff, by one request with
// the agent's own prefix; what follows begins with it. // CMP-8, CMP-9, SUM-2, SUM-10
func TestCompactByHand(t *testing.T) {
	w := roomy(t, 100_000, text("One is a number. "+strings.Repeat("It is. ", 200)), text(handoff("count")), text("Two."))
	l := w.start()
	say(t, l, "one")
	ended(t, l, 1)
	submit(t, l, drive.Compact{Focus: []byte("the numbers")})
	until(t, l, "the checkpoint", func(e session.Entry) bool { return e.Type == "checkpoint.committed" })
	say(t, l, "two")
	ended(t, l, 2)
	wantStory(t, l, `
request
ended completed
asked by user
started manual one_shot of [{6 10}]
started script/m 1/1 
sent one_shot 1, limit 0
committed [{6 10}]
request
ended completed`)
	if got := shownView(t, l); !strings.HasPrefix(got, "checkpoint: ## Objective count") || !strings.Contains(got, "user: two\nassistant: Two.") || strings.Contains(got, "number. It is") {
		t.Error(got)
	}
	sent := w.sent()
	if before, _, _ := strings.Cut(sent[0], "end"); !strings.HasPrefix(sent[1], before) || !strings.Contains(sent[1], "keep in particular: the numbers") {
		t.Errorf("%q\n%q", sent[0], sent[1])
	}
}

// big is a reply that is larger than most.
func big(words string, n int) answer {
	return func(_ context.Context, _ string, _ providers.Sink) providers.Reply {
		return providers.Reply{
			Class: providers.Natural, RawFinish: "stop",
			Parts: []providers.Part{{Kind: session.AssistantItem, Bytes: []byte(words + " " + strings.Repeat("word ", n))}},
		}
	}
}

// The failure loop: a summarizer that is cut off while tools keep running. One
// bounded sequence in a turn, no ceiling sent, the turn goes on with its
// source; by hand it works on the same source. // CMP-10, FIN-1, FIN-3, FIN-5, S01, case CMP-01
func TestFailedSummaryIsNoLoop(t *testing.T) {
	n, summaries := 0, 0
	whole := false
	w := roomy(t, 20_000)
	w.opts.Clock = hurry(100)
	w.opts.Settings.Compaction.Threshold = new(int)
	*w.opts.Settings.Compaction.Threshold = 3000
	w.rest = func(ctx context.Context, body string, sink providers.Sink) providers.Reply {
		if strings.Contains(body, "Write a handoff") {
			summaries++
			if whole {
				return text(handoff("go on"))(ctx, body, sink)
			}
			return failing(providers.Length)(ctx, body, sink)
		}
		n++
		switch n {
		case 1:
			return big("a long answer", 3000)(ctx, body, sink)
		case 2, 3, 4:
			return calls("ls", `{}`)(ctx, body, sink)
		}
		return text("Done.")(ctx, body, sink)
	}
	l := w.start()
	say(t, l, "one")
	ended(t, l, 1)
	say(t, l, "look around")
	ended(t, l, 2)
	if summaries != 3 {
		t.Errorf("%d requests for summaries", summaries)
	}
	whole = true
	submit(t, l, drive.Compact{})
	until(t, l, "the checkpoint", func(e session.Entry) bool { return e.Type == "checkpoint.committed" })
	if summaries != 4 {
		t.Errorf("%d requests for summaries", summaries)
	}
	wantStory(t, l, `
request
ended completed
asked by trigger
started trigger one_shot of [{6 10}]
started script/m 1/1 
sent one_shot 1, limit 0
rejected length
sent one_shot 2, limit 0
rejected length
sent one_shot 3, limit 0
rejected length
spent script/m 1/1 length
failed exhausted, defers true
request
request
request
request
ended completed
asked by user
started manual one_shot of [{6 43}]
started script/m 1/1 
sent one_shot 1, limit 0
committed [{6 43}]`)
}

// A request that is too long is answered by a compaction, and sent again in the
// same turn; no call runs twice. // CMP-14
func TestTooLongRecovers(t *testing.T) {
	n := 0
	w := roomy(t, 0)
	w.rest = func(ctx context.Context, body string, sink providers.Sink) providers.Reply {
		switch {
		case strings.Contains(body, "Write a handoff"):
			return text(handoff("go on"))(ctx, body, sink)
		case len(body) > 9000:
			return providers.Reply{Class: providers.Overflow, Err: &providers.Error{Kind: providers.ContextLength, Sub: "input", Limit: 2000, Message: "too long"}}
		}
		n++
		switch n {
		case 1:
			return big("a long answer", 2500)(ctx, body, sink)
		case 2:
			return calls("ls", `{}`)(ctx, body, sink)
		}
		return text("Done.")(ctx, body, sink)
	}
	l := w.start()
	say(t, l, "one")
	ended(t, l, 1)
	say(t, l, "two")
	ended(t, l, 2)
	wantStory(t, l, `
request
ended completed
request
rejected overflow
asked by overflow
started overflow one_shot of [{6 10}]
started script/m 1/1 
sent one_shot 1, limit 0
committed [{6 10}]
request
request
ended completed`)
}

// What does not fit one request is mapped, reduced, audited and corrected.
// Each of these requests goes to the listed model. // MR-1, MR-2, MR-4, MR-7, MR-8, SUM-5
func TestMapReduce(t *testing.T) {
	w := roomy(t, 100_000)
	small := session.Model{Provider: "script", API: "openai-chat", Model: "small"}
	w.opts.Settings.Summarizers = []session.Model{small}
	w.opts.Summarizers = func() []session.Model { return []session.Model{small} }
	resolve := w.opts.Resolve
	w.opts.Resolve = func(ctx context.Context, m session.Model) (Target, error) {
		to, err := resolve(ctx, m)
		if m == small {
			to.Window = session.Capacity{N: 6000, Source: "setting"}
		}
		return to, err
	}
	audits, n := 0, 0
	w.rest = func(ctx context.Context, body string, sink providers.Sink) providers.Reply {
		switch {
		case strings.Contains(body, "You are given one part"):
			n++
			return text(fmt.Sprintf("notes %d", n))(ctx, body, sink)
		case strings.Contains(body, "list of corrections"):
			return text(handoff("corrected"))(ctx, body, sink)
		case strings.Contains(body, "You are given a handoff"):
			audits++
			if audits == 1 {
				return text("the second part is missing")(ctx, body, sink)
			}
			return text("PASS")(ctx, body, sink)
		case strings.Contains(body, "notes of consecutive parts"):
			return text(handoff("joined"))(ctx, body, sink)
		}
		return big("an answer", 1500)(ctx, body, sink)
	}
	l := w.start()
	for i := range 5 {
		say(t, l, fmt.Sprint("question ", i))
		ended(t, l, i+1)
	}
	submit(t, l, drive.Compact{})
	until(t, l, "the end", func(e session.Entry) bool { return e.Type == "checkpoint.committed" || e.Type == "compaction.failed" })
	var rest []string
	mapped := 0
	for _, line := range strings.Split(compactions(t, l), "\n") {
		switch {
		case strings.HasPrefix(line, "mapped"):
			mapped++
		case !strings.HasPrefix(line, "sent map/"): // they run side by side
			rest = append(rest, line)
		}
	}
	if got, want := strings.Join(rest, "\n"), `request
ended completed
request
ended completed
request
ended completed
request
ended completed
request
ended completed
asked by user
started manual one_shot of [{6 30}]
started script/small 1/1 
staging of 5
sent reduce/1/0 1, limit 0
reduced 1/0 [0 1 2 3 4] final true
sent audit/0/0 1, limit 0
audited [0 1 2 3 4] false
sent correct/1 1, limit 0
corrected 1
sent audit/1/0 1, limit 0
audited [0 1 2 3 4] true
committed [{6 30}]`; got != want || mapped != 5 {
		t.Errorf("%d maps\n%s\nwant\n%s", mapped, got, want)
	}
	for _, e := range must(l.Session.Entries(0, 1<<20)) {
		if sent, ok := e.Event.(session.RequestSent); ok && (sent.Compaction != 0) != (sent.Model == small) {
			t.Errorf("%s %s was asked of %s", sent.Purpose, sent.Unit, sent.Model)
		}
	}
	if got := shownView(t, l); !strings.HasPrefix(got, "checkpoint: ## Objective corrected") || strings.Contains(got, "question") {
		t.Error(got)
	}
}

// A revert ends a compaction that is under way: its request has an end in the
// log, and nothing of it lands on the state that was gone back to. // BRN-10, FIN-6
func TestRevertEndsACompaction(t *testing.T) {
	w := roomy(t, 100_000, big("One.", 400), big("Two.", 400), hang("half"))
	w.rest = text("ok")
	l := w.start()
	say(t, l, "one")
	ended(t, l, 1)
	say(t, l, "two")
	ended(t, l, 2)
	submit(t, l, drive.Compact{})
	until(t, l, "the request", func(e session.Entry) bool {
		sent, ok := e.Event.(session.RequestSent)
		return ok && sent.Compaction != 0
	})
	if _, err := l.Operate(t.Context(), drive.Revert{Branch: "main", Message: lastOf(userItems(l.Session, "main"))}); err != nil {
		t.Fatal(err)
	}
	say(t, l, "three")
	idle(t, l)
	story := compactions(t, l)
	if _, end, _ := strings.Cut(story, "sent one_shot 1, limit 0\n"); end != "rejected cancelled\nfailed cancelled, defers false\nrequest\nended completed" {
		t.Error(story)
	}
	if b := l.State().Branch; b.Compaction != nil || b.Asked != nil {
		t.Errorf("%+v", b.Compaction)
	}
}

// An item that was refused alone is not asked for again, though others beside
// it could be divided. // MR-3, MR-4
func TestSingletonIsNotAskedAgain(t *testing.T) {
	w := roomy(t, 100_000, big("the largest", 2800), big("another", 800), big("a third", 800))
	small := session.Model{Provider: "script", API: "openai-chat", Model: "small"}
	w.opts.Summarizers = func() []session.Model { return []session.Model{small} }
	resolve := w.opts.Resolve
	w.opts.Resolve = func(ctx context.Context, m session.Model) (Target, error) {
		to, err := resolve(ctx, m)
		if m == small {
			to.Window.N = 6000
		}
		return to, err
	}
	w.rest = func(ctx context.Context, body string, sink providers.Sink) providers.Reply {
		if len(body) > 7000 { // it holds less than it says
			return providers.Reply{Class: providers.Overflow, Err: &providers.Error{Kind: providers.ContextLength, Sub: "input", Message: "too long"}}
		}
		return text("notes")(ctx, body, sink)
	}
	l := w.start()
	for i := range 3 {
		say(t, l, fmt.Sprint("question ", i))
		ended(t, l, i+1)
	}
	submit(t, l, drive.Compact{})
	until(t, l, "the end", func(e session.Entry) bool { return e.Type == "checkpoint.committed" || e.Type == "compaction.failed" })
	story := compactions(t, l)
	alone := 0
	for _, body := range w.sent() {
		if strings.Contains(body, "You are given one part") && strings.Contains(body, "the largest") {
			alone++
		}
	}
	if alone != 1 || !strings.Contains(story, "failed item_too_large") || strings.Contains(story, "repartitioned") {
		t.Errorf("asked %d times\n%s", alone, story)
	}
}
