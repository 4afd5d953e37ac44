package main

import (
	"varve/internal/harness"
	"varve/internal/session"
	"varve/internal/words"
)

// A result is what `run --output json` prints (RUN-1).
type result struct {
	Session      string    `json:"session"`
	Branch       string    `json:"branch"`
	Status       string    `json:"status"`
	Text         string    `json:"text"`
	Usage        usage     `json:"usage"`
	CostUSD      *float64  `json:"cost_usd"`
	ChangedFiles []string  `json:"changed_files"`
	Requests     int       `json:"requests"`
	Error        *runError `json:"error"`
	Refused      []refused `json:"refused,omitempty"`

	Compactions []compacted `json:"compactions,omitempty"`
}

type usage struct {
	Input      int `json:"input"`
	Cached     int `json:"cached"`
	CacheWrite int `json:"cache_write"`
	Output     int `json:"output"`
	Reasoning  int `json:"reasoning"`
}

type runError struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
}

type refused struct {
	Call string `json:"call"`
	Tool string `json:"tool"`
	Why  string `json:"why"`
}

// A summary adds up what a turn did.
type summary struct {
	end     *session.TurnEnded
	usage   usage
	changed []string
	refused []refused
	detail  string

	compactions []compacted
	sent        map[session.Seq]harness.Use // requests; what those to summarizers come to is no reason of the turn
	uses        []harness.Use
}

func (s *summary) begin(*harness.Local) {}

func (s *summary) add(l *harness.Local, e session.Entry) {
	body := func(b int) string {
		text, err := l.Session.Load(e.Seq, b)
		if err != nil {
			return ""
		}
		return string(text)
	}
	switch ev := e.Event.(type) {
	case session.ReplyCompleted:
		s.use(ev.Request, false, ev.Usage)
	case session.RequestSent:
		if s.sent == nil {
			s.sent = map[session.Seq]harness.Use{}
		}
		s.sent[e.Seq] = harness.Use{Model: ev.Model, Summary: ev.Compaction != 0}
	case session.CheckpointCommitted:
		s.compactions = append(s.compactions, compactedBy(ev, e.Seq))
	case session.CompactionFailed:
		s.compactions = append(s.compactions, failedBy(ev, body))
	case session.ReplyRejected:
		s.use(ev.Request, true, ev.Usage)
		if s.sent[ev.Request].Summary {
			return
		}
		s.detail = ""
		if ev.Error != nil && ev.Error.Message != nil {
			s.detail = body(ev.Error.Message.B)
		}
	case session.FaultRecorded:
		s.detail = body(0)
	case session.ToolInterrupted:
		if ev.Why == "denied" {
			r := refused{Call: ev.Call.String(), Why: words.OneLine(body(0))}
			if it, ok := l.Session.Item(ev.Call); ok {
				r.Tool = it.Name
			}
			s.refused = append(s.refused, r)
		}
	case session.FilesChanged:
		for _, p := range changedPaths(body(0)) {
			s.changed = appendNew(s.changed, p)
		}
	case session.TurnEnded:
		s.end = &ev
	}
}

func (s *summary) use(request session.Seq, failed bool, u *session.Usage) {
	if by, ok := s.sent[request]; ok {
		s.uses = harness.CountUse(s.uses, by, failed, u)
	}
	if u == nil {
		return
	}
	s.usage.Input += u.Input
	s.usage.Cached += u.Cached
	s.usage.CacheWrite += u.CacheWrite
	s.usage.Output += u.Output
	s.usage.Reasoning += u.Reasoning
}

func (s *summary) result(l *harness.Local, price prices) result {
	r := result{
		Session: l.ID(), Branch: l.Branch, Status: "failed", Usage: s.usage, CostUSD: usageScopeOf(s.uses, price).CostUSD,
		ChangedFiles: append([]string{}, s.changed...), Refused: s.refused,
		Compactions: s.compactions,
	}
	if s.end == nil { // none was recorded
		return r
	}
	r.Status, r.Requests = s.end.Status, s.end.Requests
	if !s.end.Answer.IsZero() {
		if it, ok := l.Session.Item(s.end.Answer); ok {
			if b, err := l.Session.Text(it); err == nil {
				r.Text = string(b)
			}
		}
	}
	if s.end.Status == "failed" || s.end.Status == "limit" {
		o := words.TurnEnded(*s.end, s.detail)
		kind := "unknown"
		if s.end.Error != nil {
			kind = s.end.Error.Kind
		}
		if kind == "context_length" { // without a screen nobody types /compact
			o.Hint = "Nothing was lost. `agent session compact " + l.ID() + "` summarizes it; --model chooses one with a larger window."
		}
		r.Error = &runError{Kind: kind, Message: o.Line, Hint: asStarted(o.Hint)}
	}
	return r
}

func appendNew(list []string, s string) []string {
	for _, x := range list {
		if x == s {
			return list
		}
	}
	return append(list, s)
}
