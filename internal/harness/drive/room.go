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
