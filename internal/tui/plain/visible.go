package plain

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// Visible returns s with every character that a reader could not see shown as an escape, for prompts where a person
// must judge the exact text (case SEC-11). Nothing is dropped or expanded: controls, ESC, CR and tabs, bidi controls,
// joiners, spaces other than U+0020 and bytes that are no UTF-8 all appear as \x1b, \r, \t, \u202e, \xff. Newlines
// stay line ends. A prompt says with Hidden that there are escapes, as the text may also contain them literally.
func Visible(s string) string {
	if isPlain(s) {
		return s
	}
	out := make([]byte, 0, len(s)+len(s)/4+16)
	each(s, func(part string, r rune, hidden bool) {
		switch {
		case !hidden:
			out = append(out, part...)
		case r == utf8.RuneError:
			out = fmt.Appendf(out, `\x%02x`, part[0])
		default:
			out = appendEscape(out, r)
		}
	})
	return string(out)
}

// Hidden counts the characters of s that Visible shows as escapes.
func Hidden(s string) int {
	if isPlain(s) {
		return 0
	}
	n := 0
	each(s, func(_ string, _ rune, hidden bool) {
		if hidden {
			n++
		}
	})
	return n
}

// each calls f for each character of s. Bytes that are no UTF-8 are hidden, as U+FFFD.
func each(s string, f func(part string, r rune, hidden bool)) {
	prev := '\n'
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		hidden := false
		switch {
		case r == utf8.RuneError:
			hidden = size == 1
		case r == '\n' || r >= ' ' && r < 0x7f:
		case unicode.IsControl(r), invisible(r), unicode.Is(unicode.Zs, r):
			hidden = true
		case unicode.Is(unicode.Mn, r) && (prev == '\n' || prev == ' '):
			hidden = true // a combining mark with nothing to stand on
		}
		f(s[i:i+size], r, hidden)
		prev = r
		i += size
	}
}
