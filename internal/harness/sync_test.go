package harness

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"varve/internal/content"
	"varve/internal/jsonl"
	"varve/internal/session"
)

// The disk comes before the effect at a request, a tool that changes things, a
// checkpoint, each branch operation and a turn's end; a read waits for no disk.
// LOG-5
func TestWhatIsSynced(t *testing.T) {
	call := session.ItemID{Seq: 1, Part: 1}
	for _, c := range []struct {
		ev    session.Event
		waits bool
	}{
		{session.RequestSent{Turn: 1}, true},
		{session.ToolStarted{Call: call, Effects: []string{"read", "exec"}}, true},
		{session.ToolStarted{Call: call, Effects: []string{"read"}}, false},
		{session.CheckpointCommitted{Kind: "text"}, true},
		{session.BranchCreated{Name: "b"}, true},
		{session.BranchReverted{Label: "v1"}, true},
		{session.BranchRolledBack{Label: "v1"}, true},
		{session.BranchDeleted{}, true},
		{session.TurnEnded{Turn: 1}, true},
		{session.ToastPosted{Code: "x", Level: "info"}, false},
	} {
		r := &recorder{}
		s := newOn(r, PathFor(t.TempDir(), "/w", "s"), content.Open(t.TempDir()), jsonl.Turn, System{})
		first := []session.Fact{{Event: session.SessionCreated{Format: session.Format, ID: "s"}}}
		if err := s.Record(t.Context(), session.MainBranch, 0, first); err != nil {
			t.Fatal(err)
		}
		r.set(func(r *recorder) { r.notes = nil })
		f := session.Fact{Event: c.ev, Body: []session.Part{{Bytes: []byte("{}")}}}
		if err := s.Record(t.Context(), session.MainBranch, s.State(session.MainBranch).Branch.Head, []session.Fact{f}); err != nil {
			t.Fatalf("%T: %v", c.ev, err)
		}
		want := []string{"write " + session.Name(c.ev)}
		if c.waits {
			want = append(want, "sync")
		}
		if did := r.did(); !slices.Equal(did, want) {
			t.Errorf("%+v: %q, not %q", c.ev, did, want)
		}
		s.Close()
	}
}

// A session that was closed is on the disk, its last line too. // LOG-5
func TestClosedIsOnDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		w := alone(t, text("Done."))
		w.opts.layer = r
		l := w.start()
		say(t, l, "first")
		ended(t, l, 1)
		l.Close()
		if did := r.did(); len(did) < 2 || !slices.Equal(did[len(did)-2:], []string{"write run.ended", "sync"}) {
			t.Errorf("%q", did)
		}
	})
}

// A content store that is full stops the line that would name the content: no
// line names what is not there, and none holds a large text itself. // LOG-5, CAS-2
func TestFullStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		store := &fullStore{blobsOn: blobsOn{recorder: r}}
		w := alone(t, text(strings.Repeat("long ", 20000)))
		w.opts.store = store
		l := w.start()
		store.set(func(*recorder) { store.err = syscall.ENOSPC })
		say(t, l, "first")
		if err := faulty(t, l, true); !errors.Is(err, syscall.ENOSPC) {
			t.Error(err)
		}
		if s := story(t, l); strings.Contains(s, "reply.") {
			t.Fatalf("%s", s)
		}
		store.set(func(*recorder) { store.err = nil })
		if end := ended(t, l, 1); end.Status != "completed" {
			t.Errorf("%+v", end)
		}
		e := until(t, l, "the reply", func(e session.Entry) bool { return e.Type == "reply.completed" })
		if parts, err := e.Parts(); err != nil || len(parts) != 1 || parts[0].Ref == nil {
			t.Errorf("%v %+v", err, parts)
		}
		if n := len(w.sent()); n != 1 {
			t.Errorf("%d requests", n)
		}
	})
}

// A fullStore is a content store that has no room.
type fullStore struct {
	blobsOn
	err error
}

func (f *fullStore) Write(file *os.File, p []byte) (int, error) {
	f.recorder.mu.Lock()
	err := f.err
	f.recorder.mu.Unlock()
	if err != nil {
		return 0, err
	}
	return f.blobsOn.Write(file, p)
}

// Facts come first on a line and stay small, however many calls a reply makes:
// a scanner finds the body within 4 KiB, and each request can still be made again.
// LOG-2, LOG-12, PFX-3
func TestFactsStaySmall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		for range 100 {
			asked = append(asked, "ls", `{"path":"."}`)
		}
		w := alone(t, calls(asked...), text("Done."))
		l := w.start()
		say(t, l, "first")
		if end := ended(t, l, 1); end.Status != "completed" {
			t.Errorf("%+v", end)
		}
		once(t, l)
		var made []string
		spilled := false
		for q := session.Seq(1); q <= l.Session.Head(); q++ {
			raw, err := rawEvent(l.Session, q)
			if err != nil {
				t.Fatal(err)
			}
			if i := bytes.Index(raw, []byte(`"body":`)); i > 4096+512 || i < 0 && len(raw) > 4096+512 {
				t.Errorf("event %d: %d bytes, its body begins at %d", q, len(raw), i)
			}
			if bytes.Contains(raw, []byte(`"type":"request.sent"`)) {
				made = append(made, string(must(l.Session.Request(q))))
				spilled = spilled || bytes.Contains(raw, []byte(`"spilled"`))
			}
		}
		if !spilled || !slices.Equal(made, w.sent()) {
			t.Errorf("spilled=%v, and the requests made again are not those that were sent", spilled)
		}
	})
}
