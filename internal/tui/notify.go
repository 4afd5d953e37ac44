package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"varve/internal/session"
	"varve/internal/tui/paint"
)

// What is told to who looks elsewhere (TUI-11): a bell, a notification of the
// desktop, the window's title, progress.

// tells rings where the window is out of focus, as appearance.notify says.
func (r *Root) tells(what string) tea.Cmd {
	if r.chat.focused || what == "" || r.looks.Notify == "off" {
		return nil
	}
	if r.looks.Notify == "bell" {
		return paint.Bell()
	}
	return tea.Batch(paint.Notify("Varve "+what+" ("+r.name()+")"), paint.Bell())
}

// endWords say how a turn ended; nothing where the user ended it.
func endWords(ev session.TurnEnded) string {
	switch ev.Status {
	case "completed":
		return "is done"
	case "interrupted":
		return ""
	}
	return "has stopped: the turn failed"
}

// titled is the session's title, and the event that it was read from.
type titled struct {
	named string
	from  session.Seq
}

type titledMsg struct {
	epoch int
	titled
}

// learnTitle reads the session's title where it has another.
func (r *Root) learnTitle() tea.Cmd {
	at, epoch := r.state.Session.Title, r.epoch
	if at == r.from {
		return nil
	}
	r.from = at
	return func() tea.Msg {
		b, err := r.agent.Body(r.ctx, at, 0)
		if err != nil { // the folder's name stands there
			b = nil
		}
		return titledMsg{epoch, titled{string(b), at}}
	}
}

func (m titledMsg) on(r *Root) tea.Cmd {
	if m.epoch == r.epoch && m.from == r.from {
		r.named = m.named
	}
	return nil
}

// name is what the window is about: the session's title, else its folder.
func (r *Root) name() string {
	if s := strings.TrimSpace(r.named); s != "" {
		return oneLine(s)
	}
	return oneLine(shortPath(r.id.Workspace, r.id.Home))
}

// title is the window's title: a mark where an answer is needed or where work
// goes on, and what the window is about.
func (r *Root) title() string {
	mark := ""
	switch {
	case r.chat.question != nil:
		mark = "? "
	case r.goesOnHere():
		mark = "● "
	}
	return mark + "Varve " + r.name()
}

// goesOnHere reports whether work can be seen to go on, ours or another window's.
func (r *Root) goesOnHere() bool {
	return working(r.state) && !r.paused() || compacting(r.state) && (r.ours || r.busy)
}

// progress is what the terminal's own progress bar shows, where it has one: that
// work goes on, or waits for an answer.
func (r *Root) progress() *tea.ProgressBar {
	switch {
	case r.looks.Notify == "off" || r.looks.Notify == "bell":
		return nil
	case r.chat.question != nil:
		return tea.NewProgressBar(tea.ProgressBarWarning, 100)
	case r.goesOnHere():
		return tea.NewProgressBar(tea.ProgressBarIndeterminate, 0)
	}
	return nil
}
