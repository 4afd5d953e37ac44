package markdown

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"

	"varve/internal/tui/plain"
)

// minWidth is the least width that is drawn to; a narrower one counts as this.
const minWidth = 8

// A Line is one row of the screen.
type Line struct {
	// Text has its styles in it and ends with none on.
	Text string
	// Block numbers the block that the line belongs to, for Doc.Source and Doc.Code; -1 between blocks.
	Block int
	// Lead is how many columns at the left are border and indent, no text.
	Lead int
	// Wrapped says that the line goes on from the one before, which was cut to fit.
	Wrapped bool
}

// A lead is what stands at the left of a line.
type lead struct {
	text string
	w    int
}

// A renderer draws nodes of src to lines of at most width columns.
type renderer struct {
	theme *Theme
	src   []byte
	width int
	out   []Line
	block int // for Line.Block

	first, rest lead // before the next line, and before the ones after it

	colours *colourer
	waiter  int // who waits for colours; negative: nobody
	waits   int // how many pieces of code are still to be coloured

	inTable bool

	spans []plain.Span
	buf   []byte
}

// room is the columns left for text on the next line and on those after it.
func (r *renderer) room() (first, rest int) {
	if r.width-r.first.w < 4 {
		r.first = lead{}
	}
	return r.width - r.first.w, r.width - r.rest.w
}

// emit appends a line with text[from:to].
func (r *renderer) emit(text string, runs []run, from, to, indent int, wrapped bool) {
	r.buf = append(r.buf[:0], r.first.text...)
	for range indent {
		r.buf = append(r.buf, ' ')
	}
	r.buf = paint(r.buf, text, runs, from, to)
	if from == to {
		r.buf = bytes.TrimRight(r.buf, " ")
	}
	r.out = append(r.out, Line{string(r.buf), r.block, r.first.w + indent, wrapped})
	r.first = r.rest
}

func (r *renderer) blank() { r.emit("", nil, 0, 0, 0, false) }

// flow appends the lines of f, cut at words.
func (r *renderer) flow(f *flow) {
	text := string(f.text)
	for pos := 0; pos <= len(text); {
		end := len(text)
		if i := strings.IndexByte(text[pos:], '\n'); i >= 0 {
			end = pos + i
		}
		for pos > 0 && pos < end && text[pos] == ' ' { // after a hard break
			pos++
		}
		first, rest := r.room()
		r.spans = plain.Breaks(r.spans[:0], text[pos:end], first, rest)
		for i, s := range r.spans {
			r.emit(text, f.runs, pos+s.From, pos+s.To, 0, i > 0)
		}
		pos = end + 1
	}
}

// push puts marker before the next line and its width in spaces, or rest, before the lines after it. What it returns
// restores the left side. Where it gets too narrow for text, only the marker is put.
func (r *renderer) push(marker string, w int, rest lead) (pop func()) {
	first, under := r.first, r.rest
	r.first = lead{first.text + marker, first.w + w}
	if r.first.w > r.width-4 {
		r.first = lead{under.text + marker, under.w + w}
	}
	if under.w+rest.w <= r.width-minWidth {
		r.rest = lead{under.text + rest.text, under.w + rest.w}
	}
	lines := len(r.out)
	return func() {
		if len(r.out) == lines {
			r.blank()
		}
		r.first, r.rest = under, under
	}
}

// children draws blocks, with a blank line between them where the source has one.
func (r *renderer) children(n ast.Node) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if p := c.PreviousSibling(); p != nil && (c.HasBlankPreviousLines() || headed(c) || headed(p)) {
			r.blank()
		}
		r.node(c)
	}
}

func (r *renderer) node(n ast.Node) {
	switch n := n.(type) {
	case *ast.Heading:
		f := flow{}
		f.add(strings.Repeat("#", n.Level)+" ", r.theme.Heading)
		r.inline(&f, n, r.theme.Heading)
		r.flow(&f)
	case *ast.ThematicBreak:
		w, _ := r.room()
		f := flow{}
		f.add(strings.Repeat("─", w), r.theme.Dim)
		r.emit(string(f.text), f.runs, 0, len(f.text), 0, false)
	case *ast.FencedCodeBlock:
		lang := ""
		if n.Info != nil {
			lang = oneLine(string(n.Info.Segment.Value(r.src)))
		}
		r.code(lang, lineText(n, r.src))
	case *ast.CodeBlock:
		r.code("", lineText(n, r.src))
	case *ast.HTMLBlock:
		text := lineText(n, r.src)
		if n.HasClosure() {
			text += string(n.ClosureLine.Value(r.src))
		}
		text = strings.TrimRight(plain.CleanTabs(text, 4), "\n")
		r.codeLines(text, []run{{len(text), r.theme.Dim}}, 0)
	case *ast.Blockquote:
		bar := lead{"│ ", 2}
		if s := r.theme.Quote; s != "" {
			bar.text = s + "│\x1b[m "
		}
		pop := r.push(bar.text, bar.w, bar)
		r.children(n)
		pop()
	case *ast.List:
		i := 0
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			if i > 0 && c.HasBlankPreviousLines() {
				r.blank()
			}
			r.item(n, c, n.Start+i)
			i++
		}
	case *extast.Table:
		r.table(n)
	default: // *ast.Paragraph, *ast.TextBlock
		f := flow{text: make([]byte, 0, 256)}
		r.inline(&f, n, r.theme.Text)
		r.flow(&f)
	}
}

// item draws a list item; number is for ordered lists.
func (r *renderer) item(list *ast.List, item ast.Node, number int) {
	mark, w := "•", 1
	if list.IsOrdered() {
		mark = strconv.Itoa(number) + string(list.Marker)
		w = len(mark)
	}
	if s := r.theme.Accent; s != "" {
		mark = s + mark + "\x1b[m"
	}
	pop := r.push(mark+" ", w+1, lead{strings.Repeat(" ", w+1), w + 1})
	r.children(item)
	pop()
}

// codeIndent is the columns before a line of code.
const codeIndent = 2

// code draws a code block: its language, then its lines, which keep their spaces and stand alone on the screen, so
// that what a terminal copies has no border in it (TUI-9, case TUI-08).
func (r *renderer) code(info, text string) {
	r.label(info)
	r.codeText(language(info), text, codeIndent)
}

func (r *renderer) codeText(lang, text string, indent int) {
	text = strings.TrimSuffix(plain.CleanTabs(text, 4), "\n")
	tokens, waits := r.colours.tokens(strings.ToLower(lang), text, r.waiter)
	if waits {
		r.waits++
	}
	runs := make([]run, len(tokens), len(tokens)+1)
	for i, t := range tokens {
		runs[i] = run{t.end, r.theme.style(t.role)}
	}
	if k := len(tokens); k == 0 || tokens[k-1].end < len(text) {
		runs = append(runs, run{len(text), r.theme.Text})
	}
	r.codeLines(text, runs, indent)
}

func (r *renderer) codeLines(text string, runs []run, indent int) {
	for pos := 0; pos <= len(text); {
		end := len(text)
		if i := strings.IndexByte(text[pos:], '\n'); i >= 0 {
			end = pos + i
		}
		r.codeLine(text, runs, pos, end, indent)
		pos = end + 1
	}
}

func (r *renderer) codeLine(text string, runs []run, from, to, indent int) {
	first, rest := r.room()
	r.spans = plain.Cuts(r.spans[:0], text[from:to], first-indent, rest-indent)
	for i, s := range r.spans {
		r.emit(text, runs, from+s.From, from+s.To, indent, i > 0)
	}
}

// label draws what a fence says about its code, if anything.
func (r *renderer) label(info string) {
	if info == "" {
		return
	}
	w, _ := r.room()
	f := flow{}
	f.add(plain.Truncate("── "+info, w), r.theme.Dim)
	r.emit(string(f.text), f.runs, 0, len(f.text), 0, false)
}

// lineText is the raw lines of a block.
func lineText(n ast.Node, src []byte) string {
	var b strings.Builder
	lines := n.Lines()
	for i := range lines.Len() {
		seg := lines.At(i)
		b.Write(seg.Value(src))
	}
	return b.String()
}
