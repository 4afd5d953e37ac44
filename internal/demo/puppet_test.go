package demo

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"varve/internal/providers/scripted"
)

// requestOf is the body of a request with these messages and two tools.
func requestOf(messages ...string) string {
	return `{"model":"script","stream":true,"messages":[` + strings.Join(messages, ",") + `],"tools":[
{"type":"function","function":{"name":"read","description":"Read a text file.","parameters":{"type":"object","properties":{"file_path":{"type":"string"},"offset":{"type":"integer","description":"first line, from 1"},"mode":{"type":"string","enum":["text","hex"]}},"required":["file_path"],"additionalProperties":false}}},
{"type":"function","function":{"name":"todo","description":"Keep a list.","parameters":{"type":"object","properties":{"items":{"type":"array","items":{"type":"object"}},"merge":{"type":"boolean"}},"required":["items"],"additionalProperties":false}}},
{"type":"function","function":{"name":"edit","description":"Replace text.","parameters":{"type":"object","properties":{"file_path":{"type":"string"},"old_string":{"type":"string"},"new_string":{"type":"string"}},"required":["file_path","old_string","new_string"],"additionalProperties":false}}}]}`
}

// ask sends a request and returns the whole stream, or "" where ctx ended it.
func ask(t *testing.T, ctx context.Context, s *scripted.Server, messages ...string) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+"/v1/chat/completions", strings.NewReader(requestOf(messages...)))
	if err != nil {
		t.Error(err)
		return ""
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		if ctx.Err() == nil {
			t.Error(err)
		}
		return ""
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil && ctx.Err() == nil {
		t.Error(err)
	}
	return string(b)
}

// A hand plays a puppet: it sees what the puppet says, and writes pages.
type hand struct {
	t     *testing.T
	dir   string
	says  chan string
	heard chan string // the streams that the client got
	s     *scripted.Server
}

func newHand(t *testing.T) *hand {
	h := &hand{t: t, dir: t.TempDir(), says: make(chan string, 100), heard: make(chan string, 10)}
	h.s = scripted.New(scripted.Options{})
	t.Cleanup(h.s.Close)
	p := &Puppet{Dir: h.dir, Say: func(s string) { h.says <- s }, Every: time.Millisecond}
	h.s.Handle(p.Handle)
	return h
}

func (h *hand) ask(ctx context.Context, messages ...string) {
	go func() { h.heard <- ask(h.t, ctx, h.s, messages...) }()
}

func (h *hand) write(name, text string) {
	h.t.Helper()
	if err := os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

func (h *hand) read(name string) string {
	h.t.Helper()
	b, err := os.ReadFile(filepath.Join(h.dir, name))
	if err != nil {
		h.t.Fatal(err)
	}
	return string(b)
}

func (h *hand) wantSaid(part string) {
	h.t.Helper()
	select {
	case s := <-h.says:
		if !strings.Contains(s, part) {
			h.t.Fatalf("the puppet says %q, want %q", s, part)
		}
	case s := <-h.heard:
		h.t.Fatalf("the puppet answered, want %q:\n%s", part, s)
	}
}

func (h *hand) wantHeard(parts ...string) {
	h.t.Helper()
	select {
	case s := <-h.heard:
		for _, p := range parts {
			if !strings.Contains(s, p) {
				h.t.Fatalf("the stream lacks %q:\n%s", p, s)
			}
		}
	case s := <-h.says:
		h.t.Fatalf("the puppet says %q, want an answer", s)
	}
}

const hello = `{"role":"user","content":"hello"}`

// PRV-11, puppet mode: a page, a reply, an answer; the next request says what
// is new.
func TestPuppetIsPlayedByPages(t *testing.T) {
	h := newHand(t)
	h.ask(t.Context(), hello)
	h.wantSaid("request 1 waits in ")
	if page := h.read("request-001.md"); !strings.Contains(page, "`reply-001.md`") || !strings.Contains(page, "hello") || strings.Contains(page, "NEW ###") {
		t.Errorf("page:\n%s", page)
	}
	h.write("reply-001.md", "I'll look.\n\n@call read\nfile_path: a.txt\noffset: 3\n@send\n")
	h.wantHeard(`"content":"I'll look."`, `"name":"read"`, `"id":"call_001_1"`, `"finish_reason":"tool_calls"`)
	h.ask(t.Context(), hello,
		`{"role":"assistant","content":"I'll look.","tool_calls":[{"id":"call_001_1","type":"function","function":{"name":"read","arguments":"{\"file_path\":\"a.txt\",\"offset\":3}"}}]}`,
		`{"role":"tool","tool_call_id":"call_001_1","content":"three"}`)
	h.wantSaid("request 2 waits in ")
	_, fresh, ok := strings.Cut(h.read("request-002.md"), "########## NEW ##########")
	if !ok || !strings.Contains(fresh, "=====[ 3 tool: result of read call_001_1 ]=====\n\nthree\n") || strings.Contains(fresh, "hello") {
		t.Errorf("what is new:\n%s", fresh)
	}
	h.write("reply-002.md", "It says three.\n@send")
	h.wantHeard(`"content":"It says three."`, `"finish_reason":"stop"`)
}

// A half-written page is waited for; a faulty one is told, and read again.
func TestPuppetWaitsForAWholePage(t *testing.T) {
	h := newHand(t)
	h.ask(t.Context(), hello)
	h.wantSaid("request 1 waits")
	h.write("reply-001.md", "Hel")
	h.wantSaid("its last line has to be @send")
	h.write("reply-001.md", "@call raed\nfile_path: x\n@send\n")
	h.wantSaid("reply-001.md: line 1: @call raed: there is no such tool; there are edit, read, todo")
	if e := h.read("error-001.md"); !strings.Contains(e, "no such tool") || !strings.Contains(e, "Save the page again") {
		t.Errorf("error page: %s", e)
	}
	h.write("reply-001.md", "@call read\r\nfile_path: x\r\n@send\r\n")
	h.wantHeard(`"arguments":"{\"file_path\":\"x\"}"`)
	if _, err := os.Stat(filepath.Join(h.dir, "error-001.md")); !os.IsNotExist(err) {
		t.Errorf("the error page is still there: %v", err)
	}
}

// A reply that was there before its request is none: nobody had read it.
func TestPuppetTakesNoEarlyReply(t *testing.T) {
	h := newHand(t)
	h.write("request-007.md", "of an earlier day") // numbers go on
	h.write("reply-008.md", "too early\n@send\n")
	h.ask(t.Context(), hello)
	h.wantSaid("request 8 waits")
	h.wantSaid("it was there before its request")
	h.write("reply-008.md", "in time, now\n@send\n")
	h.wantHeard("in time, now")
}

// The wait ends when the client goes, and the page's reader is told.
func TestPuppetStopsWhenTheClientGoes(t *testing.T) {
	h := newHand(t)
	ctx, cancel := context.WithCancel(t.Context())
	h.ask(ctx, hello)
	h.wantSaid("request 1 waits")
	cancel()
	<-h.heard
	h.wantSaid("nobody waits for this reply any more")
	if e := h.read("error-001.md"); !strings.Contains(e, "nobody waits") {
		t.Errorf("error page: %s", e)
	}
	h.ask(t.Context(), hello)
	h.wantSaid("request 2 waits")
	h.write("reply-002.md", "here\n@send\n")
	h.wantHeard("here")
}

// Where no page can be written the client gets an error that says so.
func TestPuppetWithoutAFolder(t *testing.T) {
	h := newHand(t)
	if err := os.RemoveAll(h.dir); err != nil {
		t.Fatal(err)
	}
	h.ask(t.Context(), hello)
	h.wantHeard("the page can't be written: ")
}

// The first page after a restart says what followed the last answer.
func TestPuppetStartedAnew(t *testing.T) {
	h := newHand(t)
	h.ask(t.Context(), hello, `{"role":"assistant","content":"Hello."}`, `{"role":"user","content":"and now?"}`)
	h.wantSaid("request 1 waits in ")
	before, fresh, ok := strings.Cut(h.read("request-001.md"), "########## NEW ##########")
	if !ok || !strings.Contains(fresh, "and now?") || strings.Contains(fresh, "] user ]=====\n\nhello") || !strings.Contains(before, "started anew") {
		t.Errorf("what is new:\n%s", fresh)
	}
	h.write("reply-001.md", "Nothing.\n@send")
	h.wantHeard(`"content":"Nothing."`)
}
