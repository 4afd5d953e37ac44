package markdown

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// golden compares got with testdata/name.golden; with UPDATE=1 it writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: run with UPDATE=1", err)
	}
	if got != string(want) {
		t.Errorf("%s differs from what is drawn now:\n%s", path, got)
	}
}

func TestGoldens(t *testing.T) { // TUI-2, TUI-9
	for _, c := range []struct{ name, look, text string }{
		{
			"prose", "Words wrap, what has no style keeps its marks, each link shows where it leads, long words are cut.",
			"# A *first* heading\nSome **bold**, *slanted*, ~~struck~~ and `inline code` in a paragraph that is long enough to be wrapped at least once at any width that is drawn here, honestly.\n\n" +
				"A [link](https://example.com/a/path), a [https://good.example](https://evil.example), [example.com](http://example.com/), <https://auto.example>, ![a picture](pic.png \"title\"), [](http://empty.example).\n\n" +
				"[ref] is not hidden.\n\n[ref]: http://hidden.example\n\nHard break  \nnext line, &copy; &amp; \\*stars\\* &#x41;<br>and raw <kbd>html</kbd>.\n\n" +
				"https://example.com/" + strings.Repeat("very/long/path/", 9) + "\n\n" +
				"日本語のテキストは文字の間で折り返されます。これは四十桁より長い段落です。そして絵文字 👨\u200d👩\u200d👧 とé (e\u0301) も正しく測られます。\n\nSetext\n------\n\n***\n\nend\n",
		},
		{
			"lists", "Lists follow their introduction as in the source, nest, count on from their first number, keep boxes and code.",
			"Steps:\n1. First step, which is long enough to be wrapped at the narrow width\n2. Second\n   - nested *one*\n   - nested two\n\n     with a second paragraph\n     1. deep\n3. Third\n   ```go\n   x := 1\n   ```\n\nLoose:\n\n- [x] done\n\n- [ ] open\n\n9. nine\n10. ten\n\n+ \n+ after an empty item\n",
		},
		{
			"quotes", "A quote has one bar for each depth, also beside its lists, code and wrapped lines.",
			"> A quotation that is long enough to be wrapped at the narrow width at least, and goes on.\n>\n> > deeper\n>\n> - a list\n>\n> ```sh\n> ls -l\n> ```\n\nafter\n",
		},
		{
			"tables", "A table is as wide as it needs; cells wrap when it is wider than the screen; one that can't fit becomes records.",
			"| Name | What it does | Count |\n|:-----|:------------:|------:|\n| `a\\|b` | short | 1 |\n| **second** | a description that is long enough that it has to be wrapped when there are only eighty columns | 12,345 |\n| 日本語 | wide<br>letters | 7 |\n\n" +
				"| c1 | c2 | c3 | c4 | c5 | c6 | c7 | c8 |\n|--|--|--|--|--|--|--|--|\n| one | two | three | four | five | six | seven | eight |\n| alpha | beta | gamma | delta | epsilon | zeta | eta | theta |\n",
		},
		{
			"code", "Code stands without borders under its language, keeps spaces, has tabs of four, and is folded, not wrapped.",
			"```go\nfunc main() {\n\tfmt.Println(\"hello, a line that is longer than forty columns, and two spaces  kept\")\n}\n```\n\n    indented code\n\n```\nno language\n```\n\n```diff\n-old\n+new\n```\n\n<div class=\"x\">\n  html\n</div>\n\n~~~text {title=\"a file\"}\n```\nnot a fence\n```\n~~~\n",
		},
		{
			"hostile", "Nothing here may clear, recolour, retitle, reorder or hide anything: controls are gone or shown as escapes.",
			"\x1b[2J\x1b[31mred?\x1b]0;title\x07 \x1b]52;c;QUJD\x07 \u202ereversed\u202c zero\u200bwidth\n\n\x1b]8;;http://evil.example/\x07good.example\x1b]8;;\x07 and [text](http://evil.example/\u202e)\n\n&#27;[2J &#x202e; `\x07bell` over\rwrite\n\n```\n\x1b]0;never ended\n```\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b strings.Builder
			fmt.Fprintln(&b, c.look)
			for _, width := range []int{40, 80, 120} {
				lines := whole(c.text, width, Options{})
				checkLines(t, lines, width)
				fmt.Fprintf(&b, "\n%s %d\n%s", strings.Repeat("=", 8), width, show(lines))
			}
			golden(t, c.name, b.String())
		})
	}
}

func TestGoldenArriving(t *testing.T) { // TUI-2
	text := "Here is the plan:\n\n- first\n- second with **bo"
	var b strings.Builder
	fmt.Fprintln(&b, "An answer as it arrives: no heading flashes up under \"plan:\", marks stay until they close, the fence grows by lines.")
	d := New(Options{})
	for _, delta := range []string{text[:16], text[16:18] + "\n-", text[20:25], "\n- second with **bo", "ld** text\n\n``", "`go\nfunc f() {\n", "\treturn", "\n}\n``", "`\n\nDone"} {
		d.Append(delta)
		lines := d.Lines(40)
		fmt.Fprintf(&b, "\n%s after %q, %d lines stable\n%s", strings.Repeat("=", 8), delta, d.Stable(40), show(lines))
	}
	golden(t, "arriving", b.String())
}

func TestGoldenDiff(t *testing.T) { // TUI-3
	before := "package a\n\nimport \"fmt\"\n\n" + strings.Repeat("// comment\n", 12) + "func f() {\n\tfmt.Println(1)\n}\n\nlast"
	after := strings.Replace(strings.Replace(before, "fmt.Println(1)", "fmt.Println(2) // a line that is long enough to be folded at forty columns", 1), "\"fmt\"", "\"fmt\"\nimport \"os\"", 1)
	var b strings.Builder
	fmt.Fprintln(&b, "Line numbers are those of the old text for \"-\" and of the new one for the rest; distant changes are parted by \"⋯\".")
	for _, width := range []int{20, 40, 80, 120} {
		fmt.Fprintf(&b, "\n%s %d\n%s", strings.Repeat("=", 8), width, show(Diff(before, after+"\n", DiffOptions{Width: width}).Lines))
	}
	golden(t, "diff", b.String())
}

// TestColours: what the dark theme does, with its sequences visible.
func TestColours(t *testing.T) {
	var b strings.Builder
	fmt.Fprintln(&b, "Each role has its sequence, \"␛[m\" ends it on the same line, and code has colours for its parts.")
	for _, c := range []struct {
		name  string
		theme Theme
	}{{"dark", Dark()}, {"light", Light()}, {"mono", Mono()}} {
		fmt.Fprintf(&b, "\n%s %s\n%s", strings.Repeat("=", 8), c.name,
			strings.ReplaceAll(show(whole("# H *e*\n\n**b** `c` [l](u) ~~s~~\n\n> q\n\n- i\n\n```go\n// c\nfunc f() string { return \"s\" + 1 }\n```\n\n|a|b|\n|-|-|\n|1|2|\n", 40, Options{Theme: c.theme})), "\x1b", "␛"))
	}
	golden(t, "colours", b.String())
}
