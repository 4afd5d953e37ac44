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
		r.open(newThemePicker("Themes", r.themes, r.looks.Theme, func(name string) tea.Msg { return themeMsg{name} }))
		return nil
	case !slices.Contains(r.themes.Names(), args):
		r.say("error", oneLine(args)+": themes are "+strings.Join(r.themes.Names(), ", ")+".")
		return nil
	}
	return themeMsg{args}.on(r)
}

// A themePicker offers themes, and shows the one that is gone to while it is. It
// is that of /theme and of settings.
type themePicker struct {
	*Picker
	was, at string
}

// newThemePicker answers with what take says of the chosen one.
func newThemePicker(title string, t Themes, now string, take func(string) tea.Msg) *themePicker {
	now = cmp.Or(now, "auto")
	var rows []PickRow
	for _, name := range t.Names() {
		rows = append(rows, PickRow{Title: name, Note: t.themeNote(name), Value: name})
	}
	p := NewPicker(title, rows, func(row PickRow) tea.Msg { return take(row.Value.(string)) })
	p.Says = "what you go to is shown at once"
	p.Choose(func(row PickRow) bool { return row.Value == now })
	return &themePicker{Picker: p, was: now, at: now}
}

func (p *themePicker) Update(msg tea.Msg, f Frame) (overlay, tea.Cmd) {
	top, cmd := p.Picker.Update(msg, f)
	row, ok := p.chosen()
	switch {
	case top == nil && cmd == nil: // closed
		p.at = p.was
		return nil, answer(previewMsg{p})
	case top == nil:
		p.at = row.Value.(string)
		return nil, cmd
	case ok && row.Value != p.at:
		p.at = row.Value.(string)
		return p, tea.Batch(cmd, answer(previewMsg{p}))
	}
	return p, cmd
}

// A previewMsg shows the theme at which a picker is. It names none itself: two of
// them may come in another order than they were said in.
type previewMsg struct{ of *themePicker }

func (m previewMsg) on(r *Root) tea.Cmd { r.wear(m.of.at); return nil }

// wear shows a theme.
func (r *Root) wear(name string) {
	r.looks.Theme = name
	r.restyle()
}

// A themeMsg takes a theme, for good.
type themeMsg struct{ name string }

func (m themeMsg) on(r *Root) tea.Cmd {
	r.wear(m.name)
	return func() tea.Msg {
		if err := r.agent.KeepTheme(r.ctx, m.name); err != nil {
			return saidMsg{"warning", "The theme is " + m.name + " until the end; it can't be kept in the settings: " + err.Error()}
		}
		return saidMsg{"success", "The theme is " + m.name + " from now on."}
	}
}
