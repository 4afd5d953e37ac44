package harness

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"varve/internal/providers"
	"varve/internal/session"
)

// What a request may hold is said by the person, else by whoever knows the
// least of it: what was learned counts where it was learned. // CMP-1, PRV-8
func TestCapacity(t *testing.T) {
	m := session.Model{Provider: "p", API: "a", Model: "m"}
	learned := func(limit int, change func(*session.WindowLearned)) []session.WindowLearned {
		w := session.WindowLearned{Model: m, Endpoint: "here", Role: "agent", Limit: limit}
		if change != nil {
			change(&w)
		}
		return []session.WindowLearned{w}
	}
	table := session.Capacity{N: 1000, Source: "table"}
	for name, c := range map[string]struct {
		window  session.Capacity
		setting *int
		learned []session.WindowLearned
		promise int
		want    session.Capacity
	}{
		"nobody knows":                {want: session.Capacity{Source: "none"}},
		"a table":                     {window: table, want: table},
		"less what is promised":       {window: table, promise: 100, want: session.Capacity{N: 900, Source: "table"}},
		"all of it is promised":       {window: table, promise: 2000, want: session.Capacity{Source: "table"}},
		"a person says so":            {window: table, setting: new(500), learned: learned(100, nil), promise: 100, want: session.Capacity{N: 500, Source: "setting"}},
		"learned":                     {learned: learned(800, nil), want: session.Capacity{N: 800, Source: "learned"}},
		"learned, and less":           {window: table, learned: learned(800, nil), promise: 100, want: session.Capacity{N: 700, Source: "learned"}},
		"learned, and no less":        {window: table, learned: learned(1200, nil), want: table},
		"learned of another endpoint": {window: table, learned: learned(800, func(w *session.WindowLearned) { w.Endpoint = "there" }), want: table},
		"learned of another model":    {window: table, learned: learned(800, func(w *session.WindowLearned) { w.Model.Model = "n" }), want: table},
		"learned for summaries":       {window: table, learned: learned(800, func(w *session.WindowLearned) { w.Role = "summarizer" }), want: table},
	} {
		var s session.State
		s.Branch.Model, s.Session.Windows, s.Session.Settings.InputLimit = m, c.learned, c.setting
		if got := capacity(s, Target{Endpoint: providers.Endpoint{BaseURL: "here"}, Window: c.window}, c.promise); got != c.want {
			t.Errorf("%s: %+v, not %+v", name, got, c.want)
		}
	}
}

// An asked adapter keeps what it was asked to encode.
type asked struct {
	*script
	mu   sync.Mutex
	asks []providers.Ask
}

func (a *asked) NewEncoder() providers.Encoder { return a }

func (a *asked) Encode(ask providers.Ask, load providers.Load) ([]providers.Block, error) {
	a.mu.Lock()
	a.asks = append(a.asks, ask)
	a.mu.Unlock()
	return plainEncoder{}.Encode(ask, load)
}

// asking lets a world ask at an endpoint, and keeps what it asks.
func (w *world) asking(endpoint *string, limit int) *asked {
	a := &asked{script: w.script}
	w.opts.Resolve = func(context.Context, session.Model) (Target, error) {
		return Target{Adapter: a, Endpoint: providers.Endpoint{BaseURL: *endpoint}, OutputLimit: limit}, nil
	}
	return a
}

// requests are the facts of the requests that were recorded.
func requests(t *testing.T, l *Local) (out []session.RequestSent) {
	t.Helper()
	all, err := l.Session.Entries(0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if ev, ok := e.Event.(session.RequestSent); ok {
			out = append(out, ev)
		}
	}
	return out
}

// What an endpoint showed of its window and its ways is in the log, and is used
// from the next request on, by the next program too; and by no other endpoint.
// PRV-7, PRV-8
func TestLearned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		endpoint := "here"
		w := alone(t, func(ctx context.Context, body string, sink providers.Sink) providers.Reply {
			r := calls("ls", `{"path":"."}`)(ctx, body, sink)
			r.Learned = []session.EndpointLearned{{Quirk: "no_stream_options", Value: "true"}}
			r.Window = &session.WindowLearned{Limit: 9000, Kind: "input", Source: "error"}
			return r
		})
		w.script.rest = text("Done.")
		a := w.asking(&endpoint, 100)
		l := w.start()
		say(t, l, "first")
		ended(t, l, 1)
		l.Close()
		l = w.resume(l.Session.Path())
		say(t, l, "second")
		ended(t, l, 2)
		endpoint = "elsewhere"
		say(t, l, "third")
		ended(t, l, 3)
		quirk := session.EndpointLearned{Endpoint: "here", Model: "m", Quirk: "no_stream_options", Value: "true"}
		sent := requests(t, l)
		for i, want := range []struct {
			window session.Capacity
			quirks []session.EndpointLearned
		}{
			{session.Capacity{Source: "none"}, nil},
			{session.Capacity{N: 8900, Source: "learned"}, []session.EndpointLearned{quirk}},
			{session.Capacity{N: 8900, Source: "learned"}, []session.EndpointLearned{quirk}},
			{session.Capacity{Source: "none"}, nil},
		} {
			if sent[i].Capacity != want.window || !slices.Equal(a.asks[i].Quirks, want.quirks) {
				t.Errorf("request %d: %+v %+v", i, sent[i].Capacity, a.asks[i].Quirks)
			}
		}
	})
}

// An output limit is sent as set; where input and limit together are too much,
// the request is made once more without it. // PRV-6
func TestOutputLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		endpoint := "here"
		w := alone(t, func(context.Context, string, providers.Sink) providers.Reply {
			return providers.Reply{Class: providers.Failed, Err: &providers.Error{Kind: providers.ContextLength, Sub: "budget"}}
		}, text("Done."), text("Done again."))
		w.opts.Settings.OutputLimit = new(50)
		a := w.asking(&endpoint, 100)
		l := w.start()
		say(t, l, "first")
		ended(t, l, 1)
		say(t, l, "second")
		ended(t, l, 2)
		var limits []int
		for i, r := range requests(t, l) {
			limits = append(limits, r.OutputLimit, a.asks[i].OutputLimit)
		}
		if !slices.Equal(limits, []int{50, 50, 0, 0, 50, 50}) {
			t.Errorf("%v", limits)
		}
	})
}

// A model that can't be reached by the settings ends the turn with the words
// that say what to do, and is not tried again: before the request is made, and
// between that and sending it. // PRV-6, PRV-7
func TestUnresolved(t *testing.T) {
	for name, c := range map[string]struct {
		at   int // which resolve fails: the first one is for the tools
		want string
	}{
		"encode": {2, "fault.recorded \"set a key\"\nturn.ended failed settings\n"},
		"send":   {3, "request.sent\nreply.rejected error kept=false\nturn.ended failed settings\n"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := alone(t)
				n, good := 0, w.opts.Resolve
				w.opts.Resolve = func(ctx context.Context, m session.Model) (Target, error) {
					if n++; n == c.at {
						return Target{}, errors.New("set a key")
					}
					return good(ctx, m)
				}
				l := w.start()
				say(t, l, "first")
				ended(t, l, 1)
				if s := numberless(story(t, l)); !strings.HasSuffix(s, c.want) || len(w.sent()) > 0 || n != c.at {
					t.Errorf("%d resolves\n%s", n, s)
				}
				all, _ := l.Session.Entries(0, 100)
				if !slices.ContainsFunc(all, func(e session.Entry) bool {
					parts, err := e.Parts()
					return err == nil && slices.ContainsFunc(parts, func(p session.Part) bool { return string(p.Bytes) == "set a key" })
				}) {
					t.Error("nobody says what to do")
				}
			})
		})
	}
}

// The body of a recorded request is that one's, whatever was made since; where
// content of it is lost it is not made up. // PFX-3, CAS-3
func TestBodyOfRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := alone(t, text(strings.Repeat("long ", 20000)), text("Done."))
		l := w.start()
		say(t, l, "first")
		ended(t, l, 1)
		say(t, l, "second")
		ended(t, l, 2)
		var at []session.Seq
		all, _ := l.Session.Entries(0, 100)
		for _, e := range all {
			if e.Type == "request.sent" {
				at = append(at, e.Seq)
			}
		}
		sent := w.sent()
		sp := &Speaker{sess: l.Session, body: []byte(sent[1]), sha: fmt.Sprintf("%x", sha256.Sum256([]byte(sent[1])))}
		for i, q := range at {
			if b, err := sp.bodyOf(q); err != nil || string(b) != sent[i] {
				t.Errorf("request %d: %v, %d bytes", i, err, len(b))
			}
			if b := sp.before(session.Sent{Seq: q}); string(b) != sent[i] {
				t.Errorf("before request %d: %d bytes", i, len(b))
			}
		}
		if err := os.RemoveAll(filepath.Join(w.opts.DataDir, "blobs")); err != nil {
			t.Fatal(err)
		}
		if b, err := l.Session.Request(at[1]); err == nil {
			t.Errorf("%d bytes of a request whose content is lost", len(b))
		}
	})
}
