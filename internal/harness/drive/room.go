package drive

import (
	"varve/internal/compact"
	"varve/internal/session"
)

// Room is what the next request may hold, as far as the log knows, and where a
// compaction begins: 0 where none does by itself.
func Room(s session.State) (capacity session.Capacity, trigger int) {
	b, set := s.Branch, s.Session.Settings
	c := session.Capacity{Source: "none"}
	if b.Sent.Model == b.Model {
		c = b.Sent.Room
		for _, w := range s.Session.Windows { // learned since, by the refusal of that request (PRV-8)
			if n := max(w.Limit-b.Sent.Limit, 0); w.Role == "agent" && w.Model == b.Model && w.Endpoint == b.Sent.Endpoint && (c.N == 0 || n < c.N) {
				c = session.Capacity{N: n, Source: "learned"}
			}
		}
	}
	if n := set.InputLimit; n != nil {
		c = session.Capacity{N: *n, Source: "setting"}
	}
	if compact.Mode(set) == "disabled" {
		return c, 0
	}
	return c, compact.BudgetOf(set, c).Trigger
}

// Unattended is how full the window is, in percent, where the next request takes
// four fifths of it and the settings say that nothing summarizes it by itself;
// else 0.
func Unattended(s session.State) int {
	c, _ := Room(s)
	n, set := s.Occupancy().N, s.Session.Settings
	if set.Compaction.Mode == nil || compact.Mode(set) != "disabled" || c.N <= 0 || n*5 < c.N*4 {
		return 0
	}
	return n * 100 / c.N
}

// Compared is how many notes the audit that is due is about, 0 where none is.
func Compared(b session.Branch) int {
	if b.Compaction == nil || b.Compaction.Route != compact.MapReduce {
		return 0
	}
	need := compact.Next(*b.Compaction, b.Staging)
	if len(need.Units) != 1 || need.Units[0].Stage != "audit" {
		return 0
	}
	return len(need.Units[0].Inputs)
}
