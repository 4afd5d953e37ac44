package tui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// A PaletteMsg is what was chosen in the palette: an action, or a command (then Action is "").
type PaletteMsg struct {
	Action  Action
	Command string // a line for the composer: "/model", with a space behind where words may follow
}

// NewPalette finds an action or a command by its words. Both come from the tables that keys and help come from (TUI-12).
func NewPalette(keys Keymap, cmds Commands) *Picker {
	var rows, later []PickRow // what does nothing yet stands last in its group
	seen := map[Action]bool{}
	for _, r := range keys.Actions() {
		if seen[r.Action] || !inPalette(r) {
			continue
		}
		seen[r.Action] = true
		row := PickRow{Title: r.Says, Note: strings.Join(keys.Keys(r.Action), ", "), Group: "Actions", Also: strings.ReplaceAll(string(r.Action), "_", " "), Value: PaletteMsg{Action: r.Action}}
		if r.Later {
			row.Off = "not yet"
			later = append(later, row)
			continue
		}
		rows = append(rows, row)
	}
	rows, later = append(rows, later...), nil
	for _, c := range cmds.All() {
		line := "/" + c.Name
		if c.Args != "" {
			line += " "
		}
		row := PickRow{Title: commandTitle(c), Note: commandNote(c), Group: "Commands", Also: strings.Join(c.Aliases, " ") + " " + c.Says, Value: PaletteMsg{Command: line}}
		if c.Custom {
			row.Group = "Your commands"
		}
		if c.Later {
			row.Off = commandNote(c)
			later = append(later, row)
			continue
		}
		rows = append(rows, row)
	}
	rows = append(rows, later...)
	p := NewPicker("Actions and commands", rows, func(r PickRow) tea.Msg { return r.Value.(PaletteMsg) })
	p.Hint = "type to find"
	return p
}

// inPalette says that it makes sense to choose an action from a list: it is one of the conversation's, and not about the key
// itself.
func inPalette(r binding) bool {
	if r.Where&InChat == 0 {
		return false
	}
	keyed := []Action{ActSend, ActQuit, ActNewline, ActSteer, ActInterrupt, ActClear, ActQuitEmpty, ActPalette, ActUp, ActDown, ActLeft, ActRight, ActComplete}
	named := []Action{ActHistorySearch, ActExpandPaste, ActUndo, ActRedo}
	return !slices.Contains(keyed, r.Action) && (r.Group == "Conversation" || r.Group == "Scrolling" || slices.Contains(named, r.Action))
}
