package index

import (
	"math"
	"slices"
	"time"

	"varve/internal/session"
)

// Usage adds up what providers reported.
type Usage struct {
	Input, Cached, CacheWrite, Output, Reasoning int64   // tokens, as in session.Usage
	Cost                                         float64 // US dollars, of those replies whose cost is known
	Unpriced                                     int     // replies whose cost is not known
}

func (u *Usage) add(r *session.Usage) {
	if r == nil {
		u.Unpriced++
		return
	}
	u.Input += int64(r.Input)
	u.Cached += int64(r.Cached)
	u.CacheWrite += int64(r.CacheWrite)
	u.Output += int64(r.Output)
	u.Reasoning += int64(r.Reasoning)
	if r.Cost == nil {
		u.Unpriced++
	} else {
		u.Cost += *r.Cost
	}
}

// A Branch is what a list shows of a branch (BRW-1). What it took over from its
// parent is the parent's.
type Branch struct {
	Name     string
	Parent   string // "" for the first one
	From     session.Seq
	Reach    session.Seq // the last event that it took over, 0 for none
	Purpose  string
	Title    string // a name that it was given, or ""
	First    string // its own first user message, on one line
	Created  time.Time
	Changed  time.Time // when something was last said or done in it; it was made, where nothing was
	Model    string
	Messages int    // that it has now: what a revert left is not among them
	Reverted string // the label of a revert behind which nothing was said yet, or ""
	Usage    Usage
	Open     bool // its turn has no end
	Deleted  bool
	Reverts  []Revert

	models []chosen // so that a fork or a revert finds what was chosen at its place
	counts []counted
}

// A Revert can be taken back by its label (BRN-4).
type Revert struct {
	Label   string
	At      session.Seq
	Preview string

	had int // messages of the branch that it left
}

// counted is how many messages a branch had before one of the user's, or behind a
// branch operation.
type counted struct {
	at session.Seq
	n  int
}

type chosen struct {
	at    session.Seq
	model string
}

func (b *Branch) choose(at session.Seq, model string) {
	b.Model = model
	b.models = append(b.models, chosen{at, model})
}

// modelAt is the model of a branch behind an event.
func (b *Branch) modelAt(at session.Seq) string {
	for _, c := range slices.Backward(b.models) {
		if c.at <= at {
			return c.model
		}
	}
	return ""
}

// countAt is how many messages a branch had at a place of its own.
func (b *Branch) countAt(r session.Reference) int {
	if r.Branch != b.Name || r.Select == "empty" {
		return 0 // what it took over is another's
	}
	for _, c := range slices.Backward(b.counts) {
		if c.at <= r.Seq {
			return c.n
		}
	}
	return 0
}

// isNews reports whether an event is the user's or the model's doing: forks,
// reverts and names make nothing newer.
func isNews(kind string) bool {
	switch kind {
	case "session.created", "user.said", "reply.completed", "reply.rejected", "turn.ended", "shell.ran":
		return true
	}
	return false
}

func cloneBranches(all []Branch) []Branch {
	all = slices.Clone(all)
	for i := range all {
		all[i].Reverts, all[i].models = slices.Clone(all[i].Reverts), slices.Clone(all[i].models)
		all[i].counts = slices.Clone(all[i].counts)
	}
	return all
}

// A tally adds lines up to what a list shows of them.
type tally struct {
	*Info
	begun *bool
	ats   [][]byte // the time of the last event of each branch that is news, as it stands
	last  int      // the branch of the last event, -1 before any
	spoke int      // and that of the last one that is news
}

func newTally(i *Info, begun *bool) *tally {
	return &tally{Info: i, begun: begun, ats: make([][]byte, len(i.Branches)), last: -1, spoke: -1}
}

// branch is the index of a branch, which is made where it is not there.
func (t *tally) branch(name []byte) int {
	if t.last >= 0 && t.Branches[t.last].Name == string(name) {
		return t.last
	}
	i := slices.IndexFunc(t.Branches, func(b Branch) bool { return b.Name == string(name) })
	if i < 0 {
		i = len(t.Branches)
		t.Branches, t.ats = append(t.Branches, Branch{Name: string(name)}), append(t.ats, nil)
	}
	return i
}

// line takes one line. The entry's event is nil where a list doesn't need it: it
// was not decoded.
func (t *tally) line(raw []byte) (session.Entry, error) {
	env, ok := session.Scan(raw)
	if !ok {
		e, err := session.Decode(raw)
		if err == nil {
			t.last = t.branch([]byte(e.Branch))
			if isNews(e.Type) {
				t.ats[t.last], t.spoke = e.At.AppendFormat(t.ats[t.last][:0], time.RFC3339Nano), t.last
			}
			t.apply(&t.Branches[t.last], e)
		}
		return e, err
	}
	counts := false
	switch string(env.Type) {
	case "session.created", "session.renamed", "log.repaired", "branch.created", "branch.renamed", "branch.deleted",
		"branch.reverted", "branch.rolled_back", "model.chosen", "user.said", "reply.completed", "reply.rejected",
		"turn.ended", "shell.ran":
		counts = true
	}
	var e session.Entry
	if counts {
		var err error
		if e, err = env.Decode(); err != nil {
			return e, err
		}
	}
	t.last = t.branch(env.Branch)
	if counts && isNews(string(env.Type)) {
		t.ats[t.last], t.spoke = append(t.ats[t.last][:0], env.At...), t.last
	}
	if counts {
		t.apply(&t.Branches[t.last], e)
	}
	return e, nil
}

func (t *tally) apply(b *Branch, e session.Entry) {
	if b.Created.IsZero() {
		b.Created = e.At
	}
	switch ev := e.Event.(type) {
	case session.SessionCreated:
		t.Info.Created, t.Workspace = e.At, ev.Workspace
	case session.SessionRenamed:
		t.Info.Title, t.Named = textOf(e, &ev.Title), true
	case session.ModelChosen:
		t.Info.Model = ev.Model.String()
		b.choose(e.Seq, t.Info.Model)
	case session.UserSaid:
		if !*t.begun {
			*t.begun = true
			t.First = textOf(e, ev.Text)
			if !t.Named {
				t.Info.Title = t.First
			}
		}
		if b.First == "" {
			b.First = textOf(e, ev.Text)
		}
		if ev.Turn == 0 {
			b.Open = true
		}
		b.counts = append(b.counts, counted{e.Seq, b.Messages})
		t.Info.Messages++
		b.Messages++
		b.Reverted = ""
	case session.ShellRan:
		t.Info.Messages++
		b.Messages++
		b.Reverted = ""
	case session.ReplyCompleted:
		t.Info.Messages++
		b.Messages++
		b.Reverted = ""
		t.Info.Usage.add(ev.Usage)
		b.Usage.add(ev.Usage)
	case session.ReplyRejected:
		if ev.Usage != nil { // most were never charged
			t.Info.Usage.add(ev.Usage)
			b.Usage.add(ev.Usage)
		}
	case session.TurnEnded:
		b.Open = false
	case session.BranchCreated:
		b.Created, b.Parent, b.From, b.Purpose = e.At, ev.From.Branch, ev.From.Seq, ev.Purpose
		switch ev.From.Select {
		case "before":
			b.Reach = ev.From.Seq - min(ev.From.Seq, 1)
		case "empty":
		default:
			b.Reach = ev.From.Seq
		}
		if m := t.modelOf(ev.From); m != "" {
			b.choose(e.Seq, m)
		}
	case session.BranchRenamed:
		b.Title = textOf(e, &ev.Title)
	case session.BranchDeleted:
		b.Deleted, b.Open = true, false
	case session.BranchReverted:
		b.Open = false
		b.Reverts = append(b.Reverts, Revert{ev.Label, e.Seq, textOf(e, &ev.Preview), b.Messages})
		b.Messages, b.Reverted = b.countAt(ev.To), ev.Label
		b.counts = append(b.counts, counted{e.Seq, b.Messages})
		b.choose(e.Seq, t.modelOf(ev.To))
	case session.BranchRolledBack:
		b.Open = false
		b.choose(e.Seq, b.modelAt(ev.To))
		if i := slices.IndexFunc(b.Reverts, func(v Revert) bool { return v.Label == ev.Label }); i >= 0 {
			b.Messages = b.Reverts[i].had
		}
		b.Reverted = ""
		b.counts = append(b.counts, counted{e.Seq, b.Messages})
	}
}

func (t *tally) modelOf(r session.Reference) string {
	if r.Select == "empty" {
		return ""
	}
	i := slices.IndexFunc(t.Branches, func(b Branch) bool { return b.Name == r.Branch })
	if i < 0 {
		return ""
	}
	return t.Branches[i].modelAt(r.Seq)
}

// finish makes of the lines so far what is not kept up with each of them.
func (t *tally) finish() {
	for i, at := range t.ats {
		if when, err := time.Parse(time.RFC3339Nano, string(at)); err == nil {
			t.Branches[i].Changed = when.UTC()
		}
	}
	for i := range t.Branches {
		if t.Branches[i].Changed.IsZero() {
			t.Branches[i].Changed = t.Branches[i].Created.UTC()
		}
	}
	if t.spoke >= 0 && !t.Branches[t.spoke].Changed.IsZero() {
		t.Info.Changed = t.Branches[t.spoke].Changed
	}
	t.Info.Open = slices.ContainsFunc(t.Branches, func(b Branch) bool { return b.Open })
}

// reached says for each branch up to which event some branch that is not deleted
// has it.
func reached(all []Branch) map[string]session.Seq {
	reach := map[string]session.Seq{}
	for _, b := range all {
		if b.Deleted {
			continue
		}
		for at, upTo := b, session.Seq(math.MaxUint64); reach[at.Name] < upTo; {
			reach[at.Name] = upTo
			i := slices.IndexFunc(all, func(o Branch) bool { return o.Name == at.Parent })
			if i < 0 {
				break
			}
			at, upTo = all[i], min(upTo, at.Reach)
		}
	}
	return reach
}
