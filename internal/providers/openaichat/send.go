package openaichat

import (
	"context"
	"mime"
	"net/http"

	"github.com/tidwall/gjson"

	"varve/internal/providers"
)

func authOf(to providers.Endpoint) http.Header {
	h := http.Header{}
	if to.Key != "" {
		h.Set("Authorization", "Bearer "+to.Key)
	}
	return h
}

// Send makes one attempt: it posts the body and reads the stream to its end.
func (Adapter) Send(ctx context.Context, to providers.Endpoint, body []byte, sink providers.Sink) (reply providers.Reply) {
	defer providers.Guard(&reply)
	p := profileOf(to)
	url, e := to.URL("/chat/completions")
	if e != nil {
		return providers.Reply{Class: providers.Failed, Err: e}
	}
	resp, class, e := providers.Post(ctx, to, url, authOf(to), body)
	if class != "" {
		return refused(to, class, e, body)
	}
	s := &stream{to: to, p: p, resp: resp, sink: sink, body: body}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind == "text/html" {
		return refused(to, providers.Failed, providers.RefusalOf(ctx, to, resp), body)
	}
	how := to.Reading()
	how.Idle = s.show
	events := providers.ReadEvents(ctx, resp.Body, how)
	defer events.Close()
	switch c, err := events.Peek(); {
	case err != nil:
		return s.broken(ctx, err)
	case c == '{', c == '[', c == '<':
		reply = s.whole(ctx, events)
	default:
		reply = s.read(ctx, events)
	}
	s.truncated(ctx, &reply)
	return reply
}

// read takes the stream event by event.
func (s *stream) read(ctx context.Context, events *providers.Events) providers.Reply {
	defer s.show()
	for {
		ev, err := events.Next()
		if err != nil {
			return s.broken(ctx, err)
		}
		done, e, cut := s.chunk(ev)
		switch {
		case e != nil:
			return s.failed(e)
		case cut:
			return s.broken(ctx, nil)
		case done:
			events.Drain(drainFor)
			if s.to.NoFinish && s.finish == "" && s.calls.whole() {
				return s.unsaid()
			}
			return s.broken(ctx, nil)
		}
		if s.moved {
			events.Progress()
		}
	}
}

// whole takes an answer that is no stream: an error, a web page, or a complete
// reply of a server that does not stream.
func (s *stream) whole(ctx context.Context, events *providers.Events) providers.Reply {
	defer s.show()
	body, err := events.ReadAll()
	if err != nil {
		return s.broken(ctx, err)
	}
	if gjson.ValidBytes(body) {
		s.top.read(gjson.ParseBytes(body))
	}
	if !s.top.get("choices").IsArray() || isError(&s.top) {
		return s.failed(s.to.Refused(s.resp, body, false))
	}
	s.take(&s.top)
	return s.broken(ctx, nil)
}
