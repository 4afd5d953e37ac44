package setup

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A list that holds nonsense can be mended an entry at a time; no new nonsense comes in.
func TestListWithNonsenseIsMended(t *testing.T) { // SET-2, SET-4, SUM-3
	at := Path{"routing", "summarization_models"}
	path := filepath.Join(t.TempDir(), "setup.json")
	const bad = `{"routing": {"summarization_models": [42, {"provider": "p"}, {"provider": "p", "model": "auto"}, {"provider": "p", "model": "a", "x": 1}]}}`
	blank, p, auto, good := ModelRef{}, ModelRef{"p", ""}, ModelRef{"p", "auto"}, ModelRef{"p", "a"}
	for name, c := range map[string]struct {
		to   []ModelRef
		want string // "" is refused
	}{
		"one moved":     {[]ModelRef{good, blank, p, auto}, `[{"provider": "p", "model": "a", "x": 1},42,{"provider": "p"},{"provider": "p", "model": "auto"}]`},
		"one removed":   {[]ModelRef{p, auto, good}, `[{"provider": "p"},{"provider": "p", "model": "auto"},{"provider": "p", "model": "a", "x": 1}]`},
		"one added":     {[]ModelRef{blank, p, auto, good, {"p", "b"}}, `[42,{"provider": "p"},{"provider": "p", "model": "auto"},{"provider": "p", "model": "a", "x": 1},{"provider":"p","model":"b"}]`},
		"auto again":    {[]ModelRef{blank, p, auto, auto, good}, ""},
		"another blank": {[]ModelRef{blank, blank, p, auto, good}, ""},
	} {
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		err := Edit(path, func(d *Draft) error { return d.SetModels(at, c.to) })
		var r *Refusal
		if c.want == "" {
			if !errors.As(err, &r) || read(t, path) != bad {
				t.Errorf("%s: %v: %s", name, err, read(t, path))
			}
			continue
		}
		s, lerr := Load(Options{Path: path, State: t.TempDir()})
		if err != nil || lerr != nil || !same(s.Raw(at), []byte(c.want)) {
			t.Errorf("%s: %v, %v: %s", name, err, lerr, s.Raw(at))
		}
	}
}

func TestExpect(t *testing.T) { // SET-4
	path := filepath.Join(t.TempDir(), "setup.json")
	at := Path{"appearance", "theme"}
	for _, c := range []struct {
		doc, seen string
		ok        bool
	}{
		{`{}`, ``, true},
		{`{"appearance": {"theme": "dark"}}`, ` "dark"`, true},
		{`{"appearance": {"theme": "dark"}}`, ``, false},
		{`{"appearance": {"theme": "dark"}}`, `"light"`, false},
		{`{}`, `"dark"`, false},
	} {
		if err := os.WriteFile(path, []byte(c.doc), 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := OpenDraft(path)
		if err != nil {
			t.Fatal(err)
		}
		var seen []byte
		if c.seen != "" {
			seen = []byte(c.seen)
		}
		var conflict *Conflict
		if err := d.Expect(at, seen); (err == nil) != c.ok || err != nil && !errors.As(err, &conflict) {
			t.Errorf("%s seen as %q: %v", c.doc, c.seen, err)
		}
	}
}
