package markdown

import (
	"strings"
	"testing"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
	"pgregory.net/rapid"

	"varve/internal/tui/plain"
)

// case TUI-08: what is copied is the source, without borders, wrapping or trailing blanks.
func TestCopyIsTheSource(t *testing.T) {
	parts := []string{
		"A paragraph with **marks** that is wrapped on the screen,\nover two lines.", "- one\n- two\n  - nested\n- three",
		"```make\nall:\n\tgo build\n```", "> quoted", "| a | b |\n|---|---|\n| 1 | 2 |", "last",
	}
	d := New(Options{})
	d.Append(strings.Join(parts, "\n\n"))
	for _, finish := range []bool{false, true} {
		if finish {
			d.Finish()
		}
		seen := map[int]bool{}
		for _, l := range d.Lines(24) {
			if l.Block < 0 {
				if l.Text != "" {
					t.Errorf("a line of no block: %q", l.Text)
				}
				continue
			}
			seen[l.Block] = true
		}
		if len(seen) != len(parts) {
			t.Fatalf("%d blocks drawn, want %d", len(seen), len(parts))
		}
		for i, want := range parts {
			if got := d.Source(i); got != want {
				t.Errorf("Source(%d) = %q, want %q", i, got, want)
			}
		}
		if got := d.Source(len(parts)); got != "" {
			t.Errorf("Source of no block = %q", got)
		}
		if code, info, ok := d.Code(2); code != "all:\n\tgo build\n" || info != "make" || !ok {
			t.Errorf("Code = %q, %q, %v", code, info, ok)
		}
		if _, _, ok := d.Code(1); ok {
			t.Error("a list is code")
		}
	}
}

// case TUI-08: Lead and Wrapped are enough to copy a selection without borders and wrap breaks.
func TestLeadAndWrapped(t *testing.T) {
	d := New(Options{Theme: Dark()})
	d.Append("> " + strings.Repeat("word ", 20) + "\n\n```\n" + strings.Repeat("x", 300) + "\n```\n")
	var quote, code string
	for _, l := range d.Lines(40) {
		s := sgr.ReplaceAllString(l.Text, "")
		s = strings.TrimPrefix(s, plain.Truncate(s, l.Lead))
		if rs := []rune(sgr.ReplaceAllString(l.Text, "")); len(rs) >= l.Lead {
			s = string(rs[l.Lead:])
		}
		switch l.Block {
		case 0:
			if l.Wrapped {
				quote += " "
			}
			quote += s
		case 1:
			code += s
		}
	}
	if want := strings.TrimSpace(strings.Repeat("word ", 20)); quote != want {
		t.Errorf("quote %q", quote)
	}
	if want := strings.Repeat("x", 300); code != want {
		t.Errorf("code %q", code)
	}
}

// TestNothingIsHeldBack: what came is on the screen at once, also in a unit that is too long to be parsed each time. PERF-5
func TestNothingIsHeldBack(t *testing.T) {
	for _, c := range []struct{ name, head, each string }{
		{"paragraph", "", "word%d "},
		{"list", "- a\n", "  - item%d\n"},
		{"table", "|a|\n|-|\n", "| cell%d |\n"},
		{"fence", "```\n", "code%d\n"},
		{"fence in a list", "- a\n  ```\n", "  code%d\n"},
		{"one line", "", "word%d"},
	} {
		d := New(Options{})
		d.Append(c.head)
		for i := range 400 {
			mark := strings.Repeat(string(rune('a'+i%26)), 3)
			d.Append(strings.ReplaceAll(c.each, "%d", mark))
			lines := d.Lines(60)
			end := show(lines[max(0, len(lines)-2):])
			if flat := strings.ReplaceAll(end, "\n", ""); !strings.Contains(flat, mark) {
				t.Fatalf("%s: %q isn't shown at the end:\n%s", c.name, mark, end)
			}
			checkLines(t, lines[d.Stable(60):], 60)
		}
	}
}

// TestFencesAreColouredWhenClosed: not while they are open, not above the bound, and within the budget. TUI-2
func TestFencesAreColouredWhenClosed(t *testing.T) {
	coloured := func(d *Doc) bool { return strings.Contains(show(d.Lines(80)), Dark().Keyword) }
	d := New(Options{Theme: Dark(), Budget: 64})
	d.Append("```go\n" + strings.Repeat("func f() {}\n", 100))
	if coloured(d) || d.Pending() {
		t.Error("an open fence is coloured")
	}
	d.Append("```\n")
	calls := 0
	for ; !coloured(d); calls++ {
		if !d.Pending() {
			t.Fatal("not coloured, and nothing pending")
		}
		if d.Stable(80) != 0 {
			t.Fatal("stable before its colours are there")
		}
	}
	if calls < 1200/64/2 || calls > 1200/64+2 {
		t.Errorf("%d calls to colour 1,200 bytes by 64", calls)
	}
	d = New(Options{Theme: Dark()})
	d.Append("```go\n" + strings.Repeat("func f() {}\n", maxCode/12+1) + "```\n\n```nonsense\nfunc\n```\n")
	d.Finish()
	if coloured(d) || d.Pending() {
		t.Error("code over the bound, or of no known language, is coloured")
	}
}

// TestLexersAreChromas: our copies of the lexers give the tokens that chroma's own give.
func TestLexersAreChromas(t *testing.T) {
	code := "package main // c\nimport x from 'y'\n# note\n/* c */ def f(a: int) -> str: return \"s\\n\" + 1.5\nlet a = `b`;\n<p class=\"x\">text</p>\nkey: [1, true, null]\n{\"k\": 1}\nselect * from t where a = 'b';\nfor f in *.go; do echo \"$f\"; done\n"
	for _, lang := range []string{
		"go", "python", "py", "js", "jsx", "typescript", "ts", "tsx", "json", "yaml", "yml", "bash", "sh", "shell", "c", "cpp", "c++",
		"rust", "rs", "java", "html", "css", "sql", "markdown", "md", "toml", "dockerfile", "xml", "ini", "ruby", "kotlin", "swift", "makefile", "lua", "hcl", "c#", "powershell",
	} {
		ours := lexer(lang)
		theirs := lexers.Get(lang)
		if lang == "jsx" {
			theirs = lexers.Get("javascript")
		}
		if ours == nil {
			t.Errorf("no lexer for %s", lang)
			continue
		}
		a, err := chroma.Tokenise(ours, nil, code)
		if err != nil {
			t.Errorf("%s: %v", lang, err)
		}
		b, _ := chroma.Tokenise(theirs, nil, code)
		same := len(a) == len(b)
		for i := range a {
			same = same && a[i] == b[i]
		}
		// The Go lexer's raw strings hold template tokens in chroma's own.
		if !same && lang != "go" {
			t.Errorf("%s: tokens differ from those of %s", lang, theirs.Config().Name)
		}
	}
	for _, lang := range []string{"", "text", "nonsense", "../x", "*", strings.Repeat("x", 99)} {
		if lexer(lang) != nil {
			t.Errorf("a lexer for %q", lang)
		}
	}
}

// TestTablesAreGoldmarks: our table parser finds the tables and cells that goldmark's own finds.
func TestTablesAreGoldmarks(t *testing.T) {
	theirs := goldmark.New(goldmark.WithExtensions(extension.Table)).Parser()
	shape := func(root ast.Node, src []byte) string {
		var b strings.Builder
		_ = ast.Walk(root, func(n ast.Node, in bool) (ast.WalkStatus, error) {
			if !in {
				return ast.WalkContinue, nil
			}
			switch n := n.(type) {
			case *extast.Table:
				b.WriteString("table")
				for _, a := range n.Alignments {
					b.WriteString(" " + strings.Replace(a.String(), "none", "left", 1))
				}
				b.WriteByte('\n')
			case *extast.TableHeader, *extast.TableRow:
				b.WriteString("row\n")
			case *extast.TableCell:
				if v := lineText(n, src); v != "" {
					b.WriteString(" " + v + "\n")
				}
			case *ast.Paragraph, *ast.TextBlock:
				b.WriteString("p " + strings.TrimSpace(lineText(n, src)) + "\n")
			}
			return ast.WalkContinue, nil
		})
		return b.String()
	}
	pieces := []string{"a", "b c", "", "`x`", "\\|", "`y\\|z`", "*e*", " "}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 4).Draw(t, "columns")
		row := func(cells []string) string {
			return "|" + strings.Join(cells, "|") + rapid.SampledFrom([]string{"|", "| ", "|\t"}).Draw(t, "end") + "\n"
		}
		cell := rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 3).Draw(t, "pieces"), "")
		})
		md := rapid.SampledFrom([]string{"", "before\n", "two\nlines\n", "one\n\n"}).Draw(t, "before")
		md += row(rapid.SliceOfN(cell, n, n).Draw(t, "header"))
		md += row(rapid.SliceOfN(rapid.SampledFrom([]string{"-", " --- ", ":-", "-:", ":--: "}), n, n).Draw(t, "delimiter"))
		for range rapid.IntRange(0, 4).Draw(t, "rows") {
			md += row(rapid.SliceOfN(cell, 1, 5).Draw(t, "row"))
		}
		md += rapid.SampledFrom([]string{"", "after\n", "\nafter\n", "---\n", "===\n", "- x\n"}).Draw(t, "after")
		if in := rapid.SampledFrom([]string{"", "> ", "- ", "  "}).Draw(t, "in"); in != "" {
			md = in + strings.ReplaceAll(md, "\n", "\n"+strings.Replace(in, "-", " ", 1))
		}
		src := []byte(md)
		a, b := shape(grammar().Parse(text.NewReader(src)), src), shape(theirs.Parse(text.NewReader(src)), src)
		if a != b {
			t.Fatalf("%s\nours:\n%s\ngoldmark's:\n%s", src, a, b)
		}
	})
}
