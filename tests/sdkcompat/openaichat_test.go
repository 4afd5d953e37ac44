package sdkcompat

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"varve/internal/providers"
	"varve/internal/providers/openaichat"
	"varve/internal/providers/scripted"
	"varve/internal/session"
)

var adapter openaichat.Adapter

// A call as both sides see it.
type call struct{ ID, Name, Args string }

// What a stream came to.
type outcome struct {
	Text, Finish           string
	Calls                  []call
	Prompt, Cached, Output int64
	Reasoning              int64
}

// differs are the usages that we normalise and the SDK does not: it adds up
// what is repeated, and knows the fields of one vendor.
var differs = map[string]bool{
	"C50/each": true, "C50/clamp": true, "C50/xai": true, "C50/choice": true, "C50/deepseek": true,
	"C50/kimi": true, "C50/llamacpp": true, "C50/groq": true, "C50/mistral": true,
}

// The SDK reads the fake's streams, and agrees with us on text, calls, finish
// and usage (PRV-1). What it can't tell (a cut stream) or gets wrong (a null
// error) is not asked.
func TestStreams(t *testing.T) {
	list, err := scripted.Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"C01", "C02", "C07", "C09", "C14", "C17", "C19", "C28", "C29", "C38", "C50"} {
		found := scripted.Find(list, id)
		if len(found) == 0 {
			t.Errorf("no scenario %s", id)
		}
		for _, sc := range found {
			if differs[sc.ID] {
				continue
			}
			t.Run(sc.ID, func(t *testing.T) {
				ours, body, told := send(t, sc)
				theirs := read(t, sc, body)
				if told { // else the SDK says zero where we say unknown
					if ours.Reasoning == 0 {
						theirs.Reasoning = 0
					}
				} else {
					theirs.Prompt, theirs.Cached, theirs.Output, theirs.Reasoning = 0, 0, 0, 0
				}
				if !reflect.DeepEqual(ours, theirs) {
					t.Errorf("we read %+v, the SDK %+v", ours, theirs)
				}
			})
		}
	}
}

func send(t *testing.T, sc scripted.Scenario) (outcome, []byte, bool) {
	s := play(t, sc)
	defer s.Close()
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	var tools []session.Tools
	if names := sc.Given["tools"]; names != "" {
		tools = []session.Tools{{At: 1}}
	}
	body := encode(t, sc.Vendor, tools, strings.Split(sc.Given["tools"], ","), []session.Item{{ID: session.ItemID{Seq: 2, Part: 1}, At: 2, Kind: session.UserItem}}, map[session.Seq]string{2: "Say hello."})
	r := adapter.Send(t.Context(), providers.Endpoint{Provider: sc.Vendor, BaseURL: s.URL(), Key: "test-key", Client: &http.Client{Transport: tr}}, body, nil)
	out := outcome{Finish: r.RawFinish}
	for _, p := range r.Parts {
		switch p.Kind {
		case session.AssistantItem:
			out.Text += string(p.Bytes)
		case session.CallItem:
			out.Calls = append(out.Calls, call{p.CallID, p.Name, string(p.Bytes)})
		}
	}
	if u := r.Usage; u != nil {
		out.Prompt, out.Cached, out.Output, out.Reasoning = int64(u.Input+u.Cached+u.CacheWrite), int64(u.Cached), int64(u.Output), int64(u.Reasoning)
	}
	return out, body, r.Usage != nil
}

func play(t *testing.T, sc scripted.Scenario) *scripted.Server {
	s := scripted.New(scripted.Options{Vendor: sc.Vendor})
	if err := s.Play(sc); err != nil {
		t.Fatal(err)
	}
	return s
}

// read lets the SDK send our body and read the stream.
func read(t *testing.T, sc scripted.Scenario, body []byte) outcome {
	s := play(t, sc)
	defer s.Close()
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	client := openai.NewClient(option.WithBaseURL(s.URL()+"/v1/"), option.WithAPIKey("test-key"), option.WithMaxRetries(0), option.WithHTTPClient(&http.Client{Transport: tr}))
	stream := client.Chat.Completions.NewStreaming(context.Background(), openai.ChatCompletionNewParams{}, option.WithRequestBody("application/json", body))
	defer stream.Close()
	var acc openai.ChatCompletionAccumulator
	for stream.Next() {
		acc.AddChunk(stream.Current())
	}
	if err := stream.Err(); err != nil && sc.ID != "C07" {
		t.Fatal(err)
	}
	if len(acc.Choices) == 0 {
		t.Fatal("the SDK read no choice")
	}
	c := acc.Choices[0]
	out := outcome{
		Text: c.Message.Content, Finish: c.FinishReason, Prompt: acc.Usage.PromptTokens, Cached: acc.Usage.PromptTokensDetails.CachedTokens,
		Output: acc.Usage.CompletionTokens, Reasoning: acc.Usage.CompletionTokensDetails.ReasoningTokens,
	}
	for _, k := range c.Message.ToolCalls {
		out.Calls = append(out.Calls, call{k.ID, k.Function.Name, k.Function.Arguments})
	}
	return out
}

func encode(t *testing.T, vendor string, tools []session.Tools, names []string, items []session.Item, texts map[session.Seq]string) []byte {
	var specs []providers.ToolSpec
	for _, n := range names {
		if n != "" {
			specs = append(specs, providers.ToolSpec{Name: n, Description: "Does " + n + ".", Schema: []byte(`{"type":"object","properties":{"path":{"type":"string"}}}`)})
		}
	}
	defs, err := adapter.Tools(specs)
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := adapter.NewEncoder().Encode(providers.Ask{
		Model: session.Model{Provider: vendor, API: openaichat.API, Model: "m"}, Tools: tools, Reasoning: "high", OutputLimit: 1000, CacheKey: "k",
		View: func(yield func(session.Item) bool) {
			for _, it := range items {
				if !yield(it) {
					return
				}
			}
		},
	}, func(q session.Seq, _ int) ([]byte, error) {
		if q == 1 {
			return defs, nil
		}
		return []byte(texts[q]), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return providers.Join(blocks, nil, 0).Bytes
}

// Our bodies fit the SDK's parameters: what it reads, it writes again with the
// same meaning, so nothing in them is unknown to the vendor.
func TestRequests(t *testing.T) {
	id := func(q session.Seq, part int) session.ItemID { return session.ItemID{Seq: q, Part: part} }
	items := []session.Item{
		{ID: id(2, 1), At: 2, Kind: session.InstructionItem},
		{ID: id(3, 1), At: 3, Kind: session.UserItem},
		{ID: id(4, 1), At: 4, Kind: session.AssistantItem},
		{ID: id(4, 2), At: 5, Kind: session.CallItem, CallID: "call_1", Name: "read"},
		{ID: id(4, 3), At: 5, Kind: session.CallItem, CallID: "call_1", Name: "read"},
		{ID: id(6, 1), At: 6, Kind: session.ResultItem, Call: id(4, 2)},
		{ID: id(7, 1), At: 5, Kind: session.CallItem, CallID: "call_3", Name: "read"},
		{ID: id(8, 1), At: 8, Kind: session.PlanKind},
	}
	texts := map[session.Seq]string{2: "Be brief.", 3: "Hello \"you\" <b>", 4: "I look.", 5: `{"path": "a<b>"}`, 6: "text of a", 8: "1. do it"}
	body := encode(t, "openai", []session.Tools{{At: 1}}, []string{"read", "grep"}, items, texts)
	var params openai.ChatCompletionNewParams
	if err := json.Unmarshal(body, &params); err != nil {
		t.Fatal(err)
	}
	if len(params.Messages) != 8 || len(params.Tools) != 2 || params.MaxCompletionTokens.Value != 1000 || string(params.ReasoningEffort) != "high" || params.PromptCacheKey.Value != "k" {
		t.Errorf("%d messages, %d tools, %v, %s, %s", len(params.Messages), len(params.Tools), params.MaxCompletionTokens, params.ReasoningEffort, params.PromptCacheKey.Value)
	}
	if m := params.Messages[2].OfAssistant; m == nil || len(m.ToolCalls) != 2 || m.Content.OfString.Value != "I look." {
		t.Errorf("assistant: %+v", m)
	}
	again, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	var ours, theirs map[string]any
	if err := json.Unmarshal(body, &ours); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(again, &theirs); err != nil {
		t.Fatal(err)
	}
	delete(ours, "stream") // the SDK sets it by the method called
	for _, m := range ours["messages"].([]any) {
		if m := m.(map[string]any); m["content"] == nil {
			delete(m, "content") // null and absent are the same
		}
	}
	if !reflect.DeepEqual(ours, theirs) {
		t.Errorf("sent\n%s, the SDK would send\n%s", body, again)
	}
}
