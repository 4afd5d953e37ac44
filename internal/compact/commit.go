package compact

import "varve/internal/session"

// Fits what is installed? A Measure is the whole next request that a handoff
// makes, in tokens, as the agent's own estimate has it (CMP-7): all of it by one
// measure, corrected by what the agent's model reported.
type Measure struct {
	Covers  int // what the handoff stands for
	Handoff int // it, annotated
	Before  int // the whole request without it
	After   int // the whole request: tools, instructions, plan, tail, handoff
	Trigger int // 0: none
}

// MeasureOf measures a handoff of so many recorded tokens. A plan whose copy is
// covered is shown again.
func MeasureOf(s session.State, started session.CompactionStarted, handoff int) Measure {
	before := s.Branch.Occupied()
	after := before - started.Covers.N + handoff
	p := s.Branch.Plan
	if !p.Shown {
		before += planTokens(p)
	}
	if !p.Shown || session.Within(started.Ranges, p.Copy) {
		after += planTokens(p)
	}
	return Measure{Covers: s.Scaled(started.Covers.N), Handoff: s.Scaled(handoff), Before: s.Scaled(before), After: s.Scaled(after), Trigger: started.Trigger}
}

// Reject says why a handoff may not be installed, or "".
func (m Measure) Reject() string {
	switch {
	case m.Handoff >= m.Covers, m.After >= m.Before:
		return "not_smaller"
	case m.Trigger > 0 && m.After >= m.Trigger:
		return "over_trigger"
	}
	return ""
}

// Lean is how many tokens the headings and notes of a handoff take that says
// nothing. What is no larger can't become smaller.
func Lean() int {
	return session.Estimate(len(Annotate(Fill(nil), Notes{Ranges: []session.Range{{}}, Read: true}))).N
}

// planTokens is about what a plan takes that is written down for the model
// (PLAN-8): nothing where no task is open.
func planTokens(p session.Plan) int {
	for _, it := range p.Items {
		if it.Status == "pending" || it.Status == "in_progress" {
			return 40 + 20*len(p.Items)
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
