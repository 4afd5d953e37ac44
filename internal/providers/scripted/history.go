package scripted

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

func itoa(n int) string { return strconv.Itoa(n) }

// messages judges the order, the pairing and the parts of a Chat history (V8, wire.md §1.2).
func (v vendor) messages(list []gjson.Result) *refusal {
	roles := " system user assistant tool "
	if v.developer {
		roles += "developer "
	}
	var open []string // ids of the last group of calls that still wait for their result
	said := false     // someone other than system has spoken
	for i, m := range list {
		role := m.Get("role").Str
		if !oneOf(roles, role) {
			return v.badRole(i, role)
		}
		if len(open) > 0 && role != "tool" {
			return v.unanswered(i, open)
		}
		if (role == "system" || role == "developer") && said && v.systemFirst {
			return &refusal{
				rule: "V8", typ: "invalid_request_message_order", code: "3230",
				text: "Unexpected role '" + role + "' after role '" + list[i-1].Get("role").Str + "'",
			}
		}
		said = said || (role != "system" && role != "developer")
		if no := v.messageFields(i, role, m); no != nil {
			return no
		}
		if no := v.content(i, role, m); no != nil {
			return no
		}
		switch role {
		case "assistant":
			ids, no := v.calls(i, m.Get("tool_calls"))
			if no != nil {
				return no
			}
			open = ids
		case "tool":
			id := m.Get("tool_call_id").Str
			at := slices.Index(open, id)
			if at < 0 {
				return v.orphan(i, id)
			}
			open = slices.Delete(open, at, at+1)
			if v.toolName && m.Get("name").Str == "" {
				return v.missing(fmt.Sprintf("messages[%d].name", i))
			}
		}
	}
	if len(open) > 0 {
		return v.unanswered(len(list), open)
	}
	if last := list[len(list)-1].Get("role").Str; v.lastNotAssistant && last == "assistant" {
		return &refusal{
			rule: "V8", typ: "invalid_request_message_order", code: "3230",
			text: "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant",
		}
	}
	return nil
}

func (v vendor) missing(path string) *refusal {
	return &refusal{rule: "V8", param: path, code: "missing_required_parameter", text: fmt.Sprintf("Missing required parameter: '%s'.", path)}
}

func (v vendor) badRole(i int, role string) *refusal {
	no := &refusal{
		rule: "V8", param: fmt.Sprintf("messages[%d].role", i), code: "invalid_value",
		text: fmt.Sprintf("Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', and 'tool'.", role),
	}
	switch v.name {
	case "deepseek":
		no.text = fmt.Sprintf("Failed to deserialize the JSON body into the target type: messages[%d].role: unknown variant `%s`, expected one of `system`, `user`, `assistant`, `tool`", i, role)
	case "vllm", "llamacpp":
		no.text = "Unexpected message role."
	case "zai":
		no.code, no.text = "1214", "The messages parameter is illegal. Please check the documentation."
	}
	return no
}

func (v vendor) unanswered(i int, open []string) *refusal {
	no := &refusal{rule: "V8", param: fmt.Sprintf("messages.[%d].role", i)}
	const head = "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."
	switch v.name {
	case "deepseek":
		no.text = head + " (insufficient tool messages following tool_calls message)"
	case "mistral":
		no.typ, no.code, no.text = "invalid_request_message_order", "3230", "Not the same number of function calls and responses"
	case "zai":
		no.code, no.text = "1214", "The messages parameter is illegal. Please check the documentation."
	case "kimi":
		no.text = "Invalid request: an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
			"The following tool_call_ids did not have response messages: " + strings.Join(open, ", ")
	default:
		no.text = head + " The following tool_call_ids did not have response messages: " + strings.Join(open, ", ")
	}
	return no
}

func (v vendor) orphan(i int, id string) *refusal {
	no := &refusal{
		rule: "V8", param: fmt.Sprintf("messages.[%d].role", i),
		text: "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
	}
	switch v.name {
	case "deepseek":
		no.text = "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
	case "mistral":
		no.typ, no.code, no.text = "invalid_request_message_order", "3230", "Unexpected tool call id "+id+" in tool results"
	case "kimi":
		no.text = "Invalid request: tool_call_id " + id + " is not found"
	case "zai":
		no.code, no.text = "1214", "The messages parameter is illegal. Please check the documentation."
	}
	return no
}

// messageFields refuses fields that the role or the vendor does not know.
func (v vendor) messageFields(i int, role string, m gjson.Result) (no *refusal) {
	if v.extra == "*" {
		return nil
	}
	known := " role content name "
	switch role {
	case "assistant":
		known += "tool_calls refusal audio function_call " + v.extra
	case "tool":
		known += "tool_call_id "
	}
	m.ForEach(func(k, val gjson.Result) bool {
		if !oneOf(known, k.Str) && k.Str != "cache_control" {
			no = v.unknownField(fmt.Sprintf("messages[%d].%s", i, k.Str), val)
		}
		return no == nil
	})
	return no
}

// content refuses empty lists, empty assistant messages, and content of a wrong type.
func (v vendor) content(i int, role string, m gjson.Result) *refusal {
	at := fmt.Sprintf("messages[%d].content", i)
	c := m.Get("content")
	switch {
	case c.IsArray() && len(c.Array()) == 0:
		return emptyArray(at)
	case c.IsArray() && role == "tool" && v.stringResults:
		return &refusal{
			rule: "V8", param: at, code: "invalid_type",
			text: fmt.Sprintf("Invalid type for '%s': expected a string, but got an array instead.", at),
		}
	case c.IsArray():
		for j, p := range c.Array() {
			if p.Get("type").Str == "" {
				return v.missing(fmt.Sprintf("%s[%d].type", at, j))
			}
		}
	case c.Type == gjson.String:
		if role == "assistant" && c.Str == "" && len(m.Get("tool_calls").Array()) == 0 {
			return v.emptyAssistant(i)
		}
	case role != "assistant" || c.Exists() && c.Type != gjson.Null:
		return &refusal{
			rule: "V8", param: fmt.Sprintf("messages.[%d].content", i),
			text: "Invalid value for 'content': expected a string, got " + typeName(c) + ".",
		}
	case len(m.Get("tool_calls").Array()) == 0 && !m.Get("refusal").Exists():
		return v.emptyAssistant(i)
	}
	return nil
}

func typeName(c gjson.Result) string {
	switch {
	case !c.Exists() || c.Type == gjson.Null:
		return "null"
	case c.IsObject():
		return "an object"
	}
	return "a " + strings.ToLower(c.Type.String())
}

func (v vendor) emptyAssistant(i int) *refusal {
	no := &refusal{rule: "V8", param: fmt.Sprintf("messages.[%d].content", i), text: "Invalid value for 'content': expected a string, got null."}
	switch v.name {
	case "kimi":
		no.text = fmt.Sprintf("Invalid request: the message at position %d with role 'assistant' must not be empty", i)
	case "deepseek":
		no.text = "Invalid assistant message: content or tool_calls must be set"
	case "mistral":
		no.typ, no.code, no.text = "invalid_request_assistant_message", "3240", "Assistant message must have either content or tool_calls, but not none."
	case "zai":
		no.code, no.text = "1214", "The messages parameter is illegal. Please check the documentation."
	}
	return no
}

// calls judges the tool_calls of one assistant message and returns their ids.
func (v vendor) calls(i int, calls gjson.Result) ([]string, *refusal) {
	if calls.Exists() && calls.Type != gjson.Null && len(calls.Array()) == 0 {
		return nil, emptyArray(fmt.Sprintf("messages[%d].tool_calls", i))
	}
	var ids []string
	for j, c := range calls.Array() {
		at := fmt.Sprintf("messages[%d].tool_calls[%d]", i, j)
		id, args := c.Get("id").Str, c.Get("function.arguments")
		if no := v.callID(at+".id", id); no != nil {
			return nil, no
		}
		switch {
		case slices.Contains(ids, id):
			return nil, &refusal{rule: "V8", param: at + ".id", text: fmt.Sprintf("Duplicate value for 'tool_call_id' of '%s' in message[%d].", id, i)}
		case c.Get("type").Str != "function":
			return nil, v.missing(at + ".type")
		case c.Get("function.name").Str == "":
			return nil, &refusal{
				rule: "V8", param: at + ".function.name", code: "empty_string",
				text: fmt.Sprintf("Invalid '%s.function.name': empty string. Expected a string with minimum length 1, but got an empty string instead.", at),
			}
		case args.Type != gjson.String:
			return nil, &refusal{
				rule: "V8", param: at + ".function.arguments", code: "invalid_type",
				text: fmt.Sprintf("Invalid type for '%s.function.arguments': expected a string, but got %s instead.", at, typeName(args)),
			}
		case !gjson.Valid(args.Str) || !gjson.Parse(args.Str).IsObject():
			return nil, &refusal{
				rule: "V8", param: at + ".function.arguments", code: "invalid_value",
				text: fmt.Sprintf("Invalid '%s.function.arguments': expected a string that is a JSON object.", at),
			}
		}
		var unknown *refusal
		c.ForEach(func(k, val gjson.Result) bool {
			if !oneOf(" id type function extra_content ", k.Str) && v.extra != "*" {
				unknown = v.unknownField(at+"."+k.Str, val)
			}
			return unknown == nil
		})
		if unknown != nil {
			return nil, unknown
		}
		ids = append(ids, id)
	}
	return ids, nil
}

func (v vendor) callID(at, id string) *refusal {
	n := utf8.RuneCountInString(id)
	switch {
	case id == "":
		return &refusal{
			rule: "V8", param: at, code: "empty_string",
			text: fmt.Sprintf("Invalid '%s': empty string. Expected a string with minimum length 1, but got an empty string instead.", at),
		}
	case v.ids == ids40 && n > 40:
		return &refusal{
			rule: "V8", param: at, code: "string_above_max_length",
			text: fmt.Sprintf("Invalid '%s': string too long. Expected a string with maximum length 40, but got a string with length %d instead.", at, n),
		}
	case v.ids == idsNine && (n != 9 || strings.IndexFunc(id, notIDRune) >= 0 || strings.ContainsAny(id, "_-")):
		return &refusal{
			rule: "V8", typ: "invalid_request_function_call", code: "3280",
			text: fmt.Sprintf("Tool call id was %s but must be a-z, A-Z, 0-9, with a length of 9.", id),
		}
	}
	return nil
}

// replays is V9: the reasoning that the vendor issued comes back unaltered, where the vendor asks for it.
func (v vendor) replays(body gjson.Result, mem *memory) *refusal {
	thinking := body.Get("thinking.type").Str != "disabled"
	if v.replay == replayFree || !thinking {
		return nil
	}
	for i, m := range body.Get("messages").Array() {
		if m.Get("role").Str != "assistant" {
			continue
		}
		calls, r := m.Get("tool_calls").Array(), m.Get("reasoning_content")
		if v.replay == replayToolCalls && len(calls) == 0 && !r.Exists() {
			continue
		}
		was, known := mem.find(m)
		if r.Type == gjson.String && (!known || r.Str == was.reasoning) {
			continue
		}
		no := &refusal{
			rule: "V9", param: fmt.Sprintf("messages[%d].reasoning_content", i),
			text: "The `reasoning_content` in the thinking mode must be passed back to the API.",
		}
		if v.replay == replayToolCalls {
			no.text = fmt.Sprintf("thinking is enabled but reasoning_content is missing in assistant tool call message at index %d", i)
		}
		return no
	}
	return nil
}

// find looks for the reply that an assistant message repeats: by its call ids, else by its text, newest first.
func (mem *memory) find(m gjson.Result) (issued, bool) {
	calls := m.Get("tool_calls").Array()
	text := contentText(m.Get("content"))
	for _, is := range slices.Backward(mem.issued) {
		if len(calls) > 0 {
			if len(is.callIDs) > 0 && slices.Contains(is.callIDs, calls[0].Get("id").Str) {
				return is, true
			}
			continue
		}
		if len(is.callIDs) == 0 && text != "" && is.text == text {
			return is, true
		}
	}
	return issued{}, false
}

// learn keeps what a reply issued.
func (mem *memory) learn(is issued) {
	if is.text != "" || len(is.callIDs) > 0 {
		mem.issued = append(mem.issued, is)
	}
}

// remember keeps a prompt that was answered.
func (mem *memory) remember(thread string, body []byte) {
	if mem.threads == nil {
		mem.threads = map[string]threadPrompt{}
	}
	mem.threads[thread] = threadOf(body)
}
