package openaichat

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// A text is what arrives in pieces of JSON strings. The two halves of a
// surrogate pair may come in different pieces (case C15 of wire.md).
type text struct {
	buf  []byte
	high rune // the first half of a pair, still alone
}

// add appends the inside of a JSON string, quotes around it included, and
// returns what became readable.
func (t *text) add(raw string) []byte {
	from := len(t.buf)
	if len(raw) >= 2 && raw[0] == '"' {
		raw = raw[1 : len(raw)-1]
	}
	for i := 0; i < len(raw); {
		c := raw[i]
		if c != '\\' || i+1 >= len(raw) {
			t.lone()
			n := i + 1
			for n < len(raw) && raw[n] != '\\' {
				n++
			}
			t.buf = append(t.buf, raw[i:n]...)
			i = n
			continue
		}
		if raw[i+1] == 'u' && i+6 <= len(raw) {
			t.unit(hex4(raw[i+2 : i+6]))
			i += 6
			continue
		}
		t.lone()
		t.buf = append(t.buf, unescape(raw[i+1]))
		i += 2
	}
	return t.buf[from:]
}

func unescape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'r':
		return '\r'
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	}
	return c
}

// unit takes one UTF-16 unit.
func (t *text) unit(r rune) {
	if t.high != 0 {
		if pair := utf16.DecodeRune(t.high, r); pair != utf8.RuneError {
			t.high = 0
			t.buf = utf8.AppendRune(t.buf, pair)
			return
		}
		t.lone()
	}
	if r >= 0xD800 && r < 0xDC00 {
		t.high = r
		return
	}
	t.buf = utf8.AppendRune(t.buf, r) // the second half alone becomes U+FFFD
}

// lone gives up waiting for the second half.
func (t *text) lone() {
	if t.high != 0 {
		t.high = 0
		t.buf = utf8.AppendRune(t.buf, utf8.RuneError)
	}
}

// end returns the whole text.
func (t *text) end() []byte {
	t.lone()
	return t.buf
}

func hex4(s string) rune {
	var r rune
	for i := 0; i < 4; i++ {
		c := s[i]
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		}
		r = r<<4 | rune(c&15)
	}
	return r
}

// loneSurrogate reports whether JSON holds an escape of half a pair.
func loneSurrogate(b []byte) bool { return eachLone(b, func(int) {}) }

// pairSurrogates replaces each half that is alone by U+FFFD.
func pairSurrogates(b []byte) []byte {
	out := b
	eachLone(b, func(at int) {
		if &out[0] == &b[0] {
			out = bytes.Clone(b)
		}
		copy(out[at:], `\ufffd`)
	})
	return out
}

func eachLone(b []byte, visit func(at int)) bool {
	found := false
	for i := 0; i+1 < len(b); i++ {
		next := bytes.IndexByte(b[i:], '\\')
		if next < 0 || i+next+1 >= len(b) {
			return found
		}
		i += next + 1 // what is escaped; the loop steps over it
		if b[i] != 'u' || i+5 > len(b) {
			continue
		}
		r := hex4(string(b[i+1 : i+5]))
		if !utf16.IsSurrogate(r) {
			continue
		}
		if r < 0xDC00 && i+11 <= len(b) && b[i+5] == '\\' && b[i+6] == 'u' {
			if second := hex4(string(b[i+7 : i+11])); second >= 0xDC00 && second < 0xE000 {
				i += 10
				continue
			}
		}
		found = true
		visit(i - 1)
		i += 4
	}
	return found
}
