package tui

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"varve/internal/harness/drive"
	"varve/internal/session"
)

// goldenRows compares screens with testdata/transcript/name.golden, whose
// first line says what to look at; with UPDATE=1 it writes them.
func goldenRows(t *testing.T, name, look string, screens ...string) {
	t.Helper()
	got := look + "\n" + strings.Join(screens, "")
	path := filepath.Join("testdata", "transcript", name+".golden")
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: run with UPDATE=1", err)
	}
	if got != string(want) {
		t.Errorf("%s differs from what is drawn now:\n%s", path, got)
	}
}

var sizes = [][2]int{{40, 12}, {80, 24}, {120, 40}}

// screens draws a transcript at every size, from the end.
func screens(t *testing.T, title string, tr *transcript) string {
	t.Helper()
	var b strings.Builder
	for _, s := range sizes {
		lines := tr.view(s[0], s[1])
		fits(t, lines, s[0], s[1])
		fmt.Fprintf(&b, "\n======== %dx%d%s\n", s[0], s[1], title)
		for _, l := range lines {
			fmt.Fprintln(&b, strings.TrimRight(l, " "))
		}
	}
	return b.String()
}

func TestGoldenTurn(t *testing.T) { // TUI-2, TUI-3
	s := newTape(t)
	s.put(session.ModelChosen{Model: session.Model{Provider: "p", Model: "small"}, By: "flag"})
	s.say("Make the greeting polite, and run the tests.")
	q := s.reply("reasoning", "The greeting stands in greet.go.\nI should read it first.", "assistant", "I'll look at the file first.",
		"tool_call:read", `{"file_path":"greet.go"}`, "tool_call:todo", `{"items":[{},{}]}`)
	s.runs(call(q, 3), 4, false, "1\tpackage greet\n2\t\n3\tfunc Hello() string {\n4\t\treturn \"hi\"\n5\t}\n")
	id := call(q, 4)
	s.put(session.PlanChanged{By: "model", AfterItem: &id, Items: []session.PlanItem{
		{ID: "task-1", Status: "completed", Content: 0}, {ID: "task-2", Status: "in_progress", Content: 1}, {ID: "task-3", Status: "pending", Content: 2},
	}},
		"read greet.go", "change the greeting", "run the tests")
	s.runs(id, 0, false, "task-1 …")
	s.put(session.ModelChosen{Model: session.Model{Provider: "p", Model: "large"}, Reasoning: "high", By: "router"})
	q = s.reply("tool_call:edit", `{"file_path":"greet.go","old_string":"func Hello() string {\n\treturn \"hi\"\n}","new_string":"// Hello is polite.\nfunc Hello() string {\n\treturn \"Good day\"\n}"}`,
		"tool_call:bash", `{"command":"go test ./...","description":"run the tests"}`)
	s.runs(call(q, 1), 12, false, "Edited greet.go: 1 replacement at line 3.")
	s.runs(call(q, 2), 1840, false, "ok  \tgreet\t0.002s\n[exit 0, 1.8 s]")
	s.reply("assistant", "Done: `Hello` now returns **Good day**, and the tests pass.\n\n```go\nfunc Hello() string {\n\treturn \"Good day\"\n}\n```\n")
	s.put(session.TurnEnded{Turn: 2, Status: "completed"})
	goldenRows(t, "turn", "A turn: thinking is one line, a read folds to its length, the plan is a checklist, the edit a diff without line numbers, the model's change is said.",
		screens(t, "", shows(s)))
}

func TestGoldenStreaming(t *testing.T) { // TUI-2, PERF-5
	s := newTape(t)
	s.say("Show me a loop.")
	q := s.put(session.RequestSent{Purpose: "agent"})
	tr := shows(s)
	answer := "Here is one:\n\n- it counts\n- it **stops**\n\n```go\nfor i := range 10 {\n\tfmt.Println(i)\n"
	tr.pulses([]drive.Pulse{{Job: sendJob(q), Kind: "waiting"}, pulse(q, "reasoning", "", "The user wants a loop.\nA short one."), pulse(q, "text", "", answer)})
	half := screens(t, " half way", tr)
	tr.pulses([]drive.Pulse{pulse(q, "text", "", answer), pulse(q, "call", "write", `{"file_path":"a.go","content":"package`)})
	calls := screens(t, " a call is being written", tr)
	tr.pulses([]drive.Pulse{{Job: sendJob(q), Kind: "waiting", Began: s.at.Add(-7 * time.Second)}})
	goldenRows(t, "streaming", "An answer half way: the code block that is still open is drawn as code, thinking stands apart; then a call is being written; then nothing has come for seven seconds.",
		half, calls, screens(t, " waiting", tr))
}

func TestGoldenCalls(t *testing.T) { // TUI-3
	s := newTape(t)
	s.say("Clean up.")
	q := s.reply("tool_call:bash", `{"command":"make clean && make test TARGET=everything-that-there-is PARALLEL=8"}`, "tool_call:bash", `{"command":"rm -rf build"}`,
		"tool_call:bash", `{"command":"sleep 100"}`, "tool_call:bash", `{"command":"make slow"}`, "tool_call:edit", `{"file_path":"a.go","old_string":"a","new_string":"b"}`,
		"tool_call:bash", `{"command":"make deploy"}`, "tool_call:bash", `{"command":"tail -f log"}`, "tool_call:grep", `{"pattern":"TODO","path":"src"}`)
	exit := 2
	s.put(session.ToolStarted{Call: call(q, 1)})
	s.put(session.ToolFinished{Call: call(q, 1), IsError: true, Exit: &exit, DurationMS: 65_000}, "a.c:1: error: one\na.c:2: error: two\na.c:3: error: three\na.c:4: error: four\nmake: *** [all] Error 1\n[exit 2, 65.0 s]")
	s.put(session.ToolInterrupted{Call: call(q, 2), Why: "denied"}, "The user declined this call.")
	s.put(session.ToolInterrupted{Call: call(q, 3), Why: "user"}, "Interrupted by the user while it ran. It may have had part of its effect.")
	s.put(session.ToolInterrupted{Call: call(q, 4), Why: "lost"}, "The program ended while this was running.")
	s.runs(call(q, 5), 3, true, "a.go has changed since it was read; read it again")
	s.put(session.CallJudged{Call: call(q, 6), Verdict: "ask"})
	s.put(session.ApprovalRequested{Call: call(q, 6), What: "command"}, "make deploy")
	s.put(session.ToolStarted{Call: call(q, 7)})
	tr := shows(s)
	tr.pulses([]drive.Pulse{{Job: "tool:" + call(q, 7).String(), Kind: "tool", Call: call(q, 7), Began: s.at.Add(-12 * time.Second), Text: []byte("one\ntwo\nthree\nfour\nfive\n")}})
	goldenRows(t, "calls", "Calls that failed, were refused, stopped, lost; one waits for an answer, one runs with its newest output, one waits for its turn.", screens(t, "", tr))
}

func TestGoldenLong(t *testing.T) { // TUI-3
	s := newTape(t)
	s.say("List it all.")
	q := s.reply("tool_call:ls", `{"path":"."}`)
	var out strings.Builder
	for i := range 30 {
		fmt.Fprintf(&out, "file-%02d.txt  %s\n", i, strings.Repeat("long ", 12))
	}
	s.runs(call(q, 1), 9, false, out.String())
	tr := shows(s)
	folded := screens(t, " folded", tr)
	tr.view(80, 24)
	if tr.click(0) || !tr.click(3) {
		t.Error("a click on a message folds something, or one on an output does not")
	}
	tr.end()
	goldenRows(t, "long", "A long output: its first lines and how many more; clicked, all of it, folded at the width.", folded, screens(t, " clicked, the end", tr))
}

func TestGoldenWide(t *testing.T) { // TUI-9, SEC-5, case SEC-11
	s := newTape(t)
	s.say("日本語の長い文章です。端末の幅で正しく折り返される必要があります。👩‍👩‍👧‍👦 e\u0301 und Äpfel\t|\x1b[31mred\x07 \u202egnp.exe")
	q := s.reply("assistant", "表です：\n\n| 名前 | 値 |\n|---|---|\n| 猫 | 🐈 |\n\n\x1b]0;title\x07\x1b]52;c;aGk=\x07\x1b[2J終わり\r上書き",
		"tool_call:bash", `{"command":"echo \u001b]0;owned\u0007 \u202e 猫猫猫猫猫猫猫猫猫猫猫猫猫猫猫猫猫猫猫猫猫猫猫猫猫猫猫猫猫猫"}`,
		"tool_call:write\x1b[2J", `{"x":1}`)
	s.runs(call(q, 2), 5, false, "\x1b[1;31mred\x1b[m\tand a tab\r\nprogress 1%\rprogress 100%\n"+strings.Repeat("🐈猫", 100))
	goldenRows(t, "wide", "Wide characters keep to the width; control bytes of the user, the model, the arguments and the output are gone, and what is hidden is shown.", screens(t, "", shows(s)))
}

func TestGoldenInterrupted(t *testing.T) { // TUI-5
	s := newTape(t)
	turn := s.say("Write a long story.")
	entry := s.put(session.InputQueued{Kind: "steer"}, "make it shrt")
	s.put(session.InputEdited{Entry: entry}, "make it short")
	s.reply("assistant", "I begin.")
	s.put(session.UserSaid{Turn: turn, Via: "steer", Entry: entry})
	q := s.put(session.RequestSent{Purpose: "agent"})
	s.put(session.TurnCancelled{Turn: turn, By: "user"})
	s.put(session.ReplyRejected{Request: q, Class: "cancelled", Kept: true, Text: &session.Text{}}, "Once upon a time there was a `termin")
	s.put(session.TurnEnded{Turn: turn, Status: "interrupted"})
	goldenRows(t, "interrupted", "Steering has its words as last edited and is marked; the part of an answer that was received is kept and marked; then the turn's end.", screens(t, "", shows(s)))
}

func TestGoldenRetry(t *testing.T) { // PRV-6
	s := newTape(t)
	turn := s.say("Hello?")
	reject := func(kind, message string) {
		q := s.put(session.RequestSent{Purpose: "agent"})
		s.put(session.ReplyRejected{Request: q, Class: "error", Error: &session.ProviderError{Kind: kind, Message: &session.Text{}}}, message)
	}
	reject("overloaded", "Overloaded, sorry")
	tr := shows(s)
	tr.pulses([]drive.Pulse{{Job: fmt.Sprintf("encode:%d/3.1", turn), Kind: "retry", Why: "overloaded", Until: s.at.Add(2500 * time.Millisecond)}})
	waits := screens(t, " while it waits", tr)
	reject("overloaded", "Overloaded, sorry")
	s.reply("assistant", "Hello!")
	s.put(session.TurnEnded{Turn: turn, Status: "completed"})
	tr.pulses(nil)
	tr.add(s.entries)
	went := screens(t, " when it went on", tr)
	turn = s.say("And now?")
	reject("overloaded", "Overloaded, sorry")
	reject("quota", "Your balance is 0.00 USD.")
	s.put(session.TurnEnded{Turn: turn, Status: "failed", Error: &session.TurnError{Kind: "quota"}, Requests: 2})
	s.put(session.RunEnded{Run: "a", How: "lost"})
	s.put(session.ReplyRejected{Request: 3, Class: "lost"})
	turn = s.say("Still there?")
	s.put(session.FaultRecorded{Where: "model", Kind: "settings"}, "p/large: no key: set P_API_KEY")
	s.put(session.TurnEnded{Turn: turn, Status: "failed", Error: &session.TurnError{Kind: "settings", Hint: "model"}})
	tr.add(s.entries)
	goldenRows(t, "retry", "The countdown alone; then one line for two attempts; then the end of a failed turn with the provider's words, a lost run, and the end that a fault made.",
		waits, went, screens(t, " when it failed", tr))
}

func TestGoldenNotes(t *testing.T) { // what else a person should see
	s := newTape(t)
	s.put(session.LogRepaired{Kind: "torn", From: 100, To: 345})
	s.put(session.ShellRan{}, "$ git status\nOn branch main\nnothing to commit")
	q := s.reply("tool_call:bash", `{"command":"npm run dev","background":true}`)
	s.put(session.JobStarted{Call: call(q, 1), Job: "1"})
	s.put(session.FilesChanged{By: "tool", Call: call(q, 1), N: 2}, `[{"path":"a.js","op":"create"},{"path":"b\u001b[2J.js","op":"delete"}]`)
	s.runs(call(q, 1), 60_100, false, "listening on 3000\n[still running as job 1]")
	exit := 1
	s.put(session.JobEnded{Job: "1", Exit: &exit, Why: "exited"})
	s.put(session.PermissionChanged{Op: "granted", Rule: "bash(npm test)", Scope: "user"})
	s.put(session.FilesChanged{By: "restore", N: 1}, `[{"path":"a.js","op":"delete"}]`)
	s.put(session.CheckpointCommitted{Before: session.Tokens{N: 120_000, By: "provider"}, After: session.Tokens{N: 9000, By: "est"}}, "# Goal\nShip it")
	s.put(session.FaultRecorded{Where: "tool", Kind: "panic"}, "runtime error: index out of range\ngoroutine 7 [running]:\nmain.main()")
	goldenRows(t, "notes", "What the program notes: a repaired file, a command of the user's own, a job, changed files, a rule, a summary, a fault.", screens(t, "", shows(s)))
}
