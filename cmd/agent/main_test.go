package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"varve/internal/providers/scripted"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"agent": main,
	})
}

// TestScripts runs the program as people and scripts do (testdata/script). A
// script starts its own provider:
//
//	provider FILE [scenario] [key]   plays a scenario on loopback as provider "script", whose api_key is the key
//	requests N                       the provider was asked N times, and refused none
//	asked N                          the same, and it may have refused some
//	exits N COMMAND…                 runs a command and looks at its exit code
//	sessionfile NAME                 sets a variable to the path of the only session
//	damage FILE N                    cuts line N in half, and keeps its newline
//	puppet DIR FILE                  plays the model of a puppet, with the text of a file
//	empty DIR                        a folder is there, and nothing is in it
//	same FILE OTHER KEY…             two JSON objects are the same but for some keys
//	lacks TEXT DIR…                  no file in these folders holds a text
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
			e.Setenv("VARVE_KEYRING", "off")
			e.Setenv("HOME", e.WorkDir)
			for _, v := range []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"} {
				e.Setenv(v, "")
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"provider": provider,
			"requests": requests, "asked": asked,
			"exits": exits, "begins": begins, "sessionfile": sessionFile, "damage": damage, "lacks": lacks, "puppet": puppet, "empty": empty, "same": same,
		},
	})
}

func provider(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: provider FILE [scenario] [key]")
	}
	list, err := scripted.Load(ts.MkAbs(args[0]))
	ts.Check(err)
	sc := list[0]
	if len(args) > 1 && args[1] != "" {
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
	servers.Store(ts.Getenv("WORK"), s)
	key := ""
	if len(args) > 2 {
		key = fmt.Sprintf(`,"api_key":%q`, args[2])
	}
	conf := fmt.Sprintf(`{"model":{"provider":"script","model":"m"},"providers":{"script":{"api":"openai-chat","base_url":%q%s}}}`, s.URL()+"/v1", key)
	ts.Check(os.WriteFile(filepath.Join(ts.Getenv("VARVE_CONFIG_DIR"), "setup.json"), []byte(conf), 0o600))
}

// servers by working directory: scripts run side by side.
var servers sync.Map

func asked(ts *testscript.TestScript, neg bool, args []string) { askedOf(ts, args) }

func askedOf(ts *testscript.TestScript, args []string) *scripted.Server {
	v, ok := servers.Load(ts.Getenv("WORK"))
	if !ok {
		ts.Fatalf("no provider")
	}
	s := v.(*scripted.Server)
	if n := fmt.Sprint(len(s.Requests())); n != args[0] {
		ts.Fatalf("%s requests, want %s", n, args[0])
	}
	return s
}

func requests(ts *testscript.TestScript, neg bool, args []string) {
	s := askedOf(ts, args)
	var bad []string
	for _, v := range s.Violations() {
		bad = append(bad, fmt.Sprintf("request %d: %s: %s", v.Request, v.Rule, v.Text))
	}
	if len(bad) > 0 {
		ts.Fatalf("the provider refused:\n%s", strings.Join(bad, "\n"))
	}
}
