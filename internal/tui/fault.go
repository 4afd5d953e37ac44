package tui

import (
	"strings"

	"varve/internal/harness/drive"
)

// What is said of a session that can't be written, and for how long.

// faultWords is an error with its reason first: a long path before it would
// push it off the screen.
func (r *Root) faultWords(err error) string {
	s := err.Error()
	head, tail, ok := strings.Cut(s, ": ")
	doing, path, found := strings.Cut(head, " /")
	if !ok || !found || strings.Contains(doing, "\n") {
		return s
	}
	if doing == "append to" {
		doing = "the session can't be written"
	}
	reason, advice, _ := strings.Cut(tail, ": ")
	s = reason + ": " + doing
	if advice != "" {
		s += "; " + advice
	}
	return s + " (" + shortPath("/"+path, r.id.Home) + ")"
}

// heldWords are in what is refused while another process works on the branch
// (harness.ErrHeld).
const heldWords = "is working on this branch"

// trouble takes over what an update says of the log and of other processes.
// What is over is said no more, whatever time its toast had left. That the log
// is not tried any more is not the end of a fault: what was refused for it is
// said until something is recorded.
func (r *Root) trouble(u drive.Update) {
	was, busy := toastText(r.fault), r.busy
	r.busy, r.ours, r.fault = u.Busy, u.Ours, ""
	switch {
	case u.Fault != nil:
		r.fault = r.faultWords(u.Fault)
		r.unwritten = toastText(r.fault)
	case len(u.Entries) > 0:
		was = r.unwritten
		r.unwritten = ""
	}
	r.toasts = r.toasts.without(func(text string) bool {
		return was != "" && r.fault == "" && r.unwritten == "" && text == was || busy && !u.Busy && strings.Contains(text, heldWords)
	}).lasting(r.unwritten)
	if r.waits && busy && !u.Busy {
		r.waits = false
		does := "you can send now."
		if !r.chat.comp.Empty() {
			does = r.frame.Keys.Key(ActSend) + " sends what waits below."
		}
		r.say("success", "The other window is done: "+does)
	}
}

// unsaid shows why a command was not recorded.
func (r *Root) unsaid(err error) {
	r.say("error", r.faultWords(err))
	r.toasts = r.toasts.lasting(r.unwritten)
}

// writable reports whether what is done here could be recorded.
func (r *Root) writable() bool { return r.fault == "" && r.state.Branch.ReadOnly == "" }
