package drive

import (
	"fmt"
	"slices"

	"varve/internal/session"
)

func facts(events ...session.Event) []session.Fact {
	out := make([]session.Fact, len(events))
	for i, e := range events {
		out[i] = session.Fact{Event: e}
	}
	return out
}

// text is a fact whose body is one text, which the event names as entry 0.
func text(e session.Event, b []byte) session.Fact {
	if b == nil {
		b = []byte{}
	}
	return session.Fact{Event: e, Body: []session.Part{{Bytes: b}}}
}

func id(k Kind, of any) string { return fmt.Sprintf("%s:%v", k, of) }

// toolID is the id of the job that runs a call.
func toolID(call session.ItemID) string { return id(Tool, call) }

func find(calls []session.Call, want session.ItemID) (session.Call, bool) {
	i := slices.IndexFunc(calls, func(c session.Call) bool { return c.ID == want })
	if i < 0 {
		return session.Call{}, false
	}
	return calls[i], true
}

// open reports whether a call still waits for its result.
func open(calls []session.Call) bool {
	return slices.ContainsFunc(calls, func(c session.Call) bool { return !c.Done })
}

// told is a call's result where the call did not run to its end. The model
// reads the words, so they say what it should make of it.
func told(call session.ItemID, why string, words string) session.Fact {
	b := []byte(words)
	return text(session.ToolInterrupted{Call: call, Why: why, Tokens: session.Estimate(len(b))}, b)
}

// What the model is told of calls that did not run to their end.
const (
	wordsNotRun   = "Not run: the user interrupted the turn."
	wordsCut      = "Interrupted by the user while it ran. It may have had part of its effect."
	wordsLost     = "The program ended while this was running. It may have had part of its effect, and what it started may still run; it was not run again."
	wordsDenied   = "The user declined this call."
	wordsHeadless = "Refused: this call needs the user's approval, and no user is there. "
)
