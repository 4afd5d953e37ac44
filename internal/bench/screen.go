package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"

	"varve/internal/providers/scripted"
)

// A terminal is a program in a pty, and what it wrote.
type terminal struct {
	cmd   *exec.Cmd
	tty   *os.File
	began time.Time

	mu     sync.Mutex
	moved  *sync.Cond
	emu    *vt.SafeEmulator
	bytes  int64
	reads  []time.Time
	closed bool
}

// open starts a program in a pty of 120x40 columns and rows.
func open(dir string, env []string, name string, args ...string) (*terminal, error) {
	t := &terminal{cmd: exec.Command(name, args...), emu: vt.NewSafeEmulator(120, 40)}
	t.moved = sync.NewCond(&t.mu)
	t.cmd.Dir = dir
	t.cmd.Env = append(os.Environ(), append(env, "TERM=xterm-256color", "COLORTERM=truecolor")...)
	t.began = time.Now()
	var err error
	if t.tty, err = pty.StartWithSize(t.cmd, &pty.Winsize{Cols: 120, Rows: 40}); err != nil {
		return nil, err
	}
	go t.read()
	go t.reply()
	return t, nil
}

func (t *terminal) read() {
	buf := make([]byte, 64<<10)
	for {
		n, err := t.tty.Read(buf)
		if n > 0 {
			_, _ = t.emu.Write(buf[:n])
		}
		t.mu.Lock()
		if n > 0 {
			t.bytes += int64(n)
			t.reads = append(t.reads, time.Now())
		}
		t.closed = err != nil
		t.moved.Broadcast()
		t.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// reply hands the emulator's answers to the program's questions back to it.
func (t *terminal) reply() {
	buf := make([]byte, 4096)
	for {
		n, err := t.emu.Read(buf)
		if err != nil {
			return
		}
		if _, err := t.tty.Write(buf[:n]); err != nil {
			return
		}
	}
}

// until waits for a screen, and says when it was there.
func (t *terminal) until(what string, ok func(screen string) bool) (time.Time, error) {
	limit := time.AfterFunc(3*time.Minute, func() { t.mu.Lock(); defer t.mu.Unlock(); t.closed = true; t.moved.Broadcast() })
	defer limit.Stop()
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		if ok(t.emu.String()) {
			return time.Now(), nil
		}
		if t.closed {
			return time.Time{}, fmt.Errorf("%s never came; the screen:\n%s", what, t.emu.String())
		}
		t.moved.Wait()
	}
}

func (t *terminal) written() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.bytes
}

// spent is what the process has used so far: processor time and memory. It
// reads /proc, so it is Linux's alone.
func (t *terminal) spent() (cpu time.Duration, rss int64, err error) {
	dir := filepath.Join("/proc", strconv.Itoa(t.cmd.Process.Pid))
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return 0, 0, err
	}
	_, rest, _ := bytes.Cut(stat, []byte(") "))
	f := strings.Fields(string(rest))
	if len(f) < 22 {
		return 0, 0, errors.New("stat is short")
	}
	user, err := strconv.Atoi(f[11])
	if err != nil {
		return 0, 0, err
	}
	sys, err := strconv.Atoi(f[12])
	if err != nil {
		return 0, 0, err
	}
	pages, err := strconv.Atoi(f[21])
	return time.Duration(user+sys) * 10 * time.Millisecond, int64(pages) * int64(os.Getpagesize()), err
}

// end ends the program and gives what it used in all.
func (t *terminal) end() cost {
	_ = t.cmd.Process.Signal(syscall.SIGTERM)
	_ = t.cmd.Wait()
	_ = t.tty.Close()
	_ = t.emu.Close()
	c := cost{}
	if s := t.cmd.ProcessState; s != nil {
		c.cpu = s.UserTime() + s.SystemTime()
	}
	return c
}

// prompt is PERF-1 and PERF-7: start to a prompt that echoes, then idle.
func prompt(b *bench) ([]row, error) {
	s, err := serve(func(scripted.Request) scripted.Reply { return scripted.Reply{} })
	if err != nil {
		return nil, err
	}
	defer s.Close()
	empty, err := b.emptyProgram()
	if err != nil {
		return nil, err
	}
	var ours, echo, theirs time.Duration
	shorter := func(old, d time.Duration) time.Duration {
		if old == 0 || d < old {
			return d
		}
		return old
	}
	for range b.n {
		dir, env, err := b.home(s, "turn")
		if err != nil {
			return nil, err
		}
		t, err := open(dir, env, b.agent)
		if err != nil {
			return nil, err
		}
		at, err := t.until("the prompt", func(s string) bool { return strings.Contains(s, "Say what you want done") })
		if err != nil {
			return nil, err
		}
		ours = shorter(ours, at.Sub(t.began))
		_, _ = t.tty.Write([]byte("q"))
		at, err = t.until("the echo", func(s string) bool { return strings.Contains(s, "> q") })
		if err != nil {
			return nil, err
		}
		echo = shorter(echo, at.Sub(t.began))
		t.end()
		e, err := open(dir, env, empty)
		if err != nil {
			return nil, err
		}
		at, err = e.until("an empty program", func(s string) bool { return strings.Contains(s, "ready") })
		if err != nil {
			return nil, err
		}
		theirs = shorter(theirs, at.Sub(e.began))
		e.end()
	}
	idle, err := b.idle(s)
	return append([]row{
		{id: "PERF-1", what: "start to a painted prompt", value: ms(ours), unit: "ms", limit: 0.6 * 43, from: "0.6x the fastest peer (43 ms)", notInRun: true},
		{id: "PERF-1", what: "start to a prompt that echoes, against an empty Bubble Tea program", value: float64(echo) / float64(theirs), unit: "x", limit: 3, from: fmt.Sprintf("that program's first frame (%.1f ms)", ms(theirs))},
	}, idle...), err
}

// idle is PERF-7.
func (b *bench) idle(s *scripted.Server) ([]row, error) {
	dir, env, err := b.home(s, "turn")
	if err != nil {
		return nil, err
	}
	t, err := open(dir, env, b.agent)
	if err != nil {
		return nil, err
	}
	defer t.end()
	if _, err := t.until("the prompt", func(s string) bool { return strings.Contains(s, "Say what you want done") }); err != nil {
		return nil, err
	}
	time.Sleep(2 * time.Second) // what start-up left to do
	cpu, rss, err := t.spent()
	if err != nil {
		return nil, err
	}
	bytes := t.written()
	long := 10 * time.Second
	if b.quick {
		long = 3 * time.Second
	}
	time.Sleep(long)
	cpu2, _, err := t.spent()
	if err != nil {
		return nil, err
	}
	return []row{
		{id: "PERF-7", what: fmt.Sprintf("idle %s, CPU", long), value: ms(cpu2 - cpu), unit: "ms", limit: 0, from: "PERF-7"},
		{id: "PERF-7", what: fmt.Sprintf("idle %s, bytes to the terminal", long), value: float64(t.written() - bytes), unit: "B", limit: 0, from: "PERF-7"},
		{id: "PERF-7", what: "idle, memory", value: mb(rss), unit: "MB", limit: 83.0 / 2, from: "half the leanest peer (83 MB)", notInRun: true},
	}, nil
}

// emptyProgram builds a Bubble Tea program that shows one word.
func (b *bench) emptyProgram() (string, error) {
	path := filepath.Join(b.dir, "empty")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	cmd := exec.Command("go", "build", "-buildvcs=false", "-trimpath", "-ldflags", "-s -w", "-o", path, "./internal/bench/empty")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("empty program: %w: %s", err, out)
	}
	return path, nil
}
