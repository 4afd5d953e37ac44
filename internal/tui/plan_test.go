package tui

import (
	"testing"

	"varve/internal/session"
)

// Ctrl+T shows the plan that applies to the branch: after a resume also one that is on no
// page that was read, and after going back the one of there, or none. // PLAN-2, PLAN-5
func TestPlanOfTheBranch(t *testing.T) {
	scene(t, func(s *stage) {
		first := s.works("first of all")
		open := s.a.last()
		reply := s.a.answer(open, "tool_call:todo", `{"items":[{},{}]}`)
		old := planOf(s, call(reply, 1), "read the code", "mend it")
		s.a.put(session.TurnEnded{Turn: first, Status: "completed"})
		second := s.works("the second")
		open = s.a.last()
		reply = s.a.answer(open, "tool_call:todo", `{"items":[{}]}`)
		planOf(s, call(reply, 1), "write a test")
		s.a.put(session.TurnEnded{Turn: second, Status: "completed"})
		s.now()
		s.press("<ctrl+t>")
		s.sees("Plan 0/1", "write a test")
		s.lacks("Plan 0/2")

		// Back: another plan applies, and it stays open.
		s.a.put(session.BranchReverted{To: session.Reference{Branch: "main", Seq: second, Select: "before"}, Left: second, Label: "v1", Plan: old}, "the second")
		s.now()
		s.sees("Plan 0/2", "read the code", "mend it")
		s.lacks("0/1")
		// And further: none does.
		s.a.put(session.BranchReverted{To: session.Reference{Branch: "main", Seq: first, Select: "before"}, Left: second, Label: "v2"}, "first of all")
		s.now()
		s.lacks("Plan 0/")
		s.press("<ctrl+t><ctrl+t>")
		s.sees("There is no plan in this branch.")
		s.a.put(session.BranchRolledBack{Label: "v1", To: second, Left: second})
		s.now()
		s.sees("Plan 0/1", "write a test")
	})
}

// planOf records a plan of a call, each task pending.
func planOf(s *stage, after session.ItemID, tasks ...string) session.Seq {
	ev := session.PlanChanged{AfterItem: &after, By: "model", NextID: len(tasks) + 1}
	var body []string
	for i, k := range tasks {
		ev.Items = append(ev.Items, session.PlanItem{ID: "task-" + itoa(i+1), Status: "pending", Content: 2 * i, ActiveForm: 2*i + 1})
		body = append(body, k, k)
	}
	return s.a.put(ev, body...)
}

// A plan from before the pages that were read is fetched, its words only. // PLAN-2
func TestPlanOfALongSession(t *testing.T) {
	onStage(t, 80, 24, noColours(), func(s *stage) {
		turn := s.works("first of all")
		reply := s.a.answer(s.a.last(), "tool_call:todo", `{"items":[{},{}]}`)
		planOf(s, call(reply, 1), "read the\ncode", "mend\x1b[2J it")
		s.a.put(session.TurnEnded{Turn: turn, Status: "completed"})
		for range 200 {
			s.a.put(session.TurnEnded{Turn: s.a.say("more"), Status: "completed"})
		}
	}, func(s *stage) {
		s.press("<ctrl+t>")
		s.sees("Plan 0/2  read the code", "mend it")
		if s.chat.tr.first <= 6 {
			t.Error("the page with the plan was read: the test shows nothing")
		}
	})
}
