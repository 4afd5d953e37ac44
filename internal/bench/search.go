package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"varve/internal/index"
)

// browse is PERF-9: many sessions listed, and all of them searched.
func browse(b *bench) ([]row, error) {
	listed, err := listMany(b)
	if err != nil {
		return listed, err
	}
	found, err := searchAll(b)
	return append(listed, found...), err
}

// listMany lists small sessions that the index knows, against what can't be done
// without: reading the index, a directory, and one stat for each session.
func listMany(b *bench) ([]row, error) {
	const n = 5000
	data, state := filepath.Join(b.dir, "many"), filepath.Join(b.dir, "many-state")
	dir := filepath.Join(data, "sessions", "w")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	one := filepath.Join(b.dir, "small.jsonl")
	if _, err := generate(one, 50, 16<<10); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(one)
	if err != nil {
		return nil, err
	}
	for i := range n {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("0197f3a1-c2d4-7e80-9a51-%012d.jsonl", i)), text, 0o600); err != nil {
			return nil, err
		}
	}
	ctx := context.Background()
	began := time.Now()
	x := index.Open(data, state)
	if err := errors.Join(x.Refresh(ctx), x.Finish(ctx, nil), x.Save()); err != nil {
		return nil, err
	}
	first := time.Since(began)
	var list, bare time.Duration
	for range max(b.n, 5) {
		c, err := spentOn(func() error {
			x := index.Open(data, state)
			err := x.Refresh(ctx)
			if got := len(x.Rows()); err == nil && got != n {
				err = fmt.Errorf("%d sessions are listed", got)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		list = shorter(list, c)
		if c, err = spentOn(func() error { return readBare(filepath.Join(state, index.FileName), data, state, dir) }); err != nil {
			return nil, err
		}
		bare = shorter(bare, c)
	}
	what := fmt.Sprintf("%d sessions listed from the index, ", n)
	return []row{
		{id: "PERF-9", what: what + "CPU", value: ms(list), unit: "ms", limit: 1.5 * ms(bare), from: fmt.Sprintf("1.5x reading the index, and a stat for each session (%.1f ms)", ms(bare))},
		{id: "PERF-9", what: fmt.Sprintf("%d sessions read for the first time, wall", n), value: ms(first), unit: "ms", limit: 3000, from: "target: once, and shown after it"},
	}, nil
}

// readBare reads the index into rows, the names in a directory, and each one's size.
func readBare(path, data, state, dir string) error {
	if _, err := os.Stat(path); err != nil {
		return err
	}
	index.Open(data, state)
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	for _, name := range names {
		if _, err := os.Lstat(dir + "/" + name); err != nil {
			return err
		}
	}
	return err
}

// spentOn is the processor time of this process while it does something.
func spentOn(do func() error) (time.Duration, error) {
	var a, b syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &a); err != nil {
		return 0, err
	}
	err := do()
	if e := syscall.Getrusage(syscall.RUSAGE_SELF, &b); err == nil {
		err = e
	}
	sum := func(u syscall.Rusage) int64 { return u.Utime.Nano() + u.Stime.Nano() }
	return time.Duration(sum(b) - sum(a)), err
}

func shorter(a, b time.Duration) time.Duration {
	if a == 0 {
		return b
	}
	return min(a, b)
}

// searchAll looks for a rare text in large sessions, with the program itself,
// against rg or else grep on the same files: as both look by default, and as
// `session search` does, in any case.
func searchAll(b *bench) ([]row, error) {
	files, size := 20, int64(50e6)
	if b.quick {
		size = 10e6
	}
	home, err := os.MkdirTemp(b.dir, "search-")
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(home, "data", "sessions", "w")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	var paths []string
	total := int64(0)
	for i := range files {
		path := filepath.Join(dir, fmt.Sprintf("0197f3a1-c2d4-7e80-9a51-%012d.jsonl", i))
		n, err := generate(path, int(size/2500), size)
		if err != nil {
			return nil, err
		}
		total += n
		paths = append(paths, path)
	}
	// One message of one session says it.
	if err := say(paths[files/2], "do the next thing please", "find the Quetzalcoatlus!"); err != nil {
		return nil, err
	}
	env := []string{
		"VARVE_DATA_DIR=" + filepath.Join(home, "data"), "VARVE_STATE_DIR=" + filepath.Join(home, "state"),
		"VARVE_CONFIG_DIR=" + filepath.Join(home, "config"), "HOME=" + home, "VARVE_KEYRING=off",
	}
	tool := "rg"
	bin, err := exec.LookPath(tool)
	if err != nil {
		tool = "grep"
		if bin, err = exec.LookPath(tool); err != nil {
			return nil, err
		}
	}
	var ours, exact, anyCase cost
	for range 4 { // the first one makes the index
		c, err := spend(home, env, b.agent, "session", "search", "--all", "quetzalcoatlus")
		if err != nil {
			return nil, err
		}
		if strings.Count(c.out, "Quetzalcoatlus") != 1 {
			return nil, fmt.Errorf("the search found %q", c.out)
		}
		ours = least(ours, c)
		if c, err = spend(home, nil, bin, append([]string{"-c", "Quetzalcoatlus"}, paths...)...); err != nil {
			return nil, err
		}
		exact = least(exact, c)
		if c, err = spend(home, nil, bin, append([]string{"-ci", "quetzalcoatlus"}, paths...)...); err != nil {
			return nil, err
		}
		anyCase = least(anyCase, c)
	}
	what := fmt.Sprintf("%.0f MB in %d sessions searched, ", mb(total), files)
	cpu := fmt.Sprintf("; CPU: ours %.0f ms, %s -c %.0f ms, %s -ci %.0f ms", ms(ours.cpu), tool, ms(exact.cpu), tool, ms(anyCase.cpu))
	return []row{
		{id: "PERF-9", what: what + "wall", value: ms(ours.wall), unit: "ms", limit: 2 * ms(exact.wall), from: "2x `" + tool + " -c` of the same files" + cpu},
		{id: "PERF-9", what: what + "wall", value: ms(ours.wall), unit: "ms", limit: 2 * ms(anyCase.wall), from: "2x `" + tool + " -ci` of the same files, the same question"},
	}, nil
}

// say changes the first place of a text in a file to another of the same length.
func say(path, from, to string) error {
	if len(from) != len(to) {
		return fmt.Errorf("%q is no longer and no shorter than %q", from, to)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, 64<<10)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	at := bytes.Index(head[:n], []byte(from))
	if at < 0 {
		return fmt.Errorf("%s does not say %q", path, from)
	}
	_, err = f.WriteAt([]byte(to), int64(at))
	return err
}
