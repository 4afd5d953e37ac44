package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"varve/internal/demo"
	"varve/internal/harness"
	"varve/internal/harness/drive"
	"varve/internal/index"
	"varve/internal/session"
	"varve/internal/setup"
	"varve/internal/tui"
)

// sessionIn records a session in a folder, and returns its id.
func (d *desk) sessionIn(t *testing.T, folder, title string) string {
	t.Helper()
	o, err := d.m.optionsIn(folder, "tui", true)
	if err != nil {
		t.Fatal(err)
	}
	o.Model = session.Model{Provider: "ollama", API: "openai-chat", Model: "m"}
	l, err := harness.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Submit(t.Context(), drive.Rename{Title: []byte(title)}); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return l.ID()
}

// newFolder is a folder with instructions of its own.
func newFolder(t *testing.T, says string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "AGENTS.md"), []byte(says), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A session that can't be opened leaves the desk in its folder, with that folder's
// instructions; and one that can leaves the instructions of the one before alone.
func TestOpenThatFailsStays(t *testing.T) { // BRW-4, PROMPT-2
	d := newTestDesk(t)
	here, there := d.workspace(), newFolder(t, "Of the other folder.")
	id := d.sessionIn(t, there, "elsewhere")
	says := func(o harness.Options) string {
		t.Helper()
		a, err := o.Look(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var all strings.Builder
		for _, b := range a.Texts {
			all.Write(b)
		}
		return all.String()
	}
	before := d.options()
	if _, err := d.OpenAt(t.Context(), id, "gone"); err == nil {
		t.Fatal("a branch that is not there was opened")
	}
	if got := d.Identity().Workspace; got != here || d.workspace() != here {
		t.Errorf("the desk is in %s and %s, not in %s", got, d.workspace(), here)
	}
	if s := says(before); strings.Contains(s, "Of the other folder.") {
		t.Error("the session that stays has the instructions of the other folder")
	}
	got, err := d.OpenAt(t.Context(), id, "")
	if err != nil || got.Workspace != there || d.workspace() != there {
		t.Fatalf("it is in %s and %s, %v", got.Workspace, d.workspace(), err)
	}
	if s := says(d.options()); !strings.Contains(s, "Of the other folder.") {
		t.Error("the session has not the instructions of its folder")
	}
	if s := says(before); strings.Contains(s, "Of the other folder.") {
		t.Error("the session before has the instructions of the other folder")
	}
	if a, b := before.Tools.TempDir, d.options().Tools.TempDir; a != b {
		t.Errorf("the process has two temporary folders: %s and %s", a, b) // SEC-10
	}
}

// The demo's project is as it was where its next session can't be opened.
func TestSampleStaysWhereOpeningFails(t *testing.T) { // BRW-4, PRV-11
	d := newTestDesk(t)
	sample, err := os.MkdirTemp(t.TempDir(), sampleName)
	if err != nil {
		t.Fatal(err)
	}
	if err := demo.Write(sample); err != nil {
		t.Fatal(err)
	}
	d.m.recast(func(p *playing) { p.sample = sample })
	mended := filepath.Join(sample, "tally.go")
	if err := os.WriteFile(mended, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	here := d.workspace()
	d.m.alter(func(set *setup.Setup) { set.Permissions.Deny = []string{"bash(("} })
	if _, err := d.OpenAt(t.Context(), "", ""); err == nil || d.workspace() != here {
		t.Errorf("it is in %s, with rules that can't be read", d.workspace())
	}
	half := func() bool {
		b, err := os.ReadFile(mended)
		return err == nil && string(b) == "half"
	}
	if !half() {
		t.Error("its project was written anew")
	}
	d.m.alter(func(set *setup.Setup) { set.Permissions.Deny = nil })
	if got, err := d.OpenAt(t.Context(), "", ""); err != nil || got.Workspace != sample || got.Draft != demo.Prompt {
		t.Errorf("%+v, %v", got, err)
	}
	if half() {
		t.Error("its project was not written anew")
	}
}

// What reads the folder may do so while another one is gone to: `go test -race` sees
// it where it may not.
func TestFolderIsReadWhileMoving(t *testing.T) { // BRW-1
	d := newTestDesk(t)
	var ids []string
	var rows []index.Info
	for _, folder := range []string{d.workspace(), newFolder(t, "There.")} {
		id := d.sessionIn(t, folder, "a title")
		ids, rows = append(ids, id), append(rows, index.Info{ID: id, Workspace: session.PathKey(folder)})
	}
	moved := make(chan struct{})
	var all sync.WaitGroup
	for _, read := range []func(){
		func() { d.browsed(index.Update{Rows: rows}) },
		func() { _, _ = d.Files(t.Context()) },
		func() { _, _ = d.ExportAt(t.Context(), ids[0], session.MainBranch, "out/") },
		func() { _ = d.renewed() },
	} {
		all.Go(func() {
			for {
				select {
				case <-moved:
					return
				default:
					read()
				}
			}
		})
	}
	for range 3 {
		for _, id := range ids {
			if _, err := d.OpenAt(t.Context(), id, ""); err != nil {
				t.Error(err)
			}
			if _, err := d.Branch(t.Context(), session.MainBranch); err != nil {
				t.Error(err)
			}
		}
	}
	close(moved)
	all.Wait()
	for _, r := range d.browsed(index.Update{Rows: rows}).Sessions {
		if r.Here != slices.Contains(ids[1:], r.ID) {
			t.Errorf("%s is of this folder: %v", r.Workspace, r.Here)
		}
	}
}

// The demo is taken up while settings are read and models noted: `go test -race` sees
// it where one of them reads half of it. What is noted then is nothing of the demo's.
func TestDemoIsTakenUpWhileOthersRead(t *testing.T) { // CLI-3, PRV-11
	d := newTestDesk(t)
	over := make(chan struct{})
	var all sync.WaitGroup
	for _, read := range []func(){
		func() { _ = d.Prefer(t.Context(), session.Model{Provider: "p", Model: "m"}, tui.Used) },
		func() { d.m.configured() },
		func() { _, _ = d.Settings(t.Context()) },
	} {
		all.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
					read()
				}
			}
		})
	}
	got, err := d.Take(t.Context(), offerDemo, "")
	close(over)
	all.Wait()
	if err != nil || !got.Script || got.Workspace != d.m.cast().sample || d.workspace() != got.Workspace {
		t.Errorf("%+v, %v", got, err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(got.Workspace) })
}
