package harness

import (
	"slices"

	"varve/internal/session"
)

// Past returns the newest entries of a branch before an event (0: of all), at
// most n, oldest first: what it took over and its own, without what a revert
// left.
func (s *Session) Past(branch string, q session.Seq, n int) ([]session.Entry, error) {
	s.mu.RLock()
	spans, names := s.fold.History(branch), s.fold.Branches()
	s.mu.RUnlock()
	if q == 0 {
		q = s.Head() + 1
	}
	if len(spans) <= 1 && len(names) <= 1 { // one branch that never went back: the file as it is
		return s.Before(q, n)
	}
	var out []session.Entry
	for _, span := range slices.Backward(spans) {
		for to := min(q-1, span.To); to >= max(span.From, 1) && len(out) < n; {
			page, err := s.Before(to+1, 200)
			if err != nil {
				return nil, err
			}
			if len(page) == 0 {
				break
			}
			for _, e := range slices.Backward(page) {
				if e.Seq >= span.From && e.Seq <= span.To && e.Branch == span.Branch && len(out) < n {
					out = append(out, e)
				}
			}
			to = page[0].Seq - 1
		}
	}
	slices.Reverse(out)
	return out, nil
}

// concerns reports whether an entry is of a branch, or of the whole session.
func concerns(e session.Entry, branch string) bool {
	switch e.Event.(type) {
	case session.SessionRenamed, session.LogRepaired:
		return true
	}
	return e.Branch == branch
}

// Entries are those past an event that concern the branch, at most 2,000 of the
// file's.
func (l *Local) Entries(after session.Seq) ([]session.Entry, error) {
	out, _, err := l.entries(after)
	return out, err
}

// A skip is a stretch of the file in which nothing concerns a branch: who
// follows it begins behind.
type skip struct{ from, to session.Seq }

// entries are those past q that concern the branch, and where to look next.
func (l *Local) entries(q session.Seq) ([]session.Entry, session.Seq, error) {
	if s := l.skip.Load(); s != nil && s.from == q {
		q = s.to
	}
	from := q
	for {
		all, err := l.Session.Entries(q, maxUpdate)
		if err != nil || len(all) == 0 {
			if q != from {
				l.skip.Store(&skip{from, q})
			}
			return nil, q, err
		}
		q = all[len(all)-1].Seq
		if out := slices.DeleteFunc(all, func(e session.Entry) bool { return !concerns(e, l.Branch) }); len(out) > 0 {
			return out, q, nil
		}
	}
}

// Story is what a branch consists of, all of it, oldest first: with each call
// that it took over its result, though that came later.
func (s *Session) Story(branch string) ([]session.Entry, error) {
	s.mu.RLock()
	lineage, err := s.fold.Lineage(branch)
	spans := s.fold.History(branch)
	s.mu.RUnlock()
	if err != nil {
		return nil, err
	}
	var out []session.Entry
	told := map[session.Seq]bool{}
	for after := session.Seq(0); ; {
		page, err := s.Entries(after, 1000)
		if err != nil || len(page) == 0 {
			return out, err
		}
		for _, e := range page {
			after = e.Seq
			in := slices.ContainsFunc(spans, func(x session.Span) bool { return e.Branch == x.Branch && x.From <= e.Seq && e.Seq <= x.To })
			if !in {
				switch ev := e.Event.(type) {
				case session.ToolFinished:
					in = told[ev.Call.Seq] && lineage.Holds(e)
				case session.ToolInterrupted:
					in = told[ev.Call.Seq] && lineage.Holds(e)
				}
			}
			if in {
				out, told[e.Seq] = append(out, e), true
			}
		}
	}
}
