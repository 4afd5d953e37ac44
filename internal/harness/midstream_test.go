package harness

import (
	"context"
	"strings"
	"testing"

	"varve/internal/providers"
	"varve/internal/session"
)

// broke answers with text, and then with an error in the stream.
func broke(partial string, e providers.Error) answer {
	return func(_ context.Context, _ string, sink providers.Sink) providers.Reply {
		sink.Delta("text", "", []byte(partial))
		return providers.Reply{Class: providers.Failed, Partial: []byte(partial), Err: &e}
	}
}

// case STR-13: what was said before an error in the stream is discarded before the next attempt, which is the very same
// request, and stands neither twice nor at all; an invalid request is not asked again. PRV-6
func TestErrorInMidStream(t *testing.T) {
	overload := providers.Error{Kind: providers.Overloaded, Retry: true, Told: true, Message: "Overloaded"}
	for _, c := range []struct {
		name     string
		replies  []answer
		requests int
		status   string
	}{
		{"overloaded before output", []answer{broke("", overload), text("whole")}, 2, "completed"},
		{"overloaded after output", []answer{broke("par", overload), broke("who", overload), text("whole")}, 3, "completed"},
		{"invalid", []answer{broke("par", providers.Error{Kind: providers.BadRequest, Message: "bad field"}), text("never")}, 1, "failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, c.replies...)
			l := w.start()
			say(t, l, "go")
			if e := ended(t, l, 1); e.Status != c.status {
				t.Errorf("%+v\n%s", e, story(t, l))
			}
			sent := w.sent()
			for _, body := range sent {
				if body != sent[0] {
					t.Errorf("another request:\n%s\n%s", body, sent[0])
				}
			}
			if len(sent) != c.requests {
				t.Errorf("%d requests", len(sent))
			}
			var said []string
			for it := range l.State().Branch.View.All {
				if it.Source == session.FromModel {
					b, err := l.Session.Text(it)
					if err != nil {
						t.Error(err)
					}
					said = append(said, string(b))
				}
			}
			want := ""
			if c.status == "completed" {
				want = "whole"
			}
			if got := strings.Join(said, "|"); got != want {
				t.Errorf("the view says %q, want %q", got, want)
			}
		})
	}
}
