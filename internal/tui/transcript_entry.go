package tui

import (
	"fmt"
	"time"

	"varve/internal/harness/drive"
	"varve/internal/session"
	"varve/internal/tui/plain"
	"varve/internal/words"
)

// entry makes rows of an entry, or changes the row that it is about. Pages come
// from the newest to the oldest, so an entry may be about a row that came
// before it, or that will come later.
func (t *transcript) entry(e session.Entry, rows *[]*row) {
	put := func(r *row) {
		r.at, r.n = e.Seq, t.base+len(*rows)
		*rows = append(*rows, r)
	}
	t.leaves(e)
	switch ev := e.Event.(type) {
	case session.InputQueued:
		t.waits(e.Seq, readPart(e, ev.Text.B))
	case session.InputEdited:
		t.waits(ev.Entry, readPart(e, ev.Text.B))
	case session.InputRemoved:
		delete(t.queue, ev.Entry)
	case session.UserSaid:
		put(t.userSaid(e, ev))
	case session.ShellRan:
		r := &row{kind: rowShell, item: e.Seq.Item(), src: readPart(e, ev.Text.B)}
		put(r)
		t.shellEnded(e.Seq, r.src)
	case session.ToastPosted:
		if ev.Code == "shell.started" {
			put(t.shellBegan(e, ev))
		}
	case session.ReplyCompleted:
		t.reply(e, ev, put)
	case session.ReplyRejected:
		t.rejected(e, ev, put)
	case session.CheckpointCommitted:
		put(&row{kind: rowCheckpoint, item: e.Seq.Item(), event: ev, ink: inkDim, src: readPart(e, ev.Text.B)})
	case session.RequestSent:
		t.asksSummary(e.Seq, ev)
	case session.CompactionRequested:
		if ev.Focus != nil {
			t.summing.focus = readPart(e, ev.Focus.B)
		}
	case session.CompactionStarted:
		t.summing.since(e)
	case session.ModelChosen:
		r := &row{kind: rowModel, event: ev, ink: inkDim, hidden: true, head: modelWords(ev)}
		put(r)
		t.chosen(r)
	case session.RunStarted:
		t.summing.taken(e)
	case session.RunEnded:
		if ev.How == "lost" {
			put(&row{kind: rowLost, ink: inkWarn, head: lostWords("")})
		}
	case session.TurnEnded:
		if ev.Status != "completed" {
			put(&row{kind: rowEnded, event: ev, ink: inkError})
		}
	case session.FaultRecorded:
		put(&row{
			kind: rowFault, event: ev, ink: inkError, src: readPart(e, ev.Text.B),
			head: fmt.Sprintf("A fault was caught and recorded (%s, %s).", plain.Clean(ev.Where), plain.Clean(ev.Kind)),
		})
	default:
		t.toolEntry(e, put)
	}
}

// toolEntry is entry for calls, files and what is merely noted.
func (t *transcript) toolEntry(e session.Entry, put func(*row)) {
	switch ev := e.Event.(type) {
	case session.CallJudged:
		t.moves(e, ev.Call, func(r *row) { r.asking = ev.Verdict == "ask" })
		t.about(e, ev.Call, factWhy, func(r *row) { r.asks = reasonOf(e, ev) })
	case session.ApprovalRequested:
		q := t.question(e.Seq)
		q.call = ev.Call
		t.moves(e, ev.Call, func(r *row) { r.asking = !q.answered })
	case session.ApprovalAnswered:
		q := t.question(ev.Request)
		q.answered = true
		if !q.call.IsZero() {
			t.moves(e, q.call, func(r *row) { r.asking = false })
			delete(t.asked, ev.Request)
		}
	case session.ToolStarted:
		t.moves(e, ev.Call, func(r *row) {
			r.state, r.began, r.asking = callRunning, e.At, false
			t.callBegan(r)
		})
	case session.ToolFinished:
		t.moves(e, ev.Call, func(r *row) {
			r.state = callDone
			if ev.IsError {
				r.state = callFailed
			}
			r.ends(readPart(e, ev.Text.B), ev.DurationMS)
			r.exit, r.signal, r.left = ev.Exit, ev.Signal, ev.LeftOut.Lines
		})
	case session.ToolInterrupted:
		t.moves(e, ev.Call, func(r *row) {
			r.state, r.why = callStopped, ev.Why
			if ev.Why == "denied" {
				r.state = callDenied
			}
			r.ends(readPart(e, ev.Text.B), 0)
		})
	case session.PlanChanged:
		plan := tasksOf(e, ev)
		t.planned(e.Seq, plan)
		if ev.By != "model" || ev.AfterItem == nil || ev.AfterItem.IsZero() {
			put(&row{kind: rowNotice, ink: inkDim, head: "The plan was changed.", toolRow: toolRow{plan: plan, planned: true}})
			return
		}
		t.about(e, *ev.AfterItem, factPlan, func(r *row) { r.plan, r.planned = plan, true })
	case session.FilesChanged:
		files := changesOf(e, ev)
		if ev.Call.IsZero() {
			put(&row{kind: rowNotice, ink: inkDim, head: changedWords(ev), toolRow: toolRow{files: files}})
			return
		}
		t.about(e, ev.Call, factFiles, func(r *row) { r.files, r.sides = files, sidesOf(e, files) })
	case session.JobStarted:
		t.about(e, ev.Call, factJob, func(r *row) { r.job = plain.Clean(ev.Job) })
	case session.JobEnded:
		r := noted(e)
		put(r)
		if ev.Why == "lost" {
			t.jobLost(r, ev.Job)
		}
	default:
		if r := noted(e); r != nil {
			put(r)
		}
	}
}

// waits keeps the words of an entry until it is said, or gives them to the
// message that is on a newer page.
func (t *transcript) waits(entry session.Seq, s source) {
	if r := t.said[entry]; r != nil {
		if s.at >= r.src.at {
			r.src = s
			r.retext()
		}
		return
	}
	if t.queue[entry].at <= s.at {
		t.queue[entry] = s
	}
}

func (t *transcript) userSaid(e session.Entry, ev session.UserSaid) *row {
	r := &row{kind: rowUser, item: e.Seq.Item(), entry: ev.Entry}
	switch s, ok := t.queue[ev.Entry]; {
	case ev.Text != nil:
		r.src = readPart(e, ev.Text.B)
	case ok:
		r.src = s
	default:
		r.src = source{at: ev.Entry, missing: true}
	}
	if ev.Entry != 0 {
		delete(t.queue, ev.Entry)
		t.said[ev.Entry] = r
	}
	if ev.Via == "steer" {
		r.mark = "sent while it worked"
	}
	for _, m := range ev.Media {
		r.media = append(r.media, plain.Clean(m.Handle))
	}
	return r
}

// reply makes a row of each part of an answer. What was shown while it came is
// the same row.
func (t *transcript) reply(e session.Entry, ev session.ReplyCompleted, put func(*row)) {
	if t.summaries[ev.Request] {
		delete(t.summaries, ev.Request)
		return
	}
	parts, err := e.Parts()
	job := sendJob(ev.Request)
	for i, p := range ev.Parts {
		var b session.Part
		partErr := err
		if partErr == nil && p.B >= 0 && p.B < len(parts) {
			b = parts[p.B]
		} else if partErr == nil {
			partErr = fmt.Errorf("body has no entry %d", p.B)
		}
		src := sourceOf(e.Seq, p.B, b, partErr)
		id := session.ItemID{Seq: e.Seq, Part: i + 1}
		var r *row
		switch session.ItemKind(p.Kind) {
		case session.AssistantItem:
			r = t.arrived(job, "text", "", rowAssistant)
			r.finish(src.text)
			r.src = src.clean()
		case session.ReasoningItem:
			r = t.arrived(job, "reasoning", "", rowReasoning)
			r.src = src.clean()
		case session.CallItem:
			name := ""
			if p.Call != nil {
				name = p.Call.Name
			}
			if r = t.calls[id]; r == nil {
				r = t.arrived(job, "call", name, rowCall)
			}
			t.calls[id] = r
			r.name, r.src = plain.Clean(name), src
		default:
			continue
		}
		if r.pulse.Kind != "tool" {
			r.pulse = drive.Pulse{}
		}
		r.item, r.seen = id, 0
		r.forget()
		put(r)
	}
}

// rejected is the text that is kept of an attempt, or the attempt.
func (t *transcript) rejected(e session.Entry, ev session.ReplyRejected, put func(*row)) {
	if ev.Kept && ev.Text != nil {
		r := t.arrived(sendJob(ev.Request), "text", "", rowAssistant)
		p, err := e.Part(ev.Text.B)
		src := sourceOf(e.Seq, ev.Text.B, p, err)
		r.finish(src.text)
		r.src, r.item, r.mark, r.seen, r.pulse = src.clean(), e.Seq.Item(), "interrupted", 0, drive.Pulse{}
		put(r)
		return
	}
	if ev.Class == "cancelled" || t.summaries[ev.Request] {
		delete(t.summaries, ev.Request) // what comes of it is said by the compaction
		return
	}
	r := &row{kind: rowTry, event: ev, ink: inkDim, hidden: true}
	if ev.Error != nil && ev.Error.Message != nil {
		r.src = readPart(e, ev.Error.Message.B)
	}
	put(r)
}

// arrived takes a live row out, to be a row of kind k; where there is none, it
// makes one.
func (t *transcript) arrived(job, pulse, name string, k rowKind) *row {
	for i, r := range t.live {
		if r.pulse.Job == job && r.pulse.Kind == pulse && (pulse != "call" || r.pulse.Name == name) {
			t.live = append(t.live[:i:i], t.live[i+1:]...)
			r.becomes(k)
			return r
		}
	}
	return &row{kind: k}
}

// call is the row of a call. Where it is on an older page, the row waits for
// its place.
func (t *transcript) call(id session.ItemID) *row {
	r := t.calls[id]
	if r == nil {
		r = &row{kind: rowCall, item: id}
		t.calls[id] = r
	}
	return r
}

// moves changes where a call stands, unless something newer did.
func (t *transcript) moves(e session.Entry, id session.ItemID, f func(*row)) {
	if r := t.call(id); e.Seq > r.moved {
		r.moved = e.Seq
		f(r)
		r.forget()
	}
}

// about notes a fact about a call, unless it has a newer one of that kind.
func (t *transcript) about(e session.Entry, id session.ItemID, kind int, f func(*row)) {
	if r := t.call(id); e.Seq > r.facts[kind] {
		r.facts[kind] = e.Seq
		f(r)
		r.forget()
	}
}

// Kinds of facts about a call.
const (
	factPlan = iota
	factFiles
	factJob
	factWhy
	facts
)

func (t *transcript) question(q session.Seq) *question {
	if t.asked[q] == nil {
		t.asked[q] = &question{}
	}
	return t.asked[q]
}

// ends takes a call's result.
func (r *row) ends(out source, ms int64) {
	r.out, r.took, r.asking = out, time.Duration(ms)*time.Millisecond, false
	r.pulse = drive.Pulse{}
}

func tasksOf(e session.Entry, ev session.PlanChanged) []planTask {
	parts, err := e.Parts()
	if err != nil {
		return []planTask{{"", "the words of the plan can't be read: " + words.OneLine(err.Error())}}
	}
	var out []planTask
	for _, it := range ev.Items {
		k := planTask{status: it.Status, text: it.ID}
		if it.Content >= 0 && it.Content < len(parts) {
			k.text = plain.Clean(words.OneLine(string(parts[it.Content].Bytes)))
		}
		out = append(out, k)
	}
	return out
}

// noted is the row of what is merely said.
func noted(e session.Entry) *row {
	r := &row{kind: rowNotice, ink: inkDim}
	switch ev := e.Event.(type) {
	case session.JobEnded:
		r.head = fmt.Sprintf("Background job %s ended: %s.", ev.Job, jobEnd(ev))
		r.text(e, ev.Text)
	case session.LogRepaired:
		r.ink, r.head = inkWarn, repairWords(ev)
	case session.SessionPurged:
		r.ink, r.head = inkWarn, fmt.Sprintf("%s removed from this session by a purge.", words.Count(len(ev.Removed), "event"))
	case session.PermissionChanged:
		switch ev.Op {
		case "mode":
			r.hidden = true // the status line says it
		case "granted":
			r.head = "Allowed from now on: " + ev.Rule
		case "revoked":
			r.head = "No longer allowed: " + ev.Rule
		}
	case session.BranchReverted:
		r.ink, r.head = inkWarn, "Went back: what follows goes on from an earlier message."
		r.text(e, &ev.Preview)
	case session.BranchRolledBack:
		r.ink, r.head = inkWarn, ev.Label+" was taken back: this is as it was before."
	case session.BranchCreated:
		r.head = "Branch " + ev.Name + " begins here (" + ev.Purpose + ")."
	case session.CompactionFailed, session.SummarizerTried, session.HandoffRejected:
		r.ink, r.head = summaryNote(e)
	case session.ItemReplaced:
		if ev.Why == "redact" {
			r.ink, r.head = inkWarn, "Item "+ev.Item.String()+" was redacted: the model no longer sees it."
		} else {
			r.head = "Item " + ev.Item.String() + " was replaced: the model sees this in its place."
			r.text(e, &ev.Text)
		}
	case session.MediaNoted:
		r.head = fmt.Sprintf("%s left out of what is sent (%s).", words.Count(len(ev.Items), "attachment"), ev.Why)
	case session.HookRan:
		if ev.Blocked {
			r.ink, r.head = inkWarn, "Hook "+ev.Hook+" refused this ("+ev.On+")."
			r.text(e, ev.Text)
		}
	case session.RestoreFinished:
		return restored(e, ev)
	}
	if r.head == "" {
		return nil
	}
	r.head = plain.Clean(r.head)
	return r
}

// text takes a text that may be absent.
func (r *row) text(e session.Entry, at *session.Text) {
	if at != nil {
		r.src = readPart(e, at.B)
	}
}
