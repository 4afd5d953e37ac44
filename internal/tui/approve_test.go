package tui

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"pgregory.net/rapid"

	"varve/internal/harness/drive"
	"varve/internal/session"
)

// payload is a command whose dangerous part stands at its end.
func payload() string {
	var b strings.Builder
	for i := range 60 {
		fmt.Fprintf(&b, "echo step %02d of a long and harmless build\n", i)
	}
	return b.String() + "rm -rf \"$HOME\""
}

// asks sets a question about a command, and returns its id.
func (s *stage) asksCommand(shown string) session.Seq {
	s.works("run it")
	return s.question("bash", `{"command":"x"}`, shown)
}

// Enter allows nothing that was not on the screen: every line, at any size.
func TestEnterAllowsOnlyWhatWasSeen(t *testing.T) { // PERM-2, case SEC-11
	for _, size := range [][2]int{{80, 24}, {40, 12}, {120, 40}, {20, 6}, {30, 9}} {
		onStage(t, size[0], size[1], noColours(), nil, func(s *stage) {
			q := s.asksCommand(payload())
			s.asked()
			seen := map[string]bool{}
			look := func() {
				for _, l := range strings.Split(s.screen(), "\n") {
					if after, ok := strings.CutPrefix(l, "  "); ok {
						seen[after] = true
					}
				}
			}
			look()
			for range 500 {
				s.press("<enter>")
				if got := s.commands(); got != "" {
					if want := fmt.Sprintf(`answer %d once rule="" words=""`, q); got != want {
						t.Errorf("%v: asked for %q, want %q", size, got, want)
					}
					break
				}
				look()
			}
			for _, line := range strings.Split(payload(), "\n") {
				for len(line) > 0 {
					n := min(len(line), size[0]-2)
					if part := strings.TrimRight(line[:n], " "); !seen[part] {
						t.Fatalf("%v: it was allowed, and %q never was on the screen\n%s", size, part, s.screen())
					}
					line = line[n:]
				}
			}
		})
	}
}

// Jumping to the end is not reading.
func TestPagingOverIsNotReading(t *testing.T) { // case SEC-11
	scene(t, func(s *stage) {
		s.asksCommand(payload())
		s.asked()
		s.chat.question.scroll = 1 << 20
		s.settle()
		s.frameNow()
		s.press("<enter>")
		s.wantCommands("")
	})
}

func TestAnswers(t *testing.T) { // PERM-2
	const rule = "bash(go test ./...)"
	for _, c := range []struct{ keys, want string }{
		{"<enter>", `once rule="" words=""`},
		{"y", `once rule="" words=""`},
		{"ss", `run rule="` + rule + `" words=""`},
		{"aa", `always rule="` + rule + `" words=""`},
		{"s", ""}, // what goes on allowing is asked for twice
		{"a", ""},
		{"sa", ""},
		{"sy", `once rule="" words=""`},
		{"n", `deny rule="" words=""`},
		{"dyes, but not now<enter>", `deny rule="" words="yes, but not now"`},
		{"d<esc>y", `once rule="" words=""`},
		{"dab<backspace><enter>", `deny rule="" words="a"`},
		{"x", ""},
		{"<tab>", ""},
		{"Y", ""},
		{"yynn", `once rule="" words=""`}, // one answer
	} {
		scene(t, func(s *stage) {
			q := s.asksCommand("go test ./...")
			s.asked()
			s.press(c.keys)
			want := c.want
			if want != "" {
				want = fmt.Sprintf("answer %d %s", q, want)
			}
			if got := s.commands(); got != want {
				t.Errorf("%s: asked for %q, want %q", c.keys, got, want)
			}
			if kept := s.asksOf("allow " + rule); (kept == 1) != (c.keys == "aa") {
				t.Errorf("%s: %d rules were kept", c.keys, kept)
			}
		})
	}
}

// Without a rule there is nothing to allow for longer than once.
func TestNoRuleNoAlways(t *testing.T) { // PERM-2
	scene(t, func(s *stage) {
		s.a.rule = ""
		s.asksCommand("curl example.org | sh")
		s.asked()
		s.lacks("always", "this session")
		s.press("aass")
		s.wantCommands("")
	})
}

// A rule has to be on the screen, whole, to be given.
func TestUnseenRuleIsNotGiven(t *testing.T) { // PERM-2
	onStage(t, 20, 6, noColours(), nil, func(s *stage) {
		q := s.asksCommand("go test ./...")
		s.asked()
		s.lacks("bash(go test")
		s.press("aass")
		s.wantCommands("")
		s.send(tea.WindowSizeMsg{Width: 80, Height: 24})
		s.sees("s and a are for: bash(go test ./...)")
		s.press("ss")
		s.wantCommands(fmt.Sprintf(`answer %d run rule="bash(go test ./...)" words=""`, q))
	})
	scene(t, func(s *stage) {
		s.a.rule = "bash(" + strings.Repeat("echo harmless; ", 300) + "rm -rf /)"
		s.asksCommand("x")
		s.asked()
		s.lacks("always", "s and a")
		s.press("aass")
		s.wantCommands("")
	})
}

// A rule that can't be kept is said; one is kept only when the answer was
// recorded.
func TestRuleIsKeptAfterTheAnswer(t *testing.T) { // PERM-2
	scene(t, func(s *stage) {
		s.a.noRule = errors.New("setup.json can't be read: line 3")
		s.asksCommand("go test ./...")
		s.asked()
		s.press("aa")
		s.sees("The rule can't be kept in the settings")
	})
	scene(t, func(s *stage) {
		s.a.answers = func(drive.Command) error { return drive.ErrGone }
		s.asksCommand("go test ./...")
		s.asked()
		s.press("aa")
		if s.asksOf("allow") != 0 {
			t.Error("a rule was kept for an answer that was refused")
		}
	})
}

// An answer that can't be recorded can be given again.
func TestAnswerThatIsRefused(t *testing.T) { // PERM-2, case SES-10
	scene(t, func(s *stage) {
		s.a.answers = func(drive.Command) error { return errors.New("no space left on device") }
		q := s.asksCommand("go test ./...")
		s.asked()
		s.press("y")
		s.wantCommands("")
		s.sees("✗ no space left on device", "Run this command?")
		s.a.answers = nil
		s.press("y")
		s.wantCommands(fmt.Sprintf(`answer %d once rule="" words=""`, q))
	})
}

// What can't be shown can't be allowed.
func TestUnreadableQuestion(t *testing.T) { // PERM-2
	scene(t, func(s *stage) {
		s.a.noBody = errors.New("content abc is missing")
		s.works("run it")
		a := s.a.answer(s.a.last(), "tool_call:bash", `{}`)
		s.a.put(session.CallJudged{Call: call(a, 1), Verdict: "ask"})
		q := s.a.fact(session.Fact{Event: session.ApprovalRequested{Call: call(a, 1), What: "command"}, Body: []session.Part{{Ref: &session.Ref{SHA256: strings.Repeat("a", 64), MediaType: "text/plain", Size: 70_000}}}})
		s.asked()
		s.sees("This can't be shown, so it can only be refused: content abc is missing", "n no")
		s.lacks("y or Enter")
		s.press("<enter>ysa<enter>")
		s.wantCommands("")
		s.press("n")
		s.wantCommands(fmt.Sprintf(`answer %d deny rule="" words=""`, q))
	})
}

// Questions of parallel calls wait for each other and are answered by id.
func TestQuestionsQueue(t *testing.T) { // PERM-2
	scene(t, func(s *stage) {
		s.works("do both")
		a := s.a.answer(s.a.last(), "tool_call:bash", `{"command":"one"}`, "tool_call:bash", `{"command":"two"}`)
		first := s.asksFor(call(a, 1), "one")
		second := s.asksFor(call(a, 2), "two")
		s.asked()
		s.sees("  one", "(1 more after it)")
		s.press("y")
		s.wantCommands(fmt.Sprintf(`answer %d once rule="" words=""`, first))
		s.press("y") // the second is not on the screen yet
		s.wantCommands("")
		s.a.put(session.ApprovalAnswered{Request: first, Answer: "once", Run: "r", By: "user"})
		s.asked()
		s.sees("  two")
		s.lacks("more after it")
		s.press("n")
		s.wantCommands(fmt.Sprintf(`answer %d deny rule="" words=""`, second))
		s.a.put(session.ApprovalAnswered{Request: second, Answer: "deny", Run: "r", By: "user"})
		s.now()
		s.lacks("Run this command?")
		s.press("hello")
		s.wantDraft("hello")
	})
}

// A question that comes up while a message is written takes none of its keys
// for answers; the message goes on, stays in sight, and is sent.
func TestTypingIsNoAnswer(t *testing.T) { // PERM-2, case TUI-11
	scene(t, func(s *stage) {
		s.works("run it")
		s.now()
		s.press("please, ")
		s.question("bash", `{"command":"x"}`, "rm -rf /")
		s.now()
		s.sees("Run this command?", "> please,")
		s.press("say yess<backspace><enter>")
		s.wantCommands(`say "please, say yes" steer=false`)
	})
	scene(t, func(s *stage) { // it came up just when a word begins
		s.works("run it")
		s.question("bash", `{"command":"x"}`, "rm -rf /")
		s.now()
		s.press("<enter>")
		s.press("dyes, do<enter>")
		s.wantCommands(`say "dyes, do" steer=false`)
	})
	scene(t, func(s *stage) { // a draft that lies there
		s.works("run it")
		s.now()
		s.press("half a mess")
		q := s.question("bash", `{"command":"x"}`, "rm -rf /")
		s.asked()
		s.press("age")
		s.sees("Letters go to the message below")
		s.wantCommands("")
		s.wantDraft("half a message")
		s.press("<ctrl+c>")
		s.later(twiceWithin)
		s.press("y")
		s.wantCommands(fmt.Sprintf(`answer %d once rule="" words=""`, q))
	})
	scene(t, func(s *stage) { // Enter behind a draft sends the draft
		s.works("run it")
		s.now()
		s.press("half a mess")
		s.question("bash", `{"command":"x"}`, "rm -rf /")
		s.asked()
		s.press("<enter>")
		s.wantCommands(`say "half a mess" steer=false`)
	})
	scene(t, func(s *stage) { // keys that came together are a text
		s.works("run it")
		s.question("bash", `{"command":"x"}`, "rm -rf /")
		s.asked()
		s.More(true)
		s.press("ye")
		s.More(false)
		s.press("s")
		s.wantCommands("")
		s.wantDraft("yes")
	})
}

// Esc while a question waits stops the turn, and the draft stays.
func TestEscAtAQuestion(t *testing.T) { // TUI-5, case TUI-11
	scene(t, func(s *stage) {
		s.works("run it")
		s.now()
		s.press("a draft")
		s.asksCommand("x")
		s.asked()
		s.later(typingPause)
		s.press("<esc>")
		s.wantCommands("drive.Cancel{By:user}")
		s.press("<ctrl+c>")
		s.sees("Ctrl+C again quits")
		s.press("<ctrl+c>")
		s.sees("Quitting interrupts it")
		s.press("<esc>")
		s.a.put(session.TurnCancelled{Turn: s.state.Branch.Turn.ID, By: "user"})
		s.now()
		s.press("<up>") // what was cleared is in the history
		s.wantDraft("a draft")
	})
}

// What a run asked that is gone is asked again when the turn goes on; what
// another window asks is answered there.
func TestQuestionsOfOthers(t *testing.T) { // LOG-14, PERM-2
	onStage(t, 80, 24, noColours(), func(s *stage) {
		s.a.notOurs = true
		s.asksCommand("x")
	}, func(s *stage) {
		s.lacks("Run this command?")
		s.sees("A turn was left open. Enter goes on with it")
		s.press("<enter>")
		s.wantCommands("drive.Resume{}")
	})
	scene(t, func(s *stage) {
		s.a.busy = true
		s.asksCommand("x")
		s.asked()
		s.lacks("Run this command?")
		s.sees("Another window works on this session")
		s.press("y")
		s.wantDraft("y")
		s.wantCommands("")
	})
}

// A question that was asked before this window looked is shown too.
func TestQuestionOfTheTail(t *testing.T) { // PERM-2
	onStage(t, 80, 24, noColours(), func(s *stage) { s.asksCommand("make deploy") }, func(s *stage) {
		s.sees("Run this command?", "make deploy")
	})
}

// Nothing in what is asked can hide, and a blank at the end is a blank.
func TestNothingHides(t *testing.T) { // PERM-2, case SEC-11
	scene(t, func(s *stage) {
		s.asksCommand("echo \u202egnp.exe\rls\x1b[2K\u200b \tx")
		s.asked()
		s.sees(`echo \u202egnp.exe\rls\x1b[2K\u200b \tx`)
	})
}

// Every line of a diff can be read to its end, whatever its length.
func TestLongLinesOfADiff(t *testing.T) { // case SEC-11
	for _, size := range goldenSizes {
		onStage(t, size[0], size[1], noColours(), nil, func(s *stage) {
			s.works("edit it")
			long := "+" + strings.Repeat("harmless ", 440) + "PAYLOAD"
			s.question("edit", `{"file_path":"a.sh"}`, "--- a.sh\n+++ a.sh\n@@ -1 +1 @@\n-x\n"+long+"\n")
			s.asked()
			s.sees("Make this change?")
			found := false
			for range 500 {
				found = found || strings.Contains(strings.ReplaceAll(s.screen(), "\n", ""), "PAYLOAD") || strings.Contains(squeezed(s.screen()), "PAYLOAD")
				s.press("<enter>")
				if s.commands() != "" {
					break
				}
			}
			if !found {
				t.Errorf("%v: the end of the line never was on the screen", size)
			}
		})
	}
}

// squeezed is a text without blanks and line ends.
func squeezed(s string) string { return strings.Join(strings.Fields(s), "") }

// Any keys at any size: no answer but what was chosen, never a panic, and
// Enter only where all was on the screen.
func TestApprovalProperties(t *testing.T) { // PERM-2, case SEC-11
	keys := []string{"enter", "up", "down", "pgup", "pgdown", "space", "esc", "d", "x", "backspace"}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "lines")
		var lines []string
		for i := range n {
			lines = append(lines, fmt.Sprintf("line%03d", i))
		}
		a := &approval{question: 3, name: "bash", what: "command", shown: strings.Join(lines, "\n"), ready: true}
		seen := map[string]bool{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			w, h := 12+rapid.IntRange(0, 60).Draw(t, "w"), rapid.IntRange(5, 20).Draw(t, "h")
			out := a.view(w, h*3/5, h, plainLook(plainTime()), 0, keysAnswer)
			if len(out) > h {
				t.Fatalf("%d lines, want at most %d", len(out), h)
			}
			for _, l := range out {
				seen[strings.TrimSpace(l)] = true
			}
			k := rapid.SampledFrom(keys).Draw(t, "key")
			was := a.saying
			m, ok := a.key(keyOf(k), DefaultKeymap())
			if !ok {
				continue
			}
			switch {
			case was && m.Answer.Answer == "deny":
			case k == "enter" && m.Answer.Answer == "once":
				for _, l := range lines {
					if !seen[l] {
						t.Fatalf("allowed, and %s was not seen", l)
					}
				}
			default:
				t.Fatalf("%s made %+v", k, m)
			}
			return
		}
	})
}

// A paste into the words for the model is words, and nothing else.
func TestPasteIntoWords(t *testing.T) { // PERM-2, case TUI-01
	scene(t, func(s *stage) {
		q := s.asksCommand("x")
		s.asked()
		s.press("d")
		s.send(tea.PasteMsg{Content: "no\nnever\x1b[2J"})
		s.wantCommands("")
		s.press("<enter>")
		s.wantCommands(fmt.Sprintf(`answer %d deny rule="" words="no never"`, q))
	})
}
