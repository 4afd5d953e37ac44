// Package index lists and searches sessions from a derived index.
//
// The index is one file in the state folder: of each session file its size and
// time as they were read, and the row that a list shows. It is derived: deleting
// it loses nothing, and one that is damaged or of another version is made anew
// (LOG-11). A listing stats every session and opens those that changed.
package index

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"varve/internal/jsonl"
	"varve/internal/session"
)

// An Info is what a list shows of a session.
type Info struct {
	ID        string
	Path      string
	Workspace string // as recorded
	Title     string // its name, or its first user message, on one line
	Named     bool   // Title was given by a person
	Created   time.Time
	Changed   time.Time // when something was last said or done
	Size      int64
	Model     string
	Open      bool   // its last turn has no end
	Damage    string // why it can't be listed as others, or ""
	First     string // its first user message, on one line

	// Whole says that the file was read from end to end. Until then it is known by
	// its two ends: damage between them is not seen, and the rest of this is zero.
	Whole    bool
	Messages int // of all branches, those too that were reverted
	Usage    Usage
	Branches []Branch // in the order they were made; the deleted are among them
}

// Gone says that every branch was deleted: what is left is the file (BRN-6).
func (i Info) Gone() bool {
	return i.Whole && i.Damage == "" && len(i.Branches) > 0 && !slices.ContainsFunc(i.Branches, func(b Branch) bool { return !b.Deleted })
}

// How much of a file a listing reads at each end, in bytes.
const (
	headBytes = 128 << 10
	tailLines = 4000
	titleLen  = 120
)

// ErrNone says that there is no such session.
var ErrNone = errors.New("no such session")

// List returns the sessions under a data directory without an index, newest
// first: it reads the two ends of every file. A session is listed once it has a
// user message (LOG-9); a damaged one with its damage. See [Index.Rows].
func List(dataDir string) ([]Info, error) {
	paths, err := Files(dataDir)
	if err != nil {
		return nil, err
	}
	var out []Info
	for _, p := range paths {
		info, ok := Look(p)
		if ok {
			out = append(out, info)
		}
	}
	slices.SortStableFunc(out, func(a, b Info) int { return b.Changed.Compare(a.Changed) })
	return out, nil
}

// Files lists the session files under a data directory, in order of their paths.
func Files(dataDir string) ([]string, error) {
	dir := filepath.Join(dataDir, "sessions")
	workspaces, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	var out []string
	for _, w := range workspaces {
		if !w.IsDir() {
			continue
		}
		entries, err := os.ReadDir(filepath.Join(dir, w.Name()))
		if err != nil {
			return nil, fmt.Errorf("list sessions: %w", err)
		}
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), ".jsonl") {
				out = append(out, filepath.Join(dir, w.Name(), e.Name()))
			}
		}
	}
	return out, nil
}

// Find returns the path of a session by its id, the beginning of one that is
// unique, or a path. The id is a name, never a way to another folder.
func Find(dataDir, id string) (string, error) {
	if strings.ContainsAny(id, "/\\") || strings.HasSuffix(id, ".jsonl") {
		if info, err := os.Stat(id); err == nil && info.Mode().IsRegular() {
			return id, nil
		}
		return "", fmt.Errorf("%w: there is no file %s", ErrNone, id)
	}
	paths, err := Files(dataDir)
	if err != nil {
		return "", err
	}
	var found []string
	for _, p := range paths {
		name := strings.TrimSuffix(filepath.Base(p), ".jsonl")
		if name == id {
			return p, nil
		}
		if id != "" && strings.HasPrefix(name, id) {
			found = append(found, p)
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("%w: no id begins with %q; see `agent session list --all`", ErrNone, id)
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("%w: %d sessions begin with %q, give more of the id: %s", ErrNone, len(found), id, apart(found))
}

// apart are the shortest beginnings that tell the first ids of paths apart.
func apart(paths []string) string {
	const most = 4
	n, names := 0, make([]string, len(paths))
	for i, p := range paths {
		names[i] = sessionID(p)
	}
	slices.Sort(names)
	for i := range names[1:] {
		a, b, same := names[i], names[i+1], 0
		for same < min(len(a), len(b)) && a[same] == b[same] {
			same++
		}
		n = max(n, same+1)
	}
	more := ""
	if len(names) > most {
		names, more = names[:most], ", …"
	}
	for i, name := range names {
		names[i] = name[:min(n, len(name))]
	}
	return strings.Join(names, ", ") + more
}

// Look reads what a list shows of one file. It is not ok for a session that
// has no user message yet.
func Look(path string) (Info, bool) {
	info := Info{ID: strings.TrimSuffix(filepath.Base(path), ".jsonl"), Path: path}
	f, err := os.Open(path)
	if err != nil {
		info.Damage = reason(err)
		return info, true
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		info.Damage = reason(err)
		return info, true
	}
	info.Size, info.Changed = st.Size(), st.ModTime()
	head := make([]byte, min(int64(headBytes), st.Size()))
	if n, err := io.ReadFull(f, head); err != nil {
		head = head[:n]
	}
	spoke := info.readHead(head)
	info.readTail(path)
	if info.Created.IsZero() && st.Size() > 0 {
		if info.Damage == "" {
			info.Damage = "line 1 is no session"
		}
		return info, true
	}
	return info, spoke || info.Damage != ""
}

func reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// readHead takes the creation and the first message.
func (i *Info) readHead(b []byte) (spoke bool) {
	for len(b) > 0 && !spoke {
		line, rest, whole := bytes.Cut(b, []byte("\n"))
		if !whole {
			break
		}
		b = rest
		e, err := session.Decode(line)
		if err != nil {
			if i.Damage == "" {
				i.Damage = "a line can't be read"
			}
			continue
		}
		switch ev := e.Event.(type) {
		case session.SessionCreated:
			i.Created, i.Workspace = e.At, ev.Workspace
			if ev.Format > session.Format {
				i.Damage = fmt.Sprintf("written by a newer version (format %d)", ev.Format)
			}
		case session.ModelChosen:
			i.Model = ev.Model.String()
		case session.UserSaid:
			spoke = true
			i.First = textOf(e, ev.Text)
			i.Title = i.First
		}
	}
	return spoke
}

// readTail takes the newest of what may change: title, model, the end of the
// last turn.
func (i *Info) readTail(path string) {
	f, err := jsonl.Open(path, jsonl.Options{ReadOnly: true})
	if err != nil {
		return
	}
	defer f.Close()
	for _, n := range []int64{64 << 10, 1 << 20, 8 << 20} {
		raws, err := f.Tail(tailLines, n)
		if err != nil || i.take(raws) || n >= i.Size {
			return
		}
	}
}

// take reports whether raws show how the last turn stands: a long one has its
// beginning far from the end of the file.
func (i *Info) take(raws []jsonl.Raw) (turn bool) {
	for _, r := range raws {
		e, err := session.Decode(r.Bytes)
		if err != nil {
			continue
		}
		if isNews(e.Type) {
			i.Changed = e.At
		}
		switch ev := e.Event.(type) {
		case session.SessionRenamed:
			i.Title, i.Named = textOf(e, &ev.Title), true
		case session.ModelChosen:
			i.Model = ev.Model.String()
		case session.UserSaid:
			i.Open, turn = true, true
		case session.TurnEnded:
			i.Open, turn = false, true
		}
	}
	return turn
}

// textOf is a text as a list shows it; "" where it is in the content store.
func textOf(e session.Entry, t *session.Text) string {
	if t == nil {
		return ""
	}
	p, err := e.Part(t.B)
	if err != nil || p.Ref != nil {
		return ""
	}
	return oneLine(string(p.Bytes))
}

func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > titleLen {
		return string(r[:titleLen-1]) + "…"
	}
	return s
}
