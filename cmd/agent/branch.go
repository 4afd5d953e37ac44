package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"varve/internal/harness"
	"varve/internal/harness/drive"
	"varve/internal/session"
	"varve/internal/words"
)

// What the commands of branches want to be told.
const (
	whichItem  = "from which message? Give its number, or `head`; `agent session show ID` has them"
	whichLabel = "which revert? Give its label (v1, v2, …); `agent session tree ID` has them"
)

// branchCommands go to points of a session and back (BRN).
func branchCommands(e *env, f *flags, asJSON *bool) []*cobra.Command {
	var branch string
	var before bool
	w := way{e: e, f: f, asJSON: asJSON, branch: &branch}
	of := func(c *cobra.Command) *cobra.Command {
		c.Flags().StringVar(&branch, "branch", "", "the branch (default: the last used)")
		return c
	}
	withFiles := func(c *cobra.Command) *cobra.Command {
		c.Flags().StringVar(&w.files, "files", "conversation", "what goes there: conversation, files or both")
		c.Flags().BoolVar(&w.preview, "preview", false, "with --files: say what would be done to files, and do nothing")
		return of(c)
	}
	fork := withFiles(&cobra.Command{
		Use: "fork ID [ITEM]", Short: "Begin a branch from a message, or from the end", Args: takes(1, whichSession, whichItem),
		Example: "  agent session fork 01a2 14 --before",
		RunE: func(c *cobra.Command, args []string) error {
			ref := session.Reference{Select: "head"}
			if len(args) == 2 && args[1] != "head" {
				q, err := itemNumber(args[1])
				if err != nil {
					return err
				}
				ref.Seq, ref.Select = q, "through"
				if before {
					ref.Select = "before"
				}
			}
			return w.operate(c, args[0], func(s *harness.Session, b string) (drive.Operation, error) {
				ref.Branch = b
				return drive.Fork{From: ref}, nil
			}, func(_ *harness.Session, out harness.Outcome) told {
				return told{
					json: map[string]any{"branch": out.Branch}, out: out.Branch,
					err: fmt.Sprintf("To go on there: `agent run --session %s --branch %s \"…\"`, or `agent resume %s`, which opens what was used last.", args[0], out.Branch, args[0]),
				}
			})
		},
	})
	fork.Flags().BoolVar(&before, "before", false, "end just before the message")
	revert := withFiles(&cobra.Command{
		Use: "revert ID ITEM", Short: "Go back to before a message of yours; it can be taken back", Args: takes(2, whichSession, whichItem),
		RunE: func(c *cobra.Command, args []string) error {
			q, err := itemNumber(args[1])
			if err != nil {
				return err
			}
			text := ""
			return w.operate(c, args[0], func(s *harness.Session, b string) (drive.Operation, error) {
				if it, ok := s.Item(q.Item()); ok {
					if words, err := s.Text(it); err == nil {
						text = string(words)
					}
				}
				return drive.Revert{Branch: b, Message: q, Preview: []byte(words.OneLine(text))}, nil
			}, func(_ *harness.Session, out harness.Outcome) told {
				how, back := "; files are as they were", ""
				if w.files == "both" {
					how, back = "", " --files both"
				}
				return told{
					json: map[string]any{"label": out.Label}, out: out.Label,
					err: fmt.Sprintf("Back to before %q%s. `agent session rollback %s %s%s` takes it back.", words.OneLine(text), how, args[0], out.Label, back),
				}
			})
		},
	})
	rollback := withFiles(&cobra.Command{
		Use: "rollback ID LABEL", Short: "Take a revert back, exactly; or a restore of files, by its number", Args: takes(2, whichSession, whichLabel),
		RunE: func(c *cobra.Command, args []string) error {
			return w.operate(c, args[0], func(_ *harness.Session, b string) (drive.Operation, error) {
				if q, err := strconv.ParseUint(args[1], 10, 64); err == nil && q != 0 {
					if w.files != "files" {
						return nil, exit(exitUsage, "%s is no revert's label; a restore of files is taken back with --files files", args[1])
					}
					return restored{b, session.Seq(q)}, nil
				}
				return drive.RollBack{Branch: b, Label: args[1]}, nil
			}, func(s *harness.Session, out harness.Outcome) told {
				return told{
					json: map[string]any{"branch": out.Branch, "head": s.State(out.Branch).Branch.Head},
					err:  fmt.Sprintf("%s is where %s left it. What waited in its queue is held until you send it.", out.Branch, args[1]),
				}
			})
		},
	})
	tree := &cobra.Command{
		Use: "tree ID", Short: "Show the branches of a session and their reverts", Args: takes(1, whichSession),
		RunE: func(c *cobra.Command, args []string) error {
			return withSession(e, f, args[0], func(_ *machine, s *harness.Session) error { return showTree(e.out, s, *asJSON) })
		},
	}
	return []*cobra.Command{tree, fork, revert, rollback, deleteCommand(&w, of)}
}

func itemNumber(s string) (session.Seq, error) {
	q, err := strconv.ParseUint(s, 10, 64)
	if err != nil || q == 0 {
		return 0, exit(exitUsage, "%q is no message's number; `agent session show ID` has them", s)
	}
	return session.Seq(q), nil
}

// restored asks that a restore of files is taken back.
type restored struct {
	branch  string
	restore session.Seq
}

// Of is the branch that it is recorded on.
func (r restored) Of() string { return r.branch }

// told is what an operation says: a line of its result, and one for people.
type told struct {
	json     map[string]any
	out, err string
}

// A way is how operations are done: with files or without.
type way struct {
	e       *env
	f       *flags
	asJSON  *bool
	branch  *string
	files   string
	preview bool
}

// operate does one operation on a session's file, and what is asked of files:
// what can't be taken back is said before anything is done.
func (w *way) operate(c *cobra.Command, id string, ask func(*harness.Session, string) (drive.Operation, error), tell func(*harness.Session, harness.Outcome) told) error {
	withFiles := w.files != "conversation"
	switch {
	case withFiles && w.files != "files" && w.files != "both":
		return exit(exitUsage, "--files %s: it is conversation, files or both", w.files)
	case w.preview && !withFiles:
		return exit(exitUsage, "--preview says what would be done to files: it needs --files files or --files both")
	}
	m, err := warned(w.e, w.f)
	if err != nil {
		return err
	}
	path, err := m.find(id)
	if err != nil {
		return err
	}
	if withFiles {
		if err := m.follow(path); err != nil {
			return err
		}
	}
	s, err := m.open(path)
	if err != nil {
		return err
	}
	defer s.Close()
	out := harness.Outcome{Branch: *w.branch}
	if out.Branch == "" {
		out.Branch = s.LastBranch()
	}
	op, err := ask(s, out.Branch)
	if err != nil {
		return err
	}
	place := harness.Place{StateDir: m.folders.State, Workspace: m.workspace, Protected: []string{m.folders.Config, m.folders.Data, m.folders.State}}
	var to drive.FilesTo
	if withFiles {
		if r, ok := op.(restored); ok {
			to.UndoOf = r.restore
		} else if to, err = s.FilesAt(op); err != nil {
			return operationErr(err, out.Branch)
		}
		plan, err := s.PlanFiles(c.Context(), place, to)
		if err != nil {
			return operationErr(err, out.Branch)
		}
		if plan.Commands > 0 {
			fmt.Fprintf(w.e.err, "%s in what is taken back may have changed more than was recorded: that is not taken back.\n", words.Count(plan.Commands, "command"))
		}
		if w.preview {
			w.say(told{}, &plan, m.workspace)
			return nil
		}
	}
	var said told
	if r, ok := op.(drive.RollBack); ok && w.files != "files" && backAt(s, s.State(r.Branch).Branch.Head, r.Label) {
		said = told{
			json: map[string]any{"branch": r.Branch, "head": s.State(r.Branch).Branch.Head, "already": true},
			err:  fmt.Sprintf("%s was taken back already, and nothing has changed since: the conversation is as it was.", r.Label),
		}
	} else if w.files != "files" {
		if out, err = s.Operate(c.Context(), m.folders.State, op); err != nil {
			return operationErr(err, op.Of())
		}
		said = tell(s, out)
	}
	if !withFiles {
		w.say(said, nil, "")
		return nil
	}
	files, err := s.RestoreFiles(c.Context(), place, out.Branch, to)
	if files.Restore != 0 && w.files == "files" {
		said.err = fmt.Sprintf("The conversation is as it was. `agent session rollback %s %d --files files` takes this back.", id, files.Restore)
	}
	if err != nil && files.Restore == 0 {
		w.say(said, nil, "")
		return operationErr(err, out.Branch)
	}
	w.say(said, &files, m.workspace)
	if err != nil {
		return operationErr(err, out.Branch)
	}
	return nil
}

// say prints what was done, and of files what would be done where it is a
// preview.
func (w *way) say(t told, files *harness.Files, workspace string) {
	var lines []string
	if files != nil {
		written, deleted, left := []string{}, []string{}, []map[string]string{}
		verbs := map[string]string{drive.WriteFile: "wrote ", drive.DeleteFile: "deleted ", drive.LeaveFile: "left "}
		if w.preview {
			verbs = map[string]string{drive.WriteFile: "write ", drive.DeleteFile: "delete ", drive.LeaveFile: "leave "}
		}
		for _, f := range files.Steps {
			name := within(f.Path, workspace)
			line := verbs[f.Act] + words.OneLine(name)
			switch f.Act {
			case drive.WriteFile:
				written = append(written, name)
			case drive.DeleteFile:
				deleted = append(deleted, name)
			default:
				left, line = append(left, map[string]string{"path": name, "why": f.Why}), line+": "+words.OneLine(f.Why)
			}
			lines = append(lines, line)
		}
		if t.json == nil {
			t.json = map[string]any{}
		}
		t.json["files"] = map[string]any{"restore": files.Restore, "written": written, "deleted": deleted, "left": left, "commands": files.Commands}
		switch n := len(left); {
		case n > 0:
			t.err = strings.TrimSpace(fmt.Sprintf("%s left alone; the reason is beside it.\n%s", words.Count(n, "file"), t.err))
		case len(lines) == 0:
			t.err = strings.TrimSpace("No file has to be changed.\n" + t.err)
		}
	}
	if *w.asJSON && t.json != nil {
		printJSON(w.e.out, t.json)
	}
	for _, line := range append([]string{t.out}, lines...) {
		if line != "" && !*w.asJSON {
			fprintln(w.e.out, line)
		}
	}
	if t.err != "" && (!*w.asJSON || files != nil) {
		fprintln(w.e.err, asStarted(t.err))
	}
}

func operationErr(err error, branch string) error {
	switch {
	case errors.Is(err, session.ErrNoBranch), errors.Is(err, session.ErrNoLabel), errors.Is(err, session.ErrNoMessage), errors.Is(err, drive.ErrNotYours),
		errors.Is(err, harness.ErrNoRestore):
		return exit(exitUsage, "%s: %w; `agent session tree` and `agent session show` say what there is", branch, err)
	case errors.Is(err, drive.ErrBusy), errors.Is(err, session.ErrDeleted), errors.Is(err, drive.ErrReadOnly):
		return exit(exitSession, "%s: %w", branch, err)
	}
	return sessionErr(err)
}

type labelJSON struct {
	Label   string `json:"label"`
	At      string `json:"at"`
	Before  string `json:"before"`
	Preview string `json:"preview,omitempty"`
	Back    bool   `json:"back,omitempty"` // it is taken back, and nothing has changed since
}

type limbJSON struct {
	Branch   string      `json:"branch"`
	Title    string      `json:"title,omitempty"`
	Parent   string      `json:"parent,omitempty"`
	From     string      `json:"from,omitempty"`
	Select   string      `json:"select,omitempty"`
	Purpose  string      `json:"purpose,omitempty"`
	Deleted  bool        `json:"deleted,omitempty"`
	Messages int         `json:"messages"`
	Head     string      `json:"head"`
	Reverts  []labelJSON `json:"reverts,omitempty"`
}

func showTree(w io.Writer, s *harness.Session, asJSON bool) error {
	number := func(q session.Seq) string { return strconv.FormatUint(uint64(q), 10) }
	limbs := []limbJSON{}
	for _, l := range s.Limbs() {
		j := limbJSON{Branch: l.Name, Parent: l.Parent, Purpose: l.Purpose, Deleted: l.Deleted, Messages: l.Users, Head: number(l.Head)}
		if l.Parent != "" {
			j.From, j.Select = number(l.From.Seq), l.From.Select
		}
		if l.Title != 0 {
			if b, err := s.Load(l.Title, 0); err == nil {
				j.Title = words.OneLine(string(b))
			}
		}
		for _, x := range l.Labels {
			r := labelJSON{Label: x.Name, At: number(x.At), Before: number(x.To.Seq), Back: backAt(s, l.Head, x.Name)}
			if b, err := s.Load(x.At, x.Preview.B); err == nil {
				r.Preview = words.OneLine(string(b))
			}
			j.Reverts = append(j.Reverts, r)
		}
		limbs = append(limbs, j)
	}
	if asJSON {
		printJSON(w, limbs)
		return nil
	}
	var show func(parent, indent string)
	show = func(parent, indent string) {
		for _, l := range limbs {
			if l.Parent != parent {
				continue
			}
			line := indent + l.Branch
			if l.Title != "" {
				line += " “" + l.Title + "”"
			}
			line += ", " + words.Count(l.Messages, "message") + " of its own"
			switch l.Select {
			case "head":
				line += ", from the end of " + l.Parent
			case "before":
				line += ", from " + l.Parent + " before " + l.From
			case "through":
				line += ", from " + l.Parent + " up to " + l.From
			}
			if l.Deleted {
				line += " (deleted)"
			}
			fprintln(w, line)
			for _, r := range l.Reverts {
				back := ""
				if r.Back {
					back = " (taken back)"
				}
				fprintln(w, indent+"  "+r.Label+" went back to before "+r.Before+": "+r.Preview+back)
			}
			show(l.Branch, indent+"  ")
		}
	}
	show("", "")
	return nil
}
