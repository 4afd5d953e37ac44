package tui

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"pgregory.net/rapid"

	"varve/internal/session"
)

// What newcomers found at questions and dialogs, from the screen alone.

const noAnswer = ""

func once(q session.Seq) string { return fmt.Sprintf(`answer %d once rule="" words=""`, q) }

// What lies on top and isn't shown takes no answer.
func TestOverlayThatIsNotShownTakesNothing(t *testing.T) { // PERM-1, TUI-9
	scene(t, func(s *stage) {
		s.begun()
		s.a.put(session.PermissionChanged{Mode: "edit", Op: "mode", Scope: "run"})
		s.now()
		s.press("<shift+tab>")
		s.sees("Switch it on?")
		s.send(tea.WindowSizeMsg{Width: 20, Height: 5})
		s.sees("window too small")
		s.press("y<down><enter><esc><ctrl+c>")
		s.send(tea.PasteMsg{Content: "y"})
		s.wantCommands(noAnswer)
		s.send(tea.WindowSizeMsg{Width: 80, Height: 24})
		s.sees("Switch it on?")
		s.press("y")
		s.wantCommands("drive.SetMode{Mode:full}")
	})
}

// Another size makes other lines: what was read is counted anew, and reading
// always comes to an end.
func TestReadingGoesOnAfterAResize(t *testing.T) { // PERM-2, TUI-9
	scene(t, func(s *stage) {
		var diff strings.Builder
		diff.WriteString("--- a/greet.go\n+++ b/greet.go\n@@ -1,9 +1,9 @@\n")
		for i := range 9 {
			fmt.Fprintf(&diff, "-line %d was\n+line %d is\n", i, i)
		}
		s.send(tea.WindowSizeMsg{Width: 40, Height: 12})
		s.works("change it")
		q := s.question("edit", `{"file_path":"greet.go"}`, diff.String())
		s.asked()
		s.press("yy")
		s.wantCommands(noAnswer)
		s.send(tea.WindowSizeMsg{Width: 80, Height: 24})
		s.sees("greet.go", "line 0", "read more")
		for n := 0; strings.Contains(s.screen(), "read more") && n < 9; n++ {
			s.press("y")
			s.wantCommands(noAnswer)
		}
		s.sees("line 8 is", "yes, once")
		s.press("y")
		s.wantCommands(once(q))
	})
}

// At any sizes, one after another: the label is what the key does.
func TestLabelIsWhatTheKeyDoes(t *testing.T) { // PERM-2
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "lines")
		a := &approval{question: 3, name: "bash", what: "command", shown: strings.TrimSuffix(strings.Repeat("a line that is folded where it is narrow\n", n), "\n"), ready: true}
		w, h := 80, 24
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "resized") {
				w, h = rapid.IntRange(20, 90).Draw(t, "w"), rapid.IntRange(6, 30).Draw(t, "h")
			}
			key := rapid.SampledFrom([]string{"y", "enter", "up", "pgup", "pgdown"}).Draw(t, "key")
			a.view(w, h*2/3, h-1, plainLook(plainTime()), 0, keysAnswer)
			if _, ok := a.key(keyOf(key), DefaultKeymap()); ok {
				return
			}
		}
		for range 2000 {
			out := strings.Join(a.view(w, h*2/3, h-1, plainLook(plainTime()), 0, keysAnswer), "\n")
			_, ok := a.key(keyOf("y"), DefaultKeymap())
			if strings.Contains(out, "yes, once") && !ok || strings.Contains(out, "read more") && ok {
				t.Fatalf("answered %v at\n%s", ok, out)
			}
			if ok {
				return
			}
		}
		t.Fatal("reading does not end")
	})
}

// Who does not want full goes on to ask; and another session asks again.
func TestModesGoRound(t *testing.T) { // PERM-1
	for _, no := range []string{"n", "<esc>", "<enter>"} {
		scene(t, func(s *stage) {
			s.begun()
			s.a.put(session.PermissionChanged{Mode: "edit", Op: "mode", Scope: "run"})
			s.now()
			s.press("<shift+tab>")
			s.wantCommands(noAnswer)
			s.press(no)
			s.wantCommands("drive.SetMode{Mode:ask}")
		})
	}
	scene(t, func(s *stage) {
		s.begun()
		s.a.put(session.PermissionChanged{Mode: "edit", Op: "mode", Scope: "run"})
		s.now()
		s.press("<shift+tab>y")
		s.wantCommands("drive.SetMode{Mode:full}")
		s.a.other = newFakeAgent(t)
		s.press("/new<enter>")
		s.a.put(session.PermissionChanged{Mode: "edit", Op: "mode", Scope: "run"})
		s.now()
		s.press("<shift+tab>")
		s.wantCommands(noAnswer)
		s.sees("Switch it on?")
	})
}

// The reason is edited as a message is, and never pushes its keys away.
func TestReasonIsEditedAsAMessage(t *testing.T) { // PERM-2, TUI-4
	for _, c := range []struct{ keys, want string }{
		{"dno way<ctrl+u>never<enter>", "never"},
		{"dno way<ctrl+w>never<enter>", "no never"},
		{"dno way<alt+backspace>never<enter>", "no never"},
		{"dway<ctrl+a>no <enter>", "no way"},
		{"dway<home>no <end>!<enter>", "no way!"},
		{"dway<ctrl+a>no <ctrl+e>?<enter>", "no way?"},
		{"dnoway<left><left><left> <enter>", "no way"},
		{"dnoway<left><left><left><right>X<enter>", "nowXay"},
		{"dno way<left><left><left><left><ctrl+k><enter>", "no"},
	} {
		scene(t, func(s *stage) {
			q := s.asksCommand("make")
			s.asked()
			s.press(c.keys)
			s.wantCommands(fmt.Sprintf("answer %d deny rule=\"\" words=%q", q, c.want))
		})
	}
	for _, size := range [][2]int{{80, 24}, {40, 12}} {
		onStage(t, size[0], size[1], noColours(), nil, func(s *stage) {
			s.asksCommand("make")
			s.asked()
			s.press("d")
			s.send(tea.PasteMsg{Content: strings.Repeat("because of this and that ", 200) + "and of the end"})
			s.sees("and of the end", "Enter refuses · Esc goes back", "make")
			s.press("<ctrl+c>") // gives it up
			s.lacks("Enter refuses")
			s.sees("Ctrl+C again quits.")
		})
	}
}

// A key that was meant for the quit dialog, or for what Ctrl+C asked, is no
// answer to the question below.
func TestQuitKeysAnswerNothingBelow(t *testing.T) { // PERM-2, TUI-5
	scene(t, func(s *stage) {
		q := s.asksCommand("rm -rf build")
		s.asked()
		s.press("<ctrl+c><ctrl+c>")
		s.sees("Interrupt and quit", wordsCovered, "Ctrl+C quits")
		s.lacks("y or Enter", "n no")
		s.press("<enter>") // Stay
		s.sees(wordsWait)
		for range 3 {
			s.later(200 * time.Millisecond)
			s.press("<enter>")
		}
		s.wantCommands(noAnswer)
		s.later(typingPause)
		s.press("<enter>")
		s.wantCommands(once(q))
	})
	scene(t, func(s *stage) {
		q := s.asksCommand("rm -rf build")
		s.asked()
		s.press("<ctrl+c>")
		s.later(twiceWithin)
		s.press("<ctrl+c>") // too late for twice
		s.sees("Ctrl+C again quits.", wordsWait)
		s.press("<enter>")
		s.wantCommands(noAnswer)
		s.press("y<backspace>")
		s.wantCommands(noAnswer)
		s.later(twiceWithin)
		s.press("y")
		s.wantCommands(once(q))
	})
}

// What a dialog covers was not read.
func TestCoveredIsNotRead(t *testing.T) { // PERM-2
	scene(t, func(s *stage) {
		s.works("run it")
		s.now()
		s.press("?")
		s.question("bash", `{"command":"x"}`, payload())
		s.asked()
		if a := s.chat.question; a.read != 0 || a.seen {
			t.Errorf("%d lines were read below the help", a.read)
		}
	})
}

// Ctrl+C again and again leaves a turn that runs; and the dialog goes with it.
func TestCtrlCLeavesARunningTurn(t *testing.T) { // TUI-5
	scene(t, func(s *stage) {
		s.works("hello")
		s.now()
		s.press("<ctrl+c><ctrl+c>")
		s.sees("Interrupt and quit")
		s.press("<ctrl+c>")
		if !s.quit {
			t.Error("the third Ctrl+C did not quit")
		}
	})
	scene(t, func(s *stage) {
		turn := s.works("hello")
		s.now()
		s.press("<ctrl+c><ctrl+c>")
		s.sees("Interrupt and quit")
		s.a.answer(s.a.last(), "assistant", "Hi.")
		s.a.put(session.TurnEnded{Turn: turn, Status: "completed"})
		s.now()
		s.lacks("Interrupt and quit", "A turn is running")
		if s.quit {
			t.Error("it quit")
		}
	})
}

// What can't be recorded is not said to be kept.
func TestQuitSaysWhatIsLost(t *testing.T) { // LOG-8
	scene(t, func(s *stage) {
		s.works("hello")
		s.a.fault = errors.New("disk full")
		s.now()
		s.press("<ctrl+c><ctrl+c>")
		s.sees("could not be recorded and will be lost")
		s.lacks("the session is kept")
	})
}

// Ctrl+C says what it did: nothing where nothing was written, and no word is
// given up that can't be saved.
func TestCtrlCSaysOnlyWhatIsSo(t *testing.T) { // TUI-4, TUI-5
	scene(t, func(s *stage) {
		s.press("<ctrl+c>")
		s.sees("Ctrl+C again quits.")
		s.lacks("history")
		s.later(2 * twiceWithin)
		s.press("some words<ctrl+c>")
		s.sees("Ctrl+C again quits. What was written is in the history (Up).")
		if !slices.Contains(s.a.did, `remember {"text":"some words"}`) {
			t.Error("it was not saved")
		}
	})
	scene(t, func(s *stage) {
		s.a.noOld = errors.New("no space left on device")
		s.press("some words<ctrl+c>")
		s.wantDraft("some words")
		s.sees("What was written stays here", "no space left on")
		s.lacks("is in the history")
	})
}
