package scripted

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// REL-4: every Chat row and every HTTP row of wire.md §6.3 and §6.7 has a scenario that compiles and says its outcome.
func TestEveryRowHasAScenario(t *testing.T) {
	list := all(t)
	var rows []string
	for n := 1; n <= 73; n++ {
		rows = append(rows, fmt.Sprintf("C%02d", n))
	}
	rows = append(rows, "H01", "H26b")
	for n := 13; n <= 33; n++ {
		rows = append(rows, fmt.Sprintf("H%d", n))
	}
	for n := 1; n <= 8; n++ {
		rows = append(rows, fmt.Sprintf("D%02d", n))
	}
	for _, id := range rows {
		if len(Find(list, id)) == 0 {
			t.Errorf("no scenario for %s", id)
		}
	}
	silent := map[string]bool{"H30/307 1": true, "H30/308 1": true, "H30/308 2": true}
	for _, sc := range list {
		if _, err := stage(sc); err != nil {
			t.Error(err)
		}
		for _, b := range sc.Script {
			if !b.Expect.Stated && !silent[fmt.Sprintf("%s %d", sc.ID, b.N)] {
				t.Errorf("%s:%d: %s says no outcome", sc.File, b.Line, sc.ID)
			}
		}
		if len(sc.Script) == 0 && sc.Run["window"] == "" {
			t.Errorf("%s: neither a reply nor a window", sc.ID)
		}
		if !strings.HasSuffix(sc.Title, ".") {
			t.Errorf("%s: the title is not a sentence", sc.ID)
		}
	}
}

// REL-4, case STR-23: each overflow sample is matched by its row's pattern of wire.md §3.1, with the figures it states.
func TestOverflowSamplesMatchTheirPattern(t *testing.T) {
	const n = `([0-9][0-9,]*)`
	rows := map[string]struct {
		re          string
		limit, used int // groups
	}{
		"A1": {`\bprompt is too long\b(?::\s*N\s*tokens?\s*>\s*N)?`, 2, 1},
		"F1": {`prompt is too long:\s*N,\s*model maximum context length:\s*N`, 2, 1},
		"A2": {`input length and .?max_tokens.? exceed context limit:\s*N\s*\+\s*N\s*>\s*N`, 3, 1},
		"A3": {`\brequest_too_large\b|request exceeds the maximum (?:size|allowed number of bytes)|request entity too large`, 0, 0},
		"A4": {`input is too long for requested model`, 0, 0},
		"C0": {`maximum context length is\s*N\s*tokens\.?.{0,40}?requested\s*N\s*output tokens.{0,60}?contains (?:at least )?N\s*input tokens`, 1, 3},
		"C8": {`max_(?:completion_)?tokens.{0,30}?is too large:\s*N.{0,60}?maximum context length is\s*N.{0,50}?has\s*N\s*input tokens`, 2, 3},
		"C1": {`maximum context length (?:is|of)\s*N(?:\s*tokens?)?(?:.{0,80}?(?:resulted in|requested(?: about| a total of)?|contains(?: at least)?|for a total of(?: at least)?)\s*~?N)?`, 1, 2},
		"C2": {`input tokens exceed the configured limit of\s*N(?:\s*tokens)?(?:.{0,40}?resulted in\s*N)?`, 1, 2},
		"C3": {`exceeds? the context window`, 0, 0},
		"C4": {`you passed\s*N\s*input tokens.{0,120}?context length is only\s*N`, 2, 1},
		"C5": {`context length is only\s*N`, 1, 0},
		"C6": {`max_(?:completion_)?tokens\s*=?\s*N.{0,40}?cannot be greater than.{0,40}?max_model_len\D{0,20}N`, 2, 0},
		"C7": {`input length \(?N\)?(?: tokens\)?)? exceeds (?:the )?(?:model'?s )?(?:maximum context length|maximum allowed input length)(?: of)?\s*\(?N`, 2, 1},
		"L1": {`request \(N tokens\) exceeds the available context size \(N`, 2, 1},
		"L2": {`exceeds the available context size`, 0, 0},
		"L3": {`input \(N tokens\) is larger than the max context size \(N`, 2, 1},
		"L4": {`context size has been exceeded`, 0, 0},
		"M1": {`n_keep\W{0,3}N\)?\s*>=?\s*n_ctx\W{0,3}N`, 2, 1},
		"M2": {`keep the first\s*N\s*tokens.{0,90}?context length of only\s*N`, 2, 1},
		"M3": {`tokens to keep from the initial prompt is greater than the context length`, 0, 0},
		"O1": {`prompt too long;?\s*exceeded (?:max )?context length`, 0, 0},
		"O2": {`input length \(?N\)?(?: tokens\)?)? exceeds (?:the )?(?:model'?s )?(?:maximum context length|maximum allowed input length)(?: of)?\s*\(?N`, 2, 1},
		"O3": {`input length exceeds the context length`, 0, 0},
		"G1": {`input token count(?:\s*\(?N\)?)? exceeds the maximum number of tokens allowed\s*\(?N`, 2, 1},
		"X1": {`maximum prompt length is\s*N(?:\D{0,40}N)?`, 1, 2},
		"Q1": {`reduce the length of the messages`, 0, 0},
		"T1": {`input \(N tokens\) is longer than the model'?s context length \(N`, 2, 1},
		"H1": {`.?inputs.? tokens \+ .?max_new_tokens.? must be <=\s*N\D{1,20}N`, 1, 2},
		"I1": {`prompt contains\s*N\s*tokens.{0,80}?too large for model with\s*N\s*maximum context length`, 2, 1},
		"K1": {`exceeded model token limit\s*:?\s*N(?:\s*\(\s*re\s*quested:\s*N)?`, 1, 2},
		"K2": {`input token length too long`, 0, 0},
		"K3": {`total message size\s*N\s*exceeds limit\s*N`, 0, 0},
		"N1": {`context window exceeds limit`, 0, 0},
		"P1": {`prompt token count of\s*N\s*exceeds the limit of\s*N`, 2, 1},
		"V1": {`input too long:\s*N\s*input tokens,\s*limit is\s*N`, 2, 1},
		"D1": {`range of input length should be \[\s*\d+\s*,\s*N\s*\]`, 1, 0},
		"Z1": {`\bprompt (?:too long|exceeds max length)\b|"code"\s*:\s*"?1261\b`, 0, 0},
		"B1": {`current length is\s*N\s*while limit is\s*N`, 2, 1},
		"S1": {`prompt has\s*N\s*tokens?, but the configured context size is\s*N`, 2, 1},
		"Y1": {`input tokens \[N\] exceed context window \[N\]`, 2, 1},
		"W1": {`context[_ ]?window[_ ]?exceeded`, 0, 0},
		"W2": {`\bcontext_length_exceeded\b|\bexceed_context_size_error\b|\bmodel_context_window_exceeded\b`, 0, 0},
		"W3": {`\btoo many tokens\b|\btoken limit exceeded\b|tokens in request more than max tokens allowed`, 0, 0},
	}
	notByText := map[string]bool{"A3bare": true, "P1size": true} // judged by the status
	seen := map[string]bool{}
	for _, sc := range Find(all(t), "H01") {
		row := strings.TrimPrefix(sc.ID, "H01/")
		seen[row] = true
		if notByText[row] {
			continue
		}
		pat, ok := rows[row[:2]]
		if !ok {
			t.Errorf("%s has no row", sc.ID)
			continue
		}
		var body string
		for _, st := range sc.Script[0].Steps {
			if st.verb == vBody {
				body = string(st.b)
			}
		}
		m := regexp.MustCompile(`(?is)` + strings.ReplaceAll(pat.re, "N", n)).FindStringSubmatch(body)
		if m == nil {
			t.Errorf("%s: %s does not match %s", sc.ID, body, pat.re)
			continue
		}
		figure := func(g int) int64 {
			if g == 0 || m[g] == "" {
				return 0
			}
			v, _ := strconv.ParseInt(strings.ReplaceAll(m[g], ",", ""), 10, 64)
			return v
		}
		x := sc.Script[0].Expect
		if figure(pat.limit) != x.Limit || figure(pat.used) != x.Used {
			t.Errorf("%s: the text says limit=%d used=%d, the file expects limit=%d used=%d", sc.ID, figure(pat.limit), figure(pat.used), x.Limit, x.Used)
		}
		if x.Limit > 0 && x.Used > 0 && (x.Used < x.Limit) != (x.Sub == "budget") {
			t.Errorf("%s: used %d of %d is not %s", sc.ID, x.Used, x.Limit, x.Sub)
		}
	}
	for row := range rows {
		if !seen[row] {
			t.Errorf("pattern %s has no sample", row)
		}
	}
}

func TestParseErrorsSayWhere(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"text \"a\"", "f:1: text stands before any scenario"},
		{"scenario X", `f:1: scenario ID "sentence"`},
		{"scenario X \"s.\"\nvendor acme", "f:2: vendor acme: unknown"},
		{"scenario X \"s.\"\nvendor openai window=big", "f:2: vendor window=big: not a number"},
		{"scenario X \"s.\"\ngiven colour=red", "f:2: given colour: unknown key"},
		{"scenario X \"s.\"\nfoo", "f:2: foo: expected vendor"},
		{"scenario X \"s.\"\nreply 0", "f:2: reply 0: not a request number"},
		{"scenario X \"s.\"\nreply 1\n  texd \"a\"", "f:3: texd is not a step"},
		{"scenario X \"s.\"\nreply 1\n  text", "f:3: text: an argument is missing"},
		{"scenario X \"s.\"\nreply 1\n  text \"a", "f:3: unclosed string"},
		{"scenario X \"s.\"\nreply 1\n  chunk {\"a\":[1}", "f:3: unbalanced"},
		{"scenario X \"s.\"\nreply 1\n  raw \"\\q\"", `f:3: unknown escape \q`},
		{"scenario X \"s.\"\nreply 1\n  finish stop now", "f:3: finish: one argument too many: now"},
		{"scenario X \"s.\"\nreply 1\n  finish stop x=1", "f:3: finish: unknown option x="},
		{"scenario X \"s.\"\nreply 1\n  loop 2\n  text \"a\"", "f:4: a loop has no end line"},
		{"scenario X \"s.\"\nreply 1\n  close maybe", "f:3: close maybe: use clean, dirty or reset"},
		{"scenario X \"s.\"\nreply 1\n  expect class=nice", "f:3: expect class=nice: not in the vocabulary"},
		{"scenario X \"s.\"\nreply 1\n  expect error kind=rate", "f:3: expect kind=rate: not in the vocabulary"},
		{"scenario X \"s.\"\nreply 1\n  expect retry=maybe", "f:3: expect retry=maybe: say yes or no"},
		{"scenario X \"s.\"\nreply 1\n  expect usage=10", "f:3: expect usage: \"10\" is not PROMPT/OUTPUT"},
		{"scenario X \"s.\"\nreply 1\n  request foo", "f:3: request foo: use PATH=JSON"},
		{"scenario X \"s.\"\nreply 1\n  text <<END\n  a", "f:3: the text <<END has no closing END line"},
		{"scenario X \"s.\"\non GET v1", "f:2: on METHOD /path"},
	} {
		_, err := Parse("f", c.in)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s…", c.in, err, c.want)
		}
	}
}

func TestParseReadsTheWholeLanguage(t *testing.T) {
	list, err := Parse("f", `
# a comment
scenario X/1 "One."
tag STR-01 STR-02
vendor openai window=100 key=k lenient
given window=5 tools=read,write no_finish
run requests=2 waits=1s,2s
on GET /v1/models
  body {"data":[]}
reply when "summary"
  text <<END
    # Title

      indented
  END
  expect class=natural
reply 1
  ask "Hi"
  switch other
  request messages.0.content="Hi" 
  request a.b absent
  request header X-A="b"
  chunk {"a": \
    "b"}
  expect error kind=server|gateway retry=yes after=1m12.5s has="a" has="b"
  expect call f {"a":1} id=i
`)
	if err != nil {
		t.Fatal(err)
	}
	sc := list[0]
	if sc.Vendor != "openai" || sc.Window != 100 || sc.Key != "k" || !sc.Lenient || sc.Given.Int("window") != 5 || sc.Given["no_finish"] != "yes" {
		t.Errorf("head: %+v", sc)
	}
	if got := sc.Run.Durations("waits"); len(got) != 2 || got[1].Seconds() != 2 {
		t.Errorf("waits: %v", got)
	}
	if got := sc.Script[0].Steps[0].parts[0]; got != "# Title\n\n  indented" {
		t.Errorf("heredoc: %q", got)
	}
	b := sc.Script[1]
	if string(b.Steps[0].b) != `{"a": "b"}` {
		t.Errorf("joined line: %q", b.Steps[0].b)
	}
	if len(b.Checks) != 3 || b.Checks[0].Value != `"Hi"` || len(b.Input) != 2 {
		t.Errorf("block: %+v", b)
	}
	x := b.Expect
	if !x.AllowsKind("gateway") || x.AllowsKind("auth") || x.Retry != Yes || x.After.Seconds() != 72.5 || len(x.Has) != 2 || x.Calls[0].ID != "i" {
		t.Errorf("expect: %+v", x)
	}
}

// A file cut or garbled anywhere is read or refused, never a panic.
func TestParseSurvivesGarbage(t *testing.T) {
	for _, name := range []string{"chat-2-framing.txt", "chat-3-tools.txt", "http-2-errors.txt"} {
		b, err := files.ReadFile("testdata/scenarios/" + name)
		if err != nil {
			t.Fatal(err)
		}
		src := string(b)
		for i := 0; i < len(src); i += 131 {
			_, _ = Parse(name, src[:i])
			_, _ = Parse(name, src[:i]+"\"{=<<A\\"+src[i:min(len(src), i+300)])
		}
	}
}

// case STR-04: the writes of this scenario end inside "data", inside the character and inside CR LF.
func TestSplitsInsideACharacter(t *testing.T) {
	s, _ := open(t, Options{})
	if err := s.Play(Find(all(t), "STR-04/inside")[0]); err != nil {
		t.Fatal(err)
	}
	got := chunks(t, s)
	if len(got) < 7 || got[0] != "da" || got[1] != "ta: " || !strings.HasSuffix(got[3], "\"\xf0\x9f") || !strings.HasSuffix(got[4], "\r") || got[5] != "\n\r" || got[6] != "\n" {
		t.Errorf("%q", got)
	}
}
