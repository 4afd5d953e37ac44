package setup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

const grown = `{
  "Theme": "dark",   "zeta": 1.50,
  "futureKey": {"CamelCase": {"gpt-5.6-Astra": 1e2, "big": 9007199254740993}},
  "providers": {
    "MyProxy": {"api": "openai-chat", "base_url": "https:\/\/p.example\u002fv1", "api_key": "$MY_KEY",
      "headers": {"X-Team.Name": "a"}, "models": {"glm-4.6": {"context_window": 1000, "x": null}, "GLM-4.6": {}}}
  },
  "routing": {"summarization_models": [{"provider":"OpenAI","model":"gpt-5.6","Extra":true}, {"model": "b", "provider": "p"}]},
  "model": {
    "provider": "openai"
  }
}
`

// Every byte that is not of the edited value stays. CFG-2, case CFG-02.
func TestAnEditTouchesOneValue(t *testing.T) {
	for _, row := range []struct {
		name string
		edit func(*Draft) error
		old  string
		new  string
	}{
		{"replace", func(d *Draft) error { return d.Set(Path{"model", "provider"}, "groq") }, `"provider": "openai"`, `"provider": "groq"`},
		{
			"add to lines", func(d *Draft) error { return d.Set(Path{"model", "model"}, "x.y") },
			"\"provider\": \"openai\"\n", "\"provider\": \"openai\",\n    \"model\": \"x.y\"\n",
		},
		{"add to one line", func(d *Draft) error {
			return d.Set(Path{"providers", "MyProxy", "models", "GLM-4.6", "context_window"}, 5)
		}, `"GLM-4.6": {}`, "\"GLM-4.6\": {\n        \"context_window\": 5\n      }"},
		{"dots are no path", func(d *Draft) error {
			return d.Set(Path{"providers", "MyProxy", "models", "glm-4.6", "context_window"}, 2000)
		}, `"context_window": 1000`, `"context_window": 2000`},
		{"null is a value", func(d *Draft) error {
			return d.Set(Path{"providers", "MyProxy", "models", "glm-4.6", "x"}, true)
		}, `"x": null`, `"x": true`},
		{
			"make the way", func(d *Draft) error { return d.Set(Path{"context", "compaction", "mode"}, "disabled") },
			"\"openai\"\n  }\n", "\"openai\"\n  },\n  \"context\": {\n    \"compaction\": {\n      \"mode\": \"disabled\"\n    }\n  }\n",
		},
		{"delete the first", func(d *Draft) error { return d.Delete(Path{"Theme"}) }, `"Theme": "dark",   "zeta"`, `"zeta"`},
		{"delete within", func(d *Draft) error { return d.Delete(Path{"zeta"}) }, `   "zeta": 1.50,`, ``},
		{"delete the last", func(d *Draft) error { return d.Delete(Path{"model"}) }, ",\n  \"model\": {\n    \"provider\": \"openai\"\n  }", ""},
		{"delete the only one", func(d *Draft) error { return d.Delete(Path{"model", "provider"}) }, "{\n    \"provider\": \"openai\"\n  }", "{}"},
		{"delete from a list", func(d *Draft) error { return d.Delete(Path{"routing", "summarization_models", "1"}) }, `, {"model": "b", "provider": "p"}`, ""},
		{"delete nothing", func(d *Draft) error { return d.Delete(Path{"none", "such"}) }, "", ""},
		{"set in a list", func(d *Draft) error { return d.Set(Path{"routing", "summarization_models", "1", "model"}, "c") }, `"model": "b"`, `"model": "c"`},
		{"a key of digits in an object", func(d *Draft) error {
			return d.Set(Path{"providers", "MyProxy", "headers", "0"}, "z")
		}, `{"X-Team.Name": "a"}`, `{"X-Team.Name": "a", "0": "z"}`},
		{"keys that paths trip over", func(d *Draft) error {
			return d.Set(Path{"providers", "MyProxy", "headers", `*?|#@!{}:"\`}, "z")
		}, "", "refused"},
		{"the list keeps what is not ours", func(d *Draft) error {
			return d.SetModels(Path{"routing", "summarization_models"}, []ModelRef{{"p", "b"}, {"OpenAI", "gpt-5.6"}, {"new", "n"}})
		}, `[{"provider":"OpenAI","model":"gpt-5.6","Extra":true}, {"model": "b", "provider": "p"}]`, `[
    {
      "model": "b",
      "provider": "p"
    },
    {
      "provider": "OpenAI",
      "model": "gpt-5.6",
      "Extra": true
    },
    {
      "provider": "new",
      "model": "n"
    }
  ]`},
	} {
		path := written(t, grown)
		err := Edit(path, row.edit)
		if row.new == "refused" {
			var r *Refusal
			if !errors.As(err, &r) || read(t, path) != grown {
				t.Errorf("%s: %v", row.name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", row.name, err)
			continue
		}
		want := strings.Replace(grown, row.old, row.new, 1)
		if d := cmp.Diff(want, read(t, path)); d != "" {
			t.Errorf("%s:\n%s", row.name, d)
		}
		if want != grown {
			if bak := read(t, path+".bak"); bak != grown {
				t.Errorf("%s: the previous file is not kept", row.name)
			}
		}
	}
}

func TestAnEmptyChainIsAList(t *testing.T) { // SUM-1
	path := written(t, `{}`)
	if err := Edit(path, func(d *Draft) error { return d.SetModels(Path{"routing", "summarization_models"}, nil) }); err != nil {
		t.Fatal(err)
	}
	if got := read(t, path); got != "{\n  \"routing\": {\n    \"summarization_models\": []\n  }\n}" {
		t.Errorf("%q", got)
	}
}

func TestAFirstSaveMakesAPrivateFile(t *testing.T) { // CFG-1, SEC-2
	alone(t)
	path := filepath.Join(t.TempDir(), "new", "setup.json")
	if err := Edit(path, func(d *Draft) error { return d.Set(Path{"model", "provider"}, "openai") }); err != nil {
		t.Fatal(err)
	}
	if got := read(t, path); got != "{\n  \"model\": {\n    \"provider\": \"openai\"\n  }\n}\n" {
		t.Errorf("%q", got)
	}
	for p, mode := range map[string]os.FileMode{path: 0o600, path + ".lock": 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(p); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", p, info.Mode(), err)
		}
	}
	os.Chmod(path, 0o644)
	if err := Edit(path, func(d *Draft) error { return d.Set(Path{"model", "provider"}, "groq") }); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, path + ".bak"} {
		if info, _ := os.Stat(p); info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v", p, info.Mode())
		}
	}
	left, _ := os.ReadDir(filepath.Dir(path))
	if len(left) != 3 {
		t.Errorf("left behind: %v", left)
	}
}

func TestALinkIsFollowed(t *testing.T) { // CFG-2
	alone(t)
	dir := t.TempDir()
	real, link := filepath.Join(dir, "dotfiles.json"), filepath.Join(dir, "setup.json")
	os.WriteFile(real, []byte(`{"a": 1}`), 0o600)
	os.Symlink("dotfiles.json", link)
	if err := Edit(link, func(d *Draft) error { return d.Set(Path{"a"}, 2) }); err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Lstat(link); info.Mode()&os.ModeSymlink == 0 || read(t, real) != `{"a": 2}` {
		t.Errorf("%v %s", info.Mode(), read(t, real))
	}
	os.Remove(real)
	if err := Edit(link, func(d *Draft) error { return d.Set(Path{"a"}, 3) }); err == nil {
		t.Error("a dangling link was written through")
	}
}

func TestAFailedSaveLeavesTheFile(t *testing.T) { // SET-1
	path := written(t, `{"a": 1}`)
	d, err := OpenDraft(path)
	if err != nil {
		t.Fatal(err)
	}
	d.Set(Path{"a"}, 2)
	os.WriteFile(path, []byte(`{"a": 1, // mine`), 0o600)
	var fault *Fault
	if err := d.Save(); !errors.As(err, &fault) || read(t, path) != `{"a": 1, // mine` {
		t.Errorf("%v, %s", err, read(t, path))
	}
	os.WriteFile(path, []byte(`{"a": 1}`), 0o600)
	if err := d.Save(); err != nil || read(t, path) != `{"a": 2}` {
		t.Errorf("the draft didn't outlive its failure: %v", err)
	}
}

func TestTwoDraftsMerge(t *testing.T) { // SET-4, case CFG-07
	path := written(t, `{"routing": {"summarization_models": [{"provider":"p","model":"a"}]}, "log": {"sync": "turn"}}`)
	chain := Path{"routing", "summarization_models"}
	a, _ := OpenDraft(path)
	b, _ := OpenDraft(path)
	a.SetModels(chain, []ModelRef{{"p", "a"}, {"p", "x"}})
	if err := a.Save(); err != nil {
		t.Fatal(err)
	}
	b.Set(Path{"log", "sync"}, "always")
	if err := b.Save(); err != nil {
		t.Fatal("another key was no reason to refuse:", err)
	}
	if got := read(t, path); !strings.Contains(got, `"x"`) || !strings.Contains(got, `"always"`) {
		t.Error(got)
	}
	c, _ := OpenDraft(path)
	d, _ := OpenDraft(path)
	c.SetModels(chain, []ModelRef{{"p", "a"}, {"p", "x"}, {"p", "y"}})
	if err := c.Save(); err != nil {
		t.Fatal(err)
	}
	before := read(t, path)
	d.SetModels(chain, []ModelRef{{"p", "x"}, {"p", "a"}})
	var conflict *Conflict
	if err := d.Save(); !errors.As(err, &conflict) || conflict.Path.String() != "routing.summarization_models" || read(t, path) != before {
		t.Fatalf("%v\n%s", err, read(t, path))
	}
	// by hand, meanwhile: removed, and then the very value that is wanted
	e, _ := OpenDraft(path)
	e.Set(Path{"log", "sync"}, "never")
	os.WriteFile(path, []byte(`{"routing": {}}`), 0o600)
	if err := e.Save(); !errors.As(err, &conflict) || conflict.Now != nil {
		t.Error(err)
	}
	os.WriteFile(path, []byte(`{"log": { "sync" :"never"}}`), 0o600)
	if err := e.Save(); err != nil || read(t, path) != `{"log": { "sync" :"never"}}` {
		t.Error(err, read(t, path))
	}
}

func TestTenProcessesSaveAtOnce(t *testing.T) { // CFG-2, case CFG-07
	path := written(t, `{"keep": {"Me": 1.0}}`)
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			if err := Edit(path, func(d *Draft) error { return d.Set(Path{fmt.Sprintf("k%d", i)}, i) }); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	var got map[string]any
	if err := json.Unmarshal([]byte(read(t, path)), &got); err != nil || len(got) != 11 {
		t.Errorf("%v %s", err, read(t, path))
	}
}

func TestNonsenseIsRefusedWhenSet(t *testing.T) { // case CFG-11, PRV-7, PRV-12, SUM-3
	for _, row := range []struct {
		at    string
		value any
		want  string
	}{
		{"permissions.mode", "yolo", `permissions.mode: "yolo" is not one of`},
		{"context.input_limit_tokens", -4, "context.input_limit_tokens: -4 is not"},
		{"providers.openai.models.m.context_window", 1e12, "providers.openai.models.m.context_window: 1"},
		{"providers.openai.base_url", "http://a.example", "providers.openai.base_url: http would"},
		{"providers.openai.headers", map[string]string{"Authorization": "s3cret"}, "providers.openai.headers.Authorization: this header"},
		{"routing.summarization_models", []ModelRef{{"auto", "auto"}}, "routing.summarization_models.0: auto is the router"},
		{"context.compaction.mode", "provider", "context.compaction.mode: groq (openai-chat) can't"},
		{"model", "x", "model: must be an object"},
	} {
		const doc = `{"model": {"provider": "groq", "model": "m"}, "log": {"sync": "sometimes"}}`
		path := written(t, doc)
		err := Edit(path, func(d *Draft) error { return d.Set(ParsePath(row.at), row.value) })
		var r *Refusal
		if !errors.As(err, &r) || !strings.HasPrefix(err.Error(), row.want) || read(t, path) != doc {
			t.Errorf("%s: %v", row.at, err)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Error("a secret in an error")
		}
		if err := Edit(path, func(d *Draft) error { return d.Set(Path{"appearance", "mouse"}, false) }); err != nil {
			t.Error("old nonsense elsewhere blocks a good edit:", err)
		}
	}
}

func TestSecretsStayReferences(t *testing.T) { // case CFG-04, case CFG-05
	path := written(t, `{"providers": {"openai": {"api_key": "$MY_OWN_KEY"}}}`)
	t.Setenv("MY_OWN_KEY", "sk-one")
	t.Setenv("OPENAI_API_KEY", "sk-two")
	t.Setenv("VARVE_APPEARANCE_THEME", "night")
	if err := Edit(path, func(d *Draft) error { return d.Set(Path{"appearance", "mouse"}, false) }); err != nil {
		t.Fatal(err)
	}
	got := read(t, path)
	if strings.Contains(got, "sk-") || strings.Contains(got, "night") || !strings.Contains(got, "$MY_OWN_KEY") {
		t.Error(got)
	}
	for _, key := range []string{"a\\b\"c", "tab\tline\nend", "ключ 🗝 \u2028", "\\u0041", "/", ""} {
		if err := Edit(path, func(d *Draft) error { return d.Set(Path{"providers", "openai", "api_key"}, key) }); err != nil {
			t.Fatal(err)
		}
		s, err := Load(Options{})
		if err != nil || string(s.Providers["openai"].APIKey) != key {
			t.Errorf("%q came back as %q, %v", key, string(s.Providers["openai"].APIKey), err)
		}
	}
}

// sprinkled is a document full of keys that nobody knows, in any formatting. Grease.
func sprinkled(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		ws := rapid.SampledFrom([]string{"", " ", "\n", "\n  ", "\t"})
		var b strings.Builder
		b.WriteString("{" + ws.Draw(t, "ws"))
		names := rapid.SampledFrom([]string{"a", "A", "a.b", "0", "-1", "", "x\\y", "q\"q", ":", "*", "é", "model", "provider", "routing", "log", "sync", "providers"})
		for i, name := range rapid.SliceOfNDistinct(names, 0, 6, rapid.ID[string]).Draw(t, "names") {
			if i > 0 {
				b.WriteString("," + ws.Draw(t, "ws"))
			}
			b.Write(quote(name))
			b.WriteString(ws.Draw(t, "ws") + ":" + ws.Draw(t, "ws"))
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				b.WriteString(rapid.SampledFrom([]string{"null", "true", "1.50", "1e2", "9007199254740993", "\"\\u0041\\/\"", "\"a,}:]\""}).Draw(t, "scalar"))
			case 1:
				b.WriteString("[" + ws.Draw(t, "ws") + "1 , {\"z\":2},\n[]" + ws.Draw(t, "ws") + "]")
			default:
				if depth > 0 {
					b.WriteString(sprinkled(depth-1).Draw(t, "inner"))
				} else {
					b.WriteString("{ }")
				}
			}
		}
		b.WriteString(ws.Draw(t, "ws") + "}" + ws.Draw(t, "ws"))
		return b.String()
	})
}

func TestEditsOfGrease(t *testing.T) { // CFG-2
	alone(t)
	rapid.Check(t, func(t *rapid.T) {
		doc := []byte(sprinkled(2).Draw(t, "doc"))
		at := Path(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "A", "a.b", "0", "", "x\\y", "q\"q", ":", "*", "é", "model", "new"}), 1, 3).Draw(t, "at"))
		value := jsontext.Value(rapid.SampledFrom([]string{"1", `"x"`, `{"k":[{"l":1}]}`, `[]`, ""}).Draw(t, "value"))
		if len(value) == 0 {
			value = nil
		}
		next, err := splice(doc, at, value)
		if err != nil {
			return
		}
		var before, after any
		if json.Unmarshal(doc, &before) != nil || json.Unmarshal(next, &after) != nil {
			t.Fatalf("broke the document:\n%s\n%s", doc, next)
		}
		root, _ := parse("", doc)
		in := root.at(at[:len(at)-1])
		shifts := value == nil && in != nil && in.kind == '[' // the next element takes its place
		if got := valueAt(next, at); !shifts && !same(got, value) {
			t.Fatalf("%v holds %s, not %s", at, got, value)
		}
		var wanted any
		json.Unmarshal(value, &wanted)
		if want := put(before, at, wanted, value == nil); !reflect.DeepEqual(want, after) {
			t.Fatalf("%s\n%s\nwant %v\ngot  %v", doc, next, want, after)
		}
		// What is outside the first key's value keeps its bytes.
		if n := root.get(at[0]); n != nil && value != nil && n.kind != '[' {
			if !bytes.HasPrefix(next, doc[:n.start]) || !bytes.HasSuffix(next, doc[n.end:]) {
				t.Fatalf("bytes outside changed:\n%s\n%s", doc, next)
			}
		}
		load(Options{}, root, doc, root) // and reading never panics
	})
}

// put is the model: the same edit on decoded values.
func put(v any, at Path, value any, gone bool) any {
	if len(at) == 0 {
		return value
	}
	switch v := v.(type) {
	case []any:
		for i := range v {
			if fmt.Sprint(i) != at[0] {
				continue
			}
			if gone && len(at) == 1 {
				return append(v[:i:i], v[i+1:]...)
			}
			v[i] = put(v[i], at[1:], value, gone)
			return v
		}
		if gone {
			return v
		}
		return append(v, put(nil, at[1:], value, gone))
	case map[string]any:
		if gone && len(at) == 1 {
			delete(v, at[0])
			return v
		}
		if _, there := v[at[0]]; !there && gone {
			return v
		}
		v[at[0]] = put(v[at[0]], at[1:], value, gone)
		return v
	}
	if gone {
		return v
	}
	return map[string]any{at[0]: put(nil, at[1:], value, gone)}
}

func TestPathsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Path(rapid.SliceOfN(rapid.StringMatching(`[a.\\]{0,4}`), 1, 4).Draw(t, "path"))
		if len(p) == 1 && p[0] == "" {
			return
		}
		if d := cmp.Diff(p, ParsePath(p.String())); d != "" {
			t.Fatal(d)
		}
	})
}

func FuzzSetup(f *testing.F) { // REL-5
	for _, doc := range []string{example, grown, "", "{", "[]", `{"a":1,}`, "\xef\xbb\xbf{}", `{"providers":{"a":{"base_url":"::"}}}`} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		root, err := parse("setup.json", doc)
		if err != nil {
			var fault *Fault
			if !errors.As(err, &fault) || fault.Line < 1 || fault.Col < 1 {
				t.Fatal(err)
			}
			return
		}
		if !json.Valid(doc) {
			t.Fatal("accepted what is no JSON")
		}
		s := load(Options{}, root, doc, root)
		s.Unknown()
		s.Usables()
		s.KeyEnvNames()
		if next, err := splice(doc, Path{"model", "provider"}, []byte(`"x"`)); err == nil && !json.Valid(next) {
			t.Fatalf("%s", next)
		}
	})
}
