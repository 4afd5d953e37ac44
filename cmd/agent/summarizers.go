package main

import (
	"context"
	"fmt"
	"strings"

	"varve/internal/session"
	"varve/internal/setup"
)

// Who summarizes (SUM-1, SUM-3, SUM-7).

// summarizers is the list of now: setup.json is read again, so that a change
// counts from the next turn or /compact on. Where it can't be read, what was
// read last counts. An entry that nobody can be asked by stays in its place:
// the list is not empty for it, and the agent's own model does not step in. A
// script or a puppet asks nobody else.
func (m *machine) summarizers() []session.Model {
	if m.demo != nil {
		return nil
	}
	set := m.set
	if last := m.newest.Load(); last != nil {
		set = last
	}
	if now, err := setup.Load(m.load); err == nil {
		m.newest.Store(now)
		set = now
	}
	var out []session.Model
	for _, ref := range set.Routing.SummarizationModels {
		model := session.Model{Provider: orBlank(ref.Provider), Model: orBlank(ref.Model)}
		if p, ok := set.Provider(ref.Provider); ok {
			model.API = p.API
		}
		out = append(out, model)
	}
	return out
}

func orBlank(s string) string {
	if s = strings.TrimSpace(s); s == "" {
		return "(blank)"
	}
	return s
}

// knowing is settings that know a provider: those of the start, else those that
// were read last.
func (m *machine) knowing(provider string) *setup.Setup {
	if _, ok := m.set.Provider(provider); !ok {
		if last := m.newest.Load(); last != nil {
			return last
		}
	}
	return m.set
}

func noProvider(model session.Model, set *setup.Setup) error {
	return fmt.Errorf("%s: no such provider in %s", model.Provider, set.Path)
}

// summarizersText says who is asked, in which order, and where that is set.
func (m *machine) summarizersText(ctx context.Context, model session.Model) string {
	var b strings.Builder
	list := m.summarizers()
	switch {
	case len(list) == 0:
		fmt.Fprintf(&b, "No model is set for summaries: the agent's own is asked, %s.\n", model)
	default:
		b.WriteString("Asked for summaries, in this order, and nobody else:\n\n")
	}
	for i, s := range list {
		fmt.Fprintf(&b, "%d. %s", i+1, s)
		if _, err := m.resolve(ctx, s); err != nil {
			fmt.Fprintf(&b, " (can't be asked: %s)", asStarted(err.Error()))
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "\nThe list is routing.summarization_models in %s, a list of {\"provider\": …, \"model\": …}; `%s config edit` opens it. "+
		"A change counts from the next turn or /compact on.\n", m.set.Path, self)
	return b.String()
}
