package tui

import (
	"errors"
	"fmt"
	"os"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"varve/internal/tui/paint"
	"varve/internal/tui/plain"
	"varve/internal/words"
)

// clipboardMost is how many bytes go to the terminal's clipboard: more of them
// are cut short by some terminals, without a word (case TUI-08).
const clipboardMost = 74_000

// copied hands a text to the terminal's clipboard. What is too long for it is
// written to a file.
func (r *Root) copied(text string) tea.Cmd {
	if len(text) <= clipboardMost {
		r.say("success", "Copied "+sizeOf(text)+" to the terminal's clipboard.")
		return paint.SetClipboard(text)
	}
	return func() tea.Msg {
		f, err := os.CreateTemp("", "varve-copy-*.txt")
		if err == nil {
			_, err = f.WriteString(text)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			return saidMsg{"error", "This is too long for the terminal's clipboard, and can't be written to a file: " + err.Error()}
		}
		return saidMsg{"success", fmt.Sprintf("%s are too long for the terminal's clipboard: they are in %s.", words.Bytes(int64(len(text))), f.Name())}
	}
}

// linkAt is the address at a place of the view, "" for none. One that was wrapped
// is whole.
func (t *transcript) linkAt(x, y int) string {
	l, ok := t.under(y)
	if !ok {
		return ""
	}
	at, s := 0, ansi.Strip(l.text)
	for i, r := range s {
		if at > x {
			break
		}
		if at += plain.Width(string(r)); at > x {
			return t.linkAround(l.row, s, i)
		}
	}
	return ""
}

// linkAround is the address that a byte of a drawn line is in.
func (t *transcript) linkAround(r *row, s string, at int) string {
	from := strings.LastIndexFunc(s[:at], endsLink) + 1
	to := strings.IndexFunc(s[at:], endsLink)
	if to < 0 {
		to = len(s) - at
	}
	piece := s[from : at+to]
	if piece == "" {
		return ""
	}
	for _, text := range []string{r.src.text, r.out.text, r.head} {
		for i := 0; ; {
			j := strings.Index(text[i:], "http")
			if j < 0 {
				break
			}
			i += j
			end := strings.IndexFunc(text[i:], endsLink)
			if end < 0 {
				end = len(text) - i
			}
			if u := text[i : i+end]; isLink(u) && strings.Contains(u, piece) && (len(piece) > 8 || u == piece) {
				return strings.TrimRight(u, ".,;:!?")
			}
			i += 4
		}
	}
	return ""
}

func isLink(s string) bool {
	return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://")
}

// endsLink reports what can't stand in an address as people write them.
func endsLink(r rune) bool { return r <= ' ' || strings.ContainsRune("<>()[]\"'`│", r) }

// click is a click on the conversation, what waits, or what is written.
func (r *Root) click(x, y int) tea.Cmd {
	c := r.chat
	switch i := y - c.toasted; {
	case i >= 0 && i < len(c.toasts):
		r.toasts = r.toasts.without1(c.toasts[i].of)
	case y < c.tr.height:
		if u := c.tr.linkAt(x, y); u != "" {
			return r.copied(u)
		}
		c.tr.click(y)
	case y >= c.queueAt && y < c.queueTo:
		return r.openQueue()
	case c.question == nil && y >= c.composer && y < r.frame.H-1:
		if c.comp.Click(x, y-c.composer-c.popup, c.popup) {
			return r.do(ActSend, InChat)
		}
	}
	return nil
}

// haltHome ends the way to the beginning with any key, and reports whether that
// was all it was for.
func (r *Root) haltHome(k tea.KeyPressMsg) bool {
	r.chat.tr.homing = false
	act, _ := r.frame.Keys.Action(k, InChat)
	return act == ActInterrupt
}
