package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"varve/internal/harness"
	"varve/internal/harness/drive"
	"varve/internal/session"
	"varve/internal/setup"
	"varve/internal/words"
)

type runFlags struct {
	output      string
	cont        bool
	session     string
	branch      string
	maxRequests int
}

func runCommand(e *env, f *flags) *cobra.Command {
	r := &runFlags{}
	c := &cobra.Command{
		Use:   "run [PROMPT|-]",
		Short: "Do one turn without a screen",
		Long: "Run sends one message and waits for the answer. Calls that would ask are refused, with a\n" +
			"hint how to allow them, and the turn goes on. With --continue or --session and no prompt it\n" +
			"goes on with a turn that was left open.",
		Example: `  agent run "why does TestParse fail?"
  git diff | agent run --mode edit -
  agent run --output json --max-requests 20 "fix the lint errors"
  agent run --continue`,
		Args: takes(0, whichPrompt),
		RunE: func(c *cobra.Command, args []string) error { return runTurn(c.Context(), e, f, r, args) },
	}
	c.Flags().StringVar(&r.output, "output", "text", "text, json or stream-json")
	c.Flags().BoolVar(&r.cont, "continue", false, "go on with the last session in this folder")
	c.Flags().StringVar(&r.session, "session", "", "go on with this session (an id, the beginning of one, or a file)")
	c.Flags().StringVar(&r.branch, "branch", "", "go on with this branch (default: the last used)")
	c.Flags().IntVar(&r.maxRequests, "max-requests", 0, "end the turn after so many requests")
	return c
}

// prompt is what to send: the argument, or standard input for "-".
func (r *runFlags) prompt(e *env, args []string) (string, error) {
	text := ""
	if len(args) == 1 {
		text = args[0]
	}
	if text == "-" {
		b, err := io.ReadAll(io.LimitReader(e.in, 16<<20))
		if err != nil {
			return "", exit(exitUsage, "standard input: %w", err)
		}
		text = string(b)
	}
	if strings.TrimSpace(text) == "" && !r.cont && r.session == "" {
		return "", exit(exitUsage, "there is nothing to do: give a prompt, or - to read it from standard input")
	}
	return text, nil
}

func runTurn(ctx context.Context, e *env, f *flags, r *runFlags, args []string) error {
	m, err := newMachine(f)
	if err != nil {
		return err
	}
	return runOn(ctx, e, m, r, args)
}

func runOn(ctx context.Context, e *env, m *machine, r *runFlags, args []string) error {
	var show report
	switch r.output {
	case "text":
		text := &textReport{out: e.out}
		if f, ok := e.err.(*os.File); ok && term.IsTerminal(f.Fd()) {
			text.err = f
		}
		show = text
	case "json":
		show = &jsonReport{out: e.out}
	case "stream-json":
		show = &streamReport{jsonReport{out: e.out}}
	default:
		return exit(exitUsage, "--output %q: it is text, json or stream-json", r.output)
	}
	if r.branch != "" && r.branch != session.MainBranch {
		return exit(exitUsage, "--branch %q: this version works on %s only", r.branch, session.MainBranch)
	}
	prompt, err := r.prompt(e, args)
	if err != nil {
		return err
	}
	if m.fault != nil {
		return exit(exitUsage, "%w", m.fault)
	}
	path := ""
	if r.session != "" || r.cont {
		if path, err = m.find(r.session); err != nil {
			return err
		}
		if err = m.follow(path); err != nil {
			return err
		}
	}
	o, err := m.options("run", false)
	if err != nil {
		return err
	}
	defer os.RemoveAll(o.Tools.TempDir)
	o.MaxRequests = r.maxRequests
	l, err := openSession(ctx, m, o, path)
	if err != nil {
		return err
	}
	defer l.Close()
	if d := l.Session.Damage(); len(d) > 0 {
		return exit(exitSession, "part of session %s can't be read (line %d, byte %d): nothing was written; `agent session verify` says more", l.ID(), d[0].Line, d[0].Bad)
	}
	model := l.State().Branch.Model
	if chosen, by, err := m.model(); err == nil && (path == "" || by == "flag") {
		model = chosen
	}
	if _, err := o.Resolve(ctx, model); err != nil { // before the turn is touched
		var x *exitError
		if errors.As(err, &x) {
			return err
		}
		return exit(exitUsage, "%w", err)
	}
	t := &turn{l: l, m: m, show: show, after: l.Session.Head()}
	return t.do(ctx, e, prompt)
}

// openSession opens a session's file, or starts a new session.
func openSession(ctx context.Context, m *machine, o harness.Options, path string) (*harness.Local, error) {
	var err error
	ctx = context.WithoutCancel(ctx) // a signal ends the turn first, then the loop
	if path == "" {
		if o.Model, o.ModelBy, err = m.model(); err != nil {
			return nil, err
		}
		l, err := harness.Start(ctx, o)
		return l, sessionErr(err)
	}
	if m.set.Model.Model != "" {
		if o.Model, o.ModelBy, err = m.model(); err != nil && m.set.Origin("model.model").From == setup.FromFlag {
			return nil, err
		}
	}
	l, err := harness.Resume(ctx, o, path)
	return l, sessionErr(err)
}

// A turn is one turn being followed.
type turn struct {
	l     *harness.Local
	m     *machine
	show  report
	after session.Seq
	sum   summary
}

func (t *turn) do(ctx context.Context, e *env, prompt string) error {
	// The loop outlives the signal: it is told to stop by a command, so that
	// what was received is kept.
	var cmd drive.Command = drive.Say{Text: []byte(prompt)}
	if strings.TrimSpace(prompt) == "" {
		cmd = drive.Resume{}
	}
	if err := t.l.Submit(ctx, cmd); err != nil {
		if errors.Is(err, drive.ErrNothing) {
			return exit(exitUsage, "session %s has no turn that was left open: give a prompt", t.l.ID())
		}
		var x *exitError
		if errors.As(err, &x) {
			return err
		}
		if errors.Is(err, harness.ErrHeld) || errors.Is(err, harness.ErrConflict) {
			return sessionErr(err)
		}
		if t.l.Fault() != nil {
			return exit(exitSession, "%w", err)
		}
		return exit(exitUsage, "%w", err)
	}
	t.sum.begin(t.l)
	t.show.begin(t.l)
	stopped := false
	follow := context.WithoutCancel(ctx)
	wait, cancel := context.WithCancel(follow)
	defer cancel()
	stop := context.AfterFunc(ctx, cancel)
	defer stop()
	var version uint64
	for {
		u, err := t.l.Follow(wait, t.after, version)
		if err != nil && ctx.Err() != nil && !stopped {
			// A signal: end the turn, then follow it to its end.
			stopped = true
			wait = follow
			_ = t.l.Submit(follow, drive.Cancel{By: "signal"})
			continue
		}
		if err != nil {
			return sessionErr(err)
		}
		version = u.Version
		for _, entry := range u.Entries {
			t.after = entry.Seq
			t.sum.add(t.l, entry)
			t.show.entry(t.l, entry)
		}
		if u.Fault != nil {
			return exit(exitSession, "the session can't be written: %w; what is recorded is kept, go on with `%s`", u.Fault, t.m.howToRun(t.l))
		}
		if t.sum.end != nil {
			return t.finish(ctx)
		}
	}
}

// finish shows the whole and gives the exit code.
func (t *turn) finish(ctx context.Context) error {
	res := t.sum.result(t.l)
	t.show.end(res)
	code := exitFailed
	switch {
	case res.Status == "completed":
		return nil
	case res.Status == "interrupted":
		code = exitInterrupted
		if c, ok := signalCode(ctx); ok {
			code = c
		}
		if t.show.quiet() {
			return &exitError{code: code}
		}
		return exit(code, "interrupted; go on with `%s \"…\"`", t.m.howToRun(t.l))
	case res.Error != nil && res.Error.Kind == "settings":
		code = exitUsage
	case res.Error != nil && providerKind(res.Error.Kind):
		code = exitProvider
	case len(res.Refused) > 0:
		code = exitRefused
	}
	if t.show.quiet() || res.Error == nil {
		return &exitError{code: code}
	}
	return exit(code, "%s", strings.TrimSpace(res.Error.Message+" "+res.Error.Hint))
}

func providerKind(kind string) bool {
	switch kind {
	case "internal", "content", "requests", "length", "settings":
		return false
	}
	return true
}

// A result is what `run --output json` prints (RUN-1).
type result struct {
	Session      string    `json:"session"`
	Branch       string    `json:"branch"`
	Status       string    `json:"status"`
	Text         string    `json:"text"`
	Usage        usage     `json:"usage"`
	CostUSD      *float64  `json:"cost_usd"`
	ChangedFiles []string  `json:"changed_files"`
	Requests     int       `json:"requests"`
	Error        *runError `json:"error"`
	Refused      []refused `json:"refused,omitempty"`
}

type usage struct {
	Input      int `json:"input"`
	Cached     int `json:"cached"`
	CacheWrite int `json:"cache_write"`
	Output     int `json:"output"`
	Reasoning  int `json:"reasoning"`
}

type runError struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
}

type refused struct {
	Call string `json:"call"`
	Tool string `json:"tool"`
	Why  string `json:"why"`
}

// A summary adds up what a turn did.
type summary struct {
	end     *session.TurnEnded
	usage   usage
	changed []string
	refused []refused
	detail  string
}

func (s *summary) begin(*harness.Local) {}

func (s *summary) add(l *harness.Local, e session.Entry) {
	body := func(b int) string {
		text, err := l.Session.Load(e.Seq, b)
		if err != nil {
			return ""
		}
		return string(text)
	}
	switch ev := e.Event.(type) {
	case session.ReplyCompleted:
		s.use(ev.Usage)
	case session.ReplyRejected:
		s.use(ev.Usage)
		s.detail = ""
		if ev.Error != nil && ev.Error.Message != nil {
			s.detail = body(ev.Error.Message.B)
		}
	case session.FaultRecorded:
		s.detail = body(0)
	case session.ToolInterrupted:
		if ev.Why == "denied" {
			r := refused{Call: ev.Call.String(), Why: words.OneLine(body(0))}
			if it, ok := l.Session.Item(ev.Call); ok {
				r.Tool = it.Name
			}
			s.refused = append(s.refused, r)
		}
	case session.FilesChanged:
		for _, p := range changedPaths(body(0)) {
			s.changed = appendNew(s.changed, p)
		}
	case session.TurnEnded:
		s.end = &ev
	}
}

func (s *summary) use(u *session.Usage) {
	if u == nil {
		return
	}
	s.usage.Input += u.Input
	s.usage.Cached += u.Cached
	s.usage.CacheWrite += u.CacheWrite
	s.usage.Output += u.Output
	s.usage.Reasoning += u.Reasoning
}

func (s *summary) result(l *harness.Local) result {
	r := result{
		Session: l.ID(), Branch: l.Branch, Status: s.end.Status, Usage: s.usage,
		ChangedFiles: append([]string{}, s.changed...), Requests: s.end.Requests, Refused: s.refused,
	}
	if !s.end.Answer.IsZero() {
		if it, ok := l.Session.Item(s.end.Answer); ok {
			if b, err := l.Session.Text(it); err == nil {
				r.Text = string(b)
			}
		}
	}
	if s.end.Status == "failed" || s.end.Status == "limit" {
		o := words.TurnEnded(*s.end, s.detail)
		kind := "unknown"
		if s.end.Error != nil {
			kind = s.end.Error.Kind
		}
		r.Error = &runError{Kind: kind, Message: o.Line, Hint: o.Hint}
	}
	return r
}

func appendNew(list []string, s string) []string {
	for _, x := range list {
		if x == s {
			return list
		}
	}
	return append(list, s)
}

// fprintln writes a line and gives up in silence: the reader of a pipe may
// have gone, and the session goes on without it.
func fprintln(w io.Writer, s string) { _, _ = fmt.Fprintln(w, s) }
