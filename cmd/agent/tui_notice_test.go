package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"varve/internal/providers/scripted"
)

const (
	keyAltX   = "\x1bx"
	keyCtrlL  = "\x0c"
	focusLost = "\x1b[O"
	focusBack = "\x1b[I"
)

// The window's title says what is going on and is given back; who looks elsewhere
// is told, in a terminal that shows progress with it; a notice is hidden by its key
// and is still in the list.
func playNotices(h *tuiHouse) { // TUI-7, TUI-11
	h.env = append(h.env, "TERM_PROGRAM=ghostty")
	x := h.ready()
	x.says("/rename Greetings 挨拶")
	x.sees("The session is called Greetings")
	x.tells("\x1b]2;Varve Greetings 挨拶\a")
	x.in(keyAltX)
	x.gone("The session is called")
	x.says("story")
	x.sees("Once upon a time", "working")
	x.tells("\x1b]2;● Varve Greetings 挨拶\a")
	x.tells("\x1b]9;4;3")
	if strings.Contains(x.output(), "\x1b]9;Varve") {
		h.t.Error("it rang while somebody looked")
	}
	x.in(focusLost)
	x.types("m") // what was sent before it has arrived
	close(h.gate)
	x.sees("there was an end.")
	x.tells("\x1b]9;Varve is done (Greetings 挨拶)\a")
	x.in(focusBack)
	x.gone("working")
	x.tells("\x1b]9;4;0")
	x.in(keyCtrlU)
	x.says("/toasts")
	x.sees("Notices", "The session is called Greetings", "this window only")
	x.in(keyEsc)
	x.gone("Notices")
	x.quits()
	out := x.output()
	if strings.LastIndex(out, "\x1b[23;0t") < strings.LastIndex(out, "\x1b]2;") {
		h.t.Error("the title was not given back")
	}
}

// A notice of an earlier run is in the list of the next.
func playNoticesOfBefore(h *tuiHouse) { // TUI-7
	h.server.Handle(func(r scripted.Request) scripted.Reply {
		says := "It was so. No more." // no summary
		if !bytes.Contains(r.Body, []byte("Write a handoff")) {
			says = strings.Repeat("It was so. ", 300) + "No more."
		}
		return scripted.Reply{Steps: []scripted.Step{scripted.Role(), scripted.Text(says), scripted.Finish("stop"), scripted.Done()}}
	})
	x := h.ready()
	x.says("tell me much")
	x.sees("No more.")
	x.quits()
	x = h.open("resume", h.id())
	x.sees("No more.")
	x.says("/compact")
	x.sees("! Not summarized", "Alt+1 try again")
	x.in(keyAltX)
	x.gone("Alt+1 try again")
	x.quits()
	x = h.open("resume", h.id())
	x.sees("No more.")
	x.says("/toasts")
	x.sees("─ Notices", "! Not summarized", "Enter what can be done")
	x.in(keyEnter)
	x.sees("What can be done", "summarize again")
	x.in(keyEsc)
	x.gone("What can be done")
	x.quits()
}

// Who leaves while a summary is made without a turn is asked; then it is stopped, the
// log is closed, and nothing of it fails later or is asked for again.
func playQuitSummarizing(h *tuiHouse) { // TUI-5, CMP-9, RUN-2
	h.server.Handle(func(r scripted.Request) scripted.Reply {
		steps := []scripted.Step{scripted.Role(), scripted.Text(strings.Repeat("It was so. ", 300) + "No more."), scripted.Finish("stop"), scripted.Done()}
		if bytes.Contains(r.Body, []byte("Write a handoff")) {
			steps = []scripted.Step{scripted.Role(), scripted.Text("## Objective\nIt never"), scripted.Hang()}
		}
		return scripted.Reply{Steps: steps}
	})
	x := h.ready()
	x.says("tell me much")
	x.sees("No more.")
	x.await("the end of the turn", func() bool { return h.kinds()["turn.ended"] == 1 })
	const asks = "The conversation is being summarized. Quitting stops that"
	leave := func(how string, leaves func(), code int) {
		x.says("/compact")
		x.sees("It never")
		n, asked := h.kinds(), len(h.server.Requests())
		leaves()
		x.ends(code)
		now := h.kinds()
		if now["compaction.failed"] != n["compaction.failed"]+1 || now["compaction.started"] != now["compaction.failed"] || now["run.ended"] != now["run.started"] || now["request.sent"] != now["reply.completed"]+now["reply.rejected"] {
			h.t.Errorf("%s: the log was not closed: %v", how, now)
		}
		x = h.ready("--continue")
		x.sees("Summarizing was stopped.")
		if again := h.kinds(); again["compaction.failed"] != now["compaction.failed"] || len(h.server.Requests()) != asked {
			h.t.Errorf("%s: something of it came later: %v, %d requests more", how, again, len(h.server.Requests())-asked)
		}
	}
	leave("Ctrl+C", func() {
		x.in(keyCtrlD)
		x.sees("It never", asks)
		x.in("n") // stays, and the summary goes on
		x.gone(asks)
		x.sees("It never")
		x.in(keyCtrlC)
		x.sees("Ctrl+C again quits")
		x.in(keyCtrlC)
		x.sees(asks)
		x.in("y")
	}, exitDone)
	leave("/exit", func() { x.says("/exit"); x.sees(asks); x.in("y") }, exitDone)
	leave("Ctrl+D", func() { x.in(keyCtrlD); x.sees(asks); x.in("y") }, exitDone)
	leave("SIGTERM", func() { _ = x.cmd.Process.Signal(syscall.SIGTERM) }, exitTerminated)
	x.quits()
	h.whole()
}

// Sizes that change all the time while an answer streams, with redraws and Esc in
// between: the screen is whole afterwards, nothing is left behind, and Esc had its
// effect.
func playStorm(h *tuiHouse) { // TUI-10, case TUI-13
	x := h.ready()
	x.says("story")
	x.sees("Once upon a time")
	for i := range 60 {
		x.resize(20+i*7%120, 6+i*5%40)
		if i%10 == 0 {
			x.in(keyCtrlL)
		}
	}
	x.resize(1, 1)
	x.resize(100, 30)
	x.in(keyCtrlL)
	x.sees("Once upon a time", "working")
	close(h.gate)
	x.sees("there was an end.")
	x.says("hang")
	x.sees("Let me think")
	x.resize(40, 12)
	x.in(keyEsc)
	x.sees("Interrupted")
	x.resize(100, 30)
	x.sees("Interrupted", "> Say what you want done")
	x.quits()
}

// Who started it dies: the terminal hangs up, and the program closes its turn and
// ends by itself.
func playOrphan(h *tuiHouse) { // TUI-10, RUN-2
	x := h.ready()
	x.says("hang")
	x.sees("Let me think")
	x.mu.Lock()
	_ = x.host.Close() // as the terminal's program does when it is killed
	x.mu.Unlock()
	// Our side is closed for good when the read that waits on it has come back.
	_, _ = x.tty.WriteString(" ")
	_ = x.tty.Close()
	x.await("the program's end", x.over)
	if n := h.kinds(); n["turn.ended"] != 1 || n["run.ended"] != 1 {
		h.t.Errorf("the turn and the run were not closed: %v", n)
	}
}

// Plain mode in a real terminal: lines alone, no sequence at all; a question is
// answered by a line; Ctrl+C stops the turn and once more quits; the terminal was
// never anything but as it was found.
func playPlain(h *tuiHouse) { // TUI-9, TUI-10, TUI-5
	x := h.open("--plain")
	x.tells("plain mode.")
	x.in("hello\r")
	x.tells("Agent: Hello, **friend**.")
	x.tells("Ready.")
	x.in("run echo don''e\r")
	x.tells("Question: may the agent do this? bash")
	for taken := false; !taken; { // an answer that comes too early is none, and that is said
		const early = "it was not taken."
		n := strings.Count(x.output(), early)
		x.in("y\r")
		x.await("what became of it", func() bool {
			taken = strings.Contains(x.output(), "Tool bash: done")
			return taken || strings.Count(x.output(), early) > n
		})
	}
	x.tells("Agent: I have the result.")
	x.in("hang\r")
	x.await("the turn", func() bool { return strings.Count(x.output(), "Working.") == 3 })
	x.in(keyCtrlC)
	x.tells("Stopping. Ctrl+C again quits.")
	x.tells("Interrupted.")
	stop, first := make(chan struct{}), x
	go func() { // again and again: what is closed then is closed whole
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
				_, _ = first.host.WriteString(keyCtrlC)
			}
		}
	}()
	x.ends(exitDone)
	close(stop)
	if out := x.output(); strings.ContainsAny(strings.ReplaceAll(out, "^C", ""), "\x1b\a") {
		h.t.Errorf("a sequence in plain mode: %q", out)
	}
	h.settings(string(h.withPlain()))
	x = h.open("--continue") // by the settings, and another signal
	x.tells("You: hello")
	x.tells("plain mode.")
	if err := x.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		h.t.Fatal(err)
	}
	x.ends(exitTerminated)
	h.whole()
}

// withPlain are the settings of the house with appearance.plain.
func (h *tuiHouse) withPlain() []byte {
	h.t.Helper()
	b, err := os.ReadFile(filepath.Join(h.dir, "..", "config", "setup.json"))
	var set map[string]any
	if err == nil {
		err = json.Unmarshal(b, &set)
	}
	if err != nil {
		h.t.Fatal(err)
	}
	set["appearance"] = map[string]any{"plain": true}
	b, err = json.Marshal(set)
	if err != nil {
		h.t.Fatal(err)
	}
	return b
}
