package demo

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"varve/internal/providers/scripted"
)

// A Puppet lets a person play the model. Each request becomes a page in Dir,
// request-001.md; the reply is a page that the person writes, reply-001.md,
// and that ends with a line "@send". docs/puppet.md tells it.
type Puppet struct {
	Dir   string
	Say   func(string) // is told where a page waits; may be nil
	Every time.Duration
}

// Handle writes the page of a request and waits for its reply. It is a
// [scripted.Handler].
func (p Puppet) Handle(r scripted.Request) scripted.Reply {
	n := p.next()
	page, reply := p.path("request", n), p.path("reply", n)
	if err := os.WriteFile(page, []byte(Page(r, n)), 0o600); err != nil {
		return refusal("the page can't be written: " + err.Error())
	}
	if p.Say != nil {
		p.Say(fmt.Sprintf("request %d waits in %s; answer in %s", n, page, reply))
	}
	tick := time.NewTicker(max(p.Every, 50*time.Millisecond))
	defer tick.Stop()
	told := ""
	for {
		b, err := os.ReadFile(reply)
		if text := string(b); err == nil && Sent(text) {
			steps, err := ReplySteps(text, r, n)
			if err == nil {
				_ = os.Remove(p.path("error", n))
				return scripted.Reply{Steps: steps}
			}
			if text != told {
				told = text
				_ = os.WriteFile(p.path("error", n), []byte(err.Error()+"\nCorrect "+filepath.Base(reply)+"; it is read again when it changes.\n"), 0o600)
			}
		}
		select {
		case <-r.Context().Done():
			return scripted.Reply{}
		case <-tick.C:
		}
	}
}

func (p Puppet) path(kind string, n int) string {
	return filepath.Join(p.Dir, fmt.Sprintf("%s-%03d.md", kind, n))
}

// next is the number of the first page that is not there yet.
func (p Puppet) next() int {
	for n := 1; ; n++ {
		if _, err := os.Stat(p.path("request", n)); err != nil {
			return n
		}
	}
}

func refusal(text string) scripted.Reply {
	b, err := scripted.JSONBody(map[string]any{"error": map[string]any{"message": text, "type": "puppet", "code": nil, "param": nil}})
	if err != nil {
		panic("demo: internal error: " + err.Error())
	}
	return scripted.Reply{Steps: []scripted.Step{scripted.Status(400), b}}
}

// Page is a request as a model would see it, readable, with what is new since
// the request before marked.
func Page(r scripted.Request, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Request %d\n\nYou are the model. Write `reply-%03d.md` beside this page and end it with a line `@send`.\n", n, n)
	b.WriteString("Text stands as it is; a tool call is a line `@call NAME` with one argument a line after it:\n\n" +
		"    I'll look at the file first.\n    @call read\n    file_path: main.go\n    @send\n\n" +
		"A long argument stands between `key: <<END` and a line `END`; or give all arguments as JSON: `@call read {\"file_path\":\"main.go\"}`.\n" +
		"Other lines: `@think TEXT`, `@finish length` (or another reason). Without calls the turn ends.\n\n")
	fmt.Fprintf(&b, "model %s, %d bytes\n\n## Tools\n\n", r.Model(), len(r.Body))
	for _, t := range r.Get("tools").Array() {
		f := t.Get("function")
		fmt.Fprintf(&b, "### %s\n%s\n%s\n\n", f.Get("name"), f.Get("description"), f.Get("parameters").Raw)
	}
	b.WriteString("## Conversation\n\n")
	messages := r.Get("messages").Array()
	for i, m := range messages {
		if i == r.Shared.Messages && i > 0 {
			b.WriteString("---- new since the request before ----\n\n")
		}
		writeMessage(&b, m)
	}
	return b.String()
}

func writeMessage(b *strings.Builder, m gjson.Result) {
	role := m.Get("role").String()
	if id := m.Get("tool_call_id").String(); id != "" {
		role += " (result of " + id + ")"
	}
	fmt.Fprintf(b, "### %s\n\n", role)
	for _, key := range []string{"reasoning_content", "reasoning"} {
		if s := m.Get(key).String(); s != "" {
			fmt.Fprintf(b, "(thinking) %s\n\n", s)
		}
	}
	if c := m.Get("content"); c.Type == gjson.String && c.String() != "" {
		b.WriteString(strings.TrimRight(c.String(), "\n") + "\n\n")
	} else if c.IsArray() {
		b.WriteString(c.Raw + "\n\n")
	}
	for _, c := range m.Get("tool_calls").Array() {
		fmt.Fprintf(b, "calls %s as %s with %s\n\n", c.Get("function.name"), c.Get("id"), c.Get("function.arguments"))
	}
}

// Sent reports whether a reply page is finished: its last line is "@send".
func Sent(page string) bool {
	lines := strings.Split(strings.TrimSpace(page), "\n")
	return strings.TrimSpace(lines[len(lines)-1]) == "@send"
}

// ReplySteps reads a reply page. An error is for the person who wrote it.
func ReplySteps(page string, r scripted.Request, n int) ([]scripted.Step, error) {
	steps := []scripted.Step{scripted.Role()}
	lines := strings.Split(strings.ReplaceAll(page, "\r\n", "\n"), "\n")
	var text []string
	calls, finish, chars := 0, "", 0
	flush := func() {
		s := strings.Trim(strings.Join(text, "\n"), "\n")
		text = nil
		if s != "" {
			chars += len(s)
			steps = append(steps, scripted.Text(s))
		}
	}
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case verb == "@send":
			flush()
			if finish == "" {
				finish = "stop"
				if calls > 0 {
					finish = "tool_calls"
				}
			}
			return append(steps, scripted.Finish(finish), scripted.UsageStep(scripted.Usage{
				Prompt: int64(len(r.Body) / 4), Output: int64(chars/4 + 1),
			}), scripted.Done()), nil
		case verb == "@finish":
			finish = strings.TrimSpace(rest)
		case verb == "@think":
			steps = append(steps, scripted.Reasoning("", strings.TrimSpace(rest)))
		case verb == "@call":
			flush()
			name, inline, _ := strings.Cut(strings.TrimSpace(rest), " ")
			body, used := callBody(inline, lines[i+1:])
			i += used
			args, err := callArgs(body)
			if err != nil {
				return nil, fmt.Errorf("@call %s (call %d): %w", name, calls+1, err)
			}
			steps = append(steps, scripted.Call(calls, fmt.Sprintf("call_%03d_%d", n, calls), name, args, 1))
			calls++
			chars += len(args)
		case strings.HasPrefix(verb, "@") && !strings.HasPrefix(verb, "@@"):
			return nil, fmt.Errorf("line %d: %s is none of @call, @think, @finish, @send; write @@ for a line of text that begins with @", i+1, verb)
		default:
			text = append(text, strings.Replace(line, "@@", "@", 1))
		}
	}
	return nil, errors.New("the page has no @send")
}

// callBody is what belongs to a call: the rest of its line, and the lines up
// to the next directive. Lines inside <<END … END belong to it whatever they
// say.
func callBody(inline string, lines []string) (body []string, used int) {
	if inline != "" {
		body = append(body, inline)
	}
	end := ""
	for _, l := range lines {
		if end == "" && strings.HasPrefix(strings.TrimSpace(l), "@") {
			break
		}
		used++
		body = append(body, l)
		if end != "" {
			if strings.TrimSpace(l) == end {
				end = ""
			}
			continue
		}
		if _, word, ok := strings.Cut(l, ": <<"); ok && strings.TrimSpace(word) != "" {
			end = strings.TrimSpace(word)
		}
	}
	return body, used
}

// callArgs makes a JSON object of a call's body: JSON as it is, or "key: value"
// lines. Values that read as JSON numbers, booleans, lists or objects are
// those; anything else is a string.
func callArgs(body []string) (string, error) {
	joined := strings.TrimSpace(strings.Join(body, "\n"))
	if strings.HasPrefix(joined, "{") {
		if !json.Valid([]byte(joined)) {
			return "", errors.New("the arguments are not valid JSON")
		}
		return joined, nil
	}
	out := map[string]any{}
	for i := 0; i < len(body); i++ {
		if strings.TrimSpace(body[i]) == "" {
			continue
		}
		key, val, ok := strings.Cut(body[i], ":")
		if !ok {
			return "", fmt.Errorf("%q: write arguments as `key: value`, or as one JSON object", body[i])
		}
		key, val = strings.TrimSpace(key), strings.TrimPrefix(val, " ")
		if end, ok := strings.CutPrefix(val, "<<"); ok && strings.TrimSpace(end) != "" {
			end = strings.TrimSpace(end)
			var long []string
			for i++; i < len(body) && strings.TrimSpace(body[i]) != end; i++ {
				long = append(long, body[i])
			}
			if i == len(body) {
				return "", fmt.Errorf("%s: the line %s that ends it is missing", key, end)
			}
			out[key] = strings.Join(long, "\n")
			continue
		}
		out[key] = value(val)
	}
	b, err := json.Marshal(out)
	return string(b), err
}

func value(s string) any {
	t := strings.TrimSpace(s)
	if t == "true" || t == "false" || strings.HasPrefix(t, "[") || strings.HasPrefix(t, "{") {
		var v any
		if json.Unmarshal([]byte(t), &v) == nil {
			return v
		}
	}
	var n json.Number
	if json.Unmarshal([]byte(t), &n) == nil && n != "" && t[0] != '"' {
		return n
	}
	return s
}
