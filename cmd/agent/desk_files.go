package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"varve/internal/harness"
	"varve/internal/harness/drive"
	"varve/internal/session"
	"varve/internal/tui"
)

// Files that go along with branch operations (BRN-8).

// PlanFiles says what an operation would do to files.
func (d *desk) PlanFiles(ctx context.Context, op drive.Operation) (tui.FilePlan, error) {
	return d.PlanAt(ctx, "", op)
}

// RestoreFiles restores files, and records it on the branch that is open.
func (d *desk) RestoreFiles(ctx context.Context, to drive.FilesTo) (tui.FilePlan, error) {
	l, err := d.at(ctx)
	if err != nil {
		return tui.FilePlan{}, err
	}
	return d.RestoreAt(ctx, "", l.Branch, to)
}

func filePlan(f harness.Files, to drive.FilesTo, workspace string) tui.FilePlan {
	out := tui.FilePlan{To: to, Restore: f.Restore, Steps: slices.Clone(f.Steps), Commands: f.Commands}
	for i := range out.Steps {
		out.Steps[i].Path = within(out.Steps[i].Path, workspace)
	}
	return out
}

// within is a path as it is called in a workspace.
func within(path, workspace string) string {
	if rel, ok := strings.CutPrefix(path, workspace+"/"); ok {
		return rel
	}
	return path
}

// backAt reports whether a head is where the revert of a label was taken back.
func backAt(s *harness.Session, head session.Seq, label string) bool {
	e, err := s.Entry(head)
	if err != nil {
		return false
	}
	ev, ok := e.Event.(session.BranchRolledBack)
	return ok && ev.Label == label
}

// Restores lists the restores of files, newest first.
func (d *desk) Restores(ctx context.Context) ([]tui.Restore, error) {
	l, err := d.at(ctx)
	if err != nil {
		return nil, err
	}
	return restores(l.Session)
}

// restores are those of a session, newest first.
func restores(s *harness.Session) ([]tui.Restore, error) {
	all, err := s.Restores()
	now := time.Now()
	when := map[session.Seq]string{}
	var out []tui.Restore
	for _, x := range all {
		when[x.Plan] = clockTime(x.At, now)
		r := tui.Restore{
			Plan: x.Plan, Branch: x.Branch, When: when[x.Plan], Age: ago(x.At, now), Of: when[x.UndoOf],
			Done: x.Done, Failed: x.Failed, Finished: x.Finished,
		}
		// What was taken back counts again, when that is taken back.
		for of, back := x, true; of.UndoOf != 0 && x.Done > 0; back = !back {
			i := slices.IndexFunc(all, func(o harness.Restored) bool { return o.Plan == of.UndoOf })
			if i < 0 {
				break
			}
			of, out[i].Back = all[i], back
		}
		out = append(out, r)
	}
	slices.Reverse(out)
	return out, err
}

// clockTime is when something was: the time of a day, and the day where that is
// another one.
func clockTime(t, now time.Time) string {
	t, now = t.Local(), now.Local()
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format("15:04")
	}
	return t.Format("2 Jan 15:04")
}
