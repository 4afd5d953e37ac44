package session_test

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	. "varve/internal/session"
)

// kept are the entries that a lineage holds, as an export writes them.
func kept(l Lineage, entries []Entry) []Entry {
	var out []Entry
	for _, e := range entries {
		if !l.Holds(e) {
			continue
		}
		if ev, ok := l.Anew(e); ok {
			e.Event = ev
		}
		out = append(out, e)
	}
	return out
}

// A branch, folded from what it needs alone, is what it was among the others:
// view, plan, queue, model and tools, and what each of its reverts left.
func TestLineageFoldsAlone(t *testing.T) { // BRN-9
	rapid.Check(t, func(t *rapid.T) {
		w := family{writer{t: t, fold: NewFold()}, map[string][]Entry{MainBranch: nil}, map[string][]Entry{}, map[string]Branch{}}
		w.add(MainBranch, SessionCreated{Format: Format, ID: "s"})
		for range rapid.IntRange(0, 70).Draw(t, "n") {
			w.step(rapid.SampledFrom(w.fold.Branches()).Draw(t, "branch"))
		}
		for _, name := range w.fold.Branches() {
			l, err := w.fold.Lineage(name)
			if err != nil {
				t.Fatal(err)
			}
			entries := kept(l, w.entries)
			alone, was := fold(t, entries).State(name).Branch, w.fold.State(name).Branch
			if got, want := moved(alone), moved(was); got != want {
				t.Fatalf("%s alone is\n%s\nwas\n%s\nhistory:\n%s\nkept:\n%s", name, got, want, history(w.entries), history(entries))
			}
			if got, want := dump(alone.Queue)+dump(alone.Turn)+alone.ReadOnly, dump(was.Queue)+dump(was.Turn)+was.ReadOnly; got != want {
				t.Fatalf("what waits on %s alone is\n%s\nwas\n%s", name, got, want)
			}
			for _, limb := range w.fold.Limbs() {
				if limb.Name != name || len(limb.Labels) == 0 {
					continue
				}
				v := rapid.SampledFrom(limb.Labels).Draw(t, "label")
				back := Entry{Seq: w.fold.Head() + 1, Branch: name, Type: "branch.rolled_back", Event: BranchRolledBack{Label: v.Name, To: v.Left}}
				got, want := fold(t, append(entries, back)), fold(t, append(w.entries[:len(w.entries):len(w.entries)], back))
				if got, want := moved(got.State(name).Branch), moved(want.State(name).Branch); got != want {
					t.Fatalf("%s alone, rolled back to %s, is\n%s\nwas\n%s", name, v.Name, got, want)
				}
			}
		}
	})
}

// What a branch did not take over stays behind: the message that a fork ends
// before, what its parent did since, and its siblings.
func TestLineageLeavesOthersBehind(t *testing.T) { // BRN-9
	f := NewFold()
	var all []Entry
	add := func(branch string, ev Event) {
		e := Entry{Seq: f.Head() + 1, Branch: branch, Type: Name(ev), Event: ev}
		if all = append(all, e); f.Apply(e) != nil {
			t.Fatal(e)
		}
	}
	said := UserSaid{Via: "prompt", Text: &Text{}}
	add("main", SessionCreated{})
	add("main", said)                                                                            // 2
	add("main", TurnEnded{Turn: 2, Status: "completed"})                                         // 3
	add("main", said)                                                                            // 4
	add("b2", BranchCreated{Name: "b2", From: Reference{"main", 4, "before"}})                   // 5
	add("b3", BranchCreated{Name: "b3", From: Reference{"main", 4, "through"}})                  // 6
	add("b2", said)                                                                              // 7
	add("b3", said)                                                                              // 8
	add("main", SessionRenamed{})                                                                // 9
	add("main", said)                                                                            // 10
	add("task", BranchCreated{Name: "task", From: Reference{"b3", 8, "empty"}, Purpose: "task"}) // 11
	add("main", BranchDeleted{})                                                                 // 12
	add("main", LogRepaired{})                                                                   // 13
	for name, want := range map[string][]Seq{"b2": {1, 2, 3, 5, 7, 9, 12}, "b3": {1, 2, 3, 4, 6, 8, 9, 12}, "task": {1, 9, 11}} {
		l, err := f.Lineage(name)
		if err != nil {
			t.Fatal(err)
		}
		var got []Seq
		for _, e := range kept(l, all) {
			got = append(got, e.Seq)
		}
		if dump(got) != dump(want) {
			t.Errorf("%s holds %v, want %v", name, got, want)
		}
		if s := fold(t, kept(l, all)).State(name); s.Branch.ReadOnly != "" {
			t.Errorf("%s: %s", name, s.Branch.ReadOnly)
		}
	}
	if _, err := f.Lineage("b9"); !errors.Is(err, ErrNoBranch) {
		t.Error(err)
	}
	if _, err := f.Lineage("main"); !errors.Is(err, ErrDeleted) {
		t.Error(err)
	}
}
