package session_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	. "varve/internal/session"
)

// grease puts what only a newer program writes into a line: fields among the
// facts, in shapes inside them, in references, and keys of the envelope.
func grease(line string) string {
	const field = `"grease":{"a":[1,"}]{"],"data":null}`
	r := strings.NewReplacer(
		`"data":{}`, `"data":{`+field+`}`, `"data":{`, `"data":{`+field+`,`, `{"n":`, `{`+field+`,"n":`, `{"b":`, `{`+field+`,"b":`,
		`{"provider":`, `{`+field+`,"provider":`, `{"ref":{`, `{"greasy":7,"ref":{`+field+`,`, `"input":`, `"grease":-1.5e3,"input":`,
	)
	head, body, hasBody := strings.Cut(line, `,"body":[`)
	head = r.Replace(head)
	if !hasBody {
		return strings.Replace(strings.TrimSuffix(head, "}"), `,"data":`, `,"greased":true,"data":`, 1) + `,"late":[]}`
	}
	return head + `,"middle":{},"body":[` + strings.ReplaceAll(body, `{"ref":{`, `{"greasy":7,"ref":{`+field+`,`)
}

// Unknown fields change nothing of what is known.
func TestGrease(t *testing.T) {
	plain, greased := NewFold(), NewFold()
	for _, line := range lines(written(t, sampleFacts())) {
		want, err := Decode(line)
		if err != nil {
			t.Fatal(err)
		}
		other := grease(string(line))
		got, err := Decode([]byte(other))
		if err != nil {
			t.Errorf("%s: %v", other, err)
			continue
		}
		if diff := cmp.Diff(want, got, ignoreBody()); diff != "" || bodyOf(got) != bodyOf(want) {
			t.Errorf("%s: %s%s", other, diff, bodyOf(got))
		}
		for f, e := range map[*Fold]Entry{plain: want, greased: got} {
			if err := f.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got, want := dump(greased.State(MainBranch)), dump(plain.State(MainBranch)); got != want {
		t.Error(cmp.Diff(want, got))
	}
}

// Unknown events that may be carried change nothing of any state.
func TestUnknownEventsAreCarried(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := writer{t: t, fold: NewFold()}
		var known []Entry
		for range rapid.IntRange(1, 40).Draw(t, "n") {
			if rapid.IntRange(0, 3).Draw(t, "unknown") == 0 {
				e := Entry{Seq: w.fold.Head() + 1, Branch: MainBranch, Type: "newer.happened", Event: Unknown{Data: []byte(`{"tokens":{"n":9}}`)}}
				w.entries = append(w.entries, e)
				if err := w.fold.Apply(e); err != nil {
					t.Fatal(err)
				}
				continue
			}
			n := len(w.entries)
			w.step(MainBranch)
			known = append(known, w.entries[n:]...)
		}
		if got, want := dump(w.fold.State(MainBranch)), dump(fold(t, known).State(MainBranch)); got != want {
			t.Fatalf("with unknown events\n%s\nwithout\n%s", got, want)
		}
	})
}

// What is not known comes back byte for byte, in facts and body.
func TestUnknownEventIsKept(t *testing.T) {
	const data = `{"z":1,"a":[1.0,2e3,"\u00e9"],"n":{"must":true}}`
	e, err := Decode(lineOf(4, []byte(`"branch":"main","at":"2026-11-30T12:00:00.000Z","type":"newer.happened","must":true,"data":`+data+`,"body":["x"]}`)))
	if err != nil {
		t.Fatal(err)
	}
	want := Entry{Seq: 4, Branch: MainBranch, At: e.At, Type: "newer.happened", Must: true, Event: Unknown{Data: []byte(data)}}
	if diff := cmp.Diff(want, e, ignoreBody()); diff != "" {
		t.Error(diff)
	}
	if p, err := e.Part(0); err != nil || string(p.Bytes) != "x" {
		t.Errorf("the body is %q (%v)", p.Bytes, err)
	}
}

// Each legacy shape is read from a file that an older program could have left.
func TestLegacyShapes(t *testing.T) {
	for name, want := range map[string]Event{
		"staging.saved-v1": StagingSaved{Version: 1, Segments: []SavedSegment{{Ordinal: 0, ToByte: 812}, {Ordinal: 1, FromByte: 812, ToByte: 1400}}, Summaries: []Text{{B: 0}, {B: 1}}},
		"staging.saved-v2": StagingSaved{Version: 2, Segments: []SavedSegment{{Ordinal: 0, Items: []Seq{3, 4}}, {Ordinal: 1, Items: []Seq{5}}}, Summaries: []Text{{B: 0}}},
		"split.saved":      SplitSaved{Consumed: 2, Total: 5, Text: Text{B: 0}},
		"plan.changed-without-after_item": PlanChanged{
			Items: []PlanItem{{ID: "task-1", Status: "in_progress", Content: 0, ActiveForm: 1}}, NextID: 2, By: "model",
		},
		"session.configured-without-mode": SessionConfigured{Run: "r1", Compaction: Compaction{Threshold: new(int)}, PermissionMode: "ask", Fingerprint: "0f"},
	} {
		b, err := os.ReadFile(filepath.Join("testdata/legacy", name+".jsonl"))
		if err != nil {
			t.Error(err)
			continue
		}
		if c, ok := want.(SessionConfigured); ok {
			*c.Compaction.Threshold = 90000
		}
		f := NewFold()
		var last Entry
		for _, line := range lines(b) {
			if last, err = Decode(line); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if err := f.Apply(last); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(want, last.Event); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		eachText(reflect.ValueOf(last.Event), func(x Text) {
			if p, err := last.Part(x.B); err != nil || len(p.Bytes) == 0 {
				t.Errorf("%s: text %d is %q (%v)", name, x.B, p.Bytes, err)
			}
		})
		s := f.State(MainBranch)
		if s.Branch.ReadOnly != "" {
			t.Errorf("%s: read-only because of %s", name, s.Branch.ReadOnly)
		}
		if p, ok := want.(PlanChanged); ok && (s.Branch.Plan.At != last.Seq || len(s.Branch.Plan.Items) != len(p.Items)) { // PLAN-7
			t.Errorf("the plan at the head is %+v", s.Branch.Plan)
		}
		if _, ok := want.(SessionConfigured); ok && s.Session.Settings.Compaction.Mode != nil { // CMP-3
			t.Errorf("a mode that was omitted is %q", *s.Session.Settings.Compaction.Mode)
		}
	}
	files, err := filepath.Glob("testdata/legacy/*")
	if err != nil || len(files) != 5 {
		t.Errorf("fixtures %v (%v)", files, err)
	}
}

// The escaping is frozen: recorded requests are rebuilt with it (PFX-3).
func TestAppendEscaped(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "plain é \u2028 \U0001F600 </b> \x7f": "plain é \u2028 \U0001F600 </b> \x7f", `"\/`: `\"\\/`, "\b\t\n\f\r": `\b\t\n\f\r`,
		"\x00\x01\x0b\x0e\x1f": `\u0000\u0001\u000b\u000e\u001f`, "a\xffb\xc3": "a\uFFFDb\uFFFD", "\xed\xa0\x80": "\uFFFD\uFFFD\uFFFD", "\uFFFD": "\uFFFD", "\xe2\x82x": "\uFFFD\uFFFDx",
	} {
		if got := string(AppendEscaped([]byte("> "), []byte(in))); got != "> "+want {
			t.Errorf("%q is %q, want %q", in, got, "> "+want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		in := anyBytes().Draw(t, "bytes")
		got := AppendQuoted(nil, in)
		back, err := jsontext.AppendUnquote(nil, got)
		if want := strings.Join(strings.Split(string([]rune(string(in))), ""), ""); err != nil || string(back) != want {
			t.Fatalf("%q is %q, which is %q (%v), want %q", in, got, back, err, want)
		}
		// It does not matter where a text is cut: pieces are escaped alike.
		cut := rapid.IntRange(0, len(in)).Draw(t, "cut")
		if utf := string(in); utf == string([]rune(utf)) && string([]rune(utf[:cut])) == utf[:cut] {
			if pieces := AppendEscaped(AppendEscaped(nil, in[:cut]), in[cut:]); !bytes.Equal(pieces, got[1:len(got)-1]) {
				t.Fatalf("%q in two pieces is %q, in one %q", in, pieces, got)
			}
		}
	})
}

// Whatever a line says, it decodes or is an ErrLine; what decodes is read alike
// by both readers, folds, and comes back when it is written again.
func FuzzDecode(f *testing.F) {
	for _, line := range lines(written(f, sampleFacts())) {
		f.Add(line)
		f.Add([]byte(grease(string(line))))
	}
	for _, s := range []string{
		"", "null", "{}", `{"seq":1}`, `{"seq":1,"prev":"` + zeros + `","branch":"main","at":"","type":"x","data":{}}`,
		`{"seq":1,"prev":"` + zeros + `","branch":"main","at":"2026-11-30T12:00:00.000Z","type":"newer.happened","data":{"a":"\""},"body":[{"x":1}]}`,
		`{"type":"user.said","data":{"tokens":{"n":1,"by":""}},"seq":3,"at":"2026-11-30T12:00:00Z"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := Decode(line)
		if err != nil {
			if !errors.Is(err, ErrLine) {
				t.Fatalf("%q: %v is no ErrLine", line, err)
			}
			return
		}
		if e.Seq == 0 || e.Type == "" || e.Event == nil {
			t.Fatalf("%q is %+v", line, e)
		}
		whole := jsontext.Value(line).IsValid()
		if _, scanned := Scan(line); scanned && whole && len(line) > 50 && isHex(line[bytes.IndexByte(line, ',')+9:][:32]) {
			agree(t, line)
		}
		parts, err := e.Parts()
		if err != nil && !errors.Is(err, ErrLine) {
			t.Fatalf("%q: body %v is no ErrLine", line, err)
		}
		for i := range parts { // what stands before a bad entry is read all the same
			p, err := e.Part(i)
			if err != nil || !reflect.DeepEqual(p, parts[i]) {
				t.Fatalf("%q: part %d is %+v (%v), want %+v", line, i, p, err, parts[i])
			}
		}
		if env, ok := Scan(line); ok && whole {
			if err := env.Refs(func(Ref) {}); err != nil && !errors.Is(err, ErrLine) {
				t.Fatalf("%q: references: %v is no ErrLine", line, err)
			}
		}
		if err := NewFold().Apply(e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		rest, err := EncodeRest(Fact{Branch: e.Branch, Event: e.Event, Body: parts}, e.At)
		if err != nil {
			return // unknown, or larger than we write
		}
		again, err := Decode(lineOf(e.Seq, rest))
		if err != nil {
			t.Fatalf("%q, written as %q: %v", line, rest, err)
		}
		again.Must, again.At = e.Must, e.At // a foreign line may leave must out, and be more exact
		if diff := cmp.Diff(e, again, ignoreBody(), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%q, written as %q: %s", line, rest, diff)
		}
	})
}

func isHex(b []byte) bool {
	return len(bytes.Trim(b, "0123456789abcdef")) == 0
}
