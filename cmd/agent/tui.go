package main

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/term"

	"varve/internal/tui"
	"varve/internal/tui/paint"
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

// show opens the interface on a new session, or on the one that the flags
// name. With draft the prompt is only written, not sent.
func (m *machine) show(ctx context.Context, e *env, r *runFlags, args []string, draft bool) error {
	if !term.IsTerminal(os.Stdin.Fd()) || !term.IsTerminal(os.Stdout.Fd()) {
		return exit(exitUsage, "%w", errNoTerminal)
	}
	o, err := m.options("tui", true)
	if err != nil {
		return err
	}
	defer os.RemoveAll(o.Tools.TempDir)
	path := ""
	if r.cont || r.session != "" {
		if path, err = m.find(r.session); err != nil {
			return err
		}
	}
	o.Model, o.ModelBy, err = m.model()
	if err != nil && (m.load.Flags["model.model"] != "" || m.set.Model.Model != "") {
		return err // one was asked for, and it can't be
	}
	if m.fault != nil {
		m.notice = m.fault.Error()
	} else if n := len(m.set.Problems); n > 0 && m.notice == "" {
		m.notice = m.set.Problems[0].Error()
	}
	// The interface ends by its own keys and signals: the painter sees to both.
	d := newDesk(context.WithoutCancel(ctx), m, o, path)
	root := tui.New(context.WithoutCancel(ctx), d, tui.Options{
		Prompt: strings.Join(args, " "), Draft: draft, GoOn: m.goOn, Looks: m.set.Appearance,
		Colors: colorprofile.Detect(os.Stdout, os.Environ()),
	})
	_, err = paint.Run(ctx, root, paint.Options{})
	closeErr := d.Close()
	var sig *paint.SignalError
	switch {
	case errors.As(err, &sig):
		return &exitError{code: sig.ExitCode()}
	case errors.Is(err, context.Canceled):
		if code, ok := signalCode(ctx); ok {
			return &exitError{code: code}
		}
		return nil
	case err != nil:
		return &exitError{exitFailed, err}
	}
	return sessionErr(closeErr)
}
