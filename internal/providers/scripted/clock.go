package scripted

import (
	"context"
	"slices"
	"sync"
	"time"
)

// A Clock tells the server's time. Scripts sleep on it, and dates in replies come from it.
type Clock interface {
	Now() time.Time
	After(time.Duration) <-chan time.Time
}

// System is the clock of the machine.
type System struct{}

// Now is time.Now.
func (System) Now() time.Time { return time.Now() }

// After is time.After.
func (System) After(d time.Duration) <-chan time.Time { return time.After(d) }

// Manual is a clock that moves only when told, for the server and the client of one test together.
type Manual struct {
	mu      sync.Mutex
	now     time.Time
	timers  []timer
	changed chan struct{}
}

type timer struct {
	at time.Time
	c  chan time.Time
}

// NewManual starts at t.
func NewManual(t time.Time) *Manual { return &Manual{now: t, changed: make(chan struct{})} }

// Now is the time it was last moved to.
func (m *Manual) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// After delivers once, when the clock has been moved by d. A d of 0 or less delivers at once.
func (m *Manual) After(d time.Duration) <-chan time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := make(chan time.Time, 1)
	if d <= 0 {
		c <- m.now
		return c
	}
	m.timers = append(m.timers, timer{m.now.Add(d), c})
	close(m.changed)
	m.changed = make(chan struct{})
	return c
}

// Advance moves the clock and fires what falls due, in order of time.
func (m *Manual) Advance(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = m.now.Add(d)
	slices.SortStableFunc(m.timers, func(a, b timer) int { return a.at.Compare(b.at) })
	n := 0
	for n < len(m.timers) && !m.timers[n].at.After(m.now) {
		m.timers[n].c <- m.timers[n].at
		n++
	}
	m.timers = slices.Delete(m.timers, 0, n)
}

// BlockUntil returns when at least n timers have been asked for and not yet fired, abandoned ones included.
func (m *Manual) BlockUntil(ctx context.Context, n int) error {
	for {
		m.mu.Lock()
		ok, next := len(m.timers) >= n, m.changed
		m.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
