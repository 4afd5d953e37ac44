package compact_test

import (
	"testing"

	"pgregory.net/rapid"

	"varve/internal/compact"
	"varve/internal/session"
)

// What is taken makes the next request smaller, with the plan that is shown
// again where its copy is covered; before and after are by one measure, whatever
// the provider reported. // CMP-7, PLAN-8
func TestCommitsShrink(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := write(t, rapid.IntRange(5, 40).Draw(t, "n"))
		cut, ok := w.plan()
		if !ok {
			return
		}
		s := w.state()
		source := cut.Items()
		s.Branch.Plan = session.Plan{At: 1, Shown: rapid.Bool().Draw(t, "shown"), Items: []session.PlanItem{{Status: "pending"}}}
		covered := rapid.Bool().Draw(t, "copy is covered")
		if covered {
			s.Branch.Plan.Copy = source[len(source)-1].ID
		}
		s.Branch.Size.Reported = rapid.IntRange(0, 5000).Draw(t, "reported")
		handoff := rapid.IntRange(0, 2*cut.Covers).Draw(t, "handoff")
		m := compact.MeasureOf(s, session.CompactionStarted{Ranges: cut.Ranges, Covers: est(cut.Covers)}, handoff)
		grows := handoff - cut.Covers
		if s.Branch.Plan.Shown && covered {
			grows += 60
		}
		if m.After-m.Before != grows || (m.Reject() == "") != (grows < 0 && handoff < cut.Covers) {
			t.Fatalf("%+v %q, by %d", m, m.Reject(), grows)
		}
	})
}
