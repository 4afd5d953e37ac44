package openaichat

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"varve/internal/providers"
	"varve/internal/session"
)

// digest names a request in the ids of calls that came without one.
func digest(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:5])
}

// broken is the reply of a stream that ended without saying so.
func (s *stream) broken(ctx context.Context, err error) providers.Reply {
	if s.finish != "" && ctx.Err() == nil {
		return s.judge()
	}
	r := s.partial()
	r.Class, r.Err = providers.Ended(ctx, s.to, s.host(), err)
	return r
}

// failed is the reply of a stream with an error in it.
func (s *stream) failed(e *providers.Error) providers.Reply {
	r := refused(s.to, classOf(e), e, s.body)
	p := s.partial()
	r.Partial, r.Usage, r.RawFinish = p.Partial, p.Usage, p.RawFinish
	return r
}

func classOf(e *providers.Error) providers.Class {
	if e.Kind == providers.ContextLength {
		return providers.Overflow
	}
	return providers.Failed
}

func (s *stream) partial() providers.Reply {
	return providers.Reply{RawFinish: s.finish, Partial: bytes.Clone(s.text.end()), Usage: s.counted()}
}

// refused makes a reply of an error, with what can be learned from it.
func refused(to providers.Endpoint, class providers.Class, e *providers.Error, body []byte) providers.Reply {
	r := providers.Reply{Class: class, Err: e}
	if e == nil {
		return r
	}
	model := gjson.GetBytes(body, "model").String()
	if e.Learnable() {
		r.Window = &session.WindowLearned{
			Model: session.Model{Provider: to.Provider, API: API, Model: model}, Endpoint: to.BaseURL,
			Limit: e.Limit, Kind: e.LimitKind, Source: "learned",
		}
	}
	r.Learned = providers.Repairs(e, func(name string) bool {
		if role, ok := strings.CutPrefix(name, "role:"); ok {
			return gjson.GetBytes(body, "messages.0.role").String() == role
		}
		if field, ok := strings.CutPrefix(name, "message:"); ok {
			return len(gjson.GetBytes(body, "messages.#."+field).Array()) > 0
		}
		return gjson.GetBytes(body, name).Exists()
	})
	for i := range r.Learned {
		r.Learned[i].Endpoint, r.Learned[i].Model = to.BaseURL, model
		e.Retry = true // the next request is another one
	}
	return r
}

// judge says how a finished stream ended (wire.md §1.2, §3.3).
func (s *stream) judge() providers.Reply {
	r := providers.Reply{RawFinish: s.finish, Usage: s.counted()}
	fail := func(kind providers.ErrorKind, retry bool, words string) providers.Reply {
		p := s.partial()
		p.Class, p.Err = providers.Failed, &providers.Error{Kind: kind, Retry: retry, Host: s.host(), Message: words, Code: s.finish}
		return p
	}
	called := len(s.calls.list) > 0
	switch strings.ToLower(s.finish) {
	case "stop", "end", "eos", "eos_token", "stop_sequence", "complete":
		r.Class = providers.Natural
		if called {
			r.Class = providers.Tool
		}
	case "tool_calls", "function_call":
		r.Class = providers.Tool
		if !called {
			return fail(providers.EmptyReply, true, "the reply ended for tool calls, but has none")
		}
	case "length", "max_tokens", "model_length":
		r.Class = providers.Length
	case "content_filter", "sensitive", "safety":
		p := s.partial()
		p.Class, p.Err = providers.Refusal, &providers.Error{
			Kind: providers.ContentFilter, Host: s.host(), Code: s.finish,
			Message: "the provider's filter stopped the reply (" + providers.OneLine(s.finish) + ")",
		}
		return p
	case "model_context_window_exceeded":
		return s.overflow("the reply ended because the context window is full")
	case "network_error", "error", "insufficient_system_resource", "abort":
		return fail(providers.Server, true, "the provider ended the reply with "+s.finish)
	default:
		r.Class = providers.Unknown
	}
	if why := bytes.TrimSpace(s.refusal.end()); len(why) > 0 && r.Class != providers.Tool {
		p := s.partial()
		p.Class, p.Err = providers.Refusal, &providers.Error{
			Kind: providers.ContentFilter, Host: s.host(), Code: "refusal",
			Message: providers.OneLine(string(why)),
		}
		return p
	}
	return s.measure(r)
}

// unsaid is the reply of a server that never gives a reason: it got to its
// sentinel, which is enough for a turn. RawFinish stays empty.
func (s *stream) unsaid() providers.Reply {
	r := providers.Reply{Class: providers.Natural, Usage: s.counted()}
	if len(s.calls.list) > 0 {
		r.Class = providers.Tool
	}
	return s.measure(r)
}

// measure looks at sizes: an overflow may look like success.
func (s *stream) measure(r providers.Reply) providers.Reply {
	prompt, window := total(r.Usage), s.to.Window
	empty := len(bytes.TrimSpace(s.text.end())) == 0 && len(s.calls.list) == 0
	if window > 0 && prompt > 0 {
		full := prompt+r.Usage.Output >= window
		switch {
		case r.Class == providers.Length && (full || r.Usage.Output == 0 && prompt*100 >= window*99):
			return s.overflow("the reply was cut where the context window ends")
		case empty && r.Class != providers.Length && prompt*100 >= window*95:
			return s.overflow("the reply is empty and the prompt fills the context window")
		}
		r.Oversize = prompt > window
	}
	if empty && r.Class != providers.Length {
		r.Class = providers.Unknown
		r.Err = &providers.Error{Kind: providers.EmptyReply, Retry: true, Host: s.host(), Message: "the reply has neither text nor a tool call"}
		return r
	}
	r.Parts = s.parts(r.Class == providers.Tool)
	return r
}

func (s *stream) overflow(words string) providers.Reply {
	p := s.partial()
	p.Class, p.Err = providers.Overflow, &providers.Error{
		Kind: providers.ContextLength, Sub: "input", Used: total(p.Usage),
		Host: s.host(), Code: s.finish, Message: words,
	}
	return p
}

// truncated finds out whether Ollama dropped the oldest messages without a
// word (wire.md §3.3): the prompt it counted is much smaller than what was
// sent, and as large as the window that it runs with.
func (s *stream) truncated(ctx context.Context, r *providers.Reply) {
	prompt := total(r.Usage)
	if s.p.Local != "ollama" || prompt == 0 || r.Err != nil || prompt*10 > session.Estimate(len(s.body)).N*7 {
		return
	}
	window := s.to.Window
	model := gjson.GetBytes(s.body, "model").String()
	if window == 0 || prompt*100 < window*85 {
		found, err := Window(ctx, s.to, model)
		if err != nil || found.WindowSource != SourceRunning {
			return
		}
		window = found.Window
	}
	if prompt*100 < window*85 || prompt > window {
		return
	}
	r.Oversize = true
	r.Window = &session.WindowLearned{
		Model: session.Model{Provider: s.to.Provider, API: API, Model: model}, Endpoint: s.to.BaseURL,
		Limit: window, Kind: "total", Source: "reported",
	}
}

// drainFor is how long a finished stream may take to close its connection, so
// that the next request can use it.
const drainFor = 50 * time.Millisecond
