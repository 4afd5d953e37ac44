package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"varve/internal/compact"
	"varve/internal/content"
	"varve/internal/harness"
	"varve/internal/harness/drive"
	"varve/internal/index"
	"varve/internal/jsonl"
	"varve/internal/session"
	"varve/internal/words"
)

// find is the session that an id, a prefix or a path names; "" is the last
// one in this folder. Only a demo goes on with a demo's, and a puppet with a
// puppet's: nothing else plays their model.
func (m *machine) find(id string) (string, error) {
	if id != "" {
		path, err := index.Find(m.folders.Data, id)
		if err != nil {
			return "", exit(exitUsage, "%w", err)
		}
		return path, nil
	}
	all, err := m.rows(context.Background(), 0) // nothing is waited for before the first paint
	if err != nil {
		return "", err
	}
	other := ""
	for _, s := range all {
		if s.Workspace != session.PathKey(m.workspace) || s.Gone() {
			continue
		}
		if player(s.Model) == m.player() {
			return s.Path, nil
		}
		if other == "" {
			other = m.played(s.Model)
		}
	}
	if other != "" && m.cast().demo == nil {
		return "", exit(exitUsage, "there are only a demo's sessions in this folder: go on with `%s`, look at one with `agent resume ID`, or start one of your own with `agent`", other)
	}
	return "", exit(exitUsage, "there is no session in this folder yet: start one with `agent` or `agent run \"…\"`")
}

func sessionCommand(e *env, f *flags) *cobra.Command {
	c := &cobra.Command{
		Use: "session", Short: "List, show and check sessions", Args: aCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	var asJSON, all, deleted bool
	var query, branch string
	list := &cobra.Command{
		Use: "list", Short: "List the sessions of this folder, newest first", Args: cobra.NoArgs,
		Long:    "List the sessions of this folder, newest first. With --query exit code 1: nothing is found.",
		Example: "  agent session list --all --query parser",
		RunE: func(c *cobra.Command, _ []string) error {
			m, err := warned(e, f)
			if err != nil {
				return err
			}
			return m.list(c.Context(), e, all, deleted, query, asJSON)
		},
	}
	list.Flags().BoolVar(&all, "all", false, "of all folders")
	list.Flags().BoolVar(&deleted, "deleted", false, "only those of which every branch was deleted")
	list.Flags().StringVar(&query, "query", "", "only those whose title, folder or messages contain this")
	var at uint64
	show := &cobra.Command{
		Use: "show ID", Short: "Show what the next request would carry, in order", Args: takes(1, whichSession),
		RunE: func(c *cobra.Command, args []string) error {
			return withSession(e, f, args[0], func(m *machine, s *harness.Session) error {
				return showSession(c.Context(), e.out, m, s, cmp.Or(branch, s.LastBranch()), session.Seq(at), asJSON)
			})
		},
	}
	show.Flags().StringVar(&branch, "branch", "", "the branch (default: the last used)")
	show.Flags().Uint64Var(&at, "at", 0, "as it was after this event")
	verify := &cobra.Command{
		Use: "verify ID", Short: "Check every byte of a session, and every content hash", Args: takes(1, whichSession),
		RunE: func(c *cobra.Command, args []string) error {
			m, err := warned(e, f)
			if err != nil {
				return err
			}
			path, err := m.find(args[0])
			if err != nil {
				return err
			}
			return verifySession(e.out, path, args[0], content.Open(m.folders.Data), asJSON)
		},
	}
	requests := &cobra.Command{
		Use: "requests ID [N]", Short: "List the requests that were sent, or print the N-th byte for byte", Args: takes(1, whichSession, whichRequest),
		RunE: func(c *cobra.Command, args []string) error {
			return withSession(e, f, args[0], func(m *machine, s *harness.Session) error {
				n := 0
				if len(args) == 2 {
					var err error
					if n, err = strconv.Atoi(args[1]); err != nil || n < 1 {
						return exit(exitUsage, "%q: the number of a request, from 1", args[1])
					}
				}
				return showRequests(e.out, s, n, asJSON)
			})
		},
	}
	retitle := &cobra.Command{
		Use: "rename ID TITLE", Short: "Give a session a title, or one of its branches", Args: takes(2, whichSession, whichTitle),
		RunE: func(c *cobra.Command, args []string) error {
			if branch != "" {
				w := way{e: e, f: f, asJSON: &asJSON, branch: &branch, files: "conversation"}
				return w.operate(c, args[0], func(_ *harness.Session, b string) (drive.Operation, error) {
					return drive.Retitle{Branch: b, Title: []byte(words.OneLine(args[1]))}, nil
				}, func(*harness.Session, harness.Outcome) told { return told{} })
			}
			m, err := warned(e, f)
			if err != nil {
				return err
			}
			path, err := m.find(args[0])
			if err != nil {
				return err
			}
			s, err := m.open(path)
			if err != nil {
				return err
			}
			defer s.Close()
			return sessionErr(rename(c.Context(), s, args[1]))
		},
	}
	retitle.Flags().StringVar(&branch, "branch", "", "the branch that gets the title (default: the session)")
	subs := append([]*cobra.Command{
		list, show, verify, repairCommand(e, f), replaceCommand(e, f, &asJSON), redactCommand(e, f, &asJSON), requests, retitle, importCommand(e, f),
		contextCommand(e, f, &asJSON), usageCommand(e, f, &asJSON), compactCommand(e, f, &asJSON),
	}, branchCommands(e, f, &asJSON)...)
	for _, sub := range subs {
		sub.Flags().BoolVar(&asJSON, "json", false, "print JSON")
		c.AddCommand(sub)
	}
	c.AddCommand(searchCommand(e, f), exportCommand(e, f))
	return c
}

// rename gives a session a title.
func rename(ctx context.Context, s *harness.Session, title string) error {
	st := s.State(session.MainBranch)
	facts, err := drive.Admit(st, drive.Env{Run: st.Branch.Run}, drive.Rename{Title: []byte(title)})
	if err != nil {
		return err
	}
	return s.Record(ctx, session.MainBranch, st.Branch.Head, facts)
}

// open opens a session as the settings say that it is to be written.
func (m *machine) open(path string) (*harness.Session, error) {
	s, err := harness.Open(path, content.Open(m.folders.Data), jsonl.Policy(m.settings().Log.Sync), harness.System{})
	return s, sessionErr(err)
}

// openWhile is open that gives up when ctx is done.
func (m *machine) openWhile(ctx context.Context, path string) (*harness.Session, error) {
	s, err := harness.OpenWhile(ctx, path, content.Open(m.folders.Data), jsonl.Policy(m.settings().Log.Sync), harness.System{})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return s, sessionErr(err)
}

// warned is the machine for a command that goes on without settings.
func warned(e *env, f *flags) (*machine, error) {
	m, err := newMachine(f)
	if err == nil {
		m.warn(e)
	}
	return m, err
}

func withSession(e *env, f *flags, id string, do func(*machine, *harness.Session) error) error {
	m, err := warned(e, f)
	if err != nil {
		return err
	}
	path, err := m.find(id)
	if err != nil {
		return err
	}
	s, err := m.open(path)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := do(m, s); err != nil {
		return err
	}
	d := s.Damage()
	if len(d) > 0 && !slices.ContainsFunc(d, func(d jsonl.Damage) bool { return d.Kind != jsonl.Chain }) {
		return exit(exitSession, "%s of this session changed after being written, the first at line %d; what is shown is what stands there now. `agent session repair %s` says what is lost and closes that off",
			words.Count(len(d), "place"), d[0].Line, id)
	}
	if len(d) > 0 {
		return exit(exitSession, "%s of this session can't be read, the first at line %d; what is shown is the rest. `agent session repair %s` says what is lost and closes that off",
			words.Count(len(d), "place"), d[0].Line, id)
	}
	return nil
}

func (m *machine) list(ctx context.Context, e *env, all, deleted bool, query string, asJSON bool) error {
	sessions, err := m.rows(ctx, wholeWait)
	if err != nil {
		return err
	}
	sessions = slices.DeleteFunc(sessions, func(s index.Info) bool { return s.Gone() != deleted })
	shown, err := m.shown(ctx, e, sessions, all, query)
	if err != nil {
		return err
	}
	type row struct {
		ID        string    `json:"id"`
		Title     string    `json:"title"`
		Workspace string    `json:"workspace"`
		Model     string    `json:"model"`
		Created   time.Time `json:"created"`
		Changed   time.Time `json:"changed"`
		Bytes     int64     `json:"bytes"`
		Open      bool      `json:"open"`
		Damage    string    `json:"damage,omitempty"`
		Messages  *int      `json:"messages,omitempty"` // not there until a large one was read whole
		Branches  []string  `json:"branches,omitempty"`
	}
	rows := []row{}
	for _, s := range shown {
		r := row{ID: s.ID, Title: s.Title, Workspace: s.Workspace, Model: s.Model, Created: s.Created, Changed: s.Changed, Bytes: s.Size, Open: s.Open, Damage: s.Damage}
		if s.Whole {
			r.Messages = &s.Messages
		}
		for _, b := range live(s) {
			r.Branches = append(r.Branches, b.Name)
		}
		rows = append(rows, r)
	}
	nothing := func() error {
		if query == "" || len(rows) > 0 {
			return nil
		}
		return nothingFound(!all && slices.ContainsFunc(sessions, func(s index.Info) bool { return !m.here(s) }))
	}
	if asJSON {
		printJSON(e.out, rows)
		return nothing()
	}
	if len(rows) == 0 && len(sessions) > 0 && query == "" && !all {
		fprintln(e.err, asStarted("No session in this folder; `agent session list --all` shows "+words.Count(len(sessions), "session")+" elsewhere."))
	}
	tw := tabwriter.NewWriter(e.out, 0, 0, 2, ' ', 0)
	for i, r := range rows {
		title := oneLine(words.Listed(r.Title, m.turnOf(shown[i]), r.Damage))
		if all {
			title += "\t" + oneLine(r.Workspace)
		}
		many := "–"
		if r.Messages != nil {
			many = words.Count(*r.Messages, "message")
		}
		if len(r.Branches) > 1 {
			many += fmt.Sprintf(", %d branches", len(r.Branches))
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\n", r.ID, ago(r.Changed, time.Now()), many, words.Bytes(r.Bytes), title)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	return nothing()
}

type itemJSON struct {
	ID     string `json:"id"`
	Kind   string `json:"kind"`
	Source string `json:"source"`
	Text   string `json:"text"`
	Name   string `json:"name,omitempty"`
	Call   string `json:"call,omitempty"`
	Marked string `json:"marked,omitempty"`
	Error  string `json:"error,omitempty"` // why the text can't be read
}

// showSession prints the view: what the next request would carry, in order.
func showSession(ctx context.Context, w io.Writer, m *machine, s *harness.Session, branch string, at session.Seq, asJSON bool) error {
	limbs := s.Limbs()
	i := slices.IndexFunc(limbs, func(l session.Limb) bool { return l.Name == branch })
	switch {
	case i < 0:
		return operationErr(session.ErrNoBranch, branch)
	case at != 0 && at < limbs[i].Created:
		return exit(exitUsage, "%s begins at event %d: it was not there after event %d. --branch %s has what it began from", branch, limbs[i].Created, at, limbs[i].Parent)
	}
	st := s.State(branch)
	if at != 0 {
		var err error
		if st, err = s.StateAt(branch, at); err != nil {
			return exit(exitUsage, "%w", err)
		}
	}
	items := []itemJSON{}
	for it := range st.Branch.View.All {
		j := itemJSON{ID: it.ID.String(), Kind: string(it.Kind), Source: string(it.Source), Name: it.Name, Marked: it.Marked}
		if !it.Call.IsZero() {
			j.Call = it.Call.String()
		}
		if b, err := s.Text(it); err == nil {
			j.Text = string(b)
		} else {
			j.Error = err.Error()
		}
		items = append(items, j)
	}
	if !asJSON {
		for _, it := range items {
			head := it.ID + " " + it.Kind
			if it.Name != "" {
				head += " " + it.Name
			}
			if it.Marked != "" {
				head += " (" + it.Marked + ")"
			}
			fprintln(w, head)
			text := it.Text
			if it.Error != "" {
				text = "! " + it.Error
			}
			fprintln(w, "    "+strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    "))
		}
		return nil
	}
	todo, err := s.Todo(st)
	if err != nil {
		return sessionErr(err)
	}
	plan := []planLine{}
	for _, it := range todo.Items {
		plan = append(plan, planLine{it.ID, it.Status, it.Content})
	}
	type queued struct {
		ID   string `json:"id"`
		Kind string `json:"kind"`
		Held bool   `json:"held"`
		Text string `json:"text"`
	}
	queue := []queued{}
	for _, q := range st.Branch.Queue {
		b, err := s.Load(q.At, q.Text.B)
		if err != nil {
			return sessionErr(err)
		}
		queue = append(queue, queued{strconv.FormatUint(uint64(q.ID), 10), q.Kind, q.Held, string(b)})
	}
	printJSON(w, map[string]any{
		"session": st.Session.ID, "branch": branch, "head": st.Branch.Head, "items": items, "plan": plan, "queue": queue,
		"context": struct {
			compact.Report
			OpenTurn bool `json:"open_turn"`
		}{m.report(ctx, s, st), st.Branch.Turn != nil},
	})
	return nil
}
