package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"varve/internal/demo"
	"varve/internal/providers/scripted"
	"varve/internal/session"
)

func TestInterface(t *testing.T) {
	bin := agentBinary(t)
	for _, c := range []struct {
		name string
		play func(*tuiHouse)
	}{
		{"talk", playTalk},
		{"first paint", playFirstPaint},
		{"approve", playApprove},
		{"interrupt", playInterrupt},
		{"write", playWrite},
		{"resize", playResize},
		{"paste", playPaste},
		{"resume", playResume},
		{"kill", playKill},
		{"two windows", playTwoWindows},
		{"signals", playSignals},
		{"no colour", playNoColour},
		{"first run", playFirstRun},
		{"suspend", playSuspend},
		{"bad input", playBadInput},
		{"draft", playDraft},
		{"drafts of folders", playDraftsOfFolders},
		{"drafts of windows", playDraftsOfWindows},
		{"drafts beside each other", playDraftsBesideEachOther},
		{"lost at a question", playLostAtQuestion},
		{"puppet's session", playPuppetsSession},
		{"outside", playOutside},
		{"branches", playBranches},
		{"files back", playFilesBack},
		{"fork beside", playForkBeside},
		{"browser", playBrowser},
		{"browser refuses", playBrowserRefuses},
		{"compaction", playCompaction},
		{"notices", playNotices},
		{"notices of before", playNoticesOfBefore},
		{"quit summarizing", playQuitSummarizing},
		{"storm", playStorm},
		{"orphan", playOrphan},
		{"plain", playPlain},
		{"settings", playSettings},
		{"a threshold", playThreshold},
		{"commands", playCommands},
		{"keys of vi", playVim},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.play(newTuiHouse(t, bin))
		})
	}
}

// Type, send, stream, queue, steer.
func playTalk(h *tuiHouse) { // TUI-2, TUI-4, TUI-5, TUI-6
	x := h.ready()
	x.says("hello")
	x.sees("Hello, friend.")
	x.says("story")
	x.sees("Once upon a time")
	x.types("and then")
	x.in(keyEnter)
	x.sees("queued: and then", "1 queued")
	x.types("shorter")
	x.in(keyAltEnter)
	x.sees("for this turn: shorter")
	x.in(keyAltUp)
	x.sees("> shorter", "1 queued")
	x.in(keyCtrlU)
	x.gone("> shorter")
	close(h.gate)
	x.sees("there was an end.", "You said: and then")
	x.gone("queued")
	x.quits()
	if list, err := os.ReadDir(filepath.Join(h.dir, "..", "state", "tmp")); err != nil || len(list) != 0 {
		h.t.Errorf("temporary folders are left behind: %v (%v)", list, err)
	}
	h.whole()
	if n := h.kinds(); n["turn.ended"] != 3 || n["input.removed"] != 1 || n["run.ended"] != 1 {
		h.t.Errorf("events %v", n)
	}
}

// The screen and a composer that works come before anything else: here what
// is asked for never answers.
func playFirstPaint(h *tuiHouse) { // TUI-1
	block := make(chan struct{})
	defer close(block)
	h.server.Handle(func(scripted.Request) scripted.Reply { <-block; return scripted.Reply{} })
	x := h.open()
	x.sees("Varve", "> Say what you want done", "script/m")
	x.types("quick")
	if n := len(h.server.Visits()) + len(h.server.Requests()); n != 0 {
		h.t.Errorf("%d requests before anything was sent", n)
	}
	out := x.output()
	if at := strings.Index(out, "Varve"); at < 0 || at > strings.Index(out+"\x1b[c", "\x1b[c") {
		h.t.Error("the terminal was asked before it was painted")
	}
	x.quits()
	if list, _ := filepath.Glob(filepath.Join(h.data, "sessions", "*", "*")); len(list) != 0 {
		h.t.Errorf("a session file was made for nothing: %q", list)
	}
}

func playApprove(h *tuiHouse) { // PERM-2, TUI-3
	x := h.ready()
	x.says("run touch made-here")
	x.sees("Run this command?", "touch made-here", "y or Enter yes, once")
	x.answers("y", "Run this command?")
	x.sees("I have the result.")
	if _, err := os.Stat(filepath.Join(h.dir, "made-here")); err != nil {
		h.t.Error(err)
	}
	x.says("run rm made-here")
	x.sees("Run this command?", "  rm made-here")
	x.answers("d", "n no")
	x.sees("Tell the model why")
	x.in("keep it" + keyEnter)
	x.gone("Tell the model why")
	x.await("the words at the model", func() bool {
		all := h.server.Requests()
		return bytes.Contains(all[len(all)-1].Body, []byte("They said: keep it"))
	})
	if _, err := os.Stat(filepath.Join(h.dir, "made-here")); err != nil {
		h.t.Error("it was removed all the same: ", err)
	}
	// A long one: nothing runs before its end was on the screen.
	x.in("run true " + strings.Repeat("word ", 800) + "; touch payload")
	x.sees("word ; touch payload")
	x.in(keyEnter)
	x.sees("Run this command?", "more lines below")
	for range 60 {
		if !x.shows("more lines below") {
			break
		}
		page := x.screen()
		x.in("\x1b[6~") // PgDn
		x.await("the next page", func() bool { return x.screen() != page })
	}
	x.sees("; touch payload")
	if _, err := os.Stat(filepath.Join(h.dir, "payload")); err == nil {
		h.t.Error("it ran before its end was on the screen")
	}
	x.answers("y", "Run this command?")
	x.await("the file", func() bool { _, err := os.Stat(filepath.Join(h.dir, "payload")); return err == nil })
	x.in(keyShiftTab)
	x.sees(" edit ")
	x.quits()
	h.whole()
}

// Esc stops whatever hangs; what was received is kept and marked.
func playInterrupt(h *tuiHouse) { // TUI-5, case TUI-11
	x := h.ready("--mode", "full")
	x.says("hang")
	x.sees("Let me think")
	x.types("my draft")
	x.in(keyEsc)
	x.sees("Interrupted", "Let me think", "> my draft")
	x.in(keyCtrlU)
	x.gone("my draft")
	x.says("run trap '' TERM INT; echo be''gun; sleep 1000")
	x.sees("begun")
	x.in(keyEsc)
	x.await("two ends", func() bool { return h.kinds()["turn.ended"] == 2 })
	var cancelled time.Time
	for _, e := range h.entries() {
		switch e.Event.(type) {
		case session.TurnCancelled:
			cancelled = e.At
		case session.TurnEnded:
			h.t.Logf("interrupted after %v", e.At.Sub(cancelled))
		}
	}
	// A delayed arrow key is not an Esc.
	x.says("story")
	x.sees("Once upon a time")
	x.in("\x1b")
	x.in("[A")
	close(h.gate)
	x.sees("there was an end.")
	x.in(keyCtrlC)
	x.quits()
	h.whole()
}

// $EDITOR, completion of files and commands, a shell command, the palette.
func playWrite(h *tuiHouse) { // TUI-4, TUI-12
	editor := filepath.Join(h.dir, "..", "ed.sh")
	script := "#!/bin/sh\nprintf '\\nfrom the editor' >> \"$1\"\necho EDITING > /dev/tty\n"
	if err := os.WriteFile(editor, []byte(script), 0o755); err != nil {
		h.t.Fatal(err)
	}
	h.env = append(h.env, "EDITOR="+editor)
	x := h.ready()
	x.types("a start")
	x.in(keyCtrlG)
	x.sees("> a start", "from the editor")
	x.in(keyEnter)
	x.sees("You said: a start")
	x.in("look at @not")
	x.sees("notes.txt")
	x.in("\t")
	x.sees("look at @notes.txt")
	x.in(keyEnter)
	x.sees("You said: look at @notes.txt")
	x.in("/cont")
	x.sees("/context")
	x.in("\t")
	x.sees("> /context")
	x.in(keyEnter)
	x.sees("╭─ Context", "tool definitions")
	x.in(keyEsc)
	x.gone("╭─")
	x.in("/nonsense")
	x.sees("> /nonsense")
	x.in(keyEnter)
	x.sees("there is no command /nonsense")
	x.in(keyCtrlU)
	x.in("!echo from-the-shell")
	x.sees("echo from-the-shell")
	x.in(keyEnter)
	x.await("the command in the log", func() bool { return h.kinds()["shell.ran"] == 1 })
	x.sees("$ echo from-the-shell")
	x.in(keyUp)
	x.sees("echo from-the-shell")
	x.in(keyCtrlU + keyCtrlP)
	x.sees("╭─")
	x.in(keyEsc)
	x.gone("╭─")
	x.quits()
	h.whole()
	if n := len(h.server.Requests()); n != 2 {
		h.t.Errorf("%d requests, want 2", n)
	}
}

func playResize(h *tuiHouse) { // TUI-9, case TUI-13
	x := h.ready()
	x.says("story")
	x.sees("Once upon a time")
	x.types("draft")
	for i := range 40 {
		x.resize(20+i*3, 5+i)
	}
	for _, size := range [][2]int{{10, 3}, {40, 12}, {200, 60}, {20, 5}} {
		x.resize(size[0], size[1])
	}
	x.sees("window too small")
	x.resize(60, 20)
	x.sees("Once upon a time", "> draft")
	close(h.gate)
	x.sees("there was an end.")
	x.quits()
	h.whole()
}

func playPaste(h *tuiHouse) { // TUI-4, case TUI-01, case TUI-02
	x := h.ready()
	var text strings.Builder
	for i := range 60 {
		fmt.Fprintf(&text, "line %d\tof a paste\r\n", i)
	}
	x.in("\x1b[200~" + text.String() + "\x1b[201~")
	x.sees("60 lines #1]")
	x.in(" please")
	x.sees("#1] please")
	if n := len(h.server.Requests()); n != 0 {
		h.t.Fatalf("a paste sent %d messages", n)
	}
	x.in(keyEnter)
	x.await("one request with all of it", func() bool {
		all := h.server.Requests()
		return len(all) == 1 && bytes.Contains(all[0].Body, []byte("line 0\\tof a paste\\nline 1")) && bytes.Contains(all[0].Body, []byte("line 59\\tof a paste"))
	})
	x.await("the end", func() bool { return h.kinds()["turn.ended"] == 1 })
	// Without brackets: what comes at once is a text.
	x.in("one\rtwo\rthree")
	x.sees("> one", "  two", "  three")
	if n := len(h.server.Requests()); n != 1 {
		h.t.Errorf("a burst sent %d messages", n-1)
	}
	x.in(keyCtrlC)
	x.gone("> one")
	x.in("\x1b[200~a \x1b[201~b\x1b[2Jc")
	x.quits()
	h.whole()
}

func playResume(h *tuiHouse) { // CLI-1, LOG-14
	x := h.ready()
	x.says("hello")
	x.sees("Hello, friend.")
	x.quits()
	before := h.kinds()
	for _, args := range [][]string{{"resume", h.id()}, {"--continue"}, {"resume"}} {
		x = h.open(args...)
		x.sees("▌ hello", "Hello, friend.", "> Say what you want done")
		x.quits()
	}
	if n := h.kinds(); fmt.Sprint(n) != fmt.Sprint(before) {
		h.t.Errorf("looking wrote %v, there was %v", n, before)
	}
	x = h.open("--continue")
	x.sees("Hello, friend.")
	x.says("again")
	x.sees("You said: again")
	x.in("/new")
	x.sees("> /new")
	x.in(keyEnter)
	x.sees("Say what you want done in")
	x.in("/resume")
	x.sees("> /resume")
	x.in(keyEnter)
	x.sees("Sessions", "this folder, newest first", "▸ hello")
	x.in("SAID: aga") // BRW-1: no title has it
	x.sees("Where it was said", "▸ hello", "You said: again")
	x.in(keyEnter)
	x.gone("Where it was said")
	x.sees("You said: again", "> Say what you want done")
	x.in("/resume 00000000" + keyEnter)
	x.sees("✗")
	x.says("still here")
	x.sees("You said: still here")
	runs := h.kinds()["run.started"]
	x.says("/resume " + h.id()) // where one is
	x.gone("no id begins with") // what was said goes with the other screen
	x.says("once more")
	x.sees("You said: once more")
	if n := h.kinds()["run.started"]; n != runs {
		h.t.Errorf("%d runs, there were %d: it left a session to come back to it", n, runs)
	}
	x.quits()
	h.whole()
}

// Killed in mid-turn: it is said that the turn is open, Enter goes on.
func playKill(h *tuiHouse) { // REL-1, LOG-14
	x := h.ready()
	x.says("story")
	x.sees("Once upon a time")
	if err := x.cmd.Process.Kill(); err != nil {
		h.t.Fatal(err)
	}
	<-x.done
	x = h.open("--continue")
	x.sees("A turn was left open. Enter goes on with it", "▌ story")
	close(h.gate)
	x.in(keyEnter)
	x.sees("there was an end.")
	x.gone("A turn was left open")
	// And once more, at a question: it is asked again when the turn goes on.
	x.says("run touch asked")
	x.sees("Run this command?")
	if err := x.cmd.Process.Kill(); err != nil {
		h.t.Fatal(err)
	}
	<-x.done
	x = h.open("resume")
	x.sees("A turn was left open. Enter goes on with it")
	x.in(keyEnter)
	x.sees("Run this command?", "touch asked")
	x.answers("y", "Run this command?")
	x.sees("I have the result.")
	if _, err := os.Stat(filepath.Join(h.dir, "asked")); err != nil {
		h.t.Error(err)
	}
	x.quits()
	h.whole()
}

// A second window follows, and is refused politely.
func playTwoWindows(h *tuiHouse) { // LOG-14, case SES-06
	x := h.ready()
	x.says("story")
	x.sees("Once upon a time")
	y := h.open("resume", h.id())
	y.sees("Another window works on this session", "▌ story")
	y.says("me too")
	y.sees("another window or process is working on", "> me too")
	y.in("w")
	y.gone("Another window works here")
	close(h.gate)
	x.sees("there was an end.")
	y.sees("there was an end.")
	x.says("run touch two")
	x.sees("Run this command?")
	y.sees("bash touch two")
	if y.shows("Run this command?") {
		h.t.Error("the question is asked in the window that can't answer it")
	}
	x.answers("y", "Run this command?")
	x.sees("I have the result.")
	y.sees("I have the result.", "> me too")
	x.quits()
	y.sees("The other window is done: Enter sends what waits below.")
	y.gone("Another window has this session open")
	y.in(keyEnter)
	y.sees("You said: me too")
	y.quits()
	h.whole()
}

// Whatever ends it, the terminal is as it was found.
func playSignals(h *tuiHouse) { // TUI-10, RUN-2
	for sig, code := range map[syscall.Signal]int{syscall.SIGTERM: 143, syscall.SIGINT: 130, syscall.SIGHUP: 129} {
		x := h.ready()
		x.says("hang")
		x.sees("Let me think")
		if err := x.cmd.Process.Signal(sig); err != nil {
			h.t.Fatal(err)
		}
		x.ends(code)
	}
	// A terminal that is closed sends more than one hang-up: the shell's and the
	// kernel's. The turn is closed all the same, and its command ended.
	x := h.ready("--mode", "full")
	x.says("run trap '' TERM INT HUP; echo be''gun; sleep 1000; touch late")
	x.sees("begun")
	first := x.cmd.Process
	go func() {
		for first.Signal(syscall.SIGHUP) == nil {
			<-time.After(5 * time.Millisecond)
		}
	}()
	x.ends(129)
	x = h.ready()
	x.says("hang")
	x.sees("Let me think")
	x.in(keyCtrlC)
	x.sees("Ctrl+C again quits")
	x.in(keyCtrlC)
	x.sees("A turn is running")
	x.in("y")
	x.ends(exitDone)
	list, _ := filepath.Glob(filepath.Join(h.data, "sessions", "*", "*.jsonl"))
	for _, f := range list {
		b, err := os.ReadFile(f)
		if err != nil || !bytes.Contains(b, []byte(`"turn.ended"`)) || !bytes.Contains(b, []byte(`"run.ended"`)) {
			h.t.Errorf("%s: the turn and the run were not closed (%v)", f, err)
		}
	}
	if len(list) != 5 {
		h.t.Errorf("%d sessions", len(list))
	}
}

func playNoColour(h *tuiHouse) { // TUI-9
	h.env = append(h.env, "NO_COLOR=1")
	x := h.ready()
	x.says("hello")
	x.sees("Hello, friend.")
	x.quits()
	colour := regexp.MustCompile("\x1b\\[[0-9;:]*m")
	for _, sgr := range colour.FindAllString(x.output(), -1) {
		for _, n := range strings.FieldsFunc(strings.Trim(sgr, "\x1b[m"), func(r rune) bool { return r == ';' || r == ':' }) {
			if len(n) > 1 && n[0] >= '3' && n[0] != '2' && n != "22" {
				h.t.Fatalf("a colour: %q", sgr)
			}
		}
	}
}

// Without key, server or settings the first screen leads into the demo.
func playFirstRun(h *tuiHouse) { // CLI-3
	if err := os.Remove(filepath.Join(h.dir, "..", "config", "setup.json")); err != nil {
		h.t.Fatal(err)
	}
	x := h.open()
	x.sees("Welcome to Varve: how do you want to begin?", "▸ See it work: run the demo", "no model")
	x.in(keyEnter)
	x.sees("> "+demo.Prompt, "demo/script (a script)")
	x.in(keyEnter)
	x.sees("I'll start with what the tests say.", "Run this command?", "go test ./...")
	x.in(keyEsc)
	x.sees("Interrupted")
	x.quits()
	x.tells("To go on: " + h.bin + " demo --continue") // as it was started
	x = h.open("demo", "--continue")
	x.sees("▌ "+demo.Prompt[:20], "Interrupted")
	x.quits()
	if _, err := os.Stat(filepath.Join(h.dir, "..", "config", "setup.json")); !errors.Is(err, os.ErrNotExist) {
		h.t.Errorf("the demo left settings behind: %v", err)
	}
}

// Ctrl+Z gives the terminal back to the shell, fg takes it again.
func playSuspend(h *tuiHouse) { // TUI-10, case TUI-07
	bash, err := exec.LookPath("bash")
	if err != nil {
		h.t.Skip("job control is tested with bash")
	}
	cmd := exec.Command(bash, "--norc", "--noprofile", "-i")
	cmd.Dir, cmd.Env = h.dir, append([]string{}, h.env...)
	x := tuiStart(h.t, 100, 30, cmd)
	x.sees("SH$")
	x.in(h.bin + "\r")
	x.sees("> Say what you want done")
	x.says("story")
	x.sees("Once upon a time")
	x.types("my draft")
	x.in(keyCtrlZ)
	x.sees("Stopped")
	x.given("\x1b[?2004h") // bash asks for brackets too
	close(h.gate)
	x.in("echo in-the-$((40+2))-shell\r")
	x.sees("in-the-42-shell")
	x.resize(90, 25)
	x.in("fg\r")
	x.sees("there was an end.", "> my draft")
	x.leaves(func() bool { return x.shows("SH$") && !x.shows("> Say what") })
	x.in("echo code-$?-\r")
	x.sees("code-0-")
	x.given("\x1b[?2004h")
	h.whole()
}

// Bad input: each is said, and nothing is lost.
func playBadInput(h *tuiHouse) { // CFG-2, PRV-4, CLI-1
	h.settings("{\n  \"model\": oops\n}")
	x := h.open()
	x.sees("setup.json")
	x.await("line 2", func() bool { return x.shows("line 2") || x.shows(":2:") })
	x.in(keyEsc)
	x.gone("Welcome to Varve")
	x.quits()
	if b, err := os.ReadFile(filepath.Join(h.dir, "..", "config", "setup.json")); err != nil || !bytes.Contains(b, []byte("oops")) {
		h.t.Errorf("the broken settings were touched: %v %s", err, b)
	}
	for name, s := range map[string]string{
		"unknown provider": `{"model":{"provider":"nobody","model":"m"}}`,
	} {
		h.settings(s)
		out, err := h.command().CombinedOutput() // no terminal: said on standard error
		if err == nil || len(bytes.TrimSpace(out)) == 0 {
			h.t.Errorf("%s: %v %s", name, err, out)
		}
	}
	h.settings(`{"model":{"provider":"script","model":"m"},"providers":{"script":{"api":"openai-chat","base_url":"http://127.0.0.1:1/v1"}},"permissions":{"mode":"sideways"}}`)
	x = h.ready()
	x.sees("permissions.mode")
	x.quits()
	x = h.open("--model", "nobody/m")
	x.ends(exitUsage)
	x.tells("--model: nobody: no such provider")
	// A refused connection: said, and the message is in the history.
	h.settings(`{"model":{"provider":"gone","model":"m"},"providers":{"gone":{"api":"openai-chat","base_url":"http://127.0.0.1:1/v1"}}}`)
	x = h.ready()
	x.says("are you there?")
	x.await("an error or a retry", func() bool {
		return x.shows("refused") || x.shows("again in") || x.shows("retry") || x.shows("reached")
	})
	x.in(keyEsc)
	x.await("the end", func() bool { return h.kinds()["turn.ended"] == 1 })
	x.sees("Interrupted.") // on the screen too: who leaves before is asked
	x.quits()
	h.whole()
}

// What is written survives a crash; what was sent does not come back.
func playDraft(h *tuiHouse) { // TUI-4
	sum := sha256.Sum256([]byte(h.dir))
	state := filepath.Join(h.dir, "..", "state", "draft-"+hex.EncodeToString(sum[:8])+".txt")
	x := h.ready()
	x.types("half a thought")
	x.await("the draft on disk", func() bool { b, _ := os.ReadFile(state); return string(b) == "half a thought" })
	if err := x.cmd.Process.Kill(); err != nil {
		h.t.Fatal(err)
	}
	<-x.done
	x = h.open()
	x.sees("> half a thought")
	x.in(keyEnter)
	x.sees("You said: half a thought")
	x.in(keyCtrlD) // at once
	x.ends(exitDone)
	x = h.ready()
	x.types("not this")
	x.await("the draft on disk", func() bool { b, _ := os.ReadFile(state); return string(b) == "not this" })
	x.quits() // deletes it, and leaves at once
	if b, err := os.ReadFile(state); err == nil {
		h.t.Errorf("what was deleted comes back: %q", b)
	}
}

// The demo's work on a real module, on the screen: allowed once for each of
// the first changes, then by the mode; killed once, and gone on with.
func TestDemoInInterface(t *testing.T) { // PERM-2, LOG-14, TUI-3
	h := newDemoHouse(t, agentBinary(t))
	gate := h.shut(t, 2)
	open := func(args ...string) *tuiTerm {
		cmd := h.command(args...)
		cmd.Env = append([]string{}, cmd.Env...)
		return tuiStart(t, 110, 36, cmd)
	}
	x := open()
	x.sees("> Say what you want done")
	x.says(demo.Prompt)
	x.sees("Run this command?", "go test ./...")
	x.answers("s", "s and a are for")
	x.sees("s again", "bash(go test ./...)")
	x.in("s")
	x.sees("Make this change?", "match.go", "'?'")
	x.answers("y", "Make this change?")
	opened := make(chan *os.File, 1)
	go func() {
		f, err := os.OpenFile(gate, os.O_WRONLY, 0) // until the test binary reads
		if err == nil {
			opened <- f
		}
	}()
	var f *os.File
	x.await("the second test run", func() bool {
		select {
		case f = <-opened:
			return true
		default:
			return false
		}
	})
	if err := x.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-x.done
	_ = f.Close()
	if err := os.Remove(gate); err != nil {
		t.Fatal(err)
	}
	x = open("--continue")
	x.sees("A turn was left open. Enter goes on with it")
	x.in(keyEnter)
	x.sees("Run this command?", "go test ./...") // what was allowed held in the run that is gone
	x.answers("s", "s and a are for")
	x.in("s")
	x.sees("Make this change?", "r += 2", "r++")
	x.answers("y", "Make this change?")
	x.sees("Two bugs in match.go are mended")
	x.await("the end of the turn", func() bool { return strings.Contains(x.screen(), "> Say what you want done") })
	x.says("/compact") // CMP-9
	x.sees("── Summarized: ", "Make the tests of match pass")
	x.gone("── Summarizing")
	x.says("thanks")
	x.sees("I know one task only.")
	x.await("the end of the turn", func() bool { return strings.Contains(x.screen(), "> Say what you want done") })
	x.in(keyCtrlD)
	x.ends(exitDone)
	wantCalls(t, h, "bash", "4 started, 3 finished, interrupted [lost]")
	wantCalls(t, h, "edit", "2 started, 2 finished, interrupted []")
	h.check(t)
}
