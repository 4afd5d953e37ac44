package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/renameio/v2"

	"varve/internal/session"
	"varve/internal/setup"
	"varve/internal/tui"
)

// preferred is what is noted of models, in the state folder: it is no setting.
type preferred struct {
	Favourites []setup.ModelRef `json:"favourites"`
	Recent     []setup.ModelRef `json:"recent"` // newest first
}

// mostRecent is how many are told apart from the rest.
const mostRecent = 6

func (m *machine) preferredPath() string {
	return filepath.Join(m.folders.State, "models-preferred.json")
}

// preferred is nothing where nothing was noted. One that can't be read is
// nothing too, and the error says so.
func (m *machine) preferred() (preferred, error) {
	var p preferred
	b, err := os.ReadFile(m.preferredPath())
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err != nil {
		return preferred{}, fmt.Errorf("favourites and models that were used last can't be read: %w; the next choice writes them anew", err)
	}
	return p, nil
}

// prefer notes what was done with a model.
func (m *machine) prefer(ctx context.Context, model session.Model, how tui.Preference) error {
	if err := setup.Private(m.folders.State); err != nil {
		return err
	}
	// Another window may note something at the same time: what it wrote is read first.
	return locked(ctx, m.preferredPath(), func() error { return m.noteModel(model, how) })
}

func (m *machine) noteModel(model session.Model, how tui.Preference) error {
	p, _ := m.preferred() // what can't be read is written anew
	ref := setup.ModelRef{Provider: model.Provider, Model: model.Model}
	gone := func(list []setup.ModelRef) []setup.ModelRef {
		return slices.DeleteFunc(list, func(r setup.ModelRef) bool { return r == ref })
	}
	switch how {
	case tui.Used:
		p.Recent = slices.Insert(gone(p.Recent), 0, ref)
		p.Recent = p.Recent[:min(len(p.Recent), mostRecent)]
	case tui.Favourite:
		p.Favourites = append(gone(p.Favourites), ref)
	case tui.NoFavourite:
		p.Favourites = gone(p.Favourites)
	}
	b, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return renameio.WriteFile(m.preferredPath(), append(b, '\n'), 0o600, renameio.WithTempDir(m.folders.State))
}

// noted marks rows with what is noted of their models.
func (m *machine) noted(rows []tui.ModelInfo) ([]tui.ModelInfo, error) {
	p, err := m.preferred()
	for i, x := range rows {
		ref := setup.ModelRef{Provider: x.Model.Provider, Model: x.Model.Model}
		rows[i].Favourite = slices.Contains(p.Favourites, ref)
		rows[i].Recent = slices.Index(p.Recent, ref) + 1
	}
	return rows, err
}
