package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What is printed to be typed begins as the program was started, and is a word of
// the shell.
func TestCommandsAsStarted(t *testing.T) { // CLI-1
	dir := t.TempDir()
	for _, name := range []string{"bin/agent", "my bin/agent", "path/agent"} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "path/agent"), filepath.Join(dir, "agent")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	t.Setenv("PATH", filepath.Join(dir, "path"))
	for arg0, want := range map[string]string{
		"agent": "agent", "": "", "bin/agent": "bin/agent", "./bin/agent": "./bin/agent", "my bin/agent": "'my bin/agent'",
		filepath.Join(dir, "path/agent"): "agent", "./agent": "agent",
	} {
		if got := startedAs(arg0); got != want {
			t.Errorf("%q: %q, want %q", arg0, got, want)
		}
	}
	if got := shellWord("it's"); got != `'it'\''s'` {
		t.Error(got)
	}
}

func TestPrintedCommandsCanBeTyped(t *testing.T) { // CLI-1
	h := newTuiHouse(t, agentBinary(t))
	if err := os.Symlink(h.bin, filepath.Join(h.dir, "varve")); err != nil {
		t.Fatal(err)
	}
	say := func(args ...string) string {
		cmd := exec.Command("./varve", args...)
		cmd.Dir, cmd.Env = h.dir, h.env
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"run", "--continue"}, "start one with `./varve` or `./varve run \"…\"`\n"},
		{[]string{"session", "show", "0123"}, "see `./varve session list --all`\n"},
		{[]string{"sesion", "list"}, "did you mean `./varve session list`?"},
	} {
		if out := say(c.args...); !strings.Contains(out, c.want) {
			t.Errorf("%q says %q, want %q", c.args, out, c.want)
		}
	}
}
