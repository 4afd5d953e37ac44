package scripted

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

func bodyOf(r *http.Response) string {
	defer func() { _ = r.Body.Close() }()
	b, _ := io.ReadAll(r.Body)
	return string(b)
}

// V9, case STR-17: reasoning that was issued must come back as it was.
func TestReasoningComesBackUnaltered(t *testing.T) {
	for _, c := range []struct {
		vendor, said, sent string
		ok                 bool
	}{
		{"deepseek", "text", `{"role":"assistant","content":"Hi","reasoning_content":"think"}`, true},
		{"deepseek", "text", `{"role":"assistant","content":"Hi","reasoning_content":"thunk"}`, false},
		{"deepseek", "text", `{"role":"assistant","content":"Hi","reasoning_content":""}`, false},
		{"deepseek", "text", `{"role":"assistant","content":"from elsewhere","reasoning_content":""}`, true},
		{"deepseek", "call", strings.Replace(calls("call_1"), `null,`, `null,"reasoning_content":"think",`, 1), true},
		{"deepseek", "call", strings.Replace(calls("call_1"), `null,`, `null,"reasoning_content":"",`, 1), false},
		{"kimi", "call", strings.Replace(calls("call_1"), `null,`, `null,"reasoning_content":"think",`, 1), true},
		{"kimi", "call", strings.Replace(calls("call_1"), `null,`, `null,"reasoning_content":"other",`, 1), false},
		{"kimi", "text", `{"role":"assistant","content":"Hi"}`, true},
		{"kimi", "text", `{"role":"assistant","content":"Hi","reasoning_content":"other"}`, false},
	} {
		s, cl := open(t, Options{Vendor: c.vendor})
		steps := []Step{Reasoning("", "thi", "nk"), Text("H", "i"), Finish("stop"), Done()}
		next := user
		if c.said == "call" {
			steps = []Step{Reasoning("", "think"), Call(0, "call_1", "read", "{}", 1), Finish("tool_calls"), Done()}
			next = result("call_1")
		}
		s.Handle(func(Request) Reply { return Reply{Steps: steps} })
		if status, got, err := ask(t, cl, s.URL(), request(user, "")); err != nil || status != 200 {
			t.Fatal(status, got, err)
		}
		status, got, _ := ask(t, cl, s.URL(), request(join(user, c.sent, next), ""))
		if (status == 200) != c.ok {
			t.Errorf("%s, %s: %d %s", c.vendor, c.sent, status, got)
		}
	}
}

// V12: the prompt of a request starts the next one.
func TestPromptPrefix(t *testing.T) {
	const sys = `{"role":"system","content":"x"}`
	hi := `{"role":"assistant","content":"Hi"}`
	first := request(join(sys, user), `"tools":[`+tool1+`]`)
	for _, c := range []struct{ name, next, want string }{
		{"same", first, ""},
		{"appended", request(join(sys, user, hi, user), `"tools":[`+tool1+`]`), ""},
		{"marker moved", request(join(sys, `{"role":"user","content":"hi","cache_control":{"type":"ephemeral"}}`, hi, user), `"tools":[`+tool1+`]`), ""},
		{"edited", request(join(sys, `{"role":"user","content":"ho"}`, hi, user), `"tools":[`+tool1+`]`), "messages[1] differs from the request before"},
		{"key order", request(join(sys, `{"content":"hi","role":"user"}`, hi, user), `"tools":[`+tool1+`]`), "messages[1] differs from the request before"},
		{"cut", request(sys, `"tools":[`+tool1+`]`), "messages[1] of the request before is gone"},
		{"tools", request(join(sys, user), ""), "tools differ from the request before"},
		{"other model", strings.Replace(request(user, ""), `"m"`, `"n"`, 1), ""},
	} {
		for _, rule := range []PrefixRule{PrefixRecord, PrefixRefuse, PrefixIgnore} {
			s, cl := open(t, Options{Prefix: rule, Vendor: "openrouter"})
			s.Handle(func(Request) Reply { return Reply{Steps: []Step{Text("Hi"), Finish("stop"), Done()}} })
			if status, _, err := ask(t, cl, s.URL(), first); err != nil || status != 200 {
				t.Fatal(status, err)
			}
			status, _, _ := ask(t, cl, s.URL(), c.next)
			broken := c.want != "" && rule != PrefixIgnore
			if (status == 400) != (broken && rule == PrefixRefuse) {
				t.Errorf("%s: status %d", c.name, status)
			}
			if v := s.Violations(); (len(v) == 1) != broken || broken && (v[0].Rule != "V12" || !strings.HasPrefix(v[0].Text, c.want)) {
				t.Errorf("%s: %+v", c.name, v)
			}
		}
	}
	t.Run("allowed", func(t *testing.T) {
		s, cl := open(t, Options{Prefix: PrefixRefuse})
		s.Handle(func(Request) Reply { return Reply{} })
		_, _, _ = ask(t, cl, s.URL(), first)
		s.AllowRewrite()
		if status, got, _ := ask(t, cl, s.URL(), request(user, "")); status != 200 {
			t.Errorf("%d %s", status, got)
		}
	})
	t.Run("shared", func(t *testing.T) {
		s, cl := open(t, Options{})
		s.Handle(func(Request) Reply { return Reply{} })
		_, _, _ = ask(t, cl, s.URL(), request(join(sys, user), ""))
		_, _, _ = ask(t, cl, s.URL(), request(join(sys, user, hi, user), ""))
		if got := s.Requests()[1].Shared; got.Messages != 2 || got.Of != 2 || got.Bytes != strings.Index(request(join(sys, user), ""), `],"stream"`) {
			t.Errorf("%+v", got)
		}
	})
	t.Run("cache key", func(t *testing.T) {
		s, cl := open(t, Options{Vendor: "openai"})
		s.Handle(func(Request) Reply { return Reply{} })
		for _, key := range []string{"a", "a", "b"} {
			_, _, _ = ask(t, cl, s.URL(), request(user, `"prompt_cache_key":"`+key+`"`))
		}
		if v := s.Violations(); len(v) != 1 || v[0].Request != 3 || v[0].Text != `prompt_cache_key is "b", was "a"` {
			t.Errorf("%+v", v)
		}
	})
}

// V14: a prompt above the window gets the vendor's overflow text.
func TestWindowOverflows(t *testing.T) {
	long := request(`{"role":"user","content":"`+strings.Repeat("word ", 1000)+`"}`, "") // 5,000 bytes and a little
	used := itoa((len(long) + 3) / 4)
	for vendor, want := range map[string]string{
		"generic":    "This model's maximum context length is 1000 tokens. However, your messages resulted in " + used + " tokens.",
		"openai":     "This model's maximum context length is 1000 tokens. However, your messages resulted in " + used + " tokens.",
		"zai":        `{"error":{"code":"1261","message":"Prompt exceeds max length"}}`,
		"kimi":       "exceeded model token limit: 1000 (requested: " + used + ")",
		"mistral":    "Prompt contains " + used + " tokens and 0 draft tokens, too large for model with 1000 maximum context length",
		"qwen":       "Range of input length should be [1, 1000]",
		"groq":       "Please reduce the length of the messages or completion.",
		"cerebras":   "Current length is " + used + " while limit is 1000",
		"xai":        "maximum prompt length is 1000 but the request contains " + used + " tokens",
		"llamacpp":   `"type":"exceed_context_size_error","n_prompt_tokens":` + used + `,"n_ctx":1000`,
		"lmstudio":   "(n_keep: " + used + ">= n_ctx: 1000)",
		"vllm":       "You passed " + used + " input tokens and requested 0 output tokens. However, the model's context length is only 1000 tokens",
		"openrouter": "maximum context length is 1000 tokens. However, you requested about " + used + " tokens",
		"ollama":     "", // cuts in silence
	} {
		s, cl := open(t, Options{Vendor: vendor, Window: 1000})
		s.Handle(func(Request) Reply { return Reply{} })
		status, got, _ := ask(t, cl, s.URL(), long)
		if want == "" && status != 200 || want != "" && (status != 400 || !strings.Contains(got, want)) {
			t.Errorf("%s: %d %s\nwant %s", vendor, status, got, want)
		}
		if status, got, _ := ask(t, cl, s.URL(), hello); status != 200 {
			t.Errorf("%s: a short prompt: %d %s", vendor, status, got)
		}
	}
	s, cl := open(t, Options{Vendor: "vllm", Window: 1000})
	if _, got, _ := ask(t, cl, s.URL(), request(user, `"max_tokens":990`)); !strings.Contains(gjson.Get(got, "error.message").Str, "is too large: 990. This model's maximum context length is 1000 tokens and your request has ") {
		t.Errorf("%s", got)
	}
}

func TestUsageOnlyWhenAsked(t *testing.T) {
	s, cl := open(t, Options{Vendor: "openai"})
	s.Handle(func(Request) Reply { return Reply{Steps: []Step{UsageStep(Usage{Prompt: 1, Output: 1}), Done()}} })
	for body, want := range map[string]bool{hello: true, request(user, ""): false} {
		if _, got, _ := ask(t, cl, s.URL(), body); strings.Contains(got, "prompt_tokens") != want {
			t.Errorf("%s: %s", body, got)
		}
	}
}
