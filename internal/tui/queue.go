package tui

import tea "charm.land/bubbletea/v2"

func (r *Root) openQueue() tea.Cmd { return nil }
func (d *reader) sides()           {}
