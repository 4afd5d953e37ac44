package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"varve/internal/export"
	"varve/internal/harness"
	"varve/internal/jsonl"
	"varve/internal/words"
)

// exportFlags are what is asked of an export.
type exportFlags struct {
	branch, format, out string
	force               bool
}

func exportCommand(e *env, f *flags) *cobra.Command {
	x := &exportFlags{}
	c := &cobra.Command{
		Use: "export ID", Short: "Write one branch as a file that needs nothing else", Args: takes(1, whichSession),
		Long: "Export writes one branch of a session: as JSONL, with the content that it names, which `agent session import`\n" +
			"takes in; or as Markdown or one HTML page, to be read. What it holds is what was said and done: look at it before\n" +
			"you give it away.",
		Example: "  agent session export 01a2 -o fix.jsonl\n  agent session export 01a2 --branch b2 -o fix.html\n  agent session export 01a2 --format md | less",
		RunE: func(c *cobra.Command, args []string) error {
			return withSession(e, f, args[0], func(m *machine, s *harness.Session) error { return x.export(e, s) })
		},
	}
	c.Flags().StringVar(&x.branch, "branch", "", "the branch (default: the last used)")
	c.Flags().StringVar(&x.format, "format", "", "jsonl, md or html (default: by the name of the file, else jsonl)")
	c.Flags().StringVarP(&x.out, "output", "o", "", "the file, or - for standard output (the default)")
	c.Flags().BoolVar(&x.force, "force", false, "replace the file where it is there already")
	return c
}

// formats are by the ends of files' names.
var formats = map[string]string{".jsonl": "jsonl", ".md": "md", ".markdown": "md", ".html": "html", ".htm": "html"}

func (x *exportFlags) export(e *env, s *harness.Session) error {
	ending := filepath.Ext(x.out)
	byName := formats[strings.ToLower(ending)]
	if toFile := x.out != "" && x.out != "-"; toFile && x.format == "" && byName == "" && ending != "" {
		return exit(exitUsage, "-o %s: there is no format for %s: the name ends in .jsonl, .md or .html, or --format says which", x.out, ending)
	}
	format := cmp.Or(x.format, byName, "jsonl")
	if format != "jsonl" && format != "md" && format != "html" {
		return exit(exitUsage, "--format %s: it is jsonl, md or html", format)
	}
	branch := cmp.Or(x.branch, s.LastBranch())
	if _, err := s.Lineage(branch); err != nil {
		return operationErr(err, branch)
	}
	said, whole := "", true
	write := func(w io.Writer) error {
		if format != "jsonl" {
			return x.page(w, s, branch, format)
		}
		out, err := s.Export(w, branch, programName())
		said, whole = exportWords(out), out.Whole()
		return err
	}
	err := x.place(e, format, write)
	if err != nil {
		return err
	}
	if !whole {
		return exit(exitSession, "%s The rest was written, and says so itself", said)
	}
	if where := x.written(s, branch, format); where != "" {
		said = strings.TrimSpace(where + "\n" + said)
	}
	if said != "" {
		fprintln(e.err, said)
	}
	return nil
}

// written says what is where; of standard output only which branch it is, where
// nobody chose it among several.
func (x *exportFlags) written(s *harness.Session, branch, format string) string {
	which := "Branch " + words.OneLine(branch)
	if live := s.Left(); x.branch == "" && len(live) > 1 {
		which += " (the last used of " + words.OneLine(strings.Join(live, ", ")) + "; --branch takes another)"
	} else if x.out == "" || x.out == "-" {
		return ""
	}
	if x.out == "" || x.out == "-" {
		return which + "."
	}
	size := ""
	if st, err := os.Stat(x.out); err == nil {
		size = ", " + words.Bytes(st.Size())
	}
	return fmt.Sprintf("%s is in %s (%s%s).", which, words.OneLine(x.out), format, size)
}

// place lets write fill the file that was asked for, or standard output.
func (x *exportFlags) place(e *env, format string, write func(io.Writer) error) error {
	if x.out == "" || x.out == "-" {
		if f, ok := e.out.(*os.File); ok && format != "md" && x.out == "" && term.IsTerminal(f.Fd()) {
			return exit(exitUsage, "%s is not for a terminal: give it a file with -o, or -o - if you mean it", format)
		}
		return sessionErr(write(e.out))
	}
	if st, err := os.Stat(x.out); err == nil && !x.force {
		return exit(exitUsage, "%s is there already: --force replaces it", x.out)
	} else if err == nil && !st.Mode().IsRegular() {
		return exit(exitUsage, "%s is no file", x.out)
	} else if _, err := os.Stat(filepath.Dir(x.out)); errors.Is(err, fs.ErrNotExist) {
		return exit(exitUsage, "there is no folder %s: make it first", filepath.Dir(x.out))
	}
	return sessionErr(jsonl.Place(x.out, write))
}

// exportWords say what else an export holds, and what it lacks.
func exportWords(out harness.Export) string {
	var said []string
	if out.Left > 0 {
		said = append(said, words.Count(out.Left, "message")+" that a revert left went along, so that it can be rolled back.")
	}
	if out.Redacted > 0 {
		said = append(said, words.Count(out.Redacted, "redacted item")+" went along with the original text.")
	}
	if n := len(out.Damage); n > 0 {
		said = append(said, fmt.Sprintf("%s of the session can't be read, or were changed, the first at line %d.", words.Count(n, "place"), out.Damage[0].Line))
	}
	if out.Repaired > 0 {
		said = append(said, "What stood at "+words.Count(out.Repaired, "repaired place")+" is missing.")
	}
	for i, l := range out.Lost {
		if i == 3 {
			said = append(said, fmt.Sprintf("So are %d more.", len(out.Lost)-3))
			break
		}
		said = append(said, fmt.Sprintf("Content of event %d is missing: %s.", l.At, words.OneLine(l.Err.Error())))
	}
	return strings.Join(said, "\n")
}

// page writes a branch to be read.
func (x *exportFlags) page(w io.Writer, s *harness.Session, branch, format string) error {
	entries, err := s.Story(branch)
	if err != nil {
		return err
	}
	st := s.State(branch).Session
	c := export.Conversation{Session: st.ID, Branch: branch, Workspace: st.Workspace, Entries: entries, Load: s.Bytes}
	if st.Title != 0 {
		title, err := s.Load(st.Title, 0)
		if err != nil {
			return err
		}
		c.Title = string(title)
	}
	if n := len(s.Damage()); n > 0 {
		c.Missing = words.Count(n, "place") + " of the session's file could not be read when this was exported."
	}
	if format == "md" {
		return export.Markdown(w, c)
	}
	return export.HTML(w, c)
}
