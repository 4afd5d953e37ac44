package jsonl

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// A Writer writes the lines of a new file that have their numbers already, as
// those of an export do (BRN-9). It makes the chain.
type Writer struct {
	w    io.Writer
	last uint64
	sum  sum
	buf  []byte
}

// NewWriter is a Writer at line 1.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Add writes the next line. rest is what [File.Append] takes; seq is larger than
// that of the line before.
func (w *Writer) Add(seq uint64, rest []byte) error {
	if len(rest) < 4 || rest[0] != '"' || rest[len(rest)-1] != '}' || bytes.IndexByte(rest, '\n') >= 0 {
		return fmt.Errorf("write line %d: %w", seq, ErrShape)
	}
	if seq <= w.last {
		return fmt.Errorf("write line %d behind %d: %w", seq, w.last, ErrShape)
	}
	w.buf = append(appendHead(w.buf[:0], seq, w.sum), rest...)
	w.last, w.sum = seq, sumOf(w.buf)
	_, err := w.w.Write(append(w.buf, '\n'))
	return err
}

// Rest is a line without the keys of this package: what was given to Append.
func Rest(raw []byte) ([]byte, error) {
	_, _, ok := parseHead(raw)
	i := bytes.IndexByte(raw, ',') // behind seq
	if i += len(headPrev) + 2*len(sum{}) + len(`",`); !ok || i >= len(raw) {
		return nil, fmt.Errorf("line: %w", ErrShape)
	}
	return raw[i:], nil
}

// Place makes a file whole or not at all: 0600, in directories that are 0700
// where they had to be made, whatever the umask. What fill writes is on the disk
// under its name when Place returns, or nowhere. A file of that name is replaced.
func Place(path string, fill func(io.Writer) error) error {
	f := &File{path: path}
	dir := filepath.Dir(path)
	touched, err := makeDirs(dir)
	if err != nil {
		return f.blame("write", err)
	}
	p, err := renameio.NewPendingFile(path, renameio.WithTempDir(dir), renameio.WithStaticPermissions(0o600))
	if err != nil {
		return f.blame("write", err)
	}
	defer p.Cleanup()
	if err := fill(p); err != nil {
		return f.blame("write", err)
	}
	if err := p.CloseAtomicallyReplace(); err != nil {
		return f.blame("write", err)
	}
	for _, d := range append(touched, dir) {
		if err := (Disk{}).SyncDir(d); err != nil {
			return f.blame("write", err)
		}
	}
	return nil
}
