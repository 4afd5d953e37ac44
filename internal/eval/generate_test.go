package eval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"varve/internal/content"
	"varve/internal/harness"
	"varve/internal/jsonl"
	"varve/internal/providers"
	"varve/internal/providers/openaichat"
	"varve/internal/session"
)

// ticks is a clock that moves by a second with each look.
type ticks struct{ n int }

func (c *ticks) Now() time.Time {
	c.n++
	return time.Date(2026, 9, 5, 10, 0, c.n, 0, time.UTC)
}
func (c *ticks) After(time.Duration) <-chan time.Time { return nil }

// A pen writes a trace with the real log, fold and encoder.
type pen struct {
	t       *testing.T
	sess    *harness.Session
	encoder providers.Encoder
	joiner  providers.Joiner
	body    []byte
}

func (p *pen) put(facts ...session.Fact) session.Seq {
	p.t.Helper()
	if err := p.sess.Record(p.t.Context(), session.MainBranch, p.sess.State(session.MainBranch).Branch.Head, facts); err != nil {
		p.t.Fatal(err)
	}
	return p.sess.Head()
}

func (p *pen) one(e session.Event, body ...string) session.Seq {
	p.t.Helper()
	f := session.Fact{Event: e}
	for _, b := range body {
		f.Body = append(f.Body, session.Part{Bytes: []byte(b)})
	}
	return p.put(f)
}

// request freezes what the agent sends, as the loop does.
func (p *pen) request(turn session.Seq) session.Seq {
	p.t.Helper()
	s := p.sess.State(session.MainBranch)
	blocks, err := p.encoder.Encode(providers.Ask{
		Model: agentModel, CacheKey: traceID, Tools: []session.Tools{s.Branch.Tools}, View: s.Branch.View.All,
	}, p.sess.Load)
	if err != nil {
		p.t.Fatal(err)
	}
	b := p.joiner.Join(blocks, p.body, s.Branch.Sent.Seq)
	p.body = bytes.Clone(b.Bytes)
	f := session.Fact{Event: session.RequestSent{
		Job: fmt.Sprintf("send:%d", p.sess.Head()), Purpose: "agent", Turn: turn, Attempt: 1, Model: agentModel, Endpoint: "http://127.0.0.1/v1",
		Revision: s.Branch.Head, Capacity: session.Capacity{N: agentWindow, Source: "setting"}, Occupancy: session.Estimate(len(b.Bytes)),
		SHA256: b.SHA256, Size: int64(len(b.Bytes)), Shared: b.Shared, Recipe: b.Recipe,
	}}
	for _, l := range b.Literals {
		f.Body = append(f.Body, session.Part{Bytes: l})
	}
	return p.put(f)
}

// look is a call of read and its result.
func (p *pen) look(turn session.Seq, n int, path, text string) {
	p.t.Helper()
	req := p.request(turn)
	args := fmt.Sprintf(`{"file_path":%q}`, path)
	reply := p.one(session.ReplyCompleted{
		Request: req, Finish: "tool", RawFinish: "tool_calls", Usage: p.usage(len(args)),
		Parts: []session.ReplyPart{{Kind: "tool_call", Tokens: session.Estimate(len(args)), Call: &session.CallName{ID: fmt.Sprintf("call_%d", n), Name: "read", Beside: true}}},
	}, args)
	call := session.ItemID{Seq: reply, Part: 1}
	p.one(session.CallJudged{Call: call, Verdict: "allow", Effects: []string{"read"}, Beside: true})
	p.one(session.ToolStarted{Call: call, Run: "trace", Effects: []string{"read"}})
	p.one(session.ToolFinished{Call: call, DurationMS: 1, Tokens: session.Estimate(len(text))}, text)
}

func (p *pen) usage(out int) *session.Usage {
	return &session.Usage{Input: session.Estimate(len(p.body)).N, Output: session.Estimate(out).N}
}

// Files of the project, and what turns are about. Some say what has to survive.
var (
	names = []string{
		"account", "amount", "audit", "balance", "rate", "budget", "category", "clock", "currency", "entry", "export", "fee",
		"filter", "format", "import", "index", "ledger", "limit", "merge", "parse", "period", "posting", "query", "report",
	}
	asks = map[int]string{
		0:  "\nCONSTRAINT-7K: amounts are whole cents everywhere, never floating point",
		15: "\nINVALID-4Q: rate.go was rewritten by hand after it was read: it has two columns now, what was read of it no longer holds",
	}
	finds = map[int]string{
		8:  "\nDECISION-3M: the importer reads line by line, because a statement may be larger than memory",
		13: "\nVERIFIED-9T: the tests of format.go pass, 41 of 41, seen in this turn",
		16: "\nOPEN-2R: ledger.go still lacks the check for a closed period",
	}
)

func source(i int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "// Package ledger: %s.go\npackage ledger\n", names[i])
	if names[i] == "rate" {
		fmt.Fprintf(&b, "// %s: the rate table has three columns, code, day and factor\n", stale)
	}
	for k := range 17 {
		fmt.Fprintf(&b, "\n// %s%d adjusts part %d of %d and returns it.\nfunc %s%d(n int64) int64 { return n*%d + %d }\n",
			names[i], k, k*7%11, 11, names[i], k, (i+3)*(k+2), i*k)
	}
	return b.String()
}

func generate(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "sessions", "w", traceID+".jsonl")
	p := &pen{t: t, sess: harness.New(path, content.Open(dir), jsonl.Never, &ticks{}), encoder: openaichat.Adapter{}.NewEncoder()}
	defs, err := openaichat.Adapter{}.Tools(definitions)
	if err != nil {
		t.Fatal(err)
	}
	list, err := json.Marshal([]string{definitions[0].Name, definitions[1].Name})
	if err != nil {
		t.Fatal(err)
	}
	p.one(session.SessionCreated{Format: session.Format, ID: traceID, Workspace: "/ledger", Program: "varve trace"})
	p.one(session.ModelChosen{Model: agentModel, By: "user"})
	p.put(session.Fact{
		Event: session.ToolsDefined{
			API: openaichat.API, Tokens: session.Estimate(len(defs)),
			Names: session.Text{B: 0, MediaType: "application/json"}, Definitions: session.Text{B: 1, MediaType: "application/json"},
		},
		Body: []session.Part{{Bytes: list, MediaType: "application/json"}, {Bytes: defs, MediaType: "application/json"}},
	})
	p.one(session.RunStarted{Run: "trace", PID: 1, Host: "trace", Program: "varve trace", Interface: "run"})
	for i, name := range names {
		ask := fmt.Sprintf("Look at %s.go: what does it do?%s", name, asks[i])
		turn := p.one(session.UserSaid{Via: "prompt", Text: &session.Text{}, Tokens: session.Estimate(len(ask))}, ask)
		if i == 0 {
			p.one(session.InstructionPublished{Key: "00-agent", Report: "trace", Tokens: session.Estimate(len(instruction))}, instruction)
			p.put(session.Fact{
				Event: session.AssemblyReported{Fingerprint: "trace", N: 1, Sources: session.Text{MediaType: "application/json"}},
				Body:  []session.Part{{Bytes: []byte("[]"), MediaType: "application/json"}},
			})
		}
		p.look(turn, i+1, name+".go", source(i))
		req := p.request(turn)
		says := fmt.Sprintf("%s.go has 17 small functions that adjust one part each; nothing else depends on it.%s", name, finds[i])
		answer := p.one(session.ReplyCompleted{
			Request: req, Finish: "natural", RawFinish: "stop", Usage: p.usage(len(says)),
			Parts: []session.ReplyPart{{Kind: "assistant", Tokens: session.Estimate(len(says))}},
		}, says)
		p.one(session.TurnEnded{Turn: turn, Status: "completed", Answer: session.ItemID{Seq: answer, Part: 1}, Requests: 2})
	}
	ask := "Now write the importer. Read what you need."
	turn := p.one(session.UserSaid{Via: "prompt", Text: &session.Text{}, Tokens: session.Estimate(len(ask))}, ask)
	p.look(turn, len(names)+1, "import.go", source(14))
	steer := "STEER-5W: keep the old flag names, scripts depend on them"
	p.one(session.InputQueued{Kind: "steer", Tokens: session.Estimate(len(steer))}, steer)
	if err := p.sess.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The kept trace is what this generator writes, to the byte. UPDATE=1 writes it
// anew: then it is another trace, and its figures are others. // EVAL-1
func TestTraceIsGenerated(t *testing.T) {
	b := generate(t)
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile("testdata/long.jsonl", b, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(b, long) {
		t.Error("testdata/long.jsonl is not what the generator writes")
	}
	turns := 0
	for line := range bytes.Lines(long) {
		if bytes.Contains(line, []byte(`"type":"turn.ended"`)) {
			turns++
		}
	}
	if turns != 24 {
		t.Errorf("%d turns", turns)
	}
	for _, m := range append([]string{stale, "INVALID-4Q"}, markers...) {
		if n := bytes.Count(long, []byte(m+": ")); n != 1 {
			t.Errorf("%s stands there %d times", m, n)
		}
	}
}
