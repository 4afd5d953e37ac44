package providers

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// A Refused is an answer that is no reply: an HTTP error, or an error object
// in an answer of status 200 or in a stream (Status 0).
type Refused struct {
	Status      int
	Header      http.Header
	Body        []byte
	ContentType string
	Host        string // host[:port]
	Secrets     []string
	Now         time.Time
}

// Classify makes a typed error of a refusal (PRV-6; wire.md §3, §1.7).
func Classify(r Refused) *Error {
	c := reading(r.Body)
	if strings.Contains(strings.ToLower(r.ContentType), "text/html") && len(r.Body) > 0 && !c.json.Exists() {
		c.html = true
	}
	status := r.Status
	if (status == 0 || status/100 == 2) && c.status != 0 {
		status = c.status
	}
	e := &Error{Status: status, Host: r.Host, Code: c.code, Param: c.param}
	if e.Code == "" || numeric(e.Code) && c.typ != "" && len(e.Code) == 3 {
		e.Code = c.typ
	}
	e.Message = Redact(c.message, r.Secrets...)
	e.After, e.Told = delayOf(r.Header, c, r.Now)
	if c.html && status == http.StatusRequestEntityTooLarge {
		e.Kind, e.Sub, e.Message = ContextLength, "bytes", fmt.Sprintf("%s takes no request of this size (status 413)", r.Host)
		return e
	}
	if c.html {
		e.Kind, e.Retry = Gateway, transient(status)
		e.Message = fmt.Sprintf("%s answered with a web page (status %d)", r.Host, r.Status)
		e.order(r.Header)
		return e
	}
	if limit, used, over := tierOf(c.all); over {
		e.Kind, e.Limit, e.Used = TooLargeForTier, limit, used
		return e
	}
	if o, ok := overflowOf(status, r.Host, c); ok {
		e.Kind, e.Sub, e.Limit, e.Used, e.LimitKind = ContextLength, o.sub, o.limit, o.used, o.kind
		if e.Message == "" {
			e.Message = "the request is too large"
		}
		return e
	}
	e.Kind, e.Retry = kindOf(status, r, c, e)
	if e.Message == "" {
		e.Message = strings.TrimSpace(http.StatusText(status) + " (no text)")
	}
	e.order(r.Header)
	return e
}

// order obeys x-should-retry, which says more than a status.
func (e *Error) order(h http.Header) {
	switch h.Get("X-Should-Retry") {
	case "true":
		e.Retry = true
	case "false":
		e.Retry = false
	}
}

// transient says whether a status alone is worth another attempt.
func transient(status int) bool {
	switch status {
	case 408, 409, 429, 498, 499, 500, 502, 503, 504, 529:
		return true
	}
	return status >= 520 && status <= 524
}

// kindOf is the ladder below overflow: what somebody must pay for, what must
// be allowed, what passes, then what the status says.
func kindOf(status int, r Refused, c complaint, e *Error) (ErrorKind, bool) {
	word := strings.ToLower(c.message)
	code, typ := strings.ToLower(c.code), strings.ToLower(c.typ)
	is := func(names ...string) bool {
		for _, n := range names {
			if code == n || typ == n {
				return true
			}
		}
		return false
	}
	says := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(word, p) {
				return true
			}
		}
		return false
	}
	if status == 429 || is("resource_exhausted") {
		if k, ok := google(c, e); ok {
			return k, k == RateLimit
		}
	}
	switch {
	case says("allocated quota exceeded") || is("throttling.allocationquota", "throttling.ratequota", "throttling"):
		return RateLimit, true
	case is("subscription_sharing_usage_limit_unavailable"):
		return RateLimit, true
	case status == 402,
		is("insufficient_quota", "credit_balance_exhausted", "organization_spend_limit_exceeded", "project_spend_limit_exceeded",
			"organization_usage_limit_exceeded", "usage_limit_reached", "usage_not_included", "subscription_sharing_usage_limit_exceeded",
			"billing_error", "exceeded_current_quota_error", "quote_exceeded", "insufficient_credit", "arrearage",
			"gousagelimiterror", "freeusagelimiterror", "1113", "1308", "1309", "1310"),
		says("exceeded your current quota", "credit balance is too low", "spend limit", "insufficient balance", "insufficient credits",
			"usage limit for this", "monthly usage limit", "usage limit reached", "free-models-per-day"):
		return Quota, false
	case status == 401, is("authentication_error", "invalid_authentication_error", "incorrect_api_key_error", "invalid_api_key", "unauthenticated",
		"access_terminated_error"),
		says("api key not valid", "invalid api key", "incorrect api key", "failed to refresh cached credentials"),
		strings.Contains(c.raw(), "API_KEY_INVALID"):
		return Auth, false
	case is("content_filter", "content_policy_violation", "bio_policy", "cyber_policy", "misalignment_policy_violation",
		"responsibleaipolicyviolation", "data_inspection_failed", "datainspectionfailed", "1301"),
		status == 403 && c.json.Get("error.metadata.reasons").Exists():
		return ContentFilter, false
	case status == 403, is("permission_error", "permission_denied"):
		return Auth, false
	case is("overloaded_error", "server_is_overloaded", "slow_down", "engine_overloaded_error", "unavailable", "capacity_exceeded", "unavailable_error"),
		status == 529, status == 503, status == 498, says("engine is currently overloaded"):
		return Overloaded, true
	case status == 429, is("rate_limit_error", "rate_limit_exceeded", "rate_limit_reached_error", "too_many_requests", "1302", "1303", "1305"),
		says("too many requests", "throttlingexception", "rate limit reached"):
		return RateLimit, true
	case is("model_not_found", "not_found_error", "not_found"), status == 404:
		return NotFound, false
	case is("timeout_error", "deadline_exceeded"), status == 408:
		return Timeout, true
	case is("tool_use_failed"): // the model wrote a call that does not parse: another sample may
		return BadRequest, true
	case is("invalid_request_error", "invalid_prompt", "invalid_argument", "badrequesterror", "invalidparameter", "failed_precondition") && status < 500:
		return BadRequest, false
	case status >= 500, status == 499, status == 409:
		return Server, transient(status)
	case status >= 400:
		return BadRequest, false
	case status >= 300:
		return Gateway, false
	}
	// No status: an error object in a stream, or in an answer of status 200.
	if strings.Contains(code+typ, "invalid") || strings.Contains(code+typ, "badrequest") {
		return BadRequest, false
	}
	return Server, true
}

// google tells a short rate limit from a quota: its words are the same, its
// details are not (wire.md §3.5).
func google(c complaint, e *Error) (ErrorKind, bool) {
	details := c.json.Get("error.details")
	if !details.IsArray() {
		return "", false
	}
	wait, perDay := time.Duration(-1), false
	details.ForEach(func(_, d gjson.Result) bool {
		if v, err := time.ParseDuration(d.Get("retryDelay").String()); err == nil {
			wait = v
		}
		for _, q := range d.Get("violations").Array() {
			perDay = perDay || strings.Contains(q.Get("quotaId").String(), "PerDay")
		}
		return true
	})
	switch {
	case perDay, wait > 5*time.Minute, strings.Contains(c.message, "limit: 0"):
		return Quota, true
	case wait >= 0:
		e.After, e.Told = wait, true
		return RateLimit, true
	}
	return "", false
}
