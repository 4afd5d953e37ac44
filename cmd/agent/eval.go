package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"varve/internal/eval"
)

func evalCommand(e *env) *cobra.Command {
	c := &cobra.Command{
		Use:   "eval",
		Short: "Evaluate what becomes of long contexts",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return exit(exitUsage, "eval: which one? `agent eval offline` needs no key and no network")
		},
	}
	var asJSON bool
	var picture string
	offline := &cobra.Command{
		Use:   "offline",
		Short: "One kept trace through every way of making a context short, with scripted replies",
		Long: "Plays a kept session of 24 turns through seven paths: nothing, masking, one-shot, a buffer of an\n" +
			"older program, and MapReduce one at a time, in parallel, and killed and resumed. The harness, the\n" +
			"log and the HTTP are real, the replies are scripted. It needs no key, no settings and no network,\n" +
			"and prints the same each time. It ends with 1 if a row does not hold (docs/compaction.md).",
		Example: "  agent eval offline\n  agent eval offline --json\n  agent eval offline --picture paths.svg",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return evalOffline(c.Context(), e, asJSON, picture)
		},
	}
	offline.Flags().BoolVar(&asJSON, "json", false, "for machines")
	offline.Flags().StringVar(&picture, "picture", "", "draw the size of each prompt into this SVG file")
	c.AddCommand(offline)
	return c
}

func evalOffline(ctx context.Context, e *env, asJSON bool, picture string) error {
	dir, err := os.MkdirTemp("", "varve-eval-")
	if err != nil {
		return exit(exitFailed, "eval: no temporary folder: %w", err)
	}
	defer os.RemoveAll(dir)
	r, err := eval.Run(ctx, dir)
	if err != nil {
		if code, ok := signalCode(ctx); ok {
			return exit(code, "eval: interrupted")
		}
		return exit(exitFailed, "eval: %w", err)
	}
	if picture != "" {
		if err := os.WriteFile(picture, []byte(r.Picture()), 0o644); err != nil {
			return exit(exitUsage, "--picture: %w", err)
		}
	}
	if asJSON {
		printJSON(e.out, r)
	} else if err := r.Write(e.out); err != nil {
		return &exitError{exitFailed, err}
	}
	if !r.OK() {
		return exit(exitFailed, "eval: not every row holds")
	}
	if picture != "" && !asJSON {
		fmt.Fprintf(e.out, "\nThe picture is in %s.\n", picture)
	}
	return nil
}
