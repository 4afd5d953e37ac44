package setup

import (
	"strings"
	"testing"
)

func TestEndpoint(t *testing.T) { // PRV-7, case CFG-08
	const chat = "chat/completions"
	for _, row := range []struct{ base, call, want string }{
		{"https://h.example", chat, "https://h.example/chat/completions"},
		{"https://h.example/", chat, "https://h.example/chat/completions"},
		{"https://h.example/v1", chat, "https://h.example/v1/chat/completions"},
		{"https://h.example/v1/", chat, "https://h.example/v1/chat/completions"},
		{"https://h.example/v1//", "/" + chat, "https://h.example/v1/chat/completions"},
		{"https://h.example/api/paas/v4", chat, "https://h.example/api/paas/v4/chat/completions"},
		{"https://h.example/proxy?x=1", chat, "https://h.example/proxy/chat/completions?x=1"},
		{"https://h.example/proxy/?x=1&y=a%2Fb", chat, "https://h.example/proxy/chat/completions?x=1&y=a%2Fb"},
		{"https://h.example?x=1", chat, "https://h.example/chat/completions?x=1"},
		{"https://h.example/a%2Fb/v1", chat, "https://h.example/a%2Fb/v1/chat/completions"},
		{"https://h.example:8443/v1", chat, "https://h.example:8443/v1/chat/completions"},
		{"HTTPS://h.example/v1", chat, "https://h.example/v1/chat/completions"},
		{"https://10.0.0.5:11434", chat, "https://10.0.0.5:11434/v1/chat/completions"},
		{"https://10.0.0.5:11434/v1", chat, "https://10.0.0.5:11434/v1/chat/completions"},
		{"http://127.0.0.1:8080", chat, "http://127.0.0.1:8080/v1/chat/completions"},
		{"http://127.0.0.1:8080/", chat, "http://127.0.0.1:8080/v1/chat/completions"},
		{"http://127.0.0.1:8080/v1", chat, "http://127.0.0.1:8080/v1/chat/completions"},
		{"http://127.0.0.1:8080/llm", chat, "http://127.0.0.1:8080/llm/chat/completions"},
		{"http://127.0.0.1:8080?k=v", chat, "http://127.0.0.1:8080/v1/chat/completions?k=v"},
		{"http://127.8.9.1", chat, "http://127.8.9.1/v1/chat/completions"},
		{"http://localhost:1234", "responses", "http://localhost:1234/v1/responses"},
		{"http://LocalHost:1234", "responses", "http://LocalHost:1234/v1/responses"},
		{"http://a.localhost:1234", "models", "http://a.localhost:1234/v1/models"},
		{"http://[::1]:8080", chat, "http://[::1]:8080/v1/chat/completions"},
		{"http://[::1]", chat, "http://[::1]/v1/chat/completions"},
		{"http://[::ffff:127.0.0.1]:1", chat, "http://[::ffff:127.0.0.1]:1/v1/chat/completions"},
		{"https://api.anthropic.com", "v1/messages", "https://api.anthropic.com/v1/messages"},
		{"https://api.anthropic.com/v1", "v1/messages", "https://api.anthropic.com/v1/messages"},
		{"http://127.0.0.1:9", "v1/messages", "http://127.0.0.1:9/v1/messages"},
		{"https://g.example", "v1beta/models/m:streamGenerateContent?alt=sse", "https://g.example/v1beta/models/m:streamGenerateContent?alt=sse"},
		{"https://g.example/v1beta?key=no", "v1beta/models/m:x?alt=sse", "https://g.example/v1beta/models/m:x?key=no&alt=sse"},
		{"https://g.example/v1", "v1beta/models", "https://g.example/v1/v1beta/models"},
		{"https://gw.example/chat", chat, "https://gw.example/chat/chat/completions"},
	} {
		got, err := Endpoint(row.base, row.call)
		if err != nil || got != row.want {
			t.Errorf("%s + %s:\n got %s, %v\nwant %s", row.base, row.call, got, err, row.want)
		}
	}
	for base, want := range map[string]string{
		"":                                       "is no URL: it must begin with https://",
		"h.example":                              "is no URL: it must begin with https://",
		"[::1]:8080":                             "is no URL: it must begin with https://",
		"localhost:8080":                         "is no URL: it must begin with https://",
		"/run/llm.sock":                          "is no URL: it must begin with https://",
		"unix:///run/llm.sock":                   "unix is not spoken here",
		"ftp://h.example":                        "ftp is not spoken here",
		"https://":                               "names no host",
		"https:///v1":                            "names no host",
		"https://h.example:":                     "has an empty port",
		"https://h.example:x/":                   "is no URL",
		" https://h.example":                     "a URL has no spaces",
		"https://h.example ":                     "a URL has no spaces",
		"https://h.example/a b":                  "a URL has no spaces",
		"https://h.example\n":                    "a URL has no spaces",
		"https://h.example/\x00":                 "a URL has no spaces",
		"https://me:pw@h.example":                "holds a user or password",
		"https://sk-secret@h.example":            "holds a user or password",
		"https://h.example/#x":                   "has a # part",
		"https://h.example#":                     "has a # part",
		"https://h.example/v1/../x":              "has . or .. in its path",
		"https://h.example/%2e%2e/x":             "has . or .. in its path",
		"https://h.example/v1/chat/completions":  "ends in /chat/completions",
		"https://h.example/v1/chat/completions/": "ends in /chat/completions",
		"https://h.example/v1/messages":          "ends in /messages",
		"https://[::1":                           "is no URL",
		"https://h.example/%zz":                  "is no URL",
		"http://h.example":                       "http would send key and code in the clear",
		"http://10.0.0.5:11434":                  "http would send key and code in the clear; use https, or a tunnel to this machine (ssh -L 8080:localhost:11434 10.0.0.5,",
		"http://192.168.0.2":                     "http would",
		"http://0.0.0.0:8080":                    "http would",
		"http://localhost.evil.example":          "http would",
		"http://127.0.0.1.evil.example":          "http would",
		"http://notlocalhost":                    "http would",
		"http://2130706433":                      "http would",
		"http://[fe80::1]:8080":                  "http would",
	} {
		got, err := Endpoint(base, chat)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %s, %v; want %s", base, got, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: the text is in the error", base)
		}
	}
}

func TestBuiltInURLsAreFine(t *testing.T) {
	for _, b := range builtins() {
		if err := CheckBaseURL(b.url); err != nil {
			t.Error(b.name, err)
		}
		if p, _ := builtin(b.name); p.Local() != (b.env == nil) {
			t.Error(b.name, "a provider has a key or is local")
		}
	}
}
