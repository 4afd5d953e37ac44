// Command agent wires one program together: Varve, a coding agent in the
// terminal whose memory is an append-only record.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// version is set by the build.
var version = "0.1.0-dev"

// program is how sessions name what wrote them.
func programName() string { return "varve " + version }

// Exit codes (CLI-1).
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitProvider    = 3
	exitRefused     = 4
	exitSession     = 5
	exitInterrupted = 130
	exitTerminated  = 143
)

// An exitError carries the exit code of an error that a person reads in one
// line. A nil Err says nothing more: everything was said.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func exit(code int, format string, args ...any) error {
	return &exitError{code, fmt.Errorf(format, args...)}
}

func main() {
	if len(os.Args) == 2 && (os.Args[1] == "version" || os.Args[1] == "--version") {
		printVersion(os.Stdout)
		return
	}
	// Memory is small and requests are large: collect less often.
	debug.SetGCPercent(300)
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func printVersion(w io.Writer) {
	fmt.Fprintf(w, "%s (%s, %s/%s)\n", programName(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// run is the whole program but for the process.
func run(args []string, in io.Reader, out, errs io.Writer) int {
	ctx, stop := signalled(context.Background())
	defer stop()
	root := rootCommand(&env{in: in, out: out, err: errs})
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errs)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	code := exitUsage // what cobra itself refuses is wrong usage
	var e *exitError
	if errors.As(err, &e) {
		code = e.code
	}
	if msg := strings.TrimSpace(err.Error()); msg != "" {
		fmt.Fprintln(errs, "agent: "+strings.ReplaceAll(msg, "\n", " "))
	}
	return code
}

// env is where the program reads and writes.
type env struct {
	in       io.Reader
	out, err io.Writer
}

func rootCommand(e *env) *cobra.Command {
	f := &flags{}
	root := &cobra.Command{
		Use:   "agent [PROMPT]",
		Short: "Varve, a coding agent whose memory is an append-only record",
		Long: "Varve works in this folder with the tools you allow. Every session is one JSONL file\n" +
			"that only ever grows: it can be resumed, and nothing in it is lost.",
		Example: `  agent                          open the interface here
  agent "why does the build fail?"
  agent demo                     see it work, without a key
  agent run "add a test for Parse"
  agent --continue               go on with the last session in this folder`,
		Args:          cobra.ArbitraryArgs,
		SilenceErrors: true, SilenceUsage: true,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 && !strings.ContainsAny(args[0], " \t\n") {
				if like := c.SuggestionsFor(args[0]); len(like) > 0 {
					return exit(exitUsage, "there is no command %q: did you mean `agent %s`? A prompt of one word goes with `agent run`", args[0], like[0])
				}
			}
			return openInterface(c.Context(), e, f, args)
		},
		SuggestionsMinimumDistance: 2,
	}
	root.PersistentFlags().StringVar(&f.model, "model", "", "the model, as provider/model")
	root.PersistentFlags().StringVar(&f.mode, "mode", "", "what runs without asking: ask, edit or full")
	root.Flags().BoolVar(&f.cont, "continue", false, "go on with the last session in this folder")
	root.AddCommand(
		runCommand(e, f), resumeCommand(e, f), sessionCommand(e, f), modelsCommand(e, f), configCommand(e, f),
		doctorCommand(e, f), demoCommand(e, f),
		&cobra.Command{
			Use: "version", Short: "Say which version this is", Args: cobra.NoArgs,
			Run: func(*cobra.Command, []string) { printVersion(e.out) },
		},
	)
	root.CompletionOptions.HiddenDefaultCmd = false
	return root
}

// errSignal says which signal ended the program (RUN-2).
type errSignal struct{ os.Signal }

func (e errSignal) Error() string { return "ended by " + e.Signal.String() }

// signalled returns a context that is done when the process is told to end,
// with the signal as its cause.
func signalled(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	c := make(chan os.Signal, 2)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		if s, ok := <-c; ok {
			if s == syscall.SIGHUP { // first of all: a shell and the kernel each send one
				signal.Ignore(syscall.SIGHUP)
			}
			cancel(errSignal{s})
			signal.Stop(c) // a second one ends the program the hard way
		}
	}()
	return ctx, func() { signal.Stop(c); cancel(nil) }
}

// signalCode is the exit code for the cause of a done context.
func signalCode(ctx context.Context) (int, bool) {
	var s errSignal
	if !errors.As(context.Cause(ctx), &s) {
		return 0, false
	}
	if s.Signal == syscall.SIGTERM {
		return exitTerminated, true
	}
	return exitInterrupted, true
}
