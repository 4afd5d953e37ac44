package paint

import (
	"bytes"
	"strings"
	"time"
	"unicode/utf8"

	uv "github.com/charmbracelet/ultraviolet"
)

const (
	// escapeWait is how long a lone ESC waits to become the start of a sequence. A sequence split on its
	// way for 60 ms is still one key, and Esc still acts within 100 ms (case TUI-11).
	escapeWait = 90 * time.Millisecond
	// replyWait is how long a longer part of a sequence waits for its rest. No person types one.
	replyWait = time.Second
	// pasteWait is how long an open paste may be silent before it is taken as it is: a lost end marker
	// must not swallow the keyboard.
	pasteWait = 5 * time.Second

	esc        = 0x1b
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// decoder turns the terminal's bytes into events, however the bytes are cut into reads. Where a sequence
// ends is decided here, what it means by Ultraviolet. (Ultraviolet's own reader delays each Alt+key by
// the whole escape timeout, and decodes a paste as keys first.)
type decoder struct {
	keys    uv.EventDecoder
	buf     []byte
	pasting bool
	scanned int // bytes of an open paste that hold no end marker
	eaten   int // bytes consumed so far: tells a new remainder from an old one
}

// feed adds bytes and returns the events that are complete.
func (d *decoder) feed(b []byte) (events []uv.Event) {
	d.buf = append(d.buf, b...)
	for len(d.buf) > 0 {
		if d.pasting {
			at := bytes.Index(d.buf[d.scanned:], []byte(pasteEnd))
			if at < 0 {
				d.scanned = max(0, len(d.buf)-len(pasteEnd)+1)
				return events
			}
			events = append(events, d.endPaste(d.scanned+at, len(pasteEnd)))
			continue
		}
		if bytes.HasPrefix(d.buf, []byte(pasteStart)) {
			d.drop(len(pasteStart))
			d.pasting, d.scanned = true, 0
			continue
		}
		if !complete(d.buf) {
			return events
		}
		events = d.decode(events)
	}
	return events
}

// expire returns what the rest that never came stands for: a lone ESC is the Esc key, ESC [ is Alt+[, an
// open paste is its text so far, and part of a longer sequence is nothing.
func (d *decoder) expire() (events []uv.Event) {
	switch {
	case d.pasting:
		return append(events, d.endPaste(len(d.buf), 0))
	case d.short():
		for len(d.buf) > 0 {
			events = d.decode(events)
		}
	default:
		d.drop(len(d.buf))
	}
	return events
}

// wait is how long from now the rest may take to come; 0 if there is none.
func (d *decoder) wait() time.Duration {
	switch {
	case d.pasting:
		return pasteWait
	case len(d.buf) == 0:
		return 0
	case d.short():
		return escapeWait
	default:
		return replyWait
	}
}

// short reports a remainder that a person can have typed: ESC, ESC ESC, ESC [ and the like.
func (d *decoder) short() bool { return d.buf[0] == esc && len(d.buf) <= 2 }

func (d *decoder) decode(events []uv.Event) []uv.Event {
	if bytes.HasPrefix(d.buf, []byte("\x1b[[")) && len(d.buf) > 3 {
		if c := d.buf[3]; c >= 'A' && c <= 'E' {
			events = append(events, uv.KeyPressEvent{Code: uv.KeyF1 + rune(c-'A')})
		}
		d.drop(4)
		return events
	}
	n, e := d.keys.Decode(d.buf)
	d.drop(max(n, 1))
	switch e := e.(type) {
	case nil, uv.UnknownEvent, uv.UnknownCsiEvent, uv.UnknownSs3Event, uv.UnknownOscEvent, uv.UnknownDcsEvent,
		uv.UnknownSosEvent, uv.UnknownPmEvent, uv.UnknownApcEvent:
	case uv.MultiEvent:
		events = append(events, e...)
	default:
		events = append(events, e)
	}
	return events
}

func (d *decoder) endPaste(text, marker int) uv.Event {
	s := strings.ToValidUTF8(string(d.buf[:text]), "")
	d.drop(text + marker)
	d.pasting = false
	return uv.PasteEvent{Content: s}
}

func (d *decoder) drop(n int) {
	n = min(n, len(d.buf))
	d.buf = d.buf[n:]
	d.eaten += n
	if len(d.buf) == 0 {
		d.buf = nil // a large paste is not kept
	}
}

// complete reports whether b begins with a whole key, sequence or character. Only whole ones are decoded,
// so an answer of the terminal that comes in two reads never becomes text.
func complete(b []byte) bool {
	if b[0] != esc {
		return utf8.FullRune(b)
	}
	if len(b) == 1 {
		return false
	}
	switch b[1] {
	case esc:
		return complete(b[1:])
	case '[':
		return completeCSI(b[2:])
	case 'O': // SS3, xterm puts modifiers before the final byte
		for _, c := range b[2:] {
			if c < '0' || c > ';' {
				return true
			}
		}
		return false
	case ']', 'P', '_', '^', 'X': // strings: until ST, an OSC also until BEL
		for i, c := range b[2:] {
			if c == '\\' && i > 0 && b[i+1] == esc || c == '\a' && b[1] == ']' {
				return true
			}
		}
		return false
	default:
		return utf8.FullRune(b[1:])
	}
}

func completeCSI(b []byte) bool {
	switch {
	case len(b) == 0:
		return false
	case b[0] == '[': // function keys of the Linux console
		return len(b) > 1
	case b[0] == 'M': // mouse before SGR: three bytes follow
		return len(b) > 3
	}
	for _, c := range b {
		if c < 0x20 || c > 0x3f { // the final byte, or one that breaks the sequence
			return true
		}
	}
	return false
}
