package drive

import (
	"fmt"

	"varve/internal/session"
)

// Repair of the context (RPR): the content of a message is swapped in the view.
// What was recorded stays.

// WordsRedacted stands in place of what the user took out of the context. Old
// sessions are told by it from others: it may never change.
const WordsRedacted = "[redacted by the user]"

// Replace swaps the content of user messages and tool results of a branch
// (RPR-1, RPR-2). Each item keeps its id, kind, place and pairing.
type Replace struct {
	Branch string
	Expect session.Seq // the revision that it was decided on, 0 for any (CTX-2)
	Why    string      // repair, redact
	Swaps  []Swap
}

// A Swap is what one item gets. Whoever asks compares texts: Same is the event
// that holds this text already, where the item's did.
type Swap struct {
	Item session.ItemID
	Text []byte
	Same session.Seq
}

// Of is the branch whose view changes.
func (o Replace) Of() string { return o.Branch }

// What came of a swap.
const (
	Replaced       = "replaced"
	Unchanged      = "unchanged"
	NotFound       = "not_found"
	NotReplaceable = "not_replaceable"
)

// A Swapped is what came of one swap.
type Swapped struct {
	Item    session.ItemID `json:"item"`
	Outcome string         `json:"outcome"`
	Why     string         `json:"why,omitempty"` // of what is not replaceable: kind, inactive
}

// A Conflict says that the context is at another revision than the one that an
// edit names. Nothing was written.
type Conflict struct {
	Branch       string
	Expected, Is session.Seq
}

func (c Conflict) Error() string {
	return fmt.Sprintf("%s is at revision %d, not at %d: look at it again, then repeat the edit", c.Branch, c.Is, c.Expected)
}

// replace decides each swap for itself. It is no boundary: a turn that nobody
// works on stays open, and goes on with what the view shows then.
func replace(f Family, o Replace, s session.Branch) (Step, error) {
	if o.Expect != 0 && o.Expect != s.Head {
		return Step{}, Conflict{o.Branch, o.Expect, s.Head}
	}
	step := Step{Branch: o.Branch, Expect: s.Head}
	active := map[session.ItemID]session.Item{}
	for _, w := range o.Swaps {
		active[w.Item] = session.Item{}
	}
	for it := range s.View.All {
		if _, asked := active[it.ID]; asked {
			active[it.ID] = it
		}
	}
	for _, w := range o.Swaps {
		came := Swapped{Item: w.Item, Outcome: Replaced}
		it := active[w.Item]
		known, found := f.Item(w.Item)
		switch {
		case !found:
			came.Outcome = NotFound
		case known.Kind != session.UserItem && known.Kind != session.ResultItem:
			came.Outcome, came.Why = NotReplaceable, "kind"
		case it.ID.IsZero():
			came.Outcome, came.Why = NotReplaceable, "inactive"
		case w.Same != 0 && w.Same == it.At && len(it.Media) == 0:
			came.Outcome = Unchanged
		default:
			step.Facts = append(step.Facts, text(session.ItemReplaced{Item: w.Item, Why: o.Why, Tokens: session.Estimate(len(w.Text))}, w.Text))
		}
		step.Swapped = append(step.Swapped, came)
	}
	return step, nil
}
