package main

import (
	"context"
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
	return m.show(ctx, e, &runFlags{session: id, cont: true}, nil, false)
}

// show opens the interface.
func (m *machine) show(ctx context.Context, e *env, r *runFlags, args []string, draft bool) error {
	return exit(exitUsage, "%w", errNoTerminal)
}
