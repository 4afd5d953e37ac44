package markdown

import (
	"fmt"
	"strings"

	"varve/internal/tui/plain"
)

// sidesGap is how many columns are between two sides.
const sidesGap = 2

// Sides draws the change from before to after as Diff does, with the old lines at the left and the new ones beside
// them. Lines that became others stand side by side; there is no border between.
func Sides(before, after string, o DiffOptions) Patch {
	p := newPatcher(o)
	p.beside = &beside{width: (p.r.width - sidesGap) / 2}
	return p.diff(before, after)
}

// A beside holds the lines of a change until their other side is known.
type beside struct {
	width    int // of a side
	old, now []sideLine
}

type sideLine struct {
	mark  byte
	at    int
	text  string
	style string
}

// side takes a line of the change.
func (p *patcher) side(mark byte, line string, at int, style string) {
	text, ended := strings.CutSuffix(p.bare(line), "\n")
	if text = strings.ReplaceAll(plain.CleanTabs(text, 4), "\n", " "); !ended {
		text += `  \ no newline at the end`
	}
	b := p.beside
	switch mark {
	case '-':
		if len(b.now) > 0 {
			p.pair()
		}
		b.old = append(b.old, sideLine{mark, at, text, style})
	case '+':
		b.now = append(b.now, sideLine{mark, at, text, style})
	default:
		p.pair()
		b.old = append(b.old, sideLine{mark, at - p.Added + p.Removed, text, style})
		b.now = append(b.now, sideLine{mark, at, text, style})
		p.pair()
	}
}

// pair draws what is held, side by side.
func (p *patcher) pair() {
	b := p.beside
	for i := range max(len(b.old), len(b.now)) {
		if len(p.r.out) >= p.max {
			p.leaves(i)
			continue
		}
		var left, right []string
		if i < len(b.old) {
			left = p.half(b.old[i])
		}
		if i < len(b.now) {
			right = p.half(b.now[i])
		}
		for k := range max(len(left), len(right)) {
			row := ""
			if k < len(left) {
				row = left[k]
			}
			if k < len(right) {
				row += spaces(b.width+sidesGap-plain.Width(row)) + right[k]
			}
			p.r.out = append(p.r.out, Line{row, p.r.block, 0, k > 0})
		}
	}
	b.old, b.now = b.old[:0], b.now[:0]
}

// leaves counts a pair that is not drawn.
func (p *patcher) leaves(i int) {
	b := p.beside
	if i < len(b.old) && b.old[i].mark == '-' {
		p.Omitted++
		p.leftRm++
	}
	if i < len(b.now) {
		p.Omitted++
		if b.now[i].mark == '+' {
			p.leftIn++
		}
	}
}

// half is a line in the columns of its side.
func (p *patcher) half(l sideLine) []string {
	paintIn := func(style, s string) string {
		if style == "" || s == "" {
			return s
		}
		return style + s + "\x1b[m"
	}
	lead := fmt.Sprintf("%*d ", p.gutter-1, l.at)
	room := max(p.beside.width-len(lead)-2, 2)
	var out []string
	for i, s := range plain.Cuts(nil, l.text, room, room) {
		head := paintIn(p.r.theme.Dim, lead) + paintIn(l.style, string(l.mark)+" ")
		if i > 0 {
			head = spaces(len(lead) + 2)
		}
		text := paintIn(l.style, strings.TrimRight(l.text[s.From:s.To], " "))
		if text == "" {
			head = strings.TrimRight(paintIn(p.r.theme.Dim, strings.TrimRight(lead, " "))+" "+paintIn(l.style, strings.TrimSpace(string(l.mark))), " ")
		}
		out = append(out, head+text)
	}
	return out
}
