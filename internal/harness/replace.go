package harness

import (
	"bytes"
	"context"
	"fmt"

	"varve/internal/harness/drive"
	"varve/internal/session"
)

// Replace swaps the content of items in the view of a branch that nobody works
// on, and says what came of each (RPR-1). It is refused with a [drive.Conflict]
// where o expects another revision, and while a turn runs. Originals stay.
func (s *Session) Replace(ctx context.Context, stateDir string, o drive.Replace) (Outcome, error) {
	h, err := take(ctx, stateDir, sessionName(s.path), o.Branch)
	if err != nil {
		return Outcome{}, err
	}
	defer h.release()
	if err := s.CatchUp(); err != nil {
		return Outcome{}, err
	}
	if o, err = s.compared(o); err != nil {
		return Outcome{}, err
	}
	return s.operate(ctx, o, false)
}

// compared finds the texts that are there already. A text that can't be read is
// another one.
func (s *Session) compared(o drive.Replace) (drive.Replace, error) {
	swaps := make([]drive.Swap, len(o.Swaps))
	shown := map[session.ItemID]session.Item{}
	for it := range s.State(o.Branch).Branch.View.All {
		if it.Kind == session.UserItem || it.Kind == session.ResultItem {
			shown[it.ID] = it
		}
	}
	for i, w := range o.Swaps {
		if len(bytes.TrimSpace(w.Text)) == 0 {
			return o, fmt.Errorf("item %s: %w", w.Item, drive.ErrEmpty)
		}
		if it, ok := shown[w.Item]; ok {
			if b, err := s.Text(it); err == nil && bytes.Equal(b, w.Text) {
				w.Same = it.At
			}
		}
		swaps[i] = w
	}
	o.Swaps = swaps
	return o, nil
}
