package main

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"varve/internal/compact"
	"varve/internal/session"
	"varve/internal/setup"
	"varve/internal/tui"
)

// A change keeps what is not ours, and what others have written meanwhile; what
// they have changed themselves is not overwritten.
func TestDeskChangesSettings(t *testing.T) { // SET-1, SET-2, SET-4, case CFG-07
	d := newTestDesk(t)
	path := d.m.settings().Path
	write := func(doc string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(doc), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func() string {
		b, _ := os.ReadFile(path)
		return string(b)
	}
	const doc = `{"routing":{"summarization_models":[{"provider":"p","model":"a","note":1},{"provider":"p","model":"b.C"}]},"Mine":{"x":1}}`
	write(doc)
	sums := setup.Path{"routing", "summarization_models"}
	info, err := d.Settings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(info.Summarizers) != 2 || !strings.Contains(info.Summarizers[0].Why, "p: no such provider") {
		t.Errorf("%+v", info.Summarizers)
	}
	seen := info.Set.Raw(sums)
	moved := tui.SettingEdit{At: sums, Was: seen, To: []byte(`[{"provider":"p","model":"b.C"},{"provider":"p","model":"a"}]`)}
	write(strings.Replace(doc, `"x":1`, `"x":2`, 1)) // another value meanwhile
	if info, err = d.Change(t.Context(), []tui.SettingEdit{moved}); err != nil {
		t.Fatal(err)
	}
	if now := read(); !strings.Contains(now, `"note":1`) || !strings.Contains(now, `{"x":2}`) || info.Summarizers[0].Ref.Model != "b.C" {
		t.Errorf("%s", now)
	}
	if d.m.settings().Routing.SummarizationModels[0].Model != "b.C" {
		t.Error("the change does not count")
	}
	// The same value: seen is not what stands there any more.
	before := read()
	var c *setup.Conflict
	if info, err = d.Change(t.Context(), []tui.SettingEdit{moved}); !errors.As(err, &c) || read() != before || info.Summarizers[0].Ref.Model != "b.C" {
		t.Errorf("%v: %s", err, read())
	}
	for what, e := range map[string]tui.SettingEdit{
		"a rule that can't be read": {At: setup.Path{"permissions", "deny"}, To: []byte(`["bash("]`)},
		"nonsense":                  {At: setup.Path{"context", "input_limit_tokens"}, To: []byte(`-4`)},
		"the router":                {At: sums, Was: info.Set.Raw(sums), To: []byte(`[{"provider":"p","model":"auto"}]`)},
	} {
		if _, err = d.Change(t.Context(), []tui.SettingEdit{e}); err == nil || !strings.Contains(err.Error(), "nothing is saved") || strings.Contains(err.Error(), "\n") || read() != before {
			t.Errorf("%s: %v: %s", what, err, read())
		}
	}
	// It counts for sessions that begin in this window from now on.
	if info, err = d.Change(t.Context(), []tui.SettingEdit{
		{At: setup.Path{"context", "compaction", "threshold_tokens"}, To: []byte(`90000`)},
		{At: setup.Path{"model", "provider"}, To: []byte(`"ollama"`)},
		{At: setup.Path{"model", "model"}, To: []byte(`"small"`)},
		{At: setup.Path{"permissions", "deny"}, To: []byte(`["bash(rm:*)"]`)},
		{At: setup.Path{"permissions", "allow"}, To: []byte(`["bash(ls)"]`)},
	}); err != nil {
		t.Fatal(err)
	}
	if n := d.opts.Settings.Compaction.Threshold; n == nil || *n != 90_000 || d.opts.Model.Model != "small" || len(d.opts.Settings.Summarizers) != 2 {
		t.Errorf("%+v", d.opts.Settings)
	}
	// What is taken out stands as the default again: lists too.
	for _, path := range []setup.Path{{"permissions", "deny"}, {"permissions", "allow"}, sums} {
		if _, err = d.Change(t.Context(), []tui.SettingEdit{{At: path, Was: info.Set.Raw(path), To: nil}}); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if now := read(); strings.Contains(now, "summarization_models") || strings.Contains(now, "bash(rm:*)") {
		t.Errorf("%s", now)
	}
	before = read()
	d.m.recast(func(p *playing) { p.sample = "demo" })
	if _, err = d.Change(t.Context(), []tui.SettingEdit{moved}); err == nil || read() != before {
		t.Errorf("in the demo: %v", err)
	}
}

func TestSettingsFolderIsReadOnly(t *testing.T) { // SET-1: a failed save leaves what was there, and says what is
	if os.Getuid() == 0 {
		t.Skip("root writes everywhere")
	}
	d := newTestDesk(t)
	if err := os.Chmod(filepath.Dir(d.m.settings().Path), 0o500); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Chmod(filepath.Dir(d.m.settings().Path), 0o700) }()
	info, err := d.Change(t.Context(), []tui.SettingEdit{{At: setup.Path{"appearance", "theme"}, To: []byte(`"light"`)}})
	if err == nil || info.Set.Appearance.Theme != "auto" {
		t.Errorf("%v, %v", err, info.Set.Appearance)
	}
}

// The demo leaves nothing behind: no key and no favourite, though the models that it
// uses are used without a word.
func TestDemoKeepsNothing(t *testing.T) { // PRV-11, SEC-2
	d := newTestDesk(t)
	d.m.recast(func(p *playing) { p.sample = t.TempDir() })
	real := session.Model{Provider: "openai", API: "openai-chat", Model: "m"}
	_, err := d.StoreKey(t.Context(), "openai", "sk-real")
	_, taken := d.Take(t.Context(), "openai", "sk-real")
	for what, err := range map[string]error{
		"a key": err, "a key of the first run": taken, "a favourite": d.Prefer(t.Context(), real, tui.Favourite), "none": d.Prefer(t.Context(), real, tui.NoFavourite),
	} {
		if err == nil || !strings.HasSuffix(err.Error(), "in the demo; nothing is saved") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := d.Prefer(t.Context(), real, tui.Used); err != nil {
		t.Error(err)
	}
	if _, err := d.UseModel(t.Context(), real); err != nil {
		t.Error(err)
	}
	for _, path := range []string{filepath.Join(d.m.folders.State, "keys", "openai"), d.m.preferredPath(), d.m.settings().Path} {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", filepath.Base(path), err)
		}
	}
}

// Windows that note models at once lose none of them.
func TestFavouritesOfWindows(t *testing.T) { // SET-3
	d := newTestDesk(t)
	const n = 8
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			if err := d.Prefer(t.Context(), session.Model{Provider: "p", Model: strconv.Itoa(i)}, tui.Favourite); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if p, err := d.m.preferred(); err != nil || len(p.Favourites) != n {
		t.Errorf("%v, %v", p.Favourites, err)
	}
}

// Models are listed with no network: those of the catalogue where there is a key,
// and what to do where there is none.
func TestKnownModels(t *testing.T) { // SET-3, PRV-8
	d := newTestDesk(t)
	t.Setenv("DEEPSEEK_API_KEY", "sk-none")
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	for _, k := range []string{"OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "ANTHROPIC_API_KEY"} {
		t.Setenv(k, "")
	}
	flash := session.Model{Provider: "deepseek", API: "openai-chat", Model: "deepseek-v4-flash"}
	for _, how := range []tui.Preference{tui.Used, tui.Favourite} {
		if err := d.Prefer(t.Context(), flash, how); err != nil {
			t.Fatal(err)
		}
	}
	rows, note, err := d.KnownModels(t.Context())
	if err != nil || !strings.HasPrefix(note, "catalogue of 2026-08-19") {
		t.Fatal(note, err)
	}
	find := func(rows []tui.ModelInfo, provider, model string) tui.ModelInfo {
		for _, r := range rows {
			if r.Model.Provider == provider && r.Model.Model == model {
				return r
			}
		}
		return tui.ModelInfo{}
	}
	if got := find(rows, "deepseek", "deepseek-v4-flash"); got.Window != 1_000_000 || got.By != "catalogue" || got.Price != "$0.14/$0.28" || !got.Favourite || got.Recent != 1 || got.Key != "key: $DEEPSEEK_API_KEY" {
		t.Errorf("%+v", got)
	}
	if got := find(rows, "openai", ""); !got.NeedsKey || got.State != "no key; set $OPENAI_API_KEY, or api_key in setup.json" {
		t.Errorf("%+v", got)
	}
	if got := find(rows, "anthropic", ""); got.NeedsKey || !strings.Contains(got.State, "which this version does not") {
		t.Errorf("%+v", got)
	}
	// Whoever does not answer is still offered, with the reason.
	d.m.settings().Providers["gone"] = setup.Provider{API: "openai-chat", BaseURL: "http://127.0.0.1:1/v1", Models: map[string]setup.ModelLimits{"m": {}}}
	u := setup.Usable{Name: "gone", API: "openai-chat", BaseURL: "http://127.0.0.1:1/v1", Key: setup.KeyNotNeeded}
	if got := d.m.asked(t.Context(), u); len(got) != 1 || got[0].Model.Model != "m" || !got[0].Unasked || !strings.Contains(got[0].Key, "does not answer at") {
		t.Errorf("%+v", got)
	}
	// What is noted and can't be read is said, and written anew.
	if err := os.WriteFile(d.m.preferredPath(), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := d.KnownModels(t.Context()); err == nil || !strings.Contains(err.Error(), "favourites") {
		t.Errorf("%v", err)
	}
	if err := d.Prefer(t.Context(), flash, tui.NoFavourite); err != nil {
		t.Fatal(err)
	}
	if rows, _, err = d.KnownModels(t.Context()); err != nil || find(rows, "deepseek", "deepseek-v4-flash").Favourite {
		t.Errorf("%v", err)
	}
}

// Before the first turn /context names the model that it would begin with, also one
// that was chosen in place of the flag's; where there is none that is said.
func TestContextBeforeTheFirstTurn(t *testing.T) { // CMP-13, CMP-15
	d := newTestDesk(t)
	said := func() string {
		t.Helper()
		c, err := d.Context(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(c.Lines(120), "\n")
	}
	if s := said(); !strings.HasPrefix(s, "no model yet: ") || !strings.Contains(s, "summarized by   no model yet") {
		t.Error(s)
	}
	if _, err := d.Change(t.Context(), []tui.SettingEdit{
		{At: setup.Path{"context", "input_limit_tokens"}, To: []byte(`50000`)},
		{At: setup.Path{"context", "compaction", "threshold_tokens"}, To: []byte(`9000`)},
	}); err != nil {
		t.Fatal(err)
	}
	d.m.load.Flags = map[string]string{"model.provider": "ollama", "model.model": "of-the-flag"}
	if _, err := d.UseModel(t.Context(), session.Model{Provider: "ollama", API: "openai-chat", Model: "small"}); err != nil {
		t.Fatal(err)
	}
	if s := said(); !strings.HasPrefix(s, "ollama/small: ") || !strings.Contains(s, "summarized by   ollama/small (window not known): the agent's own") || !strings.Contains(s, "9.0k tokens, by context.compaction.threshold_tokens") {
		t.Error(s)
	}
}

// Where the provider's word and the user's differ, both are said.
func TestWindowOfTwoMinds(t *testing.T) { // CMP-1, CMP-15
	for _, c := range []struct {
		source string
		set    int
		want   string
	}{
		{"learned", 60_000, "32.8k tokens, as an error of the provider said; your setting says 60.0k"},
		{"learned", 32_768, "32.8k tokens, as an error of the provider said"},
		{"learned", 0, "32.8k tokens, as an error of the provider said"},
		{"setting", 60_000, "32.8k tokens, by your settings"},
	} {
		r := compact.Report{Capacity: session.Capacity{N: 32_768, Source: c.source}, Budget: 32_768}
		if got := capacityWords(r, c.set); got != c.want {
			t.Errorf("%s, %d: %q, want %q", c.source, c.set, got, c.want)
		}
	}
	d := newTestDesk(t)
	if _, err := d.Change(t.Context(), []tui.SettingEdit{{At: setup.Path{"providers", "ollama", "models", "small", "context_window"}, To: []byte(`60000`)}}); err != nil {
		t.Fatal(err)
	}
	r := compact.Report{Model: session.Model{Provider: "ollama", Model: "small"}, Capacity: session.Capacity{N: 32_768, Source: "learned"}, Budget: 32_768}
	if s := strings.Join(d.m.contextOf(r).Lines(120), "\n"); !strings.Contains(s, "your setting says 60.0k") {
		t.Error(s)
	}
}
