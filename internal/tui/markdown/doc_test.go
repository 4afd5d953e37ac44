package markdown

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"varve/internal/tui/plain"
)

// whole draws text that came in one piece.
func whole(text string, width int, o Options) []Line {
	d := New(o)
	d.Append(text)
	d.Finish()
	return slices.Clone(d.Lines(width))
}

func show(lines []Line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.Text)
		b.WriteByte('\n')
	}
	return b.String()
}

// random makes Markdown out of pieces that work on each other.
func random() *rapid.Generator[string] {
	bits := []string{
		"word ", "word ", "*em* ", "**strong** ", "`code` ", "[a](http://x/y) ", "<b> ", "<http://z> ", "a|b", "|", "~~no~~ ", "![i](u) ",
		"\\* ", "&amp; ", "&#27;[31m ", "日本語", "👨\u200d👩\u200d👧 ", "verylongwordwithoutspaces", "  \n", "\\\n", "<br>",
		"\n", "\n", "\n", "\n\n", "\n\n", "\n\n\n", "\n- ", "\n- ", "\n* ", "\n+ ", "\n1. ", "\n2. ", "\n10) ", "\n  - ", "\n   - ", "\n    ", "\n  ", "\n\t",
		"\n- [x] ", "\n- [ ] ", "\n# ", "\n### ", "\n> ", "\n> - ", "\n>", "\n```go\n", "\n```\n", "\n```", "\n~~~\n", "\n  ```\n", "\n    code\n", "func f() {}\n",
		"\n---\n", "\n===\n", "\n--", "\n-", "\n***\n", "\n| a | b |\n|---|:-:|\n| 1 | two |\n", "\na | b\n--|--\n1 | 2", "\n--|--\n", "\n<div>\n", "\n</div>\n", "\n<!-- c\n", "-->\n",
		"\n[r]: http://hidden/\n", "[r] ", "\r\n", "\x1b[2J", "\x1b]0;t\x07", "\t", "\u202e", "\xff", "\n1. a\n\n   b\n2. c\n", "\n- a\n  - b\n\n    c\n- d\n",
	}
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(bits), 0, 40).Draw(t, "bits"), "")
	})
}

// TestCutsDoNotMatter: what is drawn in the end doesn't depend on how the text came, on frames in between, or on other
// widths before; and stable lines never change. TUI-2, PERF-5
func TestCutsDoNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := random().Draw(t, "text")
		width := rapid.SampledFrom([]int{8, 20, 40, 80}).Draw(t, "width")
		o := Options{Theme: Mono(), Budget: rapid.SampledFrom([]int{0, 1, 20}).Draw(t, "budget")}
		all := whole(text, width, Options{Theme: Mono()})
		want := show(all)

		d := New(o)
		var stable []Line
		last := 0
		check := func(w int) {
			lines := d.Lines(w)
			n := d.Stable(w)
			if w != last {
				stable, last = nil, w
			}
			if n < len(stable) || !slices.Equal(lines[:len(stable)], stable) {
				t.Fatalf("stable lines changed:\n%s\nto\n%s", show(stable), show(lines))
			}
			stable = slices.Clone(lines[:n])
		}
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, min(12, len(rest))).Draw(t, "n")
			d.Append(rest[:n])
			rest = rest[n:]
			if rapid.IntRange(0, 9).Draw(t, "resize") == 0 {
				check(33)
			} else {
				check(width)
			}
		}
		d.Finish()
		for check(width); d.Pending(); check(width) {
		}
		if got := show(d.Lines(width)); !slices.Equal(d.Lines(width), all) {
			t.Fatalf("in pieces:\n%s\nwhole:\n%s\n%q\n%q", got, want, got, want)
		}
		if d.Stable(width) != len(d.Lines(width)) {
			t.Fatalf("%d lines stable at the end, of %d", d.Stable(width), len(d.Lines(width)))
		}
		d.Lines(21)
		for d.Lines(width); d.Pending(); d.Lines(width) {
		}
		if got := show(d.Lines(width)); !slices.Equal(d.Lines(width), all) {
			t.Fatalf("after a resize:\n%s\nwhole:\n%s", got, want)
		}
	})
}

// TestEveryByteApart: what works on what came before, a byte at a time, and drawn at another width in between.
func TestEveryByteApart(t *testing.T) {
	for _, text := range []string{
		"1. a\n1. b\n1. c\n\n1. d\n\n   e\n7. f\n", "- a\n- b\n* c\n+ d\n", "9) a\n10) b\n\ntext\n3) c\n",
		"para\na | b\n--|--\n1 | 2\n\nafter\n", "a\n\n|b|\n|-|\n|c|\n===\n- d\n", "|a|\n|-|\n- b\n", "> a\n> |b|\n> |-|\n\nc\n",
		"a\n-\nb\n- c\n---\nd\n", "- a\n\n\n  b\n-\n\n  c\n", "a\n    b\n\n    c\n\n\n    d\n", "- a\n   - b\n     c\n    - d\n",
		"~~~\n```\n~~~\n```` a`b\n\n```go\nx\n   ````\ny\n    ```\n```\nz\n```", "   ```\n   a\n  b\n     c\n```\n\n\n", "\n\n \n```\n\n\n",
		"<!-- a\n\nb -->\nc\n\n<div>\nd\n\ne\n", "123456789. a\n123456789. b\n", "> - 123456789. a\n", "a\r\n\r\nb\x1b[31m\n\u202e\n", "\t\n\t\n~~~\n", "\u00a0\n\u00a0\nx\n",
	} {
		for _, width := range []int{8, 40} {
			want := whole(text, width, Options{})
			checkLines(t, want, width)
			d := New(Options{})
			for i := range len(text) {
				d.Append(text[i : i+1])
				checkLines(t, d.Lines(width+i%2), width+1)
			}
			d.Finish()
			if got := d.Lines(width); !slices.Equal(got, want) {
				t.Errorf("%q, %d wide, by bytes:\n%s\nwhole:\n%s", text, width, show(got), show(want))
			}
			d.Lines(width + 9)
			if got := d.Lines(width); !slices.Equal(got, want) {
				t.Errorf("%q, %d wide, after a resize:\n%s\nwhole:\n%s", text, width, show(got), show(want))
			}
		}
	}
}

var sgr = regexp.MustCompile("\x1b\\[[0-9;]*m")

// checkLines: lines fit, and hold no control but our own styles (SEC-5).
func checkLines(t interface{ Fatalf(string, ...any) }, lines []Line, width int) {
	for _, l := range lines {
		text := sgr.ReplaceAllString(l.Text, "")
		if w := plain.Width(text); w > width {
			t.Fatalf("%q is %d wide, over %d", l.Text, w, width)
		}
		for _, r := range text {
			if unicode.IsControl(r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
				t.Fatalf("a control passes: %q", l.Text)
			}
		}
		if codes := sgr.FindAllString(l.Text, -1); len(codes) > 0 && codes[len(codes)-1] != "\x1b[m" {
			t.Fatalf("a style stays on: %q", l.Text)
		}
	}
}

func TestLinesFitAndAreSafe(t *testing.T) { // SEC-5, TUI-9
	rapid.Check(t, func(t *rapid.T) {
		text := random().Draw(t, "text")
		width := rapid.IntRange(8, 60).Draw(t, "width")
		d := New(Options{Theme: Dark()})
		cut := rapid.IntRange(0, len(text)).Draw(t, "cut")
		d.Append(text[:cut])
		checkLines(t, d.Lines(width), width)
		d.Append(text[cut:])
		checkLines(t, d.Lines(width), width)
		d.Finish()
		checkLines(t, d.Lines(width), width)
	})
}

// TestDeepNesting: what nests deeper than any answer costs no more than other text, and is text.
func TestDeepNesting(t *testing.T) {
	for _, s := range []string{strings.Repeat(">", 5000), strings.Repeat("- ", 5000) + "x", strings.Repeat("> - ", 3000), strings.Repeat("[a](", 5000)} {
		lines := whole(s+"\n\nafter\n\n- item\n", 40, Options{})
		checkLines(t, lines, 40)
		if got := show(lines[len(lines)-3:]); got != "after\n\n• item\n" {
			t.Errorf("%.10s: %q", s, got)
		}
		d := New(Options{})
		for text := s + "\n\nafter\n\n- item\n"; text != ""; text = text[min(500, len(text)):] {
			d.Append(text[:min(500, len(text))])
			d.Lines(40)
		}
		d.Finish()
		if got := show(d.Lines(40)); got != show(lines) {
			t.Errorf("%.10s: cuts matter", s)
		}
	}
}

// TestDeepIsBounded: the bounds that keep the parser's time linear.
func TestDeepIsBounded(t *testing.T) {
	depth := 0
	for n := units([]byte(strings.Repeat(">", 5000)))[0].nodes[0]; n != nil; n = n.FirstChild() {
		depth++
	}
	if depth > maxDepth+2 {
		t.Errorf("quotes nest %d deep", depth)
	}
	for n, link := range map[int]bool{maxTarget / 2: true, 2 * maxTarget: false} {
		text := "[a](" + strings.Repeat("x", n) + ")"
		if got := whole(text, 40, Options{})[0].Text; strings.HasPrefix(got, "[a](xx") == link {
			t.Errorf("a target of %d bytes: %q", n, got)
		}
	}
}

func FuzzMarkdown(f *testing.F) { // SEC-5
	for _, s := range []string{sample, "- a\n- b\n\n```go\nx\n```\n", "&#27;[2J", "[x](\x1b]0;y\x07)", "> > > - 1. a", "|a|\n|-|\n|`\\|`|", "<a\x07>"} {
		f.Add(s, 40)
	}
	f.Fuzz(func(t *testing.T, s string, width int) {
		width = min(max(width, minWidth), 200)
		lines := whole(s, width, Options{Theme: Dark()})
		checkLines(t, lines, width)
		d := New(Options{Theme: Dark()})
		for len(s) > 0 {
			n := min(7, len(s))
			d.Append(s[:n])
			s = s[n:]
			checkLines(t, d.Lines(width), width)
		}
		d.Finish()
		if got, want := show(d.Lines(width)), show(lines); got != want {
			t.Errorf("in pieces:\n%s\nwhole:\n%s", got, want)
		}
	})
}

const sampleBlock = "## Objective %d\n\nSome **bold** text with `code` and a [link](http://x/y) that runs long enough to need wrapping at eighty columns, more words here.\n\n- item one\n- item two with `inline`\n  - nested\n\n```go\nfunc f%d(x int) (string, error) {\n\tif x > 10 {\n\t\treturn \"\", fmt.Errorf(\"bad %%d\", x)\n\t}\n\treturn strconv.Itoa(x), nil\n}\n```\n\n| a | b |\n|---|---|\n| 1 | two |\n\n"

var sample = fmt.Sprintf(sampleBlock, 1, 1)

// answer is n bytes of what models write.
func answer(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, sampleBlock, i, i)
	}
	return b.String()[:n]
}

// stream draws text that comes in deltas, with a frame after every one, and returns the document.
func stream(text string, deltas int) *Doc {
	d := New(Options{Theme: Dark(), Budget: 1 << 10})
	for i := range deltas {
		d.Append(text[len(text)*i/deltas : len(text)*(i+1)/deltas])
		d.Lines(80)
	}
	d.Finish()
	for d.Lines(80); d.Pending(); {
		d.Lines(80)
	}
	return d
}

// TestWorkIsLinear: each byte is parsed a bounded number of times, however long the answer or one block of it. PERF-5
func TestWorkIsLinear(t *testing.T) {
	para := strings.Repeat("some words of a paragraph that never ends, with `code` and **more** ", 900)[:60000]
	list := strings.Repeat("- an item of a list\n", 3000)
	nested := "- an item\n" + strings.Repeat("  - of a nested list\n", 2600)
	table := "| a | b |\n|---|---|\n" + strings.Repeat("| one | two |\n", 4200)
	quote := strings.Repeat("> of a long quote\n", 3300)
	for _, c := range []struct {
		name, text string
		limit      int // parsed bytes per byte
	}{
		{"answer", answer(60000), 12},
		{"short answer", answer(6000), 12},
		{"paragraph", para, 30},
		{"list", list, 8},
		{"nested list", nested, 30},
		{"table", table, 30},
		{"quote", quote, 30},
		{"fence", "```\n" + strings.Repeat("code of a long file\n", 3000), 2},
	} {
		d := stream(c.text, len(c.text)/12)
		if per := float64(d.parsed) / float64(len(c.text)); per > float64(c.limit) {
			t.Errorf("%s: %.1f bytes parsed for each, over %d", c.name, per, c.limit)
		} else {
			t.Logf("%s: %.1f bytes parsed for each", c.name, per)
		}
	}
}
