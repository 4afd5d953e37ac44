package tui

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"varve/internal/session"
	"varve/internal/tui/markdown"
	"varve/internal/tui/plain"
	"varve/internal/words"
)

// drawCall is a tool call: name, gist, state and duration, then its output or
// its change (TUI-3).
func (r *row) drawCall(w int, l look, open bool, t *transcript) []string {
	mark, ink, tail := r.standing(t.now, t.awaits)
	name := plain.Truncate(r.name, max(w/2, 8))
	if tail != "" {
		tail = "  " + plain.Truncate(tail, max((w-4-plain.Width(name))*2/3, 4))
	}
	room := w - 2 - plain.Width(name) - plain.Width(tail)
	head := l.ink(ink, mark) + " " + name
	if s := r.subject(); s != "" && room > 3 {
		head += " " + plain.Truncate(s, room-1)
	}
	out := []string{plain.Truncate(head+l.ink(inkDim, tail), w)}
	if open {
		out = append(out, r.whole(w, room, l)...)
	}
	switch {
	case r.src.broken != "":
		return append(out, "  "+trouble(r.src, w-2, l))
	case r.out.broken != "":
		return append(out, "  "+trouble(r.out, w-2, l))
	case r.out.missing:
		return append(out, l.ink(inkDim, "  "+r.out.pending()))
	case r.planned && r.state != callFailed:
		return append(out, checklist(r.plan, w, l)...)
	case r.state == callRunning:
		if open {
			return append(out, outputLines(strings.TrimRight(tailText(r.pulse.Text, 64<<10), "\n"), w, l, true)...)
		}
		return append(out, runningTail(r.pulse.Text, w, l)...)
	case r.state == callDone && changesFiles(r.name):
		if d, ok := r.drawChange(w, l, open); ok {
			return append(out, d...)
		}
	}
	if r.files != nil && !changesFiles(r.name) {
		out = append(out, fileLines(r.files, w, l, open)...)
	}
	switch {
	case r.name == "bash" && r.state == callFailed && !open:
		return append(out, foldFailed(r.out.text, w, l, r.left)...)
	case r.name == "bash":
		return append(out, foldTail(r.out.text, w, l, open, foldOutput, r.left)...)
	case r.name == "read" && r.state == callDone:
		return append(out, foldHead(r.out.text, w, l, open, 1, r.left)...)
	}
	return append(out, foldHead(r.out.text, w, l, open, foldOutput, r.left)...)
}

// whole is what the call is about in full, where its head has no room for it.
func (r *row) whole(w, room int, l look) []string {
	if r.src.missing || changesFiles(r.name) {
		return nil
	}
	text := plain.Clean(strings.TrimSpace(words.Gist(r.name, r.src.text)))
	if text == "" || !strings.Contains(text, "\n") && plain.Width(r.subject()) < room {
		return nil
	}
	var out []string
	for s := range strings.SplitSeq(text, "\n") {
		for _, x := range plain.Fold(s, w-2) {
			out = append(out, l.ink(inkAccent, "  "+x))
		}
	}
	return out
}

// standing is the mark of a call, its role, and what is said behind it.
func (r *row) standing(now time.Time, waits string) (mark, ink, tail string) {
	switch r.state {
	case callWaiting:
		if r.asking {
			return "○", inkWarn, waits
		}
		return "○", inkDim, ""
	case callRunning:
		if r.gone {
			return "⏹", inkWarn, leftOpen
		}
		if r.counts() {
			tail = seconds(now.Sub(r.began))
		}
		return "◐", inkAccent, tail
	case callDenied:
		return "⊘", inkWarn, "refused"
	case callStopped:
		switch r.why {
		case "timeout":
			return "⏹", inkWarn, "timed out"
		case "lost":
			return "⏹", inkWarn, "the program ended while it ran"
		}
		return "⏹", inkWarn, "stopped"
	}
	var parts []string
	switch {
	case r.signal != "":
		parts = append(parts, plain.Clean(r.signal))
	case r.exit != nil && *r.exit != 0:
		parts = append(parts, fmt.Sprintf("exit %d", *r.exit))
	}
	if s := took(r.took); s != "" {
		parts = append(parts, s)
	}
	if r.job != "" {
		parts = append(parts, "job "+r.job)
	}
	tail = strings.Join(parts, " · ")
	if r.state == callFailed {
		return "✗", inkError, tail
	}
	return "●", inkOK, tail
}

// runningTail is the end of what a command has printed so far.
func runningTail(b []byte, w int, l look) []string {
	text := strings.TrimRight(tailText(b, 4<<10), "\n")
	at := len(text)
	for range foldOutput {
		if at = strings.LastIndexByte(text[:max(at, 0)], '\n'); at < 0 {
			return outputLines(text, w, l, false)
		}
	}
	return outputLines(text[at+1:], w, l, false)
}

// checklist draws a plan.
func checklist(plan []planTask, w int, l look) []string {
	var out []string
	for _, k := range plan {
		mark, ink := "☐ ", ""
		switch k.status {
		case "in_progress":
			mark, ink = "▸ ", inkAccent
		case "completed":
			mark, ink = "✓ ", inkDim
		case "cancelled":
			mark, ink = "✗ ", inkDim
		}
		s := "  " + mark + plain.Truncate(k.text, w-4)
		if ink != "" {
			s = l.ink(ink, s)
		}
		out = append(out, s)
	}
	return out
}

// fileLines lists changed files.
func fileLines(files []session.FileChange, w int, l look, open bool) []string {
	var out []string
	for i, f := range files {
		if i == foldOutput && !open && len(files) > foldOutput+1 {
			return append(out, l.ink(inkDim, plain.Truncate(fmt.Sprintf("  … %s", words.Count(len(files)-i, "more file")), w)))
		}
		out = append(out, l.ink(inkDim, plain.Truncate("  "+plain.Clean(f.Op+" "+words.OneLine(l.path(f.Path))), w)))
	}
	return out
}

func changesFiles(tool string) bool { return tool == "edit" || tool == "multiedit" || tool == "write" }

// diffGutter is how many columns of a drawn change are line numbers.
const diffGutter = 5

type editArgs struct {
	Old  string `json:"old_string"`
	New  string `json:"new_string"`
	Old2 string `json:"oldText"`
	New2 string `json:"newText"`
}

// drawChange is what an edit did to its file. Where the file's two sides are not
// there it is what was asked for, without numbers: those of an edit's lines are
// not known then.
func (r *row) drawChange(w int, l look, open bool) ([]string, bool) {
	var a struct {
		editArgs
		Content *string    `json:"content"`
		Edits   []editArgs `json:"edits"`
	}
	was, is, made := r.made()
	if !made && json.Unmarshal([]byte(r.src.text), &a) != nil {
		return nil, false
	}
	left := foldDiff
	if open {
		left = openDiff
	}
	var out []string
	added, removed, omitted := 0, 0, 0
	draw := func(before, after string, numbers bool) {
		o := markdown.DiffOptions{Theme: l.markdown, Width: w - 2, Max: max(left, 1)}
		diff := markdown.Diff
		if l.sides && w >= sidesWidth && numbers && before != "" && after != "" {
			diff = markdown.Sides
		}
		if !numbers && w-2 >= 24 {
			o.Width += diffGutter
		}
		p := diff(before, after, o)
		added, removed, omitted = added+p.Added, removed+p.Removed, omitted+p.Omitted
		if left <= 0 {
			omitted += len(p.Lines)
			return
		}
		lines := p.Lines
		if p.Omitted > 0 {
			lines = lines[:len(lines)-1] // the sum is said once, at the end
		}
		left -= len(lines)
		for _, x := range lines {
			s := x.Text
			if !numbers && w-2 >= 24 && x.Lead > diffGutter {
				s = ansi.TruncateLeft(s, diffGutter, "")
			}
			out = append(out, "  "+plain.Truncate(s, w-2))
		}
	}
	what := ""
	switch {
	case made:
		draw(was, is, true)
	case a.Content != nil:
		draw("", *a.Content, true)
		if len(r.files) == 1 && r.files[0].Op == "modify" {
			what = "  the whole file"
		}
	case len(a.Edits) > 0:
		for i, e := range a.Edits {
			if i > 0 && left > 0 {
				out = append(out, l.ink(inkDim, "  ⋯"))
			}
			draw(e.texts())
		}
	default:
		draw(a.editArgs.texts())
	}
	out = append([]string{l.ink(inkDim, plain.Truncate(fmt.Sprintf("  +%d −%d%s", added, removed, what), w))}, out...)
	if omitted > 0 {
		s := fmt.Sprintf("  … %s", words.Count(omitted, "more line"))
		if !open {
			s = keyed(s, l.full)
		}
		out = append(out, l.ink(inkDim, plain.Truncate(s, w)))
	}
	return out, true
}

// texts are the two sides. A missing newline at their ends says nothing about
// the file's.
func (e editArgs) texts() (before, after string, numbers bool) {
	end := func(s string) string {
		if s == "" || strings.HasSuffix(s, "\n") {
			return s
		}
		return s + "\n"
	}
	return end(e.Old + e.Old2), end(e.New + e.New2), false
}

// subject is what a call is about, in a few words: the command, the path, the
// pattern. It is safe to draw.
func (r *row) subject() string {
	if !r.gisted && !r.src.missing {
		r.gist, r.gisted = plain.Clean(words.OneLine(words.Gist(r.name, r.src.text))), true
	}
	return r.gist
}
