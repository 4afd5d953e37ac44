// Package providertest holds what every adapter must do, as a suite for those who write one.
//
// The writer plays each [Scene] in the words of the API kind; the suite sends
// a request and looks at the reply. It is small on purpose: the rows of
// wire.md §6 are the whole story.
package providertest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"varve/internal/providers"
	"varve/internal/session"
)

// A Scene is one thing that a provider can do. Scenes with text say "Hel" and
// "lo" in two deltas; where usage is reported it is 10 tokens in, 2 out.
type Scene string

// The scenes.
const (
	Natural     Scene = "natural finish"        // the text, a natural end, usage
	Length      Scene = "output limit"          // the text, cut off by the output limit, usage
	Refusal     Scene = "refusal"               // the text, then the filter, usage: reported though rejected
	Empty       Scene = "nothing in it"         // a natural end without text or call
	Cut         Scene = "cut stream"            // the text, then the connection ends without a terminator
	Overloaded  Scene = "error in the stream"   // status 200, the text, then the vendor's event for overload: "Overloaded"
	RateLimited Scene = "rate limit"            // status 429, Retry-After: 7
	TooLong     Scene = "overflow"              // the vendor's overflow error: limit 8192, used 9000
	Endless     Scene = "stream without an end" // the text, then nothing until the client goes
)

// Run tests an adapter. play returns the handler that plays a scene.
func Run(t *testing.T, a providers.Adapter, play func(Scene) http.HandlerFunc) { // PRV-5, PRV-6, PRV-10, case STR-13
	for _, c := range []struct {
		scene Scene
		check func(*testing.T, providers.Reply, string)
	}{
		{Natural, func(t *testing.T, r providers.Reply, shown string) {
			class(t, r, providers.Natural)
			kept(t, r, "Hello")
			usage(t, r)
			if shown != "Hello" || r.RawFinish == "" || r.Err != nil {
				t.Errorf("shown %q, raw finish %q, error %v", shown, r.RawFinish, r.Err)
			}
		}},
		{Length, func(t *testing.T, r providers.Reply, _ string) {
			class(t, r, providers.Length)
			kept(t, r, "Hello")
			usage(t, r)
		}},
		{Refusal, func(t *testing.T, r providers.Reply, _ string) {
			class(t, r, providers.Refusal)
			rejected(t, r)
			usage(t, r)
		}},
		{Empty, func(t *testing.T, r providers.Reply, _ string) {
			class(t, r, providers.Unknown)
			rejected(t, r)
			failure(t, r, providers.EmptyReply, true)
		}},
		{Cut, func(t *testing.T, r providers.Reply, _ string) {
			class(t, r, providers.Missing)
			rejected(t, r)
			failure(t, r, providers.Network, true)
			if string(r.Partial) != "Hello" {
				t.Errorf("partial %q", r.Partial)
			}
		}},
		{Overloaded, func(t *testing.T, r providers.Reply, shown string) {
			class(t, r, providers.Failed)
			rejected(t, r)
			failure(t, r, providers.Overloaded, true)
			if string(r.Partial) != "Hello" || shown != "Hello" {
				t.Errorf("partial %q, shown %q", r.Partial, shown)
			}
		}},
		{RateLimited, func(t *testing.T, r providers.Reply, _ string) {
			class(t, r, providers.Failed)
			failure(t, r, providers.RateLimit, true)
			if r.Err != nil && (!r.Err.Told || r.Err.After != 7*time.Second) {
				t.Errorf("wait %v told %v, want 7s", r.Err.After, r.Err.Told)
			}
		}},
		{TooLong, func(t *testing.T, r providers.Reply, _ string) {
			class(t, r, providers.Overflow)
			failure(t, r, providers.ContextLength, false)
			if r.Err != nil && (r.Err.Limit != 8192 || r.Err.Used != 9000) {
				t.Errorf("limit %d, used %d", r.Err.Limit, r.Err.Used)
			}
			if r.Window == nil || r.Window.Limit != 8192 || r.Window.Model.Model != "m" || r.Window.Endpoint == "" {
				t.Errorf("learned window %+v", r.Window)
			}
		}},
		{Endless, func(t *testing.T, r providers.Reply, _ string) {
			class(t, r, providers.Cancelled)
			rejected(t, r)
			if r.Err != nil {
				t.Errorf("a cancel is no error: %v", r.Err)
			}
		}},
	} {
		t.Run(string(c.scene), func(t *testing.T) {
			r, shown := once(t, a, c.scene, play(c.scene))
			c.check(t, r, shown)
		})
	}
}

// once makes one attempt. Endless is cancelled at the second delta, and the
// provider must see that the client has gone.
func once(t *testing.T, a providers.Adapter, scene Scene, h http.HandlerFunc) (providers.Reply, string) {
	gone := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h(w, r)
		if scene == Endless {
			<-r.Context().Done()
		}
		close(gone)
	}))
	defer s.Close()
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &screen{}
	if scene == Endless {
		out.full = cancel
	}
	r := a.Send(ctx, providers.Endpoint{Provider: "p", BaseURL: s.URL, Key: "test-key", Client: &http.Client{Transport: tr}}, request(t, a), out)
	<-gone
	return r, out.text.String()
}

// request is a body that says hello.
func request(t *testing.T, a providers.Adapter) []byte {
	blocks, err := a.NewEncoder().Encode(providers.Ask{
		Model: session.Model{Provider: "p", API: a.API(), Model: "m"},
		View: func(yield func(session.Item) bool) {
			yield(session.Item{ID: session.ItemID{Seq: 1, Part: 1}, Kind: session.UserItem, At: 1})
		},
	}, func(session.Seq, int) ([]byte, error) { return []byte("Hello?"), nil })
	if err != nil {
		t.Fatal(err)
	}
	return providers.Join(blocks, nil, 0).Bytes
}

// A screen gathers what is shown.
type screen struct {
	text strings.Builder
	full func()
}

func (s *screen) Delta(kind, _ string, text []byte) {
	if kind != "text" {
		return
	}
	s.text.Write(text)
	if s.full != nil && s.text.String() == "Hello" {
		s.full()
	}
}

func class(t *testing.T, r providers.Reply, want providers.Class) {
	t.Helper()
	if r.Class != want {
		t.Errorf("class %s, want %s (%v)", r.Class, want, r.Err)
	}
}

func kept(t *testing.T, r providers.Reply, want string) {
	t.Helper()
	text := ""
	for _, p := range r.Parts {
		if p.Kind == session.AssistantItem {
			text += string(p.Bytes)
		}
	}
	if text != want {
		t.Errorf("text %q, want %q", text, want)
	}
}

func rejected(t *testing.T, r providers.Reply) {
	t.Helper()
	if len(r.Parts) > 0 {
		t.Errorf("%d parts of a reply that may not be kept", len(r.Parts))
	}
}

func usage(t *testing.T, r providers.Reply) {
	t.Helper()
	if r.Usage == nil || r.Usage.Input != 10 || r.Usage.Output != 2 {
		t.Errorf("usage %+v, want 10 in, 2 out", r.Usage)
	}
}

func failure(t *testing.T, r providers.Reply, want providers.ErrorKind, retry bool) {
	t.Helper()
	if r.Err == nil || r.Err.Kind != want || r.Err.Retry != retry || r.Err.Message == "" {
		t.Errorf("error %+v, want %s, retry %v", r.Err, want, retry)
	}
}
