package harness

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"varve/internal/content"
	"varve/internal/jsonl"
	"varve/internal/session"
)

// shortSession is one turn with a message, calls, a question and its answer, a
// refusal, results and an end; it returns the file's bytes.
func shortSession(t *testing.T) (*world, []byte) {
	t.Helper()
	w := newWorld(t, calls("bash", runs("one"), "bash", runs("two")), text("Done."))
	w.opts.Settings.PermissionMode = "ask"
	l := w.start()
	say(t, l, "do it")
	answerNext(t, l, 0, "once", "")
	first := until(t, l, "the first result", func(e session.Entry) bool { return e.Type == "tool.finished" })
	answerNext(t, l, first.Seq, "deny", "")
	ended(t, l, 1)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(l.Session.Path())
	if err != nil {
		t.Fatal(err)
	}
	return w, b
}

// statesOf are the states after each event of a file, and where its line ends.
func statesOf(t *testing.T, whole []byte) (states []session.State, ends []int) {
	t.Helper()
	var entries []session.Entry
	ends = []int{0}
	for line := range bytes.Lines(whole) {
		e, err := session.Decode(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, e)
		ends = append(ends, ends[len(ends)-1]+len(line))
	}
	for n := range ends {
		fold := session.NewFold() // a state shares its branch with the fold: one of its own for each
		for _, e := range entries[:n] {
			if err := fold.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
		states = append(states, fold.State(session.MainBranch))
	}
	return states, ends
}

// A session that was cut at any byte opens in the state of its last whole event,
// and is appended to behind what is there. // REL-1, LOG-3, LOG-7, case SES-02
func TestAppendFromEveryByte(t *testing.T) {
	w, whole := shortSession(t)
	states, ends := statesOf(t, whole)
	opens, appends := 1, 16 // every so many bytes; around the ends of lines always
	if os.Getenv("VARVE_LONG") != "" {
		appends = 1
	} else if raceEnabled || testing.Short() {
		opens, appends = 16, 64
	}
	t.Logf("%d events, %d bytes", len(states)-1, len(whole))
	blobs := content.Open(w.opts.DataDir)
	at := filepath.Join(t.TempDir(), "s.jsonl")
	toast := []session.Fact{{Event: session.ToastPosted{Level: "info", Code: "x"}}}
	open := func(n int) *Session {
		s, err := Open(at, blobs, jsonl.Never, System{})
		if err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		if d := s.Damage(); len(d) > 0 {
			t.Fatalf("cut at %d: a crash is called damage: %+v", n, d)
		}
		return s
	}
	events := 0
	for n := 0; n <= len(whole); n++ {
		for events+1 < len(ends) && ends[events+1] <= n {
			events++
		}
		near := n-ends[events] <= 1 || events+1 < len(ends) && ends[events+1]-n <= 1
		if n%opens != 0 && !near {
			continue
		}
		if err := os.WriteFile(at, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		s := open(n)
		if s.Head() != session.Seq(events) {
			t.Fatalf("cut at %d: it is at event %d, not %d", n, s.Head(), events)
		}
		if n%appends != 0 && !near {
			s.Close()
			continue
		}
		if got := s.State(session.MainBranch); !reflect.DeepEqual(got, states[events]) {
			t.Fatalf("cut at %d: the state is not that after event %d:\n%+v\n%+v", n, events, got, states[events])
		}
		want := events
		if events+1 < len(ends) && ends[events+1]-1 == n {
			want++ // whole but for its newline
		}
		// A toast is about no view: any head of the branch will do.
		if err := s.Record(t.Context(), session.MainBranch, states[want].Branch.Head, toast); err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		s.Close()
		now, err := os.ReadFile(at)
		if err != nil || !bytes.HasPrefix(now, whole[:n]) {
			t.Fatalf("cut at %d: old bytes have changed (%v)", n, err)
		}
		intact(t, at)
		s = open(n)
		got := s.State(session.MainBranch)
		if !reflect.DeepEqual(got.Branch, states[want].Branch) || got.Session.Toasts != states[want].Session.Toasts+1 {
			t.Fatalf("cut at %d and appended to: the branch is not that after event %d:\n%+v\n%+v", n, want, got.Branch, states[want].Branch)
		}
		s.Close()
	}
}

// TestRelWriter is no test of its own, but what the processes of
// TestProcessesRecord do.
func TestRelWriter(t *testing.T) {
	path, name := os.Getenv("VARVE_REL_WRITER"), os.Getenv("VARVE_REL_NAME")
	if path == "" {
		t.Skip("a part of TestProcessesRecord")
	}
	s, err := Open(path, content.Open(t.TempDir()), jsonl.Never, System{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	for i := range relLines {
		// What is recorded changes the queue, so that whoever decided from an older state must hear of it.
		facts := func() []session.Fact {
			word := fmt.Sprintf("%s.%d", name, i)
			return []session.Fact{
				{Event: session.InputQueued{Kind: "queue"}, Body: []session.Part{{Bytes: []byte(word + strings.Repeat(" ", i*40))}}},
				{Event: session.ToastPosted{Level: "info", Code: "said", Args: map[string]string{"word": word}}},
			}
		}
		for {
			before := s.Head()
			err := s.Record(t.Context(), session.MainBranch, s.State(session.MainBranch).Branch.Head, facts())
			if err == nil {
				fmt.Printf("wrote %d %s.%d\n", s.Head(), name, i)
				break
			}
			if !errors.Is(err, ErrConflict) {
				t.Fatal(err)
			}
			if s.Head() == before { // it has read what it lost against
				t.Fatal("a conflict with nobody")
			}
			fmt.Println("conflict")
		}
	}
}

const relLines = 60

// Two and ten processes record to one session, and all of them begin from the
// same state: one of them is first, every other one is told of a conflict, reads
// on and decides again. No line is lost, torn or mixed with another's, and what
// one call records stands in one piece. // REL-3, LOG-6
func TestProcessesRecord(t *testing.T) {
	for _, n := range []int{2, 10} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			w := newWorld(t, text("Done."))
			l := w.start()
			say(t, l, "begin")
			ended(t, l, 1)
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			path := l.Session.Path()
			old, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			wrote, conflicts := together(t, path, n)
			if conflicts < n-1 {
				t.Errorf("%d conflicts, at least the %d of the first round must be", conflicts, n-1)
			}
			t.Logf("%d conflicts", conflicts)

			now, err := os.ReadFile(path)
			if err != nil || !bytes.HasPrefix(now, old) {
				t.Errorf("old bytes have changed (%v)", err)
			}
			intact(t, path)
			s, err := Open(path, content.Open(w.opts.DataDir), jsonl.Never, System{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			all, err := s.Entries(0, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			last := map[string]int{} // of each process, how many of its words stand there
			for i, e := range all {
				said, ok := e.Event.(session.ToastPosted)
				if !ok || said.Code != "said" {
					continue
				}
				word := said.Args["word"]
				name, k, _ := strings.Cut(word, ".")
				if wrote[word] != e.Seq || k != strconv.Itoa(last[name]) {
					t.Errorf("event %d says %s, which was %d", e.Seq, word, wrote[word])
				}
				last[name]++
				text, err := s.Load(all[i-1].Seq, 0)
				if err != nil || all[i-1].Type != "input.queued" || strings.TrimRight(string(text), " ") != word {
					t.Errorf("before event %d stands %s %q (%v)", e.Seq, all[i-1].Type, text, err)
				}
				delete(wrote, word)
			}
			if len(wrote) > 0 || len(last) != n {
				t.Errorf("%d processes; lost: %v", len(last), wrote)
			}
			if q := s.State(session.MainBranch).Branch.Queue; len(q) != n*relLines {
				t.Errorf("%d entries wait, %d were queued", len(q), n*relLines)
			}
		})
	}
}

// together lets n processes record at once, and returns what they say that they
// wrote, and how often they were told of a conflict.
func together(t *testing.T, path string, n int) (wrote map[string]session.Seq, conflicts int) {
	t.Helper()
	type process struct {
		cmd   *exec.Cmd
		out   *bufio.Scanner
		begin func() error
	}
	all := make([]process, n)
	for i := range all {
		cmd := exec.Command(os.Args[0], "-test.run=^TestRelWriter$", "-test.count=1")
		cmd.Env = append(os.Environ(), "VARVE_REL_WRITER="+path, fmt.Sprintf("VARVE_REL_NAME=p%d", i))
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		all[i] = process{cmd, bufio.NewScanner(out), func() error { _, err := in.Write([]byte("\n")); return err }}
	}
	for _, p := range all { // each has read the same state …
		for p.out.Scan() && p.out.Text() != "ready" {
		}
	}
	for _, p := range all { // … and decides from it
		if err := p.begin(); err != nil {
			t.Fatal(err)
		}
	}
	wrote = map[string]session.Seq{}
	for i, p := range all {
		for p.out.Scan() {
			var q session.Seq
			var word string
			if k, _ := fmt.Sscanf(p.out.Text(), "wrote %d %s", &q, &word); k == 2 {
				wrote[word] = q
			} else if p.out.Text() == "conflict" {
				conflicts++
			} else if strings.Contains(p.out.Text(), "FAIL") || strings.Contains(p.out.Text(), "rel_test.go") {
				t.Errorf("process %d: %s", i, p.out.Text())
			}
		}
		if err := p.cmd.Wait(); err != nil {
			t.Errorf("process %d: %v", i, err)
		}
	}
	if len(wrote) != n*relLines {
		t.Errorf("%d records are reported, %d were to be", len(wrote), n*relLines)
	}
	return wrote, conflicts
}

// Sessions that older programs left (internal/session/testdata) are opened by this
// one as they are, are written to behind their last line, and verify. // LOG-2, LOG-3
func TestOldSessionsOpen(t *testing.T) {
	files, err := filepath.Glob("../session/testdata/*/*.jsonl")
	if err != nil || len(files) < 6 {
		t.Fatalf("%q %v", files, err)
	}
	for _, from := range files {
		old, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "s.jsonl")
		if err := os.WriteFile(path, old, 0o600); err != nil {
			t.Fatal(err)
		}
		s := opened(t, path)
		if s.Head() == 0 || len(s.Damage()) > 0 {
			t.Errorf("%s: %d events, %+v", from, s.Head(), s.Damage())
		}
		states, _ := statesOf(t, old)
		if got, want := s.State(session.MainBranch), states[len(states)-1]; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the state is %+v, want %+v", from, got, want)
		}
		for it := range s.State(session.MainBranch).Branch.View.All {
			if text, err := s.Text(it); err != nil || len(text) == 0 {
				t.Errorf("%s: the text of item %s: %q %v", from, it.ID, text, err)
			}
		}
		if named, err := s.Repair(t.Context()); err != nil || named != nil {
			t.Errorf("%s: there is nothing to repair: %+v %v", from, named, err)
		}
		if err := shell(s, "new"); err != nil {
			t.Errorf("%s: %v", from, err)
		}
		if now, err := os.ReadFile(path); err != nil || !bytes.HasPrefix(now, old) || len(now) == len(old) {
			t.Errorf("%s: old bytes have changed, or nothing was added", from)
		}
		intact(t, path)
	}
}
