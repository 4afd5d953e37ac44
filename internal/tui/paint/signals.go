package paint

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/term"
)

// grace is how long a program may take to end after a signal before it is ended where it stands.
const grace = 3 * time.Second

// handleSignals serves signals until stop is called. Sizes have a goroutine of their own, so that a window
// that is dragged holds nothing up and piles nothing up.
func (p *painter) handleSignals() (stop func()) {
	p.ends = make(chan os.Signal, 8)
	signal.Notify(p.ends, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGCONT)
	sizes := make(chan os.Signal, 1)
	signal.Notify(sizes, syscall.SIGWINCH)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case s := <-p.ends:
				p.signalled(s.(syscall.Signal), done)
			}
		}
	}()
	go func() {
		for {
			select {
			case <-done:
				return
			case <-sizes:
				if w, h, err := term.GetSize(p.out.Fd()); err == nil {
					p.prog.Send(tea.WindowSizeMsg{Width: w, Height: h})
				}
			}
		}
	}()
	return func() {
		close(done)
		signal.Stop(p.ends)
		signal.Stop(sizes)
	}
}

func (p *painter) signalled(s syscall.Signal, done <-chan struct{}) {
	ours := p.cooked.Load() != nil
	switch {
	case s == syscall.SIGCONT && ours:
		go p.prog.Send(retakeMsg{})
	case s == syscall.SIGCONT:
		select {
		case p.goesOn <- struct{}{}:
		default:
		}
	case s == syscall.SIGINT && !ours: // the editor's
	case s == syscall.SIGHUP && p.signal.Load() != nil: // a terminal that closes sends more than one
	case !p.signal.CompareAndSwap(nil, &SignalError{s}):
		p.die(s) // asked twice
	default:
		if c := p.child.Load(); c != nil {
			_ = c.Signal(s)
		}
		go p.prog.Quit()
		go func() {
			select {
			case <-done:
			case <-time.After(grace):
				p.die(s)
			}
		}()
	}
}

// die ends a process whose event loop does not answer, with the terminal restored and the code of the signal.
func (p *painter) die(s syscall.Signal) {
	if cooked := p.cooked.Swap(nil); cooked != nil {
		written := make(chan struct{})
		go func() { _, _ = p.out.WriteString(p.leaving()); close(written) }()
		select {
		case <-written:
		case <-time.After(300 * time.Millisecond): // a stalled terminal
		}
		_ = term.Restore(p.in.Fd(), cooked)
	}
	os.Exit((&SignalError{s}).ExitCode())
}

// stopProcess stops the process as ctrl+z would and returns when it goes on. Where nobody does job control the
// system ignores the stop, so it is not waited for longer than it takes. SIGTSTP is never asked for: Go cannot
// give a signal its default action back, and only the default action knows who does job control.
func (p *painter) stopProcess() {
	select {
	case <-p.goesOn: // of a stop before
	default:
	}
	_ = syscall.Kill(0, syscall.SIGTSTP) // the group, as the terminal would
	select {
	case <-p.goesOn:
	case <-time.After(300 * time.Millisecond):
	}
}
