package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"pgregory.net/rapid"
)

const erased = "[redacted by the user]"

// TestEraser shows what is taken out of what. // RPR-2
func TestEraser(t *testing.T) {
	x := NewEraser([][]byte{[]byte(" a \"secret\" é\nof mine\n"), []byte("short"), []byte("C:\\new\\path")}, erased)
	for in, want := range map[string]string{
		"":                        "",
		"nothing":                 "nothing",
		"short":                   "short",
		"a \"secret\" é\nof mine": erased,
		"so: a \"secret\" é\nof mine, twice: a \"secret\" é\nof mine": "so: " + erased + ", twice: " + erased,
		"a \"secret\" é of mine":                           erased, // as one line
		"a \"secret\" é…":                                  erased, // its beginning, cut
		"a \"sec…":                                         "a \"sec…",
		`{"k":"a \"secret\" é\nof mine","n":1}`:            `{"k":"` + erased + `","n":1}`,
		`{"k":"a \u0022secret\u0022 \u00E9\u000aof mine"}`: `{"k":"` + erased + `"}`,
		`{"a \"secret\" é\nof mine":true}`:                 `{"` + erased + `":true}`,
		`x {\"k\":\"a \\\"secret\\\" é\\nof mine\"} y`:     `x {\"k\":\"` + erased + `\"} y`,
		`C:\new\path`:                                      erased,
		`"C:\\new\\path"`:                                  `"` + erased + `"`,
		`\d+ \uZZ \`:                                       `\d+ \uZZ \`,
	} {
		got, held := x.Text([]byte(in))
		if string(got) != want || held != (want != in) {
			t.Errorf("%q: %q (%v), want %q", in, got, held, want)
		}
	}
	if none := NewEraser([][]byte{[]byte("short"), []byte(erased), nil}, erased); !none.Idle() {
		t.Error("there is nothing to look for")
	}
}

// escapes are ways in which JSON is written.
var escapes = []func(string) string{
	func(s string) string { return string(AppendEscaped(nil, []byte(s))) },
	func(s string) string { b, _ := json.Marshal(s); return string(b[1 : len(b)-1]) },
	func(s string) string { // ASCII only
		var out strings.Builder
		for _, u := range utf16.Encode([]rune(s)) {
			if u < 0x20 || u > 0x7e || u == '"' || u == '\\' {
				fmt.Fprintf(&out, `\u%04x`, u)
			} else {
				out.WriteByte(byte(u))
			}
		}
		return out.String()
	},
	func(s string) string { return strings.ReplaceAll(string(AppendEscaped(nil, []byte(s))), "/", `\/`) },
}

// However often and however a text was escaped, it is found, and what stands around it stays. // RPR-2
func TestEraserProperty(t *testing.T) {
	alphabet := rapid.RuneFrom([]rune("abu0/\\\"<>&'\n\t\r\x00é\u2028😀{}[]:, "))
	rapid.Check(t, func(t *rapid.T) {
		text := "swordfish" + rapid.StringOfN(alphabet, 0, 30, -1).Draw(t, "text") + "end"
		before, after := rapid.StringOfN(alphabet, 0, 20, -1).Draw(t, "before"), rapid.StringOfN(alphabet, 0, 20, -1).Draw(t, "after")
		x := NewEraser([][]byte{[]byte(text)}, erased)
		in, want := before+text+after, before+erased+after
		for range rapid.IntRange(0, 4).Draw(t, "deep") {
			esc := rapid.SampledFrom(escapes).Draw(t, "escape")
			in, want = `{"k":"`+esc(in)+`"}`, `{"k":"`+esc(want)+`"}`
		}
		got, held := x.Text([]byte(in))
		if !held || string(got) != want {
			t.Fatalf("%q: %q (%v), want %q", in, got, held, want)
		}
		if x.In(got) {
			t.Fatal("it is still there")
		}
		if now, again := x.Text(got); again || !bytes.Equal(now, got) {
			t.Fatal("it changes once more")
		}
	})
}

// What a purge does not change in a line stays byte for byte. // RPR-2
func TestRewriteProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := Fact{Branch: rapid.SampledFrom([]string{"main", "b\"2"}).Draw(t, "branch"), Event: UserSaid{Via: "prompt", Text: &Text{}}}
		for range rapid.IntRange(1, 4).Draw(t, "n") {
			f.Body = append(f.Body, Part{Bytes: rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "part")})
		}
		rest, err := EncodeRest(f, time.Unix(1, 0))
		if err != nil {
			t.Fatal(err)
		}
		line := append([]byte(`{"seq":7,"prev":"00000000000000000000000000000000",`), rest...)
		env, err := Envelop(line)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := env.Rest(nil, nil); err != nil || !bytes.Equal(got, rest) {
			t.Fatalf("%s: %v\nwas\n%s", got, err, rest)
		}
		i := rapid.IntRange(0, len(f.Body)-1).Draw(t, "i")
		got, err := env.Rest(nil, map[int]Part{i: {Bytes: []byte("x")}})
		f.Body[i] = Part{Bytes: []byte("x")}
		if want, _ := EncodeRest(f, time.Unix(1, 0)); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%s: %v\nwant\n%s", got, err, want)
		}
	})
	loose := []byte(`{"seq":7,"prev":"00000000000000000000000000000000","at":"2026-11-30T12:00:00.000Z","type":"comet.seen","data":{"a":1, "b":[2]},"branch":"main","body":["x",{"new":1},"y"]}`)
	env, err := Envelop(loose)
	if err != nil {
		t.Fatal(err)
	}
	got, err := env.Rest(nil, map[int]Part{2: {Bytes: []byte("z")}})
	if want := `"branch":"main","at":"2026-11-30T12:00:00.000Z","type":"comet.seen","data":{"a":1, "b":[2]},"body":["x",{"new":1},"z"]}`; err != nil || string(got) != want {
		t.Errorf("%s %v", got, err)
	}
	if _, err := env.Rest(nil, map[int]Part{3: {}}); err == nil {
		t.Error("a body entry that is not there was changed")
	}
	data, err := SetFacts([]byte(`{"a":1, "b":{"c":2},"d":3}`), map[string][]byte{"a": nil, "d": []byte("4"), "e": []byte("5"), "f": nil})
	if err != nil || string(data) != `{"b":{"c":2},"d":4,"e":5}` {
		t.Errorf("%s %v", data, err)
	}
}
