package tui

import (
	"errors"
	"strings"
	"testing"

	"varve/internal/harness/drive"
	"varve/internal/session"
)

func TestGoldenWelcome(t *testing.T) { // TUI-1
	moment(t, "root_welcome", "An empty session: who this is, where it works, what to press; the cursor is in the composer, the status line at the bottom.", Options{}, nil, nil)
	moment(t, "root_welcome_script", "The model is a script, and that is said twice (PRV-11).", Options{}, func(s *stage) { s.a.ident.Script = true }, nil)
	moment(t, "root_welcome_puppet", "A person plays the model, and where the pages are is said (PRV-11).", Options{}, func(s *stage) { s.a.ident.Script, s.a.ident.Puppet = true, "/home/ada/pages" }, nil)
}

func TestGoldenFirstRun(t *testing.T) { // CLI-3
	moment(t, "root_first_run", "No model yet: the ways to begin, the demo first and chosen, so that Enter runs it.", Options{}, func(s *stage) {
		s.a.ident.Setup, s.a.ident.Model = true, session.Model{}
		s.a.offers = []Offer{
			{ID: "demo", Title: "See it work: run the demo", Detail: "a scripted model on a sample project, no key"},
			{ID: "ollama", Title: "Use the local server ollama", Detail: "http://localhost:11434, 3 model(s)"},
			{ID: "openai", Title: "Give a key for openai", Detail: "https://api.openai.com/v1", NeedsKey: true},
		}
	}, nil)
	moment(t, "root_first_run_key", "A key is being written: dots alone are drawn, and the cursor stands behind them.", Options{}, func(s *stage) {
		s.a.ident.Setup, s.a.ident.Model = true, session.Model{}
		s.a.offers = []Offer{{ID: "openai", Title: "Give a key for openai", Detail: "https://api.openai.com/v1", NeedsKey: true}}
	}, func(s *stage) { s.press("<enter>sk-12345") })
}

func TestGoldenQuestions(t *testing.T) { // PERM-2
	moment(t, "root_command", "A command waits for an answer in place of the composer: all of it, the choices, and the rule that s and a are for.", Options{}, nil, func(s *stage) {
		s.asksCommand("in ~/work/greet (at most 2m0s):\ngo test ./... 2>&1 | tail -n 20")
		s.asked()
	})
	moment(t, "root_command_wait", "A command has just come up: where its keys will be stands that they answer in a moment; nothing else moves when they come.", Options{}, nil, func(s *stage) {
		s.works("run the tests")
		s.question("bash", `{"command":"go test ./..."}`, "in /home/ada/work/greet (2 minutes):\ngo test ./...")
		s.now()
	})
	moment(t, "root_outside", "A file outside the workspace is asked for: that this is the reason stands below the question.", Options{}, nil, func(s *stage) {
		s.judgedOn(`[{"Name":"/etc/hosts","Real":"/etc/hosts","Inside":false,"Protected":false}]`)
		s.asked()
	})
	moment(t, "root_diff", "A change waits for an answer: the diff with its line numbers, and one more question behind it.", Options{}, nil, func(s *stage) {
		s.works("be polite")
		a := s.a.answer(s.a.last(), "assistant", "I'll change the greeting.", "tool_call:edit", `{"file_path":"greet.go","old_string":"hi","new_string":"Good day"}`, "tool_call:bash", `{"command":"go test"}`)
		s.asksFor(call(a, 2), "--- greet.go\n+++ greet.go\n@@ -3,3 +3,4 @@\n func Hello() string {\n-\treturn \"hi\"\n+\t// polite\n+\treturn \"Good day\"\n }\n")
		s.asksFor(call(a, 3), "go test")
		s.asked()
	})
	moment(t, "root_long_command", "A long command, scrolled by two pages with Enter: how much is below is said, and nothing was allowed.", Options{}, nil, func(s *stage) {
		s.asksCommand(payload())
		s.asked()
		s.press("<enter><enter>")
		s.wantCommands("")
	})
	moment(t, "root_deny", "Words for the model are being written: the cursor stands behind them.", Options{}, nil, func(s *stage) {
		s.asksCommand("rm -rf build")
		s.asked()
		s.press("duse make clean, 猫")
	})
}

func TestGoldenWorking(t *testing.T) { // TUI-5, TUI-6
	moment(t, "root_working", "While the agent works: the answer so far, the plan in one line, what waits above the composer, a draft, the queue in the status line.", Options{}, nil, func(s *stage) {
		s.works("make the greeting polite")
		open := s.a.last()
		a := s.a.answer(open, "assistant", "First a plan.", "tool_call:todo", `{"items":[{},{}]}`)
		id := call(a, 2)
		s.a.put(session.PlanChanged{By: "model", AfterItem: &id, Items: []session.PlanItem{
			{ID: "task-1", Status: "in_progress", Content: 0}, {ID: "task-2", Status: "pending", Content: 1},
		}}, "read greet.go", "change the greeting")
		s.a.runs(id, 0, false, "ok")
		q := s.a.put(session.RequestSent{Purpose: "agent", Turn: 5, Attempt: 1, Model: s.a.ident.Model, Capacity: session.Capacity{N: 200_000, Source: "catalogue"}})
		s.queues("queue", "then run the tests")
		s.queues("steer", "keep the\nexclamation mark")
		s.a.pulses = []drive.Pulse{pulse(q, "text", "", "The greeting stands in `greet.go`, and it")}
		s.now()
		s.press("and format it")
	})
}

func TestGoldenNotices(t *testing.T) { // LOG-14, LOG-8, BRN-5
	moment(t, "root_held", "A turn was interrupted: what was received stands there, marked; what waited is held until the user sends it.", Options{}, nil, func(s *stage) {
		turn := s.works("tell me a story")
		q := s.a.last()
		e := s.queues("queue", "a shorter one")
		s.a.put(session.TurnCancelled{Turn: turn, By: "user"})
		s.a.put(session.ReplyRejected{Request: q, Class: "cancelled", Kept: true, Text: &session.Text{}}, "Once upon a")
		s.a.put(session.InputHeld{Entries: []session.Seq{e}})
		s.a.put(session.TurnEnded{Turn: turn, Status: "interrupted"})
		s.now()
	})
	moment(t, "root_paused", "The program ended in mid-turn: the turn is there, and what Enter and Esc do is said above the composer.", Options{}, func(s *stage) {
		s.works("tell me a story")
		s.a.notOurs = true
	}, nil)
	moment(t, "root_other_window", "Another window works on the session: that is said, its answer is followed, and no question of it is asked here.", Options{}, func(s *stage) {
		s.asksCommand("make deploy")
		s.a.busy = true
	}, nil)
	moment(t, "root_fault", "The log can't be written: the reason comes first and the path last, and it stands there, as long as it lasts, and the draft is untouched.", Options{}, nil, func(s *stage) {
		s.works("hello")
		s.a.fault = errors.New("append to /home/ada/.local/share/varve/sessions/x/y.jsonl: disk full (no space left on device): make room, then try again")
		s.now()
		s.press("my draft")
		s.a.fault = errors.New(s.a.fault.Error())
	})
	moment(t, "root_toasts", "Three toasts at most: the info went for them; the same warning is counted; a long error takes two lines; the draft is not covered.", Options{}, nil, func(s *stage) {
		s.begun()
		s.now()
		s.press("my draft")
		s.send(saidMsg{"info", "A first note."}, saidMsg{"success", "Saved notes.md."}, saidMsg{"warning", "The history can't be saved: disk full."}, saidMsg{"warning", "The history can't be saved: disk full."},
			saidMsg{"error", strings.Repeat("A long error that goes on and on. ", 8)})
	})
	moment(t, "root_scrolled", "Scrolled up: new output does not move what is read, and that there is more below is said.", Options{}, nil, func(s *stage) {
		s.begun()
		for _, w := range strings.Fields(strings.Repeat("one two three four five six seven eight nine ten ", 6)) {
			s.a.put(session.ShellRan{}, "$ echo "+w+"\n"+w)
		}
		s.now()
		s.press("<ctrl+home><pgdown>")
		s.a.put(session.ShellRan{}, "$ echo new\nnew")
		s.now()
	})
}

func TestGoldenOver(t *testing.T) { // TUI-12, SET-3
	chat := func(s *stage) {
		s.begun()
		s.a.say("What is in this folder?")
		s.a.reply("assistant", "A greeting, its test, and a README that says how to run both.")
		s.a.put(session.TurnEnded{Turn: 5, Status: "completed"})
	}
	moment(t, "root_picker", "The model picker over the conversation: the model in use is chosen, a provider without a key is off, the cursor is in the filter.", Options{}, func(s *stage) {
		chat(s)
		s.a.models = []ModelInfo{
			{Model: session.Model{Provider: "acme", API: "openai-chat", Model: "large"}, Window: 200_000, By: "catalogue", Price: "$5/$30", Can: "reasons, sees pictures", Key: "key: $ACME_API_KEY"},
			{Model: session.Model{Provider: "acme", API: "openai-chat", Model: "small"}, Window: 128_000, By: "reported", Key: "key: $ACME_API_KEY"},
			{Model: session.Model{Provider: "openai", API: "openai-chat"}, State: "no key; set $OPENAI_API_KEY", NeedsKey: true},
		}
	}, func(s *stage) { s.press("<alt+p>") })
	moment(t, "root_help", "Help over the conversation, which can be seen around it.", Options{}, chat, func(s *stage) { s.press("?") })
	moment(t, "root_quit", "Quitting while a turn runs is asked about; staying is what Enter does.", Options{}, func(s *stage) { s.works("hello") }, func(s *stage) { s.press("<ctrl+c><ctrl+c>") })
}

func TestGoldenTooSmall(t *testing.T) { // TUI-9, case TUI-13
	var b strings.Builder
	for _, size := range [][2]int{{20, 5}, {10, 3}, {1, 1}, {20, 6}} {
		onStage(t, size[0], size[1], noColours(), nil, func(s *stage) {
			s.asksCommand("make deploy")
			s.asked()
			b.WriteString("\n==== " + itoa(size[0]) + "x" + itoa(size[1]) + "\n" + s.screen() + "\n")
		})
	}
	golden(t, "root_small", "Where there is no room that is said; at the least size a question shows what is asked, and its keys give way.", b.String())
}
