package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/term"

	"varve/internal/harness"
	"varve/internal/index"
	"varve/internal/tui"
	"varve/internal/tui/paint"
	"varve/internal/words"
)

func openInterface(ctx context.Context, e *env, f *flags, args []string) error {
	m, err := newMachine(f)
	if err != nil {
		return err
	}
	return m.show(ctx, e, &runFlags{cont: f.cont}, args, false)
}

func resumeInterface(ctx context.Context, e *env, f *flags, id string, goOn bool) error {
	m, err := newMachine(f)
	if err != nil {
		return err
	}
	m.goOn = goOn
	return m.show(ctx, e, &runFlags{session: id, cont: true}, nil, false)
}

// goodbye says where the session is, once it holds something. The error is that
// it, or its end, is not kept; closed is what closing it said.
func (m *machine) goodbye(e *env, d *desk, closed error) error {
	l, err := d.at(context.Background())
	if err != nil || l == nil {
		return nil
	}
	something := l.State().Session.UserItems > 0
	switch {
	case something && lost(l):
		return exit(exitSession, "the session is not kept: its file was removed while it was open: %s", l.Session.Path())
	case something && errors.Is(closed, harness.ErrLost):
		return exit(exitFailed, "%w; what was recorded before it is kept, go on with `%s`", closed, m.howToGoOn(l))
	case errors.Is(closed, harness.ErrLost):
		return exit(exitFailed, "%w", closed)
	case !something:
		return nil
	}
	fprintln(e.err, "The session is kept. To go on: "+m.howToGoOn(l))
	if err := l.Fault(); err != nil {
		return sessionErr(fmt.Errorf("what came last is not in it: %w", err))
	}
	return nil
}

// show opens the interface on a new session, or on the one that the flags
// name. With draft the prompt is only written, not sent.
func (m *machine) show(ctx context.Context, e *env, r *runFlags, args []string, draft bool) error {
	lines := m.settings().Appearance.Plain
	if !lines && (!term.IsTerminal(os.Stdin.Fd()) || !term.IsTerminal(os.Stdout.Fd())) {
		return exit(exitUsage, "%w", errNoTerminal)
	}
	path := ""
	if r.cont || r.session != "" {
		var err error
		if path, err = m.find(r.session); err != nil {
			return err
		}
		if err = m.follow(path); err != nil {
			return err
		}
	}
	if info, _ := index.Look(path); path != "" && m.player() == "" && m.load.Flags["model.model"] == "" && player(info.Model) != "" {
		m.notice = m.whose(info.Model)
	}
	o, err := m.options("tui", true)
	if err != nil {
		return err
	}
	defer os.RemoveAll(o.Tools.TempDir)
	o.Model, o.ModelBy, err = m.model()
	if err != nil && (lines && path == "" || m.load.Flags["model.model"] != "" || m.settings().Model.Model != "") {
		return err // one was asked for, and it can't be
	}
	if m.fault != nil {
		m.notice = m.fault.Error()
	} else if n := len(m.settings().Problems); n > 0 && m.notice == "" {
		m.notice = m.settings().Problems[0].Error()
	}
	// The interface ends by its own keys and signals: the painter sees to both.
	d := newDesk(context.WithoutCancel(ctx), m, o, path)
	left := holdSignals()
	if lines {
		err = showLines(ctx, e, d, tui.LinearOptions{Prompt: strings.Join(args, " "), Draft: draft, GoOn: m.goOn})
	} else {
		err = m.paint(ctx, e, d, strings.Join(args, " "), draft)
	}
	left()
	closeErr := d.Close()
	bye := m.goodbye(e, d, closeErr)
	var sig *paint.SignalError
	if err != nil && bye != nil {
		fprintln(e.err, "agent: "+asStarted(words.OneLine(bye.Error()))) // the exit code is another's
	}
	switch {
	case errors.As(err, &sig):
		return &exitError{code: sig.ExitCode()}
	case errors.Is(err, context.Canceled):
		var s errSignal
		if errors.As(context.Cause(ctx), &s) {
			if sig, ok := s.Signal.(syscall.Signal); ok {
				return &exitError{code: (&paint.SignalError{Signal: sig}).ExitCode()}
			}
		}
		return nil
	case err != nil:
		return &exitError{exitFailed, err}
	}
	if bye != nil {
		return bye
	}
	return sessionErr(closeErr)
}

// closingTime is how long closing a session may take before a signal ends the program all the same.
const closingTime = 3 * time.Second

// holdSignals keeps signals that come behind the interface's own from ending the program before its log is
// closed, up to its very end. left says that the interface was left.
func holdSignals() (left func()) {
	held := make(chan os.Signal, 8)
	signal.Notify(held, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	return func() {
		end := time.Now().Add(closingTime)
		go func() {
			for s := range held {
				if time.Now().After(end) {
					os.Exit((&paint.SignalError{Signal: s.(syscall.Signal)}).ExitCode())
				}
			}
		}()
	}
}

// paint shows the screen until it is left.
func (m *machine) paint(ctx context.Context, e *env, d *desk, prompt string, draft bool) error {
	root := tui.New(context.WithoutCancel(ctx), d, tui.Options{
		Prompt: prompt, Draft: draft, GoOn: m.goOn, Looks: m.settings().Appearance,
		Colors: colorprofile.Detect(os.Stdout, os.Environ()),
	})
	_, err := paint.Run(ctx, root, paint.Options{})
	if err := d.lastDraft(root.Draft()); err != nil {
		fprintln(e.err, "agent: what was written can't be kept: "+err.Error())
	}
	return err
}

// showLines shows lines in place of the screen until it is left. Ctrl+C is the
// plain mode's own: it stops a turn first.
func showLines(ctx context.Context, e *env, d *desk, o tui.LinearOptions) error {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	o.In, o.Out, o.Signals = e.in, e.out, signals
	if f, ok := e.in.(*os.File); ok {
		o.Terminal = term.IsTerminal(f.Fd())
	}
	kept := d.Identity().Draft
	draft, err := tui.RunLinear(context.WithoutCancel(ctx), d, o)
	if o.Draft && draft == o.Prompt { // the program's own suggestion
		draft = kept
	}
	if err := d.lastDraft(draft, draft != kept); err != nil {
		fprintln(e.err, "agent: what was written can't be kept: "+err.Error())
	}
	var ended tui.EndedError
	if errors.As(err, &ended) {
		if s, ok := ended.Signal.(syscall.Signal); ok {
			return &paint.SignalError{Signal: s}
		}
	}
	return err
}
