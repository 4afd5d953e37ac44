package tui

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"varve/internal/tui/plain"
)

// A paste above these limits is shown as a chip (TUI-4).
const (
	chipLines = 10
	chipRunes = 2000
)

// A chip is one character of the composer's text, of the range below, which no key and no paste can bring in. So it moves,
// wraps and goes as one, and what it stands for is beside the text.
const (
	firstChip = '\U0010F000'
	lastChip  = '\U0010FFFD'
	chipBytes = 4
	chipLead  = "\xf4\x8f" // how the characters of the range, and those of a private area before it, begin
)

// chipAt is the number of the chip that s begins with, from 0.
func chipAt(s string) (n int, ok bool) {
	if len(s) < chipBytes || s[0] != chipLead[0] {
		return 0, false
	}
	r, _ := utf8.DecodeRuneInString(s)
	return int(r - firstChip), r >= firstChip && r <= lastChip
}

// A Draft is what is written and not sent, with its pastes: enough to go on after a crash. Characters from U+10F000 on
// stand for pastes, the first for Pastes[0].
type Draft struct {
	Text   string   `json:"text"`
	Pastes []string `json:"pastes,omitempty"`
	At     int      `json:"at,omitzero"` // the cursor, in bytes of Text
}

// Whole is the text with its pastes, as it is sent.
func (d Draft) Whole() string { return expandChips(d.Text, d.Pastes) }

// Empty says that nothing is written.
func (d Draft) Empty() bool { return d.Text == "" }

// eachChip is a text with each of its chips replaced; at, a place in it, is moved along.
func eachChip(s string, at int, replace func(n int) string) (string, int) {
	at = min(max(at, 0), len(s))
	if !strings.Contains(s, chipLead) {
		return s, at
	}
	var b strings.Builder
	moved := at
	for i := 0; i < len(s); {
		next := strings.Index(s[i:], chipLead)
		if next < 0 {
			b.WriteString(s[i:])
			break
		}
		b.WriteString(s[i : i+next])
		i += next
		n, ok := chipAt(s[i:])
		if !ok {
			b.WriteByte(s[i])
			i++
			continue
		}
		put := replace(n)
		b.WriteString(put)
		if i < at {
			moved += len(put) - chipBytes
		}
		i += chipBytes
	}
	return b.String(), max(moved, 0)
}

func expandChips(text string, pastes []string) string {
	whole, _ := eachChip(text, 0, func(n int) string {
		if n < len(pastes) {
			return pastes[n]
		}
		return ""
	})
	return whole
}

// adopt is the text of a draft with other chips for its pastes, and its cursor.
func adopt(d Draft, chip func(paste string) string) (string, int) {
	return eachChip(d.Text, d.At, func(n int) string {
		if n < len(d.Pastes) {
			return chip(d.Pastes[n])
		}
		return ""
	})
}

// prune is a draft without the pastes that it does not show.
func prune(d Draft) Draft {
	var used []string
	d.Text, d.At = adopt(d, func(paste string) string {
		n := slices.Index(used, paste)
		if n < 0 {
			n = len(used)
			used = append(used, paste)
		}
		return string(firstChip + rune(n))
	})
	d.Pastes = used
	return d
}

// cleanInput is text from outside made safe to edit: as plain.Clean, with tabs kept, and without characters that mean chips.
func cleanInput(s string) string {
	return noChips(plain.CleanTabs(s, 0))
}

func noChips(s string) string {
	if !strings.Contains(s, chipLead) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r >= firstChip && r <= lastChip {
			return utf8.RuneError
		}
		return r
	}, s)
}

// cleanTyped is the text of a key. A combining part of a character that a terminal sends in pieces stays as it is.
func cleanTyped(s string) string {
	if r, size := utf8.DecodeRuneInString(s); size == len(s) && (r == '\u200d' || r == '\ufe0f') {
		return s
	}
	return cleanInput(s)
}

// folds says that a paste becomes a chip, and with which words.
func folds(text string) (label string, ok bool) {
	lines := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		lines++
	}
	if lines > chipLines {
		return fmt.Sprintf("pasted %s lines", thousands(lines)), true
	}
	if len(text) <= chipRunes {
		return "", false
	}
	if n := utf8.RuneCountInString(text); n > chipRunes {
		return fmt.Sprintf("pasted %s characters", thousands(n)), true
	}
	return "", false
}

// thousands is a number with commas.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
