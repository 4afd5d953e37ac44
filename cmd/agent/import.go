package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"varve/internal/harness"
	"varve/internal/words"
)

const whichFile = "which file? Give one that `agent session export` wrote, or - for standard input"

func importCommand(e *env, f *flags) *cobra.Command {
	again := false
	c := &cobra.Command{
		Use: "import FILE", Short: "Take in an exported branch, as a session of this folder", Args: takes(1, whichFile),
		Long: "Import checks an export, each line and each content, and makes a session of it in this folder. The file itself is\n" +
			"not needed any more. What was exported elsewhere may name files that are not here.",
		Example: "  agent session import fix.jsonl",
		RunE: func(c *cobra.Command, args []string) error {
			asJSON, err := c.Flags().GetBool("json")
			if err != nil {
				return err
			}
			m, err := warned(e, f)
			if err != nil {
				return err
			}
			path, done, err := m.exported(e, args[0])
			if err != nil {
				return err
			}
			defer done()
			out, err := harness.Importer{DataDir: m.folders.Data, Workspace: m.workspace, Program: programName(), Clock: harness.System{}, Again: again}.Import(path)
			switch {
			case errors.Is(err, harness.ErrNoExport):
				return exit(exitUsage, "%s: %w; `agent session export` makes one", args[0], err)
			case errors.Is(err, harness.ErrBadExport):
				return exit(exitSession, "%s: %w. Nothing was imported; export it again", args[0], err)
			case errors.Is(err, fs.ErrNotExist):
				return exit(exitUsage, "there is no file %s", args[0])
			case err != nil:
				return sessionErr(err)
			}
			if asJSON {
				printJSON(e.out, map[string]any{
					"session": out.ID, "branch": out.Branch, "events": out.Events, "contents": out.Blobs, "missing": out.Missing, "before": out.Before,
				})
				return nil
			}
			fprintln(e.out, out.ID)
			if out.Before {
				fprintln(e.err, asStarted("It was imported before: nothing was written. `agent session import --again` makes a second session of it."))
				return nil
			}
			fprintln(e.err, asStarted(fmt.Sprintf("%s, %s. To go on: `agent resume %s`.", words.Count(out.Events, "event"), words.Count(out.Blobs, "content"), out.ID)))
			if out.Missing > 0 {
				fprintln(e.err, words.Count(out.Missing, "content")+" could not be read when it was exported, and is missing.")
			}
			return nil
		},
	}
	c.Flags().BoolVar(&again, "again", false, "also where it was imported before")
	return c
}

// exported is the file to import; what comes on standard input is kept in one
// until done is called.
func (m *machine) exported(e *env, name string) (path string, done func(), err error) {
	if name != "-" {
		return name, func() {}, nil
	}
	dir, err := m.privateTemp()
	if err != nil {
		return "", nil, err
	}
	done = func() { _ = os.RemoveAll(dir) }
	path = filepath.Join(dir, "import.jsonl")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, err = io.Copy(f, e.in)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		done()
		return "", nil, exit(exitFailed, "standard input: %w", err)
	}
	return path, done, nil
}
