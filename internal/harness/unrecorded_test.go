package harness

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"varve/internal/harness/drive"
	"varve/internal/providers"
	"varve/internal/session"
)

// An answer that can't be recorded stays on the screen until it is, or the
// session is closed; then it is said that it is lost. // LOG-8, case SES-10
func TestUnrecordedAnswerStaysInSight(t *testing.T) {
	for name, room := range map[string]bool{"closed": false, "room again": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &recorder{}
				over := make(chan struct{})
				w := alone(t, func(_ context.Context, _ string, sink providers.Sink) providers.Reply {
					sink.Delta("text", "", []byte("the whole answer"))
					<-over
					return providers.Reply{Class: providers.Natural, Parts: []providers.Part{{Kind: session.AssistantItem, Bytes: []byte("the whole answer")}}}
				})
				w.opts.layer = r
				l := w.start()
				say(t, l, "first")
				synctest.Wait()
				r.full(true)
				close(over)
				synctest.Wait()
				if l.Fault() == nil {
					t.Fatal("the disk is not full")
				}
				if p, _ := l.Pulses().Read(); !slices.ContainsFunc(p, func(p Pulse) bool { return string(p.Text) == "the whole answer" }) {
					t.Errorf("the answer is gone from the screen: %+v", p)
				}
				if !room {
					if err := l.Close(); !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), "no space left") {
						t.Errorf("closing says %v", err)
					}
					return
				}
				r.full(false)
				until(t, l, "the end", func(e session.Entry) bool { return e.Type == "turn.ended" })
				if p, _ := l.Pulses().Read(); len(p) > 0 {
					t.Errorf("it stands there twice: %+v", p)
				}
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A command of the user's own that can't be recorded is not run: beside another
// window that works, on a full disk, in a session that may only be read. // LOG-5, LOG-8, TUI-4
func TestShellIsRecordedFirst(t *testing.T) {
	ran := func(w *world) bool {
		_, err := os.Stat(filepath.Join(w.opts.Workspace, "ran"))
		return err == nil
	}
	t.Run("another window", func(t *testing.T) {
		w := newWorld(t, hang("half"))
		l := w.start()
		say(t, l, "first")
		until(t, l, "the request", func(e session.Entry) bool { return e.Type == "request.sent" })
		other := w.resume(l.Session.Path())
		if err := other.Shell(t.Context(), "touch ran"); err == nil || ran(w) {
			t.Errorf("%v, ran=%v", err, ran(w))
		}
	})
	t.Run("full disk", func(t *testing.T) {
		r := &recorder{}
		w := newWorld(t)
		w.opts.layer = r
		l := w.start()
		if err := l.Shell(t.Context(), "true"); err != nil {
			t.Fatal(err)
		}
		r.full(true)
		if err := l.Shell(t.Context(), "touch ran"); err == nil || ran(w) {
			t.Errorf("%v, ran=%v", err, ran(w))
		}
		r.full(false)
		started, _ := events[session.ToastPosted](t, l)
		if len(started) != 1 || started[0].Code != "shell.started" || started[0].Args["command"] != "true" {
			t.Errorf("%+v", started)
		}
	})
}

// A setting that is wrong is seen before a turn that was left open is touched:
// it is open as before when the setting is right again. // LOG-14, case CFG-04
func TestWrongSettingLeavesTheTurn(t *testing.T) {
	w := newWorld(t, hang("half"))
	l := w.start()
	say(t, l, "first")
	until(t, l, "the request", func(e session.Entry) bool { return e.Type == "request.sent" })
	p := &script{rest: text("Done.")}
	c := crashed(t, w, l, p)
	wrong, right := errors.New("unknown provider"), c.opts.Resolve
	c.opts.Resolve = func(context.Context, session.Model) (Target, error) { return Target{}, wrong }
	was := story(t, c)
	for _, cmd := range []drive.Command{drive.Resume{}, drive.Say{Text: []byte("and this")}} {
		if err := c.Submit(t.Context(), cmd); !errors.Is(err, wrong) {
			t.Errorf("%T: %v", cmd, err)
		}
	}
	if got := story(t, c); got != was {
		t.Errorf("the session is\n%s\nwas\n%s", got, was)
	}
	c.opts.Resolve = right
	submit(t, c, drive.Resume{})
	until(t, c, "the end", func(e session.Entry) bool { return e.Type == "turn.ended" })
}

// A command of the user's own that has run, and can't be recorded, stays on the
// screen and is recorded when there is room: it did run. // LOG-8, TUI-4
func TestShellIsRecordedWhenThereIsRoom(t *testing.T) {
	for name, room := range map[string]bool{"room again": true, "closed": false} {
		t.Run(name, func(t *testing.T) {
			r := &recorder{}
			w := newWorld(t)
			w.opts.layer = r
			l := w.start()
			fifo := filepath.Join(w.opts.Workspace, "go")
			if err := syscall.Mkfifo(fifo, 0o600); err != nil {
				t.Skip("no fifo here:", err)
			}
			ran := make(chan error)
			go func() { ran <- l.Shell(t.Context(), "echo begun; cat go; echo done") }()
			begun := func(u Update) bool {
				return slices.ContainsFunc(u.Pulses, func(p Pulse) bool { return p.Kind == "shell" && strings.Contains(string(p.Text), "begun") })
			}
			followsOn(t, l, "its first word", l.Session.Head(), 0, begun)
			r.full(true)
			if err := os.WriteFile(fifo, []byte("x\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := <-ran; err == nil {
				t.Error("it is said to be recorded")
			}
			if p, _ := l.Pulses().Read(); len(p) != 1 || !strings.Contains(string(p[0].Text), "begun") {
				t.Errorf("it is gone from the screen: %+v", p)
			}
			if !room {
				if err := l.Close(); !errors.Is(err, ErrLost) {
					t.Errorf("closing says %v", err)
				}
				return
			}
			r.full(false)
			until(t, l, "its record", func(e session.Entry) bool { return e.Type == "shell.ran" })
			got, texts := events[session.ShellRan](t, l)
			if len(got) != 1 || !strings.Contains(texts[0][0], "begun\nx\ndone\n") {
				t.Errorf("%+v %q", got, texts)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			if p, _ := l.Pulses().Read(); len(p) > 0 {
				t.Errorf("it stands there twice: %+v", p)
			}
		})
	}
}

// A turn whose interrupt was recorded and whose end was not is closed by the act
// that would go on with it. // LOG-14, REL-1
func TestCutTurnIsClosedByAnAct(t *testing.T) {
	w := newWorld(t, hang("half"))
	l := w.start()
	say(t, l, "first")
	until(t, l, "the request", func(e session.Entry) bool { return e.Type == "request.sent" })
	turn := l.State().Branch.Turn.ID
	if err := l.Session.Record(t.Context(), "main", l.State().Branch.Head, []session.Fact{{Event: session.TurnCancelled{Turn: turn, By: "user"}}}); err != nil {
		t.Fatal(err)
	}
	p := &script{rest: text("Done.")}
	c := crashedAt(t, w, l, p, "turn.cancelled")
	submit(t, c, drive.Resume{})
	e := until(t, c, "the end", func(e session.Entry) bool { return e.Type == "turn.ended" })
	if e.Event.(session.TurnEnded).Status != "interrupted" || len(p.sent()) > 0 {
		t.Errorf("%+v, %d requests", e.Event, len(p.sent()))
	}
}
