package harness

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
