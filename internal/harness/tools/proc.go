package tools

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// proc is one command: a session and process group of its own, without a terminal (TUI-16), with one pipe for both of
// its outputs. Two goroutines serve it: one reads the pipe to its end, one waits for the exit. Nothing polls.
type proc struct {
	cmd   *exec.Cmd
	pid   int    // also group and session
	mark  string // in the environment of everything it starts, to find what left the group
	out   capture
	pipe  *os.File
	began time.Time

	exited chan struct{} // closed when the command itself is gone; exit is set before
	eof    chan struct{} // closed when nobody holds the pipe any more
	exit   exit
}

// exit is how a command ended: a code, or a signal's name.
type exit struct {
	code   int
	signal string
}

// shell is found once: bash where there is one, else sh.
func (b *Box) shell() string {
	for dir := range strings.SplitSeq(b.env("PATH"), ":") {
		if fi, err := os.Stat(dir + "/bash"); err == nil && fi.Mode().IsRegular() && fi.Mode()&0o111 != 0 && strings.HasPrefix(dir, "/") {
			return dir + "/bash"
		}
	}
	if _, err := os.Stat("/bin/bash"); err == nil {
		return "/bin/bash"
	}
	return "/bin/sh"
}

const markName = "VARVE_CALL"

// environ is Config.Env without pagers, prompts and colours that need a terminal.
func (b *Box) environ(dir, mark string) []string {
	set := []string{"PWD=" + dir, markName + "=" + mark, "TERM=dumb", "PAGER=cat", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0"}
	if b.TempDir != "" {
		set = append(set, "TMPDIR="+b.TempDir)
	}
	env := make([]string, 0, len(b.Env)+len(set))
	for _, kv := range b.Env {
		k, _, _ := strings.Cut(kv, "=")
		if !slices.ContainsFunc(set, func(s string) bool { return strings.HasPrefix(s, k+"=") }) {
			env = append(env, kv)
		}
	}
	return append(env, set...)
}

func (b *Box) start(command, dir string, show Progress) (*proc, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p := &proc{mark: rand.Text(), pipe: r, began: time.Now(), exited: make(chan struct{}), eof: make(chan struct{})}
	p.out.show = show
	sh := b.jobs.shell()
	p.cmd = &exec.Cmd{
		Path: sh, Args: []string{filepath.Base(sh), "-c", "--", command}, Dir: dir, Env: b.environ(dir, p.mark),
		Stdout: w, Stderr: w, SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	// Under the lock, so that Close either sees the command or forbids it.
	b.jobs.mu.Lock()
	defer b.jobs.mu.Unlock()
	if err = errClosed; !b.jobs.shut {
		err = p.cmd.Start()
	}
	w.Close()
	if err != nil {
		r.Close()
		return nil, err
	}
	p.pid = p.cmd.Process.Pid
	b.jobs.wg.Add(1) // for the caller, who calls Done: Close waits for calls in progress too
	b.jobs.wg.Go(p.read)
	b.jobs.wg.Go(p.wait)
	return p, nil
}

func (p *proc) read() {
	defer close(p.eof)
	defer p.pipe.Close()
	buf := buffers().Get().(*[]byte)
	defer buffers().Put(buf)
	for {
		n, err := p.pipe.Read(*buf)
		if n > 0 {
			p.out.write((*buf)[:n])
		}
		if err != nil {
			return
		}
	}
}

var buffers = sync.OnceValue(func() *sync.Pool {
	return &sync.Pool{New: func() any { b := make([]byte, 64<<10); return &b }}
})

func (p *proc) wait() {
	defer close(p.exited)
	err := p.cmd.Wait()
	if ws, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok {
		p.exit.code = ws.ExitStatus()
		if ws.Signaled() {
			if p.exit.signal = unix.SignalName(ws.Signal()); p.exit.signal == "" {
				p.exit.signal = "signal " + strconv.Itoa(int(ws.Signal()))
			}
		}
	} else if err != nil {
		p.exit.code = -1
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// left is the living processes that the command left behind once it has exited, found without a search when there
// plainly are none. unknown: somebody holds the pipe who can't be found.
func (p *proc) left() (pids []int, unknown bool) {
	held := !closed(p.eof)
	if !held && errors.Is(syscall.Kill(-p.pid, 0), syscall.ESRCH) {
		return nil, false
	}
	pids = survivors(p.mark, p.pid)
	return pids, held && len(pids) == 0
}

// end ends the whole of it: TERM, and KILL for what is still there after the grace. When it returns the command is
// reaped and the pipe closed.
func (p *proc) end(grace time.Duration) {
	p.signal(syscall.SIGTERM)
	late := time.NewTimer(grace)
	defer late.Stop()
	exited, eof := p.exited, p.eof
	for waiting := true; waiting; {
		select {
		case <-exited:
			exited = nil
		case <-eof:
			eof = nil
		case <-late.C:
			waiting = false
		}
		if exited == nil && eof == nil {
			if len(survivors(p.mark, p.pid)) == 0 {
				return
			}
			<-late.C
			waiting = false
		}
	}
	for range 10 { // what forks while it is being killed is found by the next round
		if p.signal(syscall.SIGKILL) == 0 {
			break
		}
	}
	<-p.exited
	// Whoever still holds the pipe now has hidden from us on purpose; it gets no reader.
	_ = p.pipe.SetReadDeadline(time.Now().Add(grace / 4))
	<-p.eof
}

// signal reaches the group, and what left it; it returns how many that are alive it found outside or after the group.
func (p *proc) signal(s syscall.Signal) int {
	if !closed(p.exited) {
		_ = syscall.Kill(-p.pid, s)
	}
	pids := survivors(p.mark, p.pid)
	for _, pid := range pids {
		_ = syscall.Kill(pid, s)
	}
	return len(pids)
}

func pidList(pids []int) string {
	words := make([]string, 0, len(pids))
	for i, pid := range pids {
		if i == 10 {
			words = append(words, fmt.Sprintf("and %d more", len(pids)-i))
			break
		}
		words = append(words, strconv.Itoa(pid))
	}
	return strings.Join(words, ", ")
}
