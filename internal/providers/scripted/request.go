package scripted

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// A Request is one logged request.
type Request struct {
	N      int // model requests count from 1; others are 0
	Kind   Kind
	Method string
	Path   string // with the query
	Host   string
	Header http.Header
	Body   []byte
	At     time.Time

	// Known at the end of the reply:
	Status    int
	Ended     time.Time // zero while the reply runs
	Cancelled bool      // the client went before the script was through
	Shared    Shared    // what this prompt shares with the one before in its thread

	ctx context.Context
}

// Shared measures the common start of two prompts.
type Shared struct {
	Messages int // equal leading messages (cache markers aside)
	Of       int // messages of the request before
	Bytes    int // equal leading bytes of the two bodies
}

// Context is done when the client has gone or the server closes.
func (r Request) Context() context.Context { return r.ctx }

// Get reads a value of the body by its gjson path, such as "messages.0.content".
func (r Request) Get(path string) gjson.Result { return gjson.GetBytes(r.Body, path) }

// Model is the model asked for.
func (r Request) Model() string { return r.Get("model").Str }

// LastUser is the text of the last user message; parts are joined.
func (r Request) LastUser() string {
	text := ""
	r.Get("messages").ForEach(func(_, m gjson.Result) bool {
		if m.Get("role").Str == "user" {
			text = contentText(m.Get("content"))
		}
		return true
	})
	return text
}

func contentText(c gjson.Result) string {
	if !c.IsArray() {
		return c.Str
	}
	var b strings.Builder
	for _, p := range c.Array() {
		b.WriteString(p.Get("text").Str)
	}
	return b.String()
}

// memory is what a vendor remembers between requests.
type memory struct {
	threads   map[string]threadPrompt
	issued    []issued
	cacheKeys map[string]string // by model and first message
}

// changedKey says in words that the prompt_cache_key of a conversation has changed; "" if it has not (V12).
func (mem *memory) changedKey(r *Request) string {
	start, key := r.Model()+"\x00"+r.Get("messages.0").Raw, r.Get("prompt_cache_key").Str
	was, seen := mem.cacheKeys[start]
	if mem.cacheKeys == nil {
		mem.cacheKeys = map[string]string{}
	}
	mem.cacheKeys[start] = key
	if seen && was != key {
		return fmt.Sprintf("prompt_cache_key is %q, was %q", key, was)
	}
	return ""
}

// threadPrompt is the last prompt of a conversation that was answered.
type threadPrompt struct {
	tools    string
	messages []string
	body     []byte
}

func threadOf(body []byte) threadPrompt {
	if bytes.Contains(body, []byte(`"cache_control"`)) {
		body = withoutMarkers(body)
	}
	t := threadPrompt{tools: gjson.GetBytes(body, "tools").Raw, body: body}
	gjson.GetBytes(body, "messages").ForEach(func(_, m gjson.Result) bool {
		t.messages = append(t.messages, m.Raw)
		return true
	})
	return t
}

// withoutMarkers removes cache_control from messages, their parts and tools: moving markers is allowed (V12).
func withoutMarkers(body []byte) []byte {
	var paths []string
	var walk func(v gjson.Result, at string)
	walk = func(v gjson.Result, at string) {
		v.ForEach(func(k, c gjson.Result) bool {
			p := at + k.String()
			if v.IsObject() && k.Str == "cache_control" {
				paths = append(paths, p)
			} else if c.IsArray() || c.IsObject() {
				walk(c, p+".")
			}
			return true
		})
	}
	for _, key := range []string{"messages", "tools"} {
		arr := gjson.GetBytes(body, key).Array()
		for i := range arr {
			at := key + "." + itoa(i) + "."
			if arr[i].Get("cache_control").Exists() {
				paths = append(paths, at+"cache_control")
			}
			walk(arr[i].Get("content"), at+"content.")
		}
	}
	for _, p := range paths {
		if b, err := sjson.DeleteBytes(body, p); err == nil {
			body = b
		}
	}
	return body
}

// share compares a prompt with the one before it, and says in words where it departs; "" means that it continues it.
func (before threadPrompt) share(now threadPrompt) (Shared, string) {
	s := Shared{Of: len(before.messages)}
	for s.Messages < min(len(before.messages), len(now.messages)) && before.messages[s.Messages] == now.messages[s.Messages] {
		s.Messages++
	}
	for s.Bytes < min(len(before.body), len(now.body)) && before.body[s.Bytes] == now.body[s.Bytes] {
		s.Bytes++
	}
	switch {
	case before.tools != now.tools:
		return s, "tools differ from the request before"
	case s.Messages < s.Of && s.Messages < len(now.messages):
		return s, "messages[" + itoa(s.Messages) + "] differs from the request before: " +
			clip(now.messages[s.Messages]) + " was " + clip(before.messages[s.Messages])
	case s.Messages < s.Of:
		return s, "messages[" + itoa(s.Messages) + "] of the request before is gone"
	}
	return s, ""
}
