package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"varve/internal/demo"
	"varve/internal/providers"
	"varve/internal/providers/catalogue"
	"varve/internal/providers/openaichat"
	"varve/internal/session"
	"varve/internal/setup"
	"varve/internal/tui"
	"varve/internal/words"
)

// The models that can be chosen (SET-3).

// askModels is how long a provider may take to list its models.
const askModels = 3 * time.Second

// known are those that are known without asking anybody: of the catalogue and
// of the settings, and a row for each provider that has none to choose.
func (m *machine) known() []tui.ModelInfo {
	var out []tui.ModelInfo
	for _, u := range m.settings().Usables() {
		if row, ok := m.idle(u); ok {
			out = append(out, row)
			continue
		}
		rows := m.of(u, nil)
		if len(rows) == 0 && !u.BuiltIn {
			rows = []tui.ModelInfo{{Model: session.Model{Provider: u.Name, API: u.API}, State: "is asked what it has"}}
		}
		out = append(out, rows...)
	}
	return append(m.scripts(), out...)
}

// models asks every provider that can be used, all at once. One that can't be
// has a row all the same, with the reason; for one that does not answer the
// catalogue does.
func (m *machine) models(ctx context.Context) []tui.ModelInfo {
	usable := m.settings().Usables()
	rows := make([][]tui.ModelInfo, len(usable))
	var wg sync.WaitGroup
	for i, u := range usable {
		if row, ok := m.idle(u); ok {
			rows[i] = []tui.ModelInfo{row}
			continue
		}
		wg.Go(func() { rows[i] = m.asked(ctx, u) })
	}
	wg.Wait()
	return append(m.scripts(), slices.Concat(rows...)...)
}

// scripts are those of the demo or of a puppet.
func (m *machine) scripts() []tui.ModelInfo {
	var out []tui.ModelInfo
	for _, name := range slices.Sorted(maps.Keys(m.cast().demo)) {
		who := "a script"
		if name == demo.PuppetProvider {
			who = "a puppet"
		}
		out = append(out, tui.ModelInfo{
			Model:  session.Model{Provider: name, API: openaichat.API, Model: playedModel(name)},
			Window: m.cast().demo[name].Window, By: "", Key: who,
		})
	}
	return out
}

// idle is the row of a provider that can't be asked.
func (m *machine) idle(u setup.Usable) (tui.ModelInfo, bool) {
	row := tui.ModelInfo{Model: session.Model{Provider: u.Name, API: u.API}}
	switch {
	case u.API != openaichat.API:
		row.State = "speaks " + u.API + ", which this version does not"
	case u.Key == setup.KeyMissing:
		row.State, row.NeedsKey = "no key", true
		if _, err := m.settings().ResolveKey(context.Background(), u.Name); err != nil {
			row.State = words.OneLine(strings.Replace(strings.TrimPrefix(err.Error(), u.Name+": "), "has no key", "no key", 1))
		}
	default:
		return row, false
	}
	return row, true
}

func (m *machine) asked(ctx context.Context, u setup.Usable) []tui.ModelInfo {
	ask, cancel := context.WithTimeout(ctx, askModels)
	defer cancel()
	model := session.Model{Provider: u.Name, API: u.API}
	t, err := m.reach(ask, model)
	if err == nil {
		var infos []openaichat.ModelInfo
		if infos, err = openaichat.Models(ask, t.Endpoint); err == nil {
			return m.of(u, infos)
		}
	}
	state := words.OneLine(err.Error())
	if e := (*providers.Error)(nil); errors.As(err, &e) && (e.Kind == providers.Network || e.Kind == providers.Timeout) {
		state = "does not answer at " + u.BaseURL
	}
	if rows := m.of(u, nil); len(rows) > 0 {
		for i := range rows {
			rows[i].Key, rows[i].Unasked = keyWords(u)+"; "+state, true
		}
		return rows
	}
	// A server on this machine that nobody asked for need not be there.
	if u.Key == setup.KeyNotNeeded && u.BuiltIn && u.Name != m.settings().Model.Provider {
		return nil
	}
	return []tui.ModelInfo{{Model: model, State: state}}
}

// of are the models of a provider: those that it listed, or with nil those that
// are known; the catalogue's in its order, then the rest.
func (m *machine) of(u setup.Usable, listed []openaichat.ModelInfo) []tui.ModelInfo {
	p, _ := m.settings().Provider(u.Name)
	at := map[string]openaichat.ModelInfo{}
	var order []string
	seen := map[string]bool{"": true}
	add := func(id string) {
		if !seen[id] {
			seen[id] = true
			order = append(order, id)
		}
	}
	for _, i := range listed {
		at[i.ID] = i
	}
	c, _ := catalogue.Current()
	for _, x := range c.Models(c.Of(u.Name, u.BaseURL)) {
		if _, there := at[x.ID]; there || listed == nil {
			add(x.ID)
		}
	}
	for _, i := range listed {
		add(i.ID)
	}
	for _, id := range slices.Sorted(maps.Keys(p.Models)) {
		add(id) // the user's own figures are of a model that is meant to be used
	}
	if listed == nil {
		for _, id := range m.named(u.Name) {
			add(id)
		}
	}
	var out []tui.ModelInfo
	for _, id := range order {
		row := tui.ModelInfo{Model: session.Model{Provider: u.Name, API: u.API, Model: id}, Key: keyWords(u)}
		if x, ok := published(row.Model, u.BaseURL); ok {
			row.Window, row.By, row.Price, row.Can = x.Window, "catalogue", shortPrice(x), strings.Join(abilities(x), ", ")
		}
		if w := at[id].Window; w > 0 {
			row.Window, row.By = w, "reported"
		}
		if w := p.Models[id].ContextWindow; w != nil {
			row.Window, row.By = *w, "set"
		}
		out = append(out, row)
	}
	return out
}

// named are a provider's models that were chosen before.
func (m *machine) named(provider string) (ids []string) {
	noted, _ := m.preferred() // it is said where rows are marked
	refs := slices.Concat([]setup.ModelRef{{Provider: m.settings().Model.Provider, Model: m.settings().Model.Model}}, m.settings().Routing.SummarizationModels, noted.Favourites, noted.Recent)
	for _, r := range refs {
		if r.Provider == provider && r.Model != "" && !strings.EqualFold(r.Model, "auto") {
			ids = append(ids, r.Model)
		}
	}
	return ids
}

func keyWords(u setup.Usable) string {
	switch {
	case u.Key == setup.KeyNotNeeded:
		return "on this machine"
	case u.From != "":
		return "key: " + u.From
	}
	return ""
}

// windowWords is a window with who says so.
func windowWords(i tui.ModelInfo) string {
	switch {
	case i.Model.Model == "":
		return ""
	case i.Window == 0:
		return "window unknown"
	case i.By == "catalogue":
		return fmt.Sprintf("%d tokens (%s)", i.Window, catalogueWords())
	case i.By == "set":
		return fmt.Sprintf("%d tokens (setting)", i.Window)
	}
	return fmt.Sprintf("%d tokens (%s)", i.Window, i.By)
}
