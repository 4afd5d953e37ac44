package harness

import "time"

// A Clock tells the time and waits.
type Clock interface {
	Now() time.Time
	After(time.Duration) <-chan time.Time
}

// System is the machine's clock.
type System struct{}

func (System) Now() time.Time                         { return time.Now() }
func (System) After(d time.Duration) <-chan time.Time { return time.After(d) }
