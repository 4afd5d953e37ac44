package tui

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"varve/internal/harness/drive"
	"varve/internal/session"
)

// What newcomers found in the conversation, from the screen alone.

// The permission mode is on screen at every width, whatever else is said.
func TestModeIsAlwaysOnScreen(t *testing.T) { // PERM-1, TUI-6
	id := Identity{
		Workspace: "/home/ada/work/a-long-name-of-a-folder", Home: "/home/ada", GitBranch: "a-long-branch", Mode: "full", Script: true,
		Model: session.Model{Provider: "a-provider", Model: "a-model-with-a-very-long-name-20250929"},
	}
	var s session.State
	s.Branch.Queue = []session.Queued{{Kind: "queue"}, {Kind: "steer"}, {Kind: "queue"}}
	s.Branch.Sent.Room.N, s.Branch.Size.Reported = 1000, 10
	for w := 40; w < 200; w++ {
		line := statusOf(w, id, s)
		if !strings.Contains(line, " · full") || !strings.HasPrefix(line, "a-provid") || !strings.Contains(line, "(a script)") {
			t.Errorf("%d: %q", w, line)
		}
		fits(t, []string{line}, w, 1)
	}
	if line := statusOf(200, id, s); !strings.Contains(line, "2 queued, 1 steering") {
		t.Errorf("%q", line)
	}
}

// The reason of a fault comes before a long path, and goes when it is over; so
// does the word of another window.
func TestTroubleIsSaidShortAndGoes(t *testing.T) { // LOG-8, TUI-7
	scene(t, func(s *stage) {
		s.begun()
		path := "/home/ada/.local/share/varve/sessions/" + strings.Repeat("long-", 30) + "/x.jsonl"
		s.a.fault = fmt.Errorf("append to %s: disk full (no space left on device): make room, then try again", path)
		full := s.a.fault
		s.a.answers = func(drive.Command) error { return full }
		s.now()
		s.press("hello<enter>")
		const says = "✗ disk full (no space left on device): the session can't be written"
		if n := strings.Count(s.screen(), says); n != 2 { // the line, and the refusal
			t.Errorf("said %d times:\n%s", n, s.screen())
		}
		s.a.fault = nil // it is not tried any more, and nobody knows that there is room
		s.now()
		s.later(2 * errorStays)
		if n := strings.Count(s.screen(), says); n != 1 {
			t.Errorf("said %d times:\n%s", n, s.screen())
		}
		s.press("<enter>") // and again
		s.later(2 * errorStays)
		s.sees(says, "> hello")
		s.press("<esc>")
		s.lacks(says)
		s.press("<enter>")
		s.later(2 * errorStays)
		s.sees(says, "> hello")
		s.a.answers = nil
		s.a.say("hello")
		s.now()
		s.lacks("disk full")
	})
	// A turn that was left open is told of as long as it can't go on, and the key that
	// goes on with it shows why it does not.
	scene(t, func(s *stage) {
		s.works("run it")
		s.a.notOurs = true
		s.now()
		s.sees("A turn was left open. Enter goes on with it")
		full := errors.New("append to /x.jsonl: disk full (no space left on device): make room, then try again")
		s.a.answers = func(drive.Command) error { return full }
		s.press("<enter>") // the fault may come before the refusal, or behind it
		s.a.fault = full
		s.now()
		s.sees("A turn was left open. It can't go on before that is mended.")
		s.a.fault = nil
		s.now()
		s.later(2 * errorStays)
		s.sees("✗ disk full (no space left on device)", "make room")
		s.a.answers, s.a.notOurs = nil, false
		s.a.put(session.RunStarted{Run: "r2"})
		s.now()
		s.lacks("disk full")
	})
	scene(t, func(s *stage) {
		s.works("hello")
		s.a.busy = true
		s.a.answers = func(drive.Command) error {
			return errors.New(drive.ErrHeld.Error()) // one that no question is about
		}
		s.now()
		s.press("me too<enter>")
		s.sees("is working on this branch")
		s.a.busy, s.a.answers = false, nil
		s.now()
		s.lacks("is working on this branch", "Another window")
	})
}

// What is said of an open turn is what can be done.
func TestOpenTurnPromisesOnlyWhatGoes(t *testing.T) { // SES-08, LOG-8
	for _, c := range []struct {
		set         func(*stage)
		sees, lacks string
	}{
		{func(*stage) {}, "Enter goes on with it; a message does too", "can't go on"},
		{func(s *stage) { s.press("a draft") }, "goes on with it when it is sent", "Enter goes on"},
		{func(s *stage) {
			s.a.fault = errors.New("line 3 of this session can't be read: it is shown read-only")
		}, "It can't go on before that is mended", "Enter goes on"},
	} {
		scene(t, func(s *stage) {
			s.works("run it")
			s.question("bash", `{"command":"x"}`, "make")
			s.a.notOurs = true
			c.set(s)
			s.now()
			s.sees("A turn was left open.", c.sees)
			s.lacks(c.lacks, "waits for your answer")
			s.sees("was not answered")
		})
	}
}

// A question of another window is not for who follows it.
func TestFollowerHasNoQuestion(t *testing.T) { // SES-08
	scene(t, func(s *stage) {
		s.asksCommand("make")
		s.now()
		s.sees("waits for your answer")
		s.a.busy = true
		s.now()
		s.lacks("waits for your answer")
		s.sees("waits in its window")
	})
}

// begins records that a command of the user's own began.
func (s *stage) begins(command string) {
	s.a.put(session.ToastPosted{Level: "info", Code: "shell.started", Args: map[string]string{"command": command}})
}

// A command that has no end is told of when its run is over, and not before.
func TestShellThatOutlivedTheProgram(t *testing.T) { // LOG-8, TUI-4
	const lost = " was running when the program ended: it may still run"
	scene(t, func(s *stage) {
		s.begun()
		s.begins("sleep 100")
		s.begins("ls")
		s.a.put(session.ShellRan{}, "$ ls\na.go")
		s.begins("sleep 100")
		s.a.put(session.ShellRan{}, "$ sleep 100\n")
		s.now()
		s.lacks(lost)
		s.a.notOurs = true // the program is another one, and nobody works
		s.now()
		s.sees("$ sleep 100" + lost)
		s.lacks("$ ls" + lost)
		if n := strings.Count(s.screen(), lost); n != 1 {
			t.Errorf("told %d times:\n%s", n, s.screen())
		}
		s.a.notOurs = false
		s.a.put(session.RunStarted{Run: "r2"})
		s.begins("make")
		s.now()
		s.sees("$ sleep 100" + lost)
		s.lacks("$ make" + lost)
	})
}

// A call that ran when its program died is said to be left open, where nobody works
// on it any more or somebody else does, and not to run.
func TestCallWhoseProgramDied(t *testing.T) { // TUI-2, LOG-14
	scene(t, func(s *stage) {
		s.works("test it")
		a := s.a.answer(s.a.last(), "tool_call:bash", `{"command":"sleep 100"}`)
		s.a.put(session.ToolStarted{Call: call(a, 1)})
		s.now()
		s.sees("◐ bash sleep 100")
		s.lacks(leftOpen)
		s.a.busy = true // another window works on it
		s.now()
		s.lacks(leftOpen)
		s.a.busy, s.a.notOurs = false, true
		s.now()
		s.sees("⏹ bash sleep 100", leftOpen)
		s.a.put(session.ToolInterrupted{Call: call(a, 1), Why: "lost"}, "The program ended while this was running.")
		s.now()
		s.lacks(leftOpen)
		s.sees("the program ended while it ran")
	})
}

// The rows are the same whatever pages they came with.
func TestLeftBehindByPages(t *testing.T) { // TUI-2
	tp := newTape(t)
	put := func(e session.Event, texts ...string) { tp.put(e, texts...) }
	put(session.SessionCreated{Format: session.Format, ID: "s"})
	put(session.RunStarted{Run: "r"})
	for _, c := range []string{"a", "a", "b"} {
		put(session.ToastPosted{Code: "shell.started", Args: map[string]string{"command": c}})
	}
	put(session.ShellRan{}, "$ a\n")
	put(session.JobStarted{Job: "job-1", PID: 4711})
	q := tp.reply("tool_call:bash", `{"command":"make slow"}`, "tool_call:ls", `{}`)
	put(session.ToolStarted{Call: call(q, 1)})
	tp.runs(call(q, 2), 3, false, "a.go")
	put(session.RunEnded{How: "lost"})
	put(session.JobEnded{Job: "job-1", Why: "lost"})
	put(session.RunStarted{Run: "r2"})
	put(session.JobStarted{Job: "job-1", PID: 4712})
	whole := newTranscript(plainLook(plainTime()))
	whole.add(tp.entries)
	want := strings.Join(whole.view(100, 40), "\n")
	for _, says := range []string{"$ a was running when", "$ b was running when", "its processes (pid 4711) may still run", "bash make slow", leftOpen} {
		if !strings.Contains(want, says) {
			t.Errorf("no %q in\n%s", says, want)
		}
	}
	for cut := 1; cut < len(tp.entries); cut++ {
		tr := newTranscript(plainLook(plainTime()))
		tr.add(tp.entries[cut:])
		tr.prepend(tp.entries[:cut])
		if got := strings.Join(tr.view(100, 40), "\n"); got != want {
			t.Errorf("cut at %d:\n%s\nwant\n%s", cut, got, want)
		}
	}
}

func TestShellSaysHowItEnds(t *testing.T) { // TUI-5
	onStage(t, 40, 12, noColours(), nil, func(s *stage) {
		s.press("!hang<enter>")
		s.a.mu.Lock()
		s.a.pulses = []drive.Pulse{{Job: "shell:hang", Kind: "shell", Name: strings.Repeat("hang ", 30), Began: time.Now()}}
		s.a.mu.Unlock()
		s.now()
		s.sees("! hang", "Esc ends it")
		s.press("<esc>")
	})
}

// A text that the program wrote gives way to what is typed.
func TestGivenTextGivesWay(t *testing.T) { // CLI-3, TUI-4
	given := Options{Prompt: "The tests fail.", Draft: true, Colors: noColours().Colors}
	const says = "Enter sends it, typing replaces it"
	for _, c := range []struct{ keys, paste, want string }{
		{"hello", "", "hello"},
		{"", "hello", "hello"},
		{"<left>,<end> Mend them.", "", "The tests fail,. Mend them."},
		{"<backspace>", "", "The tests fail"},
		{"hello<ctrl+_><ctrl+_>", "", "The tests fail."},
	} {
		onStage(t, 80, 24, given, nil, func(s *stage) {
			s.sees("> The tests fail.", says)
			s.press(c.keys)
			if c.paste != "" {
				s.send(tea.PasteMsg{Content: c.paste})
			}
			s.wantDraft(c.want)
			s.lacks(says)
		})
	}
	onStage(t, 80, 24, given, nil, func(s *stage) {
		s.press("<enter>")
		s.wantCommands(`say "The tests fail." steer=false`)
		s.lacks(says)
	})
	onStage(t, 80, 24, noColours(), func(s *stage) { s.a.ident.Draft = "my own" }, func(s *stage) {
		s.lacks(says)
		s.press(" words")
		s.wantDraft("my own words")
	})
}

// From the key one comes back to the choices, and a box has no letters at its side.
func TestKeyGoesBackToTheChoices(t *testing.T) { // CLI-3
	onStage(t, 80, 24, noColours(), func(s *stage) {
		s.a.ident.Setup, s.a.ident.Model = true, session.Model{}
		s.a.offers = []Offer{{ID: "demo", Title: "See it work"}, {ID: "openai", Title: "Give a key", NeedsKey: true}}
	}, func(s *stage) {
		s.press("<down><enter>")
		s.sees("Key for openai")
		s.press("<esc>")
		s.sees("See it work", "Give a key")
		for _, row := range strings.Split(s.screen(), "\n") {
			if at := strings.IndexAny(row, "╭│╰"); at > 0 && strings.TrimSpace(row[:at]) != "" {
				t.Errorf("letters beside the box: %q", row)
			}
		}
		s.press("<esc>")
		s.lacks("See it work")
	})
}

// What is held says when it can go, also while another turn runs; and what
// Alt+Enter does is said where there is room.
func TestHeldAndSteeringAreSaid(t *testing.T) { // TUI-5
	scene(t, func(s *stage) {
		s.works("hello")
		s.now()
		s.sees("Alt+Enter sends it into this turn")
		q := s.queues("queue", "later")
		s.a.put(session.InputHeld{Entries: []session.Seq{q}})
		s.now()
		s.sees("After this turn Enter on an empty line sends it; Alt+Up edits the last one")
	})
}

// The cause of a failure is shown, not that it failed.
func TestFailedCommandShowsItsCause(t *testing.T) { // TUI-3
	out := "=== RUN   TestGreet\n" + strings.Repeat("noise\n", 9) + "--- FAIL: TestGreet (0.00s)\n    greet_test.go:9: got Hi, want Hello\nFAIL\nFAIL\tgreet\t0.002s\nFAIL\n[exit code 1 after 1.2s]"
	got := strings.Join(foldFailed(out, 80, plainLook(plainTime()), 0), "\n")
	want := "  … 13 more lines (Ctrl+O)\n  noise\n  --- FAIL: TestGreet (0.00s)\n      greet_test.go:9: got Hi, want Hello"
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	for _, s := range []string{"FAIL\nFAIL\nFAIL\nFAIL\nFAIL\nFAIL", "one\ntwo"} {
		if len(foldFailed(s, 80, plainLook(plainTime()), 0)) == 0 {
			t.Errorf("nothing is shown of %q", s)
		}
	}
	scene(t, func(s *stage) {
		s.works("test it")
		a := s.a.answer(s.a.last(), "tool_call:bash", `{"command":"go test"}`)
		s.a.put(session.ToolStarted{Call: call(a, 1)})
		s.a.put(session.ToolFinished{Call: call(a, 1), IsError: true}, out)
		s.now()
		s.sees("got Hi, want Hello")
	})
}
