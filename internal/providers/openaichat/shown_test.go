package openaichat_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"varve/internal/providers"
	"varve/internal/providers/openaichat"
)

// seen keeps what a sink was given, piece by piece.
type seen []string

func (s *seen) Delta(kind, name string, text []byte) {
	*s = append(*s, fmt.Sprintf("%s %s %s", kind, name, text))
}

// What arrives together is shown together, each kind in its order, and nothing is kept back at the end. // PERF-5, TUI-2
func TestShownByRead(t *testing.T) {
	more := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		say := func(deltas ...string) {
			var all []byte
			for _, d := range deltas {
				all = fmt.Appendf(all, "data: {\"choices\":[{\"index\":0,\"delta\":%s}]}\n\n", d)
			}
			_, _ = w.Write(all)
			_ = http.NewResponseController(w).Flush()
		}
		say(`{"reasoning_content":"hm"}`, `{"content":"a"}`, `{"content":"b"}`, `{"content":"c"}`)
		<-more
		say(`{"content":"d"}`, `{"tool_calls":[{"index":0,"id":"1","function":{"name":"read","arguments":"{\"x\""}}]}`,
			`{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}`)
	}))
	defer server.Close()
	var got seen
	sink := waker{&got, func() {
		if len(got) == 2 { // all of the first piece: the rest may come
			close(more)
		}
	}}
	openaichat.Adapter{}.Send(t.Context(), providers.Endpoint{Provider: "deepseek", BaseURL: server.URL, Key: "k"}, []byte("{}"), sink)
	want := seen{"reasoning  hm", "text  abc", "text  d", `call read {"x":1}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

type waker struct {
	providers.Sink
	then func()
}

func (w waker) Delta(kind, name string, text []byte) {
	w.Sink.Delta(kind, name, text)
	w.then()
}
