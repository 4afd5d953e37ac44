package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"varve/internal/harness/tools"
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
