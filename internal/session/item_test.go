package session_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	. "varve/internal/session"
)

// CTX-1: an item has an id, a kind, a source, where its content is, its key where it has one, and its call where it
// is part of one. Every kind and every source is met here; whoever adds one adds a line.
func TestItems(t *testing.T) {
	said := Model{Provider: "p", API: "openai-chat", Model: "m"}
	const json, enc = "application/json", "openai-chat/reasoning_details"
	pic := []Media{{Handle: handle("a picture"), B: 1}}
	f := NewFold()
	q := Seq(0)
	apply := func(e Event) {
		t.Helper()
		q++
		if err := f.Apply(Entry{Seq: q, Branch: MainBranch, Type: Name(e), Event: e}); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range []Event{
		ModelChosen{Model: said, By: "user"},                                                       // 1
		UserSaid{Via: "prompt", Text: &Text{}, Media: pic, Tokens: Estimate(9)},                    // 2
		InstructionPublished{Key: "10-prompt", Report: "r", Text: Text{B: 0}, Tokens: Estimate(8)}, // 3
		CatalogPublished{Key: "skills", Text: Text{B: 2}, Tokens: Estimate(7)},                     // 4
		RequestSent{Turn: 2, Attempt: 1, Model: said},                                              // 5
		ReplyCompleted{Request: 5, Finish: "tool", Parts: []ReplyPart{ // 6
			{Kind: "reasoning", B: 0, Encoding: "openai-chat/reasoning", Tokens: Estimate(1)},
			{Kind: "native", B: 1, MediaType: json, Encoding: enc, Tokens: Estimate(2)},
			{Kind: "assistant", B: 2, Tokens: Estimate(3)},
			{Kind: "tool_call", B: 3, MediaType: json, Tokens: Estimate(4), Call: &CallName{ID: "call_1", Name: "read"}},
			{Kind: "tool_call", B: 4, MediaType: json, Tokens: Estimate(4), Call: &CallName{ID: "call_2", Name: "bash"}},
		}},
		ToolFinished{Call: ItemID{Seq: 6, Part: 4}, IsError: true, Media: pic, Tokens: Estimate(5)},                      // 7
		ToolInterrupted{Call: ItemID{Seq: 6, Part: 5}, Why: "user", Tokens: Estimate(6)},                                 // 8
		ShellRan{Exit: 1, Tokens: Estimate(7)},                                                                           // 9
		InputQueued{Kind: "steer", Text: Text{B: 0}, Tokens: Estimate(9)},                                                // 10
		UserSaid{Turn: 2, Via: "steer", Entry: 10, Tokens: Estimate(9)},                                                  // 11
		PlanChanged{Items: []PlanItem{{ID: "task-1", Status: "pending"}}, AfterItem: &ItemID{}, NextID: 2},               // 12
		PlanShown{Plan: 12, Tokens: Estimate(10)},                                                                        // 13
		RequestSent{Turn: 2, Attempt: 1, Model: said},                                                                    // 14
		ReplyRejected{Request: 14, Class: "stalled", Kept: true, Text: &Text{B: 0}, Tokens: Estimate(11)},                // 15
		CheckpointCommitted{Kind: "text", Ranges: []Range{}, Text: Text{B: 0}, Tokens: Estimate(12), Replaces: ItemID{}}, // 16
	} {
		apply(e)
	}
	want := []Item{
		{ID: Seq(2).Item(), At: 2, Kind: UserItem, Source: FromUser, Turn: 2, Media: pic, Tokens: Estimate(9)},
		{ID: Seq(3).Item(), At: 3, Kind: InstructionItem, Source: FromRuntime, Key: "10-prompt", Tokens: Estimate(8)},
		{ID: Seq(4).Item(), At: 4, Kind: CatalogItem, Source: FromRuntime, Key: "skills", Text: Text{B: 2}, Tokens: Estimate(7)},
		{ID: Seq(6).Item(), At: 6, Kind: ReasoningItem, Source: FromModel, Turn: 2, Model: said, Text: Text{Encoding: "openai-chat/reasoning"}, Tokens: Estimate(1)},
		{ID: ItemID{Seq: 6, Part: 2}, At: 6, Kind: NativeItem, Source: FromModel, Turn: 2, Model: said, Text: Text{B: 1, MediaType: json, Encoding: enc}, Tokens: Estimate(2)},
		{ID: ItemID{Seq: 6, Part: 3}, At: 6, Kind: AssistantItem, Source: FromModel, Turn: 2, Model: said, Text: Text{B: 2}, Tokens: Estimate(3)},
		{ID: ItemID{Seq: 6, Part: 4}, At: 6, Kind: CallItem, Source: FromModel, Turn: 2, Model: said, Text: Text{B: 3, MediaType: json}, CallID: "call_1", Name: "read", Tokens: Estimate(4)},
		{ID: ItemID{Seq: 6, Part: 5}, At: 6, Kind: CallItem, Source: FromModel, Turn: 2, Model: said, Text: Text{B: 4, MediaType: json}, CallID: "call_2", Name: "bash", Tokens: Estimate(4)},
		{ID: Seq(7).Item(), At: 7, Kind: ResultItem, Source: FromTool, Turn: 2, Call: ItemID{Seq: 6, Part: 4}, Media: pic, Failed: true, Tokens: Estimate(5)},
		{ID: Seq(8).Item(), At: 8, Kind: ResultItem, Source: FromRuntime, Turn: 2, Call: ItemID{Seq: 6, Part: 5}, Marked: "interrupted", Failed: true, Tokens: Estimate(6)},
		{ID: Seq(9).Item(), At: 9, Kind: ShellItem, Source: FromUser, Tokens: Estimate(7)},
		{ID: Seq(11).Item(), At: 10, Kind: UserItem, Source: FromSteering, Turn: 2, Tokens: Estimate(9)}, // its content is the entry's
		{ID: Seq(13).Item(), At: 13, Kind: PlanKind, Source: FromRuntime, Tokens: Estimate(10)},
		{ID: Seq(15).Item(), At: 15, Kind: AssistantItem, Source: FromModel, Turn: 2, Marked: "interrupted", Tokens: Estimate(11)},
		{ID: Seq(16).Item(), At: 16, Kind: CheckpointItem, Source: FromRuntime, Tokens: Estimate(12)},
	}
	kinds, sources := map[ItemKind]bool{}, map[Source]bool{}
	for _, w := range want {
		got, ok := f.Item(w.ID)
		if diff := cmp.Diff(w, got, cmpopts.EquateEmpty()); !ok || diff != "" {
			t.Errorf("item %v: %s", w.ID, diff)
		}
		kinds[got.Kind], sources[got.Source] = true, true
	}
	for q := range Seq(20) {
		for part := range 8 {
			if it, ok := f.Item(ItemID{Seq: q, Part: part}); ok && !slices.ContainsFunc(want, func(w Item) bool { return w.ID == it.ID }) {
				t.Errorf("an item that nobody introduced: %+v", it)
			}
		}
	}
	for _, k := range []ItemKind{UserItem, ShellItem, AssistantItem, ReasoningItem, CallItem, ResultItem, InstructionItem, CatalogItem, PlanKind, CheckpointItem, NativeItem} {
		if !kinds[k] {
			t.Errorf("no item of kind %s", k)
		}
	}
	for _, s := range []Source{FromUser, FromSteering, FromModel, FromTool, FromRuntime} {
		if !sources[s] {
			t.Errorf("no item from %s", s)
		}
	}
	// An edit changes where the content is, and nothing that says what the item is. Media were content of the event
	// before: with it they leave the view (MED-3).
	apply(ItemReplaced{Item: Seq(7).Item(), Why: "repair", Text: Text{B: 3}, Tokens: Estimate(1)})
	for it := range f.State(MainBranch).Branch.View.All {
		if it.ID == Seq(7).Item() {
			w := want[8]
			w.At, w.Text, w.Tokens, w.Media = 17, Text{B: 3}, Estimate(1), nil
			if diff := cmp.Diff(w, it); diff != "" {
				t.Error(diff)
			}
		}
	}
}

// CAS-1: a content reference is hash, media type, size and, of native material alone, the provider encoding; it stands
// in that one shape and comes back as it was.
func TestContentReference(t *testing.T) {
	names := []string{}
	for i := range reflect.TypeFor[Ref]().NumField() {
		names = append(names, reflect.TypeFor[Ref]().Field(i).Tag.Get("json"))
	}
	if diff := cmp.Diff([]string{"sha256", "media_type", "encoding,omitempty", "size"}, names); diff != "" {
		t.Error(diff)
	}
	for want, r := range map[string]Ref{
		`{"ref":{"sha256":"` + sha("a") + `","media_type":"text/plain","size":1}}`:                                                      {SHA256: sha("a"), MediaType: "text/plain", Size: 1},
		`{"ref":{"sha256":"` + sha("n") + `","media_type":"application/json","encoding":"openai-chat/reasoning_details","size":70000}}`: {SHA256: sha("n"), MediaType: "application/json", Encoding: "openai-chat/reasoning_details", Size: 70000},
		`{"ref":{"sha256":"` + sha("") + `","media_type":"image/png","size":0}}`:                                                        {SHA256: sha(""), MediaType: "image/png"},
	} {
		rest := encode(t, Fact{Branch: MainBranch, Event: BranchDeleted{}, Body: []Part{{Ref: &r}}}, time.Unix(0, 0))
		env, ok := Scan(lineOf(4, rest))
		if !ok || string(env.Body) != "["+want+"]" {
			t.Errorf("written as %s, want %s", env.Body, want)
		}
		p, err := PartOf(env.Body, 0)
		if diff := cmp.Diff(Part{Ref: &r}, p); err != nil || diff != "" {
			t.Errorf("%s comes back otherwise: %v %s", want, err, diff)
		}
		var found []Ref
		if err := env.Refs(func(r Ref) { found = append(found, r) }); err != nil || len(found) != 1 || found[0] != r {
			t.Errorf("%s: found as %+v (%v)", want, found, err)
		}
	}
	// The text that names an entry says its encoding too, so that a fold knows native material without reading it.
	e, err := Decode(lineOf(4, encode(t, Fact{Branch: MainBranch, Event: ReplyCompleted{
		Request: 1, Finish: "natural", Parts: []ReplyPart{{Kind: "native", MediaType: "application/json", Encoding: "openai-responses/item"}},
	}, Body: []Part{text("{}")}}, time.Unix(0, 0))))
	if err != nil {
		t.Fatal(err)
	}
	f := NewFold()
	if err := f.Apply(e); err != nil {
		t.Fatal(err)
	}
	if it, ok := f.Item(Seq(4).Item()); !ok || it.Text != (Text{MediaType: "application/json", Encoding: "openai-responses/item"}) {
		t.Errorf("%+v", it)
	}
}
