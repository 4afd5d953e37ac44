package scripted

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tidwall/gjson"
)

// The chunk of wire.md §6.3: C(d,f) = chatHead + delta + chatMid + finish + chatTail.
const (
	chatHead = `{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":`
	chatMid  = `,"finish_reason":`
	chatTail = `}]}`
	chatCU   = `{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":`
)

// chat encodes steps for Chat Completions streams.
type chat struct{ next int } // the next free call index

func (c *chat) encode(e *emitter, st Step) error {
	switch st.verb {
	case vRole:
		c.chunk(e, `{"role":"assistant","content":""}`, "")
	case vText:
		for _, s := range st.parts {
			e.paced(s, func(tok string) { c.chunk(e, field("content", tok), "") })
		}
	case vReasoning:
		name := st.s
		if name == "" {
			name = "reasoning_content"
		}
		for _, s := range st.parts {
			e.paced(s, func(tok string) {
				delta := field(name, tok)
				if name == "both" {
					q := string(quoteJSON(nil, tok))
					delta = `{"reasoning_content":` + q + `,"reasoning":` + q + `}`
				}
				c.chunk(e, delta, "")
			})
		}
	case vRefusal:
		c.chunk(e, field("refusal", st.s), "")
	case vCall:
		c.call(e, st)
	case vFinish:
		c.chunk(e, `{}`, st.s)
	case vUsage:
		e.usageEvent(append([]byte(chatCU+chatUsage(st.usage)), '}'))
	case vDone:
		e.event("", []byte("[DONE]"))
	case vDelta:
		c.chunk(e, string(st.b), st.s)
	default:
		return fmt.Errorf("openai-chat: internal error: no encoding for step %d", st.verb)
	}
	return nil
}

func (c *chat) chunk(e *emitter, delta, finish string) {
	b := append([]byte(chatHead), delta...)
	b = append(b, chatMid...)
	if finish == "" {
		b = append(b, "null"...)
	} else {
		b = quoteJSON(b, finish)
	}
	e.event("", append(b, chatTail...))
}

// call emits a head (index, id, type, name, arguments "") and the arguments in pieces; 0 pieces: all in one chunk.
func (c *chat) call(e *emitter, st Step) {
	index := st.m
	if index < 0 {
		index = c.next
	}
	c.next = max(c.next, index+1)
	at := `{"tool_calls":[{"index":` + strconv.Itoa(index)
	head := func(args string) string {
		b := append([]byte(at+`,"id":`), quoteJSON(nil, st.t)...)
		b = append(append(b, `,"type":"function","function":{"name":`...), quoteJSON(nil, st.s)...)
		return string(append(append(b, `,"arguments":`...), quoteJSON(nil, args)...)) + `}}]}`
	}
	args := string(st.b)
	if st.n == 0 {
		c.chunk(e, head(args), "")
		return
	}
	c.chunk(e, head(""), "")
	for _, piece := range cut(args, st.n) {
		e.paced(piece, func(tok string) {
			c.chunk(e, at+`,"function":{"arguments":`+string(quoteJSON(nil, tok))+`}}]}`, "")
		})
	}
}

// cut parts s into n pieces of about equal length, never inside a rune, none empty.
func cut(s string, n int) []string {
	rs := []rune(s)
	n = max(1, min(n, len(rs)))
	var out []string
	for i := range n {
		if p := string(rs[i*len(rs)/n : (i+1)*len(rs)/n]); p != "" {
			out = append(out, p)
		}
	}
	return out
}

func chatUsage(u Usage) string {
	n := func(v int64) string { return strconv.FormatInt(v, 10) }
	s := `{"prompt_tokens":` + n(u.Prompt) + `,"completion_tokens":` + n(u.Output) + `,"total_tokens":` + n(u.Prompt+u.Output)
	switch {
	case u.CacheWrite > 0:
		s += `,"prompt_tokens_details":{"cached_tokens":` + n(u.Cached) + `,"cache_write_tokens":` + n(u.CacheWrite) + `}`
	case u.Cached > 0:
		s += `,"prompt_tokens_details":{"cached_tokens":` + n(u.Cached) + `}`
	}
	if u.Reasoning > 0 {
		s += `,"completion_tokens_details":{"reasoning_tokens":` + n(u.Reasoning) + `}`
	}
	return s + `}`
}

// usageEvent is an event that vendors leave out unless the request asked for it.
func (e *emitter) usageEvent(data []byte) {
	b := append([]byte("data: "), data...)
	e.write(append(append(b, e.ends...), e.ends...), true)
}

// note reads the deltas of a chunk: text, reasoning and call ids that a later request may have to carry.
func (c *chat) note(is *issued, data []byte) {
	d := gjson.GetBytes(data, "choices.0.delta")
	if !d.Exists() {
		return
	}
	is.text += d.Get("content").Str
	if r := d.Get("reasoning_content"); r.Type == gjson.String {
		is.reasoning += r.Str
	}
	for _, tc := range d.Get("tool_calls").Array() {
		if id := tc.Get("id").Str; id != "" && !slices.Contains(is.callIDs, id) {
			is.callIDs = append(is.callIDs, id)
		}
	}
}

func field(name, s string) string {
	return `{"` + name + `":` + string(quoteJSON(nil, s)) + `}`
}

// quoteJSON appends s as a JSON string. Invalid UTF-8 becomes U+FFFD: such bytes are for Raw.
func quoteJSON(dst []byte, s string) []byte {
	b, err := jsontext.AppendQuote(dst, s)
	if err != nil {
		b, _ = jsontext.AppendQuote(dst, strings.ToValidUTF8(s, "\ufffd"))
	}
	return b
}
