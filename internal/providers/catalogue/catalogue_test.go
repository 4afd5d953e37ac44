package catalogue

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"charm.land/catwalk/pkg/embedded"
	"pgregory.net/rapid"
)

func TestEmbedded(t *testing.T) { // PRV-8
	for _, c := range []struct {
		provider, model string
		window          int
		in, out, r, w   float64
		images          bool
	}{
		{"openai", "gpt-5.6-sol", 1_050_000, 5, 30, 0.5, 6.25, true},
		{"anthropic", "claude-opus-5", 1_000_000, 5, 25, 0.5, 6.25, true},
		{"anthropic", "claude-opus-5-20260801", 1_000_000, 5, 25, 0.5, 6.25, true}, // a dated name
		{"gemini", "gemini-3.7-flash", 1_048_576, 0.75, 3.75, 0.075, 0, true},
		{"deepseek", "deepseek-v4-pro", 1_000_000, 0.435, 0.87, 0.003625, 0, false},
	} {
		m, ok := Embedded().Lookup(c.provider, c.model)
		if !ok || m.Window != c.window || m.In != c.in || m.Out != c.out || m.CacheRead != c.r || m.CacheWrite != c.w || m.Images != c.images || !m.Priced {
			t.Errorf("%s/%s: got %+v, %t", c.provider, c.model, m, ok)
		}
	}
	if m, ok := Embedded().Lookup("zai", "glm-5.2"); !ok || m.Priced { // PRV-10: a price of nothing is unknown
		t.Errorf("glm-5.2: %+v, %t", m, ok)
	}
	if m, ok := Embedded().Lookup("openai", "no-such-model"); ok {
		t.Errorf("got %+v", m)
	}
}

// The day belongs to the version of the module: whoever renews it says when the list was made.
func TestSnapshotIsOfThisVersion(t *testing.T) {
	mod, err := os.ReadFile("../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(mod), "charm.land/catwalk v0.52.1\n") {
		t.Errorf("charm.land/catwalk is another version: set Snapshot (%s) to the day of its list, and this test to the version", Snapshot)
	}
}

func TestCachePrices(t *testing.T) {
	for name, c := range map[string]struct {
		provider      string
		in, out, a, b float64
		read, write   float64
	}{
		"write, then read":       {"anthropic", 5, 25, 6.25, 0.5, 0.5, 6.25},
		"read, then write":       {"zen", 10, 50, 1, 12.5, 1, 12.5},
		"read and output":        {"gemini", 0.75, 3.75, 0.075, 3.75, 0.075, 0},
		"an hour of storage":     {"gemini", 1.5, 9, 0, 1, 0, 0},
		"read twice":             {"azure", 1.25, 10, 0.25, 0.25, 0.25, 0},
		"the plain prices again": {"qiniu", 0.29, 1.17, 0.29, 1.17, 0, 0},
		"nothing":                {"groq", 1, 3, 0, 0, 0, 0},
		"less than nothing":      {"x", 1, 3, -1, -2, 0, 0},
	} {
		if read, write := cachePrices(c.provider, c.in, c.out, c.a, c.b); read != c.read || write != c.write {
			t.Errorf("%s: got %v, %v", name, read, write)
		}
	}
	for _, p := range Embedded().Providers {
		for _, m := range p.Models {
			if m.CacheRead >= m.In && m.CacheRead != 0 || m.CacheWrite != 0 && m.CacheWrite <= m.In || m.In < 0 || m.Out < 0 || m.Window < 0 {
				t.Errorf("%s/%s: %+v", p.ID, m.ID, m)
			}
		}
	}
}

func TestOf(t *testing.T) { // the catalogue counts at the vendor's own address alone
	for _, c := range []struct{ name, url, want string }{
		{"openai", "https://api.openai.com/v1", "openai"},
		{"work", "https://API.openai.com/v1", "openai"},
		{"openai", "http://127.0.0.1:1/v1", ""},
		{"openai", "https://proxy.example/v1", ""},
		{"zai", "https://api.z.ai/api/paas/v4", "zai"},
		{"opencode-go", "https://opencode.ai/zen/go/v1", "opencode-go"},
		{"x", "::", ""},
		{"x", "", ""},
	} {
		if got := Embedded().Of(c.name, c.url); got != c.want {
			t.Errorf("%s at %s: got %q, want %q", c.name, c.url, got, c.want)
		}
	}
}

const list = `[{"id":"openai","name":"OpenAI","models":[{"id":"new","name":"New","context_window":1000,"cost_per_1m_in":1,"cost_per_1m_out":2}]}]`

var day = time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)

func TestFetch(t *testing.T) { // PRV-8: refreshed on demand, whole or not at all
	defer Use("")
	answer := list
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if answer == "" {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write([]byte(answer))
	}))
	defer srv.Close()
	path := filepath.Join(t.TempDir(), "state", "models.json")
	c, err := Fetch(context.Background(), nil, srv.URL, path, day)
	if err != nil || c.Date != "2026-12-01" {
		t.Fatal(c, err)
	}
	kept, _ := os.ReadFile(path)
	look := func() {
		t.Helper()
		now, _ := Current()
		if m, ok := now.Lookup("openai", "new"); !ok || m.Window != 1000 {
			t.Errorf("got %+v, %t", m, ok)
		}
		if _, ok := now.Lookup("anthropic", "claude-opus-5"); ok {
			t.Error("the program's own list is used beside the fetched one")
		}
	}
	look()
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	for what, bad := range map[string]string{
		"not found": "", "html": "<html>", "cut": list[:40], "another shape": `{"a":1}`, "empty": `[]`,
		"no windows": `[{"id":"a","models":[{"id":"m"}]}]`, "twice": `[` + list[1:len(list)-1] + `,` + list[1:],
		"large": "[" + strings.Repeat(" ", mostBytes) + list[1:],
	} {
		answer = bad
		if _, err := Fetch(context.Background(), nil, srv.URL, path, day); err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "nothing is changed") {
			t.Errorf("%s: %v", what, err)
		}
		if now, _ := os.ReadFile(path); string(now) != string(kept) {
			t.Errorf("%s: the list was changed", what)
		}
	}
	look()
	if _, err := Fetch(context.Background(), nil, "http://models.example/x", path, day); err == nil || !strings.Contains(err.Error(), "https") {
		t.Errorf("plain http: %v", err)
	}
	file := filepath.Join(t.TempDir(), "list.json")
	if err := os.WriteFile(file, []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Fetch(context.Background(), nil, file, path, day); err != nil {
		t.Error(err)
	}
	if _, err := Fetch(context.Background(), nil, file+".gone", path, day); err == nil {
		t.Error("a file that is not there was fetched")
	}
}

// An address may hold a password or a key: neither is said, and neither is kept.
func TestFetchSaysNoSecret(t *testing.T) { // SEC-2, PRV-8
	defer Use("")
	answer := ""
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, pass, _ := r.BasicAuth(); user != "SECRETu" || pass != "SECRETp" || r.URL.Query().Get("key") != "SECRETq" {
			t.Error("the address was not asked as it is")
		}
		switch answer {
		case "":
			w.WriteHeader(http.StatusForbidden)
		case "gone":
			panic(http.ErrAbortHandler)
		}
		_, _ = w.Write([]byte(answer))
	}))
	defer srv.Close()
	with := func(base string) string {
		return strings.Replace(base, "://", "://SECRETu:SECRETp@", 1) + "/list?key=SECRETq#SECRETf"
	}
	path := filepath.Join(t.TempDir(), "models.json")
	fails := func(from, says string) {
		t.Helper()
		_, err := Fetch(context.Background(), nil, from, path, day)
		if err == nil || strings.Contains(err.Error(), "SECRET") || !strings.HasPrefix(err.Error(), says) {
			t.Errorf("%v", err)
		}
	}
	for _, answer = range []string{"", "gone", "<html>", "[]", "[" + strings.Repeat(" ", mostBytes) + list[1:]} {
		fails(with(srv.URL), srv.URL+"/list: ")
	}
	fails(with("http://models.example"), "http://models.example/list: plain http")
	fails(with("HTTPS://127.0.0.1:1"), "https://127.0.0.1:1/list: ")
	fails(with("https://models.example:port"), "the address can't be read: ")
	answer = list
	if _, err := Fetch(context.Background(), nil, with(srv.URL), path, day); err != nil {
		t.Fatal(err)
	}
	if kept, _ := os.ReadFile(path); strings.Contains(string(kept), "SECRET") || !strings.Contains(string(kept), `"from":"`+srv.URL+`/list"`) {
		t.Errorf("%.200s", kept)
	}
}

func TestDamagedFile(t *testing.T) { // the program's own list is used, and it is said why
	defer Use("")
	path := filepath.Join(t.TempDir(), "models.json")
	good := `{"date":"2026-12-01","from":"x","providers":` + list + `}`
	for what, c := range map[string]struct{ text, says string }{
		"good":                     {good, ""},
		"cut":                      {good[:60], "is no list"},
		"no date":                  {strings.Replace(good, "2026-12-01", "soon", 1), "has no date"},
		"older than the program's": {strings.Replace(good, "2026-12-01", "2026-01-01", 1), ""},
		"empty":                    {`{"date":"2026-12-01"}`, "no model with a window"},
		"large":                    {good + strings.Repeat(" ", mostBytes), "more than"},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		Use(path)
		got, err := Current()
		if got == nil || (err == nil) != (c.says == "") || err != nil && (!strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), path)) {
			t.Errorf("%s: %v", what, err)
		}
		if _, own := got.Lookup("anthropic", "claude-opus-5"); own == (what == "good") {
			t.Errorf("%s: the wrong list is used", what)
		}
	}
}

func TestFetchedIsReadAsItWas(t *testing.T) { // whatever a list says, reading it does not fail later
	defer Use("")
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		raw := rapid.SampledFrom([]string{list, list[:30], "[]", "null", "{}", `[null]`, `[{"id":"a","models":[{"id":"","context_window":5}]}]`}).Draw(rt, "list")
		at := rapid.IntRange(0, len(raw)).Draw(rt, "at")
		text := raw[:at] + rapid.StringMatching(`[\x00-\x7f]{0,3}`).Draw(rt, "noise") + raw[at:]
		from, path := filepath.Join(dir, "from"), filepath.Join(dir, "kept")
		if err := os.WriteFile(from, []byte(text), 0o600); err != nil {
			rt.Fatal(err)
		}
		got, err := Fetch(context.Background(), nil, from, path, day)
		if err != nil {
			return
		}
		now, err := Current()
		if err != nil || len(now.Providers) != len(got.Providers) {
			rt.Fatalf("%q was kept and can't be read: %v", text, err)
		}
	})
}

func BenchmarkEmbedded(b *testing.B) { // what the first question costs
	for b.Loop() {
		of(Snapshot, embedded.GetAll())
	}
}
