package tui

import (
	"fmt"
	"strings"
	"time"

	"varve/internal/tui/markdown"
	"varve/internal/tui/plain"
	"varve/internal/words"
)

// How much of a folded row is shown, in lines.
const (
	foldOutput = 4
	foldShell  = 12
	foldUser   = 16
	foldDiff   = 12
	openDiff   = 10_000
	codeBudget = 1 << 10 // bytes of code that get their colours in one frame
)

// draw brings a row's lines up to date. They are kept until something about
// the row or the width changes; what counts is drawn anew each second, and an
// answer that comes only from its open block on.
func (r *row) draw(t *transcript) {
	w := max(t.width, narrow)
	fresh := r.width == w && r.gen == t.gen && r.full == t.all
	clock := 0
	if r.counts() {
		clock = int(r.time(t.now) / time.Second)
		if r.pulse.Kind == "retry" {
			clock = int((r.time(t.now) + time.Second - 1) / time.Second)
		}
	}
	pending := r.doc != nil && r.doc.Pending()
	if fresh && r.clock == clock && (!pending || t.coloured) {
		return
	}
	if pending {
		t.coloured = true
	}
	if r.kind == rowAssistant || r.kind == rowLive && r.pulse.Kind == "text" {
		r.drawText(w, t.look, fresh || r.gen == t.gen && r.drawn != nil && r.docWidth == w)
	} else {
		r.drawn = r.lines(w, t)
		if len(r.drawn) > 0 {
			r.drawn = append(r.drawn, "")
		}
	}
	r.width, r.gen, r.clock, r.full = w, t.gen, clock, t.all
}

// lines draws what is no Markdown.
func (r *row) lines(w int, t *transcript) []string {
	l, open := t.look, t.unfolds(r)
	switch r.kind {
	case rowUser:
		return r.drawUser(w, l, open, t.all)
	case rowReasoning:
		return r.drawReasoning(w, l, open)
	case rowCall:
		return r.drawCall(w, l, open, t)
	case rowShell:
		return r.drawShell(w, l, open)
	case rowLive:
		return r.drawLive(w, t.height, l, open, t.now)
	case rowCheckpoint:
		return r.drawCheckpoint(w, l, open)
	}
	out := wrapInk(r.head, "", w, l, r.ink)
	out = append(out, checklist(r.plan, w, l)...)
	out = append(out, fileLines(r.files, w, l, open)...)
	if r.src.broken != "" {
		return append(out, trouble(r.src, w, l))
	}
	switch {
	case r.kind == rowFault:
		return append(out, foldHead(r.src.text, w, l, open, foldOutput, 0)...)
	case !open && strings.Contains(strings.TrimRight(r.src.text, "\n"), "\n"):
		return append(out, foldHead(r.src.text, w, l, false, 1, 0)...)
	}
	return append(out, foldProse(r.src.text, w, l, open, foldOutput)...)
}

// wrapInk draws a text behind a margin.
func wrapInk(s, margin string, w int, l look, ink string) []string {
	lines := plain.Wrap(plain.Clean(s), w-plain.Width(margin))
	for i := range lines {
		lines[i] = l.ink(ink, margin+lines[i])
	}
	return lines
}

func trouble(s source, w int, l look) string {
	return l.ink(inkError, plain.Truncate(plain.Clean("This part can't be read: "+words.OneLine(s.broken)), w))
}

// pending stands for a text that is being fetched.
func (s source) pending() string {
	if s.size > 0 {
		return "… " + words.Bytes(s.size)
	}
	return "…"
}

// drawUser is a message. Bare has no border at the side, so that the terminal's
// own selection takes none along (TUI-9).
func (r *row) drawUser(w int, l look, open, bare bool) []string {
	if r.src.broken != "" {
		return []string{trouble(r.src, w, l)}
	}
	text := strings.TrimRight(r.src.text, "\n")
	if r.src.missing {
		text = r.src.pending()
	}
	n := strings.Count(text, "\n") + 1
	long := n > foldUser && !open
	if long {
		text = firstLines(text, foldUser-1)
	}
	lines := plain.Wrap(plain.Clean(text), w-2)
	for i := range lines {
		if i == 0 || !bare {
			lines[i] = l.ink(inkUser, "▌ ") + lines[i]
		}
	}
	if long {
		lines = append(lines, moreLines(n-foldUser+1, "more line", w, l))
	}
	for _, m := range r.media {
		lines = append(lines, l.ink(inkDim, plain.Truncate("  + "+m, w)))
	}
	if r.mark != "" {
		lines = append(lines, l.ink(inkDim, plain.Truncate("  ("+r.mark+")", w)))
	}
	return lines
}

// document is the Markdown of an answer.
func (r *row) document(l look) *markdown.Doc {
	if r.doc == nil {
		r.doc, r.seen = markdown.New(markdown.Options{Theme: l.markdown, Budget: codeBudget}), 0
		if r.kind == rowAssistant {
			r.doc.Append(r.src.text)
			r.doc.Finish()
		}
	}
	return r.doc
}

// drawText draws an answer. With same, the lines that the document says are
// stable are those that are there.
func (r *row) drawText(w int, l look, same bool) {
	if r.kind == rowAssistant && (r.src.broken != "" || r.src.missing || strings.TrimSpace(r.src.text) == "") {
		r.doc, r.drawn = nil, nil
		switch {
		case r.src.broken != "":
			r.drawn = []string{trouble(r.src, w, l), ""}
		case r.src.missing:
			r.drawn = []string{l.ink(inkDim, r.src.pending()), ""}
		}
		return
	}
	same = same && r.doc != nil
	d := r.document(l)
	if r.kind == rowLive && len(r.pulse.Text) > r.seen {
		d.Append(string(r.pulse.Text[r.seen:]))
		r.seen = len(r.pulse.Text)
	}
	lines := d.Lines(w)
	keep := 0
	if same {
		keep = min(r.stable, len(r.drawn), len(lines))
	}
	r.drawn = r.drawn[:keep]
	for _, x := range lines[keep:] {
		r.drawn = append(r.drawn, x.Text)
	}
	r.stable, r.docWidth = d.Stable(w), w
	if r.kind == rowAssistant && r.mark == "interrupted" {
		r.drawn = append(r.drawn, wrapInk("⏹ interrupted: the answer is not whole", "", w, l, inkWarn)...)
	}
	if len(r.drawn) > 0 {
		r.drawn = append(r.drawn, "")
	}
}

func (r *row) drawReasoning(w int, l look, open bool) []string {
	if r.src.broken != "" {
		return []string{trouble(r.src, w, l)}
	}
	text := strings.TrimSpace(r.src.text)
	if r.src.missing {
		text = r.src.pending()
	}
	if text == "" {
		return nil
	}
	if open {
		return wrapInk("✻ "+text, "", w, l, inkDim)
	}
	first, _, more := strings.Cut(text, "\n")
	s := plain.Truncate("✻ "+plain.Clean(first), w)
	if more && !strings.HasSuffix(s, "…") {
		s = plain.Truncate(s, w-2) + " …"
	}
	return []string{l.ink(inkDim, s)}
}

func (r *row) drawShell(w int, l look, open bool) []string {
	if r.src.broken != "" {
		return []string{trouble(r.src, w, l)}
	}
	text := r.src.text
	if r.src.missing {
		text = r.src.pending()
	}
	head, out, _ := strings.Cut(text, "\n")
	lines := []string{l.ink(inkAccent, plain.Truncate(plain.Clean(head), w))}
	return append(lines, foldTail(out, w, l, open, foldShell, 0)...)
}

// drawLive is what passes: thinking, arguments that are being written, a wait.
func (r *row) drawLive(w, h int, l look, open bool, now time.Time) []string {
	p := r.pulse
	if r.sum != nil {
		return r.sum.lines(w, h, l, open, now)
	}
	one := func(ink, s string) []string { return []string{l.ink(ink, plain.Truncate(plain.Clean(s), w))} }
	switch p.Kind {
	case "reasoning":
		if open {
			return wrapInk("✻ "+strings.TrimSpace(tailText(p.Text, 8000)), "", w, l, inkDim)
		}
		text := strings.TrimSpace(tailText(p.Text, 2000))
		if text == "" {
			return nil
		}
		lines := plain.Wrap(text, w-2)
		lines = lines[max(len(lines)-2, 0):]
		for i := range lines {
			lines[i] = l.ink(inkDim, [2]string{"✻ ", "  "}[i]+lines[i])
		}
		return lines
	case "call":
		return one(inkDim, fmt.Sprintf("○ %s … %s", words.OneLine(p.Name), words.Bytes(int64(len(p.Text)))))
	case "retry":
		return wrapInk(words.Waiting(p.Why, max(p.Until.Sub(now), 0)), "", w, l, inkWarn)
	case "shell":
		tail := " · Esc ends it"
		if d := now.Sub(p.Began); d >= time.Second {
			tail = " · " + seconds(d) + tail
		}
		head := plain.Truncate("! "+plain.Clean(words.OneLine(p.Name)), max(w-plain.Width(tail), narrow/2)) + tail
		return append(one(inkAccent, head), foldTail(tailText(p.Text, 8000), w, l, open, foldShell, 0)...)
	case "waiting":
		if d := now.Sub(p.Began); d >= time.Second {
			return one(inkDim, "⋯ waiting for the model, "+seconds(d))
		}
	}
	return nil
}

// tailText is the clean end of what came so far, at most n bytes of it, from a
// line's beginning on where there is one.
func tailText(b []byte, n int) string {
	if len(b) > n {
		b = b[len(b)-n:]
		for len(b) > 0 && b[0]&0xc0 == 0x80 {
			b = b[1:]
		}
		if _, rest, ok := strings.Cut(string(b[:len(b)/2]), "\n"); ok {
			b = b[len(b)/2-len(rest):]
		}
	}
	return plain.Clean(string(b))
}

func took(d time.Duration) string {
	switch {
	case d <= 0:
		return ""
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return seconds(d)
}

func seconds(d time.Duration) string {
	n := int(max(d, 0) / time.Second)
	if n < 60 {
		return fmt.Sprintf("%d s", n)
	}
	return fmt.Sprintf("%d m %02d s", n/60, n%60)
}

// foldHead is the first lines of an output, and how many more there are: with
// those that left counts, which the text does not hold.
func foldHead(text string, w int, l look, open bool, most int, left int64) []string {
	text = strings.TrimRight(text, "\n")
	n := strings.Count(text, "\n") + 1
	if text == "" || open || n <= most {
		return outputLines(text, w, l, open)
	}
	if most == 1 {
		return []string{hiddenLines(n, "line", w, l, left)}
	}
	return append(outputLines(firstLines(text, most-1), w, l, false), hiddenLines(n-most+1, "more line", w, l, left))
}

// foldTail is the last lines of an output, and how many are before them: with
// those that left counts, which the text does not hold.
func foldTail(text string, w int, l look, open bool, most int, left int64) []string {
	text = strings.TrimRight(text, "\n")
	n := strings.Count(text, "\n") + 1
	if text == "" || open || n <= most {
		return outputLines(text, w, l, open)
	}
	at := len(text)
	for range most - 1 {
		at = strings.LastIndexByte(text[:at], '\n')
	}
	return append([]string{hiddenLines(n-most+1, "earlier line", w, l, left)}, outputLines(text[at+1:], w, l, false)...)
}

// foldFailed is what a command that failed wrote last, without the lines that
// only say that it did: its exit stands in the head, and "FAIL" is no cause.
func foldFailed(text string, w int, l look, left int64) []string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) <= foldOutput {
		return outputLines(strings.Join(lines, "\n"), w, l, false)
	}
	var last []string
	skipped := false
	for i := len(lines) - 1; i >= 0 && len(last) < foldOutput-1; i-- {
		s := strings.TrimSpace(lines[i])
		if s == "" || s == "FAIL" || strings.HasPrefix(s, "FAIL\t") || i == len(lines)-1 && strings.HasPrefix(s, "[exit code ") {
			skipped = true
			continue
		}
		last = append([]string{lines[i]}, last...)
	}
	if len(last) == 0 || !skipped {
		return foldTail(text, w, l, false, foldOutput, left)
	}
	return append([]string{hiddenLines(len(lines)-len(last), "more line", w, l, left)}, outputLines(strings.Join(last, "\n"), w, l, false)...)
}

func firstLines(s string, n int) string {
	at := 0
	for range n {
		i := strings.IndexByte(s[at:], '\n')
		if i < 0 {
			return s
		}
		at += i + 1
	}
	return s[:max(at-1, 0)]
}

func moreLines(n int, what string, w int, l look) string {
	return l.ink(inkDim, plain.Truncate(keyed("  … "+words.Count(n, what), l.full), w))
}

// hiddenLines counts lines that are not shown: n of the text, and those that the
// model did not get either. A line of the text stands in their place.
func hiddenLines(n int, what string, w int, l look, left int64) string {
	if left <= 0 {
		return moreLines(n, what, w, l)
	}
	s := fmt.Sprintf("%s, %d of them not sent to the model", keyed("  … "+words.Count(n-1+int(left), what), l.full), left)
	return l.ink(inkDim, plain.Truncate(s, w))
}

// outputLines are lines as they are; whole shows what does not fit.
func outputLines(text string, w int, l look, whole bool) []string {
	if text == "" {
		return nil
	}
	var out []string
	for s := range strings.SplitSeq(text, "\n") {
		s = plain.Clean(s)
		if !whole {
			out = append(out, l.ink(inkDim, "  "+plain.Truncate(s, w-2)))
			continue
		}
		for _, x := range plain.Fold(s, w-2) {
			out = append(out, l.ink(inkDim, "  "+x))
		}
	}
	return out
}
