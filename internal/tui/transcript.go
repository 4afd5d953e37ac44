package tui

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"varve/internal/harness/drive"
	"varve/internal/session"
)

// What a transcript keeps of a long session. Older rows are dropped and can be
// fetched again, page by page.
const (
	keepRows  = 2000     // rows before the view
	keepText  = 16 << 20 // bytes of their texts
	keepLines = 20_000   // drawn lines
)

// A transcript is the conversation as rows, oldest first. A row is drawn once
// for a width and kept; a frame looks at the rows that are visible and at no
// other, so its cost does not depend on the length of the session (TUI-2).
//
//	transcript.go        what comes in: entries, pages, pulses, bodies
//	transcript_entry.go  entries to rows, whatever page they come with
//	transcript_link.go   what a row says because of its neighbours
//	transcript_row.go    one row; transcript_draw.go, diff.go its lines
//	transcript_change.go the file that a call changed; transcript_why.go why a call is asked about
//	transcript_view.go   what is visible, and scrolling
//	transcript_sum.go    the compaction that is under way, and what came of others
//	transcript_pick.go   what is under the pointer, and copies of it
//	transcript_read.go   the transcript as a screen: everything in full; transcript_search.go, _match.go
type transcript struct {
	look  look
	rows  []*row
	base  int    // the number of rows[0]
	live  []*row // what passes: drawn behind the rows, and taken back
	kept  int    // rows before the view that are kept
	since int    // rows that came since that was looked at
	first session.Seq
	last  session.Seq
	below session.Seq // an entry that was dropped before first, 0 for none
	whole bool        // nothing is older than first
	gaps  []Gap       // places of the file that can't be read

	calls  map[session.ItemID]*row   // also of calls that are on an older page
	queue  map[session.Seq]source    // words that wait, by entry
	said   map[session.Seq]*row      // messages whose words stand in an entry
	asked  map[session.Seq]*question // by the event that asked
	models []*row
	todo   todo
	tools  []*row // calls that print

	summing   summing              // the compaction that is under way
	summaries map[session.Seq]bool // requests to summarizers without an answer

	left   left
	awaits string // what a call says that waits for a person

	settled session.Seq // requests up to this one have their reply
	closed  session.Seq // turns up to this one are over

	width, height int
	all           bool // everything is unfolded
	gen           int  // drawn lines of another generation are old
	anchor        anchor
	reach
	now           time.Time // of the frame
	coloured      bool      // a document was given colours in this frame
	short         bool      // the view is not full
	cost, sweepAt int       // drawn lines that are kept, and how many are too many
	shown         []line
	out           []string
}

// A question is an approval that was asked for.
type question struct {
	call     session.ItemID
	answered bool
}

func newTranscript(l look) *transcript {
	return &transcript{
		look: l, left: newLeft(), awaits: waitsHere, kept: keepRows, gen: 1, sweepAt: keepLines,
		summaries: map[session.Seq]bool{}, calls: map[session.ItemID]*row{}, queue: map[session.Seq]source{}, said: map[session.Seq]*row{}, asked: map[session.Seq]*question{},
	}
}

// restyle draws everything anew, in another look.
func (t *transcript) restyle(l look) {
	l.sides = t.look.sides // as a key may have set it
	t.look = l
	t.gen++
	for _, r := range t.rows {
		r.doc = nil
	}
	for _, r := range t.live {
		r.doc, r.seen = nil, 0
	}
}

// add takes entries behind the last one. Those that are known are left out.
func (t *transcript) add(entries []session.Entry) {
	from := len(t.rows)
	for _, e := range entries {
		if e.Seq <= t.last {
			continue
		}
		if t.first == 0 {
			t.first = e.Seq
			t.whole = e.Seq == 1
		}
		if t.last != 0 {
			t.holes(t.last, e.Seq, &t.rows)
		}
		t.last = e.Seq
		t.entry(e, &t.rows)
		t.passed(e)
	}
	t.link(from, len(t.rows))
	t.retold()
	if t.since += len(t.rows) - from; t.since > t.kept/8 && !t.pinned {
		t.since = 0
		t.trim()
	}
}

// prepend takes entries before the first one, as they were asked for when
// wantsOlder said so. None means that the transcript is whole. The view stays
// where it is.
func (t *transcript) prepend(entries []session.Entry) {
	switch {
	case len(entries) == 0:
		t.whole = t.below == 0
		t.homed()
		return
	case entries[0].Seq >= t.first:
		return
	case entries[len(entries)-1].Seq < t.below:
		return // asked for before rows were dropped: there would be a hole
	}
	var older []*row
	before := entries[0].Seq
	for _, e := range entries {
		if e.Seq >= t.first {
			break
		}
		t.holes(before, e.Seq, &older)
		t.entry(e, &older)
		before = e.Seq
	}
	t.holes(before, t.first, &older)
	t.first, t.below = entries[0].Seq, 0
	t.whole = t.first == 1
	t.base -= len(older)
	t.rows = append(older, t.rows...)
	for i, r := range older {
		r.n = t.base + i
	}
	t.link(0, len(older)+linkReach)
	t.retold()
	t.homed()
}

// passed takes back what an entry makes untrue of what passes.
func (t *transcript) passed(e session.Entry) {
	switch ev := e.Event.(type) {
	case session.ReplyCompleted:
		t.settled = max(t.settled, ev.Request)
	case session.ReplyRejected:
		t.settled = max(t.settled, ev.Request)
	case session.TurnCancelled:
		t.closed = max(t.closed, ev.Turn)
	case session.TurnEnded:
		t.closed = max(t.closed, ev.Turn)
	default:
		return
	}
	t.live = slices.DeleteFunc(t.live, func(r *row) bool { return t.stale(r.pulse) })
}

// pulses replaces what passes.
func (t *transcript) pulses(ps []drive.Pulse) {
	kept := t.live[:0:0]
	tools := t.tools[:0:0]
	t.summing.pulses = t.summing.pulses[:0:0]
	for _, p := range ps {
		if ofCompaction(p.Job) {
			t.summing.pulses = append(t.summing.pulses, p)
			continue
		}
		if p.Kind == "tool" {
			if r := t.calls[p.Call]; r != nil && r.running(p) {
				tools = append(tools, r)
			}
			continue
		}
		if t.stale(p) || p.Kind == "waiting" && answering(ps, p.Job) {
			continue
		}
		r := t.passing(p.Job, p.Kind, p.Name)
		if r == nil {
			r = &row{kind: rowLive}
		}
		r.flow(p)
		kept = append(kept, r)
	}
	for _, r := range t.tools {
		if !slices.Contains(tools, r) {
			r.pulse = drive.Pulse{}
			r.forget()
		}
	}
	if r := t.summing.show(); r != nil {
		kept = append(kept, r)
	}
	t.live, t.tools = kept, tools
}

// answering reports whether something of a job's answer has come.
func answering(ps []drive.Pulse, job string) bool {
	return slices.ContainsFunc(ps, func(p drive.Pulse) bool { return p.Job == job && p.Kind != "waiting" })
}

// passing is the live row of a pulse, nil if there is none.
func (t *transcript) passing(job, kind, name string) *row {
	for _, r := range t.live {
		if r.pulse.Job == job && r.pulse.Kind == kind && r.pulse.Name == name {
			return r
		}
	}
	return nil
}

// stale reports whether a pulse is of something that the log says is over: its
// mailbox is emptied a moment later.
func (t *transcript) stale(p drive.Pulse) bool {
	kind, of, _ := strings.Cut(p.Job, ":")
	of, _, _ = strings.Cut(of, "/")
	q, err := strconv.ParseUint(of, 10, 64)
	switch {
	case err != nil:
		return false
	case kind == string(drive.Send):
		return session.Seq(q) <= t.settled
	case kind == string(drive.Encode):
		return session.Seq(q) <= t.closed
	}
	return false
}

// sendJob names the attempt whose pulses belong to a request.
func sendJob(request session.Seq) string {
	return string(drive.Send) + ":" + strconv.FormatUint(uint64(request), 10)
}

// trim drops rows that are far before the view.
func (t *transcript) trim() {
	top := len(t.rows)
	if t.anchor.fixed {
		if i := t.index(t.anchor.row); i >= 0 {
			top = min(i, top)
		}
	}
	cut, size := max(top-t.kept, 0), 0
	for i := top - 1; i >= cut; i-- {
		if size += t.rows[i].size(); size > keepText && top-i > t.kept/10 {
			cut = i
		}
	}
	for cut > 0 && cut < len(t.rows) && t.rows[cut].at == t.rows[cut-1].at {
		cut-- // an entry's rows stay together
	}
	if cut == 0 || cut == len(t.rows) {
		return
	}
	t.first, t.below, t.whole = t.rows[cut].at, t.rows[cut-1].at, false
	for _, r := range t.rows[:cut] {
		t.drop(r)
	}
	t.rows = append([]*row(nil), t.rows[cut:]...)
	t.base += cut
}

// drop forgets a row that is before first.
func (t *transcript) drop(r *row) {
	t.cost -= len(r.drawn)
	t.left.drop(r)
	switch r.kind {
	case rowUser:
		if t.said[r.entry] == r {
			delete(t.said, r.entry)
		}
	case rowModel:
		t.models = slices.DeleteFunc(t.models, func(m *row) bool { return m == r })
	case rowCall:
		if r.moved < t.first && slices.Max(r.facts[:]) < t.first {
			delete(t.calls, r.item)
			return
		}
		// What came of it stands behind first, and is not told again.
		r.src, r.doc, r.drawn = source{}, nil, nil
	}
}

// A want is a body entry that stands in the content store, or on an older
// page.
type want struct {
	at session.Seq
	b  int
}

// wants lists what visible rows need, each once. Answer with give.
func (t *transcript) wants() []want {
	var out []want
	for q, s := range t.queue {
		if s.missing && !s.asked {
			s.asked = true
			t.queue[q] = s
			out = append(out, want{s.at, s.b})
		}
	}
	ask := func(s *source) {
		if s.missing && !s.asked {
			s.asked = true
			out = append(out, want{s.at, s.b})
		}
	}
	for i := range t.todo.words {
		ask(&t.todo.words[i])
	}
	for _, r := range t.sought {
		for _, s := range r.sources() {
			ask(s)
		}
	}
	for _, l := range t.shown {
		for _, s := range l.row.sources() {
			ask(s)
		}
	}
	return out
}

// lacking reports whether visible rows need what was not asked for yet.
func (t *transcript) lacking() bool {
	var seen *row
	for _, l := range t.shown {
		if l.row != seen && slices.ContainsFunc(l.row.sources(), func(s *source) bool { return s.missing && !s.asked }) {
			return true
		}
		seen = l.row
	}
	return false
}

// give delivers a body entry.
func (t *transcript) give(w want, b []byte, err error) {
	t.todo.give(w, b, err)
	for q, s := range t.queue {
		if s.give(w, b, err, false) {
			t.queue[q] = s
		}
	}
	for _, r := range t.rows {
		if r.src.give(w, b, err, r.kind == rowCall) {
			r.retext()
		}
		if r.out.give(w, b, err, false) {
			r.forget()
		}
		if c := r.sides; c != nil {
			before, after := c.before.give(w, b, err, true), c.after.give(w, b, err, true)
			if before || after {
				r.forget()
			}
		}
	}
}
