package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"varve/internal/harness/drive"
	"varve/internal/session"
	"varve/internal/tui/plain"
	"varve/internal/words"
)

// How much of a summary is shown while it comes, and folded, in lines.
const (
	foldSumming = 6
	foldSummary = 6
)

// A summing is the compaction that waits or is under way: what the log says of
// it, and what passes (TUI-8).
type summing struct {
	branch session.Branch
	focus  source // of the newest that was asked for with one
	at     session.Seq
	began  time.Time // of the compaction at
	run    session.Seq
	took   time.Time // when the run began
	pulses []drive.Pulse
	here   bool // this process works on it, and can stop it
	lives  bool // a process does
	row    *row
}

// compacting reports whether a compaction waits or is under way.
func compacting(s session.State) bool { return s.Branch.Compaction != nil || s.Branch.Asked != nil }

// ofCompaction reports whether a job is a compaction's.
func ofCompaction(job string) bool {
	kind, _, _ := strings.Cut(job, ":")
	switch drive.Kind(kind) {
	case drive.Prepare, drive.Pack, drive.Brief, drive.Ask, drive.Commit:
		return true
	}
	return false
}

// compacts takes over where the branch's compaction stands, and whether this
// process or another one works on it.
func (t *transcript) compacts(b session.Branch, here, there bool) {
	t.summing.here, t.summing.lives = here && !there, here || there
	t.summing.branch = session.Branch{Asked: b.Asked, Compaction: b.Compaction, Staging: b.Staging, Turn: b.Turn}
}

func (s *summing) since(e session.Entry) {
	if e.Seq > s.at {
		s.at, s.began = e.Seq, e.At
	}
}

// taken notes that a run takes up what was left: what passed before is nobody's time.
func (s *summing) taken(e session.Entry) {
	if e.Seq > s.run {
		s.run, s.took = e.Seq, e.At
	}
}

// asksSummary notes a request that is a summarizer's: its end is no part of the
// conversation. One whose end is on a newer page takes that one's row back.
func (t *transcript) asksSummary(q session.Seq, ev session.RequestSent) {
	if ev.Compaction == 0 {
		return
	}
	t.summaries[q] = true
	if q >= t.first {
		return
	}
	for _, r := range t.rows[:min(len(t.rows), 100)] {
		if x, ok := r.event.(session.ReplyRejected); ok && x.Request == q {
			r.kind, r.head, r.hidden = rowNotice, "", true
			r.forget()
		}
	}
}

// show is the row of the box, or nil.
func (s *summing) show() *row {
	phase, _ := words.Compacting(s.branch, 0)
	if phase == "" || !s.lives {
		s.row = nil
		return nil
	}
	if s.row == nil {
		s.row = &row{kind: rowLive, sum: s}
	}
	p := drive.Pulse{Kind: "summary", Text: s.text()}
	if c := s.branch.Compaction; c != nil && c.At == s.at {
		if p.Began = s.began; s.run > s.at {
			p.Began = s.took
		}
	}
	s.row.pulse = p
	s.row.forget()
	return s.row
}

// text is what came of the attempt that is made now: never of two (FIN-4).
func (s *summing) text() []byte {
	c := s.branch.Compaction
	if c == nil {
		return nil
	}
	for _, p := range slices.Backward(s.pulses) {
		q, err := strconv.ParseUint(strings.TrimPrefix(p.Job, string(drive.Ask)+":"), 10, 64)
		open := slices.ContainsFunc(c.Open, func(a session.Asking) bool { return a.Seq == session.Seq(q) })
		if p.Kind == "text" && err == nil && open {
			return p.Text
		}
	}
	return nil
}

// waits says that a compaction waits for the end of what runs, or "".
func (s *summing) waits(esc string) string {
	a := s.branch.Asked
	if (a != nil || s.branch.Compaction != nil) && !s.lives {
		return "a summary was left open: /compact or a message goes on with it; " + esc + " ends it"
	}
	if a == nil || s.branch.Compaction != nil || s.branch.Turn == nil || a.By != "user" {
		return ""
	}
	about := ""
	if a.Focus != nil && s.focus.at == a.At && !s.focus.missing && s.focus.broken == "" {
		about = " (" + plain.Clean(words.OneLine(s.focus.text)) + ")"
	}
	return "queued: summarize the conversation" + about + ", after what runs now; " + esc + " takes it back"
}

// lines draw the box: a rule above and one below, and nothing at the sides, so
// that what is copied has no border.
func (s *summing) lines(w, h int, l look, open bool, now time.Time) []string {
	b := s.branch
	phase, who := words.Compacting(b, drive.Compared(b))
	title := "Summarizing the conversation"
	by := ""
	if c := b.Compaction; c != nil {
		by = c.Asked.By
	} else if b.Asked != nil {
		by = b.Asked.By
	}
	if p := s.row.pulse; !p.Began.IsZero() {
		title += " · " + seconds(now.Sub(p.Began))
	}
	switch by {
	case "trigger":
		title += " · the window fills up"
	case "overflow":
		title += " · the request was too long"
	}
	out := []string{rule(title, w, l)}
	says := phase
	if who != "" {
		says = plain.Clean(who) + " · " + phase
	}
	if unit, t, ok := words.Again(b); ok {
		says += " · " + strings.TrimSpace(fmt.Sprintf("%s attempt %d", unit, t.N+1))
	}
	out = append(out, wrapInk(says, "  ", w, l, inkAccent)...)
	if wait := s.wait(now); wait != "" {
		out = append(out, wrapInk(wait, "  ", w, l, inkWarn)...)
	}
	if text := strings.TrimSpace(tailText(s.row.pulse.Text, 8000)); text != "" {
		lines := plain.Wrap(text, w-2)
		if !open {
			most := min(foldSumming, max(h-len(out)-3, 1)) // the rule above stays in the view
			lines = lines[max(len(lines)-most, 0):]
		}
		for _, x := range lines {
			out = append(out, l.ink(inkDim, "  "+x))
		}
	}
	foot := ""
	switch {
	case s.here && b.Turn != nil:
		foot = "Esc stops it, the turn goes on"
	case s.here:
		foot = "Esc stops it"
	}
	return append(out, rule(foot, w, l))
}

// wait says what the last attempt came to, and when the next is made.
func (s *summing) wait(now time.Time) string {
	_, t, ok := words.Again(s.branch)
	if !ok {
		return ""
	}
	says := "the last attempt gave nothing: " + words.Attempted(t)
	for _, p := range s.pulses {
		if left := p.Until.Sub(now); p.Kind == "retry" && left > 0 {
			says += fmt.Sprintf("; the next in %d s", int((left+time.Second-1)/time.Second))
		}
	}
	return says
}

// rule is a line with a sentence in it.
func rule(s string, w int, l look) string {
	if s == "" {
		return l.ink(inkDim, strings.Repeat("─", w))
	}
	s = plain.Truncate(s, max(w-6, 8))
	return l.ink(inkDim, "── "+s+" "+strings.Repeat("─", max(w-4-plain.Width(s), 0)))
}

// checkpointTitle and checkpointNotes are what stands above a summary's text.
func checkpointTitle(ev session.CheckpointCommitted) string {
	return fmt.Sprintf("Summarized: %s → %s tokens", words.Tokens(ev.Before), words.Tokens(ev.After))
}

func checkpointNotes(ev session.CheckpointCommitted) string {
	notes := "For the model it stands in place of messages and results above; here they stay readable."
	if len(ev.Stale) > 0 {
		notes += " Changed since they were read: " + strings.Join(ev.Stale, ", ") + "."
	}
	if len(ev.ToolsGone) > 0 {
		notes += " Tools that are gone: " + strings.Join(ev.ToolsGone, ", ") + "."
	}
	return notes
}

// drawCheckpoint is a summary that stands for what is above it: its sizes, what
// it covers, and its text, which folds (CMP-12).
func (r *row) drawCheckpoint(w int, l look, open bool) []string {
	ev, _ := r.event.(session.CheckpointCommitted)
	out := []string{rule(checkpointTitle(ev), w, l)}
	out = append(out, wrapInk(checkpointNotes(ev), "  ", w, l, inkDim)...)
	switch {
	case ev.Kind == "native":
		out = append(out, wrapInk("The summary is the provider's own, and can't be read here.", "  ", w, l, inkDim)...)
	case r.src.broken != "":
		out = append(out, trouble(r.src, w, l))
	case r.src.missing:
		out = append(out, l.ink(inkDim, "  "+r.src.pending()))
	default:
		out = append(out, foldProse(session.Handoff(r.src.text), w, l, open, foldSummary)...)
	}
	return append(out, rule("", w, l))
}

// foldProse is the first lines of a text for people, and how many more there are:
// it breaks between words.
func foldProse(text string, w int, l look, open bool, most int) []string {
	if text = strings.TrimRight(text, "\n"); text == "" {
		return nil
	}
	lines := plain.Wrap(plain.Clean(text), w-2)
	more := 0
	if !open && len(lines) > most {
		more = len(lines) - most + 1
		lines = lines[:most-1]
	}
	var out []string
	for _, x := range lines {
		out = append(out, l.ink(inkDim, "  "+x))
	}
	if more > 0 {
		out = append(out, moreLines(more, "more line", w, l))
	}
	return out
}

// summaryNote says what became of a compaction, or of a model in it.
func summaryNote(e session.Entry) (ink, head string) {
	switch ev := e.Event.(type) {
	case session.CompactionFailed:
		detail := ""
		if ev.Detail != nil {
			if p, err := e.Part(ev.Detail.B); err == nil && p.Ref == nil {
				detail = string(p.Bytes)
			}
		}
		if ev.Kind == "cancelled" || ev.Kind == "superseded" {
			return inkDim, words.CompactionOver(ev.Kind, detail, ev.Kept)
		}
		return inkWarn, words.CompactionOver(ev.Kind, detail, ev.Kept)
	case session.SummarizerTried:
		return inkDim, words.Tried(ev)
	case session.HandoffRejected:
		return inkDim, words.Rejected(ev)
	}
	return inkDim, ""
}
