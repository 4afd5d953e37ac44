package drive

import (
	"time"

	"varve/internal/session"
)

// A Pulse is what passes: nobody would miss it after a resume. Text is a
// prefix of a buffer that only grows, never a copy of it.
type Pulse struct {
	Job   string // the attempt; another attempt is another pulse, with a text of its own
	Kind  string // waiting, text, reasoning, call, tool, retry
	Call  session.ItemID
	Name  string // of a call
	Text  []byte
	Began time.Time
	Until time.Time // retry: when the next attempt is made
	Why   string    // retry: the error's kind
	Last  time.Time // when something came last
}

// An Update is what is new behind a place in the log: entries, oldest first,
// and what passes at the moment.
type Update struct {
	Entries []session.Entry
	State   session.State
	Pulses  []Pulse
	Version uint64 // of the pulses
	Fault   error  // why nothing can be recorded at the moment (LOG-8)
	Ours    bool   // this process works on the branch
	Busy    bool   // another process does
}
