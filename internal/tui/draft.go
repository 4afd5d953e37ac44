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
		r.draft = ""
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
	text := r.chat.comp.Draft().Whole()
	if text == r.draft {
		return nil
	}
	r.draft = text
	return r.writeDraft(text)
}

// Draft is what is written and not sent, for who keeps it when the program ends.
func (r *Root) Draft() string { return r.chat.comp.Draft().Whole() }

func (r *Root) writeDraft(text string) tea.Cmd {
	return func() tea.Msg {
		if err := r.agent.SaveDraft(r.ctx, text); err != nil {
			return saidMsg{"warning", "The draft can't be saved: " + err.Error()}
		}
		return nil
	}
}
