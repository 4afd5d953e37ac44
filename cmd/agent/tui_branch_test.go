package main

import "strings"

// Back, on from there, into a branch, and forth again; what a second program
// shows is the branch that was used last, without what was left.
func playBranches(h *tuiHouse) { // BRN-3, BRN-4, BRN-5, TUI-4, case SES-14
	x := h.ready()
	for i, word := range []string{"first of all", "a second thing"} {
		x.says(word)
		x.sees("You said: " + word)
		x.await("the end of the turn", func() bool { return h.kinds()["turn.ended"] == i+1 })
	}
	x.says("/revert")
	x.sees("Revert: go back to before…", "▸ a second thing", "first of all")
	x.in(keyEnter)
	x.sees("Back to before “a second thing”. It is below, to be changed.", "> a second thing")
	x.await("the message gone from the conversation", func() bool { return !strings.Contains(x.screen(), "You said: a second thing") })
	x.in(" indeed")
	x.sees("> a second thing indeed")
	x.in(keyEnter)
	x.sees("You said: a second thing indeed")
	x.await("the end of the turn", func() bool { return h.kinds()["turn.ended"] == 3 })
	x.says("/rollback")
	x.sees("v1  a second thing")
	x.in(keyEnter)
	x.sees("Revert v1 is taken back: what it left is here again.")
	x.await("the first way back", func() bool {
		return strings.Contains(x.screen(), "You said: a second thing") && !strings.Contains(x.screen(), "indeed")
	})
	x.says("/fork")
	x.sees("from here, as it is now")
	x.in(keyEnter)
	x.sees("A new branch, from here.")
	x.says("only in the branch")
	x.sees("You said: only in the branch")
	x.await("the end of the turn", func() bool { return h.kinds()["turn.ended"] == 4 })
	x.says("/tree")
	x.sees("Sessions · branches of", "main  “first of all”", "↶ revert v1  to before “a second thing”", "taken back", "▸ └ b2  “only in the branch”", "· here")
	x.in(keyEsc)
	x.gone("Sessions · branches of")
	x.quits()
	x = h.open("--continue")
	x.sees("You said: only in the branch", "You said: a second thing")
	x.says("/tree")
	x.sees("▸ └ b2")
	x.in(keyUp + keyUp + keyUp + keyUp + keyUp + keyUp)
	x.sees("▸ main")
	x.in(keyEnter)
	x.sees("This is main.")
	x.await("main without the branch's words", func() bool { return !strings.Contains(x.screen(), "only in the branch") })
	x.sees("· on main ·")
	x.says("/tree") // BRN-6, BRW-3
	x.sees("▸ main")
	x.in(keyDelete)
	x.sees("main is on the screen")
	x.in("b2")
	x.sees("▸ └ b2")
	x.in(keyDelete)
	x.sees("Delete b2 of")
	x.in("y")
	x.sees("✓ b2 is deleted", "└ b2", "deleted: what was written in it")
	x.in(keyEsc)
	x.gone("Sessions · branches of")
	x.gone("· on main ·")
	x.says("on main still")
	x.sees("You said: on main still")
	x.quits()
	if n := h.kinds()["branch.deleted"]; n != 1 {
		h.t.Errorf("%d branches deleted", n)
	}
	h.whole()
}
