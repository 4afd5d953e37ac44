package main

import (
	"fmt"
	"strings"

	"varve/internal/providers"
	"varve/internal/session"
	"varve/internal/setup"
)

// Settings while the program runs. They are one value that nobody writes, and that
// is exchanged: the loop of a session reads them in its own goroutine.

// settings are those that were read last.
func (m *machine) settings() *setup.Setup { return m.set.Load() }

// alter puts a copy in their place in which something differs.
func (m *machine) alter(how func(*setup.Setup)) {
	set := *m.settings()
	how(&set)
	m.set.Store(&set)
}

// reload reads the settings again, after they were changed. A script and a puppet
// stay who they are.
func (m *machine) reload() error {
	set, err := setup.Load(m.load)
	if err != nil {
		return err
	}
	if m.cast().demo != nil {
		set.Model = m.settings().Model
	}
	m.set.Store(set)
	return nil
}

// renew takes over what has changed in the file, whoever changed it: with the next
// turn or /compact (SUM-7). Where it can't be read, or has a rule that can't be and
// would deny nothing, what was read last counts. In the demo nothing changes.
func (m *machine) renew() *setup.Setup {
	if m.cast().demo == nil {
		if now, err := setup.Load(m.load); err == nil && badRules(now) == nil {
			m.set.Store(now)
		}
	}
	return m.settings()
}

// configured is what a session records of the settings of now.
func (m *machine) configured() session.SessionConfigured {
	set := m.renew()
	c := session.SessionConfigured{
		InputLimit: set.Context.InputLimitTokens, PermissionMode: set.Permissions.Mode, DisabledTools: set.Tools.Disabled,
		Compaction: session.Compaction{Threshold: set.Context.Compaction.ThresholdTokens, Target: set.Context.Compaction.TargetTokens},
		Cache:      session.Cache{AnthropicTTL: set.Cache.AnthropicTTL, OpenAIRetention: set.Cache.OpenAIRetention},

		Summarizers: m.listed(set),
	}
	// New sessions adopt the default where the mode is omitted (CMP-3).
	mode := set.Context.Compaction.Effective()
	c.Compaction.Mode = &mode
	return c
}

// summarizers is the list of now (SUM-1).
func (m *machine) summarizers() []session.Model { return m.listed(m.renew()) }

// listed is a list of summarizers. An entry that nobody can be asked by stays in its
// place: the list is not empty for it, and the agent's own model does not step in
// (SUM-3). A script or a puppet asks nobody else.
func (m *machine) listed(set *setup.Setup) []session.Model {
	if m.cast().demo != nil {
		return nil
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

func noProvider(model session.Model, set *setup.Setup) error {
	return fmt.Errorf("%s: no such provider in %s", model.Provider, set.Path)
}

// playing is who answers in place of a provider. It is exchanged as settings are:
// the demo may be taken up while a session is open.
type playing struct {
	demo   map[string]providers.Endpoint // endpoints that are not in settings
	sample string                        // the demo's project, "" for none
}

func (m *machine) cast() playing {
	if p := m.plays.Load(); p != nil {
		return *p
	}
	return playing{}
}

// recast puts a copy in its place in which something differs.
func (m *machine) recast(how func(*playing)) {
	p := m.cast()
	how(&p)
	m.plays.Store(&p)
}
