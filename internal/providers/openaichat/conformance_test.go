package openaichat_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"varve/internal/providers"
	"varve/internal/providers/openaichat"
	"varve/internal/providers/scripted"
	"varve/internal/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var adapter openaichat.Adapter

// A screen gathers deltas, as an interface would.
type screen struct {
	text, reasoning, calls strings.Builder
	onText                 func()
}

func (s *screen) Delta(kind, name string, text []byte) {
	switch kind {
	case "text":
		s.text.Write(text)
		if s.onText != nil {
			s.onText()
		}
	case "reasoning":
		s.reasoning.Write(text)
	case "call":
		s.calls.WriteString(name + ":")
		s.calls.Write(text)
	}
}

// Every scenario of wire.md that is played on Chat Completions: C01-C73,
// H01-H33, D01-D08 (REL-4). What only the loop above decides (retries,
// compactions) is not looked at here.
func TestScenarios(t *testing.T) {
	list, err := scripted.Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, sc := range list {
		if sc.Kind != scripted.OpenAIChat {
			continue
		}
		n++
		t.Run(sc.ID, func(t *testing.T) { play(t, sc) })
	}
	if n < 100 {
		t.Errorf("only %d scenarios", n)
	}
}

// slow lists the scenarios that live on a clock of their own.
func slow(sc scripted.Scenario) bool {
	return sc.Given["idle"] != "" || strings.HasPrefix(sc.ID, "C67") || strings.HasPrefix(sc.ID, "C68") || sc.ID == "STR-14"
}

func play(t *testing.T, sc scripted.Scenario) {
	o := scripted.Options{Vendor: sc.Vendor}
	to := providers.Endpoint{
		Provider: sc.Vendor, Key: sc.Key, Window: int(sc.Given.Int("window")), EventLimit: int(sc.Given.Int("line_cap")),
		NoFinish: sc.Given["no_finish"] == "yes",
	}
	if to.Key == "" {
		to.Key = "test-key"
	}
	if strings.HasPrefix(sc.ID, "H19") || strings.HasPrefix(sc.ID, "STR-16") { // dates count from a clock that stands
		clock := scripted.NewManual(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC))
		o.Clock, to.Clock = clock, clock
	}
	if slow(sc) {
		clock := scripted.NewManual(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC))
		o.Clock, to.Clock = clock, clock
		ctx, cancel := context.WithCancel(t.Context())
		moved := make(chan struct{})
		go func() { // time goes on whenever somebody waits for it
			defer close(moved)
			for clock.BlockUntil(ctx, 1) == nil {
				time.Sleep(time.Millisecond)
				clock.Advance(time.Second)
			}
		}()
		defer func() { cancel(); <-moved }()
		to.StallTimeout = dur(t, sc.Given["idle"])
		to.QuietTimeout = dur(t, sc.Given["semantic"])
	}
	s := scripted.New(o)
	defer s.Close()
	if err := s.Play(sc); err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{DisableCompression: true}
	defer tr.CloseIdleConnections()
	to.Client, to.BaseURL = &http.Client{Transport: tr}, s.URL()
	if how := sc.Given["url"]; how != "" {
		var err error
		if to.BaseURL, err = s.BrokenURL(how); err != nil {
			t.Fatal(err)
		}
	}
	if host := sc.Given["host"]; host != "" {
		at := strings.TrimPrefix(s.URL(), "http://")
		tr.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, at)
		}
		to.BaseURL = "http://" + host
	}
	p := &player{t: t, sc: sc, s: s, to: to, book: newBook(), enc: adapter.NewEncoder(), limit: int(sc.Given.Int("max_tokens")), model: "m"}
	if m := sc.Given["model"]; m != "" {
		p.model = m
	}
	if names := sc.Given["tools"]; names != "" {
		p.tools = p.book.tools(t, strings.Split(names, ",")...)
	}
	p.discover("before")
	if sc.Given["role"] != "" {
		p.book.say(session.InstructionItem, "Be brief.")
	}
	for i, b := range sc.Script {
		if strings.HasPrefix(sc.ID, "H30/") { // one request, two replies: the last one counts
			b.Expect = sc.Script[len(sc.Script)-1].Expect
		}
		p.block(i, b)
		if strings.HasPrefix(sc.ID, "H30/") {
			break
		}
	}
	p.discover("after")
	for _, v := range s.Violations() {
		t.Errorf("violation %s in request %d: %s", v.Rule, v.Request, v.Text)
	}
}

func dur(t *testing.T, s string) time.Duration {
	if s == "" {
		return 0
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

type player struct {
	t      *testing.T
	sc     scripted.Scenario
	s      *scripted.Server
	to     providers.Endpoint
	book   *book
	enc    providers.Encoder
	tools  []session.Tools
	limit  int
	model  string
	calls  []session.Item
	quirks []session.EndpointLearned
	window *session.WindowLearned
}

func (p *player) discover(when string) {
	want := p.sc.Run["window"]
	from := p.sc.Run["source"]
	if want == "" || p.sc.Run["compactions"] != "" {
		return
	}
	ctx, cancel := context.WithCancel(p.t.Context())
	defer cancel()
	if strings.HasSuffix(p.sc.ID, "timeout") {
		ctx, cancel = context.WithTimeout(ctx, 200*time.Millisecond) // shorter than the real one
		defer cancel()
	}
	info, err := openaichat.Window(ctx, p.to, p.model)
	if from == "overflow" || len(p.sc.Script) > 0 && when == "before" {
		return // a later answer decides
	}
	switch {
	case want == "unknown":
		if info.Window != 0 || err == nil && p.sc.ID != "D08" {
			p.t.Errorf("window %+v, %v: want unknown, and why", info, err)
		}
	case info.Window != int(p.sc.Run.Int("window")) || !strings.HasPrefix(info.From, from):
		p.t.Errorf("window %+v, %v; want %s from %s", info, err, want, from)
	}
}

func (p *player) block(i int, b scripted.Block) {
	for _, in := range b.Input {
		switch in.Verb {
		case "ask":
			p.book.say(session.UserItem, in.Text)
		case "result":
			for _, c := range p.calls {
				p.book.result(c, in.Text)
			}
			p.calls = nil
		case "switch":
			p.to.Provider = in.Text
			p.s.AllowRewrite()
		}
	}
	if i == 0 && len(b.Input) == 0 {
		q := "Say hello."
		if est := p.sc.Given.Int("estimate"); est > 0 {
			q += strings.Repeat(" Hi.", int(est)*33/40)
		}
		p.book.say(session.UserItem, q)
	}
	view := p.book.view()
	blocks, err := p.enc.Encode(providers.Ask{
		Model: session.Model{Provider: p.to.Provider, API: adapter.API(), Model: p.model}, OutputLimit: p.limit,
		Tools: p.tools, View: view, Quirks: p.quirks, Profile: openaichat.ProfileFor(p.to.Provider, p.to.BaseURL).Name, CacheKey: "k",
	}, p.book.load)
	if err != nil {
		p.t.Fatal(err)
	}
	body := p.book.send(p.t, blocks)
	ctx, cancel := context.WithCancel(p.t.Context())
	defer cancel()
	out := &screen{}
	if p.sc.Given["cancel"] == "text" {
		out.onText = cancel
	}
	r := adapter.Send(ctx, p.to, body.Bytes, out)
	p.compare(b.Expect, r, out)
	if r.Class == providers.Cancelled { // the connection was closed
		if err := p.s.AwaitEnd(p.t.Context(), len(p.s.Requests())); err != nil {
			p.t.Error(err)
		}
		if all := p.s.Requests(); !all[len(all)-1].Cancelled {
			p.t.Error("the provider did not see the cancel")
		}
	}
	p.quirks = append(p.quirks, r.Learned...)
	if r.Err != nil && r.Err.Sub == "budget" {
		p.limit = 0
	}
	if r.Window != nil {
		p.window = r.Window
	}
	if len(r.Parts) > 0 {
		p.calls = p.book.reply(r.Parts...)
	}
}

func textOf(r providers.Reply) string {
	var text strings.Builder
	text.Write(r.Partial)
	for _, part := range r.Parts {
		if part.Kind == session.AssistantItem {
			text.Write(part.Bytes)
		}
	}
	return text.String()
}

func (p *player) compare(want scripted.Outcome, r providers.Reply, out *screen) {
	t := p.t
	if !want.Stated {
		return
	}
	class, kind, retry, message := string(r.Class), "", false, ""
	if r.Err != nil {
		kind, retry, message = string(r.Err.Kind), r.Err.Retry, r.Err.Message
	}
	// Two vocabularies for the same: the fake has a sub-kind where we have a
	// kind, and no class of its own for a stall.
	switch {
	case kind == string(providers.Protocol) && want.Sub == "protocol", kind == string(providers.EmptyReply) && want.Sub == "empty_tool_finish":
		kind = "server"
	}
	switch {
	case class == string(providers.Stalled), class == string(providers.Overflow) && want.Class == "error" && want.Kind == "context_length":
		class = "error"
	case want.Class == "missing" && kind == string(providers.Network) && r.Err.Retry: // cut before its headers
		class = "missing"
	}
	if want.Class != "" && class != want.Class {
		t.Errorf("class %s, want %s (%v)", class, want.Class, r.Err)
	}
	if want.Kind != "" && kind != "" && !want.AllowsKind(kind) {
		t.Errorf("kind %q, want %q: %v", kind, want.Kind, r.Err)
	}
	if want.Class == "" && want.Kind != "" && r.Err == nil {
		t.Errorf("no error, want %s", want.Kind)
	}
	if r.Err != nil && r.Err.Kind == providers.ContextLength {
		if want.Sub != "" && r.Err.Sub != want.Sub || want.Limit != 0 && int64(r.Err.Limit) != want.Limit || want.Used != 0 && int64(r.Err.Used) != want.Used {
			t.Errorf("overflow %s %d/%d, want %s %d/%d", r.Err.Sub, r.Err.Limit, r.Err.Used, want.Sub, want.Limit, want.Used)
		}
	}
	tri := func(what string, want scripted.Tri, got bool) {
		if want != scripted.Unsaid && got != (want == scripted.Yes) {
			t.Errorf("%s: %v (%v)", what, got, r.Err)
		}
	}
	tri("retry", want.Retry, retry)
	tri("commit", want.Commit, len(r.Parts) > 0)
	tri("summary", want.Summary, r.Class == providers.Natural && r.RawFinish != "" && !r.Oversize)
	tri("empty", want.Empty, r.Err != nil && r.Err.Kind == providers.EmptyReply)
	tri("overflow", want.Overflow, r.Oversize)
	tri("cancelled", want.Cancelled, r.Class == providers.Cancelled)
	if want.After != nil && (r.Err == nil || r.Err.After != *want.After || !r.Err.Told) {
		t.Errorf("after: %+v, want %v", r.Err, *want.After)
	}
	if want.Text != nil {
		if got := textOf(r); got != *want.Text {
			t.Errorf("text %.200q, want %.200q", got, *want.Text)
		}
		if got := out.text.String(); got != *want.Text && !strings.Contains(*want.Text, "\uFFFD") {
			t.Errorf("shown %.200q, want %.200q", got, *want.Text)
		}
	}
	for _, has := range want.Has {
		if !strings.Contains(textOf(r), has) && !strings.Contains(message, has) {
			t.Errorf("neither text nor message holds %q: %q %q", has, textOf(r), message)
		}
	}
	p.parts(want, r, out)
	if want.NoUsage && r.Usage != nil {
		t.Errorf("usage %+v, want unknown", *r.Usage)
	}
	if u := want.Usage; u != nil {
		if r.Usage == nil {
			t.Errorf("usage unknown, want %+v", *u)
		} else if got := (scripted.Usage{
			Prompt: int64(r.Usage.Input + r.Usage.Cached + r.Usage.CacheWrite), Output: int64(r.Usage.Output),
			Cached: int64(r.Usage.Cached), CacheWrite: int64(r.Usage.CacheWrite), Reasoning: int64(r.Usage.Reasoning),
		}); got != *u {
			t.Errorf("usage %+v, want %+v", got, *u)
		}
	}
	if want.Repair != "" {
		got := ""
		for _, q := range r.Learned {
			got += q.Quirk + " " + q.Value
		}
		switch name, known := map[string]string{"swap max_tokens": "max_field max_completion_tokens", "system role": "role system"}[want.Repair]; {
		case want.Repair == "drop max_tokens" && r.Err != nil && r.Err.Sub == "budget": // the loop's to do
		case want.Repair == "drop parallel_tool_calls": // never sent, so nothing to learn
		case known && got != name, !known && got != want.Repair:
			t.Errorf("learned %q, want %q", got, want.Repair)
		}
	}
}

func (p *player) parts(want scripted.Outcome, r providers.Reply, out *screen) {
	reasoning, field := out.reasoning.String(), ""
	var calls []providers.Part
	for _, part := range r.Parts {
		switch part.Kind {
		case session.ReasoningItem:
			if string(part.Bytes) != reasoning {
				p.t.Errorf("reasoning %q was shown as %q", part.Bytes, reasoning)
			}
			field = strings.TrimPrefix(part.Encoding, "openai-chat/")
		case session.CallItem:
			calls = append(calls, part)
		case session.NativeItem:
			if enc := strings.TrimPrefix(part.Encoding, "openai-chat/"); strings.HasPrefix(enc, "reasoning") {
				field = enc
			}
		}
	}
	if want.Reasoning != nil && reasoning != *want.Reasoning {
		p.t.Errorf("reasoning %q, want %q", reasoning, *want.Reasoning)
	}
	if want.Field != "" && field != want.Field {
		p.t.Errorf("reasoning field %q, want %q", field, want.Field)
	}
	if want.NoCalls && len(calls) > 0 {
		p.t.Errorf("calls %v, want none", calls)
	}
	if len(want.Calls) == 0 {
		return
	}
	if len(calls) != len(want.Calls) {
		p.t.Fatalf("%d calls, want %d", len(calls), len(want.Calls))
	}
	seen := map[string]bool{}
	for i, w := range want.Calls {
		c := calls[i]
		args := string(c.Bytes)
		if strings.TrimSpace(args) == "" {
			args = "{}"
		}
		if c.Name != w.Name || w.Args != "" && args != w.Args || w.Size != 0 && len(c.Bytes) != w.Size || w.ID != "" && c.CallID != w.ID {
			p.t.Errorf("call %d: %s %.100s %s, want %+v", i, c.Name, args, c.CallID, w)
		}
		if c.CallID == "" || seen[c.CallID] {
			p.t.Errorf("call %d: id %q", i, c.CallID)
		}
		seen[c.CallID] = true
	}
}
