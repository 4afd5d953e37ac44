package scripted

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

// wire.md §6.3, the notation: C(d,f), CU(p,c), DONE. Written by hand from there.
func TestChatBytesAreTheNotation(t *testing.T) {
	C := func(d, f string) string {
		return `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":` + d + `,"finish_reason":` + f + "}]}\n\n"
	}
	CU := func(p, c int) string {
		return fmt.Sprintf(`data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}}`+"\n\n", p, c, p+c)
	}
	const DONE = "data: [DONE]\n\n"
	c01 := C(`{"role":"assistant","content":""}`, "null") + C(`{"content":"Hel"}`, "null") + C(`{"content":"lo"}`, "null") + C(`{}`, `"stop"`) + CU(10, 2) + DONE
	call := func(args string) string {
		return C(`{"tool_calls":[{"index":0,"function":{"arguments":`+args+`}}]}`, "null")
	}
	for id, want := range map[string]string{
		"C01": c01,
		"C02": strings.TrimSuffix(c01, DONE),
		"C03": C(`{"content":"par"}`, "null") + DONE,
		"C04": C(`{"content":"par"}`, "null"),
		"C07": C(`{"content":"x"}`, "null") + C(`{}`, `"stop"`),
		"C08": C(`{"content":"x"}`, "null") + strings.TrimSuffix(C(`{}`, `"stop"`), "\n\n"),
		"C09": strings.ReplaceAll(c01, "\n", "\r\n"),
		"C10": "\xEF\xBB\xBF" + strings.ReplaceAll(c01, "\n", "\r"),
		"C15/pair": C(`{"content":"a\ud83d"}`, "null") + C(`{"content":"\ude00b"}`, "null") +
			C(`{}`, `"stop"`) + DONE,
		"C18": c01 + DONE + C(`{"content":"x"}`, "null") + "garbage\n\n",
		"C23": C(`{"refusal":"I can't"}`, "null") + C(`{"refusal":" help."}`, "null") + C(`{}`, `"stop"`) + CU(10, 4) + DONE,
		"C28": C(`{"role":"assistant","content":""}`, "null") +
			C(`{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"read","arguments":""}}]}`, "null") +
			call(`"{\"pat"`) + call(`"h\":\"a"`) + call(`".txt\","`) + call(`"\"line"`) + call(`"s\":20}"`) +
			C(`{}`, `"tool_calls"`) + CU(10, 9) + DONE,
		"C36": C(`{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"read","arguments":"{\"path\":\"a\"}"}}]}`, "null") +
			C(`{}`, `"stop"`) + DONE,
		"C57": C(`{"content":"par"}`, "null") + "event: error\ndata: {\"message\":\"Context size has been exceeded\"}\n\n",
		"C63": "",
	} {
		t.Run(id, func(t *testing.T) {
			s, c := open(t, Options{Clock: newInstant()})
			if err := s.Play(Find(all(t), id)[0]); err != nil {
				t.Fatal(err)
			}
			_, got, err := ask(t, c, s.URL(), hello)
			if dirty := id == "C07"; dirty != errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("the end: %v", err)
			}
			if got != want {
				t.Errorf("got\n%q\nwant\n%q", got, want)
			}
		})
	}
}

func TestCloses(t *testing.T) { // wire.md §1.6
	for _, c := range []struct {
		how  string
		want error
	}{{"clean", nil}, {"dirty", io.ErrUnexpectedEOF}, {"reset", syscall.ECONNRESET}} {
		t.Run(c.how, func(t *testing.T) {
			s, cl := open(t, Options{})
			gate := make(chan struct{})
			s.Handle(func(Request) Reply {
				return Reply{Steps: []Step{Text("par"), Wait(gate), {verb: vClose, s: c.how}}}
			})
			resp, err := post(t.Context(), t, cl, s.URL(), hello)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
			readSome(t, resp.Body, "data: "+chatHead+`{"content":"par"}`+chatMid+"null"+chatTail+"\n\n")
			close(gate)
			if _, err := resp.Body.Read(make([]byte, 1)); !errors.Is(err, c.want) && (c.want != nil || err != io.EOF) {
				t.Errorf("the client reads %v", err)
			}
		})
	}
	for steps, want := range map[string]error{"close dirty": io.EOF, "flush\nclose dirty": io.ErrUnexpectedEOF} {
		s, cl := open(t, Options{})
		play(t, s, "scenario X \"x.\"\nreply *\n"+steps)
		if _, _, err := ask(t, cl, s.URL(), hello); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", steps, err, want)
		}
	}
	t.Run("what was buffered is sent before the cut", func(t *testing.T) {
		s, cl := open(t, Options{})
		play(t, s, "scenario X \"x.\"\nreply *\nflush off\nraw \"abc\"\nclose dirty")
		if _, got, err := ask(t, cl, s.URL(), hello); got != "abc" || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%q, %v", got, err)
		}
	})
	t.Run("HTTP/2", func(t *testing.T) {
		s, _ := open(t, Options{TLS: true})
		play(t, s, "scenario X \"x.\"\nreply *\n text \"par\"\n close dirty")
		tr := &http.Transport{ForceAttemptHTTP2: true}
		tr.TLSClientConfig = tlsTrust(s)
		defer tr.CloseIdleConnections()
		resp, err := post(t.Context(), t, &http.Client{Transport: tr}, s.URL(), hello)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		_, err = io.ReadAll(resp.Body)
		if resp.ProtoMajor != 2 || err == nil || !strings.Contains(err.Error(), "INTERNAL_ERROR") {
			t.Errorf("HTTP/%d: %v", resp.ProtoMajor, err)
		}
	})
}

// chunks reads a chunked reply off the socket and returns the chunk bodies: one per flush.
func chunks(t *testing.T, s *Server) []string {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(s.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	fmt.Fprintf(c, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(hello), hello)
	r := bufio.NewReader(c)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if line == "\r\n" {
			break
		}
	}
	var out []string
	for {
		size, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.ParseInt(strings.TrimSpace(size), 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, n+2)
		if _, err := io.ReadFull(r, b); err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			return out
		}
		out = append(out, string(b[:n]))
	}
}

func TestSplitsFallWhereTheScriptSays(t *testing.T) {
	for _, c := range []struct {
		steps string
		want  []string
	}{
		{"raw \"abc\"\nraw \"de\"", []string{"abc", "de"}},
		{"split every 1\nraw \"aé\\r\\n\"", []string{"a", "\xc3", "\xa9", "\r", "\n"}},
		{"split every 2\nraw \"abcde\"\nsplit off\nraw \"fghi\"", []string{"ab", "cd", "e", "fghi"}},
		{"split at 1 4\nraw \"abcdef\"\nraw \"gh\"", []string{"a", "bcd", "ef", "gh"}},
		{"flush off\nraw \"a\"\nraw \"b\"\nflush\nraw \"c\"\nraw \"d\"\nflush auto\nraw \"e\"", []string{"ab", "cde"}},
		{"fill 3 \"xy\"", []string{"xyxyxy"}},
		{"loop 2\nraw \"a\"\nloop 2\nraw \"b\"\nend\nend", []string{"a", "b", "b", "a", "b", "b"}},
	} {
		s, _ := open(t, Options{})
		play(t, s, "scenario X \"x.\"\nreply *\n"+c.steps)
		if got := chunks(t, s); strings.Join(got, "|") != strings.Join(c.want, "|") {
			t.Errorf("%q: %q, want %q", c.steps, got, c.want)
		}
	}
}

// However a reply is split, its bytes are the same.
func TestSplitsKeepTheBytes(t *testing.T) {
	s, cl := open(t, Options{})
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(0, 20, 60).Draw(t, "text")
		n := rapid.IntRange(0, 7).Draw(t, "n")
		var whole string
		for _, steps := range [][]Step{{Text(text), Done()}, {SplitEvery(n), Text(text), Done()}} {
			s.Handle(func(Request) Reply { return Reply{Steps: steps} })
			resp, err := cl.Post(s.URL()+"/chat/completions", "application/json", strings.NewReader(hello))
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			if whole == "" {
				whole = string(b)
			} else if whole != string(b) {
				t.Fatalf("%q is not %q", b, whole)
			}
		}
	})
}

// case STR-14, C67, C68: time is the clock's; a client that goes is noticed.
func TestSleepsFollowTheClock(t *testing.T) {
	clock := NewManual(time.Unix(1_790_000_000, 0))
	s, cl := open(t, Options{Clock: clock})
	play(t, s, "scenario X \"x.\"\nreply *\n raw \"a\"\n loop 2\n sleep 10s\n raw \"b\"\n end")
	resp, err := post(t.Context(), t, cl, s.URL(), hello)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	for _, want := range []string{"a", "b", "b"} {
		if want == "b" {
			if err := clock.BlockUntil(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			clock.Advance(10 * time.Second)
		}
		readSome(t, resp.Body, want)
	}
	if rest, err := io.ReadAll(resp.Body); err != nil || len(rest) != 0 {
		t.Errorf("then %q, %v", rest, err)
	}
	if err := s.AwaitEnd(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if r := s.Requests()[0]; r.Ended.Sub(r.At) != 20*time.Second || r.Cancelled {
		t.Errorf("the log says %v, cancelled %v", r.Ended.Sub(r.At), r.Cancelled)
	}
}

func TestPaceIsTokensPerSecond(t *testing.T) {
	clock := newInstant()
	s, cl := open(t, Options{Clock: clock})
	play(t, s, "scenario X \"x.\"\nreply *\n pace 4tok/s\n text \"abcdefgh\"\n pace off\n text \"ijklmnop\"")
	before := clock.Now()
	_, got, err := ask(t, cl, s.URL(), hello)
	if err != nil || strings.Count(got, "data:") != 3 || clock.Now().Sub(before) != 500*time.Millisecond {
		t.Errorf("%v after %v: %s", err, clock.Now().Sub(before), got)
	}
	play(t, s, "scenario X \"x.\"\nreply *\n pace 9tok/s\n text \"aé漢字🙂é\"")
	_, got, _ = ask(t, cl, s.URL(), hello)
	if r := read(200, "text/event-stream", got); r.text != "aé漢字🙂é" || strings.Count(got, "data:") < 3 {
		t.Errorf("a token was cut inside a character: %s", got)
	}
}

// case C69
func TestCancelIsObserved(t *testing.T) {
	for _, steps := range []string{"text \"par\"\nhang", "flush\nsleep 1h", "flush\nloop\nsleep 1ms\nraw \": ping\\n\\n\"\nend"} {
		s, cl := open(t, Options{})
		play(t, s, "scenario X \"x.\"\nreply *\n"+steps)
		ctx, cancel := context.WithCancel(t.Context())
		resp, err := post(ctx, t, cl, s.URL(), hello)
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		_ = resp.Body.Close()
		if err := s.AwaitEnd(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if !s.Requests()[0].Cancelled {
			t.Errorf("%q: not logged as cancelled", steps)
		}
	}
}

// REL-4: no goroutine or connection is left, whatever was going on.
func TestCloseLeavesNothing(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s := New(Options{})
	play(t, s, "scenario X \"x.\"\nreply *\n text \"par\"\n hang\non GET /v1/models\n hang")
	tr := &http.Transport{}
	cl := &http.Client{Transport: tr}
	resp, err := post(t.Context(), t, cl, s.URL(), hello)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		r, err := cl.Get(s.URL() + "/v1/models")
		if err == nil {
			_ = r.Body.Close()
		}
		done <- err
	}()
	if err := s.until(t.Context(), func() bool { return len(s.visits) == 1 }); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if s.active != 0 || s.conns != 0 {
		t.Errorf("Close returned with %d handlers and %d connections", s.active, s.conns)
	}
	if err := <-done; err == nil {
		t.Error("the hanging visit ended well")
	}
	_ = resp.Body.Close()
	tr.CloseIdleConnections()
	if s.Requests()[0].Cancelled {
		t.Error("closing the server is not a cancel by the client")
	}
}

func TestHeadersAndBodies(t *testing.T) {
	clock := newInstant()
	s, cl := open(t, Options{Clock: clock})
	play(t, s, `
scenario X "x."
reply 1
  status 429
  header Retry-After: {date+7s}
  header X-Reset: {unixms+1s}
  body {"error":{"resets_at":{unix+60s}}}
reply 2
  status 307
  header Location: {url}/moved
  body ""
reply 3
  body "plain"
`)
	get := func() *http.Response {
		resp, err := post(t.Context(), t, cl, s.URL(), hello)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = resp.Body.Close() })
		return resp
	}
	r := get()
	b, _ := io.ReadAll(r.Body)
	if r.StatusCode != 429 || r.Header.Get("Content-Type") != "application/json" || string(b) != `{"error":{"resets_at":1790000060}}` ||
		r.Header.Get("Retry-After") != clock.Now().Add(7*time.Second).UTC().Format(http.TimeFormat) || r.Header.Get("X-Reset") != "1790000001000" {
		t.Errorf("%d %v %s", r.StatusCode, r.Header, b)
	}
	if r = get(); r.StatusCode != 307 || r.Header.Get("Location") != s.URL()+"/moved" || r.ContentLength != 0 {
		t.Errorf("%d %v", r.StatusCode, r.Header)
	}
	if r = get(); r.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("%v", r.Header)
	}
}
