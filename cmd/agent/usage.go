package main

import (
	"cmp"
	"math"
	"sync"

	"github.com/spf13/cobra"

	"varve/internal/harness"
	"varve/internal/session"
	"varve/internal/tui"
	"varve/internal/words"
)

// What was used, and what it cost (PRV-10): the same on the screen and in the
// shell.

// prices says what a model's tokens cost, false where that is not known.
type prices func(session.Model) (harness.Price, bool)

// price is what the catalogue says of a model at its vendor's own address.
func (m *machine) price(model session.Model) (harness.Price, bool) {
	p, ok := m.settings().Provider(model.Provider)
	if !ok {
		return harness.Price{}, false
	}
	x, ok := published(model, p.BaseURL)
	if !ok || !x.Priced {
		return harness.Price{}, false
	}
	// What has no price of its own costs as the rest does.
	return harness.Price{In: x.In, Out: x.Out, CacheRead: cmp.Or(x.CacheRead, x.In), CacheWrite: cmp.Or(x.CacheWrite, x.In)}, true
}

// A priceTag is the same for the screen, which never waits: the catalogue is read
// beside it, once, when a price is asked for first.
type priceTag struct {
	of    prices
	mu    sync.Mutex
	reads sync.WaitGroup
	known map[session.Model]tag
}

type tag struct {
	harness.Price
	ok bool
}

func (t *priceTag) cost(u session.UsageOf) (float64, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p, asked := t.known[u.Model]
	if !asked {
		if t.known == nil {
			t.known = map[session.Model]tag{}
		}
		t.known[u.Model] = tag{}
		t.reads.Go(func() {
			price, ok := t.of(u.Model)
			t.mu.Lock()
			defer t.mu.Unlock()
			t.known[u.Model] = tag{price, ok}
		})
	}
	if !p.ok || u.Unknown > 0 {
		return 0, false
	}
	return harness.Use{Sum: u.Sum}.Cost(&p.Price)
}

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
func usageScopeOf(all []harness.Use, price prices) usageScope {
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
		if paid, ok := costOf(u, price); ok && u.Unknown == 0 {
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

func costOf(u harness.Use, price prices) (float64, bool) {
	if p, ok := price(u.Model); ok {
		return u.Cost(&p)
	}
	return u.Cost(nil)
}

// usageOf is the same to be looked at.
func usageOf(u harness.Usage, branch string, price prices) tui.UsageInfo {
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
			paid, ok := costOf(x, price)
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
			return withSession(e, f, args[0], func(m *machine, s *harness.Session) error {
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
					}{branch, usageScopeOf(u.Turn, m.price), usageScopeOf(u.Branch, m.price), usageScopeOf(u.Session, m.price)})
					return nil
				}
				for _, line := range usageOf(u, branch, m.price).Lines(100) {
					fprintln(e.out, line)
				}
				return nil
			})
		},
	}
	c.Flags().StringVar(&branch, "branch", "", "the branch (default: the last used)")
	return c
}
