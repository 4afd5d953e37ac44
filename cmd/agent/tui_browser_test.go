package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
)

// Keys of the browser.
const (
	keyDown = "\x1b[B"
	keyAltT = "\x1bt"
	keyAltF = "\x1bf"
	keyAltR = "\x1br"
	keyAltB = "\x1bb"
	keyAltN = "\x1bn"
	keyAltE = "\x1be"
	keyAltA = "\x1ba"
)

// session is the file of the house whose title or words hold a text.
func (h *tuiHouse) session(holds string) (id string, lines []byte) {
	h.t.Helper()
	list, err := filepath.Glob(filepath.Join(h.data, "sessions", "*", "*.jsonl"))
	if err != nil {
		h.t.Fatal(err)
	}
	for _, f := range list {
		b, err := os.ReadFile(f)
		if err != nil {
			h.t.Fatal(err)
		}
		if bytes.Contains(b, []byte(holds)) {
			return strings.TrimSuffix(filepath.Base(f), ".jsonl"), b
		}
	}
	h.t.Fatalf("no session holds %q", holds)
	return "", nil
}

// A session of before is found by a word that was said in it, opened, and acted on
// from another one: forked, renamed, reverted, rolled back, exported, deleted.
func playBrowser(h *tuiHouse) { // BRW-1, BRW-2, BRW-3
	for _, words := range []string{"about rhododendrons", "tulips please"} {
		if out, err := h.command("run", words).CombinedOutput(); err != nil {
			h.t.Fatalf("%v: %s", err, out)
		}
	}
	old, _ := h.session("about rhododendrons")
	if out, err := h.command("session", "rename", old, "Last week").CombinedOutput(); err != nil {
		h.t.Fatalf("%v: %s", err, out)
	}
	x := h.ready()
	x.in("\x13") // Ctrl+S
	x.sees("Sessions", "▸ tulips please", "Last week", "2 sessions", "You said: tulips please")
	x.in("RHODO")
	x.sees("Where it was said", "▸ Last week", "1 of 2 sessions")
	x.in(keyEnter)
	x.gone("Where it was said")
	x.sees("▌ about rhododendrons", "You said: about rhododendrons", "> Say what you want done")

	x.in("\x13")
	x.sees("(here) Last week", "tulips please")
	x.in("tulips")
	x.sees("▸ tulips please", "1 of 2 sessions")
	x.in(keyAltF)
	x.sees("✓ b2 begins at the end of main; Enter opens it, Delete deletes it.", "▸ └ b2")
	x.in(keyAltN)
	x.sees("A title for the branch b2:")
	x.in(keyCtrlU + "another way" + keyEnter)
	x.sees("b2 is called “another way”.", "▸ └ b2  another way")
	x.in(keyUp)
	x.sees("▸ tulips please")
	x.in(keyAltT)
	x.sees("Sessions · branches of", "▸ main  “tulips please”", "· tulips please", "b2  another way")
	x.in(keyDown)
	x.sees("▸ │ · tulips please")
	x.in(keyAltR)
	x.sees("✓ Back to before “tulips please”. Alt+B takes revert v1 back.", "↶ revert v1  to before “tulips please”", "nothing new yet")
	x.in(keyUp)
	x.sees("▸ main", "revert v1", "went back to here, before", "nothing of yours")
	x.in(keyDown)
	x.in(keyDown)
	x.sees("You said: tulips please") // what would come back
	x.in(keyAltB)
	x.sees("✓ Revert v1 is taken back: what it left is here again.", "taken back")
	x.in(keyEsc)
	x.sees("this folder, newest first")
	x.in(keyCtrlU)
	x.sees("another way", "(here) Last week")
	x.in("another")
	x.sees("1 of 2 sessions")
	x.in(keyDown)
	x.sees("▸ └ b2  another way")
	x.in(keyAltE)
	x.sees("Export b2", "> another way.md")
	x.in(keyEnter)
	x.sees("✓ Branch b2 is in ")
	if b, err := os.ReadFile(filepath.Join(h.dir, "another way.md")); err != nil || !bytes.Contains(b, []byte("tulips please")) {
		h.t.Errorf("%v: %s", err, b)
	}
	x.in(keyDelete)
	x.sees("Delete b2 of “another way”?", "▸ n  Keep it")
	x.in(keyEnter)
	x.gone("Delete b2 of")
	x.in(keyDelete)
	x.sees("Delete b2 of")
	x.in("y")
	x.sees("✓ b2 is deleted")
	x.in(keyEsc)
	x.gone("Sessions")
	x.says("still in the first one")
	x.sees("You said: still in the first one")
	x.quits()
	id, lines := h.session("tulips please")
	for _, kind := range []string{"branch.created", "branch.renamed", "branch.reverted", "branch.rolled_back", "branch.deleted"} {
		if n := bytes.Count(lines, []byte(`"type":"`+kind+`"`)); n != 1 {
			h.t.Errorf("%d lines of %s", n, kind)
		}
	}
	for _, id := range []string{id, old} {
		if out, err := h.command("session", "verify", id).CombinedOutput(); err != nil {
			h.t.Errorf("%v: %s", err, out)
		}
	}
}

// While a turn runs in another window nothing is done to its branch, and it is
// said why; a damaged session is listed with its damage, and opens read-only.
func playBrowserRefuses(h *tuiHouse) { // BRW-3, BRW-4
	if out, err := h.command("run", "to be broken").CombinedOutput(); err != nil {
		h.t.Fatalf("%v: %s", err, out)
	}
	id, lines := h.session("to be broken")
	files, _ := filepath.Glob(filepath.Join(h.data, "sessions", "*", id+".jsonl"))
	broken := bytes.Split(lines, []byte("\n"))
	broken[4] = []byte("{not json")
	if err := os.WriteFile(files[0], bytes.Join(broken, []byte("\n")), 0o600); err != nil {
		h.t.Fatal(err)
	}
	x := h.ready()
	x.says("story")
	x.sees("Once upon a time")
	y := h.ready()
	y.in("\x13")
	y.sees("(damaged) to be broken", "(a turn runs) story", "2 sessions")
	y.in("story")
	y.sees("▸", "story", "1 of 2 sessions")
	for key, says := range map[string]string{keyAltN: "A title for", keyAltE: "To which file?", keyDelete: "the only branch in its file"} {
		y.in(key)
		y.sees(says)
		y.in(map[string]string{keyAltN: "x" + keyEnter, keyAltE: keyEnter, keyDelete: "y"}[key])
		y.sees("another window or process is working on this branch")
		y.in(keyDown)
		y.gone("another window or process is working")
	}
	y.in(keyAltT)
	y.sees("▸ main  “story”")
	y.in(keyDown)
	y.sees("▸ └ · story")
	y.in(keyAltR)
	y.sees("✗ another window or process is working on this branch")
	y.in(keyEsc)
	y.sees("this folder, newest first")
	y.in(keyCtrlU + "broken")
	y.sees("▸ (damaged) to be broken", "opens read-only: line 5")
	y.in(keyEnter)
	y.sees("▌ to be broken", "it is shown read-only")
	close(h.gate)
	x.sees("there was an end.")
	x.await("the end of the turn", func() bool { _, b := h.session("story"); return bytes.Contains(b, []byte(`"turn.ended"`)) })
	x.quits()
	y.quits()
}
