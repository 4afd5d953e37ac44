package setup

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
)

const settingsDoc = "../../docs/setup.md"

// block is one generated part of docs/setup.md.
func block(t *testing.T, doc []byte, name, body string) []byte {
	t.Helper()
	begin, end := "<!-- "+name+": begin, generated -->\n", "<!-- "+name+": end -->"
	head, rest, ok := strings.Cut(string(doc), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("docs/setup.md has no block %s", name)
	}
	return []byte(head + begin + body + end + tail)
}

func TestSetupDocTellsTheTruth(t *testing.T) {
	have, err := os.ReadFile(settingsDoc)
	if err != nil {
		t.Fatal(err)
	}
	var scalars strings.Builder
	scalars.WriteString("| key | default | values | variable | what it is |\n|---|---|---|---|---|\n")
	for _, c := range (&Setup{}).scalars() {
		key := "`" + c.path + "`"
		if c.project {
			key += " †"
		}
		fmt.Fprintf(&scalars, "| %s | `%s` | %s | `%s` | %s |\n", key, c.standard(), c.values(), EnvName(c.path), c.says)
	}
	var providers strings.Builder
	providers.WriteString("| name | API kind | base_url | key variable |\n|---|---|---|---|\n")
	for _, b := range builtins() {
		key := "none needed"
		if b.env != nil {
			key = "`" + strings.Join(b.env, "`, `") + "`"
		}
		fmt.Fprintf(&providers, "| `%s` | `%s` | `%s` | %s |\n", b.name, b.api, b.url, key)
	}
	want := block(t, block(t, have, "defaults", scalars.String()), "providers", providers.String())
	if bytes.Equal(have, want) {
		return
	}
	if os.Getenv("UPDATE") != "1" {
		t.Fatal("docs/setup.md is behind the code; UPDATE=1 go test ./internal/setup writes it anew")
	}
	if err := os.WriteFile(settingsDoc, want, 0o644); err != nil {
		t.Fatal(err)
	}
}

// The document's example is a setup.json.
func TestSetupDocExampleLoads(t *testing.T) {
	doc, err := os.ReadFile(settingsDoc)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(doc), "```json\n")
	example, _, ok2 := strings.Cut(rest, "```")
	if !ok || !ok2 {
		t.Fatal("no example")
	}
	if s := loaded(t, example); len(s.Problems)+len(s.Unknown()) > 0 {
		t.Error(s.Problems, s.Unknown())
	}
}
