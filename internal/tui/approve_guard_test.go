package tui

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"varve/internal/session"
)

// Until letters are answers the screen does not say that they are; then it is
// drawn once more, and no clock runs on.
func TestKeysAnswerInAMoment(t *testing.T) { // PERM-2, TUI-13
	scene(t, func(s *stage) {
		s.asksCommand("go test ./...")
		s.now()
		s.sees("Run this command?", "go test ./...", wordsWait)
		s.lacks("y or Enter", "s and a are for")
		waits := s.paint
		s.later(typingPause - time.Millisecond)
		if s.paint != waits {
			t.Errorf("it was drawn anew before:\n%s", s.screen())
		}
		s.later(time.Millisecond)
		if s.paint == waits || !strings.Contains(s.paint, "y or Enter yes, once") || !strings.Contains(s.paint, "s and a are for") {
			t.Errorf("it was not drawn anew by itself:\n%s", s.paint)
		}
		if s.ticking || s.clock() != nil {
			t.Error("a clock runs on where nothing moves")
		}
		after := s.paint
		s.later(10 * time.Second)
		if s.paint != after || s.ticking {
			t.Error("the screen changed again, or a clock runs")
		}
	})
}

// A message that was written at a question and cleared: a moment again.
func TestKeysAfterAMessageInAMoment(t *testing.T) { // PERM-2
	scene(t, func(s *stage) {
		q := s.asksCommand("go test ./...")
		s.now()
		s.press("y") // a moment too early: it begins a message
		s.wantCommands("")
		s.wantDraft("y")
		s.sees("Letters go to the message below")
		s.later(5 * time.Second)
		s.lacks(wordsWait)
		s.press("<backspace>")
		s.sees(wordsWait)
		s.press("n")
		s.wantCommands("")
		s.press("<backspace>")
		s.later(typingPause)
		s.sees("y or Enter yes, once")
		s.press("y")
		s.wantCommands(fmt.Sprintf(`answer %d once rule="" words=""`, q))
	})
}

// The question is there before its text is: a letter of a message is no answer
// to it either.
func TestTypingBeforeTheQuestionIsRead(t *testing.T) { // PERM-2
	scene(t, func(s *stage) {
		s.a.slow = make(chan struct{})
		q := s.asksCommand("go test ./...")
		s.now()
		s.sees(wordsWait)
		s.press("n")
		s.wantCommands("")
		s.wantDraft("n")
		s.press("<backspace>")
		close(s.a.slow)
		s.settle()
		s.later(typingPause)
		s.press("n")
		s.wantCommands(fmt.Sprintf(`answer %d deny rule="" words=""`, q))
	})
}

// The words for the moment stand in the keys' place: nothing moves when they go.
func TestNothingMovesWhenTheKeysCome(t *testing.T) { // PERM-2, TUI-9
	for w := 12; w < 130; w++ {
		for h := 5; h < 24; h++ {
			a := &approval{question: 3, name: "bash", what: "command", shown: "one\ntwo\nthree", ready: true, rule: "bash(go test ./...)"}
			waits := a.view(w, h*2/3, h-1, plainLook(plainTime()), 0, keysWait)
			if a.ruleShown {
				t.Fatalf("%dx%d: a rule that is not on the screen counts as shown", w, h)
			}
			asks := a.view(w, h*2/3, h-1, plainLook(plainTime()), 0, keysAnswer)
			if len(waits) != len(asks) {
				t.Fatalf("%dx%d: %d lines, then %d", w, h, len(waits), len(asks))
			}
			for i := range waits {
				if waits[i] == asks[i] {
					continue
				}
				for _, l := range waits[i+1:] {
					if l != "" {
						t.Fatalf("%dx%d: %q stands below the words for the moment", w, h, l)
					}
				}
				break
			}
		}
	}
}

// paths are the paths of a judged call, as the log has them.
func (s *stage) judgedOn(paths string) session.Seq {
	s.works("read it")
	a := s.a.answer(s.a.last(), "tool_call:read", `{"file_path":"x"}`)
	s.a.put(session.CallJudged{Call: call(a, 1), Verdict: "ask", Paths: &session.Text{B: 0, MediaType: "application/json"}}, paths)
	return s.a.put(session.ApprovalRequested{Call: call(a, 1), What: "call"}, "read /etc/hosts")
}

func TestQuestionSaysThatItIsOutside(t *testing.T) { // PERM-4
	const outside, own = "Outside this folder, so it is asked: ", "Of Varve itself, so it is asked: "
	for _, c := range []struct{ paths, says string }{
		{`[{"Name":"../notes","Real":"/home/ada/work/notes","Inside":false,"Protected":false}]`, outside + "../notes"},
		{`[{"Name":"a.go","Real":"/home/ada/work/greet/a.go","Inside":true},{"Name":"/etc/hosts","Real":"/etc/hosts","Inside":false}]`, outside + "/etc/hosts"},
		{`[{"Name":"~/.varve/setup.json","Real":"/home/ada/.varve/setup.json","Inside":false,"Protected":true}]`, own + "~/.varve/setup.json"},
		{`[{"Name":"a.go","Real":"/home/ada/work/greet/a.go","Inside":true}]`, ""},
		{`["/home/ada/work/notes"]`, ""}, // an older program's list says nothing of it
		{`{`, ""},
		{`[{"Name":"/tmp/\u001b[2Ja\nb","Real":"x","Inside":false}]`, outside + "/tmp/a b"}, // SEC-5
	} {
		scene(t, func(s *stage) {
			s.judgedOn(c.paths)
			s.asked()
			s.sees("Allow this call?", "read /etc/hosts", "n no")
			if c.says == "" {
				s.lacks("so it is asked")
				return
			}
			s.sees(c.says)
		})
	}
	// Where there is no room for a reason there is some for what is asked.
	onStage(t, 40, 6, noColours(), nil, func(s *stage) {
		s.judgedOn(`[{"Name":"/etc/hosts","Inside":false}]`)
		s.asked()
		s.sees("read /etc/hosts")
	})
}

// Whose session's file is gone gets out with Ctrl+C twice: nothing is left that a
// question could protect. While it is there, it is asked.
func TestQuitAtAQuestionOfALostSession(t *testing.T) { // TUI-5, LOG-8
	scene(t, func(s *stage) {
		s.a.lost = true
		s.asksCommand("go test ./...")
		s.asked()
		s.press("<ctrl+c>")
		s.sees("Ctrl+C again quits")
		if s.quit {
			t.Fatal("one Ctrl+C quit")
		}
		s.press("<ctrl+c>")
		if !s.quit {
			t.Errorf("Ctrl+C twice did not quit:\n%s", s.screen())
		}
	})
	scene(t, func(s *stage) { // Esc first: it says why it can't, and the way out is still there
		s.a.lost = true
		s.asksCommand("go test ./...")
		s.asked()
		s.press("<esc>")
		s.wantCommands("drive.Cancel{By:user}")
		s.a.fault = errors.New("append s.jsonl: removed or replaced")
		s.now()
		s.sees("✗ append s.jsonl: removed or replaced", "Run this command?")
		s.press("<ctrl+c><ctrl+c>")
		if !s.quit {
			t.Errorf("Ctrl+C twice did not quit:\n%s", s.screen())
		}
	})
	scene(t, func(s *stage) {
		s.asksCommand("go test ./...")
		s.asked()
		s.press("<ctrl+c><ctrl+c>")
		s.sees("Quitting interrupts it")
		if s.quit {
			t.Error("it was not asked")
		}
	})
	scene(t, func(s *stage) { // a command that runs is worth a question all the same
		s.a.lost = true
		s.works("hello")
		s.now()
		s.press("<ctrl+c><ctrl+c>")
		s.sees("Quitting interrupts it")
	})
}
