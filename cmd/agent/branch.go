package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"varve/internal/content"
	"varve/internal/harness"
	"varve/internal/harness/drive"
	"varve/internal/jsonl"
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
	var branch, files string
	var before bool
	of := func(c *cobra.Command) *cobra.Command {
		c.Flags().StringVar(&branch, "branch", "", "the branch (default: the last used)")
		return c
	}
	fork := of(&cobra.Command{
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
			return operate(c, f, args[0], branch, func(s *harness.Session, b string) (drive.Operation, error) {
				ref.Branch = b
				return drive.Fork{From: ref}, nil
			}, func(_ *harness.Session, out harness.Outcome) error {
				if *asJSON {
					printJSON(e.out, map[string]string{"branch": out.Branch})
					return nil
				}
				fprintln(e.out, out.Branch)
				fmt.Fprintf(e.err, "To go on there: agent run --session %s --branch %s \"…\", or agent resume %s, which opens what was used last.\n", args[0], out.Branch, args[0])
				return nil
			})
		},
	})
	fork.Flags().BoolVar(&before, "before", false, "end just before the message")
	revert := of(&cobra.Command{
		Use: "revert ID ITEM", Short: "Go back to before a message of yours; it can be taken back", Args: takes(2, whichSession, whichItem),
		RunE: func(c *cobra.Command, args []string) error {
			q, err := itemNumber(args[1])
			if err != nil {
				return err
			}
			if files != "conversation" {
				return exit(exitUsage, "--files %s: files can't be taken back yet; --files conversation goes back in the conversation alone", files)
			}
			text := ""
			return operate(c, f, args[0], branch, func(s *harness.Session, b string) (drive.Operation, error) {
				if it, ok := s.Item(q.Item()); ok {
					if words, err := s.Text(it); err == nil {
						text = string(words)
					}
				}
				return drive.Revert{Branch: b, Message: q, Preview: []byte(words.OneLine(text))}, nil
			}, func(_ *harness.Session, out harness.Outcome) error {
				if *asJSON {
					printJSON(e.out, map[string]string{"label": out.Label})
					return nil
				}
				fprintln(e.out, out.Label)
				fmt.Fprintf(e.err, "Back to before %q; files are as they were. `agent session rollback %s %s` takes it back.\n", words.OneLine(text), args[0], out.Label)
				return nil
			})
		},
	})
	revert.Flags().StringVar(&files, "files", "conversation", "conversation, files or both")
	rollback := of(&cobra.Command{
		Use: "rollback ID LABEL", Short: "Take a revert back, exactly", Args: takes(2, whichSession, whichLabel),
		RunE: func(c *cobra.Command, args []string) error {
			return operate(c, f, args[0], branch, func(_ *harness.Session, b string) (drive.Operation, error) {
				return drive.RollBack{Branch: b, Label: args[1]}, nil
			}, func(s *harness.Session, out harness.Outcome) error {
				head := s.State(out.Branch).Branch.Head
				if *asJSON {
					printJSON(e.out, map[string]any{"branch": out.Branch, "head": head})
					return nil
				}
				fmt.Fprintf(e.err, "%s is where %s left it. What waited in its queue is held until you send it.\n", out.Branch, args[1])
				return nil
			})
		},
	})
	remove := of(&cobra.Command{
		Use: "delete ID", Short: "Delete a branch (what was written stays in the file)", Args: takes(1, whichSession),
		RunE: func(c *cobra.Command, args []string) error {
			return operate(c, f, args[0], branch, func(_ *harness.Session, b string) (drive.Operation, error) {
				return drive.Delete{Branch: b}, nil
			}, func(s *harness.Session, out harness.Outcome) error {
				var rest []string
				for _, l := range s.Limbs() {
					if !l.Deleted {
						rest = append(rest, l.Name)
					}
				}
				if *asJSON {
					printJSON(e.out, map[string]any{"branch": out.Branch, "left": rest})
					return nil
				}
				what := "no other branch shares the file"
				if len(rest) > 0 {
					what = "the file is shared by " + strings.Join(rest, ", ")
				}
				fmt.Fprintf(e.err, "%s is deleted; %s.\n", out.Branch, what)
				return nil
			})
		},
	})
	tree := &cobra.Command{
		Use: "tree ID", Short: "Show the branches of a session and their reverts", Args: takes(1, whichSession),
		RunE: func(c *cobra.Command, args []string) error {
			return withSession(f, args[0], func(_ *machine, s *harness.Session) error { return showTree(e.out, s, *asJSON) })
		},
	}
	return []*cobra.Command{tree, fork, revert, rollback, remove}
}

func itemNumber(s string) (session.Seq, error) {
	q, err := strconv.ParseUint(s, 10, 64)
	if err != nil || q == 0 {
		return 0, exit(exitUsage, "%q is no message's number; `agent session show ID` has them", s)
	}
	return session.Seq(q), nil
}

// operate does one operation on a session's file.
func operate(c *cobra.Command, f *flags, id, branch string, ask func(*harness.Session, string) (drive.Operation, error),
	tell func(*harness.Session, harness.Outcome) error,
) error {
	m, err := newMachine(f)
	if err != nil {
		return err
	}
	path, err := m.find(id)
	if err != nil {
		return err
	}
	s, err := harness.Open(path, content.Open(m.folders.Data), jsonl.Policy(m.set.Log.Sync), harness.System{})
	if err != nil {
		return sessionErr(err)
	}
	defer s.Close()
	if branch == "" {
		branch = s.LastBranch()
	}
	op, err := ask(s, branch)
	if err != nil {
		return err
	}
	out, err := s.Operate(c.Context(), m.folders.State, op)
	if err != nil {
		return operationErr(err, branch)
	}
	return tell(s, out)
}

func operationErr(err error, branch string) error {
	switch {
	case errors.Is(err, session.ErrNoBranch), errors.Is(err, session.ErrNoLabel), errors.Is(err, session.ErrNoMessage), errors.Is(err, drive.ErrNotYours):
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
			r := labelJSON{Label: x.Name, At: number(x.At), Before: number(x.To.Seq)}
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
				fprintln(w, indent+"  "+r.Label+" went back to before "+r.Before+": "+r.Preview)
			}
			show(l.Branch, indent+"  ")
		}
	}
	show("", "")
	return nil
}
