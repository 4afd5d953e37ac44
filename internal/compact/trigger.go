package compact

import "varve/internal/session"

// Bounds of CMP-1, in tokens.
const (
	largest = 204_800 // of a budget that nobody has set
	unknown = 100_000 // what sizes tail, maps and the bar where no window is known
)

// A Budget is what the receiving agent's context may hold, in tokens.
type Budget struct {
	Capacity session.Capacity
	Window   int // 0: not known, and then there is no trigger but a set one
	Trigger  int // 0: none
	Tail     int // the newest that stay raw
}

// BudgetOf is the budget of an agent whose request may hold c (CMP-1, CMP-2).
func BudgetOf(set session.SessionConfigured, c session.Capacity) Budget {
	b := Budget{Capacity: c, Window: c.N}
	switch c.Source {
	case "setting":
	case "estimate", "none":
		b.Window = 0
	default:
		b.Window = min(b.Window, largest)
	}
	b.Tail = Sizing(b.Window) / 5
	b.Trigger = b.Window * 4 / 5
	if n := set.Compaction.Threshold; n != nil && *n > 0 {
		b.Trigger = *n
		b.Tail = min(b.Tail, b.Trigger/2) // a tail of more would leave nothing to cover
	}
	return b
}

// Mode is the mode that counts: one that was left out in the log is disabled
// (CMP-3). Whoever records settings writes the default down.
func Mode(set session.SessionConfigured) string {
	if set.Compaction.Mode == nil {
		return "disabled"
	}
	return *set.Compaction.Mode
}

// Due reports whether a request of now is to wait for a compaction: it has
// come to the trigger, none has failed in this turn, and there is a mode for
// it (CMP-2, CMP-3, CMP-10).
func Due(s session.State, b Budget) bool {
	t := s.Branch.Turn
	return t != nil && !t.Deferred && b.Trigger > 0 && Mode(s.Session.Settings) != "disabled" && s.Occupancy().N >= b.Trigger
}
