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
	offer []string // what can be done about it, by codes of the log's
	about string   // what it is about: what comes later of the same takes its place; "" for nothing
	count int      // how often it came
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
func (t toasts) offering(text string, offer []string) toasts {
	text = toastText(text)
	out := slices.Clone(t)
	for i := range out {
		if out[i].text == text && len(offer) > 0 {
			out[i].offer = offer
		}
	}
	return out
}

// offers is the newest toast that offers something to do, -1 for none.
func (t toasts) offers(action string) int {
	for i, x := range slices.Backward(t) {
		if slices.Contains(x.offer, action) {
			return i
		}
	}
	return -1
}

// over takes off what is over now that something new is said of a subject: all
// of it, but a mere info leaves what went wrong.
func (t toasts) over(subject, level string) toasts {
	return slices.DeleteFunc(slices.Clone(t), func(x toast) bool {
		return subject != "" && x.about == subject && (level != "info" || x.level == "info" || x.level == "success")
	})
}

// telling notes what the toast of a text is about.
func (t toasts) telling(text, subject string) toasts {
	text = toastText(text)
	out := slices.Clone(t)
	for i := range out {
		if out[i].text == text {
			out[i].about = subject
		}
	}
	return out
}

// dismiss takes the newest off.
func (t toasts) dismiss() toasts { return t.without1(len(t) - 1) }

func (t toasts) without1(i int) toasts {
	if i < 0 || i >= len(t) {
		return t
	}
	return slices.Delete(slices.Clone(t), i, i+1)
}

// fit leaves those that have a row where there are so many, the newest and
// errors rather than others.
func (t toasts) fit(rows int) toasts {
	out := slices.Clone(t)
	for len(out) > max(rows, 0) {
		drop := max(slices.IndexFunc(out, func(x toast) bool { return x.level != "error" }), 0)
		out = slices.Delete(out, drop, drop+1)
	}
	return out
}

// A toastRow is a line of a toast, and which one it belongs to.
type toastRow struct {
	text string
	of   int
}

// What is said of the keys for toasts.
type toastKeys struct {
	hides  string                // of the key that takes the newest off
	offers func([]string) string // of those that do what is offered
}

// rows draws the toasts, newest last, in at most so many lines of width w: one
// each, and what is left for those that need more, the newest first; three for
// errors and warnings, two for others. Where one is cut, /toasts has the rest.
func (t toasts) rows(w, most int, keys toastKeys, l look) (out []toastRow) {
	room := max(w-2, 8)
	times := func(x toast) string {
		if x.count > 1 {
			return " (×" + itoa(x.count) + ")"
		}
		return ""
	}
	keep, left := make([]int, len(t)), most-len(t)
	offer := make([][]string, len(t))
	for i, x := range slices.Backward(t) {
		keep[i] = 1
		if len(x.offer) == 0 || i < len(t)-1 || left == 0 {
			continue
		}
		if says := keys.offers(x.offer); says != "" {
			offer[i] = plain.Wrap(says, room)
			if len(offer[i]) > min(left, 2) {
				offer[i] = []string{plain.Truncate(says, room)}
			}
			left -= len(offer[i])
		}
	}
	for i, x := range slices.Backward(t) {
		need := 2
		if x.level == "error" || x.level == "warning" {
			need = 3
		}
		more := max(min(len(plain.Wrap(x.text+times(x), room)), need)-1, 0)
		more = max(min(more, left), 0)
		keep[i], left = keep[i]+more, left-more
	}
	for i, x := range t {
		ink, mark := x.mark()
		times := times(x)
		lines, keep := plain.Wrap(x.text+times, room), keep[i]
		if len(lines) > keep {
			rest := " …" + times
			if w >= overlayNarrow {
				rest += " /toasts"
			}
			cut := strings.TrimSuffix(strings.Join(lines[keep-1:keep+1], " "), times)
			cut = strings.TrimSuffix(plain.Truncate(cut+" ", room-plain.Width(rest)+1), "…")
			lines = append(lines[:keep-1], strings.TrimSpace(cut)+rest)
		}
		for j, s := range lines {
			lead := mark + " "
			if j > 0 {
				lead = "  "
			}
			out = append(out, toastRow{l.ink(ink, lead+s), i})
		}
		for _, s := range offer[i] {
			out = append(out, toastRow{l.ink(inkDim, "  "+s), i})
		}
		if at := len(out) - 1; i == len(t)-1 && keys.hides != "" && (x.stays || x.level == "error" || x.level == "warning") {
			if gap := w - plain.Width(out[at].text) - plain.Width(keys.hides); gap >= 2 {
				out[at].text += strings.Repeat(" ", gap) + l.ink(inkDim, keys.hides)
			}
		}
	}
	return out
}

// mark is how a level looks, without colour too.
func (x toast) mark() (ink, mark string) {
	switch x.level {
	case "success":
		return inkOK, "✓"
	case "warning":
		return inkWarn, "!"
	case "error":
		return inkError, "✗"
	}
	return inkDim, "·"
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + string(rune('0'+n%10))
}
