package tui

import (
	"errors"

	tea "charm.land/bubbletea/v2"

	"varve/internal/harness/drive"
	"varve/internal/session"
)

// What can be done where another window works on the branch, or was faster
// (LOG-6): look at what is there now, or go on in a branch of one's own.

// An elsewhereMsg asks for one of the two.
type elsewhereMsg struct {
	op    drive.Operation // the fork; nil: reload
	waits bool            // say when the other window is done
	text  string          // to send there
	rest  string          // for the composer
}

// refused brings the words of a message back. Whatever was written since comes
// behind them.
func (r *Root) refused(m refusedMsg) {
	rest := r.chat.comp.Draft().Whole()
	text := m.draft
	if rest != "" {
		text += "\n" + rest
	}
	r.chat.comp.SetText(text)
	if !r.conflictOver(m.err, "Your message was not sent: ", "It stays below.", elsewhereMsg{op: drive.Fork{From: r.point()}, text: m.draft, rest: rest}) {
		r.unsaid(m.err)
	}
}

// conflict offers the two for a revert that was refused.
func (r *Root) conflict(err error, m operateMsg) bool {
	o, ok := m.op.(drive.Revert)
	if !ok {
		return false
	}
	from := session.Reference{Branch: o.Branch, Seq: o.Message, Select: "before"}
	return r.conflictOver(err, "Nothing was changed: ", "", elsewhereMsg{op: drive.Fork{From: from}, rest: m.what})
}

// elsewhere reports whether what was refused is in another window's way.
func elsewhere(err error) bool {
	return errors.Is(err, drive.ErrHeld) || errors.Is(err, drive.ErrConflict)
}

// point is what this window has seen of the branch: without the turn that runs
// in another one.
func (r *Root) point() session.Reference {
	b := r.state.Branch
	if b.Turn != nil {
		return session.Reference{Branch: b.Name, Seq: b.Turn.ID, Select: "before"}
	}
	return session.Reference{Branch: b.Name, Seq: b.Head, Select: "head"}
}

// conflictOver opens the question, where err is one that it is about.
func (r *Root) conflictOver(err error, what, stays string, fork elsewhereMsg) bool {
	var says string
	var first Choice
	switch running := r.state.Branch.Turn != nil; {
	case !r.writable():
		return false
	case errors.Is(err, drive.ErrHeld) && running:
		says, first = "another window or process is working on this branch.", Choice{Key: "w", Label: "Wait until it is closed there", Msg: elsewhereMsg{waits: true}}
	case errors.Is(err, drive.ErrHeld):
		says, first = "another window has this branch open.", Choice{Key: "w", Label: "Wait until it is closed there", Msg: elsewhereMsg{waits: true}}
	case errors.Is(err, drive.ErrConflict):
		says, first = "another window has changed this branch meanwhile.", Choice{Key: "r", Label: "Reload: show what is there now", Msg: elsewhereMsg{}}
	default:
		return false
	}
	if stays != "" {
		says += " " + stays
	}
	begins := "what you see here"
	if r.state.Branch.Turn != nil && fork.text != "" {
		begins = "what was said before the turn that runs there"
	}
	goes := "Fork from here"
	if fork.text != "" {
		goes += ", and send it"
	}
	box := NewConfirm("Another window works here", what+says+"\nA fork is a branch of your own that begins with "+begins+": both windows go on, in the same files.",
		first, Choice{Key: "f", Label: goes, Msg: fork})
	r.open(box)
	return true
}

// goesOn does one of the two.
func (r *Root) goesOn(m elsewhereMsg) tea.Cmd {
	if m.op == nil {
		cmd := r.anew(r.id)
		r.waits = m.waits
		return cmd
	}
	return func() tea.Msg {
		out, err := r.agent.Operate(r.ctx, m.op)
		return forkedMsg{m, out.ID, err}
	}
}

// A forkedMsg says that there is a branch to go on in.
type forkedMsg struct {
	elsewhereMsg
	id  Identity
	err error
}

// forked goes on in the new branch. What can't be sent there stays in the
// composer.
func (r *Root) forked(m forkedMsg) tea.Cmd {
	if m.err != nil {
		r.say("error", "No branch was made: "+r.faultWords(m.err))
		return nil
	}
	cmd := r.anew(m.id)
	r.say("success", "A new branch; /tree leads back to the other.")
	if m.text == "" {
		if r.chat.comp.Empty() {
			r.chat.comp.SetText(m.rest)
		}
		return cmd
	}
	r.chat.comp.SetText(m.rest)
	return tea.Batch(cmd, r.submit(drive.Say{Text: []byte(m.text)}))
}
