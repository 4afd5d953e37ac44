package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"varve/internal/permit"
	"varve/internal/session"
	"varve/internal/setup"
	"varve/internal/tui"
	"varve/internal/words"
)

// Settings as the interface shows and changes them (SET-1 to SET-4).

func (d *desk) Settings(ctx context.Context) (tui.SettingsInfo, error) {
	set, err := setup.Load(d.m.load)
	return d.m.settingsInfo(ctx, set), err
}

// settingsInfo is settings with what can be said of them now.
func (m *machine) settingsInfo(ctx context.Context, set *setup.Setup) tui.SettingsInfo {
	info := tui.SettingsInfo{Set: set, Providers: set.Usables()}
	list := set.Routing.SummarizationModels
	info.Summarizers = make([]tui.Summarizer, len(list))
	// A server on this machine may take its time.
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	for i, ref := range list {
		info.Summarizers[i].Ref = ref
		wg.Go(func() {
			if err := m.askable(ctx, set, ref); err != nil {
				info.Summarizers[i].Why = asStarted(words.OneLine(err.Error()))
			}
		})
	}
	wg.Wait()
	return info
}

// askable says why an entry can't be asked now (SUM-3).
func (m *machine) askable(ctx context.Context, set *setup.Setup, ref setup.ModelRef) error {
	p, ok := set.Provider(ref.Provider)
	if ref.Provider == "" || ref.Model == "" {
		return errors.New("it names no provider and model")
	}
	if strings.EqualFold(ref.Model, "auto") || strings.EqualFold(ref.Provider, "auto") {
		return errors.New("auto is the router and no model that can be listed here")
	}
	model := session.Model{Provider: ref.Provider, Model: ref.Model, API: p.API}
	if !ok {
		return noProvider(model, set)
	}
	_, err := m.resolveBy(ctx, set, model)
	return err
}

// Change saves values together. One that somebody else has changed since it was
// seen is not overwritten.
func (d *desk) Change(ctx context.Context, edits []tui.SettingEdit) (tui.SettingsInfo, error) {
	err := d.change(edits)
	if err == nil {
		err = d.renewed()
	}
	info, lerr := d.Settings(ctx)
	return info, errors.Join(err, lerr)
}

// renewed reads the settings again: they count from the next turn on, and the model
// for sessions that begin from now on.
func (d *desk) renewed() error {
	if err := d.m.reload(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.opts.Settings, d.opts.Reasoning = d.m.configured(), d.m.settings().Model.Reasoning
	if model, by, err := d.m.model(); err == nil && d.m.cast().demo == nil {
		d.opts.Model, d.opts.ModelBy = model, by
	}
	return nil
}

// unsaved refuses what the demo would leave behind: it is somebody's machine.
func (m *machine) unsaved(what string) error {
	if m.cast().sample == "" {
		return nil
	}
	return errors.New(what + " in the demo; nothing is saved")
}

func (d *desk) change(edits []tui.SettingEdit) error {
	if err := d.m.unsaved("settings are not changed"); err != nil {
		return err
	}
	return setup.Edit(d.m.settings().Path, func(dr *setup.Draft) error {
		for _, e := range edits {
			if err := dr.Expect(e.At, e.Was); err != nil {
				return err
			}
			if err := put(dr, e); err != nil {
				return err
			}
		}
		return nil
	})
}

func put(dr *setup.Draft, e tui.SettingEdit) error {
	if e.To == nil {
		return dr.Delete(e.At)
	}
	switch e.At.String() {
	case "routing.summarization_models":
		var list []setup.ModelRef
		if err := json.Unmarshal(e.To, &list); err != nil {
			return fmt.Errorf("%s: %w", e.At, err)
		}
		return dr.SetModels(e.At, list)
	case "permissions.allow", "permissions.deny":
		if err := newRules(e.Was, e.To); err != nil {
			return err
		}
	}
	return dr.Set(e.At, jsontext.Value(e.To))
}

// newRules refuses a rule that can't be read: sessions don't start with one.
func newRules(was, to []byte) error {
	var old, now []any
	if was != nil {
		_ = json.Unmarshal(was, &old)
	}
	if err := json.Unmarshal(to, &now); err != nil {
		return err
	}
	had := map[any]bool{}
	for _, r := range old {
		if s, ok := r.(string); ok {
			had[s] = true
		}
	}
	for _, r := range now {
		text, ok := r.(string)
		if !ok || had[text] {
			continue
		}
		if _, err := permit.ParseRule(text); err != nil {
			return fmt.Errorf("rule %q: %w; nothing is saved", text, err)
		}
	}
	return nil
}

func (d *desk) StoreKey(ctx context.Context, provider, key string) (tui.SettingsInfo, error) {
	err := d.m.storeKey(ctx, provider, key)
	if err == nil {
		err = d.renewed()
	}
	info, lerr := d.Settings(ctx)
	return info, errors.Join(err, lerr)
}

func (m *machine) storeKey(ctx context.Context, provider, key string) error {
	if err := m.unsaved("keys are not kept"); err != nil {
		return err
	}
	return m.settings().StoreKey(ctx, provider, setup.Secret(strings.TrimSpace(key)))
}

func (d *desk) Models(ctx context.Context) ([]tui.ModelInfo, error) {
	return d.m.noted(d.m.models(ctx))
}

func (d *desk) KnownModels(context.Context) ([]tui.ModelInfo, string, error) {
	rows, err := d.m.noted(d.m.known())
	note := catalogueWords() + "; prices: USD per million tokens, in/out"
	return rows, note, errors.Join(err, catalogueProblem())
}

func (d *desk) Prefer(ctx context.Context, model session.Model, how tui.Preference) error {
	if err := d.m.unsaved("favourites are not kept"); err != nil {
		if how == tui.Used {
			return nil // nobody asked for it
		}
		return err
	}
	return d.m.prefer(ctx, model, how)
}
