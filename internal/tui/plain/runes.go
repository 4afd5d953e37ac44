package plain

import (
	"fmt"
	"unicode"
)

// invisible reports whether r shows nothing or changes the order or look of its neighbours: bidi controls
// U+202A–202E and U+2066–2069, zero-width characters, tags, variation selectors, fillers, odd line ends.
func invisible(r rune) bool {
	switch {
	case r == 0x034f, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r == 0x3164, r == 0xffa0: // joiner and fillers
		return true
	case r >= 0x180b && r <= 0x180f, r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0000 && r <= 0xe0fff: // selectors and tags
		return true
	case r == 0x2028, r == 0x2029:
		return true
	case r >= 0x0600 && r <= 0x0605, r == 0x06dd, r == 0x070f, r == 0x0890, r == 0x0891, r == 0x08e2, r == 0x110bd, r == 0x110cd:
		return false // format characters that are seen: they enclose the digits after them
	}
	return unicode.Is(unicode.Cf, r)
}

// needed reports whether the invisible r belongs to the writing around it: a joiner inside an emoji, a joiner or
// non-joiner between letters of a script that uses them, one variation selector after a character that has variants.
func needed(prev, r, next rune) bool {
	switch {
	case r == 0x200d && pictographic(prev) && pictographic(next) && next != 0xfe0f:
		return true
	case r == 0x200c || r == 0x200d:
		return joining(prev) && joining(next)
	case r == 0xfe0e || r == 0xfe0f:
		return pictographic(prev) && prev != 0xfe0f || prev == '#' || prev == '*' || prev >= '0' && prev <= '9'
	case r >= 0xe0100 && r <= 0xe01ef, r >= 0xfe00 && r <= 0xfe02:
		return unicode.Is(unicode.Han, prev)
	}
	return false
}

// pictographic reports whether r may stand beside a joiner in an emoji.
func pictographic(r rune) bool {
	return r >= 0x1f000 && r <= 0x1faff || r == 0xfe0f || r >= 0x2100 && r <= 0x2bff || r == 0x3030 || r == 0x303d ||
		r == 0xa9 || r == 0xae
}

// joining reports whether r is a letter or mark of a script in which joiners choose the shape: Arabic to Khmer, Mongolian.
func joining(r rune) bool {
	return r >= 0x0600 && r <= 0x18af && (unicode.IsLetter(r) || unicode.Is(unicode.M, r))
}

// appendEscape appends r as Go would write it in a string: \x1b, \u202e, \U000e0041.
func appendEscape(dst []byte, r rune) []byte {
	switch {
	case r == '\r':
		return append(dst, `\r`...)
	case r == '\t':
		return append(dst, `\t`...)
	case r < 0x80:
		return fmt.Appendf(dst, `\x%02x`, r)
	case r < 0x10000:
		return fmt.Appendf(dst, `\u%04x`, r)
	}
	return fmt.Appendf(dst, `\U%08x`, r)
}
