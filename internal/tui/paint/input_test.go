package paint

import (
	"testing"
)

// What stands behind Enter makes it a line of a paste, or a key (case TUI-01).
func TestWhatAPasteIsMadeOf(t *testing.T) {
	for in, want := range map[string]bool{
		"a": true, "\r": true, "\n": true, "\t": true, " ": true, "\u00e9": true,
		"\x1b[A": false, "\x03": false, "\x1b[6~": false, "\x1bx": false, "\x7f": false,
	} {
		var d decoder
		events := d.feed([]byte(in))
		if len(events) == 0 {
			t.Errorf("%q: no event", in)
			continue
		}
		if got := isWritten(events[0]); got != want {
			t.Errorf("%q: %v", in, got)
		}
	}
}
