package harness

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"varve/internal/content"
	"varve/internal/harness/drive"
	"varve/internal/jsonl"
	"varve/internal/providers"
	"varve/internal/session"
)

// runs is a command that leaves a word behind each time it runs.
func runs(word string) string { return `{"command":"echo ` + word + ` >> ran; echo ` + word + `"}` }

// ranIn is what the commands left in a workspace, in order.
func ranIn(t testing.TB, workspace string) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(workspace, "ran"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Fields(string(b))
}

// toldToWait fails with a wait that is over at once.
func toldToWait(kind providers.ErrorKind) answer {
	return func(context.Context, string, providers.Sink) providers.Reply {
		return providers.Reply{
			Class: providers.Failed, Usage: &session.Usage{Input: 7},
			Err: &providers.Error{Kind: kind, Retry: true, Told: true, Message: "again"},
		}
	}
}

// longSession plays one session with all that a turn can hold, and returns its
// file's bytes.
func longSession(t *testing.T) (*world, string, []byte) {
	t.Helper()
	big := `{"command":"echo big >> ran; head -c 70000 /dev/zero | tr '\\0' x"}`
	w := newWorld(t,
		calls("todo", `{"items":[{"content":"look","active_form":"looking","status":"in_progress"},{"content":"fix","active_form":"fixing","status":"pending"}]}`, "bash", runs("one")),
		toldToWait(providers.RateLimit),
		calls("ls", `{"path":"."}`, "ls", `{"path":"."}`, "bash", runs("two")),
		text("That is all there is."),
		hang("half an ans"),
		calls("bash", big),
		text("A long one."),
		calls("bash", runs("three"), "nosuch", `{}`, "bash", `{"command":"false"}`),
		text("The end."),
	)
	l := w.start()
	say(t, l, "look around")
	ended(t, l, 1)
	say(t, l, "and then?")
	n := 0
	until(t, l, "the request that hangs", func(e session.Entry) bool {
		if e.Type == "request.sent" {
			n++
		}
		return n == 5
	})
	say(t, l, "queued behind it")
	submit(t, l, drive.Say{Text: []byte("steered into it"), Steer: true})
	submit(t, l, drive.Rename{Title: []byte("A title")})
	submit(t, l, drive.Cancel{By: "user"})
	ended(t, l, 2)
	idle(t, l)
	submit(t, l, drive.SendHeld{Entry: l.State().Branch.Queue[0].ID})
	ended(t, l, 3)
	submit(t, l, drive.Ran{Command: []byte("date"), Output: []byte("today")})
	say(t, l, "once more")
	ended(t, l, 4)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(l.Session.Path())
	if err != nil {
		t.Fatal(err)
	}
	return w, l.Session.Path(), b
}

// TestResumeFromEveryByte cuts a session wherever a kill could, and goes on
// with it. // REL-1, LOG-3, LOG-7, LOG-14, case SES-02
func TestResumeFromEveryByte(t *testing.T) {
	w, path, whole := longSession(t)
	blobs := content.Open(w.opts.DataDir)

	// What the session was after each whole event.
	var entries []session.Entry
	ends := []int{0} // of each event, with its newline
	for line := range bytes.Lines(whole) {
		e, err := session.Decode(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, e)
		ends = append(ends, ends[len(ends)-1]+len(line))
	}
	var states []session.State
	for n := range len(ends) {
		fold := session.NewFold() // a state shares its branch with the fold: one of its own for each
		for _, e := range entries[:n] {
			if err := fold.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
		states = append(states, fold.State(session.MainBranch))
	}
	t.Logf("%d events, %d bytes", len(states)-1, len(whole))

	// A reader follows byte by byte; another one opens the file anew: at each
	// line's end and around it, and at every byte where there is time.
	step := 41
	if os.Getenv("VARVE_LONG") != "" {
		step = 1
	}
	at := filepath.Join(t.TempDir(), filepath.Base(path))
	f, err := os.OpenFile(at, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	follower, err := Open(at, blobs, jsonl.Turn, System{})
	if err != nil {
		t.Fatal(err)
	}
	defer follower.Close()
	check := func(s *Session, n, events int) {
		t.Helper()
		if got := s.State(session.MainBranch); !reflect.DeepEqual(got, states[events]) {
			t.Fatalf("cut at %d: the state is not that after event %d:\n%+v\n%+v", n, events, got, states[events])
		}
		if d := s.Damage(); len(d) > 0 {
			t.Fatalf("cut at %d: %+v", n, d)
		}
	}
	events := 0
	for n := range len(whole) + 1 {
		if n > 0 {
			if _, err := f.Write(whole[n-1 : n]); err != nil {
				t.Fatal(err)
			}
		}
		if err := follower.CatchUp(); err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		if events+1 < len(ends) && ends[events+1] == n {
			events++
			check(follower, n, events)
		}
		if follower.Head() != session.Seq(events) {
			t.Fatalf("cut at %d: the follower is at event %d, not %d", n, follower.Head(), events)
		}
		near := n-ends[events] <= 1 || events+1 < len(ends) && ends[events+1]-n <= 1
		if !near && n%step != 0 {
			continue
		}
		s, err := Open(at, blobs, jsonl.Turn, System{})
		if err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		check(s, n, events)
		s.Close()
	}
	if now, err := os.ReadFile(at); err != nil || !bytes.Equal(now, whole) {
		t.Fatalf("opening wrote something: %v", err)
	}

	var cuts []int
	for i, end := range ends[1:] {
		cuts = append(cuts, end-1, end, min(end+1, len(whole)))
		if i%8 == 0 {
			cuts = append(cuts, (ends[i]+end)/2)
		}
	}
	cuts = slices.Compact(cuts)
	for i, n := range cuts {
		if (testing.Short() || raceEnabled) && i%5 != 0 {
			continue
		}
		goOnFrom(t, w, path, whole, n)
	}
}

// moveTo lets sessions run in the workspace of another world, where no command
// has left anything behind: what was judged there is the same here.
func moveTo(t *testing.T, o *Options, w *world) {
	t.Helper()
	o.Workspace, o.Judge = w.opts.Workspace, w.opts.Judge
	if err := os.RemoveAll(filepath.Join(o.Workspace, "ran")); err != nil {
		t.Fatal(err)
	}
}

// goOnFrom cuts the file at n and lets a person go on with what is left.
func goOnFrom(t *testing.T, w *world, path string, whole []byte, n int) {
	t.Helper()
	dir := t.TempDir()
	p := &script{rest: text("Done.")}
	o := machine(dir, p)
	moveTo(t, &o, w)
	if err := os.CopyFS(filepath.Join(o.DataDir, "blobs"), os.DirFS(filepath.Join(w.opts.DataDir, "blobs"))); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(o.DataDir, filepath.Base(path))
	if err := os.WriteFile(at, whole[:n], 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := Resume(t.Context(), o, at)
	if err != nil {
		t.Fatalf("cut at %d: %v", n, err)
	}
	defer l.Close()
	before := l.State()
	started := map[string]bool{}
	entries, err := l.Session.Entries(0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if ev, ok := e.Event.(session.ToolStarted); ok {
			it, _ := l.Session.Item(ev.Call)
			args, err := l.Session.Text(it)
			if err != nil {
				t.Fatal(err)
			}
			if _, word, ok := strings.Cut(string(args), "echo "); ok {
				started[strings.Fields(word)[0]] = true
			}
		}
	}
	if err := l.Submit(t.Context(), drive.Resume{}); err != nil {
		say(t, l, "go on")
	}
	after := idle(t, l)
	for len(after.Branch.Queue) > 0 {
		submit(t, l, drive.SendHeld{Entry: after.Branch.Queue[0].ID})
		after = idle(t, l)
	}
	if after.Branch.Last.Status != "completed" {
		t.Fatalf("cut at %d: %+v\n%s", n, after.Branch.Last, story(t, l))
	}
	if d := reflect.DeepEqual(before.Session.ID, after.Session.ID); !d && before.Session.ID != "" {
		t.Fatalf("cut at %d: another session", n)
	}
	l.Close()
	now, err := os.ReadFile(at)
	if err != nil || !bytes.HasPrefix(now, whole[:n]) {
		t.Fatalf("cut at %d: old bytes have changed (%v)", n, err)
	}
	intact(t, at)
	seen := map[string]int{}
	for _, word := range ranIn(t, o.Workspace) {
		if seen[word]++; started[word] || seen[word] > 1 {
			t.Fatalf("cut at %d: %q ran again\n%s", n, word, story(t, l))
		}
	}
}

// intact verifies a session file.
func intact(t testing.TB, path string) jsonl.Report {
	t.Helper()
	rep, err := jsonl.Verify(path, func(f *jsonl.File, _ jsonl.Line, raw []byte) error {
		e, err := session.Decode(raw)
		if err != nil {
			return fmt.Errorf("%w: %w", jsonl.ErrUnreadable, err)
		}
		if ev, ok := e.Event.(session.LogRepaired); ok {
			return f.Forgive(ev.From, ev.To, ev.SHA256)
		}
		return nil
	})
	if err != nil || len(rep.Damage) > 0 {
		t.Fatalf("%s is not whole: %+v %v", filepath.Base(path), rep, err)
	}
	return rep
}
