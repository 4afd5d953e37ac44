package index

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"varve/internal/session"
)

// store is a content store in memory.
type store map[string]string

func (s store) open(sha string) (io.ReadCloser, error) {
	text, ok := s[sha]
	if !ok {
		return nil, errors.New("missing")
	}
	if text == "corrupt" {
		return io.NopCloser(io.MultiReader(strings.NewReader("needle"), broken{})), nil
	}
	return io.NopCloser(strings.NewReader(text)), nil
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("its hash is another") }

func look(t testing.TB, dir, text string, s store) Found {
	t.Helper()
	found, err := Search(t.Context(), known(t, dir, t.TempDir()), Query{Text: text, Content: s.open})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// items are the ids of hits, in order, with their excerpts.
func items(f Found) string {
	var out []string
	for _, h := range f.Hits {
		out = append(out, fmt.Sprintf("%s %s [%s|%s|%s]", h.Item, h.Kind, h.Before, h.Match, h.After))
	}
	return strings.Join(out, "\n")
}

func ref(sha, media string) session.Part {
	return session.Part{Ref: &session.Ref{SHA256: sha, MediaType: media, Size: 1}}
}

func TestSearchFindsWhatWasSaid(t *testing.T) {
	c := &chain{}
	full := fact("main", session.ToolFinished{Full: &session.Text{B: 1}}, "the shown part of a long output")
	full.Body = append(full.Body, ref("whole", "text/plain"), ref("picture", "image/png"))
	long := session.Fact{Branch: "main", Event: said, Body: []session.Part{ref("essay", "text/plain")}}
	text := c.line(t, fact("main", created)) +
		c.line(t, fact("main", session.ToolsDefined{}, `["needle"]`, `[{"description":"a needle"}]`)) +
		c.line(t, fact("main", said, "Divide by ZERO?\nPath C:\\tmp \"quoted\" über")) + // 3
		c.line(t, fact("main", session.RequestSent{}, "request needle")) +
		c.line(t, fact("main", session.ReplyCompleted{Parts: []session.ReplyPart{
			{Kind: "reasoning", B: 0}, {Kind: "assistant", B: 1}, {Kind: "tool_call", B: 2, Call: &session.CallName{}}, {Kind: "assistant", B: 1},
		}}, "think of a needle", "An answer, ÜBER all", `{"needle":1}`)) + // 5
		c.line(t, full) + // 6
		c.line(t, fact("b2", session.ShellRan{}, "$ echo \x1b[31mred\x1b[0m tab\there")) + // 7
		c.line(t, fact("main", session.ToolInterrupted{Why: "user"}, "bad byte \xff zero")) + // 8, base64
		c.line(t, long) + // 9
		c.line(t, fact("main", session.ReplyRejected{Class: "stalled", Kept: true, Text: &session.Text{}}, "kept so far")) + // 10
		c.line(t, fact("main", session.ReplyRejected{Class: "error", Error: &session.ProviderError{Message: &session.Text{}}}, "no needle")) +
		c.line(t, fact("main", session.FilesChanged{}, `[{"path":"needle"}]`))
	c.seq++ // 13: another program's spelling of the same
	text += c.raw(`"branch":"main","at":"2026-11-30T12:13:00.000Z","type":"user.said","must":true,"data":{"via":"prompt","text":{"b":0},"tokens":{"n":1,"by":"est"}},"body":["sp\u00e9ll\u0065d \/ otherwise"]}`)
	c.seq++
	text += c.raw(` "type" : "user.said", "branch":"main","at":"2026-11-30T12:14:00Z","body":[ "l\u006fose" ],"data":{"via":"prompt","text":{"b":0},"tokens":{"n":1,"by":"est"}}}`)
	for i, q := range []string{`a\/slash`, `tab\u0009between`} {
		c.seq++
		text += c.raw(fmt.Sprintf(`"branch":"main","at":"2026-11-30T12:%d:00.000Z","type":"user.said","must":true,"data":{"via":"prompt","text":{"b":0},"tokens":{"n":1,"by":"est"}},"body":["%s"]}`, 15+i, q))
	}
	dir := t.TempDir()
	put(t, dir, "x", text)
	s := store{"whole": strings.Repeat("output ", 100_000) + "deep\nDown", "picture": "needle", "essay": "an essay on DEEPNESS"}
	for _, c := range []struct{ text, want string }{
		{"divide BY zero", "3 user [|Divide by ZERO|? Path C:\\tmp \"quoted\" über]"},
		{"zero?\npath", "3 user [Divide by |ZERO? Path| C:\\tmp \"quoted\" über]"},
		{`c:\TMP "Q`, "3 user [Divide by ZERO? Path |C:\\tmp \"q|uoted\" über]"},
		{"Über", "5.4 assistant [An answer, |ÜBER| all]\n5.2 assistant [An answer, |ÜBER| all]\n3 user [Divide by ZERO? Path C:\\tmp \"quoted\" |über|]"},
		{"\x1b[31MRED", "7 shell [$ echo |\x1b[31mred|\x1b[0m tab here]"},
		{"tab\there", "7 shell [$ echo \x1b[31mred\x1b[0m |tab here|]"},
		{"bad byte", "8 tool_result [|bad byte| � zero]"},
		{"deepness", "9 user [an essay on |DEEPNESS|]"},
		{"deep\ndown", "6 tool_result […utput output output output output output output |deep Down|]"},
		{"kept SO", "10 assistant [|kept so| far]"},
		{"spélled /", "13 user [|spélled /| otherwise]"},
		{"A/S", "15 user [|a/s|lash]"},
		{"b\tB", "16 user [ta|b b|etween]"},
		{"LOOSE", "14 user [|loose|]"},
		{"needle", ""},
	} {
		f := look(t, dir, c.text, s)
		if got := items(f); got != c.want {
			t.Errorf("%q:\n%s\nwant\n%s", c.text, got, c.want)
		}
		if f.Damaged != 0 || f.Lost != 0 || f.LeftOut != 0 || (len(f.Sessions) == 1) != (c.want != "") {
			t.Errorf("%q: %+v", c.text, f)
		}
	}
	if f := look(t, dir, "red", s); f.Hits[0].Branch != "b2" || f.Hits[0].Session != "x" {
		t.Errorf("%+v", f.Hits[0])
	}
	if _, err := Search(t.Context(), nil, Query{Text: "\xff"}); !errors.Is(err, ErrText) {
		t.Error(err)
	}
}

// Content that is missing or fails its hash is told of, and nothing in it is found.
func TestSearchTellsOfLostContent(t *testing.T) { // CAS-3
	dir := t.TempDir()
	lines := []session.Fact{fact("main", created), fact("main", said, "x")}
	for _, sha := range []string{"bad", "gone"} {
		lines = append(lines, session.Fact{Branch: "main", Event: said, Body: []session.Part{ref(sha, "text/plain")}})
	}
	put(t, dir, "x", linesOf(t, lines...))
	if f := look(t, dir, "needle", store{"bad": "corrupt"}); len(f.Hits) != 0 || f.Lost != 2 {
		t.Errorf("%+v", f)
	}
}

// A text is found wherever it lies in a long content.
func TestSearchAcrossPiecesOfContent(t *testing.T) {
	s := &search{ctx: t.Context(), needle: newNeedle("needle in it")}
	for _, at := range []int{0, 1, 131_000, 131_060, 131_072, 131_084, 132_000, 132_200, 132_300, 132_315, 133_300, 262_144, 399_000} {
		text := bytes.Repeat([]byte("hay é "), 400_000/7)
		copy(text[at:], "Needle in it")
		s.Content = store{"x": string(text)}.open
		x, found, err := s.inContent("x")
		if err != nil || !found || x.match != "Needle in it" || len(x.after) < 90 {
			t.Errorf("at %d: %+v, %v, %v", at, x, found, err)
		}
	}
}

// Queued words are a hit where they were sent, as last edited; what was redacted
// is none.
func TestSearchFollowsTheQueueAndRedaction(t *testing.T) {
	facts := []session.Fact{
		fact("main", created), fact("main", said, "start"),
		fact("main", session.InputQueued{Kind: "steer"}, "first draft"), // 3
		fact("main", session.InputEdited{Entry: 3}, "second draft"),     // 4
		fact("main", session.InputQueued{Kind: "queue"}, "never sent"),  // 5
		fact("b2", session.UserSaid{Turn: 2, Via: "steer", Entry: 3}),   // 6
		fact("main", session.ShellRan{}, "the password draft"),          // 7
		fact("main", session.ItemReplaced{Item: session.Seq(7).Item(), Why: "redact"}, "[redacted]"),
		fact("main", session.ShellRan{}, "a repaired draft"), // 9
		fact("main", session.ItemReplaced{Item: session.Seq(9).Item(), Why: "repair"}, "[repaired]"),
	}
	dir := t.TempDir()
	put(t, dir, "x", linesOf(t, facts...))
	for text, want := range map[string]string{
		"first draft": "", "never": "", "password": "", "redacted": "",
		"draft": "9 shell [a repaired |draft|]\n6 user [second |draft|]",
	} {
		f := look(t, dir, text, nil)
		if got := items(f); got != want || f.LeftOut != 0 {
			t.Errorf("%q: %s (%d left out), want %s", text, got, f.LeftOut, want)
		}
	}
	if f := look(t, dir, "second", nil); f.Hits[0].Branch != "b2" || f.Hits[0].At.Minute() != 6 {
		t.Errorf("%+v", f.Hits[0])
	}
}

// A message that was replaced is found by its new text too, once; a redaction
// hides that as well. // RPR-1, LOG-11
func TestSearchFindsReplacements(t *testing.T) {
	dir := t.TempDir()
	swap := func(q session.Seq, why, text string) session.Fact {
		return fact("main", session.ItemReplaced{Item: q.Item(), Why: why}, text)
	}
	put(t, dir, "x", linesOf(t, fact("main", created), fact("main", said, "an old word"), fact("main", said, "an old secret"),
		swap(2, "repair", "a new word"), swap(3, "repair", "a new secret"), swap(3, "redact", "[redacted]")))
	for text, want := range map[string]string{
		"old word": "2 user [an |old word|]", "new word": "2 replacement [a |new word|]", "word": "2 replacement [a new |word|]",
		"secret": "", "redacted": "",
	} {
		if f := look(t, dir, text, nil); items(f) != want || f.LeftOut != 0 {
			t.Errorf("%q: %s (%d left out), want %s", text, items(f), f.LeftOut, want)
		}
	}
}

// What deleted branches alone have is not found; what a branch that is left took
// over from them is. // BRN-6, LOG-11
func TestSearchLeavesDeletedBranchesOut(t *testing.T) {
	from := func(b string, q session.Seq, how string) session.Reference {
		return session.Reference{Branch: b, Seq: q, Select: how}
	}
	facts := []session.Fact{
		fact("main", created), fact("main", said, "needle"), fact("main", result, "needle"), fact("main", said, "needle"), // 2, 3, 4
		fact("b2", session.BranchCreated{Name: "b2", From: from("main", 4, "before"), Purpose: "fork"}), fact("b2", said, "needle"), // 6
		fact("b3", session.BranchCreated{Name: "b3", From: from("b2", 6, "through"), Purpose: "fork"}), fact("b3", said, "needle"), // 8
		fact("b2", said, "needle"),                                                                                      // 9
		fact("b2", session.InputQueued{Kind: "queue"}, "needle"), fact("b2", session.UserSaid{Via: "queue", Entry: 10}), // 11
		fact("b2", session.ItemReplaced{Item: session.Seq(2).Item(), Why: "repair"}, "needle there"),
		fact("b4", session.BranchCreated{Name: "b4", From: from("main", 4, "empty"), Purpose: "task"}), fact("b4", said, "needle"), // 14
		fact("b2", session.BranchDeleted{}), fact("main", session.BranchDeleted{}),
	}
	dir := t.TempDir()
	put(t, dir, "x", linesOf(t, facts...))
	put(t, dir, "y", linesOf(t, append(slices.Clone(facts[:5]), // what b5 took over of b2 is of main, up to 2
		fact("b5", session.BranchCreated{Name: "b5", From: from("b2", 2, "through"), Purpose: "fork"}),
		fact("main", session.BranchDeleted{}), fact("b2", session.BranchDeleted{}))...))
	const want = "14 user [|needle|]\n8 user [|needle|]\n6 user [|needle|]\n3 tool_result [|needle|]\n2 user [|needle|]\n2 user [|needle|]"
	state := t.TempDir()
	for range 2 { // as it was read, and as the index kept it
		x := Open(dir, state)
		if err := errors.Join(x.Refresh(t.Context()), x.Save()); err != nil {
			t.Fatal(err)
		}
		f, err := Search(t.Context(), x.Rows(), Query{Text: "needle"})
		if got := items(f); err != nil || got != want || f.LeftOut != 0 {
			t.Errorf("%v, %d left out:\n%s\nwant\n%s", err, f.LeftOut, got, want)
		}
	}
}

func TestSearchIsBounded(t *testing.T) {
	dir := t.TempDir()
	facts := []session.Fact{fact("main", created), fact("main", said, "needle")}
	for range 300 {
		facts = append(facts, fact("main", result, "needle"))
	}
	put(t, dir, "a", linesOf(t, facts...))
	put(t, dir, "b", linesOf(t, facts[:100]...))
	f := look(t, dir, "NEEDLE", nil)
	if len(f.Hits) != 50 || f.LeftOut != 301+99-50 || len(f.Sessions) != 2 {
		t.Fatalf("%d hits, %d left out", len(f.Hits), f.LeftOut)
	}
	for i, h := range f.Hits {
		if h.Session != "a" || h.Item.Seq != session.Seq(302-i) {
			t.Fatalf("hit %d is %s of %s", i, h.Item, h.Session)
		}
	}
}

// Lines that are no events are counted, unless a repair in the file names them. A
// last line without LF is not there yet.
func TestSearchCountsDamage(t *testing.T) { // LOG-7
	dir := t.TempDir()
	text := linesOf(t, fact("main", created), fact("main", said, "needle one"), fact("main", result, "needle two"))
	put(t, dir, "x", text+"torn needle\n"+`{"seq":4`+"\n"+text[strings.Index(text, "\n")+1:len(text)-1])
	f := look(t, dir, "needle", nil)
	if f.Damaged != 2 || len(f.Hits) != 3 {
		t.Errorf("%d damaged lines, %s", f.Damaged, items(f))
	}
	c := &chain{}
	head := c.line(t, fact("main", created)) + c.line(t, fact("main", said, "needle"))
	torn := `{"seq":3,"prev":"` + "\n"
	put(t, dir, "x", head+torn+c.line(t, fact("main", session.LogRepaired{Kind: "torn", From: int64(len(head)), To: int64(len(head) + len(torn) - 1)})))
	if f := look(t, dir, "needle", nil); f.Damaged != 0 || len(f.Hits) != 1 {
		t.Errorf("a repaired line is counted: %+v", f)
	}
}

// Wherever a file is cut into pieces, the same is found.
func TestSearchInPieces(t *testing.T) {
	dir := t.TempDir()
	facts := branchy()
	facts = append(facts, fact("main", session.InputQueued{}, "queued words"), fact("main", said, strings.Repeat("long words ", 900)),
		fact("main", session.UserSaid{Turn: 3, Entry: 21}), fact("main", session.ItemReplaced{Item: session.Seq(3).Item(), Why: "redact"}, "x"))
	put(t, dir, "x", "damaged\n"+linesOf(t, facts...)+`{"seq":`)
	in := known(t, dir, t.TempDir())
	want, err := Search(t.Context(), in, Query{Text: "words"})
	if err != nil || len(want.Hits) != 3 || want.Damaged != 1 {
		t.Fatalf("%+v, %v", want, err)
	}
	for n := int64(1); n < 3000; n += 1 + n/3 {
		s := &search{ctx: t.Context(), Query: Query{Text: "words", Limit: 50}, needle: newNeedle("words"), segment: n}
		got, err := s.run(in)
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Fatalf("pieces of %d bytes: %v %s", n, err, d)
		}
	}
}

// A piece that lies inside of a long line doesn't hold it.
func TestSearchPassesLongLines(t *testing.T) {
	dir := t.TempDir()
	path := put(t, dir, "x", strings.Repeat("x", 4<<20)+"\n")
	s := &search{ctx: t.Context(), Query: Query{Limit: 50}, needle: newNeedle("y")}
	p := &piece{file: &Info{Path: path}, from: 1 << 20, to: 3 << 20}
	if buf, err := s.piece(p, make([]byte, 4<<10)); err != nil || len(buf) != 4<<10 || len(p.damaged) != 0 {
		t.Errorf("%d bytes are held: %v", len(buf), err)
	}
}

func TestSearchStops(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "x", linesOf(t, branchy()...))
	in := known(t, dir, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Search(ctx, in, Query{Text: "words"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestMatching(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "named", linesOf(t, branchy()...))
	put(t, dir, "other", linesOf(t, fact("main", created), fact("main", said, "hello"), fact("main", result, "deep inside")))
	in := known(t, dir, t.TempDir())
	for text, want := range map[string]string{
		"a NAME": "named", "the other way": "named", "Deep": "other", "hello": "other", "/W": "named other", "nothing": "", "first words": "named",
	} {
		out, _, err := Matching(t.Context(), in, Query{Text: text})
		var ids []string
		for _, i := range out {
			ids = append(ids, i.ID)
		}
		slices.Sort(ids)
		if got := strings.Join(ids, " "); err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
}

// The search by raw bytes finds what a look at every decoded rune finds.
func TestPrefilterMissesNothing(t *testing.T) {
	letters := rapid.StringOfN(rapid.SampledFrom([]rune("aAkKKsSſéÉåÅÅйЙ漢\n\t\"\\/u0e{}:re f\x1b\x01\uFFFD😀")), 0, 40, -1)
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		text := letters.Draw(rt, "text")
		needle := rapid.StringOfN(rapid.SampledFrom([]rune("aAkKKsSéÉÅй漢\n\"\\/u0{\x1b😀")), 1, 4, -1).Draw(rt, "needle")
		if rapid.Bool().Draw(rt, "inside") && text != "" {
			runes := []rune(text)
			i := rapid.IntRange(0, len(runes)-1).Draw(rt, "i")
			needle = string(runes[i:min(len(runes), i+rapid.IntRange(1, 5).Draw(rt, "n"))])
		}
		c := &chain{}
		lines := c.line(t, fact("main", created)) + c.line(t, fact("main", said, "-"))
		if rapid.Bool().Draw(rt, "escaped") {
			c.seq++
			q := strconv.QuoteToASCII(text)
			if strings.ContainsAny(text, "\x1b\x01\uFFFD😀") { // Go's escapes are not JSON's there
				q = string(session.AppendQuoted(nil, []byte(text)))
			}
			lines += c.raw(`"branch":"main","at":"2026-11-30T12:13:00.000Z","type":"shell.ran","must":true,"data":{"exit":0,"duration_ms":0,"text":{"b":0},"tokens":{"n":1,"by":"est"}},"body":[` + q + `]}`)
		} else {
			lines += c.line(t, fact("main", session.ShellRan{}, text))
		}
		path := put(t, dir, "x", lines)
		f, err := Search(t.Context(), []Info{{Path: path}}, Query{Text: needle})
		if err != nil || f.Damaged != 0 {
			rt.Fatalf("%+v, %v", f, err)
		}
		want := 0
		if folded(text, needle) {
			want++
		}
		if folded("-", needle) {
			want++
		}
		if len(f.Hits) != want {
			rt.Fatalf("%q in %q: %d hits, want %d", needle, text, len(f.Hits), want)
		}
	})
}

// folded looks at every place, one rune after the other.
func folded(text, needle string) bool {
	want := []rune(needle)
	for ; utf8.RuneCountInString(text) >= len(want); text = text[1:] {
		if !utf8.RuneStart(text[0]) {
			continue
		}
		same := true
		for i, r := range []rune(text)[:len(want)] {
			same = same && (r == want[i] || (r < 128) == (want[i] < 128) && strings.EqualFold(string(r), string(want[i])))
		}
		if same {
			return true
		}
	}
	return false
}
