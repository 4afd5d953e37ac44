package tui

import (
	"context"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json/jsontext"

	"varve/internal/session"
	"varve/internal/setup"
)

// What the fake keeps: a setup.json in a folder of the test's own, whose name
// is not shown.
type fakeSettings struct {
	dir     string
	flags   map[string]string
	why     map[string]string // entries that can't be asked
	noSave  error
	noRead  error
	noKey   error
	slow    chan struct{} // Change takes until it is closed
	noKnown error
	live    []ModelInfo // what the providers say, where it is another
	silent  chan struct{}
	noLive  error
}

func (a *fakeAgent) file() string {
	if a.kept.dir == "" {
		a.kept.dir = a.t.TempDir()
	}
	return filepath.Join(a.kept.dir, "setup.json")
}

// has puts a setup.json there.
func (s *stage) has(doc string) {
	s.t.Helper()
	if err := os.WriteFile(s.a.file(), []byte(doc), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.a.ident.Home = s.a.kept.dir
}

// doc is the setup.json that is there.
func (s *stage) doc() string {
	b, err := os.ReadFile(s.a.file())
	if err != nil {
		s.t.Fatal(err)
	}
	return string(b)
}

func (a *fakeAgent) info() SettingsInfo {
	set, err := setup.Load(setup.Options{Path: a.file(), State: filepath.Join(a.kept.dir, "state"), Flags: a.kept.flags})
	if err != nil {
		a.t.Error(err)
	}
	info := SettingsInfo{Set: set}
	for _, r := range set.Routing.SummarizationModels {
		info.Summarizers = append(info.Summarizers, Summarizer{r, a.kept.why[r.String()]})
	}
	for _, u := range set.Usables() {
		if u.Name == "acme" || u.Name == "openai" || u.Name == "ollama" {
			info.Providers = append(info.Providers, u)
		}
	}
	return info
}

func (a *fakeAgent) Settings(context.Context) (SettingsInfo, error) {
	a.asks("settings")
	return a.info(), a.kept.noRead
}

func (a *fakeAgent) Change(_ context.Context, edits []SettingEdit) (SettingsInfo, error) {
	a.asks("change %s", edits[0].At)
	if a.kept.slow != nil {
		<-a.kept.slow
	}
	if a.kept.noSave != nil {
		return a.info(), a.kept.noSave
	}
	err := setup.Edit(a.file(), func(d *setup.Draft) error {
		for _, e := range edits {
			if err := d.Expect(e.At, e.Was); err != nil {
				return err
			}
			if e.To == nil {
				if err := d.Delete(e.At); err != nil {
					return err
				}
			} else if err := d.Set(e.At, jsontext.Value(e.To)); err != nil {
				return err
			}
		}
		return nil
	})
	return a.info(), err
}

func (a *fakeAgent) StoreKey(_ context.Context, provider, key string) (SettingsInfo, error) {
	a.asks("key %s %s", provider, key)
	return a.info(), a.kept.noKey
}

func (a *fakeAgent) KnownModels(context.Context) ([]ModelInfo, string, error) {
	a.asks("known")
	return a.models, "catalogue of 2026-08-19; prices: USD per million tokens, in/out", a.kept.noKnown
}

func (a *fakeAgent) Models(context.Context) ([]ModelInfo, error) {
	a.asks("models")
	if a.kept.silent != nil {
		<-a.kept.silent
	}
	if a.kept.live != nil {
		return a.kept.live, a.kept.noLive
	}
	return a.models, nil
}

func (a *fakeAgent) Prefer(_ context.Context, m session.Model, how Preference) error {
	a.asks("prefer %s %s", m, how)
	return nil
}
