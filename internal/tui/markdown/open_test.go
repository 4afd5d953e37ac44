package markdown

import (
	"fmt"
	"strings"
	"testing"
)

// While a long paragraph comes, byte by byte, its rows end where words do.
func TestOpenParagraphKeepsWordsWhole(t *testing.T) { // TUI-2, PERF-5
	for _, width := range []int{24, 40, 79} {
		d := New(Options{})
		var src strings.Builder
		for i := range 600 {
			word := fmt.Sprintf("word%d ", i)
			for _, c := range word {
				d.Append(string(c))
				src.WriteRune(c)
				var rows []string
				for _, l := range d.Lines(width) {
					rows = append(rows, strings.TrimSpace(l.Text))
				}
				if got, want := strings.Join(rows, " "), strings.TrimSpace(src.String()); got != want {
					at := 0
					for at < min(len(got), len(want)) && got[at] == want[at] {
						at++
					}
					t.Fatalf("width %d, after %d bytes: %q, want %q", width, src.Len(), got[max(at-30, 0):], want[max(at-30, 0):])
				}
			}
		}
	}
}
