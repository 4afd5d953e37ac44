package main

import (
	"cmp"
	"math"

	"github.com/spf13/cobra"

	"varve/internal/harness"
	"varve/internal/session"
	"varve/internal/tui"
	"varve/internal/words"
)

// What was used, and what it cost (PRV-10): the same on the screen and in the
// shell.

// price is what a model's tokens cost, where that is known.
func price(session.Model) (harness.Price, bool) { return harness.Price{}, false }

// A usageScope is what `session usage --json` prints of a part of a session.
type usageScope struct {
	Requests int        `json:"requests"`
	Failed   int        `json:"failed"`
	CostUSD  *float64   `json:"cost_usd"` // null: the price of some of it is not known
	Models   []usageRow `json:"models"`
}

type usageRow struct {
	Model    string `json:"model"`
	Purpose  string `json:"purpose"` // agent, summary
	Requests int    `json:"requests"`
	Failed   int    `json:"failed"`
	Untold   int    `json:"untold"` // requests of which no tokens were told
	usage
	CostUSD *float64 `json:"cost_usd"`
}

// usageScopeOf adds up, and says a cost only where it is all of it.
func usageScopeOf(all []harness.Use) usageScope {
	out := usageScope{Models: []usageRow{}}
	cost, whole := 0.0, true
	for _, u := range all {
		row := usageRow{
			Model: u.Model.String(), Purpose: "agent", Requests: u.Requests, Failed: u.Failed, Untold: u.Unknown,
			usage: usage{u.Sum.Input, u.Sum.Cached, u.Sum.CacheWrite, u.Sum.Output, u.Sum.Reasoning},
		}
		if u.Summary {
			row.Purpose = "summary"
		}
		if paid, ok := costOf(u); ok && u.Unknown == 0 {
			row.CostUSD = &paid
			cost += paid
		} else {
			whole = false
		}
		out.Requests, out.Failed = out.Requests+u.Requests, out.Failed+u.Failed
		out.Models = append(out.Models, row)
	}
	if whole && len(all) > 0 {
		cost = math.Round(cost*1e9) / 1e9
		out.CostUSD = &cost
	}
	return out
}

func costOf(u harness.Use) (float64, bool) {
	if p, ok := price(u.Model); ok {
		return u.Cost(&p)
	}
	return u.Cost(nil)
}

// usageOf is the same to be looked at.
func usageOf(u harness.Usage, branch string) tui.UsageInfo {
	var out tui.UsageInfo
	for _, s := range []struct {
		name string
		all  []harness.Use
	}{{"Since your last message", u.Turn}, {"Branch " + words.OneLine(branch), u.Branch}, {"This session, all branches", u.Session}} {
		scope := tui.UsageScope{Name: s.name}
		for _, x := range s.all {
			row := tui.UsageRow{
				Model: x.Model.String(), Summaries: x.Summary, Requests: x.Requests, Failed: x.Failed, Untold: x.Unknown,
				Input: x.Sum.Input, Cached: x.Sum.Cached, CacheWrite: x.Sum.CacheWrite, Output: x.Sum.Output, Reasoning: x.Sum.Reasoning,
			}
			paid, ok := costOf(x)
			row.Cost, row.Unpriced = paid, !ok
			scope.Rows = append(scope.Rows, row)
		}
		out.Scopes = append(out.Scopes, scope)
	}
	return out
}

func usageCommand(e *env, f *flags, asJSON *bool) *cobra.Command {
	var branch string
	c := &cobra.Command{
		Use: "usage ID", Short: "Show what was used, by model, and what it cost", Args: takes(1, whichSession),
		Long: "Show the tokens that were used and what they cost, by model: since the last message, on the branch, in the session. Requests\n" +
			"that failed count, and those of summarizers do. A cost is given where the provider told it or the price is known.",
		Example: "  agent session usage 01a2\n  agent session usage 01a2 --json",
		RunE: func(_ *cobra.Command, args []string) error {
			return withSession(f, args[0], func(_ *machine, s *harness.Session) error {
				branch := cmp.Or(branch, s.LastBranch())
				if _, err := s.Lineage(branch); err != nil {
					return operationErr(err, branch)
				}
				u, err := s.Usage(branch)
				if err != nil {
					return sessionErr(err)
				}
				if *asJSON {
					printJSON(e.out, struct {
						Branch  string     `json:"branch"`
						Turn    usageScope `json:"turn"`
						On      usageScope `json:"on_branch"`
						Session usageScope `json:"session"`
					}{branch, usageScopeOf(u.Turn), usageScopeOf(u.Branch), usageScopeOf(u.Session)})
					return nil
				}
				for _, line := range usageOf(u, branch).Lines(100) {
					fprintln(e.out, line)
				}
				return nil
			})
		},
	}
	c.Flags().StringVar(&branch, "branch", "", "the branch (default: the last used)")
	return c
}
