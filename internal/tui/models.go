package tui

import (
	"context"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"varve/internal/harness/drive"
	"varve/internal/session"
	"varve/internal/words"
)

// The picker of models (SET-3): shared by the agent's model and the list of
// those that summarize.

// modelStore is what it asks.
type modelStore interface {
	Models(ctx context.Context) ([]ModelInfo, error)
	KnownModels(ctx context.Context) ([]ModelInfo, string, error)
	Prefer(ctx context.Context, m session.Model, how Preference) error
}

// A modelList is a picker of models: at once with what is known, and with what
// the providers answer when they do.
type modelList struct {
	ctx   context.Context
	store modelStore
	p     *Picker
	rows  []ModelInfo
	now   session.Model // the choice is put on it
	live  bool          // the providers have answered
	// in says where a model stands already, "" for one that is offered first; nil
	// where there is no list that it is for.
	in func(session.Model) string
}

type (
	// modelsMsg brings rows: those that are known, or those of the providers.
	modelsMsg struct {
		list *modelList
		rows []ModelInfo
		note string
		live bool
		err  error
	}
	favouriteMsg struct {
		list *modelList
		of   ModelInfo
	}
	preferredMsg struct{ err error }
)

const modelsPicker = "models"

func newModelList(ctx context.Context, store modelStore, title string, now session.Model, then func(ModelInfo) tea.Msg) (*modelList, tea.Cmd) {
	l := &modelList{ctx: ctx, store: store, now: now}
	l.p = waitingPicker(modelsPicker, title, "type to filter", func(row PickRow) tea.Msg { return then(row.Value.(ModelInfo)) })
	l.p.Mark = func(row PickRow) tea.Msg {
		if m, ok := row.Value.(ModelInfo); ok && m.Model.Model != "" {
			return favouriteMsg{l, m}
		}
		return nil
	}
	l.p.Typed = l.typed
	known := func() tea.Msg {
		rows, note, err := store.KnownModels(ctx)
		return modelsMsg{list: l, rows: rows, note: note, err: err}
	}
	asked := func() tea.Msg {
		rows, err := store.Models(ctx)
		return modelsMsg{list: l, rows: rows, live: true, err: err}
	}
	return l, tea.Batch(known, asked)
}

// picking says whether a picker still lies there, or within settings.
func (r *Root) picking(p *Picker) bool {
	return slices.ContainsFunc(r.overlays, func(o overlay) bool {
		s, ok := o.(*settings)
		return o == p || ok && s.child == p
	})
}

func (m modelsMsg) on(r *Root) tea.Cmd {
	l := m.list
	if !r.picking(l.p) {
		return nil // it was closed: nobody waits for them
	}
	if m.note != "" {
		l.p.Says = oneLine(m.note)
	}
	switch {
	case m.err != nil && m.live && len(m.rows) == 0 && len(l.rows) == 0:
		l.p.wait, l.p.err = false, m.err
		return nil
	case m.err != nil:
		r.say("warning", m.err.Error())
	}
	if l.live && !m.live || m.err != nil && len(m.rows) == 0 {
		return nil // what the providers say is newer; what is there is better than nothing
	}
	first := len(l.rows) == 0
	l.rows, l.live = m.rows, m.live
	if len(m.rows) == 0 && !m.live {
		return nil // nothing is known: the answer is waited for
	}
	l.show()
	if first {
		l.p.Choose(func(row PickRow) bool {
			x, ok := row.Value.(ModelInfo)
			return ok && (x.Model == l.now || l.in != nil && l.now == (session.Model{}) && row.Off == "" && l.in(x.Model) == "")
		})
	}
	return nil
}

// show puts favourites first, then what was used last, then each provider's.
func (l *modelList) show() {
	var fav, recent, rest []PickRow
	for _, x := range l.rows {
		if strings.EqualFold(x.Model.Model, "auto") {
			continue // the router is no model that can be listed
		}
		row := PickRow{Title: x.Model.Model, Note: modelNote(x), Group: x.Model.Provider, Also: x.Model.Provider + " " + x.Model.String(), Key: x.Model.String(), Value: x}
		if l.in != nil && l.in(x.Model) != "" {
			row.Note = l.in(x.Model) + " · " + row.Note
		}
		if x.Key != "" {
			row.Group += " · " + x.Key
		}
		switch {
		case x.Model.Model == "":
			row.Title, row.Note, row.Group = x.Model.Provider, x.State, "Nothing to choose yet"
			if row.Does = "give it a key"; !x.NeedsKey {
				row.Off = x.State
			}
		case x.State != "":
			row.Off = x.State
		}
		switch {
		case row.Off == "" && x.Favourite:
			row.Title, row.Group = x.Model.String(), "Favourites"
			fav = append(fav, row)
			continue
		case row.Off == "" && x.Recent > 0:
			row.Title, row.Group = x.Model.String(), "Used last"
			recent = append(recent, row)
			continue
		}
		rest = append(rest, row)
	}
	slices.SortStableFunc(recent, func(a, b PickRow) int {
		return a.Value.(ModelInfo).Recent - b.Value.(ModelInfo).Recent
	})
	// Those that have none to choose stand last.
	slices.SortStableFunc(rest, func(a, b PickRow) int { return nothingLast(a) - nothingLast(b) })
	l.p.wait, l.p.err = false, nil
	l.p.SetRows(slices.Concat(fav, recent, rest))
}

// typed is the model that is named by hand: one that its provider does not list,
// or can't be asked for now. The provider has to be set up.
func (l *modelList) typed(query string) (PickRow, bool) {
	provider, model, ok := strings.Cut(query, "/")
	i := slices.IndexFunc(l.rows, func(x ModelInfo) bool { return x.Model.Provider == provider && !x.NeedsKey })
	if !ok || model == "" || strings.EqualFold(model, "auto") || strings.ContainsAny(query, " \t") || i < 0 {
		return PickRow{}, false
	}
	says := "does not list it"
	switch x := l.rows[i]; {
	case strings.HasPrefix(x.State, "does not"), strings.HasPrefix(x.State, "speaks"):
		says = x.State
	case x.State != "" || x.Unasked || !l.live:
		says = "has not said which it has"
	}
	info := ModelInfo{Model: l.rows[i].Model}
	info.Model.Model = model
	return PickRow{Title: oneLine(query), Note: oneLine("its provider " + says), Group: "As it is typed", Key: query, Value: info}, true
}

func nothingLast(r PickRow) int {
	if r.Value.(ModelInfo).Model.Model == "" {
		return 1
	}
	return 0
}

// modelNote says what is known of a model: window, price, abilities.
func modelNote(m ModelInfo) string {
	window := "window unknown"
	if m.Window > 0 {
		window = tokensShort(m.Window)
		switch m.By {
		case "", "catalogue":
		case "set":
			window += " (your setting)"
		default:
			window += " (" + m.By + ")"
		}
	}
	parts := []string{window}
	for _, s := range []string{m.Price, m.Can} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, " · ")
}

// tokensShort is a size in tokens: 32.8k, 200k, 1.05M.
func tokensShort(n int) string {
	if n < 1_000_000 {
		return words.Tokens(session.Tokens{N: n, By: "provider"})
	}
	hundredths := n / 10_000
	s := itoa(hundredths/100) + "." + itoa(hundredths%100/10) + itoa(hundredths%10)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".") + "M"
}

// on makes a model a favourite, or takes that back: on the screen at once.
func (m favouriteMsg) on(*Root) tea.Cmd {
	l, how := m.list, Favourite
	if m.of.Favourite {
		how = NoFavourite
	}
	for i, x := range l.rows {
		if x.Model == m.of.Model {
			l.rows[i].Favourite = how == Favourite
		}
	}
	l.show()
	return func() tea.Msg { return preferredMsg{l.store.Prefer(l.ctx, m.of.Model, how)} }
}

func (m preferredMsg) on(r *Root) tea.Cmd {
	if m.err != nil {
		r.say("warning", "The preferred models can't be kept: "+m.err.Error())
	}
	return nil
}

// used notes that a model was chosen.
func (r *Root) used(m session.Model) tea.Cmd {
	return func() tea.Msg { return preferredMsg{r.agent.Prefer(r.ctx, m, Used)} }
}

func (r *Root) models() tea.Cmd {
	l, cmd := newModelList(r.ctx, r.agent, "Models", r.model(), func(m ModelInfo) tea.Msg { return modelMsg{m} })
	r.open(l.p)
	return cmd
}

// choose takes a model for the next request. Where there was none it becomes
// the user's choice too. A provider that only needs a key is given one.
func (r *Root) choose(m modelMsg) tea.Cmd {
	if m.Model.Model == "" && m.NeedsKey {
		r.open(askKey(m.Model.Provider, func(key string) tea.Msg { return keyMsg{m.Model.Provider, key} }))
		return nil
	}
	if r.state.Branch.Model == (session.Model{}) {
		return tea.Batch(r.used(m.Model), func() tea.Msg {
			id, err := r.agent.UseModel(r.ctx, m.Model)
			return usedMsg{id, err}
		})
	}
	if r.state.Branch.Model.API != m.Model.API {
		r.say("error", "That model speaks another protocol: it can't go on with this conversation. /new begins another.")
		return nil
	}
	return tea.Batch(r.used(m.Model), r.submit(drive.Choose{Model: m.Model, Reasoning: r.state.Branch.Reason, By: "user"}))
}

// A keyMsg is a key that was given to go on choosing a model.
type keyMsg struct{ provider, key string }

func (m keyMsg) on(r *Root) tea.Cmd {
	return func() tea.Msg {
		_, err := r.agent.StoreKey(r.ctx, m.provider, m.key)
		return keptKeyMsg{m.provider, err}
	}
}

type keptKeyMsg struct {
	provider string
	err      error
}

func (m keptKeyMsg) on(r *Root) tea.Cmd {
	if m.err != nil {
		r.say("error", m.err.Error())
		return nil
	}
	r.say("success", "The key for "+oneLine(m.provider)+" is kept.")
	cmd := r.models()
	if p, ok := r.overlays[len(r.overlays)-1].(*Picker); ok {
		p.filter.write(m.provider)
	}
	return cmd
}

func askKey(provider string, then func(string) tea.Msg) *ask {
	return newAsk("Key for "+oneLine(provider), "It is kept in the keyring of this machine, or in a private file of yours; never in a session. $NAME and !command can be set with `agent config` instead.", true, then)
}
