package session_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"varve/internal/jsonl"
	. "varve/internal/session"
)

// legacyFixture is a file that an older program left, and its fold. The last line
// has the shape that is read and never written; upTo leaves it out where it is 1.
func legacyFixture(t *testing.T, name string, upTo int) (*Fold, Seq) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata/legacy", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	f := NewFold()
	all := lines(b)
	for _, line := range all[:len(all)-upTo] {
		e, err := Decode(line)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	return f, Seq(len(all))
}

// The fixtures are whole sessions: a shape that is read only is no reason to call
// a file damaged, and what we write stands behind it. // LOG-2, LOG-4
func TestLegacyFilesAreWhole(t *testing.T) {
	files, err := filepath.Glob("testdata/legacy/*.jsonl")
	if err != nil || len(files) < 5 {
		t.Fatalf("%q %v", files, err)
	}
	for _, path := range files {
		rep, err := jsonl.Verify(path, func(_ *jsonl.File, _ jsonl.Line, raw []byte) error {
			e, err := Decode(raw)
			if err == nil {
				_, err = e.Parts()
			}
			return err
		})
		if err != nil || rep.Bad() != -1 || rep.Piece != 0 || rep.Events < 2 {
			t.Errorf("%s: %+v %v", path, rep, err)
		}
	}
}

// Generated text of before (staging, and the buffer of a continuation) is carried
// and never used: the state is the same without it. // events.md "Legacy shapes"
func TestLegacyTextIsNeverUsed(t *testing.T) {
	for _, name := range []string{"staging.saved-v1", "staging.saved-v2", "split.saved"} {
		with, head := legacyFixture(t, name, 0)
		without, _ := legacyFixture(t, name, 1)
		if with.Head() != head || without.Head() != head-1 {
			t.Fatalf("%s: heads %d and %d of %d", name, with.Head(), without.Head(), head)
		}
		s := with.State(MainBranch)
		if s.Branch.Staging == nil || !s.Branch.Staging.Legacy {
			t.Errorf("%s: nobody will void it (MR-10)", name)
		}
		s.Branch.Staging = nil
		if d := cmp.Diff(dump(without.State(MainBranch)), dump(s)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// A plan that does not say behind which item it stands is good at the head of its
// branch, also when the branch goes on, and for no selection of before. // PLAN-7
func TestLegacyPlanIsOfItsHead(t *testing.T) {
	f, plan := legacyFixture(t, "plan.changed-without-after_item", 0)
	add := func(e Event) Seq {
		q := f.Head() + 1
		if err := f.Apply(Entry{Seq: q, Branch: MainBranch, Type: Name(e), Event: e}); err != nil {
			t.Fatal(err)
		}
		return q
	}
	add(ShellRan{Tokens: Tokens{N: 1, By: "est"}})
	ran := add(ShellRan{Tokens: Tokens{N: 1, By: "est"}})
	if p := f.State(MainBranch).Branch.Plan; p.At != plan || len(p.Items) != 1 {
		t.Errorf("at the head the plan is %+v, not that of %d", p, plan)
	}
	for _, c := range []struct {
		ref  Reference
		plan Seq
	}{
		{Reference{Branch: MainBranch, Seq: f.Head(), Select: "head"}, plan},
		{Reference{Branch: MainBranch, Seq: ran, Select: "before"}, 0},
		{Reference{Branch: MainBranch, Seq: ran, Select: "through"}, 0},
		{Reference{Branch: MainBranch, Seq: 2, Select: "through"}, 0},
	} {
		b, err := f.Select(c.ref)
		if err != nil || b.Plan.At != c.plan {
			t.Errorf("%+v: the plan of %d, want %d (%v)", c.ref, b.Plan.At, c.plan, err)
		}
	}
	// One that says so takes its place from there on.
	zero := ItemID{}
	next := add(PlanChanged{AfterItem: &zero, NextID: 2, By: "user"})
	if b, err := f.Select(Reference{Branch: MainBranch, Seq: ran, Select: "through"}); err != nil || b.Plan.At == plan {
		t.Errorf("the plan of %d (%v)", b.Plan.At, err)
	}
	if p := f.State(MainBranch).Branch.Plan; p.At != next {
		t.Errorf("at the head the plan of %d", p.At)
	}
}

// Settings without a mode leave it out; that is no mode of its own, and settings
// of before that had one are not kept beside them. // CMP-3
func TestLegacySettingsHaveNoMode(t *testing.T) {
	f, _ := legacyFixture(t, "session.configured-without-mode", 0)
	s := f.State(MainBranch).Session.Settings
	if s.Compaction.Mode != nil || s.Compaction.Threshold == nil || *s.Compaction.Threshold != 90_000 || s.PermissionMode != "ask" {
		t.Errorf("%+v", s)
	}
	older, _ := legacyFixture(t, "session.configured-without-mode", 1)
	full := SessionConfigured{Compaction: Compaction{Mode: ptr("standalone")}, PermissionMode: "full"}
	for i, e := range []Event{full, s} {
		if err := older.Apply(Entry{Seq: older.Head() + 1, Branch: MainBranch, Type: Name(e), Event: e}); err != nil {
			t.Fatal(i, err)
		}
	}
	if got := older.State(MainBranch).Session.Settings; got.Compaction.Mode != nil {
		t.Errorf("the mode is %q", *got.Compaction.Mode)
	}
}
