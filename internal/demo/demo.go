// Package demo plays a scripted model for newcomers, tests and puppets.
//
// A [Story] is what the scripted model says, move by move; a [Repair] makes
// one for a project with bugs in it; [Write] puts down the project that the
// demo's own story, [Tally], is about. A [Puppet] lets a person play the model
// from pages. The server beneath is the one that the tests use: a real local
// HTTP/SSE provider (PRV-11).
//
//	demo.go    a story: which move comes next
//	story.go   the moves of a repair, and the demo's own
//	puppet.go  a request is a page, and waits for its reply page
//	page.go    request -> page
//	reply.go   reply page -> steps
package demo

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"varve/internal/providers/scripted"
)

// Provider and Model are how the script is named on screen and in the log,
// PuppetProvider and PuppetModel a person with pages: each goes on with its own
// sessions only.
const (
	Provider       = "demo"
	Model          = "script"
	PuppetProvider = "puppet"
	PuppetModel    = "pages"
)

// A Move is one reply of a story. Its calls come after its text. Only the last
// move of a story has none: without calls a turn ends.
type Move struct {
	Think string
	Say   string
	Calls []Call
	Needs string // said only if a result of the move before holds this; else the story ends with Doubt
}

// A Call is one tool call. Args is a JSON object.
type Call struct{ Name, Args string }

// A Story is a scripted turn. Which move comes next is read from the request
// itself, so a session that was killed or interrupted goes on where it was:
// calls that did not run to their end are asked for again.
type Story struct {
	Moves []Move
	Doubt string // the answer where a result is not what the next move needs
	After string // the answer to whatever is said after the story
	// Handoff is the answer to who asks for a summary. What begins with it is
	// after the story.
	Handoff string
	Pace    int // tokens a second, 0 for full speed
}

// stopped is the answer after a refused call.
const stopped = "That call was refused, so I stop here: I am a script and know no other way. What was done before stands."

// Handle answers one request. It is a [scripted.Handler].
func (s Story) Handle(r scripted.Request) scripted.Reply {
	at, round, m := s.next(r.Get("messages").Array())
	return s.reply(r, m, func(i int) string { return callID(at, round, i) })
}

// asksHandoff is how a request for a summary of the conversation begins. The
// wire has no other sign of it.
const asksHandoff = "Write a handoff of the conversation"

// objective is the line of the handoff by which a conversation that begins with
// it is known.
func (s Story) objective() string {
	_, rest, _ := strings.Cut(s.Handoff, "## Objective\n")
	line, _, _ := strings.Cut(rest, "\n")
	return line
}

// callID names a call by its move, how often that was said before, and its
// place. A conversation tells by these ids how far it has come.
func callID(at, round, i int) string { return fmt.Sprintf("call_%d_%d_%d", at, round, i) }

func moveOf(id string) (at int, ok bool) {
	p := strings.Split(id, "_")
	if len(p) != 4 || p[0] != "call" {
		return 0, false
	}
	at, err := strconv.Atoi(p[1])
	return at, err == nil
}

// next is the move that follows a conversation, its number, and how often that
// number was said before.
func (s Story) next(messages []gjson.Result) (at, round int, m Move) {
	if n := len(messages); n > 0 && s.Handoff != "" && strings.HasPrefix(content(messages[n-1]), asksHandoff) {
		return len(s.Moves), 0, Move{Say: s.Handoff}
	}
	at = -1
	said := map[int]int{}
	var calls []gjson.Result // of the newest move
	results := map[string]string{}
	ended, over := false, false
	for _, m := range messages {
		switch m.Get("role").String() {
		case "user":
			over = over || ended || s.Handoff != "" && strings.Contains(content(m), s.objective())
		case "tool":
			results[m.Get("tool_call_id").String()] = content(m)
		case "assistant":
			asked := m.Get("tool_calls").Array()
			if len(asked) == 0 {
				ended = ended || s.ends(content(m))
			} else if n, ok := moveOf(asked[0].Get("id").String()); ok && n < len(s.Moves) {
				at, calls = n, asked
				said[n]++
			}
		}
	}
	if over {
		return len(s.Moves), 0, Move{Say: s.After}
	}
	again := Move{Say: "That did not run to its end. Once more."}
	met := false
	for _, c := range calls {
		text := results[c.Get("id").String()]
		if refused(text) {
			return len(s.Moves), 0, Move{Say: stopped}
		}
		if cut(text) {
			again.Calls = append(again.Calls, Call{c.Get("function.name").String(), c.Get("function.arguments").String()})
		}
		met = met || at+1 < len(s.Moves) && strings.Contains(text, s.Moves[at+1].Needs)
	}
	if len(again.Calls) > 0 {
		return at, said[at], again
	}
	at++
	switch {
	case at >= len(s.Moves):
		return at, 0, Move{Say: s.After}
	case s.Moves[at].Needs != "" && !met:
		return len(s.Moves), 0, Move{Say: s.Doubt}
	}
	return at, said[at], s.Moves[at]
}

// ends reports whether a text is one that this story ends with. Other texts
// without calls are pieces that were kept when somebody interrupted.
func (s Story) ends(text string) bool {
	text = strings.TrimSpace(text)
	last := ""
	if n := len(s.Moves); n > 0 {
		last = s.Moves[n-1].Say
	}
	for _, end := range []string{last, s.Doubt, s.After, stopped} {
		if text != "" && text == strings.TrimSpace(end) {
			return true
		}
	}
	return false
}

// cut reports whether a result says that its call did not run to its end. The
// wire has no other sign of it than these words, which the harness says to
// every model.
func cut(result string) bool {
	for _, begin := range []string{"The program ended while this was running.", "Interrupted by the user", "Not run: the user interrupted"} {
		if strings.HasPrefix(result, begin) {
			return true
		}
	}
	last := result[strings.LastIndexByte(strings.TrimRight(result, "\n"), '\n')+1:]
	return strings.HasPrefix(last, "[interrupted by the user")
}

// refused reports whether a result says that its call was not allowed.
func refused(result string) bool {
	return strings.HasPrefix(result, "The user declined this call.") || strings.HasPrefix(result, "Refused: ")
}

// content is the text of a message; its parts are joined.
func content(m gjson.Result) string {
	c := m.Get("content")
	if !c.IsArray() {
		return c.String()
	}
	var b strings.Builder
	for _, p := range c.Array() {
		b.WriteString(p.Get("text").String())
	}
	return b.String()
}

func (s Story) reply(r scripted.Request, m Move, id func(int) string) scripted.Reply {
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
	chars := len(m.Think) + len(m.Say)
	for i, c := range m.Calls {
		finish = "tool_calls"
		steps = append(steps, scripted.Call(i, id(i), c.Name, c.Args, 1))
		chars += len(c.Args)
	}
	return scripted.Reply{Steps: append(steps, ending(r, finish, chars)...)}
}

// ending closes a reply of so many characters: about four make a token.
func ending(r scripted.Request, finish string, chars int) []scripted.Step {
	u := scripted.Usage{Prompt: int64(len(r.Body) / 4), Output: int64(chars/4 + 1), Cached: int64(r.Shared.Bytes / 4)}
	return []scripted.Step{scripted.Finish(finish), scripted.UsageStep(u), scripted.Done()}
}

//go:embed sample
var sample embed.FS

// ErrFolder says that a folder holds other things than the sample project.
var ErrFolder = errors.New("it holds other things than a demo's project")

// marks are the files by which a folder is known as a demo's of before: those
// that the story leaves alone.
var marks = []string{"AGENTS.md", "go.mod"}

// Write puts the sample project into a folder that is empty, or is a demo's of
// before: there it writes what is missing. No file that is there is touched. Other
// folders are [ErrFolder], and nothing is written.
func Write(dir string) error { return write(dir, writeNew) }

// Renew is [Write], but that the files of the project are made as they were.
func Renew(dir string) error {
	return write(dir, func(path string, b []byte) error { return os.WriteFile(path, b, 0o644) })
}

func write(dir string, put func(path string, b []byte) error) error {
	there, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	files := map[string][]byte{}
	err = fs.WalkDir(sample, "sample", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := sample.ReadFile(path)
		files[strings.TrimSuffix(strings.TrimPrefix(path, "sample/"), ".txt")] = b
		return err
	})
	if err != nil {
		return err
	}
	for _, name := range marks {
		if b, err := os.ReadFile(filepath.Join(dir, name)); len(there) > 0 && (err != nil || !bytes.Equal(b, files[name])) {
			return ErrFolder
		}
	}
	for name, b := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := put(path, b); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// writeNew writes a file that is not there.
func writeNew(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Close())
}
