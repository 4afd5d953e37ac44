package jsonl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"syscall"
	"time"
)

// Append adds one line for each of rests, as one write. A rest is a line after
// the two keys of this package: from its first key to the closing brace, without
// LF.
//
// Under the lock on the file, and in this order: lines of other writers go to
// Options.Visit; agree, if not nil, may refuse with an error of its own, and then
// nothing is written; seq and prev are made. A last line without LF is judged: a
// whole event gets its LF at once and goes to Visit, so that agree has seen it;
// anything else is closed off, and an event of Options.Repaired goes before the
// new lines and to Visit. (Line 1 is the caller's: where the file has no event yet,
// that event goes after the new lines, and is met by the next CatchUp.)
//
// With an error and no lines, whatever part reached the file is met by the next
// CatchUp or Append as if another had written it. With an error and lines, the
// lines are in the file, but a sync or Visit failed after that.
func (f *File) Append(ctx context.Context, rests [][]byte, agree func() error) ([]Line, error) {
	for i, rest := range rests {
		if len(rest) < 4 || rest[0] != '"' || rest[len(rest)-1] != '}' || bytes.IndexByte(rest, '\n') >= 0 {
			return nil, fmt.Errorf("append to %s: line %d of %d: %w", f.path, i+1, len(rests), ErrShape)
		}
	}
	return f.commit(ctx, func() (batch, error) {
		b, err := f.sound(rests)
		if err == nil && agree != nil {
			err = agree()
		}
		return b, err
	})
}

// sound is the batch of rests, with the repairs that are an append's own to
// make. It is refused where there is other damage.
func (f *File) sound(rests [][]byte) (batch, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	leading, open, trailing := f.split()
	return batch{rests: rests, repairs: slices.Clone(leading), trailing: slices.Clone(trailing)}, f.refuse(open)
}

// A batch is what one write adds.
type batch struct {
	repairs  []Damage // to be named one by one
	trailing []Damage // to be named with the piece, as one range
	rests    [][]byte
	told     func([]Damage) // what was named, when it is in the file; nil: nobody asks
}

// commit runs decide under the lock, after catching up, and writes its batch.
func (f *File) commit(ctx context.Context, decide func() (batch, error)) (lines []Line, err error) {
	err = f.underLock(ctx, func(w *os.File) error {
		lines, err = f.write(w, decide)
		return err
	})
	if f.opts.Policy == Always && lines != nil {
		err = errors.Join(err, f.Sync())
	}
	return lines, err
}

// underLock does something under the lock on the file, with pen and turn.
func (f *File) underLock(ctx context.Context, do func(w *os.File) error) error {
	if f.opts.ReadOnly {
		return fmt.Errorf("append to %s: %w: open it for writing", f.path, ErrReadOnly)
	}
	deadline := time.Now().Add(f.opts.LockWait)
	if err := f.wait(ctx, f.pen, deadline); err != nil {
		return err
	}
	defer func() { <-f.pen }()
	w, err := f.writer()
	if err != nil {
		return err
	}
	if err := f.lock(ctx, w, deadline); err != nil {
		return err
	}
	// turn comes last, so that readers go on while a writer waits for the lock.
	if err = f.wait(ctx, f.turn, deadline); err == nil {
		err = do(w)
		<-f.turn
	}
	if e := unlock(w); e != nil {
		err = errors.Join(err, f.blame("unlock", e))
	}
	return err
}

// write needs turn and the lock.
func (f *File) write(w *os.File, decide func() (batch, error)) ([]Line, error) {
	size, err := f.present()
	if err != nil {
		return nil, err
	}
	if err := f.catchUp(size, f.opts.Visit); err != nil {
		return nil, err
	}
	if err := f.recall(); err != nil {
		return nil, err
	}
	var piece []byte
	if size > f.pos {
		piece = make([]byte, size-f.pos)
		if _, err := f.readAt(piece, f.pos, size); err != nil {
			return nil, err
		}
		if f.chain.whole(piece) {
			if err := f.put(w, []byte{'\n'}); err != nil {
				return nil, err
			}
			size++
			if err := f.catchUp(size, f.opts.Visit); err != nil {
				return nil, err
			}
			piece = nil
		}
	}
	b, err := decide()
	if err != nil {
		return nil, err
	}
	return f.add(w, size, piece, b)
}

// mark ends a torn line that happens to end like a whole one, so that a reader
// sees by the line's end that it is not: our lines end in a brace.
const mark = ' '

// add writes the batch at size, after closing off the piece that stands there
// without LF. The chain moves only when all of it is in the file.
func (f *File) add(w *os.File, size int64, piece []byte, b batch) ([]Line, error) {
	out, c := f.out[:0], f.chain
	var found []Damage
	if piece != nil {
		if piece[len(piece)-1] == '}' {
			piece, out = append(piece, mark), append(out, mark)
		}
		out = append(out, '\n')
		_, _, found = c.judge(piece, f.pos, hashed, f.gaps.Load())
	}
	if torn := append(b.trailing, found...); len(torn) > 0 {
		d, err := f.oneRange(torn, piece)
		if err != nil {
			return nil, err
		}
		// The end first: after a crash between two notes, what is at the end has an
		// event after it and would need a person.
		b.repairs = slices.Insert(b.repairs, 0, d)
	}
	if len(b.repairs) > 0 && f.opts.Repaired == nil {
		return nil, fmt.Errorf("append to %s: %w: line %d broke off, and this writer cannot record its repair", f.path, ErrDamaged, b.repairs[0].Line)
	}
	notes := make([][]byte, len(b.repairs))
	for i, d := range b.repairs {
		notes[i] = f.opts.Repaired(d)
	}
	var lines, noted []Line
	var after chain // what this call accounts for
	line := func(rest []byte) Line {
		start := len(out)
		out = appendHead(out, c.next, c.sum)
		out = append(out, rest...)
		l := Line{c.next, size + int64(start), len(out) - start}
		c.wrote(l, sumOf(out[start:]))
		out = append(out, '\n')
		return l
	}
	add := func(rests [][]byte) (lines []Line) {
		for _, rest := range rests {
			lines = append(lines, line(rest))
		}
		return lines
	}
	empty := c.last.Seq == 0 && len(b.rests) > 0
	if empty {
		lines, after = add(b.rests), c
		add(notes) // met by the next CatchUp, so that seq only grows for a Visit
	} else {
		noted, lines, after = add(notes), add(b.rests), c
	}
	if len(out) == 0 {
		return nil, nil
	}
	if len(out) <= 1<<20 {
		f.out = out
	}
	if err := f.put(w, out); err != nil {
		return nil, err
	}
	f.chain, f.pos = after, after.last.End()
	f.publish()
	for _, d := range b.repairs {
		f.forgive(span{d.From, d.To})
	}
	if b.told != nil {
		b.told(b.repairs)
	}
	for _, l := range noted {
		if f.opts.Visit == nil {
			break
		}
		from := l.Off - size
		if err := f.opts.Visit(l, out[from:from+int64(l.Len)]); err != nil {
			return lines, fmt.Errorf("visit repair %d: %w", l.Seq, err)
		}
	}
	return lines, nil
}

// oneRange joins the torn lines at the end of the file, piece last, if any: they
// stand side by side, and one event names them all.
func (f *File) oneRange(torn []Damage, piece []byte) (Damage, error) {
	d := torn[0]
	d.To = torn[len(torn)-1].To
	if len(torn) == 1 {
		return d, nil
	}
	buf := make([]byte, d.To-d.From)
	n := copy(buf[len(buf)-len(piece):], piece)
	if _, err := f.readAt(buf[:len(buf)-n], d.From, d.To); err != nil {
		return d, err
	}
	d.SHA256 = hexOf(buf)
	return d, nil
}

// put is the one write. A part that reached the file stays there.
func (f *File) put(w *os.File, p []byte) error {
	n, err := f.opts.Layer.Write(w, p)
	if err == nil && n < len(p) {
		err = syscall.ENOSPC // write(2) takes a part without an error only at the end of the room
	}
	return f.blame("append to", err)
}

// writer is the handle that Append writes and locks with.
func (f *File) writer() (*os.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.w != nil {
		return f.w, nil
	}
	w, err := os.OpenFile(f.path, os.O_WRONLY|os.O_APPEND|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, f.blame("append to", err)
	}
	st, err := w.Stat()
	if err == nil && !os.SameFile(f.id, st) {
		err = fs.ErrNotExist
	}
	if err != nil {
		w.Close()
		return nil, f.blame("append to", err)
	}
	f.w = w
	return w, nil
}

// present is the file's size, or ErrGone unless the path still names the file
// that is read and written. One stat, for it runs in each append (PERF-10).
func (f *File) present() (size int64, err error) {
	p, err := os.Stat(f.path)
	if err != nil {
		return 0, f.blame("append to", err)
	}
	if !os.SameFile(f.id, p) {
		return 0, f.gone("append to")
	}
	return p.Size(), nil
}

// wait takes one of this File's own two locks.
func (f *File) wait(ctx context.Context, own chan struct{}, deadline time.Time) error {
	select {
	case own <- struct{}{}:
		return nil
	default:
	}
	t := time.NewTimer(time.Until(deadline))
	defer t.Stop()
	select {
	case own <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("append to %s: %w", f.path, ctx.Err())
	case <-t.C:
		return f.taken()
	}
}

// lock polls: flock has no wait that a context could end.
func (f *File) lock(ctx context.Context, w *os.File, deadline time.Time) error {
	for pause := time.Millisecond; ; pause = min(2*pause, 16*time.Millisecond) {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("append to %s: %w", f.path, err)
		}
		ok, err := tryLock(w)
		if err != nil {
			return f.blame("lock", err)
		}
		if ok {
			return nil
		}
		left := time.Until(deadline)
		if left <= 0 {
			return f.taken()
		}
		// Uneven pauses, or writers that began together would go on colliding.
		t := time.NewTimer(min(left, pause/2+rand.N(pause)))
		select {
		case <-ctx.Done():
			t.Stop()
		case <-t.C:
		}
	}
}

func (f *File) taken() error {
	return fmt.Errorf("append to %s: %w for %s: try again, or end the other program", f.path, ErrLocked, max(f.opts.LockWait, 0))
}
