package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"varve/internal/providers/scripted"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"agent": func() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// TestScripts runs the program as people and scripts do (testdata/script). A
// script starts its own provider:
//
//	provider FILE [scenario]   plays a scenario on loopback as provider "script"
//	requests N                 the provider was asked N times, and refused none
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		UpdateScripts:       os.Getenv("UPDATE") != "",
		Setup: func(e *testscript.Env) error {
			for _, dir := range []string{"config", "data", "state", "w"} {
				if err := os.MkdirAll(filepath.Join(e.WorkDir, dir), 0o700); err != nil {
					return err
				}
			}
			e.Setenv("VARVE_CONFIG_DIR", filepath.Join(e.WorkDir, "config"))
			e.Setenv("VARVE_DATA_DIR", filepath.Join(e.WorkDir, "data"))
			e.Setenv("VARVE_STATE_DIR", filepath.Join(e.WorkDir, "state"))
			e.Setenv("HOME", e.WorkDir)
			for _, v := range []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"} {
				e.Setenv(v, "")
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"provider": provider,
			"requests": requests,
		},
	})
}

func provider(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: provider FILE [scenario]")
	}
	list, err := scripted.Load(ts.MkAbs(args[0]))
	ts.Check(err)
	sc := list[0]
	if len(args) > 1 {
		found := scripted.Find(list, args[1])
		if len(found) == 0 {
			ts.Fatalf("no scenario %s in %s", args[1], args[0])
		}
		sc = found[0]
	}
	s, err := scripted.Open(scripted.Options{})
	ts.Check(err)
	ts.Defer(s.Close)
	ts.Check(s.Play(sc))
	servers[ts.Getenv("WORK")] = s
	conf := fmt.Sprintf(`{"model":{"provider":"script","model":"m"},"providers":{"script":{"api":"openai-chat","base_url":%q}}}`, s.URL()+"/v1")
	ts.Check(os.WriteFile(filepath.Join(ts.Getenv("VARVE_CONFIG_DIR"), "setup.json"), []byte(conf), 0o600))
}

// servers by working directory. Scripts of one test run one after the other
// unless they are parallel, and each has a directory of its own.
var servers = map[string]*scripted.Server{}

func requests(ts *testscript.TestScript, neg bool, args []string) {
	s := servers[ts.Getenv("WORK")]
	if s == nil {
		ts.Fatalf("no provider")
	}
	if n := fmt.Sprint(len(s.Requests())); n != args[0] {
		ts.Fatalf("%s requests, want %s", n, args[0])
	}
	var bad []string
	for _, v := range s.Violations() {
		bad = append(bad, fmt.Sprintf("request %d: %s: %s", v.Request, v.Rule, v.Text))
	}
	if len(bad) > 0 {
		ts.Fatalf("the provider refused:\n%s", strings.Join(bad, "\n"))
	}
}
