package scripted

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// A reading is what a plain client makes of one reply, by the rules of wire.md §1.0, §1.2 and §5. It knows nothing of
// the encoder: the scenario files' bytes and their expectations are checked against each other through it.
type reading struct {
	class, text, reasoning, refusal string
	calls                           []*readCall
	usage                           *Usage
}

type readCall struct{ index, id, name, args string }

func read(status int, ct, body string) reading {
	r := reading{class: "missing"}
	switch {
	case status >= 400:
		r.class = ""
		return r
	case strings.HasPrefix(ct, "text/html"):
		r.class = "error"
		return r
	case strings.HasPrefix(ct, "application/json"):
		j := gjson.Parse(body)
		if j.Get("error").Exists() {
			r.class = "error"
			return r
		}
		r.delta(j.Get("choices.0.message"))
		r.usageOf(j)
		r.finish(j.Get("choices.0.finish_reason").Str)
		return r
	}
	body = strings.TrimPrefix(body, "\xEF\xBB\xBF")
	body = strings.ReplaceAll(strings.ReplaceAll(body, "\r\n", "\n"), "\r", "\n")
	var data []string
	event := ""
	lines := strings.Split(body, "\n")
	for i, line := range lines {
		switch {
		case strings.HasPrefix(line, "data:"):
			data = append(data, strings.TrimPrefix(line[5:], " "))
		case strings.HasPrefix(line, "event:"):
			event = strings.TrimSpace(line[6:])
		}
		atEnd := i == len(lines)-1
		if line != "" && !atEnd {
			continue
		}
		d := strings.TrimSpace(strings.Join(data, "\n"))
		ev := event
		data, event = nil, ""
		if d == "" {
			continue
		}
		if d == "[DONE]" {
			break
		}
		if !gjson.Valid(d) {
			if !atEnd {
				r.class = "error"
			}
			break
		}
		if r.chunk(ev, gjson.Parse(d)); r.class == "error" {
			break
		}
	}
	return r
}

func (r *reading) chunk(event string, j gjson.Result) {
	if e := j.Get("error"); event == "error" || e.Exists() && e.Type != gjson.Null {
		r.class = "error"
		return
	}
	r.usageOf(j)
	c := j.Get("choices.0")
	if r.class == "missing" { // what comes after the finish is usage only
		r.delta(c.Get("delta"))
	}
	if f := c.Get("finish_reason").Str; f != "" {
		r.finish(f)
	}
}

func (r *reading) delta(d gjson.Result) {
	// The raw text is joined: two halves of a surrogate pair come in two deltas. See unquote.
	c := d.Get("content")
	if c.IsArray() {
		for _, p := range c.Array() {
			if p.Get("type").Str == "thinking" {
				r.reasoning += p.Get("thinking.0.text").Str
			}
			r.text += p.Get("text").Str
		}
	} else if c.Type == gjson.String {
		r.text += strings.Trim(c.Raw, `"`)
	}
	for _, f := range []string{"reasoning_content", "reasoning", "reasoning_text"} {
		if v := d.Get(f).Str; v != "" {
			r.reasoning += v
			break
		}
	}
	r.refusal += d.Get("refusal").Str
	if f := d.Get("function_call"); f.Exists() {
		r.call("0", "", f)
	}
	for _, tc := range d.Get("tool_calls").Array() {
		r.call(tc.Get("index").Raw, tc.Get("id").Str, tc.Get("function"))
	}
}

// call: a new non-empty id opens a call; else the index names it; else it is the last one.
func (r *reading) call(index, id string, f gjson.Result) {
	var at *readCall
	if len(r.calls) > 0 {
		at = r.calls[len(r.calls)-1]
	}
	if id == "null" {
		id = ""
	}
	known := false
	for _, c := range r.calls {
		if id != "" && c.id == id || id == "" && index != "" && c.index == index {
			at, known = c, true
		}
	}
	// A tail with the next index but neither id nor name belongs to the last call (case STR-05).
	headless := id == "" && f.Get("name").Str == "" && at != nil
	fill := id != "" && at != nil && at.id == "" && at.name == "" && at.index == index // the head comes late
	if at == nil || !known && !headless && !fill {
		at = &readCall{index: index, id: id}
		r.calls = append(r.calls, at)
	}
	if fill {
		at.id = id
	}
	if n := f.Get("name").Str; n != "" && at.name == "" {
		at.name = n
	}
	if a := f.Get("arguments"); a.IsObject() {
		at.args += a.Raw
	} else {
		at.args += a.Str
	}
}

func (r *reading) finish(f string) {
	switch f {
	case "stop":
		r.class = "natural"
		if len(r.calls) > 0 {
			r.class = "tool"
		} else if r.refusal != "" {
			r.class = "refusal"
		} else if r.text == "" {
			r.class = "unknown"
		}
	case "tool_calls", "function_call":
		r.class = "tool"
		if len(r.calls) == 0 {
			r.class = "error"
		}
	case "length":
		r.class = "length"
	case "content_filter", "sensitive":
		r.class = "refusal"
	case "model_context_window_exceeded":
		r.class = "overflow"
	case "network_error", "error", "insufficient_system_resource", "abort":
		r.class = "error"
	default:
		r.class = "unknown"
	}
}

func (r *reading) usageOf(j gjson.Result) {
	for _, p := range []string{"usage", "choices.0.usage", "x_groq.usage"} {
		u := j.Get(p)
		if !u.IsObject() {
			continue
		}
		v := Usage{Prompt: u.Get("prompt_tokens").Int(), Output: u.Get("completion_tokens").Int(), Reasoning: u.Get("completion_tokens_details.reasoning_tokens").Int()}
		for _, f := range []string{"prompt_tokens_details.cached_tokens", "prompt_cache_hit_tokens", "cached_tokens", "num_cached_tokens"} {
			v.Cached = max(v.Cached, min(v.Prompt, u.Get(f).Int()))
		}
		v.CacheWrite = u.Get("prompt_tokens_details.cache_creation_input_tokens").Int()
		v.Output = max(v.Output, u.Get("total_tokens").Int()-v.Prompt)
		r.usage = &v
	}
	if tm := j.Get("timings"); tm.Exists() && r.usage == nil {
		r.usage = &Usage{Prompt: tm.Get("cache_n").Int() + tm.Get("prompt_n").Int(), Output: tm.Get("predicted_n").Int(), Cached: tm.Get("cache_n").Int()}
	}
}

// REL-4: what each file plays is what it expects, by an independent reader.
func TestScenariosMeanWhatTheyExpect(t *testing.T) {
	byClient := map[string]bool{ // the outcome hangs on the client's own settings or clock
		"C06/flag": true, "C16/cap": true, "C51/lmstudio": true, "C52": true, "C67/semantic": true, "C65": true,
	}
	for _, sc := range all(t) {
		s, cl := open(t, Options{Clock: newInstant(), Prefix: PrefixIgnore})
		sc.Lenient, sc.Key = true, ""
		for i := range sc.Script {
			sc.Script[i].Checks = nil
		}
		if err := s.Play(sc); err != nil {
			t.Fatal(err)
		}
		for i, b := range sc.Script {
			x := b.Expect
			if hangs(b.Steps) || byClient[sc.ID] || sc.Given["url"] != "" || !x.Stated {
				if i < len(sc.Script)-1 {
					s.update(func() { s.played++ }) // the request that would have hung
				}
				continue
			}
			resp, err := post(t.Context(), t, cl, s.URL(), hello)
			if err != nil { // cut before any header
				if x.Class != "missing" {
					t.Errorf("%s: %v", sc.ID, err)
				}
				continue
			}
			body := bodyOf(resp)
			got := read(resp.StatusCode, resp.Header.Get("Content-Type"), body)
			bad := func(what string, is, want any) {
				t.Errorf("%s:%d: %s request %d: %s is %v, expected %v", sc.File, b.Line, sc.ID, i+1, what, is, want)
			}
			if got.class != x.Class {
				bad("class", got.class, x.Class)
			}
			if text := unquote(got.text); x.Text != nil && text != *x.Text {
				bad("text", text, *x.Text)
			}
			if x.Reasoning != nil && got.reasoning != *x.Reasoning {
				bad("reasoning", got.reasoning, *x.Reasoning)
			}
			if x.Usage != nil && (got.usage == nil || *got.usage != *x.Usage) {
				bad("usage", got.usage, *x.Usage)
			}
			if x.NoUsage && got.usage != nil {
				bad("usage", *got.usage, "unknown")
			}
			if len(x.Calls) > 0 {
				checkCalls(got, x, bad)
			}
			if resp.StatusCode >= http.StatusBadRequest && x.Kind == "" {
				bad("kind", "unsaid", "a kind for an HTTP error")
			}
		}
		cl.CloseIdleConnections()
		s.Close()
	}
}

func checkCalls(got reading, x Outcome, bad func(string, any, any)) {
	if len(got.calls) != len(x.Calls) {
		bad("calls", len(got.calls), len(x.Calls))
		return
	}
	for i, want := range x.Calls {
		c := got.calls[i]
		if c.args == "" {
			c.args = "{}"
		}
		if c.name != want.Name || want.ID != "" && c.id != want.ID || want.Size != 0 && len(c.args) != want.Size || want.Size == 0 && c.args != want.Args {
			bad("call", *c, want)
		}
	}
}

// unquote resolves the JSON escapes of joined content, so that two halves of a surrogate pair become one character.
func unquote(raw string) string {
	return gjson.Parse(`"` + raw + `"`).Str
}

func hangs(steps []Step) bool {
	for _, st := range steps {
		if st.verb == vHang || hangs(st.body) {
			return true
		}
	}
	return false
}
