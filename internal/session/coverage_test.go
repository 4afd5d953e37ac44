package session_test

import (
	"testing"

	"pgregory.net/rapid"

	. "varve/internal/session"
)

// CMP-8: an item is covered if a range of the checkpoint holds it, however the log has the ranges: in any order, one in another,
// or ending before they begin.
func TestCoverage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := writer{t: t, fold: NewFold()}
		for range rapid.IntRange(1, 30).Draw(t, "n") {
			w.step(MainBranch)
		}
		if b := w.fold.State(MainBranch).Branch; b.View.Len() > 0 && rapid.Bool().Draw(t, "fork") {
			w.add("b2", BranchCreated{Name: "b2", From: Reference{Branch: MainBranch, Seq: b.Head, Select: "head"}, Purpose: "fork"})
			for range rapid.IntRange(0, 30).Draw(t, "more") {
				w.step("b2")
			}
		}
		branch := w.fold.Branches()[len(w.fold.Branches())-1]
		before := w.fold.State(branch).Branch.View
		end := int(w.fold.Head())
		var ranges []Range
		for range rapid.IntRange(0, 5).Draw(t, "ranges") {
			from, to := rapid.IntRange(0, end).Draw(t, "from"), rapid.IntRange(0, end).Draw(t, "to")
			ranges = append(ranges, Range{Seq(from).Item(), ItemID{Seq(to), rapid.IntRange(1, 3).Draw(t, "part")}})
		}
		w.add(branch, CheckpointCommitted{Kind: "text", Ranges: ranges, Tokens: w.size()})
		v := w.fold.State(branch).Branch.View
		shown, all := 0, 0
		for it, is := range v.Recorded {
			covered := false
			for _, r := range ranges {
				covered = covered || !it.ID.Before(r.From) && !r.To.Before(it.ID)
			}
			if is == covered {
				t.Fatalf("%v is shown: %v, ranges %v", it.ID, is, ranges)
			}
			if all++; is {
				shown++
			}
		}
		was := 0
		for range before.Recorded {
			was++
		}
		if all != was {
			t.Fatalf("%d items are recorded, of %d before", all, was)
		}
		if removed := v.Shown() - shown; removed != 0 { // nothing is removed in these histories
			t.Fatalf("%d are shown, Shown says %d", shown, v.Shown())
		}
		for i, r := range v.Covered() {
			if r.To.Before(r.From) || i > 0 && !v.Covered()[i-1].To.Before(r.From) {
				t.Fatalf("covered %v", v.Covered())
			}
		}
	})
}

// SUM-10, RPR-2: what is masked keeps what it was, what is replaced keeps nothing, whichever comes first.
func TestMaskedItemsKeepWhatTheyWere(t *testing.T) {
	f := NewFold()
	q := Seq(0)
	apply := func(e Event) {
		t.Helper()
		q++
		if err := f.Apply(Entry{Seq: q, Branch: MainBranch, Type: Name(e), Event: e}); err != nil {
			t.Fatal(err)
		}
	}
	find := func(id ItemID) (found Item) {
		for it := range f.State(MainBranch).Branch.View.All {
			if it.ID == id {
				found = it
			}
		}
		return found
	}
	masked := func(ranges ...Range) bool { return f.State(MainBranch).Branch.View.Masked(ranges) }
	apply(UserSaid{Via: "prompt", Text: &Text{}, Tokens: Estimate(9)}) // 1
	apply(RequestSent{Turn: 1, Attempt: 1})                            // 2
	apply(ReplyCompleted{Request: 2, Parts: []ReplyPart{               // 3
		{Kind: "tool_call", Call: &CallName{ID: "a", Name: "read"}}, {Kind: "tool_call", Call: &CallName{ID: "b", Name: "read"}},
	}})
	apply(ToolFinished{Call: ItemID{3, 2}, Text: Text{B: 4}, Tokens: Estimate(900)}) // 4
	apply(ToolFinished{Call: ItemID{3, 1}, Text: Text{B: 5}, Tokens: Estimate(800)}) // 5
	one, two := Seq(4).Item(), Seq(5).Item()
	raw := find(two)
	apply(ItemMasked{Item: two, Text: Text{B: 6}, Tokens: Estimate(1)}) // 6
	apply(ItemMasked{Item: one, Text: Text{B: 7}, Tokens: Estimate(1)}) // 7
	apply(ItemMasked{Item: two, Text: Text{B: 8}, Tokens: Estimate(1)}) // 8
	if it := find(two); it.At != 8 || it.Text.B != 8 || it.Masked == nil || it.Masked.At != 5 || it.Masked.Text != raw.Text || it.Masked.Tokens != raw.Tokens {
		t.Errorf("masked twice: %+v, was %+v", it, it.Masked)
	}
	if !masked(Range{two, two}) || masked(Range{Seq(1).Item(), Seq(3).Item()}) {
		t.Error("it is not where it is masked")
	}
	apply(ItemReplaced{Item: two, Text: Text{B: 9}, Tokens: Estimate(2)}) // 9
	if it := find(two); it.At != 9 || it.Masked != nil {
		t.Errorf("redacted: %+v", it)
	}
	if masked(Range{two, two}) {
		t.Error("what is replaced is masked")
	}
	apply(ItemMasked{Item: two, Text: Text{B: 10}, Tokens: Estimate(1)}) // 10
	if it := find(two); it.Masked == nil || it.Masked.At != 9 || it.Masked.Text.B != 9 {
		t.Errorf("masked after it was redacted, it was %+v", it.Masked)
	}
	if it := find(one); it.At != 7 || it.Masked == nil || it.Masked.At != 4 {
		t.Errorf("the other one: %+v", it)
	}
	apply(CheckpointCommitted{Kind: "text", Ranges: []Range{{Seq(1).Item(), two}}, Text: Text{}})
	if masked(Range{Seq(1).Item(), Seq(99).Item()}) {
		t.Error("what is covered is masked")
	}
}
