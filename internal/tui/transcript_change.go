package tui

import (
	"encoding/json"
	"unicode/utf8"

	"varve/internal/session"
	"varve/internal/tui/plain"
	"varve/internal/words"
)

// Sides are those of a file that a call changed, before and after. They stand in
// the content store, and are fetched when the row is visible.
type sides struct{ before, after source }

// mostSide is the size of a file whose change is shown as it was made; of a
// larger one what was asked for is shown.
const mostSide = 256 << 10

// changesOf is the list of what was changed.
func changesOf(e session.Entry, ev session.FilesChanged) []session.FileChange {
	var out []session.FileChange
	p, err := e.Part(ev.Changes.B)
	if err == nil && p.Ref != nil { // a list that long is not shown
		return []session.FileChange{{Op: "change", Path: words.Count(ev.N, "file")}}
	}
	if err == nil {
		err = json.Unmarshal(p.Bytes, &out)
	}
	if err != nil {
		return []session.FileChange{{Op: "change", Path: "the list can't be read: " + words.OneLine(err.Error())}}
	}
	return out
}

// changedWords say who changed files, where no call did.
func changedWords(ev session.FilesChanged) string {
	if ev.By == "restore" {
		return words.Count(ev.N, "file") + " restored."
	}
	return words.Count(ev.N, "file") + " changed (" + plain.Clean(ev.By) + ")."
}

// restored is the row of what a restore of files could not do, or that it did
// nothing; what it did is another event.
func restored(e session.Entry, ev session.RestoreFinished) *row {
	list := func(b int) (paths []string, err error) {
		p, err := e.Part(b)
		if err == nil && p.Ref != nil { // a list that long is not shown
			return []string{"a long list of files"}, nil
		}
		if err == nil {
			err = json.Unmarshal(p.Bytes, &paths)
		}
		return paths, err
	}
	r := &row{kind: rowNotice, ink: inkWarn}
	done, err := list(ev.Done.B)
	var failed []string
	if err == nil {
		failed, err = list(ev.Failed.B)
	}
	switch {
	case err != nil:
		r.head = "Files were restored; the list can't be read: " + plain.Clean(words.OneLine(err.Error()))
	case len(failed) > 0:
		r.head = words.Count(len(failed), "file") + " could not be restored."
		for _, path := range failed {
			r.files = append(r.files, session.FileChange{Op: "left", Path: path})
		}
	case len(done) == 0:
		r.head = "No file was restored."
	default:
		return nil
	}
	return r
}

// sidesOf are the sides of the one file that was changed, nil where they can't
// be had or are large.
func sidesOf(e session.Entry, files []session.FileChange) *sides {
	if len(files) != 1 || files[0].MissingWhy != "" {
		return nil
	}
	side := func(at *int) (source, bool) {
		if at == nil {
			return source{at: e.Seq, b: -1}, true // there was no file
		}
		p, err := e.Part(*at)
		s := sourceOf(e.Seq, *at, p, err)
		return s, s.broken == "" && max(s.size, int64(len(s.text))) <= mostSide
	}
	before, ok := side(files[0].Before)
	after, ok2 := side(files[0].After)
	if !ok || !ok2 || files[0].Before == nil && files[0].After == nil {
		return nil
	}
	return &sides{before, after}
}

// made are the two sides, once both are there.
func (r *row) made() (before, after string, ok bool) {
	c := r.sides
	if c == nil || c.before.missing || c.after.missing || c.before.broken != "" || c.after.broken != "" ||
		!utf8.ValidString(c.before.text) || !utf8.ValidString(c.after.text) {
		return "", "", false
	}
	return c.before.text, c.after.text, true
}

// sources are the texts that the row draws.
func (r *row) sources() []*source {
	out := append(make([]*source, 0, 4), &r.src, &r.out)
	if r.sides != nil && r.state == callDone && changesFiles(r.name) {
		out = append(out, &r.sides.before, &r.sides.after)
	}
	return out
}
