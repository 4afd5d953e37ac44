package harness

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"varve/internal/harness/drive"
	"varve/internal/providers"
	"varve/internal/session"
)

// crashed copies a world's session as a kill at this moment would leave it,
// and opens the copy.
func crashed(t *testing.T, w *world, l *Local, p *script) *Local {
	t.Helper()
	b, err := os.ReadFile(l.Session.Path())
	if err != nil {
		t.Fatal(err)
	}
	o := machine(t.TempDir(), p)
	o.Settings = w.opts.Settings
	moveTo(t, &o, w)
	if blobs := filepath.Join(w.opts.DataDir, "blobs"); Exists(blobs) {
		if err := os.CopyFS(filepath.Join(o.DataDir, "blobs"), os.DirFS(blobs)); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(o.DataDir, filepath.Base(l.Session.Path()))
	if err := os.MkdirAll(o.DataDir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Resume(t.Context(), o, path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// What waits survives a crash, can be changed after it, and goes where it was
// meant to: steering into the turn, the rest behind it. // CTX-3, REL-1
func TestQueueSurvivesCrash(t *testing.T) {
	w := newWorld(t, hang("half"))
	l := w.start()
	say(t, l, "first")
	until(t, l, "the request", func(e session.Entry) bool { return e.Type == "request.sent" })
	for _, words := range []string{"one", "two", "three"} {
		say(t, l, words)
	}
	submit(t, l, drive.Say{Text: []byte("steer"), Steer: true})

	p := &script{rest: text("Done.")}
	c := crashed(t, w, l, p)
	q := c.State().Branch.Queue
	if len(q) != 4 || !c.Paused() {
		t.Fatalf("%+v\n%s", q, story(t, c))
	}
	submit(t, c, drive.Resume{})
	// The turn may be over already: then these are gone, and say so.
	idle(t, c)
	var said []string
	for _, body := range p.sent() {
		lines := strings.Split(body, "\n")
		for i := len(lines) - 1; i >= 0; i-- {
			if words, ok := strings.CutPrefix(lines[i], "user "); ok {
				said = append(said, words)
				break
			}
		}
	}
	if got := strings.Join(said, ","); got != "steer,one,two,three" {
		t.Errorf("sent behind %s\n%s", got, story(t, c))
	}

	// Edited, moved and removed before anybody goes on: the lock is taken by the
	// first of these acts, the turn still waits.
	p2 := &script{rest: text("Done.")}
	c = crashed(t, w, l, p2)
	submit(t, c, drive.RemoveQueued{Entry: q[1].ID})
	submit(t, c, drive.EditQueued{Entry: q[2].ID, Text: []byte("three, changed")})
	submit(t, c, drive.MoveQueued{Entry: q[2].ID, Before: q[0].ID})
	if !c.Paused() || len(p2.sent()) > 0 {
		t.Fatal("a change of the queue went on with the turn")
	}
	again := crashed(t, w, c, p2)
	submit(t, again, drive.Resume{})
	idle(t, again)
	if b := p2.sent(); !strings.Contains(b[len(b)-1], "user three, changed") ||
		strings.Index(b[len(b)-1], "three, changed") > strings.Index(b[len(b)-1], "user one") || strings.Contains(b[len(b)-1], "user two") {
		t.Errorf("%s", b[len(b)-1])
	}
}

// answerNext answers the next question that is asked after an event.
func answerNext(t *testing.T, l *Local, after session.Seq, answer, rule string) {
	t.Helper()
	e := until(t, l, "a question", func(e session.Entry) bool { return e.Seq > after && e.Type == "approval.requested" })
	submit(t, l, drive.Answer{Question: e.Seq, Answer: answer, Rule: rule})
}

// What a person allowed in one run grants nothing in the next. // PERM-2
func TestGrantsEndWithTheRun(t *testing.T) {
	w := newWorld(t)
	n := 0
	w.script.rest = func(ctx context.Context, body string, sink providers.Sink) providers.Reply {
		if n++; n%2 == 1 {
			return calls("bash", `{"command":"echo hi"}`)(ctx, body, sink)
		}
		return text("Done.")(ctx, body, sink)
	}
	w.opts.Settings.PermissionMode = "ask"
	questions := func(l *Local) int { return strings.Count(story(t, l), "approval.requested") }
	for i, answer := range []string{"run", "always"} {
		l := w.start()
		say(t, l, "first")
		answerNext(t, l, 0, answer, "bash(echo hi)")
		ended(t, l, 1)
		say(t, l, "second")
		ended(t, l, 2)
		if got := questions(l); got != 1 {
			t.Fatalf("%d: %s: asked %d times in its run\n%s", i, answer, got, story(t, l))
		}
		l.Close()
		l = w.resume(l.Session.Path())
		head := l.Session.Head()
		say(t, l, "third")
		answerNext(t, l, head, "deny", "")
		ended(t, l, 3)
		if got := questions(l); got != 2 {
			t.Fatalf("%s: asked %d times in all\n%s", answer, got, story(t, l))
		}
		l.Close()
	}
}

// What fills the window, how large it is, and who says so, are facts of each
// request; a provider's report counts more than our estimate. // CTX-6, CTX-7
func TestOccupancyIsAFact(t *testing.T) {
	w := newWorld(t)
	w.script.rest = func(ctx context.Context, body string, sink providers.Sink) providers.Reply {
		r := text("Done.")(ctx, body, sink)
		r.Usage = &session.Usage{Input: 5000, Cached: 1000, Output: 10}
		return r
	}
	l := w.start()
	say(t, l, "first")
	ended(t, l, 1)
	if got := l.State().Occupancy(); got != (session.Tokens{N: 6010, By: "provider"}) {
		t.Errorf("after a report: %+v", got)
	}
	say(t, l, "second")
	ended(t, l, 2)
	all, err := l.Session.Entries(0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var sent []session.RequestSent
	for _, e := range all {
		if r, ok := e.Event.(session.RequestSent); ok {
			sent = append(sent, r)
		}
	}
	if len(sent) != 2 {
		t.Fatalf("%d requests", len(sent))
	}
	first, second := sent[0].Occupancy, sent[1].Occupancy
	if first.By != "est" || first.N == 0 || first.N > 4000 {
		t.Errorf("nothing was reported yet: %+v", first)
	}
	if second.By != "est" || second.N <= 6010 || second.N > 6100 {
		t.Errorf("a report, and a message since: %+v", second)
	}
	for _, r := range sent {
		if r.Capacity.Source == "" {
			t.Errorf("who says how large the window is? %+v", r.Capacity)
		}
	}
	l.Close()
}

// A permission mode that was switched on ends with its run. // PERM-1
func TestModeEndsWithTheRun(t *testing.T) {
	w := newWorld(t)
	w.opts.Settings.PermissionMode = "ask"
	w.script.rest = func(ctx context.Context, body string, sink providers.Sink) providers.Reply {
		return text("Done.")(ctx, body, sink)
	}
	l := w.start()
	say(t, l, "first")
	ended(t, l, 1)
	submit(t, l, drive.SetMode{Mode: "full"})
	if got := l.State().Session.Mode; got != "full" {
		t.Fatalf("the mode is %s", got)
	}
	l.Close()
	l = w.resume(l.Session.Path())
	say(t, l, "second")
	ended(t, l, 2)
	if got := l.State().Session.Mode; got != "ask" {
		t.Errorf("the mode of the next run is %s", got)
	}
	l.Close()
}

// A call that was allowed and not started when its run died is judged and
// asked about again: an approval in a log is history, and a log may come from
// anywhere. // PERM-2, LOG-14
func TestApprovalEndsWithTheRun(t *testing.T) {
	needsForgetfulFold(t)
	g := newGate(drive.Tool)
	w := newWorld(t, calls("bash", `{"command":"sleep 0"}`, "bash", runs("second")))
	w.opts.Settings.PermissionMode = "ask"
	w.opts.hands = g.hands
	l := w.start()
	say(t, l, "first")
	answerNext(t, l, 0, "once", "")
	<-g.began
	p := &script{rest: text("Done.")}
	for _, cutAt := range []string{"approval.answered", "call.judged"} {
		c := crashedAt(t, w, l, p, cutAt)
		head := c.Session.Head()
		submit(t, c, drive.Resume{})
		e := until(t, c, "a question, or a start", func(e session.Entry) bool {
			return e.Seq > head && (e.Type == "approval.requested" || e.Type == "tool.started")
		})
		if e.Type != "approval.requested" {
			t.Errorf("after %s: %s without a question\n%s", cutAt, e.Type, story(t, c))
		}
		c.Close()
	}
	close(g.open)
}

// needsForgetfulFold skips a test until the fold forgets, at turn.resumed, what
// was judged and answered of calls that were not started.
func needsForgetfulFold(t *testing.T) {
	t.Helper()
	f := session.NewFold()
	call := session.ItemID{Seq: 4, Part: 1}
	for i, ev := range []session.Event{
		session.RunStarted{Run: "a"},
		session.UserSaid{Via: "prompt"},
		session.RequestSent{Turn: 2},
		session.ReplyCompleted{Request: 3, Parts: []session.ReplyPart{{Kind: string(session.CallItem), Call: &session.CallName{ID: "c", Name: "bash"}}}},
		session.CallJudged{Call: call, Verdict: "allow"},
		session.RunStarted{Run: "b"},
		session.TurnResumed{Turn: 2, Run: "b"},
	} {
		if err := f.Apply(session.Entry{Seq: session.Seq(i + 1), Branch: session.MainBranch, Type: session.Name(ev), Event: ev}); err != nil {
			t.Fatal(err)
		}
	}
	if turn := f.State(session.MainBranch).Branch.Turn; turn == nil || len(turn.Calls) != 1 {
		t.Fatalf("%+v", turn)
	} else if turn.Calls[0].Judged {
		t.Skip("session.Fold keeps verdicts and answers of another run at turn.resumed (PERM-2): this test waits for it")
	}
}

// A session with questions is cut behind each event, with a person there and
// without: whoever goes on is asked again, and nothing hangs or runs that
// nobody allowed in this run. // PERM-2, LOG-13, REL-1
func TestResumeAmongQuestions(t *testing.T) {
	needsForgetfulFold(t)
	for _, interactive := range []bool{true, false} {
		w := newWorld(t, calls("bash", runs("one"), "bash", runs("two"), "ls", `{"path":"."}`), text("Done."))
		w.opts.Settings.PermissionMode, w.opts.Interactive = "ask", interactive
		l := w.start()
		say(t, l, "first")
		if interactive {
			answerNext(t, l, 0, "once", "")
			first := until(t, l, "the first result", func(e session.Entry) bool { return e.Type == "tool.finished" })
			answerNext(t, l, first.Seq, "deny", "")
		}
		ended(t, l, 1)
		l.Close()
		l = w.resume(l.Session.Path())
		all, err := l.Session.Entries(0, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, last := range all {
			p := &script{rest: text("Done.")}
			c := crashedBehind(t, w, l, p, last.Seq)
			if c.Submit(t.Context(), drive.Resume{}) != nil {
				c.Close()
				continue
			}
			for asked := session.Seq(0); ; {
				e := until(t, c, "a question or the end, cut behind "+last.Type, func(e session.Entry) bool {
					return e.Seq > max(last.Seq, asked) && (e.Type == "approval.requested" || e.Type == "turn.ended")
				})
				if e.Type == "turn.ended" {
					break
				}
				asked = e.Seq
				submit(t, c, drive.Answer{Question: e.Seq, Answer: "deny"})
			}
			if ran := ranIn(t, c.opts.Workspace); len(ran) > 0 {
				t.Errorf("cut behind %d %s: %q ran\n%s", last.Seq, last.Type, ran, story(t, c))
			}
			once(t, c)
			c.Close()
		}
	}
}

// crashedBehind is crashed with the log cut behind an event.
func crashedBehind(t *testing.T, w *world, l *Local, p *script, last session.Seq) *Local {
	t.Helper()
	line, _, ok := l.Session.line(last)
	if !ok {
		t.Fatalf("no event %d", last)
	}
	c := crashed(t, w, l, p)
	c.Close()
	if err := os.Truncate(c.Session.Path(), line.End()); err != nil {
		t.Fatal(err)
	}
	c.opts.Interactive = w.opts.Interactive
	c, err := Resume(t.Context(), c.opts, c.Session.Path())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// crashedAt is crashed with the log cut behind the first event of a type.
func crashedAt(t *testing.T, w *world, l *Local, p *script, after string) *Local {
	t.Helper()
	e := until(t, l, after, func(e session.Entry) bool { return e.Type == after })
	return crashedBehind(t, w, l, p, e.Seq)
}

// Tokens are counted also where the reply was no reply. // PRV-6, LOG-9
func TestUsageOfRejected(t *testing.T) {
	w := newWorld(t, toldToWait(providers.RateLimit), text("Done."))
	l := w.start()
	say(t, l, "first")
	ended(t, l, 1)
	e := until(t, l, "the rejection", func(e session.Entry) bool { return e.Type == "reply.rejected" })
	if u := e.Event.(session.ReplyRejected).Usage; u == nil || u.Input != 7 {
		t.Errorf("%+v", u)
	}
	if u := l.State().Session.Usage; len(u) != 1 || u[0].Requests != 2 || u[0].Sum.Input != 107 || u[0].Sum.Output != 5 {
		t.Errorf("%+v", u)
	}
}

// A long session with plans, steering, interrupts, failures, large results,
// the user's own commands and several processes: every request begins with the
// one before, each can be printed byte for byte, and no break is without a
// cause from the list. // PFX-1, PFX-2, PFX-3
func TestEveryRequestBeginsWithTheOneBefore(t *testing.T) {
	w := newWorld(t)
	var current atomic.Pointer[Local]
	i := 0
	w.script.rest = func(ctx context.Context, body string, sink providers.Sink) providers.Reply {
		i++
		plan := fmt.Sprintf(`{"items":[{"content":"step %d","active_form":"stepping","status":"in_progress"}]}`, i)
		switch i % 12 {
		case 1:
			return calls("todo", plan, "ls", `{"path":"."}`, "bash", runs(fmt.Sprint("w", i)))(ctx, body, sink)
		case 2, 9:
			return toldToWait(providers.Overloaded)(ctx, body, sink)
		case 4:
			return calls("bash", `{"command":"head -c 70000 /dev/zero | tr '\\0' x"}`, "nosuch", `{"a":1}`)(ctx, body, sink)
		case 6:
			go func() { _ = current.Load().Submit(ctx, drive.Cancel{By: "user"}) }()
			return hang(fmt.Sprint("half of ", i))(ctx, body, sink)
		case 7:
			return calls("bash", `{"command":"sleep 30"}`, "bash", runs(fmt.Sprint("w", i)))(ctx, body, sink)
		case 10:
			return calls("todo", `{"items":[]}`)(ctx, body, sink)
		}
		return text(fmt.Sprint("Answer ", i))(ctx, body, sink)
	}
	w.opts.hands = func(run Runner) Runner {
		return func(ctx context.Context, s session.State, j drive.Job) drive.Result {
			l := current.Load()
			if it, ok := l.Session.Item(j.Call); ok && j.Kind == drive.Tool {
				if args, err := l.Session.Text(it); err == nil && strings.Contains(string(args), "sleep 30") {
					go func() { _ = l.Submit(ctx, drive.Cancel{By: "user"}) }()
				}
			}
			return run(ctx, s, j)
		}
	}
	l := w.start()
	current.Store(l)
	for turn := range 24 {
		head := l.Session.Head()
		if turn%9 == 5 {
			submit(t, l, drive.Ran{Command: []byte("date"), Output: []byte("now")})
		}
		say(t, l, fmt.Sprint("message ", turn))
		steered := false
		until(t, l, "the turn's end", func(e session.Entry) bool {
			if e.Seq <= head {
				return false
			}
			if e.Type == "request.sent" && turn%4 == 2 && !steered {
				steered = true
				_ = l.Submit(t.Context(), drive.Say{Text: []byte("steer"), Steer: true})
			}
			return e.Type == "turn.ended"
		})
		idle(t, l)
		if turn%6 == 3 {
			l.Close()
			l = w.resume(l.Session.Path())
			current.Store(l)
		}
	}
	requests := chained(t, l, w.sent())
	if s := story(t, l); requests < 30 || !strings.Contains(s, "turn.ended interrupted") || !strings.Contains(s, "kept=true") {
		t.Errorf("%d requests: the session was not long enough\n%s", requests, s)
	}
}

// chained fails unless each recorded request begins with the one before, but
// for its end, and gives back what was sent. It returns how many there are.
func chained(t *testing.T, l *Local, sent []string) (n int) {
	t.Helper()
	entries, err := l.Session.Entries(0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	before := ""
	for _, e := range entries {
		ev, ok := e.Event.(session.RequestSent)
		if !ok {
			continue
		}
		n++
		b, err := l.Session.Request(e.Seq)
		if err != nil {
			t.Fatalf("request %d: %v", e.Seq, err)
		}
		if ev.Broke != nil {
			t.Errorf("request %d broke the prefix: %+v", e.Seq, ev.Broke)
		}
		if !strings.HasPrefix(string(b), strings.TrimSuffix(before, "end")) || int(ev.Shared) < len(before)-len("end") {
			t.Errorf("request %d does not begin with the one before (%d of %d bytes)", e.Seq, ev.Shared, len(before))
		}
		if sum := fmt.Sprintf("%x", sha256.Sum256(b)); sum != ev.SHA256 {
			t.Errorf("request %d: its hash is %s, not %s", e.Seq, sum, ev.SHA256)
		}
		if len(sent) > 0 && sent[0] == string(b) {
			sent = sent[1:] // a request that was interrupted before it was sent is in the log only
		}
		before = string(b)
	}
	if len(sent) > 0 {
		t.Errorf("%d requests were sent that the log does not give back, the first of them:\n%.2000s", len(sent), sent[0])
	}
	return n
}
