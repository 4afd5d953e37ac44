package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"varve/internal/harness/drive"
	"varve/internal/session"
	"varve/internal/tui/markdown"
)

// markdownOf is an answer of about n bytes with what answers have.
func markdownOf(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "## Part %d\n\nSome **bold** prose with `code` and a [link](https://example.org/%d) that is long enough to be wrapped on any screen.\n\n", i, i)
		fmt.Fprintf(&b, "- first item %d\n- second item, with *emphasis*\n\n", i)
		if i%3 == 0 {
			b.WriteString("```go\nfunc f(x int) (string, error) {\n\tif x > 10 {\n\t\treturn \"\", fmt.Errorf(\"bad %d\", x) // why\n\t}\n\treturn \"ok\", nil\n}\n```\n\n")
		}
	}
	return b.String()[:n]
}

// items is a session of n rows or more: turns of messages, calls, diffs and
// answers.
func items(tb testing.TB, n int) *tape {
	s := newTape(tb)
	for rows := 0; rows < n; rows += 5 {
		s.say("Do the next thing, please.")
		q := s.reply("reasoning", "thinking about it\nat length", "tool_call:bash", `{"command":"go test ./..."}`, "tool_call:edit", `{"file_path":"a.go","old_string":"a\nb","new_string":"a\nc"}`)
		s.runs(call(q, 2), 10, false, strings.Repeat("ok line of output\n", 20))
		s.runs(call(q, 3), 10, false, "Edited a.go")
		s.reply("assistant", "It is **done**.\n\n```go\nfunc f() {}\n```\n")
		s.put(session.TurnEnded{Turn: 1, Status: "completed"})
	}
	return s
}

// PERF-6, case TUI-05: a frame with a delta of a live answer costs the same
// behind 100 rows and behind 10,000, and the same while the view is scrolled up.
func BenchmarkFrame10k(b *testing.B) {
	text := []byte(markdownOf(4000))
	for _, n := range []int{100, 1000, 10_000} {
		s := items(b, n)
		for _, up := range []bool{false, true} {
			name := fmt.Sprintf("%drows", n)
			if up {
				name += "/scrolled"
			}
			b.Run(name, func(b *testing.B) {
				tr := newTranscript(inkLook(s.at))
				tr.kept = 1 << 30
				tr.add(s.entries)
				tr.view(120, 40)
				if up {
					tr.scroll(-100)
				}
				q := s.last() + 1
				ps := []drive.Pulse{{Job: sendJob(q), Kind: "waiting"}, {Job: sendJob(q), Kind: "text"}}
				i := 0
				b.ReportAllocs()
				for b.Loop() {
					if i += 4; i > len(text) {
						i = 4
						tr.pulses(nil)
					}
					ps[1].Text = text[:i]
					tr.pulses(ps)
					tr.view(120, 40)
				}
				b.ReportMetric(float64(len(tr.rows)), "rows")
			})
		}
	}
}

// Nothing came: what a key costs the transcript.
func BenchmarkFrameIdle(b *testing.B) {
	s := items(b, 10_000)
	tr := newTranscript(inkLook(s.at))
	tr.add(s.entries)
	b.ReportAllocs()
	for b.Loop() {
		tr.view(120, 40)
	}
}

// PERF-5: a 60,000-character answer in 15,000 deltas; with a frame every 30 ms
// of a stream of 200 tokens a second, or for every 40 deltas at full speed.
func BenchmarkStream60k(b *testing.B) {
	text := []byte(markdownOf(60_000))
	for _, c := range []struct {
		name  string
		frame int // deltas
	}{{"at200tokens", 6}, {"fullSpeed", 40}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s := newTape(b)
				s.say("Go on.")
				q := s.put(session.RequestSent{Purpose: "agent"})
				tr := newTranscript(inkLook(s.at))
				tr.add(s.entries)
				for i := 0; i < 15_000; i += c.frame {
					tr.pulses([]drive.Pulse{{Job: sendJob(q), Kind: "text", Text: text[:4*i+4]}})
					tr.view(120, 40)
				}
				s.answer(q, "assistant", string(text))
				tr.add(s.entries)
				for tr.view(120, 40); tr.wake() > 0; {
					tr.view(120, 40)
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()*1000/float64(b.N), "ms/answer")
		})
	}
	b.Run("markdownAlone", func(b *testing.B) {
		for b.Loop() {
			d := markdown.New(markdown.Options{Theme: markdown.Dark(), Budget: codeBudget})
			for i := 0; i < 15_000; i += 6 {
				d.Append(string(text[4*i : min(4*i+24, len(text))]))
				d.Lines(120)
			}
			d.Finish()
			for d.Lines(120); d.Pending(); {
				d.Lines(120)
			}
		}
		b.ReportMetric(b.Elapsed().Seconds()*1000/float64(b.N), "ms/answer")
	})
}

// PERF-3: the first frame of a resumed session, from its last 300 entries.
func BenchmarkResume(b *testing.B) {
	s := items(b, 1000)
	tail := s.entries[len(s.entries)-300:]
	b.ReportAllocs()
	for b.Loop() {
		tr := newTranscript(inkLook(s.at))
		tr.add(tail)
		tr.view(120, 40)
	}
}

// TUI-3, case TUI-05: a search through 10,000 rows, and the longest that it keeps
// a key waiting.
func BenchmarkSearch10k(b *testing.B) {
	s := items(b, 10_000)
	tr := newTranscript(inkLook(s.at))
	tr.kept = 1 << 30
	tr.add(s.entries)
	tr.unfold()
	for _, query := range []string{"zebra", "done", "o"} { // none, in each answer, nearly everywhere
		b.Run(query, func(b *testing.B) {
			var longest time.Duration
			for b.Loop() {
				tr.view(120, 40)
				f := newFind(query, tr)
				for f.works(tr) {
					began := time.Now()
					f.step(tr)
					longest = max(longest, time.Since(began))
					tr.sweep()
				}
			}
			b.ReportMetric(float64(longest.Microseconds())/1000, "ms/longest-step")
		})
	}
}
