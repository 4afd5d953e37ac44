package main

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"varve/internal/providers"
	"varve/internal/session"
	"varve/internal/setup"
)

// Who summarizes is read anew each time. What can't be asked stays in its place: a
// list that was filled is never empty. // SUM-1, SUM-3, SUM-7, CFG-2
func TestSummarizersOfNow(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"CONFIG", "DATA", "STATE"} {
		t.Setenv("VARVE_"+name+"_DIR", filepath.Join(dir, name))
	}
	t.Setenv("VARVE_KEYRING", "off")
	if err := os.MkdirAll(filepath.Join(dir, "CONFIG"), 0o700); err != nil {
		t.Fatal(err)
	}
	set := func(s string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "CONFIG", "setup.json"), []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	local := `"providers":{"local":{"api":"openai-chat","base_url":"http://127.0.0.1:1/v1"}}`
	set(`{` + local + `}`)
	m, err := newMachine(&flags{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ setup, want string }{
		{`{` + local + `}`, ""},
		{`{` + local + `,"routing":{"summarization_models":[{"provider":"local","model":"a"}]}}`, "local/a"},
		{
			`{` + local + `,"routing":{"summarization_models":[{"provider":"auto","model":"auto"},7,{"provider":" ","model":"x"},{"provider":"local","model":"b"}]}}`,
			"auto/auto: auto: no such provider, (blank)/(blank): (blank): no such provider, (blank)/x: (blank): no such provider, local/b",
		},
		{`{"providers":{"new":{"api":"openai-chat","base_url":"http://127.0.0.1:1/v1"}},"routing":{"summarization_models":[{"provider":"new","model":"a"}]}}`, "new/a"},
		{`{half`, "new/a"}, // what was read last counts
		{`{` + local + `}`, ""},
	} {
		set(c.setup)
		var got []string
		for _, model := range m.summarizers() {
			s := model.String()
			if _, err := m.resolve(t.Context(), model); err != nil {
				why, _, _ := strings.Cut(err.Error(), " in ")
				s += ": " + why
			}
			got = append(got, s)
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%s\n%s\nwant %s", c.setup, s, c.want)
		}
		if n := len(m.configured().Summarizers); n != len(got) {
			t.Errorf("%d summarizers are recorded, %d are asked", n, len(got))
		}
	}
	m.recast(func(p *playing) { p.demo = map[string]providers.Endpoint{"demo": {}} })
	if list := m.summarizers(); len(list) != 0 {
		t.Errorf("a script asks %v", list)
	}
}

// Settings are exchanged while a session's loop reads them: `go test -race` sees it
// where one of the two writes in place.
func TestSettingsAreExchanged(t *testing.T) {
	d := newTestDesk(t)
	var all sync.WaitGroup
	for _, do := range []func(){
		func() { _ = d.m.reload() },
		func() { d.m.alter(func(set *setup.Setup) { set.Permissions.Mode = "edit" }) },
		func() { d.m.rules() },
		func() { d.m.configured() },
		func() {
			_, _ = d.m.resolve(t.Context(), session.Model{Provider: "gone", API: "openai-chat", Model: "m"})
		},
	} {
		all.Go(func() {
			for range 20 {
				do()
			}
		})
	}
	all.Wait()
}
