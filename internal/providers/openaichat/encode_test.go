package openaichat_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"varve/internal/providers"
	"varve/internal/providers/openaichat"
	"varve/internal/session"
)

// encode makes a request for a profile, checks it as a vendor would, and
// proves that the log gives the same bytes.
func encode(t *testing.T, b *book, enc providers.Encoder, ask providers.Ask) string {
	t.Helper()
	if ask.Model.Model == "" {
		ask.Model = session.Model{Provider: "p", API: "openai-chat", Model: "m"}
	}
	ask.View = b.view()
	blocks, err := enc.Encode(ask, b.load)
	if err != nil {
		t.Fatal(err)
	}
	body := b.send(t, blocks)
	p, ok := openaichat.Named(ask.Profile)
	if !ok {
		p = openaichat.ProfileFor(ask.Model.Provider, "")
	}
	for _, q := range ask.Quirks {
		switch q.Quirk {
		case providers.QuirkMaxField:
			p.MaxField = q.Value
		case providers.QuirkRole:
			p.Role = q.Value
		case providers.QuirkReasoning:
			p.Reasoning = q.Value
		}
	}
	if err := openaichat.Check(body.Bytes, p); err != nil {
		t.Fatalf("%v in %s", err, body.Bytes)
	}
	return string(body.Bytes)
}

// A conversation with everything in it, as each profile sends it.
func TestRequests(t *testing.T) {
	for _, profile := range []string{"generic", "openai", "deepseek", "zai", "qwen", "moonshot", "openrouter", "groq", "mistral", "xai", "together", "ollama", "llamacpp", "lmstudio", "vllm"} {
		t.Run(profile, func(t *testing.T) {
			b := newBook()
			tools := b.tools(t, "read", "grep")
			b.say(session.InstructionItem, "Be brief.")
			b.say(session.InstructionItem, "Project: \"varve\"")
			b.say(session.CheckpointItem, "## Goal\nfix it")
			b.say(session.UserItem, "Hello\n\"you\"")
			b.say(session.CatalogItem, "skills: none")
			c := b.reply(thought("reasoning_content", "hm"), text("I look."), call("call_1", "read", `{"path": "a"}`), call("call_1", "grep", `{"pattern":`))
			b.result(c[1], "arguments are no JSON object")
			b.result(c[0], "")
			c = b.reply(thought("reasoning", "so"), call("functions.read:1", "read", ``), call("", "", `[]`))
			b.result(c[0], "text of a")
			b.say(session.PlanKind, "1. do it")
			b.say(session.ShellItem, "$ ls\na b")
			b.reply(thought("reasoning_content", "lonely"))
			b.reply(thought("content", "deep"), text("Done."))
			b.add(session.Item{Kind: session.UserItem, Media: []session.Media{{Handle: "media:ab12"}}}, "look")
			b.add(session.Item{Kind: session.AssistantItem, Marked: "interrupted"}, "I was say")
			b.say(session.AssistantItem, "Again.")
			b.say(session.UserItem, " \n")
			b.reply(thought("reasoning", "x"), providers.Part{Kind: session.NativeItem, Encoding: "openai-chat/reasoning_details", Bytes: []byte(`[{"type":"reasoning.encrypted", "data":"xyz"}]`)},
				text("Noted."), providers.Part{Kind: session.NativeItem, Encoding: "openai-chat/message", Bytes: []byte(`{"content":"Noted.","refusal":"no","annotations":[{"type":"url_citation"}]}`)})
			b.add(session.Item{Kind: session.ResultItem, Call: session.ItemID{Seq: 999, Part: 1}}, "of long ago")
			body := encode(t, b, adapter.NewEncoder(), providers.Ask{Tools: tools, Profile: profile, Reasoning: "high", OutputLimit: 1000, CacheKey: "key-1"})
			var shown strings.Builder
			head, _, _ := strings.Cut(body, `"messages":`)
			fmt.Fprintln(&shown, head)
			for _, m := range gjson.Get(body, "messages").Array() {
				fmt.Fprintln(&shown, m.Raw)
			}
			golden(t, "testdata/request-"+profile+".txt", shown.String())
		})
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if os.Getenv("UPDATE") != "" {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Error(d)
	}
}

// What an endpoint has shown changes the next request. wire.md §3.7, H28, H29
func TestQuirks(t *testing.T) {
	learned := func(q, v string) []session.EndpointLearned {
		return []session.EndpointLearned{{Quirk: q, Value: v}}
	}
	for _, c := range []struct {
		profile string
		quirks  []session.EndpointLearned
		path    string
		want    string
	}{
		{"generic", nil, "stream_options.include_usage", "true"},
		{"generic", learned(providers.QuirkDrop, "stream_options"), "stream_options", ""},
		{"generic", nil, "max_tokens", "77"},
		{"generic", learned(providers.QuirkMaxField, "max_completion_tokens"), "max_tokens", ""},
		{"generic", learned(providers.QuirkMaxField, "max_completion_tokens"), "max_completion_tokens", "77"},
		{"openai", nil, "messages.0.role", "developer"},
		{"openai", nil, "store", "false"},
		{"openai", nil, "prompt_cache_key", "k"},
		{"generic", nil, "prompt_cache_key", ""},
		{"openai", learned(providers.QuirkRole, "system"), "messages.0.role", "system"},
		{"generic", nil, "messages.2.reasoning_content", ""},
		{"generic", learned(providers.QuirkReasoning, "everywhere"), "messages.2.reasoning_content", ""},
		{"generic", learned(providers.QuirkReasoning, "everywhere"), "messages.2.reasoning_content|@tostr", `"\"\""`},
	} {
		b := newBook()
		b.say(session.InstructionItem, "Be brief.")
		b.say(session.UserItem, "Hello")
		b.say(session.AssistantItem, "Hi")
		b.say(session.UserItem, "Bye")
		body := encode(t, b, adapter.NewEncoder(), providers.Ask{Profile: c.profile, Quirks: c.quirks, OutputLimit: 77, CacheKey: "k"})
		got := gjson.Get(body, c.path)
		if strings.HasSuffix(c.path, "@tostr") {
			got = gjson.Result{Type: gjson.String, Str: got.Raw}
		}
		if got.String() != c.want {
			t.Errorf("%s %v %s: got %q, want %q", c.profile, c.quirks, c.path, got.String(), c.want)
		}
	}
}

// MED-3: a note stands for media that the model is not shown, in the message that names them, and stays what it was.
func TestMediaNote(t *testing.T) {
	b := newBook()
	b.say(session.UserItem, "Look at both.")
	c := b.reply(call("a", "read", `{}`), call("b", "read", `{}`))
	two := []session.Media{{Handle: "media:1a2b3c4d", B: 1}, {Handle: "media:5e6f7a8b", B: 2}}
	b.add(session.Item{Kind: session.ResultItem, Call: c[0].ID, Media: two[:1]}, "media:1a2b3c4d image/png, 640x480, 12.3 KB")
	b.add(session.Item{Kind: session.ResultItem, Call: c[1].ID, Media: two}, " ")
	enc := adapter.NewEncoder()
	body := encode(t, b, enc, providers.Ask{})
	for i, want := range []string{
		"media:1a2b3c4d image/png, 640x480, 12.3 KB\n[media:1a2b3c4d is not shown to you; ask the user what it shows]",
		"[media:1a2b3c4d is not shown to you; ask the user what it shows]\n[media:5e6f7a8b is not shown to you; ask the user what it shows]",
	} {
		if got := gjson.Get(body, fmt.Sprint("messages.", i+2)); got.Get("role").String() != "tool" || got.Get("content").String() != want {
			t.Errorf("got %s, want %q", got.Raw, want)
		}
	}
	b.say(session.UserItem, "They are red.")
	if later := encode(t, b, enc, providers.Ask{}); !strings.HasPrefix(later, strings.TrimSuffix(body, "]}")) {
		t.Errorf("the later request begins otherwise: %s", later)
	}
}

// V13: half a surrogate pair in arguments is no half pair in a request,
// neither in its own JSON nor in the JSON inside.
func TestLoneSurrogates(t *testing.T) {
	b := newBook()
	b.say(session.UserItem, "Hello")
	c := b.reply(call("a", "read", `{"a":"\ud83d","b":"\\ud83d \ud83d\ude00","c":"\ude00"}`))
	b.result(c[0], "r")
	body := encode(t, b, adapter.NewEncoder(), providers.Ask{})
	if got, want := gjson.Get(body, "messages.1.tool_calls.0.function.arguments").String(), `{"a":"\ufffd","b":"\\ud83d \ud83d\ude00","c":"\ufffd"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// PERF-4: an item is loaded and encoded once.
func TestEncodedOnce(t *testing.T) {
	b := newBook()
	tools := b.tools(t, "read")
	b.say(session.InstructionItem, "Be brief.")
	enc := adapter.NewEncoder()
	ask := providers.Ask{Tools: tools, Profile: "mistral", Model: session.Model{Model: "m"}}
	for range 20 {
		b.say(session.UserItem, "Hello")
		c := b.reply(text("I look."), call("", "read", "{}"), call("", "read", "{}"))
		b.result(c[0], "a")
		before := b.loads
		ask.View = b.view()
		first, err := enc.Encode(ask, b.load)
		if err != nil {
			t.Fatal(err)
		}
		if n := b.loads - before; n > 7 {
			t.Fatalf("%d loads for 5 new items", n)
		}
		before = b.loads
		again, err := enc.Encode(ask, b.load)
		if err != nil || b.loads != before {
			t.Fatalf("%d loads for a known view, %v", b.loads-before, err)
		}
		for i := range again {
			if &first[i].Bytes[0] != &again[i].Bytes[0] && i < len(again)-1 {
				t.Fatalf("block %d is another value", i)
			}
		}
	}
	// What was changed is encoded again, and nothing else.
	before := b.loads
	b.items[1].At = b.note([]byte("Hello again"))
	ask.View = b.view()
	blocks, err := enc.Encode(ask, b.load)
	if err != nil || b.loads-before != 1 || !strings.Contains(string(blocks[2].Bytes), "Hello again") {
		t.Errorf("%d loads, %v: %s", b.loads-before, err, blocks[2].Bytes)
	}
}

func TestErrorsOfEncode(t *testing.T) {
	b := newBook()
	b.say(session.UserItem, "Hello")
	b.items[0].At = 77
	ask := providers.Ask{Model: session.Model{Model: "m"}, View: b.view()}
	if _, err := adapter.NewEncoder().Encode(ask, b.load); err == nil || !strings.Contains(err.Error(), "item 1: no body 0 of 77") {
		t.Errorf("lost text: %v", err)
	}
	b = newBook()
	b.say(session.UserItem, "Hello")
	ask = providers.Ask{Model: session.Model{Model: "m"}, View: b.view(), Tools: []session.Tools{{At: b.note([]byte(`{"no":"list"}`))}}}
	if _, err := adapter.NewEncoder().Encode(ask, b.load); err == nil || !strings.Contains(err.Error(), "want a JSON list") {
		t.Errorf("bad tools: %v", err)
	}
	ask.Tools, ask.View = nil, b.view()
	ask.Model.Model = ""
	if _, err := adapter.NewEncoder().Encode(ask, b.load); err == nil || !strings.Contains(err.Error(), "no model") {
		t.Errorf("no model: %v", err)
	}
}

func TestTools(t *testing.T) {
	got, err := adapter.Tools([]providers.ToolSpec{{Name: "b", Description: "say \"b\"", Schema: []byte(`{"type":"object"}`)}, {Name: "a", Schema: []byte(`{}`)}})
	want := `[{"type":"function","function":{"name":"b","description":"say \"b\"","parameters":{"type":"object"}}},{"type":"function","function":{"name":"a","description":"","parameters":{}}}]`
	if err != nil || string(got) != want {
		t.Errorf("%v %s", err, got)
	}
	for _, bad := range []providers.ToolSpec{{Name: "a", Schema: []byte(`[]`)}, {Name: "a", Schema: []byte(`{`)}, {Name: "a b", Schema: []byte(`{}`)}, {Schema: []byte(`{}`)}} {
		if _, err := adapter.Tools([]providers.ToolSpec{bad}); err == nil {
			t.Errorf("%+v: no error", bad)
		}
	}
	// Definitions that come later are joined; the first of a name wins.
	b := newBook()
	b.say(session.UserItem, "Hello")
	tools := b.tools(t, "read", "grep")
	tools[0].More = b.tools(t, "grep", "late")
	body := encode(t, b, adapter.NewEncoder(), providers.Ask{Tools: tools})
	if got := gjson.Get(body, "tools.#.function.name").Raw; got != `["read","grep","late"]` {
		t.Errorf("%s", got)
	}
	empty := []session.Tools{{At: b.note([]byte(`[]`))}}
	if body := encode(t, b, adapter.NewEncoder(), providers.Ask{Tools: empty}); gjson.Get(body, "tools").Exists() {
		t.Error("an empty list of tools was sent")
	}
}

func TestProfileFor(t *testing.T) {
	for _, c := range []struct{ provider, url, want string }{
		{"", "https://api.openai.com/v1", "openai"},
		{"", "https://x.openai.azure.com/openai", "openai"},
		{"", "https://api.deepseek.com", "deepseek"},
		{"mine", "https://api.z.ai/api/paas/v4", "zai"},
		{"", "https://open.bigmodel.cn/api", "zai"},
		{"", "https://dashscope-intl.aliyuncs.com/v1", "qwen"},
		{"", "https://api.moonshot.ai/v1", "moonshot"},
		{"", "https://openrouter.ai/api/v1", "openrouter"},
		{"", "https://api.groq.com/openai/v1", "groq"},
		{"", "https://api.mistral.ai/v1", "mistral"},
		{"", "https://api.x.ai/v1", "xai"},
		{"", "https://api.together.xyz/v1", "together"},
		{"", "http://localhost:11434/v1", "ollama"},
		{"", "http://10.0.0.5:11434", "ollama"},
		{"", "http://127.0.0.1:8080", "llamacpp"},
		{"", "http://example.com:8080", "generic"},
		{"", "http://[::1]:1234/v1", "lmstudio"},
		{"", "http://localhost:8000/v1", "vllm"},
		{"", "https://example.com/v1", "generic"},
		{"deepseek", "http://127.0.0.1:9", "deepseek"},
		{"glm", "", "zai"},
		{"kimi", "", "moonshot"},
		{"openai", "https://openrouter.ai/api/v1", "openrouter"},
		{"", "", "generic"},
		{"", "https://notopenai.com", "generic"},
		{"", "https://max.ai", "generic"},
	} {
		if got := openaichat.ProfileFor(c.provider, c.url).Name; got != c.want {
			t.Errorf("%q %q: %s, want %s", c.provider, c.url, got, c.want)
		}
	}
}
