package providers_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"varve/internal/providers"
)

// client returns a client of its own, whose connections end with the test.
func client(t *testing.T) *http.Client {
	tr := &http.Transport{DisableCompression: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// case CFG-08
func TestURL(t *testing.T) {
	for base, want := range map[string]string{
		"https://api.example.com":           "https://api.example.com/v1/chat/completions",
		"https://api.example.com/":          "https://api.example.com/v1/chat/completions",
		"https://api.example.com/v1":        "https://api.example.com/v1/chat/completions",
		"https://api.example.com/v1/":       "https://api.example.com/v1/chat/completions",
		"https://api.z.ai/api/paas/v4":      "https://api.z.ai/api/paas/v4/chat/completions",
		"https://api.example.com/proxy?x=1": "https://api.example.com/proxy/chat/completions?x=1",
		"http://10.0.0.5:11434":             "http://10.0.0.5:11434/v1/chat/completions",
		"http://[::1]:8080":                 "http://[::1]:8080/v1/chat/completions",
		"https://h/v1/chat/completions":     "https://h/v1/chat/completions",
		" https://h/v1 ":                    "https://h/v1/chat/completions",
		"unix:///run/x.sock":                "",
		"h/v1":                              "",
		"https://":                          "",
		"ht tp://h":                         "",
		"":                                  "",
		"https://a b/v1":                    "",
		"https://res.openai.azure.com/openai/deployments/d?api-version=1": "https://res.openai.azure.com/openai/deployments/d/chat/completions?api-version=1",
	} {
		got, e := providers.Endpoint{BaseURL: base, Provider: "p"}.URL("/chat/completions")
		if got != want || (e == nil) != (want != "") {
			t.Errorf("%q: got %q (%v), want %q", base, got, e, want)
		}
	}
}

func post(t *testing.T, to providers.Endpoint, url string) (*http.Response, providers.Class, *providers.Error) {
	if to.Client == nil {
		to.Client = client(t)
	}
	return providers.Post(t.Context(), to, url, http.Header{"Authorization": {"Bearer k-123456"}}, []byte(`{"a":1}`))
}

func TestPost(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		for name, want := range map[string]string{"Authorization": "Bearer k-123456", "Accept-Encoding": "identity", "Content-Type": "application/json", "X-Extra": "y"} {
			if got := r.Header.Get(name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		if string(body) != `{"a":1}` || r.ContentLength != 7 {
			t.Errorf("body %q, length %d", body, r.ContentLength)
		}
		_, _ = w.Write([]byte("ok"))
	})
	resp, class, e := post(t, providers.Endpoint{Headers: map[string]string{"x-extra": "y", "authorization": "evil", "host": "evil", "content-type": "evil"}}, s.URL)
	if class != "" || e != nil {
		t.Fatal(class, e)
	}
	got, err := io.ReadAll(resp.Body)
	if string(got) != "ok" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	_ = resp.Body.Close()
}

// PRV-7: extra headers can't set what is ours, also where there is no key.
func TestExtraHeaders(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization") + r.Host + r.Header.Get("Content-Type"); strings.Contains(got, "evil") {
			t.Errorf("got %q", got)
		}
	})
	resp, _, e := providers.Post(t.Context(), providers.Endpoint{Client: client(t), Headers: map[string]string{"authorization": "evil", "HOST": "evil", "content-type": "evil"}}, s.URL, nil, []byte(`{}`))
	if e != nil {
		t.Fatal(e)
	}
	_ = resp.Body.Close()
}

// H30: the body follows a 307, the key does not follow to another host.
func TestRedirects(t *testing.T) {
	var seen atomic.Value
	other := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen.Store(r.Method + " " + string(body) + " " + r.Header.Get("Authorization") + r.Header.Get("X-Api-Key") + r.Header.Get("X-Extra"))
		_, _ = w.Write([]byte("{}"))
	})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/own":
			http.Redirect(w, r, "/there", http.StatusTemporaryRedirect)
		case "/cross":
			http.Redirect(w, r, other.URL, http.StatusPermanentRedirect)
		case "/back":
			http.Redirect(w, r, other.URL+"/", http.StatusTemporaryRedirect)
		case "/login":
			http.Redirect(w, r, "/there", http.StatusFound)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusTemporaryRedirect)
		default:
			body, _ := io.ReadAll(r.Body)
			seen.Store(r.Method + " " + string(body) + " " + r.Header.Get("Authorization") + " " + r.Header.Get("X-Extra"))
			_, _ = w.Write([]byte("{}"))
		}
	})
	to := providers.Endpoint{Headers: map[string]string{"X-Extra": "secret-y"}}
	for path, want := range map[string]string{"/own": `POST {"a":1} Bearer k-123456 secret-y`, "/cross": `POST {"a":1} `} {
		resp, class, e := post(t, to, s.URL+path)
		if class != "" {
			t.Fatal(path, class, e)
		}
		_ = resp.Body.Close()
		if got := seen.Load(); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
	for path, kind := range map[string]providers.ErrorKind{"/login": providers.Gateway, "/loop": providers.Gateway} {
		if _, class, e := post(t, to, s.URL+path); class != providers.Failed || e.Kind != kind {
			t.Errorf("%s: %s %v", path, class, e)
		}
	}
}

// H31
func TestErrorBodies(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write([]byte(`{"error":{"message":"zipped"}}`))
	_ = z.Close()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/gzip":
			w.Header().Set("Content-Encoding", "gzip")
			w.WriteHeader(400)
			_, _ = w.Write(zipped.Bytes())
		case "/latin1":
			w.Header().Set("Content-Type", "application/json; charset=ISO-8859-1")
			w.WriteHeader(400)
			_, _ = w.Write([]byte("{\"error\":{\"message\":\"caf\xE9\"}}"))
		case "/huge":
			w.WriteHeader(500)
			for range 5 << 10 {
				if _, err := w.Write(bytes.Repeat([]byte("x"), 1<<10)); err != nil {
					return
				}
			}
		case "/key":
			w.WriteHeader(401)
			_, _ = w.Write([]byte(`{"error":{"message":"bad key k-123456"}}`))
		case "/cut":
			w.Header().Set("Content-Length", "1000")
			w.WriteHeader(429)
			_, _ = w.Write([]byte(`slow`))
		}
	})
	for path, want := range map[string]string{"/gzip": "zipped", "/latin1": "café", "/key": "bad key [key]", "/cut": "slow"} {
		_, _, e := post(t, providers.Endpoint{Key: "k-123456"}, s.URL+path)
		if e == nil || e.Message != want {
			t.Errorf("%s: %v, want %q", path, e, want)
		}
	}
	if _, _, e := post(t, providers.Endpoint{}, s.URL+"/huge"); e == nil || e.Kind != providers.Server || len(e.Message) > providers.MessageLimit || len(e.Message) < 1000 {
		t.Errorf("huge: %v", e)
	}
}

// H32: what can't be reached says why.
func TestUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := "http://" + l.Addr().String()
	_ = l.Close()
	tls := httptest.NewTLSServer(http.NotFoundHandler())
	tls.Config.ErrorLog = nil
	tls.EnableHTTP2 = false
	t.Cleanup(tls.Close)
	tls.Config.ErrorLog = nil
	plain := serve(t, func(http.ResponseWriter, *http.Request) {})
	silent := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.DNSError{Err: "no such host", Name: "api.nowhere.invalid", IsNotFound: true}
	}}}
	for _, c := range []struct {
		url, sub, words string
		client          *http.Client
		retry           bool
	}{
		{closed, "refused", "start the model server", nil, true},
		{"http://api.nowhere.invalid/", "dns", "no address found for api.nowhere.invalid", silent, true},
		{tls.URL, "tls", "is not trusted", nil, false},
		{strings.Replace(plain.URL, "http:", "https:", 1), "tls", "did you mean http://", nil, false},
	} {
		_, class, e := post(t, providers.Endpoint{Client: c.client}, c.url)
		if class != providers.Failed || e.Kind != providers.Network || e.Sub != c.sub || e.Retry != c.retry || !strings.Contains(e.Message, c.words) {
			t.Errorf("%s: %s %+v", c.url, class, e)
		}
	}
}

// A manual clock: After fires when told.
type manual struct{ fire chan time.Time }

func (manual) Now() time.Time                         { return time.Unix(0, 0) }
func (m manual) After(time.Duration) <-chan time.Time { return m.fire }

func TestNoHeaders(t *testing.T) {
	arrived := make(chan struct{})
	left := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		close(arrived)
		<-r.Context().Done()
		close(left)
	})
	clock := manual{make(chan time.Time)}
	go func() {
		<-arrived
		for {
			select {
			case clock.fire <- time.Time{}:
			case <-left:
				return
			}
		}
	}()
	_, class, e := post(t, providers.Endpoint{Clock: clock}, s.URL)
	if class != providers.Stalled || e.Kind != providers.Timeout || !e.Retry {
		t.Errorf("%s %v", class, e)
	}
	<-left // the connection was closed
}

func TestCancelBeforeHeaders(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		cancel()
		<-r.Context().Done()
		close(left)
	})
	resp, class, e := providers.Post(ctx, providers.Endpoint{Client: client(t)}, s.URL, nil, []byte("{}"))
	if resp != nil || class != providers.Cancelled || e != nil {
		t.Errorf("%v %s %v", resp, class, e)
	}
	<-left
}

// REL-7
func TestGuard(t *testing.T) {
	f := func() (r providers.Reply) {
		defer providers.Guard(&r)
		panic(errors.New("oops sk-abcdefghijkl"))
	}
	if r := f(); r.Class != providers.Failed || r.Err.Kind != providers.OurOwn || r.Err.Message != "adapter: internal error: oops [key]" {
		t.Errorf("%+v", r.Err)
	}
}
