package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"varve/internal/providers/scripted"
)

// tells waits until the program has printed a text, on whichever screen.
func (x *tuiTerm) tells(s string) {
	x.t.Helper()
	x.await(fmt.Sprintf("%q printed", s), func() bool { return strings.Contains(x.output(), s) })
}

// in opens the program in a folder, and waits for its composer.
func (h *tuiHouse) in(dir string, shows ...string) *tuiTerm {
	h.t.Helper()
	cmd := h.command()
	cmd.Dir = dir
	x := tuiStart(h.t, 100, 30, cmd)
	x.sees(append(shows, "> ")...)
	return x
}

// drafts are the drafts on disk.
func (h *tuiHouse) drafts() map[string]bool {
	h.t.Helper()
	out := map[string]bool{}
	list, err := filepath.Glob(filepath.Join(h.dir, "..", "state", "draft-*.txt"))
	if err != nil {
		h.t.Fatal(err)
	}
	for _, f := range list {
		b, err := os.ReadFile(f)
		if err != nil && !os.IsNotExist(err) {
			h.t.Fatal(err)
		}
		out[string(b)] = true
	}
	return out
}

// There is one draft for each folder. It comes back after a crash and after
// quitting, and nowhere else.
func playDraftsOfFolders(h *tuiHouse) { // TUI-4
	const none = "> Say what you want done"
	other := filepath.Join(h.dir, "..", "other")
	if err := os.Mkdir(other, 0o700); err != nil {
		h.t.Fatal(err)
	}
	x := h.in(h.dir, none)
	x.types("of the first")
	x.await("the draft on disk", func() bool { return h.drafts()["of the first"] })
	x.dies()
	x = h.in(other, none) // not that one
	x.types("of the second")
	x.in(keyCtrlP)
	x.sees("╭─")
	x.in("quit")
	x.sees("▸ ", "quit")
	x.in(keyEnter) // at once: nothing was saved yet
	x.ends(exitDone)
	x = h.in(h.dir, "> of the first")
	x.dies() // it is still there, though nothing was typed
	x = h.in(other, "> of the second")
	x.in(keyCtrlU)
	x.sees(none)
	x.await("the second gone from the disk", func() bool { return !h.drafts()["of the second"] })
	x.dies()
	x = h.in(other, none) // what was deleted stays deleted
	x.quits()
	x = h.in(h.dir, "> of the first")
	x.in(keyEnter)
	x.sees("You said: of the first")
	x.await("the first gone from the disk", func() bool { return len(h.drafts()) == 0 })
	x.dies()
	x = h.in(h.dir, none) // what was sent is gone
	x.quits()
	if d := h.drafts(); len(d) != 0 {
		h.t.Errorf("left on disk: %v", d)
	}
}

// A window that is closed takes no draft with it that another one keeps.
func playDraftsOfWindows(h *tuiHouse) { // TUI-4
	y := h.ready()
	x := h.ready()
	x.types("still needed")
	x.await("the draft on disk", func() bool { return h.drafts()["still needed"] })
	y.in("x\x7f")
	y.quits()
	x.dies()
	x = h.in(h.dir, "> still needed")
	x.dies()
}

// What is begun in one window is not touched by typing and clearing in another, and
// comes back after both were killed.
func playDraftsBesideEachOther(h *tuiHouse) { // TUI-4
	x, y := h.ready(), h.ready()
	x.types("of the first")
	x.await("the draft on disk", func() bool { return h.drafts()["of the first"] })
	y.types("of the second")
	y.await("the other one on disk", func() bool { d := h.drafts(); return d["of the first"] && d["of the second"] })
	y.in(keyCtrlU)
	y.await("it is gone", func() bool { return !h.drafts()["of the second"] })
	if !h.drafts()["of the first"] {
		h.t.Error("clearing one window took the draft of the other")
	}
	x.dies()
	y.dies()
	h.in(h.dir, "> of the first").dies()
}

// A puppet's session that is opened without its pages says what goes on with it, at
// the start and at the end.
func playPuppetsSession(h *tuiHouse) { // CLI-1, PRV-11
	pages := filepath.Join(h.dir, "..", "pages")
	run := h.command("demo", "--puppet", pages, "--run", "hello")
	if err := run.Start(); err != nil {
		h.t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(pages, "request-001.md")); err == nil {
			break
		} else if time.Now().After(end) {
			_ = run.Process.Kill()
			h.t.Fatal("no page came")
		}
	}
	if err := os.WriteFile(filepath.Join(pages, "reply-001.md"), []byte("Hello from a page.\n@send\n"), 0o600); err != nil {
		h.t.Fatal(err)
	}
	if err := run.Wait(); err != nil {
		h.t.Fatal(err)
	}
	x := h.open("resume", h.id())
	x.sees("Hello from a page.", "this session's model was a person with pages")
	x.quits()
	x.tells("To go on: " + h.bin + " demo --puppet DIR --continue")
	x = h.open("demo", "--puppet", pages, "--continue")
	x.sees("Hello from a page.", "puppet/pages (a person)")
	x.quits()
	x.tells("To go on: " + h.bin + " demo --puppet " + pages + " --continue")
	x = h.open("demo", "--continue")
	x.await("that the demo has none", func() bool { return strings.Contains(x.output(), "there was no demo yet") })
}

// The session's file is taken away at a question. It is said, nothing hangs, and
// Ctrl+C twice is the way out.
func playLostAtQuestion(h *tuiHouse) { // TUI-5, LOG-8, case TUI-11
	remove := func() (file string) {
		h.t.Helper()
		list, err := filepath.Glob(filepath.Join(h.data, "sessions", "*", "*.jsonl"))
		if err != nil || len(list) != 1 {
			h.t.Fatalf("%d session files (%v)", len(list), err)
		}
		if err := os.Remove(list[0]); err != nil {
			h.t.Fatal(err)
		}
		return list[0]
	}
	for name, first := range map[string]func(x *tuiTerm){
		"Ctrl+C alone": func(*tuiTerm) {},
		"Esc first":    func(x *tuiTerm) { x.in(keyEsc); x.sees("removed or replaced") },
		"an answer first": func(x *tuiTerm) {
			x.sees("n no")
			x.in("y")
			x.sees("✗", "removed or replaced", "Run this command?")
		},
	} {
		x := h.ready()
		x.says("run touch never")
		x.sees("Run this command?", "touch never")
		file := remove()
		first(x)
		x.in(keyCtrlC)
		x.sees("Ctrl+C again quits")
		x.in(keyCtrlC)
		x.ends(exitSession)
		x.tells("the session is not kept: its file was removed while it was open: " + file)
		if strings.Contains(x.output(), "The session is kept") {
			h.t.Errorf("%s: it is said that the session is kept", name)
		}
		for _, f := range []string{file, filepath.Join(h.dir, "never")} {
			if _, err := os.Lstat(f); err == nil {
				h.t.Errorf("%s: %s is there", name, f)
			}
		}
	}
}

// A file outside the folder is asked for, and it is said that this is why. What
// an edit made is shown, not what was asked for.
func playOutside(h *tuiHouse) { // PERM-4, TUI-3
	if err := os.WriteFile(filepath.Join(h.dir, "..", "notes"), []byte("one\ntwo\n"), 0o644); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(h.dir, "greet.go"), []byte("package greet\n\nfunc A() int {\n\tif true {\n\t\treturn 1\n\t}\n\treturn 0\n}\n"), 0o644); err != nil {
		h.t.Fatal(err)
	}
	calls := func(n int, name, args string) scripted.Reply {
		return scripted.Reply{Steps: []scripted.Step{
			scripted.Role(), scripted.Call(0, fmt.Sprintf("call_%d", n), name, args, 2), scripted.Finish("tool_calls"), scripted.Done(),
		}}
	}
	h.server.Handle(func(r scripted.Request) scripted.Reply {
		switch r.N {
		case 1:
			return calls(1, "read", `{"file_path":"../notes"}`)
		case 2:
			return calls(2, "read", `{"file_path":"greet.go"}`)
		case 3:
			return calls(3, "edit", `{"file_path":"greet.go","old_string":"if true {\n  return 1\n}","new_string":"if true {\n  return 2\n}"}`)
		}
		return scripted.Reply{Steps: []scripted.Step{scripted.Role(), scripted.Text("That is all."), scripted.Finish("stop"), scripted.Done()}}
	})
	x := h.ready("--mode", "edit")
	x.says("look around")
	x.sees("Allow this call?", "Outside this folder, so it is asked: ../notes")
	x.answers("y", "Allow this call?")
	x.sees("That is all.")
	x.sees("   5 -         return 1", "   5 +         return 2", "   4       if true {")
	x.quits()
	h.whole()
	if b, err := os.ReadFile(filepath.Join(h.dir, "greet.go")); err != nil || !bytes.Contains(b, []byte("\n\t\treturn 2\n")) {
		h.t.Errorf("%v: %s", err, b)
	}
}
