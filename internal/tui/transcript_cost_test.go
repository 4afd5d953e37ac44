package tui

import (
	"runtime"
	"testing"

	tea "charm.land/bubbletea/v2"
)

// What a key and its frame make does not grow with the history: the same things are
// done on 100 rows and on 10,000, all of them held, and allocations and their bytes
// are counted.
func TestKeyCostDoesNotGrow(t *testing.T) { // TUI-2, PERF-5, PERF-6, case TUI-05
	type act struct {
		name string
		keys []string // they end as they began
	}
	below := []act{
		{"a letter and back", []string{"x", "backspace"}},
		{"a page up and down", []string{"pgup", "pgdown"}},
		{"nothing", nil},
	}
	within := []act{
		{"an item up and down", []string{"shift+tab", "tab"}},
		{"a fold and back", []string{"enter", "enter"}},
		{"a page up and down", []string{"pgup", "pgdown"}},
	}
	cost, size := map[string][2]float64{}, map[string][2]float64{}
	for i, n := range []int{100, 10_000} {
		onStage(t, 100, 30, noColours(), (*stage).begun, func(s *stage) {
			tr := newTranscript(s.look())
			tr.kept = 1 << 30
			tr.add(items(t, n).entries)
			s.chat.tr = tr
			if len(tr.rows) < n {
				t.Fatalf("%d rows of %d are held", len(tr.rows), n)
			}
			count := func(where string, acts []act) {
				for _, a := range acts {
					do := func() {
						for _, k := range a.keys {
							s.Root.Update(keyOf(k))
							s.View()
						}
						s.Root.Update(tea.FocusMsg{})
						s.View()
					}
					do()
					got := cost[where+a.name]
					got[i] = testing.AllocsPerRun(20, do)
					cost[where+a.name] = got
					got = size[where+a.name]
					got[i] = bytesPerRun(20, do)
					size[where+a.name] = got
				}
			}
			count("in the conversation: ", below)
			s.Root.Update(keyOf("ctrl+o"))
			s.View()
			s.Root.Update(keyOf("pgup"))
			s.View()
			count("in the transcript: ", within)
			drawn := 0
			for _, r := range tr.rows {
				if r.drawn != nil {
					drawn++
				}
			}
			if drawn > 100 {
				t.Errorf("of %d rows %d were drawn for a few windows of 30 lines", len(tr.rows), drawn)
			}
		})
	}
	for _, where := range []struct {
		name string
		acts []act
	}{{"in the conversation: ", below}, {"in the transcript: ", within}} {
		for _, a := range where.acts {
			c, b := cost[where.name+a.name], size[where.name+a.name]
			t.Logf("%s%s: %v and %v allocations, %.0f and %.0f bytes", where.name, a.name, c[0], c[1], b[0], b[1])
			if c[1] > c[0]*1.1+4 || b[1] > b[0]*1.2+4096 {
				t.Errorf("%s%s: %v allocations and %.0f bytes behind 100 rows, %v and %.0f behind 10,000", where.name, a.name, c[0], b[0], c[1], b[1])
			}
		}
	}
}

// bytesPerRun is how many bytes are allocated in a run.
func bytesPerRun(runs int, do func()) float64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range runs {
		do()
	}
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc-before.TotalAlloc) / float64(runs)
}
