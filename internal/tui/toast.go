package tui

import (
	"slices"
	"strings"
	"time"

	"varve/internal/tui/plain"
)

// A toast is a short notice on the screen. Errors stay until they are seen
// off; the others go by themselves.
type toast struct {
	level string // info, success, warning, error
	text  string
	offer string // what can be done about it
	count int    // how often it came
	until time.Time
	stays bool // it does not go by itself
}

// Toasts on screen at the same time, and how long they stay (TUI-7).
const (
	toastsShown = 3
	toastStays  = 6 * time.Second
	errorStays  = 30 * time.Second
)

type toasts []toast

// post adds a toast. The same one again is counted, not repeated. Where there
// are too many, the oldest goes, errors last: what comes while errors fill the
// place is in /toasts only.
func (t toasts) post(level, text string, now time.Time) toasts {
	text = toastText(text)
	stays := toastStays
	if level == "error" || level == "warning" {
		stays = errorStays
	}
	out := append(toasts(nil), t...)
	for i := range out {
		if out[i].text == text && out[i].level == level {
			out[i].count++
			out[i].until = now.Add(stays)
			return out
		}
	}
	out = append(out, toast{level: level, text: text, count: 1, until: now.Add(stays)})
	for len(out) > toastsShown {
		drop := max(slices.IndexFunc(out, func(x toast) bool { return x.level != "error" }), 0)
		out = append(out[:drop], out[drop+1:]...)
	}
	return out
}

// toastText is a text as a toast has it.
func toastText(s string) string { return plain.Clean(strings.Join(strings.Fields(s), " ")) }

// at is what is still shown at a time.
func (t toasts) at(now time.Time) toasts {
	var out toasts
	for _, x := range t {
		if x.stays || now.Before(x.until) {
			out = append(out, x)
		}
	}
	return out
}

// without is what is left without those that say what is over.
func (t toasts) without(over func(text string) bool) toasts {
	return slices.DeleteFunc(slices.Clone(t), func(x toast) bool { return over(x.text) })
}

// lasting keeps the toast of a text until it is taken off, "" for none.
func (t toasts) lasting(text string) toasts {
	out := slices.Clone(t)
	for i := range out {
		if text != "" && out[i].text == text {
			out[i].stays = true
		}
	}
	return out
}

// offering adds what can be done about what a toast says.
func (t toasts) offering(text, offer string) toasts {
	text = toastText(text)
	out := slices.Clone(t)
	for i := range out {
		if out[i].text == text && offer != "" {
			out[i].offer = toastText(offer)
		}
	}
	return out
}

// dismiss takes the newest off.
func (t toasts) dismiss() toasts {
	if len(t) == 0 {
		return t
	}
	return append(toasts(nil), t[:len(t)-1]...)
}

// view draws the toasts, newest last, each at most two lines of width w.
func (t toasts) view(w int, l look) []string {
	var out []string
	for _, x := range t {
		ink, mark := inkDim, "·"
		switch x.level {
		case "success":
			ink, mark = inkOK, "✓"
		case "warning":
			ink, mark = inkWarn, "!"
		case "error":
			ink, mark = inkError, "✗"
		}
		text := x.text
		if x.count > 1 {
			text += " (×" + itoa(x.count) + ")"
		}
		lines := plain.Wrap(text, max(w-2, 8))
		if len(lines) > 2 {
			lines = append(lines[:1], plain.Truncate(lines[1]+" …", max(w-2, 8)))
		}
		for i, s := range lines {
			lead := mark + " "
			if i > 0 {
				lead = "  "
			}
			out = append(out, l.ink(ink, lead+s))
		}
		if x.offer != "" {
			for _, s := range plain.Wrap(x.offer, max(w-2, 8)) {
				out = append(out, l.ink(inkDim, "  "+s))
			}
		}
	}
	return out
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + string(rune('0'+n%10))
}
