package main

import (
	"fmt"
	"os"
	"path/filepath"

	"varve/internal/providers/scripted"
)

// Files go back with a revert and come again with the rollback, or alone; what would be
// done is shown before, and a restore can be taken back.
func playFilesBack(h *tuiHouse) { // BRN-8, BRW-3, SES-16, SES-17
	made := filepath.Join(h.dir, "made.txt")
	holds := func(x *tuiTerm, want string) {
		h.t.Helper()
		x.await("made.txt with "+want, func() bool { b, err := os.ReadFile(made); return err == nil && string(b) == want })
	}
	h.server.Handle(func(r scripted.Request) scripted.Reply {
		messages := r.Get("messages").Array()
		last := messages[len(messages)-1]
		tool, args := "", ""
		switch text := last.Get("content").String(); {
		case last.Get("role").String() == "tool":
		case text == "make it":
			tool, args = "write", `{"file_path":"made.txt","content":"one\n"}`
		case text == "change it":
			tool, args = "edit", `{"file_path":"made.txt","old_string":"one","new_string":"two"}`
		}
		if tool == "" {
			return h.model(r)
		}
		return scripted.Reply{Steps: []scripted.Step{
			scripted.Role(), scripted.Call(0, fmt.Sprintf("call_%d", r.N), tool, args, 2), scripted.Finish("tool_calls"), scripted.Done(),
		}}
	})
	x := h.ready("--mode", "edit")
	turns := 0
	says := func(words string) {
		h.t.Helper()
		x.says(words)
		x.sees("▌ " + words)
		turns++
		x.await("the end of the turn", func() bool { return h.kinds()["turn.ended"] == turns })
	}
	says("make it")
	holds(x, "one\n")
	says("change it")
	holds(x, "two\n")
	says("hello")
	revert := func() {
		h.t.Helper()
		x.says("/revert")
		x.sees("▸ hello", "change it")
		x.in("\x1b[B")
		x.sees("▸ change it")
		x.in(keyEnter)
		x.sees("Conversation, files, or both?", "Back to before “change it”.", "1 file would be restored.", "│ modify made.txt ", "▸ c  Conversation only")
	}
	revert()
	x.in(keyEsc)
	x.gone("Conversation, files, or both?")
	if n := h.kinds(); n["branch.reverted"]+n["restore.planned"] != 0 {
		h.t.Errorf("Esc has done something: %v", n)
	}
	holds(x, "two\n")
	revert()
	x.in("b")
	x.sees("Back to before “change it”. 1 file restored. /rollback v1 takes it back: choose both.", "> change it", "1 file restored.", "modify made.txt")
	holds(x, "one\n")
	x.in(keyCtrlU)
	x.says("/rollback")
	x.sees("▸ v1  change it", "files of ", ": 1 restored")
	x.in(keyEnter)
	x.sees("Revert v1 is taken back: what it left is here again.", "│ modify made.txt ")
	x.in("b")
	x.sees("Revert v1 is taken back: what it left is here again.", "Hello, friend.")
	holds(x, "two\n")
	// Once more is nothing, and is said so.
	x.says("/rollback v1")
	x.sees("v1 is taken back already, and nothing was done since: there is nothing to do.")
	if n := h.kinds()["branch.rolled_back"]; n != 1 {
		h.t.Errorf("%d rollbacks are recorded", n)
	}
	// Files alone; then that is taken back; and a file that was changed by hand is left.
	revert()
	x.in("f")
	x.sees("1 file restored. The conversation is as it was.", "Hello, friend.")
	holds(x, "one\n")
	x.says("/rollback")
	x.sees("▸ files of ", "v1  change it", "taken back, and nothing was done since") // what is left comes first (BRN-5)
	x.in(keyEnter)
	x.sees("Take a restore of files back?", "│ modify made.txt ", "▸ n  Leave them")
	x.in("f")
	x.await("the second restore", func() bool { return h.kinds()["restore.finished"] == 4 })
	holds(x, "two\n")
	if err := os.WriteFile(made, []byte("by hand\n"), 0o644); err != nil {
		h.t.Fatal(err)
	}
	x.says("/revert")
	x.sees("▸ hello", "change it")
	x.in("\x1b[B")
	x.sees("▸ change it")
	x.in(keyEnter)
	x.sees("No file would be restored, 1 left alone.", "leave made.txt: changed since", "▸ c  Conversation only")
	x.in(keyEnter)
	x.sees("Back to before “change it”.", "Files are as they were.")
	holds(x, "by hand\n")
	x.quits()
	h.whole()
}

// A second window is in the way of the first one's turn: it waits and loses nothing, or
// goes on in a branch of its own at the same time; who only looks writes nothing.
func playForkBeside(h *tuiHouse) { // LOG-6, LOG-14, TUI-4
	file := func() []byte {
		h.t.Helper()
		list, err := filepath.Glob(filepath.Join(h.data, "sessions", "*", "*.jsonl"))
		if err != nil || len(list) != 1 {
			h.t.Fatalf("%d session files (%v)", len(list), err)
		}
		b, err := os.ReadFile(list[0])
		if err != nil {
			h.t.Fatal(err)
		}
		return b
	}
	x := h.ready()
	x.says("hello")
	x.sees("Hello, friend.")
	x.await("the end of the turn", func() bool { return h.kinds()["turn.ended"] == 1 })
	x.says("story")
	x.sees("Once upon a time")
	was := file()
	y := h.open("resume", h.id())
	y.sees("Another window works on this session", "▌ story")
	y.says("/tree")
	y.sees("Sessions · branches of")
	y.in(keyEsc)
	y.gone("Sessions · branches of")
	y.says("me too")
	y.sees("Another window works here", "Your message was not sent", "▸ w  Wait until it is closed there", "f  Fork from here, and send it", "> me too")
	y.in("w")
	y.gone("Another window works here")
	y.sees("> me too", "▌ story")
	if string(file()) != string(was) {
		h.t.Error("looking has written something")
	}
	y.in(keyEnter)
	y.sees("Another window works here")
	y.in("f")
	y.sees("You said: me too", "on b2")
	if y.shows("▌ story") {
		h.t.Error("the branch holds the other window's turn")
	}
	close(h.gate) // both work
	x.sees("there was an end.")
	x.await("the end of its turn", func() bool { return h.kinds()["turn.ended"] == 3 })
	if x.shows("me too") {
		h.t.Error("the first window shows the second one's branch")
	}
	x.says("and then")
	x.sees("You said: and then")
	y.says("here as well")
	y.sees("You said: here as well")
	x.quits()
	y.quits()
	h.whole()
}
