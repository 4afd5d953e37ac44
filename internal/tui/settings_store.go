package tui

import (
	"context"

	"varve/internal/session"
	"varve/internal/setup"
)

// A SettingsStore keeps what the user chose: settings, keys, preferred models.
type SettingsStore interface {
	// Settings are those of now.
	Settings(ctx context.Context) (SettingsInfo, error)
	// Change saves values together, whole or not at all. With an error nothing
	// was saved; the settings are those of then in either case.
	Change(ctx context.Context, edits []SettingEdit) (SettingsInfo, error)
	// StoreKey keeps a provider's key where keys are kept, never in settings.
	StoreKey(ctx context.Context, provider, key string) (SettingsInfo, error)
	// KnownModels lists what can be chosen without asking anybody, and says whose
	// figures those are.
	KnownModels(ctx context.Context) ([]ModelInfo, string, error)
	// Prefer notes what the user does with a model.
	Prefer(ctx context.Context, m session.Model, how Preference) error
}

// SettingsInfo are settings as they can be shown.
type SettingsInfo struct {
	Set         *setup.Setup
	Summarizers []Summarizer // as they are listed
	Providers   []setup.Usable
}

// A Summarizer is an entry of the list of those that summarize.
type Summarizer struct {
	Ref setup.ModelRef
	Why string // it can't be asked now, "" if it can
}

// A SettingEdit is one value as it was seen, and as it is to be: JSON, nil for
// none.
type SettingEdit struct {
	At      setup.Path
	Was, To []byte
}

// A Preference is what is noted of a model.
type Preference string

const (
	Used        Preference = "used"
	Favourite   Preference = "favourite"
	NoFavourite Preference = "no favourite"
)
