package demo

import "encoding/json"

// args makes the arguments of a call.
func args(kv ...any) string {
	m := map[string]any{}
	for i := 0; i < len(kv); i += 2 {
		m[kv[i].(string)] = kv[i+1]
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic("demo: internal error: " + err.Error())
	}
	return string(b)
}

// todo is a task list with the first done tasks completed and the next one in
// progress.
func todo(done int, tasks ...string) Call {
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
	tasks := []string{"See what fails", "Fix the bugs", "Run the tests again"}
	return Story{
		Moves: []Move{
			{
				Think: "The person wants the tests to pass. I should run them before I read anything into the code.",
				Say:   "I'll start with what the tests say.",
				Calls: []Call{todo(0, tasks...), {"bash", args("command", "go test ./...", "description", "Run the tests")}},
			},
			{
				Say: "Two tests fail: digits are lost, and equal counts come in random order. Now the code behind them.",
				Calls: []Call{
					{"grep", args("pattern", "func (Words|Top)", "include", "*.go")},
					{"read", args("file_path", "tally.go")},
				},
			},
			{
				Say: "`Words` splits at digits, though its comment says that they belong to words.",
				Calls: []Call{
					todo(1, tasks...),
					{"edit", args("file_path", "tally.go", "old_string", "return !unicode.IsLetter(r)", "new_string", "return !unicode.IsLetter(r) && !unicode.IsDigit(r)")},
					{"bash", args("command", "go test ./...", "description", "Run the tests")},
				},
			},
			{
				Think: "One test still fails: TestTopIsStable. The comparison ignores the alphabetical order that the comment promises.",
				Say:   "That was one. `Top` compares counts alone, so words that occur equally often come in the map's random order.",
				Calls: []Call{
					{"edit", args("file_path", "tally.go",
						"old_string", "\t\treturn counts[words[i]] > counts[words[j]]\n",
						"new_string", "\t\tif a, b := counts[words[i]], counts[words[j]]; a != b {\n\t\t\treturn a > b\n\t\t}\n\t\treturn words[i] < words[j]\n")},
					{"bash", args("command", "go test ./...", "description", "Run the tests")},
				},
			},
			{
				Calls: []Call{todo(3, tasks...)},
			},
			{
				Say: "Both tests pass now. Two bugs stood in `tally.go`:\n\n" +
					"| function | was | is |\n|---|---|---|\n" +
					"| `Words` | split at digits | keeps letters **and** digits |\n" +
					"| `Top` | random order among equals | alphabetical among equals |\n\n" +
					"```go\nif a, b := counts[words[i]], counts[words[j]]; a != b {\n\treturn a > b\n}\nreturn words[i] < words[j]\n```\n\n" +
					"- The public API is unchanged, as `AGENTS.md` asks.\n" +
					"- I ran `go test ./...` after each edit; the last run was green.\n",
			},
		},
		After: "I'm a script, not a model: I know just one task. What you see around me is real, though: the tools ran, the session is on your disk, " +
			"and `agent session list` shows it. Set a model with `/model` or `agent config set` to go on for real.",
		Pace: 60,
	}
}
