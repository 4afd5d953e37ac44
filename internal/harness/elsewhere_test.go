package harness

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"varve/internal/harness/drive"
	"varve/internal/session"
)

// While a turn runs in one window, another one goes on in a branch that ends before it;
// what would take something of that turn is refused. // LOG-6, BRW-3
func TestForkBesideARunningTurn(t *testing.T) {
	g := newGate(drive.Tool)
	w := newWorld(t, text("One."), calls("bash", runs("once")), text("Two."))
	w.opts.hands = g.hands
	a := w.start()
	say(t, a, "first")
	ended(t, a, 1)
	settled := a.State().Branch.Head
	say(t, a, "theirs")
	<-g.began
	b := w.resume(a.Session.Path())
	u := follows(t, b, "the turn", func(u Update) bool { return u.State.Branch.Turn != nil })
	if err := b.Submit(t.Context(), drive.Say{Text: []byte("mine")}); !errors.Is(err, drive.ErrHeld) {
		t.Fatal(err)
	}
	turn := u.State.Branch.Turn.ID
	was := must(os.ReadFile(a.Session.Path()))
	for _, from := range []session.Reference{
		{Select: "head"},
		{Seq: b.Session.Head(), Select: "head"},
		{Seq: turn, Select: "through"},
		{Seq: turn, Select: "head"},
	} {
		from.Branch = "main"
		if out, err := b.Operate(t.Context(), drive.Fork{From: from}); !errors.Is(err, drive.ErrBusy) {
			t.Errorf("%+v: %+v, %v", from, out, err)
		}
	}
	if now := must(os.ReadFile(a.Session.Path())); !bytes.Equal(now, was) {
		t.Error("something was written")
	}
	var made []string
	for _, from := range []session.Reference{{Seq: turn, Select: "before"}, {Seq: settled, Select: "head"}, {Seq: userItems(b.Session, "main")[0], Select: "through"}} {
		from.Branch = "main"
		out, err := b.Operate(t.Context(), drive.Fork{From: from})
		if err != nil {
			t.Fatalf("%+v: %v", from, err)
		}
		if got := users(t, b.Session, out.Branch); got != "first" || b.Session.State(out.Branch).Branch.Turn != nil {
			t.Errorf("%+v holds %q", from, got)
		}
		made = append(made, out.Branch)
	}
	b.Close()

	p := &script{rest: text("Mine.")}
	o := w.opts
	o.Branch, o.hands = made[0], nil
	o.Resolve = machine(t.TempDir(), p).Resolve
	c := must(Resume(t.Context(), o, a.Session.Path()))
	defer c.Close()
	say(t, c, "mine")
	until(t, c, "its end", func(e session.Entry) bool { return e.Type == "turn.ended" && e.Branch == made[0] })
	if body := lastOf(p.sent()); strings.Contains(body, "theirs") || !strings.Contains(body, "first") || !strings.Contains(body, "mine") {
		t.Errorf("sent %s", body)
	}
	close(g.open)
	if end := ended(t, a, 2); end.Status != "completed" {
		t.Error(end)
	}
	if got := users(t, a.Session, "main"); got != "first theirs" {
		t.Errorf("main holds %q", got)
	}
	once(t, a)
	c.Close()
	a.Close()
	intact(t, a.Session.Path())
}

// Others are faster as often as it is tried: the message is refused with nothing written of
// it, and goes to a branch with what was seen here. // LOG-6
func TestConflictGoesOnInAFork(t *testing.T) {
	w := newWorld(t)
	w.rest = text("ok")
	c := &crowded{}
	w.opts.Clock = c
	l := w.start()
	say(t, l, "first")
	ended(t, l, 1)
	seen := l.State().Branch.Head
	let := func(act func()) { c.mu.Lock(); c.act = act; c.mu.Unlock() }
	last := l.Session.Head()
	let(func() {
		if l.Session.Head() < last {
			return // it has not read yet what the other one wrote
		}
		last = l.Session.Head() + 1
		foreign(t, l, session.Fact{Event: session.ModelChosen{Model: session.Model{Provider: "script", API: "openai-chat", Model: "theirs"}, By: "user"}})
	})
	if err := l.Submit(t.Context(), drive.Say{Text: []byte("mine")}); !errors.Is(err, drive.ErrConflict) {
		t.Fatal(err)
	}
	let(nil)
	if s := story(t, l); strings.Contains(s, "mine") || l.State().Branch.Model.Model != "theirs" {
		t.Fatalf("%s", s)
	}
	out, err := l.Operate(t.Context(), drive.Fork{From: session.Reference{Branch: "main", Seq: seen, Select: "head"}})
	if err != nil {
		t.Fatal(err)
	}
	o := w.opts
	o.Branch = out.Branch
	f := must(Resume(t.Context(), o, l.Session.Path()))
	defer f.Close()
	say(t, f, "mine")
	until(t, f, "its end", func(e session.Entry) bool { return e.Type == "turn.ended" && e.Branch == out.Branch })
	if got := users(t, f.Session, out.Branch); got != "first mine" {
		t.Errorf("the branch holds %q", got)
	}
	if m := f.State().Branch.Model.Model; m != "m" {
		t.Errorf("its model is %s", m)
	}
}

// Who only looks writes nothing and starts nothing, whatever is looked at: not a byte of
// any file is another one. // LOG-14, LOG-6
func TestViewerWritesNothing(t *testing.T) {
	g := newGate(drive.Tool)
	w := newWorld(t, text("One."), calls("write", `{"file_path":"made.txt","content":"x"}`), text("Two."))
	w.opts.hands = g.hands
	a := w.start()
	say(t, a, "first")
	ended(t, a, 1)
	say(t, a, "second")
	<-g.began // from here on nothing is written
	all := func() map[string]string {
		out := map[string]string{}
		for _, dir := range []string{w.opts.DataDir, w.opts.StateDir, w.opts.Workspace} {
			for name, is := range folder(dir) {
				out[filepath.Join(dir, name)] = is
			}
		}
		return out
	}
	was := all()
	b := w.resume(a.Session.Path())
	u := follows(t, b, "the turn", func(u Update) bool { return u.Busy && u.State.Branch.Turn != nil })
	ctx, at := t.Context(), userItems(b.Session, "main")[0]
	b.Session.Limbs()
	must(b.Session.Past("main", 0, 1000))
	must(b.Session.Restores())
	must(b.Session.Todo(b.State()))
	must(b.PlanFiles(ctx, must(b.Session.FilesAt(drive.Revert{Branch: "main", Message: at}))))
	if now := all(); !reflect.DeepEqual(now, was) {
		t.Errorf("looking has changed something:\n%q\n%q", was, now)
	}
	close(g.open)
	followsOn(t, b, "the end, live", u.Entries[len(u.Entries)-1].Seq, u.Version, func(u Update) bool { return u.State.Branch.Turn == nil })
	ended(t, a, 2)
	before := all()
	b.Close()
	if now := all(); !reflect.DeepEqual(now, before) {
		t.Error("closing has changed something")
	}
	if n := len(w.sent()); n != 3 {
		t.Errorf("%d requests", n)
	}
}

// Restores of files are listed, with what came of them, and which one they took back.
// BRN-8
func TestRestoresAreListed(t *testing.T) {
	h := newShelf(t, t.TempDir())
	h.hand("a", "one")
	q := h.says("x")
	h.write("a", "two")
	h.write("b", "two")
	first := h.alone(h.revert(q)).Restore
	second := h.restore(drive.FilesTo{UndoOf: first}).Restore
	h.crashes(must(h.FilesAt(h.revert(q))), 1)
	var got []Restored
	for _, r := range must(h.Restores()) {
		if r.At.IsZero() {
			t.Error("no time")
		}
		got = append(got, Restored{Plan: r.Plan, Branch: r.Branch, UndoOf: r.UndoOf, Done: r.Done, Failed: r.Failed, Finished: r.Finished})
	}
	want := []Restored{
		{Plan: first, Branch: "main", Done: 2, Finished: true},
		{Plan: second, Branch: "main", UndoOf: first, Done: 2, Finished: true},
		{Plan: got[len(got)-1].Plan, Branch: "main"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}
