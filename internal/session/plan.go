package session

import "slices"

// todo takes the result of the model's own change for the plan's live copy
// (PLAN-8).
func (f *Fold) todo(b *branch, result Item) {
	plans := b.now().plans
	if len(plans) == 0 {
		return
	}
	p := plans[len(plans)-1]
	if p.todo && p.at == b.state.Plan.At && p.after != nil && *p.after == result.Call {
		f.copies[p.at] = append(f.copies[p.at], result.ID)
		b.state.Plan.Shown, b.state.Plan.Copy = true, result.ID
	}
}

// showsPlan finds out whether a view shows its plan as it was recorded: a copy
// of it is there, not covered, masked, replaced or removed.
func (f *Fold) showsPlan(s *Branch) {
	s.Plan.Shown, s.Plan.Copy = false, ItemID{}
	for _, id := range slices.Backward(f.copies[s.Plan.At]) {
		if s.View.has(id) {
			s.Plan.Shown, s.Plan.Copy = true, id
			return
		}
	}
}

// has reports whether the view shows an item as it was recorded.
func (v View) has(id ItemID) bool {
	for _, span := range slices.Backward(v.spans) {
		for _, i := range slices.Backward(span.at) {
			if it := v.table.ref(int(i)); it.ID == id {
				now, ok := v.resolve(it)
				return ok && now.At == it.At
			}
		}
	}
	return false
}
