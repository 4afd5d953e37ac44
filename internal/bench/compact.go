package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"varve/internal/compact"
	"varve/internal/harness"
	"varve/internal/harness/drive"
	"varve/internal/harness/tools"
	"varve/internal/jsonl"
	"varve/internal/providers"
	"varve/internal/providers/openaichat"
	"varve/internal/providers/scripted"
	"varve/internal/session"
)

// planLong is PERF-11: what planning costs, and what the loop adds to the time
// of the provider.
func planLong(b *bench) ([]row, error) {
	most := 20_000
	all, err := items(most)
	if err != nil {
		return nil, err
	}
	half, err := items(most / 2)
	if err != nil {
		return nil, err
	}
	runs := 20 * b.n
	if b.quick {
		runs = 20
	}
	budget := compact.BudgetOf(session.SessionConfigured{}, session.Capacity{N: 2_500_000, Source: "setting"})
	planned := func(s session.State) func() {
		return func() {
			if _, ok := compact.Plan(s, budget, compact.Older); !ok {
				panic("bench: nothing to cover")
			}
		}
	}
	sum := 0
	var read, plan, less time.Duration
	for range runs {
		read = faster(read, func() {
			for it := range all.Branch.View.Refs {
				sum += it.Tokens.N
			}
		})
		plan, less = faster(plan, planned(all)), faster(less, planned(half))
	}
	each := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / float64(most) }
	rows := []row{
		{
			id: "PERF-11", what: fmt.Sprintf("%d items, %d tokens: planned, each", most, sum/runs), value: each(plan), unit: "ns", limit: each(read) + 50,
			from: fmt.Sprintf("reading sizes (%.1f ns) and 50 ns", each(read)),
		},
		{id: "PERF-11", what: "  half of them against all, each", value: float64(plan) / float64(2*less), unit: "x", limit: 1.2, from: "PERF-11: linear"},
	}
	maps, err := orchestrate(b)
	return append(rows, maps...), err
}

// faster is the time of one more run, or the best so far.
func faster(best time.Duration, do func()) time.Duration {
	began := time.Now()
	do()
	if d := time.Since(began); best == 0 || d < best {
		return d
	}
	return best
}

// items is a branch of n items of 100 tokens: turns of ten requests, each with
// two calls.
func items(n int) (session.State, error) {
	f := session.NewFold()
	var err error
	add := func(e session.Event) session.Seq {
		q := f.Head() + 1
		if err == nil {
			err = f.Apply(session.Entry{Seq: q, Branch: session.MainBranch, Type: session.Name(e), Event: e})
		}
		return q
	}
	size := session.Tokens{N: 100, By: "est"}
	for k := 0; k < n && err == nil; {
		turn := add(session.UserSaid{Via: "prompt", Text: &session.Text{}, Tokens: size})
		k++
		for i := 0; i < 10 && k < n; i++ {
			reply := add(session.ReplyCompleted{Request: add(session.RequestSent{Turn: turn, Attempt: 1}), Finish: "tool", Parts: []session.ReplyPart{
				{Kind: "assistant", Tokens: size},
				{Kind: "tool_call", Tokens: size, Call: &session.CallName{ID: "a", Name: "read"}},
				{Kind: "tool_call", Tokens: size, Call: &session.CallName{ID: "b", Name: "read"}},
			}})
			for part := range 2 {
				add(session.ToolFinished{Call: session.ItemID{Seq: reply, Part: part + 2}, Tokens: size})
			}
			k += 5
		}
		add(session.TurnEnded{Turn: turn, Status: "completed"})
	}
	return f.State(session.MainBranch), err
}

// A seat is a session on this machine in a folder, with a summarizer whose
// window is so large.
type seat struct {
	dir    string
	url    string
	window int
	local  *harness.Local
}

var (
	seatModel = session.Model{Provider: "bench", API: openaichat.API, Model: "m"}
	seatSums  = session.Model{Provider: "bench", API: openaichat.API, Model: "s"}
)

func (t *seat) path() string {
	return harness.PathFor(filepath.Join(t.dir, "data"), filepath.Join(t.dir, "w"), "0198f000-0000-7000-8000-000000000001")
}

// sit opens the session of the seat, or a new one where there is none.
func (t *seat) sit(ctx context.Context) error {
	mode := "standalone"
	list := []session.Model{seatSums}
	for _, d := range []string{"w", "tmp"} {
		if err := os.MkdirAll(filepath.Join(t.dir, d), 0o700); err != nil {
			return err
		}
	}
	o := harness.Options{
		DataDir: filepath.Join(t.dir, "data"), StateDir: filepath.Join(t.dir, "state"), Workspace: filepath.Join(t.dir, "w"),
		Program: "bench", Interface: "run", Model: seatModel, Policy: jsonl.Turn, Clock: harness.System{},
		Settings:    session.SessionConfigured{PermissionMode: "full", Compaction: session.Compaction{Mode: &mode}, Summarizers: list},
		Summarizers: func() []session.Model { return list },
		Resolve: func(_ context.Context, m session.Model) (harness.Target, error) {
			window := 1_000_000
			if m == seatSums {
				window = t.window
			}
			return harness.Target{
				Adapter: openaichat.Adapter{}, Window: session.Capacity{N: window, Source: "setting"},
				Endpoint: providers.Endpoint{Provider: m.Provider, BaseURL: t.url, Window: window, StallTimeout: time.Minute},
			}, nil
		},
		Judge: func(session.State, tools.Plan) harness.Judgement { return harness.Judgement{Verdict: "allow"} },
		Look:  func(context.Context) (harness.Assembly, error) { return harness.Assembly{Fingerprint: "f"}, nil },
		Tools: tools.Config{TempDir: filepath.Join(t.dir, "tmp")},
	}
	var err error
	if harness.Exists(t.path()) {
		t.local, err = harness.Resume(ctx, o, t.path())
	} else {
		t.local, err = harness.Start(ctx, o)
	}
	return err
}

// until submits a command and waits for the end of what it began.
func (t *seat) until(ctx context.Context, cmd drive.Command, ends string) error {
	after := t.local.Session.Head()
	if err := t.local.Submit(ctx, cmd); err != nil {
		return err
	}
	var version uint64
	for {
		u, err := t.local.Follow(ctx, after, version)
		if err != nil {
			return err
		}
		version = u.Version
		for _, e := range u.Entries {
			after = e.Seq
			switch {
			case e.Type == ends:
				return nil
			case e.Type == "compaction.failed":
				return fmt.Errorf("compaction failed: %+v", e.Event)
			}
		}
	}
}

const sumText = "## Objective\ngo on\n## Constraints\nnone\n## Work State\n### Completed\nall of it\n## Next Action\nwait for more"

// summarized answers an audit with PASS, and everything else with a handoff.
func summarized(r scripted.Request, wait time.Duration) scripted.Reply {
	text := sumText
	if strings.Contains(r.LastUser(), "answer exactly `PASS`") {
		text = "PASS"
	}
	return scripted.Reply{Steps: []scripted.Step{
		scripted.Sleep(wait), scripted.Role(), scripted.Text(text), scripted.Finish("stop"), scripted.Done(),
	}}
}

// orchestrate compacts a session in 64 maps, four at a time, against a
// provider that takes the same time for each answer.
func orchestrate(b *bench) ([]row, error) {
	wait, runs := time.Second, min(b.n, 2)
	if b.quick {
		wait, runs = 100*time.Millisecond, 1
	}
	s, err := serve(func(r scripted.Request) scripted.Reply { return summarized(r, wait) })
	if err != nil {
		return nil, err
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	var best time.Duration
	var ideal time.Duration
	maps := 0
	for range runs {
		dir, err := os.MkdirTemp(b.dir, "maps-")
		if err != nil {
			return nil, err
		}
		t := seat{dir: dir, url: s.URL() + "/v1", window: 16_000}
		if err := os.MkdirAll(filepath.Dir(t.path()), 0o700); err != nil {
			return nil, err
		}
		if _, err := generate(t.path(), 2_620, 1_690_000); err != nil {
			return nil, err
		}
		if err := t.sit(ctx); err != nil {
			return nil, err
		}
		began := time.Now()
		err = t.until(ctx, drive.Compact{}, "checkpoint.committed")
		took := time.Since(began)
		var rest int
		if err == nil {
			maps, rest, err = asked(t.local.Session)
		}
		if cerr := t.local.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return nil, err
		}
		ideal = time.Duration((maps+compact.MaxMaps-1)/compact.MaxMaps+rest) * wait
		if best == 0 || took < best {
			best = took
		}
	}
	return []row{{
		id: "PERF-11", what: fmt.Sprintf("  %d maps, four at a time: added to the provider's time", maps), value: 100 * float64(best-ideal) / float64(ideal), unit: "%", limit: 2,
		from: fmt.Sprintf("PERF-11: of %.1f s, %d ms an answer", ideal.Seconds(), wait.Milliseconds()),
	}}, nil
}

// asked counts the requests to summarizers: maps, and those that come one
// after the other.
func asked(s *harness.Session) (maps, rest int, err error) {
	for q := session.Seq(0); ; {
		entries, err := s.Entries(q, 1000)
		if err != nil || len(entries) == 0 {
			return maps, rest, err
		}
		for _, e := range entries {
			q = e.Seq
			if r, ok := e.Event.(session.RequestSent); ok && r.Compaction != 0 {
				if r.Purpose == "map" {
					maps++
				} else {
					rest++
				}
			}
		}
	}
}
