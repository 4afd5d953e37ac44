package markdown

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	udiff "github.com/aymanbagabas/go-udiff"
	"pgregory.net/rapid"
)

// TestDiffIsTheUnifiedDiff: marks and texts are those of the unified diff, and each number is the line's own. TUI-3
func TestDiffIsTheUnifiedDiff(t *testing.T) {
	text := rapid.Custom(func(t *rapid.T) string {
		s := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "\n", "dd\n", "a\n", "a\n"}), 0, 40).Draw(t, "lines"), "")
		return s + rapid.SampledFrom([]string{"", "", "end"}).Draw(t, "end")
	})
	rapid.Check(t, func(t *rapid.T) {
		before, after := text.Draw(t, "before"), text.Draw(t, "after")
		if rapid.Bool().Draw(t, "near") { // a small change of the same text
			lines := splitLines(before + "x\n")
			i := rapid.IntRange(0, len(lines)-1).Draw(t, "i")
			after = strings.Join(lines[:i], "") + "new\n" + strings.Join(lines[i:], "")
		}
		p := Diff(before, after, DiffOptions{Width: 100, Max: 1000})
		old, now := splitLines(before), splitLines(after)
		var got []string
		added, removed := 0, 0
		for _, l := range p.Lines {
			if strings.HasPrefix(l.Text, `\`) || strings.TrimSpace(l.Text) == "⋯" {
				continue
			}
			n, err := strconv.Atoi(strings.TrimSpace(l.Text[:4]))
			if err != nil {
				t.Fatalf("no number: %q", l.Text)
			}
			rest := (l.Text + "   ")[5:] + "  "
			mark, text := rest[:1], strings.TrimSpace(rest[2:])
			side := now
			switch mark {
			case "-":
				side = old
				removed++
			case "+":
				added++
			}
			if n < 1 || n > len(side) || strings.TrimSpace(side[n-1]) != text {
				t.Fatalf("line %q has a wrong number\n%s", l.Text, show(p.Lines))
			}
			got = append(got, mark+text)
		}
		var want []string
		for _, l := range strings.Split(udiff.Unified("a", "b", before, after), "\n") {
			if l == "" || strings.HasPrefix(l, "---") || strings.HasPrefix(l, "+++") || l[0] == '@' || l[0] == '\\' {
				continue
			}
			want = append(want, l)
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Fatalf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if p.Added != added || p.Removed != removed || p.Omitted != 0 {
			t.Fatalf("counts +%d −%d, drawn +%d −%d", p.Added, p.Removed, added, removed)
		}
	})
}

func TestDiffIsBounded(t *testing.T) {
	var a, b strings.Builder
	for i := range 20000 {
		fmt.Fprintf(&a, "old %d\n", i)
		fmt.Fprintf(&b, "new %d\n", i)
	}
	p := Diff(a.String(), b.String(), DiffOptions{Width: 80, Max: 50})
	if len(p.Lines) != 51 || p.Added != 20000 || p.Removed != 20000 || p.Omitted != 39950 {
		t.Errorf("%d lines, +%d −%d, %d omitted", len(p.Lines), p.Added, p.Removed, p.Omitted)
	}
	if got := p.Lines[50].Text; got != "… 39950 more lines (+20000 −19950)" {
		t.Errorf("last line %q", got)
	}
	huge := strings.Repeat("0123456789\n", 200000)
	p = Diff("same\n"+huge, "same\nother\n"+strings.Repeat("x\n", 200000), DiffOptions{Width: 80})
	if got := show(p.Lines); got != "lines 1 to 200001 became 200002 lines: too large to compare\n" {
		t.Errorf("huge: %q", got)
	}
	p = Diff(huge+"old\n"+huge, huge+"new\n"+huge, DiffOptions{Width: 80})
	want := "200000   0123456789\n200001 - old\n200001 + new\n200002   0123456789\n"
	if got := show(p.Lines); len(p.Lines) != 8 || !strings.Contains(got, want) {
		t.Errorf("a small change of a huge text:\n%s", got)
	}
	if p := Diff("a\n", "a\n", DiffOptions{}); len(p.Lines) != 0 {
		t.Errorf("equal texts differ: %v", p.Lines)
	}
}

func TestUnifiedReadsGit(t *testing.T) {
	text := "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@ func\n one\n-two\n+2\n+-- three\n@@ -9 +10 @@\n--- dashes\n+++ plusses\n\\ No newline at end of file\n"
	want := "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@ func\n   1   one\n   2 - two\n   2 + 2\n   3 + -- three\n@@ -9 +10 @@\n   9 - -- dashes\n  10 + ++ plusses\n\\ No newline at end of file\n"
	p := Unified(text, DiffOptions{})
	if got := show(p.Lines); got != want || p.Added != 3 || p.Removed != 2 {
		t.Errorf("+%d −%d\n%s\nwant\n%s", p.Added, p.Removed, got, want)
	}
}

func TestDiffIsSafe(t *testing.T) { // SEC-5
	p := Diff("a\x1b[2J\u202e\n", "b\tc\x07\r\n", DiffOptions{Theme: Dark(), Width: 40})
	checkLines(t, p.Lines, 40)
	p = Diff("a\r\nb\r\n", "a\nb\n", DiffOptions{})
	if got, want := show(p.Lines), "   1 - a\\r\n   2 - b\\r\n   1 + a\n   2 + b\n"; got != want {
		t.Errorf("line ends: %q, want %q", got, want)
	}
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(8, 60).Draw(t, "width")
		a, b := random().Draw(t, "a"), random().Draw(t, "b")
		checkLines(t, Diff(a, b, DiffOptions{Theme: Light(), Width: width}).Lines, width)
		checkLines(t, Unified(udiff.Unified("a", "b", a, b), DiffOptions{Width: width}).Lines, width)
	})
}
