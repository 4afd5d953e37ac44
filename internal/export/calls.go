package export

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	udiff "github.com/aymanbagabas/go-udiff"

	"varve/internal/session"
	"varve/internal/words"
)

// tool is entry for calls, files and tasks.
func (b *builder) tool(e session.Entry) {
	switch ev := e.Event.(type) {
	case session.ToolFinished:
		x := b.items[ev.Call]
		if x == nil {
			return // its call is no part of what is shown
		}
		b.result[e.Seq.Item()] = x
		x.out, x.lost = b.text(e, ev.Text.B)
		x.media = b.media(e, ev.Media)
		x.state, x.tail = "done", took(ev.DurationMS)
		if ev.IsError {
			x.state = "failed"
		}
		if ev.Exit != nil && *ev.Exit != 0 {
			x.tail = strings.TrimPrefix(x.tail+fmt.Sprintf(", exit %d", *ev.Exit), ", ")
		}
		if ev.LeftOut.Lines > 0 {
			x.left = words.Count(int(ev.LeftOut.Lines), "line") + " more, not shown to the model"
		}
	case session.ToolInterrupted:
		if x := b.items[ev.Call]; x != nil {
			b.result[e.Seq.Item()] = x
			x.out, x.lost = b.text(e, ev.Text.B)
			x.state, x.tail = "stopped", "interrupted"
			switch ev.Why {
			case "denied":
				x.state, x.tail = "refused", "refused"
			case "timeout":
				x.tail = "timed out"
			case "lost":
				x.tail = "the program ended"
			}
		}
	case session.PlanChanged:
		b.plan(e, ev)
	case session.FilesChanged:
		changes := b.changes(e, ev)
		b.count.files += len(changes)
		if x := b.items[ev.Call]; x != nil && !ev.Call.IsZero() {
			x.changes = append(x.changes, changes...)
			return
		}
		what := map[string]string{"shell": "Files that a command changed", "user": "Files that the user changed", "restore": "Files that were put back"}[ev.By]
		b.put(&block{kind: changed, mark: cmp.Or(what, "Files that changed"), changes: changes}, e)
	case session.JobEnded:
		b.notice(e, "The background job %s ended (%s).", ev.Job, ev.Why)
	}
}

func took(ms int64) string {
	switch {
	case ms < 100:
		return ""
	case ms < 60_000:
		return fmt.Sprintf("%.1f s", float64(ms)/1000)
	}
	return fmt.Sprintf("%d min %d s", ms/60_000, ms/1000%60)
}

// plan shows the tasks in the place of the call that set them.
func (b *builder) plan(e session.Entry, ev session.PlanChanged) {
	tasks := []task{}
	for _, it := range ev.Items {
		text, lost := b.text(e, it.Content)
		if lost != "" {
			text = "(" + lost + ")"
		}
		tasks = append(tasks, task{it.Status, line(text)})
	}
	if ev.By == "model" && ev.AfterItem != nil {
		if x := b.items[*ev.AfterItem]; x != nil && x.kind == called {
			x.tasks = tasks
			return
		}
	}
	b.put(&block{kind: todo, tasks: tasks}, e)
}

// maxMedia is the largest picture that is shown, in bytes.
const maxMedia = 10 << 20

func (b *builder) media(e session.Entry, list []session.Media) []medium {
	var out []medium
	for _, m := range list {
		x := medium{handle: line(m.Handle), name: b.names[m.Handle]}
		p, err := e.Part(m.B)
		if err == nil && p.Ref != nil {
			x.media, x.size = line(p.Ref.MediaType), p.Ref.Size
			if picture(p.Ref.MediaType, nil) && p.Ref.Size <= maxMedia {
				x.data, err = b.Load(p)
			}
		}
		if err != nil {
			x.lost = line(err.Error())
		}
		if !picture(x.media, x.data) {
			x.data = nil
		}
		out = append(out, x)
	}
	return out
}

// picture reports whether a media type is of a picture that browsers show, and,
// where there are bytes, whether they begin like one.
func picture(media string, data []byte) bool {
	starts, ok := map[string]string{"image/png": "\x89PNG\r\n\x1a\n", "image/jpeg": "\xff\xd8\xff", "image/gif": "GIF8", "image/webp": "RIFF"}[media]
	return ok && (data == nil || bytes.HasPrefix(data, []byte(starts)))
}

// The largest files that are compared, and the longest diff that is shown.
const (
	maxSide = 256 << 10
	maxDiff = 64 << 10
)

// changes lists files, and compares what they were with what they are.
func (b *builder) changes(e session.Entry, ev session.FilesChanged) []change {
	raw, err := b.bytes(e, ev.Changes.B)
	var list []session.FileChange
	if err == nil {
		err = json.Unmarshal(raw, &list)
	}
	if err != nil {
		return []change{{op: "change", path: words.Count(ev.N, "file"), note: line(err.Error())}}
	}
	var out []change
	for _, f := range list {
		c := change{op: line(f.Op), path: b.rel(line(f.Path)), note: line(f.MissingWhy)}
		was, ok := b.side(e, f.Before)
		is, ok2 := b.side(e, f.After)
		switch {
		case c.note != "":
		case !ok || !ok2:
			c.note = "its content is not shown here"
		default:
			c.compare(was, is)
		}
		out = append(out, c)
	}
	return out
}

func (b *builder) side(e session.Entry, at *int) (string, bool) {
	if at == nil {
		return "", true
	}
	p, err := e.Part(*at)
	if err != nil || p.Ref != nil && p.Ref.Size > maxSide {
		return "", false
	}
	raw, err := b.Load(p)
	return string(raw), err == nil && len(raw) <= maxSide && utf8.Valid(raw) && bytes.IndexByte(raw, 0) < 0
}

func (c *change) compare(was, is string) {
	text := udiff.Unified("a", "b", was, is)
	if _, hunks, ok := strings.Cut(text, "\n@@"); ok {
		text = "@@" + hunks
	}
	for l := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(l, "+"):
			c.added++
		case strings.HasPrefix(l, "-"):
			c.removed++
		}
	}
	if len(text) > maxDiff {
		c.note = "too long to be shown here"
		return
	}
	c.diff = strings.TrimSuffix(clean(text), "\n")
}
