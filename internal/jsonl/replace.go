package jsonl

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// NewSuffix stands behind the name of a file in the name of the one that is being
// written to stand in its place, before some random digits. What a crash leaves
// of that one is nobody's.
const NewSuffix = ".new-"

// A Successor is a file that is being written to stand in another's place. Its
// chain is made anew; the numbers of its lines are the caller's.
type Successor struct {
	f     *File
	file  *os.File
	out   *bufio.Writer
	chain chain
	at    int64
}

// Add writes a line: its number, larger than the one before (1 first), and the
// rest of it, as [File.Append] takes it.
func (s *Successor) Add(seq uint64, rest []byte) error {
	if seq < s.chain.next || s.chain.lines == 0 && seq != 1 || len(rest) < 4 || rest[0] != '"' || rest[len(rest)-1] != '}' {
		return fmt.Errorf("write the successor of %s: line %d: %w", s.f.path, seq, ErrShape)
	}
	raw := append(appendHead(nil, seq, s.chain.sum), rest...)
	s.chain.wrote(Line{seq, s.at, len(raw)}, sumOf(raw))
	s.at += int64(len(raw)) + 1
	_, err := s.out.Write(append(raw, '\n'))
	return s.f.blame("write the successor of", err)
}

// through writes through the layer, and takes a short write for a full disk.
type through struct{ s *Successor }

func (t through) Write(p []byte) (int, error) {
	n, err := t.s.f.opts.Layer.Write(t.s.file, p)
	if err == nil && n < len(p) {
		err = syscall.ENOSPC
	}
	return n, err
}

// Replace puts another file in this one's place, under the lock and after
// catching up: the one exception to LOG-3, for what must not be kept (RPR-2).
// write makes the new one; it may call [File.Read]. last, if not nil, is called
// when the new one is whole and on the disk, just before the old one goes.
//
// With an error the old file is as it was; a crash leaves one of the two, whole,
// and at most a leftover beside it ([NewSuffix]). Afterwards this File, and every
// other that has the old one open, is ErrGone to its next append.
func (f *File) Replace(ctx context.Context, write func(*Successor) error, last func() error) error {
	return f.underLock(ctx, func(w *os.File) error {
		// What broke off at the end is closed off first, so that all is either an
		// event or named damage.
		if _, err := f.write(w, func() (batch, error) { return f.sound(nil) }); err != nil {
			return err
		}
		var r [8]byte
		rand.Read(r[:])
		path := f.path + NewSuffix + hex.EncodeToString(r[:])
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
		if err != nil {
			return f.blame("write the successor of", err)
		}
		err = f.succeed(file, path, write, last)
		if err != nil {
			os.Remove(path)
		}
		return err
	})
}

func (f *File) succeed(file *os.File, path string, write func(*Successor) error, last func() error) error {
	defer file.Close()
	if err := file.Chmod(0o600); err != nil {
		return f.blame("write the successor of", err)
	}
	s := &Successor{f: f, file: file, chain: newChain()}
	s.out = bufio.NewWriterSize(through{s}, 1<<20)
	if err := write(s); err != nil {
		return err
	}
	if err := s.out.Flush(); err != nil {
		return f.blame("write the successor of", err)
	}
	if err := f.opts.Layer.Sync(file); err != nil { // whatever the policy: the old one goes
		return f.blame("sync the successor of", err)
	}
	if last != nil {
		if err := last(); err != nil {
			return err
		}
	}
	if _, err := f.present(); err != nil {
		return err
	}
	if err := os.Rename(path, f.path); err != nil {
		return f.blame("replace", err)
	}
	return f.blame("sync the folder of", f.opts.Layer.SyncDir(filepath.Dir(f.path)))
}

// Leftovers are the successors of a file that never took its place.
func Leftovers(path string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		name := filepath.Join(filepath.Dir(path), e.Name())
		if len(name) > len(path+NewSuffix) && name[:len(path+NewSuffix)] == path+NewSuffix {
			out = append(out, name)
		}
	}
	return out, nil
}
