package harness

import (
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofrs/flock"

	"varve/internal/harness/drive"
	"varve/internal/jsonl"
	"varve/internal/session"
)

// Who takes hold of a branch decides from what is in the file then, not from
// what it had read before: a turn that another run left open can be gone on
// with at once. // LOG-6, LOG-14
func TestHoldReadsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := alone(t, text("Done."))
		w.script.rest = text("Done again.")
		a := w.start()
		say(t, a, "first")
		ended(t, a, 1)
		a.Close()
		b := w.resume(a.Session.Path())
		foreign(t, b, session.Fact{Event: session.RunStarted{Run: "dead"}})
		foreign(t, b, session.Fact{Event: session.UserSaid{Via: "prompt", Text: &session.Text{B: 0}}, Body: []session.Part{{Bytes: []byte("second")}}})
		if b.State().Branch.Turn != nil {
			t.Fatal("it has read on by itself")
		}
		submit(t, b, drive.Resume{})
		if end := ended(t, b, 2); end.Status != "completed" {
			t.Errorf("%+v\n%s", end, story(t, b))
		}
	})
}

// Where the file can't be read the branch is held for nothing. // LOG-14
func TestUnreadHoldsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := alone(t, text("Done."))
		a := w.start()
		say(t, a, "first")
		ended(t, a, 1)
		a.Close()
		b := w.resume(a.Session.Path())
		if err := os.Truncate(b.Session.Path(), 100); err != nil {
			t.Fatal(err)
		}
		if err := b.Submit(t.Context(), drive.Say{Text: []byte("second")}); !errors.Is(err, jsonl.ErrChanged) {
			t.Errorf("%v", err)
		}
		if Held(w.opts.StateDir, b.ID(), b.Branch) {
			t.Error("the lock is held for nothing")
		}
	})
}

// Asking whether a branch is held takes it from nobody, and two who ask are not
// taken for an owner by each other. Who wants it waits for one who only asks.
// LOG-14
func TestAskingHoldsNothing(t *testing.T) {
	dir := t.TempDir()
	h, err := take(t.Context(), dir, "s", "main")
	if err != nil {
		t.Fatal(err)
	}
	if !Held(dir, "s", "main") {
		t.Error("it is held, and nobody says so")
	}
	h.release()
	asks := flock.New(lockPath(dir, "s", "main"))
	if ok, err := asks.TryRLock(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if Held(dir, "s", "main") {
		t.Error("who asks is taken for the owner")
	}
	taken := make(chan error)
	go func() {
		h, err := take(t.Context(), dir, "s", "main")
		h.release()
		taken <- err
	}()
	time.AfterFunc(20*time.Millisecond, func() { asks.Close() })
	if err := <-taken; err != nil {
		t.Errorf("it was not waited for: %v", err)
	}
	if Held(dir, "s", "main") || Held(dir, "another", "main") {
		t.Error("it is free, and nobody says so")
	}
}
