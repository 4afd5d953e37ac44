package harness

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"varve/internal/harness/drive"
	"varve/internal/jsonl"
	"varve/internal/session"
)

// stager checks a session after each persisted stage: its old bytes are an
// exact prefix, reading it anew gives the same state of every branch, and
// there is no other session file.
type stager struct {
	t   *testing.T
	w   *world
	l   *Local
	was []byte
}

func (g *stager) check(stage string) {
	g.t.Helper()
	path := g.l.Session.Path()
	now := must(os.ReadFile(path))
	if !bytes.HasPrefix(now, g.was) {
		g.t.Fatalf("%s: old bytes have changed", stage)
	}
	if len(now) == len(g.was) {
		g.t.Errorf("%s: nothing was recorded", stage)
	}
	g.was = now
	if rep, err := jsonl.Verify(path, checkLine); err != nil || rep.Bad() != -1 || rep.Piece != 0 {
		g.t.Fatalf("%s: %+v %v", stage, rep, err)
	}
	if err := g.l.Session.CatchUp(); err != nil {
		g.t.Fatal(err)
	}
	again, err := Open(path, g.w.opts.blobs(), jsonl.Never, System{})
	if err != nil {
		g.t.Fatalf("%s: %v", stage, err)
	}
	defer again.Close()
	for _, limb := range again.Limbs() {
		live, read := g.l.Session.State(limb.Name), again.State(limb.Name)
		if !reflect.DeepEqual(live.Session, read.Session) || !reflect.DeepEqual(viewed(live), viewed(read)) {
			g.t.Fatalf("%s: branch %s read anew is\n%+v\nwas\n%+v", stage, limb.Name, viewed(read), viewed(live))
		}
	}
	var files []string
	if err := filepath.WalkDir(filepath.Join(g.w.opts.DataDir, "sessions"), func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, p)
		}
		return err
	}); err != nil || len(files) != 1 {
		g.t.Errorf("%s: %q %v", stage, files, err)
	}
}

// viewed is a state with the items of its view in place of the view.
func viewed(s session.State) any {
	var items []session.Item
	for it := range s.Branch.View.All {
		items = append(items, it)
	}
	b := s.Branch
	b.View = session.View{}
	return struct {
		Branch session.Branch
		Items  []session.Item
	}{b, items}
}

// A session goes through every operation that records something. // LOG-3, BRN-3 to BRN-10, CMP-12
func TestEveryStageOnlyAppends(t *testing.T) {
	w := roomy(t, 100_000,
		calls("write", `{"path":"a.txt","content":"one\n"}`), text("Written."),
		calls("todo", `{"items":[{"content":"look","status":"pending"}]}`), big("Planned.", 400),
		calls("edit", `{"path":"a.txt","old_string":"one","new_string":"two"}`), text("Edited."),
	)
	w.rest = text("ok")
	l := w.start()
	g := &stager{t: t, w: w, l: l}
	turn := func(what string) {
		t.Helper()
		last := g.l.Session.Head()
		say(t, g.l, what)
		until(t, g.l, "the end of the turn", func(e session.Entry) bool { return e.Type == "turn.ended" && e.Seq > last })
		idle(t, g.l)
		g.check(what)
	}
	operate := func(stage string, op drive.Operation) Outcome {
		t.Helper()
		out, err := g.l.Operate(t.Context(), op)
		if err != nil {
			t.Fatalf("%s: %v", stage, err)
		}
		g.check(stage)
		return out
	}
	command := func(stage string, cmd drive.Command) {
		t.Helper()
		last := g.l.Session.Head()
		submit(t, g.l, cmd)
		if _, ok := cmd.(drive.Compact); ok {
			until(t, g.l, "the end of a compaction", func(e session.Entry) bool {
				return e.Seq > last && (e.Type == "compaction.failed" || e.Type == "checkpoint.committed")
			})
		}
		idle(t, g.l)
		g.check(stage)
	}
	turn("write a file")
	turn("make a plan")
	turn("edit the file")
	if err := g.l.Shell(t.Context(), "echo by hand"); err != nil {
		t.Fatal(err)
	}
	g.check("a command of the user's own")
	command("a title", drive.Rename{Title: []byte("all of it")})
	command("a mode", drive.SetMode{Mode: "ask"})
	command("a mode", drive.SetMode{Mode: "full"})

	users := userItems(g.l.Session, "main")
	fork := operate("fork of a message", drive.Fork{From: session.Reference{Branch: "main", Seq: users[1], Select: "through"}})
	operate("fork of the head", drive.Fork{From: session.Reference{Branch: "main", Select: "head"}})
	operate("fork of a fork", drive.Fork{From: session.Reference{Branch: fork.Branch, Select: "head"}})
	operate("title of a branch", drive.Retitle{Branch: fork.Branch, Title: []byte("the other way")})

	op := drive.Revert{Branch: "main", Message: users[2], Preview: []byte("edit the file")}
	to, err := g.l.Session.FilesAt(op)
	if err != nil {
		t.Fatal(err)
	}
	v1 := operate("revert", op)
	if _, err := g.l.RestoreFiles(t.Context(), "main", to); err != nil {
		t.Fatal(err)
	}
	g.check("files of a revert")
	if b := must(os.ReadFile(filepath.Join(w.opts.Workspace, "a.txt"))); string(b) != "one\n" {
		t.Errorf("%q", b)
	}
	turn("another way")
	operate("rollback", drive.RollBack{Branch: "main", Label: v1.Label})

	command("compaction", drive.Compact{}) // its handoff is "ok", which is none
	if s := compactions(t, g.l); !strings.Contains(s, "failed exhausted") {
		t.Error(s)
	}
	w.rest = text(handoff("all"))
	command("compaction", drive.Compact{Focus: []byte("the file")})
	if s := compactions(t, g.l); !strings.Contains(s, "committed") {
		t.Error(s)
	}
	w.rest = text("ok")
	turn("behind a checkpoint")
	operate("revert past the checkpoint", drive.Revert{Branch: "main", Message: users[0], Preview: []byte("…")})
	operate("rollback behind it", drive.RollBack{Branch: "main", Label: "v2"})
	if _, ok := g.l.State().Branch.View.Checkpoint(); !ok {
		t.Error("no checkpoint after the rollback")
	}
	operate("deletion", drive.Delete{Branch: fork.Branch})

	path := g.l.Session.Path()
	if err := g.l.Close(); err != nil {
		t.Fatal(err)
	}
	f := must(os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0))
	if _, err := f.WriteString(`{"seq":9999,"pre`); err != nil { // a torn line
		t.Fatal(err)
	}
	f.Close()
	g.was = must(os.ReadFile(path))
	w.opts.Branch = "main"
	g.l = w.resume(path)
	turn("behind a torn line")

	if err := g.l.Close(); err != nil {
		t.Fatal(err)
	}
	s := must(Open(path, w.opts.blobs(), w.opts.Policy, System{}))
	newest := lastOf(userItems(s, "main")).Item()
	if _, err := s.Replace(t.Context(), w.opts.StateDir, drive.Replace{
		Branch: "main", Why: "repair", Swaps: []drive.Swap{{Item: newest, Text: []byte("what was meant")}},
	}); err != nil {
		t.Fatal(err)
	}
	s.Close()
	g.l = w.resume(path)
	g.check("replaced")
	if v := shownView(t, g.l); !strings.Contains(v, "user: what was meant") {
		t.Error(v)
	}
}
