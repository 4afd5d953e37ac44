package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"varve/internal/harness"
	"varve/internal/harness/drive"
)

// deleteCommand puts a tombstone on a branch; with --file it removes the file
// of a session that has no branch left (BRN-6).
func deleteCommand(w *way, of func(*cobra.Command) *cobra.Command) *cobra.Command {
	var file bool
	c := of(&cobra.Command{
		Use: "delete ID", Short: "Delete a branch (what was written stays in the file), or the file of deleted branches", Args: takes(1, whichSession),
		Example: "  agent session delete 01a2 --branch b3\n  agent session delete 01a2 --file",
		RunE: func(c *cobra.Command, args []string) error {
			if file && *w.branch != "" {
				return exit(exitUsage, "--file is about the whole session: leave --branch out")
			}
			if file {
				return withSession(w.e, w.f, args[0], func(m *machine, s *harness.Session) error { return removeFile(c, w.e, m, s, args[0]) })
			}
			w.files = "conversation"
			return w.operate(c, args[0], func(_ *harness.Session, b string) (drive.Operation, error) {
				return drive.Delete{Branch: b}, nil
			}, func(s *harness.Session, out harness.Outcome) told {
				rest := s.Left()
				what := fmt.Sprintf("no branch is left in the file; `agent session delete %s --file` removes it", args[0])
				if len(rest) > 0 {
					what = "the file is shared by " + strings.Join(rest, ", ")
				}
				return told{json: map[string]any{"branch": out.Branch, "left": rest}, err: fmt.Sprintf("%s is deleted; %s.", out.Branch, what)}
			})
		},
	})
	c.Flags().BoolVar(&file, "file", false, "remove the session's file; every branch in it has to be deleted before")
	return c
}

func removeFile(c *cobra.Command, e *env, m *machine, s *harness.Session, id string) error {
	err := s.Remove(c.Context(), m.folders.State)
	if errors.Is(err, harness.ErrLeft) {
		left := s.Left()
		return exit(exitSession, "nothing was removed: the file is shared by %s; delete that first (`agent session delete %s --branch %s`)", strings.Join(left, ", "), id, left[0])
	}
	if err != nil {
		return exit(exitSession, "nothing was removed: %w", err)
	}
	fmt.Fprintln(e.err, asStarted(fmt.Sprintf("The file is removed. Stored content that only it named (long texts, files that were read or changed) is on the disk still: `agent gc` removes it once it is %d days old.", int(harness.Grace.Hours()/24))))
	return nil
}
