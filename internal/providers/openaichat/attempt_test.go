package openaichat_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"varve/internal/providers"
)

type carrier func(*http.Request) (*http.Response, error)

func (c carrier) RoundTrip(r *http.Request) (*http.Response, error) { return c(r) }

// streaming is a client whose answer is what a writer writes. The writer ends with the test.
func streaming(write func(*io.PipeWriter)) *http.Client {
	return &http.Client{Transport: carrier(func(r *http.Request) (*http.Response, error) {
		in, out := io.Pipe()
		go write(out)
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: in, Request: r}, nil
	})}
}

// PRV-5: what brings a reply forward holds off the progress timeout for ever; chunks with nothing in them don't.
func TestOnlyProgressHoldsOffTheQuiet(t *testing.T) {
	for _, c := range []struct {
		name, piece string
		class       providers.Class
		after       time.Duration
	}{
		{"text", chunk(`{"content":"a"}`, "null"), providers.Natural, 5 * time.Minute},
		{"reasoning", chunk(`{"reasoning":"a"}`, "null"), providers.Unknown, 5 * time.Minute}, // it says nothing in the end
		{"arguments", chunk(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"ls","arguments":" "}}]}`, "null"), providers.Tool, 5 * time.Minute},
		{"comments", ": ping\n\n", providers.Stalled, time.Minute},
		{"empty deltas", chunk(`{"content":""}`, "null"), providers.Stalled, time.Minute},
		{"no choices", "data: {\"choices\":[]}\n\n", providers.Stalled, time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := streaming(func(out *io.PipeWriter) {
					for range 10 {
						time.Sleep(30 * time.Second)
						if _, err := io.WriteString(out, c.piece); err != nil {
							return
						}
					}
					_, _ = io.WriteString(out, chunk(`{}`, "stop"))
					_ = out.Close()
				})
				began := time.Now()
				r := adapter.Send(t.Context(), providers.Endpoint{BaseURL: "http://h/v1", Client: client, QuietTimeout: time.Minute}, []byte(`{"model":"m"}`), nil)
				if took := time.Since(began); r.Class != c.class || took.Truncate(time.Second) != c.after {
					t.Errorf("%s after %v (%v), want %s after %v", r.Class, took, r.Err, c.class, c.after)
				}
				time.Sleep(time.Hour) // the writer sees that nobody reads
			})
		})
	}
}

// A reply that has said [DONE] is returned soon, whatever its server does with the connection.
func TestFinishedStreamIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed := make(chan struct{})
		client := streaming(func(out *io.PipeWriter) {
			_, _ = io.WriteString(out, chunk(`{"content":"a"}`, "stop")+"data: [DONE]\n\n")
			time.Sleep(time.Hour)
			if _, err := io.WriteString(out, "late"); err == nil {
				t.Error("the connection was left open")
			}
			close(closed)
		})
		began := time.Now()
		r := adapter.Send(t.Context(), providers.Endpoint{BaseURL: "http://h/v1", Client: client}, []byte(`{"model":"m"}`), nil)
		if took := time.Since(began); r.Class != providers.Natural || took > 100*time.Millisecond {
			t.Errorf("%s after %v", r.Class, took)
		}
		<-closed
	})
}

// A cancel counts also where the finish has been said, but not the end: one who presses Esc gets no turn that goes on.
func TestCancelAfterTheFinish(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	client := streaming(func(out *io.PipeWriter) {
		_, _ = io.WriteString(out, chunk(`{"content":"par"}`, "null")+chunk(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"bash","arguments":"{}"}}]}`, "tool_calls"))
		_, _ = io.WriteString(out, ": so that what came before was read\n\n")
		cancel()
	})
	r := adapter.Send(ctx, providers.Endpoint{BaseURL: "http://h/v1", Client: client}, []byte(`{"model":"m"}`), nil)
	if r.Class != providers.Cancelled || len(r.Parts) > 0 || r.Err != nil || !strings.HasPrefix("par", string(r.Partial)) {
		t.Errorf("%s %v, %d parts, partial %q", r.Class, r.Err, len(r.Parts), r.Partial)
	}
}

// One choice is asked for; what a server says for another is not this reply.
func TestOtherChoices(t *testing.T) {
	other := func(delta string) string {
		return `data: {"choices":[{"index":1,"delta":` + delta + `,"finish_reason":"length"}]}` + "\n\n"
	}
	out := &screen{}
	r := answer(t, chunk(`{"content":"a"}`, "null")+other(`{"content":"X","tool_calls":[{"index":0,"id":"x","function":{"name":"bash","arguments":"{}"}}]}`)+
		chunk(`{"content":"b"}`, "stop")+other(`{"content":"Y"}`), out)
	if r.Class != providers.Natural || textOf(r) != "ab" || out.text.String() != "ab" || len(r.Parts) != 1 {
		t.Errorf("%s %q, shown %q, %d parts", r.Class, textOf(r), out.text.String(), len(r.Parts))
	}
}

// PRV-7: the key goes into one header, and where there is none, there is no header: some local servers refuse an empty one.
func TestKeyIsOneHeader(t *testing.T) {
	for key, want := range map[string][]string{"": nil, "k-123456": {"Bearer k-123456"}} {
		var got http.Header
		var url string
		client := &http.Client{Transport: carrier(func(r *http.Request) (*http.Response, error) {
			got, url = r.Header.Clone(), r.URL.String()
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(chunk(`{"content":"a"}`, "stop"))), Request: r}, nil
		})}
		if r := adapter.Send(t.Context(), providers.Endpoint{BaseURL: "http://h/v1", Key: key, Client: client}, []byte(`{"model":"m"}`), nil); r.Class != providers.Natural {
			t.Fatal(r.Err)
		}
		if d := cmp.Diff(want, got["Authorization"]); d != "" {
			t.Error(d)
		}
		got.Del("Authorization")
		for name, values := range got {
			if key != "" && strings.Contains(strings.Join(values, " "), key) || key != "" && strings.Contains(url, key) {
				t.Errorf("the key stands in %s or in %s too", name, url)
			}
		}
	}
}
