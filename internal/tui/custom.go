package tui

import (
	tea "charm.land/bubbletea/v2"
)

// The user's own commands: Markdown that is sent as a message. They run nothing.

// customs asks for them.
func (r *Root) customs() tea.Cmd {
	epoch := r.epoch
	return func() tea.Msg {
		list, notes := r.agent.Customs(r.ctx)
		return customsMsg{epoch, list, notes}
	}
}

type customsMsg struct {
	epoch int
	list  []Command
	notes []string
}

func (m customsMsg) on(r *Root) tea.Cmd {
	if m.epoch != r.epoch {
		return nil // of the folder that was left
	}
	for i := range m.list {
		own := &m.list[i]
		own.Says, own.Args = oneLine(own.Says), oneLine(own.Args)
		own.run = func(r *Root, args string) tea.Cmd { return r.sendExpanded(own.Name, args) }
	}
	cmds, refused := NewCommands(m.list...)
	r.chat.comp.Commands = cmds
	for _, c := range refused {
		why := "that name is taken"
		if !commandName(c.Name) {
			why = "a name has a to z, 0 to 9, - and _ only"
		}
		r.say("warning", "Your command /"+oneLine(c.Name)+" is left out: "+why+". Give its file another name.")
	}
	for _, n := range m.notes {
		r.say("warning", n)
	}
	return nil
}
