package tui

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"varve/internal/harness/drive"
	"varve/internal/session"
	"varve/internal/setup"
)

func TestEnterQueuesAndAltEnterSteers(t *testing.T) { // TUI-5
	scene(t, func(s *stage) {
		s.press("hello<enter>")
		s.wantCommands(`say "hello" steer=false`)
		s.works("hello")
		s.now()
		s.press("and then this<enter>")
		s.press("no, that<alt+enter>")
		s.wantCommands(`say "and then this" steer=false; say "no, that" steer=true`)
		s.wantDraft("")
		s.queues("queue", "and then this")
		s.queues("steer", "no, that")
		s.now()
		s.sees("queued: and then this", "for this turn: no, that", "1 queued, 1 steering", "Alt+Up edits the last one")
		s.press("<alt+up>")
		s.wantCommands(fmt.Sprintf("drive.RemoveQueued{Entry:%d}", s.a.last()))
		s.wantDraft("no, that")
		s.press("<alt+up>") // what is written is not lost for it
		s.wantCommands("")
		s.sees("Send or clear what is written first.")
		s.wantDraft("no, that")
	})
}

// Where no turn runs, Alt+Enter begins a line.
func TestAltEnterWhenIdle(t *testing.T) { // TUI-4, case TUI-10
	scene(t, func(s *stage) {
		s.press("one<alt+enter>two<ctrl+j>three<shift+enter>four\\<enter>five")
		s.wantCommands("")
		s.press("<enter>")
		s.wantCommands(`say "one\ntwo\nthree\nfour\nfive" steer=false`)
	})
}

// An entry whose words have not come yet is not taken: they would be lost.
func TestAltUpNeverLosesWords(t *testing.T) { // TUI-5
	scene(t, func(s *stage) {
		s.works("hello")
		ref := session.Part{Ref: &session.Ref{SHA256: strings.Repeat("a", 64), MediaType: "text/plain", Size: 100_000}}
		q := s.a.fact(session.Fact{Event: session.InputQueued{Kind: "queue"}, Body: []session.Part{ref}})
		s.a.noBody = errors.New("disk on fire")
		s.now()
		s.press("<alt+up>")
		s.wantCommands("")
		s.wantDraft("")
		s.a.bodies = map[want]string{{q + 1, 0}: "a long text\n\twith a tab"}
		s.a.fact(session.Fact{Event: session.InputQueued{Kind: "queue"}, Body: []session.Part{ref}})
		s.now()
		s.a.answers = func(drive.Command) error { return drive.ErrGone } // it was taken meanwhile
		s.press("<alt+up>")
		s.wantDraft("")
		s.sees("not there any more")
		s.a.answers = nil
		s.press("<alt+up>")
		s.wantCommands(fmt.Sprintf("drive.RemoveQueued{Entry:%d}", q+1))
		if got, _ := s.chat.comp.Value(); !strings.HasPrefix(got, "a long text\n") {
			t.Errorf("the draft is %q", got)
		}
	})
}

func TestEscInnermostFirst(t *testing.T) { // TUI-5, case TUI-11
	scene(t, func(s *stage) {
		s.works("hello")
		s.now()
		s.press("my draft")
		s.press("<ctrl+p>")
		s.sees("╭─")
		s.press("<esc>")
		s.lacks("╭─")
		s.wantCommands("")
		s.wantDraft("my draft")
		s.press(" @gre")
		s.a.files = nil
		s.press("<esc>") // at most closes what is offered
		s.commands()
		s.later(2 * time.Second)
		s.press("<esc>")
		s.wantCommands(`drive.Cancel{By:user}`)
		s.wantDraft("my draft @gre")
		s.press("<ctrl+c>")
		s.wantDraft("")
		if s.quit {
			t.Fatal("one Ctrl+C quit")
		}
		s.sees("Ctrl+C again quits")
		s.press("<up>")
		s.wantDraft("my draft @gre")
	})
}

// The plan of the palette is on top of a question too.
func TestEscClosesOneOverlayOnly(t *testing.T) { // case TUI-14
	scene(t, func(s *stage) {
		s.works("hello")
		s.now()
		s.press("<alt+p>")
		s.press("abc")
		s.wantDraft("") // no key leaks
		s.send(tea.PasteMsg{Content: "pasted"})
		s.wantDraft("")
		s.press("<esc><esc>") // the second is the turn's
		s.wantCommands(`drive.Cancel{By:user}`)
	})
}

func TestCtrlCTwiceQuits(t *testing.T) { // TUI-5, case TUI-11
	scene(t, func(s *stage) {
		s.press("a draft<ctrl+c>")
		s.wantDraft("")
		s.sees("Ctrl+C again quits")
		s.later(2 * time.Second)
		s.lacks("Ctrl+C again quits")
		s.press("<ctrl+c>")
		if s.quit {
			t.Fatal("the second press came too late to count")
		}
		s.press("<ctrl+c>")
		if !s.quit {
			t.Error("Ctrl+C twice did not quit")
		}
	})
	scene(t, func(s *stage) {
		s.press("x<ctrl+c>")
		s.later(time.Second)
		s.press("y<ctrl+c>") // between the two there was another key
		if s.quit {
			t.Fatal("Ctrl+C, a letter, Ctrl+C quit")
		}
		s.later(500 * time.Millisecond) // the time of the first press is up
		s.sees("Ctrl+C again quits")
		s.press("<ctrl+c>")
		if !s.quit {
			t.Error("the hint stood there, and it did not quit")
		}
	})
}

func TestCtrlDQuitsWhereNothingIsWritten(t *testing.T) { // TUI, table of keys
	scene(t, func(s *stage) {
		s.press("x<ctrl+d>")
		if s.quit {
			t.Fatal("Ctrl+D quit with a draft")
		}
		s.press("<backspace><ctrl+d>")
		if !s.quit {
			t.Error("Ctrl+D did not quit")
		}
	})
}

func TestQuitAsksWhileATurnRuns(t *testing.T) { // TUI-5
	scene(t, func(s *stage) {
		s.works("hello")
		s.now()
		s.press("<ctrl+c><ctrl+c>")
		s.sees("A turn is running. Quitting interrupts it")
		s.press("<enter>") // the harmless one
		s.lacks("A turn is running")
		if s.quit {
			t.Fatal("Enter quit")
		}
		s.press("<ctrl+c><ctrl+c>y")
		if !s.quit {
			t.Error("y did not quit")
		}
	})
	onStage(t, 80, 24, noColours(), func(s *stage) { s.works("hello"); s.a.notOurs = true }, func(s *stage) {
		s.press("<ctrl+d>")
		if !s.quit {
			t.Error("a paused turn needs no question")
		}
	})
}

// Going to another session would interrupt the turn: that is asked too.
func TestSwitchAsksWhileATurnRuns(t *testing.T) { // TUI-5, case SES-08
	scene(t, func(s *stage) {
		s.a.other = newFakeAgent(t)
		s.works("hello")
		s.now()
		s.press("/new<enter>")
		s.sees("Going to another session interrupts it")
		if n := s.a.asksOfSwitch(); n != 0 {
			t.Fatal("it went without an answer")
		}
		s.press("<enter>")
		if n := s.a.asksOfSwitch(); n != 0 {
			t.Fatal("Enter went")
		}
		s.press("/new<enter>y")
		if n := s.a.asksOfSwitch(); n != 1 {
			t.Errorf("%d switches, want one", n)
		}
	})
}

func (a *fakeAgent) asksOfSwitch() (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, d := range a.did {
		if strings.HasPrefix(d, "switch") {
			n++
		}
	}
	return n
}

func TestShiftTabCyclesAndFullAsksOnce(t *testing.T) { // PERM-1
	scene(t, func(s *stage) {
		s.begun()
		s.now()
		mode := func(m string) {
			s.a.put(session.PermissionChanged{Mode: m, Op: "mode", Scope: "run"})
			s.now()
		}
		s.press("<shift+tab>")
		s.wantCommands("drive.SetMode{Mode:edit}")
		mode("edit")
		s.press("<shift+tab>")
		s.wantCommands("")
		s.sees("commands and edits run without asking")
		s.press("<enter>") // the harmless one: on to the next
		s.wantCommands("drive.SetMode{Mode:ask}")
		s.press("<shift+tab><down><enter>")
		s.wantCommands("drive.SetMode{Mode:full}")
		mode("full")
		s.sees(" full ")
		s.press("<shift+tab>")
		s.wantCommands("drive.SetMode{Mode:ask}")
		mode("ask")
		s.press("<shift+tab>")
		mode("edit")
		s.commands()
		s.press("<shift+tab>") // it was confirmed
		s.wantCommands("drive.SetMode{Mode:full}")
	})
}

func TestRefusedMessageComesBack(t *testing.T) { // TUI-5
	scene(t, func(s *stage) {
		s.a.answers = func(drive.Command) error { return errors.New("another window works on this branch") }
		s.press("a careful message<enter>")
		s.wantDraft("a careful message")
		s.sees("✗ another window works on this branch")
		s.a.answers = nil
		s.press("<enter>")
		s.wantCommands(`say "a careful message" steer=false`)
		s.wantDraft("")
	})
}

func TestUnknownCommandIsNeverSent(t *testing.T) { // TUI, commands; case TUI-14
	scene(t, func(s *stage) {
		s.press("/frobnicate now")
		s.press("<enter>")
		s.wantCommands("")
		s.sees("✗ there is no command /frobnicate")
		s.wantDraft("/frobnicate now")
		s.press("<ctrl+c>")
		s.press("/usr/bin/env is a path<enter>")
		s.wantCommands(`say "/usr/bin/env is a path" steer=false`)
		if n := s.asksOf("shell"); n != 0 {
			t.Error("a shell ran")
		}
	})
}

func TestBangRunsAShell(t *testing.T) { // TUI-4
	scene(t, func(s *stage) {
		s.press("!git status<enter>")
		s.wantCommands("")
		if s.asksOf("shell git status") != 1 {
			t.Errorf("asked for %q", s.a.did)
		}
		s.press("<up>")
		s.wantDraft("!git status")
		s.press("<ctrl+g>") // what the editor gets is the whole draft, with its mark
		if s.asksOf("submit") != 0 {
			t.Errorf("asked for %q", s.a.did)
		}
	})
}

// What is late of a session that is not shown any more changes nothing.
func TestLateMessagesOfTheOldSession(t *testing.T) { // case SES-08
	onStage(t, 80, 24, noColours(), func(s *stage) {
		s.works("the old one")
		s.a.notOurs = true
		s.a.other = newFakeAgent(s.t)
		s.a.other.ident.Session = "n"
	}, func(s *stage) {
		s.sees("the old one")
		s.press("my draft<ctrl+p>")
		s.press("<esc>")
		old := s.epoch
		s.send(switchedMsg{id: s.a.other.ident})
		s.a.mu.Lock()
		late := updateMsg{epoch: old, Update: drive.Update{Entries: s.a.entries, State: s.a.fold.State("main"), Busy: true, Fault: errors.New("old fault")}}
		s.a.mu.Unlock()
		state := s.state
		s.a.entries = nil
		s.handle(late)
		s.handle(tailMsg{epoch: old, entries: late.Entries, err: errors.New("old error")})
		s.handle(olderMsg{epoch: old, entries: late.Entries, err: errors.New("old error")})
		s.handle(bodyMsg{epoch: old, want: want{1, 0}, bytes: []byte("old body")})
		s.handle(questionMsg{epoch: old, question: 3, shown: []byte("old question")})
		if s.busy || s.fault != "" || state.Session.ID != s.state.Session.ID || len(s.toasts) > 0 {
			t.Errorf("busy %v, fault %q, toasts %v", s.busy, s.fault, s.toasts)
		}
		s.lacks("old error", "old fault", "old question", "Another window")
		s.wantDraft("my draft")
	})
}

// Nothing is asked of a clock while nothing moves, and the same content is
// drawn again.
func TestIdleIsStill(t *testing.T) { // TUI-13, case TUI-05
	onStage(t, 80, 24, noColours(), func(s *stage) {
		s.works("hello")
		s.a.answer(s.a.last(), "assistant", "Hi.")
		s.a.put(session.TurnEnded{Turn: 5, Status: "completed"})
	}, func(s *stage) {
		s.settle()
		before := s.paint
		if s.ticking || s.clock() != nil || s.Pace() != 0 {
			t.Error("a clock runs where nothing moves")
		}
		s.send(tea.MouseMotionMsg{X: 3, Y: 3})
		s.later(10 * time.Second)
		if s.paint != before || s.frameNow().Content != before {
			t.Error("the screen changed by itself")
		}
		if s.ticking {
			t.Error("a clock runs where nothing moves")
		}
	})
}

func TestPaceWhileAnAnswerStreams(t *testing.T) { // PERF-5, TUI-13
	scene(t, func(s *stage) {
		s.works("hello")
		q := s.a.last()
		s.now()
		if s.Pace() != 0 {
			t.Error("paced before anything streams")
		}
		s.a.pulses = []drive.Pulse{pulse(q, "text", "", "Once upon")}
		s.now()
		s.sees("Once upon")
		if s.Pace() != time.Second/30 {
			t.Errorf("pace %v while text streams", s.Pace())
		}
		s.a.pulses = nil
		s.a.answer(q, "assistant", "Once upon a time.")
		s.a.put(session.TurnEnded{Turn: 5, Status: "completed"})
		s.now()
		if s.Pace() != 0 {
			t.Error("paced when all has come")
		}
	})
}

// A page that can't be read is asked for once, not for ever.
func TestOlderPageThatCantBeRead(t *testing.T) { // TUI-2
	onStage(t, 80, 24, noColours(), func(s *stage) {
		s.begun()
		for i := range 400 {
			s.a.put(session.ShellRan{}, fmt.Sprintf("$ echo %d", i))
		}
		s.a.older = errors.New("input/output error")
	}, func(s *stage) {
		s.press("<ctrl+home>")
		for range 5 {
			s.press("<pgup>")
		}
		if n := s.asksOf("before"); n != 1 {
			t.Errorf("asked %d times", n)
		}
		s.sees("Earlier entries can't be read: input/output error")
	})
}

func TestEnterGoesOnWithAPausedTurn(t *testing.T) { // LOG-14
	onStage(t, 80, 24, noColours(), func(s *stage) {
		s.works("hello")
		s.a.notOurs = true
	}, func(s *stage) {
		s.sees("A turn was left open. Enter goes on with it")
		s.press("<enter>")
		s.wantCommands("drive.Resume{}")
		s.press("go on, but quietly<enter>")
		s.wantCommands(`say "go on, but quietly" steer=false`)
		s.press("<esc>")
		s.wantCommands(`drive.Cancel{By:user}`)
	})
	onStage(t, 80, 24, Options{Colors: colorprofile.NoTTY, GoOn: true}, func(s *stage) {
		s.works("hello")
		s.a.notOurs = true
	}, func(s *stage) { s.wantCommands("drive.Resume{}") })
}

func TestEnterSendsWhatIsHeld(t *testing.T) { // BRN-5
	scene(t, func(s *stage) {
		turn := s.works("hello")
		q := s.queues("queue", "and this")
		s.a.put(session.TurnCancelled{Turn: turn, By: "user"})
		s.a.put(session.InputHeld{Entries: []session.Seq{q}})
		s.a.put(session.TurnEnded{Turn: turn, Status: "interrupted"})
		s.now()
		s.sees("held: and this")
		s.press("<enter>")
		s.wantCommands(fmt.Sprintf("drive.SendHeld{Entry:%d}", q))
	})
}

func TestPromptOfTheCommandLineIsSent(t *testing.T) { // CLI-1
	o := noColours()
	o.Prompt = "do it"
	onStage(t, 80, 24, o, nil, func(s *stage) { s.wantCommands(`say "do it" steer=false`) })
	o.Draft = true
	onStage(t, 80, 24, o, nil, func(s *stage) { s.wantCommands(""); s.wantDraft("do it") })
}

// The first choice of a first run is one key away.
func TestFirstRunLeadsSomewhere(t *testing.T) { // CLI-3
	set := func(s *stage) {
		s.a.ident.Setup, s.a.ident.Model = true, session.Model{}
		s.a.offers = []Offer{{ID: "demo", Title: "See it work: run the demo"}, {ID: "acme", Title: "Give a key for acme", NeedsKey: true}}
	}
	onStage(t, 80, 24, noColours(), set, func(s *stage) {
		s.sees("Welcome to Varve", "See it work: run the demo")
		s.press("<enter>")
		if s.asksOf("take demo") != 1 {
			t.Errorf("asked for %q", s.a.did)
		}
		s.wantDraft("The tests fail.")
	})
	onStage(t, 80, 24, noColours(), set, func(s *stage) {
		s.press("<down><enter>")
		s.sees("Key for acme")
		s.send(tea.PasteMsg{Content: " sk-secret-1\n"})
		s.lacks("secret") // SEC-2
		s.sees("•••••")
		s.press("<enter>")
		if s.asksOf("take acme sk-secret-1") != 1 {
			t.Errorf("asked for %q", s.a.did)
		}
	})
	onStage(t, 80, 24, noColours(), set, func(s *stage) { // seen off, and then something is said
		s.press("<esc>hello<enter>")
		s.wantCommands("")
		s.wantDraft("hello")
		s.sees("Welcome to Varve")
	})
}

// Whatever its size, the window can be drawn into, also with something on top.
func TestEverySize(t *testing.T) { // TUI-9, case TUI-13
	onStage(t, 80, 24, noColours(), func(s *stage) {
		turn := s.works("日本語 hello")
		s.queues("queue", strings.Repeat("wait ", 50))
		s.a.put(session.ToastPosted{Level: "error", Code: "log_failed", Args: map[string]string{"why": "no space left on device"}})
		_ = turn
	}, func(s *stage) {
		s.press("a draft of mine")
		sizes := [][2]int{{1, 1}, {0, 0}, {10, 3}, {20, 5}, {20, 6}, {21, 7}, {40, 10}, {40, 12}, {39, 11}, {500, 200}, {80, 24}}
		for _, scene := range []string{"", "<ctrl+p>", "<esc><alt+p>", "<esc><ctrl+r>", "<esc>", "/re"} {
			s.press(scene)
			for _, size := range sizes {
				s.send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
				if size[0] < leastW || size[1] < leastH {
					if got, _, _ := strings.Cut(s.screen(), "\n"); !strings.HasPrefix("window too small", strings.TrimSuffix(got, "…")) {
						t.Errorf("%v shows %q", size, got)
					}
				}
			}
		}
		if !strings.Contains(s.chat.comp.Draft().Whole(), "a draft of mine") {
			t.Errorf("the draft is %q", s.chat.comp.Draft().Whole())
		}
	})
}

// The cursor is where the next letter goes, at every frame.
func TestCursorIsWhereLettersGo(t *testing.T) { // case TUI-04
	scene(t, func(s *stage) {
		at := func(what, before string) {
			t.Helper()
			v := s.frameNow()
			if v.Cursor == nil {
				t.Errorf("%s: no cursor\n%s", what, s.screen())
				return
			}
			lines := strings.Split(s.screen(), "\n")
			line := []rune(lines[v.Cursor.Y])
			if got := string(line[:min(v.Cursor.X, len(line))]); !strings.HasSuffix(strings.TrimRight(got, " "), strings.TrimRight(before, " ")) || v.Cursor.X > len(line)+1 {
				t.Errorf("%s: before the cursor stands %q, want %q\n%s", what, got, before, s.screen())
			}
		}
		for _, size := range [][2]int{{80, 24}, {40, 12}, {20, 6}, {24, 8}} {
			s.send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
			s.press("hello")
			at("the composer", "hello")
			s.press("<ctrl+c>/m")
			at("completion", "/m")
			s.press("<esc><ctrl+c>")
			s.press("<alt+p>gp")
			if size[0] >= 40 {
				at("a filter", "gp")
			}
			s.press("<esc>")
		}
		// More than there is room for: what is above is cut, and the cursor moves along.
		s.a.files = []string{"greet.go", "greet_test.go", "grey.go", "grow.go"}
		s.send(tea.WindowSizeMsg{Width: 24, Height: 6})
		s.press("a<ctrl+j>b<ctrl+j>@gr")
		at("completion in a long draft", "@gr")
		s.press("<esc><ctrl+c>")
		s.later(twiceWithin)
		s.works("run it")
		s.question("bash", `{"command":"x"}`, "x")
		s.asked()
		s.press("dbecause")
		for _, size := range [][2]int{{80, 24}, {40, 12}, {33, 10}} {
			s.send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
			at("words for the model", "because")
		}
	})
}

func TestUnknownThemeAndKeysAreSaid(t *testing.T) { // TUI-12, CFG-2
	o := noColours()
	o.Looks = setup.Appearance{Theme: "pink", Keys: map[string][]string{"no_such_thing": {"ctrl+x"}}}
	onStage(t, 80, 24, o, nil, func(s *stage) { s.sees("appearance.theme pink", "no_such_thing") })
}

// Who looks elsewhere is told that the turn has ended, or waits for them.
func TestBellWhenOutOfFocus(t *testing.T) { // TUI-11
	scene(t, func(s *stage) {
		turn := s.works("hello")
		q := s.a.last()
		s.now()
		s.a.answer(q, "assistant", "Hi.")
		s.a.put(session.TurnEnded{Turn: turn, Status: "completed"})
		s.now()
		if len(s.other) != 0 {
			t.Errorf("rang while in focus: %v", s.other)
		}
		s.send(tea.BlurMsg{})
		s.works("again")
		q = s.question("bash", `{"command":"make"}`, "make")
		s.asked()
		if got := fmt.Sprint(s.other); !strings.Contains(got, "needs an answer") {
			t.Errorf("the question was told by %q", got)
		}
		s.other = nil
		s.send(tea.FocusMsg{})
		s.now()
		if len(s.other) != 0 {
			t.Errorf("told again: %v", s.other)
		}
		_ = q
	})
}

// The interface stays with a session that can't be left.
func TestSwitchThatFails(t *testing.T) { // BRW-4
	onStage(t, 80, 24, noColours(), func(s *stage) {
		s.begun()
		s.a.say("hello")
		s.a.put(session.TurnEnded{Turn: 5, Status: "completed"})
		s.a.noOther = errors.New("session 0000 was written by a newer program")
	}, func(s *stage) {
		s.press("/resume 0000<enter>")
		s.sees("✗ session 0000 was written by a newer program", "hello")
		s.works("still here")
		s.now()
		s.sees("still here")
	})
}
