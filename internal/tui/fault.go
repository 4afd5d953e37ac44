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
// What is over is said no more, whatever time its toast had left.
func (r *Root) trouble(u drive.Update) {
	was, busy := r.fault, r.busy
	r.busy, r.ours, r.fault = u.Busy, u.Ours, ""
	if u.Fault != nil {
		r.fault = r.faultWords(u.Fault)
	}
	r.toasts = r.toasts.without(func(text string) bool {
		return was != "" && r.fault == "" && text == toastText(was) || busy && !u.Busy && strings.Contains(text, heldWords)
	})
}

// writable reports whether what is done here could be recorded.
func (r *Root) writable() bool { return r.fault == "" && r.state.Branch.ReadOnly == "" }
