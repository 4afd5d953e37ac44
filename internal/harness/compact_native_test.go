package harness

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"varve/internal/harness/drive"
	"varve/internal/providers"
	"varve/internal/session"
)

// opaque ends a request as a kind's own compaction operation does.
func opaque(class providers.Class, items ...string) answer {
	return func(context.Context, string, providers.Sink) providers.Reply {
		r := providers.Reply{Class: class, RawFinish: "compaction", Usage: &session.Usage{Input: 9, Output: 1}}
		for _, it := range items {
			r.Parts = append(r.Parts, providers.Part{Kind: session.NativeItem, Bytes: []byte(it), MediaType: "application/json", Encoding: "some-kind/item"})
		}
		return r
	}
}

func unsupported(context.Context, string, providers.Sink) providers.Reply {
	return providers.Reply{Class: providers.Failed, Err: &providers.Error{Kind: providers.Unsupported, Status: 404, Message: "no such operation"}}
}

// nativeWorld is a world whose kind can compact by itself.
func nativeWorld(t *testing.T, replies ...answer) (*world, *Local) {
	w := roomy(t, 100_000, append([]answer{text("One is a number. " + strings.Repeat("It is. ", 400))}, replies...)...)
	resolve := w.opts.Resolve
	w.opts.Resolve = func(ctx context.Context, m session.Model) (Target, error) {
		target, err := resolve(ctx, m)
		target.Native = true
		return target, err
	}
	w.opts.Clock = hurry(100)
	l := w.start()
	say(t, l, "one")
	ended(t, l, 1)
	return w, l
}

const item = `{"type":"compaction", "id" : "c_1","encrypted_content":"\u003cA"}`

// With no list, a kind's own operation is asked for on the agent's prefix. Its
// item is installed byte for byte, with its encoding, and is what the next
// request begins with. // CMP-13, PRV-9, CMP-6
func TestNativeItemIsInstalledAsItCame(t *testing.T) {
	w, l := nativeWorld(t, opaque(providers.Compaction, item), text("Two."))
	submit(t, l, drive.Compact{})
	e := until(t, l, "the checkpoint", func(e session.Entry) bool { return e.Type == "checkpoint.committed" })
	ev := e.Event.(session.CheckpointCommitted)
	if got := string(must(l.Session.Load(e.Seq, ev.Text.B))); got != item || ev.Kind != "native" || ev.Text.Encoding != "some-kind/item" {
		t.Errorf("%s %+v %s", ev.Kind, ev.Text, got)
	}
	say(t, l, "two")
	ended(t, l, 2)
	wantStory(t, l, `
request
ended completed
asked by user
started manual native of [{6 10}]
started script/m 1/1 
sent native 1, limit 0
committed [{6 10}]
request
ended completed`)
	sent := w.sent()
	if before, _, _ := strings.Cut(sent[0], "end"); !strings.HasPrefix(sent[1], before) || !strings.Contains(sent[1], "compact ") {
		t.Errorf("%q", sent[1])
	}
	if it, ok := l.State().Branch.View.Checkpoint(); !ok || it.Text.Encoding != "some-kind/item" || strings.Contains(sent[2], "It is.") {
		t.Errorf("%+v %q", it, sent[2])
	}
	again := w.resume(l.Session.Path())
	if !reflect.DeepEqual(again.State().Branch.Checkpoint, l.State().Branch.Checkpoint) {
		t.Error("another process folds another checkpoint")
	}
}

// An end that is not the operation's own, or that brings another number of
// items, is no evidence; where the operation is not offered the same model is
// asked by text. A list is asked by text. // CMP-13, PRV-5, PRV-9, FIN-1
func TestNativeRouteFallsBack(t *testing.T) {
	for _, c := range []struct {
		name    string
		replies []answer
		chain   []session.Model
		want    string
	}{
		{"an answer", []answer{text(handoff("x")), opaque(providers.Compaction, item)}, nil, `
started manual native of [{6 10}]
started script/m 1/1 
sent native 1, limit 0
rejected natural
sent native 2, limit 0
committed [{6 10}]`},
		{"two items", []answer{opaque(providers.Compaction, item, item), opaque(providers.Compaction, item)}, nil, `
started manual native of [{6 10}]
started script/m 1/1 
sent native 1, limit 0
rejected no_item
sent native 2, limit 0
committed [{6 10}]`},
		{"not offered", []answer{unsupported, text(handoff("x"))}, nil, `
started manual native of [{6 10}]
started script/m 1/1 
sent native 1, limit 0
rejected error
sent one_shot 1, limit 0
committed [{6 10}]`},
		{"a list", []answer{text(handoff("x"))}, []session.Model{{Provider: "script", API: "openai-chat", Model: "s"}}, `
started manual one_shot of [{6 10}]
started script/s 1/1 
sent one_shot 1, limit 0
committed [{6 10}]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, l := nativeWorld(t, c.replies...)
			if c.chain != nil {
				w.opts.Summarizers = func() []session.Model { return c.chain }
				l.Close()
				l = w.resume(l.Session.Path())
			}
			submit(t, l, drive.Compact{})
			until(t, l, "the checkpoint", func(e session.Entry) bool { return e.Type == "checkpoint.committed" })
			wantStory(t, l, `
request
ended completed
asked by user`+c.want)
		})
	}
}

// What only the provider can read is never left out of a transcript for another
// model: the compaction is refused with the reason. // CMP-13, PRV-9
func TestNativeCheckpointIsNotReadByAnother(t *testing.T) {
	w, l := nativeWorld(t, opaque(providers.Compaction, item), text("Two. "+strings.Repeat("More. ", 400)))
	submit(t, l, drive.Compact{})
	until(t, l, "the checkpoint", func(e session.Entry) bool { return e.Type == "checkpoint.committed" })
	say(t, l, "two")
	ended(t, l, 2)
	l.Close()
	w.opts.Summarizers = func() []session.Model { return []session.Model{{Provider: "script", API: "openai-chat", Model: "s"}} }
	l = w.resume(l.Session.Path())
	submit(t, l, drive.Compact{})
	e := until(t, l, "the refusal", func(e session.Entry) bool { return e.Type == "compaction.failed" })
	if ev := e.Event.(session.CompactionFailed); ev.Kind != "opaque" {
		t.Error(ev)
	}
	if len(w.sent()) != 3 {
		t.Errorf("%d requests", len(w.sent()))
	}
}
