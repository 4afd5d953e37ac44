package providers_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"varve/internal/providers"
)

// A carrier answers a request in memory.
type carrier func(*http.Request) (*http.Response, error)

func (c carrier) RoundTrip(r *http.Request) (*http.Response, error) { return c(r) }

func answering(status int, body io.Reader) *http.Client {
	return &http.Client{Transport: carrier(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(body), Request: r}, nil
	})}
}

// case STR-14: whatever the client that one brings says, there is no total deadline.
func TestNoTotalDeadline(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	c := client(t)
	c.Timeout = time.Nanosecond
	resp, class, e := post(t, providers.Endpoint{Client: c}, s.URL)
	if class != "" {
		t.Fatal(class, e)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); string(b) != "ok" || err != nil {
		t.Errorf("%q %v", b, err)
	}
	if c.Timeout != time.Nanosecond {
		t.Error("the client was changed")
	}
}

// asked is a clock that notes how long one wants to wait, and lets nobody wait to the end.
type asked struct {
	mu    sync.Mutex
	waits []time.Duration
}

func (*asked) Now() time.Time { return time.Unix(0, 0) }

func (a *asked) After(d time.Duration) <-chan time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waits = append(a.waits, d)
	return nil
}

// An answer must begin within the stall timeout, and five times that on this machine, where a model may be loading.
func TestPatienceWithThisMachine(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	c := client(t)
	c.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, strings.TrimPrefix(s.URL, "http://"))
	}
	for url, want := range map[string]time.Duration{
		"http://127.0.0.1/": 50 * time.Second, "http://localhost:9/": 50 * time.Second, "http://[::1]:9/": 50 * time.Second,
		"http://api.example.com/": 10 * time.Second, "http://192.168.0.9/": 10 * time.Second,
	} {
		clock := &asked{}
		resp, class, e := post(t, providers.Endpoint{Client: c, Clock: clock, StallTimeout: 10 * time.Second}, url)
		if class != "" {
			t.Fatal(url, class, e)
		}
		_ = resp.Body.Close()
		clock.mu.Lock()
		if len(clock.waits) == 0 || clock.waits[0] != want {
			t.Errorf("%s: waits %v, want %v", url, clock.waits, want)
		}
		clock.mu.Unlock()
	}
}

// An attempt's context lives as long as its body is open, and no longer: a session makes thousands of them.
func TestClosedBodyEndsItsContext(t *testing.T) {
	for _, status := range []int{200, 500} {
		var ctx context.Context
		c := answering(status, strings.NewReader("{}"))
		inner := c.Transport
		c.Transport = carrier(func(r *http.Request) (*http.Response, error) {
			ctx = r.Context()
			return inner.RoundTrip(r)
		})
		resp, _, _ := post(t, providers.Endpoint{Client: c}, "http://h/")
		if resp != nil {
			if ctx.Err() != nil {
				t.Errorf("status %d: ended before its body", status)
			}
			_ = resp.Body.Close()
		}
		if ctx.Err() == nil {
			t.Errorf("status %d: the context lives on", status)
		}
	}
}

// cancels is a body in whose middle a person cancels.
type cancels struct {
	first  io.Reader
	cancel func()
}

func (c *cancels) Read(p []byte) (int, error) {
	if n, err := c.first.Read(p); err == nil {
		return n, nil
	}
	c.cancel()
	return 0, errors.New("closed")
}

// A cancel while the words of an error still arrive is a cancel: nothing is retried, and nobody is told of status 500.
func TestCancelInAnErrorBody(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	body := &cancels{strings.NewReader(`{"error":`), cancel}
	resp, class, e := providers.Post(ctx, providers.Endpoint{Client: answering(500, body)}, "http://h/", nil, []byte("{}"))
	if resp != nil || class != providers.Cancelled || e != nil {
		t.Errorf("%v %s %v", resp, class, e)
	}
}
