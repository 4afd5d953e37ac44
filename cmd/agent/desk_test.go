package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"varve/internal/harness"
	"varve/internal/setup"
)

// newTestDesk is a desk with folders of its own, on a new session that nothing
// was said in.
func newTestDesk(t *testing.T) *desk {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{"w", "config", "data", "state"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, k := range []string{"CONFIG", "DATA", "STATE"} {
		t.Setenv("VARVE_"+k+"_DIR", filepath.Join(root, strings.ToLower(k)))
	}
	t.Setenv("VARVE_KEYRING", "off")
	t.Chdir(filepath.Join(root, "w"))
	m, err := newMachine(&flags{})
	if err != nil {
		t.Fatal(err)
	}
	o, err := m.options("tui", true)
	if err != nil {
		t.Fatal(err)
	}
	d := newDesk(t.Context(), m, o, "")
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// window opens another window in a folder, and closes its session again: its draft
// stays taken until the end of the test, or until it is given back.
func window(t *testing.T, d *desk, folder string) *desk {
	t.Helper()
	d.m.workspace = folder
	x := newDesk(t.Context(), d.m, d.opts, "")
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.draft.close)
	return x
}

func (d *desk) save(t *testing.T, text string) {
	t.Helper()
	if err := d.SaveDraft(t.Context(), text); err != nil {
		t.Fatal(err)
	}
}

// Each window of each folder has a draft of its own. Who comes later takes what no
// window has, text before nothing.
func TestDraftsOfFoldersAndWindows(t *testing.T) { // TUI-4
	d := newTestDesk(t)
	here, there := d.m.workspace, t.TempDir()
	want := func(x *desk, text string) {
		t.Helper()
		if got := x.Identity().Draft; got != text {
			t.Errorf("%s says %q, want %q", filepath.Base(x.draft.path), got, text)
		}
	}
	want(d, "")
	d.save(t, "of the first\n\twith a tab")
	second := window(t, d, here)
	want(second, "")
	second.save(t, "of the second")
	second.save(t, "")
	second.save(t, "") // nothing is nothing
	if b, err := os.ReadFile(d.draft.path); err != nil || string(b) != "of the first\n\twith a tab" {
		t.Fatalf("the second window left the first %q, %v", b, err)
	}
	other := window(t, d, there)
	want(other, "")
	other.save(t, "of the other")
	second.save(t, "still of the second")
	if st, err := os.Stat(d.draft.path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", st, err)
	}

	// The first is closed with nothing, the second dies.
	if err := d.lastDraft("", true); err != nil {
		t.Fatal(err)
	}
	second.draft.close()
	third, fourth := window(t, d, here), window(t, d, here)
	want(third, "still of the second")
	want(fourth, "")
	third.save(t, "")
	if list, err := filepath.Glob(filepath.Join(d.m.folders.State, "draft-*.txt")); err != nil || len(list) != 1 || list[0] != other.draft.path {
		t.Errorf("%q, %v", list, err)
	}
}

// A save that comes after the last one changes nothing; and where nothing was
// changed the last one doesn't either.
func TestLastDraftIsLast(t *testing.T) { // TUI-4
	d := newTestDesk(t)
	d.save(t, "as it was")
	if err := d.lastDraft("", false); err != nil {
		t.Fatal(err)
	}
	d.save(t, "late")
	x := window(t, d, d.m.workspace)
	if got := x.Identity().Draft; got != "as it was" {
		t.Errorf("the draft is %q", got)
	}
	if err := x.lastDraft("the last", true); err != nil {
		t.Fatal(err)
	}
	x.save(t, "late")
	if got := window(t, d, d.m.workspace).Identity().Draft; got != "the last" {
		t.Errorf("the draft is %q", got)
	}
}

// A rule that is allowed for good stands in the settings once; what is allowed in
// the demo stands there never.
func TestAllowKeepsARuleOnce(t *testing.T) { // PERM-2
	d := newTestDesk(t)
	allowed := func() (list []string) {
		t.Helper()
		dr, err := setup.OpenDraft(d.m.settings().Path)
		if err != nil {
			t.Fatal(err)
		}
		if v := dr.Get(setup.Path{"permissions", "allow"}); v != nil {
			if err := json.Unmarshal(v, &list); err != nil {
				t.Fatal(err)
			}
		}
		return list
	}
	for _, r := range []string{"bash(go test ./...)", "bash(ls)", "bash(go test ./...)"} {
		if err := d.Allow(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	d.m.recast(func(p *playing) { p.sample = "/tmp/sample" })
	if err := d.Allow(t.Context(), "bash(rm -rf .)"); !errors.Is(err, errDemoRule) {
		t.Fatalf("the screen says that a rule of the demo's is kept: %v", err)
	}
	if !slices.Contains(d.m.granted, "bash(rm -rf .)") {
		t.Error("it does not hold until the end either")
	}
	if got := allowed(); !slices.Equal(got, []string{"bash(go test ./...)", "bash(ls)"}) {
		t.Errorf("allowed %q", got)
	}
}

// The history is the newest lines; one that is no line of it is left out.
func TestHistoryIsTheNewest(t *testing.T) { // TUI-4
	d := newTestDesk(t)
	if lines, err := d.History(t.Context()); err != nil || len(lines) != 0 {
		t.Fatalf("%q, %v", lines, err)
	}
	var b bytes.Buffer
	for i := range historyLines + 5 {
		fmt.Fprintf(&b, "%q\n", fmt.Sprint("line ", i))
	}
	b.WriteString("torn\n")
	if err := os.WriteFile(d.historyPath(), b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.Remember(t.Context(), "two\nlines"); err != nil {
		t.Fatal(err)
	}
	lines, err := d.History(t.Context())
	if err != nil || len(lines) != historyLines || lines[0] != "line 6" || lines[len(lines)-1] != "two\nlines" {
		t.Errorf("%d lines from %q to %q, %v", len(lines), lines[0], lines[len(lines)-1], err)
	}
}

// A file that has grown long is cut to its newest lines at a start; what other
// windows add meanwhile is kept.
func TestHistoryIsTrimmed(t *testing.T) { // TUI-4
	d := newTestDesk(t)
	fill := func(n int) {
		t.Helper()
		var b bytes.Buffer
		for i := range n {
			fmt.Fprintf(&b, "%q\n", fmt.Sprint("line ", i))
		}
		if err := os.WriteFile(d.historyPath(), b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lines := func() []string {
		t.Helper()
		b, err := os.ReadFile(d.historyPath())
		if err != nil {
			t.Fatal(err)
		}
		return strings.SplitAfter(strings.TrimSuffix(string(b), "\n"), "\n")
	}
	fill(historyMost)
	if _, err := d.History(t.Context()); err != nil || len(lines()) != historyMost {
		t.Errorf("%d lines, %v", len(lines()), err)
	}
	fill(historyMost + 1)
	const added = 200
	var all sync.WaitGroup
	all.Go(func() {
		for i := range added {
			if err := d.Remember(t.Context(), fmt.Sprint("added ", i)); err != nil {
				t.Error(err)
			}
		}
	})
	for range 4 {
		all.Go(func() {
			if got, err := d.History(t.Context()); err != nil || len(got) != historyLines {
				t.Errorf("%d lines, %v", len(got), err)
			}
		})
	}
	all.Wait()
	got := lines()
	n := 0
	for _, l := range got {
		if strings.Contains(l, "added ") {
			n++
		}
	}
	if n != added || len(got) < historyKept || len(got) > historyKept+added {
		t.Errorf("%d lines, of which %d were added", len(got), n)
	}
	fill(historyMost + 1)
	if _, err := d.History(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := lines(); len(got) != historyKept || got[0] != fmt.Sprintf("\"line %d\"\n", historyMost+1-historyKept) {
		t.Errorf("%d lines from %q", len(got), got[0])
	}
	// A few long lines are too much as well; the newest stays, however long.
	for _, size := range []int{historyBytes / 3, historyBytes * 2 / 3} {
		long := strings.Repeat("x", size)
		if err := os.WriteFile(d.historyPath(), fmt.Appendf(nil, "\"1%s\"\n\"2%s\"\n\"3%s\"\n\"4%s\"\n", long, long, long, long), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := d.History(t.Context()); err != nil || len(got) != 4 {
			t.Fatalf("%d lines of %d bytes are read, %v", len(got), size, err)
		}
		if got := lines(); len(got) != 1 || got[0] != `"4`+long+`"` {
			t.Errorf("%d lines of %d bytes are left", len(got), size)
		}
	}
	if st, err := os.Stat(d.historyPath()); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
}

// What another window holds for long is said, and not waited for without end.
func TestLockOfAnotherWindow(t *testing.T) { // REL-3
	d := newTestDesk(t)
	other := flock.New(d.historyPath() + ".lock")
	if ok, err := other.TryLock(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	defer other.Close()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := d.Remember(ctx, "x"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	defer func(was time.Duration) { lockWait = was }(lockWait)
	lockWait = 20 * time.Millisecond
	if err := d.Remember(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), "another window has held ") {
		t.Error(err)
	}
}

// A draft is written beside where it stands, whatever folder for temporary files the
// environment names: others may read that one. // SEC-10, TUI-4
func TestDraftPassesThroughItsFolder(t *testing.T) {
	d := newTestDesk(t)
	temp, long := t.TempDir(), time.Unix(1e9, 0)
	if err := os.Chtimes(temp, long, long); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", temp)
	d.save(t, "unsent")
	if b, err := os.ReadFile(d.draft.path); err != nil || string(b) != "unsent" {
		t.Errorf("%q, %v", b, err)
	}
	if st, err := os.Stat(temp); err != nil || !st.ModTime().Equal(long) {
		t.Errorf("something was in the folder for temporary files (%v)", err)
	}
}

// A preview's text is cut between runes, and at a blank where one is near.
func TestPeekIsCutBetweenRunes(t *testing.T) { // BRW-2, TUI-9
	for text, want := range map[string]string{
		strings.Repeat("é", maxPeekText/2):     strings.Repeat("é", maxPeekText/2),
		"x" + strings.Repeat("é", maxPeekText): "x" + strings.Repeat("é", maxPeekText/2-1) + " …",
		strings.Repeat("€", maxPeekText):       strings.Repeat("€", maxPeekText/3) + " …",
		strings.Repeat("éééé ", maxPeekText):   strings.TrimSuffix(strings.Repeat("éééé ", maxPeekText/9), " ") + " …",
	} {
		if got := peeked(text); got != want {
			t.Errorf("%.20q: %d bytes, the end is %q; want %d, %q", text, len(got), got[max(len(got)-20, 0):], len(want), want[max(len(want)-20, 0):])
		}
	}
}

// Prompts of other folders are in the history, before those of this one: a walk or
// a search from the newest on comes to this folder's first.
func TestHistoryOfThisFolderComesFirst(t *testing.T) { // TUI-4
	d := newTestDesk(t)
	home := d.folder
	if err := os.WriteFile(d.historyPath(), []byte("\"of an earlier version\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	say := func(folder string, n int) {
		t.Helper()
		d.folder = folder
		for i := range n {
			if err := d.Remember(t.Context(), fmt.Sprintf("%s %d", filepath.Base(folder), i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	here := filepath.Base(home)
	say(home, 2)
	say("/other", 2)
	d.folder = home
	want := []string{"of an earlier version", "other 0", "other 1", here + " 0", here + " 1"}
	if got, err := d.History(t.Context()); err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, want %q (%v)", got, want, err)
	}
	// However much was written here, the newest of other folders are found.
	say(home, historyLines)
	say("/other", 1)
	d.folder = home
	got, err := d.History(t.Context())
	if err != nil || len(got) != historyLines || !slices.Contains(got, "other 1") || got[len(got)-1] != fmt.Sprintf("%s %d", here, historyLines-1) {
		t.Errorf("%d lines, the last is %q (%v)", len(got), got[len(got)-1], err)
	}
}

// What completion offers: no hidden folders and no packages, and with git what
// it does not ignore. Settings of a repository run nothing.
func TestFilesForCompletion(t *testing.T) { // TUI-4, SEC-4
	d := newTestDesk(t)
	for _, name := range []string{"a.go", "sub/b.go", ".hidden/c", "node_modules/d.js", "ignored.o"} {
		path := filepath.Join(d.m.workspace, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := func(names ...string) {
		t.Helper()
		got, err := d.Files(t.Context())
		slices.Sort(got)
		if err != nil || !slices.Equal(got, names) {
			t.Errorf("files %q, %v; want %q", got, err, names)
		}
	}
	want("a.go", "ignored.o", "sub/b.go")
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	ran := filepath.Join(t.TempDir(), "ran")
	hook := filepath.Join(t.TempDir(), "hook")
	if err := os.WriteFile(hook, []byte("#!/bin/sh\ntouch "+ran+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "-q"}, {"config", "core.fsmonitor", hook}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = d.m.workspace
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v %s", args, err, out)
		}
	}
	if err := os.WriteFile(filepath.Join(d.m.workspace, ".gitignore"), []byte("*.o\nnode_modules\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	want(".gitignore", ".hidden/c", "a.go", "sub/b.go")
	if _, err := os.Stat(ran); err == nil {
		t.Error("a repository's settings made git run something")
	}
}

// A key that was pasted with its line's end is the key.
func TestKeyIsTrimmed(t *testing.T) { // CLI-3
	d := newTestDesk(t)
	if _, err := d.Take(t.Context(), "openai", " sk-pasted\n"); err != nil {
		t.Fatal(err)
	}
	found := false
	err := filepath.WalkDir(d.m.folders.State, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		found = found || string(b) == "sk-pasted"
		return err
	})
	if err != nil || !found {
		t.Errorf("no private file holds the key alone (%v)", err)
	}
}

// What holds nothing has nothing to go on with.
func TestGoodbyeForNothing(t *testing.T) { // CLI-1
	d := newTestDesk(t)
	var out bytes.Buffer
	if err := d.m.goodbye(&env{err: &out}, d, nil); err != nil || out.Len() > 0 {
		t.Errorf("%q, %v", out.String(), err)
	}
	if d.Lost(t.Context()) {
		t.Error("a session that was not begun is lost")
	}
	// But for a first message that could not be recorded.
	err := d.m.goodbye(&env{err: &out}, d, fmt.Errorf("%w: no space left", harness.ErrLost))
	var x *exitError
	if !errors.As(err, &x) || x.code != exitFailed || !strings.Contains(err.Error(), "is lost: no space left") || out.Len() > 0 {
		t.Errorf("%q, %v", out.String(), err)
	}
}
