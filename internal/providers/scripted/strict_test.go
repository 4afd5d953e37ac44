package scripted

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// request builds a Chat body from messages and more top-level fields.
func request(messages, more string) string {
	if more != "" {
		more = "," + more
	}
	return `{"model":"m","messages":[` + messages + `],"stream":true` + more + `}`
}

const (
	user  = `{"role":"user","content":"hi"}`
	tool1 = `{"type":"function","function":{"name":"read","parameters":{"type":"object"}}}`
)

func calls(ids ...string) string {
	var out []string
	for _, id := range ids {
		out = append(out, `{"id":"`+id+`","type":"function","function":{"name":"read","arguments":"{}"}}`)
	}
	return `{"role":"assistant","content":null,"tool_calls":[` + strings.Join(out, ",") + `]}`
}

func result(id string) string { return `{"role":"tool","tool_call_id":"` + id + `","content":"ok"}` }

func join(messages ...string) string { return strings.Join(messages, ",") }

// PRV-4, wire.md §6.2 V8, V13: what the vendor refuses, with its words.
func TestStrictVendorRefuses(t *testing.T) {
	const adjacency = "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."
	long := strings.Repeat("x", 41)
	for _, c := range []struct{ name, vendor, body, want string }{
		{"unanswered", "openai", request(join(user, calls("a", "b"), result("a")), ""), adjacency + " The following tool_call_ids did not have response messages: b"},
		{"user between", "openai", request(join(user, calls("a"), user, result("a")), ""), adjacency + " The following tool_call_ids did not have response messages: a"},
		{"unanswered", "deepseek", request(join(user, strings.Replace(calls("a"), `"content":null`, `"content":null,"reasoning_content":""`, 1)), ""), adjacency + " (insufficient tool messages following tool_calls message)"},
		{"unanswered", "mistral", request(join(user, calls("abcdefghi")), ""), "Not the same number of function calls and responses"},
		{"unanswered", "zai", request(join(user, calls("a")), ""), "The messages parameter is illegal. Please check the documentation."},
		{"orphan", "openai", request(join(user, result("a")), ""), "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."},
		{"answered twice", "openai", request(join(user, calls("a"), result("a"), result("a")), ""), "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."},
		{"orphan", "kimi", request(join(user, result("a")), ""), "Invalid request: tool_call_id a is not found"},
		{"long id", "openai", request(join(user, calls(long), result(long)), ""), "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 41 instead."},
		{"id form", "mistral", request(join(user, calls("call_1"), result("call_1")), ""), "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9."},
		{"id with _", "mistral", request(join(user, calls("abc_efghi"), result("abc_efghi")), ""), "Tool call id was abc_efghi but must be a-z, A-Z, 0-9, with a length of 9."},
		{"blank id", "generic", request(join(user, calls(""), result("")), ""), "Invalid 'messages[1].tool_calls[0].id': empty string. Expected a string with minimum length 1, but got an empty string instead."},
		{"id twice", "openai", request(join(user, calls("a", "a"), result("a")), ""), "Duplicate value for 'tool_call_id' of 'a' in message[1]."},
		{"no name", "mistral", request(join(user, calls("abcdefghi"), result("abcdefghi"), user), ""), "Missing required parameter: 'messages[2].name'."},
		{"system late", "mistral", request(join(user, `{"role":"system","content":"x"}`, user), ""), "Unexpected role 'system' after role 'user'"},
		{"prefill", "mistral", request(join(user, `{"role":"assistant","content":"x"}`), ""), "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant"},
		{"arguments object", "openai", request(join(user, strings.Replace(calls("a"), `"{}"`, `{}`, 1), result("a")), ""), "Invalid type for 'messages[1].tool_calls[0].function.arguments': expected a string, but got an object instead."},
		{"arguments text", "openai", request(join(user, strings.Replace(calls("a"), `"{}"`, `"{\"a\":"`, 1), result("a")), ""), "Invalid 'messages[1].tool_calls[0].function.arguments': expected a string that is a JSON object."},
		{"arguments list", "vllm", request(join(user, strings.Replace(calls("a"), `"{}"`, `"[]"`, 1), result("a")), ""), "Invalid 'messages[1].tool_calls[0].function.arguments': expected a string that is a JSON object."},
		{"call name", "openai", request(join(user, strings.Replace(calls("a"), `"read"`, `""`, 1), result("a")), ""), "Invalid 'messages[1].tool_calls[0].function.name': empty string. Expected a string with minimum length 1, but got an empty string instead."},
		{"call field", "openai", request(join(user, strings.Replace(calls("a"), `{"id"`, `{"index":0,"id"`, 1), result("a")), ""), "Unknown parameter: 'messages[1].tool_calls[0].index'."},
		{"empty calls", "openai", request(join(user, strings.Replace(calls(), "null", `"x"`, 1)), ""), "Invalid 'messages[1].tool_calls': empty array. Expected an array with minimum length 1, but got an empty array instead."},
		{"empty content", "openai", request(`{"role":"user","content":[]}`, ""), "Invalid 'messages[0].content': empty array. Expected an array with minimum length 1, but got an empty array instead."},
		{"null content", "openai", request(`{"role":"user","content":null}`, ""), "Invalid value for 'content': expected a string, got null."},
		{"empty assistant", "openai", request(join(user, `{"role":"assistant","content":""}`, user), ""), "Invalid value for 'content': expected a string, got null."},
		{"empty assistant", "kimi", request(join(user, `{"role":"assistant","content":null}`, user), ""), "Invalid request: the message at position 1 with role 'assistant' must not be empty"},
		{"empty assistant", "mistral", request(join(user, `{"role":"assistant","content":""}`, user), ""), "Assistant message must have either content or tool_calls, but not none."},
		{"result parts", "deepseek", request(join(user, strings.Replace(calls("a"), `"content":null`, `"content":null,"reasoning_content":""`, 1), `{"role":"tool","tool_call_id":"a","content":[{"type":"text","text":"x"}]}`), ""), "Invalid type for 'messages[2].content': expected a string, but got an array instead."},
		{"developer", "generic", request(join(`{"role":"developer","content":"x"}`, user), ""), "Invalid value: 'developer'. Supported values are: 'system', 'assistant', 'user', and 'tool'."},
		{"developer", "deepseek", request(join(`{"role":"developer","content":"x"}`, user), ""), "Failed to deserialize the JSON body into the target type: messages[0].role: unknown variant `developer`, expected one of `system`, `user`, `assistant`, `tool`"},
		{"developer", "vllm", request(join(`{"role":"developer","content":"x"}`, user), ""), "Unexpected message role."},
		{"message field", "openai", request(join(user, `{"role":"assistant","content":"x","reasoning_content":"y"}`, user), ""), "Unknown parameter: 'messages[1].reasoning_content'."},
		{"message field", "deepseek", request(join(user, `{"role":"assistant","content":"x","reasoning":"y"}`, user), ""), "Unknown parameter: 'messages[1].reasoning'."},
		{"field", "openai", request(user, `"foo":1`), "Unrecognized request argument supplied: foo"},
		{"field", "generic", request(user, `"store":false`), "Unknown parameter: 'store'."},
		{"field", "generic", request(user, `"tools":[`+tool1+`],"parallel_tool_calls":true`), "Unknown parameter: 'parallel_tool_calls'."},
		{"field", "groq", request(user, `"store":false`), "property 'store' is unsupported"},
		{"field", "zai", request(user, `"store":false`), "Invalid API parameter, please check the documentation: store"},
		{"cache key", "generic", request(user, `"prompt_cache_key":"s"`), "Unknown parameter: 'prompt_cache_key'."},
		{"cache key", "openai", request(user, `"prompt_cache_key":"`+strings.Repeat("k", 65)+`"`), "Invalid 'prompt_cache_key': string too long. Expected a string with maximum length 64, but got a string with length 65 instead."},
		{"max_tokens", "openai", request(user, `"max_tokens":9`), "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."},
		{"max_completion_tokens", "generic", request(user, `"max_completion_tokens":9`), "Unsupported parameter: 'max_completion_tokens' is not supported with this model. Use 'max_tokens' instead."},
		{"max_completion_tokens", "deepseek", request(user, `"max_completion_tokens":9`), "Unknown parameter: 'max_completion_tokens'."},
		{"both", "vllm", request(user, `"max_completion_tokens":9,"max_tokens":9`), "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."},
		{"no tokens", "vllm", request(user, `"max_tokens":0`), "Invalid 'max_tokens': integer below minimum value. Expected a value >= 1."},
		{"temperature", "kimi", request(user, `"temperature":0.2`), "invalid temperature: only 1 is allowed for this model"},
		{"tools []", "openai", request(user, `"tools":[]`), "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead."},
		{"tools []", "vllm", request(user, `"tools":[]`), "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead."},
		{"tool twice", "kimi", request(user, `"tools":[`+tool1+`,`+tool1+`]`), "Invalid request: function name read is duplicated"},
		{"tool nameless", "openai", request(user, `"tools":[{"type":"function","function":{}}]`), "Missing required parameter: 'tools[0].function.name'."},
		{"tool empty name", "openai", request(user, `"tools":[{"type":"function","function":{"name":""}}]`), "Invalid 'tools[0].function.name': empty string. Expected a string with minimum length 1, but got an empty string instead."},
		{"tool name form", "openai", request(user, `"tools":[{"type":"function","function":{"name":"a.b"}}]`), "Invalid 'tools[0].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."},
		{"tool type", "openai", request(user, `"tools":[{"name":"a"}]`), "Missing required parameter: 'tools[0].type'."},
		{"strict", "kimi", request(user, `"tools":[{"type":"function","function":{"name":"a","strict":true}}]`), "Unknown parameter: 'tools[0].function.strict'."},
		{"choice alone", "openai", request(user, `"tool_choice":"auto"`), "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified."},
		{"choice unknown", "openai", request(user, `"tools":[`+tool1+`],"tool_choice":{"type":"function","function":{"name":"x"}}`), "Tool choice 'x' not found in 'tools' parameter."},
		{"choice forced", "kimi", request(user, `"tools":[`+tool1+`],"tool_choice":"required"`), "tool_choice 'required' is incompatible with thinking enabled"},
		{"no model", "openai", `{"messages":[` + user + `],"stream":true}`, "Missing required parameter: 'model'."},
		{"no messages", "openai", request("", ""), "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead."},
		{"no stream", "qwen", `{"model":"m","messages":[` + user + `]}`, "This model only support stream call, please enable the stream parameter to access the model."},
		{"reasoning missing", "deepseek", request(join(user, `{"role":"assistant","content":"x"}`, user), ""), "The `reasoning_content` in the thinking mode must be passed back to the API."},
		{"reasoning null", "deepseek", request(join(user, `{"role":"assistant","content":"x","reasoning_content":null}`, user), ""), "The `reasoning_content` in the thinking mode must be passed back to the API."},
		{"reasoning missing", "kimi", request(join(user, calls("a"), result("a")), ""), "thinking is enabled but reasoning_content is missing in assistant tool call message at index 1"},
		{"not JSON", "openai", `{"model":`, notJSON},
		{"not an object", "openai", `[]`, notJSON + " The body is not an object."},
		{"empty", "openai", ``, notJSON},
		{"key twice", "openai", request(user, `"model":"m"`), notJSON + " An object has a key twice."},
		{"surrogate", "openai", request(`{"role":"user","content":"\ud83d"}`, ""), notJSON + " A string holds a lone surrogate."},
		{"UTF-8", "openai", request("{\"role\":\"user\",\"content\":\"\xff\"}", ""), notJSON + " The body is not UTF-8."},
	} {
		t.Run(c.vendor+"/"+c.name, func(t *testing.T) {
			s, cl := open(t, Options{Vendor: c.vendor})
			status, got, err := ask(t, cl, s.URL(), c.body)
			if err != nil {
				t.Fatal(err)
			}
			text := gjson.Get(got, "error.message").Str
			if !gjson.Get(got, "error").IsObject() {
				text = gjson.Get(got, "message").Str
			}
			if status != 400 || text != c.want {
				t.Errorf("%d %s\nwant %s", status, got, c.want)
			}
			if v := s.Violations(); len(v) != 1 || !v[0].Refused || v[0].Request != 1 {
				t.Errorf("violations: %+v", v)
			}
			lenient, cl := open(t, Options{Vendor: c.vendor, Lenient: true})
			lenient.Handle(func(Request) Reply { return Reply{} })
			if status, _, _ := ask(t, cl, lenient.URL(), c.body); status != 200 {
				t.Errorf("the lenient vendor refuses, too: %d", status)
			}
		})
	}
}

// What must be accepted: the strict vendor has no false alarms.
func TestStrictVendorAccepts(t *testing.T) {
	reasoned := func(m string) string {
		return strings.Replace(m, `"role":"assistant"`, `"role":"assistant","reasoning_content":""`, 1)
	}
	pair := join(user, calls("a", "b"), result("b"), result("a"), `{"role":"assistant","content":"x"}`, user)
	for _, c := range []struct{ vendor, body string }{
		{"openai", request(join(`{"role":"developer","content":"x"}`, pair), `"tools":[`+tool1+`],"tool_choice":"auto","max_completion_tokens":9,"store":false,"prompt_cache_key":"s","reasoning_effort":"high"`)},
		{"generic", request(join(`{"role":"system","content":"x"}`, pair), `"tools":[`+tool1+`],"max_tokens":9`)},
		{"deepseek", request(join(user, reasoned(calls("a")), result("a"), reasoned(`{"role":"assistant","content":"x"}`), user), `"thinking":{"type":"enabled"}`)},
		{"deepseek", request(pair, `"thinking":{"type":"disabled"}`)},
		{"kimi", request(join(user, reasoned(calls("a")), result("a"), `{"role":"assistant","content":"x"}`, user), ``)},
		{"mistral", request(join(user, calls("abcdefgh1"), `{"role":"tool","tool_call_id":"abcdefgh1","name":"read","content":"ok"}`), `"max_tokens":9,"prompt_cache_key":"s"`)},
		{"openrouter", request(join(`{"role":"system","content":[{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}]}`, pair), `"reasoning":{"effort":"high"},"transforms":[]`)},
		{"qwen", request(pair, `"enable_thinking":true`)},
		{"llamacpp", request(pair, `"tools":[],"cache_prompt":true`)},
		{"ollama", request(pair, `"tools":[]`)},
		{"zai", request(pair, `"thinking":{"type":"enabled","clear_thinking":false},"tool_stream":true`)},
	} {
		s, cl := open(t, Options{Vendor: c.vendor})
		s.Handle(func(Request) Reply { return Reply{} })
		if status, got, _ := ask(t, cl, s.URL(), c.body); status != 200 || len(s.Violations()) > 0 {
			t.Errorf("%s refuses %s\n%s", c.vendor, c.body, got)
		}
	}
}

func TestKeys(t *testing.T) { // PRV-7: the key in the header, never in the body
	const key = "sk-test-0123456789abcdef" // what the tests' client sends
	for _, c := range []struct {
		o      Options
		bare   bool
		status int
		want   string
	}{
		{Options{Vendor: "openai"}, true, 401, "You didn't provide an API key."},
		{Options{Vendor: "ollama"}, true, 200, ""},
		{Options{Vendor: "openai", Key: "sk-other-1234"}, false, 401, "Incorrect API key provided."},
		{Options{Vendor: "kimi", Key: "sk-other-1234"}, false, 401, "Invalid Authentication"},
		{Options{Vendor: "zai", Key: "sk-other-1234"}, false, 401, `"code":"1000"`},
		{Options{Vendor: "openai", Key: key}, false, 200, ""},
		{Options{Vendor: "generic"}, true, 200, ""},
	} {
		s, cl := open(t, c.o)
		s.Handle(func(Request) Reply { return Reply{} })
		var status int
		var got string
		if c.bare {
			resp, err := cl.Post(s.URL()+"/v1/chat/completions", "application/json", strings.NewReader(hello))
			if err != nil {
				t.Fatal(err)
			}
			status, got = resp.StatusCode, bodyOf(resp)
		} else {
			status, got, _ = ask(t, cl, s.URL(), hello)
		}
		if status != c.status || !strings.Contains(got, c.want) {
			t.Errorf("%+v: %d %s", c.o, status, got)
		}
	}
	s, cl := open(t, Options{Key: key})
	if status, got, _ := ask(t, cl, s.URL(), request(`{"role":"user","content":"`+key+`"}`, "")); status != 400 || strings.Contains(got, key) {
		t.Errorf("%d %s", status, got)
	}
}
