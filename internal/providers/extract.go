package providers

import (
	"bytes"
	"html"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// MessageLimit is the longest Error.Message, in bytes.
const MessageLimit = 2 << 10

// A complaint is what an error body says, whatever its shape (wire.md §1.7).
type complaint struct {
	message string // one line
	code    string
	typ     string
	param   string
	status  int    // of the body, where it has one: 400..599
	all     string // message, code and type, and what is nested: what patterns look at
	json    gjson.Result
	html    bool
	empty   bool
}

// reading takes an error body apart.
func reading(body []byte) complaint {
	body = bytes.TrimSpace(body)
	var c complaint
	switch {
	case len(body) == 0:
		c.empty = true
		return c
	case gjson.ValidBytes(body):
		c.json = gjson.ParseBytes(body)
		if c.json.IsArray() {
			c.json = c.json.Get("0") // Gemini wraps its errors in a list
		}
		c.take(c.json)
	case looksHTML(body):
		c.html = true
		return c
	}
	if c.message == "" {
		c.message = OneLine(string(body))
	}
	c.all = strings.Join([]string{c.message, c.code, c.typ, c.param}, "\n")
	return c
}

func (c *complaint) take(v gjson.Result) {
	e := v.Get("error")
	if !e.Exists() || e.Type == gjson.Null {
		if e = v.Get("response.error"); !e.IsObject() {
			e = v
		}
	}
	text := func(r gjson.Result) string {
		if r.Type == gjson.String {
			return strings.TrimSpace(r.Str)
		}
		if r.IsObject() || r.IsArray() {
			return r.Raw
		}
		return ""
	}
	if e.Type == gjson.String {
		c.message = e.Str
		e = v
	}
	for _, path := range []string{"message", "msg", "detail", "error_msg"} {
		if c.message == "" {
			c.message = text(e.Get(path))
		}
		if c.message == "" {
			c.message = text(v.Get(path))
		}
	}
	code := e.Get("code")
	c.code = code.String()
	for _, r := range []gjson.Result{code, e.Get("status"), e.Get("status_code"), v.Get("status_code"), v.Get("status")} {
		if n := r.Int(); c.status == 0 && n >= 400 && n < 600 {
			c.status = int(n)
		}
	}
	if c.typ = e.Get("type").String(); c.typ == "" || c.typ == "error" {
		c.typ = e.Get("status").String()
	}
	if c.typ == "" {
		c.typ = e.Get("error_type").String()
	}
	if c.code == "" {
		c.code = e.Get("details.error_code").String()
	}
	c.param = e.Get("param").String()
	// A router wraps what the model's host said.
	if raw := e.Get("metadata.raw"); raw.Exists() {
		inner := raw.Raw
		if raw.Type == gjson.String {
			inner = raw.Str
		}
		in := complaint{}
		if gjson.Valid(inner) && strings.HasPrefix(strings.TrimSpace(inner), "{") {
			in.take(gjson.Parse(inner))
		} else {
			in.message = inner
		}
		if in.message != "" && !strings.Contains(c.message, in.message) {
			c.message = strings.TrimPrefix(c.message+": "+in.message, ": ")
		}
		if in.code != "" && numeric(c.code) {
			c.code = in.code
		}
		if c.typ == "" {
			c.typ = in.typ
		}
	}
	for i, why := range e.Get("metadata.reasons").Array() { // of a guardrail
		if i == 0 {
			c.message += ":"
		}
		c.message += " " + why.String()
	}
	c.message = OneLine(c.message)
}

func numeric(s string) bool {
	_, err := strconv.Atoi(s)
	return s == "" || err == nil
}

func looksHTML(b []byte) bool {
	head := strings.ToLower(string(b[:min(len(b), 512)]))
	return strings.HasPrefix(head, "<") &&
		(strings.Contains(head, "<html") || strings.Contains(head, "<!doctype") || strings.Contains(head, "<head") || strings.Contains(head, "<body") || strings.Contains(head, "<?xml"))
}

var tags = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?is)<(?:script|style)\b.*?</(?:script|style)>|<[^>]*>`)
})

// OneLine makes one line of text for people: no markup, no control bytes, at
// most MessageLimit bytes.
func OneLine(s string) string {
	if len(s) > 64<<10 {
		s = s[:64<<10]
	}
	if strings.Contains(s, "<") && looksHTML([]byte(strings.TrimSpace(s))) {
		s = html.UnescapeString(tags().ReplaceAllString(s, " "))
	}
	var b strings.Builder
	space := false
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			space = b.Len() > 0
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	s = b.String()
	if len(s) > MessageLimit {
		cut := MessageLimit - len("…")
		for !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "…"
	}
	return s
}

var keys = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:sk|pk|rk|gsk|xai|nvapi|hf|r8|key|tgp_v1)[-_][A-Za-z0-9_*.-]{8,}|\bAIza[0-9A-Za-z_-]{20,}|\b(bearer\s+)[A-Za-z0-9._~+/=-]{8,}|([?&](?:api[-_]?key|key|token)=)[^&\s"']+`)
})

// Redact takes keys out of text: those given, and what looks like one.
func Redact(s string, secrets ...string) string {
	for _, k := range secrets {
		if len(k) >= 4 {
			s = strings.ReplaceAll(s, k, "[key]")
		}
	}
	return keys().ReplaceAllString(s, "$1$2[key]")
}

// secrets are the values of an endpoint that no message may hold.
func (to Endpoint) secrets() []string {
	var all []string
	if to.Key != "" {
		all = append(all, to.Key)
	}
	for _, v := range to.Headers {
		if len(v) >= 8 {
			all = append(all, v)
		}
	}
	return all
}
