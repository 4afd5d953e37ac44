package openaichat_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"varve/internal/providers"
	"varve/internal/session"
)

const (
	// Spacing, escapes and figures as no encoder of ours writes them.
	oddDetails = `[{"type":"reasoning.text", "text":"so \u00e9","index":0,"signature":"c2ln="},{"type":"reasoning.encrypted","data":"x=","n":1.0}]`
	oddNotes   = `[{"type":"url_citation", "url_citation":{"url":"https:\/\/x","start":1e2}}]`
)

// rich is a reply with everything that a chat message can hold.
func rich() string {
	return chunk(`{"role":"assistant","reasoning":"so é","reasoning_details":[{"type":"reasoning.text", "text":"so \u00e9","index":0,"signature":"c2ln="}]}`, "null") +
		chunk(`{"reasoning_details":[{"type":"reasoning.encrypted","data":"x=","n":1.0}]}`, "null") +
		chunk(`{"content":"See "}`, "null") + chunk(`{"content":"\"it\"","annotations":`+oddNotes+`}`, "null") +
		chunk(`{"refusal":"not "}`, "null") + chunk(`{"refusal":"that"}`, "null") +
		chunk(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\": 1}"}},{"index":1,"id":"b","function":{"name":"ls","arguments":"{}"}}]}`, "tool_calls") +
		"data: [DONE]\n\n"
}

// PRV-13, as far as Chat goes: content, refusal and annotations are one piece of stored material beside the text;
// calls and reasoning are recorded apart; the next request folds all of it back into the one message of the turn.
func TestChatMaterialIsFoldedBack(t *testing.T) {
	r := answer(t, rich(), nil)
	if r.Class != providers.Tool {
		t.Fatalf("%s %v", r.Class, r.Err)
	}
	var got []string
	for _, p := range r.Parts {
		got = append(got, string(p.Kind)+" "+p.Encoding+" "+p.CallID+" "+string(p.Bytes))
	}
	want := []string{
		"reasoning openai-chat/reasoning  so é",
		"native openai-chat/reasoning_details  " + oddDetails,
		`assistant   See "it"`,
		`native openai-chat/message  {"content":"See \"it\"","refusal":"not that","annotations":` + oddNotes + `}`,
		`tool_call  a {"p": 1}`,
		"tool_call  b {}",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatal(d)
	}
	b := newBook()
	b.say(session.UserItem, "Hello")
	for _, c := range b.reply(r.Parts...) {
		b.result(c, "r")
	}
	body := encode(t, b, adapter.NewEncoder(), providers.Ask{Profile: "openrouter"})
	if got, want := gjson.Get(body, "messages.1").Raw, `{"role":"assistant","reasoning_details":`+oddDetails+`,"content":"See \"it\"","refusal":"not that","annotations":`+oddNotes+
		`,"tool_calls":[{"id":"a","type":"function","function":{"name":"read","arguments":"{\"p\": 1}"}},{"id":"b","type":"function","function":{"name":"ls","arguments":"{}"}}]}`; got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
	if n := len(gjson.Get(body, "messages").Array()); n != 4 {
		t.Errorf("%d messages, want the turn's one and two results", n)
	}
}

// PRV-13: what has no text still keeps its annotations and its refusal.
func TestChatMaterialWithoutText(t *testing.T) {
	r := answer(t, chunk(`{"annotations":[{"a":1}],"refusal":"no","tool_calls":[{"index":0,"id":"a","function":{"name":"ls","arguments":"{}"}}]}`, "tool_calls"), nil)
	b := newBook()
	b.say(session.UserItem, "Hello")
	for _, c := range b.reply(r.Parts...) {
		b.result(c, "r")
	}
	body := encode(t, b, adapter.NewEncoder(), providers.Ask{Profile: "openrouter"})
	if got, want := gjson.Get(body, "messages.1").Raw, `{"role":"assistant","content":"","refusal":"no","annotations":[{"a":1}],"tool_calls":[{"id":"a","type":"function","function":{"name":"ls","arguments":"{}"}}]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// PRV-2: native material goes back byte for byte to the provider and family that it came from; any other gets the
// portable form, which is text, calls and results; and the way back to the first restores every byte.
func TestNativeMaterialGoesHome(t *testing.T) {
	home := session.Model{Provider: "router", API: "openai-chat", Model: "acme/thinker-4.5"}
	b := newBook()
	b.say(session.UserItem, "Hello")
	from := len(b.items)
	for _, c := range b.reply(answer(t, rich(), nil).Parts...) {
		b.result(c, "r")
	}
	b.reply(providers.Part{Kind: session.NativeItem, Encoding: "openai-chat/message", Bytes: []byte(`{"content":"Only here.","annotations":[{"z":1}]}`)})
	for i := range b.items[from:] {
		b.items[from+i].Model = home
	}
	b.say(session.UserItem, "Bye")
	enc := adapter.NewEncoder()
	native := []string{oddDetails, oddNotes, `"annotations":[{"z":1}]`, `"refusal":"not that"`}
	ask := func(m session.Model) string {
		// One profile for all: what differs is the model alone.
		body := encode(t, b, enc, providers.Ask{Model: m, Profile: "openrouter"})
		fresh := encode(t, b, adapter.NewEncoder(), providers.Ask{Model: m, Profile: "openrouter"})
		if body != fresh {
			t.Errorf("%v: an encoder that knew another model makes another request:\n%s\n%s", m, body, fresh)
		}
		for _, text := range []string{`See \"it\"`, "Only here.", `"tool_calls":[{"id":"a"`, `{"role":"tool","tool_call_id":"b"`} {
			if !strings.Contains(body, text) {
				t.Errorf("%v: the portable form lacks %s: %s", m, text, body)
			}
		}
		return body
	}
	messages := func(body string) string { return gjson.Get(body, "messages").Raw }
	first := ask(home)
	for _, c := range []struct {
		to  session.Model
		own bool
	}{
		{home, true},
		{session.Model{Provider: "router", API: "openai-chat", Model: "acme/thinker-5"}, true},
		{session.Model{Provider: "router", API: "openai-chat", Model: "acme/talker-4.5"}, false},
		{session.Model{Provider: "router", API: "openai-chat", Model: "other"}, false},
		{session.Model{Provider: "else", API: "openai-chat", Model: home.Model}, false},
		{home, true},
	} {
		body := ask(c.to)
		for _, bytes := range native {
			if strings.Contains(body, bytes) != c.own {
				t.Errorf("%v: %s in it: %v, want %v", c.to, bytes, !c.own, c.own)
			}
		}
		if strings.Contains(body, "so é") && !c.own {
			t.Errorf("%v: foreign reasoning in %s", c.to, body)
		}
		if c.own && messages(body) != messages(first) {
			t.Errorf("%v: other bytes than at first:\n%s\n%s", c.to, body, first)
		}
	}
	// Material of another API kind is nobody's here.
	b.reply(text("Hi."), providers.Part{Kind: session.NativeItem, Encoding: "anthropic-messages/message", Bytes: []byte(`{"type":"thinking","signature":"theirs"}`)})
	b.say(session.UserItem, "And?")
	if body := ask(home); strings.Contains(body, "theirs") {
		t.Error(body)
	}
}

// case STR-13: an error in the middle of a stream of status 200 is that error. It is never text, calls before it never
// run, what was shown is kept apart, and whether asking again helps is the error's to say, not the status's.
func TestErrorsInMidStream(t *testing.T) {
	const (
		before   = ""
		called   = `{"tool_calls":[{"index":0,"id":"a","function":{"name":"bash","arguments":"{\"command\":\"rm x\"}"}}]}`
		overload = `{"error":{"message":"Overloaded, MARK","type":"overloaded_error","code":529}}`
		invalid  = `{"error":{"message":"bad field MARK","type":"invalid_request_error","code":"invalid_value"}}`
	)
	data := func(s string) string { return "data: " + s + "\n\n" }
	for _, c := range []struct {
		name, head, event string
		kind              providers.ErrorKind
		retry             bool
	}{
		{"overloaded, before output", before, data(overload), providers.Overloaded, true},
		{"overloaded, after text", chunk(`{"content":"par"}`, "null"), data(overload), providers.Overloaded, true},
		{"overloaded, after a call", chunk(called, "null"), data(overload), providers.Overloaded, true},
		{"overloaded, after a call that says it is finished", chunk(called, "tool_calls"), data(overload), providers.Overloaded, true},
		{"an error event", chunk(`{"content":"par"}`, "null"), "event: error\n" + data(`{"message":"Overloaded, MARK","type":"overloaded_error"}`), providers.Overloaded, true},
		{"as plain text", chunk(`{"content":"par"}`, "null"), "event: error\n" + data(`upstream MARK`), providers.Server, true},
		{"rate limit", before, data(`{"error":{"message":"slow MARK","code":429}}`), providers.RateLimit, true},
		{"quota", before, data(`{"error":{"message":"MARK","code":"insufficient_quota"}}`), providers.Quota, false},
		{"a string", chunk(`{"content":"par"}`, "null"), data(`{"error":"MARK"}`), providers.Server, true},
		{"invalid request, before output", before, data(invalid), providers.BadRequest, false},
		{"invalid request, after text", chunk(`{"content":"par"}`, "null"), data(invalid), providers.BadRequest, false},
		{"auth", before, data(`{"error":{"message":"MARK","type":"authentication_error"}}`), providers.Auth, false},
		{"beside choices", chunk(`{"content":"par"}`, "null"), data(`{"choices":[{"index":0,"delta":{"content":"MARK"},"finish_reason":"stop"}],"error":{"message":"MARK","code":502}}`), providers.Server, true},
	} {
		for _, tail := range []string{"", "data: [DONE]\n\n", chunk(`{"content":"late"}`, "stop") + "data: [DONE]\n\n"} {
			out := &screen{}
			r := answer(t, c.head+c.event+tail, out)
			if r.Class != providers.Failed || r.Err == nil || r.Err.Kind != c.kind || r.Err.Retry != c.retry || !strings.Contains(r.Err.Message, "MARK") {
				t.Errorf("%s: %s %+v", c.name, r.Class, r.Err)
			}
			if r.Err != nil && r.Err.Status == http.StatusOK {
				t.Errorf("%s: it counts as an answer of status 200", c.name)
			}
			if len(r.Parts) > 0 {
				t.Errorf("%s: %d parts of a reply that failed", c.name, len(r.Parts))
			}
			want := ""
			if strings.Contains(c.head, "par") {
				want = "par"
			}
			if string(r.Partial) != want || out.text.String() != want {
				t.Errorf("%s: partial %q, shown %q, want %q", c.name, r.Partial, out.text.String(), want)
			}
		}
	}
}

// case STR-13: one call of Send is one attempt, whatever went wrong in it: nothing is asked for twice here.
func TestOneAttempt(t *testing.T) {
	for _, stream := range []string{
		"data: {\"error\":{\"message\":\"m\",\"type\":\"overloaded_error\"}}\n\n",
		chunk(`{"content":"par"}`, "null"),
		"",
	} {
		n := 0
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			n++
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte(stream))
		}))
		tr := &http.Transport{}
		r := adapter.Send(t.Context(), providers.Endpoint{BaseURL: s.URL, Client: &http.Client{Transport: tr}}, []byte(`{"model":"m"}`), nil)
		tr.CloseIdleConnections()
		s.Close()
		if n != 1 || !slices.Contains([]providers.Class{providers.Failed, providers.Missing}, r.Class) || !r.Err.Retry {
			t.Errorf("%q: %d requests, %s %+v", stream, n, r.Class, r.Err)
		}
	}
}

// PFX-5: no vendor behind Chat binds thinking to what stands before it. After a mask, a replacement, another
// instruction or a checkpoint it goes back as it came, byte for byte: only what a vendor binds is ever dropped.
func TestThinkingOutlivesAChangedPrefix(t *testing.T) {
	b := newBook()
	b.say(session.InstructionItem, "Be brief.")
	b.say(session.UserItem, "Hello")
	call := b.reply(providers.Part{Kind: session.CallItem, CallID: "z", Name: "ls", Bytes: []byte("{}")})[0]
	b.result(call, "a long result")
	from := len(b.items)
	for _, c := range b.reply(answer(t, rich(), nil).Parts...) {
		b.result(c, "r")
	}
	enc := adapter.NewEncoder()
	ask := providers.Ask{Profile: "openrouter"}
	thinking := func(body string) (out []string) {
		for _, m := range gjson.Get(body, "messages").Array() {
			if r := m.Get("reasoning_details"); r.Exists() {
				out = append(out, r.Raw)
			}
		}
		return out
	}
	before := encode(t, b, enc, ask)
	if d := cmp.Diff([]string{oddDetails}, thinking(before)); d != "" {
		t.Fatal(d)
	}
	whole := slices.Clone(b.items)
	for name, change := range map[string]func(){
		"mask": func() {
			b.items[3].At = b.note([]byte("[masked]"))
		},
		"instruction": func() {
			b.items[0].At = b.note([]byte("Be long."))
		},
		"checkpoint": func() {
			b.items = slices.Clone(whole[from:])
			q := b.note([]byte("## Objective\ngreet"))
			b.items = slices.Insert(b.items, 0, session.Item{Kind: session.CheckpointItem, ID: q.Item(), At: q})
		},
	} {
		b.items = slices.Clone(whole)
		change()
		body := encode(t, b, enc, ask)
		if body == before {
			t.Errorf("%s: the prefix did not change", name)
		}
		if d := cmp.Diff([]string{oddDetails}, thinking(body)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}
