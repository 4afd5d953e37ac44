package setup

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/zalando/go-keyring"
)

// ring plays a keyring. Its faults are those that real ones have.
type ring struct {
	keys    map[string]string
	locked  bool          // refuses everything
	forgets bool          // takes, and keeps nothing
	hangs   chan struct{} // answers when it is closed
	asked   int
}

var errLocked = errors.New("the collection is locked")

func (r *ring) Get(p string) (string, error) {
	if r.asked++; r.hangs != nil {
		<-r.hangs
	}
	if r.locked {
		return "", errLocked
	}
	if k, ok := r.keys[p]; ok {
		return k, nil
	}
	return "", keyring.ErrNotFound
}

func (r *ring) Set(p, key string) error {
	if r.asked++; r.locked {
		return errLocked
	}
	if !r.forgets {
		r.keys[p] = key
	}
	return nil
}

func (r *ring) Delete(p string) error {
	if r.asked++; r.locked {
		return errLocked
	}
	if _, ok := r.keys[p]; !ok {
		return keyring.ErrNotFound
	}
	delete(r.keys, p)
	return nil
}

func withRing(t *testing.T, r *ring) *Setup {
	t.Helper()
	written(t, `{}`)
	s, err := Load(Options{Keyring: r})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAKeyStandsInTheKeyring(t *testing.T) { // CLI-3, SEC-2
	r := &ring{keys: map[string]string{}}
	s := withRing(t, r)
	if _, err := s.ResolveKey(t.Context(), "openai"); err == nil || r.asked > 0 {
		t.Errorf("%v; the keyring was asked %d times for a key that nobody put there", err, r.asked)
	}
	if err := s.StoreKey(t.Context(), "openai", "sk-1"); err != nil {
		t.Fatal(err)
	}
	key, err := s.ResolveKey(t.Context(), "openai")
	if err != nil || string(key.Secret) != "sk-1" || key.From != "keyring" {
		t.Error(string(key.Secret), key.From, err)
	}
	if b, err := os.ReadFile(s.keyFile("openai")); err == nil {
		t.Errorf("the key stands in a file too: %q", b)
	}
	if b, err := os.ReadFile(s.inRing("openai")); err != nil || len(b) > 0 {
		t.Errorf("the mark holds %q, %v", b, err)
	}
	r.keys["openai"] = "sk-2" // changed there: no new session, case CFG-04
	if key, _ = s.ResolveKey(t.Context(), "openai"); string(key.Secret) != "sk-2" {
		t.Error("a stale key")
	}
	asked := r.asked
	for _, u := range s.Usables() {
		if u.Name == "openai" && (u.Key != KeyPresent || u.From != "keyring") {
			t.Error(u)
		}
	}
	if r.asked != asked {
		t.Error("listing the providers asked the keyring, which may ask the person for a password")
	}
	if err := s.ForgetKey(t.Context(), "openai"); err != nil || len(r.keys) > 0 || s.marked("openai") {
		t.Error(err, r.keys)
	}
}

func TestAKeyringThatDoesNotKeepIsNone(t *testing.T) { // CLI-3
	for name, r := range map[string]*ring{"locked": {locked: true}, "forgets": {forgets: true}} {
		s := withRing(t, r)
		if err := s.StoreKey(t.Context(), "openai", "sk-1"); err != nil {
			t.Error(name, err)
		}
		key, err := s.ResolveKey(t.Context(), "openai")
		if err != nil || string(key.Secret) != "sk-1" || key.From != "key file" {
			t.Error(name, string(key.Secret), key.From, err)
		}
	}
}

func TestAKeyMovesAndStandsInOnePlace(t *testing.T) { // SEC-2
	r := &ring{keys: map[string]string{}, locked: true}
	s := withRing(t, r)
	for _, step := range []struct {
		locked    bool
		key, from string
	}{{true, "a", "key file"}, {false, "b", "keyring"}, {true, "c", "key file"}} {
		r.locked = step.locked
		if err := s.StoreKey(t.Context(), "openai", Secret(step.key)); err != nil {
			t.Fatal(err)
		}
		got, err := s.ResolveKey(t.Context(), "openai")
		if err != nil || string(got.Secret) != step.key || got.From != step.from {
			t.Errorf("%+v: %q from %s, %v", step, string(got.Secret), got.From, err)
		}
		_, err = os.Lstat(s.keyFile("openai"))
		if inFile := err == nil; inFile == s.marked("openai") {
			t.Errorf("%+v: in a file %v, in the keyring %v", step, inFile, s.marked("openai"))
		}
	}
}

func TestAKeyringThatFailsLater(t *testing.T) { // CLI-3
	r := &ring{keys: map[string]string{}}
	s := withRing(t, r)
	if err := s.StoreKey(t.Context(), "openai", "sk-1"); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		fault func()
		want  string
	}{
		{func() { delete(r.keys, "openai") }, "openai: its key is not in the keyring any more; give it again"},
		{func() { r.keys["openai"] = "" }, "openai: its key in the keyring is empty; give it again"},
		{func() { r.keys["openai"] = "a\nb" }, "control character"},
		{func() { r.locked = true }, "openai: its key is in the keyring, which can't be read (the collection is locked); unlock it, or set api_key in setup.json"},
		{func() { s.keyring = nil }, "which can't be read (there is no keyring here)"},
	} {
		row.fault()
		if _, err := s.ResolveKey(t.Context(), "openai"); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("got %v\nwant %s", err, row.want)
		}
	}
	s.keyring = r
	if err := s.ForgetKey(t.Context(), "openai"); err == nil || !s.marked("openai") {
		t.Errorf("%v: forgotten, and it still stands in the keyring", err)
	}
}

func TestAKeyringThatHangsIsLeft(t *testing.T) { // CLI-3, TUI-5
	synctest.Test(t, func(t *testing.T) {
		r := &ring{keys: map[string]string{}}
		s := withRing(t, r)
		if err := s.StoreKey(t.Context(), "openai", "sk-1"); err != nil {
			t.Fatal(err)
		}
		r.hangs = make(chan struct{})
		if _, err := s.ResolveKey(t.Context(), "openai"); err == nil || !strings.Contains(err.Error(), "did not answer within 1m0s") {
			t.Error(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if _, err := s.ResolveKey(ctx, "openai"); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		close(r.hangs)
	})
}

func TestWhereThereIsAKeyring(t *testing.T) { // CLI-3
	t.Setenv("VARVE_KEYRING", "off")
	if OSKeyring() != nil {
		t.Error("it is off")
	}
}
