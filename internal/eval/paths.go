package eval

import (
	"fmt"
	"slices"
	"strings"

	"varve/internal/session"
)

// A path is one way of making the context short.
type path struct {
	name    string
	mode    string // of compaction
	small   bool   // the summarizer is one that the trace does not fit
	masks   bool   // the model masks what it has read
	legacy  bool   // an older program left a buffer behind
	fails   bool   // one map fails once
	cut     bool   // killed when two maps were accepted
	raw     bool   // nothing stands for the old turns: the stale fact stays in view
	summary int    // requests to summarizers, lost and failed ones included
}

// paths are all of them, in the order of the table.
var paths = []path{
	{name: "nothing", mode: "disabled", raw: true},
	{name: "masking only", mode: "disabled", masks: true, raw: true},
	{name: "one-shot", mode: "standalone", summary: 1},
	{name: "legacy buffer, rebuilt", mode: "standalone", legacy: true, summary: 1},
	{name: "MapReduce, sequential", mode: "standalone", small: true, fails: true, summary: 12},
	{name: "MapReduce, parallel", mode: "standalone", small: true, summary: 11},
	{name: "MapReduce, killed and resumed", mode: "standalone", small: true, cut: true, summary: 15},
}

// A Bar is one request: who was asked, and how large the prompt was, in tokens
// as the program estimates them.
type Bar struct {
	Purpose string `json:"purpose"`
	Unit    string `json:"unit,omitempty"`
	Tokens  int    `json:"tokens"`
	Lost    bool   `json:"lost,omitempty"` // nothing came of it
}

// A Row is what came of one path.
type Row struct {
	Path        string   `json:"path"`
	Requests    int      `json:"requests"`
	Summarizers int      `json:"summarizer_requests"` // of these
	Input       int      `json:"input_tokens"`
	Output      int      `json:"output_tokens"`
	Peak        int      `json:"peak_prompt"`
	Last        int      `json:"last_prompt"`
	Kept        []string `json:"markers_kept"`
	Stale       bool     `json:"stale_fact_in_view"`
	Raw         bool     `json:"raw_history"`
	Preserved   bool     `json:"source_bytes_preserved"`
	Faults      []string `json:"faults"`
	Bars        []Bar    `json:"prompts"`
}

// story is what the log of a path tells.
type story struct {
	masked, checkpoints, sequenced, voided, failed int
	asked                                          map[string]int // answered requests by unit
	completed                                      int            // turns, those of the trace apart
	bars                                           []Bar
	usage                                          session.Usage
	last                                           session.Seq // the agent's last request
	agent                                          []session.Seq
}

// read tells the story of what stands behind the trace.
func read(entries []session.Entry, after session.Seq) story {
	s := story{asked: map[string]int{}}
	at := map[session.Seq]int{}
	for _, e := range entries {
		if e.Seq <= after {
			if r, ok := e.Event.(session.RequestSent); ok {
				s.bars = append(s.bars, Bar{Purpose: "trace", Tokens: session.Estimate(int(r.Size)).N})
			}
			continue
		}
		count := func(u *session.Usage) {
			if u != nil {
				s.usage.Input += u.Input + u.Cached + u.CacheWrite
				s.usage.Output += u.Output
			}
		}
		switch ev := e.Event.(type) {
		case session.RequestSent:
			at[e.Seq] = len(s.bars)
			s.bars = append(s.bars, Bar{Purpose: ev.Purpose, Unit: ev.Unit, Tokens: session.Estimate(int(ev.Size)).N})
			if ev.Purpose == "agent" {
				s.last = e.Seq
				s.agent = append(s.agent, e.Seq)
			}
		case session.ReplyCompleted:
			count(ev.Usage)
			s.asked[s.bars[at[ev.Request]].Unit]++
		case session.ReplyRejected:
			count(ev.Usage)
			s.bars[at[ev.Request]].Lost = true
		case session.ItemMasked:
			s.masked++
		case session.CheckpointCommitted:
			s.checkpoints++
		case session.StagingSequenced:
			s.sequenced++
		case session.StagingInvalidated:
			s.voided++
		case session.CompactionFailed:
			s.failed++
		case session.TurnEnded:
			if ev.Status == "completed" {
				s.completed++
			}
		}
	}
	// Maps run side by side: their order in the file is that of the machine.
	for i := 0; i < len(s.bars); {
		j := i
		for j < len(s.bars) && s.bars[j].Purpose == "map" {
			j++
		}
		slices.SortStableFunc(s.bars[i:j], func(a, b Bar) int { return strings.Compare(a.Unit, b.Unit) })
		i = max(j, i+1)
	}
	return s
}

// holds says what of a path's promises does not hold.
func (p path) holds(r Row, s story) []string {
	var wrong []string
	want := func(ok bool, format string, args ...any) {
		if !ok {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	want(s.completed == turns, "%d turns completed of %d", s.completed, turns)
	want(s.failed == 0, "%d compactions failed", s.failed)
	want(r.Preserved, "bytes of the source have changed")
	want(len(r.Kept) == len(markers), "%d markers of %d are in the last prompt: %s", len(r.Kept), len(markers), strings.Join(r.Kept, ", "))
	want(r.Stale == p.raw, "the stale fact is in the last prompt: %v", r.Stale)
	want(r.Summarizers == p.summary, "%d requests to summarizers, %d were expected", r.Summarizers, p.summary)
	n := 1
	if p.raw {
		n = 0
	}
	want(s.checkpoints == n, "%d checkpoints, %d were expected", s.checkpoints, n)
	want(p.cut || (s.sequenced > 0) == p.fails, "maps one at a time: %v", s.sequenced > 0)
	want((s.voided > 0) == p.legacy, "the old buffer was put aside: %v", s.voided > 0)
	want(!p.masks || s.masked == turns, "%d results masked of %d", s.masked, turns)
	for unit, n := range s.asked {
		want(n == 1 || unit == "", "%s was answered %d times", unit, n)
	}
	for _, b := range r.Bars {
		window := agentWindow
		if p.small && b.Purpose != "agent" && b.Purpose != "trace" {
			window = smallWindow
		}
		want(b.Tokens <= window, "a prompt for %s had %d tokens of %d", b.Purpose, b.Tokens, window)
	}
	slices.Sort(wrong)
	return wrong
}
