package paint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/term"
)

// ErrNoTerminal says that Options.In or Options.Out is not a terminal.
var ErrNoTerminal = errors.New("the interface needs a terminal for input and output")

// SignalError says which signal ended the program. The terminal was restored.
type SignalError struct{ Signal syscall.Signal }

func (e *SignalError) Error() string { return "ended by signal: " + e.Signal.String() }

// ExitCode is what a shell reports for a process that the signal ended: 130 for SIGINT, 143 for SIGTERM.
func (e *SignalError) ExitCode() int { return 128 + int(e.Signal) }

// Options say where the terminal is. The zero value means the process's own.
type Options struct {
	In, Out *os.File  // the terminal; nil: standard input and output
	Err     io.Writer // where the trace of a panic goes after the terminal was restored; nil: standard error
	Env     []string  // as os.Environ, which nil means: TERM, colours, COLUMNS and LINES
}

// Run shows m until it quits, and returns the last model. The error is nil after [tea.Quit], else one of
// [ErrNoTerminal], [*SignalError], [*PanicError], ctx's error, or what the terminal said when it went away.
// Whatever the end, the terminal is left as it was found (TUI-10). Run is for one call at a time: it handles
// the signals of the process (SIGINT, SIGTERM, SIGHUP, SIGCONT, SIGWINCH) while it runs.
func Run(ctx context.Context, m tea.Model, o Options) (tea.Model, error) {
	p := newPainter(ctx, m, o)
	if !term.IsTerminal(p.in.Fd()) || !term.IsTerminal(p.out.Fd()) {
		return m, ErrNoTerminal
	}
	if err := p.take(); err != nil {
		return m, err
	}
	stop := p.handleSignals()
	_, err := p.prog.Run()
	p.closing = true
	p.release()
	stop()
	if c := p.crash.Load(); c != nil {
		_, _ = fmt.Fprintf(p.Err, "panic: %v\n\n%s\n", c.Value, c.Stack)
		return p.model, c
	}
	if s := p.signal.Load(); s != nil {
		return p.model, s
	}
	if err := cmp.Or(p.lost, p.deaf); err != nil {
		return p.model, fmt.Errorf("terminal: %w", err)
	}
	if ctx.Err() != nil {
		return p.model, ctx.Err()
	}
	return p.model, err
}

func newPainter(ctx context.Context, m tea.Model, o Options) *painter {
	p := &painter{Options: o, in: o.In, out: o.Out, model: m, answered: make(chan struct{}), goesOn: make(chan struct{}, 1)}
	if p.in == nil {
		p.in = os.Stdin
	}
	if p.out == nil {
		p.out = os.Stdout
	}
	if p.Err == nil {
		p.Err = os.Stderr
	}
	if p.Env == nil {
		p.Env = os.Environ()
	}
	p.size = p.terminalSize()
	p.screen = newScreen(p.Env, p.size.Width, p.size.Height)
	p.prog = tea.NewProgram(p, tea.WithContext(ctx), tea.WithoutRenderer(), tea.WithoutSignalHandler(),
		tea.WithInput(nil), tea.WithOutput(io.Discard), tea.WithEnvironment(p.Env), tea.WithFPS(1),
		tea.WithFilter(p.filter), tea.WithColorProfile(colorprofile.Env(p.Env)),
		tea.WithWindowSize(p.size.Width, p.size.Height))
	return p
}

// take makes the terminal ours. What the screen needs goes with the next frame.
func (p *painter) take() error {
	cooked, err := term.MakeRaw(p.in.Fd())
	if err != nil {
		return fmt.Errorf("terminal: %w", err)
	}
	p.cooked.Store(cooked)
	if p.reader, err = p.startInput(); err != nil {
		_ = term.Restore(p.in.Fd(), p.cooked.Swap(nil))
		return fmt.Errorf("terminal: %w", err)
	}
	return nil
}

// release gives the terminal back as it was found. It does nothing if the terminal is not ours.
func (p *painter) release() {
	if p.reader == nil {
		return
	}
	p.awaitAnswers()
	p.reader.stop()
	p.reader = nil
	p.write([]byte(p.leaving()))
	p.leave.Store(nil)
	if cooked := p.cooked.Swap(nil); cooked != nil {
		_ = term.Restore(p.in.Fd(), cooked)
	}
}

// awaitAnswers lets answers to our questions arrive that are on their way when the program ends at once, or
// the shell would read them as typed. A terminal that never answers costs a fifth of a second, once.
func (p *painter) awaitAnswers() {
	if p.asked.IsZero() || p.lost != nil {
		return
	}
	if wait := 200*time.Millisecond - time.Since(p.asked); wait > 0 {
		select {
		case <-p.answered:
		case <-time.After(wait):
		}
	}
}

func (p *painter) leaving() string {
	if seq := p.leave.Load(); seq != nil {
		return *seq
	}
	return ""
}

// terminalSize is the terminal's size, or the last known one where it has none (0x0 from some ptys): COLUMNS
// and LINES, then 80x24 (case TUI-13).
func (p *painter) terminalSize() tea.WindowSizeMsg {
	w, h, err := term.GetSize(p.out.Fd())
	if err != nil || w <= 0 || h <= 0 {
		if p.size.Width > 0 {
			return p.size
		}
		w, h = number(p.getenv("COLUMNS"), 80), number(p.getenv("LINES"), 24)
	}
	return tea.WindowSizeMsg{Width: min(w, 2000), Height: min(h, 500)} // a million cells, more than any screen has
}

func number(s string, otherwise int) int {
	if n, err := strconv.Atoi(s); err == nil && n > 0 {
		return n
	}
	return otherwise
}

func (p *painter) getenv(name string) string { return uv.Environ(p.Env).Getenv(name) }

// knowsModes reports that asking for modes 2026 and 2027 is safe: Apple's terminal shows the question, and over
// ssh only terminals that name themselves are asked. The rule is Bubble Tea's.
func (p *painter) knowsModes() bool {
	for _, name := range []string{"ghostty", "wezterm", "alacritty", "kitty", "rio"} {
		if strings.Contains(p.screen.term, name) {
			return true
		}
	}
	return p.getenv("SSH_TTY") == "" && !strings.Contains(p.getenv("TERM_PROGRAM"), "Apple")
}
