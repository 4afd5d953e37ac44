package compact_test

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"varve/internal/compact"
	"varve/internal/session"
)

// A writer makes legal histories of one branch or two: it does what the fold
// allows next.
type writer struct {
	t    *rapid.T
	fold *session.Fold
	on   string // the branch
}

func write(t *rapid.T, steps int) *writer {
	w := &writer{t: t, fold: session.NewFold(), on: session.MainBranch}
	w.add(session.ToolsDefined{API: "a", Tokens: w.size()})
	w.add(session.InstructionPublished{Key: "10-prompt", Tokens: w.size()})
	for range steps {
		w.step()
	}
	return w
}

func (w *writer) state() session.State { return w.fold.State(w.on) }
func (w *writer) view() session.View   { return w.state().Branch.View }
func (w *writer) size() session.Tokens { return est(rapid.IntRange(0, 90).Draw(w.t, "size")) }

func (w *writer) add(e session.Event) session.Seq {
	q := w.fold.Head() + 1
	if err := w.fold.Apply(session.Entry{Seq: q, Branch: w.on, At: at(q), Type: session.Name(e), Event: e}); err != nil {
		w.t.Fatal(err)
	}
	return q
}

// step appends what may follow.
func (w *writer) step() {
	t, b := w.t, w.state().Branch
	may := []session.Event{
		session.ShellRan{Tokens: w.size()},
		session.PlanShown{Tokens: w.size()},
		session.CatalogPublished{Key: rapid.SampledFrom([]string{"skills", "agents"}).Draw(t, "key"), Tokens: w.size()},
	}
	add := func(e ...session.Event) { may = append(may, e...) }
	if b.Turn == nil {
		add(session.UserSaid{Via: "prompt", Text: &session.Text{}, Tokens: w.size()}, session.UserSaid{Via: "prompt", Text: &session.Text{}, Tokens: w.size()})
		for it := range b.View.All {
			if it.Kind == session.UserItem || it.Kind == session.ResultItem {
				add(session.ItemReplaced{Item: it.ID, Tokens: w.size()})
			}
		}
	} else {
		waiting := 0
		for _, c := range b.Turn.Calls {
			if !c.Done {
				waiting++
				add(session.ToolFinished{Call: c.ID, Tokens: w.size()}, session.ToolInterrupted{Call: c.ID, Why: "user", Tokens: w.size()})
			}
		}
		steer := session.UserSaid{Turn: b.Turn.ID, Via: "steer", Text: &session.Text{}, Tokens: w.size()}
		if waiting == 0 {
			reply := session.ReplyCompleted{Finish: "natural"}
			for i := range rapid.IntRange(1, 4).Draw(t, "parts") {
				p := session.ReplyPart{Kind: rapid.SampledFrom([]string{"assistant", "reasoning", "native", "tool_call", "tool_call"}).Draw(t, "part"), Tokens: w.size()}
				if p.Kind == "tool_call" {
					p.Call = &session.CallName{ID: fmt.Sprint(i), Name: "bash"}
				}
				reply.Parts = append(reply.Parts, p)
			}
			request := session.RequestSent{Turn: b.Turn.ID, Attempt: 1}
			if b.Turn.Open.Seq == 0 {
				add(request, request, request)
			} else {
				reply.Request = b.Turn.Open.Seq
				add(reply, reply, reply, session.ReplyRejected{Request: reply.Request, Class: "stalled", Kept: true, Text: &session.Text{}, Tokens: w.size()})
			}
			add(steer, session.TurnEnded{Turn: b.Turn.ID, Status: "completed"})
		}
		if last := w.lastResult(); !last.IsZero() {
			add(session.ItemMasked{Item: last, Tokens: est(1)})
		}
	}
	e := rapid.SampledFrom(may).Draw(t, "event")
	w.add(e)
	if rapid.IntRange(0, 24).Draw(t, "more") == 0 {
		switch b := w.state().Branch; {
		case b.Turn != nil:
			for _, c := range b.Turn.Calls { // an answer comes twice
				if c.Done {
					w.add(session.ToolFinished{Call: c.ID, Tokens: w.size()})
					break
				}
			}
		default:
			w.commit()
		}
	}
}

func (w *writer) lastResult() (id session.ItemID) {
	for it := range w.view().All {
		if it.Kind == session.ResultItem {
			id = it.ID
		}
	}
	return id
}

func (w *writer) plan() (compact.Cut, bool) {
	b := compact.Budget{Tail: rapid.IntRange(0, 400).Draw(w.t, "tail"), Trigger: rapid.IntRange(1, 1500).Draw(w.t, "trigger")}
	return compact.Plan(w.state(), b, compact.Reach(rapid.IntRange(0, 1).Draw(w.t, "reach")))
}

// commit commits what is planned, if anything is.
func (w *writer) commit() bool {
	cut, ok := w.plan()
	if ok {
		w.add(session.CheckpointCommitted{Kind: "text", Ranges: cut.Ranges, Replaces: cut.Replaces, Tokens: w.size()})
	}
	return ok
}

// fork goes on in a new branch that begins with a part of this one.
func (w *writer) fork() {
	var may []session.Seq
	for it := range w.view().All {
		if it.Kind == session.UserItem || it.Kind == session.ShellItem || it.Kind == session.AssistantItem && it.ID.Part == 1 {
			may = append(may, it.ID.Seq)
		}
	}
	if len(may) == 0 {
		return
	}
	ref := session.Reference{Branch: w.on, Seq: rapid.SampledFrom(may).Draw(w.t, "message"), Select: rapid.SampledFrom([]string{"before", "through"}).Draw(w.t, "select")}
	w.on = fmt.Sprintf("b%d", w.fold.Head())
	w.add(session.BranchCreated{Name: w.on, From: ref, Purpose: "fork"})
	if w.state().Branch.ReadOnly != "" {
		w.t.Fatalf("%+v selects nothing", ref)
	}
}

func ids(items []session.Item) []session.ItemID {
	out := make([]session.ItemID, len(items))
	for i, it := range items {
		out[i] = it.ID
	}
	return out
}

func shown(v session.View) []session.Item { return slices.Collect(v.All) }

func show(v session.View) string {
	var b strings.Builder
	for it := range v.All {
		fmt.Fprintf(&b, "%v %s of %v turn %d (%d)\n", it.ID, it.Kind, it.Call, it.Turn, it.Tokens.N)
	}
	return b.String()
}
