package main

import (
	"runtime"
	"sync"
	"time"

	"varve/internal/harness/drive"
)

// calm lets the program work on one processor while an answer trickles in and
// nothing else is done (PERF-5, decision 003): each of its small wakings would
// send a second one looking for work.
type calm struct {
	mu  sync.Mutex
	one bool
	was int            // processors before
	set func(one bool) // nil for the whole program's
}

// trickleAfter is how long an answer has to have come before it is one that trickles.
const trickleAfter = time.Second

func (c *calm) look(u drive.Update) { c.be(trickles(u)) }

func (c *calm) be(one bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if one == c.one {
		return
	}
	c.one = one
	switch {
	case c.set != nil:
		c.set(one)
	case one:
		c.was = runtime.GOMAXPROCS(1)
	default:
		runtime.GOMAXPROCS(c.was)
	}
}

func trickles(u drive.Update) bool {
	t := u.State.Branch.Turn
	if t == nil || t.Open.Seq == 0 || len(u.State.Session.Running) > 0 {
		return false
	}
	long := false
	for _, p := range u.Pulses {
		switch p.Kind {
		case "text", "reasoning", "call":
			long = long || p.Last.Sub(p.Began) > trickleAfter
		case "waiting": // of the same request
		default: // a command of the user's own, or a wait
			return false
		}
	}
	return long
}
