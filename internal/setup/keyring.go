package setup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/zalando/go-keyring"
)

// KeyringLimit is how long the keyring may take; it may have to ask the person for a password.
const KeyringLimit = time.Minute

// keyringService is the name under which keys stand there; the account is the provider.
const keyringService = "varve"

// A Keyring is the store of secrets that the operating system keeps for a person.
type Keyring interface {
	Get(provider string) (string, error) // errors.Is(err, keyring.ErrNotFound) where it has none
	Set(provider, key string) error
	Delete(provider string) error
}

// osKeyring is the Secret Service on Linux, and the keychain on macOS.
type osKeyring struct{}

func (osKeyring) Get(p string) (string, error) { return keyring.Get(keyringService, p) }
func (osKeyring) Set(p, key string) error      { return keyring.Set(keyringService, p, key) }
func (osKeyring) Delete(p string) error        { return keyring.Delete(keyringService, p) }

// OSKeyring is the keyring of this machine, or nil: where VARVE_KEYRING is "off", and on Linux
// where no session bus runs, since asking for one would start it.
func OSKeyring() Keyring {
	if os.Getenv("VARVE_KEYRING") == "off" {
		return nil
	}
	if runtime.GOOS == "linux" && os.Getenv("DBUS_SESSION_BUS_ADDRESS") == "" {
		if _, err := os.Stat(filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "bus")); err != nil || os.Getenv("XDG_RUNTIME_DIR") == "" {
			return nil
		}
	}
	return osKeyring{}
}

var errNoKeyring = errors.New("there is no keyring here")

// ring does one thing with the keyring. What takes longer than its limit is left behind: the
// libraries under it can't be interrupted.
func (s *Setup) ring(ctx context.Context, do func(Keyring) (string, error)) (string, error) {
	if s.keyring == nil {
		return "", errNoKeyring
	}
	ctx, stop := within(ctx, KeyringLimit)
	defer stop()
	type answer struct {
		text string
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		text, err := do(s.keyring)
		done <- answer{text, err}
	}()
	select {
	case a := <-done:
		return a.text, a.err
	case <-ctx.Done():
		if errors.Is(context.Cause(ctx), errLimit) {
			return "", fmt.Errorf("the keyring did not answer within %s", KeyringLimit)
		}
		return "", ctx.Err()
	}
}

// inRing is the mark that a provider's key stands in the keyring: an empty file. Without it the
// keyring is not asked, so that nobody is asked for a password who never put a key there.
func (s *Setup) inRing(provider string) string {
	return filepath.Join(s.state, "keyring", filepath.Base(s.keyFile(provider)))
}

func (s *Setup) marked(provider string) bool {
	if s.state == "" || provider == "" {
		return false
	}
	_, err := os.Lstat(s.inRing(provider))
	return err == nil
}

// ringKey is the key of a provider that has the mark.
func (s *Setup) ringKey(ctx context.Context, provider string) (Secret, error) {
	asked := time.Now()
	text, err := s.ring(ctx, func(k Keyring) (string, error) { return k.Get(provider) })
	switch {
	case ctx.Err() != nil:
		return "", unanswered(ctx, provider, "the keyring", asked)
	case errors.Is(err, keyring.ErrNotFound):
		return "", &KeyError{provider, "its key is not in the keyring any more; give it again"}
	case err != nil:
		return "", &KeyError{provider, "its key is in the keyring, which can't be read (" + reason(err) + "); unlock it, or set api_key in setup.json"}
	case text == "":
		return "", &KeyError{provider, "its key in the keyring is empty; give it again"}
	}
	return Secret(text), nil
}

// storeInRing tells whether the key stands in the keyring now. It reads it back: a keyring that
// takes and does not keep is none.
func (s *Setup) storeInRing(ctx context.Context, provider string, key Secret) (bool, error) {
	back, err := s.ring(ctx, func(k Keyring) (string, error) {
		if err := k.Set(provider, string(key)); err != nil {
			return "", err
		}
		return k.Get(provider)
	})
	if err != nil || back != string(key) {
		return false, ctx.Err()
	}
	if err := Private(filepath.Dir(s.inRing(provider))); err != nil {
		return false, err
	}
	return true, write(s.inRing(provider), nil)
}
