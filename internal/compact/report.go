package compact

import (
	"cmp"
	"slices"

	"varve/internal/session"
)

// A Report is what fills the agent's next request, what may be in it, and what
// becomes of it (TUI-6, CMP-15). Sizes are tokens.
type Report struct {
	Model     session.Model    `json:"model"`
	Occupancy session.Tokens   `json:"occupancy"` // of the whole; a layer is always an estimate
	Layers    []Layer          `json:"layers"`
	Largest   []Large          `json:"largest"` // single items, the largest first
	Capacity  session.Capacity `json:"capacity"`
	Budget    int              `json:"budget"`     // 0: not known
	Trigger   int              `json:"trigger"`    // 0: none
	TriggerBy string           `json:"trigger_by"` // setting, budget, none
	Tail      int              `json:"tail"`

	Requested string `json:"requested_mode"` // omitted where the log leaves it out
	Mode      string `json:"mode"`           // that counts

	Summarizers []Asker `json:"summarizers"` // in the order in which they are asked
	Own         bool    `json:"own"`         // none is configured: the agent's model
	Route       string  `json:"route"`       // that /compact would take now: one_shot, map_reduce; "" where nothing can be covered
	Covers      int     `json:"covers"`      // what it would stand for
	Onward      string  `json:"onward"`      // what it would make of accepted work: goes_on, refused, dropped; "" where there is none

	Asked      string   `json:"asked,omitempty"`   // who asked for the one that waits: user, trigger, overflow
	Running    *Running `json:"running,omitempty"` // the one under way
	LeftOpen   bool     `json:"left_open"`         // nobody works on the one that waits or is under way
	Deferred   bool     `json:"deferred"`          // the trigger begins none in this turn any more
	Recoveries int      `json:"recoveries"`        // since the last reply, because a request was too long
	GaveUp     bool     `json:"gave_up"`
	Accepted   *Work    `json:"accepted,omitempty"` // of a MapReduce that did not come to its end
	Spent      []string `json:"spent"`              // budgets of it that are used up

	Checkpoints []Point `json:"checkpoints"` // newest first
}

// A Layer is one kind of what is in the request.
type Layer struct {
	Name   string `json:"name"`
	Tool   string `json:"tool,omitempty"` // of tool results
	Items  int    `json:"items"`
	Tokens int    `json:"tokens"`
}

// Large is one item that takes much of the request: at least a twentieth of it.
type Large struct {
	Item   session.ItemID `json:"item"`
	Layer  string         `json:"layer"`
	Tool   string         `json:"tool,omitempty"` // of a result
	Call   session.ItemID `json:"call,omitzero"`  // that a result is of
	What   string         `json:"what"`           // its beginning, or what the call was about
	Tokens int            `json:"tokens"`
}

// An Asker is a model that would be asked, and how much it holds.
type Asker struct {
	Model   session.Model    `json:"model"`
	Window  session.Capacity `json:"window"`
	Problem string           `json:"problem,omitempty"` // why it can't be
}

// Running is a compaction that is under way.
type Running struct {
	At    session.Seq   `json:"at"`
	By    string        `json:"by"`
	Route string        `json:"route"`
	Model session.Model `json:"model,omitzero"`
	I     int           `json:"i"`
	N     int           `json:"n"`
}

// Work is what a MapReduce has come to.
type Work struct {
	Maps        int           `json:"maps"`
	Missing     int           `json:"missing"`
	Rounds      int           `json:"repartitions"`
	Corrections int           `json:"corrections"`
	Sequential  bool          `json:"sequential"`
	Model       session.Model `json:"model,omitzero"`
}

// A Point is a checkpoint as it was committed.
type Point struct {
	At     session.Seq     `json:"at"`
	Ranges []session.Range `json:"ranges"`
	Before session.Tokens  `json:"before"`
	After  session.Tokens  `json:"after"`
	Stale  []string        `json:"stale,omitempty"`
}

// ReportOf is the report of a branch whose request may hold c. askers are those
// who are configured to summarize; with own it is the agent's model.
func ReportOf(s session.State, c session.Capacity, askers []Asker, own bool) Report {
	set := s.Session.Settings
	b := BudgetOf(set, c)
	r := Report{
		Model: s.Branch.Model, Occupancy: s.Occupancy(), Layers: layers(s), Largest: large(s), Capacity: c, Budget: b.Window, Trigger: b.Trigger, TriggerBy: "budget",
		Tail: b.Tail, Requested: "omitted", Mode: Mode(set), Summarizers: askers, Own: own, Spent: []string{}, Checkpoints: []Point{},
	}
	switch n := set.Compaction.Threshold; {
	case n != nil && *n > 0:
		r.TriggerBy = "setting"
	case b.Trigger == 0:
		r.TriggerBy = "none"
	}
	if m := set.Compaction.Mode; m != nil {
		r.Requested = *m
	}
	if r.Mode == "provider" {
		r.Mode = "standalone" // no route that is spoken compacts by itself
	}
	r.forecast(s, b)
	if a := s.Branch.Asked; a != nil {
		r.Asked = a.By
	}
	if c := s.Branch.Compaction; c != nil {
		r.Running = &Running{At: c.At, By: c.Asked.By, Route: c.Route, I: c.Entry + 1, N: len(c.Started.Chain)}
		if c.Entry >= 0 && c.Entry < len(c.Started.Chain) {
			r.Running.Model = c.Started.Chain[c.Entry]
		}
	}
	if t := s.Branch.Turn; t != nil {
		r.Deferred, r.Recoveries, r.GaveUp = t.Deferred, t.Recovered, t.GaveUp
	}
	if g := s.Branch.Staging; g != nil && !g.Legacy {
		r.Accepted = &Work{Maps: len(g.Maps), Missing: len(g.Missing), Rounds: g.Round, Corrections: g.Corrections, Sequential: g.Sequential, Model: g.Model}
		if stuck := Stuck(*g); stuck != "" {
			r.Spent = append(r.Spent, stuck)
		}
	}
	return r
}

// promptTokens is about what the instructions of a summary take.
const promptTokens = 700

// forecast is what a /compact of now would do. Whether it does is seen when the
// request is made.
func (r *Report) forecast(s session.State, b Budget) {
	cut, ok := Plan(s, b, Responded)
	if !ok {
		return
	}
	r.Covers, r.Route = s.Scaled(cut.Covers), "one_shot"
	i := slices.IndexFunc(r.Summarizers, func(a Asker) bool { return a.Problem == "" })
	if i < 0 {
		return
	}
	if s.Branch.Staging != nil && r.onward(s, b, cut) {
		return
	}
	m, size := r.Summarizers[i].Model, cut.Covers
	if fixed := historyOf(s).fixed; r.Own && !s.Branch.View.Masked(cut.Ranges) {
		size += fixed // its request begins as the agent's does
	}
	if !Fits(size*s.Ratio(m)/1000+promptTokens, 0, r.Summarizers[i].Window.N) {
		r.Route = "map_reduce"
	}
}

// onward is what it would make of accepted work. It reports false where that is of
// no use.
func (r *Report) onward(s session.State, b Budget, cut Cut) bool {
	var chain []session.Model
	for _, a := range r.Summarizers {
		chain = append(chain, a.Model)
	}
	switch on := Goes(s, b, cut, chain, true, false); {
	case on.Voids == "spent":
		r.Onward = "dropped"
	case on.Voids != "":
	case on.Ends:
		r.Onward, r.Route, r.Covers = "refused", "map_reduce", s.Scaled(on.Cut.Covers)
		return true
	default:
		r.Onward, r.Route, r.Covers = "goes_on", "map_reduce", s.Scaled(on.Cut.Covers)
		return true
	}
	return false
}

// layers are what is in the request, in the order in which it is sent; results
// by tool, the largest first.
func layers(s session.State) []Layer {
	tools := Layer{Name: "tools"}
	for _, t := range append([]session.Tools{s.Branch.Tools}, s.Branch.Tools.More...) {
		if t.At != 0 {
			tools.Items, tools.Tokens = tools.Items+1, tools.Tokens+t.Tokens.N
		}
	}
	all := []Layer{tools}
	for _, name := range []string{"instructions", "checkpoint", "user", "shell", "answers", "thinking", "tool_calls", "native", "plan", "catalogs"} {
		all = append(all, Layer{Name: name})
	}
	names := map[session.ItemID]string{} // tools, by call
	var results []Layer
	put := func(list []Layer, name, tool string, tokens int) []Layer {
		i := slices.IndexFunc(list, func(l Layer) bool { return l.Name == name && l.Tool == tool })
		if i < 0 {
			i, list = len(list), append(list, Layer{Name: name, Tool: tool})
		}
		list[i].Items, list[i].Tokens = list[i].Items+1, list[i].Tokens+tokens
		return list
	}
	for it := range s.Branch.View.All {
		switch it.Kind {
		case session.CallItem:
			names[it.ID] = it.Name
		case session.ResultItem:
			results = put(results, "tool_results", names[it.Call], it.Tokens.N)
			continue
		}
		all = put(all, layerOf(it.Kind), "", it.Tokens.N)
	}
	slices.SortStableFunc(results, func(a, b Layer) int { return cmp.Compare(b.Tokens, a.Tokens) })
	at := slices.IndexFunc(all, func(l Layer) bool { return l.Name == "native" })
	all = slices.Insert(all, at, results...)
	all = slices.DeleteFunc(all, func(l Layer) bool { return l.Items == 0 })
	for i := range all {
		all[i].Tokens = s.Scaled(all[i].Tokens)
	}
	return all
}

// mostLarge is how many items a report names.
const mostLarge = 3

// large are the items that take most of the request. What they say is not known
// here.
func large(s session.State) []Large {
	out, names := []Large{}, map[session.ItemID]string{}
	for it := range s.Branch.View.All {
		l := Large{Item: it.ID, Layer: layerOf(it.Kind), Tokens: s.Scaled(it.Tokens.N)}
		switch it.Kind {
		case session.InstructionItem, session.CatalogItem:
			continue
		case session.CallItem:
			names[it.ID] = it.Name
		case session.ResultItem:
			l.Layer, l.Tool, l.Call = "tool_results", names[it.Call], it.Call
		}
		if l.Tokens == 0 || l.Tokens < s.Occupancy().N/20 {
			continue
		}
		out = append(out, l)
		slices.SortStableFunc(out, func(a, b Large) int { return cmp.Compare(b.Tokens, a.Tokens) })
		out = out[:min(len(out), mostLarge)]
	}
	return out
}

func layerOf(k session.ItemKind) string {
	switch k {
	case session.InstructionItem:
		return "instructions"
	case session.UserItem:
		return "user"
	case session.AssistantItem:
		return "answers"
	case session.ReasoningItem:
		return "thinking"
	case session.CallItem:
		return "tool_calls"
	case session.CatalogItem:
		return "catalogs"
	case session.PlanKind:
		return "plan"
	}
	return string(k)
}
