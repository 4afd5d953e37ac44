package tui

import (
	"fmt"
	"slices"

	"varve/internal/session"
	"varve/internal/tui/plain"
	"varve/internal/words"
)

// What a transcript fetches that is not in view: for the way to the beginning,
// and for a search.
type reach struct {
	homing bool   // to the beginning, which is on an older page
	older  bool   // a search wants older pages
	barred bool   // they can't be read
	pinned bool   // no rows are dropped: a search counts on them
	sought []*row // rows whose texts a search wants
}

// home goes to the very beginning. Where that is on an older page the view goes
// as far up as there are rows, and to the beginning when it has come.
func (t *transcript) home() {
	if t.count() > 0 {
		t.anchor = anchor{row: t.at(0), fixed: true}
		t.homing = !t.whole && t.first > 1 && !t.barred
	}
}

// homed is what a page does for the way to the beginning. A search asks for the
// next one where it needs it.
func (t *transcript) homed() {
	t.older = false
	if t.homing && t.whole {
		t.homing = false
		t.anchor = anchor{row: t.at(0), fixed: true}
	}
}

// end goes to the end and follows it.
func (t *transcript) end() { t.anchor, t.homing = anchor{}, false }

// wantsOlder reports whether the view is near the oldest row and there may be
// older ones, or whether they are wanted all the same. Ask for what is before
// t.first, once at a time, and prepend it.
func (t *transcript) wantsOlder() bool {
	if t.whole || t.first <= 1 || t.barred {
		return false
	}
	return t.hurries() || t.short || t.anchor.fixed && t.index(t.anchor.row) < 20
}

// hurries reports whether pages are wanted that nobody looks at.
func (t *transcript) hurries() bool { return t.homing || t.older }

// olderPage is how many entries to ask for.
func (t *transcript) olderPage() int {
	if t.hurries() {
		return 2000
	}
	return 300
}

// bar says that older entries can't be read: they are not asked for again, since
// asking would not end.
func (t *transcript) bar() { t.barred, t.homing, t.older = true, false, false }

// toGo says how much older there may be.
func (t *transcript) toGo() string {
	return fmt.Sprintf("reading older entries, at most %s to go", thousands(int(max(t.first, 1)-1)))
}

// belowView says what is not in view, for a view that does not follow the end.
func (t *transcript) belowView() string {
	if t.homing {
		return "↑ " + t.toGo() + ": any key stops"
	}
	return keyed("↓ there is more below", t.look.end)
}

// queued is the text of an entry that waits.
func (t *transcript) queued(entry session.Seq) string {
	s, ok := t.queue[entry]
	if !ok {
		s = source{at: entry, missing: true}
		t.queue[entry] = s
	}
	switch {
	case s.missing:
		return s.pending()
	case s.broken != "":
		return "(can't be read: " + plain.Clean(words.OneLine(s.broken)) + ")"
	}
	return s.text
}

// streams reports whether an answer is coming.
func (t *transcript) streams() bool {
	return slices.ContainsFunc(t.live, func(r *row) bool {
		return r.pulse.Kind == "text" || r.pulse.Kind == "reasoning" || r.pulse.Kind == "call" ||
			r.pulse.Kind == "summary" && len(r.pulse.Text) > 0
	})
}
