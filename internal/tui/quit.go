package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
)

// Ctrl+C: clearing what is written, and leaving.

// againQuits is said after a first Ctrl+C.
const againQuits = "Ctrl+C again quits."

// cleared is Ctrl+C once. Where the words that it took can't be kept for later
// runs, they come back.
func (r *Root) cleared() tea.Cmd {
	r.chat.hint = againQuits
	r.chat.hold(r.now, twiceWithin)
	line, gone := r.chat.comp.Cleared()
	switch {
	case strings.TrimSpace(gone) == "":
		return nil
	case line == "": // too long for the disk, or there already
		r.chat.hint = againQuits + " What was written is in the history (Up) until then."
		return nil
	}
	return func() tea.Msg { return givenUpMsg{gone, r.agent.Remember(r.ctx, line)} }
}

// A givenUpMsg says that words that were cleared are in the history, or why not.
type givenUpMsg struct {
	text string
	err  error
}

func (r *Root) givenUp(m givenUpMsg) {
	switch {
	case m.err != nil:
		says := "The history can't be saved: " + m.err.Error()
		if r.chat.comp.Empty() {
			r.chat.comp.SetText(m.text)
			says = "What was written stays here, for the history can't be saved: " + m.err.Error()
		}
		r.say("warning", says)
	case r.chat.hint == againQuits:
		r.chat.hint = againQuits + " What was written is in the history (Up)."
	}
}

// quit leaves. Work that goes on is asked about first, unless it only waits for
// an answer that could not be recorded any more.
func (r *Root) quit() tea.Cmd {
	switch {
	case !r.atWork():
		return tea.Quit
	case r.chat.question == nil:
		r.askQuit()
		return nil
	}
	return func() tea.Msg {
		if r.agent.Lost(r.ctx) {
			return quitMsg{}
		}
		return askQuitMsg{}
	}
}

// askQuit asks before a turn is interrupted. Ctrl+C once more is an answer too:
// who presses it again and again wants out.
func (r *Root) askQuit() {
	r.chat.hint = ""
	says, does := "A turn is running. Quitting interrupts it; the session is kept, and can be resumed.", "Interrupt and quit"
	if !r.runs() {
		says, does = "The conversation is being summarized. Quitting stops that; what was accepted is kept, and /compact goes on with it.", "Stop and quit"
	}
	if r.fault != "" {
		says = "Work is under way, and the session can't be written: what came since could not be recorded and will be lost."
	}
	box := NewConfirm("Quit", says, Choice{Label: "Stay", Key: "n"}, Choice{Label: does, Key: "y", Msg: quitMsg{}})
	box.Quit, box.OfTurn = quitMsg{}, true
	r.open(box)
}

type (
	quitMsg    struct{}
	askQuitMsg struct{}
)

// runs reports whether a turn is worked on here.
func (r *Root) runs() bool { return working(r.state) && r.ours && !r.paused() }

// atWork reports whether a turn or a compaction without one is worked on here.
func (r *Root) atWork() bool {
	return r.runs() || !working(r.state) && compacting(r.state) && r.ours && !r.busy
}
