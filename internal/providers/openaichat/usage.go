package openaichat

import (
	"github.com/tidwall/gjson"

	"varve/internal/session"
)

// usageOf reads a usage object, in any of the forms of wire.md §5. It returns
// nil for one that says nothing.
func usageOf(u gjson.Result) *session.Usage {
	if !u.IsObject() {
		return nil
	}
	prompt := first(u, "prompt_tokens", "input_tokens")
	output := first(u, "completion_tokens", "output_tokens")
	if prompt <= 0 && output <= 0 {
		return nil
	}
	reasoning := first(u, "completion_tokens_details.reasoning_tokens", "output_tokens_details.reasoning_tokens", "reasoning_tokens")
	// Some leave reasoning out of the completion, but not out of the total.
	if rest := first(u, "total_tokens") - prompt; rest > output {
		output = rest
	}
	if reasoning > output {
		output += reasoning
	}
	out := split(prompt,
		first(u, "prompt_tokens_details.cached_tokens", "prompt_token_details.cached_tokens", "input_tokens_details.cached_tokens",
			"prompt_cache_hit_tokens", "cached_tokens", "num_cached_tokens"),
		first(u, "prompt_tokens_details.cache_write_tokens", "cache_write_tokens",
			"prompt_tokens_details.cache_creation_input_tokens", "cache_creation_input_tokens"))
	out.Output, out.Reasoning = max(output, 0), max(reasoning, 0)
	if c := u.Get("cost"); c.Type == gjson.Number {
		cost := c.Float()
		out.Cost = &cost
	}
	return out
}

// split parts a prompt into what was read from a cache, what was written to
// one, and the rest.
func split(prompt, cached, written int) *session.Usage {
	prompt = max(prompt, 0)
	cached = min(max(cached, 0), prompt)
	written = min(max(written, 0), prompt-cached)
	return &session.Usage{Input: prompt - cached - written, Cached: cached, CacheWrite: written}
}

// timingsOf reads what llama.cpp measured, where it reports no usage.
func timingsOf(t gjson.Result) *session.Usage {
	read, made := int(t.Get("prompt_n").Int()), int(t.Get("predicted_n").Int())
	if !t.IsObject() || read <= 0 && made <= 0 {
		return nil
	}
	cached := max(int(t.Get("cache_n").Int()), 0)
	u := split(read+cached, cached, 0)
	u.Output = max(made, 0)
	return u
}

func first(u gjson.Result, paths ...string) int {
	for _, p := range paths {
		if v := u.Get(p); v.Type == gjson.Number {
			return int(v.Int())
		}
	}
	return 0
}

// total is the whole prompt that a usage counts.
func total(u *session.Usage) int {
	if u == nil {
		return 0
	}
	return u.Input + u.Cached + u.CacheWrite
}
