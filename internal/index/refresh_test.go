package index

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"varve/internal/jsonl"
	"varve/internal/session"
)

var deep = cmp.AllowUnexported(Branch{}, chosen{}, counted{}, Revert{})

// known is what an index in a state folder says after a look at the files.
func known(t testing.TB, dir, state string) []Info {
	t.Helper()
	x := Open(dir, state)
	if err := errors.Join(x.Refresh(t.Context()), x.Finish(t.Context(), nil), x.Save()); err != nil {
		t.Fatal(err)
	}
	return x.Rows()
}

func TestWhatAListNeedsOfBranches(t *testing.T) { // BRW-1, BRW-2
	dir := t.TempDir()
	put(t, dir, "x", linesOf(t, branchy()...))
	rows := known(t, dir, t.TempDir())
	if len(rows) != 1 {
		t.Fatal(rows)
	}
	at := func(minute int) time.Time { return time.Date(2026, 11, 30, 12, minute, 0, 0, time.UTC) }
	use := Usage{Input: 21, Cached: 10, Output: 6, Cost: 0.25, Unpriced: 2}
	want := Info{
		ID: "x", Workspace: "/w", Title: "A name", Named: true, First: "first words", Created: at(1), Changed: at(20), Model: "p/two",
		Open: true, Whole: true, Messages: 7, Usage: use,
		Branches: []Branch{
			{
				Name: "main", First: "first words", Created: at(1), Changed: at(20), Model: "p/two", Messages: 4, Usage: use,
				Reverts: []Revert{{"v1", 16, "first words", 4}},
			},
			{Name: "b2", Parent: "main", From: 7, Reach: 6, Purpose: "fork", Title: "the other way", First: "on the branch", Created: at(10), Changed: at(13), Model: "p/two", Messages: 1, Open: true},
			{Name: "b3", Parent: "main", From: 3, Reach: 2, Purpose: "fork", First: "to be deleted", Created: at(11), Changed: at(14), Model: "p/one", Messages: 1, Deleted: true},
		},
	}
	if d := cmp.Diff(want, rows[0], cmpopts.IgnoreUnexported(Branch{}, Revert{}), cmpopts.IgnoreFields(Info{}, "Path", "Size")); d != "" {
		t.Error(d)
	}
}

// A branch has the messages that its view has, after each step and from an index
// that was saved before it; a fork, a revert and a name make a session no newer. // BRW-1, BRN-4
func TestRevertedMessagesAreNotCounted(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	before := func(at session.Seq) session.Reference {
		return session.Reference{Branch: "main", Seq: at, Select: "before"}
	}
	c := &chain{}
	path := put(t, dir, "x", c.line(t, fact("main", session.SessionCreated{Format: 1, ID: "x", Workspace: "/w", Program: "test"}))+c.line(t, fact("main", said, "one")))
	for _, step := range []struct {
		fact              session.Fact
		messages, changed int
		reverted          string
	}{
		{fact("main", answer(nil), "first"), 2, 3, ""},
		{fact("main", said, "two"), 3, 4, ""},
		{fact("main", answer(nil), "second"), 4, 5, ""},
		{fact("main", session.BranchReverted{To: before(4), Left: 5, Label: "v1"}, "two"), 2, 5, "v1"},
		{fact("main", session.SessionRenamed{By: "user"}, "A name"), 2, 5, "v1"},
		{fact("main", session.BranchRolledBack{Label: "v1", To: 5, Left: 7}), 4, 5, ""},
		{fact("main", session.BranchReverted{To: before(4), Left: 8, Label: "v2"}, "two"), 2, 5, "v2"},
		{fact("main", said, "another two"), 3, 10, ""},
		{fact("main", session.BranchReverted{To: before(2), Left: 10, Label: "v3"}, "one"), 0, 10, "v3"},
		{fact("main", session.BranchRolledBack{Label: "v2", To: 8, Left: 11}), 4, 10, ""},
	} {
		appendTo(t, path, c.line(t, step.fact))
		for _, in := range []string{state, t.TempDir()} { // read on, and read whole
			rows := known(t, dir, in)
			if len(rows) != 1 || len(rows[0].Branches) != 1 {
				t.Fatal(rows)
			}
			b := rows[0].Branches[0]
			if b.Messages != step.messages || b.Reverted != step.reverted || rows[0].Changed.Minute() != step.changed || b.Changed.Minute() != step.changed {
				t.Errorf("behind event %d: %d messages, reverted %q, changed at %d and %d; want %+v", c.seq, b.Messages, b.Reverted, rows[0].Changed.Minute(), b.Changed.Minute(), step)
			}
		}
	}
	appendTo(t, path, c.line(t, fact("b2", session.BranchCreated{Name: "b2", From: before(4), Purpose: "fork"})))
	rows := known(t, dir, state)
	if b := rows[0].Branches[1]; b.Messages != 0 || b.Changed.Minute() != 13 || rows[0].Changed.Minute() != 10 {
		t.Errorf("%+v, the session changed at %v", b, rows[0].Changed)
	}
}

// However a file grew while it was looked at, its row is the one that a single
// look gives.
func TestReadingOnIsReadingWhole(t *testing.T) {
	text := linesOf(t, branchy()...)
	dir, state := t.TempDir(), t.TempDir()
	path := put(t, dir, "x", text)
	want := known(t, dir, t.TempDir())
	var cuts []int
	for i, c := range text {
		if c == '\n' {
			cuts = append(cuts, i, i+1, i+1+(len(text)-i)/7)
		}
	}
	for _, cut := range cuts {
		if cut >= len(text) {
			continue
		}
		put(t, dir, "x", text[:cut])
		x := Open(dir, state)
		if err := x.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		marked, before := x.rows[path].mark.end > 0, x.Rows()
		shown := fmt.Sprintf("%+v", before)
		appendTo(t, path, text[cut:])
		if err := errors.Join(x.Refresh(t.Context()), x.Save()); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, x.Rows(), deep); d != "" {
			t.Fatalf("cut at %d: %s", cut, d)
		}
		if d := cmp.Diff(want, Open(dir, state).Rows(), deep); d != "" {
			t.Fatalf("cut at %d, saved: %s", cut, d)
		}
		if fmt.Sprintf("%+v", before) != shown {
			t.Fatalf("cut at %d: a list that was given out has changed", cut)
		}
		if cut > 400 && !marked {
			t.Errorf("cut at %d: there is nothing to read on from", cut)
		}
	}
}

// Only what changed is opened, and only its new end is read: other bytes may lie
// meanwhile. A last line that is another one makes the whole file be read.
func TestOnlyTheNewIsRead(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	c := &chain{}
	one := c.line(t, fact("main", created)) + c.line(t, fact("main", said, "first words"))
	path := put(t, dir, "x", one)
	known(t, dir, state)
	title := func() string { return known(t, dir, state)[0].Title }

	forge(t, path, "first words", "FIRST WORDS")
	if got := title(); got != "first words" {
		t.Errorf("a file that did not change was read: %q", got)
	}
	forge(t, path, "FIRST WORDS", "first words")
	next := c.line(t, fact("main", done))
	forge(t, path, `"workspace":"/w"`, `"workspace":"/v"`) // line 1 of 2
	appendTo(t, path, next)
	if got := known(t, dir, state)[0]; got.Workspace != "/w" || got.Open {
		t.Errorf("more than the new end was read, or less: %+v", got)
	}
	forge(t, path, `"status":"completed"`, `"status":"Completed"`) // the last line
	appendTo(t, path, c.line(t, fact("main", said, "more")))
	if got := known(t, dir, state)[0]; got.Workspace != "/v" {
		t.Errorf("the whole file was not read, though its last line is another: %+v", got)
	}
}

// A file of the same size and another time is another file.
func TestChangedInPlace(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	text := linesOf(t, fact("main", created), fact("main", said, "first words"))
	path := put(t, dir, "x", text)
	known(t, dir, state)
	forge(t, path, "first words", "other words")
	later := time.Now().Add(time.Second)
	if err := os.Chtimes(path, later, later); err != nil {
		t.Fatal(err)
	}
	if got := known(t, dir, state)[0].Title; got != "other words" {
		t.Error(got)
	}
}

func TestRemovedFilesDropOut(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	path := put(t, dir, "x", linesOf(t, branchy()...))
	put(t, dir, "y", linesOf(t, branchy()...))
	known(t, dir, state)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got := known(t, dir, state); len(got) != 1 || got[0].ID != "y" {
		t.Error(got)
	}
	if got := Open(dir, state).Rows(); len(got) != 1 {
		t.Errorf("the index still has it: %v", got)
	}
}

func TestIndexIsDerived(t *testing.T) { // LOG-11
	dir, state := t.TempDir(), filepath.Join(t.TempDir(), "state")
	put(t, dir, "x", linesOf(t, branchy()...))
	put(t, dir, "silent", linesOf(t, fact("main", created)))
	old := syscall.Umask(0)
	want := known(t, dir, state)
	syscall.Umask(old)
	path := filepath.Join(state, FileName)
	for p, mode := range map[string]os.FileMode{path: 0o600, state: 0o700} {
		if st, err := os.Stat(p); err != nil || st.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", p, st.Mode(), err)
		}
	}
	sound, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	bad := map[string]string{
		"gone": "", "nonsense": "nonsense", "other version": strings.Replace(string(sound), "sessions 4", "sessions 3", 1),
		"longer": string(sound) + "x",
	}
	if got := Open(dir+"2", state).Rows(); len(got) != 0 {
		t.Errorf("another folder's index is believed: %v", got)
	}
	for i := range sound {
		bad[fmt.Sprintf("cut at %d", i)] = string(sound[:i])
		flipped := []byte(string(sound))
		flipped[i] ^= 0x40
		bad[fmt.Sprintf("another byte at %d", i)] = string(flipped)
	}
	for name, text := range bad {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := Open(dir, state).Rows(); len(got) != 0 {
			t.Fatalf("%s: it is believed: %v", name, got)
		}
	}
	if d := cmp.Diff(want, known(t, dir, state), deep); d != "" {
		t.Error(d)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, known(t, dir, state), deep); d != "" {
		t.Error(d)
	}
}

// A state folder that can't be written costs time, and no row.
func TestListWithoutAnIndex(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "x", linesOf(t, branchy()...))
	x := Open(dir, filepath.Join(dir, "sessions", "w", "x.jsonl")) // no folder
	if err := x.Refresh(t.Context()); err != nil || len(x.Rows()) != 1 {
		t.Errorf("%v, %v", x.Rows(), err)
	}
	if x.Save() == nil {
		t.Error("it was saved")
	}
}

func TestTwoProcessesWriteTheIndex(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	for i := range 20 {
		put(t, dir, fmt.Sprint("s", i), linesOf(t, branchy()...))
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 20 {
				x := Open(dir, state)
				if i > 0 && len(x.Rows()) != 20 {
					t.Errorf("half an index was read: %d rows", len(x.Rows()))
				}
				x.dirty = true
				if err := errors.Join(x.Refresh(t.Context()), x.Save()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// Rows are right while another process appends, and after it.
func TestListWhileOneWrites(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	path := filepath.Join(dir, "sessions", "w", "x.jsonl")
	f, err := jsonl.Create(path, jsonl.Options{Policy: jsonl.Never})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	add := func(facts ...session.Fact) {
		var rests [][]byte
		for _, fa := range facts {
			rest, err := session.EncodeRest(fa, time.Now())
			if err != nil {
				t.Error(err)
			}
			rests = append(rests, rest)
		}
		if _, err := f.Append(context.Background(), rests, nil); err != nil {
			t.Error(err)
		}
	}
	add(fact("main", created), fact("main", said, "first words"))
	const turns = 400
	var wg sync.WaitGroup
	wg.Go(func() {
		for range turns {
			add(fact("main", answer(nil), strings.Repeat("words ", 1000)))
		}
	})
	x, last := Open(dir, state), 0
	for last < turns+1 && !t.Failed() {
		if err := errors.Join(x.Refresh(t.Context()), x.Finish(t.Context(), nil)); err != nil {
			t.Fatal(err)
		}
		rows := x.Rows()
		if len(rows) != 1 || rows[0].Damage != "" || rows[0].Messages < last || rows[0].Title != "first words" {
			t.Fatalf("after %d messages: %+v", last, rows)
		}
		last = rows[0].Messages
	}
	wg.Wait()
	if d := cmp.Diff(known(t, dir, t.TempDir()), x.Rows(), deep); d != "" {
		t.Error(d)
	}
}

// middle is a session too large to be read at once, and a line of its middle.
func middle(t *testing.T) (text, line string) {
	c := &chain{}
	var out strings.Builder
	out.WriteString(c.line(t, fact("main", created)) + c.line(t, fact("main", said, "first words")))
	for i := range 60 {
		l := c.line(t, fact("main", result, strings.Repeat("output ", 2000)))
		if i == 30 {
			line = l
		}
		out.WriteString(l)
	}
	out.WriteString(c.line(t, fact("main", done)))
	return out.String(), line
}

func TestDamageInTheMiddleIsListed(t *testing.T) { // BRW-4
	dir, state := t.TempDir(), t.TempDir()
	text, line := middle(t)
	put(t, dir, "sound", text)
	path := put(t, dir, "torn", strings.Replace(text, line, line[:len(line)/2]+"\n", 1))
	x := Open(dir, state)
	if err := x.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := x.Waiting(); n != 2 || x.rows[path].Whole {
		t.Fatalf("%d wait to be read whole", n)
	}
	if err := x.Finish(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for _, r := range x.Rows() {
		want := map[string]string{"sound": "", "torn": "line 33 can't be read"}[r.ID]
		if r.Damage != want || !r.Whole {
			t.Errorf("%s: %q, whole %v", r.ID, r.Damage, r.Whole)
		}
	}
	if err := x.Save(); err != nil {
		t.Fatal(err)
	}
	x = Open(dir, state)
	appendTo(t, path, "more\n")
	if err := x.Refresh(t.Context()); err != nil || x.rows[path].Damage == "" || x.Waiting() != 1 {
		t.Errorf("the damage is forgotten before the file was read again: %+v, %v", x.rows[path], err)
	}
	put(t, dir, "torn", text)
	if got := known(t, dir, state); got[0].Damage != "" || got[1].Damage != "" {
		t.Error("a file that was brought back is still damaged")
	}
}

// What can't be read is tried again, though size and time stay.
func TestUnreadableIsTriedAgain(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	put(t, dir, "sound", linesOf(t, branchy()...))
	path := filepath.Join(dir, "sessions", "w", "x.jsonl")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	rows := known(t, dir, state)
	if len(rows) != 2 || rows[0].ID != "x" || rows[0].Damage == "" {
		t.Fatalf("%+v", rows)
	}
	if got := Open(dir, state).rows[path]; got != nil {
		t.Errorf("it is in the index: %+v", got)
	}
}

// The list is there at once, then as the files stand, then with what only whole
// reading shows.
func TestFollow(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	put(t, dir, "x", linesOf(t, branchy()...))
	known(t, dir, state)
	text, line := middle(t)
	put(t, dir, "torn", strings.Replace(text, line, line[:len(line)/2]+"\n", 1))
	var last Update
	n := 0
	for u := range Open(dir, state).Follow(t.Context()) {
		if n++; n == 1 && len(u.Rows) == 0 {
			t.Error("nothing is shown at once")
		}
		last = u
	}
	if last.Err != nil || last.Waiting != 0 || len(last.Rows) != 2 || last.Rows[0].Damage == "" {
		t.Errorf("%+v", last)
	}
	if got := Open(dir, state).Rows(); len(got) != 2 || !got[0].Whole {
		t.Errorf("it was not saved: %+v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range Open(dir, t.TempDir()).Follow(ctx) { // ends
	}
}
