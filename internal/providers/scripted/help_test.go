package scripted

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const hello = `{"model":"m","messages":[{"role":"user","content":"Say hello."}],"stream":true,"stream_options":{"include_usage":true}}`

// open starts a server and a client for one test, and closes both.
func open(t testing.TB, o Options) (*Server, *http.Client) {
	t.Helper()
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{DisableCompression: true}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		s.Close()
	})
	return s, &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func play(t testing.TB, s *Server, text string) {
	t.Helper()
	list, err := Parse("test", text)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Play(list[0]); err != nil {
		t.Fatal(err)
	}
}

func post(ctx context.Context, t testing.TB, c *http.Client, url, body string) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer sk-test-0123456789abcdef")
	return c.Do(req)
}

// ask posts a body and reads the whole reply.
func ask(t testing.TB, c *http.Client, url, body string) (status int, reply string, err error) {
	t.Helper()
	resp, err := post(t.Context(), t, c, url, body)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

func all(t testing.TB) []Scenario {
	t.Helper()
	list, err := Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// instant is a clock on which every wait is over at once, and the time moves by it.
type instant struct{ m *Manual }

func newInstant() instant { return instant{NewManual(time.Unix(1_790_000_000, 0))} }

func (i instant) Now() time.Time { return i.m.Now() }
func (i instant) After(d time.Duration) <-chan time.Time {
	c := i.m.After(d)
	i.m.Advance(d)
	return c
}

// terminated adds a hang's end: the reply is read until want bytes have come.
func readSome(t testing.TB, r io.Reader, want string) {
	t.Helper()
	b := make([]byte, len(want))
	if _, err := io.ReadFull(r, b); err != nil || !bytes.Equal(b, []byte(want)) {
		t.Fatalf("read %q, %v; want %q", b, err, want)
	}
}
