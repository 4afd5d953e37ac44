package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"varve/internal/harness/drive"
	"varve/internal/harness/tools"
	"varve/internal/jsonl"
	"varve/internal/session"
)

// runs is a command, done and recorded as [Hands] do it.
func (h *shelf) runs(box *tools.Box, command string) tools.Result {
	h.t.Helper()
	args := must(json.Marshal(map[string]string{"command": command}))
	from := h.moment()
	r := box.Run(context.Background(), tools.Call{ID: "c", Name: "bash", Args: args}, known{sess: h.Session}, nil)
	if changes := h.unrecorded(r.Changes, from); len(changes) > 0 {
		h.record(h.changed(changes, "shell", session.ItemID{}))
	}
	return r
}

func (h *shelf) box() *tools.Box {
	h.t.Helper()
	return must(tools.New(tools.Config{Workspace: h.place.Workspace, Blobs: h.blobs, Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + h.place.StateDir, "GIT_CONFIG_NOSYSTEM=1"}}))
}

func (h *shelf) git(args ...string) string {
	h.t.Helper()
	c := exec.Command("git", append([]string{"-c", "user.name=u", "-c", "user.email=u@example.org", "-c", "commit.gpgsign=false"}, args...)...)
	c.Dir, c.Env = h.place.Workspace, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + h.place.StateDir, "GIT_CONFIG_NOSYSTEM=1"}
	out, err := c.CombinedOutput()
	if err != nil {
		h.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// work is the files of the work tree, without git's own.
func (h *shelf) work() map[string]string {
	out := h.files()
	for name := range out {
		if strings.HasPrefix(name, ".git/") {
			delete(out, name)
		}
	}
	return out
}

// Whatever commands have done to the files of a repository, clean or dirty, tracked or not, between a person's own edits
// and the agent's: a revert gives those of before them, and a rollback what they had made. // BRN-8
func TestCommandsAreTakenBack(t *testing.T) {
	dirs, n := t.TempDir(), 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		h := newShelf(t, filepath.Join(dirs, strconv.Itoa(n)))
		h.t = rt
		box := h.box()
		defer box.Close()
		names := []string{"a", "b", "d/c", "d/e/f", "sp ace", "-x"}
		name := func() string { return "'./" + rapid.SampledFrom(names).Draw(rt, "name") + "'" }
		fresh := 0
		step := func() string {
			fresh++
			a, b := name(), name()
			return rapid.SampledFrom([]string{
				fmt.Sprintf("mkdir -p $(dirname %s) && echo %d >%s", a, fresh, a),
				fmt.Sprintf("mkdir -p $(dirname %s) && echo %d >>%s", a, fresh, a),
				fmt.Sprintf("rm -f %s", a),
				fmt.Sprintf("mkdir -p $(dirname %s) && mv -f %s %s", b, a, b),
				fmt.Sprintf("mkdir -p $(dirname %s) && cp -p %s %s", b, a, b),
				"rm -rf d", "git add -A", "git rm -q --cached " + a, "git checkout -q -- " + a, "git stash -q -u", "git stash pop -q",
				"git -c user.name=u -c user.email=u@example.org commit -qam x", "git reset -q --hard", "touch " + a, "git clean -qfd", "git update-index -q --refresh",
			}).Draw(rt, "step")
		}
		script := func() string {
			s := ""
			for range rapid.IntRange(1, 4).Draw(rt, "steps") {
				s += step() + "; "
			}
			return s + "true"
		}
		hand := func() {
			c := exec.Command("/bin/sh", "-c", "umask 022; exec 2>/dev/null; "+script())
			c.Dir = h.place.Workspace
			if err := c.Run(); err != nil {
				rt.Fatal(err)
			}
		}
		h.git("init", "-q")
		for _, n := range names[:4] {
			h.hand(n, "was "+n+"\n")
		}
		h.git("add", "-A")
		h.git("commit", "-qm", "one")
		hand()
		box.Run(context.Background(), tools.Call{ID: "c", Name: "bash", Args: []byte(`{"command":"true"}`)}, known{sess: h.Session}, nil)
		hand()
		was := h.work()
		q := h.says("one")
		whole := true
		for range rapid.IntRange(1, 4).Draw(rt, "commands") {
			r := h.runs(box, "umask 022; "+script())
			whole = whole && r.Watched
			if rapid.Bool().Draw(rt, "restart") {
				box.Close()
				box = h.box()
			}
		}
		now := h.work()
		if !whole {
			rt.Skip("not all of it was recorded, which is said")
		}
		plan := h.both(h.revert(q))
		if got := h.work(); fmt.Sprint(got) != fmt.Sprint(was) {
			rt.Fatalf("reverted: %q\nwant %q\nwas left %q\nby %+v", got, was, now, plan)
		}
	})
}

// Only commands that may have changed more than was recorded are counted; one of an older log always may. // BRN-8
func TestCommandsNotAllRecorded(t *testing.T) {
	h := newShelf(t, t.TempDir())
	q := h.says("one")
	id := func(n int) session.ItemID { return session.ItemID{Seq: q, Part: n} }
	started := func(n int) session.Fact {
		return session.Fact{Event: session.ToolStarted{Call: id(n), Effects: []string{"exec"}}}
	}
	h.record(started(2), worded(session.ToolFinished{Call: id(2), Watched: true}))
	h.record(started(3), worded(session.ToolInterrupted{Call: id(3), Why: "user", Watched: true}))
	h.record(worded(session.ShellRan{Watched: true}))
	to, err := h.FilesAt(h.revert(q))
	if err != nil {
		t.Fatal(err)
	}
	count := func(want int) {
		t.Helper()
		if f := must(h.PlanFiles(t.Context(), h.place, to)); f.Commands != want {
			t.Errorf("%d commands, not %d", f.Commands, want)
		}
	}
	count(0)
	h.record(started(4), worded(session.ToolFinished{Call: id(4)}))
	h.record(started(5), worded(session.ToolInterrupted{Call: id(5), Why: "lost"}))
	h.record(started(6)) // its program died
	h.record(worded(session.ShellRan{}))
	count(4)
}

func worded(e session.Event) session.Fact {
	return session.Fact{Event: e, Body: []session.Part{{Bytes: []byte("\"watched\":true")}}}
}

// What two windows have seen of one change is recorded once, and what one of them changed further begins where the other
// ended. // BRN-8
func TestTwoWindowsRecordAChangeOnce(t *testing.T) {
	h := newShelf(t, t.TempDir())
	h.hand("a", "a0")
	h.hand("b", "b0")
	q := h.says("one")
	other, err := Open(h.Path(), h.blobs, jsonl.Turn, System{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	put := func(text string) string { return must(h.blobs.Put([]byte(text))) }
	change := func(name, before, after string) tools.Change {
		return tools.Change{Path: h.at(name), Op: tools.Modified, Before: put(before), After: put(after), Mode: 0o644}
	}
	from := h.moment()
	fact := other.changed([]tools.Change{change("a", "a0", "a1"), change("b", "b0", "b1")}, "shell", session.ItemID{})
	if err := other.note(t.Context(), "main", []session.Fact{fact}); err != nil {
		t.Fatal(err)
	}
	got := h.unrecorded([]tools.Change{change("a", "a0", "a1"), change("b", "b0", "b2")}, from)
	if want := []tools.Change{change("b", "b1", "b2")}; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	h.record(h.changed(got, "shell", session.ItemID{}))
	h.hand("a", "a1")
	h.hand("b", "b2")
	h.both(h.revert(q))
	h.holds("a revert", map[string]string{"a": "-rw-r--r-- a0", "b": "-rw-r--r-- b0"})
}

// A command of the user's own is recorded like the model's, and what it may destroy is kept before it starts.
// // BRN-8, LOG-5
func TestUsersOwnCommandIsRecorded(t *testing.T) {
	w := newWorld(t, calls("read", `{"file_path":"a"}`), text("ok"))
	dir := w.opts.Workspace
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	l := w.start()
	say(t, l, "read")
	ended(t, l, 1)
	if err := l.Shell(t.Context(), "cat ../data/blobs/sha256/*/* >kept; echo changed >a"); err != nil {
		t.Fatal(err)
	}
	kept := must(os.ReadFile(filepath.Join(dir, "kept")))
	if !strings.Contains(string(kept), "mine") {
		t.Errorf("kept before it started: %q", kept)
	}
	to, err := l.Session.FilesAt(drive.Revert{Branch: "main", Message: userItems(l.Session, "main")[0]})
	if err != nil {
		t.Fatal(err)
	}
	if f := must(l.RestoreFiles(t.Context(), "main", to)); said(f) != "write a" || f.Commands != 1 {
		t.Errorf("%s, %d commands", said(f), f.Commands)
	}
	if got := must(os.ReadFile(filepath.Join(dir, "a"))); string(got) != "mine" {
		t.Errorf("%q", got)
	}
}
