package providers_test

import (
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"varve/internal/providers"
	"varve/internal/session"
)

// PRV-6: wire.md §1.7, §3.4-3.6 and the rows H21-H27
func TestKinds(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		body   string
		kind   providers.ErrorKind
		retry  bool
		text   string
	}{
		{"openai 401", 401, `{"error":{"message":"Incorrect API key provided: sk-abcdefghijkl. You can find","type":"invalid_request_error","code":"invalid_api_key"}}`, providers.Auth, false, "Incorrect API key provided: [key] You can find"},
		{"gemini key", 400, `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"@type":"x","reason":"API_KEY_INVALID"}]}}`, providers.Auth, false, "API key not valid. Please pass a valid API key."},
		{"403", 403, `{"type":"error","error":{"type":"permission_error","message":"no"}}`, providers.Auth, false, "no"},
		{"H24", 403, `{"error":{"code":403,"message":"Input was flagged","metadata":{"reasons":["violence"]}}}`, providers.ContentFilter, false, "Input was flagged: violence"},
		{"404 model", 404, `{"error":{"message":"The model x does not exist","code":"model_not_found"}}`, providers.NotFound, false, "The model x does not exist"},
		{"detail", 404, `{"detail":"Not Found"}`, providers.NotFound, false, "Not Found"},
		{"422 list", 422, `{"detail":[{"msg":"field required"}]}`, providers.BadRequest, false, `[{"msg":"field required"}]`},
		{"429", 429, `{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}`, providers.RateLimit, true, "Rate limit reached"},
		{"insufficient_quota", 429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","code":"insufficient_quota"}}`, providers.Quota, false, "You exceeded your current quota, please check your plan and billing details."},
		{"402", 402, `{"error":{"message":"Insufficient Balance"}}`, providers.Quota, false, "Insufficient Balance"},
		{"anthropic credit", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`, providers.Quota, false, "Your credit balance is too low to access the Anthropic API."},
		{"overloaded", 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, providers.Overloaded, true, "Overloaded"},
		{"H33", 503, `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`, providers.Overloaded, true, "Loading model"},
		{"500", 500, `{"error":{"message":"boom","type":"server_error"}}`, providers.Server, true, "boom"},
		{"501", 501, `{"error":{"message":"no"}}`, providers.Server, false, "no"},
		{"520", 520, ``, providers.Server, true, "(no text)"},
		{"408", 408, `{"error":{"message":"slow"}}`, providers.Timeout, true, "slow"},
		{"409", 409, `{"error":{"message":"conflict"}}`, providers.Server, true, "conflict"},
		{"groq flex", 498, `{"error":{"message":"capacity","code":"capacity_exceeded"}}`, providers.Overloaded, true, "capacity"},
		{"groq tool_use_failed", 400, `{"error":{"message":"Failed to call a function.","code":"tool_use_failed","failed_generation":"<function"}}`, providers.BadRequest, true, "Failed to call a function."},
		{"H25 1302", 429, `{"error":{"code":"1302","message":"High concurrency"}}`, providers.RateLimit, true, "High concurrency"},
		{"H25 1308", 429, `{"error":{"code":"1308","message":"Usage limit"}}`, providers.Quota, false, "Usage limit"},
		{"H25 1113", 429, `{"error":{"code":"1113","message":"no resource package"}}`, providers.Quota, false, "no resource package"},
		{"H25 1113 in 200", 200, `{"error":{"code":1113,"message":"no resource package"}}`, providers.Quota, false, "no resource package"},
		{"H25 1113 as anthropic", 429, `{"type":"error","error":{"type":"rate_limit_error","code":"1113","message":"no resource package"}}`, providers.Quota, false, "no resource package"},
		{"H26 busy", 429, `{"error":{"type":"engine_overloaded_error","message":"The engine is currently overloaded, please try again later"}}`, providers.Overloaded, true, "The engine is currently overloaded, please try again later"},
		{"H26 cycle", 403, `{"error":{"type":"access_terminated","message":"You've reached your usage limit for this billing cycle."}}`, providers.Quota, false, "You've reached your usage limit for this billing cycle."},
		{"H26 balance", 429, `{"error":{"type":"exceeded_current_quota_error","message":"Your account is suspended due to insufficient balance"}}`, providers.Quota, false, "Your account is suspended due to insufficient balance"},
		{"H26b", 429, `{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"12s"}]}}`, providers.RateLimit, true, "You exceeded your current quota, please check your plan and billing details."},
		{"gemini day", 429, `{"error":{"code":429,"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"GenerateRequestsPerDayPerProject"}]},{"retryDelay":"12s"}]}}`, providers.Quota, false, "You exceeded your current quota"},
		{"H27", 429, `{"error":{"code":"insufficient_quota","message":"Allocated quota exceeded, please increase your quota limit."}}`, providers.RateLimit, true, "Allocated quota exceeded, please increase your quota limit."},
		{"C55", 0, `{"error":{"code":502,"message":"Provider returned error","metadata":{"raw":"upstream <b>timed</b> out","provider_name":"X"}}}`, providers.Server, true, "Provider returned error: upstream <b>timed</b> out"},
		{"C58", 0, `{"error":{"message":"EngineCore encountered an issue","type":"InternalServerError","code":500}}`, providers.Server, true, "EngineCore encountered an issue"},
		{"C60", 200, `{"error":{"code":429,"message":"slow down"}}`, providers.RateLimit, true, "slow down"},
		{"bare in stream", 0, `{"error":"something"}`, providers.Server, true, "something"},
		{"text", 500, "plain\r\n text", providers.Server, true, "plain text"},
		{"login page", 200, `<!DOCTYPE html><html><body>Sign in</body></html>`, providers.Gateway, false, "api.example.com answered with a web page (status 200)"},
		{"html 403", 403, `<html><head><title>403</title></head></html>`, providers.Gateway, false, "api.example.com answered with a web page (status 403)"},
		{"H22 html 504", 504, `<html>gateway</html>`, providers.Gateway, true, "api.example.com answered with a web page (status 504)"},
		{"mistral", 422, `{"object":"error","message":"bad role","type":"invalid_request_error","code":"1"}`, providers.BadRequest, false, "bad role"},
		{"policy", 400, `{"error":{"code":"content_policy_violation","message":"no"}}`, providers.ContentFilter, false, "no"},
		{"responses failed", 0, `{"type":"response.failed","response":{"error":{"code":"server_is_overloaded","message":"busy"}}}`, providers.Overloaded, true, "busy"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := classify(c.status, "api.example.com", c.body)
			if e.Kind != c.kind || e.Retry != c.retry {
				t.Errorf("got %s retry %v, want %s retry %v", e.Kind, e.Retry, c.kind, c.retry)
			}
			if e.Message != c.text {
				t.Errorf("message %q, want %q", e.Message, c.text)
			}
		})
	}
}

// H19-H21; case STR-16
func TestDelays(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name   string
		header http.Header
		body   string
		want   time.Duration
		told   bool
	}{
		{"seconds", http.Header{"Retry-After": {"2"}}, ``, 2 * time.Second, true},
		{"fraction", http.Header{"Retry-After": {"1.5"}}, ``, 1500 * time.Millisecond, true},
		{"date", http.Header{"Retry-After": {"Mon, 30 Nov 2026 12:00:07 GMT"}}, ``, 7 * time.Second, true},
		{"past date", http.Header{"Retry-After": {"Mon, 30 Nov 2026 11:00:00 GMT"}}, ``, 0, true},
		{"ms first", http.Header{"Retry-After": {"9"}, "Retry-After-Ms": {"250"}}, ``, 250 * time.Millisecond, true},
		{"negative", http.Header{"Retry-After": {"-5"}}, ``, 0, true},
		{"long", http.Header{"Retry-After": {"7200"}}, ``, 2 * time.Hour, true},
		{"junk", http.Header{"Retry-After": {"soon"}}, ``, 0, false},
		{"words", nil, msg("Please try again in 1m12.5s."), 72500 * time.Millisecond, true},
		{"ms words", nil, msg("Please retry in 250ms."), 250 * time.Millisecond, true},
		{"long words", nil, msg("try again in 2 minutes"), 2 * time.Minute, true},
		{"hours", nil, msg("try again in 1h"), time.Hour, true},
		{"later", nil, msg("try again later"), 0, false},
		{"RetryInfo", nil, `{"error":{"message":"x","details":[{"retryDelay":"34.07s"}]}}`, 34070 * time.Millisecond, true},
		{"resets_at", nil, `{"error":{"message":"x","code":"usage_limit_reached","resets_at":1796040060}}`, time.Minute, true},
		{"resets_in", nil, `{"error":{"message":"x","resets_in_seconds":90}}`, 90 * time.Second, true},
		{"spent", http.Header{"X-Ratelimit-Remaining-Tokens": {"0"}, "X-Ratelimit-Reset-Tokens": {"6m0s"}}, msg("x"), 6 * time.Minute, true},
		{"not spent", http.Header{"X-Ratelimit-Remaining-Tokens": {"5"}, "X-Ratelimit-Reset-Tokens": {"6m0s"}}, msg("x"), 0, false},
		{"anthropic", http.Header{"Anthropic-Ratelimit-Tokens-Remaining": {"0"}, "Anthropic-Ratelimit-Tokens-Reset": {"2026-11-30T12:00:30Z"}}, msg("x"), 30 * time.Second, true},
		{"none", nil, msg("x"), 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.header == nil {
				c.header = http.Header{}
			}
			e := providers.Classify(providers.Refused{Status: 429, Header: c.header, Body: []byte(c.body), Host: "h", Now: now})
			if e.After != c.want || e.Told != c.told {
				t.Errorf("got %v told %v, want %v told %v", e.After, e.Told, c.want, c.told)
			}
		})
	}
	for _, c := range []struct {
		status int
		say    string
		want   bool
	}{{503, "false", false}, {400, "true", true}, {503, "", true}, {400, "", false}} {
		e := providers.Classify(providers.Refused{Status: c.status, Header: http.Header{"X-Should-Retry": {c.say}}, Body: []byte(msg("x"))})
		if e.Retry != c.want {
			t.Errorf("status %d, x-should-retry %q: retry %v", c.status, c.say, e.Retry)
		}
	}
}

// SEC: no message holds a key, and each is one short line.
func TestMessages(t *testing.T) {
	e := providers.Classify(providers.Refused{
		Status: 400, Header: http.Header{}, Secrets: []string{"my-secret-1", "s3cr3t-header"},
		Body: []byte(`{"error":{"message":"bad my-secret-1 and s3cr3t-header, Bearer abcdef123456, https://h/?key=qwertz&x=1, AIzaSyA123456789012345678901234567890\nnext\u001b[31m"}}`),
	})
	if want := "bad [key] and [key], Bearer [key], https://h/?key=[key]&x=1, [key] next [31m"; e.Message != want {
		t.Errorf("got %q, want %q", e.Message, want)
	}
	long := providers.OneLine(strings.Repeat("漢", 5<<20))
	if len(long) > providers.MessageLimit || !utf8.ValidString(long) {
		t.Errorf("%d bytes", len(long))
	}
	if got := providers.OneLine("a\xFFb\t\n c "); got != "a\uFFFDb c" {
		t.Errorf("got %q", got)
	}
}

// wire.md §3.7; H28, H29
func TestRepairs(t *testing.T) {
	for _, c := range []struct {
		name, text string
		has        string
		want       string
	}{
		{"max_tokens", "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", "max_tokens", "max_field=max_completion_tokens"},
		{"reverse", "Unrecognized request argument supplied: max_completion_tokens", "max_completion_tokens", "max_field=max_tokens"},
		{"not sent", "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", "max_completion_tokens", ""},
		{"stream_options", "Unknown parameter: 'stream_options'.", "stream_options", "drop=stream_options"},
		{"extra", "body.prompt_cache_key: Extra inputs are not permitted", "prompt_cache_key", "drop=prompt_cache_key"},
		{"store", "Unknown parameter: 'store'", "store", "drop=store"},
		{"effort value", "Unsupported value: 'reasoning_effort' does not support 'xhigh' with this model.", "reasoning_effort", "drop=reasoning_effort"},
		{"developer", "developer is not one of ['system', 'assistant', 'user', 'tool'] - 'messages.['0].role'", "role:developer", "role=system"},
		{"reasoning", "The `reasoning_content` in the thinking mode must be passed back to the API.", "", "reasoning=everywhere"},
		{"kimi", "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2", "", "reasoning=everywhere"},
		{"refused reasoning", "Unknown parameter: 'messages[0].reasoning_content'.", "message:reasoning_content", "reasoning=none"},
		{"english", "This store is not supported", "store", ""},
		{"other", "messages: at least one is required", "store", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := classify(400, "h", msg(c.text))
			got := ""
			for _, q := range providers.Repairs(e, func(f string) bool { return f == c.has }) {
				got = q.Quirk + "=" + q.Value
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	if got := providers.Repairs(classify(401, "h", msg("Unknown parameter: 'store'")), func(string) bool { return true }); got != nil {
		t.Errorf("learned from a 401: %v", got)
	}
	for _, status := range []int{401, 403, 404, 413, 415, 429, 503} { // such a status is not about the field that is named
		e := &providers.Error{Kind: providers.BadRequest, Status: status, Message: "Unknown parameter: 'store'"}
		if got := providers.Repairs(e, func(string) bool { return true }); got != nil {
			t.Errorf("learned from status %d: %v", status, got)
		}
	}
	var none []session.EndpointLearned
	if d := cmp.Diff(none, providers.Repairs(nil, nil)); d != "" {
		t.Error(d)
	}
}
