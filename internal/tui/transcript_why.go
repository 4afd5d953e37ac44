package tui

import (
	"encoding/json"

	"varve/internal/session"
	"varve/internal/tui/plain"
	"varve/internal/words"
)

// whyAsked says why a call is asked about whatever the mode, "" where the mode
// or a rule is the reason, or nothing is known of it.
func (t *transcript) whyAsked(id session.ItemID) string {
	if r := t.calls[id]; r != nil {
		return r.asks
	}
	return ""
}

// reasonOf reads it from the paths of a judged call (PERM-4).
func reasonOf(e session.Entry, ev session.CallJudged) string {
	if ev.Verdict != "ask" || ev.Paths == nil {
		return ""
	}
	var paths []struct {
		Name      string
		Inside    *bool
		Protected bool
	}
	p, err := e.Part(ev.Paths.B)
	if err != nil || json.Unmarshal(p.Bytes, &paths) != nil {
		return "" // an older program's, or one that can't be read: what is asked is shown all the same
	}
	for _, x := range paths {
		name := plain.Clean(words.OneLine(x.Name))
		switch {
		case x.Protected:
			return "Of Varve itself, so it is asked: " + name
		case x.Inside != nil && !*x.Inside:
			return "Outside this folder, so it is asked: " + name
		}
	}
	return ""
}

// What a call says that waits for a person, by who can answer it.
const (
	waitsHere   = "waits for your answer"
	waitsThere  = "waits in its window"
	waitsNobody = "was not answered"
)

// asks takes what calls say that wait for a person.
func (t *transcript) asks(words string) {
	if t.awaits == words {
		return
	}
	t.awaits = words
	for _, r := range t.calls {
		if r.asking {
			r.forget()
		}
	}
}
