package drive

import (
	"fmt"

	"varve/internal/session"
)

// Tool calls: judged, approved, started, finished (TOOL, PERM).

func idOf(head session.Seq, n int) string { return fmt.Sprintf("%d.%d", head, n) }

// wantCalls judges a call when nothing before it can change what it would do:
// a diff is shown against the file as it will be found. Calls that only read
// change nothing, and are judged side by side.
func wantCalls(t session.Turn) []Job {
	var jobs []Job
	alone := true // nothing before it is still open
	for _, c := range t.Calls {
		switch {
		case c.Done:
			continue
		case !c.Judged && !c.Beside && !alone:
			return jobs
		case !c.Judged:
			jobs = append(jobs, Job{ID: id(Judge, c.ID), Kind: Judge, Turn: t.ID, Call: c.ID})
		case c.Started:
			jobs = append(jobs, Job{ID: toolID(c.ID), Kind: Tool, Turn: t.ID, Call: c.ID})
		}
		if !c.Beside {
			return jobs
		}
		alone = false
	}
	return jobs
}

// Verdict is what judging a call found. Broken is set where the call can't
// run at all: its result is the reason.
type Verdict struct {
	Verdict string // allow, ask, deny
	Rule    string
	Why     string // for the model, with deny; for the person, with ask
	Effects []string
	Beside  bool
	Paths   []byte // JSON
	What    string // command, diff, fetch, question
	Shown   []byte
	SHA256  string // of Shown
	Broken  *Output
}

func judged(s session.State, env Env, j Job, r Result) []session.Fact {
	v := r.Verdict
	if v == nil {
		v = &Verdict{Broken: &Output{IsError: true, Text: []byte("This call could not be read because of a fault in the program itself.")}}
	}
	if v.Broken != nil {
		return finished(j.Call, *v.Broken)
	}
	ev := session.CallJudged{Call: j.Call, Verdict: v.Verdict, Rule: v.Rule, Effects: v.Effects, Beside: v.Beside, ShownSHA256: v.SHA256}
	f := session.Fact{Event: ev}
	if len(v.Paths) > 0 {
		ev.Paths = &session.Text{B: 0, MediaType: "application/json"}
		f = session.Fact{Event: ev, Body: []session.Part{{Bytes: v.Paths}}}
	}
	out := []session.Fact{f}
	switch v.Verdict {
	case "deny":
		out = append(out, told(j.Call, "denied", v.Why))
	case "ask":
		if !env.Interactive {
			return append(out, told(j.Call, "denied", wordsHeadless+v.Why))
		}
		out = append(out, text(session.ApprovalRequested{Call: j.Call, What: v.What, ShownSHA256: v.SHA256}, v.Shown))
	}
	return out
}

// settleCalls starts the calls that may run now: reads run side by side,
// everything else alone and in the order of the reply (TOOL-6).
func settleCalls(s session.State, env Env, t session.Turn) []session.Fact {
	var out []session.Fact
	alone := true // nothing before it is still open
	for _, c := range t.Calls {
		if c.Done {
			continue
		}
		cleared := c.Verdict == "allow" || c.Answer == "once" || c.Answer == "run" || c.Answer == "always"
		if !c.Judged || !cleared {
			if c.Judged && c.Beside {
				alone = false
				continue
			}
			return out
		}
		if !c.Beside && !alone {
			return out
		}
		if !c.Started {
			out = append(out, facts(session.ToolStarted{Call: c.ID, Run: env.Run, Effects: c.Effects})...)
		}
		if !c.Beside {
			return out
		}
		alone = false
	}
	return out
}

// Output is what running a call gave.
type Output struct {
	IsError     bool
	Exit        *int
	Signal      string
	DurationMS  int64
	LeftOut     session.LeftOut
	Full        *session.Part // the whole captured output, where some was left out
	Text        []byte        // what the model gets
	Media       []Medium      // what Text names
	Interrupted string        // user, timeout: it did not run to its end
	Watched     bool          // of a command: all that it changed of the watched files is recorded
	Plan        *session.PlanChanged
	PlanBody    []session.Part
}

// Medium is a picture or document that is in the content store already.
type Medium struct {
	Handle string
	Ref    session.Ref
}

func toolRan(s session.State, j Job, r Result) []session.Fact {
	cancelled := s.Branch.Turn.Cancelled != ""
	o := r.Output
	switch {
	case o == nil && cancelled:
		return []session.Fact{told(j.Call, "user", wordsCut)}
	case o == nil:
		return finished(j.Call, Output{IsError: true, Text: []byte("The tool broke: a fault in the program itself, which was recorded.")})
	case o.Interrupted != "":
		why := o.Interrupted
		if cancelled {
			why = "user"
		}
		words := wordsCut
		if len(o.Text) > 0 {
			words = string(o.Text)
		}
		f := told(j.Call, why, words)
		ev := f.Event.(session.ToolInterrupted)
		ev.Watched = o.Watched
		f.Event = ev
		return []session.Fact{f}
	}
	var out []session.Fact
	if o.Plan != nil {
		p := *o.Plan
		after := j.Call
		p.AfterItem, p.By = &after, "model"
		out = append(out, session.Fact{Event: p, Body: o.PlanBody})
	}
	return append(out, finished(j.Call, *o)...)
}

func finished(call session.ItemID, o Output) []session.Fact {
	ev := session.ToolFinished{
		Call: call, IsError: o.IsError, Exit: o.Exit, Signal: o.Signal, DurationMS: o.DurationMS,
		LeftOut: o.LeftOut, Watched: o.Watched, Tokens: session.Estimate(len(o.Text)),
	}
	body := []session.Part{{Bytes: o.Text}}
	if o.Full != nil {
		ev.Full = &session.Text{B: 1, MediaType: "text/plain"}
		body = append(body, *o.Full)
	}
	for _, m := range o.Media {
		ev.Media = append(ev.Media, session.Media{Handle: m.Handle, B: len(body)})
		body = append(body, session.Part{Ref: &m.Ref})
	}
	return []session.Fact{{Event: ev, Body: body}}
}

func discovered(r Result) []session.Fact {
	for _, f := range r.Facts {
		if _, ok := f.Event.(session.AssemblyReported); ok {
			return nil
		}
	}
	// Without a report the turn would wait for ever: say that there is none.
	return []session.Fact{text(session.AssemblyReported{Fingerprint: "none"}, []byte("[]"))}
}
