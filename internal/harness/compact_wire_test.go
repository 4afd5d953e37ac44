package harness

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"varve/internal/harness/drive"
	"varve/internal/providers"
	"varve/internal/providers/openaichat"
	"varve/internal/providers/scripted"
	"varve/internal/session"
)

// A wire is a world whose models are one server, reached over real HTTP by the
// real adapter. What an answer is hangs on what is asked for.
type wire struct {
	*world
	srv *scripted.Server

	mu     sync.Mutex
	asked  map[string]int // requests so far, by what they ask for
	says   map[string]func(n int, r scripted.Request) []scripted.Step
	models map[string]int // windows, by model
}

// stageOf is what a request asks for: the agent's next step, or a stage of a
// compaction.
func stageOf(r scripted.Request) string {
	last := r.LastUser()
	for _, s := range []struct{ prefix, stage string }{
		{"Write a handoff", "one_shot"},
		{"You are given one part", "map"},
		{"You are given notes of consecutive parts", "reduce"},
		{"You are given a handoff and a list", "correct"},
		{"You are given a handoff, and then notes", "audit"},
	} {
		if strings.HasPrefix(last, s.prefix) {
			return s.stage
		}
	}
	return "agent"
}

// newWire is a machine whose model m has a window. Where nothing else is said,
// the agent answers in a word and every stage of a compaction succeeds.
func newWire(t *testing.T, window int) *wire {
	t.Helper()
	w := &wire{
		world: newWorld(t), asked: map[string]int{}, models: map[string]int{"m": window},
		srv: scripted.New(scripted.Options{Prefix: scripted.PrefixIgnore}),
	}
	client := &http.Client{Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 8}}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		w.srv.Close()
		for _, v := range w.srv.Violations() {
			t.Errorf("request %d: %s: %s", v.Request, v.Rule, v.Text)
		}
	})
	w.says = map[string]func(int, scripted.Request) []scripted.Step{
		"agent":    func(int, scripted.Request) []scripted.Step { return whole("Done.") },
		"one_shot": func(n int, _ scripted.Request) []scripted.Step { return whole(handoff(fmt.Sprint("go on ", n))) },
		"map":      func(n int, _ scripted.Request) []scripted.Step { return whole(fmt.Sprint("notes ", n)) },
		"reduce":   func(int, scripted.Request) []scripted.Step { return whole(handoff("joined")) },
		"audit":    func(int, scripted.Request) []scripted.Step { return whole("PASS") },
		"correct":  func(int, scripted.Request) []scripted.Step { return whole(handoff("corrected")) },
	}
	w.srv.Handle(func(r scripted.Request) scripted.Reply {
		stage := stageOf(r)
		w.mu.Lock()
		w.asked[stage]++
		n, say := w.asked[stage], w.says[stage]
		w.mu.Unlock()
		return scripted.Reply{Steps: say(n, r)}
	})
	w.opts.Clock = hurry(100)
	w.opts.Settings.Compaction.Mode = mode("standalone")
	w.opts.Model = session.Model{Provider: "wire", API: openaichat.API, Model: "m"}
	w.opts.Resolve = func(_ context.Context, m session.Model) (Target, error) {
		window, ok := w.models[m.Model]
		if !ok {
			return Target{}, fmt.Errorf("%s is not set up: add a key for it", m)
		}
		to := Target{
			Adapter:  openaichat.Adapter{},
			Endpoint: providers.Endpoint{Provider: m.Provider, BaseURL: w.srv.URL() + "/v1", Key: "k", Window: window, Client: client},
		}
		if window > 0 {
			to.Window = session.Capacity{N: window, Source: "setting"}
		}
		return to, nil
	}
	return w
}

// whole is a whole answer.
func whole(s string) []scripted.Step {
	return []scripted.Step{scripted.Role(), scripted.Text(s), scripted.Finish("stop"), scripted.Done()}
}

// long is a whole answer of about so many tokens.
func long(tokens int) []scripted.Step { return whole(strings.Repeat("so it is. ", tokens*33/100)) }

// cutOff is an answer that ended for another reason than having ended.
func cutOff(finish string) []scripted.Step {
	return []scripted.Step{
		scripted.Role(), scripted.Text("## Objective\nhalf of the text"), scripted.Finish(finish),
		scripted.UsageStep(scripted.Usage{Prompt: 70, Output: 7}), scripted.Done(),
	}
}

// looks is a tool call.
func looks(n int) []scripted.Step {
	return []scripted.Step{scripted.Call(-1, fmt.Sprintf("call_%d", n), "ls", `{"path":"."}`, 1), scripted.Finish("tool_calls"), scripted.Done()}
}

// does says what a stage answers.
func (w *wire) does(stage string, f func(n int, r scripted.Request) []scripted.Step) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.says[stage] = f
}

// answers lets a stage give these answers, the last one for ever.
func (w *wire) answers(stage string, list ...[]scripted.Step) {
	first := w.count(stage)
	w.does(stage, func(n int, _ scripted.Request) []scripted.Step { return list[min(n-first, len(list))-1] })
}

func (w *wire) count(stage string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked[stage]
}

// triggers sets the threshold, in tokens.
func (w *wire) triggers(at int) { w.opts.Settings.Compaction.Threshold = &at }

// filled is a session whose only exchange has a long answer, of about so many
// tokens.
func (w *wire) filled(tokens int) *Local {
	w.t.Helper()
	w.answers("agent", long(tokens), whole("Done."))
	l := w.start()
	say(w.t, l, "Tell me about sediment.")
	ended(w.t, l, 1)
	return l
}

// compacted submits a compaction and waits for its end: nil where it was
// committed.
func compacted(t *testing.T, l *Local) *session.CompactionFailed {
	t.Helper()
	from := l.Session.Head()
	submit(t, l, drive.Compact{})
	return over(t, l, from)
}

// over waits for the end of a compaction behind from.
func over(t *testing.T, l *Local, from session.Seq) *session.CompactionFailed {
	t.Helper()
	var failed *session.CompactionFailed
	until(t, l, "the end of the compaction", func(e session.Entry) bool {
		switch ev := e.Event.(type) {
		case session.CompactionFailed:
			failed = &ev
		case session.CheckpointCommitted:
			failed = nil
		default:
			return false
		}
		return e.Seq > from
	})
	return failed
}

// toasts are the notices of a code, by their arguments.
func toasts(t *testing.T, l *Local, code string) (out []map[string]string) {
	t.Helper()
	for _, e := range must(l.Session.Entries(0, 1<<20)) {
		if ev, ok := e.Event.(session.ToastPosted); ok && ev.Code == code {
			out = append(out, ev.Args)
		}
	}
	return out
}

// usedBy is what a model was used for.
func usedBy(l *Local, model string) (u session.Usage) {
	for _, x := range l.State().Session.Usage {
		if x.Model.Model == model {
			return x.Sum
		}
	}
	return u
}

func compactionsSent(t *testing.T, l *Local) (out []session.RequestSent) {
	t.Helper()
	for _, r := range requests(t, l) {
		if r.Compaction != 0 {
			out = append(out, r)
		}
	}
	return out
}

// shapes is what the models were asked: each request as a numbered list of
// roles, with placeholders for long texts.
func (w *wire) shapes() string {
	var b strings.Builder
	for _, r := range w.srv.Requests() {
		if stageOf(r) == "map" {
			continue
		}
		limit := "no output limit"
		for _, key := range []string{"max_tokens", "max_completion_tokens"} {
			if v := r.Get(key); v.Exists() {
				limit = key + " " + v.Raw
			}
		}
		tools := "no tools"
		if v := r.Get("tools"); v.Exists() {
			tools = fmt.Sprintf("%d tools", len(v.Array()))
		}
		fmt.Fprintf(&b, "\n%d. %s asks %s: %s, %s\n", r.N, stageOf(r), r.Model(), tools, limit)
		for i, m := range r.Get("messages").Array() {
			fmt.Fprintf(&b, "   %d %s", i+1, m.Get("role").Str)
			if id := m.Get("tool_call_id").Str; id != "" {
				fmt.Fprintf(&b, " to %s", id)
			}
			content := m.Get("content")
			if s := content.Str; content.IsArray() {
				var all []string
				for _, p := range content.Array() {
					all = append(all, p.Get("text").Str)
				}
				fmt.Fprintf(&b, " %s", inBrief(strings.Join(all, "\n")))
			} else if s != "" {
				fmt.Fprintf(&b, " %s", inBrief(s))
			}
			if m.Get("reasoning_content").Str != "" {
				b.WriteString(" with thoughts,")
			}
			for _, c := range m.Get("tool_calls").Array() {
				fmt.Fprintf(&b, " calls %s as %s", c.Get("function.name").Str, c.Get("id").Str)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func inBrief(s string) string {
	switch {
	case strings.HasPrefix(s, "be good"):
		return "<instructions>"
	case strings.Contains(s, "nterrupted by the user"):
		return "<interrupted>"
	}
	for prefix, name := range map[string]string{
		"Write a handoff": "handoff", "You are given one part": "map", "You are given notes": "reduce",
		"You are given a handoff and a list": "correct", "You are given a handoff, and then": "audit",
	} {
		if strings.HasPrefix(s, prefix) {
			out := "<" + name + " prompt>"
			for _, m := range regexp.MustCompile(`(?m)^(?:\[\d+(?:\.\d+)? [a-z0-9',. ]+\]|=== .*)$`).FindAllString(s, -1) {
				out += " " + m
			}
			return out
		}
	}
	if first, _, more := strings.Cut(s, "\n"); more || len(s) > 60 {
		return fmt.Sprintf("<%s… %d bytes>", first[:min(len(first), 30)], len(s))
	}
	return fmt.Sprintf("%q", s)
}

// proves compares a sentence, the log's story and what was asked with a golden;
// UPDATE=1 writes it.
func (w *wire) proves(l *Local, name, sentence string) {
	w.t.Helper()
	var log []string
	for _, line := range strings.Split(compactions(w.t, l), "\n") {
		if !strings.HasPrefix(line, "sent map/") && !strings.HasPrefix(line, "mapped ") { // they run side by side
			log = append(log, line)
		}
	}
	w.golden(name, sentence+"\n\n"+strings.Join(log, "\n")+"\n"+w.shapes())
}

func (w *wire) golden(name, got string) {
	w.t.Helper()
	path := filepath.Join("testdata", "compact", name+".txt")
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			w.t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		w.t.Errorf("%s (UPDATE=1 to accept):\n%s", path, d)
	}
}
