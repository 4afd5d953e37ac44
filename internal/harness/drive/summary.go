package drive

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"varve/internal/compact"
	"varve/internal/session"
)

// What the answers of summarizers make true, up to the checkpoint.

// heard turns an answer of a summarizer into the facts that it proves.
func heard(s session.State, env Env, j Job, r Result) []session.Fact {
	rep, sum := r.Reply, r.Summary
	if rep == nil {
		return facts(session.ReplyRejected{Request: j.Request, Class: "error", Error: &session.ProviderError{Kind: "internal"}})
	}
	class := rep.Class
	if sum != nil && sum.Why != "" {
		class = sum.Why
	}
	if sum == nil || sum.Why != "" {
		ev := session.ReplyRejected{Request: j.Request, Class: class, RawFinish: rep.RawFinish, Error: rep.Error, Usage: rep.Usage}
		f := session.Fact{Event: ev}
		if len(rep.Message) > 0 {
			if ev.Error == nil {
				ev.Error = &session.ProviderError{Kind: "unknown"}
			}
			ev.Error.Message = &session.Text{B: 0}
			f = text(ev, rep.Message)
		}
		return append([]session.Fact{f}, spent(s, env, j, ev, rep.Message)...)
	}
	out := facts(session.ReplyCompleted{Request: j.Request, Finish: rep.Class, RawFinish: rep.RawFinish, Usage: rep.Usage})
	c, g := s.Branch.Compaction, s.Branch.Staging
	if c == nil {
		return out
	}
	u := j.Unit
	if u.Handoff() && !sum.Asked && len(sum.Missing) > 0 {
		next := compact.Lacks(*c, u.Name())
		out = append(out, facts(session.HandoffRejected{Compaction: c.At, Request: j.Request, Why: "sections", Missing: sum.Missing, Next: next})...)
		if next != "again" {
			out = append(out, facts(session.SummarizerTried{
				Compaction: c.At, I: c.Entry + 1, N: len(c.Started.Chain), Model: c.Started.Chain[c.Entry], Outcome: "spent",
				Why: "sections: the handoff has no " + strings.Join(sum.Missing, ", no "),
			})...)
		}
		return out
	}
	if u.Stage == compact.OneShot || u.Stage == compact.Native {
		return append(out, install(s, j.Request, *sum.Handoff)...)
	}
	if g == nil {
		return out
	}
	switch u.Stage {
	case "map":
		ev := session.StagingMapped{Staging: g.At, Ordinal: u.Ordinal, First: sum.First, Request: j.Request, Model: c.Started.Chain[c.Entry], Tokens: sum.Tokens}
		return append(out, text(ev, sum.Text))
	case "reduce":
		switch {
		case sum.Denied != "":
			return append(out, closeCompaction(s, sum.Denied, sum.Text)...)
		case sum.Asked && len(u.Reread) > 0:
			return append(out, closeCompaction(s, "reread_again", nil)...)
		case sum.Asked:
			return append(out, facts(session.StagingReread{Staging: g.At, Level: u.Level, Group: u.Group, Ranges: sum.Reread})...)
		}
		ev := session.StagingReduced{
			Staging: g.At, Level: u.Level, Group: u.Group, Inputs: u.Inputs, Final: u.Final, Request: j.Request, Tokens: sum.Tokens,
		}
		return append(out, text(ev, sum.Text))
	case "audit":
		ev := session.StagingAudited{Staging: g.At, Candidate: g.Candidate, Maps: u.Inputs, Pass: sum.Pass, Request: j.Request}
		if sum.Pass {
			return append(out, facts(ev)...)
		}
		ev.Text = &session.Text{B: 0}
		return append(out, text(ev, sum.Text))
	}
	return append(out, text(session.StagingCorrected{Staging: g.At, Round: u.Round, Request: j.Request, Tokens: sum.Tokens}, sum.Text))
}

// spent says that a model is not asked again, in the provider's own words: they
// are at hand where the last attempt is judged. Others are waited for first.
func spent(s session.State, env Env, j Job, ev session.ReplyRejected, words []byte) []session.Fact {
	c := s.Branch.Compaction
	if c == nil || len(c.Open) != 1 || len(words) == 0 || session.TooLong(ev.Class, ev.Error) {
		return nil
	}
	n, _ := compact.Attempt(*c, j.Unit.Name())
	why := compact.Spent(session.Compacting{Tries: []session.Tries{{Unit: j.Unit.Name(), N: n, Time: env.Now, Class: ev.Class, Error: ev.Error}}})
	if why == "" {
		return nil
	}
	return facts(session.SummarizerTried{
		Compaction: c.At, I: c.Entry + 1, N: len(c.Started.Chain), Model: c.Started.Chain[c.Entry], Outcome: "spent", Why: why + ": " + brief(words),
	})
}

// install commits a handoff if the request that it makes fits (CMP-7, CMP-8).
func install(s session.State, request session.Seq, h Handoff) []session.Fact {
	c := s.Branch.Compaction
	if why := compact.Stale(s.Branch.View, c.Started); why != "" {
		return closeCompaction(s, why, nil)
	}
	m := compact.MeasureOf(s, c.Started, h.Tokens.N)
	if why := m.Reject(); why != "" {
		rejected := session.HandoffRejected{Compaction: c.At, Request: request, Why: why, Next: "none"}
		detail := fmt.Sprintf("the handoff has about %d tokens in place of %d; the next request would have %d, now it has %d", m.Handoff, m.Covers, m.After, m.Before)
		if m.Trigger > 0 {
			detail += fmt.Sprintf("; the trigger is %d", m.Trigger)
		}
		return append(facts(rejected), closeCompaction(s, why, []byte(detail))...)
	}
	prints, err := json.Marshal([]string{c.Started.Source})
	if err != nil {
		panic("drive: internal error: " + err.Error())
	}
	kind, media := "text", ""
	if h.Encoding != "" {
		kind, media = compact.Native, "application/json"
	}
	ev := session.CheckpointCommitted{
		Compaction: c.At, Kind: kind, Ranges: c.Started.Ranges, Fingerprints: session.Text{B: 1, MediaType: "application/json"},
		BaseRevision: c.Started.BaseRevision, Replaces: c.Started.Replaces, Stale: h.Stale, ToolsGone: h.Gone,
		Before: session.Tokens{N: m.Before, By: "est"}, After: session.Tokens{N: m.After, By: "est"}, Text: session.Text{B: 0, MediaType: media, Encoding: h.Encoding}, Tokens: h.Tokens,
	}
	toast := session.ToastPosted{Level: "success", Code: "compaction.done", About: c.At, Args: map[string]string{
		"before": strconv.Itoa(ev.Before.N), "after": strconv.Itoa(m.After),
	}}
	return append([]session.Fact{{
		Event: ev, Body: []session.Part{{Bytes: h.Text, MediaType: media, Encoding: h.Encoding}, {Bytes: prints, MediaType: "application/json"}},
	}}, facts(toast)...)
}

func committed(s session.State, r Result) []session.Fact {
	if r.Fault != nil || r.Summary == nil || r.Summary.Handoff == nil {
		return closeCompaction(s, "internal", nil)
	}
	return install(s, 0, *r.Summary.Handoff)
}
