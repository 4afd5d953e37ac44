package providers

import (
	"sync"
	"sync/atomic"
	"time"
)

// systemClock is the clock of the machine.
type systemClock struct{}

func (systemClock) Now() time.Time                         { return time.Now() }
func (systemClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// clockOr returns c, or the system's clock where c is nil.
func clockOr(c Clock) Clock {
	if c == nil {
		return systemClock{}
	}
	return c
}

// A watch calls fire once when it was not touched for d. stop ends it and
// waits for its goroutine; a stopped watch never fires.
type watch struct {
	clock   Clock
	d       time.Duration
	fire    func()
	touches atomic.Int64
	last    atomic.Int64 // UnixNano of the last touch
	fired   atomic.Bool
	done    chan struct{}
	ended   chan struct{}
	once    sync.Once
}

// newWatch starts a watch; for d <= 0 it returns nil, which is a watch that
// never fires.
func newWatch(c Clock, d time.Duration, fire func()) *watch {
	if d <= 0 {
		return nil
	}
	w := &watch{clock: c, d: d, fire: fire, done: make(chan struct{}), ended: make(chan struct{})}
	w.last.Store(c.Now().UnixNano())
	go w.run()
	return w
}

func (w *watch) run() {
	defer close(w.ended)
	wait := w.d
	for {
		seen := w.touches.Load()
		select {
		case <-w.done:
			return
		case <-w.clock.After(wait):
		}
		if w.touches.Load() != seen {
			wait = w.d - time.Duration(w.clock.Now().UnixNano()-w.last.Load())
			if wait > 0 {
				continue
			}
		}
		select {
		case <-w.done:
			return
		default:
		}
		w.fired.Store(true)
		w.fire()
		return
	}
}

func (w *watch) touch() {
	if w == nil {
		return
	}
	w.last.Store(w.clock.Now().UnixNano())
	w.touches.Add(1)
}

func (w *watch) hasFired() bool { return w != nil && w.fired.Load() }

func (w *watch) stop() {
	if w == nil {
		return
	}
	w.once.Do(func() { close(w.done) })
	<-w.ended
}
