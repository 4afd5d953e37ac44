package setup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/zalando/go-keyring"
)

// KeyCommandLimit is how long a key command may take.
const KeyCommandLimit = 10 * time.Second

// A Secret is a key, or the reference to one. It prints, logs and marshals as dots;
// string(s) is the text itself.
type Secret string

const hidden = "•••"

func (s Secret) String() string               { return hidden }
func (s Secret) GoString() string             { return hidden }
func (s Secret) LogValue() slog.Value         { return slog.StringValue(hidden) }
func (s Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }
func (s Secret) Format(f fmt.State, _ rune)   { io.WriteString(f, hidden) }

// variable is NAME of $NAME or ${NAME}.
func (s Secret) variable() (string, bool) {
	name, ok := strings.CutPrefix(string(s), "$")
	if inner, braced := strings.CutPrefix(name, "{"); braced {
		name, braced = strings.CutSuffix(inner, "}")
		ok = ok && braced
	}
	if !ok || name == "" || name[0] >= '0' && name[0] <= '9' {
		return "", false
	}
	for i := 0; i < len(name); i++ {
		c := name[i]
		if c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return "", false
		}
	}
	return name, true
}

func (s Secret) command() (string, bool) { return strings.CutPrefix(string(s), "!") }

// check says what is wrong with a reference, without looking at what it refers to.
func (s Secret) check() string {
	if _, ok := s.variable(); strings.HasPrefix(string(s), "$") && !ok {
		return "begins with $ but names no variable; write $NAME"
	}
	if cmd, ok := s.command(); ok && strings.TrimSpace(cmd) == "" {
		return "has no command behind the !"
	}
	return ""
}

// A KeyError says why there is no key. It never holds one.
type KeyError struct {
	Provider string
	What     string
}

func (e *KeyError) Error() string { return e.Provider + ": " + e.What }

// errLimit ends what took longer than it may, whoever asks.
var errLimit = errors.New("took too long")

// within is a context that ends after d, with errLimit as its cause. Who asks may have less
// time, which says nothing of what was asked.
func within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, errLimit)
}

// unanswered is why what was asked at a time has not answered, where that is the asker's doing.
func unanswered(ctx context.Context, provider, what string, asked time.Time) error {
	if end, ok := ctx.Deadline(); ok && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		unit := time.Millisecond
		if end.Sub(asked) > time.Second {
			unit = time.Second
		}
		return &KeyError{provider, fmt.Sprintf("%s has not answered within %s; the key is not checked", what, end.Sub(asked).Round(unit))}
	}
	return ctx.Err()
}

// A Key is a resolved key and where it was found.
type Key struct {
	Secret Secret // "" where none is needed
	From   string
}

// place is where a key is, unresolved if by command.
type place struct {
	secret  Secret
	command string
	ring    bool // it is in the keyring
	from    string
}

// findKey looks for a provider's key: what api_key refers to; else the vendor's own
// variable (the environment goes before the file, CFG-05, but only to the vendor's host,
// CFG-08); else a key written in setup.json; else a stored one. An empty variable counts
// as unset.
func (s *Setup) findKey(name string, p Provider) (place, error) {
	if env, ok := p.APIKey.variable(); ok {
		if v := os.Getenv(env); v != "" {
			return place{secret: Secret(v), from: "$" + env}, nil
		}
		return place{}, &KeyError{name, "$" + env + " is not set or is empty; set it, or change api_key"}
	}
	if cmd, ok := p.APIKey.command(); ok {
		return place{command: cmd, from: "command"}, nil
	}
	for _, env := range p.keyEnv {
		if v := os.Getenv(env); v != "" {
			return place{secret: Secret(v), from: "$" + env}, nil
		}
	}
	if p.APIKey != "" {
		return place{secret: p.APIKey, from: "setup.json"}, nil
	}
	if s.marked(name) {
		return place{ring: true, from: "keyring"}, nil
	}
	stored, err := s.storedKey(name)
	if err != nil {
		return place{}, err
	}
	if stored != "" {
		return place{secret: stored, from: "key file"}, nil
	}
	if p.Local() {
		return place{}, nil
	}
	hint := "set api_key in setup.json"
	if len(p.keyEnv) > 0 {
		hint = "set $" + p.keyEnv[0] + ", or api_key in setup.json"
	}
	return place{}, &KeyError{name, "has no key; " + hint}
}

// ResolveKey finds a provider's key, to be called just before I/O and for each request, so
// that a rotated key needs no new session (PRV-7). A key command runs here, by sh, for at
// most KeyCommandLimit; its output is never logged.
func (s *Setup) ResolveKey(ctx context.Context, provider string) (Key, error) {
	p, ok := s.Provider(provider)
	if !ok {
		return Key{}, &KeyError{provider, "is not a provider that is configured"}
	}
	at, err := s.findKey(provider, p)
	if err != nil {
		return Key{}, err
	}
	switch {
	case at.command != "":
		at.secret, err = runKeyCommand(ctx, provider, at.command)
	case at.ring:
		at.secret, err = s.ringKey(ctx, provider)
	}
	if err != nil {
		return Key{}, err
	}
	return Key{at.secret, at.from}, sendable(provider, at.secret)
}

// CheckKey says why a provider can't be given its key and headers, as far as that is known
// without running a command and without the keyring. ready tells that neither is needed.
func (s *Setup) CheckKey(provider string) (ready bool, err error) {
	p, ok := s.Provider(provider)
	if !ok {
		return false, &KeyError{provider, "is not a provider that is configured"}
	}
	at, err := s.findKey(provider, p)
	if err == nil {
		err = sendable(provider, at.secret)
	}
	if err != nil {
		return false, err
	}
	ready = at.command == "" && !at.ring
	_, err = headersOf(provider, p, func(string) (Secret, error) {
		ready = false
		return "", nil
	})
	return ready && err == nil, err
}

// ResolveHeaders resolves the extra headers of a provider, as ResolveKey does its key.
func (s *Setup) ResolveHeaders(ctx context.Context, provider string) (map[string]Secret, error) {
	p, _ := s.Provider(provider)
	return headersOf(provider, p, func(command string) (Secret, error) { return runKeyCommand(ctx, provider, command) })
}

func headersOf(provider string, p Provider, run func(command string) (Secret, error)) (map[string]Secret, error) {
	out := map[string]Secret{}
	for name, ref := range p.Headers {
		var err error
		out[name] = ref
		if env, ok := ref.variable(); ok {
			if out[name] = Secret(os.Getenv(env)); out[name] == "" {
				return nil, &KeyError{provider, "header " + name + ": $" + env + " is not set or is empty"}
			}
		} else if cmd, ok := ref.command(); ok {
			if out[name], err = run(cmd); err != nil {
				return nil, err
			}
		}
		if err := sendable(provider, out[name]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// sendable refuses what would break a header in two.
func sendable(provider string, s Secret) error {
	if strings.IndexFunc(string(s), func(r rune) bool { return r < ' ' || r == 0x7f }) >= 0 {
		return &KeyError{provider, "the key holds a line break or another control character; store it without"}
	}
	return nil
}

func runKeyCommand(ctx context.Context, provider, command string) (Secret, error) {
	asked := time.Now()
	ctx, stop := within(ctx, KeyCommandLimit)
	defer stop()
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second // a child that left the group may hold the pipe
	out, err := cmd.Output()
	switch {
	case errors.Is(context.Cause(ctx), errLimit):
		return "", &KeyError{provider, fmt.Sprintf("the key command took more than %s", KeyCommandLimit)}
	case ctx.Err() != nil:
		return "", unanswered(ctx, provider, "the key command", asked)
	case err != nil && cmd.ProcessState != nil && cmd.ProcessState.ExitCode() > 0:
		return "", &KeyError{provider, fmt.Sprintf("the key command ended with exit code %d; try it in a shell", cmd.ProcessState.ExitCode())}
	case err != nil:
		return "", &KeyError{provider, "the key command could not be run"}
	}
	key := bytes.TrimSpace(out)
	if len(key) == 0 {
		return "", &KeyError{provider, "the key command printed nothing"}
	}
	return Secret(key), nil
}

// keyFile is where a provider's key is stored: state/keys/<name>, with every character
// that could mean something to a file system written as %XX.
func (s *Setup) keyFile(provider string) string {
	var b strings.Builder
	for i := 0; i < len(provider); i++ {
		c := provider[i]
		if c == '-' || c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c == '.' && i > 0 {
			b.WriteByte(c)
		} else { // capitals too: some file systems fold case
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return filepath.Join(s.state, "keys", b.String())
}

// storedKey is "" where none is stored.
func (s *Setup) storedKey(provider string) (Secret, error) {
	if s.state == "" || provider == "" {
		return "", nil
	}
	path := s.keyFile(provider)
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", nil
	case err != nil:
		return "", &KeyError{provider, "the key file can't be read: " + reason(err)}
	case !info.Mode().IsRegular():
		return "", &KeyError{provider, path + " is not a regular file; remove it"}
	case info.Mode().Perm()&0o077 != 0:
		return "", &KeyError{provider, path + " can be read by others; chmod 600 it, or store the key anew"}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", &KeyError{provider, "the key file can't be read: " + reason(err)}
	}
	return Secret(bytes.TrimSpace(b)), nil
}

// StoreKey keeps a provider's key in the keyring of this machine, and where there is none that
// takes it, in a private file (CLI-3). It stands in one of them.
func (s *Setup) StoreKey(ctx context.Context, provider string, key Secret) error {
	if s.state == "" || provider == "" || len(provider) > 80 {
		return &KeyError{provider, "a key needs a provider with a name of at most 80 bytes"}
	}
	if strings.TrimSpace(string(key)) == "" {
		return &KeyError{provider, "the key is empty"}
	}
	if err := sendable(provider, key); err != nil {
		return err
	}
	path := s.keyFile(provider)
	if err := Private(filepath.Dir(path)); err != nil {
		return fmt.Errorf("store key: %w", err)
	}
	kept, err := s.storeInRing(ctx, provider, key)
	if err != nil {
		return fmt.Errorf("store key: %w", err)
	}
	if kept {
		err = removeFile(path)
	} else if err = write(path, []byte(key)); err == nil {
		err = removeFile(s.inRing(provider))
	}
	if err != nil {
		return fmt.Errorf("store key: %w", err)
	}
	return nil
}

// ForgetKey removes a stored key, wherever it stands; none is no error.
func (s *Setup) ForgetKey(ctx context.Context, provider string) error {
	if s.state == "" || provider == "" {
		return nil
	}
	if s.marked(provider) {
		_, err := s.ring(ctx, func(k Keyring) (string, error) { return "", k.Delete(provider) })
		if err != nil && !errors.Is(err, keyring.ErrNotFound) {
			return fmt.Errorf("forget key: %w", err)
		}
	}
	if err := errors.Join(removeFile(s.inRing(provider)), removeFile(s.keyFile(provider))); err != nil {
		return fmt.Errorf("forget key: %w", err)
	}
	return nil
}

// removeFile removes a file; none is no error.
func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
