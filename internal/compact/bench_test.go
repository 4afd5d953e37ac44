package compact_test

import (
	"testing"

	"varve/internal/compact"
	"varve/internal/session"
)

// long is a branch of n items of 100 tokens each: turns of ten requests, each
// with two calls, whose results come in the other order.
func long(tb testing.TB, n int) session.State {
	tb.Helper()
	f := session.NewFold()
	add := func(e session.Event) session.Seq {
		q := f.Head() + 1
		if err := f.Apply(session.Entry{Seq: q, Branch: session.MainBranch, Type: session.Name(e), Event: e}); err != nil {
			tb.Fatal(err)
		}
		return q
	}
	size := session.Tokens{N: 100, By: "est"}
	for items := 0; items < n; {
		turn := add(session.UserSaid{Via: "prompt", Text: &session.Text{}, Tokens: size})
		items++
		for range 10 {
			sent := add(session.RequestSent{Turn: turn, Attempt: 1})
			reply := add(session.ReplyCompleted{Request: sent, Finish: "tool", Parts: []session.ReplyPart{
				{Kind: "assistant", Tokens: size},
				{Kind: "tool_call", Tokens: size, Call: &session.CallName{ID: "a", Name: "read"}},
				{Kind: "tool_call", Tokens: size, Call: &session.CallName{ID: "b", Name: "read"}},
			}})
			add(session.ToolFinished{Call: session.ItemID{Seq: reply, Part: 3}, Tokens: size})
			add(session.ToolFinished{Call: session.ItemID{Seq: reply, Part: 2}, Tokens: size})
			items += 5
		}
		add(session.TurnEnded{Turn: turn, Status: "completed"})
	}
	return f.State(session.MainBranch)
}

// BenchmarkPlan is PERF-11: 20,000 items of 2,000,000 tokens. "read" is what
// looking at every size once costs; planning has 50 ns an item on top of it.
func BenchmarkPlan(b *testing.B) {
	const items = 20_000
	s := long(b, items)
	budget := compact.BudgetOf(session.SessionConfigured{}, session.Capacity{N: 2_500_000, Source: "setting"})
	each := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/items, "ns/item")
	}
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			n := 0
			for it := range s.Branch.View.Refs {
				n += it.Tokens.N
			}
			if n < 100*items {
				b.Fatal(n)
			}
		}
		each(b)
	})
	b.Run("plan", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, ok := compact.Plan(s, budget, compact.Older); !ok {
				b.Fatal("nothing to cover")
			}
		}
		each(b)
	})
	b.Run("segments", func(b *testing.B) {
		cut, _ := compact.Plan(s, budget, compact.Older)
		for b.Loop() {
			if n := len(compact.Segments(s.Branch.View, compact.Pack(cut.Items(), 30_000), 0)); n < 50 {
				b.Fatal(n)
			}
		}
		each(b)
	})
}
