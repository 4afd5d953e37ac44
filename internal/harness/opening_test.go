package harness

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"varve/internal/content"
	"varve/internal/jsonl"
	"varve/internal/session"
)

// What a run says of itself before its first act: settings and model where they
// are news, and nothing twice. // LOG-9, TOOL-4
func TestOpening(t *testing.T) {
	flag := session.Model{Provider: "script", API: "openai-chat", Model: "by flag"}
	for name, c := range map[string]struct {
		change func(*Options, *Local)
		want   string
	}{
		"nothing is new":     {func(*Options, *Local) {}, "run.started user.said"},
		"a setting is":       {func(o *Options, _ *Local) { o.Settings.PermissionMode = "edit" }, "session.configured run.started user.said"},
		"a model by default": {func(o *Options, _ *Local) { o.Model = flag }, "run.started user.said"},
		"a model by flag":    {func(o *Options, _ *Local) { o.Model, o.ModelBy = flag, "flag" }, "model.chosen run.started user.said"},
		"the same by flag":   {func(o *Options, _ *Local) { o.ModelBy = "flag" }, "run.started user.said"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := alone(t, text("Done."), text("Done."))
				w.opts.Settings.DisabledTools = []string{"bash"}
				l := w.start()
				say(t, l, "first")
				ended(t, l, 1)
				if _, texts := events[session.ToolsDefined](t, l); len(texts) != 1 || strings.Contains(texts[0][0]+texts[0][1], `"bash"`) || !strings.Contains(texts[0][1], `"ls"`) {
					t.Errorf("%q", texts)
				}
				l.Close()
				c.change(&w.opts, l)
				l = w.resume(l.Session.Path())
				head := l.Session.Head()
				say(t, l, "second")
				ended(t, l, 2)
				var types []string
				for _, e := range must(l.Session.Entries(head, 3)) {
					types = append(types, e.Type)
				}
				if got := strings.Join(types, " "); !strings.HasPrefix(got+" ", c.want+" ") {
					t.Errorf("%s, not %s", got, c.want)
				}
			})
		})
	}
}

// A model that was chosen before the first message is the session's. // PRV-7
func TestChosenBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := alone(t, text("Done."))
		l := w.start()
		m := session.Model{Provider: "script", API: "openai-chat", Model: "chosen"}
		l.Choose(m)
		say(t, l, "first")
		ended(t, l, 1)
		if got := l.State().Branch.Model; got != m {
			t.Errorf("%+v", got)
		}
	})
}

// A command of the user's own is recorded with what it printed, also when it was
// stopped; what it printed on the way is gone from the screen then. // TUI-4
func TestShell(t *testing.T) {
	w := newWorld(t)
	l := w.start()
	if err := l.Shell(t.Context(), "echo hi; exit 3"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stopped := make(chan error)
	go func() { stopped <- l.Shell(ctx, "echo up; exec sleep 100") }()
	followsOn(t, l, "its word", l.Session.Head(), 0, func(u Update) bool {
		return slices.ContainsFunc(u.Pulses, func(p Pulse) bool { return p.Kind == "shell" && string(p.Text) == "up\n" })
	})
	cancel()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	for range 10 { // whoever is faster, the stop or the line
		if err := l.Shell(ctx, "true"); err != nil {
			t.Error(err)
		}
	}
	ran, texts := events[session.ShellRan](t, l)
	if len(ran) != 12 || ran[0].Exit != 3 || ran[1].Exit == 0 || !strings.HasPrefix(texts[0][0], "$ echo hi; exit 3\nhi\n") || !strings.Contains(texts[1][0], "\nup\n") {
		t.Errorf("%+v %q", ran, texts)
	}
	if p, _ := l.Pulses().Read(); len(p) > 0 {
		t.Errorf("%+v", p)
	}
}

// A session of a newer format is refused with words that say so, and is not
// written to. // LOG-2
func TestNewerFormat(t *testing.T) {
	write := func(format int) string {
		path := PathFor(t.TempDir(), "/w", "s")
		s := New(path, content.Open(t.TempDir()), jsonl.Turn, System{})
		f := session.Fact{Event: session.SessionCreated{Format: format, ID: "s"}}
		if err := s.Record(t.Context(), session.MainBranch, 0, []session.Fact{f}); err != nil {
			t.Fatal(err)
		}
		s.Close()
		return path
	}
	w := newWorld(t)
	path := write(session.Format + 1)
	before := must(os.ReadFile(path))
	if l, err := Resume(t.Context(), w.opts, path); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "update the program") {
		t.Errorf("%v %v", l, err)
	}
	if after := must(os.ReadFile(path)); string(after) != string(before) {
		t.Error("it was written to")
	}
	files := len(must(os.ReadDir("/dev/fd")))
	for range 20 {
		_, _ = Resume(t.Context(), w.opts, path)
	}
	if n := len(must(os.ReadDir("/dev/fd"))) - files; n > 5 {
		t.Errorf("%d files were left open by 20 refusals", n)
	}
	l, err := Resume(t.Context(), w.opts, write(session.Format))
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}

// A torn line that an append has named is no damage to who opens the session
// next. // LOG-7
func TestRepairedOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := alone(t)
		w.script.rest = text("Done.")
		l := w.start()
		say(t, l, "first")
		ended(t, l, 1)
		l.Close()
		f := must(os.OpenFile(l.Session.Path(), os.O_APPEND|os.O_WRONLY, 0))
		must(f.WriteString(`{"seq":`))
		f.Close()
		for i := range 2 {
			l = w.resume(l.Session.Path())
			if d := l.Session.Damage(); len(d) > i {
				t.Errorf("%d: %+v", i, d)
			}
			say(t, l, "again")
			if end := ended(t, l, i+2); end.Status != "completed" {
				t.Errorf("%d: %+v", i, end)
			}
			l.Close()
		}
		if n := strings.Count(story(t, reopened(t, w, l)), "log.repaired"); n != 1 {
			t.Errorf("it was repaired %d times", n)
		}
		intact(t, l.Session.Path())
	})
}

// What another process put into the queue is taken by who holds the branch, as
// soon as it is in the file. // LOG-6, CTX-3
func TestForeignMessage(t *testing.T) {
	w := newWorld(t, text("Done."), text("Done again."))
	l := w.start()
	say(t, l, "first")
	ended(t, l, 1)
	foreign(t, l, session.Fact{Event: session.InputQueued{Kind: "queue"}, Body: []session.Part{{Bytes: []byte("from elsewhere")}}})
	if end := ended(t, l, 2); end.Status != "completed" || !strings.Contains(w.sent()[1], "user from elsewhere") {
		t.Errorf("%+v\n%q", end, w.sent())
	}
}

// A look at a session that is ended reads no further than the line it is at.
func TestOpenWhileEnds(t *testing.T) { // BRW-2
	synctest.Test(t, func(t *testing.T) {
		w := alone(t, text("Done."))
		l := w.start()
		say(t, l, "first")
		ended(t, l, 1)
		path := l.Session.Path()
		l.Close()
		ctx, stop := context.WithCancel(t.Context())
		s, err := OpenWhile(ctx, path, content.Open(t.TempDir()), jsonl.Never, System{})
		if err != nil || s.Head() == 0 {
			t.Fatal(err)
		}
		s.Close()
		stop()
		if s, err := OpenWhile(ctx, path, content.Open(t.TempDir()), jsonl.Never, System{}); !errors.Is(err, context.Canceled) {
			t.Errorf("%v %v", s, err)
		}
	})
}
