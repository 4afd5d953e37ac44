package harness

import (
	"bufio"
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"varve/internal/content"
	"varve/internal/harness/drive"
	"varve/internal/jsonl"
	"varve/internal/providers"
	"varve/internal/session"
)

// workForever is a process that goes on with the only session of a folder, or
// starts it, and works on a turn that never ends. It says of each event that
// it has seen its number and hash: what it has said must never be lost.
func workForever() {
	dir := os.Getenv("VARVE_TEST_DIR")
	var n atomic.Int64
	p := &script{rest: func(ctx context.Context, body string, sink providers.Sink) providers.Reply {
		i := n.Add(1)
		word := fmt.Sprintf("%d-%d", os.Getpid(), i)
		switch i % 5 {
		case 0:
			return toldToWait(providers.Overloaded)(ctx, body, sink)
		case 1:
			return calls("todo", `{"items":[{"content":"`+word+`","active_form":"doing","status":"in_progress"}]}`, "ls", `{"path":"."}`)(ctx, body, sink)
		}
		return calls("bash", runs(word+"a"), "bash", runs(word+"b"))(ctx, body, sink)
	}}
	must := func(err error) {
		if err != nil {
			fmt.Println("! " + err.Error())
			os.Exit(1)
		}
	}
	o := machine(dir, p)
	ctx := context.Background()
	var l *Local
	var err error
	if path := onlySession(dir); path != "" {
		l, err = Resume(ctx, o, path)
	} else {
		l, err = Start(ctx, o)
	}
	must(err)
	after := l.Session.Head()
	var cmd drive.Command = drive.Say{Text: []byte("work")}
	if l.Paused() {
		cmd = drive.Resume{}
	}
	must(l.Submit(ctx, cmd))
	must(l.Submit(ctx, drive.Say{Text: []byte("and more"), Steer: true}))
	for version := uint64(0); ; {
		u, err := l.Follow(ctx, after, version)
		must(err)
		must(u.Fault)
		version = u.Version
		for _, e := range u.Entries {
			after = e.Seq
			raw, err := rawEvent(l.Session, e.Seq)
			must(err)
			fmt.Printf("%d %x\n", e.Seq, sha256.Sum256(raw))
		}
	}
}

// waitForever is a process that starts a session in a folder, and waits for a
// provider that says nothing.
func waitForever() {
	l, err := Start(context.Background(), machine(os.Getenv("VARVE_TEST_DIR"), &script{rest: hang("half")}))
	if err == nil {
		err = l.Submit(context.Background(), drive.Say{Text: []byte("work")})
	}
	for after, version := session.Seq(0), uint64(0); err == nil; {
		var u Update
		u, err = l.Follow(context.Background(), after, version)
		version = u.Version
		for _, p := range u.Pulses {
			if p.Kind == "text" {
				fmt.Println("waiting")
			}
		}
	}
	fmt.Println("! " + err.Error())
	os.Exit(1)
}

func rawEvent(s *Session, q session.Seq) ([]byte, error) {
	line, f, ok := s.line(q)
	if !ok {
		return nil, fmt.Errorf("event %d is not there", q)
	}
	return f.Read(line)
}

func onlySession(dir string) string {
	found, err := filepath.Glob(filepath.Join(dir, "data", "sessions", "*", "*.jsonl"))
	if err != nil || len(found) == 0 {
		return ""
	}
	return found[0]
}

// part starts this test binary as another process that does a part of a test.
func part(t *testing.T, name, dir string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "VARVE_TEST_PART="+name, "VARVE_TEST_DIR="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd, bufio.NewScanner(out)
}

// A process that is killed outright, wherever it is: its session is whole each
// time, no event that it had shown is lost or changed, the next process goes on
// with the turn, and no command runs twice. // REL-1, LOG-5, LOG-14
func TestKill(t *testing.T) {
	times := 20
	if os.Getenv("VARVE_LONG") != "" {
		times = 200
	}
	dir := t.TempDir()
	shown := map[session.Seq]string{}
	var old []byte
	for i := range times {
		cmd, out := part(t, "work", dir)
		for left := 1 + rand.IntN(60); left > 0; left-- {
			if !out.Scan() {
				t.Fatalf("round %d: the process ended by itself", i)
			}
			var q session.Seq
			var sum string
			if _, err := fmt.Sscanf(out.Text(), "%d %s", &q, &sum); err != nil {
				t.Fatalf("round %d: it says %q", i, out.Text())
			}
			shown[q] = sum
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for out.Scan() { // what it had said before it died
			var q session.Seq
			var sum string
			if n, _ := fmt.Sscanf(out.Text(), "%d %s", &q, &sum); n == 2 && len(sum) == 64 {
				shown[q] = sum
			}
		}
		_ = cmd.Wait()

		path := onlySession(dir)
		intact(t, path)
		now, err := os.ReadFile(path)
		if err != nil || len(now) < len(old) || string(now[:len(old)]) != string(old) {
			t.Fatalf("round %d: old bytes have changed (%v)", i, err)
		}
		old = now
		s, err := Open(path, content.Open(filepath.Join(dir, "data")), jsonl.Turn, System{})
		if err != nil {
			t.Fatal(err)
		}
		for q, sum := range shown {
			if raw, err := rawEvent(s, q); err != nil || fmt.Sprintf("%x", sha256.Sum256(raw)) != sum {
				t.Fatalf("round %d: event %d was shown, and is another now: %v", i, q, err)
			}
		}
		// Content that a line names was there before the line.
		entries, err := s.Entries(0, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			parts, err := e.Parts()
			if err != nil {
				t.Fatal(err)
			}
			for b := range parts {
				if _, err := s.Load(e.Seq, b); err != nil {
					t.Fatalf("round %d: event %d: %v", i, e.Seq, err)
				}
			}
		}
		if turn := s.State(session.MainBranch).Branch.Turn; turn == nil {
			t.Errorf("round %d: the turn is gone", i)
		}
		s.Close()
		words := ranIn(t, filepath.Join(dir, "w"))
		slices.Sort(words)
		if n := len(words); len(slices.Compact(words)) != n {
			t.Fatalf("round %d: a command ran twice: %s", i, strings.Join(words, " "))
		}
	}
	t.Logf("%d events, %d of them seen", len(strings.Split(string(old), "\n"))-1, len(shown))
}
