package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestFindingsAreSortedByWhatTheyAsk(t *testing.T) { // SEC-7
	r, err := read(strings.NewReader(`
		{"config":{"scan_level":"symbol"}}
		{"osv":{"id":"GO-1","summary":"a hole"}} {"osv":{"id":"GO-2","summary":"a gap"}} {"osv":{"id":"GO-3","summary":"a crack"}}
		{"finding":{"osv":"GO-1","fixed_version":"v1.2.0","trace":[{"module":"example.com/m","version":"v1.1.0"}]}}
		{"finding":{"osv":"GO-1","fixed_version":"v1.2.0","trace":[{"module":"example.com/m","version":"v1.1.0","package":"example.com/m/p","function":"Do","receiver":"T"}]}}
		{"finding":{"osv":"GO-1","fixed_version":"v1.2.0","trace":[{"module":"example.com/m","version":"v1.1.0","package":"example.com/m/p"}]}}
		{"finding":{"osv":"GO-2","trace":[{"module":"example.com/n","version":"v0.1.0","package":"example.com/n"}]}}
		{"finding":{"osv":"GO-3","fixed_version":"v1.26.9","trace":[{"module":"stdlib","version":"v1.26.8","package":"net","function":"Dial"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := report{
		reached:   []string{"GO-1 in example.com/m v1.1.0: a hole (mended in v1.2.0), reached through example.com/m/p.T.Do"},
		unreached: []string{"GO-2 in example.com/n v0.1.0: a gap"},
		std:       []string{"GO-3 in stdlib v1.26.8: a crack (mended in v1.26.9)"},
	}
	if !reflect.DeepEqual(r, want) {
		t.Errorf("got\n%s want\n%s", r, want)
	}
	if _, err := read(strings.NewReader(`{"finding":`)); err == nil {
		t.Error("a cut answer passed as a clean one")
	}
}

func TestConvertMakesWhatGovulncheckReads(t *testing.T) {
	src, out := t.TempDir(), filepath.Join(t.TempDir(), "db")
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(src, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("b.json", `{"id":"GO-2","modified":"2026-02-01T00:00:00Z","affected":[{"package":{"name":"m"}}]}`)
	write("a.json", `{"id":"GO-1","modified":"2026-01-01T00:00:00Z","aliases":["CVE-1"],
		"affected":[{"package":{"name":"m"},"ranges":[{"events":[{"introduced":"0"},{"fixed":"1.2.0"}]}]}]}`)
	if err := convert(src, out); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"index/db.json":      `{"modified":"2026-02-01T00:00:00Z"}`,
		"index/modules.json": `[{"path":"m","vulns":[{"id":"GO-1","modified":"2026-01-01T00:00:00Z","fixed":"1.2.0"},{"id":"GO-2","modified":"2026-02-01T00:00:00Z"}]}]`,
		"index/vulns.json":   `[{"id":"GO-1","modified":"2026-01-01T00:00:00Z","aliases":["CVE-1"]},{"id":"GO-2","modified":"2026-02-01T00:00:00Z"}]`,
	} {
		got, err := os.ReadFile(filepath.Join(out, name))
		if err != nil || string(got) != want {
			t.Errorf("%s: %v\n got %s\nwant %s", name, err, got, want)
		}
	}
	if b, err := os.ReadFile(filepath.Join(out, "ID", "GO-1.json")); err != nil || !strings.Contains(string(b), "CVE-1") {
		t.Errorf("ID/GO-1.json: %v %s", err, b)
	}
	write("c.json", `{`)
	if err := convert(src, out+"2"); err == nil {
		t.Error("a broken report passed")
	}
	if _, err := os.Stat(out + "2"); err == nil {
		t.Error("half a database was left behind")
	}
}
