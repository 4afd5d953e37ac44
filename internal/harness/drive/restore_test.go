package drive

import (
	"errors"
	"reflect"
	"testing"

	"varve/internal/session"
)

// on is a content by its hash, "" for no file.
func on(sha string) Content { return Content{SHA256: sha} }

func lost(why string) Content { return Content{Why: why} }

func step(act, want, have, why string) *FileStep {
	return &FileStep{Path: "f", Act: act, Want: on(want), Have: have, Why: why}
}

// Each file gets what was there before the first change behind the point, and
// only where the disk has what the session left. // BRN-8, SES-16
func TestPlanFiles(t *testing.T) {
	ch := func(at session.Seq, before, after string) FileChange {
		return FileChange{At: at, Path: "f", Before: on(before), After: on(after)}
	}
	planned := func(at session.Seq, before, after string) FileChange {
		c := ch(at, before, after)
		c.Planned = true
		return c
	}
	moded := func(c FileChange, mode uint32) FileChange {
		c.Mode = mode
		return c
	}
	withMode := func(s *FileStep, mode uint32) *FileStep {
		s.Mode = mode
		return s
	}
	blind := ch(20, "", "B")
	blind.Before = lost("larger than 50 MiB")
	unseen := ch(20, "A", "")
	unseen.After = lost("no content store")
	gone := ch(20, "A", "B")
	gone.Before.Why = "its content is not kept any more"
	leave := func(want Content, have, why string) *FileStep {
		return &FileStep{Path: "f", Act: LeaveFile, Want: want, Have: have, Why: why}
	}
	for _, c := range []struct {
		name    string
		at      session.Seq
		changes []FileChange
		disk    OnDisk
		want    *FileStep
	}{
		{"created behind", 10, []FileChange{ch(20, "", "A")}, OnDisk{SHA256: "A"}, step(DeleteFile, "", "A", "")},
		{"created before", 30, []FileChange{ch(20, "", "A")}, OnDisk{SHA256: "A"}, nil},
		{"modified", 10, []FileChange{ch(20, "A", "B")}, OnDisk{SHA256: "B"}, step(WriteFile, "A", "B", "")},
		{"modified twice", 10, []FileChange{ch(20, "A", "B"), ch(30, "B", "C")}, OnDisk{SHA256: "C"}, step(WriteFile, "A", "C", "")},
		{"the second of two", 25, []FileChange{ch(20, "A", "B"), ch(30, "B", "C")}, OnDisk{SHA256: "C"}, step(WriteFile, "B", "C", "")},
		{"there and back", 10, []FileChange{ch(20, "A", "B"), ch(30, "B", "A")}, OnDisk{SHA256: "A"}, nil},
		{"deleted, made again with its mode", 10, []FileChange{moded(ch(20, "A", ""), 0o755)}, OnDisk{}, withMode(step(WriteFile, "A", "", ""), 0o755)},
		{
			"deleted by a plan alone, made again with the mode before", 25,
			[]FileChange{moded(ch(20, "", "A"), 0o700), planned(30, "A", "")},
			OnDisk{},
			withMode(step(WriteFile, "A", "", ""), 0o700),
		},
		{"recreated", 10, []FileChange{ch(20, "A", ""), ch(30, "", "B")}, OnDisk{SHA256: "B"}, step(WriteFile, "A", "B", "")},
		{"changed by hand since", 10, []FileChange{ch(20, "A", "B")}, OnDisk{SHA256: "U"}, step(LeaveFile, "A", "B", WhyChanged)},
		{"deleted by hand since", 10, []FileChange{ch(20, "A", "B")}, OnDisk{}, step(LeaveFile, "A", "B", WhyChanged)},
		{"made by hand where it was deleted", 10, []FileChange{ch(20, "A", "")}, OnDisk{SHA256: "U"}, step(LeaveFile, "A", "", WhyChanged)},
		{"put back by hand", 10, []FileChange{ch(20, "A", "B")}, OnDisk{SHA256: "A"}, nil},
		{"changed by hand between two changes", 25, []FileChange{ch(20, "", "A"), ch(30, "U", "B")}, OnDisk{SHA256: "B"}, step(WriteFile, "U", "B", "")},
		{"content before not kept", 10, []FileChange{blind}, OnDisk{SHA256: "B"}, leave(blind.Before, "B", "larger than 50 MiB")},
		{"content before lost from the store", 10, []FileChange{gone}, OnDisk{SHA256: "B"}, leave(gone.Before, "B", "its content is not kept any more")},
		{"content after not kept", 10, []FileChange{unseen}, OnDisk{SHA256: "B"}, leave(on("A"), "", "no content store")},
		{"a link", 10, []FileChange{ch(20, "A", "B")}, OnDisk{Why: "is a link"}, step(LeaveFile, "A", "B", "is a link")},
		{"outside", 10, []FileChange{ch(20, "", "B")}, OnDisk{Why: "outside the workspace"}, step(LeaveFile, "", "B", "outside the workspace")},
		{"a restore taken back", 15, []FileChange{ch(10, "A", "B"), ch(20, "B", "A"), ch(30, "A", "C")}, OnDisk{SHA256: "C"}, step(WriteFile, "B", "C", "")},

		{"planned and done", 25, []FileChange{ch(20, "A", "B"), planned(30, "B", "A")}, OnDisk{SHA256: "A"}, step(WriteFile, "B", "A", "")},
		{"planned and not done", 25, []FileChange{ch(20, "A", "B"), planned(30, "B", "A")}, OnDisk{SHA256: "B"}, nil},
		{"planned, not done, and planned again", 10, []FileChange{ch(20, "A", "B"), planned(30, "B", "A")}, OnDisk{SHA256: "B"}, step(WriteFile, "A", "B", "")},
		{"planned and done, planned again elsewhere", 10, []FileChange{ch(20, "A", "B"), planned(30, "B", "A")}, OnDisk{SHA256: "A"}, nil},
		{"planned and done, then changed", 25, []FileChange{ch(20, "A", "B"), planned(30, "B", "A"), ch(40, "A", "C")}, OnDisk{SHA256: "C"}, step(WriteFile, "B", "C", "")},
		{"two plans, both done", 25, []FileChange{ch(20, "A", "B"), planned(30, "B", "A"), planned(40, "A", "")}, OnDisk{}, step(WriteFile, "B", "", "")},
		{"planned, said, and not closed", 25, []FileChange{ch(20, "A", "B"), planned(30, "B", "A"), ch(31, "B", "A")}, OnDisk{SHA256: "A"}, step(WriteFile, "B", "A", "")},
	} {
		var want []FileStep
		if c.want != nil {
			want = []FileStep{*c.want}
		}
		if got := PlanFiles(c.changes, c.at, map[string]OnDisk{"f": c.disk}); !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %+v\nwant %+v", c.name, got, want)
		}
	}
}

// Two branches have left different contents of one file: each can be had where
// the disk has what the other left. // BRN-8
func TestPlanFilesOfForks(t *testing.T) {
	changes := []FileChange{
		{At: 10, Path: "f", Before: on(""), After: on("A")},    // main
		{At: 20, Path: "f", Before: on("A"), After: on("M")},   // main goes on
		{At: 31, Path: "f", Before: on("M"), After: on("A")},   // a fork from 15, with the files
		{At: 40, Path: "f", Before: on("A"), After: on("B")},   // the fork goes on
		{At: 41, Path: "only", Before: on(""), After: on("O")}, // and makes another
	}
	disk := map[string]OnDisk{"f": {SHA256: "B"}, "only": {SHA256: "O"}}
	for _, c := range []struct {
		at   session.Seq
		want []FileStep
	}{
		{29, []FileStep{{Path: "f", Act: WriteFile, Want: on("M"), Have: "B"}, {Path: "only", Act: DeleteFile, Have: "O"}}},
		{15, []FileStep{{Path: "f", Act: WriteFile, Want: on("A"), Have: "B"}, {Path: "only", Act: DeleteFile, Have: "O"}}},
		{41, nil},
	} {
		if got := PlanFiles(changes, c.at, disk); !reflect.DeepEqual(got, c.want) {
			t.Errorf("at %d: %+v", c.at, got)
		}
	}
}

// Where an operation takes the files, and what it refuses.
func TestFilesAt(t *testing.T) {
	f := session.NewFold()
	q := session.Seq(0)
	add := func(branch string, ev session.Event) session.Seq {
		q++
		e := session.Entry{Seq: q, Branch: branch, Event: ev, Type: session.Name(ev)}
		if err := f.Apply(e); err != nil {
			t.Fatal(err)
		}
		return q
	}
	call := func(n int) session.ItemID { return session.ItemID{Seq: 3, Part: n} }
	add("main", session.SessionCreated{Format: session.Format, ID: "s"})
	one := add("main", session.UserSaid{Via: "prompt"})
	reply := add("main", session.ReplyCompleted{Request: 1, Finish: "tool", Parts: []session.ReplyPart{{Kind: "tool_call", Call: &session.CallName{ID: "c", Name: "write"}}}})
	add("main", session.FilesChanged{By: "tool", Call: call(1), N: 1})
	result := add("main", session.ToolFinished{Call: call(1)})
	add("main", session.TurnEnded{Turn: one, Status: "completed"})
	two := add("main", session.UserSaid{Via: "prompt"})
	add("main", session.TurnEnded{Turn: two, Status: "completed"})
	revert := add("main", session.BranchReverted{To: session.Reference{Branch: "main", Seq: two, Select: "before"}, Left: 8, Label: "v1"})
	last := add("main", session.FilesChanged{By: "restore", N: 1})
	for _, c := range []struct {
		op   Operation
		want session.Seq
		err  error
	}{
		{Revert{Branch: "main", Message: one}, one - 1, nil},
		{Revert{Branch: "main", Message: two}, two - 1, nil}, // a revert has left it
		{Revert{Branch: "main", Message: reply}, 0, ErrNotYours},
		{Revert{Branch: "b9", Message: one}, 0, session.ErrNoBranch},
		{RollBack{Branch: "main", Label: "v1"}, revert - 1, nil},
		{RollBack{Branch: "main", Label: "v2"}, 0, session.ErrNoLabel},
		{Fork{session.Reference{Branch: "main", Select: "head"}}, last, nil},
		{Fork{session.Reference{Branch: "main", Seq: one, Select: "before"}}, one - 1, nil},
		{Fork{session.Reference{Branch: "main", Seq: one, Select: "through"}}, one, nil},
		{Fork{session.Reference{Branch: "main", Seq: reply, Select: "through"}}, result, nil},
		{Fork{session.Reference{Branch: "main", Seq: 999, Select: "through"}}, 0, session.ErrNoMessage},
		{Delete{Branch: "main"}, 0, session.ErrNoMessage},
	} {
		if got, err := FilesAt(f, c.op, last); got != c.want && c.err == nil || !errors.Is(err, c.err) {
			t.Errorf("%+v: %d, %v, want %d, %v", c.op, got, err, c.want, c.err)
		}
	}
}
