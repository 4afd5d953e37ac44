package tools

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// utf8Check validates a text that comes in pieces.
type utf8Check struct {
	carry []byte
	ok    bool
}

func (u *utf8Check) add(b []byte) {
	if !u.ok {
		return
	}
	for len(u.carry) > 0 && !utf8.FullRune(u.carry) && len(b) > 0 {
		u.carry, b = append(u.carry, b[0]), b[1:]
	}
	if len(u.carry) > 0 && utf8.FullRune(u.carry) {
		u.ok, u.carry = utf8.Valid(u.carry), u.carry[:0]
	}
	cut := len(b)
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if utf8.RuneStart(b[len(b)-i]) {
			if !utf8.FullRune(b[len(b)-i:]) {
				cut = len(b) - i
			}
			break
		}
	}
	u.ok = u.ok && utf8.Valid(b[:cut])
	u.carry = append(u.carry, b[cut:]...)
}

func (u *utf8Check) done() bool { return u.ok && len(u.carry) == 0 }

// page collects the wanted lines of a text that streams by, in bounded memory however long the text or a line is.
type page struct {
	window
	line   []byte // the current one, cut
	length int64  // of it, in bytes
	n      int    // lines finished

	out         []byte // the wanted lines, numbered
	first, last int    // their numbers
	left        room
	full        bool // no later line can be wanted

	ring []row // instead of out while it streams, when the last lines are wanted
}

type row struct {
	n    int
	text []byte
}

func newPage(w window) *page { return &page{window: w, left: wholeRoom()} }

const lineKeep = lineChars * utf8.UTFMax

func (p *page) write(b []byte) {
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\n')
		part := b
		if i >= 0 {
			part = b[:i]
		}
		p.length += int64(len(part))
		if wanted := p.tail > 0 || !p.full && p.n+1 >= p.offset; wanted && len(p.line) < lineKeep {
			p.line = append(p.line, part[:min(len(part), lineKeep-len(p.line))]...)
		}
		if i < 0 {
			return
		}
		p.finish()
		b = b[i+1:]
	}
}

// end closes a last line that has no newline.
func (p *page) end() {
	if p.length > 0 {
		p.finish()
	}
}

func (p *page) finish() {
	p.n++
	switch {
	case p.tail > 0:
		if len(p.ring) < p.tail {
			p.ring = append(p.ring, row{p.n, p.cut(nil)})
		} else {
			r := &p.ring[(p.n-1)%p.tail]
			r.n, r.text = p.n, p.cut(r.text[:0])
		}
	case !p.full && p.n >= p.offset:
		from := len(p.out)
		p.out = append(strconv.AppendInt(p.out, int64(p.n), 10), '\t')
		p.out = append(p.cut(p.out), '\n')
		p.admit(from, p.n)
	}
	p.line, p.length = p.line[:0], 0
}

// admit keeps the line that was appended to out, or ends the page.
func (p *page) admit(from, n int) {
	fresh := p.out[from:]
	if !utf8.Valid(fresh) {
		p.out = append(p.out[:from], bytes.ToValidUTF8(fresh, []byte("\uFFFD"))...)
		fresh = p.out[from:]
	}
	r := room{p.left.chars - utf8.RuneCount(fresh), p.left.lines - 1, p.left.bytes - len(fresh)}
	if p.first > 0 && p.last-p.first+1 == p.limit || r.chars < 0 || r.lines < 0 || r.bytes < 0 {
		p.out, p.full = p.out[:from], true
		return
	}
	p.left, p.last = r, n
	if p.first == 0 {
		p.first = n
	}
}

// cut appends the current line to b, at most lineChars characters of it and a mark.
func (p *page) cut(b []byte) []byte {
	line := p.line
	whole := int64(len(line)) == p.length
	if whole {
		line = bytes.TrimSuffix(line, []byte("\r"))
	}
	n := len(line)
	if n > lineChars { // else it can't have more characters than that
		n = room{lineChars, 1, n}.head(string(line))
	}
	b = append(b, line[:n]...)
	if !whole || n < len(line) {
		b = fmt.Appendf(b, " [line cut here: %s in all]", plural(p.length, "byte", "bytes"))
	}
	return b
}

// unroll writes the ring out: as many of the last lines as fit.
func (p *page) unroll() {
	slices.SortFunc(p.ring, func(a, b row) int { return cmp.Compare(a.n, b.n) })
	left, from := p.left, len(p.ring)
	for from > 0 && left.take(strconv.Itoa(p.ring[from-1].n)+"\t"+strings.ToValidUTF8(string(p.ring[from-1].text), "\uFFFD")+"\n") {
		from--
	}
	for _, r := range p.ring[from:] {
		start := len(p.out)
		p.out = append(strconv.AppendInt(p.out, int64(r.n), 10), '\t')
		p.out = append(append(p.out, r.text...), '\n')
		p.admit(start, r.n)
	}
}

// text is the numbered lines and a footer that says where they stand and what comes next.
func (p *page) text(whole bool, note string) []byte {
	if p.tail > 0 {
		p.unroll()
	}
	var foot string
	lines := fmt.Sprintf("lines %d-%d", p.first, p.last)
	switch {
	case p.first == 0 && whole:
		foot = fmt.Sprintf("no lines from %d on: there are %s", p.offset, plural(p.n, "line", "lines"))
	case p.first == 0:
		foot = "no lines"
	case p.tail > 0 && p.first > 1:
		foot = lines + " of " + count(p.n)
	case whole && p.last < p.n:
		foot = fmt.Sprintf("%s of %s; next offset %d", lines, count(p.n), p.last+1)
	case !whole:
		foot = fmt.Sprintf("%s, more follow; next offset %d", lines, p.last+1)
	case p.first > 1:
		foot = lines + ", the end"
	}
	if note != "" {
		foot = join(foot, note)
	}
	if foot != "" {
		p.out = append(p.out, "["+foot+"]\n"...)
	}
	return p.out
}
