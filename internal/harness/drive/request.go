package drive

import (
	"slices"
	"time"

	"varve/internal/session"
)

// Requests: one attempt is one job and one event (PRV-1). Spent attempts are
// in the log, so a kill forgets none.

// Bounds on what a request may cost in attempts and waiting (PRV-6).
const (
	MaxAttempts = 5
	MaxRetrying = 2 * time.Minute
	// LongestWait is the longest that a provider may ask us to wait; beyond
	// it the person decides.
	LongestWait = 60 * time.Second
)

func wantRequest(s session.State, t session.Turn) []Job {
	if !t.Assembled {
		return []Job{{ID: id(Discover, t.ID), Kind: Discover, Turn: t.ID}}
	}
	if p := s.Branch.Plan; p.At != 0 && !p.Shown && unfinished(p) {
		return []Job{{ID: id(ShowPlan, p.At), Kind: ShowPlan, Turn: t.ID, Plan: p.At}}
	}
	attempt := t.Failed + 1
	j := Job{Kind: Encode, Turn: t.ID, Revision: s.Branch.Head, Attempt: attempt}
	// Requests tells apart two requests of one revision, such as a resend
	// after a repair of the request itself.
	j.ID = id(Encode, t.ID) + "/" + idOf(s.Branch.Head, t.Requests)
	if t.Rejection != nil {
		j.NotBefore, _ = again(t)
		j.Bare = overBudget(*t.Rejection)
	}
	return []Job{j}
}

func unfinished(p session.Plan) bool {
	for _, it := range p.Items {
		if it.Status == "pending" || it.Status == "in_progress" {
			return true
		}
	}
	return false
}

// Encoded is what came of encoding a request: what is going to be sent.
type Encoded struct {
	Model       session.Model
	Endpoint    string
	Capacity    session.Capacity
	OutputLimit int
	SHA256      string
	Size        int64
	Shared      int64
	Whole       bool // it begins with all of the one before
	Recipe      []session.Step
	Literals    [][]byte
	Problem     *session.TurnError // it can't be made: why
	Reasoning   string             // Brief: what is asked of the summarizer
	Occupancy   session.Tokens     // Brief
}

func encoded(s session.State, j Job, r Result) []session.Fact {
	t := *s.Branch.Turn
	e := r.Request
	switch {
	case r.Fault != nil || e == nil:
		return failed(t, "internal", "encode")
	case e.Problem != nil:
		return failed(t, e.Problem.Kind, e.Problem.Hint)
	}
	if due(s, e.Capacity) {
		return facts(session.CompactionRequested{By: "trigger"})
	}
	ev := session.RequestSent{
		Job: j.ID, Purpose: "agent", Turn: t.ID, Attempt: j.Attempt,
		Model: e.Model, Endpoint: e.Endpoint, Reasoning: s.Branch.Reason, Revision: j.Revision,
		Capacity: e.Capacity, Occupancy: s.Occupancy(), OutputLimit: e.OutputLimit,
		SHA256: e.SHA256, Size: e.Size, Shared: e.Shared, Recipe: e.Recipe,
	}
	if s.Branch.Sent.Seq != 0 && !e.Whole {
		// PFX-1: a break has a cause from a closed list. One without is a
		// fault of ours, and says so.
		ev.Broke = s.Branch.Sent.Cut
		if ev.Broke == nil {
			ev.Broke = &session.Break{Cause: "unexplained"}
		}
	}
	f := session.Fact{Event: ev}
	for _, l := range e.Literals {
		f.Body = append(f.Body, session.Part{Bytes: l})
	}
	return []session.Fact{f}
}

// Reply is what came of one attempt, as facts and a body.
type Reply struct {
	Class     string
	RawFinish string
	Usage     *session.Usage
	Parts     []session.ReplyPart
	Body      []session.Part
	Partial   []byte // visible text so far
	Error     *session.ProviderError
	Message   []byte // the error's words
}

func replied(s session.State, env Env, j Job, r Result) []session.Fact {
	rep := r.Reply
	cancelled := s.Branch.Turn.Cancelled != ""
	if rep == nil {
		class := "error"
		if cancelled {
			class = "cancelled"
		}
		return facts(session.ReplyRejected{Request: j.Request, Class: class, Error: &session.ProviderError{Kind: "internal"}})
	}
	switch rep.Class {
	case "natural", "tool", "length", "unknown":
		if rep.Class == "length" || rep.Class == "unknown" {
			// Cut off: a call may be half of what was meant, and is never run.
			rep.Parts = slices.DeleteFunc(slices.Clone(rep.Parts), func(p session.ReplyPart) bool { return p.Call != nil })
		}
		// A whole reply is kept, also where Esc came a moment too late for it.
		if len(rep.Parts) > 0 {
			return []session.Fact{{
				Event: session.ReplyCompleted{Request: j.Request, Finish: rep.Class, RawFinish: rep.RawFinish, Usage: rep.Usage, Parts: rep.Parts},
				Body:  rep.Body,
			}}
		}
		if rep.Class != "length" {
			rep.Class = "empty"
		}
	}
	ev := session.ReplyRejected{Request: j.Request, Class: rep.Class, RawFinish: rep.RawFinish, Error: rep.Error, Usage: rep.Usage}
	var body []session.Part
	if cancelled && len(rep.Partial) > 0 {
		ev.Kept, ev.Text, ev.Tokens = true, &session.Text{B: 0}, session.Estimate(len(rep.Partial))
		body = append(body, session.Part{Bytes: rep.Partial})
	}
	if len(rep.Message) > 0 {
		if ev.Error == nil {
			ev.Error = &session.ProviderError{Kind: "unknown"}
		}
		ev.Error.Message = &session.Text{B: len(body)}
		body = append(body, session.Part{Bytes: rep.Message})
	}
	return []session.Fact{{Event: ev, Body: body}}
}

// rejected ends the turn when the last attempt failed for good. Where another
// is due, Want lists it.
func rejected(s session.State, env Env, t session.Turn) []session.Fact {
	if t.Rejection == nil || t.Open.Seq != 0 {
		return nil
	}
	if _, ok := again(t); ok {
		return nil
	}
	if recovers(s, t) {
		return facts(session.CompactionRequested{By: "overflow"})
	}
	kind := t.Rejection.Class
	if e := t.Rejection.Error; e != nil {
		kind = e.Kind
	}
	return failed(t, kind, t.Rejection.Class)
}

// overBudget reports that input and output limit together were too large: the
// request is sent once more without the limit (PRV-6).
func overBudget(r session.Rejection) bool {
	return r.Error != nil && r.Error.Kind == "context_length" && r.Error.Sub == "budget"
}

// again says when the next attempt may be made, or that there is none.
func again(t session.Turn) (time.Time, bool) {
	r := t.Rejection
	switch r.Class {
	case "lost":
		return time.Time{}, true // the program died, not the request
	case "empty", "length":
		return time.Time{}, t.Failed <= 1 // nothing in it: once more, at once
	case "missing", "stalled":
	case "error", "overflow":
		if overBudget(*r) {
			return time.Time{}, t.Failed <= 1
		}
		if r.Error == nil || !r.Error.Retry {
			return time.Time{}, false
		}
	default:
		return time.Time{}, false
	}
	if t.Failed >= MaxAttempts {
		return time.Time{}, false
	}
	at := r.Time.Add(backoff(t.Failed, r.At))
	if r.Error != nil && r.Error.NotBefore != "" {
		told, err := time.Parse(time.RFC3339Nano, r.Error.NotBefore)
		if err == nil {
			at = told
		}
		if at.Sub(r.Time) > LongestWait {
			return time.Time{}, false
		}
	}
	if at.Sub(t.FailedSince) > MaxRetrying {
		return time.Time{}, false
	}
	return at, true
}

// backoff waits 0.5 s, 1 s, 2 s … up to 8 s, less up to a quarter of it
// (wire.md §3.4). The jitter comes from the event's number: decisions are the
// same wherever they are made.
func backoff(failed int, at session.Seq) time.Duration {
	d := 500 * time.Millisecond << min(max(failed-1, 0), 4)
	jitter := time.Duration(uint64(at)*2654435761%1000) * d / 4000
	return d - jitter
}
