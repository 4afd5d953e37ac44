package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve/internal/index"
	"varve/internal/providers/openaichat"
	"varve/internal/providers/scripted"
	"varve/internal/session"
)

// A key that a command prints is asked for when something is sent, once for each
// time, and not by who only reads; what only looks wrong is said before.
func TestKeyCommandsRunWhenSomethingIsSent(t *testing.T) { // PRV-7, CFG-3
	list, err := scripted.Parse("keys", `scenario KEYS "Two requests."
reply *
  text "the answer"
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
	d := newTestDesk(t)
	log := filepath.Join(t.TempDir(), "log")
	conf := func(key string) {
		t.Helper()
		b, err := json.Marshal(map[string]any{
			"model":   map[string]string{"provider": "script", "model": "m"},
			"routing": map[string]any{"summarization_models": []any{map[string]string{"provider": "script", "model": "m"}}},
			"providers": map[string]any{"script": map[string]any{
				"base_url": s.URL() + "/v1", "api_key": key, "headers": map[string]string{"X-Team": "!echo header >>" + log + "; echo red"},
				"models": map[string]any{"m": map[string]any{"context_window": 100_000}},
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(d.m.settings().Path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := d.m.reload(); err != nil {
			t.Fatal(err)
		}
	}
	ran := func(what string, times int) {
		t.Helper()
		b, err := os.ReadFile(log)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if want := strings.Repeat("key\nheader\n", times); string(b) != want {
			t.Errorf("%s: these ran: %q", what, b)
		}
		_ = os.Remove(log)
	}
	agent := func(args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		code := run(args, strings.NewReader(""), &out, &errs)
		return fmt.Sprintf("%d %s%s", code, out.String(), errs.String())
	}
	conf("!echo key >>" + log + "; echo sk-1")
	if got := agent("run", "hello"); !strings.HasPrefix(got, "0 the answer") {
		t.Fatal(got)
	}
	ran("a message", 1)
	if got := agent("run", "--continue", "again"); !strings.HasPrefix(got, "0 the answer") {
		t.Fatal(got)
	}
	ran("another message", 1)
	for _, r := range s.Requests() {
		if r.Header.Get("Authorization") != "Bearer sk-1" || r.Header.Get("X-Team") != "red" {
			t.Errorf("%q", r.Header)
		}
	}
	files, err := index.Files(d.m.folders.Data)
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	id := strings.TrimSuffix(filepath.Base(files[0]), ".jsonl")
	for _, args := range [][]string{{"session", "context", id}, {"session", "show", "--json", id}} {
		if got := agent(args...); !strings.HasPrefix(got, "0 ") {
			t.Error(got)
		}
		ran(args[1], 0)
	}
	if _, err := d.Settings(t.Context()); err != nil {
		t.Error(err)
	}
	ran("the settings", 0)

	// What is missing is said with nothing sent.
	conf("$NO_SUCH_KEY")
	if got := agent("run", "hello"); !strings.HasPrefix(got, "2 ") || !strings.Contains(got, "$NO_SUCH_KEY is not set") {
		t.Error(got)
	}
	info, err := d.Settings(t.Context())
	if err != nil || len(info.Summarizers) != 1 || !strings.Contains(info.Summarizers[0].Why, "$NO_SUCH_KEY is not set") {
		t.Errorf("%+v, %v", info.Summarizers, err)
	}
	ran("a variable that is not set", 0)
	conf("!echo key >>" + log + "; exit 3")
	if got := agent("run", "hello"); !strings.HasPrefix(got, "2 ") || !strings.Contains(got, "exit code 3") {
		t.Error(got)
	}
	if b, _ := os.ReadFile(log); string(b) != "key\n" {
		t.Errorf("these ran: %q", b)
	}
	if n := len(s.Requests()); n != 2 {
		t.Errorf("%d requests were sent", n)
	}
	// Who gives up ends the command.
	conf("!sleep 60")
	to, err := d.m.resolve(t.Context(), session.Model{Provider: "script", API: openaichat.API, Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := to.Keyed(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
