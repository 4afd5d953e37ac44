package tools

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// git runs git as a person would, in a folder of the workspace.
func (k *bench) git(dir string, args ...string) string {
	k.Helper()
	c := exec.Command("git", append([]string{"-c", "user.name=u", "-c", "user.email=u@example.org", "-c", "commit.gpgsign=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "protocol.file.allow=always"}, args...)...)
	c.Dir = filepath.Join(k.ws, dir)
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + k.ws, "GIT_CONFIG_NOSYSTEM=1"}
	out, err := c.CombinedOutput()
	if err != nil {
		k.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return string(out)
}

func (k *bench) sh(script string) {
	k.Helper()
	c := exec.Command("/bin/sh", "-ec", script)
	c.Dir = k.ws
	if out, err := c.CombinedOutput(); err != nil {
		k.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// inGit is a bench whose workspace is a repository with some history. git's own notes of the files are older than a tick.
func inGit(t testing.TB) *bench {
	k := newBench(t)
	k.git(".", "init", "-q", "-b", "main")
	k.sh(`mkdir -p d/e s; echo a >a; echo b >b; echo c >d/c; echo e >d/e/e; ln -s a link; echo '*.o
out/' >.gitignore; printf 'x\000y' >'sp ace'; echo nl >'n
l'; echo x >exec; chmod +x exec`)
	k.git(".", "add", "-A")
	k.git(".", "commit", "-qm", "one")
	k.sh(`touch -d '2020-01-01' a b d/c d/e/e .gitignore 'sp ace' exec 2>/dev/null || touch -t 202001010000 a b d/c d/e/e .gitignore 'sp ace' exec`)
	k.git(".", "update-index", "-q", "--refresh")
	k.ages()
	return k
}

// ages waits until the files of the workspace are older than a tick: no timer, their times can't be set.
func (k *bench) ages() {
	for last := time.Now(); time.Since(last) <= tick; {
		runtime.Gosched()
	}
}

// changes is what a result says was changed: op, path, and the texts before and after.
func (k *bench) changes(r Result) (out []string) {
	text := func(sha string) string {
		if sha == "" {
			return "-"
		}
		b, err := k.blobs.Get(sha)
		if err != nil {
			k.Fatal(err)
		}
		return fmt.Sprintf("%q", b)
	}
	for _, c := range r.Changes {
		path := strings.ReplaceAll(strings.TrimPrefix(c.Path, k.ws+"/"), "\n", "␊")
		line := fmt.Sprintf("%s %s %s %s", c.Op, path, text(c.Before), text(c.After))
		if c.MissingWhy != "" {
			line += " (" + c.MissingWhy + ")"
		}
		out = append(out, line)
	}
	return out
}

// What a command does to files is found by what is there before and after. // BRN-8
func TestWhatCommandsChange(t *testing.T) {
	for _, c := range []struct {
		name, before, command string
		want                  []string
		part                  bool // not all of it is told
	}{
		{name: "nothing", command: "cat a"},
		{name: "touched", command: "touch a; cat a >x.o; cat b >c; cat c >b; rm c"},
		{name: "written", command: "echo A >a", want: []string{`modify a "a\n" "A\n"`}},
		{name: "same size", command: "printf 'B\n' >b", want: []string{`modify b "b\n" "B\n"`}},
		{name: "same size and time", command: "printf 'B\n' >b; touch -r a b", want: []string{`modify b "b\n" "B\n"`}},
		{name: "deleted", command: "rm a; rm -r d", want: []string{`delete a "a\n" -`, `delete d/c "c\n" -`, `delete d/e/e "e\n" -`}},
		{name: "renamed", command: "mv a z; git mv b y", want: []string{`delete a "a\n" -`, `delete b "b\n" -`, `create y - "b\n"`, `create z - "a\n"`}},
		{name: "folder renamed", command: "mv d f", want: []string{`delete d/c "c\n" -`, `delete d/e/e "e\n" -`, `create f/c - "c\n"`, `create f/e/e - "e\n"`}},
		{name: "created", command: "mkdir -p n/m; echo 1 >n/m/o; echo 2 >new; echo 3 >d/e/f", want: []string{`create d/e/f - "3\n"`, `create n/m/o - "1\n"`, `create new - "2\n"`}},
		{name: "created and added", command: "mkdir n; echo 1 >n/o; git add n", want: []string{`create n/o - "1\n"`}},
		{name: "names", command: "echo 1 >'sp ace'; rm 'n\nl'; echo 2 >'q\"\\'", want: []string{`delete n␊l "nl\n" -`, `create q"\ - "2\n"`, `modify sp ace "x\x00y" "1\n"`}},
		{name: "ignored", command: "echo 1 >a.o; mkdir out; echo 2 >out/x"},
		{name: "no name of text", command: `echo 1 >"$(printf 'f\377')"`, part: true},
		{name: "tracked and ignored", before: "mkdir out; echo 1 >out/t; git add -f out/t", command: "echo 2 >out/t; echo 3 >out/u", want: []string{`modify out/t "1\n" "2\n"`}},
		{name: "changed that was ignored", before: "echo 1 >t.o", command: "echo 2 >t.o; git add -f t.o", want: []string{`modify t.o - "2\n" (git did not track it before)`}},
		{name: "dirty", before: "echo dirty >a", command: "echo A >a", want: []string{`modify a "dirty\n" "A\n"`}},
		{name: "dirty, put back", before: "echo dirty >a", command: "git checkout -q a", want: []string{`modify a "dirty\n" "a\n"`}},
		{name: "untracked", before: "echo u >u", command: "echo U >u", want: []string{`modify u "u\n" "U\n"`}},
		{name: "untracked, deleted", before: "mkdir n; echo u >n/u", command: "rm -r n", want: []string{`delete n/u "u\n" -`}},
		{name: "committed", before: "echo dirty >a", command: "git -c user.name=u -c user.email=u@example.org commit -qam two; git rm -q --cached b"},
		{name: "another branch", before: "git checkout -qb two; echo 2 >a; git rm -q b; git add -A; git -c user.name=u -c user.email=u@example.org commit -qm two; git checkout -q main", command: "git checkout -q two", want: []string{`modify a "a\n" "2\n"`, `delete b "b\n" -`}},
		{name: "stash", before: "echo dirty >a", command: "git -c user.name=u -c user.email=u@example.org stash -q", want: []string{`modify a "dirty\n" "a\n"`}},
		{name: "mode", command: "chmod +x a", part: true},
		{name: "link", command: "rm link; ln -s b link; rm a; ln -s b a; ln -s b new", want: []string{
			`modify a "a\n" - (it is a symbolic link)`, `modify link - - (it is a symbolic link)`, `create new - - (it is a symbolic link)`,
		}},
		{name: "link to file", command: "rm link; echo l >link", want: []string{`modify link - "l\n" (it is a symbolic link)`}},
		{name: "file to folder and back", command: "rm a; mkdir a; echo 1 >a/x; rm -r d; echo 2 >d", want: []string{
			`delete a "a\n" -`, `create a/x - "1\n"`, `create d - "2\n"`, `delete d/c "c\n" -`, `delete d/e/e "e\n" -`,
		}},
		{name: "folder to link", command: "mv d ../t-$$ && ln -s ../t-$$ d; rm -r ../t-$$", want: []string{`create d - - (it is a symbolic link)`, `delete d/c "c\n" -`, `delete d/e/e "e\n" -`}},
		{name: "large", before: "head -c 2000000 /dev/zero >big", command: "echo 1 >>big", want: []string{`modify big - "`, `(it is larger than`}},
		{name: "submodule", before: "git init -q ../sub-$$; git -C ../sub-$$ -c user.name=u -c user.email=u@example.org commit -q --allow-empty -m x; git -c protocol.file.allow=always submodule --quiet add ../sub-$$ m; rm -rf ../sub-$$; echo 1 >m/x; git -C m add x", command: "echo 2 >m/x; echo 3 >m/y", want: []string{`modify m/x "1\n" "2\n"`, `create m/y - "3\n"`}},
		{name: "nested repository", before: "git init -q n; echo 1 >n/x; echo '*.p' >n/.gitignore", command: "echo 2 >n/x; echo 3 >n/y.p; echo 4 >n/z.o", want: []string{`modify n/x "1\n" "2\n"`, `create n/z.o - "4\n"`}},
		{name: "conflict", before: "git checkout -qb two; echo 2 >a; git -c user.name=u -c user.email=u@example.org commit -qam two; git checkout -q main; echo 3 >a; git -c user.name=u -c user.email=u@example.org commit -qam three; git -c user.name=u -c user.email=u@example.org merge -q two || :", command: "echo 4 >a", want: []string{`modify a "<<<<<<< HEAD\n3\n=======\n2\n>>>>>>> two\n" "4\n"`}},
		{name: "filter that keeps the size", before: `git config filter.rot.clean 'tr a-z n-za-m'; git config filter.rot.smudge 'tr a-z n-za-m'; echo '*.rot filter=rot' >.gitattributes; echo hello >x.rot; touch -r a x.rot; git add -A`, command: "echo 1 >x.rot; echo A >a", want: []string{
			`modify a "a\n" "A\n"`, `modify x.rot - "1\n" (git holds it in another form than the file had)`,
		}},
		{name: "line endings", before: `git config core.autocrlf true; printf 'a\r\nb\r\n' >x; touch -r a x; git add x`, command: "echo 1 >x; echo A >a", want: []string{
			`modify a "a\n" "A\n"`, `modify x - "1\n" (git holds it in another form than the file had)`,
		}},
		{name: "objects gone", command: "rm -rf .git/objects/*; echo A >a", want: []string{`modify a - "A\n" (git does not hold it any more, or it is larger than 16.0 MB)`}},
		{name: "linked work tree", before: "git worktree add -q ../w-$$ -b w; cp -r ../w-$$/.git .git-file; rm -rf ../m-$$; mv .git ../m-$$; sed \"s|$PWD/.git|$PWD/../m-$$|\" .git-file >.git; rm .git-file; git -c gc.auto=0 status -s >/dev/null", command: "echo A >a", want: []string{`modify a "a\n" "A\n"`}},
		{name: "index version 4", before: "git update-index --index-version 4", command: "rm d/e/e; echo A >a", want: []string{`modify a "a\n" "A\n"`, `delete d/e/e "e\n" -`}},
		{name: "skip worktree", before: "git update-index --skip-worktree a; git update-index --assume-unchanged b; echo A >a; echo B >b", command: "echo 1 >a; echo 2 >b", want: []string{`modify a "A\n" "1\n"`, `modify b "B\n" "2\n"`}},
		{name: "split index", before: "git update-index --split-index", command: "echo A >a", part: true},
		{name: "sha-256", before: "rm -rf .git; git init -q --object-format=sha256; git add -A", command: "echo A >a", part: true},
		{name: "no repository", before: "rm -rf .git", command: "echo A >a", part: true},
		{name: "many", command: "for i in $(seq 1100); do echo $i >d/$i; done", part: true},
		{name: "left running", command: "echo A >a; sleep 30 >/dev/null 2>&1 &", want: []string{`modify a "a\n" "A\n"`}, part: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "no name of text" && runtime.GOOS != "linux" {
				t.Skip("the file system takes no such name")
			}
			t.Parallel()
			k := inGit(t)
			if c.before != "" {
				k.sh("export HOME=$PWD GIT_CONFIG_NOSYSTEM=1; " + c.before)
				k.ages()
			}
			r := k.do("bash", m{"command": c.command})
			got := k.changes(r)
			if c.name == "large" {
				if len(got) != 1 || !strings.HasPrefix(got[0], c.want[0]) || !strings.Contains(got[0], c.want[1]) {
					t.Errorf("%.100q", got)
				}
			} else if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("%s\n%s", d, r.Text)
			}
			if r.Watched == c.part {
				t.Errorf("watched: %v\n%s", r.Watched, r.Text)
			}
			if r := k.do("bash", m{"command": "true"}); len(r.Changes) > 0 {
				t.Errorf("told twice: %q", k.changes(r))
			}
		})
	}
}

// What git ignored, and what it was told to look at meanwhile, was not made by the command. // BRN-8
func TestWhatComesIntoView(t *testing.T) {
	k := inGit(t)
	k.sh("echo 1 >t.o; echo 1 >u.o; echo 1 >d/e/v.o; mkdir out; echo 2 >out/x")
	l := k.files.begin(t.Context(), nil)
	for _, d := range k.files.folders {
		d.unsure = false // as if they were older
	}
	k.sh(": >.gitignore; git add -f t.o")
	k.files.since = time.Now().Add(time.Hour) // those are older than the command, and not only by a moment
	got, whole := l.end(t.Context())
	if d := cmp.Diff([]string{`modify .gitignore "*.o\nout/\n" ""`}, k.changes(Result{Changes: got})); d != "" || !whole {
		t.Error(d, whole)
	}
	r := k.do("bash", m{"command": "rm t.o; echo 3 >u.o; echo 4 >out/y; echo 5 >d/e/v.o"})
	if d := cmp.Diff([]string{`modify d/e/v.o "1\n" "5\n"`, `create out/y - "4\n"`, `delete t.o "1\n" -`, `modify u.o "1\n" "3\n"`}, k.changes(r)); d != "" {
		t.Error(d)
	}
}

// A file that may have changed and look the same is read again; one that git has noted while it could still change
// unseen is not taken for what git holds. // BRN-8
func TestLooksAlike(t *testing.T) {
	k := inGit(t)
	k.put("u", "1")
	l := k.files.begin(t.Context(), nil)
	k.put("u", "2")
	k.files.file(k.path("u")).sig = sigAt(k.path("u")) // as if it had the same times
	got, _ := l.end(t.Context())
	if d := cmp.Diff([]string{`modify u "1" "2"`}, k.changes(Result{Changes: got})); d != "" {
		t.Error(d)
	}

	sec := int64(1_600_000_000)
	now := sig{ino: 1<<32 + 7, mode: 0o100644, size: 5, mtime: sec*1e9 + 3, ctime: sec*1e9 + 4}
	e := tracked{mode: 0o100644, size: 5, ino: 7, mtime: [2]uint32{uint32(sec), 3}, ctime: [2]uint32{uint32(sec), 4}, noted: true}
	r := &gitat{index: sig{mtime: sec*1e9 + 100}}
	for name, c := range map[string]struct {
		yes    bool
		change func(*gitat, *tracked, *sig)
	}{
		"the same":           {true, func(*gitat, *tracked, *sig) {}},
		"seconds alone":      {true, func(_ *gitat, e *tracked, _ *sig) { e.mtime[1], e.ctime[1] = 0, 0 }},
		"as another tool":    {true, func(_ *gitat, e *tracked, _ *sig) { e.ino, e.ctime = 0, [2]uint32{} }},
		"size":               {false, func(_ *gitat, _ *tracked, s *sig) { s.size++ }},
		"mtime":              {false, func(_ *gitat, _ *tracked, s *sig) { s.mtime++ }},
		"ctime":              {false, func(_ *gitat, _ *tracked, s *sig) { s.ctime++ }},
		"inode":              {false, func(_ *gitat, _ *tracked, s *sig) { s.ino++ }},
		"mode":               {false, func(_ *gitat, _ *tracked, s *sig) { s.mode |= 0o100 }},
		"link":               {false, func(_ *gitat, _ *tracked, s *sig) { s.mode = 0o120644 }},
		"not noted":          {false, func(_ *gitat, e *tracked, _ *sig) { e.noted = false }},
		"racy":               {false, func(r *gitat, _ *tracked, s *sig) { r.index.mtime = s.mtime }},
		"changed a tick ago": {false, func(_ *gitat, e *tracked, s *sig) { s.ctime = time.Now().UnixNano(); e.ctime = [2]uint32{} }},
	} {
		r, e, now := *r, e, now
		c.change(&r, &e, &now)
		if got := r.vouches(&e, now); got != c.yes {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// What the session has read is watched without git, and nothing outside the workspace is. // BRN-8
func TestWhatWasReadIsWatched(t *testing.T) {
	k := newBench(t)
	k.sh("echo a >a; echo b >b; echo o >../out-$$; ln ../out-$$ l")
	k.do("read", m{"file_path": "a"})
	k.do("write", m{"file_path": "w", "content": "w\n"})
	r := k.do("bash", m{"command": "echo A >a; echo B >b; rm w"})
	if d := cmp.Diff([]string{`modify a "a\n" "A\n"`, `delete w "w\n" -`}, k.changes(r)); d != "" || r.Watched {
		t.Error(d)
	}
	// The person's own edit between two commands is no command's.
	k.sh("echo mine >a")
	r = k.do("bash", m{"command": "echo A >>a"})
	if d := cmp.Diff([]string{`modify a "mine\n" "mine\nA\n"`}, k.changes(r)); d != "" {
		t.Error(d)
	}
}

// One change is told once, whoever runs beside. // BRN-8
func TestCommandsBesideEachOther(t *testing.T) {
	k := inGit(t)
	ctx := context.Background()
	one := k.files.begin(ctx, nil)
	k.sh("echo 1 >a")
	two := k.files.begin(ctx, nil)
	k.sh("echo 2 >b")
	k.do("read", m{"file_path": "d/c"})
	if r := k.do("edit", m{"file_path": "d/c", "old_string": "c", "new_string": "tool"}); r.IsError {
		t.Fatalf("%s", r.Text)
	}
	a, whole := two.end(ctx)
	k.sh("echo 3 >a; echo more >>d/c")
	b, whole2 := one.end(ctx)
	if !whole || !whole2 {
		t.Error(whole, whole2)
	}
	got := append(k.changes(Result{Changes: a}), k.changes(Result{Changes: b})...)
	want := []string{`modify a "a\n" "1\n"`, `modify b "b\n" "2\n"`, `modify a "1\n" "3\n"`, `modify d/c "tool\n" "tool\nmore\n"`}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// Nothing that a repository says is run, and what git holds in another form is not taken for a file's content. // SEC-4
func TestHostileRepositoryRunsNothing(t *testing.T) {
	k := newBench(t)
	k.sh(`mkdir hooks bin
printf '#!/bin/sh\ntouch "%s/ran-$(basename "$0")"\nexit 1\n' "$PWD" >evil; chmod +x evil
for x in fsmonitor clean process smudge textconv ext ssh pager hooksh alternate credential; do cp evil bin/$x; done
for h in post-index-change pre-auto-gc reference-transaction; do cp evil hooks/$h; done
cp evil bin/git`)
	k.git(".", "init", "-q", "-b", "main")
	k.sh("echo aaaa >a.rot; echo b >b; echo a >d.txt")
	k.git(".", "add", "a.rot", "b", "d.txt")
	k.git(".", "commit", "-qm", "one")
	k.sh(fmt.Sprintf(`B=%s/bin
cat >>.git/config <<X
[core]
	fsmonitor = $B/fsmonitor
	hooksPath = %s/hooks
	sshCommand = $B/ssh
	pager = $B/pager
	alternateRefsCommand = $B/alternate
	untrackedCache = true
[filter "evil"]
	clean = $B/clean
	smudge = $B/smudge
	process = $B/process
	required = true
[diff]
	external = $B/ext
[diff "evil"]
	textconv = $B/textconv
[alias]
	cat-file = !$B/ext
	status = !$B/ext
[credential]
	helper = $B/credential
[include]
	path = ../more
[extensions]
	partialClone = origin
[remote "origin"]
	url = ext::$B/ssh
	promisor = true
[protocol "ext"]
	allow = always
X
printf '[core]\n\tfsmonitor = %%s/fsmonitor\n' $B >more
echo '*.rot filter=evil diff=evil' >.gitattributes`, k.ws, k.ws))
	k.Env = append(k.Env, "GIT_DIR=/nowhere", "GIT_EXTERNAL_DIFF="+k.ws+"/bin/ext", "GIT_SSH_COMMAND="+k.ws+"/bin/ssh", "GIT_EXEC_PATH="+k.ws+"/bin")
	k.Env[0] = "PATH=" + k.ws + "/bin:" + os.Getenv("PATH")
	r := k.do("bash", m{"command": "echo zzzz >a.rot; rm b; (rm -f .git/objects/*/*; echo x >d.txt)"})
	for _, c := range k.changes(r) {
		if strings.Contains(c, "ran-") {
			t.Error(c)
		}
	}
	if left, err := filepath.Glob(k.path("ran-*")); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
	if len(r.Changes) != 3 {
		t.Errorf("%q", k.changes(r))
	}
}
