package scripted

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tidwall/gjson"
)

// check answers as the vendor would to a request that breaks one of its rules (wire.md §6.2); nil accepts. It judges
// in a vendor's order: key, JSON, fields, tools, messages, size.
func (v vendor) check(req *Request, o Options, mem *memory) *refusal {
	if no := v.auth(req, o.Key); no != nil {
		return no
	}
	if no := v.parses(req.Body, o.Key); no != nil {
		return no
	}
	body := gjson.ParseBytes(req.Body)
	for _, rule := range []func(gjson.Result) *refusal{v.topLevel, v.limits, v.tools} {
		if no := rule(body); no != nil {
			return no
		}
	}
	if no := v.messages(body.Get("messages").Array()); no != nil {
		return no
	}
	if no := v.replays(body, mem); no != nil {
		return no
	}
	if no := v.cache(body); no != nil {
		return no
	}
	if o.Window > 0 {
		out := max(body.Get("max_tokens").Int(), body.Get("max_completion_tokens").Int())
		return v.overflow((len(req.Body)+3)/4, o.Window, int(out))
	}
	return nil
}

func (v vendor) auth(req *Request, key string) *refusal {
	got, bearer := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer ")
	switch {
	case got == "" && (v.keyed || key != ""):
		text := "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth " +
			"(i.e. Authorization: Bearer YOUR_KEY)."
		return &refusal{rule: "auth", status: 401, text: text, typ: "invalid_request_error", code: "invalid_api_key"}
	case key != "" && (got != key || !bearer):
		no := &refusal{rule: "auth", status: 401, text: "Incorrect API key provided.", code: "invalid_api_key"}
		switch v.name {
		case "kimi":
			no.text, no.typ = "Invalid Authentication", "invalid_authentication_error"
		case "deepseek":
			no.text, no.typ, no.code = "Authentication Fails, Your api key is invalid", "authentication_error", "invalid_request_error"
		case "zai":
			no.text, no.code = "Authentication Failed", "1000"
		}
		return no
	}
	return nil
}

const notJSON = "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library " +
	"correctly. The API expects a JSON payload, but what was sent was not valid JSON.)"

// parses is V13: valid UTF-8, valid JSON, no lone surrogate, no repeated key, and the API key nowhere in the body.
func (v vendor) parses(body []byte, key string) *refusal {
	val, trimmed := jsontext.Value(body), bytes.TrimSpace(body)
	no := &refusal{rule: "V13", text: notJSON}
	switch {
	case val.IsValid() && trimmed[0] == '{':
		if len(key) < 8 || !bytes.Contains(body, []byte(key)) {
			return nil
		}
		no.text = "The request body contains the API key."
	case val.IsValid():
		no.text += " The body is not an object."
	case !utf8.Valid(body):
		no.text += " The body is not UTF-8."
	case val.IsValid(jsontext.AllowDuplicateNames(true)):
		no.text += " An object has a key twice."
	case val.IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)):
		no.text += " A string holds a lone surrogate."
	}
	return no
}

func (v vendor) topLevel(body gjson.Result) (no *refusal) {
	for _, name := range []string{"model", "messages"} {
		if !body.Get(name).Exists() {
			return &refusal{rule: "V8", text: fmt.Sprintf("Missing required parameter: '%s'.", name), param: name, code: "missing_required_parameter"}
		}
	}
	if !body.Get("messages").IsArray() || len(body.Get("messages").Array()) == 0 {
		return emptyArray("messages")
	}
	if !body.Get("stream").Bool() {
		text := "This server plays streams only: send stream:true."
		if v.name == "qwen" {
			text = "This model only support stream call, please enable the stream parameter to access the model."
		}
		return &refusal{rule: "V8", text: text, param: "stream"}
	}
	if v.fields == "*" {
		return nil
	}
	body.ForEach(func(k, val gjson.Result) bool {
		if !oneOf(baseFields, k.Str) && !oneOf(v.fields, k.Str) {
			no = v.unknownField(k.Str, val)
		}
		return no == nil
	})
	return no
}

// unknownField refuses a field that the vendor does not know; path is such as messages[2].reasoning.
func (v vendor) unknownField(path string, val gjson.Result) *refusal {
	no := &refusal{rule: "V8", param: path, code: "unknown_parameter", text: fmt.Sprintf("Unknown parameter: '%s'.", path)}
	switch v.name {
	case "openai":
		if !strings.Contains(path, "[") {
			no.text = "Unrecognized request argument supplied: " + path
			no.code, no.param = "", ""
		}
	case "mistral":
		loc := strings.NewReplacer("[", `",`, "].", `,"`, "]", "").Replace(path)
		no.text = fmt.Sprintf(`[{"type":"extra_forbidden","loc":["body","%s"],"msg":"Extra inputs are not permitted","input":%s}]`, loc, val.Raw)
	case "zai":
		no.code, no.text = "1210", "Invalid API parameter, please check the documentation: "+path
	case "groq":
		no.text = fmt.Sprintf("property '%s' is unsupported", path)
	}
	return no
}

func emptyArray(path string) *refusal {
	return &refusal{
		rule: "V8", param: path, code: "empty_array",
		text: fmt.Sprintf("Invalid '%s': empty array. Expected an array with minimum length 1, but got an empty array instead.", path),
	}
}

// limits judges the output limit and the sampling fields.
func (v vendor) limits(body gjson.Result) *refusal {
	mt, mc := body.Get("max_tokens"), body.Get("max_completion_tokens")
	switch {
	case mt.Exists() && mc.Exists():
		return &refusal{
			rule: "V8", code: "invalid_parameter_combination",
			text: "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
		}
	case mt.Exists() && v.max == maxCompletion:
		return &refusal{
			rule: "V8", param: "max_tokens", code: "unsupported_parameter",
			text: "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
		}
	case mc.Exists() && v.max == maxTokens:
		no := v.unknownField("max_completion_tokens", mc)
		if v.name == "generic" {
			no.code = "unsupported_parameter"
			no.text = "Unsupported parameter: 'max_completion_tokens' is not supported with this model. Use 'max_tokens' instead."
		}
		return no
	case mt.Exists() && mt.Int() < 1, mc.Exists() && mc.Int() < 1:
		return &refusal{
			rule: "V8", param: "max_tokens", code: "integer_below_min_value",
			text: "Invalid 'max_tokens': integer below minimum value. Expected a value >= 1.",
		}
	}
	if t := body.Get("temperature"); v.fixedTemperature && t.Exists() && t.Float() != 1 {
		return &refusal{rule: "V8", param: "temperature", text: "invalid temperature: only 1 is allowed for this model"}
	}
	return nil
}

// tools judges tool definitions and tool_choice.
func (v vendor) tools(body gjson.Result) *refusal {
	tools := body.Get("tools")
	list := tools.Array()
	if tools.Exists() && len(list) == 0 && !v.acceptsEmptyTools {
		return emptyArray("tools")
	}
	names := map[string]bool{}
	for i, t := range list {
		at := fmt.Sprintf("tools[%d].function.name", i)
		name := t.Get("function.name")
		switch {
		case t.Get("type").Str != "function":
			return &refusal{
				rule: "V8", param: fmt.Sprintf("tools[%d].type", i), code: "missing_required_parameter",
				text: fmt.Sprintf("Missing required parameter: 'tools[%d].type'.", i),
			}
		case !name.Exists():
			return &refusal{rule: "V8", param: at, code: "missing_required_parameter", text: fmt.Sprintf("Missing required parameter: '%s'.", at)}
		case name.Str == "":
			return &refusal{
				rule: "V8", param: at, code: "empty_string",
				text: fmt.Sprintf("Invalid '%s': empty string. Expected a string with minimum length 1, but got an empty string instead.", at),
			}
		case strings.IndexFunc(name.Str, notIDRune) >= 0 || len(name.Str) > 64:
			return &refusal{
				rule: "V8", param: at, code: "invalid_value",
				text: fmt.Sprintf("Invalid '%s': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", at),
			}
		case names[name.Str] && v.duplicateTools:
			return &refusal{rule: "V8", param: at, text: fmt.Sprintf("Invalid request: function name %s is duplicated", name.Str)}
		case v.noStrictTools && t.Get("function.strict").Exists():
			return v.unknownField(fmt.Sprintf("tools[%d].function.strict", i), t.Get("function.strict"))
		}
		names[name.Str] = true
	}
	choice := body.Get("tool_choice")
	named := choice.Get("function.name").Str
	switch {
	case choice.Exists() && choice.Type != gjson.Null && len(list) == 0:
		return &refusal{rule: "V8", param: "tool_choice", text: "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified."}
	case choice.IsObject() && !names[named]:
		return &refusal{rule: "V8", param: "tool_choice", text: fmt.Sprintf("Tool choice '%s' not found in 'tools' parameter.", named)}
	case v.noForcedTool && (choice.IsObject() || choice.Str == "required") && body.Get("thinking.type").Str != "disabled":
		return &refusal{rule: "V8", param: "tool_choice", text: "tool_choice 'required' is incompatible with thinking enabled"}
	}
	return nil
}

func notIDRune(r rune) bool {
	return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}

// cache judges prompt_cache_key: at most 64 characters (V12). Its constancy is recorded, not refused: see memory.keyOf.
func (v vendor) cache(body gjson.Result) *refusal {
	key := body.Get("prompt_cache_key")
	if !v.cacheKey && key.Exists() && v.fields != "*" {
		return v.unknownField("prompt_cache_key", key)
	}
	if n := utf8.RuneCountInString(key.Str); n > 64 {
		return &refusal{
			rule: "V12", param: "prompt_cache_key", code: "string_above_max_length",
			text: fmt.Sprintf("Invalid 'prompt_cache_key': string too long. Expected a string with maximum length 64, but got a string with length %d instead.", n),
		}
	}
	return nil
}
