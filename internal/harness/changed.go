package harness

import (
	"varve/internal/harness/drive"
	"varve/internal/harness/tools"
	"varve/internal/session"
)

// changed records file changes with the content before and after (BRN-8).
func (s *Session) changed(changes []tools.Change, by string, call session.ItemID) session.Fact {
	f := session.Fact{Body: make([]session.Part, 1)}
	ref := func(sha string) *int {
		size, err := s.blobs.Size(sha)
		if sha == "" || err != nil {
			return nil // there was no file, or the reason is in MissingWhy
		}
		f.Body = append(f.Body, session.Part{Ref: &session.Ref{SHA256: sha, MediaType: "application/octet-stream", Size: size}})
		n := len(f.Body) - 1
		return &n
	}
	list := make([]session.FileChange, len(changes))
	for i, c := range changes {
		list[i] = session.FileChange{
			Path: c.Path, Op: c.Op, Mode: c.Mode, MissingWhy: c.MissingWhy,
			Before: ref(c.Before), After: ref(c.After),
		}
	}
	f.Body[0] = jsonPart(list)
	f.Event = session.FilesChanged{By: by, Call: call, N: len(list), Changes: jsonText(0)}
	return f
}

// A moment is how far the log was known when a command began.
type moment struct {
	head   session.Seq
	others uint64
}

func (s *Session) moment() moment { return moment{s.Head(), s.foreign()} }

// unrecorded leaves out of what a command has changed what other windows have
// recorded since it began: no change is recorded twice. Where they and the
// command changed the same file, its change is from what they left.
func (s *Session) unrecorded(changes []tools.Change, from moment) []tools.Change {
	if len(changes) == 0 || s.CatchUp() != nil || s.foreign() == from.others {
		return changes
	}
	left, sizes := map[string]string{}, sizes{s, map[string]drive.Content{}}
	for after := from.head; ; {
		entries, err := s.Entries(after, 1000)
		if err != nil || len(entries) == 0 {
			break
		}
		after = entries[len(entries)-1].Seq
		for _, e := range entries {
			ev, ok := e.Event.(session.FilesChanged)
			if !ok {
				continue
			}
			list, err := sizes.changed(e, ev)
			if err != nil {
				continue // what can't be read may be told twice; a plan will say so
			}
			for _, c := range list {
				left[c.Path] = c.After.SHA256
			}
		}
	}
	var out []tools.Change
	for _, c := range changes {
		sha, ok := left[c.Path]
		if ok && sha == c.After && c.MissingWhy == "" {
			continue
		}
		if ok && sha != "" {
			if c.Before = sha; c.Op == tools.Created {
				c.Op = tools.Modified
			}
		}
		out = append(out, c)
	}
	return out
}
