package openaichat_test

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"varve/internal/providers"
	"varve/internal/providers/openaichat"
	"varve/internal/providers/scripted"
	"varve/internal/session"
)

// Whatever history the log can hold, a request made of it is never refused
// for its shape, can be made again from the log, and begins with the one
// before as long as the history only grew. PRV-4, PFX-1, PFX-3, PERF-8;
// wire.md V8, V9, V12, V13; case STR-22, STR-25
func TestAnyHistory(t *testing.T) {
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	servers := map[string]*scripted.Server{}
	defer func() {
		for _, s := range servers {
			s.Close()
		}
	}()
	rapid.Check(t, func(t *rapid.T) {
		vendor := rapid.SampledFrom(scripted.Vendors()).Draw(t, "vendor")
		s := servers[vendor]
		if s == nil {
			s = scripted.New(scripted.Options{Vendor: vendor})
			s.Handle(func(scripted.Request) scripted.Reply {
				return scripted.Reply{Steps: []scripted.Step{scripted.Text("ok"), scripted.Finish("stop"), scripted.Done()}}
			})
			servers[vendor] = s
		}
		s.AllowRewrite()
		g := grower{t: t, b: newBook(), p: openaichat.ProfileFor(vendor, s.URL())}
		enc := adapter.NewEncoder()
		ask := providers.Ask{
			Model: session.Model{Provider: vendor, API: "openai-chat", Model: "m"}, Profile: g.p.Name, CacheKey: "k",
			Reasoning: rapid.SampledFrom([]string{"", "high"}).Draw(t, "reasoning"),
		}
		for range rapid.IntRange(0, 3).Draw(t, "instructions") {
			g.b.say(session.InstructionItem, g.text("instruction"))
		}
		asked := false // the last request ended in a literal of ours
		for range rapid.IntRange(1, 4).Draw(t, "requests") {
			for range rapid.IntRange(0, 4).Draw(t, "steps") {
				g.step()
			}
			edited := rapid.IntRange(0, 4).Draw(t, "edit") == 0 && g.edit()
			if edited {
				s.AllowRewrite()
			}
			ask.View = g.b.view()
			blocks, err := enc.Encode(ask, g.b.load)
			if err != nil {
				t.Fatal(err)
			}
			grew := g.b.last != nil
			body := g.b.send(t, blocks)
			if err := openaichat.Check(body.Bytes, g.p); err != nil {
				t.Fatalf("%v: %s", err, body.Bytes)
			}
			if fresh, err := adapter.NewEncoder().Encode(ask, g.b.load); err != nil || !bytes.Equal(providers.Join(fresh, nil, 0).Bytes, body.Bytes) {
				t.Fatalf("a fresh encoder makes another request (%v): %s", err, body.Bytes)
			}
			if grew && !body.Whole && !asked && !edited {
				t.Fatalf("a grown history shares %d of %d bytes", body.Shared, len(body.Bytes))
			}
			if asked {
				s.AllowRewrite()
			}
			messages := gjson.GetBytes(body.Bytes, "messages").Array()
			asked = messages[len(messages)-1].Get("content").String() == "Continue."
			before := len(s.Violations())
			r := adapter.Send(context.Background(), providers.Endpoint{Provider: vendor, BaseURL: s.URL(), Key: "test-key", Client: &http.Client{Transport: tr}}, body.Bytes, nil)
			if r.Class != providers.Natural {
				t.Fatalf("%s: %s %v: %s", vendor, r.Class, r.Err, body.Bytes)
			}
			if all := s.Violations(); len(all) > before {
				t.Fatalf("%s: %+v: %s", vendor, all[before:], body.Bytes)
			}
		}
	})
}

// A grower adds to a history what a session may add.
type grower struct {
	t *rapid.T
	b *book
	p openaichat.Profile
}

func (g *grower) text(label string) string {
	return rapid.OneOf(
		rapid.StringN(0, 40, -1),
		rapid.SampledFrom([]string{"", " ", "\n\t", "plain", "quo\"te \\ back", "\xff\xfe bad", "\x00\x1b[31m", "漢字🙂", "\u2028", "[plan]\n", "</user>", strings.Repeat("long ", 30000)}),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 30), func(b []byte) string { return string(b) }),
	).Draw(g.t, label)
}

// edit masks or removes an item, as repair and compaction do.
func (g *grower) edit() bool {
	if len(g.b.items) == 0 {
		return false
	}
	i := rapid.IntRange(0, len(g.b.items)-1).Draw(g.t, "item")
	if rapid.Bool().Draw(g.t, "remove") {
		g.b.items = slices.Delete(slices.Clone(g.b.items), i, i+1)
		return true
	}
	it := &g.b.items[i]
	it.At, it.Text.B = g.b.note([]byte(g.text("replacement"))), 0
	return true
}

func (g *grower) step() {
	kinds := []session.ItemKind{session.UserItem, session.ShellItem, session.PlanKind, session.CatalogItem, session.CheckpointItem}
	switch rapid.IntRange(0, 7).Draw(g.t, "step") {
	case 0, 1:
		it := session.Item{Kind: rapid.SampledFrom(kinds).Draw(g.t, "kind")}
		if rapid.Bool().Draw(g.t, "media") {
			it.Media = []session.Media{{Handle: "media:" + rapid.StringMatching(`[a-f0-9]{4}`).Draw(g.t, "handle")}}
		}
		g.b.add(it, g.text("said"))
	case 2:
		g.b.add(session.Item{Kind: session.ResultItem, Call: session.ItemID{Seq: session.Seq(rapid.IntRange(1, 50).Draw(g.t, "orphan"))}}, g.text("result"))
	case 3:
		g.b.add(session.Item{Kind: session.AssistantItem, Marked: "interrupted"}, g.text("partial"))
	default:
		g.reply()
	}
}

func (g *grower) reply() {
	var parts []providers.Part
	for range rapid.IntRange(0, 5).Draw(g.t, "parts") {
		switch rapid.IntRange(0, 5).Draw(g.t, "part") {
		case 0:
			parts = append(parts, text(g.text("text")))
		case 1:
			parts = append(parts, thought(rapid.SampledFrom([]string{"reasoning_content", "reasoning", "reasoning_text", "content", "else"}).Draw(g.t, "field"), g.text("thought")))
		case 2:
			enc := rapid.SampledFrom([]string{"openai-chat/message", "openai-chat/reasoning_details", "anthropic-messages/message"}).Draw(g.t, "encoding")
			native := rapid.SampledFrom([]string{`{}`, `{"content":"x","refusal":null,"annotations":[]}`, `[]`, `{"content":" "}`, `nonsense`, `[{"type":"reasoning.text","text":"t"}]`}).Draw(g.t, "native")
			parts = append(parts, providers.Part{Kind: session.NativeItem, Encoding: enc, Bytes: []byte(native)})
		default:
			id := rapid.OneOf(rapid.SampledFrom([]string{"", "null", "call_1", "call_2_1", "functions.read:0", "a|b", "abcdefghi", "000000041", "toolu_0123456789", strings.Repeat("x", 450)}), rapid.StringMatching(`[a-zA-Z0-9_.:|-]{1,50}`)).Draw(g.t, "id")
			name := rapid.OneOf(rapid.SampledFrom([]string{"read", "", "bad name", "ünïcode", strings.Repeat("n", 100)}), rapid.StringN(0, 10, -1)).Draw(g.t, "name")
			args := rapid.OneOf(rapid.SampledFrom([]string{"", "{}", `{"a":1}`, `{"a":`, "null", "[1]", `"s"`, `{"a":"\ud83d"}`, `{"a":"\ud83d\ude00"}`, " {\n} ", "{\"a\":\"\xff\"}", `{"a":1}{"b":2}`}), rapid.StringN(0, 20, -1)).Draw(g.t, "args")
			parts = append(parts, call(id, name, args))
		}
	}
	if len(parts) == 0 {
		return
	}
	from := len(g.b.items)
	calls := g.b.reply(parts...)
	said := rapid.SampledFrom([]session.Model{{}, {Provider: g.p.Name, API: "openai-chat", Model: "m-2"}, {Provider: "else", API: "openai-chat", Model: "m"}}).Draw(g.t, "said by")
	for i := range g.b.items[from:] {
		g.b.items[from+i].Model = said
	}
	if len(calls) == 0 {
		return
	}
	order := rapid.Permutation(calls).Draw(g.t, "order")
	for _, c := range order[:rapid.IntRange(0, len(order)).Draw(g.t, "results")] {
		g.b.add(session.Item{Kind: session.ResultItem, Call: c.ID, Failed: rapid.Bool().Draw(g.t, "failed")}, g.text("result"))
	}
}

// PERF-4: Encode for a known prefix costs a walk, whatever it holds.
func BenchmarkEncode(b *testing.B) {
	for _, calls := range []int{50, 400} {
		b.Run(map[int]string{50: "50 calls", 400: "400 calls"}[calls], func(b *testing.B) {
			book := newBook()
			book.say(session.InstructionItem, strings.Repeat("Be brief. ", 500))
			book.say(session.UserItem, "Do it.")
			for range calls {
				c := book.reply(text("I look."), call("", "read", `{"path":"a"}`))
				book.result(c[0], strings.Repeat("line\n", 400))
			}
			enc := adapter.NewEncoder()
			ask := providers.Ask{Model: session.Model{Model: "m"}, View: book.view()}
			if _, err := enc.Encode(ask, book.load); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := enc.Encode(ask, book.load); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
