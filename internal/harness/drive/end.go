package drive

import (
	"varve/internal/session"
)

// How a turn ends.

func cancel(s session.State, env Env, c Cancel) ([]session.Fact, error) {
	t := s.Branch.Turn
	if s.Branch.Compaction != nil || s.Branch.Asked != nil {
		// The turn goes on with its source (CMP-10), also where the compaction only
		// waits for a request or call: it is taken back first.
		out := abandon(s, "cancelled", nil)
		if s.Branch.Run != env.Run { // the start of this run closes what was out
			out = closeCompaction(s, "cancelled", nil)
		}
		if t != nil && t.Cancelled == "" && c.By != "user" {
			out = append(out, facts(session.TurnCancelled{Turn: t.ID, By: c.By})...)
		}
		return out, nil
	}
	switch {
	case t == nil:
		return nil, ErrNothing
	case t.Cancelled != "":
		return nil, nil
	}
	return facts(session.TurnCancelled{Turn: t.ID, By: c.By}), nil
}

// closeTurn closes what a cancelled turn left open, then the turn. What is
// still running here is waited for; the loop sees to it that it ends.
func closeTurn(s session.State, env Env, t session.Turn) []session.Fact {
	var out []session.Fact
	waits := false
	if t.Open.Seq != 0 {
		if env.running(id(Send, t.Open.Seq)) {
			waits = true
		} else {
			out = append(out, facts(session.ReplyRejected{Request: t.Open.Seq, Class: "cancelled"})...)
		}
	}
	for _, c := range t.Calls {
		switch {
		case c.Done:
		case !c.Started:
			out = append(out, told(c.ID, "user", wordsNotRun))
		case env.running(toolID(c.ID)):
			waits = true
		default:
			out = append(out, told(c.ID, "user", wordsCut))
		}
	}
	if waits || len(out) > 0 {
		return out
	}
	return facts(session.TurnEnded{Turn: t.ID, Status: "interrupted", Requests: t.Requests})
}

// failed ends a turn that cannot go on. The source is untouched.
func failed(t session.Turn, kind, hint string) []session.Fact {
	return facts(session.TurnEnded{Turn: t.ID, Status: "failed", Error: &session.TurnError{Kind: kind, Hint: hint}, Requests: t.Requests})
}

func limited(t session.Turn, kind string, answer session.ItemID) []session.Fact {
	return facts(session.TurnEnded{Turn: t.ID, Status: "limit", Answer: answer, Error: &session.TurnError{Kind: kind}, Requests: t.Requests})
}

// finish ends a turn whose last reply asks for nothing more, or that has used
// up its requests. Steering that waits goes first: it goes on with the turn.
func finish(s session.State, env Env, t session.Turn) []session.Fact {
	if t.Open.Seq != 0 || t.ReplyAt == 0 || open(t.Calls) {
		return nil
	}
	if len(steer(s, env, t)) > 0 {
		return nil
	}
	answer := answerOf(t)
	switch {
	case t.Reply.Finish == "length":
		return limited(t, "length", answer)
	case t.Reply.Finish == "unknown":
		return failed(t, "unknown_finish", t.Reply.RawFinish)
	case len(t.Calls) == 0:
		return facts(session.TurnEnded{Turn: t.ID, Status: "completed", Answer: answer, Requests: t.Requests})
	case env.MaxRequests > 0 && t.Requests >= env.MaxRequests:
		return limited(t, "requests", answer)
	}
	return nil
}

// answerOf is the last text of the last reply.
func answerOf(t session.Turn) session.ItemID {
	for i := len(t.Reply.Parts) - 1; i >= 0; i-- {
		if t.Reply.Parts[i].Kind == string(session.AssistantItem) {
			return session.ItemID{Seq: t.ReplyAt, Part: i + 1}
		}
	}
	return session.ItemID{}
}
