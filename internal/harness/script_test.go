package harness

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"varve/internal/harness/drive"
	"varve/internal/harness/tools"
	"varve/internal/permit"
	"varve/internal/providers"
	"varve/internal/session"
)

// A script is an adapter that plays replies in memory: what it is asked is
// kept, what it answers was written down before.
type script struct {
	mu      sync.Mutex
	replies []answer
	rest    answer // what is answered when the replies are used up
	bodies  []string
}

func (p *script) API() string { return "openai-chat" }

func (p *script) Tools(specs []providers.ToolSpec) ([]byte, error) {
	var names []string
	for _, s := range specs {
		names = append(names, s.Name)
	}
	return []byte(`["` + strings.Join(names, `","`) + `"]`), nil
}

func (p *script) NewEncoder() providers.Encoder { return plainEncoder{} }

func (p *script) Send(ctx context.Context, _ providers.Endpoint, body []byte, sink providers.Sink) providers.Reply {
	p.mu.Lock()
	n := len(p.bodies)
	p.bodies = append(p.bodies, string(body))
	f := p.rest
	if n < len(p.replies) {
		f = p.replies[n]
	}
	p.mu.Unlock()
	if f == nil {
		return providers.Reply{Class: providers.Failed, Err: &providers.Error{Kind: providers.BadRequest, Message: "the script is over"}}
	}
	return f(ctx, string(body), sink)
}

func (p *script) sent() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.bodies...)
}

// plainEncoder writes one line an item: what matters here is which items are
// sent, in which order, and that they can be rebuilt.
type plainEncoder struct{}

func (plainEncoder) Encode(a providers.Ask, load providers.Load) ([]providers.Block, error) {
	var blocks []providers.Block
	var head providers.Builder
	head.Lit("tools ")
	for _, t := range a.Tools {
		b, err := load(t.At, t.Definitions.B)
		if err != nil {
			return nil, err
		}
		head.Raw(t.At, t.Definitions.B, b)
	}
	blocks = append(blocks, head.Lit("\n").Block(session.ItemID{}))
	for it := range a.View {
		b, err := load(it.At, it.Text.B)
		if err != nil {
			return nil, err
		}
		if it.Kind == session.InstructionItem {
			b = b[:0]
		}
		var w providers.Builder
		w.Lit(string(it.Kind) + " ")
		if len(b) > 0 {
			w.Str(it.At, it.Text.B, b)
		}
		blocks = append(blocks, w.Lit("\n").Block(it.ID))
	}
	if len(a.Prompt) > 0 {
		var w providers.Builder
		w.Lit("ask ")
		for _, p := range a.Prompt {
			if p.At == 0 {
				w.Lit(strings.ReplaceAll(p.Lit, "\n", `\n`))
				continue
			}
			b, err := load(p.At, p.B)
			if err != nil {
				return nil, err
			}
			w.Str(p.At, p.B, b)
		}
		blocks = append(blocks, w.Lit("\n").Block(session.ItemID{}))
	}
	var tail providers.Builder
	if a.Compact {
		tail.Lit("compact ")
	}
	return append(blocks, tail.Lit("end").Block(session.ItemID{})), nil
}

type answer = func(context.Context, string, providers.Sink) providers.Reply

func text(s string) answer {
	return func(_ context.Context, _ string, sink providers.Sink) providers.Reply {
		sink.Delta("text", "", []byte(s))
		return providers.Reply{
			Class: providers.Natural, RawFinish: "stop", Usage: &session.Usage{Input: 100, Output: 5},
			Parts: []providers.Part{{Kind: session.AssistantItem, Bytes: []byte(s)}},
		}
	}
}

// calls answers with tool calls: name, arguments, name, arguments …
func calls(s ...string) answer {
	return func(context.Context, string, providers.Sink) providers.Reply {
		r := providers.Reply{Class: providers.Tool, RawFinish: "tool_calls"}
		for i := 0; i < len(s); i += 2 {
			r.Parts = append(r.Parts, providers.Part{Kind: session.CallItem, CallID: fmt.Sprint("c", i), Name: s[i], Bytes: []byte(s[i+1])})
		}
		return r
	}
}

// hang waits until it is stopped, then hands over what came so far.
func hang(partial string) answer {
	return func(ctx context.Context, _ string, sink providers.Sink) providers.Reply {
		sink.Delta("text", "", []byte(partial))
		<-ctx.Done()
		return providers.Reply{Class: providers.Cancelled, Partial: []byte(partial)}
	}
}

// A world is a machine with one script on it.
type world struct {
	t    *testing.T
	opts Options
	*script
}

func newWorld(t *testing.T, replies ...answer) *world {
	t.Helper()
	p := &script{replies: replies}
	return &world{t: t, script: p, opts: machine(t.TempDir(), p)}
}

// machine is how sessions run in a folder, with a script for a model.
func machine(dir string, p *script) Options {
	for _, name := range []string{"w", "tmp"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			panic(err)
		}
	}
	o := Options{
		DataDir: dir + "/data", StateDir: dir + "/state", Workspace: dir + "/w",
		Program: "test", Interface: "test", Interactive: true, Clock: System{},
		Model:    session.Model{Provider: "script", API: "openai-chat", Model: "m"},
		Settings: session.SessionConfigured{PermissionMode: "full"},
		Resolve: func(context.Context, session.Model) (Target, error) {
			return Target{Adapter: p, Endpoint: providers.Endpoint{Provider: "script", BaseURL: "script:"}}, nil
		},
		Look: func(context.Context) (Assembly, error) {
			return Assembly{
				Fingerprint: "f", Texts: map[string][]byte{"00-agent": []byte("be good")},
				Sources: []session.AssemblySource{{Key: "00-agent", Outcome: "published", SHA256: "x", Size: 7}},
			}, nil
		},
		Tools: tools.Config{TempDir: dir + "/tmp", Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin"}},
	}
	o.Judge = Judge(func() []permit.Rule { return nil }, o.Workspace, false)
	return o
}

// A hurried clock goes faster than the machine's.
type hurried struct {
	began time.Time
	by    time.Duration
}

func hurry(by int) hurried { return hurried{time.Now(), time.Duration(by)} }

func (c hurried) Now() time.Time                         { return c.began.Add(time.Since(c.began) * c.by) }
func (c hurried) After(d time.Duration) <-chan time.Time { return time.After(d / c.by) }

func (w *world) start() *Local {
	w.t.Helper()
	l, err := Start(w.t.Context(), w.opts)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { l.Close() })
	return l
}

func (w *world) resume(path string) *Local {
	w.t.Helper()
	l, err := Resume(w.t.Context(), w.opts, path)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { l.Close() })
	return l
}

func submit(t *testing.T, l *Local, cmd drive.Command) {
	t.Helper()
	if err := l.Submit(t.Context(), cmd); err != nil {
		t.Fatalf("%T: %v", cmd, err)
	}
}

func say(t *testing.T, l *Local, s string) {
	t.Helper()
	submit(t, l, drive.Say{Text: []byte(s)})
}

// until follows the log until an entry satisfies ok.
func until(t *testing.T, l *Local, what string, ok func(session.Entry) bool) session.Entry {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var after session.Seq
	var version uint64
	for {
		u, err := l.Follow(ctx, after, version)
		if err != nil {
			t.Fatalf("waiting for %s: %v\n%s", what, err, story(t, l))
		}
		version = u.Version
		for _, e := range u.Entries {
			after = e.Seq
			if ok(e) {
				return e
			}
		}
	}
}

// idle follows the log until no turn is open and nothing is left to take.
func idle(t *testing.T, l *Local) session.State {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var version uint64
	for after := session.Seq(0); ; {
		u, err := l.Follow(ctx, after, version)
		if err != nil {
			t.Fatalf("waiting for the end: %v\n%s", err, story(t, l))
		}
		if len(u.Entries) > 0 {
			after = u.Entries[len(u.Entries)-1].Seq
		}
		version = u.Version
		s := l.State()
		waits := slices.ContainsFunc(s.Branch.Queue, func(q session.Queued) bool { return !q.Held })
		if s.Branch.Turn == nil && !waits && after == l.Session.Head() {
			return s
		}
	}
}

func ended(t *testing.T, l *Local, n int) session.TurnEnded {
	t.Helper()
	e := until(t, l, "the turn's end", func(e session.Entry) bool {
		if _, ok := e.Event.(session.TurnEnded); ok {
			n--
		}
		return n == 0
	})
	return e.Event.(session.TurnEnded)
}

// story is the log in short: types, with what the eye needs.
func story(t *testing.T, l *Local) string {
	var b strings.Builder
	all, err := l.Session.Entries(0, 1<<20)
	if err != nil {
		t.Error(err)
	}
	for _, e := range all {
		fmt.Fprintf(&b, "%d %s", e.Seq, e.Type)
		parts, err := e.Parts()
		if err != nil {
			t.Error(err)
		}
		switch ev := e.Event.(type) {
		case session.UserSaid, session.InputQueued, session.ToolInterrupted, session.FaultRecorded:
			for _, p := range parts {
				fmt.Fprintf(&b, " %q", cut(string(p.Bytes)))
			}
		case session.ReplyCompleted:
			fmt.Fprintf(&b, " %s", ev.Finish)
		case session.ReplyRejected:
			fmt.Fprintf(&b, " %s kept=%v", ev.Class, ev.Kept)
		case session.ToolFinished:
			fmt.Fprintf(&b, " call=%s error=%v %q", ev.Call, ev.IsError, cut(string(parts[0].Bytes)))
		case session.TurnEnded:
			fmt.Fprintf(&b, " %s", ev.Status)
			if ev.Error != nil {
				fmt.Fprintf(&b, " %s", ev.Error.Kind)
			}
		case session.CallJudged:
			fmt.Fprintf(&b, " %s", ev.Verdict)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func cut(s string) string {
	if len(s) > 60 {
		return s[:60] + "…"
	}
	return s
}
