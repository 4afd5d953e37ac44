package tools

import (
	"bytes"
	"fmt"
	"runtime/debug"
	"sync"
)

const (
	keepHead = maxFull / 2
	keepTail = maxFull / 2
	liveMax  = 64 << 10
)

// capture is the bounded memory of what a command printed: the first and the last half MiB, and exact counts of the rest.
type capture struct {
	mu    sync.Mutex
	head  []byte
	tail  []byte // a ring once it is full
	at    int    // where the ring goes on
	total int64  // bytes ever
	lines int64  // newlines ever

	live  []byte // newest output, append-only until it is replaced
	show  Progress
	fault string // of show, which is not called again then (REL-7)
}

func (c *capture) write(b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total += int64(len(b))
	c.lines += int64(bytes.Count(b, []byte{'\n'}))
	if c.show != nil {
		c.showLocked(b)
	}
	if n := min(len(b), keepHead-len(c.head)); n > 0 {
		c.head = append(c.head, b[:n]...)
		b = b[n:]
	}
	if len(b) > keepTail {
		b = b[len(b)-keepTail:]
	}
	if n := min(len(b), keepTail-len(c.tail)); n > 0 {
		c.tail = append(c.tail, b[:n]...)
		b = b[n:]
	}
	for len(b) > 0 {
		n := copy(c.tail[c.at:], b)
		c.at = (c.at + n) % keepTail
		b = b[n:]
	}
}

// showLocked never writes into what an earlier Progress call was given: a full buffer is left behind for a new one.
func (c *capture) showLocked(b []byte) {
	defer func() {
		if v := recover(); v != nil {
			c.show, c.fault = nil, fmt.Sprintf("panic in progress: %v\n%s", v, debug.Stack())
		}
	}()
	if len(b) > liveMax/2 {
		b = b[len(b)-liveMax/2:]
	}
	if len(c.live)+len(b) > liveMax {
		old := c.live[len(c.live)-min(len(c.live), liveMax/4):]
		c.live = append(make([]byte, 0, liveMax), old...)
	}
	if c.live == nil {
		c.live = make([]byte, 0, 4<<10)
	}
	c.live = append(c.live, b...)
	c.show(c.live[:len(c.live):len(c.live)])
}

// hush ends progress: none is shown after it returns. It says what went wrong with it.
func (c *capture) hush() (fault string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.show, c.live = nil, nil
	return c.fault
}

// drop forgets the bytes, not the counts.
func (c *capture) drop() {
	c.mu.Lock()
	c.head, c.tail, c.at = nil, nil, 0
	c.mu.Unlock()
}

// place is a position in a command's output.
type place struct{ bytes, lines int64 }

// output is a stretch of what was printed: all of it, or its beginning and end.
type output struct {
	head, tail []byte
	missed     int64 // bytes between (or before, when head is empty) that were discarded
	lines      int64 // newlines in it, missed ones included
	end        place // where the next stretch begins
}

// since is what was printed from a place on.
func (c *capture) since(from place) output {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := output{end: place{c.total, c.lines}, lines: c.lines - from.lines}
	if from.bytes < int64(len(c.head)) {
		o.head = bytes.Clone(c.head[from.bytes:])
	}
	o.tail = append(append(make([]byte, 0, len(c.tail)), c.tail[c.at:]...), c.tail[:c.at]...)
	start := c.total - int64(len(o.tail))
	if reach := max(from.bytes, int64(len(c.head))); reach < start {
		o.missed = start - reach
	} else {
		o.tail = o.tail[reach-start:]
	}
	return o
}

func (o output) empty() bool { return len(o.head)+len(o.tail) == 0 && o.missed == 0 }
