package tools

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// What a command costs in a repository of 20,000 files, beyond itself: both looks, after a first one. The first is the
// other figure. // BRN-8, PERF-4
func BenchmarkLooks(b *testing.B) {
	for _, n := range []int{20, 1000, 20_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			k := newBench(b)
			for i := range n {
				dir := fmt.Sprintf("%s/d%d/e%d", k.ws, i/1000, i/50)
				if i%50 == 0 {
					if err := os.MkdirAll(dir, 0o755); err != nil {
						b.Fatal(err)
					}
				}
				if err := os.WriteFile(fmt.Sprintf("%s/file%d.go", dir, i), fmt.Appendf(nil, "file %d\n", i), 0o644); err != nil {
					b.Fatal(err)
				}
			}
			k.git(".", "init", "-q")
			k.git(".", "add", "-A")
			k.git(".", "commit", "-qm", "one")
			k.git(".", "status")
			time.Sleep(2 * tick) // until nothing is so new that it has to be read
			began := time.Now()
			if _, whole := k.files.begin(b.Context(), nil).end(b.Context()); !whole && n < 20_000 {
				b.Error("not all of it was seen")
			}
			first := time.Since(began)
			b.ReportAllocs()
			for b.Loop() {
				if _, whole := k.files.begin(b.Context(), nil).end(b.Context()); !whole {
					b.Error("not all of it was seen")
				}
			}
			b.ReportMetric(float64(first.Microseconds())/1000, "first-ms")
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "ms")
		})
	}
}
