package openaichat_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"varve/internal/providers"
	"varve/internal/providers/openaichat"
	"varve/internal/providers/providertest"
)

func TestSuite(t *testing.T) {
	providertest.Run(t, adapter, func(s providertest.Scene) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			say := func(chunks ...string) {
				w.Header().Set("Content-Type", "text/event-stream")
				for _, c := range chunks {
					_, _ = io.WriteString(w, c)
					w.(http.Flusher).Flush()
				}
			}
			hel, lo := chunk(`{"role":"assistant","content":"Hel"}`, "null"), chunk(`{"content":"lo"}`, "null")
			counted := "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n"
			switch s {
			case providertest.Natural:
				say(hel, lo, chunk(`{}`, "stop"), counted)
			case providertest.Length:
				say(hel, lo, chunk(`{}`, "length"), counted)
			case providertest.Refusal:
				say(hel, lo, chunk(`{}`, "content_filter"), counted)
			case providertest.Empty:
				say(chunk(`{}`, "stop"), counted)
			case providertest.Cut, providertest.Endless:
				say(hel, lo)
			case providertest.Overloaded:
				say(hel, lo, "data: {\"error\":{\"message\":\"Overloaded\",\"type\":\"overloaded_error\"}}\n\n")
			case providertest.RateLimited:
				w.Header().Set("Retry-After", "7")
				w.WriteHeader(429)
				_, _ = io.WriteString(w, `{"error":{"message":"Rate limit reached","code":"rate_limit_exceeded"}}`)
			case providertest.TooLong:
				w.WriteHeader(400)
				_, _ = io.WriteString(w, `{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.","code":"context_length_exceeded"}}`)
			}
		}
	})
}

// Check refuses what vendors refuse. PRV-4; wire.md §6.2
func TestCheck(t *testing.T) {
	frame := func(messages string) string { return `{"model":"m","messages":[` + messages + `]}` }
	hi := `{"role":"user","content":"hi"},`
	called := `{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"x","arguments":"{}"}}]}`
	result := `,{"role":"tool","tool_call_id":"a","content":"r"}`
	for _, c := range []struct{ profile, body, want string }{
		{"generic", frame(hi + called + result), ""},
		{"generic", frame(hi + called), "last message is the assistant's"},
		{"generic", frame(hi + called + `,{"role":"user","content":"hi"}`), "user message before the result of call a"},
		{"generic", frame(hi + called + result + result), `result of "a", which was not called`},
		{"generic", frame(hi + called + result + "," + called + result), "call id a stands twice"},
		{"generic", frame(hi + strings.Replace(called, `"{}"`, `"{"`, 1) + result), "no JSON object"},
		{"generic", frame(hi + strings.Replace(called, `"{}"`, `{}`, 1) + result), "no JSON object"},
		{"generic", frame(hi + strings.Replace(called, `"a"`, `"a|b"`, 1) + result), "call id"},
		{"mistral", frame(hi + called + result), "call id"},
		{"deepseek", frame(hi + called + result), "without reasoning_content"},
		{"generic", frame(hi + strings.Replace(called, `"x"`, `"x y"`, 1) + result), "call name"},
		{"generic", frame(hi + `{"role":"assistant","content":""},` + `{"role":"user","content":"hi"}`), "without text or call"},
		{"generic", frame(`{"role":"user","content":" "}`), "user message without text"},
		{"generic", frame(`{"role":"user","content":"\ud83d"}`), "lone surrogate"},
		{"generic", frame(`{"role":"developer","content":"x"}`), "role developer"},
		{"generic", frame(hi + `{"role":"system","content":"x"}`), "behind other messages"},
		{"generic", frame(``), "no messages"},
		{"generic", `{"model":"m","tools":[],"messages":[]}`, "empty list"},
		{"generic", `{"model":"m","tools":[{"type":"function","function":{"name":"a","parameters":{}}},{"type":"function","function":{"name":"a","parameters":{}}}],"messages":[]}`, "stands twice"},
		{"generic", `{"model":"m","max_completion_tokens":5,"messages":[]}`, "max_tokens is what generic takes"},
		{"openai", `{"model":"m","prompt_cache_key":"` + strings.Repeat("k", 65) + `","messages":[]}`, "prompt_cache_key"},
		{"generic", `{"messages":[]}`, "no model"},
		{"generic", `{`, "no valid JSON"},
	} {
		p, _ := openaichat.Named(c.profile)
		err := openaichat.Check([]byte(c.body), p)
		if got := fmt.Sprint(err); c.want == "" && err != nil || !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %s, want %q", c.profile, c.body, got, c.want)
		}
	}
}

type canned []byte

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(c)), Request: r}, nil
}

// REL-5: whatever arrives, Send returns a reply that is true to its class, and
// what it keeps can be sent back.
func FuzzReply(f *testing.F) {
	f.Add([]byte(chunk(`{"content":"a","tool_calls":[{"index":0,"id":"x","function":{"name":"n","arguments":"{}"}}]}`, "tool_calls")))
	f.Add([]byte(chunk(`{"reasoning_details":[{"type":"t","text":"\ud83d","index":0}],"content":[{"type":"thinking","thinking":[{"text":"a"}]}]}`, "stop") + "data: [DONE]\n\n"))
	f.Add([]byte(`{"choices":[{"message":{"content":"\ud83d\ude00","annotations":[{}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":-1}}`))
	f.Add([]byte("event: error\ndata: {\"error\":{\"metadata\":{\"raw\":\"{\"}}}\n\n"))
	f.Add([]byte("<html>"))
	f.Add([]byte(`[{"error":{"code":429,"details":[{"retryDelay":"x"}]}}]`))
	f.Fuzz(func(t *testing.T, stream []byte) {
		r := adapter.Send(t.Context(), providers.Endpoint{Provider: "openrouter", BaseURL: "http://h/v1", Client: &http.Client{Transport: canned(stream)}}, []byte(`{"model":"m"}`), nil)
		if r.Err != nil && r.Err.Kind == providers.OurOwn {
			t.Fatal(r.Err)
		}
		switch r.Class {
		case providers.Natural, providers.Tool:
			if len(r.Parts) == 0 || r.Err != nil || r.RawFinish == "" {
				t.Fatalf("%+v", r)
			}
		case providers.Length:
		default:
			if r.Err == nil && r.Class != providers.Unknown || r.Class == "" {
				t.Fatalf("%+v", r)
			}
		}
		if len(r.Parts) == 0 {
			return
		}
		b := newBook()
		for _, c := range b.reply(r.Parts...) {
			b.result(c, "r")
		}
		ask := providers.Ask{Profile: "openrouter", View: b.view()}
		ask.Model.Model = "m"
		if _, err := adapter.NewEncoder().Encode(ask, b.load); err != nil {
			t.Fatalf("%v of %q", err, stream)
		}
	})
}
