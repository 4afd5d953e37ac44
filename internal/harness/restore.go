package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"varve/internal/harness/drive"
	"varve/internal/harness/tools"
	"varve/internal/session"
)

// A Place is where a session's files are, on this machine.
type Place struct {
	StateDir  string
	Workspace string
	Protected []string // folders of the program, as in [tools.Config]
}

// Files is a restore of files: as planned, or as it was done.
type Files struct {
	Restore  session.Seq // the event that planned it; 0: there was nothing to do, or nothing was done yet
	Steps    []drive.FileStep
	Commands int // commands that ran in what is taken back, and may have changed more than was recorded
}

// ErrNoRestore says that no restore has that number.
var ErrNoRestore = errors.New("there is no such restore of files")

// FilesAt says to where an operation takes the files (see [drive.FilesAt]).
func (s *Session) FilesAt(op drive.Operation) (drive.FilesTo, error) {
	last := s.lastOf(op.Of())
	s.mu.RLock()
	defer s.mu.RUnlock()
	at, err := drive.FilesAt(s.fold, op, last)
	return drive.FilesTo{At: at}, err
}

// PlanFiles is what a restore would do now. Nothing is written.
func (s *Session) PlanFiles(ctx context.Context, p Place, to drive.FilesTo) (Files, error) {
	if err := s.CatchUp(); err != nil {
		return Files{}, err
	}
	box, err := tools.New(tools.Config{Workspace: p.Workspace, Protected: p.Protected, Blobs: s.blobs})
	if err != nil {
		return Files{}, err
	}
	defer box.Close()
	return s.planFiles(ctx, box, to)
}

// RestoreFiles restores files in a session that nobody here works on, and
// records it on the branch, whose run lock it holds meanwhile (LOG-14). A file
// that is not as the session left it is left alone, with the reason in its
// step (BRN-8).
func (s *Session) RestoreFiles(ctx context.Context, p Place, branch string, to drive.FilesTo) (Files, error) {
	h, err := take(ctx, p.StateDir, sessionName(s.path), branch)
	if err != nil {
		return Files{}, err
	}
	defer h.release()
	box, err := tools.New(tools.Config{Workspace: p.Workspace, Protected: p.Protected, Blobs: s.blobs})
	if err != nil {
		return Files{}, err
	}
	defer box.Close()
	return s.restoreFiles(ctx, box, branch, to)
}

// PlanFiles is what a restore would do now.
func (l *Local) PlanFiles(ctx context.Context, to drive.FilesTo) (Files, error) {
	if err := l.Session.CatchUp(); err != nil {
		return Files{}, err
	}
	return l.Session.planFiles(ctx, l.box, to)
}

// RestoreFiles restores files. One that is recorded on the branch that this
// process works on is done in its turn, while nothing runs there.
func (l *Local) RestoreFiles(ctx context.Context, branch string, to drive.FilesTo) (Files, error) {
	var out Files
	var err error
	if derr := l.loop.do(ctx, func() {
		mine := l.loop.held != nil && branch == l.Branch
		switch t := l.State().Branch.Turn; {
		case mine && t != nil && t.Run == l.run:
			err = drive.ErrBusy
		case mine:
			out, err = l.Session.restoreFiles(ctx, l.box, branch, to)
		default:
			out, err = l.Session.RestoreFiles(ctx, Place{l.opts.StateDir, l.opts.Workspace, l.opts.Tools.Protected}, branch, to)
		}
	}); derr != nil {
		return out, derr
	}
	return out, err
}

func (s *Session) planFiles(ctx context.Context, box *tools.Box, to drive.FilesTo) (Files, error) {
	past, err := s.filesPast()
	if err != nil {
		return Files{}, err
	}
	var out Files
	changes, at := past.changes, to.At
	if to.UndoOf != 0 {
		var ok bool
		if changes, ok = past.restores[to.UndoOf]; !ok {
			return Files{}, fmt.Errorf("restore %d: %w", to.UndoOf, ErrNoRestore)
		}
		at = 0
	} else {
		for _, c := range past.commands {
			if c.at > at {
				out.Commands++
			}
		}
	}
	disk := map[string]drive.OnDisk{}
	for _, c := range changes {
		if _, known := disk[c.Path]; !known && c.At > at {
			f := box.Find(ctx, c.Path)
			disk[c.Path] = drive.OnDisk{SHA256: f.SHA256, Why: f.Why}
		}
	}
	out.Steps = drive.PlanFiles(changes, at, disk)
	return out, ctx.Err()
}

// restoreFiles writes the plan down, does it, and writes down what was done.
// After a crash in between nothing happens by itself: the next plan sees from
// the disk what this one did.
func (s *Session) restoreFiles(ctx context.Context, box *tools.Box, branch string, to drive.FilesTo) (Files, error) {
	if err := s.CatchUp(); err != nil {
		return Files{}, err
	}
	switch ro := s.State(branch).Branch.ReadOnly; {
	case !slices.ContainsFunc(s.Limbs(), func(l session.Limb) bool { return l.Name == branch }):
		return Files{}, session.ErrNoBranch
	case ro == "branch.deleted":
		return Files{}, session.ErrDeleted
	case ro != "":
		return Files{}, drive.ErrReadOnly
	}
	out, err := s.planFiles(ctx, box, to)
	if err != nil || !slices.ContainsFunc(out.Steps, func(f drive.FileStep) bool { return f.Act != drive.LeaveFile }) {
		return out, err
	}
	planned := to.At
	if to.UndoOf != 0 {
		planned = to.UndoOf - 1
	}
	if err := s.note(ctx, branch, []session.Fact{plannedFiles(session.RestorePlanned{To: planned, UndoOf: to.UndoOf}, out.Steps)}); err != nil {
		return Files{}, err
	}
	if err := s.Sync(); err != nil { // the line before the effect (LOG-5)
		return Files{}, err
	}
	if out.Restore, err = s.lastPlan(branch); err != nil {
		return out, err
	}
	done, failed, changes := []string{}, []string{}, []tools.Change(nil)
	for i := range out.Steps {
		step := &out.Steps[i]
		if step.Act == drive.LeaveFile {
			continue
		}
		c, err := s.putBack(ctx, box, *step)
		if err != nil {
			step.Act, step.Why = drive.LeaveFile, err.Error()
			failed = append(failed, step.Path)
			continue
		}
		done, changes = append(done, step.Path), append(changes, c)
	}
	var facts []session.Fact
	if len(changes) > 0 {
		facts = append(facts, s.changed(changes, "restore", session.ItemID{}))
	}
	facts = append(facts, session.Fact{
		Event: session.RestoreFinished{Plan: out.Restore, Done: jsonText(0), Failed: jsonText(1)},
		Body:  []session.Part{jsonPart(done), jsonPart(failed)},
	})
	return out, s.note(context.WithoutCancel(ctx), branch, facts)
}

func (s *Session) putBack(ctx context.Context, box *tools.Box, step drive.FileStep) (tools.Change, error) {
	if ctx.Err() != nil {
		return tools.Change{}, errors.New("not done: it was stopped before")
	}
	if step.Act == drive.DeleteFile {
		return box.TakeAway(ctx, step.Path, step.Have)
	}
	b, err := s.blobs.Get(step.Want.SHA256)
	if err != nil {
		return tools.Change{}, fmt.Errorf("its content can't be read: %w", err)
	}
	return box.PutBack(ctx, step.Path, step.Have, b, step.Mode)
}

// note records facts that nothing of a branch can make wrong.
func (s *Session) note(ctx context.Context, branch string, facts []session.Fact) error {
	for tries := 0; ; tries++ {
		err := s.Record(ctx, branch, s.State(branch).Branch.Head, facts)
		if !errors.Is(err, ErrConflict) || tries == 9 {
			return err
		}
	}
}

// lastPlan is the newest restore that a branch has planned.
func (s *Session) lastPlan(branch string) (session.Seq, error) {
	for q := s.Head(); q > 0; q-- {
		if e, err := s.Entry(q); err == nil && e.Branch == branch {
			if _, ok := e.Event.(session.RestorePlanned); ok {
				return q, nil
			}
		}
	}
	return 0, ErrNoRestore
}

// plannedFiles is the line that says what a restore is going to do.
func plannedFiles(ev session.RestorePlanned, steps []drive.FileStep) session.Fact {
	list, body := make([]session.RestoreEntry, len(steps)), make([]session.Part, 1)
	for i, f := range steps {
		list[i] = session.RestoreEntry{Path: f.Path, Have: f.Have, Act: f.Act, Why: f.Why}
		if f.Want.SHA256 != "" && f.Want.Why == "" {
			n := len(body)
			list[i].Want = &n
			body = append(body, session.Part{Ref: &session.Ref{SHA256: f.Want.SHA256, MediaType: "application/octet-stream", Size: f.Want.Size}})
		}
	}
	body[0] = jsonPart(list)
	ev.N, ev.Entries = len(list), jsonText(0)
	return session.Fact{Event: ev, Body: body}
}

func jsonText(b int) session.Text { return session.Text{B: b, MediaType: "application/json"} }

func jsonPart(v any) session.Part {
	b, err := json.Marshal(v)
	if err != nil {
		panic("harness: internal error: " + err.Error())
	}
	return session.Part{Bytes: b, MediaType: "application/json"}
}
