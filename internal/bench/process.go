package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"varve/internal/providers/scripted"
)

// A cost is what one finished process used.
type cost struct {
	wall, cpu time.Duration
	rss       int64 // peak, bytes
	out       string
}

// spend runs a program to its end.
func spend(dir string, env []string, name string, args ...string) (cost, error) {
	return spendWith(func(int) {}, dir, env, name, args...)
}

// spendWith is spend; began gets the process id once it runs.
func spendWith(started func(pid int), dir string, env []string, name string, args ...string) (cost, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	began := time.Now()
	err := cmd.Start()
	if err == nil {
		started(cmd.Process.Pid)
		err = cmd.Wait()
	}
	c := cost{wall: time.Since(began), out: out.String()}
	if err != nil {
		return c, fmt.Errorf("%s %s: %w: %s", filepath.Base(name), strings.Join(args, " "), err, strings.TrimSpace(errs.String()))
	}
	use, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return c, errors.New("no accounting of child processes here")
	}
	c.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	c.rss = use.Maxrss
	if runtime.GOOS == "linux" {
		c.rss *= 1024 // KiB there, bytes on macOS
	}
	return c, nil
}

// spentBy is the processor time that a running process has used, to the
// nanosecond; the system counts it for each thread that is alive. Only on Linux.
func spentBy(pid int) (time.Duration, error) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(tasks) == 0 {
		return 0, errors.New("no accounting of threads here")
	}
	var sum time.Duration
	for _, path := range tasks {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended; the program's threads stay while it works
		}
		var ran int64
		if _, err := fmt.Sscan(string(b), &ran); err != nil {
			return 0, err
		}
		sum += time.Duration(ran)
	}
	return sum, nil
}

// least takes the minimum of each figure over runs.
func least(a, b cost) cost {
	if a.wall == 0 {
		return b
	}
	return cost{min(a.wall, b.wall), min(a.cpu, b.cpu), min(a.rss, b.rss), b.out}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
func mb(n int64) float64         { return float64(n) / 1e6 }

// home is a fresh place for the program: folders, settings that name the
// server, a workspace.
func (b *bench) home(s *scripted.Server, sync string) (dir string, env []string, err error) {
	dir, err = os.MkdirTemp(b.dir, "home-")
	if err != nil {
		return "", nil, err
	}
	for _, d := range []string{"config", "data", "state", "w"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
			return "", nil, err
		}
	}
	conf := fmt.Sprintf(`{"model":{"provider":"bench","model":"m"},"providers":{"bench":{"api":"openai-chat","base_url":%q}},"log":{"sync":%q}}`, s.URL()+"/v1", sync)
	if err := os.WriteFile(filepath.Join(dir, "config", "setup.json"), []byte(conf), 0o600); err != nil {
		return "", nil, err
	}
	env = []string{
		"VARVE_CONFIG_DIR=" + filepath.Join(dir, "config"), "VARVE_DATA_DIR=" + filepath.Join(dir, "data"),
		"VARVE_STATE_DIR=" + filepath.Join(dir, "state"), "HOME=" + dir, "VARVE_KEYRING=off",
	}
	return filepath.Join(dir, "w"), env, nil
}

// serve starts a provider that adds as little as it can.
func serve(h scripted.Handler) (*scripted.Server, error) {
	s, err := scripted.Open(scripted.Options{Lenient: true, Prefix: scripted.PrefixRecord})
	if err != nil {
		return nil, err
	}
	s.Handle(h)
	return s, nil
}

// answer is a reply of one text.
func answer(text string) (scripted.Reply, error) {
	return scripted.Compile(scripted.OpenAIChat, scripted.Role(), scripted.Text(text), scripted.Finish("stop"),
		scripted.UsageStep(scripted.Usage{Prompt: 1000, Output: 10}), scripted.Done())
}
