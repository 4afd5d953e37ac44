package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"
)

// The list of sessions (BRW-1).

// A Saying is the newest message of a session that holds a text, on one line.
type Saying struct{ Session, Before, Match, After string }

type openMsg struct{ id string }

// pauseToLook is how long nothing is typed before messages are searched.
const pauseToLook = 150 * time.Millisecond

func (r *Root) sessions() tea.Cmd {
	p := waitingPicker(sessionsPicker, "Sessions", "type to filter", func(row PickRow) tea.Msg { return openMsg{row.Value.(SessionInfo).ID} })
	p.Says = "titles, folders, messages (from 3 letters)"
	p.Deeper = &Deeper{
		Look: r.lookFor, Group: "Where it was said",
		None: " in titles, folders or messages.\nIn the shell `agent session search` lists the messages themselves.",
	}
	r.open(p)
	return func() tea.Msg {
		rows, err := r.agent.Sessions(r.ctx)
		return sessionsMsg{rows, err}
	}
}

// lookFor finds sessions by what was said in them. A newer call, with "" too,
// ends it.
func (r *Root) lookFor(text string) tea.Cmd {
	if r.unlook != nil {
		r.unlook()
		r.unlook = nil
	}
	if text == "" {
		return nil
	}
	ctx, stop := context.WithCancel(r.ctx)
	r.unlook = stop
	return func() tea.Msg {
		select {
		case <-time.After(pauseToLook):
		case <-ctx.Done():
			return nil
		}
		list, note, err := r.agent.Said(ctx, text)
		if ctx.Err() != nil {
			return nil
		}
		m := PickFoundMsg{Name: sessionsPicker, Text: text, Note: note, Err: err}
		for _, x := range list {
			m.Found = append(m.Found, PickFound{x.Session, x.Before, x.Match, x.After})
		}
		return m
	}
}

func (r *Root) listSessions(m sessionsMsg) tea.Cmd {
	var rows []PickRow
	for _, s := range m.rows {
		row := PickRow{Title: s.Title, Note: s.Age + ", " + s.Size, Group: "Elsewhere", Key: s.ID, Also: s.Workspace, Value: s}
		switch {
		case s.Here:
			row.Group = "This folder"
		default:
			row.Note = shortPath(s.Workspace, r.id.Home) + ", " + row.Note
		}
		if s.Open {
			row.Note += ", turn left open"
		}
		if s.Damage != "" {
			row.Note += ", damaged: " + s.Damage
			if row.Title == "" {
				row.Title = s.ID
			}
		}
		rows = append(rows, row)
	}
	// This folder's stand first.
	here := make([]PickRow, 0, len(rows))
	var rest []PickRow
	for _, row := range rows {
		if row.Group == "This folder" {
			here = append(here, row)
		} else {
			rest = append(rest, row)
		}
	}
	return r.toPicker(sessionsPicker, PickRowsMsg{Name: sessionsPicker, Rows: append(here, rest...), Err: m.err})
}
