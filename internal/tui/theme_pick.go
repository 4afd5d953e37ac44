package tui

import (
	"cmp"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
)

func (r *Root) themeCommand(args string) tea.Cmd {
	switch {
	case args == "":
		r.open(newThemePicker(r.themes, cmp.Or(r.looks.Theme, "auto")))
		return nil
	case !slices.Contains(r.themes.Names(), args):
		r.say("error", oneLine(args)+": themes are "+strings.Join(r.themes.Names(), ", ")+".")
		return nil
	}
	return themeMsg{args}.on(r)
}

// A themePicker offers themes, and shows the one that is gone to while it is.
type themePicker struct {
	*Picker
	was, at string
}

func newThemePicker(t Themes, now string) *themePicker {
	var rows []PickRow
	for _, name := range t.Names() {
		rows = append(rows, PickRow{Title: name, Note: t.themeNote(name), Value: name})
	}
	p := NewPicker("Themes", rows, func(row PickRow) tea.Msg { return themeMsg{row.Value.(string)} })
	p.Says = "what you go to is shown at once"
	p.Choose(func(row PickRow) bool { return row.Value == now })
	return &themePicker{Picker: p, was: now, at: now}
}

func (p *themePicker) Update(msg tea.Msg, f Frame) (overlay, tea.Cmd) {
	top, cmd := p.Picker.Update(msg, f)
	row, ok := p.chosen()
	switch {
	case top == nil && cmd == nil: // closed
		return nil, answer(previewMsg{p.was})
	case top == nil:
		return nil, cmd
	case ok && row.Value != p.at:
		p.at = row.Value.(string)
		return p, tea.Batch(cmd, answer(previewMsg{p.at}))
	}
	return p, cmd
}

type previewMsg struct{ name string }

func (m previewMsg) on(r *Root) tea.Cmd {
	r.looks.Theme = m.name
	r.restyle()
	return nil
}

// A themeMsg takes a theme, for good.
type themeMsg struct{ name string }

func (m themeMsg) on(r *Root) tea.Cmd {
	previewMsg(m).on(r)
	return func() tea.Msg {
		if err := r.agent.KeepTheme(r.ctx, m.name); err != nil {
			return saidMsg{"warning", "The theme is " + m.name + " until the end; it can't be kept in the settings: " + err.Error()}
		}
		return saidMsg{"success", "The theme is " + m.name + " from now on."}
	}
}
