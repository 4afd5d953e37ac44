package providers

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// Shared is the client of everyone who brings none: keep-alive, proxies of the
// environment, the system's certificates (SSL_CERT_FILE included), no total
// deadline.
var Shared = sync.OnceValue(func() *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          64,
		MaxIdleConnsPerHost:   16,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   15 * time.Second,
		ExpectContinueTimeout: time.Second,
		DisableCompression:    true,
		HTTP2:                 &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}}
})

// trusting are the clients of files of certificates, by what stands in them.
var trusting sync.Map

// Trusting is a client like [Shared] that trusts the certificates of a PEM file as
// well as the system's (CFG-3). The same bytes give the same client.
func Trusting(file string) (*http.Client, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("certificates of a private CA: %w", err)
	}
	if c, ok := trusting.Load(string(b)); ok {
		return c.(*http.Client), nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool() // the system has none
	}
	if !pool.AppendCertsFromPEM(b) {
		return nil, fmt.Errorf("certificates of a private CA: %s holds none in PEM", file)
	}
	t := Shared().Transport.(*http.Transport).Clone()
	t.TLSClientConfig = &tls.Config{RootCAs: pool}
	c, _ := trusting.LoadOrStore(string(b), &http.Client{Transport: t})
	return c.(*http.Client), nil
}
