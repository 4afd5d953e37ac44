package demo

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"varve/internal/providers/scripted"
)

// A written is a reply page that was read.
type written struct {
	parts  []piece
	finish string
}

// A piece is text, a thought or a call; a call has a name.
type piece struct {
	text    string // of a call: its arguments, a JSON object
	name    string
	thought bool
}

// steps plays the reply to request n.
func (w written) steps(n int) []scripted.Step {
	steps := []scripted.Step{scripted.Role()}
	calls := 0
	for _, p := range w.parts {
		switch {
		case p.name != "":
			steps = append(steps, scripted.Call(calls, fmt.Sprintf("call_%03d_%d", n, calls+1), p.name, p.text, 1))
			calls++
		case p.thought:
			steps = append(steps, scripted.Reasoning("", p.text))
		default:
			steps = append(steps, scripted.Text(p.text))
		}
	}
	return steps
}

// chars is how much was written.
func (w written) chars() (n int) {
	for _, p := range w.parts {
		n += len(p.text)
	}
	return n
}

// A tool is what a request says of one: the types of its arguments, "" where
// they are several, and which it must have.
type tool struct {
	types    map[string]string
	order    []string
	required []string
}

func toolsOf(r scripted.Request) map[string]tool {
	tools := map[string]tool{}
	for _, f := range r.Get("tools.#.function").Array() {
		t := tool{types: map[string]string{}}
		f.Get("parameters.properties").ForEach(func(k, v gjson.Result) bool {
			kind := ""
			if v.Get("type").Type == gjson.String {
				kind = v.Get("type").String()
			}
			t.types[k.String()] = kind
			t.order = append(t.order, k.String())
			return true
		})
		for _, k := range f.Get("parameters.required").Array() {
			t.required = append(t.required, k.String())
		}
		tools[f.Get("name").String()] = t
	}
	return tools
}

// readReply reads a reply page. Sent says that it has its line "@send": until
// then it may be half-written. An error is for the person who writes it.
func readReply(text string, tools map[string]tool) (w written, sent bool, err error) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	if !utf8.ValidString(text) {
		return w, strings.Contains(text, "@send"), errors.New("it is not UTF-8 text")
	}
	lines := strings.Split(text, "\n")
	var words []string
	flush := func() {
		if s := strings.Trim(strings.Join(words, "\n"), "\n"); strings.TrimSpace(s) != "" {
			w.parts = append(w.parts, piece{text: s})
		}
		words = nil
	}
	calls, named := 0, false
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		verb, rest, _ := strings.Cut(line, " ")
		rest = strings.TrimSpace(rest)
		switch {
		case strings.HasPrefix(verb, "@@"):
			words = append(words, strings.Replace(lines[i], "@@", "@", 1))
		case !strings.HasPrefix(verb, "@"):
			words = append(words, lines[i])
		case verb == "@send":
			flush()
			switch {
			case strings.TrimSpace(strings.Join(lines[i+1:], "")) != "" || rest != "":
				err = fmt.Errorf("line %d: something follows @send, which has to be the last line", i+1)
			case len(w.parts) == 0 && !named:
				err = errors.New("it is empty: write text or a call before @send (`@finish stop` before it sends an empty reply)")
			}
			if !named {
				w.finish = "stop"
				if calls > 0 {
					w.finish = "tool_calls"
				}
			}
			return w, true, err
		case verb == "@finish" && rest != "":
			w.finish, named = rest, true
		case verb == "@think" && rest != "":
			flush()
			if word := heredoc(rest); word != "" {
				long, used, ok := until(lines[i+1:], word)
				if !ok {
					return w, endsSent(lines), fmt.Errorf("line %d: the line %s that ends @think is missing", i+1, word)
				}
				rest, i = long, i+used
			}
			w.parts = append(w.parts, piece{text: rest, thought: true})
		case (verb == "@call" || verb == "@call!") && rest != "":
			flush()
			calls++
			name, inline, _ := strings.Cut(rest, " ")
			body, used := callBody(inline, lines[i+1:])
			args, err := callArgs(name, body, tools, verb == "@call!")
			if err != nil {
				return w, endsSent(lines), fmt.Errorf("line %d: @call %s: %w", i+1, name, err)
			}
			i += used
			w.parts = append(w.parts, piece{name: name, text: args})
		default:
			return w, endsSent(lines), fmt.Errorf("line %d: %q is none of @call NAME, @think TEXT, @finish REASON, @send; write @@ for a line of text that begins with @", i+1, line)
		}
	}
	return w, false, nil
}

// endsSent reports whether the last line that says something is "@send".
func endsSent(lines []string) bool {
	for _, l := range slices.Backward(lines) {
		if l = strings.TrimSpace(l); l != "" {
			return l == "@send"
		}
	}
	return false
}

var heredocs = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*<<([A-Za-z]\w*)\s*$`) })

// heredoc is the word of a value that begins a long one, such as <<END.
func heredoc(value string) string {
	if m := heredocs().FindStringSubmatch(value); m != nil {
		return m[1]
	}
	return ""
}

// until is what stands before the line word, and how many lines that took.
func until(lines []string, word string) (text string, used int, ok bool) {
	for i, l := range lines {
		if strings.TrimSpace(l) == word {
			return strings.Join(lines[:i], "\n"), i + 1, true
		}
	}
	return "", len(lines), false
}

// callBody is what belongs to a call: the rest of its line, and the lines up
// to the next one that begins with @. Lines of a long value belong to it
// whatever they say.
func callBody(inline string, lines []string) (body []string, used int) {
	if inline != "" {
		body = append(body, inline)
	}
	if _, val, ok := strings.Cut(inline, ":"); ok && heredoc(val) != "" {
		_, used, _ = until(lines, heredoc(val))
	}
	for used < len(lines) && !strings.HasPrefix(strings.TrimSpace(lines[used]), "@") {
		_, val, _ := strings.Cut(lines[used], ":")
		used++
		if word := heredoc(val); word != "" {
			_, n, _ := until(lines[used:], word)
			used += n
		}
	}
	return append(body, lines[:used]...), used
}

// callArgs makes a JSON object of a call's body: one JSON object, or lines
// "key: value" whose types the tool's schema tells. Raw takes the body as it
// is, for trying what a bad model might send.
func callArgs(name string, body []string, tools map[string]tool, raw bool) (string, error) {
	joined := strings.TrimSpace(strings.Join(body, "\n"))
	if raw {
		return joined, nil
	}
	t, ok := tools[name]
	if !ok {
		return "", fmt.Errorf("there is no such tool; there are %s (`@call! %s` sends it all the same)", strings.Join(sorted(tools), ", "), name)
	}
	if !strings.HasPrefix(joined, "{") {
		out, err := t.pairs(body)
		if err != nil {
			return "", err
		}
		joined = out
	}
	v := gjson.Parse(joined)
	if !gjson.Valid(joined) || !v.IsObject() {
		return "", errors.New("the arguments are not one valid JSON object")
	}
	return joined, t.check(v)
}

// check says which arguments a call lacks or the tool does not know.
func (t tool) check(args gjson.Result) error {
	var err error
	args.ForEach(func(k, _ gjson.Result) bool {
		if _, ok := t.types[k.String()]; !ok {
			err = fmt.Errorf("it has no argument %q; it has %s (text comes before the calls)", k, strings.Join(t.order, ", "))
		}
		return err == nil
	})
	for _, k := range t.required {
		if err == nil && !args.Get(gjson.Escape(k)).Exists() {
			err = fmt.Errorf("the argument %s is missing", k)
		}
	}
	return err
}

// pairs makes a JSON object of "key: value" lines, in their order.
func (t tool) pairs(body []string) (string, error) {
	var members []string
	seen := map[string]bool{}
	for i := 0; i < len(body); i++ {
		if strings.TrimSpace(body[i]) == "" {
			continue
		}
		key, val, ok := strings.Cut(body[i], ":")
		if !ok {
			return "", fmt.Errorf("%q: write an argument as `key: value`, or all of them as one JSON object; text comes before the calls", body[i])
		}
		key, val = strings.TrimSpace(key), strings.TrimPrefix(val, " ")
		if word := heredoc(val); word != "" {
			long, used, ok := until(body[i+1:], word)
			if !ok {
				return "", fmt.Errorf("%s: the line %s that ends it is missing", key, word)
			}
			val, i = long, i+used
		}
		if seen[key] {
			return "", fmt.Errorf("%s is there twice", key)
		}
		seen[key] = true
		v, err := value(val, t.types[key])
		if err != nil {
			return "", fmt.Errorf("%s: %w", key, err)
		}
		members = append(members, compact(key)+":"+compact(v))
	}
	return "{" + strings.Join(members, ",") + "}", nil
}

// value is a written value as its JSON type has it. Of an unknown type are
// JSON numbers, booleans, lists and objects; anything else is a string.
func value(s, kind string) (any, error) {
	if kind == "string" {
		return s, nil
	}
	t := strings.TrimSpace(s)
	v := gjson.Parse(t)
	if kind == "" && (!gjson.Valid(t) || v.Type == gjson.String) {
		return s, nil
	}
	is := map[string]bool{
		"integer": v.Type == gjson.Number && !strings.ContainsAny(t, ".eE"), "number": v.Type == gjson.Number,
		"boolean": v.IsBool(), "array": v.IsArray(), "object": v.IsObject(), "null": v.Type == gjson.Null,
	}
	if ok, known := is[kind]; known && !ok || !gjson.Valid(t) {
		hint := ""
		if !gjson.Valid(t) && strings.ContainsAny(t, "[{") {
			hint = "; one of several lines stands between <<END and END"
		}
		return nil, fmt.Errorf("%s is no JSON %s%s", clip(t), kind, hint)
	}
	return json.RawMessage(t), nil
}

// writeCall is a call as it is written on a reply page. What readReply reads
// from it is the same call.
func writeCall(name, args string, tools map[string]tool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "@call %s\n", name)
	v := gjson.Parse(args)
	v.ForEach(func(k, v gjson.Result) bool {
		s := v.Raw
		if v.Type == gjson.String {
			s = v.String()
		}
		if !strings.Contains(s, "\n") {
			fmt.Fprintf(&b, "%s: %s\n", k, s)
			return true
		}
		word := "END"
		for strings.Contains(s, word) {
			word += "X"
		}
		fmt.Fprintf(&b, "%s: <<%s\n%s\n%s\n", k, word, s, word)
		return true
	})
	if again, _, err := readReply(b.String()+"@send", tools); err == nil && len(again.parts) == 1 && sameJSON(again.parts[0].text, args) {
		return b.String()
	}
	return fmt.Sprintf("@call %s %s\n", name, args)
}

// sameJSON reports whether two objects say the same, in any order of keys.
func sameJSON(a, b string) bool {
	var x, y map[string]any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && compact(x) == compact(y)
}

func sorted(tools map[string]tool) []string {
	var names []string
	for n := range tools {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}
