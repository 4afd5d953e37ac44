// Package markdown turns Markdown that is still arriving into styled lines.
//
//	d := markdown.New(markdown.Options{Theme: markdown.Dark()})
//	d.Append(delta)        // as it comes, cut anywhere
//	lines := d.Lines(80)   // for a frame: only what is still open is drawn again
//	d.Finish()             // no more will come
//
// Text is cleaned as it comes (package plain), parsed by goldmark, and cut into units (a top-level block, an item of a
// top-level list). A unit that is finished is drawn once for a width and kept. Only the unit that is still open is
// parsed again as it grows: a fence line by line, anything long only after it has grown by a sixteenth. So the cost of
// an answer is linear in its length (PERF-5), whatever comes before and however it is cut, and what is drawn in the
// end does not depend on the cuts.
//
//	doc.go  the document and what is kept      parse.go      the grammar, and where units begin
//	open.go the unit that is still open        render.go     blocks to lines; inline.go, table.go
//	diff.go changes of files; sides.go         highlight.go  colours of code
package markdown

import (
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"

	"varve/internal/tui/plain"
)

// Options of a document. The zero value draws without any style, and colours nothing.
type Options struct {
	Theme Theme
	// Budget is how many bytes of code one call of Lines colours, so that a frame stays short (colouring takes 3 to
	// 11 ms a KiB); the rest is plain until the next call, see Pending. 0 is no limit.
	Budget int
}

// A Doc is a Markdown text that grows. It belongs to one goroutine.
type Doc struct {
	theme   Theme
	budget  int
	clean   plain.Cleaner
	src     []byte // cleaned, tabs kept
	done    bool
	width   int
	blocks  []block // the finished units
	lines   []Line  // of blocks, and of the open unit from tail on
	tail    int
	settled int // the blocks before this one are coloured
	colours colourer
	open    open
	parsed  int // bytes given to the parser so far
}

// A block is a finished unit.
type block struct {
	start, end int // in src
	line       int // its first line, a blank one before it included
	id         int // for Line.Block: items of one list share it
	gap        bool
	item       bool
	number     int // of an item
	waits      int // pieces of code that are still to be coloured
}

// New makes an empty document.
func New(o Options) *Doc { return &Doc{theme: o.Theme, budget: o.Budget} }

// Append adds text, which may be cut anywhere, even within a character or an escape sequence.
func (d *Doc) Append(text string) {
	if d.done {
		panic("markdown: internal error: Append after Finish")
	}
	d.src = d.clean.Append(d.src, text)
}

// Finish says that no more text will come: what is open ends.
func (d *Doc) Finish() {
	if !d.done {
		d.src = d.clean.Flush(d.src)
		d.done = true
	}
}

// Len is the length in bytes of the cleaned text so far.
func (d *Doc) Len() int { return len(d.src) }

// Lines draws the document at most width columns wide (less than 8 counts as 8). The slice is the document's own: it
// holds until the next call. Its first Stable lines are the same in every later call for the same width.
func (d *Doc) Lines(width int) []Line {
	width = max(width, minWidth)
	d.colours.budget = d.budget
	if d.budget <= 0 {
		d.colours.budget = 1 << 62
	}
	if width != d.width {
		d.resize(width)
	}
	d.colour()
	d.advance()
	return d.lines
}

// Stable is how many lines at the start won't change any more at this width. It is 0 for any width but the last drawn.
func (d *Doc) Stable(width int) int {
	if max(width, minWidth) != d.width {
		return 0
	}
	if d.settled < len(d.blocks) {
		return d.blocks[d.settled].line
	}
	return d.tail
}

// Pending says that Lines would draw something new although no text came: code is waiting for its colours.
func (d *Doc) Pending() bool { return len(d.colours.queue) > 0 }

// Source is the Markdown of a block as it was written (but cleaned), without the blank lines around it.
func (d *Doc) Source(block int) string {
	from, to := -1, -1
	for _, b := range d.blocks {
		if b.id == block {
			if from < 0 {
				from = b.start
			}
			to = b.end
		}
	}
	if id := d.open.id(d); block >= id {
		src := d.src[d.open.start:]
		us := units(src)
		for i, u := range us {
			if i > 0 && !sameList(us, i) {
				id++
			}
			if id > block {
				break
			}
			if id == block {
				if from < 0 {
					from = d.open.start + u.start
				}
				to = len(d.src)
				if i+1 < len(us) {
					to = d.open.start + us[i+1].start
				}
			}
		}
	}
	if from < 0 {
		return ""
	}
	return strings.Trim(string(d.src[from:to]), "\n")
}

// Code is the code of a block that is one fenced or indented code block, without fences, and with its tabs.
func (d *Doc) Code(block int) (code, info string, ok bool) {
	src := []byte(d.Source(block))
	us := units(src)
	if len(us) != 1 || len(us[0].nodes) != 1 {
		return "", "", false
	}
	switch n := us[0].nodes[0].(type) {
	case *ast.FencedCodeBlock:
		if n.Info != nil {
			info = string(n.Info.Segment.Value(src))
		}
		return lineText(n, src), info, true
	case *ast.CodeBlock:
		return lineText(n, src), "", true
	}
	return "", "", false
}

// renderer makes a renderer that appends to d.lines.
func (d *Doc) renderer(src []byte, id, waiter int) *renderer {
	return &renderer{theme: &d.theme, src: src, width: d.width, out: d.lines, block: id, colours: &d.colours, waiter: waiter}
}

// draw appends the lines of u, which is parsed out of src, and returns how much code in it waits for colours.
func (d *Doc) draw(src []byte, u unit, gap bool, number, id, waiter int) int {
	if gap {
		d.lines = append(d.lines, Line{Block: -1})
	}
	r := d.renderer(src, id, waiter)
	for i, n := range u.nodes {
		if i > 0 {
			r.out = append(r.out, Line{Block: -1})
		}
		if u.list != nil {
			r.item(u.list, n, number)
		} else {
			r.node(n)
		}
	}
	d.lines = r.out
	return r.waits
}

// redraw appends the lines of finished block i by parsing it again.
func (d *Doc) redraw(i int) {
	b := &d.blocks[i]
	src := d.src[b.start:b.end]
	d.parsed += len(src)
	b.line, b.waits = len(d.lines), 0
	for j, u := range units(src) {
		b.waits += d.draw(src, u, b.gap && j == 0, b.number, b.id, i)
	}
}

// resize draws all again for another width. Colours are kept.
func (d *Doc) resize(width int) {
	d.width = width
	d.lines = d.lines[:0]
	for _, j := range d.colours.queue {
		j.blocks = j.blocks[:0]
	}
	for i := range d.blocks {
		d.redraw(i)
	}
	d.tail, d.settled = len(d.lines), 0
	d.settle()
	d.open.forget(d.tail)
}

// settle moves past the blocks that are coloured.
func (d *Doc) settle() {
	for d.settled < len(d.blocks) && d.blocks[d.settled].waits == 0 {
		d.settled++
	}
}

// colour works on code that waits, and draws the blocks whose code is done.
func (d *Doc) colour() {
	for len(d.colours.queue) > 0 && d.colours.run(d.colours.queue[0]) {
		j := d.colours.queue[0]
		d.colours.queue = d.colours.queue[1:]
		for _, i := range j.blocks {
			if d.blocks[i].waits--; d.blocks[i].waits == 0 {
				d.replace(i)
			}
		}
	}
	d.settle()
}

// replace draws a block again in its place.
func (d *Doc) replace(i int) {
	from, to := d.blocks[i].line, d.tail
	if i+1 < len(d.blocks) {
		to = d.blocks[i+1].line
	}
	all := d.lines
	d.lines = nil
	d.redraw(i)
	own := d.lines
	d.blocks[i].line = from
	d.lines = slices.Replace(all, from, to, own...)
	if shift := len(own) - (to - from); shift != 0 { // colours don't move text, but nothing else may rest on that
		for k := i + 1; k < len(d.blocks); k++ {
			d.blocks[k].line += shift
		}
		d.tail += shift
		d.open.shift(shift)
	}
}
