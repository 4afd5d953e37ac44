package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"

	"varve/internal/providers/scripted"
)

// What a model, a server or a file's name says can't drive the terminal; a pipe gets an
// answer as it is, and so does who asks for JSON. // TUI-9, CLI-2
func TestWhatOthersSayDrivesNoTerminal(t *testing.T) {
	const evil = `\x1b]52;c;aGk=\x07\x1b[2J`
	list, err := scripted.Parse("evil", `scenario EVIL "An answer that writes to the clipboard."
on GET /v1/models
  body {"data":[{"id":"m\u001b]52;c;aGk=\u0007x"}]}
reply *
  text "needle`+evil+`\tend"
  finish stop
  usage prompt=5 output=5
  done
`)
	if err != nil {
		t.Fatal(err)
	}
	s, err := scripted.Open(scripted.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Play(list[0]); err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	raw := strings.NewReplacer(`\x1b`, "\x1b", `\x07`, "\a").Replace(evil)
	folder := filepath.Join(root, "w"+strings.ReplaceAll(raw, "/", ""))
	for _, dir := range []string{folder, filepath.Join(root, "config")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	conf := fmt.Sprintf(`{"model":{"provider":"script","model":"m"},"providers":{"script":{"base_url":%q}}}`, s.URL()+"/v1")
	if err := os.WriteFile(filepath.Join(root, "config", "setup.json"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{"CONFIG", "DATA", "STATE"} {
		t.Setenv("VARVE_"+k+"_DIR", filepath.Join(root, strings.ToLower(k)))
	}
	t.Setenv("VARVE_KEYRING", "off")
	t.Chdir(folder)
	agent := func(args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		if code := run(args, strings.NewReader(""), &out, &errs); code != 0 {
			t.Fatalf("%v: exit code %d: %s", args, code, errs.String())
		}
		return out.String()
	}

	answer := agent("run", "--model", "script/m"+raw, "needle "+raw)
	if answer != "needle"+raw+"\tend\n" {
		t.Errorf("a pipe got %q", answer)
	}
	host, tty, err := pty.Open()
	if err != nil {
		t.Skip("no terminals here:", err)
	}
	defer host.Close()
	var errs bytes.Buffer
	if code := run([]string{"run", "--continue", "again"}, strings.NewReader(""), tty, &errs); code != 0 {
		t.Fatal(errs.String())
	}
	if err := tty.Close(); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 4096)
	n, _ := host.Read(b) // that there is no more is an error of its own
	if shown := string(b[:n]); !strings.HasPrefix(shown, "needle") || strings.ContainsAny(shown, "\x1b\a") {
		t.Errorf("the terminal got %q", shown)
	}

	var rows []struct{ ID, Title, Workspace string }
	if err := json.Unmarshal([]byte(agent("session", "list", "--json")), &rows); err != nil || len(rows) != 1 || !strings.Contains(rows[0].Title+rows[0].Workspace, "\x1b") {
		t.Errorf("%v %q", err, rows)
	}
	id := rows[0].ID
	label := agent("session", "fork", id)
	for _, args := range [][]string{
		{"session", "show", id},
		{"session", "list", "--all"},
		{"session", "search", "--all", "needle"},
		{"session", "tree", id},
		{"session", "context", id},
		{"session", "usage", id, "--branch", strings.TrimSpace(label)},
		{"session", "requests", id},
		{"models"},
		{"models", "show", "script/m" + raw},
	} {
		if shown := agent(args...); shown == "" || strings.ContainsAny(shown, "\x1b\a") {
			t.Errorf("%v: %q", args, shown)
		}
	}
	if shown := agent("session", "show", id); !strings.Contains(shown, "needle\tend") {
		t.Errorf("%q", shown)
	}
	errs.Reset()
	if run([]string{"models", "show", "nobody" + raw + "/m"}, strings.NewReader(""), &errs, &errs) == 0 || strings.ContainsAny(errs.String(), "\x1b\a") {
		t.Errorf("%q", errs.String())
	}
}
