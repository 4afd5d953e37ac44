package main

import (
	"context"

	"github.com/spf13/cobra"
)

func openInterface(ctx context.Context, e *env, f *flags, args []string) error {
	return exit(exitUsage, "%w", errNoTerminal)
}

func resumeInterface(ctx context.Context, e *env, f *flags, id string, goOn bool) error {
	return exit(exitUsage, "%w", errNoTerminal)
}

func demoCommand(e *env, f *flags) *cobra.Command { return &cobra.Command{Use: "demo"} }
