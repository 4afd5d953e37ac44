package setup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestAKeyInTheEnvironmentIsEnough(t *testing.T) { // CLI-3
	s := loaded(t, `{"model":{"provider":"openai","model":"gpt-x"}}`)
	if _, err := s.ResolveKey(context.Background(), "openai"); err == nil || !strings.Contains(err.Error(), "openai: has no key; set $OPENAI_API_KEY, or api_key in setup.json") {
		t.Error(err)
	}
	t.Setenv("OPENAI_API_KEY", "sk-1")
	key, err := s.ResolveKey(context.Background(), s.Model.Provider)
	if err != nil || string(key.Secret) != "sk-1" || key.From != "$OPENAI_API_KEY" {
		t.Error(key, err)
	}
	p, _ := s.Provider("openai")
	if p.API != "openai-chat" || p.BaseURL != "https://api.openai.com/v1" {
		t.Error(p.API, p.BaseURL)
	}
	t.Setenv("OPENAI_API_KEY", "sk-2") // rotated, same Setup: case CFG-04
	if key, _ = s.ResolveKey(context.Background(), "openai"); string(key.Secret) != "sk-2" {
		t.Error("a stale key")
	}
}

func TestWhereAKeyComesFrom(t *testing.T) { // CFG-3, PRV-7, case CFG-05, case CFG-08
	for _, row := range []struct{ name, entry, env, stored, want, from string }{
		{"literal", `{"api_key": "lit"}`, "", "", "lit", "setup.json"},
		{"environment over literal", `{"api_key": "lit"}`, "env", "sto", "env", "$OPENAI_API_KEY"},
		{"literal over stored", `{"api_key": "lit"}`, "", "sto", "lit", "setup.json"},
		{"stored", `{}`, "", "sto", "sto", "key file"},
		{"environment over stored", `{}`, "env", "sto", "env", "$OPENAI_API_KEY"},
		{"reference", `{"api_key": "$OTHER"}`, "env", "sto", "oth", "$OTHER"},
		{"braces", `{"api_key": "${OTHER}"}`, "env", "sto", "oth", "$OTHER"},
		{"reference to nothing", `{"api_key": "$NOTHING"}`, "env", "sto", "", ""},
		{"reference to the empty", `{"api_key": "$EMPTY"}`, "env", "", "", ""},
		{"command", `{"api_key": "!printf '  a b \\n\\n'"}`, "env", "sto", "a b", "command"},
		{"command that fails", `{"api_key": "!echo s3cret; exit 3"}`, "env", "", "", ""},
		{"command that prints nothing", `{"api_key": "!true"}`, "env", "", "", ""},
		{"command of two lines", `{"api_key": "!printf 'a\\nb'"}`, "env", "", "", ""},
		{"the vendor's variable is for the vendor's host", `{"base_url": "https://evil.example/v1"}`, "env", "", "", ""},
		{"unless it is named", `{"base_url": "https://gw.example/v1", "api_key": "$OPENAI_API_KEY"}`, "env", "", "env", "$OPENAI_API_KEY"},
		{"another path on the vendor's host", `{"base_url": "https://api.openai.com/v2"}`, "env", "", "env", "$OPENAI_API_KEY"},
		{"a dollar inside is text", `{"api_key": "a$b"}`, "", "", "a$b", "setup.json"},
	} {
		s := loaded(t, `{"providers": {"openai": `+row.entry+`}}`)
		if len(s.Problems) > 0 {
			t.Error(row.name, s.Problems)
		}
		t.Setenv("OPENAI_API_KEY", row.env)
		t.Setenv("OTHER", "oth")
		t.Setenv("EMPTY", "")
		if row.stored != "" {
			if err := s.StoreKey(t.Context(), "openai", Secret(row.stored)); err != nil {
				t.Fatal(err)
			}
		}
		key, err := s.ResolveKey(context.Background(), "openai")
		if string(key.Secret) != row.want && err == nil || key.From != row.from && err == nil || (err != nil) != (row.want == "") {
			t.Errorf("%s: %q from %s, %v", row.name, string(key.Secret), key.From, err)
		}
		if err != nil && (strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "a\nb")) {
			t.Errorf("%s: the output is in the error: %v", row.name, err)
		}
	}
}

func TestAKeyCommandIsStopped(t *testing.T) { // CFG-3
	fifo := filepath.Join(t.TempDir(), "started")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Skip("no fifo here:", err)
	}
	s := loaded(t, `{"providers": {"openai": {"api_key": "!echo now > `+fifo+`; sleep 600 & sleep 600"}}}`)
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		os.ReadFile(fifo) // returns when the command runs
		stop()
	}()
	if _, err := s.ResolveKey(ctx, "openai"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestHeadersResolve(t *testing.T) { // PRV-7
	s := loaded(t, `{"providers": {"g": {"api":"openai-chat","base_url":"https://g.example","headers":{"X-A":"$A","X-B":"b","X-C":"!echo c"}}}}`)
	t.Setenv("A", "a")
	got, err := s.ResolveHeaders(context.Background(), "g")
	if err != nil || string(got["X-A"])+string(got["X-B"])+string(got["X-C"]) != "abc" {
		t.Error(got, err)
	}
	t.Setenv("A", "a\r\nX-Evil: 1")
	if _, err := s.ResolveHeaders(context.Background(), "g"); err == nil {
		t.Error("a header was split")
	}
}

// What can be known of a key without running anything is known; a command is not run.
func TestCheckKeyRunsNothing(t *testing.T) { // PRV-7
	ran := filepath.Join(t.TempDir(), "ran")
	t.Setenv("A", "a")
	t.Setenv("BAD", "a\nb")
	for _, c := range []struct {
		entry string
		ready bool
		wrong string
	}{
		{`"api_key":"k"`, true, ""},
		{`"api_key":"$A","headers":{"X":"$A"}`, true, ""},
		{`"api_key":"!touch ` + ran + `"`, false, ""},
		{`"api_key":"k","headers":{"X":"!touch ` + ran + `"}`, false, ""},
		{`"api_key":"$NOTHING"`, false, "g: $NOTHING is not set or is empty"},
		{`"api_key":"!touch ` + ran + `","headers":{"X":"$NOTHING"}`, false, "g: header X: $NOTHING is not set"},
		{`"api_key":"$BAD"`, false, "control character"},
		{`"headers":{}`, false, "g: has no key"},
	} {
		s := loaded(t, `{"providers":{"g":{"api":"openai-chat","base_url":"https://g.example",`+c.entry+`}}}`)
		ready, err := s.CheckKey("g")
		if ready != c.ready || (err != nil) != (c.wrong != "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: %v, %v", c.entry, ready, err)
		}
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a command was run")
	}
	if _, err := loaded(t, `{}`).CheckKey("nobody"); err == nil {
		t.Error("there is no such provider")
	}
}

func TestStoredKeys(t *testing.T) { // CLI-3, SEC-2, case SEC-05
	s := loaded(t, `{}`)
	dirs, _ := Dirs()
	for _, name := range []string{"openai", "OpenAI", "../../evil", "/etc/x", "a/b", ".hidden", "..", "-rf", "a\x00b", "naïve", "a.b"} {
		if err := s.StoreKey(t.Context(), name, Secret("k-"+name[:1])); err != nil && !strings.Contains(name, "\x00") {
			t.Errorf("%q: %v", name, err)
		}
		path := s.keyFile(name)
		if filepath.Dir(path) != filepath.Join(dirs.State, "keys") {
			t.Errorf("%q is stored at %s", name, path)
		}
		info, err := os.Lstat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%q: %v %v", name, info, err)
		}
		if got, err := s.storedKey(name); err != nil || string(got) != "k-"+name[:1] {
			t.Errorf("%q: %q, %v", name, string(got), err)
		}
	}
	if got, _ := s.storedKey("openai"); string(got) != "k-o" {
		t.Error("names that differ in case share a file")
	}
	if info, _ := os.Stat(filepath.Join(dirs.State, "keys")); info.Mode().Perm() != 0o700 {
		t.Error(info.Mode())
	}
	os.Chmod(s.keyFile("openai"), 0o644)
	if _, err := s.ResolveKey(context.Background(), "openai"); err == nil || !strings.Contains(err.Error(), "can be read by others; chmod 600") {
		t.Error(err)
	}
	os.Remove(s.keyFile("openai"))
	os.Symlink("/etc/hostname", s.keyFile("openai"))
	if _, err := s.ResolveKey(context.Background(), "openai"); err == nil {
		t.Error("a link was followed")
	}
	if err := s.ForgetKey(t.Context(), "a.b"); err != nil {
		t.Error(err)
	}
	if err := s.ForgetKey(t.Context(), "a.b"); err != nil {
		t.Error(err)
	}
	if got, err := s.storedKey("a.b"); got != "" || err != nil {
		t.Error("not forgotten")
	}
	for _, bad := range []string{"", " \n", "a\nb"} {
		if err := s.StoreKey(t.Context(), "openai", Secret(bad)); err == nil {
			t.Errorf("%q was stored", bad)
		}
	}
}

func TestSecretsDoNotPrint(t *testing.T) { // SEC-2
	s := loaded(t, `{"providers": {"openai": {"api_key": "s3cret", "headers": {"X-Key": "s3cret"}}, "bad": {"api_key": "s3cret", "base_url": "https://s3cret@x"}}}`)
	p, _ := s.Provider("openai")
	b, _ := json.Marshal(p)
	for _, text := range []string{fmt.Sprint(p), fmt.Sprintf("%+v %#v %q %s %x", p, p.APIKey, p.APIKey, p.Headers, p.APIKey), string(b), problems(s), fmt.Sprint(s.Problems)} {
		if strings.Contains(text, "s3cret") || strings.Contains(text, "733363726574") {
			t.Error(text)
		}
	}
	if string(p.APIKey) != "s3cret" {
		t.Error("nor is it there")
	}
}

func TestKeyEnvNames(t *testing.T) { // SEC-2
	s := loaded(t, `{"providers": {"g": {"api":"openai-chat","base_url":"https://g.example","api_key":"$MINE","headers":{"X":"${ALSO}"}}}, "permissions": {"env": ["GROQ_API_KEY"]}}`)
	names := s.KeyEnvNames()
	for _, want := range []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "MINE", "ALSO"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s stays in the environment of commands", want)
		}
	}
	if slices.Contains(names, "GROQ_API_KEY") || slices.Contains(names, "PATH") || !slices.IsSorted(names) {
		t.Error(names)
	}
}

func TestUsablesShowKeyStates(t *testing.T) { // SET-3, RTR-1
	s := loaded(t, `{"providers": {"z": {"api":"openai-chat","base_url":"https://z.example","api_key":"!echo x"}, "groq": {"api_key": "lit"},
	  "lan": {"api":"openai-chat","base_url":"https://lan.example"}}}`)
	t.Setenv("MISTRAL_API_KEY", "m")
	t.Setenv("XAI_API_KEY", "")
	got := map[string]string{}
	var order []string
	for _, u := range s.Usables() {
		got[u.Name] = string(u.Key) + " " + u.From
		order = append(order, u.Name)
	}
	for name, want := range map[string]string{"z": "command command", "groq": "present setup.json", "lan": "missing ", "mistral": "present $MISTRAL_API_KEY", "xai": "missing ", "ollama": "not_needed "} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
	if !slices.Equal(order[:4], []string{"z", "groq", "lan", "anthropic"}) || len(order) != len(builtins())+2 {
		t.Error(order)
	}
}
