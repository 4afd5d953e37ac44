package markdown

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"

	"varve/internal/tui/plain"
)

const (
	diffContext = 3       // unchanged lines around a change
	diffLines   = 400     // lines drawn, if DiffOptions doesn't say
	diffBytes   = 2 << 20 // changed parts over this are not compared line by line
)

// DiffOptions say how a change is drawn.
type DiffOptions struct {
	Theme Theme
	Width int // columns, 80 if 0
	Max   int // lines of the change that are drawn, 400 if 0; what is left out is counted
}

// A Patch is a drawn change.
type Patch struct {
	Lines          []Line
	Added, Removed int // lines
	Omitted        int // lines of the change and its surroundings that are not drawn
}

// Diff draws the change from before to after as a unified diff (TUI-3): line numbers, "+" and "-", three lines
// around each change, "⋯" between distant ones. A carriage return is shown where only one side has it; tabs are four
// columns. Equal texts give no lines.
func Diff(before, after string, o DiffOptions) Patch {
	return newPatcher(o).diff(before, after)
}

func (p *patcher) diff(before, after string) Patch {
	if before == after {
		return p.Patch
	}
	p.cr = strings.Contains(before, "\r\n") != strings.Contains(after, "\r\n")
	at := 1
	if len(before)+len(after) > diffBytes {
		head, tail := window(before, after)
		at += strings.Count(before[:head], "\n")
		before, after = before[head:len(before)-tail], after[head:len(after)-tail]
	}
	if len(before)+len(after) > diffBytes {
		p.Removed, p.Added = countLines(before), countLines(after)
		p.Omitted = p.Removed + p.Added
		p.note(fmt.Sprintf("lines %d to %d became %d lines: too large to compare", at, at+p.Removed-1, p.Added))
		return p.Patch
	}
	p.compare(before, after, at)
	return p.end()
}

// window measures what two large texts have in common at their beginning and end, in whole lines and less the lines
// that are drawn around a change.
func window(a, b string) (head, tail int) {
	n := min(len(a), len(b))
	for head < n && a[head] == b[head] {
		head++
	}
	for tail < n-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	head = strings.LastIndexByte(a[:head], '\n') + 1
	for range diffContext {
		if head > 0 {
			head = strings.LastIndexByte(a[:head-1], '\n') + 1
		}
	}
	for range diffContext + 1 {
		i := strings.IndexByte(a[len(a)-tail:], '\n')
		if i < 0 {
			return head, 0
		}
		tail -= i + 1
	}
	return head, tail
}

func countLines(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}

// compare draws the hunks between texts whose first lines have number at.
func (p *patcher) compare(before, after string, at int) {
	old := splitLines(before)
	edits := udiff.Lines(before, after)
	pos, line := 0, 0 // in before: the byte and the index of the line there
	oldAt, newAt := at, at
	lastEnd := 0 // the line after the last one drawn
	for i, e := range edits {
		from := line + strings.Count(before[pos:e.Start], "\n")
		gone := splitLines(before[e.Start:e.End])
		context := max(from-diffContext, line)
		if i > 0 {
			for ; lastEnd < min(line+diffContext, from); lastEnd++ {
				p.context(old[lastEnd], newAt+lastEnd-line)
			}
		}
		if i > 0 && context > lastEnd {
			p.separator()
		}
		for k := max(context, lastEnd); k < from; k++ {
			p.context(old[k], newAt+k-line)
		}
		oldAt, newAt = oldAt+from-line, newAt+from-line
		for k, l := range gone {
			p.change('-', l, oldAt+k)
		}
		came := splitLines(e.New)
		for k, l := range came {
			p.change('+', l, newAt+k)
		}
		oldAt, newAt = oldAt+len(gone), newAt+len(came)
		pos, line = e.End, from+len(gone)
		lastEnd = line
	}
	for ; lastEnd < min(line+diffContext, len(old)); lastEnd++ {
		p.context(old[lastEnd], newAt+lastEnd-line)
	}
}

// splitLines cuts s into lines that keep their newlines.
func splitLines(s string) []string {
	lines := strings.SplitAfter(s, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// Unified draws the text of a unified diff, as git and patch write it, in the same look. Lines that are no part of a
// hunk are drawn as they are.
func Unified(text string, o DiffOptions) Patch {
	p := newPatcher(o)
	oldAt, newAt, oldLeft, newLeft := 0, 0, 0, 0
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		mark := byte(' ')
		if line != "" {
			mark = line[0]
		}
		switch {
		case mark == '@':
			oldAt, oldLeft, newAt, newLeft = hunk(line)
			p.note(line)
		case mark == '\\':
			p.note(line)
		case mark == '-' && oldLeft > 0:
			p.change('-', line[1:]+"\n", oldAt)
			oldAt, oldLeft = oldAt+1, oldLeft-1
		case mark == '+' && newLeft > 0:
			p.change('+', line[1:]+"\n", newAt)
			newAt, newLeft = newAt+1, newLeft-1
		case mark == ' ' && oldLeft > 0 && newLeft > 0:
			p.context(strings.TrimPrefix(line, " ")+"\n", newAt)
			oldAt, newAt, oldLeft, newLeft = oldAt+1, newAt+1, oldLeft-1, newLeft-1
		default:
			p.note(line)
		}
	}
	return p.end()
}

// hunk reads "@@ -12,7 +12,9 @@": where the hunk begins on each side, and how many lines it has there.
func hunk(line string) (oldAt, oldLen, newAt, newLen int) {
	for f := range strings.FieldsSeq(line) {
		at, n, some := strings.Cut(f[1:], ",")
		start, err := strconv.Atoi(at)
		length := 1
		if some {
			length, _ = strconv.Atoi(n)
		}
		switch {
		case err != nil:
		case f[0] == '-':
			oldAt, oldLen = start, length
		case f[0] == '+':
			newAt, newLen = start, length
		}
	}
	return oldAt, oldLen, newAt, newLen
}

// A patcher draws the lines of a change, up to a number.
type patcher struct {
	Patch
	r              renderer
	max            int
	cr             bool // show carriage returns
	leftIn, leftRm int  // changed lines left out
	gutter         int
	beside         *beside // nil: one line below the other
}

func newPatcher(o DiffOptions) *patcher {
	theme := o.Theme
	width := max(cmp.Or(o.Width, 80), minWidth)
	p := &patcher{max: cmp.Or(o.Max, diffLines), gutter: 5}
	if width < 24 {
		p.gutter = 0
	}
	p.r = renderer{theme: &theme, width: width}
	return p
}

// context draws an unchanged line with its number on the new side.
func (p *patcher) context(line string, at int) { p.line(' ', line, at, p.r.theme.Text) }

func (p *patcher) change(mark byte, line string, at int) {
	style := p.r.theme.Added
	if mark == '-' {
		style = p.r.theme.Removed
		p.Removed++
	} else {
		p.Added++
	}
	if p.beside == nil && len(p.r.out) >= p.max {
		if mark == '-' {
			p.leftRm++
		} else {
			p.leftIn++
		}
	}
	p.line(mark, line, at, style)
}

func (p *patcher) line(mark byte, line string, at int, style string) {
	if p.beside != nil {
		p.side(mark, line, at, style)
		return
	}
	if len(p.r.out) >= p.max {
		p.Omitted++
		return
	}
	text, ended := strings.CutSuffix(p.bare(line), "\n")
	number := ""
	if p.gutter > 0 {
		number = fmt.Sprintf("%*d ", p.gutter-1, at)
	}
	w := len(number) + 2
	dim := flow{}
	dim.add(number, p.r.theme.Dim)
	dim.add(string(mark)+" ", style)
	p.r.first = lead{string(paint(nil, string(dim.text), dim.runs, 0, len(dim.text))), w}
	p.r.rest = lead{spaces(w), w}
	text = strings.ReplaceAll(plain.CleanTabs(text, 4), "\n", " ")
	first, rest := p.r.room()
	runs := []run{{len(text), style}}
	p.r.spans = plain.Cuts(p.r.spans[:0], text, first, rest)
	for i, s := range p.r.spans {
		p.r.emit(text, runs, s.From, s.To, 0, i > 0)
	}
	if !ended {
		p.note(`\ no newline at the end`)
	}
}

// bare is a line without its carriage return, or with one that is seen.
func (p *patcher) bare(line string) string {
	text, ended := strings.CutSuffix(line, "\n")
	bare, ok := strings.CutSuffix(text, "\r")
	if !ok {
		return line
	}
	if p.cr {
		bare += `\r`
	}
	if ended {
		bare += "\n"
	}
	return bare
}

// note draws a line that is not of the files.
func (p *patcher) note(text string) {
	if p.beside != nil {
		p.pair()
	}
	if len(p.r.out) >= p.max {
		p.Omitted++
		return
	}
	p.r.first, p.r.rest = lead{}, lead{}
	f := flow{}
	f.add(strings.ReplaceAll(plain.CleanTabs(text, 4), "\n", " "), p.r.theme.Hunk)
	p.r.flow(&f)
	p.Lines = p.r.out
}

func (p *patcher) separator() { p.note(spaces(max(p.gutter-2, 0)) + "⋯") }

func (p *patcher) end() Patch {
	if p.beside != nil {
		p.pair()
	}
	if n := p.Omitted; n > 0 {
		p.max = len(p.r.out) + 2
		p.note(fmt.Sprintf("… %d more lines (+%d −%d)", n, p.leftIn, p.leftRm))
	}
	p.Lines = p.r.out
	return p.Patch
}

// Code draws text as code in a language (as in a fence's first line), without indent. Code over 64 KiB and unknown
// languages are not coloured.
func Code(lang, text string, width int, theme Theme) []Line {
	r := renderer{theme: &theme, width: max(width, minWidth), colours: &colourer{budget: 1 << 62}}
	r.codeText(language(lang), text, 0)
	return r.out
}
