package demo

import (
	"encoding/json"
	"slices"
	"strings"
)

// A Repair is a story for a project with bugs: run the tests, look at the
// code, fix the bugs one by one with a test run after each, and sum up. The
// todo list says where it stands.
type Repair struct {
	Test    string // the command that runs the tests, such as "go test ./..."
	Red     string // what its output holds while a bug is left, such as "FAIL"
	Green   string // what it holds when none is, such as "[exit code 0"
	Start   Move   // before the first test run; what it calls comes before that
	Look    Move   // after it: reads the code
	Fixes   []Fix
	Summary string // the answer
	After   string // the answer to whatever is said after it
	Handoff string // the answer to who asks for a summary
	Pace    int    // tokens a second, 0 for full speed
}

// A Fix is one edit: in File, Old becomes New.
type Fix struct{ Think, Say, File, Old, New string }

// tasks are the todo list of every repair.
var tasks = [...]string{"See what fails", "Fix the bugs", "Run the tests again"}

// Story is the repair, move by move.
func (r Repair) Story() Story {
	test := Call{"bash", args("command", r.Test, "description", "Run the tests")}
	start, look := r.Start, r.Look
	start.Calls = append(slices.Clone(start.Calls), todo(0), test)
	look.Needs = r.Red
	moves := []Move{start, look}
	for i, f := range r.Fixes {
		m := Move{Think: f.Think, Say: f.Say}
		if i == 0 {
			m.Calls = append(m.Calls, todo(1))
		} else {
			m.Needs = r.Red
		}
		edit := Call{"edit", args("file_path", f.File, "old_string", f.Old, "new_string", f.New)}
		m.Calls = append(m.Calls, edit, test)
		moves = append(moves, m)
	}
	moves = append(moves, Move{Calls: []Call{todo(len(tasks))}, Needs: r.Green}, Move{Say: r.Summary})
	return Story{
		Moves: moves, After: r.After, Handoff: r.Handoff, Pace: r.Pace,
		Doubt: "`" + r.Test + "` did not end as my script expects here, so I stop instead of claiming a result. " +
			"Its output stands above. A script can't find out why: is the command installed, and is the project as the demo made it?",
	}
}

// args makes the arguments of a call from names and values in turn.
func args(kv ...any) string {
	m := map[string]any{}
	for i := 0; i < len(kv); i += 2 {
		m[kv[i].(string)] = kv[i+1]
	}
	return compact(m)
}

// compact is a value as JSON, with < > & as they are.
func compact(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("demo: internal error: " + err.Error())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// todo is the task list with the first done tasks completed and the next one
// in progress.
func todo(done int) Call {
	var items []map[string]any
	for i, t := range tasks {
		status := "pending"
		switch {
		case i < done:
			status = "completed"
		case i == done:
			status = "in_progress"
		}
		items = append(items, map[string]any{"content": t, "status": status})
	}
	return Call{"todo", args("items", items)}
}

// Prompt is what the demo suggests to ask.
const Prompt = "The tests fail. Please find out why and fix it."

// Tally is the story of the sample project: two bugs, found by reading and by
// running the tests, fixed in two edits.
func Tally() Story {
	return Repair{
		Test: "go test ./...", Red: "FAIL", Green: "[exit code 0",
		Start: Move{
			Think: "The person wants the tests to pass. I should run them before I read anything into the code.",
			Say:   "I'll start with what the tests say.",
		},
		Look: Move{
			Say: "Two tests fail: digits are lost, and equal counts come in random order. Now the code behind them.",
			Calls: []Call{
				{"grep", args("pattern", "func (Words|Top)", "include", "*.go")},
				{"read", args("file_path", "tally.go")},
			},
		},
		Fixes: []Fix{
			{
				Say:  "`Words` splits at digits, though its comment says that they belong to words.",
				File: "tally.go",
				Old:  "return !unicode.IsLetter(r)",
				New:  "return !unicode.IsLetter(r) && !unicode.IsDigit(r)",
			},
			{
				Think: "One test still fails: TestTopIsStable. The comparison ignores the alphabetical order that the comment promises.",
				Say:   "That was one. `Top` compares counts alone, so words that occur equally often come in the map's random order.",
				File:  "tally.go",
				Old:   "\t\treturn counts[words[i]] > counts[words[j]]\n",
				New:   "\t\tif a, b := counts[words[i]], counts[words[j]]; a != b {\n\t\t\treturn a > b\n\t\t}\n\t\treturn words[i] < words[j]\n",
			},
		},
		Summary: "Both tests pass now. Two bugs stood in `tally.go`:\n\n" +
			"| function | was | is |\n|---|---|---|\n" +
			"| `Words` | split at digits | keeps letters **and** digits |\n" +
			"| `Top` | random order among equals | alphabetical among equals |\n\n" +
			"```go\nif a, b := counts[words[i]], counts[words[j]]; a != b {\n\treturn a > b\n}\nreturn words[i] < words[j]\n```\n\n" +
			"- The public API is unchanged, as `AGENTS.md` asks.\n" +
			"- I ran `go test ./...` after each edit; the last run was green.\n",
		After: "I'm a script, not a model: I know just one task. What you see around me is real, though: the tools ran, the session is on your disk, " +
			"and `agent session list` shows it. Set a model with `/model` or `agent config set` to go on for real.",
		Handoff: "## Objective\nMake the failing tests of this project pass (the demo's one task; a script wrote this, not a model).\n\n" +
			"## Constraints\n- The public API stays as it is: `AGENTS.md`.\n\n" +
			"## Work State\n### Completed\n- What the conversation shows up to here; the session's file holds all of it.\n\n" +
			"## Next Action\nWait for the person.\n",
		Pace: 60,
	}.Story()
}
