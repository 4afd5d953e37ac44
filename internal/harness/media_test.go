package harness

import (
	"context"
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve/internal/providers"
	"varve/internal/providers/openaichat"
	"varve/internal/session"
)

// A spoken script speaks the real words of Chat Completions: what it is asked is what a vendor would get.
type spoken struct {
	*script
	openaichat.Adapter
}

func (p spoken) API() string                                  { return p.Adapter.API() }
func (p spoken) Tools(s []providers.ToolSpec) ([]byte, error) { return p.Adapter.Tools(s) }
func (p spoken) NewEncoder() providers.Encoder                { return p.Adapter.NewEncoder() }
func (p spoken) Send(ctx context.Context, to providers.Endpoint, body []byte, sink providers.Sink) providers.Reply {
	return p.script.Send(ctx, to, body, sink)
}

// A picture that the model reads is kept as content before the line that names it, has a handle, and is never in a
// request: a note stands for it, and every later request has the same bytes there. MED-1, MED-3, LOG-12, CAS-2, PFX-1
func TestPictureIsKeptAndNamed(t *testing.T) {
	dot, err := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{}
	w := newWorld(t, calls("read", `{"file_path":"dot.png"}`), text("I can't see it."), text("Bye."))
	adapter := spoken{script: w.script}
	w.opts.Resolve = func(context.Context, session.Model) (Target, error) {
		return Target{Adapter: adapter, Endpoint: providers.Endpoint{Provider: "script", BaseURL: "script:"}}, nil
	}
	w.on(r)
	if err := os.WriteFile(filepath.Join(w.opts.Workspace, "dot.png"), dot, 0o600); err != nil {
		t.Fatal(err)
	}
	l := w.start()
	say(t, l, "what is on dot.png?")
	ended(t, l, 1)
	say(t, l, "it is red")
	ended(t, l, 2)

	e := until(t, l, "the result", func(e session.Entry) bool { return e.Type == "tool.finished" })
	ev := e.Event.(session.ToolFinished)
	if len(ev.Media) != 1 || !strings.HasPrefix(ev.Media[0].Handle, "media:") {
		t.Fatalf("%+v", ev)
	}
	p, err := e.Part(ev.Media[0].B)
	if err != nil || p.Ref == nil || p.Ref.MediaType != "image/png" || p.Ref.Size != int64(len(dot)) || ev.Media[0].Handle != "media:"+p.Ref.SHA256[:8] {
		t.Fatalf("%+v %v", p.Ref, err)
	}
	if kept, err := l.Session.Load(e.Seq, ev.Media[0].B); err != nil || string(kept) != string(dot) {
		t.Errorf("%d bytes under the handle (%v)", len(kept), err)
	}
	did := r.did()
	if c, line := slices.Index(did, "content"), slices.Index(did, "write tool.finished"); c < 0 || line < c {
		t.Errorf("content %d, line %d", c, line)
	}
	note := `"content":"` + ev.Media[0].Handle + ` image/png, 1x1, 70 bytes\n[` + ev.Media[0].Handle + ` is not shown to you; ask the user what it shows]"`
	sent := w.sent()
	if len(sent) != 3 || !strings.Contains(sent[1], note) || !strings.Contains(sent[2], note) {
		t.Fatalf("no %s in %q", note, sent)
	}
	if !strings.HasPrefix(sent[2], strings.TrimSuffix(sent[1], "]}")) {
		t.Errorf("the later request begins otherwise:\n%s\n%s", sent[1], sent[2])
	}
	for _, body := range sent {
		if strings.Contains(body, "base64") || strings.Contains(body, base64.StdEncoding.EncodeToString(dot[:30])) {
			t.Errorf("the picture was sent: %s", body)
		}
	}
}

// CAS-1, CAS-2: native material above 64 KiB stands in the store, and the reference that names it says its media type,
// its size and the provider encoding; the request made of it later holds its bytes.
func TestLargeNativeMaterialIsReferred(t *testing.T) {
	native := `[{"type":"reasoning.encrypted", "data":"` + strings.Repeat("x", session.InlineLimit) + `"}]`
	w := newWorld(t, func(context.Context, string, providers.Sink) providers.Reply {
		return providers.Reply{Class: providers.Natural, RawFinish: "stop", Parts: []providers.Part{
			{Kind: session.NativeItem, Bytes: []byte(native), MediaType: "application/json", Encoding: "openai-chat/reasoning_details"},
			{Kind: session.AssistantItem, Bytes: []byte("Hi.")},
		}}
	}, text("Bye."))
	adapter := spoken{script: w.script}
	w.opts.Resolve = func(context.Context, session.Model) (Target, error) {
		return Target{Adapter: adapter, Endpoint: providers.Endpoint{Provider: "script", BaseURL: "script:"}}, nil
	}
	l := w.start()
	say(t, l, "hello")
	ended(t, l, 1)
	say(t, l, "bye")
	ended(t, l, 2)
	e := until(t, l, "the reply", func(e session.Entry) bool { return e.Type == "reply.completed" })
	p, err := e.Part(0)
	if err != nil || p.Ref == nil {
		t.Fatalf("%+v %v", p, err)
	}
	if want := (session.Ref{SHA256: p.Ref.SHA256, MediaType: "application/json", Encoding: "openai-chat/reasoning_details", Size: int64(len(native))}); *p.Ref != want {
		t.Errorf("%+v, want %+v", *p.Ref, want)
	}
	if sent := w.sent(); len(sent) != 2 || !strings.Contains(sent[1], native) {
		t.Errorf("%d requests, the last of %d bytes, without the material", len(sent), len(sent[len(sent)-1]))
	}
}
