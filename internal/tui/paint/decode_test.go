package paint

import (
	"fmt"
	"strings"
	"testing"
	"time"

	uv "github.com/charmbracelet/ultraviolet"
	"pgregory.net/rapid"
)

func names(events []uv.Event) string {
	var s []string
	for _, e := range events {
		switch e := e.(type) {
		case uv.KeyPressEvent:
			s = append(s, e.String())
		case uv.PasteEvent:
			s = append(s, fmt.Sprintf("paste %q", e.Content))
		case uv.BackgroundColorEvent:
			s = append(s, "background")
		case uv.MouseClickEvent:
			s = append(s, "click")
		default:
			s = append(s, fmt.Sprintf("%T", e))
		}
	}
	return strings.Join(s, ",")
}

// case TUI-10, TUI-11, TUI-01: "|" is a pause shorter than the wait, "~~" one that is longer.
func TestDecode(t *testing.T) {
	if escapeWait <= 60*time.Millisecond || escapeWait >= 100*time.Millisecond {
		t.Errorf("a lone ESC waits %v: an arrow key may be cut for 60 ms, and Esc must act within 100", escapeWait)
	}
	for in, want := range map[string]string{
		"a":                                    "a",
		"\x1b|[A":                              "up", // an arrow key whose ESC came first is not an Esc
		"\x1b|[|A":                             "up",
		"\x1b|[1|;3A":                          "alt+up",
		"\x1b|O|A":                             "up",
		"\x1b~~[A":                             "esc,[,A",
		"\x1b~~":                               "esc",
		"\x1b|\x1b~~":                          "alt+esc",
		"\x1b\x1b[A":                           "alt+up",
		"\x1b[~~":                              "alt+[",
		"\x1bO~~":                              "alt+shift+o",
		"\x1bp":                                "alt+p", // at once, without the wait
		"\x1b\xc3|\xa9":                        "alt+é",
		"\xe5|\xae\xbd":                        "宽",
		"\r":                                   "enter",
		"\n":                                   "ctrl+j",
		"\x1b\r":                               "alt+enter",
		"\x1b[13;2u":                           "shift+enter",
		"\x1b[27;2;13~":                        "shift+enter",
		"\x1b[13;5u":                           "ctrl+enter",
		"\x1b[44;5u":                           "ctrl+,",
		"\x1b[Z":                               "shift+tab",
		"\x1a":                                 "ctrl+z",
		"\x1b]11;rgb:ff|ff/ffff/ffff\x07":      "background",
		"\x1b]11;rgb:ffff/ffff/ffff\x1b|\\x":   "background,x",
		"\x1b]11;rgb:ff~~x":                    "x", // an answer that stops is not text
		"\x1b[<0;5;|6M":                        "click",
		"\x1b[[Aa":                             "f1,a",
		"\x1b[200~hi|\r\n\x1b[31mx\x1b[20|1~y": "paste \"hi\\r\\n\\x1b[31mx\",y",
		"\x1b[20|0~a\xff\x1b[201~":             `paste "a"`,
		"\x1b[200~\x1b[200~\x1b[201~":          `paste "\x1b[200~"`,
		"\x1b[200~lost~~x":                     `paste "lost",x`,
	} {
		var d decoder
		var got []uv.Event
		for i, part := range strings.Split(in, "~~") {
			if i > 0 {
				if d.wait() == 0 {
					t.Errorf("%q: nothing is waited for", in)
				}
				got = append(got, d.expire()...)
			}
			for _, read := range strings.Split(part, "|") {
				got = append(got, d.feed([]byte(read))...)
			}
		}
		if names(got) != want {
			t.Errorf("%q: %s, want %s", in, names(got), want)
		}
		if d.wait() != 0 {
			t.Errorf("%q: something is still waited for", in)
		}
	}
}

// What a stream means does not depend on how it is cut into reads.
func TestDecodeAnyCut(t *testing.T) {
	words := []string{
		"a", "é", "宽", "\r", "\x1b[A", "\x1b[13;2u", "\x1bp", "\x1bOA", "\x1b[<0;5;6M", "\x1b]11;rgb:0/0/0\x1b\\",
		"\x1b[200~one\r\n\x1b[201~", "\x1b[200~\x1b[\x1b[201~", "\x1b[?62;22c", "\x1b[I",
	}
	rapid.Check(t, func(t *rapid.T) {
		in := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 1, 8).Draw(t, "stream"), "")
		var whole, cut decoder
		want := names(whole.feed([]byte(in)))
		var got []uv.Event
		for len(in) > 0 {
			n := rapid.IntRange(1, len(in)).Draw(t, "read")
			got = append(got, cut.feed([]byte(in[:n]))...)
			in = in[n:]
		}
		if names(got) != want {
			t.Fatalf("cut: %s, whole: %s", names(got), want)
		}
	})
}

// Hostile bytes end, and do not panic.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("\x1b[200~\x1b[M\x1bO1;\x1bP\x9b\x90"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var d decoder
		for len(b) > 0 {
			n := min(len(b), 3)
			d.feed(b[:n])
			b = b[n:]
		}
		if d.wait() > 0 {
			d.expire()
		}
		if d.wait() > 0 {
			t.Error("expire left something")
		}
	})
}
