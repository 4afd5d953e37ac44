package providers

import (
	"regexp"
	"strings"
	"sync"

	"varve/internal/session"
)

// The quirks that an endpoint can show (wire.md §3.7). They are recorded as
// endpoint.learned, and every later request is made with them.
const (
	QuirkDrop      = "drop"      // Value is a top-level field that is refused
	QuirkMaxField  = "max_field" // Value is the name of the output limit's field
	QuirkRole      = "role"      // Value is the role of the instructions
	QuirkReasoning = "reasoning" // Value is "everywhere": each assistant message carries the field, or "none"
)

var refusals = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?is)unsupported (?:parameter|value)|unknown (?:parameter|field|name)|unrecognized (?:request argument|key|field)|extra (?:inputs?|fields?) (?:are )?not permitted|not (?:supported|permitted|allowed|recognized|valid)|isn't supported|does not support|unexpected (?:keyword|field|parameter|property)|invalid (?:parameter|field|argument)|only supported|extra_forbidden|additional properties`)
})

// droppable are the fields that a request can do without.
func droppable() []string {
	return []string{
		"parallel_tool_calls", "stream_options", "store", "reasoning_effort", "reasoning_format", "reasoning",
		"prompt_cache_key", "prompt_cache_retention", "prompt_cache_options", "thinking", "enable_thinking", "tool_stream",
		"transforms", "temperature", "chat_template_kwargs", "include", "text", "service_tier",
	}
}

// Repairs reads from a refusal what to change, so that the same request can
// be sent once more. has says whether the request carried a top-level field;
// "message:F" asks about a field of any message, "role:R" about the first role.
// Only what it carried can be taken out, so repairs come to an end.
func Repairs(e *Error, has func(field string) bool) []session.EndpointLearned {
	if e == nil || e.Kind != BadRequest && e.Kind != Server || e.Status != 0 && e.Status != 400 && e.Status != 422 && e.Status != 500 {
		return nil
	}
	text := strings.ToLower(e.Message + " " + e.Param)
	learned := func(quirk, value string) []session.EndpointLearned {
		return []session.EndpointLearned{{Quirk: quirk, Value: value}}
	}
	if strings.Contains(text, "reasoning_content") && (strings.Contains(text, "must be passed back") || strings.Contains(text, "missing")) {
		return learned(QuirkReasoning, "everywhere")
	}
	if strings.Contains(text, "developer") && strings.Contains(text, "role") || strings.Contains(text, "'developer'") ||
		strings.Contains(text, `"developer"`) {
		if has("role:developer") {
			return learned(QuirkRole, "system")
		}
	}
	if !refusals().MatchString(text) {
		return nil
	}
	for _, f := range []string{"reasoning_content", "reasoning_details", "reasoning_text", "reasoning", "thinking"} {
		if strings.Contains(text, "messages") && mentions(text, f) && has("message:"+f) {
			return learned(QuirkReasoning, "none")
		}
	}
	// The first of the two that is named is the one that is refused.
	old, long := strings.Index(strings.ReplaceAll(text, "max_completion_tokens", "max_completion______"), "max_tokens"), strings.Index(text, "max_completion_tokens")
	switch {
	case old >= 0 && (long < 0 || old < long) && has("max_tokens"):
		return learned(QuirkMaxField, "max_completion_tokens")
	case long >= 0 && (old < 0 || long < old) && has("max_completion_tokens"):
		return learned(QuirkMaxField, "max_tokens")
	}
	for _, f := range droppable() {
		if mentions(text, f) && has(f) {
			return learned(QuirkDrop, f)
		}
	}
	return nil
}

// mentions finds a field name as a whole word.
func mentions(text, field string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], field)
		if i < 0 {
			return false
		}
		i += from
		end := i + len(field)
		if (i == 0 || !wordByte(text[i-1])) && (end == len(text) || !wordByte(text[end])) {
			// Ordinary English words count only where they are quoted or named as the parameter.
			if strings.Contains(field, "_") || i > 0 && strings.ContainsRune("'\"`", rune(text[i-1])) || i > 0 && text[i-1] == '.' || end == len(text) || text[end] == ':' || i >= 2 && text[i-2] == ':' {
				return true
			}
		}
		from = end
	}
}

func wordByte(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
}
