package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"varve/internal/harness"
	"varve/internal/harness/drive"
	"varve/internal/session"
	"varve/internal/tui"
)

// What the browser does to sessions, on the screen or not (BRW-3): as the
// commands of the shell do, and in the loop of the one on the screen.

var errShown = errors.New("it is on the screen: go to another one first, to delete it")

// idle is why nothing can be done to a branch now: its turn runs here or
// elsewhere.
func (d *desk) idle(x seat, branch string) error {
	t := x.s.State(branch).Branch.Turn
	switch {
	case t == nil:
		return nil
	case branch == x.here() && x.local.Ours():
		return drive.ErrBusy
	case harness.Held(d.m.folders.State, strings.TrimSuffix(lastPart(x.s.Path()), ".jsonl"), branch):
		return drive.ErrHeld
	}
	return nil
}

func (d *desk) place(s *harness.Session) harness.Place {
	return harness.Place{
		StateDir: d.m.folders.State, Workspace: s.State(session.MainBranch).Session.Workspace,
		Protected: []string{d.m.folders.Config, d.m.folders.Data, d.m.folders.State},
	}
}

// PlanAt says what an operation would do to files.
func (d *desk) PlanAt(ctx context.Context, id string, op drive.Operation) (tui.FilePlan, error) {
	x, err := d.sit(ctx, id)
	if err != nil {
		return tui.FilePlan{}, err
	}
	defer x.done()
	if _, fork := op.(drive.Fork); !fork {
		if err := d.idle(x, op.Of()); err != nil {
			return tui.FilePlan{}, err
		}
	}
	var to drive.FilesTo
	if o, ok := op.(tui.FilesBack); ok {
		to.UndoOf = o.Restore
	} else if to, err = x.s.FilesAt(op); err != nil {
		return tui.FilePlan{}, err
	}
	var files harness.Files
	p := d.place(x.s)
	if x.local != nil {
		files, err = x.local.PlanFiles(ctx, to)
	} else {
		files, err = x.s.PlanFiles(ctx, p, to)
	}
	if errors.Is(err, harness.ErrNoRestore) || ctx.Err() != nil {
		return tui.FilePlan{}, err
	}
	out := filePlan(files, to, p.Workspace)
	if err != nil {
		out.Fault = err.Error()
	}
	if o, ok := op.(drive.RollBack); ok {
		out.There = backAt(x.s, x.s.State(o.Branch).Branch.Head, o.Label)
	}
	return out, nil
}

// OperateAt does a branch operation.
func (d *desk) OperateAt(ctx context.Context, id string, op drive.Operation) (tui.Operated, error) {
	x, err := d.sit(ctx, id)
	if err != nil {
		return tui.Operated{}, err
	}
	defer x.done()
	if _, fork := op.(drive.Fork); !fork {
		if err := d.idle(x, op.Of()); err != nil {
			return tui.Operated{}, err
		}
	}
	text := ""
	switch o := op.(type) {
	case drive.Delete:
		if o.Branch == x.here() {
			return tui.Operated{}, errShown
		}
	case drive.Revert:
		text = textAt(x.s, o.Message)
	}
	var out harness.Outcome
	if x.local != nil {
		out, err = x.local.Operate(ctx, op)
	} else {
		out, err = x.s.Operate(ctx, d.m.folders.State, op)
	}
	if err != nil {
		return tui.Operated{}, err
	}
	return tui.Operated{
		ID: d.Identity(), Branch: out.Branch, Label: out.Label, Text: text, Held: len(x.s.State(out.Branch).Branch.Queue) > 0,
	}, nil
}

// textAt is the text of a message, "" where it can't be read.
func textAt(s *harness.Session, q session.Seq) string {
	if it, ok := s.Item(q.Item()); ok {
		if b, err := s.Text(it); err == nil {
			return string(b)
		}
	}
	return ""
}

// RestoreAt restores files, and records it on a branch.
func (d *desk) RestoreAt(ctx context.Context, id, branch string, to drive.FilesTo) (tui.FilePlan, error) {
	x, err := d.sit(ctx, id)
	if err != nil {
		return tui.FilePlan{}, err
	}
	defer x.done()
	var files harness.Files
	p := d.place(x.s)
	if x.local != nil {
		files, err = x.local.RestoreFiles(ctx, branch, to)
	} else {
		files, err = x.s.RestoreFiles(ctx, p, branch, to)
	}
	return filePlan(files, to, p.Workspace), err
}

// RenameAt gives a session a title.
func (d *desk) RenameAt(ctx context.Context, id, branch, title string) error {
	x, err := d.sit(ctx, id)
	if err != nil {
		return err
	}
	defer x.done()
	if err := d.idle(x, branch); err != nil {
		return err
	}
	if x.local != nil {
		return said(x.local.Submit(ctx, drive.Rename{Title: []byte(title)}))
	}
	return rename(ctx, x.s, title)
}

// ExportAt writes a branch to a file: below the workspace, where its path does not
// begin with a root.
func (d *desk) ExportAt(ctx context.Context, id, branch, file string) (string, error) {
	x, err := d.sit(ctx, id)
	if err != nil {
		return "", err
	}
	defer x.done()
	if err := d.idle(x, branch); err != nil {
		return "", err
	}
	if rest, ok := strings.CutPrefix(file, "~/"); ok {
		file = filepath.Join(d.Identity().Home, rest)
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(d.workspace(), file)
	}
	var told bytes.Buffer
	err = (&exportFlags{branch: branch, out: file}).export(&env{out: io.Discard, err: &told}, x.s)
	return strings.TrimSpace(told.String()), err
}

// RemoveAt removes a session's file.
func (d *desk) RemoveAt(ctx context.Context, id string) error {
	x, err := d.sit(ctx, id)
	if err != nil {
		return err
	}
	defer x.done()
	if x.local != nil {
		return errShown
	}
	return x.s.Remove(ctx, d.m.folders.State)
}

func fileSize(path string) int64 {
	st, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return st.Size()
}
