package jsonl

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
)

const (
	chunkSize = 256 << 10 // reads that stay in the processor's cache
	tailCheck = 64 << 10  // at the end of the first reading, prev is checked too
	maxDamage = 10_000    // more than that is not a damaged log but another thing
)

// CatchUp reads on from where this File has read to, and gives each whole
// readable line to visit, in order; a nil visit is Options.Visit. What is not
// readable becomes Damage, and the rest is still read (LOG-7). It takes no lock
// on the file.
//
// The first CatchUp looks at the head and the end of each line and checks prev in
// the last 64 KiB; later ones check prev on every line. Memory is one read
// buffer, and the longest line where that is longer.
func (f *File) CatchUp(visit Visit) error {
	f.turn <- struct{}{}
	defer func() { <-f.turn }()
	if visit == nil {
		visit = f.opts.Visit
	}
	size, err := f.size()
	if err != nil {
		return err
	}
	return f.catchUp(size, visit)
}

func (f *File) size() (int64, error) {
	st, err := f.r.Stat()
	if err != nil {
		return 0, f.blame("read", err)
	}
	return st.Size(), nil
}

// catchUp reads on to size, and needs turn. Bytes from pos to there are then a last
// line without LF.
func (f *File) catchUp(size int64, visit Visit) error {
	if size < f.pos {
		return fmt.Errorf("read %s: %w: it has %d bytes, and had %d: open it again", f.path, ErrChanged, size, f.pos)
	}
	if size == f.pos {
		f.scanned = true
		return nil
	}
	hashFrom := f.pos
	if f.scanned || f.opts.deep {
		if err := f.recall(); err != nil {
			return err
		}
	} else {
		hashFrom = size - tailCheck
	}
	defer f.publish()
	err := f.cut(f.pos, size, func(raw []byte, off int64) error {
		how := shallow
		if f.opts.deep {
			how = deep
		} else if off >= hashFrom {
			how = hashed
		}
		return f.take(raw, off, how, visit)
	})
	if err == nil {
		f.scanned = true
	}
	return err
}

// take judges one physical line and gives it to visit.
func (f *File) take(raw []byte, off int64, how depth, visit Visit) error {
	c := f.chain // kept until the visit is over
	l, ok, found := c.judge(raw, off, how, f.gaps.Load())
	if ok && visit != nil {
		if err := visit(l, raw); errors.Is(err, ErrUnreadable) {
			found = append(found, Damage{
				Kind: Foreign, Line: c.lines, Seq: l.Seq, From: off, To: off + int64(len(raw)), SHA256: hexOf(raw), Bad: off,
			})
		} else if err != nil {
			return err
		}
	}
	f.chain, f.pos = c, off+int64(len(raw))+1
	if found == nil {
		return nil
	}
	return f.record(found)
}

// publish shows what was read to those who don't hold turn.
func (f *File) publish() {
	f.mu.Lock()
	f.first, f.last, f.end = f.chain.first, f.chain.last, max(f.end, f.pos)
	f.mu.Unlock()
}

// recall makes sure that the hash over the last physical line is known.
func (f *File) recall() error {
	c := &f.chain
	if c.known {
		return nil
	}
	h, err := f.hash(c.before.Off, c.before.Off+int64(c.before.Len))
	if err != nil {
		return err
	}
	c.sum, c.known = sum(h[:16]), true
	return nil
}

// hash is SHA-256 over [from, to) of the file.
func (f *File) hash(from, to int64) ([sha256.Size]byte, error) {
	h := sha256.New()
	n, err := io.Copy(h, io.NewSectionReader(f.r, from, to-from))
	if err == nil && n != to-from {
		err = fmt.Errorf("%w: bytes %d to %d are not there", ErrChanged, from, to)
	}
	if err != nil {
		return [sha256.Size]byte{}, f.blame("read", err)
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}

// cut gives each physical line in [from, to) that ends in LF to line, without the
// LF and with its offset.
func (f *File) cut(from, to int64, line func(raw []byte, off int64) error) error {
	if f.chunk == nil {
		f.chunk = make([]byte, chunkSize)
	}
	buf := f.chunk
	have := 0 // bytes of an unfinished line at the start of buf
	for at := from; at < to; {
		n, err := f.readAt(buf[have:], at, to)
		if err != nil {
			return err
		}
		data, start, look := buf[:have+n], 0, have
		base := at - int64(have)
		at += int64(n)
		for {
			i := bytes.IndexByte(data[look:], '\n')
			if i < 0 {
				break
			}
			if err := line(data[start:look+i], base+int64(start)); err != nil {
				return err
			}
			start = look + i + 1
			look = start
		}
		if have = copy(buf, data[start:]); have < len(buf) {
			continue
		}
		// A line longer than the buffer: find its end first, then hold it once.
		off := base + int64(start)
		end, err := f.find(at, to)
		if err != nil || end < 0 {
			return err
		}
		long := make([]byte, end-off)
		if _, err := f.readAt(long, off, to); err != nil {
			return err
		}
		if err := line(long, off); err != nil {
			return err
		}
		at, have = end+1, 0
	}
	return nil
}

// find returns the offset of the first LF in [from, to), or -1. It uses the
// buffer of cut.
func (f *File) find(from, to int64) (int64, error) {
	for from < to {
		n, err := f.readAt(f.chunk, from, to)
		if err != nil {
			return -1, err
		}
		if i := bytes.IndexByte(f.chunk[:n], '\n'); i >= 0 {
			return from + int64(i), nil
		}
		from += int64(n)
	}
	return -1, nil
}

// readAt fills b from the file at off, or as much of it as there is before to.
func (f *File) readAt(b []byte, off, to int64) (int, error) {
	b = b[:min(int64(len(b)), to-off)]
	n, err := f.r.ReadAt(b, off)
	if n == len(b) {
		return n, nil
	}
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: it ends at byte %d: open it again", ErrChanged, off+int64(n))
	}
	return n, f.blame("read", err)
}

// Read returns the bytes of a line, without LF.
func (f *File) Read(l Line) ([]byte, error) {
	b := make([]byte, l.Len)
	if _, err := f.readAt(b, l.Off, l.Off+int64(l.Len)); err != nil {
		return nil, err
	}
	if seq, _, ok := parseHead(b); !ok || seq != l.Seq {
		return nil, fmt.Errorf("read %s: %w: no line %d at byte %d: run session verify", f.path, ErrChanged, l.Seq, l.Off)
	}
	return b, nil
}

// Tail returns the last whole readable lines, at most n, oldest first. It reads
// back from the end, at most maxBytes, and needs no CatchUp before it: it is for
// a first paint, and judges nothing. A line that does not fit ends it.
func (f *File) Tail(n int, maxBytes int64) ([]Raw, error) {
	size, err := f.size()
	if err != nil {
		return nil, err
	}
	for window := min(int64(64<<10), maxBytes); ; window = min(2*window, maxBytes) {
		lo := max(0, size-window)
		buf := make([]byte, size-lo)
		if _, err := f.readAt(buf, lo, size); err != nil {
			return nil, err
		}
		lines, out := buf[:bytes.LastIndexByte(buf, '\n')+1], []Raw(nil)
		for len(lines) > 0 && len(out) < n {
			start := bytes.LastIndexByte(lines[:len(lines)-1], '\n') + 1
			if start == 0 && lo > 0 { // its beginning lies before the window
				break
			}
			raw := lines[start : len(lines)-1]
			if seq, _, ok := parseHead(raw); ok {
				out = append(out, Raw{Line{seq, lo + int64(start), len(raw)}, raw[:len(raw):len(raw)]})
			}
			lines = lines[:start]
		}
		if len(out) == n || lo == 0 || window == maxBytes {
			for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
				out[i], out[j] = out[j], out[i]
			}
			return out, nil
		}
	}
}
