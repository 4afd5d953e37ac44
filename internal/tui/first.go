package tui

import tea "charm.land/bubbletea/v2"

// The first run (CLI-3), and what is chosen from lists.

type (
	offersMsg struct {
		rows []Offer
		err  error
	}
	offerMsg struct {
		Offer
		secret string
	}
	backMsg  struct{} // from a key, to the choices
	takenMsg struct {
		id  Identity
		how string
		err error
	}
)

// Names of pickers that wait for their rows.
const (
	offersPicker = "offers"
)

func waitingPicker(name, title, hint string, then func(PickRow) tea.Msg) *Picker {
	p := NewPicker(title, nil, then)
	p.Name, p.Hint = name, hint
	return p
}

// offers opens the first screen's choices.
func (r *Root) offers() tea.Cmd {
	r.open(waitingPicker(offersPicker, "Welcome to Varve: how do you want to begin?", "Enter runs the demo; type to filter", func(row PickRow) tea.Msg {
		return offerMsg{Offer: row.Value.(Offer)}
	}))
	return func() tea.Msg {
		rows, err := r.agent.Offers(r.ctx)
		return offersMsg{rows, err}
	}
}

func (r *Root) listOffers(m offersMsg) tea.Cmd {
	var rows []PickRow
	for _, o := range m.rows {
		rows = append(rows, PickRow{Title: o.Title, Note: o.Detail, Value: o})
	}
	return r.toPicker(PickRowsMsg{Name: offersPicker, Rows: rows, Err: m.err})
}

// toPicker hands rows to the picker that waits for them, wherever it lies.
func (r *Root) toPicker(m PickRowsMsg) tea.Cmd {
	for i, o := range r.overlays {
		if p, ok := o.(*Picker); ok && m.For(p) {
			next, cmd := p.Update(m, r.frame)
			r.overlays[i] = next
			return cmd
		}
	}
	return nil
}

func (r *Root) takeOffer(m offerMsg) tea.Cmd {
	if m.ID == "" {
		r.say("info", "Set it outside: agent config set providers.NAME.base_url ADDRESS (docs/setup.md says more), then start again.")
		return nil
	}
	if m.NeedsKey && m.secret == "" {
		box := newAsk("Key for "+m.ID, "It is kept in a private file of yours, never in a session. $NAME and !command can be set with `agent config` instead.", true,
			func(s string) tea.Msg { return offerMsg{m.Offer, s} })
		box.back = backMsg{}
		r.open(box)
		return nil
	}
	return func() tea.Msg {
		id, err := r.agent.Take(r.ctx, m.ID, m.secret)
		return takenMsg{id, m.ID, err}
	}
}

// taken goes on after an offer: to the session, or to the choice of a model.
func (r *Root) taken(m takenMsg) tea.Cmd {
	if m.err != nil {
		r.say("error", m.err.Error())
		return nil
	}
	if !m.id.Setup {
		return r.switched(switchedMsg{id: m.id})
	}
	cmd := r.models()
	if p, ok := r.overlays[len(r.overlays)-1].(*Picker); ok {
		p.filter.write(m.how)
	}
	return cmd
}

type usedMsg struct {
	id  Identity
	err error
}
