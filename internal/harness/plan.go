package harness

import (
	"bytes"
	"fmt"

	"varve/internal/harness/drive"
	"varve/internal/harness/tools"
	"varve/internal/session"
)

// planOf is a plan as facts and a body: for each task its words, then its
// active form.
func planOf(t tools.Todo) (*session.PlanChanged, []session.Part) {
	p := &session.PlanChanged{NextID: t.NextID, Items: []session.PlanItem{}}
	var body []session.Part
	for _, it := range t.Items {
		n := len(body)
		body = append(body, session.Part{Bytes: []byte(it.Content)}, session.Part{Bytes: []byte(it.ActiveForm)})
		p.Items = append(p.Items, session.PlanItem{ID: it.ID, Status: it.Status, Content: n, ActiveForm: n + 1})
	}
	return p, body
}

// Todo is the plan of a state, with its words.
func (s *Session) Todo(st session.State) (tools.Todo, error) {
	out := tools.Todo{NextID: max(st.Session.NextTask, 1)}
	p := st.Branch.Plan
	if p.At == 0 {
		return out, nil
	}
	e, err := s.Entry(p.At)
	if err != nil {
		return out, err
	}
	parts, err := e.Parts()
	if err != nil {
		return out, err
	}
	for _, it := range p.Items {
		if it.Content >= len(parts) || it.ActiveForm >= len(parts) {
			return out, fmt.Errorf("plan %d: words are missing", p.At)
		}
		out.Items = append(out.Items, tools.TodoItem{
			ID: it.ID, Status: it.Status, Content: string(parts[it.Content].Bytes), ActiveForm: string(parts[it.ActiveForm].Bytes),
		})
	}
	return out, nil
}

// planIntroduction is what a plan begins with that is written down for the model:
// it arrives as a message of the user's.
const planIntroduction = "Your task list at this point, put here by the application. It is no message of the user; a later list replaces it.\n"

// showPlan writes the plan down for the model, where no result of its own
// shows it (PLAN-8).
func (h *Hands) showPlan(s session.State, j drive.Job) drive.Result {
	t, err := h.sess.Todo(s)
	if err != nil {
		return drive.Result{Fault: &drive.Fault{Where: "plan", Kind: "content", Text: []byte(err.Error())}}
	}
	var b bytes.Buffer
	b.WriteString(planIntroduction)
	for _, it := range t.Items {
		fmt.Fprintf(&b, "%s [%s] %s\n", it.ID, it.Status, it.Content)
	}
	return drive.Result{Facts: []session.Fact{{
		Event: session.PlanShown{Plan: j.Plan, Tokens: session.Estimate(b.Len())},
		Body:  []session.Part{{Bytes: b.Bytes()}},
	}}}
}

// planNotShown stands in a plan's place where its words can't be had.
func planNotShown(plan session.Seq) session.Fact {
	words := []byte("The plan could not be read because of a fault in the program itself. Write it anew with todo if it is needed.")
	return session.Fact{
		Event: session.PlanShown{Plan: plan, Tokens: session.Estimate(len(words))},
		Body:  []session.Part{{Bytes: words}},
	}
}
