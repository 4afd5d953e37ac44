package session_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	. "varve/internal/session"
)

const zeros = "00000000000000000000000000000000"

// lineOf puts before the rest of a line what jsonl would.
func lineOf(q Seq, rest []byte) []byte {
	return fmt.Appendf(nil, `{"seq":%d,"prev":"%s",%s`, q, zeros, rest)
}

func encode(t testing.TB, f Fact, at time.Time) []byte {
	t.Helper()
	b, err := EncodeRest(f, at)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// ignoreBody leaves the raw body of an Entry out of a comparison.
func ignoreBody() cmp.Option {
	return cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "body" }, cmp.Ignore())
}

// LOG-12: the bytes of a line, one shape each.
func TestEncodeRest(t *testing.T) {
	at := time.Date(2026, 11, 30, 13, 0, 0, 1_999_999, time.FixedZone("CET", 3600))
	head := `"branch":"main","at":"2026-11-30T12:00:00.001Z","type":`
	for _, c := range []struct {
		name string
		fact Fact
		want string
	}{
		{"no data, no body", Fact{Event: BranchDeleted{}}, `"branch.deleted","must":true,"data":{}}`},
		{"plain", Fact{Event: InputRemoved{Entry: 3}}, `"input.removed","data":{"entry":3}}`},
		{"an empty body is none", Fact{Event: InputRemoved{Entry: 3}, Body: []Part{}}, `"input.removed","data":{"entry":3}}`},
		{"no HTML escapes", Fact{Event: BranchDeleted{}, Body: []Part{text("<a&b> \u2028 é")}}, `"branch.deleted","must":true,"data":{},"body":["<a&b> ` + "\u2028" + ` é"]}`},
		{"control bytes", Fact{Event: BranchDeleted{}, Body: []Part{text("\x00\x1f\x7f\r\n\t\b\f\"\\/")}}, `"branch.deleted","must":true,"data":{},"body":["\u0000\u001f` + "\x7f" + `\r\n\t\b\f\"\\/"]}`},
		{"other bytes", Fact{Event: BranchDeleted{}, Body: []Part{{Bytes: []byte{0xff, 0xfe}}}}, `"branch.deleted","must":true,"data":{},"body":[{"b64":"//4="}]}`},
		{"a lone surrogate is no UTF-8", Fact{Event: BranchDeleted{}, Body: []Part{{Bytes: []byte{0xed, 0xa0, 0x80}}}}, `"branch.deleted","must":true,"data":{},"body":[{"b64":"7aCA"}]}`},
		{"empty bytes", Fact{Event: BranchDeleted{}, Body: []Part{{}, text("")}}, `"branch.deleted","must":true,"data":{},"body":["",""]}`},
		{
			"a reference",
			Fact{Event: BranchDeleted{}, Body: []Part{{Ref: &Ref{SHA256: "ab", MediaType: "image/png", Encoding: "gemini/part", Size: 7}}}},
			`"branch.deleted","must":true,"data":{},"body":[{"ref":{"sha256":"ab","media_type":"image/png","encoding":"gemini/part","size":7}}]}`,
		},
		{"a zero after_item is written", Fact{Event: PlanChanged{AfterItem: &ItemID{}, NextID: 1, By: "user"}}, `"plan.changed","must":true,"data":{"after_item":"0","next_id":1,"by":"user"}}`},
	} {
		c.fact.Branch = MainBranch
		if got := string(encode(t, c.fact, at)); got != head+c.want {
			t.Errorf("%s:\n%s, want\n%s", c.name, got, head+c.want)
		}
	}
}

// LOG-12: facts of 4 KiB stand in a line, one byte more is refused; 64 KiB stand in
// a body, one byte more is refused (CAS-2).
func TestEncodeRestLimits(t *testing.T) {
	fact := func(n int) Fact {
		return Fact{Branch: MainBranch, Event: InstructionWithdrawn{Key: strings.Repeat("k", n-len(`{"key":""}`))}}
	}
	if b := encode(t, fact(FactLimit), time.Time{}); !bytes.Contains(b, bytes.Repeat([]byte("k"), FactLimit-10)) {
		t.Error("4 KiB of facts are not written whole")
	}
	if _, err := EncodeRest(fact(FactLimit+1), time.Time{}); err == nil || !strings.Contains(err.Error(), "4097 bytes of facts, at most 4096") {
		t.Errorf("4 KiB and one byte: %v", err)
	}
	for _, fill := range []byte{'x', 0xff} {
		whole := bytes.Repeat([]byte{fill}, InlineLimit)
		f := Fact{Event: BranchDeleted{}, Body: []Part{{Bytes: whole}}}
		e, err := Decode(lineOf(1, encode(t, f, time.Unix(0, 0))))
		if err != nil {
			t.Fatal(err)
		}
		if p, err := e.Part(0); err != nil || !bytes.Equal(p.Bytes, whole) {
			t.Errorf("64 KiB of %q do not come back: %v", fill, err)
		}
		f.Body = append(f.Body, Part{Bytes: append(whole, fill)})
		if _, err := EncodeRest(f, time.Time{}); err == nil || !strings.Contains(err.Error(), "body 1: 65537 bytes inline, at most 65536") {
			t.Errorf("64 KiB and one byte of %q: %v", fill, err)
		}
	}
}

func TestEncodeRestRefuses(t *testing.T) {
	for _, e := range []Event{Unknown{Data: []byte("{}")}, InstructionWithdrawn{Key: "a\xffb"}} {
		if b, err := EncodeRest(Fact{Branch: MainBranch, Event: e}, time.Time{}); err == nil {
			t.Errorf("%#v is written as %s", e, b)
		}
	}
}

// anyBytes draws what people, models and tools write, and what they shouldn't.
func anyBytes() *rapid.Generator[[]byte] {
	piece := rapid.OneOf(
		rapid.SliceOfN(rapid.Byte(), 0, 12),
		rapid.Map(rapid.String(), func(s string) []byte { return []byte(s) }),
		rapid.SampledFrom([][]byte{
			nil,
			{0},
			[]byte("\r\n"), []byte("\u2028\u2029"), []byte("\ufeff"),
			{0xed, 0xa0, 0xbd},
			{0xed, 0xb8, 0x80},
			{0xc0, 0x80},
			{0xff},
			[]byte(`"]}`), []byte(`\`), []byte(`\u0000`), []byte("\uFFFD"), []byte("</script>"), []byte("\U0010FFFF"), []byte(`{"ref":`),
		}),
	)
	return rapid.Map(rapid.SliceOfN(piece, 0, 5), func(all [][]byte) []byte { return bytes.Join(all, nil) })
}

func anyPart() *rapid.Generator[Part] {
	return rapid.Custom(func(t *rapid.T) Part {
		if rapid.IntRange(0, 5).Draw(t, "ref") == 0 {
			return Part{Ref: &Ref{
				SHA256: rapid.StringMatching(`[0-9a-f]{64}`).Draw(t, "sha"), MediaType: rapid.String().Draw(t, "media"),
				Encoding: rapid.SampledFrom([]string{"", "gemini/part"}).Draw(t, "encoding"), Size: rapid.Int64().Draw(t, "size"),
			}}
		}
		b := anyBytes().Draw(t, "bytes")
		return Part{Bytes: append([]byte{}, b...)}
	})
}

// case SES-04: whatever is recorded stands on exactly one line and comes back as
// it was, byte for byte.
func TestLineRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := time.UnixMilli(rapid.Int64Range(0, 4e12).Draw(t, "at")).UTC()
		branch := rapid.OneOf(rapid.Just(MainBranch), rapid.String()).Draw(t, "branch")
		f := Fact{Branch: branch, Event: anyEvent().Draw(t, "event"), Body: rapid.SliceOfN(anyPart(), 0, 4).Draw(t, "body")}
		b, err := EncodeRest(f, at)
		if err != nil {
			t.Fatal(err)
		}
		line := lineOf(7, b)
		if bytes.ContainsAny(line, "\n\r") || !utf8.Valid(line) || !jsontext.Value(line).IsValid() {
			t.Fatalf("not one line of JSON: %q", line)
		}
		if _, ok := Scan(line); !ok && string(AppendQuoted(nil, []byte(branch))) == `"`+branch+`"` {
			t.Fatalf("not in the canonical form: %q", line)
		}
		e, err := Decode(line)
		if err != nil {
			t.Fatal(err)
		}
		want := Entry{Seq: 7, Branch: branch, At: at, Type: Name(f.Event), Must: Must(Name(f.Event)), Event: f.Event}
		if diff := cmp.Diff(want, e, ignoreBody(), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%s\n%s", line, diff)
		}
		parts, err := e.Parts()
		if err != nil {
			t.Fatal(err)
		}
		if len(parts)+len(f.Body) > 0 && !reflect.DeepEqual(parts, f.Body) {
			t.Fatalf("the body comes back as %v, was %v", parts, f.Body)
		}
		for i := range f.Body {
			if p, err := e.Part(i); err != nil || !reflect.DeepEqual(p, f.Body[i]) {
				t.Fatalf("part %d comes back as %v (%v)", i, p, err)
			}
		}
		if got := encodeAgain(t, e); got != string(b) {
			t.Fatalf("written again as %s, was %s", got, b)
		}
		agree(t, line)
	})
}

func encodeAgain(t interface{ Fatal(...any) }, e Entry) string {
	parts, err := e.Parts()
	if err != nil {
		t.Fatal(err)
	}
	b, err := EncodeRest(Fact{Branch: e.Branch, Event: e.Event, Body: parts}, e.At)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// agree checks that the fast and the tolerant reader read the same from a line
// that jsonl would hand on: valid JSON, with 32 hex digits of prev.
func agree(t interface{ Fatalf(string, ...any) }, line []byte) {
	fast, ok := Scan(line)
	if !ok {
		return
	}
	slow, err := ScanLoose(line)
	if err != nil {
		t.Fatalf("Scan reads %q, and scanLoose does not: %v", line, err)
	}
	if fast.Seq != slow.Seq || !bytes.Equal(fast.Branch, slow.Branch) || !bytes.Equal(fast.At, slow.At) || !bytes.Equal(fast.Type, slow.Type) || fast.Must != slow.Must || !bytes.Equal(fast.Data, slow.Data) {
		t.Fatalf("Scan reads %q as\n%+v, scanLoose as\n%+v", line, fast, slow)
	}
	one, err1 := fast.Decode()
	two, err2 := slow.Decode()
	if (err1 == nil) != (err2 == nil) {
		t.Fatalf("%q decodes as %v, or as %v", line, err1, err2)
	}
	if err1 == nil && bodyOf(one) != bodyOf(two) {
		t.Fatalf("the body of %q is %v, or %v", line, bodyOf(one), bodyOf(two))
	}
}

func bodyOf(e Entry) string {
	parts, err := e.Parts()
	out := fmt.Sprint(err != nil)
	for _, p := range parts {
		out += fmt.Sprintf(" %q", p.Bytes)
		if p.Ref != nil {
			out += fmt.Sprintf("%+v", *p.Ref)
		}
	}
	return out
}

// LOG-2: what a newer program adds to a line changes nothing of what we read.
func TestDecodeTolerates(t *testing.T) {
	const data, body = `"data":{"turn":3,"run":"r1"}`, `"body":["a",{"b64":"/w=="}]`
	env := `"seq":4,"prev":"` + zeros + `","branch":"main","at":"2026-11-30T12:00:00.000Z","type":"turn.resumed"`
	want, err := Decode([]byte("{" + env + "," + data + "," + body + "}"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"{" + env + `,"must":false,` + data + "," + body + "}",
		"{" + env + `,"newer":[1,{"a":"}"}],` + data + "," + body + "}",
		"{" + env + "," + data + `,"newer":{"body":[]},` + body + "}",
		"{" + env + "," + data + "," + body + `,"newer":["]"]}`,
		"{" + env + "," + data + "," + body + `,"newer":3}`,
		"{" + body + "," + data + "," + env + "}",
		"{" + strings.ReplaceAll(env, `":`, `": `) + ", " + data + " ,\t" + body + " }",
		"{" + strings.Replace(env, "main", `m\u0061in`, 1) + "," + data + "," + body + "}",
		"{" + strings.Replace(env, "turn.resumed", `turn\u002eresumed`, 1) + "," + data + "," + body + "}",
		"{" + strings.Replace(env, ".000Z", "Z", 1) + "," + data + "," + body + "}",
		"{" + strings.Replace(env, "12:00:00.000Z", "13:00:00+01:00", 1) + "," + data + "," + body + "}",
		"{" + env + `,"data":{"newer":{"turn":9},"turn":3,"run":"r1","also":null},` + body + "}",
	} {
		got, err := Decode([]byte(line))
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if diff := cmp.Diff(want, got, ignoreBody()); diff != "" || bodyOf(got) != bodyOf(want) || got.At.Location() != time.UTC {
			t.Errorf("%s: %s%s %v", line, diff, bodyOf(got), got.At)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	good := `{"seq":4,"prev":"` + zeros + `","branch":"main","at":"2026-11-30T12:00:00.000Z","type":"turn.resumed","data":{"turn":3,"run":"r1"},"body":["a"]}`
	if _, err := Decode([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{
		{good, ""},
		{good, "null"},
		{good, good[:len(good)-1]},
		{good, good + "}"},
		{`"seq":4`, `"seq":0`},
		{`"seq":4`, `"seq":-4`},
		{`"seq":4`, `"seq":04`},
		{`"seq":4`, `"seq":99999999999999999999`},
		{`"type":"turn.resumed"`, `"type":""`},
		{`"type":"turn.resumed"`, `"type":3`},
		{`2026-11-30T`, `2026-13-30T`},
		{`2026-11-30T`, `2026-11-31T`},
		{`2026-11-30T`, `2026-11-00T`},
		{`T12:00:00`, `T24:00:00`},
		{`T12:00:00`, `T12:60:00`},
		{`T12:00:00`, `T12:00:60`},
		{`T12:00:00.000Z`, `T12:00:00.0xxZ`},
		{`"at":"2026-11-30T12:00:00.000Z"`, `"at":""`},
		{`{"turn":3,"run":"r1"}`, `[]`},
		{`{"turn":3,"run":"r1"}`, `null`},
		{`{"turn":3,"run":"r1"}`, `{"turn":"3"}`},
		{`{"turn":3,"run":"r1"}`, `{"turn":3,"turn":4}`},
		{`{"turn":3,"run":"r1"}`, `{"turn":3,}`},
		{`["a"]`, `{}`},
		{`["a"]`, `["a"] x`},
	} {
		line := strings.Replace(good, c[0], c[1], 1)
		if e, err := Decode([]byte(line)); !errors.Is(err, ErrLine) {
			t.Errorf("%s: decodes as %+v (%v), want ErrLine", line, e, err)
		}
	}
}

// PartOf names what is wrong; nothing in a body is skipped in silence.
func TestPartOf(t *testing.T) {
	body := []byte(`["a",{"b64":"/w=="},{"ref":{"sha256":"ab","media_type":"t","size":1,"newer":2},"newer":3},"\ud83d\ude00",{"b64":""},""]`)
	for i, want := range []Part{
		{Bytes: []byte("a")},
		{Bytes: []byte{0xff}},
		{Ref: &Ref{SHA256: "ab", MediaType: "t", Size: 1}},
		{Bytes: []byte("\U0001F600")},
		{Bytes: []byte{}},
		{Bytes: []byte{}},
	} {
		if p, err := PartOf(body, i); err != nil || !reflect.DeepEqual(p, want) {
			t.Errorf("part %d is %+v (%v), want %+v", i, p, err, want)
		}
	}
	for _, c := range []struct {
		body string
		i    int
		want string
	}{
		{string(body), 6, "body has no entry 6"},
		{string(body), -1, "body has no entry -1"},
		{`[]`, 0, "body has no entry 0"},
		{``, 0, "body has no entry 0"},
		{`[3]`, 0, "body entry"},
		{`[{}]`, 0, "neither text, b64 nor ref"},
		{`[{"newer":1}]`, 0, "neither text, b64 nor ref"},
		{`[null]`, 0, "neither text, b64 nor ref"},
		{`[{"b64":"*"}]`, 0, "body entry"},
		{`["a`, 0, "body 0"},
		{`["a" "b"]`, 1, "body 1"},
		{`["\ud800"]`, 0, "body 0"},
		{`["a"]]`, 1, "bytes after its end"},
		{`["a"]}{"seq":5,"body":["b"]`, 1, "bytes after its end"},
		{`["a"],"newer":["b"]`, 1, "body has no entry 1"},
	} {
		var raw []byte
		if c.body != "" {
			raw = []byte(c.body)
		}
		if p, err := PartOf(raw, c.i); !errors.Is(err, ErrLine) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("part %d of %s is %+v (%v), want %q", c.i, c.body, p, err, c.want)
		}
	}
}

// References are found in events that this program doesn't know (CAS-4).
func TestRefsOfUnknownEvents(t *testing.T) {
	for body, want := range map[string]string{
		`["{\"ref\":{}}",{"ref":{"sha256":"ab","media_type":"t","size":1}},{"newer":{"ref":3}},{"newer":1,"ref":{"sha256":"cd","media_type":"t","size":2}}]`: "ab cd",
		`[ "a", { "ref" : {"sha256":"ab","media_type":"t","size":1} } ]`:                                                                                     "ab",
		`["no ref"]`:  "",
		`[{"ref":3}]`: "an error",
	} {
		env, ok := Scan(lineOf(4, []byte(`"branch":"main","at":"2026-11-30T12:00:00.000Z","type":"newer.happened","data":{"x":"{\"ref\":"},"body":`+body+`}`)))
		if !ok {
			t.Fatal("not scanned")
		}
		var got []string
		if err := env.Refs(func(r Ref) { got = append(got, r.SHA256) }); errors.Is(err, ErrLine) {
			got = []string{"an error"}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

// LOG-12: a list that outgrows the facts moves to the body and comes back; the
// event is then the same as before.
func TestSpill(t *testing.T) {
	var parts []ReplyPart
	var items []PlanItem
	var recipe []Step
	for i := range 400 {
		parts = append(parts, ReplyPart{Kind: "tool_call", B: i, Tokens: Estimate(i), Call: &CallName{ID: "c", Name: "read"}})
		items = append(items, PlanItem{ID: fmt.Sprintf("task-%d", i), Status: "pending", Content: i})
		recipe = append(recipe, Step{Seq: Seq(i + 1), B: i})
	}
	for _, n := range []int{0, 1, 400} {
		for _, e := range []Event{
			ReplyCompleted{Request: 1, Finish: "tool", Parts: parts[:n:n]},
			PlanChanged{Items: items[:n:n], AfterItem: &ItemID{}, NextID: 401, By: "model"},
			RequestSent{Job: "j", Recipe: recipe[:n:n]},
			RunEnded{Run: "r"},
		} {
			was := []Part{text("first")}
			f, err := Spill(Fact{Branch: MainBranch, Event: e, Body: was[:1:1]})
			if err != nil {
				t.Fatal(err)
			}
			_, plain := e.(RunEnded)
			if spilled := len(f.Body) == 2; spilled != (n == 400 && !plain) {
				t.Errorf("%d of %s: %d body entries", n, Name(e), len(f.Body))
			}
			got, err := Decode(lineOf(4, encode(t, f, time.Unix(0, 0))))
			if err != nil {
				t.Fatal(err)
			}
			if r, ok := got.Event.(RequestSent); ok {
				var list []byte
				if r.Spilled != nil {
					p, err := got.Part(r.Spilled.B)
					if err != nil {
						t.Fatal(err)
					}
					list = p.Bytes
				}
				if r.Recipe, err = r.Steps(list); err != nil {
					t.Fatal(err)
				}
				r.Spilled = nil
				got.Event = r
			}
			if n == 0 { // an empty list and none are one on the line
				continue
			}
			if diff := cmp.Diff(e, got.Event); diff != "" {
				t.Error(diff)
			}
		}
	}
	if _, err := (RequestSent{Spilled: &Text{}}).Steps([]byte("[")); !errors.Is(err, ErrLine) {
		t.Errorf("half a recipe: %v", err)
	}
	for _, body := range []string{``, `,"body":["["]`, `,"body":["{}"]`, `,"body":[{"ref":{"sha256":"ab","media_type":"t","size":1}}]`} {
		line := lineOf(4, []byte(`"branch":"main","at":"2026-11-30T12:00:00.000Z","type":"plan.changed","must":true,"data":{"spilled":{"b":0},"next_id":1,"by":"user"}`+body+`}`))
		if e, err := Decode(line); !errors.Is(err, ErrLine) {
			t.Errorf("%s decodes as %+v (%v)", line, e.Event, err)
		}
	}
}

func TestItemID(t *testing.T) {
	for _, id := range []ItemID{Seq(812).Item(), {Seq: 812, Part: 2}, {Seq: 1<<64 - 1, Part: 1}} {
		got, err := ParseItemID(id.String())
		if err != nil || got != id {
			t.Errorf("%v comes back as %v (%v)", id, got, err)
		}
	}
	for _, s := range []string{"", "0", "x", "-1", "1.", "1.0", "1.-2", "1.2.3", "18446744073709551616", " 1"} {
		if id, err := ParseItemID(s); err == nil {
			t.Errorf("%q is read as %v", s, id)
		}
	}
	for _, s := range []string{"", "0"} {
		id := Seq(3).Item()
		if err := id.UnmarshalText([]byte(s)); err != nil || !id.IsZero() {
			t.Errorf("%q is read as %v (%v), want none", s, id, err)
		}
	}
	if a, b := (ItemID{Seq: 3, Part: 2}), Seq(4).Item(); !a.Before(b) || b.Before(a) || a.Before(a) || !Seq(3).Item().Before(a) {
		t.Error("items are not ordered as they were recorded")
	}
}

func TestPathKey(t *testing.T) {
	long := strings.Repeat("a", 1<<10)
	for path, want := range map[string]string{
		"calc.go": "calc.go", long: long, long + "a": "sha256:" + sha(long+"a"), "caf\xe9": "sha256:" + sha("caf\xe9"),
	} {
		if got := PathKey(path); got != want {
			t.Errorf("PathKey(%q) = %q, want %q", path, got, want)
		}
	}
}
