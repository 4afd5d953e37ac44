package harness

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"varve/internal/content"
	"varve/internal/index"
	"varve/internal/jsonl"
	"varve/internal/session"
)

// ErrUnread says that a session on disk can't be read whole: what it refers to
// is not known.
var ErrUnread = errors.New("can't be read whole, so what it refers to is not known")

// A census knows which blobs the sessions on disk refer to (CAS-4). It holds
// hashes, and of a session no more than one line at a time.
type census struct {
	dataDir string
	blobs   *content.Store
	except  os.FileInfo // a file whose references are not counted
	files   map[string]counted
	refs    map[string]bool
	see     func(path string, raw []byte) error // each line, nil for nobody
}

// counted says how far a file was read.
type counted struct {
	info os.FileInfo
	end  int64 // behind its last whole line
}

func newCensus(dataDir string, blobs *content.Store) *census {
	return &census{dataDir: dataDir, blobs: blobs, files: map[string]counted{}, refs: map[string]bool{}}
}

// take reads what it has not read yet: files that are new, and what was appended
// to the others. A file that can't be read, or is damaged, is ErrUnread.
func (c *census) take(ctx context.Context) error {
	paths, err := index.Files(c.dataDir)
	if err != nil {
		return err
	}
	for _, path := range paths {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := c.file(ctx, path); err != nil {
			return fmt.Errorf("session %s %w: %w", path, ErrUnread, err)
		}
	}
	return nil
}

func (c *census) file(ctx context.Context, path string) error {
	st, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) { // removed, or renamed over, since the listing
		return nil
	}
	if err != nil {
		return err
	}
	if c.except != nil && os.SameFile(c.except, st) {
		return nil
	}
	was, known := c.files[path]
	if known && os.SameFile(was.info, st) && st.Size() >= was.info.Size() {
		if st.Size() == was.info.Size() {
			return nil
		}
	} else if was, err = c.whole(ctx, path, st); err != nil {
		return err
	}
	end, err := c.rest(ctx, path, was.end)
	if err != nil {
		return err
	}
	c.files[path] = counted{st, end}
	return nil
}

// whole reads a file from its first byte, and checks every byte of it.
func (c *census) whole(ctx context.Context, path string, st os.FileInfo) (counted, error) {
	rep, err := jsonl.Verify(path, func(f *jsonl.File, _ jsonl.Line, raw []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		e, err := CheckLine(f, raw)
		if err != nil {
			return err
		}
		if ev, ok := e.Event.(session.SessionCreated); ok && ev.Format > session.Format {
			return fmt.Errorf("%w (format %d)", ErrFormat, ev.Format)
		}
		return c.line(path, raw)
	})
	if err != nil {
		return counted{}, err
	}
	if len(rep.Damage) > 0 {
		d := rep.Damage[0]
		return counted{}, fmt.Errorf("line %d (%s, byte %d): `agent session repair` names what is lost", d.Line, d.Kind, d.Bad)
	}
	return counted{st, rep.Bytes - rep.Piece}, nil
}

// rest reads the lines from an offset on, and returns where the last whole one
// ends. A last line without its LF counts where it is a whole event: the next
// append gives it one.
func (c *census) rest(ctx context.Context, path string, from int64) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return 0, err
	}
	in := bufio.NewReaderSize(f, 64<<10)
	for end := from; ; {
		raw, err := in.ReadBytes('\n')
		if err == io.EOF {
			if _, derr := session.Decode(raw); derr == nil {
				return end, c.line(path, raw)
			}
			return end, nil
		}
		if err != nil {
			return 0, err
		}
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		end += int64(len(raw))
		raw = raw[:len(raw)-1]
		if _, err := session.Decode(raw); err != nil {
			return 0, err
		}
		if err := c.line(path, raw); err != nil {
			return 0, err
		}
	}
}

// line counts what one line refers to: bodies, and the one edge that stands in a
// list, from an assembly's report to its sources (CAS-5).
func (c *census) line(path string, raw []byte) error {
	if c.see != nil {
		if err := c.see(path, raw); err != nil {
			return err
		}
	}
	if err := Refs(raw, func(r session.Ref) { c.refs[r.SHA256] = true }); err != nil {
		return err
	}
	e, err := session.Decode(raw)
	if err != nil {
		return err
	}
	ev, ok := e.Event.(session.AssemblyReported)
	if !ok {
		return nil
	}
	p, err := e.Part(ev.Sources.B)
	if err != nil {
		return err
	}
	b := p.Bytes
	if p.Ref != nil {
		if b, err = c.blobs.Get(p.Ref.SHA256); err != nil {
			return err
		}
	}
	var sources []session.AssemblySource
	if err := json.Unmarshal(b, &sources); err != nil {
		return fmt.Errorf("event %d: sources: %w", e.Seq, err)
	}
	for _, s := range sources {
		if s.SHA256 != "" {
			c.refs[s.SHA256] = true
		}
	}
	return nil
}

func (c *census) knows(sha string) bool { return c.refs[sha] }
