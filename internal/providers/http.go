package providers

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// DefaultStall is how long a stream may be silent where the endpoint names no
// other time (PRV-5).
const DefaultStall = 120 * time.Second

// errHeaders ends an attempt whose answer did not begin in time.
var errHeaders = errors.New("no answer began in time")

// Stall is the endpoint's stall timeout.
func (to Endpoint) Stall() time.Duration {
	if to.StallTimeout > 0 {
		return to.StallTimeout
	}
	return DefaultStall
}

// Reading says how a stream of the endpoint is read.
func (to Endpoint) Reading() Reading {
	return Reading{Limit: to.EventLimit, Stall: to.Stall(), Quiet: to.QuietTimeout, Clock: to.Clock}
}

// URL joins a path behind the endpoint's base: a bare host gets /v1, a query
// stays, and a base that already ends in the path is left alone.
func (to Endpoint) URL(path string) (string, *Error) {
	u, err := url.Parse(strings.TrimSpace(to.BaseURL))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.ContainsAny(u.Host, " \t") {
		return "", &Error{Kind: BadRequest, Message: fmt.Sprintf("base URL %q of %s: want http:// or https:// and a host", Redact(to.BaseURL, to.Key), to.Provider)}
	}
	u.Path, u.RawPath, u.Fragment = strings.TrimRight(u.Path, "/"), "", ""
	switch {
	case strings.HasSuffix(u.Path, path):
	case u.Path == "":
		u.Path = "/v1" + path
	default:
		u.Path += path
	}
	return u.String(), nil
}

// Post sends one request of one attempt. auth are the headers that only the
// endpoint's own host may see. It returns an answer of status 2xx, whose body
// the caller closes, or the class and the error of what came instead. There is
// no total deadline, but the answer has to begin within the stall timeout,
// counted from the last byte sent (five times that on this machine, where a
// model may be loading).
func Post(ctx context.Context, to Endpoint, url string, auth http.Header, body []byte) (*http.Response, Class, *Error) {
	return roundTrip(ctx, to, http.MethodPost, url, auth, body)
}

// Get asks an endpoint about itself, within d.
func Get(ctx context.Context, to Endpoint, url string, auth http.Header, d time.Duration) ([]byte, *Error) {
	return fetch(ctx, to, http.MethodGet, url, auth, nil, d)
}

// Query posts a small question to an endpoint about itself, within d.
func Query(ctx context.Context, to Endpoint, url string, auth http.Header, body []byte, d time.Duration) ([]byte, *Error) {
	return fetch(ctx, to, http.MethodPost, url, auth, body, d)
}

func fetch(ctx context.Context, to Endpoint, method, url string, auth http.Header, body []byte, d time.Duration) ([]byte, *Error) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	resp, _, e := roundTrip(ctx, to, method, url, auth, body)
	if e == nil && resp == nil {
		e = &Error{Kind: Timeout, Message: "no answer in time"}
	}
	if e != nil {
		return nil, e
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	if err != nil {
		return nil, Broken(to, resp.Request.URL.Host, err)
	}
	return got, nil
}

func roundTrip(parent context.Context, to Endpoint, method, url string, auth http.Header, body []byte) (*http.Response, Class, *Error) {
	ctx, cancel := context.WithCancelCause(parent)
	kept := false
	defer func() {
		if !kept {
			cancel(nil)
		}
	}()
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return nil, Failed, &Error{Kind: BadRequest, Message: Redact(OneLine(err.Error()), to.secrets()...)}
	}
	wait := to.Stall()
	if loopback(req.URL.Hostname()) {
		wait *= 5
	}
	w := newWatch(clockOr(to.Clock), wait, func() { cancel(errHeaders) })
	defer w.stop()
	if body != nil {
		req.ContentLength = int64(len(body))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(touching{bytes.NewReader(body), w}), nil }
		req.Body, _ = req.GetBody()
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "text/event-stream, application/json")
	} else {
		req.Header.Set("Accept", "application/json")
	}
	req.Header.Set("Accept-Encoding", "identity")
	req.Header.Set("User-Agent", "varve")
	for name, v := range to.Headers {
		switch http.CanonicalHeaderKey(name) {
		case "Authorization", "Host", "Content-Type", "Content-Length", "Accept-Encoding", "Transfer-Encoding", "Connection":
			continue // PRV-7
		}
		req.Header.Set(name, v)
	}
	for name, v := range auth {
		req.Header[name] = v
	}
	client := Shared()
	if to.Client != nil {
		client = to.Client
	}
	own := *client
	own.Timeout = 0
	own.CheckRedirect = redirected(req)
	resp, err := own.Do(req)
	if err != nil {
		switch {
		case parent.Err() != nil:
			return nil, Cancelled, nil
		case context.Cause(ctx) == errHeaders:
			return nil, Stalled, &Error{Kind: Timeout, Retry: true, Host: req.URL.Host, Message: fmt.Sprintf("no answer for %s", wait)}
		}
		return nil, Failed, Broken(to, req.URL.Host, err)
	}
	w.stop()
	resp.Body = &attempt{resp.Body, cancel}
	kept = true
	if err := plain(resp); err != nil {
		resp.Body.Close()
		return nil, Failed, Broken(to, resp.Request.URL.Host, err)
	}
	if resp.StatusCode/100 == 2 {
		return resp, "", nil
	}
	e := RefusalOf(ctx, to, resp)
	if parent.Err() != nil {
		return nil, Cancelled, nil
	}
	if e.Kind == ContextLength {
		return nil, Overflow, e
	}
	return nil, Failed, e
}

// RefusalOf reads the rest of an answer that is no reply and types it. It
// closes the body.
func RefusalOf(ctx context.Context, to Endpoint, resp *http.Response) *Error {
	r := ReadEvents(ctx, resp.Body, Reading{Limit: 256 << 10, Stall: to.Stall(), Clock: to.Clock})
	body, _ := r.ReadAll() // what came is enough, also where it was cut
	r.Close()
	return to.Refused(resp, body, false)
}

// Refused types an answer, or an object in a stream, that is an error.
func (to Endpoint) Refused(resp *http.Response, body []byte, event bool) *Error {
	host := resp.Request.URL.Host
	if strings.Contains(strings.ToLower(resp.Header.Get("Content-Type")), "iso-8859-1") {
		runes := make([]rune, len(body))
		for i, c := range body {
			runes[i] = rune(c)
		}
		body = []byte(string(runes))
	}
	r := Refused{
		Status: resp.StatusCode, Header: resp.Header, Body: body, ContentType: resp.Header.Get("Content-Type"),
		Host: host, Secrets: to.secrets(), Now: clockOr(to.Clock).Now(),
	}
	if event {
		r.Status, r.ContentType = 0, ""
	}
	return Classify(r)
}

// redirected lets a request follow to where it is told, with its body, but
// without what only its own host may see.
func redirected(first *http.Request) func(*http.Request, []*http.Request) error {
	return func(next *http.Request, via []*http.Request) error {
		if len(via) >= 5 || next.Method != first.Method {
			return http.ErrUseLastResponse // a login page, most likely
		}
		if next.URL.Host != first.URL.Host || next.URL.Scheme != first.URL.Scheme && next.URL.Scheme != "https" {
			for name := range next.Header {
				switch name {
				case "Accept", "Accept-Encoding", "Content-Type", "Content-Length", "User-Agent":
				default:
					delete(next.Header, name)
				}
			}
		}
		return nil
	}
}

// plain takes off a compression that we did not ask for.
func plain(resp *http.Response) error {
	if !strings.EqualFold(resp.Header.Get("Content-Encoding"), "gzip") {
		return nil
	}
	resp.Body = &unzipped{raw: resp.Body}
	resp.Header.Del("Content-Encoding")
	return nil
}

type unzipped struct {
	raw io.ReadCloser
	z   *gzip.Reader
}

func (u *unzipped) Read(p []byte) (int, error) {
	if u.z == nil {
		z, err := gzip.NewReader(u.raw)
		if err != nil {
			return 0, err
		}
		u.z = z
	}
	return u.z.Read(p)
}

func (u *unzipped) Close() error { return u.raw.Close() }

// touching shows the watch that the request is still being sent.
type touching struct {
	r *bytes.Reader
	w *watch
}

func (t touching) Read(p []byte) (int, error) {
	t.w.touch()
	return t.r.Read(p)
}

// An attempt's body ends the attempt's context when it is closed.
type attempt struct {
	io.ReadCloser
	cancel context.CancelCauseFunc
}

func (a *attempt) Close() error {
	a.cancel(context.Canceled)
	return a.ReadCloser.Close()
}

func loopback(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// Broken types what the network said, with a hint for the person (REL-4, H32).
func Broken(to Endpoint, host string, err error) *Error {
	e := &Error{Kind: Network, Retry: true, Host: host}
	var dns *net.DNSError
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var cert x509.CertificateInvalidError
	var record tls.RecordHeaderError
	var verify *tls.CertificateVerificationError
	var timeout net.Error
	switch {
	case errors.As(err, &dns):
		e.Sub, e.Message = "dns", fmt.Sprintf("no address found for %s; check the base URL and the network", dns.Name)
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Sub, e.Message = "refused", fmt.Sprintf("nothing listens at %s", host)
		if loopback(hostOnly(host)) {
			e.Message += "; start the model server, or correct the base URL"
		} else {
			e.Message += "; check the base URL"
		}
	case errors.As(err, &unknown), errors.As(err, &name), errors.As(err, &cert), errors.As(err, &verify):
		e.Sub, e.Retry = "tls", false
		e.Message = fmt.Sprintf("the certificate of %s is not trusted (%s); SSL_CERT_FILE may name your own authority", host, OneLine(rootCause(err)))
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		e.Sub, e.Retry = "tls", false
		e.Message = fmt.Sprintf("%s does not speak TLS; did you mean http:// ?", host)
	case errors.As(err, &timeout) && timeout.Timeout():
		e.Kind, e.Message = Timeout, fmt.Sprintf("no connection to %s in time", host)
	default:
		e.Message = "connection broke: " + OneLine(rootCause(err))
	}
	e.Message = Redact(e.Message, to.secrets()...)
	return e
}

func hostOnly(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		return h
	}
	return strings.Trim(host, "[]")
}

// rootCause is an error's text without the request that net/http puts before
// it, which names the whole URL.
func rootCause(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return err.Error()
}

// Guard turns a panic of an adapter into a reply (REL-7). Use it as
// defer providers.Guard(&reply).
func Guard(reply *Reply) {
	if p := recover(); p != nil {
		*reply = Reply{
			Class: Failed, Partial: reply.Partial, Usage: reply.Usage,
			Err: &Error{Kind: OurOwn, Message: Redact(OneLine(fmt.Sprintf("adapter: internal error: %v", p)))},
		}
	}
}

// Ended types the end of a stream that broke off: what read returned, as a
// class and an error. It is Missing for a clean and a dirty end alike
// (wire.md §1.6).
func Ended(ctx context.Context, to Endpoint, host string, err error) (Class, *Error) {
	switch {
	case ctx.Err() != nil:
		return Cancelled, nil
	case errors.Is(err, ErrStalled):
		return Stalled, &Error{Kind: Timeout, Retry: true, Host: host, Message: fmt.Sprintf("no byte arrived for %s", to.Stall())}
	case errors.Is(err, ErrQuiet):
		return Stalled, &Error{Kind: Timeout, Retry: true, Host: host, Message: fmt.Sprintf("nothing but keep-alives arrived for %s", to.QuietTimeout)}
	case errors.Is(err, ErrEventTooLong):
		return Failed, &Error{Kind: Protocol, Host: host, Message: err.Error()}
	}
	e := &Error{Kind: Network, Retry: true, Host: host, Message: "the stream ended before the reply did"}
	if err != nil && err != io.EOF {
		e.Message += ": " + Redact(OneLine(rootCause(err)), to.secrets()...)
	}
	return Missing, e
}

// Private reports whether a host is this machine or in a private network.
func Private(host string) bool {
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return loopback(host) || ip != nil && (ip.IsPrivate() || ip.IsLinkLocalUnicast())
}
