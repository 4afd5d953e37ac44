package compact_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"varve/internal/compact"
	"varve/internal/session"
)

var (
	large = session.Model{Provider: "acme", API: "openai-chat", Model: "large"}
	small = session.Model{Provider: "acme", API: "openai-chat", Model: "small"}
)

// talked is a session's events, as they come.
type talked struct {
	t *testing.T
	f *session.Fold
	n session.Seq
}

func (s *talked) put(ev session.Event, body ...string) session.Seq {
	s.t.Helper()
	f := session.Fact{Branch: "main", Event: ev}
	for _, b := range body {
		f.Body = append(f.Body, session.Part{Bytes: []byte(b)})
	}
	rest, err := session.EncodeRest(f, time.Unix(int64(s.n), 0).UTC())
	if err != nil {
		s.t.Fatal(err)
	}
	s.n++
	e, err := session.Decode(fmt.Appendf(nil, `{"seq":%d,"prev":"%032d",%s`, s.n, 0, rest))
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.f.Apply(e); err != nil {
		s.t.Fatal(err)
	}
	return s.n
}

func sizeOf(n int) session.Tokens { return session.Tokens{N: n, By: "est"} }

// talk is a session with settings, tools, and a turn that called two of them.
func talk(t *testing.T, set session.SessionConfigured) *talked {
	s := &talked{t: t, f: session.NewFold()}
	s.put(session.SessionCreated{Format: session.Format, ID: "s"})
	set.PermissionMode = "ask"
	s.put(set)
	s.put(session.ToolsDefined{API: "openai-chat", Names: session.Text{B: 0}, Definitions: session.Text{B: 1}, Tokens: sizeOf(800)}, "[]", "[]")
	s.put(session.ModelChosen{Model: large, By: "user"})
	s.put(session.RunStarted{Run: "r"})
	turn := s.put(session.UserSaid{Via: "prompt", Text: &session.Text{B: 0}, Tokens: sizeOf(100)}, "look")
	q := s.put(session.RequestSent{Purpose: "agent", Turn: turn, Model: large, Attempt: 1})
	a := s.put(session.ReplyCompleted{Request: q, Finish: "tool", Parts: []session.ReplyPart{
		{Kind: "reasoning", B: 0, Tokens: sizeOf(40)},
		{Kind: "assistant", B: 1, Tokens: sizeOf(60)},
		{Kind: "tool_call", B: 2, Tokens: sizeOf(20), Call: &session.CallName{ID: "1", Name: "read"}},
		{Kind: "tool_call", B: 3, Tokens: sizeOf(20), Call: &session.CallName{ID: "2", Name: "bash"}},
	}}, "hm", "I look", "{}", "{}")
	for i, n := range []int{300, 900} {
		s.put(session.ToolFinished{Call: session.ItemID{Seq: a, Part: 3 + i}, Text: session.Text{B: 0}, Tokens: sizeOf(n)}, "out")
	}
	s.put(session.TurnEnded{Turn: turn, Status: "completed"})
	return s
}

func ptr[T any](v T) *T { return &v }

// What fills the window by layer, and where a compaction begins: whoever says so.
// // TUI-6, CMP-1, CMP-2, CMP-3, CMP-13, CMP-15, case CMP-19
func TestReport(t *testing.T) {
	unknown, known := session.Capacity{Source: "none"}, session.Capacity{N: 1_000_000, Source: "reported"}
	for _, c := range []struct {
		name      string
		mode      *string
		threshold *int
		capacity  session.Capacity
		askers    []compact.Asker
		want      string
	}{
		{"nothing is known", ptr("standalone"), nil, unknown, nil, "0/0 none, tail 20000, standalone as standalone, one_shot"},
		{"a wide window", ptr("standalone"), nil, known, nil, "204800/163840 budget, tail 40960, standalone as standalone, one_shot"},
		{"a limit of the user's", ptr("standalone"), nil, session.Capacity{N: 1_000_000, Source: "setting"}, nil, "1000000/800000 budget, tail 200000, standalone as standalone, one_shot"},
		{"a threshold", ptr("standalone"), ptr(1000), unknown, nil, "0/1000 setting, tail 500, standalone as standalone, one_shot"},
		{"a small window", ptr("standalone"), nil, session.Capacity{N: 2048, Source: "learned"}, nil, "2048/1638 budget, tail 409, standalone as standalone, map_reduce"},
		{"a window that the prefix does not fit beside it", ptr("standalone"), nil, session.Capacity{N: 2600, Source: "learned"}, nil, "2600/2080 budget, tail 520, standalone as standalone, map_reduce"},
		{"left out in the log", nil, nil, known, nil, "204800/163840 budget, tail 40960, disabled as omitted, one_shot"},
		{"inside generation", ptr("provider"), nil, known, nil, "204800/163840 budget, tail 40960, standalone as provider, one_shot"},
		{"a small summarizer", ptr("standalone"), nil, known, []compact.Asker{
			{Model: large, Problem: "no key"}, {Model: small, Window: session.Capacity{N: 1500}}, {Model: large, Window: known},
		}, "204800/163840 budget, tail 40960, standalone as standalone, map_reduce"},
	} {
		s := talk(t, session.SessionConfigured{Compaction: session.Compaction{Mode: c.mode, Threshold: c.threshold}})
		own := c.askers == nil
		if own {
			c.askers = []compact.Asker{{Model: large, Window: c.capacity}}
		}
		r := compact.ReportOf(s.f.State("main"), c.capacity, c.askers, own)
		got := fmt.Sprintf("%d/%d %s, tail %d, %s as %s, %s", r.Budget, r.Trigger, r.TriggerBy, r.Tail, r.Mode, r.Requested, r.Route)
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if diff := cmp.Diff([]compact.Layer{
			{"tools", "", 1, 800},
			{"user", "", 1, 100},
			{"answers", "", 1, 60},
			{"thinking", "", 1, 40},
			{"tool_calls", "", 2, 40},
			{"tool_results", "bash", 1, 900},
			{"tool_results", "read", 1, 300},
		}, r.Layers); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		id := func(part int) session.ItemID { return session.ItemID{Seq: 8, Part: part} }
		if diff := cmp.Diff([]compact.Large{ // user's 100 is less than a twentieth
			{Item: session.ItemID{Seq: 10, Part: 1}, Layer: "tool_results", Tool: "bash", Call: id(4), Tokens: 900},
			{Item: session.ItemID{Seq: 9, Part: 1}, Layer: "tool_results", Tool: "read", Call: id(3), Tokens: 300},
		}, r.Largest); diff != "" {
			t.Errorf("%s: the largest: %s", c.name, diff)
		}
		sum := 0
		for _, l := range r.Layers {
			sum += l.Tokens
		}
		if sum != r.Occupancy.N || r.Covers != 1440 {
			t.Errorf("%s: layers have %d, the whole %d; %d can be covered", c.name, sum, r.Occupancy.N, r.Covers)
		}
	}
}

// What waits, what runs, what was accepted, and what is used up. // CMP-10, CMP-14, CMP-15, MR-11
func TestReportOfWork(t *testing.T) {
	s := talk(t, session.SessionConfigured{Compaction: session.Compaction{Mode: ptr("standalone")}})
	report := func() compact.Report {
		return compact.ReportOf(s.f.State("main"), session.Capacity{N: 10_000, Source: "setting"}, []compact.Asker{{Model: small}}, false)
	}
	turn := s.put(session.UserSaid{Via: "prompt", Text: &session.Text{B: 0}, Tokens: sizeOf(10)}, "on")
	s.put(session.CompactionRequested{By: "trigger"})
	if r := report(); r.Asked != "trigger" || r.Running != nil || r.Covers != 1440 {
		t.Errorf("%+v", r)
	}
	at := s.put(session.CompactionStarted{Reason: "trigger", Route: "one_shot", Chain: []session.Model{large, small}, Turn: turn, Prompt: session.Text{B: 0}}, "Write.")
	s.put(session.SummarizerTried{Compaction: at, I: 2, N: 2, Model: small, Outcome: "started"})
	g := s.put(session.StagingCreated{Version: 3, Compaction: at, N: 3, Segments: session.Text{B: 0}}, "[]")
	s.put(session.StagingMapped{Staging: g, Ordinal: 1, Model: small, Text: session.Text{B: 0}}, "notes")
	r := report()
	if diff := cmp.Diff(&compact.Running{At: at, By: "trigger", Route: "map_reduce", Model: small, I: 2, N: 2}, r.Running); diff != "" || r.Asked != "" {
		t.Error(diff, r.Asked)
	}
	for round := range 3 {
		s.put(session.StagingRepartitioned{Staging: g, Round: round + 1, N: 0, Segments: session.Text{B: 0}}, "[]")
	}
	s.put(session.StagingSequenced{Staging: g})
	s.put(session.CompactionFailed{Compaction: at, Kind: "repartitions", Defers: true})
	r = report()
	if diff := cmp.Diff(&compact.Work{Maps: 1, Missing: 2, Rounds: 3, Sequential: true, Model: small}, r.Accepted); diff != "" {
		t.Error(diff)
	}
	if r.Running != nil || !r.Deferred || len(r.Spent) != 1 || r.Spent[0] != "repartitions" {
		t.Errorf("%+v", r)
	}
}
