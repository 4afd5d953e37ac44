package harness

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"varve/internal/content"
	"varve/internal/harness/drive"
	"varve/internal/harness/tools"
	"varve/internal/jsonl"
	"varve/internal/session"
)

// A shelf is a session without a model in a real folder: what its tools did is
// done and recorded as they do it.
type shelf struct {
	t interface {
		Helper()
		Fatal(...any)
		Fatalf(string, ...any)
	}
	*Session
	disk   *recorder
	place  Place
	branch string
}

func newShelf(t *testing.T, dir string) *shelf {
	h := &shelf{t: t, disk: &recorder{}, place: Place{StateDir: filepath.Join(dir, "state"), Workspace: filepath.Join(dir, "w")}, branch: "main"}
	if err := os.MkdirAll(h.place.Workspace, 0o700); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	h.Session = newOn(h.disk, PathFor(data, h.place.Workspace, "s"), content.Open(data), jsonl.Turn, System{})
	h.record(session.Fact{Event: session.SessionCreated{Format: session.Format, ID: "s", Workspace: h.place.Workspace}})
	return h
}

func (h *shelf) record(facts ...session.Fact) session.Seq {
	h.t.Helper()
	if err := h.note(context.Background(), h.branch, facts); err != nil {
		h.t.Fatal(err)
	}
	return h.Head()
}

// says is a message of the user's, and its turn.
func (h *shelf) says(words string) session.Seq {
	h.t.Helper()
	q := h.record(session.Fact{Event: session.UserSaid{Via: "prompt", Text: &session.Text{B: 0}}, Body: []session.Part{{Bytes: []byte(words)}}})
	h.record(session.Fact{Event: session.TurnEnded{Turn: q, Status: "completed"}})
	return q
}

func (h *shelf) at(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(h.place.Workspace, name)
}

// hand changes a file, and nobody records it.
func (h *shelf) hand(name, text string) {
	h.t.Helper()
	err := os.MkdirAll(filepath.Dir(h.at(name)), 0o700)
	if err == nil {
		err = os.WriteFile(h.at(name), []byte(text), 0o644)
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// write is a tool that writes a file.
func (h *shelf) write(name, text string) {
	h.t.Helper()
	c := tools.Change{Path: h.at(name), Op: tools.Created, After: must(h.blobs.Put([]byte(text))), Mode: 0o644}
	if was, err := os.ReadFile(h.at(name)); err == nil {
		c.Op, c.Before = tools.Modified, must(h.blobs.Put(was))
	}
	h.hand(name, text)
	h.record(h.changed([]tools.Change{c}, "tool", session.ItemID{}))
}

// remove is a tool that deletes a file.
func (h *shelf) remove(name string) {
	h.t.Helper()
	c := tools.Change{Path: h.at(name), Op: tools.Deleted, Before: must(h.blobs.Put(must(os.ReadFile(h.at(name)))))}
	if err := os.Remove(h.at(name)); err != nil {
		h.t.Fatal(err)
	}
	h.record(h.changed([]tools.Change{c}, "tool", session.ItemID{}))
}

// both does an operation, and takes the files along; what was planned before is
// what is done.
func (h *shelf) both(op drive.Operation) Files {
	h.t.Helper()
	to, err := h.FilesAt(op)
	if err != nil {
		h.t.Fatal(err)
	}
	plan := must(h.PlanFiles(context.Background(), h.place, to))
	out, err := h.Operate(context.Background(), h.place.StateDir, op)
	if err != nil {
		h.t.Fatal(err)
	}
	h.branch = out.Branch
	files, err := h.RestoreFiles(context.Background(), h.place, out.Branch, to)
	if err != nil {
		h.t.Fatal(err)
	}
	if !reflect.DeepEqual(files.Steps, plan.Steps) {
		h.t.Fatalf("planned %+v, done %+v", plan.Steps, files.Steps)
	}
	return files
}

// alone takes the files to where an operation would, without it.
func (h *shelf) alone(op drive.Operation) Files {
	h.t.Helper()
	to, err := h.FilesAt(op)
	if err != nil {
		h.t.Fatal(err)
	}
	return h.restore(to)
}

func (h *shelf) restore(to drive.FilesTo) Files {
	h.t.Helper()
	files, err := h.RestoreFiles(context.Background(), h.place, h.branch, to)
	if err != nil {
		h.t.Fatal(err)
	}
	return files
}

func (h *shelf) revert(q session.Seq) drive.Operation {
	return drive.Revert{Branch: h.branch, Message: q}
}

// folder is all that is in a folder: mode and content of each file.
func folder(dir string) map[string]string {
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		out[strings.TrimPrefix(path, dir+"/")] = must(d.Info()).Mode().String() + " " + string(must(os.ReadFile(path)))
		return nil
	})
	if err != nil {
		panic(err)
	}
	return out
}

func (h *shelf) files() map[string]string { return folder(h.place.Workspace) }

// said is a restore in short.
func said(f Files) string {
	var out []string
	for _, s := range f.Steps {
		words := s.Act + " " + filepath.Base(s.Path)
		if s.Why != "" {
			words += ": " + s.Why
		}
		out = append(out, words)
	}
	return strings.Join(out, ", ")
}

func (h *shelf) wants(what, want string, got Files) {
	h.t.Helper()
	if said(got) != want {
		h.t.Fatalf("%s: %s\nwant %s", what, said(got), want)
	}
}

func (h *shelf) holds(what string, want map[string]string) {
	h.t.Helper()
	if got := h.files(); !reflect.DeepEqual(got, want) {
		h.t.Fatalf("%s: the folder holds %q\nwant %q", what, got, want)
	}
}

// Files go back with a revert and come again with the rollback, to the byte and
// with their modes, whatever was done in between; what is done is written down
// first. // BRN-8, BRN-5
func TestFilesGoBackAndForth(t *testing.T) {
	h := newShelf(t, t.TempDir())
	h.hand("kept", "not the session's")
	h.hand("bin", "\x00\xff\xfe")
	first := h.says("one")
	h.write("a", "a1")
	h.write("bin", "\x00\x01")
	at1 := h.files()
	second := h.says("two")
	h.write("a", "a2")
	h.write("a", "a3")
	h.write("deep/er", "new")
	h.remove("bin")
	if err := os.Chmod(h.at("deep/er"), 0o750); err != nil {
		t.Fatal(err)
	}
	at2 := h.files()

	f := h.both(h.revert(second))
	h.wants("a revert", "write a, write bin, delete er", f)
	h.holds("a revert", at1)
	if e := must(h.Entry(f.Restore)); e.Event.(session.RestorePlanned).To != second-1 || e.Branch != "main" {
		t.Errorf("%+v", e)
	}
	var told []string
	for _, e := range must(h.Entries(f.Restore-1, 100)) {
		told = append(told, e.Type)
		switch ev := e.Event.(type) {
		case session.FilesChanged:
			if ev.By != "restore" || ev.N != 3 {
				t.Errorf("%+v", ev)
			}
		case session.RestoreFinished:
			if done := string(must(h.Load(e.Seq, ev.Done.B))); ev.Plan != f.Restore || !strings.Contains(done, h.at("a")) {
				t.Errorf("%+v %s", ev, done)
			}
		}
	}
	if want := []string{"restore.planned", "files.changed", "restore.finished"}; !slices.Equal(told, want) {
		t.Errorf("%q", told)
	}
	h.says("other")
	h.write("a", "b2")
	h.write("only here", "x")
	h.wants("a rollback", "write a, delete bin, write er, delete only here", h.both(drive.RollBack{Branch: "main", Label: "v1"}))
	h.holds("a rollback", at2)
	h.wants("again", "", h.alone(drive.RollBack{Branch: "main", Label: "v1"}))
	h.wants("to the beginning", "delete a, write bin, delete er", h.both(h.revert(first)))
	if got := h.files(); len(got) != 2 || got["bin"] != "-rw-r--r-- \x00\xff\xfe" {
		t.Errorf("%q", got)
	}
}

// What is not as the session left it is left, each with its reason; the rest is
// done. // BRN-8, SEC-3
func TestWhatIsLeft(t *testing.T) {
	dir := t.TempDir()
	h := newShelf(t, dir)
	q := h.says("one")
	for _, name := range []string{"good", "byhand", "gone", "linked", "under/link", "folder", "lost", "protected/x"} {
		h.hand(name, "was "+name)
		h.write(name, "is "+name)
	}
	h.place.Protected = []string{h.at("protected")}
	outside := filepath.Join(dir, "outside")
	h.write(outside, "outside")
	h.record(h.changed([]tools.Change{{Path: h.at("big"), Op: tools.Modified, MissingWhy: "larger than 50 MiB"}}, "tool", session.ItemID{}))

	h.hand("byhand", "mine")
	h.hand("big", "big")
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(os.Remove(h.at("gone")))
	check(os.Remove(h.at("linked")))
	h.hand(filepath.Join(dir, "elsewhere"), "is linked")
	check(os.Symlink(filepath.Join(dir, "elsewhere"), h.at("linked")))
	check(os.Rename(h.at("under"), filepath.Join(dir, "moved")))
	check(os.Symlink(filepath.Join(dir, "moved"), h.at("under")))
	check(os.Remove(h.at("folder")))
	check(os.Mkdir(h.at("folder"), 0o700))
	check(os.Remove(must(h.blobs.Path(must(h.blobs.Put([]byte("was lost")))))))
	before := folder(dir)

	want := "leave outside: outside the workspace, leave big: larger than 50 MiB, leave byhand: changed since, leave folder: is a folder, " +
		"leave gone: changed since, write good, leave linked: is a link, or is reached through one, leave lost: its content is not kept any more, " +
		"leave x: belongs to Varve itself, leave link: is a link, or is reached through one"
	h.wants("a revert", want, h.both(h.revert(q)))
	after := folder(dir)
	if got := after["w/good"]; got != "-rw-r--r-- was good" {
		t.Errorf("good: %q", got)
	}
	for name, was := range before {
		if name != "w/good" && !strings.HasPrefix(name, "data/") && !strings.HasPrefix(name, "state/") && after[name] != was {
			t.Errorf("%s was touched: %q", name, after[name])
		}
	}
}

// What a person did before the session changed a file again stays, also where
// it did so because a restore had left the file. // BRN-8
func TestHandsWorkStays(t *testing.T) {
	h := newShelf(t, t.TempDir())
	h.says("one")
	h.write("a", "a1")
	second := h.says("two")
	h.write("a", "a2")
	h.hand("a", "mine")
	h.wants("a revert", "leave a: changed since", h.both(h.revert(second)))
	third := h.says("three")
	h.write("a", "mine, and more")
	h.wants("the next", "write a", h.both(h.revert(third)))
	h.holds("the next", map[string]string{"a": "-rw-r--r-- mine"})
}

// What an operation on the conversation alone has left on the disk is no
// business of the next one. // BRN-8, SES-16
func TestFilesThatWereLeftAreKept(t *testing.T) {
	h := newShelf(t, t.TempDir())
	q := h.says("one")
	h.write("big", "work")
	if _, err := h.Operate(t.Context(), h.place.StateDir, h.revert(q)); err != nil {
		t.Fatal(err)
	}
	next := h.says("again")
	h.write("small", "x")
	h.wants("the next revert", "delete small", h.both(h.revert(next)))
	// And where the person wants them to go after all, they go.
	h.wants("files alone", "delete big", h.alone(h.revert(q)))
}

// Two branches keep different contents of one file, and each can be had. // BRN-8, BRN-3
func TestFilesOfForks(t *testing.T) {
	h := newShelf(t, t.TempDir())
	h.says("one")
	h.write("a", "a1")
	at1 := h.files()
	second := h.says("two")
	h.write("a", "main's")
	main := h.files()
	h.both(drive.Fork{From: session.Reference{Branch: "main", Seq: second, Select: "before"}})
	h.holds("a fork", at1)
	if h.branch != "b2" || h.State("b2").Branch.Head == 0 {
		t.Fatal(h.branch)
	}
	h.says("in the fork")
	h.write("a", "b2's")
	h.write("only", "b2")
	fork := h.files()
	head := func(branch string) drive.Operation {
		return drive.Fork{From: session.Reference{Branch: branch, Select: "head"}}
	}
	h.branch = "main"
	f := h.alone(head("main"))
	h.wants("to main", "write a, delete only", f)
	h.holds("to main", main)
	// From now on main's files are these; b2's are where it left them.
	h.branch = "b2"
	h.wants("to b2", "write a, write only", h.alone(head("b2")))
	h.holds("to b2", fork)
	h.alone(head("main"))
	h.holds("and back", main)
}

// A restore can be taken back, and that too; not where the files were changed
// after it. // BRN-8
func TestRestoreIsTakenBack(t *testing.T) {
	h := newShelf(t, t.TempDir())
	q := h.says("one")
	h.hand("a", "a0")
	h.write("a", "a1")
	h.write("b", "b1")
	was := h.files()
	f := h.alone(h.revert(q))
	h.wants("files alone", "write a, delete b", f)
	if users := userItems(h.Session, "main"); len(users) != 1 {
		t.Errorf("the conversation went along: %v", users)
	}
	back := h.files()
	undo := h.restore(drive.FilesTo{UndoOf: f.Restore})
	h.wants("taken back", "write a, write b", undo)
	h.holds("taken back", was)
	if ev := must(h.Entry(undo.Restore)).Event.(session.RestorePlanned); ev.UndoOf != f.Restore {
		t.Errorf("%+v", ev)
	}
	h.wants("taken back twice", "", h.restore(drive.FilesTo{UndoOf: f.Restore}))
	again := h.restore(drive.FilesTo{UndoOf: undo.Restore})
	h.holds("that too", back)
	h.write("a", "later")
	h.wants("after a change", "leave a: changed since, write b", h.restore(drive.FilesTo{UndoOf: again.Restore}))
	if _, err := h.RestoreFiles(t.Context(), h.place, "main", drive.FilesTo{UndoOf: 2}); !errors.Is(err, ErrNoRestore) {
		t.Error(err)
	}
}

// crashes plans a restore, does the first n steps, and dies.
func (h *shelf) crashes(to drive.FilesTo, n int) {
	h.t.Helper()
	box := must(tools.New(tools.Config{Workspace: h.place.Workspace, Blobs: h.blobs}))
	defer box.Close()
	f, err := h.planFiles(context.Background(), box, to)
	if err != nil {
		h.t.Fatal(err)
	}
	h.record(plannedFiles(session.RestorePlanned{To: to.At, UndoOf: to.UndoOf}, f.Steps))
	for _, s := range f.Steps[:min(n, len(f.Steps))] {
		if s.Act != drive.LeaveFile {
			if _, err := h.putBack(context.Background(), box, s); err != nil {
				h.t.Fatal(err)
			}
		}
	}
}

// After a crash in the middle of a restore nothing happens by itself. The next
// one sees what was done, and every state can still be had. // BRN-8, LOG-5, LOG-14
func TestCrashInARestore(t *testing.T) {
	for done := range 4 {
		h := newShelf(t, t.TempDir())
		for _, name := range []string{"a", "b", "c"} {
			h.hand(name, name+"0")
		}
		before := h.files()
		q := h.says("one")
		for _, name := range []string{"a", "b", "c"} {
			h.write(name, name+"1")
		}
		was := h.files()
		to, err := h.FilesAt(h.revert(q))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.Operate(t.Context(), h.place.StateDir, h.revert(q)); err != nil {
			t.Fatal(err)
		}
		h.crashes(to, done)
		half := h.files()

		head := h.Head()
		s := must(openOn(&recorder{}, h.Path(), h.blobs, jsonl.Turn, System{}))
		h.Session = s
		if _, err := h.Operate(t.Context(), h.place.StateDir, drive.Retitle{Branch: "main", Title: []byte("x")}); err != nil {
			t.Fatal(err)
		}
		h.holds("opened", half)
		if h.Head() != head+1 {
			t.Errorf("opening wrote %d events", h.Head()-head-1)
		}
		if done%2 == 0 { // finished first, or taken back from where it stopped
			h.restore(to)
			h.holds("finished", before)
		}
		h.both(drive.RollBack{Branch: "main", Label: "v1"})
		h.holds("rolled back after "+strconv.Itoa(done), was)
		h.both(h.revert(q))
		h.holds("and reverted", before)
	}
}

// The disk is looked at again just before each file: what came between the plan
// and the deed is not touched. // BRN-8, SEC-3
func TestLookedAtAgain(t *testing.T) {
	h := newShelf(t, t.TempDir())
	h.hand("a", "a0")
	q := h.says("one")
	h.write("a", "a1")
	h.write("b", "b1")
	to, err := h.FilesAt(h.revert(q))
	if err != nil {
		t.Fatal(err)
	}
	box := must(tools.New(tools.Config{Workspace: h.place.Workspace, Blobs: h.blobs}))
	defer box.Close()
	plan := must(h.planFiles(t.Context(), box, to))
	h.wants("a plan", "write a, delete b", plan)
	h.hand("a", "mine")
	h.hand("b", "mine")
	h.hand("c", "mine")
	for _, step := range append(plan.Steps, drive.FileStep{Path: h.at("c"), Act: drive.WriteFile, Want: plan.Steps[0].Want}) {
		if _, err := h.putBack(t.Context(), box, step); !errors.Is(err, tools.ErrNotAsFound) {
			t.Errorf("%s: %v", step.Path, err)
		}
	}
	h.holds("then", map[string]string{"a": "-rw-r--r-- mine", "b": "-rw-r--r-- mine", "c": "-rw-r--r-- mine"})
}

// While the branch's turn runs, its files are left alone. // BRW-3
func TestNoRestoreInATurn(t *testing.T) {
	w := newWorld(t, calls("write", `{"file_path":"a","content":"a1"}`), hang("half"))
	l := w.start()
	say(t, l, "one")
	requests := 0
	until(t, l, "the second request", func(e session.Entry) bool {
		if e.Type == "request.sent" {
			requests++
		}
		return requests == 2
	})
	to, err := l.Session.FilesAt(drive.Revert{Branch: "main", Message: userItems(l.Session, "main")[0]})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.RestoreFiles(t.Context(), "main", to); !errors.Is(err, drive.ErrBusy) {
		t.Error(err)
	}
	submit(t, l, drive.Cancel{By: "user"})
	ended(t, l, 1)
	if f, err := l.RestoreFiles(t.Context(), "main", to); err != nil || said(f) != "delete a" {
		t.Errorf("%s, %v", said(f), err)
	}
}

// What a restore is said to have failed at was not done by it, whoever did it
// later. // BRN-8
func TestFailedIsNotDone(t *testing.T) {
	h := newShelf(t, t.TempDir())
	h.hand("a", "a0")
	q := h.says("one")
	h.write("a", "a1")
	to, err := h.FilesAt(h.revert(q))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Operate(t.Context(), h.place.StateDir, h.revert(q)); err != nil {
		t.Fatal(err)
	}
	h.crashes(to, 0)
	h.record(session.Fact{
		Event: session.RestoreFinished{Plan: h.Head(), Done: jsonText(0), Failed: jsonText(1)},
		Body:  []session.Part{jsonPart([]string{}), jsonPart([]string{h.at("a")})},
	})
	h.hand("a", "a0")
	h.both(drive.RollBack{Branch: "main", Label: "v1"})
	h.holds("a rollback", map[string]string{"a": "-rw-r--r-- a0"})
}

// Without the plan on the disk no file is touched. // LOG-5, LOG-8
func TestRestoreIsWrittenDownFirst(t *testing.T) {
	h := newShelf(t, t.TempDir())
	q := h.says("one")
	h.write("a", "a1")
	to, err := h.FilesAt(h.revert(q))
	if err != nil {
		t.Fatal(err)
	}
	was := h.files()
	for _, fail := range []func(*recorder){
		func(r *recorder) { r.sync = syscall.EIO },
		func(r *recorder) { r.fail = func([]string) error { return syscall.ENOSPC } },
	} {
		h.disk.set(fail)
		if f, err := h.RestoreFiles(t.Context(), h.place, "main", to); err == nil {
			t.Errorf("%+v", f)
		}
		h.disk.set(func(r *recorder) { r.sync, r.fail = nil, nil })
		h.holds("a failing disk", was)
	}
	h.wants("a sound one", "delete a", h.restore(to))
}

// A plan writes nothing, and a branch that is worked on is left alone. // LOG-14
func TestPlanOfFilesWritesNothing(t *testing.T) {
	h := newShelf(t, t.TempDir())
	q := h.says("one")
	h.write("a", "a1")
	h.record(session.Fact{Event: session.ToolStarted{Call: q.Item(), Effects: []string{"exec"}}}, session.Fact{Event: session.ToolStarted{Call: q.Item(), Effects: []string{"read"}}})
	to, err := h.FilesAt(h.revert(q))
	if err != nil {
		t.Fatal(err)
	}
	was, log := h.files(), must(os.ReadFile(h.Path()))
	f := must(h.PlanFiles(t.Context(), h.place, to))
	h.wants("a plan", "delete a", f)
	if f.Restore != 0 || f.Commands != 1 {
		t.Errorf("%+v", f)
	}
	lock := must(take(t.Context(), h.place.StateDir, sessionName(h.Path()), "main"))
	if _, err := h.RestoreFiles(t.Context(), h.place, "main", to); !errors.Is(err, ErrHeld) {
		t.Error(err)
	}
	lock.release()
	if _, err := h.RestoreFiles(t.Context(), h.place, "b9", to); !errors.Is(err, session.ErrNoBranch) {
		t.Error(err)
	}
	h.holds("a plan", was)
	if !bytes.Equal(must(os.ReadFile(h.Path())), log) {
		t.Error("something was written")
	}
}

// A file that the user made after the agent failed to read it, and what the
// user committed by hand, are no business of a revert; in a plain folder as in a
// work tree with another repository inside. // SES-16, SES-17
func TestOnlyTheAgentsFiles(t *testing.T) {
	for _, git := range []bool{false, true} {
		w := newWorld(t,
			calls("write", `{"file_path":"agents.txt","content":"one\n"}`), text("ok"),
			calls("read", `{"file_path":"missing.txt"}`), text("ok"),
			calls("edit", `{"file_path":"agents.txt","old_string":"one","new_string":"two"}`, "write", `{"file_path":"nested/new.txt","content":"n"}`), text("ok"))
		dir := w.opts.Workspace
		run := func(where string, args ...string) string {
			t.Helper()
			if !git {
				return ""
			}
			c := exec.Command("git", append([]string{"-c", "user.name=u", "-c", "user.email=u@example.org", "-c", "commit.gpgsign=false"}, args...)...)
			c.Dir = where
			out, err := c.CombinedOutput()
			if err != nil {
				t.Fatalf("git %q: %v\n%s", args, err, out)
			}
			return string(out)
		}
		put := func(name, text string) {
			t.Helper()
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Mkdir(filepath.Join(dir, "nested"), 0o755); err != nil {
			t.Fatal(err)
		}
		put("nested/theirs.txt", "theirs")
		run(dir, "init", "-q")
		run(filepath.Join(dir, "nested"), "init", "-q")
		l := w.start()
		say(t, l, "write")
		ended(t, l, 1)
		say(t, l, "read what is not there")
		ended(t, l, 2)
		put("missing.txt", "the user's")
		run(dir, "add", "missing.txt", "agents.txt")
		run(dir, "commit", "-q", "-m", "by hand")
		head := run(dir, "rev-parse", "HEAD")
		was := folder(dir)
		say(t, l, "edit")
		ended(t, l, 3)
		put("nested/theirs.txt", "theirs, changed")
		delete(was, "nested/theirs.txt")

		op := drive.Revert{Branch: "main", Message: userItems(l.Session, "main")[2]}
		to, err := l.Session.FilesAt(op)
		if err != nil {
			t.Fatal(err)
		}
		if plan := must(l.PlanFiles(t.Context(), to)); said(plan) != "write agents.txt, delete new.txt" {
			t.Fatalf("git=%v: planned %s\n%s", git, said(plan), story(t, l))
		}
		if _, err := l.Operate(t.Context(), op); err != nil {
			t.Fatal(err)
		}
		f, err := l.RestoreFiles(t.Context(), "main", to)
		if err != nil || said(f) != "write agents.txt, delete new.txt" {
			t.Fatalf("git=%v: %s, %v", git, said(f), err)
		}
		now := folder(dir)
		if now["nested/theirs.txt"] != "-rw-r--r-- theirs, changed" {
			t.Errorf("git=%v: %q", git, now["nested/theirs.txt"])
		}
		delete(now, "nested/theirs.txt")
		if !reflect.DeepEqual(now, was) {
			t.Errorf("git=%v: %q\nwant %q", git, now, was)
		}
		if run(dir, "rev-parse", "HEAD") != head || strings.Contains(run(dir, "status", "--porcelain"), "agents.txt") {
			t.Errorf("git: %s", run(dir, "status"))
		}
		// The first turn's file may go as well: the commit is the user's, the content is the agent's.
		if to, err = l.Session.FilesAt(drive.Revert{Branch: "main", Message: userItems(l.Session, "main")[0]}); err != nil {
			t.Fatal(err)
		}
		if plan := must(l.PlanFiles(t.Context(), to)); said(plan) != "delete agents.txt" {
			t.Errorf("git=%v: %s", git, said(plan))
		}
	}
}

// Whatever was changed, reverted, rolled back, forked, changed by hand, and
// crashed: a revert gives the files of before its message, a rollback those of
// before its revert, and what a person's hand has left last is never touched.
// // BRN-5, BRN-8
func TestFilesComeBackProperty(t *testing.T) {
	dirs, n := t.TempDir(), 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		h := newShelf(t, filepath.Join(dirs, strconv.Itoa(n)))
		h.t = rt
		type moment struct {
			op     drive.Operation
			branch string
			files  map[string]string
			hand   int // how many times a hand had changed something
		}
		var moments []moment
		var hands []string            // the files that a hand changed, one after the other
		byHand := map[string]string{} // what a hand has left last
		names := []string{"a", "b", "c"}
		fresh := 0
		next := func() string { fresh++; return "content " + strconv.Itoa(fresh) + "\x00" }
		mark := func(op drive.Operation) {
			moments = append(moments, moment{op, h.branch, h.files(), len(hands)})
		}
		exists := func(name string) bool { return Exists(h.at(name)) }
		check := func(what string, m moment) {
			after := h.files()
			for _, name := range names {
				if !slices.Contains(hands[m.hand:], name) && after[name] != m.files[name] {
					rt.Fatalf("%s: %s holds %q, then it held %q", what, name, after[name], m.files[name])
				}
			}
		}
		says := func() { // the moment is that before the message
			m := moment{nil, h.branch, h.files(), len(hands)}
			m.op = h.revert(h.says("x"))
			moments = append(moments, m)
		}
		says()
		for range rapid.IntRange(3, 14).Draw(rt, "steps") {
			name := rapid.SampledFrom(names).Draw(rt, "name")
			m := moments[rapid.IntRange(0, len(moments)-1).Draw(rt, "moment")]
			switch what := rapid.SampledFrom([]string{"write", "write", "remove", "says", "hand", "both", "both", "files", "conversation", "crash", "fork"}).Draw(rt, "what"); what {
			case "write":
				h.write(name, next())
				delete(byHand, name)
			case "remove":
				if exists(name) {
					delete(byHand, name)
					h.remove(name)
				}
			case "says":
				says()
			case "hand":
				text := next()
				h.hand(name, text)
				hands, byHand[name] = append(hands, name), text
			case "both", "conversation":
				h.branch = m.branch
				if _, revert := m.op.(drive.Revert); revert {
					mark(drive.RollBack{Branch: m.branch, Label: h.fold.NextLabel(m.branch)})
				}
				if what == "conversation" {
					if _, err := h.Operate(context.Background(), h.place.StateDir, m.op); err != nil {
						rt.Fatal(err)
					}
					break
				}
				h.both(m.op)
				check("both", m)
			case "files":
				h.branch = m.branch
				h.alone(m.op)
				check("files", m)
			case "crash":
				h.branch = m.branch
				to, err := h.FilesAt(m.op)
				if err != nil {
					rt.Fatal(err)
				}
				h.crashes(to, rapid.IntRange(0, 3).Draw(rt, "done"))
			case "fork":
				if r, ok := m.op.(drive.Revert); ok {
					h.both(drive.Fork{From: session.Reference{Branch: r.Branch, Seq: r.Message, Select: "before"}})
					check("a fork", m)
				}
			}
			for name, text := range byHand {
				if now := h.files()[name]; !strings.HasSuffix(now, " "+text) {
					rt.Fatalf("%s was changed by hand, and is %q", name, now)
				}
			}
		}
	})
}
