package plain

import (
	"strings"
	"unicode/utf8"
)

// TabStop is the distance in columns of the tab stops that Clean expands to: that of a terminal.
const TabStop = 8

// maxSequence bounds a control string in bytes. A longer or unended one is no sequence: its introducer is dropped and
// the rest is text, so that a stray introducer can't hide what follows it.
const maxSequence = 64 << 10

// Clean returns s made safe for a terminal. Escape sequences (CSI, OSC, DCS and the like, in 7 and 8 bit form) are
// taken out, but the target of an OSC 8 link is shown before its text; C0 and C1 controls are dropped but for newline;
// tabs are expanded to TabStop; CRLF and a lone CR end a line; bidi controls and other invisible characters are
// shown as \u202e; joiners stay where a script or an emoji needs them; invalid UTF-8 becomes U+FFFD.
// Plain ASCII is returned as it is, without allocation.
func Clean(s string) string { return CleanTabs(s, TabStop) }

// CleanTabs is Clean with tab stops every stop columns. With stop 0 tabs are kept.
func CleanTabs(s string, stop int) string {
	if isPlain(s) {
		return s
	}
	c := Cleaner{Tab: stop}
	out := c.Append(make([]byte, 0, len(s)+len(s)/8+16), s)
	return string(c.Flush(out))
}

// isPlain reports whether s has only printable ASCII and newlines.
func isPlain(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; (c < ' ' && c != '\n') || c >= 0x7f {
			return false
		}
	}
	return true
}

// A Cleaner cleans text that arrives in pieces, to the same result as Clean of the whole. The zero value keeps tabs.
type Cleaner struct {
	// Tab is the distance of tab stops in columns; 0 keeps tabs.
	Tab int

	held string // an unended sequence, rune or line end
	prev rune   // the last rune given out
	col  int    // columns of the line so far, if Tab > 0
}

// Append appends the cleaned s to dst. What may be the start of a longer sequence is held until the next call.
func (c *Cleaner) Append(dst []byte, s string) []byte { return c.clean(dst, s, false) }

// Flush appends what is held, now that no more text will come.
func (c *Cleaner) Flush(dst []byte) []byte { return c.clean(dst, "", true) }

func (c *Cleaner) clean(dst []byte, s string, final bool) []byte {
	if c.held != "" {
		s, c.held = c.held+s, ""
	}
	line := len(dst) // where the part of the line begins that c.col doesn't count
	i := 0
loop:
	for i < len(s) {
		b := s[i]
		switch {
		case b >= ' ' && b < 0x7f:
			j := i + 1
			for j < len(s) && s[j] >= ' ' && s[j] < 0x7f {
				j++
			}
			dst = append(dst, s[i:j]...)
			c.prev = rune(s[j-1])
			i = j
		case b == '\n':
			dst = append(dst, '\n')
			c.prev, c.col, line = '\n', 0, len(dst)
			i++
		case b == '\t':
			if c.Tab <= 0 {
				dst = append(dst, '\t')
			} else {
				c.col += Width(string(dst[line:]))
				n := c.Tab - c.col%c.Tab
				for range n {
					dst = append(dst, ' ')
				}
				c.col, line = c.col+n, len(dst)
			}
			c.prev = ' '
			i++
		case b == '\r':
			j := i + 1
			for j < len(s) && s[j] == '\r' {
				j++
			}
			if j == len(s) && !final {
				break loop
			}
			if j == len(s) || s[j] != '\n' {
				dst = append(dst, '\n')
				c.prev, c.col, line = '\n', 0, len(dst)
			}
			i = j
		case b == 0x1b:
			n, link := sequence(s[i+1:])
			if n == 0 && !final {
				break loop
			}
			dst = c.link(dst, link)
			i += 1 + max(n, 0)
		case b < 0x80: // the other C0 controls, and DEL
			i++
		default:
			if !final && !utf8.FullRuneInString(s[i:]) {
				break loop
			}
			r, size := utf8.DecodeRuneInString(s[i:])
			switch {
			case r == utf8.RuneError && size == 1:
				dst = utf8.AppendRune(dst, utf8.RuneError)
				c.prev = utf8.RuneError
			case r < 0xa0: // C1
				n, link := 0, ""
				switch r {
				case 0x90, 0x98, 0x9b, 0x9d, 0x9e, 0x9f: // as ESC and the byte 0x40 below
					n, link = stringOrCSI(byte(r)-0x40, s[i+size:])
					if n == 0 && !final {
						break loop
					}
				}
				dst = c.link(dst, link)
				i += max(n, 0)
			case invisible(r):
				rest := s[i+size:]
				if !final && !utf8.FullRuneInString(rest) {
					break loop
				}
				next, _ := utf8.DecodeRuneInString(rest)
				if needed(c.prev, r, next) {
					dst = utf8.AppendRune(dst, r)
				} else {
					dst = appendEscape(dst, r)
				}
				c.prev = r
			default:
				dst = append(dst, s[i:i+size]...)
				c.prev = r
			}
			i += size
		}
	}
	if i < len(s) {
		c.held = strings.Clone(s[i:])
	}
	if c.Tab > 0 {
		c.col += Width(string(dst[line:]))
	}
	return dst
}

// link shows the target of an OSC 8 link as a Markdown autolink (SEC-5: links with hidden targets are shown).
func (c *Cleaner) link(dst []byte, target string) []byte {
	if target == "" {
		return dst
	}
	dst = append(dst, '<')
	dst = append(dst, strings.ReplaceAll(CleanTabs(target, 1), "\n", "")...)
	c.prev = ' '
	return append(dst, "> "...)
}

// sequence measures the escape sequence whose ESC precedes s: its length, 0 if s ends within it, -1 if it is none.
// Of an OSC 8 link it also returns the target. The grammar is that of ECMA-48 §5.4 and §5.6.
func sequence(s string) (n int, link string) {
	if s == "" {
		return 0, ""
	}
	switch s[0] {
	case '[', ']', 'P', 'X', '^', '_':
		n, link = stringOrCSI(s[0], s[1:])
		if n > 0 {
			n++
		}
		return n, link
	}
	i := 0
	for i < len(s) && i < 4 && s[i] >= 0x20 && s[i] <= 0x2f {
		i++
	}
	switch {
	case i == len(s):
		return 0, ""
	case s[i] >= 0x30 && s[i] <= 0x7e:
		return i + 1, ""
	}
	return -1, ""
}

// stringOrCSI is sequence, with the introducer taken off.
func stringOrCSI(intro byte, s string) (n int, link string) {
	long := len(s) >= maxSequence
	if long {
		s = s[:maxSequence]
	}
	if intro == '[' {
		i := 0
		for i < len(s) && s[i] >= 0x30 && s[i] <= 0x3f {
			i++
		}
		for i < len(s) && s[i] >= 0x20 && s[i] <= 0x2f {
			i++
		}
		switch {
		case i == len(s) && !long:
			return 0, ""
		case i < len(s) && s[i] >= 0x40 && s[i] <= 0x7e:
			return i + 1, ""
		}
		return -1, ""
	}
	for i := 0; i < len(s); i++ {
		end := 0
		switch s[i] {
		case '\n':
			return -1, ""
		case 0x18, 0x1a: // CAN and SUB end any sequence
			return i + 1, ""
		case 0x07:
			if intro == ']' {
				end = i + 1
			}
		case 0x1b:
			switch {
			case i+1 == len(s) && !long:
				return 0, ""
			case i+1 < len(s) && s[i+1] == '\\':
				end = i + 2
			case i == 0:
				return -1, ""
			default: // another sequence begins
				return i, ""
			}
		case 0xc2: // U+009C, the 8 bit string terminator
			if i+1 < len(s) && s[i+1] == 0x9c {
				end = i + 2
			}
		}
		if end == 0 {
			continue
		}
		if body, ok := strings.CutPrefix(s[:i], "8;"); ok && intro == ']' {
			_, link, _ = strings.Cut(body, ";")
		}
		return end, link
	}
	if long {
		return -1, ""
	}
	return 0, ""
}
