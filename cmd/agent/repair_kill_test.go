package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"varve/internal/content"
	"varve/internal/harness"
	"varve/internal/jsonl"
	"varve/internal/providers/scripted"
	"varve/internal/session"
)

// A victim is the real program at work on one session, with a model that asks
// for one command after the other, and kills the program, or lets it be killed.
type victim struct {
	t      *testing.T
	bin    string
	dir    string
	env    []string
	server *scripted.Server
	old    []byte // the session's file after the last death

	mu    sync.Mutex
	asked int       // requests of all rounds: it names the words
	left  int       // requests before the model kills, or lets a command kill; below 0: it does not
	by    string    // how: "mid-reply", "command"
	cmd   *exec.Cmd // the program that runs
	end   bool      // the model answers without calls
}

func newVictim(t *testing.T, bin string) *victim {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	v := &victim{t: t, bin: bin, dir: root}
	for _, dir := range []string{"w", "config", "data", "state", "home", "tmp"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if v.server, err = scripted.Open(scripted.Options{Lenient: true, Prefix: scripted.PrefixIgnore, Keep: 4}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.server.Close)
	v.server.Handle(v.answer)
	conf := fmt.Sprintf(`{"model":{"provider":"script","model":"m"},"providers":{"script":{"api":"openai-chat","base_url":%q}}}`, v.server.URL()+"/v1")
	if err := os.WriteFile(filepath.Join(root, "config", "setup.json"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	v.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(root, "home"), "TMPDIR=" + filepath.Join(root, "tmp"), "VARVE_KEYRING=off",
		"VARVE_CONFIG_DIR=" + filepath.Join(root, "config"), "VARVE_DATA_DIR=" + filepath.Join(root, "data"), "VARVE_STATE_DIR=" + filepath.Join(root, "state"),
	}
	return v
}

// answer asks for commands that leave a word of their own behind each time they run.
func (v *victim) answer(scripted.Request) scripted.Reply {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.asked++
	if v.end {
		return scripted.Reply{Steps: []scripted.Step{scripted.Text("Done."), scripted.Finish("stop"), scripted.Done()}}
	}
	v.left--
	command := fmt.Sprintf("echo w%d >> ran; echo w%d", v.asked, v.asked)
	steps := []scripted.Step{scripted.Text("I ", "go ", "on.")}
	if v.left == 0 {
		if v.by == "command" {
			command = fmt.Sprintf("echo w%d >> ran; kill -9 $PPID", v.asked)
		} else {
			cmd := v.cmd
			defer func() { go func() { _ = cmd.Process.Kill() }() }()
			steps = append(steps, scripted.Text(strings.Split(strings.Repeat("word ", 400), " ")...))
		}
	}
	return scripted.Reply{Steps: append(
		steps,
		scripted.Call(0, fmt.Sprintf("c%d", v.asked), "bash", fmt.Sprintf(`{"command":%q}`, command), 3),
		scripted.Call(1, fmt.Sprintf("d%d", v.asked), "ls", `{"path":"."}`, 0),
		scripted.Finish("tool_calls"), scripted.Done(),
	)}
}

func (v *victim) file() string {
	found, err := filepath.Glob(filepath.Join(v.dir, "data", "sessions", "*", "*.jsonl"))
	if err != nil || len(found) > 1 {
		v.t.Fatalf("%d sessions (%v)", len(found), err)
	}
	if len(found) == 0 {
		return ""
	}
	return found[0]
}

// run starts the program on the session, and lets it live for so many lines of
// its output; below 0 it is not this that kills it. It says how the program ended.
func (v *victim) run(open bool, lines int) error {
	args := []string{"run", "--mode", "full", "--output", "stream-json"}
	if path := v.file(); path != "" {
		args = append(args, "--session", path)
	}
	if !open {
		args = append(args, "begin")
	}
	cmd := exec.Command(v.bin, args...)
	cmd.Dir, cmd.Env = filepath.Join(v.dir, "w"), v.env
	errs := &bytes.Buffer{}
	cmd.Stderr, cmd.WaitDelay = errs, 10*time.Second // a command that lives on holds it open
	out, err := cmd.StdoutPipe()
	if err != nil {
		v.t.Fatal(err)
	}
	v.mu.Lock()
	v.cmd = cmd
	err = cmd.Start()
	v.mu.Unlock()
	if err != nil {
		v.t.Fatal(err)
	}
	r := bufio.NewReader(out)
	for i := 0; ; i++ {
		if i == lines {
			_ = cmd.Process.Kill()
		}
		if _, err := r.ReadString('\n'); err != nil {
			break
		}
	}
	err = cmd.Wait()
	if cmd.ProcessState.ExitCode() > 0 {
		v.t.Fatalf("it ended by itself: %v: %s", err, errs)
	}
	return err
}

// check looks at what a death left: the session verifies and opens, no old byte
// has changed, no command ran twice. It says whether a turn is open.
func (v *victim) check(what string) (open bool) {
	path := v.file()
	if path == "" {
		return false
	}
	now, err := os.ReadFile(path)
	if err != nil || !bytes.HasPrefix(now, v.old) {
		v.t.Fatalf("%s: old bytes have changed (%v)", what, err)
	}
	v.old = now
	blobs := content.Open(filepath.Join(v.dir, "data"))
	if len(now) > 0 && bytes.IndexByte(now, '\n') >= 0 {
		if err := verifySession(io.Discard, path, path, blobs, false); err != nil {
			v.t.Fatalf("%s: %v", what, err)
		}
	}
	s, err := harness.Open(path, blobs, jsonl.Turn, harness.System{})
	if err != nil {
		v.t.Fatalf("%s: %v", what, err)
	}
	defer s.Close()
	if d := s.Damage(); len(d) > 0 {
		v.t.Fatalf("%s: %+v", what, d)
	}
	v.ran(what)
	return s.State(session.MainBranch).Branch.Turn != nil
}

// ran is the words that commands left behind, each once.
func (v *victim) ran(what string) map[string]bool {
	b, err := os.ReadFile(filepath.Join(v.dir, "w", "ran"))
	if err != nil && !os.IsNotExist(err) {
		v.t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, word := range strings.Fields(string(b)) {
		if seen[word] {
			v.t.Fatalf("%s: %s ran twice", what, word)
		}
		seen[word] = true
	}
	return seen
}

// calls counts what came of the calls: each was started at most once, and ended
// once, with a result or with the mark that it was interrupted.
func (v *victim) calls() (finished, interrupted int) {
	s, err := harness.Open(v.file(), content.Open(filepath.Join(v.dir, "data")), jsonl.Turn, harness.System{})
	if err != nil {
		v.t.Fatal(err)
	}
	defer s.Close()
	entries, err := s.Entries(0, 1<<20)
	if err != nil {
		v.t.Fatal(err)
	}
	started, over := map[session.ItemID]int{}, map[session.ItemID]int{}
	ran := v.ran("at the end")
	for _, e := range entries {
		switch ev := e.Event.(type) {
		case session.ToolStarted:
			started[ev.Call]++
		case session.ToolFinished:
			over[ev.Call]++
			finished++
			if text, err := s.Load(e.Seq, ev.Text.B); err == nil && bytes.HasPrefix(text, []byte("w")) {
				if word, _, _ := bytes.Cut(text, []byte("\n")); !ran[string(word)] {
					v.t.Errorf("event %d says %s, and it did not run", e.Seq, word)
				}
			}
		case session.ToolInterrupted:
			over[ev.Call]++
			interrupted++
		}
	}
	for call, n := range started {
		if n != 1 || over[call] != 1 {
			v.t.Errorf("call %s was started %d times and ended %d times", call, n, over[call])
		}
	}
	return finished, interrupted
}

// The real program is killed outright, wherever it is: in its beginning, in the
// middle of a reply, while a command runs, between two lines of the log. Each time
// the session is whole and opens, and the next process goes on with the turn: what
// was running is marked, and is not run again.
// REL-1, LOG-3, LOG-7, LOG-14
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	times := 200
	if testing.Short() {
		times = 25
	}
	bin := agentBinary(t)
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	deaths, marked := map[string]int{}, 0
	for kills := 0; kills < times; {
		v := newVictim(t, bin)
		open := false
		for range min(25, times-kills) { // then a session of its own, so that none grows long
			how := []string{"lines", "mid-reply", "command"}[random.IntN(3)]
			lines, left := -1, 1+random.IntN(3)
			if how == "lines" {
				lines, left = random.IntN(14), -1
			}
			v.mu.Lock()
			v.left, v.by = left, how
			v.mu.Unlock()
			if err := v.run(open, lines); err == nil {
				t.Fatalf("death %d, by %s: it was to be killed, and ended well", kills, how)
			}
			kills++
			deaths[how]++
			open = v.check(fmt.Sprintf("death %d, by %s", kills, how))
		}
		v.mu.Lock()
		v.end = true
		v.mu.Unlock()
		if err := v.run(open, -1); err != nil {
			t.Fatalf("going on to the end: %v", err)
		}
		if v.check("at the end") {
			t.Error("the turn is open still")
		}
		finished, interrupted := v.calls()
		if finished == 0 {
			t.Error("no call came to its end: this tests nothing")
		}
		marked += interrupted
		v.server.Close()
	}
	if marked < deaths["command"] {
		t.Errorf("%d calls are marked as interrupted, %d died with the program", marked, deaths["command"])
	}
	t.Logf("%d calls were marked; deaths %v", marked, deaths)
}
