package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"varve/internal/compact"
	"varve/internal/harness"
	"varve/internal/session"
	"varve/internal/setup"
	"varve/internal/tui"
	"varve/internal/tui/plain"
	"varve/internal/words"
)

// What fills the window, and what becomes of it (TUI-6, CMP-15): the same on the
// screen and in the shell.

func contextCommand(e *env, f *flags, asJSON *bool) *cobra.Command {
	var branch string
	c := &cobra.Command{
		Use: "context ID", Short: "Show what fills the model's window, and when it is summarized", Args: takes(1, whichSession),
		RunE: func(c *cobra.Command, args []string) error {
			return withSession(e, f, args[0], func(m *machine, s *harness.Session) error {
				branch := cmp.Or(branch, s.LastBranch())
				if _, err := s.Lineage(branch); err != nil {
					return operationErr(err, branch)
				}
				st := s.State(branch)
				r := m.report(c.Context(), s, st)
				if *asJSON {
					printJSON(e.out, r)
					return nil
				}
				for _, line := range m.contextOf(r).Lines(78) {
					fprintln(e.out, line)
				}
				return nil
			})
		},
	}
	c.Flags().StringVar(&branch, "branch", "", "the branch (default: the last used)")
	return c
}

// report is that of a branch, with the settings of now.
func (m *machine) report(ctx context.Context, s *harness.Session, st session.State) compact.Report {
	if st.Branch.Turn == nil {
		st.Session.Settings = m.configured() // what the next turn is decided by
	}
	if st.Branch.Model == (session.Model{}) {
		st.Branch.Model, _, _ = m.model() // none is chosen: it is said as such
	}
	r := s.Report(ctx, st, m.resolve, m.summarizers())
	if r.Running != nil || r.Asked != "" {
		r.LeftOpen = !harness.Held(m.folders.State, strings.TrimSuffix(lastPart(s.Path()), ".jsonl"), st.Branch.Name)
	}
	return r
}

// layerNames are what layers are called.
var layerNames = map[string]string{
	"tools": "tool definitions", "instructions": "instructions", "checkpoint": "summary of before", "user": "your messages", "shell": "your commands",
	"answers": "answers", "thinking": "thinking", "tool_calls": "tool calls", "tool_results": "results", "native": "provider's own", "plan": "plan",
	"catalogs": "catalogs",
}

func (m *machine) contextOf(r compact.Report) tui.ContextInfo {
	set := 0
	if n := m.settings().Limits(setup.ModelRef{Provider: r.Model.Provider, Model: r.Model.Model}).ContextWindow; n != nil {
		set = *n
	}
	c := tui.ContextInfo{Model: modelName(r.Model), Used: r.Occupancy, Capacity: r.Capacity.N, Sizing: compact.Sizing(0), Trigger: r.Trigger}
	if r.Mode == "disabled" {
		c.Trigger = 0
	}
	for _, l := range r.Layers {
		name := cmp.Or(layerNames[l.Name], l.Name)
		if l.Tool != "" {
			name += ": " + words.OneLine(l.Tool)
		}
		c.Layers = append(c.Layers, tui.ContextLayer{Name: name, Items: l.Items, Tokens: l.Tokens})
	}
	say := func(name, format string, args ...any) {
		c.Facts = append(c.Facts, tui.ContextFact{Name: name, Says: plain.Clean(fmt.Sprintf(format, args...))})
	}
	say("largest", "%s", largestWords(r))
	say("window", "%s", capacityWords(r, set))
	say("summarized at", "%s", triggerWords(r))
	mode := r.Mode
	if r.Requested != r.Mode {
		mode = r.Requested + ", which is " + r.Mode + " here"
	}
	say("mode", "%s", mode)
	say("summarized by", "%s", askerWords(r))
	say("/compact now", "%s", compactWords(r))
	if r.Asked != "" {
		say("queued", "a compaction, asked for by %s", r.Asked)
	}
	if run := r.Running; run != nil {
		name, then := "running", ""
		if r.LeftOpen {
			name, then = "left open", "; goes on with /compact or a message"
		}
		say(name, "a compaction, asked for by %s: %s, %s (%d/%d)%s", run.By, strings.ReplaceAll(run.Route, "_", " "), run.Model, run.I, run.N, then)
	}
	if r.Deferred {
		say("deferred", "an attempt failed in this turn: no other begins by itself before the next one; /compact does")
	}
	if r.Recoveries > 0 || r.GaveUp {
		say("recovery", "%d of 2 attempts since the last answer, because a request was too long%s", r.Recoveries, map[bool]string{true: "; no shorter one could be made"}[r.GaveUp])
	}
	if w := r.Accepted; w != nil {
		say("accepted", "%s of %d, made by %s; repartitions %d of %d, corrections %d of %d%s", words.Count(w.Maps, "map"), w.Maps+w.Missing, w.Model,
			w.Rounds, compact.MaxRounds, w.Corrections, compact.MaxCorrections, map[bool]string{true: "; one at a time"}[w.Sequential])
	}
	if len(r.Spent) > 0 {
		say("spent", "%s", strings.Join(r.Spent, ", "))
	}
	for i, p := range r.Checkpoints {
		name := ""
		if i == 0 {
			name = "summaries"
		}
		stale := ""
		if len(p.Stale) > 0 {
			stale = "; changed since: " + strings.Join(p.Stale, ", ")
		}
		say(name, "event %d: %s tokens became %s, of %s%s", p.At, words.Tokens(p.Before), words.Tokens(p.After), rangeWords(p.Ranges), stale)
	}
	say("sizes", "~ marks an estimate; what has none was counted by the provider")
	return c
}

// compactWords are what a /compact of now would come to.
func compactWords(r compact.Report) string {
	if r.Route == "" {
		return "there is nothing to summarize yet"
	}
	if r.Onward == "refused" {
		return fmt.Sprintf("is refused: the budget of %s is spent with %s; once more begins anew, without what was accepted; another model goes on with it", strings.Join(r.Spent, ", "), r.Accepted.Model)
	}
	s := fmt.Sprintf("about %s tokens would become one summary", about(r.Covers))
	switch {
	case r.Onward == "goes_on":
		return s + ", with the " + words.Count(r.Accepted.Maps, "map") + " of " + strconv.Itoa(r.Accepted.Maps+r.Accepted.Missing) + " that were accepted"
	case r.Route == "map_reduce":
		s += ", by parts (MapReduce): they don't fit one request"
	default:
		s += ", by one request"
	}
	if r.Onward == "dropped" {
		s += "; anew, without what was accepted"
	}
	return s
}

// largestWords name single items that take much of the window.
func largestWords(r compact.Report) string {
	var out []string
	for _, l := range r.Largest {
		name := cmp.Or(words.OneLine(l.Tool), layerNames[l.Layer])
		what := plain.Truncate(words.OneLine(l.What), 40)
		out = append(out, strings.TrimSpace(name+" "+what)+" "+about(l.Tokens))
	}
	return cmp.Or(strings.Join(out, ", "), "no single item takes a twentieth of it")
}

func about(n int) string { return words.Tokens(session.Tokens{N: n}) }

func exactly(n int) string { return words.Tokens(session.Tokens{N: n, By: "provider"}) }

// capacityWords say how large the window is and who says so; set is what the
// user's settings say, 0 for nothing.
func capacityWords(r compact.Report, set int) string {
	source := map[string]string{
		"setting": "by your settings", "learned": "as an error of the provider said", "reported": "as the provider says", "catalogue": "by the " + catalogueWords(),
	}
	if r.Capacity.N <= 0 {
		return "not known, and none is invented: nothing begins by itself before the provider reports one"
	}
	s := fmt.Sprintf("%s tokens, %s", exactly(r.Capacity.N), cmp.Or(source[r.Capacity.Source], r.Capacity.Source))
	if set > 0 && set != r.Capacity.N && r.Capacity.Source == "learned" {
		s += fmt.Sprintf("; your setting says %s", exactly(set))
	}
	if r.Budget < r.Capacity.N {
		s += fmt.Sprintf("; %s of them are used (context.input_limit_tokens lifts that)", exactly(r.Budget))
	}
	return s
}

func triggerWords(r compact.Report) string {
	switch {
	case r.Mode == "disabled":
		return "never: the mode is disabled"
	case r.Trigger == 0:
		return "not by itself: the window is not known"
	case r.TriggerBy == "setting":
		return fmt.Sprintf("%s tokens, by context.compaction.threshold_tokens", exactly(r.Trigger)) + drawn(r)
	}
	whole := "the window"
	if r.Budget < r.Capacity.N {
		whole = "the " + exactly(r.Budget)
	}
	return fmt.Sprintf("%s tokens, 80 %% of %s", exactly(r.Trigger), whole) + drawn(r)
}

// drawn names the mark of the picture, where it is in it.
func drawn(r compact.Report) string {
	if r.Trigger <= cmp.Or(r.Capacity.N, compact.Sizing(0)) {
		return " (" + tui.TriggerMark + " above)"
	}
	return ""
}

func modelName(m session.Model) string {
	if m == (session.Model{}) {
		return "no model yet"
	}
	return m.String()
}

func askerWords(r compact.Report) string {
	var out []string
	for i, a := range r.Summarizers {
		s := modelName(a.Model)
		if !r.Own {
			s = fmt.Sprintf("%d. %s", i+1, s)
		}
		switch {
		case a.Problem != "":
			s += " (can't be asked: " + asStarted(words.OneLine(a.Problem)) + ")"
		case a.Window.N > 0:
			s += " (" + exactly(a.Window.N) + ")"
		default:
			s += " (window not known)"
		}
		out = append(out, s)
	}
	s := strings.Join(out, ", ")
	if r.Own {
		return s + ": the agent's own, since no summarization model is set (/summarizers)"
	}
	return s + ", in this order (/summarizers)"
}

func rangeWords(ranges []session.Range) string {
	var out []string
	for _, r := range ranges {
		out = append(out, r.From.String()+"–"+r.To.String())
	}
	return "items " + strings.Join(out, ", ")
}
