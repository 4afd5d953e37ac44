package tui

import (
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"varve/internal/harness/drive"
	"varve/internal/session"
)

// A listener is the plain mode on a fake agent, in a bubble with a clock of its own.
type listener struct {
	*stage
	in      io.WriteCloser
	signals chan os.Signal
	mu      sync.Mutex
	said    strings.Builder
	told    int
	draft   string
	err     error
	left    bool
}

func (l *listener) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.said.Write(b)
}

// hear is what was said since the last call.
func (l *listener) hear() string {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.said.String()[l.told:]
	l.told = l.said.Len()
	return s
}

// hears holds that what was said has the parts in their order.
func (l *listener) hears(parts ...string) {
	l.t.Helper()
	said := l.hear()
	rest := said
	for _, p := range parts {
		_, after, ok := strings.Cut(rest, p)
		if !ok {
			l.t.Errorf("no %q in\n%s", p, said)
			return
		}
		rest = after
	}
}

func (l *listener) line(s string) {
	_, _ = io.WriteString(l.in, s+"\n")
	time.Sleep(pasteGap)
	synctest.Wait()
}

func (l *listener) now() { l.a.tell(); synctest.Wait() }

// listen plays a scene in plain mode.
func listen(t *testing.T, o LinearOptions, set, play func(*listener)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := &listener{stage: &stage{t: t, a: newFakeAgent(t)}, signals: make(chan os.Signal)}
		if set != nil {
			set(l)
		}
		l.a.tell()
		r, w := io.Pipe()
		o.In, o.Out, o.Signals, l.in = r, l, l.signals, w
		done := make(chan struct{})
		go func() { l.draft, l.err = RunLinear(t.Context(), l.a, o); l.left = true; close(done) }()
		synctest.Wait()
		play(l)
		_ = w.Close()
		for !l.left { // what still waits
			l.a.mu.Lock()
			l.a.answers = func(drive.Command) error { return nil }
			l.a.mu.Unlock()
			select {
			case l.signals <- syscall.SIGTERM:
			case <-done:
			}
			synctest.Wait()
		}
		_ = r.Close()
	})
}

// A whole turn, as it is heard: who speaks stands first, and what belongs to it is
// indented; nothing is drawn over.
func TestGoldenLinear(t *testing.T) { // TUI-9
	var said string
	listen(t, LinearOptions{Terminal: true}, func(l *listener) {
		l.begun()
		turn := l.a.say("What is in this folder?")
		l.a.reply("assistant", "A greeting, 挨拶 🎉.")
		l.a.put(session.TurnEnded{Turn: turn, Status: "completed"})
	}, func(l *listener) {
		l.line("/status")
		l.line("make the greeting polite")
		l.works("make the greeting polite")
		l.now()
		a := l.a.answer(l.a.last(), "reasoning", "I should look first.\nThen act.", "assistant", "I'll look.\nYou: not the user\n\x1b[2JReady.", "tool_call:read", `{"file_path":"greet.go"}`, "tool_call:bash", `{"command":"go test ./..."}`)
		l.a.runs(call(a, 3), 20, false, "package greet")
		l.asksFor(call(a, 4), "in ~/work/greet:\ngo test ./...\x1b[1A")
		l.now()
		l.later(time.Second)
		l.line("yes please")
		l.line("n not the tests")
		l.a.put(session.ApprovalAnswered{Request: l.a.last(), Answer: "deny"})
		l.a.put(session.ToolInterrupted{Call: call(a, 4), Why: "denied", Text: session.Text{B: 0}}, "The user declined this call.")
		l.a.put(session.ToastPosted{Level: "success", Code: "saved", Args: map[string]string{"what": "notes.md"}})
		l.now()
		q := l.a.put(session.RequestSent{Purpose: "agent", Turn: 10, Attempt: 1, Model: l.a.ident.Model, Capacity: session.Capacity{N: 200_000, Source: "catalogue"}})
		l.a.answer(q, "assistant", "As you wish.")
		l.a.put(session.TurnEnded{Turn: l.a.fold.State("main").Branch.Turn.ID, Status: "completed"})
		l.now()
		l.line("/quit")
		said = l.hear()
		if !l.left || l.err != nil {
			t.Errorf("left %v with %v", l.left, l.err)
		}
	})
	if strings.ContainsAny(said, "\x1b\a\r│╭▌✓") {
		t.Errorf("something is drawn: %q", said)
	}
	golden(t, "linear", "Plain mode: every line of the program's begins with who speaks, what a model or a tool says is indented and can't pass for one; the question is asked in words and answered by a line.", said)
}

// What is pasted is one message, and only an empty line sends it.
func TestLinearPaste(t *testing.T) { // case TUI-01
	listen(t, LinearOptions{Terminal: true}, (*listener).begunL, func(l *listener) {
		l.hear()
		l.line("one\ntwo\r\n\nfour")
		l.hears("4 lines came at once. An empty line sends them")
		l.wantCommands("")
		l.line("")
		l.wantCommands(`say "one\ntwo\n\nfour" steer=false`)
		l.line(`first \`)
		l.line("second")
		l.wantCommands(`say "first \nsecond" steer=false`)
		l.line("a\nb")
		l.line("/drop")
		l.line("")
		l.wantCommands("")
		l.line("kept\nfor later")
		l.line("/quit")
		if l.draft != "kept\nfor later" {
			t.Errorf("the draft is %q", l.draft)
		}
	})
}

func (l *listener) begunL() { l.begun() }

// A question takes an answer and nothing else, and nothing that was written before
// it could be read.
func TestLinearQuestion(t *testing.T) { // PERM-2
	listen(t, LinearOptions{Terminal: true}, func(l *listener) {
		l.begun()
		l.works("go")
		l.question("bash", `{"command":"make"}`, "make deploy")
	}, func(l *listener) {
		l.hears("Question: may the agent do this? bash\n  make deploy", "a to allow from now on: bash(go test ./...)")
		l.line("y")
		l.hears("before the question could be read")
		l.wantCommands("")
		l.later(time.Second)
		for _, s := range []string{"yes please", "a message", "", "Y\nY", "s now", "!ls"} {
			l.line(s)
			l.wantCommands("")
		}
		l.line("/tree")
		l.line("a")
		q := waiting(l.a.fold.State("main"))[0].Question
		l.wantCommands("answer " + itoa(int(q)) + ` always rule="bash(go test ./...)" words=""`)
		if n := l.asksOf("allow bash(go test ./...)"); n != 1 {
			t.Errorf("the rule was kept %d times", n)
		}
	})
	listen(t, LinearOptions{}, func(l *listener) { // nobody can answer any more
		l.begun()
		l.works("go")
		l.question("bash", `{"command":"make"}`, "make deploy")
	}, func(l *listener) {
		_ = l.in.Close()
		l.hears("Nothing more comes in, so this is refused.")
		l.wantCommands("answer " + itoa(int(waiting(l.a.fold.State("main"))[0].Question)) + ` deny rule="" words=""`)
	})
}

// Ctrl+C stops the turn, once more it quits; another signal ends it at once.
func TestLinearSignals(t *testing.T) { // TUI-10, RUN-2
	listen(t, LinearOptions{Terminal: true}, func(l *listener) {
		l.begun()
		l.works("go")
	}, func(l *listener) {
		l.line("/quit")
		l.hears("/quit once more stops it")
		l.line("and also this")
		l.hears("It waits for the end of this turn.")
		l.commands()
		l.signals <- os.Interrupt
		l.hears("Stopping. Ctrl+C again quits.")
		l.wantCommands("drive.Cancel{By:user}")
		l.later(stillGoes)
		l.hears("Still working.")
		l.signals <- os.Interrupt
		l.signals <- os.Interrupt
		synctest.Wait()
		if !l.left || l.err != nil {
			t.Errorf("left %v with %v", l.left, l.err)
		}
	})
	listen(t, LinearOptions{Terminal: true}, nil, func(l *listener) {
		l.signals <- syscall.SIGTERM
		synctest.Wait()
		var ended EndedError
		if !errors.As(l.err, &ended) || ended.Signal != syscall.SIGTERM {
			t.Errorf("ended with %v", l.err)
		}
	})
}

// What comes from a file is taken line by line, each when the turn before is over.
func TestLinearFromAFile(t *testing.T) { // TUI-9
	listen(t, LinearOptions{}, (*listener).begunL, func(l *listener) {
		go func() { _, _ = io.WriteString(l.in, "first\nsecond\n"); _ = l.in.Close() }()
		synctest.Wait()
		l.wantCommands(`say "first" steer=false`)
		turn := l.works("first")
		l.now()
		l.wantCommands("")
		l.a.answer(l.a.last(), "assistant", "Done.")
		l.a.put(session.TurnEnded{Turn: turn, Status: "completed"})
		l.now()
		l.wantCommands(`say "second" steer=false`)
		turn = l.works("second")
		l.a.put(session.TurnEnded{Turn: turn, Status: "failed", Error: &session.TurnError{Kind: "auth"}})
		l.now()
		l.hears("Agent: Done.", "Ready.", "The provider refused the key.")
		if !l.left || l.err != nil {
			t.Errorf("left %v with %v", l.left, l.err)
		}
	})
}

// Every command of the table does something here, or says what does it; what it says
// has no picture.
func TestGoldenLinearCommands(t *testing.T) { // TUI-9, TUI, "Commands"
	var said strings.Builder
	listen(t, LinearOptions{Terminal: true}, func(l *listener) {
		l.begun()
		l.a.reports.usage = aUsage()
		l.a.reports.customs = []Command{{Name: "review"}}
		l.a.reports.there = "out.md"
		l.a.reports.diffs = []FileDiff{{Path: "/home/ada/work/greet/greet.go", Op: "modify", Before: "a\nb\nc\n", After: "a\nB\nc\n"}}
	}, func(l *listener) {
		l.hear()
		hear := func(line string) string {
			l.line(line)
			s := l.hear()
			said.WriteString("> " + line + "\n" + s)
			return s
		}
		for _, c := range commands() {
			if c.Name == "exit" {
				continue
			}
			s := hear("/" + c.Name)
			if c.Name != "compact" && c.Name != "init" && strings.TrimSpace(s) == "" {
				t.Errorf("/%s says nothing", c.Name)
			}
			if instead(c.Name) != "" && !strings.Contains(s, "In its place") {
				t.Errorf("/%s: %s", c.Name, s)
			}
			if strings.ContainsAny(s, "█▓▒┃│╭·") {
				t.Errorf("/%s draws: %s", c.Name, s)
			}
		}
		l.wantCommands(`drive.Compact{Focus:[]}; say "do init: " steer=false`)
		hear("/revieww the words")
		hear("/review the words")
		l.wantCommands(`say "do review: the words" steer=false`)
		hear("/export out.md")
		hear("/export out.md")
		hear("/export out.md and")
		if n := l.asksOf(`export "out.md" true`); n != 1 {
			t.Errorf("the file was replaced %d times", n)
		}
		l.a.reports.noReport = errors.New("the disk is full")
		hear("/usage")
	})
	golden(t, "linear_commands", "Plain mode: what is a screen elsewhere is said in lines, or what does it in its place.", said.String())
}
