package export

import (
	"fmt"
	"html"
	"strings"

	"varve/internal/words"
)

// markdownOf writes a page as GitHub's Markdown. Folding is <details>, which
// viewers that don't know it show open.
func markdownOf(p page) string {
	var b strings.Builder
	put := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	put("# %s\n\n", escape(p.title))
	for _, f := range p.facts {
		put("- **%s:** %s\n", f[0], escape(f[1]))
	}
	if p.missing != "" {
		put("\n> **Not all of it is here.** %s\n", escape(p.missing))
	}
	speaker := ""
	for _, x := range p.blocks {
		b.WriteString("\n")
		if who := speaks(x); who != "" && (who != speaker || x.kind == said || x.final) {
			speaker = who
			put("## %s\n\n", heading(x, who))
		}
		b.WriteString(x.markdown())
	}
	return b.String()
}

// speaks is who a block is of; "" goes on with whoever it was.
func speaks(x *block) string {
	switch x.kind {
	case said, shell:
		return "You"
	case answer, thought, called:
		return "Agent"
	}
	return ""
}

func heading(x *block, who string) string {
	switch {
	case x.final:
		return "Answer"
	case x.mark != "":
		return who + " (" + x.mark + ")"
	}
	return who
}

func (x *block) markdown() string {
	if x.lost != "" {
		return "*(This can't be read: " + escape(x.lost) + ")*\n"
	}
	switch x.kind {
	case said:
		text := strings.TrimRight(x.text, "\n")
		if text != "" {
			text = "> " + strings.ReplaceAll(text, "\n", "\n> ") + "\n"
		}
		return text + listed(x.media, text != "")
	case answer:
		return strings.Trim(x.text, "\n") + "\n"
	case thought:
		return folded("Thinking", quoted(x.text))
	case summary:
		return folded("The conversation so far was summarized ("+html.EscapeString(x.mark)+")", strings.Trim(x.text, "\n")+"\n")
	case todo:
		return "*The todo list was changed:*\n\n" + list(x.tasks)
	case changed:
		return "*" + escape(x.mark) + ":*\n" + changes(x.changes)
	case notice:
		return "*" + escape(x.text) + "*\n"
	}
	return x.callMarkdown()
}

func (x *block) callMarkdown() string {
	head := "<code>" + html.EscapeString(x.name) + "</code>"
	if x.gist != "" {
		head += " " + html.EscapeString(x.gist)
	}
	tail := x.tail
	if tail == "" && x.state != "done" {
		tail = map[string]string{"failed": "failed", "open": "no result"}[x.state]
	}
	if tail != "" {
		head += " (" + html.EscapeString(tail) + ")"
	}
	inside := ""
	if x.args != "" {
		inside = fenced("bash", x.args) + "\n"
	}
	if x.tasks == nil && (x.out != "" || x.left != "") && (len(x.changes) == 0 || x.state != "done") {
		inside += fenced("text", x.out)
		if x.left != "" {
			inside += "\n*" + x.left + "*\n"
		}
	}
	out := "`" + strings.ReplaceAll(x.name, "`", "'") + "` " + escape(x.gist)
	if tail != "" {
		out += " (" + escape(tail) + ")"
	}
	if x.told() {
		out += " " + x.changes[0].counts()
	}
	out += "\n"
	if inside != "" {
		out = folded(head, inside)
	}
	if x.tasks != nil {
		out += "\n" + list(x.tasks)
	}
	if x.told() {
		return out + "\n" + fenced("diff", x.changes[0].diff) + listed(x.media, true)
	}
	return out + changes(x.changes) + listed(x.media, true)
}

// folded is a text behind a line that opens it. The line is HTML.
func folded(head, text string) string {
	return "<details><summary>" + head + "</summary>\n\n" + text + "\n</details>\n"
}

func quoted(s string) string {
	return "> " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n> ") + "\n"
}

// fenced is a text in a fence that it can't end.
func fenced(lang, text string) string {
	longest, run := 2, 0
	for i := range len(text) {
		if run++; text[i] != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", longest+1)
	return fence + lang + "\n" + strings.TrimRight(text, "\n") + "\n" + fence + "\n"
}

func list(tasks []task) string {
	if len(tasks) == 0 {
		return "*(no tasks)*\n"
	}
	var b strings.Builder
	for _, t := range tasks {
		box, text := " ", escape(t.text)
		switch t.status {
		case "completed":
			box = "x"
		case "in_progress":
			text = "**" + text + "** (in progress)"
		case "cancelled":
			text = "~~" + text + "~~"
		}
		fmt.Fprintf(&b, "- [%s] %s\n", box, text)
	}
	return b.String()
}

func changes(all []change) string {
	var b strings.Builder
	for _, c := range all {
		fmt.Fprintf(&b, "\n%s `%s`", c.verb(), strings.ReplaceAll(c.path, "`", "'"))
		if n := c.counts(); n != "" {
			b.WriteString(" " + n)
		}
		if c.note != "" {
			b.WriteString(": " + escape(c.note))
		}
		b.WriteString("\n")
		if c.diff != "" {
			b.WriteString("\n" + fenced("diff", c.diff))
		}
	}
	return b.String()
}

func (c change) counts() string {
	if c.added+c.removed == 0 {
		return ""
	}
	return fmt.Sprintf("(+%d −%d)", c.added, c.removed)
}

// verb is what was done to a file.
func (c change) verb() string {
	switch c.op {
	case "create":
		return "Created"
	case "delete":
		return "Deleted"
	}
	return "Changed"
}

// listed names attachments.
func listed(media []medium, behind bool) string {
	var b strings.Builder
	for i, m := range media {
		if i == 0 && behind {
			b.WriteString("\n")
		}
		b.WriteString("- " + escape(m.words()) + "\n")
	}
	return b.String()
}

// words names an attachment: its handle, name, type and size.
func (m medium) words() string {
	all := []string{}
	for _, s := range []string{m.name, m.media, words.Bytes(m.size), m.lost} {
		if s != "" {
			all = append(all, s)
		}
	}
	return "Attached: " + m.handle + " (" + strings.Join(all, ", ") + ")"
}

// escape is a text that means itself in Markdown.
func escape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if strings.IndexByte("\\`*_[]<>|#~&", s[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
