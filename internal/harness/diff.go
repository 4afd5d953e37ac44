package harness

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"varve/internal/harness/drive"
	"varve/internal/harness/tools"
)

// A ChangedFile is a file before the first change that a session recorded, and
// after the last. Texts are UTF-8; where Why is set they are not there, and it
// says why.
type ChangedFile struct {
	Path          string // absolute
	Op            string // create, modify, delete
	Before, After string
	Why           string
	Since         bool // it is no longer as the session left it
}

// How much is given to be looked at, in bytes: one side of a change, and all
// sides together, which are in memory at once.
const (
	maxDiffed    = 1 << 20
	maxDiffedAll = 32 << 20
)

// Changes lists what a session has changed in files that is not taken back, by
// path (BRN-8). What is done to files is the folder's, whatever branch did it.
// Commands is how many ran that may have changed more than was recorded.
func (l *Local) Changes(ctx context.Context) (files []ChangedFile, commands int, err error) {
	if err := l.Session.CatchUp(); err != nil {
		return nil, 0, err
	}
	return l.Session.changes(ctx, l.box.Find, maxDiffedAll)
}

// changes are those files, with at most so many bytes of text.
func (s *Session) changes(ctx context.Context, find func(context.Context, string) tools.Found, room int64) ([]ChangedFile, int, error) {
	past, err := s.filesPast()
	if err != nil {
		return nil, 0, err
	}
	type net struct{ first, last drive.Content }
	at := map[string]*net{}
	var paths []string
	for _, c := range past.changes {
		n, ok := at[c.Path]
		if !ok {
			n = &net{first: c.Before}
			at[c.Path] = n
			paths = append(paths, c.Path)
		}
		n.last = c.After
	}
	slices.Sort(paths)
	out := []ChangedFile{}
	for _, p := range paths {
		if ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		n := at[p]
		if n.first == n.last && n.first.Why == "" {
			continue
		}
		f := ChangedFile{Path: p, Op: "modify"}
		switch {
		case n.first == (drive.Content{}):
			f.Op = "create"
		case n.last == (drive.Content{}):
			f.Op = "delete"
		}
		f.Before, f.After, f.Why = s.sidesOf(n.first, n.last, room)
		room -= int64(len(f.Before) + len(f.After))
		now := find(ctx, p)
		f.Since = now.Why != "" || n.last.Why == "" && now.SHA256 != n.last.SHA256
		out = append(out, f)
	}
	return out, len(past.commands), nil
}

// sidesOf are the texts of a change, or why they can't be shown.
func (s *Session) sidesOf(first, last drive.Content, room int64) (before, after, why string) {
	before, why = s.sideOf(first, room)
	if why == "" {
		after, why = s.sideOf(last, room-int64(len(before)))
	}
	if why != "" {
		return "", "", why
	}
	return before, after, ""
}

// sideOf is a text, or why it can't be shown.
func (s *Session) sideOf(c drive.Content, room int64) (text, why string) {
	switch {
	case c.Why != "":
		return "", c.Why
	case c.SHA256 == "":
		return "", ""
	case c.Size > maxDiffed:
		return "", "it is too large to be compared here"
	case c.Size > room:
		return "", "what comes before it is as much as is compared here at once"
	}
	b, err := s.blobs.Get(c.SHA256)
	switch {
	case err != nil:
		return "", "its content can't be read: " + err.Error()
	case !utf8.Valid(b) || strings.ContainsRune(string(b), 0):
		return "", "it is not text"
	}
	return string(b), ""
}
