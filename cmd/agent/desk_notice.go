package main

import (
	"context"
	"slices"

	"varve/internal/session"
)

// noticeReach is how many events one look for notices reads at most: what lies
// before is looked at when it is asked for.
const noticeReach = 20_000

// Notices reads the toasts of the whole session, whatever branch they stand on.
func (d *desk) Notices(ctx context.Context, before session.Seq, n int) ([]session.Entry, session.Seq, error) {
	l, err := d.at(ctx)
	if err != nil {
		return nil, 0, err
	}
	return noticesOf(ctx, l.Session, before, n, noticeReach)
}

// noticesOf reads back from an event, 0 for the end, until there are n toasts or
// so many events were read.
func noticesOf(ctx context.Context, s interface {
	Before(q session.Seq, n int) ([]session.Entry, error)
}, before session.Seq, n, reach int,
) (out []session.Entry, next session.Seq, err error) {
	const page = 500
	if before == 0 {
		before = 1 << 62
	}
	for read := 0; read < reach && len(out) < n; read += page {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		entries, err := s.Before(before, page)
		if err != nil {
			return out, 0, err
		}
		if len(entries) == 0 {
			return out, 0, nil
		}
		var found []session.Entry
		for _, e := range entries {
			if _, ok := e.Event.(session.ToastPosted); ok {
				found = append(found, e)
			}
		}
		out = slices.Concat(found, out)
		before = entries[0].Seq
	}
	if before <= 1 {
		before = 0
	}
	return out, before, nil
}
