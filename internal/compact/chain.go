package compact

import (
	"strings"
	"time"

	"varve/internal/session"
)

// Bounds of one request to one model (FIN-3).
const (
	MaxTries    = 3
	firstWait   = 250 * time.Millisecond
	longestWait = 60 * time.Second
)

// Spent says why the model that is tried now is not asked again, or "".
func Spent(c session.Compacting) string {
	if c.Passed != "" {
		return c.Passed
	}
	for _, t := range c.Tries {
		switch {
		case t.N == 0, t.Unit == Native && unsupported(c):
			continue
		case t.N >= MaxTries, t.Lacking > 1:
			return classOf(t)
		case session.TooLong(t.Class, t.Error): // smaller requests are made
		case t.Class == "overflow":
			return classOf(t) // of bytes, or with the output limit: the same again is as long
		case t.Class == "error" && !again(t.Error):
			return classOf(t)
		}
		if _, ok := notBefore(t); !ok {
			return "waits_too_long"
		}
	}
	return ""
}

// classOf names what came of an attempt: an error by its kind.
func classOf(t session.Tries) string {
	if (t.Class == "error" || t.Class == "overflow") && t.Error != nil {
		return t.Error.Kind
	}
	return t.Class
}

// again reports whether the same request may come to something. A web page in
// place of an answer may be one proxy of several (case CMP-22).
func again(e *session.ProviderError) bool { return e != nil && (e.Retry || e.Kind == "gateway") }

// Attempt is the number of the next attempt at a unit, from 1, and when it may
// be made at the earliest.
func Attempt(c session.Compacting, unit string) (n int, at time.Time) {
	for _, t := range c.Tries {
		if t.Unit == unit && t.N > 0 {
			at, _ = notBefore(t)
			return t.N + 1, at
		}
	}
	return 1, time.Time{}
}

// Lacks says what follows a handoff of a unit that lacks sections (CMP-6): it is
// asked for once more (again), the next model is asked (model), or nobody (none).
func Lacks(c session.Compacting, unit string) string {
	n, _ := Attempt(c, unit)
	switch {
	case !Reminded(c, unit) && n < MaxTries:
		return "again"
	case c.Entry+1 < len(c.Started.Chain):
		return "model"
	}
	return "none"
}

// Reminded reports whether the last handoff of a unit lacked sections, and it
// is asked for them.
func Reminded(c session.Compacting, unit string) bool {
	for _, t := range c.Tries {
		if t.Unit == unit {
			return t.Lacking > 0
		}
	}
	return false
}

func notBefore(t session.Tries) (time.Time, bool) {
	at := t.Time.Add(firstWait << min(max(t.N-1, 0), 8))
	if t.Error != nil && t.Error.NotBefore != "" {
		told, err := time.Parse(time.RFC3339Nano, t.Error.NotBefore)
		if err == nil {
			at = told
		}
		if at.Sub(t.Time) > longestWait {
			return time.Time{}, false
		}
	}
	return at, true
}

// Failing says why maps are asked for one at a time from now on, or "": one of
// them has failed while several ran (MR-4).
func Failing(c session.Compacting, g *session.Staging) string {
	if g == nil || g.Legacy || g.Sequential || len(g.Missing) == 0 {
		return ""
	}
	for _, t := range c.Tries {
		byUs := t.Class == "lost" || t.Class == "cancelled"
		if t.N > 0 && !byUs && strings.HasPrefix(t.Unit, "map/") {
			return classOf(t)
		}
	}
	return ""
}

// Refused are the ordinals of the maps, among those that are missing, that were
// refused as too long: one of a single item can't be made smaller (MR-3).
func Refused(c session.Compacting, g session.Staging) []int {
	var out []int
	for _, t := range c.Tries {
		for _, o := range g.Missing {
			if t.Unit == (Unit{Stage: "map", Ordinal: o}).Name() && session.TooLong(t.Class, t.Error) {
				out = append(out, o)
			}
		}
	}
	return out
}
