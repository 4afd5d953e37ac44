package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"
)

// What is written and not sent survives a crash (TUI-4).

// keepDraft saves what is written a second after it changed, so that a crash
// does not take it (TUI-4).
func (r *Root) keepDraft() tea.Cmd {
	if r.draft != "" && r.chat.comp.Empty() {
		r.typed = false
		return r.writeDraft("") // it was sent: it must not come back
	}
	if r.drafting || !r.typed {
		return nil
	}
	r.drafting, r.typed = true, false
	return tea.Tick(time.Second, func(time.Time) tea.Msg { return draftMsg{} })
}

func (r *Root) saveDraft() tea.Cmd {
	r.drafting = false
	return r.writeDraft(r.written())
}

// written is what the person wrote and did not send. What the program itself
// put there, and nobody changed, is nobody's.
func (r *Root) written() string {
	if s := r.chat.comp.Draft().Whole(); s != r.given {
		return s
	}
	return ""
}

// Draft is what is written and not sent, for who keeps it when the program
// ends. It is not changed where that is what was kept last: the draft of the
// folder may be another window's by now.
func (r *Root) Draft() (text string, changed bool) {
	text = r.written()
	return text, r.saving || text != r.kept
}

// writeDraft saves a text, one at a time: an earlier one never comes last.
func (r *Root) writeDraft(text string) tea.Cmd {
	r.draft = text
	if r.saving || text == r.kept {
		return nil
	}
	r.saving = true
	return func() tea.Msg { return keptMsg{text, r.agent.SaveDraft(r.ctx, text)} }
}

// A keptMsg says that a draft was saved, or why not.
type keptMsg struct {
	text string
	err  error
}

func (r *Root) draftKept(m keptMsg) tea.Cmd {
	r.saving = false
	if m.err != nil {
		r.say("warning", "The draft can't be saved: "+m.err.Error())
		return nil
	}
	r.kept = m.text
	return r.writeDraft(r.draft)
}
