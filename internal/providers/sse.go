package providers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// The ends of a stream that are not its own.
var (
	ErrStalled      = errors.New("no byte arrived for the stall timeout")
	ErrQuiet        = errors.New("nothing but keep-alives arrived for the progress timeout")
	ErrEventTooLong = errors.New("one event of the stream is larger than the limit")
)

// EventLimit is the largest event that is read, in bytes, where [Reading]
// names none.
const EventLimit = 64 << 20

// An Event is one server-sent event. Data is valid until the next call of
// Next.
type Event struct {
	Name string // of its event field, "" where it has none
	Data []byte // its data lines, joined by \n
	Cut  bool   // the stream ended before the blank line that closes it
}

// A Reading says how a stream is read.
type Reading struct {
	Limit int           // bytes of one event; 0 is EventLimit
	Stall time.Duration // no byte for so long ends it with ErrStalled; 0 never
	Quiet time.Duration // no call of Progress for so long: ErrQuiet; 0 never
	Clock Clock         // nil is the system's
	Idle  func()        // called when all that arrived was given out, before more is waited for
}

// Events reads server-sent events (wire.md §1.0): lines end in LF, CRLF or CR,
// also mixed; comments and unknown fields are ignored, though each of their
// bytes shows that the stream lives; one space after the colon is optional;
// what is pending at the end of the stream is an event with Cut set.
type Events struct {
	ctx     context.Context
	body    io.ReadCloser
	limit   int
	stall   *watch
	quiet   *watch
	unhook  func() bool
	buf     []byte // what Read fills
	chunk   []byte // the unread part of it
	line    []byte // a line whose end has not arrived
	data    []byte
	name    string
	hasData bool
	skipLF  bool // a CR ended the last line
	started bool // the first line is over, so that no BOM may come
	idle    func()
	small   int  // reads in a row that were waited for and gave little
	real    bool // time is the system's
	err     error
}

// ReadEvents returns a reader of body, which it owns. When ctx is done the
// body is closed at once. Close must be called.
func ReadEvents(ctx context.Context, body io.ReadCloser, how Reading) *Events {
	r := &Events{ctx: ctx, body: body, limit: how.Limit, buf: make([]byte, 16<<10), real: how.Clock == nil, idle: how.Idle}
	if r.limit <= 0 {
		r.limit = EventLimit
	}
	shut := func() { _ = body.Close() }
	clock := clockOr(how.Clock)
	r.stall = newWatch(clock, how.Stall, shut)
	r.quiet = newWatch(clock, how.Quiet, shut)
	r.unhook = context.AfterFunc(ctx, shut)
	return r
}

// Close closes the body and ends what watched it. Next must not be running.
func (r *Events) Close() {
	r.unhook()
	r.stall.stop()
	r.quiet.stop()
	_ = r.body.Close()
}

// Drain reads what is left, for at most d, so that the connection can be used
// again. The stream must have said that it is over.
func (r *Events) Drain(d time.Duration) {
	if r.err != nil {
		return
	}
	late := time.AfterFunc(d, func() { _ = r.body.Close() })
	defer late.Stop()
	for {
		if _, err := r.body.Read(r.buf); err != nil {
			r.err = err
			return
		}
	}
}

// Progress says that something came which brings the reply forward.
func (r *Events) Progress() { r.quiet.touch() }

// Peek returns the first byte of the stream that is neither blank nor part of
// a byte order mark, without taking it. It must come before Next.
func (r *Events) Peek() (byte, error) {
	seen := 0
	for {
		for ; seen < len(r.chunk); seen++ {
			switch c := r.chunk[seen]; c {
			case ' ', '\t', '\r', '\n', 0xEF, 0xBB, 0xBF:
			default:
				return c, nil
			}
		}
		if len(r.chunk) == len(r.buf) {
			return 0, nil // blank as far as one can see
		}
		held := len(r.chunk)
		n, err := r.read(r.buf[held:])
		r.chunk = r.buf[:held+n]
		if n == 0 && err != nil {
			r.err = err
			return 0, r.failure(err)
		}
	}
}

// ReadAll returns what is left of the stream, unparsed, up to the limit.
func (r *Events) ReadAll() ([]byte, error) {
	all := append([]byte(nil), r.chunk...)
	r.chunk = nil
	for r.err == nil {
		n, err := r.read(r.buf)
		all = append(all, r.buf[:n]...)
		if len(all) > r.limit {
			return all, fmt.Errorf("%w (%d bytes)", ErrEventTooLong, r.limit)
		}
		r.err = err
	}
	if err := r.failure(r.err); err != io.EOF {
		return all, err
	}
	return all, nil
}

// Next returns the next event. It returns io.EOF at a clean end,
// the context's error when it is done, ErrStalled, ErrQuiet, ErrEventTooLong,
// or what the connection said when it broke.
func (r *Events) Next() (Event, error) {
	r.data, r.name, r.hasData = r.data[:0], "", false
	for {
		for len(r.chunk) > 0 {
			if r.skipLF {
				r.skipLF = false
				if r.chunk[0] == '\n' {
					r.chunk = r.chunk[1:]
					continue
				}
			}
			end := lineEnd(r.chunk)
			if end < 0 {
				r.line = append(r.line, r.chunk...)
				r.chunk = nil
				break
			}
			line := r.chunk[:end]
			if len(r.line) > 0 {
				r.line = append(r.line, line...)
				line = r.line
			}
			r.skipLF = r.chunk[end] == '\r'
			r.chunk = r.chunk[end+1:]
			over := r.tooLong(len(line))
			done := r.field(line)
			r.line = r.line[:0]
			if over != nil {
				r.err = over
				return Event{}, over
			}
			if done {
				return Event{Name: r.name, Data: r.data}, nil
			}
		}
		if err := r.tooLong(len(r.line)); err != nil {
			r.err = err
			return Event{}, err
		}
		if r.err != nil {
			return r.last()
		}
		n, err := r.read(r.buf)
		r.chunk, r.err = r.buf[:n], err
	}
}

// lineEnd finds the first CR or LF, or returns -1.
func lineEnd(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if lf >= 0 {
		b = b[:lf]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

// last gives what was pending when the stream ended, then its end.
func (r *Events) last() (Event, error) {
	err := r.failure(r.err)
	if ours(r.ctx, err) {
		return Event{}, err
	}
	if len(r.line) > 0 {
		r.field(r.line)
		r.line = r.line[:0]
	}
	if r.hasData {
		r.hasData = false
		return Event{Name: r.name, Data: r.data, Cut: true}, nil
	}
	return Event{}, err
}

// ours reports whether err is an end that we made.
func ours(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, ErrStalled) || errors.Is(err, ErrQuiet) || errors.Is(err, ErrEventTooLong)
}

func (r *Events) tooLong(pending int) error {
	if len(r.data)+pending > r.limit {
		return fmt.Errorf("%w (%d bytes)", ErrEventTooLong, r.limit)
	}
	return nil
}

// A stream that was waited for in so many reads in a row, and gave little, is
// read with a pause before each, so that what comes meanwhile is read at once.
// The pause is the longest that leaves no gap of 50 ms on the screen (PERF-5).
const (
	trickle = 100
	little  = 3 << 10 // bytes
	waited  = 2 * time.Millisecond
	gather  = 42 * time.Millisecond
)

// read waits for bytes. Only waiting counts for the stall timeout.
func (r *Events) read(into []byte) (int, error) {
	if r.idle != nil {
		r.idle()
	}
	if r.small > trickle && r.real {
		// A model that writes a word at a time would wake the program for each:
		// some come together, and no eye sees the difference.
		select {
		case <-time.After(gather):
		case <-r.ctx.Done():
			return 0, r.ctx.Err()
		}
	}
	r.stall.touch()
	began := time.Now()
	n, err := r.body.Read(into)
	r.stall.touch()
	switch {
	case n >= little, r.small <= trickle && time.Since(began) < waited:
		r.small = 0
	default:
		r.small++
	}
	return n, err
}

// failure names the reason why a read failed.
func (r *Events) failure(err error) error {
	switch {
	case r.ctx.Err() != nil:
		return context.Cause(r.ctx)
	case err == io.EOF:
		return err
	case r.stall.hasFired():
		return ErrStalled
	case r.quiet.hasFired():
		return ErrQuiet
	}
	return err
}

// field takes one line and reports whether it ends an event.
func (r *Events) field(line []byte) bool {
	if !r.started {
		r.started = true
		line = bytes.TrimPrefix(line, []byte("\xEF\xBB\xBF"))
	}
	if len(line) == 0 {
		return r.hasData || r.name != ""
	}
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		if r.hasData {
			r.data = append(r.data, '\n')
		}
		r.hasData = true
		r.data = append(r.data, value...)
	case "event":
		r.name = string(value)
	}
	return false
}
