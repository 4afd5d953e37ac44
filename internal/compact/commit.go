package compact

import "varve/internal/session"

// Fits what is installed? A Measure is the whole next request that a handoff
// makes, in tokens, as the agent's own estimate has it (CMP-7).
type Measure struct {
	Covers  int // what the handoff stands for
	Handoff int // it, annotated
	After   int // the whole request: tools, instructions, plan, tail, handoff
	Trigger int // 0: none
}

// Reject says why a handoff may not be installed, or "".
func (m Measure) Reject() string {
	switch {
	case m.Handoff >= m.Covers:
		return "not_smaller"
	case m.Trigger > 0 && m.After >= m.Trigger:
		return "over_trigger"
	}
	return ""
}

// Lean is how many tokens the headings and notes of a handoff take that says
// nothing. What is no larger can't become smaller.
func Lean() int {
	return session.Estimate(len(Annotate(Fill(nil), Notes{Ranges: []session.Range{{}}}))).N
}

// PlanTokens is about what a plan item takes that is shown again because its
// copy is covered (PLAN-8): nothing where no task is open.
func PlanTokens(s session.State) int {
	for _, it := range s.Branch.Plan.Items {
		if it.Status == "pending" || it.Status == "in_progress" {
			return 20 * len(s.Branch.Plan.Items)
		}
	}
	return 0
}

// Stale says why what was planned may not be installed any more, or "": a
// covered item or the checkpoint has changed since (CMP-8). What was appended
// since is no reason.
func Stale(v session.View, started session.CompactionStarted) string {
	old, _ := v.Checkpoint()
	if old.ID != started.Replaces || session.Fingerprint(v, started.Ranges) != started.Source {
		return "source_changed"
	}
	return ""
}

// Voids says why accepted work can't be used for a cut, or "" (MR-9, MR-10).
func Voids(g *session.Staging, v session.View, c Cut) string {
	switch {
	case g.Legacy:
		return "legacy"
	case g.Version != Version:
		return "version"
	case session.Fingerprint(v, g.Ranges) != g.Source:
		return "source_changed"
	}
	for _, it := range ItemsOf(v, g.Ranges) {
		if !session.Within(c.Ranges, it.ID) && it.ID != c.Replaces {
			return "source_protected"
		}
	}
	return ""
}

// Version is the version of staging that is written.
const Version = 3
