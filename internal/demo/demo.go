// Package demo plays a scripted model for newcomers, tests and puppets.
//
// A [Story] is what the scripted model says, step by step; [Sample] is the
// project that the demo's story is about; a [Puppet] lets a person play the
// model from pages. The server beneath is the one that the tests use: a real
// local HTTP/SSE provider (PRV-11).
package demo

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"varve/internal/providers/scripted"
)

// Provider and Model are how the script is named on screen and in the log.
const (
	Provider = "demo"
	Model    = "script"
)

// A Move is one reply of a story. Its calls come after its text.
type Move struct {
	Think string
	Say   string
	Calls []Call
}

// A Call is one tool call. Args is a JSON object.
type Call struct{ Name, Args string }

// A Story is a scripted turn. Which move comes next is read from the request
// itself, so a session that was killed goes on where it was.
type Story struct {
	Moves []Move
	After string // the answer to whatever is said after the story
	Pace  int    // tokens a second, 0 for full speed
}

// Handle answers one request. It is a [scripted.Handler].
func (s Story) Handle(r scripted.Request) scripted.Reply {
	turns, said := 0, 0
	for _, m := range r.Get("messages").Array() {
		switch m.Get("role").String() {
		case "user":
			if turns == 0 || said >= len(s.Moves) {
				turns++
				if turns > 1 {
					said = 0
				}
			}
		case "assistant":
			if len(m.Get("tool_calls").Array()) > 0 || m.Get("content").String() != "" {
				said++
			}
		}
	}
	if turns > 1 || said >= len(s.Moves) {
		return s.reply(r, Move{Say: s.After}, "after")
	}
	return s.reply(r, s.Moves[said], fmt.Sprint(said))
}

func (s Story) reply(r scripted.Request, m Move, id string) scripted.Reply {
	steps := []scripted.Step{scripted.Role()}
	if s.Pace > 0 {
		steps = append(steps, scripted.Pace(s.Pace))
	}
	if m.Think != "" {
		steps = append(steps, scripted.Reasoning("", m.Think))
	}
	if m.Say != "" {
		steps = append(steps, scripted.Text(m.Say))
	}
	finish := "stop"
	for i, c := range m.Calls {
		finish = "tool_calls"
		steps = append(steps, scripted.Call(i, fmt.Sprintf("call_%s_%d", id, i), c.Name, c.Args, 1))
	}
	prompt := int64(len(r.Body) / 4)
	out := int64(len(m.Think)+len(m.Say))/4 + 10
	steps = append(steps, scripted.Finish(finish), scripted.UsageStep(scripted.Usage{
		Prompt: prompt, Output: out, Cached: int64(r.Shared.Bytes / 4),
	}), scripted.Done())
	return scripted.Reply{Steps: steps}
}

//go:embed sample
var sample embed.FS

// Write puts the sample project into a folder.
func Write(dir string) error {
	return fs.WalkDir(sample, "sample", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := sample.ReadFile(path)
		if err != nil {
			return err
		}
		name := strings.TrimSuffix(strings.TrimPrefix(path, "sample/"), ".txt")
		to := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		return os.WriteFile(to, b, 0o644)
	})
}
