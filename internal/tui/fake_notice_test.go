package tui

import (
	"context"

	"varve/internal/session"
)

// fakeNotices is what the fake's log has of toasts, and how reading it fails.
type fakeNotices struct {
	noNotices error
}

func (a *fakeAgent) Notices(_ context.Context, before session.Seq, n int) ([]session.Entry, session.Seq, error) {
	a.asks("notices %d", before)
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []session.Entry
	for i := len(a.entries) - 1; i >= 0; i-- {
		e := a.entries[i]
		if _, ok := e.Event.(session.ToastPosted); !ok || before > 0 && e.Seq >= before {
			continue
		}
		if len(out) == n {
			return out, out[0].Seq, a.noNotices
		}
		out = append([]session.Entry{e}, out...)
	}
	return out, 0, a.noNotices
}
