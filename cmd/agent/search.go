package main

import (
	"context"
	"fmt"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"varve/internal/content"
	"varve/internal/harness"
	"varve/internal/index"
	"varve/internal/session"
	"varve/internal/tui/plain"
	"varve/internal/words"
)

const whichText = "what is to be found? It is one argument, in quotes where it has blanks"

// wholeWait is how long a list waits for large sessions that the index doesn't
// know yet: they are shown as their two ends say, and read whole another time.
const wholeWait = 500 * time.Millisecond

// sessions are those that have a branch left, newest first.
func (m *machine) sessions(ctx context.Context) ([]index.Info, error) {
	all, err := m.rows(ctx, wholeWait)
	return slices.DeleteFunc(all, index.Info.Gone), err
}

// rows are the sessions under the data directory, newest first, from the
// index where it knows them; for large ones that it does not, it waits so long.
func (m *machine) rows(ctx context.Context, most time.Duration) ([]index.Info, error) {
	x := index.Open(m.folders.Data, m.folders.State)
	if err := x.Refresh(ctx); err != nil {
		return nil, searchErr(ctx, exitSession, err)
	}
	if x.Waiting() > 0 && most > 0 {
		wait, stop := context.WithTimeout(ctx, most)
		defer stop()
		_ = x.Finish(wait, nil) // what is not read in time is read another time
	}
	_ = x.Save() // it is derived: without it the next list takes longer, and is the same
	return x.Rows(), nil
}

// live are the branches of a session that a list shows: those that were not
// deleted. A sub-agent's belongs to the branch that asked it.
func live(s index.Info) (out []index.Branch) {
	for _, b := range s.Branches {
		if !b.Deleted && b.Purpose != "task" {
			out = append(out, b)
		}
	}
	return out
}

// turnIn says of a branch's turn that has no end whether it runs, "" where it has
// one.
func (m *machine) turnIn(id, branch string, open bool) string {
	switch {
	case !open:
		return ""
	case harness.Held(m.folders.State, id, branch):
		return "a turn runs"
	}
	return "turn left open"
}

// turnOf is turnIn of all branches.
func (m *machine) turnOf(s index.Info) string {
	out := m.turnIn(s.ID, session.MainBranch, s.Open)
	for _, b := range s.Branches {
		if t := m.turnIn(s.ID, b.Name, b.Open); t == "a turn runs" {
			out = t
		}
	}
	return out
}

// here says whether a session belongs to this folder.
func (m *machine) here(s index.Info) bool { return s.Workspace == session.PathKey(m.workspace) }

func (m *machine) query(text string) index.Query {
	return index.Query{Text: text, Content: content.Open(m.folders.Data).Open}
}

// shown are the sessions that a list shows: this folder's, and those that are
// damaged, wherever they are; with a query those that it fits.
func (m *machine) shown(ctx context.Context, e *env, all []index.Info, elsewhere bool, query string) ([]index.Info, error) {
	var out []index.Info
	for _, s := range all {
		if elsewhere || m.here(s) || s.Damage != "" {
			out = append(out, s)
		}
	}
	if query == "" {
		return out, nil
	}
	out, found, err := index.Matching(ctx, out, m.query(query))
	if err != nil {
		return nil, searchErr(ctx, exitUsage, err)
	}
	unsearched(e, found)
	return out, nil
}

// searchErr is err with an exit code, or the code of the signal that ended it.
func searchErr(ctx context.Context, code int, err error) error {
	if code, ok := signalCode(ctx); ok {
		return &exitError{code: code}
	}
	return exit(code, "%w", err)
}

// unsearched says what could not be looked at.
func unsearched(e *env, f index.Found) {
	if f.Damaged > 0 {
		fmt.Fprintf(e.err, "agent: %s can't be read and could not be searched; `agent session repair` says what is lost\n", words.Count(f.Damaged, "damaged line"))
	}
	if f.Lost > 0 {
		fmt.Fprintf(e.err, "agent: %s could not be read and not be searched: a file, or a text in the content store\n", words.Count(f.Lost, "source"))
	}
}

func searchCommand(e *env, f *flags) *cobra.Command {
	var all, asJSON bool
	c := &cobra.Command{
		Use: "search TEXT", Short: "Find messages of this folder's sessions that say something", Args: takes(1, whichText),
		Long: "Find messages of this folder's sessions that say something, in any case, newest first: what you\n" +
			"said, what the model answered, what tools and your own commands printed. Exit code 1: nothing is found.",
		Example: "  agent session search 'divide by zero' --all",
		RunE: func(c *cobra.Command, args []string) error {
			m, err := warned(e, f)
			if err != nil {
				return err
			}
			return m.search(c.Context(), e, args[0], all, asJSON)
		},
	}
	c.Flags().BoolVar(&all, "all", false, "in the sessions of all folders")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

type hitJSON struct {
	Session string    `json:"session"`
	Folder  string    `json:"workspace"`
	Branch  string    `json:"branch"`
	Item    string    `json:"item"`
	Kind    string    `json:"kind"`
	At      time.Time `json:"at"`
	Before  string    `json:"before"`
	Match   string    `json:"match"`
	After   string    `json:"after"`
}

func (m *machine) search(ctx context.Context, e *env, text string, all, asJSON bool) error {
	sessions, err := m.sessions(ctx)
	if err != nil {
		return err
	}
	var in []index.Info
	for _, s := range sessions {
		if all || m.here(s) || s.Workspace == "" { // a damaged one may be of this folder
			in = append(in, s)
		}
	}
	folders := map[string]string{}
	for _, s := range in {
		folders[s.Path] = s.Workspace
	}
	found, err := index.Search(ctx, in, m.query(text))
	if err != nil {
		return searchErr(ctx, exitUsage, err)
	}
	if asJSON {
		hits := []hitJSON{}
		for _, h := range found.Hits {
			hits = append(hits, hitJSON{h.Session, folders[h.Path], h.Branch, h.Item.String(), h.Kind, h.At, h.Before, h.Match, h.After})
		}
		printJSON(e.out, map[string]any{
			"hits": hits, "left_out": found.LeftOut, "sessions": len(found.Sessions), "damaged_lines": found.Damaged, "lost": found.Lost,
		})
	} else {
		tw := tabwriter.NewWriter(e.out, 0, 0, 2, ' ', 0)
		for _, h := range found.Hits {
			age := ago(h.At, time.Now())
			if all {
				age += "\t" + oneLine(folders[h.Path])
			}
			fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", h.Session, h.Item, age, plain.Clean(h.Before+h.Match+h.After))
		}
		if err := tw.Flush(); err != nil {
			return err
		}
		if found.LeftOut > 0 {
			fmt.Fprintf(e.out, "and %d more, in %s together\n", found.LeftOut, words.Count(len(found.Sessions), "session"))
		}
	}
	unsearched(e, found)
	if len(found.Hits) == 0 {
		return nothingFound(!all && len(in) < len(sessions))
	}
	return nil
}

// nothingFound says so; elsewhere: there are sessions that were not looked at.
func nothingFound(elsewhere bool) error {
	where := ""
	if elsewhere {
		where = " in this folder's sessions; --all looks in all of them"
	}
	return exit(exitFailed, "nothing found%s", where)
}
