// Command agent wires one program together: Varve, a coding agent in the
// terminal whose memory is an append-only record.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"unicode"

	"github.com/spf13/cobra"
)

// version is set by the build.
var version = "0.1.0-dev"

// program is how sessions name what wrote them.
func programName() string { return "varve " + version }

// self is how this program is started again, as printed commands name it.
var self = "agent"

// startedAs is what to type to start the program that was started as arg0: its
// name, where the shell finds that one by it.
func startedAs(arg0 string) string {
	name := filepath.Base(arg0)
	if arg0 == "" || name == arg0 {
		return arg0
	}
	if found, err := exec.LookPath(name); err == nil {
		there, err := os.Stat(found)
		this, thisErr := os.Stat(arg0)
		if err == nil && thisErr == nil && os.SameFile(there, this) {
			return name
		}
	}
	return shellWord(arg0)
}

// shellWord is a text as one word of a shell.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r == '/' || r == '.' || r == '-' || r == '_' || r == '+' || r == ':' || r == '@' || unicode.IsLetter(r) || unicode.IsDigit(r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// asStarted is a text for people in which the commands to type begin as the
// program was started.
func asStarted(s string) string {
	return strings.NewReplacer("`agent ", "`"+self+" ", "`agent`", "`"+self+"`").Replace(s)
}

// A saidError is an error in those words.
type saidError struct{ error }

func (e saidError) Error() string { return asStarted(e.error.Error()) }
func (e saidError) Unwrap() error { return e.error }

func said(err error) error {
	if err == nil {
		return nil
	}
	return saidError{err}
}

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
	self = startedAs(os.Args[0])
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
		fprintln(errs, "agent: "+asStarted(strings.ReplaceAll(msg, "\n", " ")))
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
			if err := notACommand(c, args); err != nil {
				return err
			}
			return openInterface(c.Context(), e, f, args)
		},
		SuggestionsMinimumDistance: 2,
	}
	root.PersistentFlags().StringVar(&f.model, "model", "", "the model, as provider/model")
	root.PersistentFlags().StringVar(&f.mode, "mode", "", "what runs without asking: ask, edit or full")
	plainFlag(root, f)
	root.Flags().BoolVar(&f.cont, "continue", false, "go on with the last session in this folder")
	root.AddCommand(
		runCommand(e, f), resumeCommand(e, f), sessionCommand(e, f), modelsCommand(e, f), configCommand(e, f),
		doctorCommand(e, f), gcCommand(e, f), demoCommand(e, f), evalCommand(e),
		&cobra.Command{
			Use: "version", Short: "Say which version this is", Args: cobra.NoArgs,
			Run: func(*cobra.Command, []string) { printVersion(e.out) },
		},
	)
	root.CompletionOptions.HiddenDefaultCmd = false
	return root
}

// plainFlag gives a command that opens the interface the choice of its plain mode.
func plainFlag(c *cobra.Command, f *flags) {
	c.Flags().BoolVar(&f.plain, "plain", false, "lines of text in place of the screen, for a screen reader")
}

// notACommand refuses what is no prompt: a mistyped command is not sent to a
// model.
func notACommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	like := []string{}
	if !strings.ContainsAny(args[0], " \t\n") {
		like = c.SuggestionsFor(args[0])
	}
	switch {
	case len(like) > 0 && len(args) > 1:
		meant := strings.Join(append([]string{like[0]}, args[1:]...), " ")
		return exit(exitUsage, "there is no command %q: did you mean `agent %s`? (a prompt is one quoted argument)", args[0], meant)
	case len(like) > 0:
		return exit(exitUsage, "there is no command %q: did you mean `agent %s`? (a prompt is one quoted argument, and one of a single word goes with `agent run`)", args[0], like[0])
	case len(args) > 1:
		return exit(exitUsage, "%q is one argument too many: a prompt is one quoted argument, as in `agent \"why does the build fail?\"`", args[1])
	}
	return nil
}

// aCommand refuses what is none of a command's own, and names what is like it.
func aCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	c.SuggestionsMinimumDistance = 2
	if like := c.SuggestionsFor(args[0]); len(like) > 0 {
		return exit(exitUsage, "there is no command `%s %s`: did you mean `%s`?", c.CommandPath(), args[0], strings.Join(append([]string{c.CommandPath(), like[0]}, args[1:]...), " "))
	}
	return exit(exitUsage, "there is no command `%s %s`; `%s --help` lists them", c.CommandPath(), args[0], c.CommandPath())
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
