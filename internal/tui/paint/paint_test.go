package paint

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TUI-13, TUI-1, TUI-9: what a program under a good terminal gets and shows.
func TestShowsAModel(t *testing.T) {
	t.Parallel()
	x := program(t)
	x.sees("ok|", "size 100x30", "kbd 1", "dark=false")
	out := x.bytes(0)
	first, asks := strings.Index(out, "wide"), strings.Index(out, "\x1b]11;?")
	if first < 0 || asks < first {
		t.Errorf("a question was put before the first frame was painted (TUI-1): frame at %d, question at %d", first, asks)
	}
	for _, seq := range []string{
		"\x1b[?1049h", "\x1b[?2004h", "\x1b[?1004h", "\x1b[?1002h", "\x1b[?1006h", "\x1b[>1u", "\x1b[?u", "\x1b[?2026$p",
		"\x1b[5 q", "\x1b[?25h", "38;2;255;136;0", "\x1b]2;demo\a",
	} {
		if !strings.Contains(out, seq) {
			t.Errorf("%q was not written", seq)
		}
	}
	if x.cooked() {
		t.Error("the terminal is not in raw mode")
	}
	for _, l := range strings.Split(x.screen(), "\n") {
		if strings.Contains(l, "wide") && !strings.Contains(l, "宽字 wide 🎉 ok|") {
			t.Errorf("wide characters are shown as %q", l)
		}
	}
	x.await("the cursor at the input (case TUI-04)", func() bool { cx, cy := x.cursor(); return cx == 2 && cy == 28 })

	x.typed("\x1b[1;3A", "key alt+up")
	x.typed("\x1b[<0;5;6M\x1b[<0;5;6m", "MouseReleaseMsg left")
	x.typed("\x1b[<32;7;6M", "MouseMotionMsg left")
	x.typed("\x1b[I", "focus")
	x.typed("\x1b[O", "blur")
	x.typed("\x1b", "key esc")
	x.typed("\x1b[200~hi\nthere\x1b[201~", `paste "hi\nthere"`)

	m := x.mark()
	x.in("\x19")
	x.writes(m, "\x1b]52;c;Y29waWVk\a")
	x.writes(m, "\x1b]9;done]0;x\a")
	x.writes(m, "\a")

	m = x.mark()
	x.in("\x14")
	x.writes(m, "\x1b]2;other[2J\a")
	x.in("\x17") // mouse off at run time (case TUI-08)
	x.writes(m, "\x1b[?1002l")

	m = x.mark()
	x.in("\x0c")
	x.writes(m, "\x1b[2J")
	x.sees("key ctrl+l", "ok|")

	x.resize(80, 25)
	x.sees("size 80x25", "ok|")
	x.await("the cursor to follow", func() bool { cx, cy := x.cursor(); return cx == 2 && cy == 23 })
	x.in("\x11")
	x.writes(0, "DEMO-EXIT err=<nil>")
	x.given(x.bytes(0))
}

// case TUI-10, TUI-9: every way in which terminals send a newline key is a key of its own.
func TestNewlineKeys(t *testing.T) {
	t.Parallel()
	x := program(t)
	x.sees("ok|")
	for _, k := range [][2]string{
		{"\r", "key enter"},
		{"\n", "key ctrl+j"},
		{"\x1b\r", "key alt+enter"},
		{"\x1b[13;2u", "key shift+enter"},
		{"x\x1b[27;2;13~", "key shift+enter"},
		{"\x1b[13;3u", "key alt+enter"},
		{"\x1b[106;5u", "key ctrl+j"},
	} {
		x.typed(k[0], k[1])
		x.typed("\x0c", "key ctrl+l")
		for range 6 { // scroll the log
			x.in("z")
		}
		x.await("the log to pass", func() bool { return !x.shows(k[1]) })
	}
}

// TUI-13, case TUI-05: nothing is written and View is not called while nothing happens; a stream paints far
// less often than it speaks.
func TestPaintsWhenChanged(t *testing.T) {
	t.Parallel()
	x := program(t, "RATE=1000", "LIMIT=600")
	x.sees("tokens 600")
	m := x.mark()
	x.typed("a", "key a")
	after := x.bytes(m)
	if len(after) > 400 {
		t.Errorf("a key cost %d bytes: %q", len(after), after)
	}
	x.in("\x11")
	x.writes(0, "DEMO-EXIT")
	if n := views(x); n >= 300 {
		t.Errorf("View was called %d times for 600 messages", n)
	}
}

// TUI-2: a frame that shows what is still to be asked for brings one more Update, and no more than it takes.
func TestAgainAfterAnUnfinishedFrame(t *testing.T) {
	t.Parallel()
	x := program(t)
	x.typed("\x01", "again 0")
	if !x.shows("again 1") {
		t.Errorf("not asked after each frame:\n%s", x.screen())
	}
	x.typed("a", "key a")
	if x.shows("again -1") {
		t.Errorf("asked for after the last frame:\n%s", x.screen())
	}
}

// TUI-13, PERF-7: a program that nothing happens to sleeps: no thread of it wakes, no byte is written.
func TestSleepsWhenIdle(t *testing.T) {
	t.Parallel()
	if _, _, ok := cpuOf(os.Getpid()); !ok {
		t.Skip("only Linux tells of wake-ups")
	}
	x := program(t, "RATE=1000", "LIMIT=50")
	x.sees("tokens 50")
	var woken int64
	var written int
	since := time.Now()
	x.await("sleep for longer than Bubble Tea's ticker takes", func() bool {
		_, n, _ := cpuOf(x.cmd.Process.Pid)
		if m := x.mark(); n != woken || m != written {
			woken, written, since = n, m, time.Now()
		}
		return time.Since(since) > 1300*time.Millisecond
	})
	x.typed("a", "key a")
}

// PERF-5: a model that asks for a slower pace gets it.
func TestPace(t *testing.T) {
	t.Parallel()
	x := program(t, "RATE=1000", "LIMIT=600", "PACE=1000")
	x.sees("tokens 600")
	x.in("\x11")
	x.writes(0, "DEMO-EXIT")
	if n := views(x); n > 50 {
		t.Errorf("View was called %d times for 600 messages", n)
	}
}

// case TUI-01, TUI-4: a paste that arrives as keys is not painted key by key.
func TestBurstOfKeysIsPaintedOnce(t *testing.T) {
	t.Parallel()
	x := program(t)
	x.sees("ok|")
	x.in(strings.Repeat("burst of keys\r", 250))
	x.sees("keys 3500")
	x.in("\x11")
	x.writes(0, "DEMO-EXIT")
	if n := views(x); n >= 350 {
		t.Errorf("View was called %d times for 3500 keys", n)
	}
}

// case TUI-02: two megabytes are one message.
func TestLargePaste(t *testing.T) {
	t.Parallel()
	x := program(t)
	x.sees("ok|")
	text := strings.Repeat("0123456789abcdef\x1b[31m\r\n", 90000)
	x.in("\x1b[200~" + text + "lastwords!\x1b[201~")
	x.sees(fmt.Sprintf(`paste of %d, "lastwords!"`, len(text)+10))
	x.typed("a", "key a")
}

// case TUI-07, TUI-10: ctrl+z gives the terminal to the shell, fg takes it again, at its new size.
func TestSuspendAndResume(t *testing.T) {
	t.Parallel()
	x := shell(t)
	m := x.run("RATE=50")
	x.in("\x1a")
	x.writes(m, "Stopped")
	x.ended(m, 148)
	x.resize(90, 26)
	m = x.mark()
	x.in("fg\r")
	x.sees("resumed", "size 90x26", "ok|")
	out := x.bytes(m)
	for _, seq := range []string{"\x1b[?1049h", "\x1b[?2004h", "\x1b[?1002h", "\x1b[>1u", "\x1b[5 q", "\x1b[?2027h"} {
		if !strings.Contains(out, seq) {
			t.Errorf("%q was not set again", seq)
		}
	}
	if x.cooked() {
		t.Error("the terminal is not in raw mode after fg")
	}
	x.typed("\x1b[1;3A", "key alt+up")
	m = x.mark()
	if err := syscall.Kill(x.pid(), syscall.SIGTSTP); err != nil { // from outside, unasked
		t.Fatal(err)
	}
	x.writes(m, "Stopped")
	x.in("clear; stty -a\r")
	x.writes(m, "columns 90")
	m = x.mark()
	x.in("fg\r")
	x.await("the screen", func() bool { return strings.Contains(x.bytes(m), "\x1b[?1049h") && x.shows("ok|") })
	x.in("\x11")
	x.writes(m, "DEMO-EXIT err=<nil>")
	x.ended(0, 0) // all of it: each push has its pop
}

// case TUI-07: where nobody does job control, ctrl+z comes back at once.
func TestSuspendWithoutJobControl(t *testing.T) {
	t.Parallel()
	x := program(t)
	x.sees("ok|")
	x.typed("\x1a", "resumed")
	x.typed("a", "key a")
}

// TUI-10, TUI-4 ($EDITOR): the editor gets a cooked terminal on the main screen.
func TestExec(t *testing.T) {
	t.Parallel()
	x := shell(t)
	m := x.run("")
	x.in("\x05")
	x.writes(m, "EDITOR-TTY-OK")
	out := x.bytes(m)
	if !strings.Contains(out, "EDITOR-STTY icanon") {
		t.Error("the editor's terminal is not in line mode")
	}
	x.given(out)
	x.resize(90, 26)
	x.in("typed\r")
	x.writes(m, "EDITOR-GOT typed")
	x.sees("edited <nil>", "size 90x26", "ok|")
	if x.cooked() {
		t.Error("the terminal is not in raw mode after the editor")
	}
	x.typed("\x1b[13;2u", "key shift+enter")
	x.in("\x15") // its callback panics
	x.writes(m, "EDITOR-WAITS")
	x.in("\r")
	x.writes(m, "boom after the editor")
	x.ended(m, 1)
}

// TUI-10: the trace of a panic is where the person reads it, on the screen that was found, whole.
func TestPanics(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]string{
		"Update": "\x10", "View": "\x16", "command": "\x0f", "command in a batch in a sequence": "\x0e", "Init": "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := shell(t)
			m := x.mark()
			if key == "" {
				x.in("INIT=panic PAINT_DEMO=paint $DEMO\r")
			} else {
				m = x.run("RATE=100")
				x.in(key)
			}
			x.writes(m, "DEMO-EXIT")
			out := x.bytes(m)
			trace := strings.Index(out, "panic: boom")
			if trace < 0 || trace < strings.LastIndex(out, "\x1b[?1049l") || !strings.Contains(out[trace:], "goroutine") ||
				!strings.Contains(out[trace:], "demo_test.go") || strings.Count(out, "panic: boom") != 1 {
				t.Errorf("the trace is not readable: %q", out[max(0, trace-100):])
			}
			if !strings.Contains(out, "the interface crashed: boom") {
				t.Error("Run did not return the panic")
			}
			x.ended(m, 1)
		})
	}
}

// TUI-10: signals end the program with the shell's code and the terminal as it was.
func TestSignals(t *testing.T) {
	t.Parallel()
	for s, code := range map[syscall.Signal]int{syscall.SIGTERM: 143, syscall.SIGINT: 130, syscall.SIGHUP: 129} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			x := shell(t)
			m := x.run("RATE=100")
			if err := syscall.Kill(x.pid(), s); err != nil {
				t.Fatal(err)
			}
			x.writes(m, "DEMO-EXIT err=ended by signal: "+s.String())
			x.ended(m, code)
		})
	}
}

// RUN-2: a terminal that is closed hangs up more than once. The second one is no impatience: the program has the time to
// close what it works on.
func TestSecondHangUp(t *testing.T) {
	p := &painter{}
	p.signal.Store(&SignalError{syscall.SIGHUP})
	p.signalled(syscall.SIGHUP, nil) // would end this process
	if s := p.signal.Load(); s.Signal != syscall.SIGHUP {
		t.Errorf("ended by %v", s.Signal)
	}
}

// TUI-10: a program that hangs in Update still dies of a second signal, with the terminal restored.
func TestSignalEndsAHungModel(t *testing.T) {
	t.Parallel()
	x := shell(t)
	m := x.run("HANG=1")
	x.in("\x18")
	x.writes(m, "HANGS")
	pid := x.pid()
	x.await("the end", func() bool {
		_ = syscall.Kill(pid, syscall.SIGTERM)
		return strings.Contains(x.bytes(m), "\x1b[?1049l")
	})
	x.ended(m, 143)
}

// case TUI-13: no size, tiny sizes, and a window that is dragged.
func TestOddSizes(t *testing.T) {
	t.Parallel()
	x := open(t, 0, 0, answers, []string{"PAINT_DEMO=paint", "RATE=200", "LIMIT=400"}, self(t))
	x.writes(0, "size 80x24")
	for i := range 100 {
		x.tell(1+i%120, 1+i%40)
	}
	for _, size := range [][2]int{{1, 1}, {10, 3}, {500, 200}} {
		x.tell(size[0], size[1])
	}
	x.writes(0, "size 500x200")
	x.tell(0, 0)
	m := x.mark()
	x.in("b")
	x.writes(m, "key b")
	x.resize(100, 30)
	x.sees("size 100x30", "ok|")
	x.in("\x11")
	x.writes(0, "DEMO-EXIT err=<nil>")
}

// TUI-9: fewer colours, none, and terminals that answer nothing.
func TestTerminals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env        []string
		has, lacks []string
	}{
		"256 colours":   {[]string{"COLORTERM="}, []string{"38;5;", "\x1b[?2026$p"}, []string{"38;2;"}},
		"16 colours":    {[]string{"COLORTERM=", "TERM=xterm-color"}, nil, []string{"38;2;", "38;5;"}},
		"no colour":     {[]string{"NO_COLOR=1"}, nil, []string{"38;", "\x1b[31m", "\x1b[33m"}},
		"Apple":         {[]string{"TERM_PROGRAM=Apple_Terminal"}, []string{"\x1b]11;?"}, []string{"\x1b[?2026"}},
		"ssh":           {[]string{"SSH_TTY=/dev/pts/1"}, []string{"\x1b]11;?"}, []string{"\x1b[?2026$p"}},
		"Linux console": {[]string{"TERM=linux"}, nil, []string{"\x1b[>", "\x1b]11", "\x1b[?2026$p", "\x1b[c"}},
		"dumb":          {[]string{"TERM=dumb"}, nil, []string{"\x1b[>", "\x1b]11", "\x1b[c"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := open(t, 100, 30, nil, append(c.env, "PAINT_DEMO=paint"), self(t))
			x.sees("ok|")
			x.typed("a", "key a")
			x.in("\x11")
			x.writes(0, "DEMO-EXIT err=<nil>")
			out := x.bytes(0)
			out = out[:strings.LastIndex(out, "\x1b[?1049l")]
			for _, s := range c.has {
				if !strings.Contains(out, s) {
					t.Errorf("%q is missing", s)
				}
			}
			for _, s := range c.lacks {
				if i := strings.Index(out, s); i >= 0 {
					t.Errorf("%q was written: %q", s, out[max(0, i-20):min(len(out), i+40)])
				}
			}
			if strings.Contains(out, "\x1b[?2026h") || strings.Contains(out, "\x1b[?2027h") {
				t.Error("a mode was used that the terminal did not answer for")
			}
		})
	}
}

// TUI-13: after a stream and keys the screen is the one that Bubble Tea's own renderer leaves.
func TestSameScreenAsStock(t *testing.T) {
	t.Parallel()
	var screens [2]string
	for i, mode := range []string{"stock", "paint"} {
		x := open(t, 100, 30, answers, []string{"PAINT_DEMO=" + mode, "RATE=1000", "LIMIT=1500"}, self(t))
		x.sees("ok|", "kbd 1")
		for range 40 {
			x.in("a")
		}
		x.sees("tokens 1500", "keys 40")
		screens[i] = x.screen()
	}
	for i, s := range screens {
		rows := strings.Split(s, "\n")
		screens[i] = strings.Join(rows[1:21], "\n") // the head tells of the background, which only we ask for
	}
	if screens[0] != screens[1] {
		t.Errorf("stock shows\n%s\nand we show\n%s", screens[0], screens[1])
	}
}

// Without a terminal there is nothing to take, and the caller is told so.
func TestNeedsATerminal(t *testing.T) {
	_, err := Run(t.Context(), emptyModel{}, Options{In: openNull(t), Out: openNull(t)})
	if err != ErrNoTerminal {
		t.Errorf("Run without a terminal: %v", err)
	}
}

// views is how often View was called, as the demo says when it ends.
func views(x *terminal) (n int) {
	x.t.Helper()
	out := x.bytes(0)
	if _, err := fmt.Sscanf(out[max(0, strings.Index(out, "views=")):], "views=%d", &n); err != nil {
		x.t.Fatal(err)
	}
	return n
}
