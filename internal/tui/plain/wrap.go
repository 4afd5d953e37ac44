package plain

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Width is the number of columns that s takes on a terminal, by grapheme clusters. Escape sequences count nothing.
func Width(s string) int {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] >= 0x7f {
			return ansi.StringWidth(s)
		}
	}
	return len(s)
}

// Truncate cuts s to at most width columns; a cut is shown by an ellipsis, which counts. Styles of s are kept.
func Truncate(s string, width int) string {
	if width <= 0 {
		return ""
	}
	if len(s) <= width || Width(s) <= width {
		return s
	}
	return ansi.Truncate(s, width, "…")
}

// Wrap cuts clean text into lines of at most width columns, at spaces where it can; spaces at a cut are dropped.
// Wide characters may be parted, words longer than width are cut. Lines share the memory of s.
// A width below 2 counts as 2, so that a wide character always fits.
func Wrap(s string, width int) []string { return lines(s, width, Breaks) }

// Fold is Wrap that keeps every space and cuts at exactly width columns, for code and output.
func Fold(s string, width int) []string { return lines(s, width, Cuts) }

func lines(s string, width int, cut func([]Span, string, int, int) []Span) []string {
	var out []string
	var spans []Span
	for line := range strings.SplitSeq(s, "\n") {
		spans = cut(spans[:0], line, width, width)
		for _, sp := range spans {
			out = append(out, line[sp.From:sp.To])
		}
	}
	return out
}

// A Span is a half-open range of bytes.
type Span struct{ From, To int }

// Breaks appends to dst where Wrap cuts s, which must be one line; first is the width of the first line, width that of
// the others. There is always at least one span.
func Breaks(dst []Span, s string, first, width int) []Span {
	limit, width := max(first, 2), max(width, 2)
	start, col := 0, 0
	end, next, nextCol := 0, 0, 0 // the last place to cut: the line's end, the next line's start, columns up to there
	canCut := false
	for i := 0; i < len(s); {
		if s[i] == ' ' {
			if !canCut || next < i {
				end = i
			}
			i++
			col++
			canCut, next, nextCol = end > start, i, col
			continue
		}
		n, w := cluster(s[i:])
		wide := w > 1
		if wide && i > start && !closes(s[i:i+n]) && next < i {
			canCut, end, next, nextCol = true, i, i, col
		}
		for col+w > limit && i > start {
			if canCut {
				dst = append(dst, Span{start, end})
				start, col = next, col-nextCol
			} else {
				dst = append(dst, Span{start, i})
				start, col = i, 0
			}
			end, next, nextCol, canCut, limit = start, start, 0, false, width
		}
		i += n
		col += w
		if wide && i < len(s) && s[i] != ' ' && !closes(s[i:]) {
			canCut, end, next, nextCol = true, i, i, col
		}
	}
	return append(dst, Span{start, len(strings.TrimRight(s[start:], " ")) + start})
}

// Cuts appends to dst where Fold cuts s; see Breaks.
func Cuts(dst []Span, s string, first, width int) []Span {
	limit, width := max(first, 2), max(width, 2)
	start, col := 0, 0
	for i := 0; i < len(s); {
		n, w := cluster(s[i:])
		if col+w > limit && i > start {
			dst = append(dst, Span{start, i})
			start, col, limit = i, 0, width
		}
		i += n
		col += w
	}
	return append(dst, Span{start, len(s)})
}

// cluster measures the first grapheme cluster of s: its bytes and columns.
func cluster(s string) (n, width int) {
	if s[0] < 0x80 && (len(s) == 1 || s[1] < 0x80) {
		return 1, 1
	}
	c, w := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
	return max(len(c), 1), w
}

// closes reports whether s begins with punctuation that must not begin a line.
func closes(s string) bool {
	if s[0] < 0x80 {
		return strings.IndexByte(`.,;:!?)]}"'`, s[0]) >= 0
	}
	for _, p := range [...]string{"，", "。", "、", "！", "？", "；", "：", "）", "」", "』", "】", "》", "〉", "”", "’", "…", "ー"} {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}
