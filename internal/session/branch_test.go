package session_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	. "varve/internal/session"
)

// A family is a history with branch operations, and the oracle of what they
// select: the lines that make up a branch, in a list of their own.
type family struct {
	writer
	lines  map[string][]Entry
	labels map[string][]Entry // by branch and label: the lines that a revert left
	states map[string]Branch
}

// pick draws a message of a branch's lineage, or of a part that a revert left.
func (w *family) pick(branch string) (Reference, bool) {
	var may []Seq
	for _, e := range w.lines[branch] {
		switch e.Event.(type) {
		case UserSaid, ReplyCompleted, ShellRan:
			may = append(may, e.Seq)
		}
	}
	if len(may) == 0 {
		return Reference{}, false
	}
	return Reference{
		Branch: branch, Seq: rapid.SampledFrom(may).Draw(w.t, "message"),
		Select: rapid.SampledFrom([]string{"before", "through"}).Draw(w.t, "select"),
	}, true
}

// selected is what the spec says: everything up to the message, the later
// results of the calls that are kept, and the plans whose item survives.
func (w *family) selected(ref Reference) []Entry {
	all := w.lines[ref.Branch]
	kept, calls := []Entry{}, map[ItemID]bool{}
	survives := map[Seq]bool{}
	belongs := true
	for _, e := range all {
		in := e.Seq < ref.Seq || e.Seq == ref.Seq && ref.Select != "before"
		if e.Seq > ref.Seq || e.Seq == ref.Seq && ref.Select == "before" {
			switch e.Event.(type) {
			case UserSaid, ReplyCompleted, ReplyRejected, ShellRan, PlanShown, CatalogPublished:
				belongs = false
			}
		}
		switch ev := e.Event.(type) {
		case ReplyCompleted:
			if in {
				for i, p := range ev.Parts {
					if p.Kind == "tool_call" {
						calls[ItemID{e.Seq, i + 1}] = true
					}
				}
			}
		case ToolFinished:
			in = in || calls[ev.Call]
		case ToolInterrupted:
			in = in || calls[ev.Call]
		case PlanChanged:
			in = in || belongs && ref.Select != "before" && ev.AfterItem != nil && survives[ev.AfterItem.Seq]
			in = in || ev.By == "model" && calls[*ev.AfterItem] // it goes with the call's result
			in = in && ev.AfterItem != nil
		}
		if in {
			kept = append(kept, e)
			survives[e.Seq] = true
		}
	}
	return kept
}

// facts are what of a state a branch operation moves, but for what waits and
// for the size, which depends on requests.
func moved(b Branch) string {
	return fmt.Sprintf("%s\nplan %s\nmodel %v\ntools %v", show(b.View), dump(b.Plan), b.Model, b.Tools.At)
}

func (w *family) step(branch string) {
	t := w.t
	s := w.fold.State(branch).Branch
	if s.Turn == nil && rapid.IntRange(0, 5).Draw(t, "operation") == 0 && w.operate(branch, s) {
		return
	}
	n := len(w.entries)
	w.writer.step(branch)
	w.lines[branch] = append(slices.Clip(w.lines[branch]), w.entries[n:]...)
}

func (w *family) operate(branch string, s Branch) bool {
	t := w.t
	switch rapid.IntRange(0, 2).Draw(t, "which") {
	case 0: // fork
		ref, ok := w.pick(branch)
		if !ok || rapid.Bool().Draw(t, "head") {
			ref = Reference{Branch: branch, Seq: s.Head, Select: "head"}
		}
		if ref.Seq == 0 {
			return false
		}
		name := fmt.Sprintf("b%d", len(w.lines)+1)
		w.lines[name] = w.selected(ref)
		sel, err := w.fold.Select(ref)
		if err != nil {
			t.Fatalf("select %+v: %v", ref, err)
		}
		w.add(name, BranchCreated{Name: name, From: ref, Plan: sel.Plan.At, Purpose: "fork"})
	case 1: // revert
		ref, ok := w.pick(branch)
		if !ok {
			return false
		}
		ref.Select = "before"
		sel, err := w.fold.Select(ref)
		if err != nil {
			t.Fatalf("select %+v: %v", ref, err)
		}
		label := w.fold.NextLabel(branch)
		w.labels[branch+label], w.states[branch+label] = w.lines[branch], s
		w.lines[branch] = w.selected(ref)
		w.add(branch, BranchReverted{To: ref, Left: s.Head, Label: label, Plan: sel.Plan.At})
	case 2: // rollback
		limbs := w.fold.Limbs()
		i := slices.IndexFunc(limbs, func(l Limb) bool { return l.Name == branch })
		if i < 0 || len(limbs[i].Labels) == 0 {
			return false
		}
		l := rapid.SampledFrom(limbs[i].Labels).Draw(t, "label")
		w.lines[branch] = w.labels[branch+l.Name]
		w.add(branch, BranchRolledBack{Label: l.Name, To: l.Left, Left: s.Head})
		now, was := w.fold.State(branch).Branch, w.states[branch+l.Name]
		if got, want := moved(now), moved(was); got != want {
			t.Fatalf("rolled back to %s is\n%s\nwas\n%s", l.Name, got, want)
		}
		for i := range was.Queue {
			was.Queue = slices.Clone(was.Queue)
			was.Queue[i].Held = true
		}
		if got, want := dump(now.Queue), dump(was.Queue); got != want {
			t.Fatalf("the queue after a rollback is\n%s\nwas\n%s", got, want)
		}
		if back, err := w.fold.Label(branch, l.Name); err != nil || back.Back != now.Head {
			t.Fatalf("%s was taken back by %d, not %d (%v)", l.Name, now.Head, back.Back, err)
		}
	}
	return true
}

func TestBranchesSelectWhatTheyName(t *testing.T) { // BRN-1, BRN-2, BRN-3, BRN-5, BRN-7, BRN-10, PLAN-5
	rapid.Check(t, func(t *rapid.T) {
		w := family{writer{t: t, fold: NewFold()}, map[string][]Entry{MainBranch: nil}, map[string][]Entry{}, map[string]Branch{}}
		for range rapid.IntRange(0, 70).Draw(t, "n") {
			names := w.fold.Branches()
			if len(names) == 0 {
				names = []string{MainBranch}
			}
			branch := rapid.SampledFrom(names).Draw(t, "branch")
			others := map[string]string{}
			for _, n := range names {
				if n != branch {
					others[n] = dump(w.fold.State(n).Branch)
				}
			}
			w.step(branch)
			for n, was := range others {
				if got := dump(w.fold.State(n).Branch); got != was {
					t.Fatalf("a line of %s changed %s:\n%s\nwas\n%s", branch, n, got, was)
				}
			}
		}
		for name, lines := range w.lines {
			one := make([]Entry, len(lines))
			for i, e := range lines {
				e.Branch = MainBranch
				one[i] = e
			}
			got, want := moved(w.fold.State(name).Branch), moved(fold(t, one).State(MainBranch).Branch)
			if got != want {
				t.Fatalf("%s is\n%s\nits lines come to\n%s\nhistory:\n%s", name, got, want, history(w.entries))
			}
			var past []Entry
			for _, span := range w.fold.History(name) {
				for _, e := range w.entries {
					if e.Branch == span.Branch && e.Seq >= span.From && e.Seq <= span.To {
						past = append(past, e)
					}
				}
			}
			if got, want := messages(past), messages(lines); got != want {
				t.Fatalf("the past of %s is %s, its lines are %s\nhistory:\n%s", name, got, want, history(w.entries))
			}
		}
	})
}

// messages are the seqs of the items among entries, but for results.
func messages(entries []Entry) string {
	var out []Seq
	for _, e := range entries {
		switch e.Event.(type) {
		case UserSaid, ReplyCompleted, ShellRan, CatalogPublished, PlanShown:
			out = append(out, e.Seq)
		}
	}
	return fmt.Sprint(out)
}

func history(entries []Entry) string {
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&b, "%d %s %s %+v\n", e.Seq, e.Branch, e.Type, e.Event)
	}
	return b.String()
}

func TestReferencesThatNameNothing(t *testing.T) { // BRN-2
	f := NewFold()
	add := func(branch string, ev Event) {
		if err := f.Apply(Entry{Seq: f.Head() + 1, Branch: branch, Type: Name(ev), Event: ev}); err != nil {
			t.Fatal(err)
		}
	}
	add("main", SessionCreated{})
	add("main", UserSaid{Via: "prompt", Text: &Text{}})                                                                        // 2
	add("main", RequestSent{Turn: 2, Attempt: 1})                                                                              // 3
	add("main", ReplyCompleted{Request: 3, Finish: "tool", Parts: []ReplyPart{{Kind: "tool_call", Call: &CallName{ID: "c"}}}}) // 4
	add("main", ToolFinished{Call: ItemID{4, 1}})                                                                              // 5
	add("main", TurnEnded{Turn: 2, Status: "completed"})                                                                       // 6
	add("b2", BranchCreated{Name: "b2", From: Reference{"main", 2, "through"}})                                                // 7
	add("b2", UserSaid{Via: "prompt", Text: &Text{}})                                                                          // 8
	add("b3", BranchCreated{Name: "b3", From: Reference{"b2", 8, "head"}})                                                     // 9
	add("b3", BranchDeleted{})                                                                                                 // 10
	for _, c := range []struct {
		ref  Reference
		want error
	}{
		{Reference{"main", 2, "before"}, nil},
		{Reference{"main", 4, "through"}, nil},
		{Reference{"b2", 2, "through"}, nil}, // taken over from main
		{Reference{"b2", 8, "before"}, nil},
		{Reference{"b9", 2, "before"}, ErrNoBranch},
		{Reference{"main", 1, "before"}, ErrNoMessage}, // no message
		{Reference{"main", 3, "before"}, ErrNoMessage},
		{Reference{"main", 5, "through"}, ErrNoMessage}, // a result goes with its call
		{Reference{"main", 8, "through"}, ErrNoMessage}, // of another branch
		{Reference{"main", 99, "before"}, ErrNoMessage},
		{Reference{"main", 2, "after"}, ErrNoMessage},
		{Reference{"b2", 4, "through"}, ErrNoMessage}, // behind what it took over
		{Reference{"b3", 8, "through"}, ErrDeleted},
		{Reference{"b3", 9, "head"}, ErrDeleted},
	} {
		if _, err := f.Select(c.ref); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v, want %v", c.ref, err, c.want)
		}
	}
	if _, err := f.Label("main", "v1"); !errors.Is(err, ErrNoLabel) {
		t.Error(err)
	}
}
