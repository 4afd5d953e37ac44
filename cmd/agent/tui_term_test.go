package main

// The real program in a terminal: a pty with an emulator on it, and a scripted
// provider in this process. Conditions are polled for, with a limit that no
// busy machine reaches; nothing depends on how long something takes.

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"

	"varve/internal/providers/scripted"
	"varve/internal/session"
)

// What keys send.
const (
	keyEnter    = "\r"
	keyAltEnter = "\x1b\r"
	keyEsc      = "\x1b"
	keyUp       = "\x1b[A"
	keyDelete   = "\x1b[3~"
	keyAltUp    = "\x1b[1;3A"
	keyShiftTab = "\x1b[Z"
	keyCtrlC    = "\x03"
	keyCtrlD    = "\x04"
	keyCtrlG    = "\x07"
	keyCtrlP    = "\x10"
	keyCtrlU    = "\x15"
	keyCtrlZ    = "\x1a"
)

// A tuiTerm is a terminal with a program in it.
type tuiTerm struct {
	t    *testing.T
	cmd  *exec.Cmd
	host *os.File // our side
	tty  *os.File // the program's side
	done chan struct{}

	mu  sync.Mutex
	raw bytes.Buffer
	emu *vt.Emulator
	set map[int]bool // modes of the emulator that are not as they were in the beginning
}

// tuiAnswers is what a good terminal answers to what it is asked.
var tuiAnswers = map[string]string{
	"\x1b[?2026$p": "\x1b[?2026;2$y", "\x1b[?2027$p": "\x1b[?2027;2$y", "\x1b[?u": "\x1b[?1u",
	"\x1b]11;?\a": "\x1b]11;rgb:0000/0000/0000\a", "\x1b[c": "\x1b[?62;22c",
}

// tuiStart starts cmd in a terminal of w by h.
func tuiStart(t *testing.T, w, h int, cmd *exec.Cmd) *tuiTerm {
	t.Helper()
	host, tty, err := pty.Open()
	if err != nil {
		t.Skip("no pty: ", err)
	}
	x := &tuiTerm{t: t, cmd: cmd, host: host, tty: tty, done: make(chan struct{}), emu: vt.NewEmulator(w, h), set: map[int]bool{}}
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
	cmd.Env = append(cmd.Env, "TERM=xterm-256color", "COLORTERM=truecolor")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	go func() { _, _ = io.Copy(io.Discard, x.emu) }() // its own answers
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = cmd.Wait(); close(x.done) }()
	go x.mirror()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-x.done
		_ = host.Close()
		_ = tty.Close()
	})
	return x
}

func (x *tuiTerm) mirror() {
	b := make([]byte, 1<<16)
	var tail []byte
	for {
		n, err := x.host.Read(b)
		if n > 0 {
			x.mu.Lock()
			x.raw.Write(b[:n])
			_, _ = x.emu.Write(b[:n])
			x.mu.Unlock()
			tail = append(tail, b[:n]...)
			for q, answer := range tuiAnswers {
				if i := bytes.Index(tail, []byte(q)); i >= 0 {
					_, _ = x.host.WriteString(answer)
					tail = append(tail[:i:i], tail[i+len(q):]...)
				}
			}
			tail = tail[max(0, len(tail)-16):]
		}
		if err != nil {
			return
		}
	}
}

func (x *tuiTerm) in(s string) {
	x.t.Helper()
	if _, err := x.host.WriteString(s); err != nil {
		x.t.Fatal(err)
	}
}

func (x *tuiTerm) resize(w, h int) {
	x.mu.Lock()
	x.emu.Resize(w, h)
	x.mu.Unlock()
	_ = pty.Setsize(x.host, &pty.Winsize{Rows: uint16(h), Cols: uint16(w)})
}

func (x *tuiTerm) output() string { x.mu.Lock(); defer x.mu.Unlock(); return x.raw.String() }

func (x *tuiTerm) screen() string { x.mu.Lock(); defer x.mu.Unlock(); return x.emu.String() }

func (x *tuiTerm) shows(parts ...string) bool {
	s := x.screen()
	for _, p := range parts {
		if !strings.Contains(s, p) {
			return false
		}
	}
	return true
}

// await polls for a condition.
func (x *tuiTerm) await(what string, ok func() bool) {
	x.t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			x.t.Fatalf("%s: did not come; the screen is\n%s", what, x.screen())
		}
	}
}

func (x *tuiTerm) sees(parts ...string) {
	x.t.Helper()
	x.await(fmt.Sprintf("%q on the screen", parts), func() bool { return x.shows(parts...) })
}

func (x *tuiTerm) gone(part string) {
	x.t.Helper()
	x.await(fmt.Sprintf("%q gone", part), func() bool { return !x.shows(part) })
}

// types writes a text, and waits until it stands behind the composer's mark.
// Lines of it are told by their last one.
func (x *tuiTerm) types(s string) {
	x.t.Helper()
	x.in(s)
	x.sees("> " + s)
}

// says sends a message.
func (x *tuiTerm) says(s string) {
	x.t.Helper()
	x.types(s)
	x.in(keyEnter)
}

// answers presses a letter that answers a question, as soon as the screen says
// that letters do, and waits until something of the screen is gone.
func (x *tuiTerm) answers(letter, gone string) {
	x.t.Helper()
	x.sees(gone, "n no")
	x.in(letter)
	x.gone(gone)
}

// ends waits for the end of the program, and holds that the terminal is as it
// was found (TUI-10).
func (x *tuiTerm) ends(code int) {
	x.t.Helper()
	x.await("the program's end", x.over)
	if got := x.cmd.ProcessState.ExitCode(); got != code {
		x.t.Errorf("exit code %d, want %d\n%s", got, code, x.screen())
	}
	x.given()
	x.await("the modes of the terminal as they were", func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		return len(x.set) == 0 && !x.emu.IsAltScreen() && !x.emu.CursorHidden()
	})
	s, err := term.GetState(x.tty.Fd())
	if want := uint64(syscall.ICANON | syscall.ECHO | syscall.ISIG); err != nil || uint64(s.Lflag)&want != want {
		x.t.Errorf("the terminal is not in line mode (%v)", err)
	}
}

// given holds that every mode that was set is reset, but for some.
func (x *tuiTerm) given(but ...string) {
	x.t.Helper()
	for set, reset := range map[string]string{
		"\x1b[?1049h": "\x1b[?1049l", "\x1b[?2004h": "\x1b[?2004l", "\x1b[?1004h": "\x1b[?1004l", "\x1b[?1002h": "\x1b[?1002l",
		"\x1b[?1006h": "\x1b[?1006l", "\x1b[>1u": "\x1b[<1u", "\x1b[?25l": "\x1b[?25h", "\x1b[22;0t": "\x1b[23;0t", "\x1b[?2027h": "\x1b[?2027l",
	} {
		if slices.Contains(but, set) {
			continue
		}
		x.await(fmt.Sprintf("%q after the last %q", reset, set), func() bool {
			out := x.output()
			return strings.LastIndex(out, reset) >= strings.LastIndex(out, set)
		})
	}
}

// over reports whether the program has ended.
func (x *tuiTerm) over() bool {
	select {
	case <-x.done:
		return true
	default:
		return false
	}
}

// dies kills the program: it has no time to do anything.
func (x *tuiTerm) dies() {
	x.t.Helper()
	if err := x.cmd.Process.Kill(); err != nil {
		x.t.Fatal(err)
	}
	<-x.done
}

// quits leaves an idle program.
func (x *tuiTerm) quits() {
	x.t.Helper()
	x.leaves(x.over)
	x.ends(exitDone)
}

// leaves presses what quits until over says that it has. A turn that has not
// quite ended is asked about: then it is tried again.
func (x *tuiTerm) leaves(over func() bool) {
	x.t.Helper()
	const asks = "A turn is running"
	for {
		x.in(keyCtrlU + keyCtrlD)
		x.await("the end, or a question about it", func() bool { return over() || x.shows(asks) })
		if over() {
			return
		}
		x.in("n")
		x.await("the dialog's end", func() bool { return over() || !x.shows(asks) })
	}
}

// A tuiHouse is a workspace with folders of its own and a scripted model. The
// model does what it is told:
//
//	hello            says hello
//	story            a story that goes on when the test opens its gate
//	hang             begins to answer and never ends
//	run COMMAND      calls bash; when it has the result, says so
//	anything else    is repeated
type tuiHouse struct {
	t      *testing.T
	bin    string
	dir    string
	data   string
	env    []string
	server *scripted.Server
	gate   chan struct{}
	w, h   int // of a terminal that is opened
}

func newTuiHouse(t *testing.T, bin string) *tuiHouse {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &tuiHouse{t: t, bin: bin, dir: filepath.Join(root, "w"), data: filepath.Join(root, "data"), gate: make(chan struct{}), w: 100, h: 30}
	for _, dir := range []string{"w", "data", "config", "state", "home", "tmp"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"greet.go": "package greet\n", "notes.txt": "one\n"} {
		if err := os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if h.server, err = scripted.Open(scripted.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.server.Close)
	h.server.Handle(h.model)
	for _, kv := range os.Environ() {
		switch k, _, _ := strings.Cut(kv, "="); {
		case strings.HasSuffix(k, "_API_KEY"), strings.HasPrefix(k, "VARVE_"), k == "TMUX", k == "NO_COLOR", k == "EDITOR", k == "VISUAL", k == "PWD", k == "COLORTERM", k == "TERM":
		default:
			h.env = append(h.env, kv)
		}
	}
	h.env = append(h.env, "HOME="+filepath.Join(root, "home"), "TMPDIR="+filepath.Join(root, "tmp"), "PS1=SH$ ", "HISTFILE=",
		"VARVE_CONFIG_DIR="+filepath.Join(root, "config"), "VARVE_DATA_DIR="+h.data, "VARVE_STATE_DIR="+filepath.Join(root, "state"), "VARVE_KEYRING=off")
	h.settings(fmt.Sprintf(`{"model":{"provider":"script","model":"m"},"providers":{"script":{"api":"openai-chat","base_url":%q}}}`, h.server.URL()+"/v1"))
	return h
}

func (h *tuiHouse) settings(s string) {
	h.t.Helper()
	if err := os.WriteFile(filepath.Join(h.dir, "..", "config", "setup.json"), []byte(s), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// model is the scripted model.
func (h *tuiHouse) model(r scripted.Request) scripted.Reply {
	says := func(pieces ...scripted.Step) scripted.Reply {
		return scripted.Reply{Steps: append(append([]scripted.Step{scripted.Role()}, pieces...), scripted.Finish("stop"), scripted.Done())}
	}
	messages := r.Get("messages").Array()
	last := messages[len(messages)-1]
	text := last.Get("content").String()
	if parts := last.Get("content").Array(); len(parts) > 1 || last.Get("content").IsArray() {
		text = ""
		for _, p := range parts {
			text += p.Get("text").String()
		}
	}
	if last.Get("role").String() == "tool" {
		return says(scripted.Text("I have the result."))
	}
	command, runs := strings.CutPrefix(text, "run ")
	switch {
	case runs:
		return scripted.Reply{Steps: []scripted.Step{
			scripted.Role(), scripted.Text("I'll run it."),
			scripted.Call(0, fmt.Sprintf("call_%d", r.N), "bash", fmt.Sprintf(`{"command":%q}`, command), 2), scripted.Finish("tool_calls"), scripted.Done(),
		}}
	case text == "hello":
		return says(scripted.Text("Hello, "), scripted.Text("**friend**."))
	case text == "story":
		return says(scripted.Text("Once upon a time"), scripted.Wait(h.gate), scripted.Text(" there was an end."))
	case text == "hang":
		return says(scripted.Text("Let me think"), scripted.Hang())
	}
	return says(scripted.Text("You said: " + text))
}

func (h *tuiHouse) command(args ...string) *exec.Cmd {
	cmd := exec.Command(h.bin, args...)
	cmd.Dir, cmd.Env = h.dir, append([]string{}, h.env...)
	return cmd
}

// open starts the program in a terminal.
func (h *tuiHouse) open(args ...string) *tuiTerm {
	h.t.Helper()
	return tuiStart(h.t, h.w, h.h, h.command(args...))
}

// ready opens it and waits for its composer.
func (h *tuiHouse) ready(args ...string) *tuiTerm {
	h.t.Helper()
	x := h.open(args...)
	x.sees("> Say what you want done")
	return x
}

// entries is what the only session of the house holds.
func (h *tuiHouse) entries() (out []session.Entry) {
	h.t.Helper()
	list, err := filepath.Glob(filepath.Join(h.data, "sessions", "*", "*.jsonl"))
	if err != nil || len(list) != 1 {
		h.t.Fatalf("%d session files, want one (%v)", len(list), err)
	}
	b, err := os.ReadFile(list[0])
	if err != nil {
		h.t.Fatal(err)
	}
	for line := range bytes.Lines(b) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // it is being written
		}
		e, err := session.Decode(bytes.Clone(line))
		if err != nil {
			h.t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

func (h *tuiHouse) id() string {
	h.t.Helper()
	return h.entries()[0].Event.(session.SessionCreated).ID
}

// kinds counts events by their name.
func (h *tuiHouse) kinds() map[string]int {
	h.t.Helper()
	n := map[string]int{}
	for _, e := range h.entries() {
		n[e.Type]++
	}
	return n
}

// whole holds that the session verifies and that the provider refused nothing.
func (h *tuiHouse) whole() {
	h.t.Helper()
	out, err := h.command("session", "verify", h.id()).CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("whole: ")) {
		h.t.Errorf("session verify: %v: %s", err, out)
	}
	for _, v := range h.server.Violations() {
		if n := h.kinds(); v.Rule == "V12" && n["branch.reverted"]+n["branch.created"]+n["checkpoint.committed"] > 0 {
			continue // a branch operation and a checkpoint are of the causes that may break a prefix (PFX-1)
		}
		h.t.Errorf("request %d: %s: %s", v.Request, v.Rule, v.Text)
	}
}
