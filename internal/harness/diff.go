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

// maxDiffed is the largest side of a change that is given to be looked at, in
// bytes.
const maxDiffed = 1 << 20

// maxDiffedAll is how much is given in all, in bytes: who asks keeps every text.
const maxDiffedAll = 32 << 20

// Changes lists what a session has changed in files that is not taken back, by
// path (BRN-8). What is done to files is the folder's, whatever branch did it.
// Commands is how many ran that may have changed more than was recorded.
func (l *Local) Changes(ctx context.Context) (files []ChangedFile, commands int, err error) {
	if err := l.Session.CatchUp(); err != nil {
		return nil, 0, err
	}
	return l.Session.changes(ctx, l.box.Find)
}

func (s *Session) changes(ctx context.Context, find func(context.Context, string) tools.Found) ([]ChangedFile, int, error) {
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
	left := int64(maxDiffedAll)
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
		had := left
		f.Before, f.Why = s.sideOf(n.first, &left)
		if f.Why == "" {
			f.After, f.Why = s.sideOf(n.last, &left)
		}
		if f.Why != "" {
			f.Before, f.After, left = "", "", had
		}
		now := find(ctx, p)
		f.Since = now.Why != "" || n.last.Why == "" && now.SHA256 != n.last.SHA256
		out = append(out, f)
	}
	return out, len(past.commands), nil
}

// sideOf is a text, or why it can't be shown. left is how many bytes may still be
// given; a text that is given is taken off.
func (s *Session) sideOf(c drive.Content, left *int64) (text, why string) {
	switch {
	case c.Why != "":
		return "", c.Why
	case c.SHA256 == "":
		return "", ""
	case c.Size > maxDiffed:
		return "", "it is too large to be compared here"
	case c.Size > *left:
		return "", "the files before it are as much as is compared at once"
	}
	b, err := s.blobs.Get(c.SHA256)
	switch {
	case err != nil:
		return "", "its content can't be read: " + err.Error()
	case !utf8.Valid(b) || strings.ContainsRune(string(b), 0):
		return "", "it is not text"
	}
	*left -= int64(len(b))
	return string(b), ""
}
