package markdown

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"

	"varve/internal/tui/plain"
)

// longUnit is the length in bytes from which an open unit is not parsed for every call, but after it has grown by a
// sixteenth. In between, what came since is shown as plain text.
const longUnit = 1 << 10

// A kind of unit, as far as the distance to the next one goes.
type kind uint8

const (
	nothing kind = iota
	prose
	listItem
	other
)

// open is the state of what is not finished: from start to the end of the text.
type open struct {
	start  int
	prev   kind // of the unit before
	inList bool // the first unit is an item of the list that the last block is an item of
	number int  // of that item

	shown int  // the text that d.lines show, 0 if none
	final bool // shown when the document was done
	drawn int  // the text that the lines up to end were parsed from
	end   int
	last  Line // the line before end
	fence *fence
}

// A fence is an open code block, which is drawn line by line.
type fence struct {
	char   byte
	length int
	indent int
	info   string
	pos    int // the next whole line
	lines  int // lines drawn for whole lines
}

// forget makes the open unit be drawn anew, from line tail on.
func (o *open) forget(tail int) {
	o.shown, o.drawn, o.end = 0, 0, tail
	if f := o.fence; f != nil {
		f.pos, f.lines = 0, 0
	}
}

func (o *open) shift(n int) { o.end += n }

// id is the block number of the first open unit.
func (o *open) id(d *Doc) int {
	switch k := len(d.blocks); {
	case k == 0:
		return 0
	case o.inList:
		return d.blocks[k-1].id
	default:
		return d.blocks[k-1].id + 1
	}
}

// advance draws what came since the last call.
func (d *Doc) advance() {
	o := &d.open
	if o.shown == len(d.src) && o.final == d.done {
		return
	}
	for again := true; again; {
		if o.fence != nil {
			again = d.advanceFence()
		} else {
			again = d.advanceUnit()
		}
	}
	o.shown, o.final = len(d.src), d.done
}

// advanceUnit parses what is open, keeps the units that are finished, and draws the rest. It reports whether a fence
// has begun or ended, so that there is more to do.
func (d *Doc) advanceUnit() bool {
	o := &d.open
	limit := len(d.src)
	if !d.done {
		if last := lineStart(d.src, limit); undecided(d.src[last:]) {
			limit = max(last, o.start)
		}
		if limit == o.drawn {
			d.suffix(limit)
			return false
		}
		if n := limit - o.start; o.drawn > o.start && n > longUnit && limit-o.drawn < n/16 {
			d.suffix(limit)
			return false
		}
	}
	upTo := limit
	limit = o.wordEnd(d, limit)
	base, src := o.start, d.src[o.start:limit]
	us := units(src)
	d.parsed += len(src)
	d.lines = d.lines[:d.tail]
	finished := d.finished(us, src)
	for i := range finished {
		d.keep(us, i, src)
	}
	if finished > 0 {
		d.moveTo(us, finished, limit)
	}
	if rest := us[finished:]; len(rest) == 1 && !d.done && d.begin(rest[0], base+rest[0].start) {
		return true
	}
	prev, id := o.prev, o.id(d)
	for i := finished; i < len(us); i++ {
		if i > finished && !sameList(us, i) {
			id++
		}
		d.draw(src, us[i], d.gap(us[i], prev, base+us[i].start), o.numberOf(us, i, finished), id, -1)
		prev = us[i].kind()
	}
	o.drawn, o.end = limit, len(d.lines)
	if o.end > d.tail {
		o.last = d.lines[o.end-1]
	}
	if limit < upTo {
		d.suffix(upTo)
	}
	return false
}

// wordEnd is how far a long unit is parsed: to the end of a word, so that what is shown behind it begins with a whole one.
func (o *open) wordEnd(d *Doc, limit int) int {
	if from := max(o.drawn, o.start) + 1; !d.done && limit-o.start > longUnit && from < limit {
		if i := bytes.LastIndexAny(d.src[from:limit], " \n"); i >= 0 && d.src[from+i] == ' ' {
			return from + i
		}
	}
	return limit
}

// finished counts the units that can't change: those before the last one that a whole line has begun.
func (d *Doc) finished(us []unit, src []byte) int {
	if d.done {
		return len(us)
	}
	whole := bytes.LastIndexByte(src, '\n') + 1
	n := 0
	for i, u := range us {
		if u.start < whole {
			n = i
		}
	}
	return n
}

// keep makes unit i of us, which is parsed out of src, a block.
func (d *Doc) keep(us []unit, i int, src []byte) {
	o, u := &d.open, us[i]
	b := block{
		start: o.start + u.start, end: o.start + len(src), line: len(d.lines), id: o.id(d),
		item: u.list != nil, number: o.numberOf(us, i, 0),
	}
	prev := o.prev
	if i > 0 {
		prev = us[i-1].kind()
		b.id = d.blocks[len(d.blocks)-1].id
		if !sameList(us, i) {
			b.id++
		}
	}
	if i+1 < len(us) {
		b.end = o.start + us[i+1].start
	}
	b.gap = d.gap(u, prev, b.start)
	b.waits = d.draw(src, u, b.gap, b.number, b.id, len(d.blocks))
	d.blocks = append(d.blocks, b)
}

// moveTo makes unit n of us the open one.
func (d *Doc) moveTo(us []unit, n, limit int) {
	o := &d.open
	next := open{start: limit, prev: us[n-1].kind()}
	if n < len(us) {
		next.start = o.start + us[n].start
		next.inList = us[n].index > 0
		next.number = o.numberOf(us, n, 0)
	}
	*o = next
	d.tail = len(d.lines)
	d.settle()
}

// numberOf is the number of item i of us; the items of the first list count on from the blocks before unit from.
func (o *open) numberOf(us []unit, i, from int) int {
	u := us[i]
	switch {
	case u.list == nil:
		return 0
	case o.inList && from < len(us) && u.list == us[from].list:
		return o.number + u.index - us[from].index
	}
	return u.list.Start + u.index
}

func sameList(us []unit, i int) bool { return us[i].list != nil && us[i].list == us[i-1].list }

func (u unit) kind() kind {
	switch u.nodes[len(u.nodes)-1].(type) {
	case *ast.Paragraph:
		return prose
	case *ast.ListItem:
		return listItem
	}
	return other
}

// gap reports whether a blank line stands before u: always, but before an item after prose or an item only if there is
// one in the source. u begins at pos.
func (d *Doc) gap(u unit, prev kind, pos int) bool {
	switch {
	case prev == nothing:
		return false
	case u.list != nil && (prev == prose || prev == listItem):
		return blankBefore(d.src, pos)
	}
	return true
}

// undecided reports whether a line that is not whole could still become anything, as "-" could: it isn't drawn yet,
// lest a paragraph flash up as a heading.
func undecided(line []byte) bool {
	return len(line) > 0 && len(line) < 80 && len(bytes.Trim(line, " \t-=*_`~+#>|:.)0123456789")) == 0
}

// suffix shows what came since the open unit was last parsed as plain text after it.
func (d *Doc) suffix(limit int) {
	o := &d.open
	d.lines = d.lines[:o.end]
	if o.end > d.tail {
		d.lines[o.end-1] = o.last
	}
	if limit <= o.drawn || o.end == d.tail {
		return
	}
	text := plain.CleanTabs(string(d.src[o.drawn:limit]), 4)
	indent := min(o.last.Lead, d.width-minWidth)
	room := max(d.width-indent, 2)
	pad := spaces(max(indent, 0))
	if d.src[o.drawn-1] != '\n' {
		piece, rest, more := strings.Cut(text, "\n")
		used := plain.Width(o.last.Text)
		if used+2 > d.width {
			used = d.width - 2
		}
		first, fits := d.width-used, true
		if word, ok := strings.CutPrefix(piece, " "); ok {
			head, _, _ := strings.Cut(strings.TrimLeft(word, " "), " ")
			if fits = plain.Width(head)+1 <= first; !fits {
				piece, first = strings.TrimLeft(word, " "), room
			}
		}
		for i, s := range plain.Breaks(nil, piece, first, room) {
			if i == 0 && fits && plain.Width(o.last.Text)+plain.Width(piece[s.From:s.To]) <= d.width {
				d.lines[o.end-1].Text += piece[s.From:s.To]
			} else {
				d.lines = append(d.lines, Line{pad + piece[s.From:s.To], o.last.Block, indent, true})
			}
		}
		if !more {
			return
		}
		text = rest
	}
	for _, s := range plain.Wrap(strings.TrimSuffix(text, "\n"), room) {
		d.lines = append(d.lines, Line{pad + s, o.last.Block, indent, false})
	}
}

// begin starts drawing u line by line, if it is a fence whose first line is whole; at is where it begins.
func (d *Doc) begin(u unit, at int) bool {
	n, ok := u.nodes[0].(*ast.FencedCodeBlock)
	if !ok || len(u.nodes) > 1 || u.list != nil {
		return false
	}
	line, _, whole := bytes.Cut(d.src[at:], []byte("\n"))
	mark := bytes.TrimLeft(line, " ")
	if !whole || len(mark) == 0 {
		return false
	}
	f := &fence{char: mark[0], indent: len(line) - len(mark)}
	for f.length < len(mark) && mark[f.length] == f.char {
		f.length++
	}
	if n.Info != nil {
		f.info = oneLine(strings.TrimSpace(string(mark[f.length:])))
	}
	d.open.start, d.open.fence = at, f
	return true
}

// advanceFence draws the lines that came, and reports whether the fence ended.
func (d *Doc) advanceFence() bool {
	o := &d.open
	f := o.fence
	d.lines = d.lines[:d.tail+f.lines]
	r := d.renderer(d.src, o.id(d), -1)
	if f.pos == 0 {
		f.pos = o.start + bytes.IndexByte(d.src[o.start:], '\n') + 1
		if o.prev != nothing {
			r.out = append(r.out, Line{Block: -1})
		}
		r.label(f.info)
	}
	end := -1
	for end < 0 {
		i := bytes.IndexByte(d.src[f.pos:], '\n')
		if i < 0 {
			break
		}
		line := d.src[f.pos : f.pos+i]
		f.pos += i + 1
		if f.closes(line) {
			end = f.pos
		} else {
			f.draw(r, line)
		}
	}
	f.lines = len(r.out) - d.tail
	if end < 0 && d.done {
		end = len(d.src)
	}
	if end < 0 {
		if line := d.src[f.pos:]; len(bytes.Trim(line, " "+string(rune(f.char)))) > 0 {
			f.draw(r, line)
		}
		d.lines = r.out
		return false
	}
	d.lines = d.lines[:d.tail]
	d.blocks = append(d.blocks, block{start: o.start, end: end, id: o.id(d), gap: o.prev != nothing})
	d.redraw(len(d.blocks) - 1)
	*o = open{start: end, prev: other}
	d.tail = len(d.lines)
	d.settle()
	return true
}

// closes reports whether line ends the fence (CommonMark §4.5).
func (f *fence) closes(line []byte) bool {
	mark := bytes.TrimLeft(line, " ")
	n := 0
	for n < len(mark) && mark[n] == f.char {
		n++
	}
	return len(line)-len(mark) < 4 && n >= f.length && len(bytes.Trim(mark[n:], " \t")) == 0
}

func (f *fence) draw(r *renderer, line []byte) {
	for i := 0; i < f.indent && len(line) > 0 && line[0] == ' '; i++ {
		line = line[1:]
	}
	text := plain.CleanTabs(string(line), 4)
	r.codeLine(text, []run{{len(text), r.theme.Text}}, 0, len(text), codeIndent)
}
