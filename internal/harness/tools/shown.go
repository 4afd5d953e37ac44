package tools

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"
)

// visible writes a text so that nothing in it can hide or act (SEC-5, SEC-11): controls, direction marks, zero-width
// and odd spaces, and bytes that are no UTF-8 become ⟨U+202E⟩ or ⟨xFF⟩. LF and tab stay. Two different texts never
// look the same, so a hash of the outcome is a hash of the text.
func visible(s string) string {
	plain := true
	for i := 0; i < len(s) && plain; i++ {
		plain = s[i] >= 0x20 && s[i] < 0x7f || s[i] == '\n' || s[i] == '\t'
	}
	if plain {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b.WriteString("⟨x" + strings.ToUpper(strconv.FormatUint(uint64(s[i])|0x100, 16)[1:]) + "⟩")
		case r == '\n', r == '\t':
			b.WriteRune(r)
		case hidden(r):
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

// visibleName is a file's name in a list: such names can hold anything, line ends too.
func visibleName(s string) string {
	return strings.NewReplacer("\n", "⟨U+000A⟩", "\t", "⟨U+0009⟩").Replace(visible(s))
}

func hidden(r rune) bool {
	switch r {
	case '⟨', // our own mark
		0x034f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x3164, 0xffa0: // fillers and joiners that draw nothing
		return true
	}
	return r < 0x20 || r >= 0x7f && r < 0xa0 || r != ' ' && unicode.In(r, unicode.Zs, unicode.Zl, unicode.Zp, unicode.Cf, unicode.Co) ||
		unicode.Is(unicode.Variation_Selector, r)
}

func (p *prep) showCommand(command, dir string, limit string) {
	p.plan.Shown.What = "command"
	p.plan.Shown.Text = fmt.Sprintf("in %s (%s):\n%s", visible(dir), limit, visible(command))
}

// showChange is a unified diff. Its index line carries both hashes, so that what is shown pins every byte of what is
// written, also where the diff itself speaks of lines only (BOM, line endings).
func (p *prep) showChange(c current, after []byte) {
	from, was := "/dev/null", "none"
	to := visible(p.rel(c.at.Real))
	if c.info != nil {
		from, was = to, c.sha[:16]
	}
	b, a := string(c.data), string(after)
	note := ""
	if strings.Contains(b, "\r\n") && !strings.Contains(strings.ReplaceAll(a, "\r\n", ""), "\n") {
		b, a, note = strings.ReplaceAll(b, "\r\n", "\n"), strings.ReplaceAll(a, "\r\n", "\n"), " (CRLF lines)"
	}
	p.plan.Shown.What = "diff"
	p.plan.Shown.Text = fmt.Sprintf("file %s%s\nindex %s..%s\n", visible(c.at.Real), note, was, hashOf(after)[:16]) +
		visible(udiff.Unified(from, to, b, a))
}

func (p *Plan) showCall(c Call) {
	p.Shown.What = "call"
	var b strings.Builder
	b.WriteString(c.Name)
	for _, at := range p.Paths {
		b.WriteString(" " + visible(at.Real))
	}
	b.WriteString("\n" + visible(string(c.Args)))
	p.Shown.Text = b.String()
}

// clip cuts words for an error message.
func clip(s string, runes int) string {
	if utf8.RuneCountInString(s) <= runes {
		return s
	}
	i := 0
	for range runes {
		_, n := utf8.DecodeRuneInString(s[i:])
		i += n
	}
	return s[:i] + "…"
}

// size is bytes for people.
func size(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GB", float64(n)/(1<<30))
}

// count is a number for people: 27,000.
func count[T int | int64](n T) string {
	s := strconv.FormatInt(int64(n), 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func plural[T int | int64](n T, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + many
}
