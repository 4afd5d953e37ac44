package paint

import (
	"strings"
	"syscall"
	"testing"
)

// Whatever ends the program, and whenever another one has the terminal meanwhile, it
// is as it was found: all modes of the emulator, and the terminal's own.
func TestLeftAsFound(t *testing.T) { // TUI-10, case TUI-07
	t.Parallel()
	signal := func(s syscall.Signal) func(*terminal) {
		return func(x *terminal) {
			if err := syscall.Kill(x.pid(), s); err != nil {
				x.t.Fatal(err)
			}
		}
	}
	key := func(s string) func(*terminal) { return func(x *terminal) { x.in(s) } }
	for _, c := range []struct {
		how  string
		env  string
		does func(*terminal)
		says string // in the end
		code int
	}{
		{"exit", "", key("\x11"), "DEMO-EXIT err=<nil>", 0},
		{"error", "", key("\x06"), "DEMO-EXIT err=context canceled", 1},
		{"panic", "RATE=100", key("\x10"), "DEMO-EXIT err=the interface crashed", 1},
		{"panic of a command", "", key("\x0f"), "DEMO-EXIT err=the interface crashed", 1},
		{"SIGTERM", "RATE=100", signal(syscall.SIGTERM), "DEMO-EXIT err=ended by signal", 143},
		{"SIGINT", "RATE=100", signal(syscall.SIGINT), "DEMO-EXIT err=ended by signal", 130},
		{"SIGHUP", "RATE=100", signal(syscall.SIGHUP), "DEMO-EXIT err=ended by signal", 129},
		{"suspend", "RATE=100", key("\x1a"), "Stopped", 148},
		{"suspend and resume", "RATE=100", func(x *terminal) {
			m := x.mark()
			x.in("\x1a")
			x.writes(m, "Stopped")
			m = x.mark()
			x.in("fg\r")
			x.await("the screen again", func() bool { return strings.Contains(x.bytes(m), "\x1b[?1049h") && x.shows("resumed") })
			x.in("\x11")
		}, "DEMO-EXIT err=<nil>", 0},
		{"stopped unasked", "RATE=100", func(x *terminal) {
			m := x.mark()
			signal(syscall.SIGTSTP)(x)
			x.writes(m, "Stopped")
			m = x.mark()
			x.in("fg\r")
			x.await("the screen again", func() bool { return strings.Contains(x.bytes(m), "\x1b[?1049h") && x.shows("ok|") })
			x.in("\x11")
		}, "DEMO-EXIT err=<nil>", 0},
		{"an editor", "", func(x *terminal) {
			m := x.mark()
			x.in("\x05")
			x.writes(m, "EDITOR-TTY-OK")
			x.in("typed\r")
			x.sees("edited <nil>")
			x.in("\x11")
		}, "DEMO-EXIT err=<nil>", 0},
	} {
		t.Run(c.how, func(t *testing.T) {
			t.Parallel()
			x := shell(t)
			found := x.state()
			m := x.run(c.env)
			if x.state() == found {
				t.Fatal("nothing of the program's can be seen")
			}
			c.does(x)
			x.writes(m, c.says)
			x.ended(m, c.code)
			x.as(found)
		})
	}
}

// as holds that the terminal is as it was found, at a prompt.
func (x *terminal) as(found string) {
	x.t.Helper()
	x.await("the terminal as it was: "+found+"; it is: "+x.state(), func() bool { return x.state() == found })
}

// Who started the program is killed, and the shell behind takes the terminal: the
// program sees with the next key that it hears nothing any more, and goes.
func TestParentDies(t *testing.T) { // TUI-10
	t.Parallel()
	x := shell(t)
	found, m := x.state(), x.mark()
	x.in("sh -c 'PAINT_DEMO=paint $DEMO; :'\r")
	x.await("the demo's screen", func() bool { return x.shows("ok|", "dark=") })
	if err := syscall.Kill(x.pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	x.writes(m, "Killed")
	x.await("the end of the demo", func() bool {
		x.in("\r") // the next key that is typed
		return strings.Contains(x.bytes(m), "DEMO-EXIT err=terminal: ")
	})
	m = x.mark()
	x.ended(m, 137)
	x.as(found)
}
