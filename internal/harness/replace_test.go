package harness

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"varve/internal/harness/drive"
	"varve/internal/session"
)

// A replacement swaps what is sent and nothing else: the item keeps its id, its place and its pairing, the old bytes
// stay, and the next request names its break. // RPR-1, CTX-2, PFX-1, MED-3, LOG-3
func TestReplace(t *testing.T) {
	w := newWorld(t, calls("bash", `{"command":"echo hi"}`))
	w.rest = text("ok")
	l := w.start()
	say(t, l, "one")
	ended(t, l, 1)
	_, running := l.Session.Replace(t.Context(), w.opts.StateDir, drive.Replace{Branch: "main", Why: "repair", Swaps: []drive.Swap{{Item: userItems(l.Session, "main")[0].Item(), Text: []byte("x")}}})
	if !errors.Is(running, ErrHeld) {
		t.Errorf("while a window has the branch: %v", running)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s := reopened(t, w, l).Session
	before := must(os.ReadFile(s.Path()))
	shape := func() (out []session.Item) {
		for it := range s.State("main").Branch.View.All {
			it.At, it.Text, it.Tokens, it.Media = 0, session.Text{}, session.Tokens{}, nil
			out = append(out, it)
		}
		return out
	}
	was := shape()
	var result session.Item
	for it := range s.State("main").Branch.View.All {
		if it.Kind == session.ResultItem {
			result = it
		}
	}
	ask := drive.Replace{Branch: "main", Why: "repair", Expect: s.State("main").Branch.Head, Swaps: []drive.Swap{
		{Item: userItems(s, "main")[0].Item(), Text: []byte("uno")}, {Item: result.ID, Text: []byte("nothing")},
	}}
	out, err := s.Replace(t.Context(), w.opts.StateDir, ask)
	if err != nil || len(out.Swapped) != 2 || out.Swapped[0].Outcome != drive.Replaced || out.Swapped[1].Outcome != drive.Replaced {
		t.Fatal(out, err)
	}
	var conflict drive.Conflict
	if _, err := s.Replace(t.Context(), w.opts.StateDir, ask); !errors.As(err, &conflict) || conflict.Expected != ask.Expect || conflict.Is != s.State("main").Branch.Head {
		t.Errorf("at another revision: %v", err)
	}
	ask.Expect = 0
	if out, err := s.Replace(t.Context(), w.opts.StateDir, ask); err != nil || out.Swapped[0].Outcome != drive.Unchanged || out.Swapped[1].Outcome != drive.Unchanged {
		t.Error(out, err)
	}
	if now := must(os.ReadFile(s.Path())); !bytes.HasPrefix(now, before) || bytes.Count(now[len(before):], []byte("\n")) != 2 {
		t.Error("more was written than two lines at the end")
	}
	for i, it := range shape() {
		if it.ID != was[i].ID || it.Kind != was[i].Kind || it.Call != was[i].Call || it.Turn != was[i].Turn {
			t.Errorf("item %d is %+v, it was %+v", i, it, was[i])
		}
	}
	l = w.resume(s.Path())
	say(t, l, "two")
	ended(t, l, 2)
	body := lastOf(w.sent())
	if !strings.Contains(body, "uno") || !strings.Contains(body, "nothing") || strings.Contains(body, "one\n") || strings.Contains(body, "tool_result hi") {
		t.Errorf("sent %s", body)
	}
	sent, _ := events[session.RequestSent](t, l)
	if b := lastOf(sent).Broke; b == nil || b.Cause != "replacement" || b.Item != ask.Swaps[0].Item {
		t.Errorf("the request says that it broke by %+v", b)
	}
	if got := string(must(l.Session.Request(lastRequest(t, l)))); got != body {
		t.Errorf("it is rebuilt as %s", got)
	}
}

func lastRequest(t *testing.T, l *Local) (q session.Seq) {
	t.Helper()
	for _, e := range must(l.Session.Entries(0, 1<<20)) {
		if _, ok := e.Event.(session.RequestSent); ok {
			q = e.Seq
		}
	}
	return q
}
