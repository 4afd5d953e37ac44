package catalogue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"charm.land/catwalk/pkg/catwalk"
	"github.com/google/renameio/v2"

	"varve/internal/providers"
)

// Address is where newer lists are published.
const Address = "https://catwalk.charm.land/v2/providers"

// A list is a few hundred KiB; more than this is none.
const (
	mostBytes = 8 << 20
	fetchTime = 30 * time.Second
)

// saved is a list as it stands in the state folder.
type saved struct {
	Date      string             `json:"date"` // it was fetched, YYYY-MM-DD
	From      string             `json:"from"`
	Providers []catwalk.Provider `json:"providers"`
}

// current is the list that is asked, read when it is asked first.
var current struct {
	sync.Mutex
	path string // of the one that was fetched
	read *Catalogue
	err  error
}

// Use says where a list that was fetched stands. Nothing is read yet.
func Use(path string) {
	current.Lock()
	defer current.Unlock()
	current.path, current.read, current.err = path, nil, nil
}

// Current is the list of now: the one that was fetched, else the program's
// own. The error says why the fetched one is not used; the list is there all
// the same.
func Current() (*Catalogue, error) {
	current.Lock()
	defer current.Unlock()
	if current.read == nil {
		current.read, current.err = load(current.path)
	}
	return current.read, current.err
}

func load(path string) (*Catalogue, error) {
	if path == "" {
		return Embedded(), nil
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Embedded(), nil
	}
	damaged := func(err error) (*Catalogue, error) {
		return Embedded(), fmt.Errorf("%s: %w; the list of %s that came with the program is used: fetch it again with `agent models refresh`", path, err, Snapshot)
	}
	if err != nil {
		return damaged(err)
	}
	defer f.Close()
	b, err := limited(f)
	if err != nil {
		return damaged(err)
	}
	var s saved
	if err := json.Unmarshal(b, &s); err != nil {
		return damaged(errors.New("is no list of models"))
	}
	if _, err := time.Parse(time.DateOnly, s.Date); err != nil {
		return damaged(errors.New("has no date"))
	}
	if s.Date < Snapshot {
		return Embedded(), nil // the program was renewed since
	}
	if err := sound(s.Providers); err != nil {
		return damaged(err)
	}
	return of(s.Date, s.Providers), nil
}

func limited(r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, mostBytes+1))
	if err == nil && len(b) > mostBytes {
		err = fmt.Errorf("has more than %d MB", mostBytes>>20)
	}
	return b, err
}

// sound refuses what can't be a whole list: a vendor twice or without a name,
// or no model with a window.
func sound(list []catwalk.Provider) error {
	seen, windows := map[string]bool{}, 0
	for _, p := range list {
		id := string(p.ID)
		if strings.TrimSpace(id) == "" || seen[id] {
			return fmt.Errorf("names the provider %q twice or not at all", id)
		}
		seen[id] = true
		for _, m := range p.Models {
			if size(m.ContextWindow) > 0 {
				windows++
			}
		}
	}
	if windows == 0 {
		return errors.New("has no model with a window")
	}
	return nil
}

// Fetch reads a list from an https address or a file and keeps it at path, in
// place of the one before; with an error that one stays. A nil client is the shared
// one.
func Fetch(ctx context.Context, client *http.Client, from, path string, now time.Time) (*Catalogue, error) {
	b, err := get(ctx, client, from)
	if err != nil {
		return nil, err
	}
	s := saved{Date: now.UTC().Format(time.DateOnly), From: name(from)}
	if err := json.Unmarshal(b, &s.Providers); err != nil {
		return nil, fmt.Errorf("%s: is no list of models; nothing is changed", s.From)
	}
	if err := sound(s.Providers); err != nil {
		return nil, fmt.Errorf("%s: %w; nothing is changed", s.From, err)
	}
	var doc bytes.Buffer
	if err := json.NewEncoder(&doc).Encode(s); err != nil {
		return nil, fmt.Errorf("keep the list of models: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("keep the list of models: %w", err)
	}
	if err := renameio.WriteFile(path, doc.Bytes(), 0o600, renameio.WithTempDir(filepath.Dir(path))); err != nil {
		return nil, fmt.Errorf("keep the list of models: %w", err)
	}
	Use(path)
	return of(s.Date, s.Providers), nil
}

// address says whether from is meant as one, and no file.
func address(from string) bool {
	scheme, _, found := strings.Cut(from, "://")
	return found && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// name is from as it may be said and kept: of an address, what holds no user,
// password or key.
func name(from string) string {
	if !address(from) {
		return from
	}
	u, err := url.Parse(from)
	if err != nil {
		return "the address"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
}

func get(ctx context.Context, client *http.Client, from string) ([]byte, error) {
	if !address(from) {
		f, err := os.Open(from)
		if err != nil {
			return nil, fmt.Errorf("%w; nothing is changed", err)
		}
		defer f.Close()
		b, err := limited(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w; nothing is changed", from, err)
		}
		return b, nil
	}
	u, err := url.Parse(from)
	if err != nil {
		return nil, fmt.Errorf("%s can't be read: it should look like https://models.example/list; nothing is changed", name(from))
	}
	if h := u.Hostname(); u.Scheme == "http" && h != "127.0.0.1" && h != "localhost" && h != "::1" {
		return nil, fmt.Errorf("%s: plain http reaches this machine alone; use https", name(from))
	}
	b, e := providers.Get(ctx, providers.Endpoint{Provider: "catalogue", BaseURL: from, Client: client}, from, nil, fetchTime)
	if e != nil {
		return nil, fmt.Errorf("%s: %w; nothing is changed", name(from), e)
	}
	if len(b) > mostBytes {
		return nil, fmt.Errorf("%s: has more than %d MB; nothing is changed", name(from), mostBytes>>20)
	}
	return b, nil
}
