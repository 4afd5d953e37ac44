package providers

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// A slow stream is read with pauses once it is known to be one, and nothing of
// it is lost; a fast one and one with a clock of a test's own never are; an end
// asked for ends the pause. // PERF-5, PRV-4
func TestTrickleIsGathered(t *testing.T) {
	for _, c := range []struct {
		name  string
		every time.Duration
		clock Clock
		reads func(n int) bool
	}{
		{"a word at a time", 5 * time.Millisecond, nil, func(n int) bool { return n > 100 && n < 400 }},
		{"fast", time.Microsecond, nil, func(n int) bool { return n == 1000 }},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := &trickling{every: c.every, left: 1000, begun: time.Now()}
			r := ReadEvents(t.Context(), b, Reading{Clock: c.clock})
			n := 0
			for {
				e, err := r.Next()
				if err == io.EOF {
					break
				}
				if err != nil || string(e.Data) != "word" {
					t.Fatalf("%s: %q, %v", c.name, e.Data, err)
				}
				n++
			}
			r.Close()
			if n != 1000 || !c.reads(b.reads) {
				t.Errorf("%s: %d events in %d reads", c.name, n, b.reads)
			}
			if late := time.Since(b.begun) - 1000*c.every; late > 2*gather {
				t.Errorf("%s: the end came %v late", c.name, late)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		b := &trickling{every: 5 * time.Millisecond, left: 1000, begun: time.Now()}
		r := ReadEvents(ctx, b, Reading{})
		for range 200 {
			if _, err := r.Next(); err != nil {
				t.Fatal(err)
			}
		}
		cancel()
		at := time.Now()
		for {
			if _, err := r.Next(); errors.Is(err, context.Canceled) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		r.Close()
		if took := time.Since(at); took > time.Millisecond {
			t.Errorf("it ended after %v", took)
		}
	})
}

// trickling is a body of so many events, one every so often; a read gives what
// has come.
type trickling struct {
	every  time.Duration
	left   int
	begun  time.Time
	given  int
	reads  int
	closed bool
}

func (b *trickling) Read(into []byte) (int, error) {
	if b.closed {
		return 0, io.ErrClosedPipe
	}
	if b.left == 0 {
		return 0, io.EOF
	}
	b.reads++
	for int(time.Since(b.begun)/b.every) <= b.given {
		time.Sleep(b.every)
	}
	n := 0
	for b.left > 0 && int(time.Since(b.begun)/b.every) > b.given && n+12 <= len(into) {
		n += copy(into[n:], "data: word\n\n")
		b.given++
		b.left--
	}
	return n, nil
}

func (b *trickling) Close() error { b.closed = true; return nil }
