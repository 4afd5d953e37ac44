package scripted

import (
	"fmt"
	"slices"
	"strings"
)

// A vendor is what one provider's Chat endpoint accepts, and how it says no (wire.md §1.2, §1.7, §5).
type vendor struct {
	name   string
	shape  errorShape
	fields string // top-level fields beside baseFields; "*" accepts any
	extra  string // message fields beside the base ones; "*" accepts any
	max    maxField
	ids    idRule
	replay replayRule

	keyed             bool // no key: 401
	developer         bool // knows the developer role
	usageOnRequest    bool // sends usage only after stream_options.include_usage
	cacheKey          bool // knows prompt_cache_key
	duplicateTools    bool // refuses two functions of one name
	toolName          bool // a tool message needs the function's name
	stringResults     bool // tool content must be a string
	systemFirst       bool // no system message after another role
	lastNotAssistant  bool // no prefill
	noStrictTools     bool // refuses function.strict
	fixedTemperature  bool // only 1
	noForcedTool      bool // refuses tool_choice required or a name while thinking
	acceptsEmptyTools bool // `tools: []`
	silentOverflow    bool // cuts the prompt instead of refusing it
}

type (
	errorShape uint8
	maxField   uint8
	idRule     uint8
	replayRule uint8
)

const (
	shapeOpenAI errorShape = iota // {"error":{message,type,param,code}}
	shapeNumber                   // the same with the status as a number in code (vLLM)
	shapeKimi                     // {"error":{message,type}}
	shapeFlat                     // {"object":"error",message,type,param,code} (Mistral)
	shapeCode                     // {"error":{code,message}} with a string code (Z.ai)
	shapeText                     // {"error":"text"} (LM Studio)
	shapeLlama                    // {"error":{code,message,type[,n_prompt_tokens,n_ctx]}}
	shapeRouter                   // {"error":{code,message,metadata}} (OpenRouter)
)

const (
	maxBoth maxField = iota
	maxTokens
	maxCompletion
)

const (
	idsAny idRule = iota
	ids40
	idsNine
)

const (
	replayFree      replayRule = iota
	replayEvery                // every assistant message carries reasoning_content (DeepSeek)
	replayToolCalls            // those with tool calls do (Kimi)
)

const (
	baseFields = " model messages stream stream_options tools tool_choice temperature top_p stop seed response_format user n " +
		"presence_penalty frequency_penalty logprobs top_logprobs logit_bias max_tokens max_completion_tokens "
	openAIFields = " store metadata reasoning_effort service_tier prompt_cache_key prompt_cache_retention prompt_cache_options " +
		"safety_identifier verbosity parallel_tool_calls modalities audio prediction web_search_options "
	allReasoning = " reasoning_content reasoning reasoning_text reasoning_details "
)

// vendors is the table of profiles. It is made on each call: the table is needed a few times per server.
func vendors() []vendor {
	return []vendor{
		// generic is the cautious default for an unknown base URL (wire.md §5).
		{name: "generic", fields: " reasoning_effort ", extra: allReasoning, max: maxTokens, ids: ids40, duplicateTools: true},
		{
			name: "openai", fields: openAIFields, max: maxCompletion, ids: ids40,
			keyed: true, developer: true, usageOnRequest: true, cacheKey: true,
		},
		{
			name: "deepseek", fields: " thinking reasoning_effort ", extra: " reasoning_content prefix ", max: maxTokens,
			replay: replayEvery, keyed: true, stringResults: true,
		},
		{
			name: "zai", shape: shapeCode, fields: " thinking reasoning_effort tool_stream do_sample request_id user_id ",
			extra: " reasoning_content ", max: maxTokens, keyed: true,
		},
		{
			name: "kimi", shape: shapeKimi, fields: " thinking reasoning_effort ", extra: " reasoning_content partial ",
			replay: replayToolCalls, keyed: true, duplicateTools: true, noStrictTools: true, fixedTemperature: true, noForcedTool: true,
		},
		{
			name: "mistral", shape: shapeFlat, fields: " prompt_mode reasoning_effort prompt_cache_key random_seed safe_prompt parallel_tool_calls ",
			extra: " prefix ", max: maxTokens, ids: idsNine, keyed: true, cacheKey: true, toolName: true, systemFirst: true, lastNotAssistant: true,
		},
		{
			name: "qwen", fields: " enable_thinking thinking_budget reasoning_effort parallel_tool_calls enable_search preserve_thinking ",
			extra: " reasoning_content partial ", keyed: true,
		},
		{
			name: "openrouter", shape: shapeRouter, fields: " reasoning transforms provider models route usage parallel_tool_calls verbosity plugins session_id ",
			extra: allReasoning + " annotations ", ids: ids40, keyed: true,
		},
		{
			name: "groq", fields: " reasoning_effort reasoning_format include_reasoning service_tier parallel_tool_calls ",
			extra: " reasoning ", keyed: true,
		},
		{name: "xai", fields: " reasoning_effort parallel_tool_calls search_parameters deferred ", extra: " reasoning_content ", keyed: true},
		{name: "cerebras", fields: " reasoning_effort parallel_tool_calls ", extra: " reasoning ", keyed: true},
		{name: "ollama", fields: "*", extra: "*", max: maxTokens, stringResults: true, acceptsEmptyTools: true, silentOverflow: true},
		{name: "llamacpp", shape: shapeLlama, fields: "*", extra: "*", acceptsEmptyTools: true},
		{name: "lmstudio", shape: shapeText, fields: "*", extra: "*", acceptsEmptyTools: true},
		{name: "vllm", shape: shapeNumber, fields: "*", extra: "*", stringResults: true},
	}
}

func vendorNamed(name string) (vendor, bool) {
	for _, v := range vendors() {
		if v.name == name {
			return v, true
		}
	}
	return vendor{}, false
}

// Vendors lists the names of the strict profiles, sorted.
func Vendors() []string {
	var out []string
	for _, v := range vendors() {
		out = append(out, v.name)
	}
	slices.Sort(out)
	return out
}

// A refusal is a vendor's answer to a request that breaks a rule.
type refusal struct {
	rule        string // of wire.md §6.2
	status      int    // 0: 400
	text        string
	typ, code   string
	param       string
	used, limit int // of an overflow
}

// program renders the refusal in the vendor's body shape.
func (no *refusal) program(v vendor) *program {
	status := no.status
	if status == 0 {
		status = 400
	}
	q := func(s string) string {
		if s == "" {
			return "null"
		}
		return string(quoteJSON(nil, s))
	}
	typ := no.typ
	if typ == "" {
		typ = "invalid_request_error"
	}
	var b string
	switch v.shape {
	case shapeOpenAI:
		b = fmt.Sprintf(`{"error":{"message":%s,"type":%s,"param":%s,"code":%s}}`, q(no.text), q(typ), q(no.param), q(no.code))
	case shapeNumber:
		kind := "BadRequestError"
		if status == 401 {
			kind = "AuthenticationError"
		}
		b = fmt.Sprintf(`{"error":{"message":%s,"type":%q,"param":%s,"code":%d}}`, q(no.text), kind, q(no.param), status)
	case shapeKimi:
		b = fmt.Sprintf(`{"error":{"message":%s,"type":%s}}`, q(no.text), q(typ))
	case shapeFlat:
		if strings.HasPrefix(no.text, "[") { // validation detail
			status, b = 422, `{"detail":`+no.text+`}`
			break
		}
		b = fmt.Sprintf(`{"object":"error","message":%s,"type":%s,"param":%s,"code":%s}`, q(no.text), q(typ), q(no.param), q(no.code))
	case shapeCode:
		b = fmt.Sprintf(`{"error":{"code":%s,"message":%s}}`, q(no.code), q(no.text))
	case shapeText:
		b = fmt.Sprintf(`{"error":%s}`, q(no.text))
	case shapeLlama:
		figures := ""
		if no.limit > 0 {
			typ, figures = "exceed_context_size_error", fmt.Sprintf(`,"n_prompt_tokens":%d,"n_ctx":%d`, no.used, no.limit)
		}
		b = fmt.Sprintf(`{"error":{"code":%d,"message":%s,"type":%s%s}}`, status, q(no.text), q(typ), figures)
	case shapeRouter:
		b = fmt.Sprintf(`{"error":{"code":%d,"message":%s,"metadata":{"provider_name":"Scripted"}}}`, status, q(no.text))
	}
	return &program{status: status, body: []byte(b)}
}

// overflow is the vendor's answer to a prompt of used tokens where limit fit (wire.md §3.1); max is the output limit asked
// for, 0 if none. Nil: the request fits, or the vendor says nothing.
func (v vendor) overflow(used, limit, maxOut int) *refusal {
	if v.name == "vllm" && used <= limit && used+maxOut > limit {
		return &refusal{rule: "V14", param: "max_tokens", text: fmt.Sprintf("'max_tokens' or 'max_completion_tokens' is too large: %d. "+
			"This model's maximum context length is %d tokens and your request has %d input tokens (%d > %d - %d).",
			maxOut, limit, used, maxOut, limit, used)}
	}
	if used <= limit || v.silentOverflow {
		return nil
	}
	no := &refusal{rule: "V14", used: used, limit: limit}
	switch v.name {
	case "zai":
		no.code, no.text = "1261", "Prompt exceeds max length"
	case "kimi":
		no.text = fmt.Sprintf("Invalid request: Your request exceeded model token limit: %d (requested: %d)", limit, used)
	case "mistral":
		no.code, no.text = "3051", fmt.Sprintf("Prompt contains %d tokens and 0 draft tokens, too large for model with %d maximum context length", used, limit)
	case "qwen":
		no.code, no.text = "invalid_parameter_error", fmt.Sprintf("<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, %d]", limit)
	case "groq":
		no.code, no.param, no.text = "context_length_exceeded", "messages", "Please reduce the length of the messages or completion."
	case "cerebras":
		no.code, no.param = "context_length_exceeded", "messages"
		no.text = fmt.Sprintf("Please reduce the length of the messages or completion. Current length is %d while limit is %d", used, limit)
	case "xai":
		no.text = fmt.Sprintf("This model's maximum prompt length is %d but the request contains %d tokens.", limit, used)
	case "llamacpp":
		no.text = fmt.Sprintf("request (%d tokens) exceeds the available context size (%d tokens), try increasing it", used, limit)
	case "lmstudio":
		no.text = fmt.Sprintf("The number of tokens to keep from the initial prompt is greater than the context length (n_keep: %d>= n_ctx: %d). "+
			"Try to load the model with a larger context length, or provide a shorter input.", used, limit)
	case "vllm":
		no.param = "input_tokens"
		no.text = fmt.Sprintf("You passed %d input tokens and requested %d output tokens. However, the model's context length is only %d tokens, "+
			"resulting in a maximum input length of %d tokens. Please reduce the length of the input prompt.", used, maxOut, limit, limit-maxOut)
	case "openrouter":
		no.text = fmt.Sprintf("This endpoint's maximum context length is %d tokens. However, you requested about %d tokens (%d of text input). "+
			"Please reduce the length of either one, or use the \"middle-out\" transform to compress your prompt automatically.", limit, used, used)
	default:
		no.code, no.param = "context_length_exceeded", "messages"
		no.text = fmt.Sprintf("This model's maximum context length is %d tokens. However, your messages resulted in %d tokens. "+
			"Please reduce the length of the messages.", limit, used)
	}
	return no
}
