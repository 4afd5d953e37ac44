package openaichat

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"varve/internal/providers"
	"varve/internal/session"
)

// A stream is a reply as far as it has arrived.
type stream struct {
	to      providers.Endpoint
	p       Profile
	resp    *http.Response
	sink    providers.Sink
	body    []byte // of the request
	text    text
	refusal text
	thought text
	field   string   // the encoding of thought
	details []string // reasoning_details, merged
	notes   []string // annotations
	calls   calls
	shown   map[*call]bool // the sink knows its name
	finish  string
	usage   *session.Usage
	timings *session.Usage
	moved   bool     // the last chunk brought the reply forward
	unseen  struct { // what arrived and was not shown yet
		kind, name string
		text       []byte
	}

	top, choice, piece members // of the chunk at hand
}

// thoughtFields are where reasoning comes in, in the order in which they are
// taken where one delta has several of the same text.
var thoughtFields = [...]string{"reasoning_content", "reasoning", "reasoning_text"}

// chunk takes the data of one event. It returns an error that ends the
// stream, or done at its sentinel.
func (s *stream) chunk(ev providers.Event) (done bool, e *providers.Error, cut bool) {
	data := bytes.TrimSpace(ev.Data)
	s.moved = false
	switch {
	case bytes.HasPrefix(data, []byte("[DONE]")):
		return true, nil, false
	case ev.Name == "error":
		return false, s.to.Refused(s.resp, data, true), false
	case len(data) == 0:
		return false, nil, false
	case !gjson.ValidBytes(data):
		if ev.Cut {
			return false, nil, true
		}
		return false, &providers.Error{
			Kind: providers.Protocol, Retry: true, Host: s.host(),
			Message: "an event of the stream is no valid JSON: " + providers.OneLine(string(data[:min(len(data), 80)])),
		}, false
	}
	s.top.read(gjson.ParseBytes(data))
	if isError(&s.top) {
		return false, s.to.Refused(s.resp, data, true), false
	}
	s.take(&s.top)
	return false, nil, false
}

func (s *stream) host() string { return s.resp.Request.URL.Host }

// members are the members of an object, found in one walk.
type members struct {
	names  []string
	values []gjson.Result
}

func (m *members) read(v gjson.Result) {
	m.names, m.values = m.names[:0], m.values[:0]
	v.ForEach(func(k, v gjson.Result) bool {
		m.names, m.values = append(m.names, k.Str), append(m.values, v)
		return true
	})
}

func (m *members) get(name string) gjson.Result {
	if i := slices.Index(m.names, name); i >= 0 {
		return m.values[i]
	}
	return gjson.Result{}
}

// isError tells an error object from a chunk. A null error is none.
func isError(m *members) bool {
	switch e := m.get("error"); e.Type {
	case gjson.String:
		return e.Str != ""
	case gjson.JSON, gjson.Number, gjson.True:
		return true
	}
	if m.get("choices").Exists() || m.get("usage").Exists() {
		return false
	}
	return m.get("object").Str == "error" || m.get("type").Str == "error" ||
		m.get("code").Exists() && (m.get("message").Exists() || m.get("msg").Exists())
}

// take takes one chunk, or a whole completion.
func (s *stream) take(m *members) {
	choices := m.get("choices")
	s.count(usageOf(m.get("usage")))
	if g := m.get("x_groq"); g.Exists() {
		s.count(usageOf(g.Get("usage")))
	}
	if t := timingsOf(m.get("timings")); t != nil {
		s.timings = t
	}
	choices.ForEach(func(_, c gjson.Result) bool {
		s.choice.read(c)
		if s.choice.get("index").Int() != 0 {
			return true
		}
		s.count(usageOf(s.choice.get("usage")))
		if s.finish != "" {
			return true // late deltas and second ends (case C41)
		}
		d := s.choice.get("delta")
		if !d.IsObject() {
			d = s.choice.get("message")
		}
		s.delta(d)
		if f := s.choice.get("finish_reason"); f.Type == gjson.String && f.Str != "" {
			s.finish = f.Str
			s.moved = true
		}
		return true
	})
}

// count keeps a report. The last one counts: servers that repeat it count up.
func (s *stream) count(u *session.Usage) {
	if u != nil {
		s.usage = u
		s.moved = true
	}
}

func (s *stream) delta(of gjson.Result) {
	d := &s.piece
	d.read(of)
	s.reasoning(d)
	switch c := d.get("content"); {
	case c.Type == gjson.String:
		s.say("text", "", s.text.add(c.Raw))
	case c.IsArray():
		for _, part := range c.Array() {
			s.part(part)
		}
	}
	if r := d.get("refusal"); r.Type == gjson.String {
		s.refusal.add(r.Raw)
		s.moved = true
	}
	if a := d.get("annotations"); a.IsArray() {
		for _, note := range a.Array() {
			s.notes = append(s.notes, string(pairSurrogates([]byte(note.Raw))))
		}
	}
	if t := d.get("tool_calls"); t.IsArray() {
		s.calls.add(t.Array(), s.called)
	}
	if f := d.get("function_call"); f.IsObject() {
		s.calls.legacy(f, s.called)
	}
}

// part takes a typed part of the content, as Mistral sends it.
func (s *stream) part(part gjson.Result) {
	if part.Get("type").String() != "thinking" {
		if t := part.Get("text"); t.Type == gjson.String {
			s.say("text", "", s.text.add(t.Raw))
		}
		return
	}
	if s.field == "" {
		s.field = encodingParts
	}
	inner := part.Get("thinking")
	if inner.Type == gjson.String {
		s.say("reasoning", "", s.thought.add(inner.Raw))
	}
	for _, t := range inner.Array() {
		if t = t.Get("text"); t.Type == gjson.String {
			s.say("reasoning", "", s.thought.add(t.Raw))
		}
	}
}

func (s *stream) reasoning(d *members) {
	said := false
	for _, name := range thoughtFields {
		r := d.get(name)
		if r.Type != gjson.String || r.Str == "" && len(r.Raw) <= 2 {
			continue
		}
		if s.field == "" {
			s.field = encodingPrefix + name
		}
		if other := d.get(strings.TrimPrefix(s.field, encodingPrefix)); s.field != encodingPrefix+name && other.Type == gjson.String && other.Str != "" {
			continue // both with the same text (case C45)
		}
		s.say("reasoning", "", s.thought.add(r.Raw))
		said = true
		break
	}
	details := d.get("reasoning_details")
	if !details.IsArray() {
		return
	}
	for _, entry := range details.Array() {
		s.detail(entry)
		if said {
			continue
		}
		for _, path := range []string{"text", "summary"} {
			if t := entry.Get(path); t.Type == gjson.String && t.Str != "" {
				if s.field == "" {
					s.field = encodingPrefix + "reasoning"
				}
				s.say("reasoning", "", s.thought.add(t.Raw))
			}
		}
	}
}

// detail keeps one entry of reasoning_details. Pieces of text with one type
// and index are one entry; what is encrypted stays apart.
func (s *stream) detail(entry gjson.Result) {
	s.moved = true
	if n := len(s.details); n > 0 {
		before := gjson.Parse(s.details[n-1])
		for _, path := range []string{"text", "summary"} {
			t, more := before.Get(path), entry.Get(path)
			if t.Type != gjson.String || more.Type != gjson.String || before.Get("type").Str != entry.Get("type").Str ||
				before.Get("index").Raw != entry.Get("index").Raw {
				continue
			}
			joined, err := sjson.SetRaw(s.details[n-1], path, t.Raw[:len(t.Raw)-1]+more.Raw[1:])
			if err != nil {
				continue
			}
			entry.ForEach(func(k, v gjson.Result) bool {
				if v.Type != gjson.Null && k.Str != path && k.Str != "type" && k.Str != "index" {
					if with, err := sjson.SetRaw(joined, k.Str, v.Raw); err == nil && before.Get(k.Str).Raw != v.Raw {
						joined = with
					}
				}
				return true
			})
			s.details[n-1] = joined
			return
		}
	}
	s.details = append(s.details, entry.Raw)
}

// called shows a piece of a call's arguments once its name is known.
func (s *stream) called(k *call, fresh []byte) {
	s.moved = true
	if k.name == "" {
		return
	}
	if !s.shown[k] {
		if s.shown == nil {
			s.shown = map[*call]bool{}
		}
		s.shown[k] = true
		fresh = k.args.buf
	}
	s.fresh("call", k.name, fresh)
}

func (s *stream) say(kind, name string, fresh []byte) {
	if len(fresh) == 0 {
		return
	}
	s.moved = true
	s.fresh(kind, name, fresh)
}

// fresh keeps a piece until all that arrived with it is read: one look at the
// screen for each read, not for each token.
func (s *stream) fresh(kind, name string, text []byte) {
	if s.sink == nil {
		return
	}
	if kind != s.unseen.kind || name != s.unseen.name {
		s.show()
		s.unseen.kind, s.unseen.name = kind, name
	}
	s.unseen.text = append(s.unseen.text, text...)
}

// show gives the sink what it has not seen.
func (s *stream) show() {
	if s.sink != nil && (len(s.unseen.text) > 0 || s.unseen.kind == "call") {
		s.sink.Delta(s.unseen.kind, s.unseen.name, s.unseen.text)
	}
	s.unseen.kind, s.unseen.name, s.unseen.text = "", "", s.unseen.text[:0]
}

// counted is the usage, as far as it was reported.
func (s *stream) counted() *session.Usage {
	switch {
	case s.usage == nil:
		return s.timings
	case s.timings != nil && s.usage.Cached == 0 && s.timings.Cached > 0:
		u := *s.usage
		whole := split(total(&u), s.timings.Cached, u.CacheWrite)
		u.Input, u.Cached = whole.Input, whole.Cached
		return &u
	}
	return s.usage
}

// parts are the reply's parts: reasoning, text, calls.
func (s *stream) parts(withCalls bool) []providers.Part {
	var out []providers.Part
	if t := s.thought.end(); len(t) > 0 {
		out = append(out, providers.Part{Kind: session.ReasoningItem, Bytes: t, Encoding: s.field})
	}
	if len(s.details) > 0 {
		out = append(out, providers.Part{
			Kind: session.NativeItem, MediaType: "application/json", Encoding: encodingDetails,
			Bytes: pairSurrogates([]byte("[" + strings.Join(s.details, ",") + "]")),
		})
	}
	said := s.text.end()
	if len(said) > 0 {
		out = append(out, providers.Part{Kind: session.AssistantItem, Bytes: said})
	}
	if native := s.native(said); native != nil {
		out = append(out, providers.Part{Kind: session.NativeItem, MediaType: "application/json", Encoding: encodingMessage, Bytes: native})
	}
	if !withCalls {
		return out
	}
	for i, k := range s.calls.list {
		id := k.id
		if id == "" {
			id = fmt.Sprintf("call_%s_%d", digest(s.body), i)
		}
		out = append(out, providers.Part{Kind: session.CallItem, CallID: id, Name: k.name, Bytes: k.args.end()})
	}
	return out
}

// native is content, refusal and annotations together (PRV-13), where there is
// more than content.
func (s *stream) native(said []byte) []byte {
	refusal := s.refusal.end()
	if len(s.notes) == 0 && len(refusal) == 0 {
		return nil
	}
	out := []byte(`{"content":null`)
	if len(said) > 0 {
		out = session.AppendQuoted([]byte(`{"content":`), said)
	}
	if len(refusal) > 0 {
		out = session.AppendQuoted(append(out, `,"refusal":`...), refusal)
	}
	if len(s.notes) > 0 {
		out = append(out, `,"annotations":[`+strings.Join(s.notes, ",")+`]`...)
	}
	return append(out, '}')
}
