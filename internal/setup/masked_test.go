package setup

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

func TestNoSecretIsShown(t *testing.T) { // SEC-2, CFG-3
	doc := `{
  "model": {"provider": "p"},
  "providers": {
    "p": {"base_url": "https://p.example/v1", "api_key": "SECRET", "headers": {"X-Key": "SECRET", "X-Ref": "$NAME", "X-Odd": ["SECRET", {"a": 71717171}]}},
    "q.r": {"api_key": "${NAME}", "headers": {"X": "!pass show q"}}, "s": {"api_key": 71717171}, "t": {"api_key": {"SEC": "SECRET"}}
  },
  "mcp": {"servers": {"m": {"command": "run", "env": {"TOKEN": "SECRET", "REF": "$NAME"}, "headers": {"A": "Bearer SECRET"}, "api_key": "SECRET"}}}
}`
	s := loaded(t, doc)
	d, err := OpenDraft(s.Path)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{
		"providers", "providers.p", "providers.p.api_key", "providers.p.headers", "providers.p.headers.X-Key", "providers.p.headers.X-Odd", "providers.p.headers.X-Odd.1.a",
		"providers.s", "providers.t", "mcp", "mcp.servers", "mcp.servers.m.env", "mcp.servers.m.env.TOKEN", "mcp.servers.m.headers.A", "mcp.servers.m.api_key", "",
	} {
		path := ParsePath(at)
		shown := Masked(path, d.Get(path))
		if !shown.IsValid() || strings.Contains(string(shown), "SECRET") || strings.Contains(string(shown), "7171") || !strings.Contains(string(shown), hidden) {
			t.Errorf("%s: %s", at, shown)
		}
	}
	whole := string(Masked(nil, jsontext.Value(doc)))
	for _, stays := range []string{`"model": {"provider": "p"}`, `"base_url": "https://p.example/v1"`, `"X-Ref": "$NAME"`, `"api_key": "${NAME}"`, `"X": "!pass show q"`, `"command": "run"`, `"REF": "$NAME"`, "\n  \"mcp\": "} {
		if !strings.Contains(whole, stays) {
			t.Errorf("%s is not in %s", stays, whole)
		}
	}
	if got := Masked(ParsePath("providers.p.api_key"), jsontext.Value(`"broken`)); strings.Contains(string(got), "broken") {
		t.Error(got)
	}
}

// Who asks for less time than a key command has is told so, and not that it took too long.
func TestAKeyThatIsNotWaitedForIsNotCalledSlow(t *testing.T) { // CFG-3, SUM-3
	s := loaded(t, `{"providers": {"openai": {"api_key": "!tail -f /dev/null"}}}`)
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer stop()
	_, err := s.ResolveKey(ctx, "openai")
	if err == nil || !strings.Contains(err.Error(), "the key command has not answered within ") || strings.Contains(err.Error(), KeyCommandLimit.String()) {
		t.Error(err)
	}
	synctest.Test(t, func(t *testing.T) {
		r := &ring{keys: map[string]string{}}
		s := withRing(t, r)
		if err := s.StoreKey(t.Context(), "zai", "sk"); err != nil {
			t.Fatal(err)
		}
		r.hangs = make(chan struct{})
		defer close(r.hangs)
		ctx, stop := context.WithTimeout(t.Context(), 3*time.Second)
		defer stop()
		if _, err := s.ResolveKey(ctx, "zai"); err == nil || err.Error() != "zai: the keyring has not answered within 3s; the key is not checked" {
			t.Error(err)
		}
		if _, err := s.ResolveKey(t.Context(), "zai"); err == nil || !strings.Contains(err.Error(), "the keyring did not answer within "+KeyringLimit.String()) {
			t.Error(err)
		}
	})
}

func TestWhatOthersCanReadIsFound(t *testing.T) { // CFG-1, SEC-2
	dir := t.TempDir()
	path := filepath.Join(dir, "not", "there", "setup.json")
	made, err := Prepare(path)
	if err != nil || !made {
		t.Fatal(made, err)
	}
	if again, err := Prepare(path); err != nil || again {
		t.Fatal(again, err)
	}
	s, err := Load(Options{Path: path, State: filepath.Join(dir, "state")})
	if err != nil || len(s.Exposed()) > 0 {
		t.Fatal(s.Exposed(), err)
	}
	if err := s.StoreKey(t.Context(), "zai", "sk"); err != nil {
		t.Fatal(err)
	}
	if got := s.Exposed(); len(got) > 0 {
		t.Error(got)
	}
	for _, open := range []string{path, s.keyFile("zai")} {
		if err := os.Chmod(open, 0o640); err != nil {
			t.Fatal(err)
		}
		if got := s.Exposed(); len(got) != 1 || got[0] != open+" (mode 0640)" {
			t.Error(got)
		}
		if err := Hide(open); err != nil || len(s.Exposed()) > 0 {
			t.Error(s.Exposed(), err)
		}
	}
}
