package session_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"varve/internal/jsonl"
	. "varve/internal/session"
)

// firstSession is the conversation in testdata/sessions/v1.jsonl.
func firstSession() []Fact {
	var facts []Fact
	add := func(e Event, body ...Part) Seq {
		facts = append(facts, Fact{Branch: MainBranch, Event: e, Body: body})
		return Seq(len(facts))
	}
	m := Model{Provider: "local", API: "openai-chat", Model: "some-model"}
	const run = "0197f3a1c2d4"
	est := func(s string) Tokens { return Estimate(len(s)) }
	sent := map[Seq]string{}
	send := func(turn, from Seq, shared int64, recipe []Step, literals ...Part) Seq {
		q := Seq(len(facts) + 1)
		sent[q] = rebuilt(recipe, literals, sent, func(q Seq, b int) []byte { return facts[q-1].Body[b].Bytes })
		return add(RequestSent{
			Job: fmt.Sprintf("generate:%d/1", from), Purpose: "agent", Turn: turn, Attempt: 1, Model: m, Endpoint: "http://127.0.0.1:8080/v1",
			Revision: from, Capacity: Capacity{N: 28672, Source: "setting"}, Occupancy: Tokens{N: 120, By: "est"},
			SHA256: sha(sent[q]), Size: int64(len(sent[q])), Shared: shared, Recipe: recipe,
		}, literals...)
	}
	add(SessionCreated{Format: 1, ID: "0197f3a1-c2d4-7e80-9a51-0242ac120002", Workspace: "/home/ann/calc", Program: "varve 0.1.0"})
	add(SessionConfigured{Run: run, Compaction: Compaction{Mode: ptr("standalone")}, PermissionMode: "ask", Fingerprint: sha("settings")[:32]})
	add(RunStarted{Run: run, PID: 4242, Host: "desk", Program: "varve 0.1.0", Interface: "tui"})
	add(ModelChosen{Model: m, By: "flag"})
	tools := `[{"type":"function","function":{"name":"bash","parameters":{"type":"object"}}}]`
	add(ToolsDefined{API: m.API, Names: Text{B: 0, MediaType: "application/json"}, Definitions: Text{B: 1, MediaType: "application/json"}, Tokens: est(tools)}, text(`["bash"]`), text(tools))
	said := "calc divides by zero.\r\nFix it — “gently”\u2028please."
	turn := add(UserSaid{Via: "prompt", Text: &Text{}, Tokens: est(said)}, text(said))
	add(InstructionPublished{Key: "10-prompt", Path: "prompt.md", Report: sha("assembly")[:32], Tokens: est("You are a coding agent.")}, text("You are a coding agent."))
	add(AssemblyReported{Fingerprint: sha("assembly")[:32], N: 1, Sources: Text{MediaType: "application/json"}}, text(`[{"path":"prompt.md","key":"10-prompt","size":23,"outcome":"published"}]`))
	zero, one := 0, 1
	first := send(turn, 7, 0, []Step{{L: &zero}, {Seq: turn, As: "str"}, {L: &one}}, text(`{"model":"some-model","messages":[{"role":"user","content":"`), text(`"}]}`))
	reply := add(ReplyCompleted{
		Request: first, Finish: "tool", RawFinish: "tool_calls", Usage: &Usage{Input: 120, Output: 30},
		Parts: []ReplyPart{
			{Kind: "reasoning", B: 0, MediaType: "application/json", Encoding: "openai-chat/message", Tokens: est("Test first.")},
			{Kind: "assistant", B: 1, Tokens: est("I'll run the tests.")},
			{Kind: "tool_call", B: 2, MediaType: "application/json", Tokens: est(`{"command":"go test"}`), Call: &CallName{ID: "call_1", Name: "bash"}},
			{Kind: "tool_call", B: 3, MediaType: "application/json", Tokens: est(`{"command":"cat calc.go"}`), Call: &CallName{ID: "call_2", Name: "bash"}},
		},
	}, text(`{"reasoning_content":"Test first."}`), text("I'll run the tests."), text(`{"command":"go test"}`), text(`{"command":"cat calc.go"}`))
	one1, two := ItemID{Seq: reply, Part: 3}, ItemID{Seq: reply, Part: 4}
	add(CallJudged{Call: one1, Verdict: "ask", Effects: []string{"exec"}, ShownSHA256: sha("go test")})
	add(CallJudged{Call: two, Verdict: "allow", Rule: "bash(cat *)", Effects: []string{"read"}, Beside: true})
	asked := add(ApprovalRequested{Call: one1, What: "command", ShownSHA256: sha("go test")}, text("go test"))
	add(ToolStarted{Call: two, Run: run})
	add(ToolFinished{Call: two, DurationMS: 3, Tokens: est("package calc")}, Part{Bytes: []byte("package calc // caf\xe9\x00")})
	steer := add(InputQueued{Kind: "steer", Tokens: est("no panic")}, text("no panic"))
	add(InputEdited{Entry: steer, Tokens: est("an error, no panic")}, text("an error, no panic"))
	add(ApprovalAnswered{Request: asked, Answer: "run", Rule: "bash(go test)", Run: run, By: "user"})
	add(ToolStarted{Call: one1, Run: run})
	long := strings.Repeat("--- FAIL\n", 9000)
	add(ToolFinished{Call: one1, IsError: true, Exit: ptr(1), DurationMS: 812, LeftOut: LeftOut{Bytes: 80000, Lines: 8900}, Full: &Text{B: 1}, Tokens: est("--- FAIL")}, text("--- FAIL"), ref("text/plain", long))
	add(UserSaid{Turn: turn, Via: "steer", Entry: steer, Tokens: est("an error, no panic")})
	items := []PlanItem{{ID: "task-1", Status: "in_progress", Content: 0, ActiveForm: 1}}
	add(PlanChanged{Items: items, AfterItem: ptr(turn.Item()), NextID: 2, By: "user"}, text("Guard the division"), text("Guarding the division"))
	shared := int64(len(sent[first]) - len(`]}`))
	more := []Step{{From: first, Take: shared}, {L: &zero}, {Seq: reply, B: 2, As: "str"}, {L: &one}, {Seq: 15, As: "str"}, {L: ptr(2)}, {Seq: 17, As: "raw"}, {L: ptr(3)}}
	literals := []Part{text(`,{"role":"assistant","tool_calls":["`), text(`"]},{"role":"tool","content":"`), text(`"},{"role":"user","content":"`), text(`"}]}`)}
	second := send(turn, 22, shared, more, literals...)
	add(ReplyRejected{Request: second, Class: "stalled", Kept: true, Text: &Text{}, Tokens: est("Done"), Error: &ProviderError{Kind: "stalled", Retry: true, Message: &Text{B: 1}}}, text("Done"), text("no byte for 120 s"))
	third := send(turn, 24, shared, []Step{{From: second, Take: int64(len(sent[second]))}})
	last := add(ReplyCompleted{Request: third, Finish: "natural", Usage: &Usage{Input: 60, Cached: 120, Output: 9}, Parts: []ReplyPart{{Kind: "assistant", Tokens: est("It returns an error now.")}}}, text("It returns an error now."))
	add(TurnEnded{Turn: turn, Status: "completed", Answer: last.Item(), Requests: 3})
	add(ToastPosted{Level: "success", Code: "turn.completed", About: turn})
	add(CheckpointCommitted{
		Kind: "text", Ranges: []Range{{From: turn.Item(), To: last.Item()}}, Fingerprints: Text{B: 1, MediaType: "application/json"}, BaseRevision: last,
		Before: Tokens{N: 189, By: "provider"}, After: est("## Goal"), Tokens: est("## Goal\nGuard the division."),
	}, text("## Goal\nGuard the division."), text(`[]`))
	add(PlanShown{Plan: 22, Tokens: est("[>] task-1 Guard the division")}, text("[>] task-1 Guard the division"))
	add(UserSaid{Via: "prompt", Text: &Text{}, Tokens: est("thanks")}, text("thanks"))
	add(RunEnded{Run: run, How: "closed"})
	return facts
}

// rebuilt is a sent body, made again by its recipe.
func rebuilt(recipe []Step, literals []Part, sent map[Seq]string, body func(q Seq, b int) []byte) string {
	var out []byte
	for _, s := range recipe {
		switch {
		case s.From != 0:
			out = append(out, sent[s.From][:s.Take]...)
		case s.L != nil:
			out = append(out, literals[*s.L].Bytes...)
		case s.As == "str":
			out = AppendEscaped(out, body(s.Seq, s.B))
		default:
			out = append(out, body(s.Seq, s.B)...)
		}
	}
	return string(out)
}

// A session that format 1 has left on somebody's disk opens for ever, in the state that it had. UPDATE=1 writes it
// anew; once a release has written format 1, only its .txt may change.
func TestFirstSessionOpens(t *testing.T) { // LOG-2
	const path, golden = "testdata/sessions/v1.jsonl", "testdata/sessions/v1.txt"
	if update() {
		if err := os.WriteFile(path, written(t, firstSession()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f, err := jsonl.Open(path, jsonl.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := story{fold: NewFold()}
	entries, sent := map[Seq]Entry{}, map[Seq]string{}
	err = f.CatchUp(func(_ jsonl.Line, raw []byte) error {
		e, err := Decode(raw)
		if err != nil {
			return err
		}
		if err := s.fold.Apply(e); err != nil {
			return err
		}
		line := append([]byte(nil), raw...) // raw is the reader's
		if entries[e.Seq], err = Decode(line); err != nil {
			return err
		}
		parts, err := e.Parts()
		if r, ok := e.Event.(RequestSent); ok { // PFX-3
			sent[e.Seq] = rebuilt(r.Recipe, parts, sent, func(q Seq, b int) []byte {
				p, err := entries[q].Part(b)
				if err != nil {
					t.Error(err)
				}
				return p.Bytes
			})
			if sha(sent[e.Seq]) != r.SHA256 || int64(len(sent[e.Seq])) != r.Size {
				t.Errorf("request %d was not %q", e.Seq, sent[e.Seq])
			}
		}
		fmt.Fprintf(&s.out, "%d %s %s", e.Seq, e.At.Format(time.RFC3339Nano), e.Type)
		for _, p := range parts {
			if p.Ref != nil {
				fmt.Fprintf(&s.out, " <%s %d>", p.Ref.MediaType, p.Ref.Size)
			} else {
				fmt.Fprintf(&s.out, " %q", p.Bytes)
			}
		}
		s.out.WriteString("\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	s.out.WriteString("\n")
	s.view(s.fold.State(MainBranch).Branch.View)
	s.out.WriteString("\n")
	s.state(s.fold.State(MainBranch))
	if update() {
		if err := os.WriteFile(golden, []byte(s.out.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), s.out.String()); diff != "" {
		t.Error(diff)
	}
	report, err := jsonl.Verify(path, func(_ *jsonl.File, _ jsonl.Line, raw []byte) error {
		if e, err := Decode(raw); err != nil || string(again(t, e)) != rest(raw) {
			return errors.Join(jsonl.ErrUnreadable, err)
		}
		return nil
	})
	if err != nil || report.Bad() >= 0 || report.Events < 30 {
		t.Errorf("verify: %+v %v", report, err)
	}
}

// Appending to the old session goes on where it ended, and changes no byte (LOG-3).
func TestFirstSessionGoesOn(t *testing.T) {
	was, err := os.ReadFile("testdata/sessions/v1.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "s.jsonl")
	if err := os.WriteFile(path, was, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := jsonl.Open(path, jsonl.Options{Policy: jsonl.Never})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Append(context.Background(), [][]byte{encode(t, Fact{Branch: MainBranch, Event: ToastPosted{Level: "info", Code: "c"}}, at(1))}, nil); err != nil {
		t.Fatal(err)
	}
	now, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	added, ok := strings.CutPrefix(string(now), string(was))
	e, err := Decode([]byte(strings.TrimSuffix(added, "\n")))
	if !ok || err != nil || e.Seq != Seq(len(lines(was))+1) {
		t.Errorf("added %q (%v)", added, err)
	}
}
