package demo

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/tidwall/gjson"

	"varve/internal/providers/scripted"
)

// howTo is how a reply page is written. %[1]s is its name.
const howTo = "You are the model. Write `%[1]s` beside this page. Its last line is @send.\n" + `
Text is your answer. A line @call NAME calls a tool, with an argument on each line after it:

` + "```text" + `
I'll look at the file first.
@call read
file_path: main.go
@send
` + "```" + `

A value of several lines stands between <<END and a line END (an empty line before END makes a newline at the end):

` + "```text" + `
@call edit
file_path: main.go
old_string: return nil
new_string: <<END
if err != nil {
	return err
}
return nil
END
@send
` + "```" + `

Or give the arguments as one JSON object. Several calls may follow each other; text comes before them. A reply without a
call ends your turn. @think TEXT is a thought. A line of text that begins with @ is written with @@.
`

// page is a request as a model would see it: readable, in order and whole.
func page(r scripted.Request, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Request %d\n\n", n)
	fmt.Fprintf(&b, howTo, fmt.Sprintf("reply-%03d.md", n))
	messages := r.Get("messages").Array()
	fmt.Fprintf(&b, "\nThe request: model %s, %d tools, %d messages, %d bytes.", r.Model(), len(r.Get("tools").Array()), len(messages), len(r.Body))
	r.Get("@this").ForEach(func(k, v gjson.Result) bool {
		if !slices.Contains([]string{"model", "messages", "tools"}, k.String()) {
			fmt.Fprintf(&b, " %s: %s.", k, v.Raw)
		}
		return true
	})
	// The part that the request before had already, where there was one.
	fresh := 0
	if s := r.Shared; s.Of > 0 {
		fresh = s.Messages
		if fresh < len(messages) {
			fmt.Fprintf(&b, "\nNew since the request before: from message %d on, below the line NEW.", fresh+1)
		} else {
			b.WriteString("\nNothing is new since the request before: it is sent again.")
		}
	}
	if r.Shared.Of == 0 { // the first since the program was started
		for i, m := range messages {
			if m.Get("role").Str == "assistant" {
				fresh = i
			}
		}
		if fresh > 0 {
			b.WriteString("\nThe program was started anew: below the line NEW stands the last answer, and what followed it.")
		}
	}
	b.WriteString("\n\n")
	bar(&b, "tools")
	for _, t := range r.Get("tools").Array() {
		writeTool(&b, t)
	}
	names := map[string]string{} // of calls, by id
	for i, m := range messages {
		if i == fresh && i > 0 {
			b.WriteString("########## NEW ##########\n\n")
			if r.Shared.Of > 0 && fresh < r.Shared.Of {
				fmt.Fprintf(&b, "(The request before went on differently here: %d of its messages were replaced.)\n\n", r.Shared.Of-fresh)
			}
		}
		writeMessage(&b, i+1, m, names, toolsOf(r))
	}
	bar(&b, "your turn")
	return b.String()
}

func bar(b *strings.Builder, what string) { fmt.Fprintf(b, "=====[ %s ]=====\n\n", what) }

func writeTool(b *strings.Builder, t gjson.Result) {
	f := t.Get("function")
	if !f.Exists() {
		fmt.Fprintf(b, "%s\n\n", t.Raw)
		return
	}
	fmt.Fprintf(b, "%s: %s\n", f.Get("name"), visible(f.Get("description").String()))
	required := map[string]bool{}
	for _, name := range f.Get("parameters.required").Array() {
		required[name.String()] = true
	}
	f.Get("parameters.properties").ForEach(func(k, v gjson.Result) bool {
		fmt.Fprintf(b, "    %s (%s", k, v.Get("type"))
		if required[k.String()] {
			b.WriteString(", required")
		}
		b.WriteString(")")
		if d := v.Get("description"); d.Exists() {
			b.WriteString(" " + visible(d.String()))
		}
		writeRest(b, " ", v, "type", "description")
		b.WriteString("\n")
		return true
	})
	writeRest(b, "    ", f.Get("parameters"), "type", "properties", "required")
	writeRest(b, "    ", f, "name", "description", "parameters")
	b.WriteString("\n\n")
}

// writeRest prints the members of an object that were not shown otherwise, so
// that nothing is hidden.
func writeRest(b *strings.Builder, before string, v gjson.Result, shown ...string) {
	v.ForEach(func(k, v gjson.Result) bool {
		if !slices.Contains(shown, k.String()) {
			fmt.Fprintf(b, "%s%s: %s", before, k, clip(v.Raw))
			before = ", "
		}
		return true
	})
}

func writeMessage(b *strings.Builder, n int, m gjson.Result, names map[string]string, tools map[string]tool) {
	title := fmt.Sprintf("%d %s", n, m.Get("role"))
	if id := m.Get("tool_call_id").String(); id != "" {
		title += fmt.Sprintf(": result of %s %s", names[id], id)
	}
	bar(b, title)
	shown := []string{"role", "content", "tool_calls", "tool_call_id"}
	for _, key := range []string{"reasoning_content", "reasoning", "reasoning_text"} {
		if v := m.Get(key); v.Type == gjson.String {
			shown = append(shown, key)
			if v.String() != "" {
				fmt.Fprintf(b, "(thinking) %s\n\n", visible(v.String()))
			}
		}
	}
	switch c := m.Get("content"); {
	case c.IsArray():
		for _, part := range c.Array() {
			if part.Get("type").String() == "text" {
				writeText(b, part.Get("text").String())
			} else {
				b.WriteString(clip(part.Raw) + "\n\n")
			}
		}
	case c.String() != "" || len(m.Get("tool_calls").Array()) == 0:
		writeText(b, c.String())
	}
	for _, c := range m.Get("tool_calls").Array() {
		id, name := c.Get("id").String(), c.Get("function.name").String()
		names[id] = name
		fmt.Fprintf(b, "(%s)\n%s\n", id, visible(writeCall(name, c.Get("function.arguments").String(), tools)))
	}
	rest := b.Len()
	if writeRest(b, "", m, shown...); b.Len() > rest {
		b.WriteString("\n\n")
	}
}

func writeText(b *strings.Builder, s string) {
	if s == "" {
		b.WriteString("(empty)\n\n")
		return
	}
	b.WriteString(visible(strings.TrimRight(s, "\n")) + "\n\n")
}

// clipAt is how much of a value is shown that is not text, such as a picture.
const clipAt = 2000

func clip(raw string) string {
	if len(raw) <= clipAt {
		return raw
	}
	return strings.ToValidUTF8(raw[:clipAt], "") + fmt.Sprintf(" … (%d bytes in all)", len(raw))
}

// visible writes control characters as \x1b, so that a page is safe to print
// on a terminal.
func visible(s string) string {
	if strings.IndexFunc(s, hidden) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hidden(r) {
			fmt.Fprintf(&b, `\x%02x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func hidden(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }
