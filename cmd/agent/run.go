package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"varve/internal/harness"
	"varve/internal/harness/drive"
	"varve/internal/session"
	"varve/internal/setup"
	"varve/internal/tui/plain"
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
		text := &textReport{out: e.out, notes: e.err}
		if isTerminal(e.err) {
			text.err = e.err
		}
		text.looked = isTerminal(e.out)
		show = text
	case "json":
		show = &jsonReport{out: e.out}
	case "stream-json":
		show = &streamReport{jsonReport{out: e.out}}
	default:
		return exit(exitUsage, "--output %q: it is text, json or stream-json", r.output)
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
	o.MaxRequests, o.Branch = r.maxRequests, r.branch
	l, err := openSession(ctx, m, o, path)
	if err != nil {
		return err
	}
	defer l.Close()
	if d := l.Session.Damage(); len(d) > 0 {
		return exit(exitSession, "part of session %s can't be read (line %d, byte %d): nothing was written; `agent session repair %s` closes that off, so that it can go on", l.ID(), d[0].Line, d[0].Bad, l.ID())
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
	return t.do(ctx, prompt)
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
	if m.settings().Model.Model != "" {
		if o.Model, o.ModelBy, err = m.model(); err != nil && m.settings().Origin("model.model").From == setup.FromFlag {
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

func (t *turn) do(ctx context.Context, prompt string) error {
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
		if errors.Is(err, harness.ErrHeld) {
			return exit(exitSession, "another window or process works on session %s: nothing was sent; close it there to go on here", t.l.ID())
		}
		if errors.Is(err, harness.ErrConflict) {
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
			if err := t.l.Close(); errors.Is(err, harness.ErrLost) {
				return t.lost(t.sum.result(t.l, t.m.price), err)
			}
			return exit(exitSession, "the session can't be written: %w; what is recorded is kept, go on with `%s`", u.Fault, t.m.howToRun(t.l))
		}
		if t.sum.end != nil {
			return t.finish(ctx)
		}
	}
}

// finish shows the whole and gives the exit code.
func (t *turn) finish(ctx context.Context) error {
	res := t.sum.result(t.l, t.m.price)
	if err := t.l.Close(); errors.Is(err, harness.ErrLost) {
		return t.lost(res, err)
	}
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

// lost ends a turn whose end could not be recorded (LOG-8).
func (t *turn) lost(res result, err error) error {
	hint := "What was recorded before it is kept: go on with `" + t.m.howToRun(t.l) + "`."
	if lost(t.l) {
		hint = "The session's file was removed while it was open."
	}
	text := []rune(words.OneLine(err.Error()))
	res.Status, res.Error = "failed", &runError{Kind: logKind, Message: strings.ToUpper(string(text[:1])) + string(text[1:]) + ".", Hint: hint}
	t.show.end(res)
	if t.show.quiet() {
		return &exitError{code: exitFailed}
	}
	return exit(exitFailed, "%s %s", res.Error.Message, res.Error.Hint)
}

// logKind is the kind of an error that no event can hold: the log could not be
// written.
const logKind = "log"

func providerKind(kind string) bool {
	switch kind {
	case "internal", "content", "requests", "length", "settings":
		return false
	}
	return true
}

// fprintln writes a line for people: what others said in it can't drive the
// terminal (TUI-9). It gives up in silence: the reader of a pipe may have gone,
// and the session goes on without it.
func fprintln(w io.Writer, s string) { _, _ = fmt.Fprintln(w, plain.CleanTabs(s, 0)) }
