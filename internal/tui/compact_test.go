package tui

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"

	"varve/internal/harness/drive"
	"varve/internal/session"
	"varve/internal/setup"
	"varve/internal/tui/plain"
)

func aContext() ContextInfo {
	return ContextInfo{
		Model: "acme/large", Used: session.Tokens{N: 61_200, By: "est"}, Capacity: 128_000, Sizing: 100_000, Trigger: 102_400,
		Layers: []ContextLayer{
			{"tool definitions", 1, 2400},
			{"instructions", 2, 900},
			{"summary of before", 1, 1800},
			{"your messages", 12, 4100},
			{"answers", 30, 9000},
			{"thinking", 14, 3000},
			{"tool calls", 41, 5000},
			{"results: bash", 22, 24_000},
			{"results: read", 9, 11_000},
			{"plan", 1, 0},
		},
		Facts: []ContextFact{
			{"largest", "read notes/日本語.txt ~41.0k, your messages The log of the build that fails ~22.0k"},
			{"summarized at", "102k tokens, 80 % of the window (┃ above)"},
			{"mode", "standalone"},
			{"summarized by", "1. acme/small (32.8k), 2. acme/tiny (can't be asked: no key): by text; of routing.summarization_models"},
			{"summaries", "event 812: 110k tokens became ~9.1k, of items 6–801.2; changed since: greet.go"},
			{"", "event 340: 104k tokens became ~8.0k, of items 6–330"},
		},
	}
}

func TestGoldenContext(t *testing.T) { // TUI-6, CMP-15
	moment(t, "context", "What fills the window: one bar with the trigger's mark, a row for each layer, then what is known of compaction. It scrolls where it is too high.",
		noColours(), (*stage).begun, func(s *stage) { s.press("/context<enter>") })
	var b strings.Builder
	over, unknown, small := aContext(), aContext(), aContext()
	over.Capacity, over.Trigger = 40_000, 32_000
	unknown.Capacity, unknown.Trigger = 0, 0
	small.Used, small.Capacity, small.Trigger, small.Layers = session.Tokens{N: 700, By: "provider"}, 2048, 1635, small.Layers[:2]
	for _, c := range []ContextInfo{over, unknown, small} {
		for _, w := range []int{20, 40, 78} {
			lines := c.Lines(w)
			fits(t, lines, w, len(lines))
			fmt.Fprintf(&b, "\n==== %d columns\n%s\n", w, strings.Join(lines[:8], "\n"))
		}
	}
	golden(t, "context_sizes", "More than fits is said and never only 100 %; a window that is not known is drawn for an estimate; a small one.", b.String()) // case CMP-19
}

// summing is a compaction that is under way, after an answered question.
func (s *stage) summing(by string, chain ...session.Model) session.Seq {
	if len(s.a.entries) == 0 {
		s.begun()
		turn := s.a.say("Where is the greeting?")
		q := s.a.put(session.RequestSent{Purpose: "agent", Turn: turn, Attempt: 1, Model: s.a.ident.Model, Capacity: session.Capacity{N: 200_000, Source: "catalogue"}})
		s.a.answer(q, "assistant", "In greet.go.")
		s.a.put(session.TurnEnded{Turn: turn, Status: "completed"})
	}
	s.a.put(session.CompactionRequested{By: by})
	return s.a.put(session.CompactionStarted{Reason: by, Mode: "standalone", Route: "one_shot", Chain: chain, Ranges: []session.Range{{From: session.ItemID{Seq: 5}, To: session.ItemID{Seq: 7}}}}, "Write a handoff.")
}

var (
	small = session.Model{Provider: "acme", API: "openai-chat", Model: "small"}
	tiny  = session.Model{Provider: "acme", API: "openai-chat", Model: "tiny"}
)

func (s *stage) tries(c session.Seq, i, n int, m session.Model) {
	s.a.put(session.SummarizerTried{Compaction: c, I: i, N: n, Model: m, Outcome: "started"})
	s.a.put(session.ToastPosted{Level: "info", Code: "compaction.asks", About: c, Args: map[string]string{"model": m.String(), "i": fmt.Sprint(i), "n": fmt.Sprint(n)}})
}

// streams is what came of a request to a summarizer.
func (s *stage) streams(q session.Seq, text string) {
	s.a.pulses = []drive.Pulse{
		{Job: fmt.Sprintf("ask:%d", q), Kind: "summary", Name: "one_shot"}, {Job: fmt.Sprintf("ask:%d", q), Kind: "text", Text: []byte(text)},
	}
	s.now()
}

// The box shows who is asked, which attempt, and what came of this attempt alone:
// what an earlier one wrote is gone with it. The text that is installed stays.
func TestBoxShowsOneAttempt(t *testing.T) { // TUI-8, FIN-4, MR-12, case CMP-05
	scene(t, func(s *stage) {
		c := s.summing("user", tiny, small)
		s.tries(c, 1, 2, tiny)
		q := s.a.put(session.RequestSent{Purpose: "one_shot", Compaction: c, Unit: "one_shot", Attempt: 1, I: 1, N: 2, Model: tiny})
		s.streams(q, "## Objective\nfirst words of the first attempt")
		s.sees("── Summarizing the conversation", "acme/tiny 1/2 · one request", "first words of the first attempt", "Esc stops it ─", "Summarizing with acme/tiny (1/2).")
		s.lacks("attempt 2", "goes on")
		s.a.put(session.ReplyRejected{Request: q, Class: "length", RawFinish: "length"})
		s.now()
		s.sees("acme/tiny 1/2 · one request · attempt 2", "the last attempt gave nothing: its answer was cut off")
		s.lacks("first words", "asked again")
		s.a.put(session.SummarizerTried{Compaction: c, I: 1, N: 2, Model: tiny, Outcome: "spent", Why: "length"})
		s.tries(c, 2, 2, small)
		q2 := s.a.put(session.RequestSent{Purpose: "one_shot", Compaction: c, Unit: "one_shot", Attempt: 1, I: 2, N: 2, Model: small})
		s.now() // the pulse of the attempt before is still in the mailbox
		s.lacks("first words", "attempt 2")
		s.streams(q2, "## Objective\nsecond words")
		s.sees("acme/small 2/2 · one request", "second words", "acme/tiny (1/2) gave no summary: its answer was cut off", "Summarizing with acme/small (2/2).")
		s.lacks("first words", "asked again")
		s.a.put(session.ReplyCompleted{Request: q2, Finish: "natural"})
		s.a.put(session.CheckpointCommitted{
			Compaction: c, Kind: "text", Ranges: []session.Range{{From: session.ItemID{Seq: 5}, To: session.ItemID{Seq: 7}}}, Stale: []string{"greet.go"},
			Before: session.Tokens{N: 12_000, By: "provider"}, After: session.Tokens{N: 900, By: "est"}, Fingerprints: session.Text{B: 1},
		}, session.HandoffIs+"## Objective\nsecond words\n"+strings.Repeat("more\n", 20)+"the last line", "[]")
		s.a.put(session.ToastPosted{Level: "success", Code: "compaction.done", Args: map[string]string{"before": "12000", "after": "900"}})
		s.a.pulses = nil
		s.now()
		s.lacks("── Summarizing")
		s.sees("── Summarized: 12.0k → ~900 tokens", "since they were read: greet.go.", "second words", "more lines (Ctrl+O)", "Summarized: the next request has ~900 tokens, before it had ~12.0k.")
		s.lacks("summarization model") // that is for the model
		s.press("<ctrl+o>")
		s.sees("the last line")
		for _, says := range []string{"Summarized: 12.0k", "stay readable"} { // a row out of view is found by this
			if !slices.ContainsFunc(s.chat.tr.rows, newNeedle(says).near) {
				t.Errorf("%q is nowhere", says)
			}
		}
		s.press("/Summarized: 12.0k<enter>")
		s.sees("1 of 1")
		s.press("/stay readable<enter>")
		s.sees("1 of 1")
	})
}

func TestGoldenCompaction(t *testing.T) { // TUI-8, SUM-4, MR-12
	moment(t, "compact_box", "The box of a compaction in a turn: rules above and below, nothing at its sides; who is asked, how often, the text as it comes.",
		noColours(), func(s *stage) {
			turn := s.works("Where is the greeting?")
			s.a.answer(s.a.last(), "tool_call:ls", "{}")
			_ = turn
			c := s.summing("trigger", tiny, small)
			s.tries(c, 1, 2, tiny)
			q := s.a.put(session.RequestSent{Purpose: "one_shot", Compaction: c, Unit: "one_shot", Attempt: 1, I: 1, N: 2, Model: tiny})
			s.a.put(session.ReplyRejected{Request: q, Class: "empty"})
			q = s.a.put(session.RequestSent{Purpose: "one_shot", Compaction: c, Unit: "one_shot", Attempt: 2, I: 1, N: 2, Model: tiny})
			s.streams(q, "## Objective\nMake the greeting polite.\n## Constraints\nNever run the deploy script.\n## Work State\n### Completed\nThe greeting was found in greet.go, line 4, and what calls it in main.go.\n### Active\n")
		}, nil)
	moment(t, "compact_failed", "A compaction that failed in a turn: why, in words, and what can be done, which nobody has to; the turn goes on.",
		noColours(), func(s *stage) {
			s.works("Where is the greeting?")
			c := s.summing("trigger", tiny)
			s.a.put(session.SummarizerTried{Compaction: c, I: 1, N: 1, Model: tiny, Outcome: "spent", Why: "length"})
			s.a.put(session.CompactionFailed{Compaction: c, Kind: "exhausted", Defers: true, Detail: &session.Text{B: 0}}, "length")
			s.a.tell()
		}, func(s *stage) {
			s.a.put(session.ToastPosted{Level: "warning", Code: "compaction.failed", Args: map[string]string{"kind": "exhausted", "detail": "length"}, Actions: []string{"retry", "models", "go_on"}})
			s.now()
		})
}

// The phases of a MapReduce, in numbers.
func TestBoxCountsMaps(t *testing.T) { // TUI-8, MR-12
	scene(t, func(s *stage) {
		for range 5 { // no more segments than items
			s.a.put(session.ShellRan{}, "$ true")
		}
		c := s.summing("user", small)
		s.tries(c, 1, 1, small)
		g := s.a.put(session.StagingCreated{Version: 3, Compaction: c, N: 5, Segments: session.Text{B: 0}}, "[]")
		var asks []session.Seq
		for i := range 4 {
			asks = append(asks, s.a.put(session.RequestSent{Purpose: "map", Compaction: c, Unit: fmt.Sprintf("map/%d", i), Attempt: 1, Model: small}))
		}
		s.now()
		s.sees("acme/small 1/1 · maps 0/5, 4 running")
		for i, q := range asks[:3] {
			s.a.put(session.ReplyCompleted{Request: q, Finish: "natural"})
			s.a.put(session.StagingMapped{Staging: g, Ordinal: i, Request: q, Model: small, Tokens: session.Tokens{N: 30_000}}, "notes")
		}
		s.now()
		s.sees("maps 3/5, 1 running")
		s.a.put(session.StagingSequenced{Staging: g, Missing: []int{3, 4}, Why: "server"})
		s.now()
		s.sees("maps 3/5, 1 running, one at a time")
		for i, q := range []session.Seq{asks[3], asks[3]} {
			s.a.put(session.StagingMapped{Staging: g, Ordinal: 3 + i, Request: q, Model: small, Tokens: session.Tokens{N: 30_000}}, "notes")
		}
		s.a.put(session.ReplyCompleted{Request: asks[3], Finish: "natural"})
		s.now()
		s.sees("putting 5 notes together")
		q := s.a.put(session.StagingReduced{Staging: g, Level: 1, Inputs: []int{0, 1, 2, 3, 4}, Final: true}, "## Objective")
		s.now()
		s.sees("checking it against its notes, 0/5") // they don't fit one request
		s.a.put(session.StagingAudited{Staging: g, Candidate: q, Maps: []int{0, 1}, Pass: true})
		s.now()
		s.sees("checking it against its notes, 2/5")
		s.a.put(session.StagingAudited{Staging: g, Candidate: q, Maps: []int{0, 1, 2, 3, 4}, Text: &session.Text{B: 0}}, "no")
		s.now()
		s.sees("correcting it, 1 of 2")
		s.later(3 * time.Second)
		s.sees("Summarizing the conversation · ")
	})
}

// /compact asks for one with its focus; while a turn runs it waits in sight, and
// Esc takes it back before it takes the turn. Idle, Esc stops it too.
func TestCompactCommand(t *testing.T) { // CMP-9, case CMP-17
	scene(t, func(s *stage) {
		s.works("Where is the greeting?")
		s.now()
		s.press("/compact the greeting<enter>")
		s.wantCommands(`drive.Compact{Focus:[116 104 101 32 103 114 101 101 116 105 110 103]}`)
		s.a.put(session.CompactionRequested{By: "user", Focus: &session.Text{B: 0}}, "the greeting")
		s.now()
		s.sees("▸ queued: summarize the conversation (the greeting), after what runs now; Esc")
		s.lacks("── Summarizing")
		s.press("<esc>")
		s.wantCommands("drive.Cancel{By:user}")
		s.a.put(session.CompactionFailed{Kind: "cancelled"})
		s.now()
		s.lacks("▸ queued")
		s.a.put(session.ToastPosted{Level: "info", Code: "compaction.failed", Args: map[string]string{"kind": "cancelled"}})
		s.now()
		if n := strings.Count(s.screen(), "Summarizing was stopped."); n != 1 {
			t.Errorf("it is said %d times:\n%s", n, s.screen())
		}
	})
	scene(t, func(s *stage) {
		s.summing("user", small)
		s.now()
		s.press("<esc>")
		s.wantCommands("drive.Cancel{By:user}")
		if !strings.HasPrefix(s.frameNow().WindowTitle, "● ") {
			t.Error(s.frameNow().WindowTitle)
		}
	})
	scene(t, func(s *stage) {
		s.begun()
		s.now()
		s.a.answers = func(drive.Command) error { return drive.ErrNothingToCompact }
		s.press("/compact<enter>")
		s.sees("there is nothing to compact yet")
	})
}

// One that another window works on is followed; one that a run left open when it
// died is said, and nothing counts.
func TestCompactionOfOthers(t *testing.T) { // LOG-14, TUI-8, MR-9
	scene(t, func(s *stage) {
		s.a.busy = true
		c := s.summing("user", small)
		s.tries(c, 1, 1, small)
		s.now()
		s.sees("── Summarizing the conversation", "acme/small 1/1")
		s.lacks("Esc stops it")
		s.a.busy, s.a.notOurs = false, true
		s.now()
		s.lacks("── Summarizing the conversation")
		s.sees("▸ a summary was left open: /compact or a message goes on with it; Esc ends it")
		if strings.HasPrefix(s.frameNow().WindowTitle, "● ") {
			t.Error(s.frameNow().WindowTitle)
		}
		s.press("<esc>")
		s.wantCommands("drive.Cancel{By:user}")
	})
}

// One that another run takes up counts from then on, and what was tried of an
// earlier part is not said of a later one.
func TestCompactionTakenUp(t *testing.T) { // MR-12, TUI-8
	scene(t, func(s *stage) {
		s.summing("user", small)
		s.a.put(session.CompactionFailed{Kind: "cancelled"})
		s.a.at = time.Now() // each event is a second later
		c := s.summing("user", small)
		s.tries(c, 1, 1, small)
		q := s.a.put(session.RequestSent{Purpose: "one_shot", Compaction: c, Unit: "one_shot", Attempt: 1, I: 1, N: 1, Model: small})
		s.now()
		s.later(4 * time.Second)
		s.sees("Summarizing the conversation · 3 s")
		s.later(time.Hour)
		s.a.at = time.Now()
		s.a.put(session.RunEnded{Run: "r", How: "lost"})
		s.a.put(session.RunStarted{Run: "r2"})
		s.a.put(session.ReplyRejected{Request: q, Class: "lost"})
		s.now()
		s.later(3 * time.Second)
		s.sees("Summarizing the conversation · 2 s", "attempt 2", "the last attempt gave nothing: the program ended while it answered")
		s.a.put(session.StagingCreated{Version: 3, Compaction: c, N: 2, Segments: session.Text{B: 0}}, "[]")
		s.a.put(session.RequestSent{Purpose: "map", Compaction: c, Unit: "map/0", Attempt: 1, Model: small})
		s.now()
		s.sees("maps 0/2, 1 running")
		s.lacks("attempt 2", "the last attempt")
	})
}

// After checkpoints the whole conversation is still there, and what a frame costs
// depends on the window: of 5,000 items those that are shown are drawn.
func TestCompactedStaysReadable(t *testing.T) { // CMP-12, TUI-2, case CMP-26
	s := newTape(t)
	for i := range 2500 {
		s.say(fmt.Sprint("question ", i))
		s.reply("assistant", fmt.Sprint("answer ", i))
		if i%500 == 499 {
			s.put(session.CheckpointCommitted{Kind: "text", Fingerprints: session.Text{B: 1}}, fmt.Sprint("## Objective\nsummary ", i), "[]")
		}
	}
	tr := shows(s)
	tr.kept = 1 << 20
	for range 200 { // as many letters
		tr.view(80, 24)
	}
	drawn := 0
	for _, r := range tr.rows {
		if r.drawn != nil {
			drawn++
		}
	}
	if drawn > 24 {
		t.Errorf("%d rows were drawn for a window of 24 lines", drawn)
	}
	for n := 0; !strings.Contains(text(tr, 80, 24), "question 0\n"); n++ {
		if n > 100 {
			t.Fatal("the first question can't be reached")
		}
		tr.home()
		for tr.wantsOlder() && tr.first > 1 {
			tr.prepend(s.entries[max(0, int(tr.first)-1-300) : tr.first-1])
			tr.home()
		}
	}
}

// What a summarizer's attempts came to is no attempt of the turn, whatever page its
// request is on.
func TestAttemptsAtSummariesAreApart(t *testing.T) { // TUI-8, FIN-6
	s := newTape(t)
	s.say("Go on.")
	q := s.put(session.RequestSent{Purpose: "one_shot", Compaction: 1, Unit: "one_shot"})
	cut := s.last()
	s.put(session.ReplyRejected{Request: q, Class: "error", Error: &session.ProviderError{Kind: "server"}})
	s.put(session.SummarizerTried{I: 1, N: 1, Model: small, Outcome: "spent", Why: "server"})
	tr := newTranscript(plainLook(s.at))
	tr.add(s.entries[cut:])
	tr.prepend(s.entries[:cut])
	got, whole := text(tr, 80, 12), text(shows(s), 80, 12)
	if got != whole || strings.Contains(got, "asked again") || !strings.Contains(got, "gave no summary") {
		t.Errorf("by pages\n%s\nat once\n%s", got, whole)
	}
}

// Nothing that a log says can drive the terminal or be wider than the window.
func TestSummaryRowsAreSafe(t *testing.T) { // TUI-9
	s := newTape(t)
	evil := "\x1b[2J\x07evil\n"
	s.put(session.SummarizerTried{I: 1, N: 1, Model: session.Model{Provider: evil, Model: evil}, Outcome: "unbuildable", Why: evil})
	s.put(session.CompactionFailed{Kind: evil, Detail: &session.Text{B: 0}}, evil)
	s.put(session.HandoffRejected{Why: "sections", Missing: []string{evil}})
	s.put(session.CheckpointCommitted{Stale: []string{evil}, ToolsGone: []string{evil}, Fingerprints: session.Text{B: 1}}, evil, "[]")
	tr := shows(s)
	for _, w := range []int{20, 41, 80} {
		lines := tr.view(w, 30)
		fits(t, lines, w, 30)
		for _, l := range lines {
			if plain.Clean(l) != l {
				t.Errorf("%q", l)
			}
		}
	}
	c := ContextInfo{Model: evil, Layers: []ContextLayer{{evil, 1, 1}}, Facts: []ContextFact{{"x", evil}}}
	for _, l := range c.Lines(40) {
		if plain.Clean(l) != l {
			t.Errorf("%q", l)
		}
	}
}

// What a summary and a notice say breaks between words, in the box and where all of
// it is read; writing without spaces breaks between its characters.
func TestSummaryBreaksAtWords(t *testing.T) { // TUI-2, TUI-8
	long := strings.Repeat("sedimentary layering ", 30)
	tp := newTape(t)
	tp.say("tell me")
	tp.put(session.CheckpointCommitted{Kind: "text", Fingerprints: session.Text{B: 1}}, session.HandoffIs+"## Objective\n"+long+"\n"+strings.Repeat("地層は語る", 30), "[]")
	tp.put(session.ItemReplaced{Item: session.Seq(2).Item(), Why: "repair"}, long)
	for _, w := range []int{40, 41, 57, 80} {
		for _, open := range []bool{false, true} {
			tr := newTranscript(plainLook(plainTime()))
			tr.add(tp.entries)
			tr.all = open
			shown := strings.Join(tr.view(w, 200), "\n")
			if n := strings.Count(shown, "語"); open && n != 30 || !open && strings.Count(shown, "more line") == 0 {
				t.Errorf("%d columns, %d of 30 characters, open %v:\n%s", w, n, open, shown)
			}
			for line := range strings.SplitSeq(shown, "\n") {
				for _, word := range strings.Fields(line) {
					if strings.ContainsAny(word, "sedmntarylig") && strings.Contains("sedimentary layering", word) && word != "sedimentary" && word != "layering" && len(word) > 2 {
						t.Errorf("%d columns: %q is cut in %q", w, word, line)
					}
				}
				if plain.Width(line) > w {
					t.Errorf("%d columns: %q", w, line)
				}
			}
		}
	}
}

// What was asked again says so itself, and nothing behind it does: not a later
// phase, and not a part that is asked for the first time.
func TestAttemptBelongsToItsUnit(t *testing.T) { // MR-12, TUI-8
	scene(t, func(s *stage) {
		for range 3 {
			s.a.put(session.ShellRan{}, "$ true")
		}
		c := s.summing("user", small)
		s.tries(c, 1, 1, small)
		g := s.a.put(session.StagingCreated{Version: 3, Compaction: c, N: 3, Segments: session.Text{B: 0}}, "[]")
		ask := func(purpose, unit string, n int) session.Seq {
			return s.a.put(session.RequestSent{Purpose: purpose, Compaction: c, Unit: unit, Attempt: n, Model: small})
		}
		fails := func(q session.Seq, class, kind string) {
			ev := session.ReplyRejected{Request: q, Class: class}
			if kind != "" {
				ev.Error = &session.ProviderError{Kind: kind, Retry: true}
			}
			s.a.put(ev)
		}
		mapped := func(i int, q session.Seq) {
			s.a.put(session.ReplyCompleted{Request: q, Finish: "natural"})
			s.a.put(session.StagingMapped{Staging: g, Ordinal: i, Request: q, Model: small}, "notes")
		}
		mapped(0, ask("map", "map/0", 1))
		fails(ask("map", "map/1", 1), "missing", "network")
		q := ask("map", "map/1", 2)
		s.now()
		s.sees("maps 1/3, 1 running · map 2 attempt 2", "the last attempt gave nothing: its answer was cut off on its way")
		s.lacks("could not be reached", "several attempts")
		mapped(1, q)
		q = ask("map", "map/2", 1)
		s.now()
		s.sees("maps 2/3, 1 running")
		s.lacks("attempt 2", "gave nothing")
		mapped(2, q)
		fails(ask("reduce", "reduce/1/0", 1), "unknown", "empty")
		q = ask("reduce", "reduce/1/0", 2)
		s.now()
		s.sees("putting 3 notes together · attempt 2", "gave nothing: its answer was empty")
		s.a.put(session.ReplyCompleted{Request: q, Finish: "natural"})
		cand := s.a.put(session.StagingReduced{Staging: g, Level: 1, Inputs: []int{0, 1, 2}, Final: true}, "## Objective")
		s.now()
		s.sees("checking it against its 3 notes, one request")
		s.lacks("attempt 2", "gave nothing")
		fails(ask("audit", "audit/0/0", 1), "error", "rate_limit")
		q = ask("audit", "audit/0/0", 2)
		s.now()
		s.sees("one request · attempt 2", "gave nothing: the provider is limiting requests")
		s.lacks("longer wait")
		s.a.put(session.ReplyCompleted{Request: q, Finish: "natural"})
		s.a.put(session.StagingAudited{Staging: g, Candidate: cand, Maps: []int{0, 1, 2}, Text: &session.Text{B: 0}}, "no")
		ask("correct", "correct/1", 1)
		s.now()
		s.sees("correcting it, 1 of 2")
		s.lacks("attempt 2", "gave nothing")
	})
}

// What a failed summary offers is done by one key, which writes nothing and stops
// nothing; the keys are the table's.
func TestOfferByOneKey(t *testing.T) { // SUM-4, TUI-7, TUI-12
	fails := func(s *stage) {
		s.works("Where is the greeting?")
		c := s.summing("trigger", tiny)
		s.a.put(session.SummarizerTried{Compaction: c, I: 1, N: 1, Model: tiny, Outcome: "spent", Why: "auth: Incorrect API key provided."})
		s.a.put(session.CompactionFailed{Compaction: c, Kind: "exhausted", Defers: true, Detail: &session.Text{B: 0}}, "acme/tiny: auth: Incorrect API key provided.")
		s.a.put(session.ToastPosted{
			Level: "warning", Code: "compaction.failed", About: c, Actions: []string{"retry", "models", "go_on"},
			Args: map[string]string{"kind": "exhausted", "detail": "acme/tiny: auth: Incorrect API key provided."},
		})
		s.now()
		s.sees("! Not summarized: the provider refused the key (Incorrect API key provided).",
			"That was acme/tiny, and nobody is left to ask.", "No summarization model is left. The conversation is as it was.")
		if n := strings.Count(s.screen(), "Incorrect API key"); n != 2 { // the conversation's line, and the notice
			t.Errorf("the reason stands there %d times:\n%s", n, s.screen())
		}
		s.commands()
	}
	const offer = "Alt+1 try again · Alt+2 Summarization models · Alt+3 go on without"
	scene(t, func(s *stage) {
		fails(s)
		s.sees(offer)
		s.press("go on")
		s.press("<alt+1>")
		s.wantCommands("drive.Compact{Focus:[]}")
		s.wantDraft("go on")
		s.lacks("Alt+1 try again")
	})
	scene(t, func(s *stage) {
		fails(s)
		s.press("<alt+3>")
		s.lacks("Alt+1 try again", "Not summarized")
		s.wantCommands("")
		s.press("<alt+3>")
		s.sees("No notice on the screen offers that")
	})
	scene(t, func(s *stage) {
		fails(s)
		s.press("<alt+2>")
		s.sees("Settings")
		s.wantCommands("")
	})
	scene(t, func(s *stage) { // the same again would be refused: what to keep is asked for (MR-11)
		s.works("Where is the greeting?")
		s.a.put(session.ToastPosted{Level: "warning", Code: "compaction.failed", Args: map[string]string{"kind": "stuck"}, Actions: []string{"focus", "models", "go_on"}})
		s.now()
		s.commands()
		s.sees("Alt+1 begin anew… · Alt+2 Summarization models")
		s.press("<alt+1>")
		s.sees("What is to be kept in particular?")
		s.press("the rules<enter>")
		s.wantCommands("drive.Compact{Focus:[116 104 101 32 114 117 108 101 115]}") // the rules
	})
	keys := map[string][]string{"summarize_again": {"f5"}, "summarize_without": {}}
	onStage(t, 80, 24, Options{Colors: colorprofile.NoTTY, Looks: setup.Appearance{Keys: keys}}, nil, func(s *stage) {
		fails(s)
		s.sees("F5 try again · Alt+2 Summarization models")
		s.press("<alt+1>")
		s.wantCommands("")
		s.press("<f5>")
		s.wantCommands("drive.Compact{Focus:[]}")
	})
}

// Where nothing summarizes by itself the screen says once that the window fills
// up, and again when it does again; the bar warns as long as it is so.
func TestUnattendedWindow(t *testing.T) { // CMP-3, TUI-6, TUI-7
	fill := func(s *stage, n int) {
		turn := s.a.say("go on")
		q := s.a.put(session.RequestSent{Purpose: "agent", Turn: turn, Attempt: 1, Model: s.a.ident.Model, Capacity: session.Capacity{N: 1000, Source: "setting"}})
		s.a.put(session.ReplyCompleted{Request: q, Finish: "natural", Usage: &session.Usage{Input: n}})
		s.a.put(session.TurnEnded{Turn: turn, Status: "completed"})
		s.now()
	}
	const says = "of the window, and nothing summarizes it by"
	disabled, standalone := "disabled", "standalone"
	scene(t, func(s *stage) {
		s.begun()
		s.a.put(session.SessionConfigured{PermissionMode: "ask", Compaction: session.Compaction{Mode: &disabled}})
		fill(s, 790)
		s.lacks(says)
		fill(s, 810)
		s.sees("! The conversation fills 81 % "+says, "context.compaction.mode is disabled. /compact does it now.")
		if ink := contextBar(s.state).ink; ink != inkWarn {
			t.Errorf("the bar is in %q", ink)
		}
		s.press("<alt+x>")
		fill(s, 850)
		s.lacks(says) // it was said
		fill(s, 300)
		fill(s, 900)
		s.sees("fills 90 % " + says)
	})
	scene(t, func(s *stage) {
		s.begun()
		s.a.put(session.SessionConfigured{PermissionMode: "ask", Compaction: session.Compaction{Mode: &standalone}})
		fill(s, 900)
		s.lacks(says)
	})
}
