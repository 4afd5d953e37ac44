package jsonl

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// large writes 200,000 lines, 500 MB in all.
func large(b *testing.B) string {
	path := filepath.Join(b.TempDir(), "large.jsonl")
	w, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	var out []byte
	var prev sum
	for i := range 200_000 {
		n := 400
		if i%20 == 0 {
			n = 40_000
		}
		start := len(out)
		out = appendHead(out, uint64(i+1), prev)
		out = append(out, rest("k", strings.Repeat("some words ", n/11))...)
		prev = sumOf(out[start:])
		if out = append(out, '\n'); len(out) > 1<<20 || i == 199_999 {
			if _, err := w.Write(out); err != nil {
				b.Fatal(err)
			}
			out = out[:0]
		}
	}
	return path
}

func cpu() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// PERF-3: the first reading of 500 MB, 200,000 lines, beside counting its LFs as
// wc -l does. Interleaved; minimum of each, in CPU time.
func BenchmarkScan(b *testing.B) {
	path := large(b)
	ours, wc := time.Hour, time.Hour
	for b.Loop() {
		began := cpu()
		f, err := Open(path, Options{ReadOnly: true})
		if err != nil {
			b.Fatal(err)
		}
		index := make([]Line, 0, 200_000)
		if err := f.CatchUp(func(l Line, _ []byte) error { index = append(index, l); return nil }); err != nil {
			b.Fatal(err)
		}
		if len(index) != 200_000 || len(f.Damage()) > 0 {
			b.Fatal(len(index), f.Damage())
		}
		f.Close()
		ours = min(ours, cpu()-began)

		began = cpu()
		r, err := os.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		buf, lines := make([]byte, chunkSize), 0
		for {
			n, err := r.Read(buf)
			lines += bytes.Count(buf[:n], []byte("\n"))
			if err == io.EOF {
				break
			}
		}
		r.Close()
		wc = min(wc, cpu()-began)
	}
	b.ReportMetric(float64(ours)/float64(wc), "x-wc(limit1.5)")
	b.ReportMetric(float64(ours)/1e6, "ms-scan")
	b.ReportMetric(float64(wc)/1e6, "ms-wc")
}

// PERF-10: Append and Sync of one line, beside write and fdatasync of the same
// bytes. Interleaved, each first in turn; medians.
func BenchmarkAppendSync(b *testing.B) {
	for _, size := range []int{300, 10_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			dir := b.TempDir()
			f, err := Create(filepath.Join(dir, "a.jsonl"), Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			bare, err := os.OpenFile(filepath.Join(dir, "bare"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
			if err != nil {
				b.Fatal(err)
			}
			defer bare.Close()
			line := rest("k", strings.Repeat("x", size))
			same := append(append(appendHead(nil, 1234, sum{}), line...), '\n')
			var ours, theirs []time.Duration
			one := func() {
				began := time.Now()
				if _, err := f.Append(ctx, [][]byte{line}, nil); err != nil {
					b.Fatal(err)
				}
				if err := f.Sync(); err != nil {
					b.Fatal(err)
				}
				ours = append(ours, time.Since(began))
			}
			other := func() {
				began := time.Now()
				if _, err := bare.Write(same); err != nil {
					b.Fatal(err)
				}
				if err := (Disk{}).Sync(bare); err != nil {
					b.Fatal(err)
				}
				theirs = append(theirs, time.Since(began))
			}
			for b.Loop() { // each goes first in turn
				one()
				other()
				other()
				one()
			}
			slices.Sort(ours)
			slices.Sort(theirs)
			mid := len(ours) / 2
			b.ReportMetric(float64(ours[mid])/float64(theirs[mid]), "x-bare(limit1.2)")
		})
	}
}
