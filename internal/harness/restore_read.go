package harness

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"varve/internal/harness/drive"
	"varve/internal/session"
)

// A filesPast is what the log says of files.
type filesPast struct {
	changes  []drive.FileChange                 // in the order of the file
	restores map[session.Seq][]drive.FileChange // what each restore did, by the event that planned it
	commands []command                          // those that may have changed more than was recorded
}

// A command is one of the model's or the user's.
type command struct {
	at   session.Seq
	call session.ItemID // of the model's
}

// filesPast reads the changes of files. Only lines of a few types are decoded
// (LOG-10); one that can't be read is an error: a plan without it would be a
// guess.
func (s *Session) filesPast() (filesPast, error) {
	past := filesPast{restores: map[session.Seq][]drive.FileChange{}}
	made := map[string][]drive.FileChange{} // the last change of each branch that a restore made
	said := map[session.Seq]bool{}          // restores that are said to be done
	sizes := sizes{s, map[string]drive.Content{}}
	watched := func(call session.ItemID, yes bool) {
		if yes {
			past.commands = slices.DeleteFunc(past.commands, func(c command) bool { return c.call == call })
		}
	}
	err := s.scan(func(e session.Entry) error {
		switch ev := e.Event.(type) {
		case session.FilesChanged:
			list, err := sizes.changed(e, ev)
			if err != nil {
				return err
			}
			past.changes = append(past.changes, list...)
			if ev.By == "restore" {
				made[e.Branch] = list
			}
		case session.RestorePlanned:
			list, err := sizes.planned(e, ev)
			if err != nil {
				return err
			}
			past.changes = append(past.changes, list...)
			past.restores[e.Seq] = list
			delete(made, e.Branch)
		case session.RestoreFinished:
			said[ev.Plan] = true
			past.restores[ev.Plan] = made[e.Branch]
		case session.ToolStarted:
			if slices.Contains(ev.Effects, "exec") {
				past.commands = append(past.commands, command{e.Seq, ev.Call})
			}
		case session.ToolFinished:
			watched(ev.Call, ev.Watched)
		case session.ToolInterrupted:
			watched(ev.Call, ev.Watched)
		case session.ShellRan:
			if !ev.Watched {
				past.commands = append(past.commands, command{at: e.Seq})
			}
		}
		return nil
	})
	past.changes = slices.DeleteFunc(past.changes, func(c drive.FileChange) bool { return c.Planned && said[c.At] })
	return past, err
}

// scan visits the entries that say something of files.
func (s *Session) scan(visit func(session.Entry) error) error {
	s.mu.RLock()
	lines, f := s.lines, s.file
	s.mu.RUnlock()
	for _, l := range lines {
		raw, err := f.Read(l)
		if err != nil {
			return err
		}
		if env, ok := session.Scan(raw); ok {
			switch string(env.Type) {
			case "files.changed", "restore.planned", "restore.finished", "tool.started", "shell.ran":
			case "tool.finished", "tool.interrupted":
				if !bytes.Contains(env.Data, []byte(`"watched":true`)) {
					continue
				}
			default:
				continue
			}
		}
		e, err := session.Decode(raw)
		if err == nil {
			err = visit(e)
		}
		if err != nil {
			return fmt.Errorf("event %d: %w", l.Seq, err)
		}
	}
	return nil
}

// lastOf is the last event of a branch, of any kind.
func (s *Session) lastOf(branch string) session.Seq {
	for q := s.Head(); q > 0; q-- {
		if e, err := s.Entry(q); err == nil && e.Branch == branch {
			return q
		}
	}
	return 0
}

// sizes finds out which contents can be had, each once.
type sizes struct {
	s     *Session
	known map[string]drive.Content
}

func (z sizes) of(sha string) drive.Content {
	c, ok := z.known[sha]
	if ok || sha == "" {
		return c
	}
	c.SHA256 = sha
	var err error
	if c.Size, err = z.s.blobs.Size(sha); err != nil {
		c.Why = "its content is not kept any more"
	}
	z.known[sha] = c
	return c
}

// list reads a JSON list of the body, and the hashes that the body refers to.
func (z sizes) list(e session.Entry, at int, into any) (func(*int) drive.Content, error) {
	parts, err := e.Parts()
	if err != nil {
		return nil, err
	}
	if at < 0 || at >= len(parts) {
		return nil, fmt.Errorf("there is no body entry %d", at)
	}
	b, err := z.s.Bytes(parts[at])
	if err != nil {
		return nil, err
	}
	return func(n *int) drive.Content {
		switch {
		case n == nil || *n < 0 || *n >= len(parts):
			return drive.Content{Why: "its content was not kept"}
		case parts[*n].Ref == nil:
			return drive.Content{Why: "its content is in no store"}
		}
		return z.of(parts[*n].Ref.SHA256)
	}, json.Unmarshal(b, into)
}

func (z sizes) changed(e session.Entry, ev session.FilesChanged) ([]drive.FileChange, error) {
	var list []session.FileChange
	content, err := z.list(e, ev.Changes.B, &list)
	if err != nil {
		return nil, err
	}
	out := make([]drive.FileChange, len(list))
	for i, c := range list {
		out[i] = drive.FileChange{At: e.Seq, Path: c.Path, Mode: c.Mode, Before: content(c.Before), After: content(c.After)}
		for _, side := range []struct {
			at      *int
			none    string // the op before or after which there is no file
			content *drive.Content
		}{{c.Before, "create", &out[i].Before}, {c.After, "delete", &out[i].After}} {
			switch {
			case side.at == nil && c.Op == side.none:
				*side.content = drive.Content{}
			case side.at == nil && c.MissingWhy != "":
				side.content.Why = c.MissingWhy
			}
		}
	}
	return out, nil
}

func (z sizes) planned(e session.Entry, ev session.RestorePlanned) ([]drive.FileChange, error) {
	var list []session.RestoreEntry
	content, err := z.list(e, ev.Entries.B, &list)
	if err != nil {
		return nil, err
	}
	var out []drive.FileChange
	for _, r := range list {
		c := drive.FileChange{At: e.Seq, Path: r.Path, Before: z.of(r.Have), Planned: true}
		switch r.Act {
		case drive.WriteFile:
			c.After = content(r.Want)
		case drive.LeaveFile:
			continue
		}
		out = append(out, c)
	}
	return out, nil
}

// A Restored is a restore of files that was recorded.
type Restored struct {
	Plan     session.Seq // the event that planned it
	Branch   string
	At       time.Time
	UndoOf   session.Seq // the restore that it took back, 0 for none
	Done     int         // files
	Failed   int
	Finished bool // its process lived to say what was done
}

// Restores lists the restores of files of every branch, oldest first.
func (s *Session) Restores() ([]Restored, error) {
	var out []Restored
	err := s.scan(func(e session.Entry) error {
		switch ev := e.Event.(type) {
		case session.RestorePlanned:
			out = append(out, Restored{Plan: e.Seq, Branch: e.Branch, At: e.At, UndoOf: ev.UndoOf})
		case session.RestoreFinished:
			i := slices.IndexFunc(out, func(r Restored) bool { return r.Plan == ev.Plan })
			if i < 0 {
				return nil
			}
			for _, list := range []struct {
				at int
				n  *int
			}{{ev.Done.B, &out[i].Done}, {ev.Failed.B, &out[i].Failed}} {
				var paths []string
				p, err := e.Part(list.at)
				if err != nil {
					return err
				}
				b, err := s.Bytes(p)
				if err == nil {
					err = json.Unmarshal(b, &paths)
				}
				if err != nil {
					return err
				}
				*list.n = len(paths)
			}
			out[i].Finished = true
		}
		return nil
	})
	return out, err
}
