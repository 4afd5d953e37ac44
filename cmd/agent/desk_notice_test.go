package main

import (
	"testing"

	"varve/internal/session"
)

// anEventLog is a session of n events, each tenth of which is a toast.
type anEventLog struct{ n, reads int }

func (l *anEventLog) Before(q session.Seq, n int) (out []session.Entry, _ error) {
	l.reads++
	end := min(int(q)-1, l.n)
	for i := max(end-n, 0); i < end; i++ {
		e := session.Entry{Seq: session.Seq(i + 1), Event: session.UserSaid{}}
		if e.Seq%10 == 0 {
			e.Event = session.ToastPosted{}
		}
		out = append(out, e)
	}
	return out, nil
}

// Notices are read a page at a time, all of them in the end and each once, and
// one look never reads a whole long session.
func TestNoticesAreReadInPages(t *testing.T) { // TUI-7
	for _, n := range []int{0, 1, 9, 10, 499, 500, 501, 5000, 12_345} {
		l, last, got := &anEventLog{n: n}, session.Seq(1<<60), 0
		for before, more := session.Seq(0), true; more; more = before != 0 {
			l.reads = 0
			entries, next, err := noticesOf(t.Context(), l, before, 50, 2000)
			if err != nil {
				t.Fatal(err)
			}
			if l.reads > 4 {
				t.Errorf("%d pages were read at once", l.reads)
			}
			for i := len(entries) - 1; i >= 0; i-- {
				if q := entries[i].Seq; q >= last || q%10 != 0 {
					t.Fatalf("%d events: %d after %d", n, q, last)
				}
				last = entries[i].Seq
			}
			got, before = got+len(entries), next
		}
		if got != n/10 {
			t.Errorf("%d events: %d notices, want %d", n, got, n/10)
		}
	}
}
