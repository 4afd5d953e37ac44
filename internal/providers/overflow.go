package providers

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// The overflow patterns of wire.md §3.1. They are looked at in order; among
// those that match, the first with the most figures wins.
type overflowPattern struct {
	id    string
	re    *regexp.Regexp
	limit int    // the group that names the limit, 0 for none
	used  int    // the group that names what was sent
	sub   string // input, budget or bytes, before figures decide
	kind  string // what the limit bounds: input or total
}

type overflowTable struct {
	patterns  []overflowPattern
	not       *regexp.Regexp
	tier      *regexp.Regexp
	breakdown *regexp.Regexp
}

var overflows = sync.OnceValue(func() overflowTable {
	var t overflowTable
	compile := func(s string) *regexp.Regexp {
		return regexp.MustCompile(`(?is)` + strings.ReplaceAll(s, "N", `([0-9][0-9,]*)`))
	}
	add := func(id, pattern string, limit, used int, sub string) {
		kind := "total"
		if id == "C2" || id == "D1" {
			kind = "input"
		}
		t.patterns = append(t.patterns, overflowPattern{id, compile(pattern), limit, used, sub, kind})
	}
	add("A1", `\bprompt is too long\b(?::\s*N\s*tokens?\s*>\s*N)?`, 2, 1, "input")
	add("F1", `prompt is too long:\s*N,\s*model maximum context length:\s*N`, 2, 1, "input")
	add("A2", `input length and .?max_tokens.? exceed context limit:\s*N\s*\+\s*N\s*>\s*N`, 3, 1, "budget")
	add("A3", `\brequest_too_large\b|request exceeds the maximum (?:size|allowed number of bytes)|request entity too large`, 0, 0, "bytes")
	add("A4", `input is too long for requested model`, 0, 0, "input")
	add("C0", `maximum context length is\s*N\s*tokens\.?.{0,40}?requested\s*N\s*output tokens.{0,60}?contains (?:at least )?N\s*input tokens`, 1, 3, "input")
	add("C8", `max_(?:completion_)?tokens.{0,30}?is too large:\s*N.{0,60}?maximum context length is\s*N.{0,50}?has\s*N\s*input tokens`, 2, 3, "budget")
	add("C1", `maximum context length (?:is|of)\s*N(?:\s*tokens?)?(?:.{0,80}?(?:resulted in|requested(?: about| a total of)?|contains(?: at least)?|for a total of(?: at least)?)\s*~?N)?`, 1, 2, "input")
	add("C2", `input tokens exceed the configured limit of\s*N(?:\s*tokens)?(?:.{0,40}?resulted in\s*N)?`, 1, 2, "input")
	add("C3", `exceeds? the context window`, 0, 0, "input")
	add("C4", `you passed\s*N\s*input tokens.{0,120}?context length is only\s*N`, 2, 1, "input")
	add("C5", `context length is only\s*N`, 1, 0, "input")
	add("C6", `max_(?:completion_)?tokens\s*=?\s*N.{0,40}?cannot be greater than.{0,40}?max_model_len\D{0,20}N`, 2, 0, "budget")
	add("C7", `input length \(?N\)?(?: tokens\)?)? exceeds (?:the )?(?:model'?s )?(?:maximum context length|maximum allowed input length)(?: of)?\s*\(?N`, 2, 1, "input")
	add("L1", `request \(N tokens\) exceeds the available context size \(N`, 2, 1, "input")
	add("L2", `exceeds the available context size`, 0, 0, "input")
	add("L3", `input \(N tokens\) is larger than the max context size \(N`, 2, 1, "input")
	add("L4", `context size has been exceeded`, 0, 0, "input")
	add("M1", `n_keep\W{0,3}N\)?\s*>=?\s*n_ctx\W{0,3}N`, 2, 1, "input")
	add("M2", `keep the first\s*N\s*tokens.{0,90}?context length of only\s*N`, 2, 1, "input")
	add("M3", `tokens to keep from the initial prompt is greater than the context length`, 0, 0, "input")
	add("O1", `prompt too long;?\s*exceeded (?:max )?context length`, 0, 0, "input")
	add("O3", `input length exceeds the context length`, 0, 0, "input")
	add("G1", `input token count(?:\s*\(?N\)?)? exceeds the maximum number of tokens allowed\s*\(?N`, 2, 1, "input")
	add("X1", `maximum prompt length is\s*N(?:\D{0,40}N)?`, 1, 2, "input")
	add("Q1", `reduce the length of the messages`, 0, 0, "input")
	add("T1", `input \(N tokens\) is longer than the model'?s context length \(N`, 2, 1, "input")
	add("H1", `.?inputs.? tokens \+ .?max_new_tokens.? must be <=\s*N\D{1,20}N`, 1, 2, "budget")
	add("I1", `prompt contains\s*N\s*tokens.{0,80}?too large for model with\s*N\s*maximum context length`, 2, 1, "input")
	add("K1", `exceeded model token limit\s*:?\s*N(?:\s*\(\s*re\s*quested:\s*N)?`, 1, 2, "input")
	add("K2", `input token length too long`, 0, 0, "input")
	add("K3", `total message size\s*N\s*exceeds limit\s*N`, 0, 0, "bytes")
	add("N1", `context window exceeds limit`, 0, 0, "input")
	add("P1", `prompt token count of\s*N\s*exceeds the limit of\s*N`, 2, 1, "input")
	add("V1", `input too long:\s*N\s*input tokens,\s*limit is\s*N`, 2, 1, "input")
	add("D1", `range of input length should be \[\s*\d+\s*,\s*N\s*\]`, 1, 0, "input")
	add("Z1", `\bprompt (?:too long|exceeds max length)\b|"code"\s*:\s*"?1261\b`, 0, 0, "input")
	add("B1", `current length is\s*N\s*while limit is\s*N`, 2, 1, "input")
	add("S1", `prompt has\s*N\s*tokens?, but the configured context size is\s*N`, 2, 1, "input")
	add("Y1", `input tokens \[N\] exceed context window \[N\]`, 2, 1, "input")
	add("W1", `context[_ ]?window[_ ]?exceeded`, 0, 0, "input")
	add("W2", `\bcontext_length_exceeded\b|\bexceed_context_size_error\b|\bmodel_context_window_exceeded\b`, 0, 0, "input")
	add("W3", `\btoo many tokens\b|\btoken limit exceeded\b|tokens in request more than max tokens allowed`, 0, 0, "input")
	t.not = compile(`rate[ _-]?limit|too many requests|tokens? per (?:min(?:ute)?|day|hour)|\b[it]?tpm\b` +
		`|throttl|service unavailable|wait before trying again|maximum allowed number of output tokens` +
		`|\bmax_?(?:output_?|completion_)?tokens\b[^.]{0,60}(?:must be|supported range|at most)|string_above_max_length|string too long`)
	t.tier = compile(`tokens? per (?:min(?:ute)?|day|hour).{0,60}?limit:?\s*N.{0,60}?requested:?\s*N`)
	t.breakdown = compile(`\(\s*N (?:in the messages|in (?:the|your) prompt|of text input|in the input)`)
	return t
})

// An overflow is a request that was too large, as an error body tells it.
type overflow struct {
	sub         string
	limit, used int
	kind        string
}

// overflowOf finds out whether a complaint says that the request was too
// large. It does not look at statuses that only say so by chance.
func overflowOf(status int, host string, c complaint) (overflow, bool) {
	t := overflows()
	if c.empty {
		if strings.HasSuffix(hostname(host), "cerebras.ai") && (status == 400 || status == 413) {
			return overflow{sub: "input"}, true
		}
		return overflow{sub: "bytes"}, status == 413
	}
	if t.not.MatchString(c.all) {
		return overflow{}, false
	}
	structured := overflow{sub: "input", kind: "total"}
	known := false
	if n := c.json.Get("error.n_ctx").Int(); n > 0 {
		structured.limit, structured.used, known = int(n), int(c.json.Get("error.n_prompt_tokens").Int()), true
	}
	switch {
	case c.code == "context_length_exceeded", c.code == "exceed_context_size_error", c.typ == "exceed_context_size_error",
		c.code == "model_context_window_exceeded", c.code == "1261", c.param == "input_tokens" && c.code == "400":
		known = true
	}
	if structured.limit > 0 && structured.used > 0 {
		structured.derive()
		return structured, true
	}
	switch status {
	case 401, 402, 404, 429, 503, 529: // words alone prove nothing here
		if !known {
			return overflow{}, false
		}
	}
	best, figures := overflow{}, -1
	for _, text := range []string{c.all, c.raw()} {
		for _, p := range t.patterns {
			m := p.re.FindStringSubmatch(text)
			if m == nil {
				continue
			}
			o, n := overflow{sub: p.sub, kind: p.kind}, 0
			if p.limit > 0 && number(m[p.limit]) > 0 {
				o.limit = number(m[p.limit])
				n++
			}
			if p.used > 0 && number(m[p.used]) > 0 {
				o.used = number(m[p.used])
				n++
			}
			if n > figures {
				best, figures = o, n
			}
		}
		if figures >= 0 {
			break
		}
	}
	switch {
	case figures >= 0:
		if best.limit == 0 && structured.limit > 0 {
			best = structured
		}
		best.derive()
		if m := t.breakdown.FindStringSubmatch(c.all); m != nil && best.limit > 0 && number(m[1]) < best.limit && best.sub == "input" {
			best.sub = "budget"
		}
		return best, true
	case known:
		return structured, true
	case status == 413:
		return overflow{sub: "bytes"}, true
	}
	return overflow{}, false
}

// derive tells input from budget where both figures are known: a prompt that
// is smaller than the window was refused for the output that it asked for.
func (o *overflow) derive() {
	if o.sub != "bytes" && o.limit > 0 && o.used > 0 {
		if o.used < o.limit {
			o.sub = "budget"
		} else {
			o.sub = "input"
		}
	}
	if o.limit == 0 {
		o.kind = ""
	}
}

// Learnable reports whether the limit may be kept as a window (wire.md §3.2).
func (e *Error) Learnable() bool {
	return e != nil && e.Kind == ContextLength && e.Sub != "bytes" && e.Limit >= 512 && e.Limit <= 20_000_000 &&
		(e.Used == 0 || e.Sub == "budget" || e.Limit < e.Used)
}

// raw is the body as text, where it was JSON: some patterns name its fields.
func (c complaint) raw() string {
	return c.json.Raw[:min(len(c.json.Raw), 64<<10)]
}

// tierOf finds the limit of a rate tier that one request alone goes over:
// waiting can't help (wire.md §3.4).
func tierOf(text string) (limit, used int, over bool) {
	m := overflows().tier.FindStringSubmatch(text)
	if m == nil {
		return 0, 0, false
	}
	limit, used = number(m[1]), number(m[2])
	return limit, used, used > limit
}

func number(s string) int {
	n, err := strconv.Atoi(strings.ReplaceAll(strings.TrimSuffix(s, ","), ",", ""))
	if err != nil {
		return 0
	}
	return n
}

func hostname(host string) string {
	name, _, _ := strings.Cut(host, ":")
	return strings.ToLower(name)
}
