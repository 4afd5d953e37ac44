package harness

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"varve/internal/harness/drive"
	"varve/internal/harness/tools"
	"varve/internal/permit"
	"varve/internal/session"
)

// events are the events of one type, with their texts.
func events[T session.Event](t *testing.T, l *Local) (out []T, texts [][]string) {
	t.Helper()
	all, err := l.Session.Entries(0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		ev, ok := e.Event.(T)
		if !ok {
			continue
		}
		var words []string
		for b := range must(e.Parts()) {
			words = append(words, string(must(l.Session.Load(e.Seq, b))))
		}
		out, texts = append(out, ev), append(texts, words)
	}
	return out, texts
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// What a tool changed is in the log with the content before and after, and what
// a file held when it was last seen; the next program knows that too. BRN-8
func TestChangesAreRecorded(t *testing.T) {
	w := newWorld(t,
		calls("read", `{"file_path":"f"}`, "edit", `{"file_path":"f","old_string":"one","new_string":"two"}`), text("Done."),
		calls("edit", `{"file_path":"f","old_string":"two","new_string":"three"}`), text("Done."),
		calls("edit", `{"file_path":"f","old_string":"three","new_string":"four"}`), text("Done."),
	)
	file := filepath.Join(w.opts.Workspace, "f")
	if err := os.WriteFile(file, []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l := w.start()
	say(t, l, "first")
	ended(t, l, 1)
	l.Close()
	l = w.resume(l.Session.Path())
	say(t, l, "second")
	ended(t, l, 2)
	if err := os.WriteFile(file, []byte("three, by hand\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	say(t, l, "third")
	ended(t, l, 3)
	changed, texts := events[session.FilesChanged](t, l)
	if len(changed) != 2 || !slices.Equal(texts[0][1:], []string{"one\n", "two\n"}) || !slices.Equal(texts[1][1:], []string{"two\n", "three\n"}) {
		t.Errorf("%+v %q", changed, texts)
	}
	seen, _ := events[session.FileObserved](t, l)
	if len(seen) == 0 || seen[0].SHA256 == "" || seen[0].By != "tool" {
		t.Errorf("%+v", seen)
	}
	done, texts := events[session.ToolFinished](t, l)
	if n := len(done); n != 4 || done[2].IsError || !done[3].IsError || !strings.Contains(texts[3][0], "has changed since it was last read") {
		t.Errorf("%+v %q\n%s", done, texts, story(t, l))
	}
	if b := must(os.ReadFile(file)); string(b) != "three, by hand\n" {
		t.Errorf("the file holds %q", b)
	}
}

// What was shown is what is done: a folder that becomes another one while a
// person thinks about a call is left alone. // PERM-2, SEC-3
func TestApprovedIsWhatIsDone(t *testing.T) {
	for name, call := range map[string][]string{
		"write": {"write", `{"file_path":"link/new","content":"x"}`},
		"bash":  {"bash", `{"command":"echo x > new","workdir":"link"}`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, calls(call...), text("Done."))
			w.opts.Settings.PermissionMode = "ask"
			link := filepath.Join(w.opts.Workspace, "link")
			for _, dir := range []string{"a", "b"} {
				if err := os.Mkdir(filepath.Join(w.opts.Workspace, dir), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink("a", link); err != nil {
				t.Fatal(err)
			}
			l := w.start()
			say(t, l, "first")
			q := until(t, l, "a question", func(e session.Entry) bool { return e.Type == "approval.requested" })
			if err := os.Remove(link); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("b", link); err != nil {
				t.Fatal(err)
			}
			submit(t, l, drive.Answer{Question: q.Seq, Answer: "once"})
			ended(t, l, 1)
			if Exists(filepath.Join(w.opts.Workspace, "b", "new")) {
				t.Error("it was done somewhere else")
			}
			_, texts := events[session.ToolFinished](t, l)
			if s := texts[len(texts)-1][0]; !strings.Contains(s, "has changed since it was approved") {
				t.Errorf("%q", s)
			}
		})
	}
}

// What a bounded result left out can be read, from the log alone. // TOOL-2
func TestWholeOutput(t *testing.T) {
	w := newWorld(t, calls("bash", `{"command":"seq 1 20000"}`), text("Done."))
	l := w.start()
	say(t, l, "first")
	ended(t, l, 1)
	l.Close()
	done, _ := events[session.ToolFinished](t, reopened(t, w, l))
	w.script.replies = append(w.script.replies, calls("read", `{"file_path":"item:`+done[0].Call.String()+`","offset":10000,"limit":2}`), text("Done."))
	l = w.resume(l.Session.Path())
	say(t, l, "second")
	ended(t, l, 2)
	done, texts := events[session.ToolFinished](t, l)
	if len(done) != 2 || done[0].Full == nil || done[0].LeftOut.Lines == 0 || strings.Contains(texts[0][0], "\n10000\n") || done[1].IsError || !strings.Contains(texts[1][0], "10001") {
		t.Errorf("%+v %.200q", done, texts[len(texts)-1])
	}
}

// reopened is a closed session, opened to look at it.
func reopened(t *testing.T, w *world, l *Local) *Local {
	t.Helper()
	s := must(Open(l.Session.Path(), w.opts.blobs(), w.opts.Policy, w.opts.Clock))
	t.Cleanup(func() { s.Close() })
	return &Local{Session: s, Branch: l.Branch}
}

// A command that did not run to its end says so, and who ended it. // TOOL-3, TUI-5
func TestEndedCommand(t *testing.T) {
	w := newWorld(t, calls("bash", `{"command":"sleep 100","timeout_ms":50}`, "bash", `{"command":"echo up; exec sleep 100"}`))
	l := w.start()
	say(t, l, "first")
	follows(t, l, "the command's word", func(u Update) bool {
		return slices.ContainsFunc(u.Pulses, func(p Pulse) bool { return p.Kind == "tool" && string(p.Text) == "up\n" })
	})
	submit(t, l, drive.Cancel{By: "user"})
	ended(t, l, 1)
	var why []string
	cuts, _ := events[session.ToolInterrupted](t, l)
	for _, ev := range cuts {
		why = append(why, ev.Why)
	}
	if !slices.Equal(why, []string{"timeout", "user"}) {
		t.Errorf("%q\n%s", why, story(t, l))
	}
}

// A job's end is recorded when it comes, and a session that closes leaves no
// job behind. // RUN-2
func TestJobsEnd(t *testing.T) {
	w := newWorld(t, calls("bash", `{"command":"exit 3","background":true}`, "bash", `{"command":"exec sleep 100","background":true}`), text("Done."))
	l := w.start()
	say(t, l, "first")
	e := until(t, l, "the job's end", func(e session.Entry) bool { return e.Type == "job.ended" }).Event.(session.JobEnded)
	if e.Job != "job-1" || e.Why != "exited" || e.Exit == nil || *e.Exit != 3 {
		t.Errorf("%+v", e)
	}
	ended(t, l, 1)
	jobs, _ := events[session.JobStarted](t, l)
	l.Close()
	if err := syscall.Kill(jobs[1].PID, 0); err == nil {
		t.Errorf("pid %d lives on", jobs[1].PID)
	}
}

// A tool that broke on the way says so in the log, whatever it came to. // REL-7
func TestToolBroke(t *testing.T) {
	out, facts := (&Hands{}).output(tools.Result{Fault: "boom", Text: []byte("half")}, session.ItemID{Seq: 1, Part: 1}, "tool")
	if len(facts) != 1 || session.Name(facts[0].Event) != "fault.recorded" || string(facts[0].Body[0].Bytes) != "boom" || string(out.Text) != "half" {
		t.Errorf("%+v %+v", out, facts)
	}
}

// Tasks keep their numbers over a restart, and a plan that no result shows is
// written down for the model. // PLAN-2, PLAN-5, PLAN-8
func TestPlanOverRestart(t *testing.T) {
	w := newWorld(t,
		calls("todo", `{"items":[{"content":"look","status":"completed"},{"content":"fix","status":"pending"}]}`), text("Done."),
		calls("todo", `{"items":[{"content":"fix","status":"pending"},{"content":"test","status":"pending"}]}`), text("Done."), text("Done."),
	)
	l := w.start()
	say(t, l, "first")
	ended(t, l, 1)
	l.Close()
	l = w.resume(l.Session.Path())
	say(t, l, "second")
	ended(t, l, 2)
	var ids []string
	for _, it := range l.State().Branch.Plan.Items {
		ids = append(ids, it.ID)
	}
	if !slices.Equal(ids, []string{"task-2", "task-3"}) {
		t.Errorf("%q", ids)
	}
	foreign(t, l, session.Fact{
		Event: session.PlanChanged{By: "user", NextID: 5, Items: []session.PlanItem{{ID: "task-4", Status: "pending", ActiveForm: 1}}},
		Body:  []session.Part{{Bytes: []byte("think")}, {Bytes: []byte("thinking")}},
	})
	say(t, l, "third")
	ended(t, l, 3)
	if _, texts := events[session.PlanShown](t, l); len(texts) != 1 || texts[0][0] != planIntroduction+"task-4 [pending] think\n" {
		t.Errorf("%q", texts)
	}
}

// What was granted counts in the run that it was granted in; a mode that nobody
// knows is the careful one; a protected path is nobody's to write. // PERM-1, PERM-2, PERM-4
func TestJudge(t *testing.T) {
	run := tools.Plan{Tool: "bash", Command: "echo hi", Effects: []tools.Effect{tools.Execs}}
	change := tools.Plan{Tool: "write", Effects: []tools.Effect{tools.Writes}, Paths: []tools.Path{{Name: ".git/config", Real: "/w/.git/config", Inside: true, Protected: true}}}
	for name, c := range map[string]struct {
		mode, granted string // in which run
		plan          tools.Plan
		want          permit.Decision
	}{
		"asked":             {"ask", "", run, permit.Ask},
		"granted":           {"ask", "here", run, permit.Allow},
		"granted before":    {"ask", "before", run, permit.Ask},
		"an unknown mode":   {"later", "", run, permit.Ask},
		"full":              {"full", "", run, permit.Allow},
		"protected":         {"full", "", change, permit.Deny},
		"granted by no run": {"ask", "-", run, permit.Ask},
	} {
		var s session.State
		s.Session.Mode, s.Branch.Run = c.mode, "here"
		if c.granted == "-" {
			s.Branch.Run, c.granted = "", ""
		}
		s.Session.Grants = []session.Grant{{Rule: "bash(echo hi)", Run: c.granted}}
		judge := Judge(func() []permit.Rule { return nil }, "/w", false)
		if got := judge(s, c.plan); got.Verdict != string(c.want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
