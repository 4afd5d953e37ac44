package tools

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzArguments(f *testing.F) { // REL-5, TOOL-1
	for _, s := range []string{`{"file_path":"a","edits":[{"old_string":"a","new_string":"b"}]}`, `{"a":`, `[]`, `{"edits":"[1]"}`, "\xff", `{"offset":-1e9}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		for _, tl := range table() {
			if _, err := decode(tl.args, []byte(raw)); err != nil && strings.TrimSpace(err.Error()) == "" {
				t.Errorf("%s: an error without words", tl.name)
			}
		}
	})
}

func FuzzEdit(f *testing.F) { // REL-5, TOOL-3
	f.Add("a\r\nb\n", "b", "c", false)
	f.Add("x  y z\n", "x y z", "q", false)
	f.Add("aaa", "aa", "b", true)
	f.Fuzz(func(t *testing.T, raw, from, to string, all bool) {
		out, words, err := change{from, to, all}.apply(raw)
		if err != nil {
			if out != "" {
				t.Error("an error with a text")
			}
			return
		}
		if words == "" {
			t.Error("a change without words")
		}
		if utf8.ValidString(raw) && utf8.ValidString(from) && utf8.ValidString(to) && !utf8.ValidString(out) {
			t.Errorf("valid text became invalid: %q", out)
		}
	})
}

func FuzzClean(f *testing.F) { // REL-5, SEC-5
	f.Add([]byte("\x1b[31mx\x1b[0m\r\n\x1b]0;t\a"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		s := clean(raw)
		if !utf8.ValidString(s) || controls(s) {
			t.Errorf("%q became %q", raw, s)
		}
		if strings.Count(s, "\n") != strings.Count(string(raw), "\n") {
			t.Errorf("%q lost or won lines: %q", raw, s)
		}
	})
}
