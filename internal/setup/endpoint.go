package setup

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"unicode"
)

var version = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^v[0-9]+([a-z]+[0-9]*)?$`) })

// Endpoint is the URL of a call: the base as it stands, then the call's path. A local base
// without a path gets /v1, unless the call's own path begins with a version; a version at
// both ends is said once. The base's query is kept, before the call's own.
//
//	Endpoint("https://gw.example/proxy?x=1", "chat/completions")  https://gw.example/proxy/chat/completions?x=1
//	Endpoint("http://127.0.0.1:8080", "chat/completions")         http://127.0.0.1:8080/v1/chat/completions
func Endpoint(base, path string) (string, error) {
	u, err := parseBase(base)
	if err != nil {
		return "", err
	}
	path, query, _ := strings.Cut(strings.TrimLeft(path, "/"), "?")
	first, rest, _ := strings.Cut(path, "/")
	prefix := strings.TrimRight(u.EscapedPath(), "/")
	last := prefix[strings.LastIndexByte(prefix, '/')+1:]
	switch {
	case prefix == "" && isLocal(u) && !version().MatchString(first):
		prefix = "/v1"
	case version().MatchString(first) && first == last:
		path = rest
	}
	out := u.Scheme + "://" + u.Host + prefix + "/" + path
	if both := strings.Trim(u.RawQuery+"&"+query, "&"); both != "" {
		out += "?" + both
	}
	return out, nil
}

// CheckBaseURL says whether a base URL may be used (PRV-7): https, or http to this machine.
func CheckBaseURL(base string) error {
	_, err := parseBase(base)
	return err
}

func parseBase(base string) (*url.URL, error) {
	// The text itself stays out of the errors: people paste keys into URLs.
	if strings.IndexFunc(base, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) >= 0 {
		return nil, errors.New("a URL has no spaces; check what was pasted")
	}
	scheme, _, found := strings.Cut(base, "://")
	if !found || scheme != strings.ToLower(scheme) && !strings.EqualFold(scheme, "https") && !strings.EqualFold(scheme, "http") {
		return nil, errors.New("is no URL: it must begin with https:// (or http:// for this machine, as in http://127.0.0.1:8080)")
	}
	u, err := url.Parse(base)
	if err != nil {
		return nil, errors.New("is no URL; it should look like https://api.example.com/v1")
	}
	switch host := u.Hostname(); {
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, fmt.Errorf("%s is not spoken here; use https", u.Scheme)
	case host == "" || strings.ContainsAny(host, `\<>"{}|^`+"`"):
		return nil, errors.New("names no host; it should look like https://api.example.com/v1")
	case strings.HasSuffix(u.Host, ":"):
		return nil, errors.New("has an empty port")
	case u.User != nil:
		return nil, errors.New("holds a user or password; use api_key, which is never written to a log")
	case u.Fragment != "" || strings.HasSuffix(base, "#"):
		return nil, errors.New("has a # part, which no server gets to see; remove it")
	case u.Scheme == "http" && !loopback(host):
		return nil, fmt.Errorf("http would send key and code in the clear; use https, or a tunnel to this machine (ssh -L 8080:%s %s, then http://127.0.0.1:8080)",
			hostPort(u), host)
	}
	for _, call := range []string{"/chat/completions", "/responses", "/messages"} {
		if strings.HasSuffix(strings.TrimRight(u.Path, "/"), call) {
			return nil, fmt.Errorf("ends in %s, which is added to each call; leave it out", call)
		}
	}
	for _, seg := range strings.Split(u.Path, "/") {
		if seg == "." || seg == ".." {
			return nil, errors.New("has . or .. in its path; write the path it means")
		}
	}
	return u, nil
}

func hostPort(u *url.URL) string {
	if u.Port() != "" {
		return "localhost:" + u.Port()
	}
	return "localhost:80"
}

// loopback says whether a host is this machine by name or number, without asking DNS.
func loopback(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// isLocal says whether a server there is most likely one that people run themselves.
func isLocal(u *url.URL) bool {
	if loopback(u.Hostname()) {
		return true
	}
	addr, err := netip.ParseAddr(u.Hostname())
	return err == nil && (addr.Unmap().IsPrivate() || addr.Unmap().IsLinkLocalUnicast())
}

// Local says whether a provider runs on this machine.
func (p Provider) Local() bool {
	u, err := parseBase(p.BaseURL)
	return err == nil && loopback(u.Hostname())
}

// sameHost compares scheme, host and port.
func sameHost(a, b string) bool {
	u, err1 := parseBase(a)
	v, err2 := parseBase(b)
	return err1 == nil && err2 == nil && u.Scheme == v.Scheme && strings.EqualFold(u.Host, v.Host)
}
