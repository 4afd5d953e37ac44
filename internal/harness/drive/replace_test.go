package drive

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"varve/internal/session"
)

// What a replacement comes to, for each item: an active message of the user's or result of a tool gets another text, and
// nothing else does. // RPR-1, CTX-2
func TestReplaceDecides(t *testing.T) {
	f := session.NewFold()
	q := session.Seq(0)
	apply := func(branch string, e session.Event) {
		t.Helper()
		q++
		if err := f.Apply(session.Entry{Seq: q, Branch: branch, Type: session.Name(e), Event: e}); err != nil {
			t.Fatal(err)
		}
	}
	part := func(kind string) session.ReplyPart { return session.ReplyPart{Kind: kind} }
	call := part("tool_call")
	call.Call = &session.CallName{ID: "c", Name: "bash"}
	for _, e := range []session.Event{
		session.UserSaid{Via: "prompt", Text: &session.Text{}},                                                        // 1
		session.RequestSent{Turn: 1, Attempt: 1},                                                                      // 2
		session.ReplyCompleted{Request: 2, Finish: "tool", Parts: []session.ReplyPart{part("assistant"), call}},       // 3
		session.ToolFinished{Call: session.ItemID{Seq: 3, Part: 2}},                                                   // 4
		session.TurnEnded{Turn: 1, Status: "completed"},                                                               // 5
		session.UserSaid{Via: "prompt", Text: &session.Text{}},                                                        // 6
		session.BranchReverted{To: session.Reference{Branch: "main", Seq: 6, Select: "before"}, Left: 6, Label: "v1"}, // 7
		session.CheckpointCommitted{Ranges: nil},                                                                      // 8
		session.ItemReplaced{Item: session.Seq(4).Item(), Why: "repair"},                                              // 9
	} {
		apply("main", e)
	}
	item := func(q session.Seq) session.ItemID { return q.Item() }
	swap := func(id session.ItemID, same session.Seq) Swap { return Swap{Item: id, Text: []byte("x"), Same: same} }
	step, err := Operate(f, Replace{Branch: "main", Expect: 9, Why: "redact", Swaps: []Swap{
		swap(item(1), 0), swap(item(4), 9), swap(item(4), 4), swap(item(3), 0), swap(session.ItemID{Seq: 3, Part: 2}, 0), swap(item(6), 0), swap(item(5), 0), swap(item(99), 0),
	}}, false)
	want := []Swapped{
		{item(1), Replaced, ""},
		{item(4), Unchanged, ""},
		{item(4), Replaced, ""}, // the text is that of before the last replacement
		{item(3), NotReplaceable, "kind"},
		{session.ItemID{Seq: 3, Part: 2}, NotReplaceable, "kind"},
		{item(6), NotReplaceable, "inactive"}, // a revert has left it
		{item(5), NotFound, ""},
		{item(99), NotFound, ""},
	}
	if diff := cmp.Diff(want, step.Swapped); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	if len(step.Facts) != 2 || step.Expect != 9 || step.More {
		t.Errorf("%+v", step)
	}
	for _, fact := range step.Facts {
		if ev := fact.Event.(session.ItemReplaced); ev.Why != "redact" || ev.Tokens != session.Estimate(1) || string(fact.Body[0].Bytes) != "x" {
			t.Errorf("%+v", fact)
		}
	}
	ask := Replace{Branch: "main", Expect: 8, Swaps: []Swap{swap(item(1), 0)}}
	var c Conflict
	if _, err := Operate(f, ask, false); !errors.As(err, &c) || c != (Conflict{"main", 8, 9}) {
		t.Errorf("%v", err)
	}
	apply("main", session.UserSaid{Via: "prompt", Text: &session.Text{}})
	ask.Expect = 0
	if _, err := Operate(f, ask, true); !errors.Is(err, ErrBusy) {
		t.Errorf("while a turn runs: %v", err)
	}
	if step, err := Operate(f, ask, false); err != nil || len(step.Facts) != 1 {
		t.Errorf("a turn that nobody works on stays open: %+v %v", step, err)
	}
	apply("main", session.BranchDeleted{})
	if _, err := Operate(f, ask, false); !errors.Is(err, session.ErrDeleted) {
		t.Errorf("deleted: %v", err)
	}
}
