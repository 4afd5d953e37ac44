package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"varve/internal/demo"
	"varve/internal/providers/openaichat"
	"varve/internal/session"
	"varve/internal/setup"
	"varve/internal/tui"
)

// The first run: no model, perhaps no key (CLI-3).

const offerDemo = "demo"

// Offers lists ways to begin: the demo, servers that answer on this machine,
// providers with a key, providers that need one.
func (d *desk) Offers(ctx context.Context) ([]tui.Offer, error) {
	out := []tui.Offer{{ID: offerDemo, Title: "See it work: run the demo", Detail: "no key, nothing leaves this machine"}}
	var local, ready, missing []tui.Offer
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, u := range d.m.settings().Usables() {
		if u.API != openaichat.API {
			continue
		}
		switch u.Key {
		case setup.KeyNotNeeded:
			wg.Go(func() {
				ask, cancel := context.WithTimeout(ctx, 400*time.Millisecond)
				defer cancel()
				t, err := d.m.reach(ask, session.Model{Provider: u.Name, API: u.API})
				if err != nil {
					return
				}
				infos, err := openaichat.Models(ask, t.Endpoint)
				o := tui.Offer{ID: u.Name, Title: "Use the local server " + u.Name, Detail: fmt.Sprintf("%s, %d model(s)", u.BaseURL, len(infos))}
				if err != nil {
					o.Detail = "no answer at " + u.BaseURL
				}
				if err == nil && len(infos) > 0 || !u.BuiltIn { // one that is set was asked for
					mu.Lock()
					defer mu.Unlock()
					local = append(local, o)
				}
			})
		case setup.KeyMissing:
			missing = append(missing, tui.Offer{ID: u.Name, Title: "Give a key for " + u.Name, Detail: u.BaseURL, NeedsKey: true})
		default:
			ready = append(ready, tui.Offer{ID: u.Name, Title: "Use " + u.Name, Detail: "key: " + u.From})
		}
	}
	wg.Wait()
	slices.SortFunc(local, func(a, b tui.Offer) int { return strings.Compare(a.ID, b.ID) })
	other := tui.Offer{ID: "", Title: "Another address, or a local server", Detail: self + " config set providers.NAME.base_url …"}
	return slices.Concat(out, local, ready, missing, []tui.Offer{other}), nil
}

// Take takes an offer up.
func (d *desk) Take(ctx context.Context, id, secret string) (tui.Identity, error) {
	if id == offerDemo {
		return d.takeDemo(ctx)
	}
	if secret != "" {
		if err := d.m.storeKey(ctx, id, secret); err != nil {
			return tui.Identity{}, err
		}
		if err := d.m.reload(); err != nil {
			return tui.Identity{}, err
		}
	}
	return d.Identity(), nil
}

// takeDemo goes on as `agent demo` does, in this process.
func (d *desk) takeDemo(ctx context.Context) (tui.Identity, error) {
	dir, err := sampleProject("")
	if err != nil {
		return tui.Identity{}, fmt.Errorf("sample project: %w", err)
	}
	s, err := startDemo(d.m, demo.Tally().Handle, demo.Provider)
	if err != nil {
		return tui.Identity{}, err
	}
	context.AfterFunc(d.ctx, s.Close)
	o, err := d.m.optionsIn(dir, "tui", true)
	if err != nil {
		return tui.Identity{}, err
	}
	if o.Model, _, err = d.m.model(); err != nil {
		return tui.Identity{}, err
	}
	if err := d.Close(); err != nil {
		return tui.Identity{}, err
	}
	d.m.recast(func(p *playing) { p.sample = dir })
	d.mu.Lock()
	d.opts = o
	d.ident.Workspace, d.ident.GitBranch, d.ident.Model, d.ident.Script, d.ident.Setup = dir, "", o.Model, true, false
	d.ident.Notice, d.ident.Session, d.ident.Draft = d.m.notice, "", demo.Prompt
	d.start("")
	d.mu.Unlock()
	_, err = d.at(ctx)
	return d.Identity(), err
}

// UseModel makes a model the user's choice: in the demo, until its end.
func (d *desk) UseModel(ctx context.Context, m session.Model) (tui.Identity, error) {
	if _, ok := d.m.cast().demo[m.Provider]; !ok && d.m.cast().sample == "" {
		err := setup.Edit(d.m.settings().Path, func(dr *setup.Draft) error {
			if err := dr.Set(setup.Path{"model", "provider"}, m.Provider); err != nil {
				return err
			}
			return dr.Set(setup.Path{"model", "model"}, m.Model)
		})
		if err != nil {
			return tui.Identity{}, err
		}
		if err := d.m.reload(); err != nil {
			return tui.Identity{}, err
		}
	}
	l, err := d.at(ctx)
	if err != nil {
		return tui.Identity{}, err
	}
	l.Choose(m)
	d.mu.Lock()
	d.opts.Model = m
	d.ident.Model, d.ident.Setup = m, false
	d.mu.Unlock()
	return d.Identity(), nil
}
