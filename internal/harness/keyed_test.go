package harness

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"varve/internal/harness/drive"
	"varve/internal/providers"
	"varve/internal/session"
)

// keyed lets a world's endpoint have a key that is found so.
func (w *world) keyed(of func(context.Context) error) {
	resolve := w.opts.Resolve
	w.opts.Resolve = func(ctx context.Context, m session.Model) (Target, error) {
		to, err := resolve(ctx, m)
		to.Keys = func(ctx context.Context, e providers.Endpoint) (providers.Endpoint, error) { return e, of(ctx) }
		return to, err
	}
}

// A key is looked for once per attempt, a summary's too, and not to see how much
// fits. // PRV-7
func TestKeyIsAskedForOncePerAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		w := roomy(t, 100_000, big("some", 2800), big("more", 800), big("the rest", 800))
		w.keyed(func(context.Context) error { asked++; return nil })
		w.script.rest = text(handoff("all of it"))
		l := w.start()
		for i := range 3 {
			say(t, l, "question")
			ended(t, l, i+1)
		}
		if n := len(w.sent()); n < 3 || asked != n {
			t.Errorf("asked %d times for %d attempts", asked, n)
		}
		before := asked
		l.Session.Report(t.Context(), l.State(), w.opts.Resolve, nil)
		if asked != before {
			t.Error("a report asks for it")
		}
		submit(t, l, drive.Compact{})
		until(t, l, "a checkpoint", func(e session.Entry) bool { return e.Type == "checkpoint.committed" })
		if n := len(w.sent()); n <= before || asked != n {
			t.Errorf("asked %d times for %d attempts", asked, n)
		}
	})
}

// Where there is no key nothing is sent, and the turn says why; who interrupts does
// not wait for one that takes its time. // PRV-7, TUI-5
func TestKeyThatDoesNotCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		come := func(context.Context) error { return errors.New("the key command ended with exit code 3") }
		w := alone(t)
		w.keyed(func(ctx context.Context) error { return come(ctx) })
		l := w.start()
		say(t, l, "first")
		if end := ended(t, l, 1); end.Error == nil || end.Error.Kind != "settings" {
			t.Errorf("%+v", end)
		}
		e := until(t, l, "the reason", func(e session.Entry) bool { return e.Type == "reply.rejected" })
		if parts, err := e.Parts(); err != nil || len(parts) == 0 || !strings.Contains(string(parts[0].Bytes), "exit code 3") {
			t.Errorf("%v, %v", parts, err)
		}
		looking := make(chan struct{})
		come = func(ctx context.Context) error {
			close(looking)
			<-ctx.Done()
			return ctx.Err()
		}
		say(t, l, "second")
		<-looking
		submit(t, l, drive.Cancel{By: "user"})
		if end := ended(t, l, 2); end.Status != "interrupted" {
			t.Errorf("%+v", end)
		}
		if n := len(w.sent()); n != 0 {
			t.Errorf("%d requests", n)
		}
	})
}
