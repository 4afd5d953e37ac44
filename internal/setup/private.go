package setup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Blank is what a setup.json holds that was made to be edited by hand.
const Blank = "{}\n"

// Prepare makes a setup.json to be edited by hand where there is none, mode 0600 before
// anything stands in it (CFG-1); made says that it did. One that is there is left as it is.
func Prepare(path string) (made bool, err error) {
	if err := Private(filepath.Dir(path)); err != nil {
		return false, fmt.Errorf("make setup.json: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("make setup.json: %w", err)
	}
	_, err = f.WriteString(Blank)
	return true, errors.Join(err, f.Close())
}

// Hide takes a setup.json from others who could read it: an editor may write it anew, with
// a mode of its own. None is no error.
func Hide(path string) error {
	if mode, open := exposed(path); open {
		return os.Chmod(path, mode&0o700)
	}
	return nil
}

// Exposed are the files with settings and keys that others can read, with their modes.
func (s *Setup) Exposed() []string {
	files := []string{s.Path, s.Path + ".bak"}
	keys := filepath.Join(s.state, "keys")
	stored, _ := os.ReadDir(keys) // what can't be listed is told where a key is used
	for _, k := range stored {
		files = append(files, filepath.Join(keys, k.Name()))
	}
	var out []string
	for _, path := range files {
		if mode, open := exposed(path); open {
			out = append(out, fmt.Sprintf("%s (mode %04o)", path, mode))
		}
	}
	return out
}

func exposed(path string) (os.FileMode, bool) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return 0, false
	}
	return info.Mode().Perm(), info.Mode().Perm()&0o077 != 0
}
