package harness

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"varve/internal/harness/drive"
	"varve/internal/providers/scripted"
	"varve/internal/session"
)

// refusedWith is an answer with an HTTP status and a body.
func refusedWith(status int, body string, headers ...string) []scripted.Step {
	steps := []scripted.Step{scripted.Status(status)}
	for i := 0; i < len(headers); i += 2 {
		steps = append(steps, scripted.Header(headers[i], headers[i+1]))
	}
	return append(steps, scripted.Body([]byte(body)))
}

// afterText is an answer that goes wrong once there was some text and usage.
func afterText(steps ...scripted.Step) []scripted.Step {
	return append([]scripted.Step{scripted.Role(), scripted.Text("## Objective\n", "half"), scripted.UsageStep(scripted.Usage{Prompt: 70, Output: 7})}, steps...)
}

const loginPage = "<!doctype html><html><head><title>Sign in</title></head><body><form>password</form></body></html>"

// What did not end as it should is no summary, whatever it says: it is asked for
// again, in bounds, or not at all where that can't help. The view stays as it
// was, what it cost is counted, and the next answer is asked for as ever.
// FIN-1, FIN-2, FIN-3, SUM-8, S03, S04, S14, case CMP-02, case CMP-22
func TestWireNoEvidence(t *testing.T) {
	for name, c := range map[string]struct {
		steps []scripted.Step
		want  string // attempts, of which class; what is said of it
		used  int    // tokens of output, of all attempts
	}{
		"length":           {cutOff("length"), "3 length, length", 21},
		"a filter":         {cutOff("content_filter"), "3 refusal, refusal: the provider's filter stopped the reply (content_filter)", 21},
		"a refusal":        {[]scripted.Step{scripted.Role(), scripted.Refusal("I'd rather not."), scripted.Finish("stop"), scripted.Done()}, "3 refusal, refusal: I'd rather not.", 0},
		"an unknown word":  {cutOff("banana"), "3 unknown, unknown", 21},
		"no finish":        {afterText(scripted.Done()), "3 missing, missing: the stream ended before the reply did", 21},
		"a clean cut":      {afterText(), "3 missing, missing: the stream ended before the reply did", 21},
		"a dirty cut":      {afterText(scripted.CloseDirty()), "3 missing, missing: the stream ended before the reply did: unexpected EOF", 21},
		"a reset":          {append(afterText(), scripted.CloseReset()), "3 missing, missing: the stream ended before the reply did: connection reset", -1},
		"nothing":          {[]scripted.Step{scripted.Role(), scripted.Finish("stop"), scripted.UsageStep(scripted.Usage{Prompt: 70, Output: 0}), scripted.Done()}, "3 unknown, unknown: the reply has neither text nor a tool call", 0},
		"blanks":           {whole(" \n\t\n "), "3 unknown, unknown: the reply has neither text nor a tool call", 0},
		"thoughts alone":   {[]scripted.Step{scripted.Reasoning("", "hm, ", "hm"), scripted.Finish("stop"), scripted.Done()}, "3 unknown, unknown: the reply has neither text nor a tool call", 0},
		"a call":           {afterText(append([]scripted.Step(nil), looks(1)...)...), "3 tool_call, tool_call", 21},
		"a call, and stop": {afterText(scripted.Call(-1, "c", "ls", `{"path":"."}`, 1), scripted.Finish("stop"), scripted.Done()), "3 tool_call, tool_call", 21},
		"an error inside":  {afterText(scripted.Chunk(`{"error":{"message":"engine died","type":"server_error","code":500}}`)), "3 error, server: engine died", 21},
		"a broken gateway": {refusedWith(504, loginPage, "Content-Type", "text/html"), "3 error, gateway: HOST answered with a web page (status 504)", 0},
		"a login page":     {refusedWith(200, loginPage, "Content-Type", "text/html"), "3 error, gateway: HOST answered with a web page (status 200)", 0},
		"a wrong request":  {refusedWith(400, `{"error":{"message":"max_tokens is too large: 70000","type":"invalid_request_error"}}`), "1 error, bad_request: max_tokens is too large: 70000", 0},
		"no key":           {refusedWith(401, `{"error":{"message":"wrong key","type":"auth"}}`), "1 error, auth: wrong key", 0},
		"too many":         {refusedWith(429, `{"error":{"message":"slow down","type":"requests","code":"rate_limit_exceeded"}}`, "Retry-After", "2"), "3 error, rate_limit: slow down", 0},
		"a long wait":      {refusedWith(429, `{"error":{"message":"slow down","type":"requests","code":"rate_limit_exceeded"}}`, "Retry-After", "3600"), "1 error, waits_too_long: slow down", 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWire(t, 60_000)
			w.answers("one_shot", c.steps)
			l := w.filled(2_000)
			before, occupied := shownView(t, l), l.State().Occupancy()
			f := compacted(t, l)
			var classes []string
			one := ""
			for _, e := range must(l.Session.Entries(0, 1<<20)) {
				if ev, ok := e.Event.(session.ReplyRejected); ok {
					classes, one = append(classes, ev.Class), ev.Class
				}
			}
			got := ""
			if n := toasts(t, l, "compaction.failed"); f != nil && f.Kind == "exhausted" && len(n) == 1 {
				host := strings.TrimPrefix(w.srv.URL(), "http://")
				said := strings.ReplaceAll(strings.TrimPrefix(n[0]["detail"], "wire/m: "), host, "HOST")
				got = fmt.Sprintf("%d %s, %s", len(classes), one, said)
			}
			if name == "a reset" { // the system says more of it
				got, _, _ = strings.Cut(got, ": read tcp")
				got += ": connection reset"
			}
			if got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
			if sent := compactionsSent(t, l); len(sent) != len(classes) || len(sent) != w.count("one_shot") {
				t.Errorf("%d recorded, %d rejected, %d sent", len(sent), len(classes), w.count("one_shot"))
			}
			if u := usedBy(l, "m"); c.used >= 0 && u.Output != c.used {
				t.Errorf("usage %+v, want %d", u, c.used)
			}
			if now := l.State().Occupancy(); now != occupied || shownView(t, l) != before {
				t.Errorf("the view holds %+v, was %+v\n%s", now, occupied, shownView(t, l))
			}
			for _, e := range must(l.Session.Entries(0, 1<<20)) {
				if e.Type == "tool.started" || e.Type == "call.judged" {
					t.Error("a call of a summary was run")
				}
			}
			say(t, l, "And now?")
			if end := ended(t, l, 2); end.Status != "completed" {
				t.Errorf("%+v", end)
			}
		})
	}
}

// A gateway's error and a login page are attempts; the one that ends as it
// should is the summary, and nothing else is. // FIN-3, FIN-4, case CMP-05, case CMP-22
func TestWireThirdAttempt(t *testing.T) {
	for name, bad := range map[string][2][]scripted.Step{
		"pages":   {refusedWith(504, loginPage, "Content-Type", "text/html"), refusedWith(200, loginPage, "Content-Type", "text/html")},
		"lengths": {cutOff("length"), cutOff("length")},
		"cuts":    {afterText(scripted.CloseDirty()), append(afterText(), scripted.CloseReset())},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWire(t, 60_000)
			w.answers("one_shot", bad[0], bad[1], whole(handoff("third")))
			l := w.filled(2_000)
			if f := compacted(t, l); f != nil || w.count("one_shot") != 3 {
				t.Fatalf("%+v after %d\n%s", f, w.count("one_shot"), compactions(t, l))
			}
			var text string
			for it := range l.State().Branch.View.All {
				if it.Kind == session.CheckpointItem {
					text = string(must(l.Session.Text(it)))
				}
			}
			if !strings.Contains(text, "\n\n## Objective\nthird\n") || strings.Count(text, "## Objective") != 1 || strings.Contains(text, "half") {
				t.Error(text)
			}
			all := w.srv.Requests()
			for _, r := range all[len(all)-2:] {
				if string(r.Body) != string(all[len(all)-3].Body) {
					t.Error("the attempts differ")
				}
			}
		})
	}
}

// Waits double from a quarter of a second, and a provider's own wait is kept to.
// // FIN-3
func TestWireWaits(t *testing.T) {
	w := newWire(t, 60_000)
	w.answers("one_shot", cutOff("length"), refusedWith(429, `{"error":{"message":"slow down","type":"requests","code":"rate_limit_exceeded"}}`, "Retry-After", "7"), whole(handoff("third")))
	l := w.filled(2_000)
	if f := compacted(t, l); f != nil {
		t.Fatal(f)
	}
	var gaps []string
	var rejected session.Entry
	for _, e := range must(l.Session.Entries(0, 1<<20)) {
		switch ev := e.Event.(type) {
		case session.ReplyRejected:
			rejected = e
		case session.RequestSent:
			if ev.Compaction != 0 && ev.Attempt > 1 {
				wait, least := e.At.Sub(rejected.At).Milliseconds(), int64(250)
				if ev.Attempt == 3 {
					least = 7000
				}
				if wait < least-5 {
					gaps = append(gaps, fmt.Sprintf("attempt %d after %d ms", ev.Attempt, wait))
				}
			}
		}
	}
	if len(gaps) > 0 {
		t.Error(gaps)
	}
}

// What was rejected is counted at the model that said it, never at the agent's.
// // FIN-2, SUM-8, case CMP-02
func TestWireUsageOfTheSummarizer(t *testing.T) {
	w := newWire(t, 60_000)
	w.models["s"] = 60_000
	s := session.Model{Provider: "wire", API: "openai-chat", Model: "s"}
	w.opts.Summarizers = func() []session.Model { return []session.Model{s} }
	used := append(whole(handoff("go on"))[:3:3], scripted.UsageStep(scripted.Usage{Prompt: 700, Output: 90}), scripted.Done())
	w.answers("one_shot", cutOff("length"), used)
	l := w.filled(2_000)
	if f := compacted(t, l); f != nil {
		t.Fatal(f)
	}
	if a, b := usedBy(l, "m"), usedBy(l, "s"); a.Output != 0 || b.Input != 770 || b.Output != 97 {
		t.Errorf("%+v %+v", a, b)
	}
	w.proves(l, "summarizer", "SUM-10: a summarizer of its own gets a transcript, without tools.")
}

// A server that takes no empty list of tools and no tool message without its
// call takes what summarizers are asked: with the agent's tools, or as a
// transcript. // S11, case CMP-10, case CMP-20
func TestWireStrictServer(t *testing.T) {
	for name, own := range map[string]bool{"own": true, "another": false} {
		t.Run(name, func(t *testing.T) {
			w := newWire(t, 60_000)
			w.models["s"] = 60_000
			if !own {
				s := session.Model{Provider: "wire", API: "openai-chat", Model: "s"}
				w.opts.Summarizers = func() []session.Model { return []session.Model{s} }
			}
			two := []scripted.Step{
				scripted.Call(0, "call_a", "ls", `{"path":"."}`, 1), scripted.Call(1, "call_b", "bash", `{"command":"sleep 60"}`, 1),
				scripted.Finish("tool_calls"), scripted.Done(),
			}
			two = append([]scripted.Step{scripted.Text(strings.Repeat("so it is. ", 300))}, two...)
			w.answers("agent", two, whole("Done."))
			l := w.start()
			say(t, l, "Look, and wait.")
			until(t, l, "the command", func(e session.Entry) bool {
				ev, ok := e.Event.(session.ToolStarted)
				return ok && ev.Call.Part == 3
			})
			submit(t, l, drive.Cancel{By: "user"})
			ended(t, l, 1)
			if f := compacted(t, l); f != nil {
				t.Fatalf("%+v", f)
			}
			say(t, l, "Go on.")
			if end := ended(t, l, 2); end.Status != "completed" {
				t.Errorf("%+v", end)
			}
			for _, r := range w.srv.Requests() {
				if r.Status != http.StatusOK || r.Get("tools").Raw == "[]" || r.Get("tool_choice").Exists() && !r.Get("tools").Exists() {
					t.Errorf("request %d: status %d", r.N, r.Status)
				}
			}
			w.proves(l, "interrupted-"+name, "Calls of an interrupted turn are summarized, each with its result.")
		})
	}
}
