package main

// `make demo-check`: the demo's work, done by the real program. A copy of a
// real public Go module gets two bugs; a scripted model finds and mends them
// through the real tools. The server is in this process, so that it can be
// compared with the session byte for byte.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"varve/internal/demo"
	"varve/internal/providers/scripted"
	"varve/internal/session"
)

// The two bugs. Old is what the module says, New what the bug makes of it.
var bugs = []struct{ Old, New string }{
	{"\t\tif str[i] == '*' || str[i] == '?' {\n", "\t\tif str[i] == '*' {\n"},
	{"\t\t\t\tr++\n", "\t\t\t\tr += 2\n"},
}

// repair is how the scripted model mends them.
func repair() demo.Story {
	return demo.Repair{
		Test: "go test ./...", Red: "FAIL", Green: "[exit code 0",
		Start: demo.Move{
			Think: "Tests first.",
			Say:   "I'll see what the tests say.",
		},
		Look: demo.Move{
			Say: "`IsPattern` is wrong, perhaps more. I'll read the code.",
			Calls: []demo.Call{
				{Name: "grep", Args: `{"pattern":"func (IsPattern|Allowable)","include":"*.go"}`},
				{Name: "read", Args: `{"file_path":"match.go"}`},
			},
		},
		Fixes: []demo.Fix{
			{
				Say:  "`IsPattern` knows `*` and forgets `?`.",
				File: "match.go", Old: "if str[i] == '*' {", New: "if str[i] == '*' || str[i] == '?' {",
			},
			{
				Think: "Still red: TestAllowable.",
				Say:   "`Allowable` steps over a value: the next rune is one further, not two.",
				File:  "match.go", Old: "r += 2", New: "r++",
			},
		},
		Summary: "Two bugs in `match.go` are mended: `IsPattern` forgot `?`, and `Allowable` went one too far. The tests pass.",
		After:   "I know one task only.",
		Handoff: "## Objective\nMake the tests of match pass, as a script.\n## Work State\n### Completed\nBoth bugs.\n## Next Action\nWait.\n",
	}.Story()
}

// mended is how the last answer begins.
const mended = "Two bugs in `match.go` are mended"

// agentBinary builds the program, from what the build of this test has cached.
func agentBinary(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "agent")
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", bin, ".")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return bin
}

// A demoHouse is everything that one run of the demo's work needs: the binary,
// a copy of the module with the bugs, a scripted model, folders and
// environment of its own. What drives the program in it, headless or in a
// terminal, is the test's: command gives the process, check looks at what
// came of it.
type demoHouse struct {
	bin, dir, data string
	env            []string
	server         *scripted.Server
	gates          string // see gate
}

func newDemoHouse(t *testing.T, bin string) *demoHouse {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &demoHouse{bin: bin, dir: filepath.Join(root, "match"), data: filepath.Join(root, "data"), gates: filepath.Join(root, "gates")}
	for _, dir := range []string{h.dir, h.data, h.gates, filepath.Join(root, "config"), filepath.Join(root, "state"), filepath.Join(root, "home"), filepath.Join(root, "tmp")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	// The module, as its authors published it.
	from := outputOf(t, exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/tidwall/match"))
	for _, name := range []string{"match.go", "match_test.go", "go.mod", "README.md", "LICENSE"} {
		b, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		if name == "match.go" {
			for _, bug := range bugs {
				if bytes.Count(b, []byte(bug.Old)) != 1 || bytes.Contains(b, []byte(bug.New)) {
					t.Fatalf("the module is not the one that the bugs are for: %q", bug.Old)
				}
				b = bytes.Replace(b, []byte(bug.Old), []byte(bug.New), 1)
			}
		}
		if err := os.WriteFile(filepath.Join(h.dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if h.server, err = scripted.Open(scripted.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.server.Close)
	h.server.Handle(repair().Handle)
	conf := fmt.Sprintf(`{"model":{"provider":"script","model":"m"},"providers":{"script":{"api":"openai-chat","base_url":%q}}}`, h.server.URL()+"/v1")
	if err := os.WriteFile(filepath.Join(root, "config", "setup.json"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, kv := range os.Environ() {
		if k, _, _ := strings.Cut(kv, "="); !strings.HasSuffix(k, "_API_KEY") && !strings.HasPrefix(k, "VARVE_") && k != "PWD" {
			h.env = append(h.env, kv)
		}
	}
	for _, k := range []string{"GOCACHE", "GOMODCACHE", "GOPATH"} { // they hang on HOME
		h.env = append(h.env, k+"="+outputOf(t, exec.Command("go", "env", k)))
	}
	h.env = append(h.env, "HOME="+filepath.Join(root, "home"), "TMPDIR="+filepath.Join(root, "tmp"), "GOPROXY=off", "GOWORK=off", "GOFLAGS=-exec="+h.gate(t),
		"VARVE_CONFIG_DIR="+filepath.Join(root, "config"), "VARVE_DATA_DIR="+h.data, "VARVE_STATE_DIR="+filepath.Join(root, "state"), "VARVE_KEYRING=off")
	return h
}

func outputOf(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	b, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", cmd, err)
	}
	return strings.TrimSpace(string(b))
}

// command is the program in the module's folder.
func (h *demoHouse) command(args ...string) *exec.Cmd {
	cmd := exec.Command(h.bin, args...)
	cmd.Dir, cmd.Env = h.dir, h.env
	return cmd
}

// run runs the program to its end and returns what it printed.
func (h *demoHouse) run(t *testing.T, code int, args ...string) []byte {
	t.Helper()
	cmd := h.command(args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("agent %q ended with %d, want %d\n%s%s", args, got, code, out.Bytes(), errs.Bytes())
	}
	return out.Bytes()
}

// turn is run for a turn with --output json.
func (h *demoHouse) turn(t *testing.T, code int, args ...string) result {
	t.Helper()
	return decodeResult(t, h.run(t, code, append([]string{"run", "--output", "json"}, args...)...))
}

func decodeResult(t *testing.T, b []byte) result {
	t.Helper()
	var res result
	if err := json.Unmarshal(b, &res); err != nil {
		t.Fatalf("not one JSON object: %v\n%s", err, b)
	}
	return res
}

// gate makes a program for `go test -exec`, and returns its path. It holds the
// n-th test binary up where there is a pipe n in the gates folder.
func (h *demoHouse) gate(t *testing.T) string {
	t.Helper()
	const script = `#!/bin/sh
cd %q || exit 1
echo >> count
gate=$(wc -l < count | tr -d ' ')
if [ -p "$gate" ]; then
	read -r word < "$gate"
	[ "$word" = go ] || exit 1
fi
cd "$OLDPWD" && exec "$@"
`
	path := filepath.Join(h.gates, "gate.sh")
	if err := os.WriteFile(path, fmt.Appendf(nil, script, h.gates), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// shut makes the n-th `go test` wait until its gate is written to.
func (h *demoHouse) shut(t *testing.T, n int) (gate string) {
	t.Helper()
	gate = filepath.Join(h.gates, fmt.Sprint(n))
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	return gate
}

// atGate returns when a test binary waits at the gate: the command runs, and
// can't end by itself. The program must not end meanwhile.
func atGate(t *testing.T, gate string, cmd *exec.Cmd) (open *os.File, ended chan error) {
	t.Helper()
	ended = make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	opened := make(chan *os.File, 1)
	go func() {
		f, err := os.OpenFile(gate, os.O_WRONLY, 0) // blocks until there is a reader
		if err == nil {
			opened <- f
		}
	}()
	select {
	case f := <-opened:
		t.Cleanup(func() { f.Close() })
		return f, ended
	case err := <-ended:
		t.Fatalf("the program ended before `go test` ran: %v", err)
	}
	return nil, nil
}

// file is the session's file; there must be one.
func (h *demoHouse) file(t *testing.T) string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(h.data, "sessions", "*", "*.jsonl"))
	if err != nil || len(list) != 1 {
		t.Fatalf("%d session files, want one (%v)", len(list), err)
	}
	return list[0]
}

func (h *demoHouse) entries(t *testing.T) []session.Entry {
	t.Helper()
	b, err := os.ReadFile(h.file(t))
	if err != nil {
		t.Fatal(err)
	}
	var out []session.Entry
	for line := range bytes.Lines(b) {
		e, err := session.Decode(line)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

func (h *demoHouse) wantChanged(t *testing.T, res result) {
	t.Helper()
	if want := filepath.Join(h.dir, "match.go"); len(res.ChangedFiles) != 1 || res.ChangedFiles[0] != want {
		t.Errorf("changed files %q, want %q", res.ChangedFiles, want)
	}
}

// check is what must hold at the end, however the work was done: the module
// is as its authors wrote it and its own tests are green, the session is
// whole, and every request can be rebuilt as the server got it.
func (h *demoHouse) check(t *testing.T) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(h.dir, "match.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, bug := range bugs {
		if !bytes.Contains(b, []byte(bug.Old)) || bytes.Contains(b, []byte(bug.New)) {
			t.Errorf("a bug is still there: %q", bug.New)
		}
	}
	test := exec.Command("go", "test", "-count=1", "./...")
	test.Dir, test.Env = h.dir, h.env
	if out, err := test.CombinedOutput(); err != nil {
		t.Errorf("the module's own tests: %v\n%s", err, out)
	}
	id := strings.TrimSuffix(filepath.Base(h.file(t)), ".jsonl")
	if out := h.run(t, exitDone, "session", "verify", id); !bytes.Contains(out, []byte("whole: ")) { // LOG-4
		t.Errorf("session verify: %s", out)
	}
	sent := h.server.Requests()
	for i, r := range sent { // PFX-4
		if got := h.run(t, exitDone, "session", "requests", id, fmt.Sprint(i+1)); !bytes.Equal(got, r.Body) {
			t.Errorf("request %d, rebuilt from the session:\n%s\nand the server got\n%s", i+1, got, r.Body)
		}
	}
	var rows []json.RawMessage
	if err := json.Unmarshal(h.run(t, exitDone, "session", "requests", "--json", id), &rows); err != nil || len(rows) != len(sent) {
		t.Errorf("the session has %d requests, the server got %d (%v)", len(rows), len(sent), err)
	}
	summed, err := os.ReadFile(h.file(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range h.server.Violations() { // V12 and all others of wire.md §6.2
		if v.Rule == "V12" && bytes.Contains(summed, []byte(`"type":"checkpoint.committed"`)) {
			continue // a checkpoint is one of the causes that may break a prefix (PFX-1)
		}
		t.Errorf("request %d: %s: %s", v.Request, v.Rule, v.Text)
	}
}

// A callTally is what happened to the calls of one tool.
type callTally struct {
	Started, Finished int
	Interrupted       []string // why
}

func (h *demoHouse) calls(t *testing.T, tool string) (c callTally) {
	t.Helper()
	mine := map[string]bool{}
	for _, e := range h.entries(t) {
		switch ev := e.Event.(type) {
		case session.ReplyCompleted:
			for i, p := range ev.Parts {
				if p.Call != nil && p.Call.Name == tool {
					mine[session.ItemID{Seq: e.Seq, Part: i + 1}.String()] = true
				}
			}
		case session.ToolStarted:
			if mine[ev.Call.String()] {
				c.Started++
			}
		case session.ToolFinished:
			if mine[ev.Call.String()] {
				c.Finished++
			}
		case session.ToolInterrupted:
			if mine[ev.Call.String()] {
				c.Interrupted = append(c.Interrupted, ev.Why)
			}
		}
	}
	return c
}

func (c callTally) String() string {
	return fmt.Sprintf("%d started, %d finished, interrupted %v", c.Started, c.Finished, c.Interrupted)
}

func wantCalls(t *testing.T, h *demoHouse, tool, want string) {
	t.Helper()
	if got := h.calls(t, tool).String(); got != want {
		t.Errorf("%s: %s; want %s", tool, got, want)
	}
}

func TestDemoMendsARealModule(t *testing.T) {
	bin := agentBinary(t)

	t.Run("headless", func(t *testing.T) { // RUN-1
		t.Parallel()
		h := newDemoHouse(t, bin)
		res := h.turn(t, exitDone, "--mode", "full", demo.Prompt)
		if res.Status != "completed" || !strings.HasPrefix(res.Text, mended) || res.Requests != len(repair().Moves) || res.Error != nil || res.Refused != nil {
			t.Errorf("result %+v", res)
		}
		h.wantChanged(t, res)
		wantCalls(t, h, "bash", "3 started, 3 finished, interrupted []")
		wantCalls(t, h, "edit", "2 started, 2 finished, interrupted []")
		wantCalls(t, h, "todo", "3 started, 3 finished, interrupted []")
		h.check(t)
	})

	// Killed while the second test run goes on, after the first edit.
	t.Run("killed", func(t *testing.T) { // REL-1, LOG-14
		t.Parallel()
		h := newDemoHouse(t, bin)
		gate := h.shut(t, 2)
		cmd := h.command("run", "--mode", "full", demo.Prompt)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		open, ended := atGate(t, gate, cmd)
		wantCalls(t, h, "bash", "2 started, 1 finished, interrupted []")
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-ended
		open.Close() // lets go of what is left of the command
		before, err := os.ReadFile(h.file(t))
		if err != nil {
			t.Fatal(err)
		}
		id := strings.TrimSuffix(filepath.Base(h.file(t)), ".jsonl")
		if out := h.run(t, exitDone, "session", "verify", id); !bytes.Contains(out, []byte("whole: ")) {
			t.Errorf("verify after the kill: %s", out)
		}
		if out := h.run(t, exitDone, "session", "list"); !bytes.Contains(out, []byte("(turn left open)")) {
			t.Errorf("the list does not show that a turn was left open: %s", out)
		}
		if err := os.Remove(gate); err != nil {
			t.Fatal(err)
		}

		res := h.turn(t, exitDone, "--mode", "full", "--continue")
		if res.Status != "completed" || !strings.HasPrefix(res.Text, mended) {
			t.Errorf("result %+v", res)
		}
		h.wantChanged(t, res)
		after, err := os.ReadFile(h.file(t))
		if err != nil || !bytes.HasPrefix(after, before) { // LOG-1: written bytes stay
			t.Errorf("going on changed what was written before the kill (%v)", err)
		}
		// The model asked for the lost command again; nothing was run again by itself.
		wantCalls(t, h, "bash", "4 started, 3 finished, interrupted [lost]")
		wantCalls(t, h, "edit", "2 started, 2 finished, interrupted []")
		if n := len(h.server.Requests()); n != len(repair().Moves)+1 {
			t.Errorf("%d requests, want one for each move and one that asks again", n)
		}
		h.check(t)
	})

	// Interrupted while the first test run goes on; then somebody says "go on".
	t.Run("interrupted", func(t *testing.T) { // RUN-2
		t.Parallel()
		h := newDemoHouse(t, bin)
		gate := h.shut(t, 1)
		cmd := h.command("run", "--mode", "full", "--output", "json", demo.Prompt)
		var out bytes.Buffer
		cmd.Stdout = &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		open, ended := atGate(t, gate, cmd)
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		<-ended
		if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
			t.Errorf("exit code %d, want %d", code, exitInterrupted)
		}
		if res := decodeResult(t, out.Bytes()); res.Status != "interrupted" {
			t.Errorf("result %+v", res)
		}
		// Its children are gone: nobody reads at the gate any more.
		open.Close()
		if f, err := os.OpenFile(gate, os.O_WRONLY|syscall.O_NONBLOCK, 0); !errors.Is(err, syscall.ENXIO) {
			t.Errorf("the interrupted command still waits at the gate: %v %v", f, err)
		}
		if err := os.Remove(gate); err != nil {
			t.Fatal(err)
		}

		res := h.turn(t, exitDone, "--mode", "full", "--continue", "go on")
		if res.Status != "completed" || !strings.HasPrefix(res.Text, mended) {
			t.Errorf("result %+v", res)
		}
		wantCalls(t, h, "bash", "4 started, 3 finished, interrupted [user]")
		wantCalls(t, h, "edit", "2 started, 2 finished, interrupted []")
		h.check(t)
	})

	// Without permission nothing runs and nothing is claimed.
	t.Run("refused", func(t *testing.T) { // RUN-1, PERM-1
		t.Parallel()
		h := newDemoHouse(t, bin)
		res := h.turn(t, exitDone, demo.Prompt)
		if res.Status != "completed" || !strings.Contains(res.Text, "refused") || len(res.Refused) != 1 || res.Refused[0].Tool != "bash" || len(res.ChangedFiles) != 0 {
			t.Errorf("result %+v", res)
		}
		wantCalls(t, h, "bash", "0 started, 0 finished, interrupted [denied]")
	})

	// The demo that everybody sees first.
	t.Run("sample", func(t *testing.T) { // PRV-11
		t.Parallel()
		h := newDemoHouse(t, bin)
		dir := filepath.Join(h.dir, "..", "tally")
		res := decodeResult(t, h.run(t, exitDone, "demo", "--run", "--output", "json", "--dir", dir))
		if res.Status != "completed" || !strings.HasPrefix(res.Text, "Both tests pass now.") || len(res.ChangedFiles) != 1 {
			t.Errorf("result %+v", res)
		}
		wantCalls(t, h, "bash", "3 started, 3 finished, interrupted []")
		test := exec.Command("go", "test", "-count=1", "./...")
		test.Dir, test.Env = dir, h.env
		if out, err := test.CombinedOutput(); err != nil {
			t.Errorf("the sample's tests: %v\n%s", err, out)
		}
	})
}
