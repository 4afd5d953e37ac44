package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"varve/internal/session"
	"varve/internal/tui/plain"
	"varve/internal/words"
)

// UsageInfo is what was used, for /usage (PRV-10). Tokens are as the provider
// counted them.
type UsageInfo struct{ Scopes []UsageScope }

// A UsageScope is a part of the session: since the last message, the branch, all
// of it.
type UsageScope struct {
	Name string
	Rows []UsageRow
}

// A UsageRow is what one model was asked for. Cost is in US dollars; it is not
// all of it where Unpriced is set, or where there were requests of which no
// tokens were told (Untold).
type UsageRow struct {
	Model                                        string
	Summaries                                    bool
	Requests, Failed, Untold                     int
	Input, Cached, CacheWrite, Output, Reasoning int
	Cost                                         float64
	Unpriced                                     bool
}

func (r UsageRow) plus(o UsageRow) UsageRow {
	r.Requests, r.Failed, r.Untold = r.Requests+o.Requests, r.Failed+o.Failed, r.Untold+o.Untold
	r.Input, r.Cached, r.CacheWrite = r.Input+o.Input, r.Cached+o.Cached, r.CacheWrite+o.CacheWrite
	r.Output, r.Reasoning = r.Output+o.Output, r.Reasoning+o.Reasoning
	r.Cost, r.Unpriced = r.Cost+o.Cost, r.Unpriced || o.Unpriced
	return r
}

// money is a cost for people. What has no price is not free.
func (r UsageRow) money() string {
	switch {
	case r.Unpriced && r.Cost == 0:
		return "not known"
	case r.Unpriced:
		return fmt.Sprintf("over $%.4f", r.Cost)
	}
	return fmt.Sprintf("$%.4f", r.Cost)
}

// usageNote says what the columns are.
const usageNote = "In is what no cache had; thinking is part of out. Requests that failed count, and those for summaries do. A price that is not known is not zero."

// usageTable is the width from which on a table is drawn.
const usageTable = 90

// Lines draws it in lines of at most w columns.
func (u UsageInfo) Lines(w int) []string {
	w = max(w, narrow)
	var out []string
	for i, s := range u.Scopes {
		if i > 0 {
			out = append(out, "")
		}
		out = append(out, plain.Truncate(s.Name, w))
		if len(s.Rows) == 0 {
			out = append(out, plain.Truncate("  no request was answered yet", w))
			continue
		}
		rows, sum := s.Rows, UsageRow{Model: "together"}
		for _, r := range rows {
			sum = sum.plus(r)
		}
		if len(rows) > 1 {
			rows = append(rows[:len(rows):len(rows)], sum)
		}
		if w >= usageTable {
			out = append(out, usageTableOf(rows, w)...)
		} else {
			for _, r := range rows {
				out = append(out, plain.Truncate("  "+r.name(), w))
				for _, l := range plain.Wrap(r.sentence(), w-4) {
					out = append(out, "    "+l)
				}
			}
		}
		if sum.Untold > 0 {
			for _, l := range plain.Wrap(untoldWords(sum.Untold), w-2) {
				out = append(out, "  "+l)
			}
		}
	}
	return append(append(out, ""), plain.Wrap(usageNote, w)...)
}

func (r UsageRow) name() string {
	name := plain.Clean(words.OneLine(r.Model))
	if r.Summaries {
		name += " (summaries)"
	}
	return name
}

// requests says how many there were, and how many failed.
func (r UsageRow) requests() string {
	s := fmt.Sprint(r.Requests)
	if r.Failed > 0 {
		s += fmt.Sprintf(", %d failed", r.Failed)
	}
	return s
}

func (r UsageRow) sentence() string {
	s := fmt.Sprintf("in %s · cached %s", told(r.Input), told(r.Cached))
	if r.CacheWrite > 0 {
		s += " · written " + told(r.CacheWrite)
	}
	s += " · out " + told(r.Output)
	if r.Reasoning > 0 {
		s += " · thinking " + told(r.Reasoning)
	}
	return s + " · cost " + r.money() + " · requests " + r.requests()
}

func untoldWords(n int) string {
	return fmt.Sprintf("Of %d %s the provider told no tokens: they are not in these sums.", n, plural(n, "request"))
}

func told(n int) string { return words.Tokens(session.Tokens{N: n, By: "provider"}) }

func usageTableOf(rows []UsageRow, w int) []string {
	const figures = "%7s%8s%9s%7s%10s  %-14s"
	wide := len(fmt.Sprintf(figures, "", "", "", "", "", ""))
	tail := 0
	for _, r := range rows {
		tail = max(tail, len(r.requests()))
	}
	name := max(w-wide-max(tail, len("requests"))-4, 10)
	line := func(what, a, b, c, d, e, cost, requests string) string {
		what = plain.Truncate(what, name)
		s := "  " + what + strings.Repeat(" ", name-plain.Width(what)) + fmt.Sprintf(figures, a, b, c, d, e, cost) + requests
		return plain.Truncate(strings.TrimRight(s, " "), w)
	}
	out := []string{line("", "in", "cached", "written", "out", "thinking", "cost", "requests")}
	for _, r := range rows {
		out = append(out, line(r.name(), told(r.Input), told(r.Cached), told(r.CacheWrite), told(r.Output), told(r.Reasoning), r.money(), r.requests()))
	}
	return out
}

func (r *Root) usageCommand(string) tea.Cmd {
	return func() tea.Msg {
		info, err := r.agent.Usage(r.ctx)
		return viewMsg{view: &textView{title: "Usage", lines: info.Lines}, err: err}
	}
}
