package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"varve/internal/providers/scripted"
)

// startUp is PERF-1 of the commands that have no screen.
func startUp(b *bench) ([]row, error) {
	hello, err := answer("hello")
	if err != nil {
		return nil, err
	}
	var first time.Time
	s, err := serve(func(scripted.Request) scripted.Reply { first = time.Now(); return hello })
	if err != nil {
		return nil, err
	}
	defer s.Close()
	var version cost
	var toRequest time.Duration
	for range b.n {
		c, err := spend(b.dir, nil, b.agent, "version")
		if err != nil {
			return nil, err
		}
		version = least(version, c)
		dir, env, err := b.home(s, "turn")
		if err != nil {
			return nil, err
		}
		began := time.Now()
		if _, err := spend(dir, env, b.agent, "run", "hi"); err != nil {
			return nil, err
		}
		if d := first.Sub(began); toRequest == 0 || d < toRequest {
			toRequest = d
		}
	}
	return []row{
		{id: "PERF-1", what: "agent version, wall", value: ms(version.wall), unit: "ms", limit: 10, from: "leanest peer 10-16 ms", notInRun: true},
		{id: "PERF-1", what: "agent version, CPU", value: ms(version.cpu), unit: "ms", limit: 9, from: "leanest peer 9-15 ms", notInRun: true},
		{id: "PERF-1", what: "agent version, peak memory", value: mb(version.rss), unit: "MB", limit: 20, from: "target; leanest peer 24 MB", notInRun: true},
		{id: "PERF-1", what: "agent run, start to first request", value: ms(toRequest), unit: "ms", limit: 57, from: "a third of the leanest peer's whole run", notInRun: true},
	}, nil
}

// oneLine is PERF-2: a headless turn of one line.
func oneLine(b *bench) ([]row, error) {
	hello, err := answer("hello")
	if err != nil {
		return nil, err
	}
	s, err := serve(func(scripted.Request) scripted.Reply { return hello })
	if err != nil {
		return nil, err
	}
	defer s.Close()
	var best cost
	for range b.n {
		dir, env, err := b.home(s, "turn")
		if err != nil {
			return nil, err
		}
		c, err := spend(dir, env, b.agent, "run", "hi")
		if err != nil {
			return nil, err
		}
		best = least(best, c)
	}
	reqs := s.Requests()
	return []row{
		{id: "PERF-2", what: "one line, wall", value: ms(best.wall), unit: "ms", limit: 170.0 / 3, from: "a third of the leanest peer (170 ms)", notInRun: true},
		{id: "PERF-2", what: "one line, CPU", value: ms(best.cpu), unit: "ms", limit: 195.0 / 3, from: "a third of the leanest peer (195 ms)", notInRun: true},
		{id: "PERF-2", what: "one line, peak memory", value: mb(best.rss), unit: "MB", limit: 73.1 / 2, from: "half of the leanest peer (73 MB)", notInRun: true},
		{id: "PERF-2", what: "first request", value: float64(len(reqs[0].Body)) / 1000, unit: "KB", limit: 12, from: "PERF-2"},
		{id: "PERF-2", what: "requests a turn", value: float64(len(reqs)) / float64(b.n), unit: "", limit: 1, from: "PERF-2: no side requests"},
	}, nil
}

// toolLoop is PERF-4: many calls in a row.
func toolLoop(b *bench) ([]row, error) {
	var rows []row
	// 50 commands, as the peers were measured.
	bash, err := b.loop(50, "turn", "bash", `{"command":"true"}`)
	if err != nil {
		return nil, err
	}
	rows = append(rows,
		row{id: "PERF-4", what: "50 commands, CPU with children", value: bash.cost.cpu.Seconds(), unit: "s", limit: 0.779 / 3, from: "a third of the leanest peer (0.78 s)", notInRun: true},
		row{id: "PERF-4", what: "50 commands, wall", value: bash.cost.wall.Seconds(), unit: "s", limit: 0.6, from: "target; fastest peer 2.7 s", notInRun: true},
		row{id: "PERF-4", what: "50 commands, peak memory", value: mb(bash.cost.rss), unit: "MB", limit: 60, from: "target; leanest peer 81 MB", notInRun: true},
	)
	// Reads without syncs: what is left is ours.
	one, err := b.loop(1, "never", "read", `{"file_path":"f.txt"}`)
	if err != nil {
		return rows, err
	}
	many, err := b.loop(51, "never", "read", `{"file_path":"f.txt"}`)
	if err != nil {
		return rows, err
	}
	rows = append(rows,
		row{id: "PERF-4", what: "overhead a call, wall", value: ms(many.cost.wall-one.cost.wall) / 50, unit: "ms", limit: 3, from: "PERF-4"},
		row{id: "PERF-4", what: "overhead a call, CPU", value: ms(many.cost.cpu-one.cost.cpu) / 50, unit: "ms", limit: 1.5, from: "PERF-4"},
	)
	// The cost of a call late in a session against one early in it: processor
	// time of one process between requests 25 and 75, and 375 and 425.
	long, err := b.loop(426, "never", "read", `{"file_path":"f.txt"}`)
	if err != nil {
		return rows, err
	}
	if len(long.late) > 0 {
		rows = append(rows,
			row{id: "PERF-4", what: "call 400 against call 50, CPU", value: ratio(long.late, long.early), unit: "x", limit: 1.2, from: "PERF-4"},
			row{id: "PERF-4", what: "  call 50, CPU (bytes on the wire included)", value: ms(slices.Min(long.early)) / 50, unit: "ms", limit: 1.5, from: "PERF-4"},
		)
	}
	return append(rows,
		row{id: "PERF-8", what: "shared prefix, least of all requests", value: long.prefix * 100, unit: "%", limit: 100, from: "PERF-8", atLeast: true},
	), nil
}

// ratio is that of the least of each.
func ratio(a, b []time.Duration) float64 { return float64(slices.Min(a)) / float64(slices.Min(b)) }

type loopCost struct {
	cost   cost
	gaps   []time.Duration
	prefix float64
	// Processor time of 50 calls around the 50th and around the 400th, by run.
	early, late []time.Duration
}

// loop runs a turn of n calls, b.n times.
func (b *bench) loop(n int, sync_, tool, args string) (loopCost, error) {
	call := make([]scripted.Reply, n)
	for i := range call {
		r, err := scripted.Compile(scripted.OpenAIChat, scripted.Role(), scripted.Call(0, fmt.Sprint("call_", i), tool, args, 0),
			scripted.Finish("tool_calls"), scripted.UsageStep(scripted.Usage{Prompt: 1000, Output: 10}), scripted.Done())
		if err != nil {
			return loopCost{}, err
		}
		call[i] = r
	}
	last, err := answer("done")
	if err != nil {
		return loopCost{}, err
	}
	var out loopCost
	out.prefix = 1
	runs := b.n
	if n > 100 && !b.quick {
		runs = max(runs, 5)
	}
	for range runs {
		var mu sync.Mutex
		var at []time.Time
		k, pid := 0, 0
		spent := map[int]time.Duration{}
		s, err := serve(func(scripted.Request) scripted.Reply {
			mu.Lock()
			defer mu.Unlock()
			at = append(at, time.Now())
			k++
			switch k {
			case 25, 75, 375, 425:
				if d, err := spentBy(pid); err == nil {
					spent[k] = d
				}
			}
			if k <= n {
				return call[k-1]
			}
			return last
		})
		if err != nil {
			return out, err
		}
		dir, env, err := b.home(s, sync_)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "f.txt"), []byte("one line\n"), 0o600)
		}
		var c cost
		if err == nil {
			c, err = spendWith(func(id int) {
				mu.Lock()
				defer mu.Unlock()
				pid = id
			}, dir, env, b.agent, "run", "--mode", "full", "go")
		}
		if err == nil && len(at) != n+1 {
			err = errors.New("the turn ended early")
		}
		for _, r := range s.Requests()[min(1, len(s.Requests())):] {
			if r.Shared.Of > 0 {
				out.prefix = min(out.prefix, float64(r.Shared.Messages)/float64(r.Shared.Of))
			}
		}
		s.Close()
		if err != nil {
			return out, err
		}
		if len(spent) == 4 {
			out.early, out.late = append(out.early, spent[75]-spent[25]), append(out.late, spent[425]-spent[375])
		}
		var gaps []time.Duration
		for i := 1; i < len(at); i++ {
			gaps = append(gaps, at[i].Sub(at[i-1]))
		}
		if out.gaps == nil {
			out.gaps = gaps
		} else {
			for i := range gaps {
				out.gaps[i] = min(out.gaps[i], gaps[i])
			}
		}
		out.cost = least(out.cost, c)
	}
	return out, nil
}

func median(d []time.Duration) time.Duration {
	d = slices.Clone(d)
	slices.Sort(d)
	return d[len(d)/2]
}
