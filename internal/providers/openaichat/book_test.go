package openaichat_test

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"testing"

	"varve/internal/providers"
	"varve/internal/session"
)

// A book is a log in memory: items, bodies, and the requests that were sent.
type book struct {
	seq    session.Seq
	items  []session.Item
	bodies map[session.Seq][][]byte
	loads  int
	sent   map[session.Seq]session.RequestSent
	lits   map[session.Seq][][]byte
	last   []byte // the body sent last
	lastAt session.Seq
}

func newBook() *book {
	return &book{bodies: map[session.Seq][][]byte{}, sent: map[session.Seq]session.RequestSent{}, lits: map[session.Seq][][]byte{}}
}

// note records an event with its texts.
func (b *book) note(texts ...[]byte) session.Seq {
	b.seq++
	b.bodies[b.seq] = texts
	return b.seq
}

func (b *book) add(it session.Item, text string) session.Item {
	q := b.note([]byte(text))
	it.ID, it.At = q.Item(), q
	b.items = append(b.items, it)
	return it
}

func (b *book) say(kind session.ItemKind, text string) { b.add(session.Item{Kind: kind}, text) }

// reply records parts as one event, and returns its calls.
func (b *book) reply(parts ...providers.Part) []session.Item {
	b.seq++
	var calls []session.Item
	for i, p := range parts {
		b.bodies[b.seq] = append(b.bodies[b.seq], p.Bytes)
		it := session.Item{
			ID: session.ItemID{Seq: b.seq, Part: i + 1}, Kind: p.Kind, At: b.seq,
			Text: session.Text{B: i, MediaType: p.MediaType, Encoding: p.Encoding}, CallID: p.CallID, Name: p.Name,
		}
		b.items = append(b.items, it)
		if p.Kind == session.CallItem {
			calls = append(calls, it)
		}
	}
	return calls
}

func (b *book) result(call session.Item, text string) {
	b.add(session.Item{Kind: session.ResultItem, Call: call.ID}, text)
}

func (b *book) view() iter.Seq[session.Item] { return slices.Values(slices.Clone(b.items)) }

func (b *book) load(q session.Seq, n int) ([]byte, error) {
	b.loads++
	if texts := b.bodies[q]; n < len(texts) {
		return texts[n], nil
	}
	return nil, fmt.Errorf("no body %d of %d", n, q)
}

// send joins blocks, records the request, and proves that the record gives
// the same bytes again (PFX-3).
func (b *book) send(t interface {
	Helper()
	Fatalf(string, ...any)
}, blocks []providers.Block,
) providers.Body {
	t.Helper()
	body := providers.Join(blocks, b.last, b.lastAt)
	b.seq++
	b.sent[b.seq] = session.RequestSent{SHA256: body.SHA256, Recipe: body.Recipe}
	b.lits[b.seq] = body.Literals
	again, err := providers.Rebuild(b.seq, func(q session.Seq) (session.RequestSent, [][]byte, error) { return b.sent[q], b.lits[q], nil }, b.load)
	if err != nil || !bytes.Equal(again, body.Bytes) {
		t.Fatalf("request %d can't be rebuilt: %v", b.seq, err)
	}
	b.last, b.lastAt = body.Bytes, b.seq
	return body
}

// text is a part of visible text, call one of a tool call.
func text(s string) providers.Part {
	return providers.Part{Kind: session.AssistantItem, Bytes: []byte(s)}
}

func call(id, name, args string) providers.Part {
	return providers.Part{Kind: session.CallItem, CallID: id, Name: name, Bytes: []byte(args)}
}

func thought(field, s string) providers.Part {
	return providers.Part{Kind: session.ReasoningItem, Bytes: []byte(s), Encoding: "openai-chat/" + field}
}

// tools records definitions of tools with these names.
func (b *book) tools(t testing.TB, names ...string) []session.Tools {
	if len(names) == 0 {
		return nil
	}
	var specs []providers.ToolSpec
	for _, n := range names {
		specs = append(specs, providers.ToolSpec{Name: n, Description: "Does " + n + ".", Schema: []byte(`{"type":"object","properties":{"path":{"type":"string"}}}`)})
	}
	defs, err := adapter.Tools(specs)
	if err != nil {
		t.Fatal(err)
	}
	return []session.Tools{{At: b.note(defs), API: adapter.API()}}
}
