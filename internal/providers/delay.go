package providers

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"
)

var waits = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:try again|retry(?:ing)?) (?:in|after) (?:about )?((?:\d+(?:\.\d+)?\s*(?:milliseconds?|ms|seconds?|sec|s|minutes?|min|m|hours?|hrs?|h)\b\s*)+|(?:\d+(?:\.\d+)?(?:ms|h|m|s))+)`)
})

var waitParts = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(\d+(?:\.\d+)?)\s*(milliseconds?|ms|seconds?|sec|s|minutes?|min|m|hours?|hrs?|h)`)
})

// delayOf finds how long the provider asks to wait, in the order of wire.md
// §3.4. What lies in the past is zero.
func delayOf(h http.Header, c complaint, now time.Time) (time.Duration, bool) {
	if d, ok := scaled(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d, true
	}
	if v := strings.TrimSpace(h.Get("Retry-After")); v != "" {
		if d, ok := scaled(v, time.Second); ok {
			return d, true
		}
		if t, err := http.ParseTime(v); err == nil {
			return until(t, now), true
		}
	}
	if m := waits().FindStringSubmatch(c.message); m != nil {
		if d := compound(m[1]); d > 0 {
			return d, true
		}
	}
	for _, d := range c.json.Get("error.details").Array() {
		if v := d.Get("retryDelay").String(); v != "" {
			if wait, err := time.ParseDuration(v); err == nil {
				return max(wait, 0), true
			}
		}
	}
	for _, path := range []string{"error.resets_at", "resets_at"} {
		if n := c.json.Get(path); n.Type == gjson.Number {
			return until(time.Unix(n.Int(), 0), now), true
		}
	}
	for _, path := range []string{"error.resets_in_seconds", "resets_in_seconds"} {
		if n := c.json.Get(path); n.Type == gjson.Number {
			return max(time.Duration(n.Float()*float64(time.Second)), 0), true
		}
	}
	for _, what := range []string{"Requests", "Tokens"} {
		if left := h.Get("X-Ratelimit-Remaining-" + what); left == "0" {
			if d, err := time.ParseDuration(h.Get("X-Ratelimit-Reset-" + what)); err == nil {
				return max(d, 0), true
			}
		}
	}
	// OpenRouter: one reset, in milliseconds since 1970.
	if n, err := strconv.ParseInt(h.Get("X-Ratelimit-Reset"), 10, 64); err == nil && n > 1e12 && h.Get("X-Ratelimit-Remaining") == "0" {
		return until(time.UnixMilli(n), now), true
	}
	var wait time.Duration
	told := false
	for name, values := range h {
		if strings.HasPrefix(name, "Anthropic-Ratelimit-") && strings.HasSuffix(name, "-Reset") && len(values) > 0 {
			if left := h.Get(strings.TrimSuffix(name, "Reset") + "Remaining"); left != "" && left != "0" {
				continue
			}
			if t, err := time.Parse(time.RFC3339, values[0]); err == nil {
				wait, told = max(wait, until(t, now)), true
			}
		}
	}
	return wait, told
}

func until(t, now time.Time) time.Duration { return max(t.Sub(now), 0) }

func scaled(v string, unit time.Duration) (time.Duration, bool) {
	f, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
	if err != nil || f != f || f > 1e9 {
		return 0, false
	}
	return max(time.Duration(f*float64(unit)), 0), true
}

// compound reads "1m12.5s", "250ms", "2 minutes".
func compound(s string) time.Duration {
	var sum float64
	for _, m := range waitParts().FindAllStringSubmatch(s, -1) {
		f, err := strconv.ParseFloat(m[1], 64)
		if err != nil || f > 1e9 {
			return 0
		}
		switch u := strings.ToLower(m[2]); {
		case u == "ms" || strings.HasPrefix(u, "milli"):
			sum += f * float64(time.Millisecond)
		case u[0] == 'm':
			sum += f * float64(time.Minute)
		case u[0] == 'h':
			sum += f * float64(time.Hour)
		default:
			sum += f * float64(time.Second)
		}
	}
	return time.Duration(sum)
}
