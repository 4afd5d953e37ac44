package openaichat_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"varve/internal/providers"
	"varve/internal/session"
)

// answer plays one stream and returns the reply.
func answer(t interface{ Context() context.Context }, stream string, sink providers.Sink) providers.Reply {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte(stream))
	}))
	defer s.Close()
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	return adapter.Send(t.Context(), providers.Endpoint{Provider: "p", BaseURL: s.URL + "/v1", Client: &http.Client{Transport: tr}}, []byte(`{"model":"m","messages":[]}`), sink)
}

func chunk(delta, finish string) string {
	if finish != "null" {
		finish = `"` + finish + `"`
	}
	return `data: {"choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + "}]}\n\n"
}

// case STR-05, STR-07; wire.md §5, C28-C39
func TestCallsFromPieces(t *testing.T) {
	for _, c := range []struct {
		name   string
		pieces []string // tool_calls of each delta
		want   []string // id name arguments; id * is any
	}{
		{"two, one index", []string{`[{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}}]`, `[{"index":0,"id":"b","function":{"name":"y","arguments":"{}"}}]`}, []string{"a x {}", "b y {}"}},
		{"tail on another index", []string{`[{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}}]`, `[{"index":0,"id":"b","function":{"name":"y","arguments":"{\"k\""}}]`, `[{"index":1,"function":{"arguments":":1}"}}]`}, []string{"a x {}", `b y {"k":1}`}},
		{"tail by id on another index", []string{`[{"index":0,"id":"a","function":{"name":"x","arguments":"{"}}]`, `[{"index":1,"id":"a","function":{"arguments":"}"}}]`}, []string{"a x {}"}},
		{"one chunk, one index", []string{`[{"index":0,"id":"a","function":{"name":"x"}},{"index":0,"function":{"arguments":"{}"}}]`}, []string{"a x {}"}},
		{"arguments first", []string{`[{"index":0,"function":{"arguments":"{\"k\""}}]`, `[{"index":0,"function":{"arguments":":1}"}}]`, `[{"index":0,"id":"a","function":{"name":"x"}}]`}, []string{`a x {"k":1}`}},
		{"arguments first, two", []string{`[{"index":0,"function":{"arguments":"{}"}}]`, `[{"index":1,"function":{"arguments":"{}"}}]`, `[{"index":1,"id":"b","function":{"name":"y"}}]`, `[{"index":0,"id":"a","function":{"name":"x"}}]`}, []string{"a x {}", "b y {}"}},
		{"repeated", []string{`[{"index":0,"id":"a","function":{"name":"read","arguments":"{"}}]`, `[{"index":0,"id":"a","function":{"name":"read","arguments":"}"}}]`}, []string{"a read {}"}},
		{"repeated without id", []string{`[{"index":0,"function":{"name":"read","arguments":"{"}}]`, `[{"index":0,"function":{"name":"read","arguments":"}"}}]`}, []string{"* read {}"}},
		{"name in pieces", []string{`[{"index":0,"id":"a","function":{"name":"re"}}]`, `[{"index":0,"function":{"name":"ad"}}]`, `[{"index":0,"function":{"name":"","arguments":"{}"}}]`}, []string{"a read {}"}},
		{"name grows", []string{`[{"index":0,"id":"a","function":{"name":"re"}}]`, `[{"index":0,"id":"a","function":{"name":"read","arguments":"{}"}}]`}, []string{"a read {}"}},
		{"no index, no id", []string{`[{"function":{"name":"x","arguments":"{}"}}]`, `[{"function":{"name":"x","arguments":"{}"}}]`}, []string{"* x {}", "* x {}"}},
		{"no index, no id, one chunk", []string{`[{"function":{"name":"x","arguments":{"a":1}}},{"function":{"name":"y","arguments":{}}}]`}, []string{`* x {"a":1}`, "* y {}"}},
		{"no index, no id, pieces", []string{`[{"function":{"name":"x","arguments":"{"}}]`, `[{"function":{"arguments":"}"}}]`, `[{"function":{"name":"y","arguments":"{}"}}]`}, []string{"* x {}", "* y {}"}},
		{"no index, late id", []string{`[{"function":{"arguments":"{"}}]`, `[{"id":"a","function":{"name":"x","arguments":"}"}}]`}, []string{"a x {}"}},
		{"index 0 twice, no id", []string{`[{"index":0,"function":{"name":"x","arguments":"{}"}}]`, `[{"index":0,"function":{"name":"x","arguments":"{}"}}]`}, []string{"* x {}", "* x {}"}},
		{"index from 1", []string{`[{"index":1,"id":"a","function":{"name":"x","arguments":"{}"}}]`}, []string{"a x {}"}},
		{"null and blank ids", []string{`[{"index":0,"id":"null","function":{"name":"x","arguments":"{}"}}]`, `[{"index":1,"id":" ","function":{"name":"y","arguments":"{}"}}]`}, []string{"* x {}", "* y {}"}},
		{"no function object", []string{`[{"id":"a","name":"x","arguments":"{}"}]`}, []string{"a x {}"}},
		{"no name", []string{`[{"index":0,"id":"a","function":{"arguments":"{}"}}]`}, []string{"a  {}"}},
		{"a tail without index is not index 0", []string{`[{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}}]`, `[{"index":1,"id":"b","function":{"name":"y","arguments":"{\"k\""}}]`, `[{"function":{"arguments":":1}"}}]`}, []string{"a x {}", `b y {"k":1}`}},
		{"not JSON", []string{`[{"index":0,"id":"a","function":{"name":"x","arguments":"{\"k\":"}}]`}, []string{`a x {"k":`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var stream strings.Builder
			for _, p := range c.pieces {
				stream.WriteString(chunk(`{"tool_calls":`+p+`}`, "null"))
			}
			stream.WriteString(chunk(`{}`, "tool_calls") + chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"late"}}]}`, "null") + "data: [DONE]\n\n")
			out := &screen{}
			r := answer(t, stream.String(), out)
			if r.Class != providers.Tool {
				t.Fatalf("%s %v", r.Class, r.Err)
			}
			var got []string
			seen := map[string]bool{}
			for i, p := range r.Parts {
				id := p.CallID
				if seen[id] || id == "" {
					t.Errorf("id %q", id)
				}
				seen[id] = true
				if i < len(c.want) && strings.HasPrefix(c.want[i], "* ") {
					id = "*"
				}
				got = append(got, id+" "+p.Name+" "+string(p.Bytes))
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// USE-01; wire.md C50
func TestUsage(t *testing.T) {
	cost := 0.5
	for _, c := range []struct {
		name, chunk string
		want        *session.Usage
	}{
		{"openai", `{"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,"prompt_tokens_details":{"cached_tokens":64},"completion_tokens_details":{"reasoning_tokens":5}}}`, &session.Usage{Input: 36, Cached: 64, Output: 20, Reasoning: 5}},
		{"deepseek", `{"usage":{"prompt_tokens":100,"completion_tokens":20,"prompt_cache_hit_tokens":90,"prompt_cache_miss_tokens":10}}`, &session.Usage{Input: 10, Cached: 90, Output: 20}},
		{"kimi", `{"choices":[{"index":0,"delta":{},"usage":{"prompt_tokens":100,"completion_tokens":20,"cached_tokens":30}}]}`, &session.Usage{Input: 70, Cached: 30, Output: 20}},
		{"groq", `{"x_groq":{"usage":{"prompt_tokens":100,"completion_tokens":20}}}`, &session.Usage{Input: 100, Output: 20}},
		{"mistral", `{"usage":{"prompt_tokens":100,"completion_tokens":20,"num_cached_tokens":10}}`, &session.Usage{Input: 90, Cached: 10, Output: 20}},
		{"dashscope", `{"usage":{"prompt_tokens":100,"completion_tokens":20,"prompt_tokens_details":{"cached_tokens":50,"cache_creation_input_tokens":40}}}`, &session.Usage{Input: 10, Cached: 50, CacheWrite: 40, Output: 20}},
		{"openrouter", `{"usage":{"prompt_tokens":100,"completion_tokens":20,"cost":0.5,"prompt_tokens_details":{"cached_tokens":50,"cache_write_tokens":10}}}`, &session.Usage{Input: 40, Cached: 50, CacheWrite: 10, Output: 20, Cost: &cost}},
		{"xai leaves reasoning out", `{"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":170,"completion_tokens_details":{"reasoning_tokens":50}}}`, &session.Usage{Input: 100, Output: 70, Reasoning: 50}},
		{"reasoning above completion", `{"usage":{"prompt_tokens":100,"completion_tokens":20,"completion_tokens_details":{"reasoning_tokens":50}}}`, &session.Usage{Input: 100, Output: 70, Reasoning: 50}},
		{"cached above prompt", `{"usage":{"prompt_tokens":100,"completion_tokens":20,"cached_tokens":500}}`, &session.Usage{Cached: 100, Output: 20}},
		{"llama.cpp", `{"timings":{"cache_n":80,"prompt_n":20,"predicted_n":7}}`, &session.Usage{Input: 20, Cached: 80, Output: 7}},
		{"llama.cpp both", `{"usage":{"prompt_tokens":100,"completion_tokens":7},"timings":{"cache_n":80,"prompt_n":20,"predicted_n":7}}`, &session.Usage{Input: 20, Cached: 80, Output: 7}},
		{"null", `{"usage":null}`, nil},
		{"zeros", `{"usage":{"prompt_tokens":0,"completion_tokens":0}}`, nil},
		{"none", `{"choices":null}`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := answer(t, chunk(`{"content":"a"}`, "stop")+"data: "+c.chunk+"\n\ndata: [DONE]\n\n", nil)
			if d := cmp.Diff(c.want, r.Usage); d != "" || r.Class != providers.Natural {
				t.Errorf("%s %v: %s", r.Class, r.Err, d)
			}
		})
	}
	r := answer(t, `data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1}}`+"\n\n"+`data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4}}`+"\n\n", nil)
	if d := cmp.Diff(&session.Usage{Input: 9, Output: 4}, r.Usage); d != "" || r.Class != providers.Missing {
		t.Errorf("usage of a cut stream: %s %s", r.Class, d)
	}
}

// C15: however text is cut into JSON strings, it comes out whole.
func TestTextFromPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.StringN(0, 60, -1).Draw(t, "text") + rapid.SampledFrom([]string{"", "😀", "\"\\/\b\f\n\r\t\u2028", "🙂🙂"}).Draw(t, "tail")
		units := []string{}
		for _, r := range want {
			q, _ := json.Marshal(string(r))
			u := strings.Trim(string(q), `"`)
			if r == '"' {
				u = `\"`
			}
			if r > 0xFFFF && rapid.Bool().Draw(t, "escaped") {
				r -= 0x10000
				units = append(units, fmt.Sprintf(`\u%04x`, 0xD800+r>>10), fmt.Sprintf(`\u%04X`, 0xDC00+r&0x3FF))
				continue
			}
			units = append(units, u)
		}
		var stream strings.Builder
		for len(units) > 0 {
			n := rapid.IntRange(1, len(units)).Draw(t, "piece")
			stream.WriteString(chunk(`{"content":"`+strings.Join(units[:n], "")+`"}`, "null"))
			units = units[n:]
		}
		stream.WriteString(chunk(`{"content":"."}`, "stop"))
		out := &screen{}
		r := answer(t, stream.String(), out)
		if got := textOf(r); got != want+"." || out.text.String() != got {
			t.Fatalf("got %q, shown %q, want %q", got, out.text.String(), want+".")
		}
	})
}

// C44: pieces of one entry are one entry; the rest stays as it came.
func TestReasoningDetails(t *testing.T) {
	r := answer(t, chunk(`{"reasoning":"a","reasoning_details":[{"type":"reasoning.text","text":"a","index":0,"format":"f","signature":null}]}`, "null")+
		chunk(`{"reasoning":"b\ud83d","reasoning_details":[{"type":"reasoning.text","text":"b\ud83d","index":0}]}`, "null")+
		chunk(`{"reasoning":"\ude00","reasoning_details":[{"type":"reasoning.text","text":"\ude00","index":0,"signature":"s"}]}`, "null")+
		chunk(`{"reasoning_details":[{"type":"reasoning.encrypted", "data":"x=","index":1}]}`, "null")+
		chunk(`{"reasoning_details":[{"type":"reasoning.encrypted","data":"y","index":1}],"content":"hi"}`, "stop"), nil)
	want := `[{"type":"reasoning.text","text":"ab\ud83d\ude00","index":0,"format":"f","signature":"s"},{"type":"reasoning.encrypted", "data":"x=","index":1},{"type":"reasoning.encrypted","data":"y","index":1}]`
	got := ""
	for _, p := range r.Parts {
		if p.Kind == session.NativeItem {
			got = string(p.Bytes)
		}
	}
	if got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
	if string(r.Parts[0].Bytes) != "ab😀" || r.Parts[0].Encoding != "openai-chat/reasoning" {
		t.Errorf("%+v", r.Parts[0])
	}
}

// PRV-2: annotations are kept beside the text, for the server that takes them back.
func TestAnnotations(t *testing.T) {
	r := answer(t, chunk(`{"content":"see \"it\""}`, "null")+chunk(`{"annotations":[{"type":"url_citation","url_citation":{"url":"https://x"}}]}`, "stop"), nil)
	b := newBook()
	b.say(session.UserItem, "Hello")
	b.reply(r.Parts...)
	b.say(session.UserItem, "Bye")
	body := encode(t, b, adapter.NewEncoder(), providers.Ask{Profile: "openrouter"})
	if !strings.Contains(body, `{"role":"assistant","content":"see \"it\"","annotations":[{"type":"url_citation","url_citation":{"url":"https://x"}}]}`) {
		t.Error(body)
	}
	if body := encode(t, b, adapter.NewEncoder(), providers.Ask{Profile: "generic"}); strings.Contains(body, "annotations") {
		t.Error(body)
	}
}

type panics struct{}

func (panics) Delta(string, string, []byte) { panic("sink") }

// REL-7, and no connection is left behind.
func TestPanicOfASink(t *testing.T) {
	if r := answer(t, chunk(`{"content":"a"}`, "stop"), panics{}); r.Class != providers.Failed || r.Err.Kind != providers.OurOwn {
		t.Errorf("%+v", r)
	}
}

func TestJunkURL(t *testing.T) {
	if r := adapter.Send(t.Context(), providers.Endpoint{Provider: "p", BaseURL: "junk"}, nil, nil); r.Class != providers.Failed || r.Err.Kind != providers.BadRequest {
		t.Errorf("%+v", r)
	}
}

// A finished stream gives its connection back.
func TestConnectionIsUsedAgain(t *testing.T) {
	addrs := map[string]bool{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		addrs[r.RemoteAddr] = true
		w.Header().Set("Content-Type", "text/event-stream")
		for _, c := range []string{chunk(`{"content":"a"}`, "stop"), "data: [DONE]\n\n"} {
			_, _ = w.Write([]byte(c))
			w.(http.Flusher).Flush()
		}
		time.Sleep(2 * time.Millisecond) // the end of the body comes in a packet of its own
	}))
	defer s.Close()
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	for range 3 {
		if r := adapter.Send(t.Context(), providers.Endpoint{BaseURL: s.URL, Client: &http.Client{Transport: tr}}, []byte(`{}`), nil); r.Class != providers.Natural {
			t.Fatal(r.Err)
		}
	}
	if len(addrs) != 1 {
		t.Errorf("%d connections for three requests", len(addrs))
	}
}

// A web page without its content type names its status and no markup. C62
func TestWebPage(t *testing.T) {
	r := answer(t, "\n<!DOCTYPE html><html>Sign in</html>", nil)
	if r.Class != providers.Failed || r.Err.Kind != providers.Gateway || !strings.Contains(r.Err.Message, "status 200") || strings.Contains(r.Err.Message, "<") {
		t.Errorf("%+v", r.Err)
	}
}

// PERF-5: reading an answer costs little beside what is said in it.
func BenchmarkStream(b *testing.B) {
	var stream strings.Builder
	for range 15000 {
		stream.WriteString(`data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"word"},"finish_reason":null}]}` + "\n\n")
	}
	stream.WriteString(chunk(`{}`, "stop") + "data: [DONE]\n\n")
	to := providers.Endpoint{BaseURL: "http://h/v1", Client: &http.Client{Transport: canned(stream.String())}}
	b.SetBytes(int64(stream.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if r := adapter.Send(b.Context(), to, []byte(`{"model":"m"}`), nil); r.Class != providers.Natural {
			b.Fatal(r.Err)
		}
	}
}
