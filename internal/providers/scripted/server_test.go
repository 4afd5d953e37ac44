package scripted

import (
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"
)

func tlsTrust(s *Server) *tls.Config { return &tls.Config{RootCAs: s.RootCAs()} }

func TestRepliesAreChosenByNumberTextAndStar(t *testing.T) {
	s, cl := open(t, Options{})
	play(t, s, `
scenario X "x."
reply when "summarise"
  body "summary"
reply 2
  body "second"
reply *
  body "other"
`)
	for i, c := range []struct{ say, want string }{{"hi", "other"}, {"summarise", "second"}, {"please summarise", "summary"}, {"hi", "other"}} {
		_, got, err := ask(t, cl, s.URL(), strings.Replace(hello, "Say hello.", c.say, 1))
		if err != nil || got != c.want {
			t.Errorf("request %d: %q, %v; want %q", i+1, got, err, c.want)
		}
	}
}

func TestScriptThatRunsOutSaysSo(t *testing.T) {
	s, cl := open(t, Options{})
	play(t, s, "scenario X \"x.\"\nreply 2\n body \"second\"")
	status, got, err := ask(t, cl, s.URL(), hello)
	if err != nil || status != 500 || !strings.Contains(got, "no reply to request 1") || s.Violations()[0].Rule != "script" {
		t.Errorf("%d %s %v %v", status, got, err, s.Violations())
	}
}

func TestPathsWithAndWithoutV1(t *testing.T) {
	s, cl := open(t, Options{})
	play(t, s, `
scenario X "x."
on GET /v1/models
  body "models"
on GET /api/ps
  body "first"
on GET /api/ps
  body "then"
reply *
  body "chat"
`)
	for _, c := range []struct{ path, want string }{
		{"/v1/models", "models"},
		{"/models", "models"},
		{"/api/v0/models", `{"detail":"Not Found"}`},
		{"/api/ps", "first"},
		{"/api/ps", "then"},
		{"/api/ps", "then"},
		{"/props", `{"detail":"Not Found"}`},
	} {
		resp, err := cl.Get(s.URL() + c.path)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if string(b) != c.want {
			t.Errorf("%s: %s, want %s", c.path, b, c.want)
		}
	}
	for _, path := range []string{"/v1/chat/completions", "/chat/completions", "/openai/v1/chat/completions"} {
		resp, err := cl.Post(s.URL()+path, "application/json", strings.NewReader(hello))
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if string(b) != "chat" {
			t.Errorf("%s: %s", path, b)
		}
	}
	if n, m := len(s.Requests()), len(s.Visits()); n != 3 || m != 7 {
		t.Errorf("%d model requests, %d visits", n, m)
	}
}

func TestHandlerSeesTheRequestAndMayBlock(t *testing.T) {
	s, cl := open(t, Options{})
	asked, answer := make(chan string), make(chan string)
	s.Handle(func(r Request) Reply {
		asked <- r.LastUser()
		select {
		case text := <-answer:
			return Reply{Steps: []Step{Text(text), Finish("stop"), Done()}}
		case <-r.Context().Done():
			return Reply{}
		}
	})
	if err := s.On(http.MethodGet, "/v1/models", Body([]byte(`{"data":[]}`))); err != nil {
		t.Fatal(err)
	}
	got := make(chan string, 1)
	go func() {
		_, b, _ := ask(t, cl, s.URL(), hello)
		got <- b
	}()
	if q := <-asked; q != "Say hello." {
		t.Errorf("asked %q", q)
	}
	answer <- "from a person"
	if b := <-got; !strings.Contains(b, `{"content":"from a person"}`) {
		t.Errorf("%s", b)
	}
	// A handler's panic is shown, not swallowed.
	s.Handle(func(Request) Reply { panic("oops") })
	if status, b, _ := ask(t, cl, s.URL(), hello); status != 500 || !strings.Contains(b, "oops") {
		t.Errorf("%d %s", status, b)
	}
}

func TestKeepBoundsTheLog(t *testing.T) {
	s, cl := open(t, Options{Keep: 2, Prefix: PrefixIgnore})
	rep, err := Compile(OpenAIChat, Text("x"), Finish("stop"), Done())
	if err != nil {
		t.Fatal(err)
	}
	s.Handle(func(Request) Reply { return rep })
	for range 5 {
		if _, _, err := ask(t, cl, s.URL(), hello); err != nil {
			t.Fatal(err)
		}
	}
	if r := s.Requests(); len(r) != 2 || r[0].N != 4 || r[1].N != 5 {
		t.Errorf("%d kept", len(r))
	}
}

func TestBrokenURLs(t *testing.T) { // H32
	s, cl := open(t, Options{})
	for how, want := range map[string]string{"refused": "refused", "dns": "no such host|lookup", "tls": "HTTP response to HTTPS client"} {
		u, err := s.BrokenURL(how)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = ask(t, cl, u, hello)
		ok := false
		for _, w := range strings.Split(want, "|") {
			ok = ok || err != nil && strings.Contains(err.Error(), w)
		}
		if !ok {
			t.Errorf("%s: %v", how, err)
		}
	}
}

func TestChecksAreRecorded(t *testing.T) {
	s, cl := open(t, Options{Prefix: PrefixIgnore})
	play(t, s, `
scenario X "x."
reply 1
  request model="other"
  request tools absent
  request stream=true
  request nothing present
  request has="hello"
  request lacks="hello"
  request header X-Key="a"
  request same
  body "ok"
reply 2
  request same
  request appends
  request messages.0={"content":"Say hello.","role":"user"}
  body "ok"
reply 3
  request same
  request appends
  body "ok"
`)
	for _, body := range []string{hello, hello, strings.Replace(hello, "Say hello.", "No", 1)} {
		if status, _, err := ask(t, cl, s.URL(), body); err != nil || status != 200 {
			t.Fatal(status, err)
		}
	}
	var got []string
	for _, v := range s.Violations() {
		got = append(got, strings.Join([]string{itoa(v.Request), v.Rule, v.Text}, " "))
	}
	want := []string{
		`1 script line 4: model is "m", not "other"`,
		`1 script line 7: nothing is absent`,
		`1 script line 9: the body must have "hello": false`,
		`1 script line 10: header X-Key differs from the script`,
		`1 script line 11: there is no request before`,
		`3 script line 19: the body differs from the request before`,
		`3 script line 20: messages[0] differs from the request before: {"role":"user","content":"No"} was {"role":"user","content":"Say hello."}`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
