package markdown

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"varve/internal/tui/plain"
)

// What stands at the left are the lines of the unified diff that were there, at the right those that are there now, each
// with its number; counts are the same, and nothing is behind the end of a row. TUI-3
func TestSidesAreTheDiff(t *testing.T) {
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "日本 e\r\n", "dd\n", "a\n"}), 0, 40).Draw(t, "lines"), "")
	})
	rapid.Check(t, func(t *rapid.T) {
		before, after := text.Draw(t, "before"), text.Draw(t, "after")
		most := rapid.SampledFrom([]int{1000, 3, 10}).Draw(t, "most")
		one, two := Diff(before, after, DiffOptions{Width: 102, Max: 1000}), Sides(before, after, DiffOptions{Width: 102, Max: most})
		if one.Added != two.Added || one.Removed != two.Removed || most == 1000 && two.Omitted != 0 {
			t.Fatalf("+%d -%d, %d left out; want +%d -%d", two.Added, two.Removed, two.Omitted, one.Added, one.Removed)
		}
		var was, is []string // with their numbers on the new side, of context
		for _, l := range one.Lines {
			switch {
			case strings.TrimSpace(l.Text) == "⋯":
			case l.Text[5] == '-':
				was = append(was, l.Text[5:])
			case l.Text[5] == '+':
				is = append(is, l.Text)
			default:
				was, is = append(was, l.Text[5:]), append(is, l.Text)
			}
		}
		var left, right []string
		for _, l := range two.Lines {
			if n := plain.Width(l.Text); n > 102 || strings.TrimRight(l.Text, " ") != l.Text {
				t.Fatalf("a row of %d columns: %q", n, l.Text)
			}
			if strings.TrimSpace(l.Text) == "⋯" || strings.HasPrefix(l.Text, "…") {
				continue
			}
			a, b := l.Text, ""
			if plain.Width(a) > 52 {
				cut := strings.TrimRight(plain.Truncate(a, 53), "…")
				b = a[len(cut):]
				a = strings.TrimRight(cut, " ")
			}
			if strings.TrimSpace(a) != "" {
				left = append(left, a[5:])
			}
			if b != "" {
				right = append(right, b)
			}
		}
		if most == 1000 && (strings.Join(left, "|") != strings.Join(was, "|") || strings.Join(right, "|") != strings.Join(is, "|")) {
			t.Fatalf("left %q\nwant %q\nright %q\nwant %q\n%s", left, was, right, is, show(two.Lines))
		}
	})
	long := Sides("short\n", strings.Repeat("long ", 40)+"\n", DiffOptions{Width: 60})
	if len(long.Lines) < 8 || plain.Width(long.Lines[0].Text) > 60 {
		t.Errorf("a long line is not wrapped in its side:\n%s", show(long.Lines))
	}
}
