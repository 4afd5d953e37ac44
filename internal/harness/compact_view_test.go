package harness

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"varve/internal/harness/drive"
	"varve/internal/providers/scripted"
	"varve/internal/session"
)

// agents are the requests of the agent itself.
func (w *wire) agents() (out []scripted.Request) {
	for _, r := range w.srv.Requests() {
		if stageOf(r) == "agent" {
			out = append(out, r)
		}
	}
	return out
}

func plans(n int, items string) []scripted.Step {
	return []scripted.Step{scripted.Call(-1, fmt.Sprintf("plan_%d", n), "todo", `{"items":[`+items+`]}`, 1), scripted.Finish("tool_calls"), scripted.Done()}
}

func task(words, status string) string {
	return fmt.Sprintf(`{"content":%q,"active_form":%q,"status":%q}`, words, words, status)
}

// Three checkpoints in a row, by hand, by the trigger and as a MapReduce, and
// another process: instructions and tools are the same bytes in each request,
// the open plan is shown behind each, and the last handoff stands for all.
// // CMP-5, CMP-8, MR-9, PLAN-8, case CMP-08, case CMP-25
func TestWireRepeatedCheckpoints(t *testing.T) {
	w := newWire(t, 60_000)
	w.triggers(12_000)
	w.answers("agent", plans(1, task("dig a trench", "in_progress")), long(2_000), long(14_000), whole("Done."))
	l := w.start()
	say(t, l, "Begin.")
	ended(t, l, 1)
	if f := compacted(t, l); f != nil {
		t.Fatalf("%+v", f)
	}
	say(t, l, "Go on.")
	ended(t, l, 2)
	say(t, l, "And on.") // over the trigger
	ended(t, l, 3)
	l = restarted(t, w, l)

	w.summarizers(8_000)
	l.Close()
	l = w.resume(l.Session.Path())
	w.does("agent", func(n int, _ scripted.Request) []scripted.Step { return numbered(n, 3_000) })
	for i := range 3 {
		say(t, l, "And on.")
		ended(t, l, 4+i)
	}
	if f := compacted(t, l); f != nil {
		t.Fatalf("%+v\n%s", f, staged(t, l))
	}
	w.answers("agent", whole("Done."))
	say(t, l, "And?")
	ended(t, l, 7)
	all := w.agents()
	first, last := all[0], all[len(all)-1]
	for _, r := range all {
		if r.Get("messages.0").Raw != first.Get("messages.0").Raw || r.Get("tools").Raw != first.Get("tools").Raw || r.Get("tools.0").Raw == "" {
			t.Errorf("request %d begins with other instructions or tools", r.N)
		}
		body := string(r.Body)
		if strings.Contains(body, "[checkpoint]") && !strings.Contains(body, "dig a trench") {
			t.Errorf("request %d shows no plan", r.N)
		}
		if n := strings.Count(body, "[checkpoint]"); n > 1 {
			t.Errorf("request %d has %d checkpoints", r.N, n)
		}
	}
	n := 0
	var old session.ItemID
	for _, e := range must(l.Session.Entries(0, 1<<20)) {
		if ev, ok := e.Event.(session.CheckpointCommitted); ok {
			if ev.Replaces != old {
				t.Errorf("checkpoint %d replaces %s, not %s", e.Seq, ev.Replaces, old)
			}
			n, old = n+1, e.Seq.Item()
		}
	}
	if !strings.Contains(string(last.Body), "joined") || n != 3 {
		t.Errorf("%d checkpoints\n%s", n, staged(t, l))
	}
	w.proves(l, "repeated", "Three checkpoints, the second by the trigger, the third as a MapReduce in another process.")
}

// The plan is state, not prose: it survives checkpoint and restart as it was, an
// empty one too, and goes back and forth with the history. // PLAN-5, BRN-7, case CMP-07
func TestWirePlanAcrossACheckpoint(t *testing.T) {
	w := newWire(t, 60_000)
	l := w.start()
	for i, p := range []string{task("plan A", "in_progress"), "", task("plan B", "pending"), "", " "} {
		steps := long(600)
		if p != "" {
			w.answers("agent", plans(i, strings.TrimSpace(p)), long(600))
		} else {
			w.answers("agent", steps)
		}
		say(t, l, fmt.Sprint("turn ", i))
		ended(t, l, i+1)
	}
	plan := func(l *Local) string {
		var out []string
		todo := must(l.Session.Todo(l.State()))
		for _, it := range todo.Items {
			out = append(out, it.Content)
		}
		return fmt.Sprint(l.State().Branch.Plan.At != 0, out)
	}
	if f := compacted(t, l); f != nil {
		t.Fatal(f)
	}
	l = restarted(t, w, l)
	if got := plan(l); got != "true []" {
		t.Error(got)
	}
	var third session.Seq
	for _, e := range must(l.Session.Entries(0, 1<<20)) {
		if _, ok := e.Event.(session.UserSaid); ok && string(must(l.Session.Load(e.Seq, 0))) == "turn 3" {
			third = e.Seq
		}
	}
	before := shownView(t, l)
	out, err := l.Operate(t.Context(), drive.Revert{Branch: "main", Message: third})
	if err != nil {
		t.Fatal(err)
	}
	if got, view := plan(l), shownView(t, l); got != "true [plan B]" || strings.Contains(view, "checkpoint") || !strings.Contains(view, "user: turn 2") {
		t.Errorf("%s\n%s", got, view)
	}
	w.answers("agent", whole("Done."))
	say(t, l, "instead")
	idle(t, l)
	if all := w.agents(); !strings.Contains(string(all[len(all)-1].Body), "plan B") {
		t.Error("the plan is not shown to the model")
	}
	if _, err := l.Operate(t.Context(), drive.RollBack{Branch: "main", Label: out.Label}); err != nil {
		t.Fatal(err)
	}
	if got, view := plan(l), shownView(t, l); got != "true []" || view != before {
		t.Errorf("%s\n%s\nwas\n%s", got, view, before)
	}
}

// Ten compactions, two failures, a revert past a checkpoint and its rollback: no
// earlier byte changes, no other file comes, every recorded item can be read.
// // CMP-12, LOG-3, BRN-7, case CMP-31
func TestWireRawHistory(t *testing.T) {
	w := newWire(t, 60_000)
	w.does("agent", func(n int, _ scripted.Request) []scripted.Step { return numbered(n, 600) })
	l := w.start()
	var before []byte
	var files []string
	step := func(what string) {
		t.Helper()
		now := must(os.ReadFile(l.Session.Path()))
		if !bytes.HasPrefix(now, before) || len(now) <= len(before) {
			t.Fatalf("%s changed what was written", what)
		}
		if got := must(entriesOf(l.Session.Path())); files != nil && !slices.Equal(got, files) {
			t.Fatalf("%s made another file: %v", what, got)
		}
		before, files = now, must(entriesOf(l.Session.Path()))
	}
	for i := range 12 {
		say(t, l, fmt.Sprint("question ", i))
		idle(t, l)
		if i == 4 || i == 8 {
			w.answers("one_shot", cutOff("length"))
		} else {
			w.answers("one_shot", whole(handoff(fmt.Sprint("number ", i))))
		}
		f := compacted(t, l)
		if (f != nil) != (i == 4 || i == 8) {
			t.Fatalf("%d: %+v", i, f)
		}
		step(fmt.Sprint("compaction ", i))
	}
	view := shownView(t, l)
	at := must(l.Session.Entries(0, 1<<20))
	var seventh session.Seq
	for _, e := range at {
		if _, ok := e.Event.(session.UserSaid); ok && string(must(l.Session.Load(e.Seq, 0))) == "question 7" {
			seventh = e.Seq
		}
	}
	out, err := l.Operate(t.Context(), drive.Revert{Branch: "main", Message: seventh})
	if err != nil {
		t.Fatal(err)
	}
	step("the revert")
	if got := shownView(t, l); !strings.HasPrefix(got, "checkpoint: ## Objective number 6") || strings.Contains(got, "question") {
		t.Error(got)
	}
	if _, err := l.Operate(t.Context(), drive.RollBack{Branch: "main", Label: out.Label}); err != nil {
		t.Fatal(err)
	}
	step("the rollback")
	if got := shownView(t, l); got != view {
		t.Errorf("%s\nwas\n%s", got, view)
	}
	for _, e := range at {
		parts, err := e.Parts()
		if err != nil {
			t.Fatal(err)
		}
		for b := range parts {
			if _, err := l.Session.Load(e.Seq, b); err != nil {
				t.Fatal(err)
			}
		}
	}
	intact(t, l.Session.Path())
	l = restarted(t, w, l)
	if got := shownView(t, l); got != view {
		t.Errorf("replayed: %s\nwas\n%s", got, view)
	}
	w.answers("agent", whole("Done."))
	say(t, l, "Go on.")
	idle(t, l)
	if all := w.agents(); strings.Count(string(all[len(all)-1].Body), "number 11") != 1 || strings.Contains(string(all[len(all)-1].Body), "answer 7") {
		t.Error("the next request does not stand on the newest checkpoint")
	}
}

// Copies of a plan that has changed since are covered with the rest, unread: the
// view shows the plan as it is, or none where it is done. // CMP-5, PLAN-3, PLAN-8
func TestWireStalePlans(t *testing.T) {
	w := newWire(t, 60_000)
	w.summarizers(60_000)
	l := w.start()
	shown := func() string {
		var out []string
		for it := range l.State().Branch.View.All {
			if it.Kind == session.PlanKind {
				out = append(out, string(must(l.Session.Text(it))))
			}
		}
		return strings.Join(out, "; ")
	}
	for i, status := range []string{"pending", "pending", "pending", "completed"} {
		w.answers("agent", plans(i, task(fmt.Sprint("plan ", i), status)), long(500))
		say(t, l, "Begin.")
		idle(t, l)
		if f := compacted(t, l); f != nil {
			t.Fatalf("%+v", f)
		}
		w.answers("agent", long(500))
		say(t, l, "Go on.")
		idle(t, l)
		want := fmt.Sprintf("plan %d", i)
		if got := shown(); strings.Count(got, "plan ") > 2 || status == "pending" && !strings.Contains(got, want) {
			t.Errorf("%d: %s", i, got)
		}
	}
	if f := compacted(t, l); f != nil {
		t.Fatalf("%+v", f)
	}
	if got := shown(); got != "" {
		t.Errorf("the plan is done, and this is shown: %s", got)
	}
	for _, r := range w.srv.Requests() {
		if strings.Contains(r.LastUser(), " plan]") {
			t.Errorf("request %d reads a copy of a plan", r.N)
		}
	}
	if c := l.State().Branch.Checkpoint; len(c.Ranges) != 1 {
		t.Errorf("%v", c.Ranges)
	}
}

// What the application knows stands behind the handoff, and is measured with it:
// what it stands for, files that have changed since they were read, tools that are
// gone. // CMP-6, CMP-7
func TestWireAnnotations(t *testing.T) {
	w := newWire(t, 60_000)
	for _, name := range []string{"same.txt", "other.txt"} {
		if err := os.WriteFile(w.opts.Workspace+"/"+name, []byte("silt\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	call := func(i int, name, args string) scripted.Step {
		return scripted.Call(i, fmt.Sprint("call_", i), name, args, 1)
	}
	w.answers("agent", []scripted.Step{
		call(0, "read", `{"path":"same.txt"}`), call(1, "read", `{"path":"other.txt"}`), call(2, "fathom", `{}`),
		scripted.Finish("tool_calls"), scripted.Done(),
	}, long(600))
	l := w.start()
	say(t, l, "Read.")
	ended(t, l, 1)
	if err := os.WriteFile(w.opts.Workspace+"/other.txt", []byte("sand\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if f := compacted(t, l); f != nil {
		t.Fatalf("%+v", f)
	}
	for it := range l.State().Branch.View.All {
		if it.Kind != session.CheckpointItem {
			continue
		}
		text := must(l.Session.Text(it))
		_, notes, _ := strings.Cut(string(text), "\n---\n")
		if want := "Added by the application, not by the summarizer:\n- This stands for items 6-"; !strings.HasPrefix(notes, want) {
			t.Error(notes)
		}
		if !strings.HasSuffix(notes, "\n- Stale: other.txt has changed since it was read. Read it again before relying on it.\n- The tool fathom is not available any more.") ||
			strings.Contains(notes, "same.txt") || it.Tokens != session.Estimate(len(text)) {
			t.Errorf("%+v\n%s", it.Tokens, notes)
		}
	}
	if ev, ok := must(l.Session.Entry(l.State().Branch.Checkpoint.At)).Event.(session.CheckpointCommitted); !ok || fmt.Sprint(ev.Stale, ev.ToolsGone) != "[other.txt] [fathom]" {
		t.Errorf("%+v", ev)
	}
}
