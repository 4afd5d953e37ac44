package paint

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
)

// terminal is a pty with an emulator on it. Conditions are polled for; nothing depends on how long they take.
type terminal struct {
	t    testing.TB
	cmd  *exec.Cmd
	host *os.File // our side
	tty  *os.File // the program's side
	done chan error

	mu  sync.Mutex
	raw bytes.Buffer
	emu *vt.Emulator
	set map[int]bool      // modes of the emulator that are not as they were in the beginning
	ask map[string]string // question: answer
}

// everything that a good terminal answers
var answers = map[string]string{
	"\x1b[?2026$p": "\x1b[?2026;2$y", "\x1b[?2027$p": "\x1b[?2027;2$y", "\x1b[?u": "\x1b[?1u",
	"\x1b]11;?\a": "\x1b]11;rgb:ffff/ffff/ffff\a", "\x1b[c": "\x1b[?62;22c",
}

// open starts argv on a pty of w by h. env is added to a clean environment.
func open(t testing.TB, w, h int, ask map[string]string, env []string, argv ...string) *terminal {
	t.Helper()
	host, tty, err := pty.Open()
	if err != nil {
		t.Skip("no pty: ", err)
	}
	x := &terminal{t: t, host: host, tty: tty, done: make(chan error, 1), ask: ask, emu: vt.NewEmulator(max(w, 1), max(h, 1)), set: map[int]bool{}}
	mode := func(on bool) func(ansi.Mode) {
		return func(m ansi.Mode) {
			if n := m.Mode(); on == (n == ansi.ModeTextCursorEnable.Mode() || n == ansi.ModeAutoWrap.Mode()) {
				delete(x.set, n)
			} else {
				x.set[n] = on
			}
		}
	}
	x.emu.SetCallbacks(vt.Callbacks{EnableMode: mode(true), DisableMode: mode(false)})
	x.resize(w, h)
	x.cmd = exec.Command(argv[0], argv[1:]...)
	x.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=/", "PS1=SH$ ", "TERM=xterm-256color", "COLORTERM=truecolor", "HISTFILE="}, env...)
	x.cmd.Stdin, x.cmd.Stdout, x.cmd.Stderr = tty, tty, tty
	x.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	go io.Copy(io.Discard, x.emu) // its own answers
	if err := x.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { x.done <- x.cmd.Wait() }()
	go x.mirror()
	t.Cleanup(func() {
		_ = x.cmd.Process.Kill()
		_ = host.Close()
		_ = tty.Close()
	})
	return x
}

// program starts the demo itself, shell starts it as a job of a shell.
func program(t testing.TB, env ...string) *terminal {
	t.Helper()
	return open(t, 100, 30, answers, append(env, "PAINT_DEMO=paint"), self(t))
}

func shell(t testing.TB, env ...string) *terminal {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("job control is tested with bash")
	}
	x := open(t, 100, 30, answers, append(env, "DEMO="+self(t)), bash, "--norc", "--noprofile", "-i")
	x.await("a prompt", func() bool { return strings.Contains(x.bytes(0), "SH$ ") })
	return x
}

// run starts the demo in a shell and returns where its output begins.
func (x *terminal) run(env string) (mark int) {
	mark = x.mark()
	x.in(env + " PAINT_DEMO=${PAINT_DEMO:-paint} $DEMO\r")
	x.await("the demo's screen", func() bool {
		return strings.Contains(x.bytes(mark), "\x1b[?1049h") && x.shows("ok|", "dark=") // the last of the answers is there
	})
	return mark
}

func self(t testing.TB) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

func (x *terminal) mirror() {
	b := make([]byte, 1<<16)
	var tail []byte
	for {
		n, err := x.host.Read(b)
		if n > 0 {
			x.mu.Lock()
			x.raw.Write(b[:n])
			x.emu.Write(b[:n])
			x.mu.Unlock()
			tail = append(tail, b[:n]...)
			for {
				q, at := "", -1
				for ask := range x.ask {
					if i := bytes.Index(tail, []byte(ask)); i >= 0 && (at < 0 || i < at) {
						q, at = ask, i
					}
				}
				if at < 0 {
					break
				}
				_, _ = x.host.WriteString(x.ask[q])
				tail = tail[at+len(q):]
			}
			tail = tail[max(0, len(tail)-16):]
		}
		if err != nil {
			return
		}
	}
}

func (x *terminal) in(s string) {
	x.t.Helper()
	if _, err := x.host.WriteString(s); err != nil {
		x.t.Fatal(err)
	}
}

func (x *terminal) resize(w, h int) {
	x.mu.Lock()
	x.emu.Resize(max(w, 1), max(h, 1))
	x.mu.Unlock()
	x.tell(w, h)
}

// tell gives the pty a size that the emulator doesn't follow.
func (x *terminal) tell(w, h int) {
	_ = pty.Setsize(x.host, &pty.Winsize{Rows: uint16(h), Cols: uint16(w)})
}

func (x *terminal) mark() int { x.mu.Lock(); defer x.mu.Unlock(); return x.raw.Len() }

func (x *terminal) bytes(from int) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return string(x.raw.Bytes()[from:])
}

func (x *terminal) screen() string { x.mu.Lock(); defer x.mu.Unlock(); return x.emu.String() }

func (x *terminal) cursor() (int, int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	p := x.emu.CursorPosition()
	return p.X, p.Y
}

func (x *terminal) shows(parts ...string) bool {
	s := x.screen()
	for _, p := range parts {
		if !strings.Contains(s, p) {
			return false
		}
	}
	return true
}

// await polls for a condition, generously: the machine may be busy.
func (x *terminal) await(what string, ok func() bool) {
	x.t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			raw := x.bytes(0)
			x.t.Fatalf("%s: did not come; the screen is\n%s\nand the last bytes are %q", what, x.screen(), raw[max(0, len(raw)-600):])
		}
	}
}

func (x *terminal) sees(parts ...string) {
	x.t.Helper()
	x.await(fmt.Sprintf("%q on the screen", parts), func() bool { return x.shows(parts...) })
}

func (x *terminal) writes(from int, part string) {
	x.t.Helper()
	x.await(fmt.Sprintf("%q in the output", part), func() bool { return strings.Contains(x.bytes(from), part) })
}

// typed sends s and waits for what it shows.
func (x *terminal) typed(s, shows string) {
	x.t.Helper()
	x.in(s)
	x.sees(shows)
}

// cooked reports a terminal in the mode of a shell that runs a command: lines, echo, signals.
func (x *terminal) cooked() bool {
	s, err := term.GetState(x.tty.Fd())
	return err == nil && s.Lflag&(syscall.ICANON|syscall.ECHO|syscall.ISIG) == syscall.ICANON|syscall.ECHO|syscall.ISIG
}

// ended waits for the demo under a shell to end with the code, and checks that the terminal is as it was found.
func (x *terminal) ended(from, code int) string {
	x.t.Helper()
	x.in("\x15echo E''XIT-$?-; stty -a | tr ' ;' '\\n\\n' | grep -x -- '-*icanon' | sed s/^/SH''ELL-/\r")
	x.writes(from, "SHELL-")
	x.writes(from, fmt.Sprintf("EXIT-%d-", code))
	out := x.bytes(from)
	if !strings.Contains(out, "SHELL-icanon") {
		x.t.Errorf("the terminal is not in line mode: %q", out[strings.LastIndex(out, "SHELL-"):])
	}
	x.given(out)
	return out
}

// given checks that every mode that out set was reset after, in the right order.
func (x *terminal) given(out string) {
	x.t.Helper()
	off := strings.LastIndex(out, "\x1b[?1049l")
	if off < 0 {
		if strings.Contains(out, "\x1b[?1049h") {
			x.t.Error("the alternate screen was not left")
		}
		return
	}
	ours := out[:min(len(out), off+len("\x1b[?1049l\x1b[?25h\x1b[23;0t"))] // what follows is the shell's
	for set, reset := range map[string]string{
		"\x1b[?1049h": "\x1b[?1049l", "\x1b[?2004h": "\x1b[?2004l", "\x1b[?1004h": "\x1b[?1004l",
		"\x1b[?1002h": "\x1b[?1002l", "\x1b[?1006h": "\x1b[?1006l", "\x1b[>1u": "\x1b[<1u",
		"\x1b[>4;2m": "\x1b[>4m", "\x1b[?25l": "\x1b[?25h", "\x1b[5 q": "\x1b[0 q", "\x1b[22;0t": "\x1b[23;0t",
		"\x1b[?2027h": "\x1b[?2027l", "\x1b[?2026h": "\x1b[?2026l",
	} {
		if at := strings.LastIndex(ours, set); strings.LastIndex(ours, reset) < at {
			x.t.Errorf("%q was not reset", set)
		}
	}
	if p, q := strings.Count(out, "\x1b[>1u"), strings.Count(out, "\x1b[<1u"); p != q {
		x.t.Errorf("keyboard: %d pushes, %d pops", p, q)
	}
}

// state is all of the terminal that a program can leave behind in it.
func (x *terminal) state() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	style, blink := x.emu.CursorStyle()
	raw := x.raw.String()
	return fmt.Sprintf("modes %v, alternate screen %v, hidden cursor %v, style %v %v, keyboards %d, titles %d, other keys %v, progress %v",
		x.set, x.emu.IsAltScreen(), x.emu.CursorHidden(), style, blink,
		strings.Count(raw, "\x1b[>1u")-strings.Count(raw, "\x1b[<1u"), strings.Count(raw, "\x1b[22;0t")-strings.Count(raw, "\x1b[23;0t"),
		strings.LastIndex(raw, "\x1b[>4;2m") > strings.LastIndex(raw, "\x1b[>4m"), strings.LastIndex(raw, "\x1b]9;4;3") > strings.LastIndex(raw, "\x1b]9;4;0"))
}

// pid is the demo's, found by its output.
func (x *terminal) pid() int { x.t.Helper(); return x.childOf(x.cmd.Process.Pid) }

func (x *terminal) childOf(parent int) int {
	x.t.Helper()
	out, err := exec.Command("ps", "-o", "pid=,ppid=", "-A").Output()
	if err != nil {
		x.t.Skip("ps: ", err)
	}
	for _, l := range strings.Split(string(out), "\n") {
		var pid, ppid int
		if n, _ := fmt.Sscan(l, &pid, &ppid); n == 2 && ppid == parent {
			return pid
		}
	}
	x.t.Fatal("the demo is not running")
	return 0
}

func openNull(t testing.TB) *os.File {
	t.Helper()
	f, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}
