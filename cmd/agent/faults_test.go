package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"varve/internal/setup"
)

// What faults that were planted by hand showed to be held by no test.

// Printed JSON is for people too: it is not written for a web page.
func TestJSONIsPlain(t *testing.T) { // RUN-1
	var b bytes.Buffer
	printJSON(&b, map[string]string{"text": "if a < b && c > d"})
	if got := b.String(); got != "{\"text\":\"if a < b && c > d\"}\n" {
		t.Errorf("%s", got)
	}
}

func TestSecretPaths(t *testing.T) { // SEC-2
	for key, secret := range map[string]bool{
		"providers.acme.api_key": true, "providers.acme.headers.x-auth": true, "providers.acme.headers.Authorization": true,
		"providers.acme.base_url": false, "model.model": false, "headers": false, "": false,
	} {
		if got := secretPath(key); got != secret {
			t.Errorf("%q: %v", key, got)
		}
		if got := shownValue(key, []byte(`"sk-1"`)); (got == "•••") != secret {
			t.Errorf("%q is shown as %s", key, got)
		}
	}
}

// Temporary folders of processes that are gone are removed, and no others.
func TestTemporaryFoldersOfTheLiving(t *testing.T) { // SEC-10
	d := newTestDesk(t)
	first, err := d.m.privateTemp()
	if err != nil {
		t.Fatal(err)
	}
	parent := filepath.Dir(first)
	for _, name := range []string{"999999999-gone", "somebody-elses"} {
		if err := os.Mkdir(filepath.Join(parent, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	second, err := d.m.privateTemp()
	if err != nil || second == first {
		t.Fatal(second, err)
	}
	for path, there := range map[string]bool{
		first: true, second: true, filepath.Join(parent, "999999999-gone"): false, filepath.Join(parent, "somebody-elses"): true,
	} {
		if _, err := os.Stat(path); (err == nil) != there {
			t.Errorf("%s: %v", filepath.Base(path), err)
		}
	}
}

// A session that can't be gone to leaves the desk where it was.
func TestMoveThatFailsStays(t *testing.T) { // BRW-4
	d := newTestDesk(t)
	was := d.workspace()
	d.m.recast(func(p *playing) { p.sample = t.TempDir() })
	d.m.alter(func(set *setup.Setup) { set.Permissions.Deny = []string{"bash(("} })
	if _, err := d.optionsFor(""); err == nil {
		t.Fatal("it went, with rules that can't be read")
	}
	if d.workspace() != was {
		t.Errorf("it is in %s now", d.workspace())
	}
}
