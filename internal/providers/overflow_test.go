package providers_test

import (
	"fmt"
	"net/http"
	"testing"

	"varve/internal/providers"
)

func classify(status int, host, body string) *providers.Error {
	return providers.Classify(providers.Refused{Status: status, Host: host, Body: []byte(body), Header: http.Header{}})
}

func msg(text string) string {
	return fmt.Sprintf(`{"error":{"message":%q,"type":"invalid_request_error"}}`, text)
}

// case STR-23: every vendor's way to say "too large", with its figures. H01-H13
func TestOverflowOfEachVendor(t *testing.T) {
	for _, c := range []struct {
		id          string
		status      int
		body        string
		sub         string
		limit, used int
		kind        string
	}{
		{"A1", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 213462 tokens > 200000 maximum"}}`, "input", 200000, 213462, "total"},
		{"A1 bare", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Prompt is too long"}}`, "input", 0, 0, ""},
		{"F1", 400, msg("The prompt is too long: 140000, model maximum context length: 131072"), "input", 131072, 140000, "total"},
		{"A2", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"input length and ` + "`max_tokens`" + ` exceed context limit: 190000 + 20000 > 200000, decrease input length or ` + "`max_tokens`" + ` and try again"}}`, "budget", 200000, 190000, "total"},
		{"A3", 413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, "bytes", 0, 0, ""},
		{"A3 bytes", 413, msg("Request exceeds the maximum allowed number of bytes."), "bytes", 0, 0, ""},
		{"A3 entity", 413, msg("Request Entity Too Large"), "bytes", 0, 0, ""},
		{"A4", 400, `{"message":"Input is too long for requested model."}`, "input", 0, 0, ""},
		{"C0 budget", 400, msg("This model's maximum context length is 8192 tokens. However, you requested 1000 output tokens and your prompt contains at least 7500 input tokens, for a total of at least 8500 tokens."), "budget", 8192, 7500, "total"},
		{"C0 input", 400, msg("This model's maximum context length is 8192 tokens. However, you requested 1 output tokens and your prompt contains at least 8192 input tokens"), "input", 8192, 8192, "total"},
		{"C8", 400, msg("'max_tokens' or 'max_completion_tokens' is too large: 32000. This model's maximum context length is 32768 tokens and your request has 1500 input tokens (32000 > 32768 - 1500)."), "budget", 32768, 1500, "total"},
		{"C1", 400, `{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 130512 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, "input", 128000, 130512, "total"},
		{"C1 requested", 400, msg("This model's maximum context length is 65536 tokens. However, you requested 70021 tokens (66021 in the messages, 4000 in the completion)."), "input", 65536, 70021, "total"},
		{"C1 about", 400, msg("This endpoint's maximum context length is 131072 tokens. However, you requested about 146110 tokens (13910 of text input, 132200 in the output). Please reduce the length of either one"), "budget", 131072, 146110, "total"},
		{"C1 of", 400, msg("Requested token count exceeds the model's maximum context length of 163840 tokens. You requested a total of 170000 tokens: 160000 tokens from the input messages and 10000 tokens for the completion."), "input", 163840, 170000, "total"},
		{"C1 comma", 400, msg("maximum context length is 1,048,576 tokens"), "input", 1048576, 0, "total"},
		{"C2", 400, msg("Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300123 tokens."), "input", 272000, 300123, "input"},
		{"C3", 400, `{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","code":"context_length_exceeded"}}`, "input", 0, 0, ""},
		{"C4", 400, `{"object":"error","message":"You passed 40961 input tokens and requested 0 output tokens. However, the model's context length is only 40960 tokens","type":"BadRequestError","param":"input_tokens","code":400}`, "input", 40960, 40961, "total"},
		{"C5", 400, msg("the model's context length is only 40960"), "input", 40960, 0, "total"},
		{"C6", 400, msg("max_tokens=50000 cannot be greater than max_model_len=max_total_tokens=32768"), "budget", 32768, 0, "total"},
		{"C7", 400, msg("The input (40000 tokens) is longer: Input length (40000 tokens) exceeds the maximum allowed input length (32762 tokens)"), "input", 32762, 40000, "total"},
		{"C7 baseten", 400, msg("Input length 131073 exceeds the maximum context length of 131072"), "input", 131072, 131073, "total"},
		{"L1", 400, `{"error":{"code":400,"message":"request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":8192}}`, "input", 8192, 9000, "total"},
		{"L1 text", 400, msg("request (9000 tokens) exceeds the available context size (8192 tokens)"), "input", 8192, 9000, "total"},
		{"L2", 400, msg("the request exceeds the available context size. try increasing the context size or enable context shift"), "input", 0, 0, ""},
		{"L3", 500, msg("input (9000 tokens) is larger than the max context size (8192 tokens). skipping"), "input", 8192, 9000, "total"},
		{"L4", 500, `{"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}`, "input", 0, 0, ""},
		{"M1", 400, `{"error":"The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 13055>= n_ctx: 4096). Try to load the model with a larger context length, or provide a shorter input"}`, "input", 4096, 13055, "total"},
		{"M2", 400, `{"error":"Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough."}`, "input", 4096, 5000, "total"},
		{"M3", 400, `{"error":"The number of tokens to keep from the initial prompt is greater than the context length."}`, "input", 0, 0, ""},
		{"O1", 400, `{"error":{"message":"prompt too long; exceeded max context length by 512 tokens"}}`, "input", 0, 0, ""},
		{"O3", 400, `{"error":"the input length exceeds the context length"}`, "input", 0, 0, ""},
		{"G1", 400, `[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]`, "input", 1048576, 1200000, "total"},
		{"G1 bare", 400, `{"error":{"code":400,"message":"The input token count exceeds the maximum number of tokens allowed 1048575.","status":"INVALID_ARGUMENT"}}`, "input", 1048575, 0, "total"},
		{"X1", 400, `{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}`, "input", 131072, 537812, "total"},
		{"Q1", 400, msg("Please reduce the length of the messages or completion."), "input", 0, 0, ""},
		{"T1", 403, msg("The input (140000 tokens) is longer than the model's context length (131072 tokens)."), "input", 131072, 140000, "total"},
		{"H1", 422, "{\"error\":\"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens and 200 `max_new_tokens`\",\"error_type\":\"validation\"}", "budget", 4096, 4000, "total"},
		{"I1", 400, `{"object":"error","message":"Prompt contains 40960 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_message","code":"3051"}`, "input", 32768, 40960, "total"},
		{"K1", 400, `{"error":{"message":"Invalid request: Your request exceeded model token limit: 262144 (requested: 290000)","type":"invalid_request_error"}}`, "input", 262144, 290000, "total"},
		{"K2", 400, msg("Input token length too long"), "input", 0, 0, ""},
		{"K3", 400, msg("total message size 2300000 exceeds limit 2097152"), "bytes", 0, 0, ""},
		{"N1", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"invalid params, context window exceeds limit (2013)"}}`, "input", 0, 0, ""},
		{"P1", 400, `{"error":{"message":"prompt token count of 130000 exceeds the limit of 128000","code":"model_max_prompt_tokens_exceeded"}}`, "input", 128000, 130000, "total"},
		{"P1 413", 413, `{"error":{"message":"failed to parse request"}}`, "bytes", 0, 0, ""},
		{"V1", 400, msg("Input too long: 210000 input tokens, limit is 200000"), "input", 200000, 210000, "total"},
		{"D1", 400, `{"code":"InvalidParameter","message":"Range of input length should be [1, 983616]","request_id":"x"}`, "input", 983616, 0, "input"},
		{"Z1", 400, `{"error":{"code":"1261","message":"Prompt exceeds max length"}}`, "input", 0, 0, ""},
		{"Z1 code", 400, `{"error":{"code":1261,"message":"请求超长"}}`, "input", 0, 0, ""},
		{"B1", 400, msg("Please reduce the length of the messages or completion. Current length is 140000 while limit is 131072"), "input", 131072, 140000, "total"},
		{"S1", 400, msg("prompt has 9000 tokens, but the configured context size is 8192 tokens"), "input", 8192, 9000, "total"},
		{"Y1", 400, msg("input tokens [9000] exceed context window [8192]"), "input", 8192, 9000, "total"},
		{"W1", 400, msg("context window exceeded"), "input", 0, 0, ""},
		{"W1 class", 400, msg("litellm.ContextWindowExceededError: ContextWindow_Exceeded"), "input", 0, 0, ""},
		{"W2", 400, `{"error":{"message":"too much","code":"context_length_exceeded"}}`, "input", 0, 0, ""},
		{"W3", 400, msg("Token limit exceeded"), "input", 0, 0, ""},
		{"413", 413, `{"error":{"message":"nope"}}`, "bytes", 0, 0, ""},
		{"413 empty", 413, ``, "bytes", 0, 0, ""},
		{"413 page", 413, "<html><head><title>413 Request Entity Too Large</title></head></html>", "bytes", 0, 0, ""},
		{"router", 400, `{"error":{"code":400,"message":"Provider returned error","metadata":{"raw":"{\"error\":{\"message\":\"prompt is too long: 213462 tokens > 200000 maximum\"}}","provider_name":"Anthropic"}}}`, "input", 200000, 213462, "total"},
		{"in a stream", 0, `{"type":"error","sequence_number":2,"error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"Your input exceeds the context window","param":"input"}}`, "input", 0, 0, ""},
	} {
		t.Run(c.id, func(t *testing.T) {
			e := classify(c.status, "api.example.com", c.body)
			if e.Kind != providers.ContextLength || e.Retry {
				t.Fatalf("kind %s retry %v, want context_length: %s", e.Kind, e.Retry, e.Message)
			}
			if e.Sub != c.sub || e.Limit != c.limit || e.Used != c.used || e.LimitKind != c.kind {
				t.Errorf("got %s %d/%d %q, want %s %d/%d %q", e.Sub, e.Limit, e.Used, e.LimitKind, c.sub, c.limit, c.used, c.kind)
			}
		})
	}
	if e := classify(400, "api.cerebras.ai", ""); e.Kind != providers.ContextLength || e.Sub != "input" { // H13
		t.Errorf("cerebras: %v", e)
	}
}

// case STR-23: what only sounds like it. H14, H15, A22
func TestNoOverflow(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		body   string
		want   providers.ErrorKind
	}{
		{"output limit", 400, msg("max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for claude"), providers.BadRequest},
		{"gemini range", 400, `{"error":{"code":400,"message":"Unable to submit request because it has a maxOutputTokens value of 100000 but the supported range is from 1 (inclusive) to 65537 (exclusive).","status":"INVALID_ARGUMENT"}}`, providers.BadRequest},
		{"max_tokens must be", 400, msg("max_tokens must be at most 4096"), providers.BadRequest},
		{"image", 400, msg("messages.0.content.1.image: image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes"), providers.BadRequest},
		{"tool name", 400, `{"error":{"message":"Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64","code":"string_above_max_length"}}`, providers.BadRequest},
		{"401", 401, msg("prompt is too long"), providers.Auth},
		{"bedrock", 429, `{"message":"ThrottlingException: Too many tokens, please wait before trying again."}`, providers.RateLimit},
		{"bedrock 400", 400, `{"message":"ThrottlingException: Too many tokens, please wait before trying again."}`, providers.RateLimit},
		{"tpm", 429, msg("Rate limit reached for gpt-5 in organization org on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. Please try again in 2s."), providers.RateLimit},
		{"input tokens per minute", 429, `{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit of 40,000 input tokens per minute"}}`, providers.RateLimit},
		{"503", 503, msg("Service unavailable: too many tokens in queue"), providers.Overloaded},
		{"empty elsewhere", 400, ``, providers.BadRequest},
		{"plain", 400, msg("messages: at least one message is required"), providers.BadRequest},
	} {
		t.Run(c.name, func(t *testing.T) {
			if e := classify(c.status, "api.example.com", c.body); e.Kind != c.want || e.Limit != 0 {
				t.Errorf("got %s (limit %d), want %s: %s", e.Kind, e.Limit, c.want, e.Message)
			}
		})
	}
	// H15: waiting can't help, and the limit is no window.
	e := classify(413, "api.groq.com", `{"error":{"message":"Request too large for model x in organization y service tier on_demand on tokens per minute (TPM): Limit 8000, Requested 17432, please reduce your message size and try again.","type":"tokens","code":"rate_limit_exceeded"}}`)
	if e.Kind != providers.TooLargeForTier || e.Limit != 8000 || e.Used != 17432 || e.Retry || e.Learnable() {
		t.Errorf("tier: %+v", e)
	}
}

// A limit is kept as a window only where it counts tokens, is of a size that windows have, and what was sent was over it.
func TestLearnable(t *testing.T) {
	over := providers.Error{Kind: providers.ContextLength, Sub: "input", Limit: 8192, Used: 9000}
	for _, c := range []struct {
		name   string
		change func(*providers.Error)
		want   bool
	}{
		{"over the limit", func(*providers.Error) {}, true},
		{"nobody says how much was sent", func(e *providers.Error) { e.Used = 0 }, true},
		{"the answer was too large", func(e *providers.Error) { e.Sub, e.Used = "budget", 8000 }, true},
		{"bytes, not tokens", func(e *providers.Error) { e.Sub = "bytes" }, false},
		{"not over it", func(e *providers.Error) { e.Used = 8192 }, false},
		{"no limit", func(e *providers.Error) { e.Limit = 0 }, false},
		{"smaller than any window", func(e *providers.Error) { e.Limit = 511 }, false},
		{"larger than any window", func(e *providers.Error) { e.Limit, e.Used = 20_000_001, 30_000_000 }, false},
		{"another error", func(e *providers.Error) { e.Kind = providers.RateLimit }, false},
	} {
		e := over
		c.change(&e)
		if e.Learnable() != c.want {
			t.Errorf("%s: %v", c.name, !c.want)
		}
	}
	if (*providers.Error)(nil).Learnable() {
		t.Error("learned from no error")
	}
}
