package harness

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve/internal/harness/drive"
	"varve/internal/session"
)

// users are the texts of the user messages of a branch's view.
func users(t *testing.T, s *Session, branch string) string {
	t.Helper()
	var out []string
	for it := range s.State(branch).Branch.View.All {
		if it.Kind == session.UserItem {
			out = append(out, string(must(s.Text(it))))
		}
	}
	return strings.Join(out, " ")
}

func userItems(s *Session, branch string) []session.Seq {
	var out []session.Seq
	for it := range s.State(branch).Branch.View.All {
		if it.Kind == session.UserItem {
			out = append(out, it.ID.Seq)
		}
	}
	return out
}

// A session goes back, forth and into a branch; no written byte changes, and
// each request begins with what its branch holds. // BRN-3, BRN-4, BRN-5, LOG-3, PFX-1, case SES-13
func TestForkRevertRollback(t *testing.T) {
	w := newWorld(t)
	w.rest = text("ok")
	l := w.start()
	for i, words := range []string{"one", "two", "three"} {
		say(t, l, words)
		ended(t, l, i+1)
	}
	files := func() []string { return must(entriesOf(l.Session.Path())) }
	before, were := must(os.ReadFile(l.Session.Path())), files()
	prefix := func(what string) {
		t.Helper()
		now := must(os.ReadFile(l.Session.Path()))
		if !bytes.HasPrefix(now, before) {
			t.Fatalf("%s changed what was written", what)
		}
		if got := files(); !slices.Equal(got, were) {
			t.Fatalf("%s made another file: %v", what, got)
		}
		before = now
	}
	at := userItems(l.Session, l.Branch)
	was := l.State()

	out, err := l.Operate(t.Context(), drive.Revert{Branch: "main", Message: at[1], Preview: []byte("two")})
	if err != nil || out.Label != "v1" {
		t.Fatal(out, err)
	}
	prefix("a revert")
	if got := users(t, l.Session, "main"); got != "one" {
		t.Errorf("reverted to %q", got)
	}
	say(t, l, "other")
	ended(t, l, 4)
	if body := lastOf(w.sent()); !strings.Contains(body, "one") || strings.Contains(body, "two") || !strings.Contains(body, "other") {
		t.Errorf("sent %s", body)
	}
	sent, _ := events[session.RequestSent](t, l)
	if b := sent[len(sent)-1].Broke; b == nil || b.Cause != "branch" {
		t.Errorf("the request says that it broke by %+v", b)
	}

	fork, err := l.Operate(t.Context(), drive.Fork{From: session.Reference{Branch: "main", Seq: at[0], Select: "through"}})
	if err != nil || fork.Branch != "b2" {
		t.Fatal(fork, err)
	}
	prefix("a fork")
	if got := users(t, l.Session, "b2"); got != "one" {
		t.Errorf("forked to %q", got)
	}
	if out, err = l.Operate(t.Context(), drive.RollBack{Branch: "main", Label: "v1"}); err != nil {
		t.Fatal(err)
	}
	prefix("a rollback")
	if got := users(t, l.Session, "main"); got != "one two three" {
		t.Errorf("rolled back to %q", got)
	}
	if now := l.State(); now.Branch.Plan.At != was.Branch.Plan.At || now.Branch.Model != was.Branch.Model || len(now.Session.Usage) == 0 || now.Session.Usage[0].Requests <= was.Session.Usage[0].Requests {
		t.Errorf("%+v", now)
	}
	var past []session.Seq
	for _, e := range must(l.Session.Past("main", 0, 1000)) {
		if e.Type == "user.said" {
			past = append(past, e.Seq)
		}
	}
	if !slices.Equal(past, at) {
		t.Errorf("the conversation shows the messages %v, the branch holds %v", past, at)
	}
	say(t, l, "four")
	ended(t, l, 5)
	if body := lastOf(w.sent()); !strings.Contains(body, "three") || strings.Contains(body, "other") {
		t.Errorf("sent %s", body)
	}
	prefix("a turn")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	again := reopened(t, w, l)
	if got := users(t, again.Session, "main") + "/" + users(t, again.Session, "b2"); got != "one two three four/one" {
		t.Errorf("reopened: %q", got)
	}
}

func lastOf[T any](s []T) T { return s[len(s)-1] }

func entriesOf(path string) ([]string, error) {
	var out []string
	list, err := os.ReadDir(path[:strings.LastIndexByte(path, '/')])
	for _, e := range list {
		out = append(out, e.Name())
	}
	return out, err
}

// Two branches of one session are worked on at once, by two processes as it
// were: each follows its own, and neither is in the other's way. // LOG-6, BRN-3
func TestTwoBranchesAtOnce(t *testing.T) {
	w := newWorld(t, text("ok"))
	w.rest = hang("half")
	l := w.start()
	say(t, l, "one")
	ended(t, l, 1)
	fork, err := l.Operate(t.Context(), drive.Fork{From: session.Reference{Branch: "main", Select: "head"}})
	if err != nil {
		t.Fatal(err)
	}
	say(t, l, "main goes on")
	sent := 0
	until(t, l, "the request", func(e session.Entry) bool {
		if e.Type == "request.sent" {
			sent++
		}
		return sent == 2
	})
	p := &script{rest: text("ok")}
	o := w.opts
	o.Branch = fork.Branch
	o.Resolve = machine(t.TempDir(), p).Resolve
	other := must(Resume(t.Context(), o, l.Session.Path()))
	defer other.Close()
	submit(t, other, drive.SetMode{Mode: "edit"})
	say(t, other, "b2 goes on")
	e := until(t, other, "its end", func(e session.Entry) bool { return e.Type == "turn.ended" && e.Branch == "b2" })
	if e.Event.(session.TurnEnded).Status != "completed" {
		t.Errorf("%+v", e)
	}
	if body := lastOf(p.sent()); strings.Contains(body, "main goes on") || !strings.Contains(body, "one") {
		t.Errorf("sent %s", body)
	}
	if err := l.Session.CatchUp(); err != nil {
		t.Fatal(err)
	}
	s := l.State()
	if s.Branch.Turn == nil || s.Session.Mode == "edit" || !l.Ours() || users(t, l.Session, "main") != "one main goes on" {
		t.Errorf("%+v in mode %s", s.Branch.Turn, s.Session.Mode)
	}
	for after, v := session.Seq(0), uint64(0); after < s.Branch.Head; {
		u := must(l.Follow(t.Context(), after, v))
		for _, e := range u.Entries {
			if e.Branch != "main" {
				t.Errorf("main is told of %s of %s", e.Type, e.Branch)
			}
			after = e.Seq
		}
		v = u.Version
	}
	// While its turn runs a branch is left alone, here and elsewhere. // BRW-3
	for _, op := range []drive.Operation{
		drive.Revert{Branch: "main", Message: userItems(l.Session, "main")[0]},
		drive.Delete{Branch: "main"},
		drive.Fork{From: session.Reference{Branch: "main", Select: "head"}},
	} {
		was := must(os.ReadFile(l.Session.Path()))
		if _, err := l.Operate(t.Context(), op); !errors.Is(err, drive.ErrBusy) {
			t.Errorf("here: %T: %v", op, err)
		}
		if _, err := other.Operate(t.Context(), op); !errors.Is(err, drive.ErrBusy) && !errors.Is(err, ErrHeld) {
			t.Errorf("elsewhere: %T: %v", op, err)
		}
		if now := must(os.ReadFile(l.Session.Path())); !bytes.Equal(now, was) {
			t.Errorf("%T wrote something", op)
		}
	}
}

// A turn that nobody works on is closed before a revert, and the rollback
// leads back to it closed: nothing runs by itself. // BRN-5, BRN-10, LOG-14
func TestRevertOfAPausedTurn(t *testing.T) {
	w := newWorld(t, text("ok"), calls("bash", `{"command":"echo x >> ran; sleep 100"}`))
	l := w.start()
	say(t, l, "one")
	ended(t, l, 1)
	say(t, l, "two")
	until(t, l, "the command", func(e session.Entry) bool { return e.Type == "tool.started" })
	p := &script{rest: text("ok")}
	c := crashed(t, w, l, p)
	at := userItems(c.Session, "main")
	out, err := c.Operate(t.Context(), drive.Revert{Branch: "main", Message: at[1]})
	if err != nil {
		t.Fatal(err)
	}
	if b := c.State().Branch; b.Turn != nil || users(t, c.Session, "main") != "one" || b.Last.Status != "interrupted" {
		t.Errorf("%+v", b.Turn)
	}
	if _, err = c.Operate(t.Context(), drive.RollBack{Branch: "main", Label: out.Label}); err != nil {
		t.Fatal(err)
	}
	if b := c.State().Branch; b.Turn != nil || users(t, c.Session, "main") != "one two" {
		t.Errorf("%+v", b.Turn)
	}
	if len(p.sent()) > 0 {
		t.Errorf("a request was made: %s", p.sent()[0])
	}
	say(t, c, "three")
	ended(t, c, 3)
	if body := lastOf(p.sent()); !strings.Contains(body, "it was not run again") {
		t.Errorf("the model is not told: %s", body)
	}
}

// What can't be done is refused and writes nothing. // BRN-2, BRN-6
func TestRefusedOperations(t *testing.T) {
	w := newWorld(t)
	w.rest = text("ok")
	l := w.start()
	say(t, l, "one")
	ended(t, l, 1)
	if _, err := l.Operate(t.Context(), drive.Fork{From: session.Reference{Branch: "main", Select: "head"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Operate(t.Context(), drive.Delete{Branch: "b2"}); err != nil {
		t.Fatal(err)
	}
	reply := session.Seq(0)
	for it := range l.State().Branch.View.All {
		if it.Kind == session.AssistantItem {
			reply = it.ID.Seq
		}
	}
	was := must(os.ReadFile(l.Session.Path()))
	for _, c := range []struct {
		op   drive.Operation
		want error
	}{
		{drive.Revert{Branch: "main", Message: reply}, drive.ErrNotYours},
		{drive.Revert{Branch: "main", Message: 1}, session.ErrNoMessage},
		{drive.Revert{Branch: "b9", Message: 1}, session.ErrNoBranch},
		{drive.RollBack{Branch: "main", Label: "v1"}, session.ErrNoLabel},
		{drive.Delete{Branch: "b2"}, session.ErrDeleted},
		{drive.Retitle{Branch: "b2"}, session.ErrDeleted},
		{drive.Fork{From: session.Reference{Branch: "b2", Select: "head"}}, session.ErrDeleted},
		{drive.Fork{From: session.Reference{Branch: "main", Seq: 999, Select: "through"}}, session.ErrNoMessage},
	} {
		if out, err := l.Operate(t.Context(), c.op); !errors.Is(err, c.want) {
			t.Errorf("%+v: %+v, %v, want %v", c.op, out, err, c.want)
		}
	}
	if now := must(os.ReadFile(l.Session.Path())); !bytes.Equal(now, was) {
		t.Error("something was written")
	}
	o := w.opts
	o.Branch = "b2"
	if d, err := Resume(t.Context(), o, l.Session.Path()); err == nil {
		if err := d.Submit(t.Context(), drive.Say{Text: []byte("x")}); err == nil {
			t.Error("a deleted branch was written to")
		}
		d.Close()
	}
}

// A branch and a revert refer to the plan that applies, and copy nothing of it. // PLAN-5, PLAN-6
func TestBranchesReferToThePlan(t *testing.T) {
	w := newWorld(t)
	w.rest = text("ok")
	l := w.start()
	say(t, l, "one")
	ended(t, l, 1)
	after := l.State().Branch.View.Newest()
	plan := session.Fact{
		Event: session.PlanChanged{AfterItem: &after, NextID: 2, By: "user", Items: []session.PlanItem{{ID: "task-1", Status: "pending", ActiveForm: 1}}},
		Body:  []session.Part{{Bytes: []byte("a task of its own")}, {Bytes: []byte("doing it")}},
	}
	if err := l.Session.Record(t.Context(), "main", l.State().Branch.Head, []session.Fact{plan}); err != nil {
		t.Fatal(err)
	}
	at := l.State().Branch.Plan.At
	say(t, l, "two")
	ended(t, l, 2)
	words := func() int { return bytes.Count(must(os.ReadFile(l.Session.Path())), []byte("a task of its own")) }
	had := words()
	two := lastOf(userItems(l.Session, "main"))
	if _, err := l.Operate(t.Context(), drive.Fork{From: session.Reference{Branch: "main", Seq: two, Select: "before"}}); err != nil {
		t.Fatal(err)
	}
	first := userItems(l.Session, "main")[0]
	if _, err := l.Operate(t.Context(), drive.Revert{Branch: "main", Message: first}); err != nil {
		t.Fatal(err)
	}
	made, _ := events[session.BranchCreated](t, l)
	back, _ := events[session.BranchReverted](t, l)
	if len(made) != 1 || at == 0 || made[0].Plan != at || len(back) != 1 || back[0].Plan != 0 {
		t.Errorf("plan of %d: %+v %+v", at, made, back)
	}
	if b2, main := l.Session.State("b2").Branch.Plan, l.State().Branch.Plan; b2.At != at || len(b2.Items) != 1 || main.At != 0 {
		t.Errorf("%+v %+v", b2, main)
	}
	if n := words(); had == 0 || n != had {
		t.Errorf("its words stood there %d times, and now %d", had, n)
	}
}

// The plan that applies is shown to the model once where a selection took its
// copy away, never where one is in the view, and never an empty one; a resume
// changes nothing of that. // PLAN-2, PLAN-3, PLAN-5, PLAN-8
func TestPlanIsShownWhereNoCopyIs(t *testing.T) {
	w := newWorld(t,
		calls("todo", `{"items":[{"content":"look","status":"pending"}]}`), text("Planned."), text("two"), text("three"),
	)
	w.rest = text("ok")
	l := w.start()
	shown := func() (n int) {
		for it := range l.State().Branch.View.All {
			if it.Kind == session.PlanKind {
				n++
			}
		}
		return n
	}
	turns := 0
	next := func(what string, copies int, tasks string) {
		t.Helper()
		say(t, l, what)
		turns++
		ended(t, l, turns)
		var ids []string
		for _, it := range l.State().Branch.Plan.Items {
			ids = append(ids, it.ID)
		}
		if got := strings.Join(ids, " "); shown() != copies || got != tasks {
			t.Errorf("%s: %d plan items for the model, want %d; tasks %q, want %q", what, shown(), copies, got, tasks)
		}
	}
	operate := func(op drive.Operation) string {
		t.Helper()
		out, err := l.Operate(t.Context(), op)
		if err != nil {
			t.Fatal(err)
		}
		return out.Label
	}
	next("one", 0, "task-1") // its own result shows it
	after := l.State().Branch.View.Newest()
	edit := session.Fact{
		Event: session.PlanChanged{AfterItem: &after, NextID: 3, By: "user", Items: []session.PlanItem{{ID: "task-2", Status: "pending", ActiveForm: 1}}},
		Body:  []session.Part{{Bytes: []byte("think")}, {Bytes: []byte("thinking")}},
	}
	foreign(t, l, edit)
	next("two", 1, "task-2")
	two := lastOf(userItems(l.Session, "main"))
	v1 := operate(drive.Revert{Branch: "main", Message: two})
	if p := l.State().Branch.Plan; len(p.Items) != 1 || p.Items[0].ID != "task-2" || p.Shown {
		t.Errorf("before two: %+v", p)
	}
	next("instead", 1, "task-2") // the copy stood behind the message
	next("more", 1, "task-2")
	l.Close()
	l = w.resume(l.Session.Path())
	turns = 0
	for _, e := range must(l.Session.Entries(0, 1000)) {
		if _, ok := e.Event.(session.TurnEnded); ok {
			turns++
		}
	}
	next("resumed", 1, "task-2")
	operate(drive.RollBack{Branch: "main", Label: v1})
	next("three", 1, "task-2") // as it was
	done := edit
	ev := done.Event.(session.PlanChanged)
	newest := l.State().Branch.View.Newest()
	ev.AfterItem, ev.Items = &newest, nil
	done.Event, done.Body = ev, nil
	foreign(t, l, done)
	next("four", 1, "") // an empty plan is a state, and is not shown
	operate(drive.Revert{Branch: "main", Message: userItems(l.Session, "main")[0]})
	next("five", 0, "")
}

// A sub-agent's branch is deleted with its parent, before it. // BRN-1
func TestTasksAreDeletedWithTheirParent(t *testing.T) {
	w := newWorld(t)
	w.rest = text("ok")
	l := w.start()
	say(t, l, "one")
	ended(t, l, 1)
	s := l.Session
	for name, made := range map[string]session.BranchCreated{
		"t1": {Name: "t1", From: session.Reference{Branch: "main", Seq: 1, Select: "empty"}, Purpose: "task", Depth: 1},
		"b2": {Name: "b2", From: session.Reference{Branch: "main", Seq: l.State().Branch.Head, Select: "head"}, Purpose: "fork"},
	} {
		if err := s.Record(t.Context(), name, 0, []session.Fact{{Event: made}}); err != nil {
			t.Fatal(err)
		}
	}
	deeper := session.BranchCreated{Name: "t2", From: session.Reference{Branch: "t1", Seq: 1, Select: "empty"}, Purpose: "task", Depth: 2}
	if err := s.Record(t.Context(), "t2", 0, []session.Fact{{Event: deeper}}); err != nil {
		t.Fatal(err)
	}
	l.Close()
	s = must(Open(s.Path(), w.opts.blobs(), w.opts.Policy, System{}))
	defer s.Close()
	if _, err := s.Operate(t.Context(), w.opts.StateDir, drive.Delete{Branch: "main"}); err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, e := range must(s.Entries(0, 1000)) {
		if _, ok := e.Event.(session.BranchDeleted); ok {
			order = append(order, e.Branch)
		}
	}
	if !slices.Equal(order, []string{"t2", "t1", "main"}) || !slices.Equal(s.Left(), []string{"b2"}) {
		t.Errorf("%q, left %q", order, s.Left())
	}
}

// Two branches that work in one folder don't overwrite each other's changes:
// what the other has written is none that this one's model has seen. // TOOL-2, LOG-6, SES-16
func TestBranchesDontOverwriteEachOther(t *testing.T) {
	w := newWorld(t,
		calls("write", `{"file_path":"f.txt","content":"one\n"}`), text("Written."),
		calls("edit", `{"file_path":"f.txt","old_string":"one","new_string":"two"}`), text("Edited in the fork."),
		calls("write", `{"file_path":"f.txt","content":"three\n"}`), text("Tried."),
		calls("read", `{"file_path":"f.txt"}`), calls("write", `{"file_path":"f.txt","content":"three\n"}`), text("Read, then written."),
	)
	l := w.start()
	say(t, l, "write")
	ended(t, l, 1)
	out, err := l.Operate(t.Context(), drive.Fork{From: session.Reference{Branch: "main", Select: "head"}})
	if err != nil {
		t.Fatal(err)
	}
	w.opts.Branch = out.Branch
	fork := w.resume(l.Session.Path())
	say(t, fork, "edit") // it has seen what its parent wrote
	idle(t, fork)
	file := filepath.Join(w.opts.Workspace, "f.txt")
	if b := must(os.ReadFile(file)); string(b) != "two\n" {
		t.Fatalf("%q\n%s", b, story(t, fork))
	}
	if err := l.Session.CatchUp(); err != nil {
		t.Fatal(err)
	}
	say(t, l, "write over it")
	idle(t, l)
	if b := must(os.ReadFile(file)); string(b) != "two\n" {
		t.Errorf("%q\n%s", b, story(t, l))
	}
	if s := story(t, l); !strings.Contains(s, "has changed since it was last read") {
		t.Error(s)
	}
	say(t, l, "read it first")
	idle(t, l)
	if b := must(os.ReadFile(file)); string(b) != "three\n" {
		t.Errorf("%q\n%s", b, story(t, l))
	}
}

// A revert that leaves files as they are leaves a model that does not know them: it
// reads before it writes. What it saw counts again with the rollback. // TOOL-2, BRN-4, BRN-8
func TestRevertForgetsWhatFilesHeld(t *testing.T) {
	edit := calls("edit", `{"file_path":"f.txt","old_string":"two","new_string":"three"}`)
	w := newWorld(t,
		calls("write", `{"file_path":"f.txt","content":"one\n"}`), text("Written."),
		calls("edit", `{"file_path":"f.txt","old_string":"one","new_string":"two"}`), text("Edited."),
		edit, text("Tried."),
		edit, text("Edited again."),
	)
	l := w.start()
	say(t, l, "write")
	idle(t, l)
	say(t, l, "edit")
	idle(t, l)
	var message session.Seq
	for _, e := range must(l.Session.Entries(0, 1000)) {
		if _, ok := e.Event.(session.UserSaid); ok {
			message = e.Seq
		}
	}
	file := filepath.Join(w.opts.Workspace, "f.txt")
	out, err := l.Operate(t.Context(), drive.Revert{Branch: "main", Message: message})
	if err != nil {
		t.Fatal(err)
	}
	say(t, l, "edit what is not known")
	idle(t, l)
	if b := must(os.ReadFile(file)); string(b) != "two\n" || !strings.Contains(story(t, l), "has changed since it was last read") {
		t.Errorf("%q\n%s", b, story(t, l))
	}
	if _, err := l.Operate(t.Context(), drive.RollBack{Branch: "main", Label: out.Label}); err != nil {
		t.Fatal(err)
	}
	say(t, l, "edit what is known again")
	idle(t, l)
	if b := must(os.ReadFile(file)); string(b) != "three\n" {
		t.Errorf("%q\n%s", b, story(t, l))
	}
}
