package drive

import (
	"slices"

	"varve/internal/session"
)

// Files are taken back and brought again by their recorded changes (BRN-8). A
// restore asks for the files as they were when the conversation stood at a
// point: what was changed behind that point is undone, by whichever branch,
// for the disk is shared. What was changed before it stays, though it may have
// been made on another branch, or left by an operation on the conversation
// alone: nothing is touched that was not changed in what is taken back.

// A Content is what was at a path. Without a hash and a reason there was no
// file.
type Content struct {
	SHA256 string
	Size   int64
	Why    string // why its bytes can't be had; without a hash nothing is known of them
}

// absent reports whether there was no file.
func (c Content) absent() bool { return c.SHA256 == "" && c.Why == "" }

// is reports whether a file on disk ("" for none) has this content.
func (c Content) is(sha string) bool { return (c.SHA256 != "" || c.Why == "") && c.SHA256 == sha }

// same reports whether two contents are known to be one.
func (c Content) same(o Content) bool { return (o.SHA256 != "" || o.Why == "") && c.is(o.SHA256) }

// A FileChange is one recorded change of a file.
type FileChange struct {
	At            session.Seq
	Path          string
	Before, After Content
	Mode          uint32 // after it; of a deleted file, before it

	// Planned is a change that a restore has planned and never said to be done:
	// its process died. Whether it happened is seen from what was there next.
	Planned bool
}

// OnDisk is what is at a path now.
type OnDisk struct {
	SHA256 string // "": no file
	Why    string // why it is not to be touched
}

// FilesTo says to what files are restored: as they were behind an event; or,
// with UndoOf, as they were before that restore, in what it did.
type FilesTo struct{ At, UndoOf session.Seq }

// What is done to a file.
const (
	WriteFile  = "write"
	DeleteFile = "delete"
	LeaveFile  = "leave"
)

// A FileStep is one file of a restore.
type FileStep struct {
	Path string
	Act  string
	Want Content
	Have string // the hash that the session left there, "" for no file
	Mode uint32 // of a file that is made
	Why  string // why it is left
}

// FilesAt is the event behind which the files were as an operation wants them:
// just before the message, just before the revert that is taken back, or where
// the fork begins. last is the last event of the branch, of any kind. What the
// operation would refuse is refused.
func FilesAt(f Family, op Operation, last session.Seq) (session.Seq, error) {
	if err := possible(f, op); err != nil {
		return 0, err
	}
	switch o := op.(type) {
	case Revert:
		return o.Message - 1, nil
	case RollBack:
		l, err := f.Label(o.Branch, o.Label)
		return l.At - 1, err
	case Fork:
		sel, err := f.Select(o.From)
		if err != nil {
			return 0, err
		}
		switch o.From.Select {
		case "before":
			return o.From.Seq - 1, nil
		case "through": // and what belongs to it
			at := o.From.Seq
			for it := range sel.View.All {
				at = max(at, it.ID.Seq)
			}
			return at, nil
		case "head":
			if q := o.From.Seq; q != 0 && q < f.State(o.Of()).Branch.Head {
				return q, nil
			}
			return last, nil
		}
	}
	return 0, session.ErrNoMessage
}

// PlanFiles decides a restore: one step for each file that has to be another,
// by path. Changes are in the order of the file. disk has every path that was
// changed behind the point.
//
// A file is written or deleted only where the disk still has what the session
// left there. It gets what was there before the first change behind the point;
// so what a person or a command did before that change stays.
func PlanFiles(changes []FileChange, at session.Seq, disk map[string]OnDisk) []FileStep {
	byPath := map[string][]FileChange{}
	var paths []string
	for _, c := range changes {
		if byPath[c.Path] == nil {
			paths = append(paths, c.Path)
		}
		byPath[c.Path] = append(byPath[c.Path], c)
	}
	slices.Sort(paths)
	var out []FileStep
	for _, path := range paths {
		if s, ok := planFile(happened(byPath[path], disk[path]), at, disk[path]); ok {
			s.Path = path
			out = append(out, s)
		}
	}
	return out
}

// happened leaves out what was only planned: if it was done, the next change
// began with its content, or else the disk has it.
func happened(all []FileChange, now OnDisk) []FileChange {
	next := Content{SHA256: now.SHA256, Why: now.Why}
	var out []FileChange
	for _, c := range slices.Backward(all) {
		if c.Planned && !c.After.same(next) {
			continue
		}
		out, next = append(out, c), c.Before
	}
	slices.Reverse(out)
	return out
}

func planFile(all []FileChange, at session.Seq, now OnDisk) (FileStep, bool) {
	i := slices.IndexFunc(all, func(c FileChange) bool { return c.At > at })
	if i < 0 {
		return FileStep{}, false
	}
	last := all[len(all)-1]
	want, have := all[i].Before, last.After
	s := FileStep{Act: LeaveFile, Want: want, Have: have.SHA256}
	switch {
	case want.same(have), now.Why == "" && want.is(now.SHA256):
		return s, false
	case now.Why != "":
		s.Why = now.Why
	case have.SHA256 == "" && have.Why != "":
		s.Why = have.Why
	case !have.is(now.SHA256):
		s.Why = WhyChanged
	case want.Why != "":
		s.Why = want.Why
	case want.absent():
		s.Act = DeleteFile
	default:
		s.Act, s.Mode = WriteFile, modeOf(all, i)
	}
	return s, true
}

// WhyChanged is why a file is left that is not as the session left it.
const WhyChanged = "changed since"

// modeOf is the mode of a file that has to be made again: what it had when it
// was deleted, or else at its last change before the i-th.
func modeOf(all []FileChange, i int) uint32 {
	if last := all[len(all)-1]; last.After.absent() && last.Mode != 0 {
		return last.Mode
	}
	for _, c := range slices.Backward(all[:i]) {
		if !c.After.absent() {
			return c.Mode
		}
	}
	return 0
}
