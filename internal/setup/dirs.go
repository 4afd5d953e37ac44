package setup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Folders are the three places that Varve keeps things in, absolute.
type Folders struct {
	Config string // setup.json, definitions
	Data   string // sessions
	State  string // keys, trust, indexes
}

// Setup is the path of setup.json.
func (f Folders) Setup() string { return filepath.Join(f.Config, "setup.json") }

// Dirs follows the XDG base directory rules under varve/: VARVE_CONFIG_DIR,
// VARVE_DATA_DIR and VARVE_STATE_DIR win, then XDG_CONFIG_HOME and its kin, then the
// folders under the home. An empty variable counts as unset, and so does a relative
// XDG one (XDG says so). Nothing is created: see Private.
func Dirs() (Folders, error) {
	var f Folders
	for _, d := range []struct {
		to              *string
		own, xdg, plain string
	}{
		{&f.Config, "VARVE_CONFIG_DIR", "XDG_CONFIG_HOME", ".config"},
		{&f.Data, "VARVE_DATA_DIR", "XDG_DATA_HOME", ".local/share"},
		{&f.State, "VARVE_STATE_DIR", "XDG_STATE_HOME", ".local/state"},
	} {
		if own := os.Getenv(d.own); own != "" {
			abs, err := filepath.Abs(own)
			if err != nil {
				return Folders{}, fmt.Errorf("%s: %w", d.own, err)
			}
			*d.to = abs
			continue
		}
		base := os.Getenv(d.xdg)
		if !filepath.IsAbs(base) {
			home, err := os.UserHomeDir()
			if err != nil || !filepath.IsAbs(home) {
				return Folders{}, fmt.Errorf("no home folder is known; set HOME or %s", d.own)
			}
			base = filepath.Join(home, d.plain)
		}
		*d.to = filepath.Join(base, "varve")
	}
	return f, nil
}

// Private makes dir and its parents where they are missing, mode 0700 (SEC-2). A folder
// that is there is left as it is.
func Private(dir string) error {
	err := os.MkdirAll(dir, 0o700)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s is not a folder", dir)
	}
	return err
}
