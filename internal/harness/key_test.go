package harness

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"varve/internal/harness/drive"
	"varve/internal/providers"
	"varve/internal/session"
)

// keyed is an adapter whose server wants a key.
type keyed struct{ providers.Adapter }

func (k keyed) Send(ctx context.Context, to providers.Endpoint, body []byte, sink providers.Sink) providers.Reply {
	if to.Key != "k" {
		return providers.Reply{Class: providers.Failed, Err: &providers.Error{Kind: providers.Auth, Message: "no key"}}
	}
	return k.Adapter.Send(ctx, to, body, sink)
}

// locks lets a world's model be asked with a key alone.
func (w *world) locks(key func(ctx context.Context) (string, error)) {
	good := w.opts.Resolve
	w.opts.Resolve = func(ctx context.Context, m session.Model) (Target, error) {
		t, err := good(ctx, m)
		t.Adapter = keyed{t.Adapter}
		t.Key = func(ctx context.Context, to *providers.Endpoint) (err error) {
			to.Key, err = key(ctx)
			return err
		}
		return t, err
	}
}

// A key is had once for each request, whoever is asked, and by nothing that sends none:
// the command that prints it may ask a person. // PRV-7
func TestKeyIsHadOncePerRequest(t *testing.T) {
	w := roomy(t, 100_000, calls("bash", runs("once")), text("Done. "+strings.Repeat("It is. ", 300)), text(handoff("all")), text("Again."))
	var had atomic.Int64
	w.locks(func(context.Context) (string, error) {
		had.Add(1)
		return "k", nil
	})
	l := w.start()
	want := func(n int) {
		t.Helper()
		if got := int(had.Load()); got != n || len(w.sent()) != n {
			t.Errorf("the key was had %d times for %d requests, want %d\n%s", got, len(w.sent()), n, story(t, l))
		}
	}
	want(0)
	say(t, l, "first")
	ended(t, l, 1)
	want(2)
	submit(t, l, drive.Compact{})
	until(t, l, "a checkpoint", func(e session.Entry) bool { return e.Type == "checkpoint.committed" })
	want(3)
	l.Session.Report(t.Context(), l.State(), w.opts.Resolve, nil)
	want(3)
	say(t, l, "second")
	ended(t, l, 2)
	want(4)
}

// A key that can't be had ends the turn with the reason; nothing is sent. // PRV-6, PRV-7
func TestKeyThatCantBeHad(t *testing.T) {
	w := newWorld(t)
	w.locks(func(context.Context) (string, error) { return "", errors.New("the key command printed nothing") })
	l := w.start()
	say(t, l, "first")
	end, said := ended(t, l, 1), ""
	for _, e := range must(l.Session.Entries(0, 1<<20)) {
		said += strings.Join(bodies(l.Session, e), "\n")
	}
	if end.Status != "failed" || len(w.sent()) > 0 || !strings.Contains(said, "the key command printed nothing") {
		t.Errorf("%+v, %d requests\n%s", end, len(w.sent()), story(t, l))
	}
}

// Esc ends what prints a key, as it ends a request. // TUI-5, PRV-7
func TestEscEndsAKeyCommand(t *testing.T) {
	w := newWorld(t, text("Good."))
	began, waits := make(chan struct{}), true
	w.locks(func(ctx context.Context) (string, error) {
		if !waits {
			return "k", nil
		}
		close(began)
		<-ctx.Done()
		return "", ctx.Err()
	})
	l := w.start()
	say(t, l, "first")
	<-began
	waits = false
	submit(t, l, drive.Cancel{By: "user"})
	if end := ended(t, l, 1); end.Status != "interrupted" || len(w.sent()) > 0 || !strings.Contains(story(t, l), "reply.rejected cancelled") {
		t.Errorf("%+v, %d requests\n%s", end, len(w.sent()), story(t, l))
	}
	say(t, l, "second")
	if end := ended(t, l, 2); end.Status != "completed" {
		t.Errorf("%+v\n%s", end, story(t, l))
	}
}
