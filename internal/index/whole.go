package index

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"varve/internal/jsonl"
	"varve/internal/session"
)

// A row is a session file as it was read. It is never changed: what is read of
// the file later makes another one.
type row struct {
	Info
	spoke bool  // it has a user message (LOG-9)
	size  int64 // of the file before it was read, so that it is never newer than the row
	mtime int64 // and its time, in nanoseconds
	mark  mark
}

func (r *row) listed() bool { return r.spoke || r.Damage != "" }

// A mark says how far a row was read, where reading can go on from there: at the
// end of a line that is known, in a file without damage.
type mark struct {
	end int64 // behind the line's LF; 0 for none
	len int   // of the line, without LF
	seq uint64
	sum [16]byte // of the line, as prev has it
}

// unread is the size of a row whose file could not be read: it is tried again,
// since what is mended in between (a mode, a disk) leaves size and time alone.
const unread = -1

var errNewer = errors.New("written by a newer version")

// readWhole reads a file from its first byte. What jsonl finds damaged when a
// session is opened is damage here; a chain that breaks far from the end is found
// by `session verify` alone.
func readWhole(ctx context.Context, r *row) error {
	r.Info = Info{ID: r.ID, Path: r.Path, Size: r.size, Changed: r.Changed, Whole: true}
	r.spoke, r.mark = false, mark{}
	f, err := jsonl.Open(r.Path, jsonl.Options{ReadOnly: true})
	if err != nil {
		r.Damage, r.size = reason(err), unread
		return nil
	}
	defer f.Close()
	t := newTally(&r.Info, &r.spoke)
	err = f.CatchUp(func(_ jsonl.Line, raw []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		e, err := t.line(raw)
		if err != nil {
			return fmt.Errorf("%w: %w", jsonl.ErrUnreadable, err)
		}
		switch ev := e.Event.(type) {
		case session.SessionCreated:
			if ev.Format > session.Format {
				r.Damage = fmt.Sprintf("written by a newer version (format %d)", ev.Format)
				return errNewer
			}
			if ev.From != nil && ev.From.Gaps {
				f.AllowGaps()
			}
		case session.LogRepaired:
			if err := f.Forgive(ev.From, ev.To, ev.SHA256); err != nil {
				return fmt.Errorf("%w: %w", jsonl.ErrUnreadable, err)
			}
		}
		return nil
	})
	t.finish()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, errNewer):
		return nil
	case err != nil:
		r.Damage, r.size = reason(err), unread
		return nil
	}
	if d := f.Damage(); len(d) > 0 {
		r.Damage = damageWords(d)
	}
	if r.Created.IsZero() && r.size > 0 {
		r.Damage = "line 1 is no session"
	}
	last := f.Last()
	if r.Damage != "" || last.Seq == 0 {
		return nil
	}
	raw, err := f.Read(last)
	if err != nil {
		return nil // it changed meanwhile, and is read again
	}
	sum := sha256.Sum256(raw)
	r.mark = mark{last.End(), last.Len, last.Seq, [16]byte(sum[:])}
	return nil
}

func damageWords(d []jsonl.Damage) string {
	more := ""
	if len(d) > 1 {
		more = fmt.Sprintf(", and %d more", len(d)-1)
	}
	switch d[0].Kind {
	case jsonl.Gap:
		return fmt.Sprintf("events are missing before line %d%s", d[0].Line, more)
	case jsonl.Chain:
		return fmt.Sprintf("line %d was changed%s", d[0].Line, more)
	}
	return fmt.Sprintf("line %d can't be read%s", d[0].Line, more)
}

// readOn reads what was appended to the file of old up to a size. It is not ok
// where the file is not the one that was read, or the new lines are not plainly
// its next events: then the file is to be read whole.
func readOn(ctx context.Context, old *row, size, mtime int64) (r *row, ok bool) {
	f, err := os.Open(old.Path)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	m := old.mark
	line := make([]byte, m.len+1)
	if _, err := f.ReadAt(line, m.end-int64(len(line))); err != nil || line[m.len] != '\n' {
		return nil, false
	}
	if sum := sha256.Sum256(line[:m.len]); [16]byte(sum[:]) != m.sum {
		return nil, false
	}
	r = &row{Info: old.Info, spoke: old.spoke, size: size, mtime: mtime}
	r.Size, r.Branches = size, cloneBranches(old.Branches)
	t := newTally(&r.Info, &r.spoke)
	in := bufio.NewReaderSize(io.NewSectionReader(f, m.end, size-m.end), 256<<10)
	for buf := []byte(nil); ctx.Err() == nil; buf = buf[:0] {
		raw, err := in.ReadSlice('\n')
		for err == bufio.ErrBufferFull {
			buf = append(buf, raw...)
			raw, err = in.ReadSlice('\n')
		}
		if err == io.EOF { // a line without LF is not there yet
			t.finish()
			r.mark = m
			return r, true
		}
		if err != nil {
			return nil, false
		}
		if len(buf) > 0 {
			buf = append(buf, raw...)
			raw = buf
		}
		raw = raw[:len(raw)-1]
		head := fmt.Appendf(nil, `{"seq":%d,"prev":"%s",`, m.seq+1, hex.EncodeToString(m.sum[:]))
		if len(raw) < len(head) || string(raw[:len(head)]) != string(head) {
			return nil, false
		}
		e, err := t.line(raw)
		if _, repair := e.Event.(session.LogRepaired); err != nil || repair {
			return nil, false
		}
		sum := sha256.Sum256(raw)
		m = mark{m.end + int64(len(raw)) + 1, len(raw), m.seq + 1, [16]byte(sum[:])}
	}
	return nil, false
}

// stamp is what tells that a file changed.
func stamp(path string) (size, mtime int64, err error) { return stampAt(unix.AT_FDCWD, path) }

// stampAt is stamp of a name in an open directory, which is what a listing of
// thousands is made of.
func stampAt(dir int, name string) (size, mtime int64, err error) {
	var st unix.Stat_t
	err = unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if err == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK {
		err = unix.Fstatat(dir, name, &st, 0)
	}
	if err != nil {
		return 0, 0, err
	}
	return st.Size, st.Mtim.Nano(), nil
}

const (
	smallFile = 256 << 10 // read whole at once: its two ends are as much
	nearEnd   = 64 << 20  // read on at once
)

// update reads a file again that is not as it was. A large one is read by its
// two ends, and waits for [Index.Finish].
func update(ctx context.Context, old *row, path string, size, mtime int64) *row {
	if old != nil && old.mark.end > 0 && size > old.size && size-old.mark.end <= nearEnd {
		if r, ok := readOn(ctx, old, size, mtime); ok {
			return r
		}
	}
	r := &row{Info: Info{ID: sessionID(path), Path: path, Changed: time.Unix(0, mtime).UTC()}, size: size, mtime: mtime}
	if size <= smallFile && readWhole(ctx, r) == nil {
		return r
	}
	r.Info, r.spoke = Look(path)
	r.Changed = r.Changed.UTC()
	if r.Size == 0 && size > 0 {
		r.size = unread
	}
	if r.Damage == "" && old != nil && old.Whole {
		r.Damage = old.Damage // until the whole file says that it was mended
	}
	return r
}
