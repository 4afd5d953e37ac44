package markdown

import (
	"fmt"
	"strings"
	"testing"
)

// PERF-5: a 60,000-character answer. One op is the whole answer.
func BenchmarkStream(b *testing.B) {
	text := answer(60000)
	for _, c := range []struct {
		name   string
		frames int // draws; the text comes in 15,000 deltas
	}{
		{"at200tokens", 2250}, // 75 s at 30 frames a second
		{"at120Hz", 9000},
		{"everyDelta", 15000},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			parsed := 0
			for b.Loop() {
				d := New(Options{Theme: Dark(), Budget: 1 << 10})
				drawn := 0
				for i := range 15000 {
					d.Append(text[4*i : 4*i+4])
					if frame := i * c.frames / 15000; frame > drawn || c.frames == 15000 {
						d.Lines(100)
						drawn = frame
					}
				}
				d.Finish()
				for d.Lines(100); d.Pending(); {
					d.Lines(100)
				}
				parsed = d.parsed
			}
			b.ReportMetric(float64(parsed)/float64(len(text)), "parsed/byte")
			b.ReportMetric(b.Elapsed().Seconds()*1000/float64(b.N), "ms/answer")
		})
	}
}

func BenchmarkFinished(b *testing.B) {
	text := answer(60000)
	for _, o := range []struct {
		name  string
		theme Theme
	}{{"first", Dark()}} {
		b.Run(o.name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				whole(text, 100, Options{Theme: o.theme})
			}
		})
	}
	b.Run("withoutCode", func(b *testing.B) {
		text := strings.ReplaceAll(text, "```go", "```")
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			whole(text, 100, Options{Theme: Dark()})
		}
	})
	b.Run("again", func(b *testing.B) {
		d := stream(text, 10)
		for b.Loop() {
			d.Lines(80)
		}
	})
	b.Run("resize", func(b *testing.B) {
		d := stream(text, 10)
		width := 80
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			width = 180 - width
			d.Lines(width)
		}
	})
}

func BenchmarkHighlight(b *testing.B) {
	code := map[string]string{
		"go":         strings.Repeat("func f(x int) (string, error) {\n\tif x > 10 {\n\t\treturn \"\", fmt.Errorf(\"bad %d\", x) // why\n\t}\n}\n", 100),
		"python":     strings.Repeat("def f(x: int) -> str:\n    \"\"\"doc\"\"\"\n    return [y for y in range(x) if y > 10]  # why\n", 100),
		"json":       strings.Repeat("{\"a\": [1, 2, true, null], \"b\": \"text\"}\n", 200),
		"bash":       strings.Repeat("for f in *.go; do echo \"$f\" | sed 's/a/b/' > out; done\n", 200),
		"typescript": strings.Repeat("export const f = async (x: number): Promise<string> => { return `a${x}`; };\n", 100),
		"rust":       strings.Repeat("pub fn f(x: u32) -> Result<String, Error> { Ok(format!(\"{}\", x)) }\n", 100),
	}
	for lang, text := range code {
		b.Run(lang, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				c := colourer{budget: 1 << 30}
				if toks, _ := c.tokens(lang, text, 0); len(toks) < 10 {
					b.Fatal("not coloured")
				}
			}
		})
	}
}

func BenchmarkDiff(b *testing.B) {
	var x, y strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&x, "line %d some content\n", i)
		if i%50 == 0 {
			fmt.Fprintf(&y, "changed %d\nnew line\n", i)
		} else {
			fmt.Fprintf(&y, "line %d some content\n", i)
		}
	}
	for b.Loop() {
		Diff(x.String(), y.String(), DiffOptions{Width: 100})
	}
}
