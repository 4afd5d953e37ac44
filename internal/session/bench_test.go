package session_test

import (
	"fmt"
	"strings"
	"testing"

	. "varve/internal/session"
)

// benchLines is a session of n events as an agent makes them: turns of ten
// requests, each with a call and its result.
func benchLines(b *testing.B, n, text int) (all [][]byte, size int64) {
	b.Helper()
	f := NewFold()
	put := func(e Event, body ...Part) Seq {
		q := f.Head() + 1
		line := lineOf(q, encode(b, Fact{Branch: MainBranch, Event: e, Body: body}, at(q)))
		got, err := Decode(line)
		if err != nil {
			b.Fatal(err)
		}
		if err := f.Apply(got); err != nil {
			b.Fatal(err)
		}
		all, size = append(all, line), size+int64(len(line))+1
		return q
	}
	words := Part{Bytes: []byte(strings.Repeat("all work and no play\n", text/21+1)[:text])}
	tokens := Estimate(text)
	m := Model{Provider: "local", API: "openai-chat", Model: "some-model"}
	put(ModelChosen{Model: m, By: "user"})
	for len(all) < n {
		turn := put(UserSaid{Via: "prompt", Text: &Text{}, Tokens: tokens}, words)
		last := turn
		for i := range 10 {
			sent := put(RequestSent{
				Job: fmt.Sprintf("generate:%d/1", last), Purpose: "agent", Turn: turn, Attempt: 1, Model: m, Endpoint: "http://127.0.0.1/v1", Revision: last,
				Capacity: Capacity{N: 191808, Source: "reported"}, Occupancy: tokens, SHA256: sha("x"), Size: 9, Shared: 8, Recipe: []Step{{From: 1, Take: 8}, {Seq: last, As: "str"}},
			})
			last = put(ReplyCompleted{
				Request: sent, Finish: "tool", RawFinish: "tool_calls", Usage: &Usage{Input: 900 + i, Cached: 4000, Output: 30},
				Parts: []ReplyPart{{Kind: "assistant", Tokens: tokens}, {Kind: "tool_call", B: 1, Tokens: tokens, Call: &CallName{ID: "call_1", Name: "bash"}}},
			}, words, words)
			call := ItemID{Seq: last, Part: 2}
			put(CallJudged{Call: call, Verdict: "allow", Effects: []string{"exec"}})
			put(ToolStarted{Call: call, Run: "r"})
			put(ToolFinished{Call: call, DurationMS: 7, Tokens: tokens}, words)
		}
		put(TurnEnded{Turn: turn, Status: "completed", Answer: last.Item(), Requests: 10})
	}
	return all[:n], size
}

// BenchmarkFold is a session of 200,000 events, from its lines to its state.
// Texts are short: a fold does not read them.
func BenchmarkFold(b *testing.B) {
	all, size := benchLines(b, 200_000, 100)
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		f := NewFold()
		for _, line := range all {
			e, err := Decode(line)
			if err != nil {
				b.Fatal(err)
			}
			if err := f.Apply(e); err != nil {
				b.Fatal(err)
			}
		}
		if f.State(MainBranch).Branch.View.Len() == 0 {
			b.Fatal("nothing was folded")
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/200_000, "ns/event")
}

// BenchmarkApply is the same without decoding.
func BenchmarkApply(b *testing.B) {
	all, _ := benchLines(b, 50_000, 100)
	entries := make([]Entry, len(all))
	for i, line := range all {
		entries[i], _ = Decode(line)
	}
	b.ReportAllocs()
	for b.Loop() {
		f := NewFold()
		for _, e := range entries {
			if err := f.Apply(e); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/50_000, "ns/event")
}

// BenchmarkScan is the envelope scan alone, with texts of 3 kB.
func BenchmarkScan(b *testing.B) {
	all, size := benchLines(b, 20_000, 3000)
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		for _, line := range all {
			if _, ok := Scan(line); !ok {
				b.Fatal("a line of ours is not canonical")
			}
		}
	}
}
