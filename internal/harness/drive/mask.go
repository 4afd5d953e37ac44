package drive

import (
	"errors"

	"varve/internal/session"
)

// Refusals of mask_tool_result, for the model (CTX-5).
var (
	ErrNotAtTail = errors.New("not masked: only a tool result that nothing stands behind can be masked, and none stands at the end of what you were sent")
	errMasked    = errors.New("not masked: that result is masked already")
	errPlan      = errors.New("not masked: that result is the task list, which stays in view")
)

// Maskable is the result that a call of mask_tool_result is about: the newest
// one, at the tail of what its reply has seen. Nothing else is ever masked.
func Maskable(s session.State, call session.ItemID) (session.Item, error) {
	var last session.Item
	for it := range s.Branch.View.All {
		if it.ID.Seq == call.Seq {
			break
		}
		last = it
	}
	switch {
	case last.Kind != session.ResultItem:
		return last, ErrNotAtTail
	case last.At != last.ID.Seq:
		return last, errMasked
	case s.Branch.Plan.Shown && s.Branch.Plan.Copy == last.ID:
		return last, errPlan
	}
	return last, nil
}
