package drive

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"varve/internal/compact"
	"varve/internal/session"
)

// Compaction, as far as the loop is concerned: when one begins, what it waits
// for, and what its answers make true. What is covered, packed and judged is
// decided in compact.

// Refusals of a compaction.
var (
	ErrCompacting       = errors.New("a compaction is running or queued already")
	ErrNothingToCompact = errors.New("there is nothing to compact yet: only what was responded to can be")
)

// Prepared is what a compaction begins with, or why it does not.
type Prepared struct {
	Failed  string
	Detail  []byte
	Started session.CompactionStarted
	Prompt  []byte
	Voids   session.Seq // staging that can't be used any more
	Why     string
	Renews  *session.StagingRenewed
}

// Packed are segments: new ones, smaller ones, or why there are none.
type Packed struct {
	Failed   string
	Detail   []byte
	Created  *session.StagingCreated
	Parted   *session.StagingRepartitioned
	Segments []byte // JSON
}

// Summary is what the text of a summarizer comes to, judged where it was
// loaded.
type Summary struct {
	Why     string   // it is no evidence (FIN-1), "" if it is
	Missing []string // sections
	Pass    bool     // audit
	Asked   bool     // a reducer asks for raw items
	Reread  []session.Range
	Denied  string         // why it does not get them
	Text    []byte         // what is staged
	First   session.ItemID // map: that it covers
	Tokens  session.Tokens
	Handoff *Handoff // what is installed
}

// Handoff is a text that may be installed, annotated; or, with an encoding, an
// item that is native to the provider, as it came.
type Handoff struct {
	Text        []byte
	Encoding    string
	Tokens      session.Tokens
	Stale, Gone []string
}

// compactNow asks for one by hand (CMP-9).
func compactNow(s session.State, env Env, c Compact) ([]session.Fact, error) {
	b := s.Branch
	switch left := b.Asked != nil || b.Compaction != nil; {
	case left && b.Run == env.Run:
		return nil, ErrCompacting
	case left && len(c.Focus) == 0 && superseded(s, env) && b.Compaction.Asked.By != "user":
		return facts(session.CompactionRequested{By: "user"}), nil
	case left && len(c.Focus) == 0:
		return nil, nil // a run that is gone left it: the start of this one goes on with it
	case left:
		asked := text(session.CompactionRequested{By: "user", Focus: &session.Text{B: 0}}, c.Focus)
		if superseded(s, env) { // the start of this run closes it, and asks again for a person's
			if b.Compaction.Asked.By != "user" {
				return []session.Fact{asked}, nil
			}
			return append(facts(session.CompactionFailed{Kind: "cancelled"}), asked), nil
		}
		return append(closeCompaction(s, "cancelled", nil), asked), nil
	}
	cut, ok := compact.Plan(s, compact.BudgetOf(s.Session.Settings, b.Sent.Room), compact.Responded)
	if (!ok || cut.Covers <= compact.Lean()) && b.Turn == nil {
		return nil, ErrNothingToCompact
	}
	if len(c.Focus) > 0 {
		return []session.Fact{text(session.CompactionRequested{By: "user", Focus: &session.Text{B: 0}}, c.Focus)}, nil
	}
	return facts(session.CompactionRequested{By: "user"}), nil
}

// due asks for one before a request that would be over the trigger. Where
// nothing can be covered, or what stays is over it already, no summary helps.
func due(s session.State, c session.Capacity) bool {
	b := compact.BudgetOf(s.Session.Settings, c)
	if s.Branch.Asked != nil || !compact.Due(s, b) {
		return false
	}
	cut, ok := compact.Plan(s, b, compact.Older)
	return ok && cut.Covers > compact.Lean() && s.Scaled(cut.Kept) < b.Trigger
}

// recovers says that the last request was too long, and that a shorter one may
// be made (CMP-14).
func recovers(s session.State, t session.Turn) bool {
	r := t.Rejection
	return r != nil && session.TooLong(r.Class, r.Error) && t.Recovered < 2 && !t.GaveUp && compact.Mode(s.Session.Settings) != "disabled"
}

// between reports whether the branch is where a compaction may run: no request
// is open, and no call (CMP-9).
func between(s session.State) bool {
	t := s.Branch.Turn
	return t == nil || t.Cancelled == "" && t.Open.Seq == 0 && !open(t.Calls)
}

// compacting reports whether everything else waits for a compaction.
func compacting(s session.State) bool {
	return s.Branch.Compaction != nil || s.Branch.Asked != nil && between(s)
}

// closeCompaction ends the one that is asked for or under way. Its source and
// its accepted work stay.
func closeCompaction(s session.State, kind string, detail []byte) []session.Fact {
	ev := session.CompactionFailed{Kind: kind, Defers: defers(s, kind), Kept: keeps(s)}
	if c := s.Branch.Compaction; c != nil {
		ev.Compaction = c.At
	}
	toast := session.ToastPosted{Level: "warning", Code: "compaction.failed", Args: map[string]string{"kind": kind}, About: ev.Compaction}
	if ev.Kept {
		toast.Args["kept"] = "true"
	}
	if kind == "cancelled" {
		toast.Level = "info"
	} else {
		toast.Actions = offers(s, kind)
	}
	f := session.Fact{Event: ev}
	if len(detail) > 0 {
		ev.Detail = &session.Text{B: 0}
		f = text(ev, detail)
		toast.Args["detail"] = brief(detail)
	}
	return append([]session.Fact{f}, facts(toast)...)
}

// offers is what can be done about a compaction that failed (SUM-4): the same again,
// but where what was accepted has spent a budget; that is dropped with a focus, or by
// asking once more when it was refused, or goes on with another model (MR-11).
func offers(s session.State, kind string) []string {
	g := s.Branch.Staging
	switch {
	case kind == "stuck":
		return []string{"anew", "models", "go_on"}
	case s.Branch.Compaction != nil && g != nil && compact.Stuck(*g) != "":
		return []string{"focus", "models", "go_on"}
	case s.Branch.Compaction != nil:
		return []string{"retry", "models", "go_on"}
	}
	return nil
}

// abandon ends a compaction without waiting for what is out: each attempt has
// its end in the log (FIN-6).
func abandon(s session.State, kind string, detail []byte) []session.Fact {
	var out []session.Fact
	if c := s.Branch.Compaction; c != nil {
		for _, a := range c.Open {
			out = append(out, facts(session.ReplyRejected{Request: a.Seq, Class: "cancelled"})...)
		}
	}
	return append(out, closeCompaction(s, kind, detail)...)
}

// unfit says that work does not fit the model that is asked. Requests that are
// out are waited for and count (MR-4); then a model behind it may have the room
// (SUM-3), or the compaction has failed.
func unfit(s session.State, kind string, detail []byte) []session.Fact {
	c, g := s.Branch.Compaction, s.Branch.Staging
	switch {
	case c == nil || c.Entry < 0:
	case len(c.Open) > 0 && g != nil && !g.Sequential:
		return facts(session.StagingSequenced{Staging: g.At, Missing: slices.Clone(g.Missing), Why: kind})
	case len(c.Open) == 0 && c.Entry+1 < len(c.Started.Chain):
		why := kind
		if len(detail) > 0 {
			why += ": " + brief(detail)
		}
		return facts(session.SummarizerTried{
			Compaction: c.At, I: c.Entry + 1, N: len(c.Started.Chain), Model: c.Started.Chain[c.Entry], Outcome: "spent", Why: why,
		})
	}
	return abandon(s, kind, detail)
}

// brief is a line of a text, short enough for a fact.
func brief(b []byte) string {
	if i := slices.Index(b, '\n'); i >= 0 {
		b = b[:i]
	}
	if len(b) > 300 {
		b = append(slices.Clone(b[:300]), "…"...)
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

// keeps reports whether parts were accepted.
func keeps(s session.State) bool {
	g := s.Branch.Staging
	return s.Branch.Compaction != nil && g != nil && len(g.Maps) > 0
}

// defers reports whether the trigger is to begin no other one in this turn (CMP-10).
// Whoever stopped one wants none in its place, also where the message that waited for
// it is delivered now.
func defers(s session.State, kind string) bool {
	if b := s.Branch; kind == "cancelled" && b.Compaction != nil {
		return b.Turn != nil || slices.ContainsFunc(b.Queue, func(q session.Queued) bool { return !q.Held })
	}
	b := s.Branch
	by := ""
	switch {
	case b.Compaction != nil:
		by = b.Compaction.Asked.By
	case b.Asked != nil:
		by = b.Asked.By
	}
	// One by hand that has failed in a turn is not followed by the trigger's in the
	// same moment; one that did not begin has shown nothing.
	return b.Turn != nil && (by == "trigger" || by == "user" && b.Compaction != nil)
}

// settleCompaction is what follows of a compaction that is under way: the
// next model is tried, maps are asked for one at a time, it has failed.
func settleCompaction(s session.State) []session.Fact {
	c, g := s.Branch.Compaction, s.Branch.Staging
	if c == nil || len(c.Open) > 0 {
		return nil
	}
	chain := c.Started.Chain
	if c.Entry < 0 || c.Passed != "" {
		i := c.Entry + 1
		if i >= len(chain) {
			return abandon(s, "exhausted", []byte(chain[len(chain)-1].String()+": "+c.Passed))
		}
		asks := session.ToastPosted{Level: "info", Code: "compaction.asks", About: c.At, Args: map[string]string{
			"model": chain[i].String(), "i": strconv.Itoa(i + 1), "n": strconv.Itoa(len(chain)),
		}}
		if i > 0 { // why it is not the one before (SUM-8)
			asks.Args["after"], asks.Args["why"] = chain[i-1].String(), brief([]byte(c.Passed))
		}
		var out []session.Fact
		if i > 0 && g != nil && !g.Legacy && len(g.Maps) == 0 { // parts that nobody has accepted bind nobody else
			out = facts(session.StagingInvalidated{Of: g.At, Why: "nothing_accepted"})
		}
		return append(out, facts(
			session.SummarizerTried{Compaction: c.At, I: i + 1, N: len(chain), Model: chain[i], Outcome: "started"},
			asks,
		)...)
	}
	if why := compact.Failing(*c, g); why != "" {
		return facts(session.StagingSequenced{Staging: g.At, Missing: slices.Clone(g.Missing), Why: why})
	}
	if why := compact.Spent(*c); why != "" {
		return facts(session.SummarizerTried{Compaction: c.At, I: c.Entry + 1, N: len(chain), Model: chain[c.Entry], Outcome: "spent", Why: why})
	}
	switch need := compact.Next(*c, g); need.Failed {
	case "":
	case "too_long", "repartitions":
		return unfit(s, need.Failed, nil)
	default:
		return abandon(s, need.Failed, nil)
	}
	return nil
}

// wantCompaction lists the work of a compaction, most needed first.
func wantCompaction(s session.State) []Job {
	b := s.Branch
	turn := session.Seq(0)
	if b.Turn != nil {
		turn = b.Turn.ID
	}
	c := b.Compaction
	if c == nil {
		return []Job{{ID: id(Prepare, b.Asked.At), Kind: Prepare, Turn: turn}}
	}
	var jobs []Job
	for _, a := range c.Open {
		jobs = append(jobs, Job{ID: id(Ask, a.Seq), Kind: Ask, Turn: turn, Compaction: c.At, Request: a.Seq, Unit: compact.UnitNamed(*c, b.Staging, a.Unit)})
	}
	failing := compact.Spent(*c) != "" || compact.Failing(*c, b.Staging) != ""
	if c.Entry < 0 || c.Passed != "" || len(c.Open) > 0 && failing {
		return jobs // nothing new is started; what runs is waited for
	}
	need := compact.Next(*c, b.Staging)
	switch {
	case need.Repack && len(c.Open) == 0:
		at := 0
		if b.Staging != nil {
			at = len(b.Staging.Segments)
		}
		return []Job{{ID: id(Pack, fmt.Sprintf("%d/%d", c.At, at)), Kind: Pack, Turn: turn, Compaction: c.At}}
	case need.Commit:
		return []Job{{ID: id(Commit, b.Staging.Candidate), Kind: Commit, Turn: turn, Compaction: c.At}}
	}
	for _, u := range need.Units {
		if slices.ContainsFunc(c.Open, func(a session.Asking) bool { return a.Unit == u.Name() }) {
			continue
		}
		n, at := compact.Attempt(*c, u.Name())
		jobs = append(jobs, Job{
			ID: id(Brief, fmt.Sprintf("%d/%s/%d/%d", c.At, u.Name(), c.Entry, n)), Kind: Brief, Turn: turn, Compaction: c.At,
			Unit: u, Attempt: n, NotBefore: at, Revision: b.Head,
		})
	}
	return jobs
}

func prepared(s session.State, r Result) []session.Fact {
	p := r.Prepared
	switch {
	case r.Fault != nil || p == nil:
		return abandon(s, "internal", nil)
	case p.Failed != "":
		return abandon(s, p.Failed, p.Detail)
	}
	var out []session.Fact
	if p.Voids != 0 {
		out = facts(session.StagingInvalidated{Of: p.Voids, Why: p.Why})
		if p.Why != "nothing_accepted" { // there is nothing that anybody would miss
			out = append(out, facts(session.ToastPosted{Level: "info", Code: "staging.voided", About: p.Voids, Args: map[string]string{"why": p.Why}})...)
		}
	}
	if p.Renews != nil {
		out = append(out, facts(*p.Renews)...)
	}
	return append(out, text(p.Started, p.Prompt))
}

func packed(s session.State, r Result) []session.Fact {
	p := r.Packed
	switch {
	case r.Fault != nil || p == nil:
		return abandon(s, "internal", nil)
	case p.Failed == "internal":
		return abandon(s, p.Failed, p.Detail)
	case p.Failed != "":
		return unfit(s, p.Failed, p.Detail)
	case p.Created != nil:
		return []session.Fact{text(*p.Created, p.Segments)}
	}
	return []session.Fact{text(*p.Parted, p.Segments)}
}

// briefed records the request to a summarizer, before it is sent.
func briefed(s session.State, j Job, r Result) []session.Fact {
	c, e := s.Branch.Compaction, r.Request
	switch {
	case r.Packed != nil:
		return packed(s, r)
	case r.Fault != nil || e == nil:
		return abandon(s, "internal", nil)
	case e.Problem != nil:
		return facts(session.SummarizerTried{
			Compaction: c.At, I: c.Entry + 1, N: len(c.Started.Chain), Model: c.Started.Chain[c.Entry], Outcome: "unbuildable", Why: e.Problem.Hint,
		})
	}
	ev := session.RequestSent{
		Job: j.ID, Purpose: j.Unit.Stage, Compaction: c.At, Unit: j.Unit.Name(), Attempt: j.Attempt, I: c.Entry + 1, N: len(c.Started.Chain),
		Model: e.Model, Endpoint: e.Endpoint, Reasoning: e.Reasoning, Revision: j.Revision, Capacity: e.Capacity,
		Occupancy: e.Occupancy, OutputLimit: e.OutputLimit, SHA256: e.SHA256, Size: e.Size, Shared: e.Shared, Recipe: e.Recipe,
	}
	f := session.Fact{Event: ev}
	for _, l := range e.Literals {
		f.Body = append(f.Body, session.Part{Bytes: l})
	}
	return []session.Fact{f}
}
