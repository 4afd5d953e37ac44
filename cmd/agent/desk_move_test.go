package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"varve/internal/harness"
	"varve/internal/harness/drive"
	"varve/internal/index"
	"varve/internal/providers/openaichat"
	"varve/internal/session"
	"varve/internal/setup"
)

// kept writes a session that was made in a folder, and returns its id.
func (d *desk) kept(t *testing.T, folder string) string {
	t.Helper()
	o := d.options()
	o.Workspace, o.Model = folder, session.Model{Provider: "p", API: openaichat.API, Model: "m"}
	o.Resolve = func(context.Context, session.Model) (harness.Target, error) {
		return harness.Target{Adapter: openaichat.Adapter{}}, nil
	}
	l, err := harness.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Submit(t.Context(), drive.Rename{Title: []byte("of " + filepath.Base(folder))}); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return l.ID()
}

// looked says what a session takes for its instructions.
func looked(t *testing.T, look func(context.Context) (harness.Assembly, error)) string {
	t.Helper()
	a, err := look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var s []string
	for _, text := range a.Texts {
		s = append(s, string(text))
	}
	return strings.Join(s, "\n")
}

// A session that can't be gone to leaves the desk where it was: its folder, its
// instructions, and where tools run next.
func TestMoveThatFailsStays(t *testing.T) { // BRW-4
	d := newTestDesk(t)
	here, elsewhere := d.options().Workspace, t.TempDir()
	for dir, text := range map[string]string{here: "Those of here.", elsewhere: "Those of elsewhere."} {
		if err := os.WriteFile(filepath.Join(dir, "AGENTS.md"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	staying := d.options().Look
	id, mine := d.kept(t, elsewhere), d.kept(t, here)
	if _, err := d.OpenAt(t.Context(), mine, ""); err != nil {
		t.Fatal(err)
	}
	at := func(folder, text string) {
		t.Helper()
		if got := d.options().Workspace; got != folder {
			t.Errorf("it is in %s", got)
		}
		if got := d.Identity().Workspace; got != folder {
			t.Errorf("it says %s", got)
		}
		if got := looked(t, d.options().Look); !strings.Contains(got, text) {
			t.Errorf("its instructions are %q", got)
		}
		if got := d.m.workspace; got != here {
			t.Errorf("the program itself went to %s", got)
		}
	}
	if _, err := d.OpenAt(t.Context(), id, "no such branch"); err == nil {
		t.Fatal("a branch that is not there was opened")
	}
	at(here, "Those of here.")
	if l, err := d.at(t.Context()); err != nil || l.ID() != mine {
		t.Fatal("another session is open", err)
	}

	d.m.alter(func(set *setup.Setup) { set.Permissions.Deny = []string{"bash(("} })
	if _, err := d.OpenAt(t.Context(), id, ""); err == nil {
		t.Fatal("it went, with rules that can't be read")
	}
	at(here, "Those of here.")
	d.m.alter(func(set *setup.Setup) { set.Permissions.Deny = nil })

	if _, err := d.OpenAt(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	at(elsewhere, "Those of elsewhere.")
	if _, err := d.Branch(t.Context(), session.MainBranch); err != nil {
		t.Fatal(err)
	}
	at(elsewhere, "Those of elsewhere.")
	if got := looked(t, staying); !strings.Contains(got, "Those of here.") {
		t.Errorf("a session that was begun here looks elsewhere: %q", got)
	}
}

// Lists are made, files are completed and settings are saved while another session
// is opened: `go test -race` sees it where two of them share a folder unlocked.
func TestDeskIsAskedWhileItMoves(t *testing.T) { // BRW-1, BRW-4
	d := newTestDesk(t)
	here, elsewhere := d.options().Workspace, t.TempDir()
	ids := []string{d.kept(t, elsewhere), d.kept(t, here)}
	var rows []index.Info
	for _, id := range ids {
		path, err := index.Find(d.m.folders.Data, id)
		if err != nil {
			t.Fatal(err)
		}
		row, _ := index.Look(path)
		rows = append(rows, row)
	}
	over := make(chan struct{})
	var all sync.WaitGroup
	for _, ask := range []func(){
		func() {
			n := 0
			for _, s := range d.browsed(index.Update{Rows: rows}).Sessions {
				if s.Here {
					n++
				}
			}
			if n != 1 {
				t.Errorf("%d sessions are of the folder that is shown", n)
			}
		},
		func() { _, _ = d.Files(t.Context()) },
		func() { _ = d.renewed() },
		func() { d.Identity() },
	} {
		all.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
					ask()
				}
			}
		})
	}
	for i := range 10 {
		if _, err := d.OpenAt(t.Context(), ids[i%2], ""); err != nil {
			t.Error(err)
		}
	}
	close(over)
	all.Wait()
}

// Every session of a process has the same folder for temporary files: the one that
// is removed at its end. Folders of processes that are gone are removed, and no
// others.
func TestTemporaryFolders(t *testing.T) { // SEC-10
	d := newTestDesk(t)
	first := d.options().Tools.TempDir
	parent := filepath.Dir(first)
	id := d.kept(t, t.TempDir())
	if _, err := d.OpenAt(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	if got := d.options().Tools.TempDir; got != first {
		t.Errorf("a session elsewhere has %s besides %s", filepath.Base(got), filepath.Base(first))
	}
	for _, name := range []string{"999999999-gone", "somebody-elses"} {
		if err := os.Mkdir(filepath.Join(parent, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	another, err := newMachine(&flags{})
	if err != nil {
		t.Fatal(err)
	}
	second, err := another.privateTemp()
	if err != nil || second == first {
		t.Fatal(second, err)
	}
	for path, there := range map[string]bool{
		first: true, second: true, filepath.Join(parent, "999999999-gone"): false, filepath.Join(parent, "somebody-elses"): true,
	} {
		if _, err := os.Stat(path); (err == nil) != there {
			t.Errorf("%s: %v", filepath.Base(path), err)
		}
	}
	if err := os.RemoveAll(first); err != nil {
		t.Fatal(err)
	}
	if third, err := d.m.privateTemp(); err != nil || third == first {
		t.Errorf("one that was taken away is given out: %s, %v", third, err)
	}
}
