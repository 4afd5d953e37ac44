package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/fsnotify/fsnotify"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
)

// exits runs a command and looks at its exit code (CLI-1). What it printed is
// there for stdout and stderr.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var e *exec.ExitError
		if !errors.As(err, &e) {
			ts.Fatalf("%v", err)
		}
		code = e.ExitCode()
	}
	if code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}

func sessionFile(ts *testscript.TestScript, neg bool, args []string) {
	found, err := filepath.Glob(filepath.Join(ts.Getenv("VARVE_DATA_DIR"), "sessions", "*", "*.jsonl"))
	ts.Check(err)
	if neg || len(args) != 1 || len(found) != 1 {
		ts.Fatalf("usage: sessionfile NAME; there are %d sessions", len(found))
	}
	ts.Setenv(args[0], found[0])
}

func damage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: damage FILE LINE")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	b, err := os.ReadFile(args[0])
	ts.Check(err)
	lines := bytes.SplitAfter(b, []byte("\n"))
	if n < 1 || n >= len(lines) {
		ts.Fatalf("%s has %d lines", args[0], len(lines)-1)
	}
	half := lines[n-1][:len(lines[n-1])/2]
	lines[n-1] = append(bytes.Clone(half), '\n')
	ts.Check(os.WriteFile(args[0], bytes.Join(lines, nil), 0o600))
}

// puppet answers each request page in a folder with the text of a file.
func puppet(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: puppet DIR FILE")
	}
	dir, text := ts.MkAbs(args[0]), []byte(ts.ReadFile(args[1]))
	ts.Check(os.MkdirAll(dir, 0o700))
	w, err := fsnotify.NewWatcher()
	ts.Check(err)
	ts.Check(w.Add(dir))
	ts.Defer(func() { _ = w.Close() })
	go func() {
		for e := range w.Events {
			name := filepath.Base(e.Name)
			if n, ok := strings.CutPrefix(name, "request-"); ok && e.Has(fsnotify.Create) {
				_ = os.WriteFile(filepath.Join(dir, "reply-"+n), text, 0o600) // without it the script times out
			}
		}
	}()
}

// begins FILE PREFIX: what was written is still there, byte for byte.
func begins(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: begins FILE PREFIX")
	}
	if !strings.HasPrefix(ts.ReadFile(args[0]), ts.ReadFile(args[1])) {
		ts.Fatalf("%s does not begin with %s", args[0], args[1])
	}
}

func empty(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: empty DIR")
	}
	list, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(list) > 0 {
		ts.Fatalf("%s holds %s", args[0], list[0].Name())
	}
}

func lacks(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: lacks TEXT DIR…")
	}
	files := 0
	for _, dir := range args[1:] {
		ts.Check(filepath.WalkDir(ts.MkAbs(dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if files++; bytes.Contains(b, []byte(args[0])) {
				ts.Fatalf("%s holds %q", path, args[0])
			}
			return nil
		}))
	}
	if files == 0 {
		ts.Fatalf("there is no file to look at")
	}
}

// same FILE OTHER KEY…: two JSON objects are the same but for some keys.
func same(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: same FILE OTHER KEY…")
	}
	var sides [2]map[string]any
	for i := range sides {
		ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[i])), &sides[i]))
		for _, key := range args[2:] {
			delete(sides[i], key)
		}
	}
	if diff := cmp.Diff(sides[1], sides[0]); diff != "" {
		ts.Fatalf("%s is not %s:\n%s", args[0], args[1], diff)
	}
}
