package export

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"varve/internal/session"
	"varve/internal/tui/plain"
	"varve/internal/words"
)

// A builder makes blocks of entries, in their order.
type builder struct {
	Conversation
	page   page
	items  map[session.ItemID]*block
	result map[session.ItemID]*block // the block that shows a result, by the result's id
	queue  map[session.Seq]session.Entry
	names  map[string]string // of media, by handle
	models []string
	first  time.Time
	last   time.Time
	count  struct{ said, calls, files int }
}

func blocksOf(c Conversation) page {
	b := &builder{
		Conversation: c, items: map[session.ItemID]*block{}, result: map[session.ItemID]*block{},
		queue: map[session.Seq]session.Entry{}, names: map[string]string{},
	}
	b.page.missing = clean(c.Missing)
	for _, e := range c.Entries {
		b.entry(e)
		if e.Seq > 1 {
			if b.first.IsZero() {
				b.first = e.At
			}
			b.last = e.At
		}
	}
	b.page.title = line(c.Title)
	for _, x := range b.page.blocks {
		if x.kind == said && b.page.title == "" {
			b.page.title = line(x.text)
		}
	}
	b.page.days = b.first.Format(time.DateOnly) != b.last.Format(time.DateOnly)
	b.page.title = cmp.Or(b.page.title, "A conversation")
	fact := func(name, value string) {
		if value != "" {
			b.page.facts = append(b.page.facts, [2]string{name, value})
		}
	}
	fact("When", span(b.first, b.last))
	fact("Model", strings.Join(b.models, ", "))
	fact("Folder", line(filepath.Base(cmp.Or(c.Workspace, "."))))
	branch := ""
	if c.Branch != session.MainBranch {
		branch = ", branch " + line(c.Branch)
	}
	fact("Session", line(c.Session)+branch)
	size := []string{words.Count(b.count.said, "message"), words.Count(b.count.calls, "tool call")}
	if b.count.files > 0 {
		size = append(size, words.Count(b.count.files, "file change"))
	}
	fact("Size", strings.Join(size, ", "))
	return b.page
}

// span is a time for people, in UTC.
func span(from, to time.Time) string {
	const day, hour = "2006-01-02", "15:04"
	switch {
	case from.IsZero():
		return ""
	case from.Format(day+hour) == to.Format(day+hour):
		return from.Format(day+" "+hour) + " UTC"
	case from.Format(day) == to.Format(day):
		return from.Format(day+" "+hour) + " to " + to.Format(hour) + " UTC"
	}
	return from.Format(day+" "+hour) + " to " + to.Format(day+" "+hour) + " UTC"
}

// clean is a text without what could act where it is shown; tabs stay.
func clean(s string) string { return plain.CleanTabs(s, 0) }

func line(s string) string { return clean(words.OneLine(s)) }

// rel is a path as it is seen from the workspace.
func (b *builder) rel(s string) string {
	if b.Workspace == "" || b.Workspace == "/" {
		return s
	}
	return strings.ReplaceAll(s, strings.TrimSuffix(b.Workspace, "/")+"/", "")
}

// text is body entry i of an entry.
func (b *builder) text(e session.Entry, i int) (text, lost string) {
	raw, err := b.bytes(e, i)
	if err != nil {
		return "", line(err.Error())
	}
	return clean(string(raw)), ""
}

func (b *builder) bytes(e session.Entry, i int) ([]byte, error) {
	p, err := e.Part(i)
	if err != nil {
		return nil, err
	}
	return b.Load(p)
}

func (b *builder) put(x *block, e session.Entry) *block {
	x.at = e.At
	b.page.blocks = append(b.page.blocks, x)
	return x
}

func (b *builder) notice(e session.Entry, format string, args ...any) {
	b.put(&block{kind: notice, text: clean(fmt.Sprintf(format, args...))}, e)
}

func (b *builder) entry(e session.Entry) {
	switch ev := e.Event.(type) {
	case session.InputQueued, session.MediaAdmitted:
		b.aside(e)
	case session.InputEdited:
		if was, ok := b.queue[ev.Entry]; ok && was.Seq < e.Seq {
			b.queue[ev.Entry] = e
		}
	case session.UserSaid:
		b.said(e, ev)
	case session.ShellRan:
		x := b.put(&block{kind: shell}, e)
		text, lost := b.text(e, ev.Text.B)
		cmd, out, _ := strings.Cut(text, "\n")
		x.lost, x.name, x.gist, x.out, x.state = lost, "$", b.rel(strings.TrimPrefix(cmd, "$ ")), out, "done"
		if ev.Exit != 0 {
			x.state, x.tail = "failed", fmt.Sprintf("exit %d", ev.Exit)
		}
		b.items[e.Seq.Item()] = x
	case session.ReplyCompleted:
		b.reply(e, ev)
	case session.ReplyRejected:
		if ev.Kept && ev.Text != nil {
			x := b.put(&block{kind: answer, mark: "cut off"}, e)
			x.text, x.lost = b.text(e, ev.Text.B)
			b.items[e.Seq.Item()] = x
		}
	case session.TurnEnded:
		b.ended(e, ev)
	case session.ModelChosen:
		b.model(e, ev)
	case session.CheckpointCommitted:
		x := b.put(&block{kind: summary, mark: fmt.Sprintf("%s to %s tokens", words.Tokens(ev.Before), words.Tokens(ev.After))}, e)
		if ev.Kind == "native" {
			x.text = "The summary is the provider's own, and can't be read here."
			return
		}
		x.text, x.lost = b.text(e, ev.Text.B)
		x.text = session.Handoff(x.text)
	case session.BranchCreated:
		b.notice(e, "Branch %s begins here, from %s.", ev.Name, ev.From.Branch)
	case session.BranchReverted:
		preview, _ := b.text(e, ev.Preview.B)
		b.notice(e, "Went back to before “%s”. What was said there (%s) is not shown.", line(preview), ev.Label)
	case session.BranchRolledBack:
		b.notice(e, "Took the revert %s back.", ev.Label)
	case session.ItemReplaced:
		b.replaced(e, ev)
	case session.FaultRecorded:
		b.notice(e, "A fault of the program was caught (%s, %s).", ev.Where, ev.Kind)
	case session.ToastPosted:
		if ev.Code == "export_incomplete" {
			b.notice(e, "%s", words.Toast(ev))
		}
	default:
		b.tool(e)
	}
}

func (b *builder) aside(e session.Entry) {
	switch ev := e.Event.(type) {
	case session.InputQueued:
		b.queue[e.Seq] = e
	case session.MediaAdmitted:
		if name, lost := b.text(e, ev.Name.B); lost == "" {
			b.names[ev.Handle] = line(name)
		}
	}
}

func (b *builder) said(e session.Entry, ev session.UserSaid) {
	b.count.said++
	x := b.put(&block{kind: said}, e)
	b.items[e.Seq.Item()] = x
	if ev.Via == "steer" {
		x.mark = "while it worked"
	}
	x.media = b.media(e, ev.Media)
	if ev.Text != nil {
		x.text, x.lost = b.text(e, ev.Text.B)
		return
	}
	switch q := b.queue[ev.Entry]; in := q.Event.(type) {
	case session.InputQueued:
		x.text, x.lost = b.text(q, in.Text.B)
		x.media = append(x.media, b.media(q, in.Media)...)
	case session.InputEdited:
		x.text, x.lost = b.text(q, in.Text.B)
	default:
		x.lost = "its words are not there"
	}
}

func (b *builder) reply(e session.Entry, ev session.ReplyCompleted) {
	for i, p := range ev.Parts {
		id := session.ItemID{Seq: e.Seq, Part: i + 1}
		x := &block{}
		switch session.ItemKind(p.Kind) {
		case session.AssistantItem:
			x.kind = answer
		case session.ReasoningItem:
			if x.kind = thought; p.Encoding != "" || p.MediaType != "" && !strings.HasPrefix(p.MediaType, "text/") {
				continue // a vendor's own form, for the vendor
			}
		case session.CallItem:
			x.kind, x.state = called, "open"
			b.count.calls++
		default:
			continue
		}
		x.text, x.lost = b.text(e, p.B)
		if x.kind != called && x.lost == "" && strings.TrimSpace(x.text) == "" {
			continue
		}
		if x.kind == called {
			if p.Call != nil {
				x.name = line(p.Call.Name)
			}
			gist := words.Gist(x.name, x.text)
			x.gist = b.rel(line(gist))
			if x.name == "bash" && strings.Contains(strings.TrimSpace(gist), "\n") {
				x.args = clean(gist)
			}
			x.text = ""
		}
		b.items[id] = b.put(x, e)
	}
}

func (b *builder) ended(e session.Entry, ev session.TurnEnded) {
	if x := b.items[ev.Answer]; x != nil && x.kind == answer {
		x.final = true
	}
	if o := words.TurnEnded(ev, ""); o.Line != "" {
		b.notice(e, "%s", o.Line)
	}
}

func (b *builder) model(e session.Entry, ev session.ModelChosen) {
	name := line(ev.Model.String())
	if len(b.models) > 0 && b.models[len(b.models)-1] != name {
		b.notice(e, "From here on the model is %s.", name)
	}
	if !slices.Contains(b.models, name) {
		b.models = append(b.models, name)
	}
}

// replaced puts the text of a repair or redaction where the item stands.
func (b *builder) replaced(e session.Entry, ev session.ItemReplaced) {
	text, lost := b.text(e, ev.Text.B)
	if x := b.items[ev.Item]; x != nil {
		x.text, x.lost, x.media = text, lost, nil
	} else if x := b.result[ev.Item]; x != nil {
		x.out, x.lost, x.media, x.left = text, lost, nil, ""
	}
}
