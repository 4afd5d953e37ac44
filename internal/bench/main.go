// Command bench measures what the program costs, with each limit beside its
// figure (docs/performance.md).
//
// It runs the built program against a scripted provider in this process.
// What counts are processor seconds, counts of bytes and requests, and ratios
// to a limit measured in the same run; the machine's wall clock is noisy, so
// the minimum of several interleaved runs is taken. A peer that is not
// installed stands with the figure that was measured elsewhere, and is marked.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

// A row is one figure.
type row struct {
	id, what string
	value    float64
	unit     string
	limit    float64
	from     string // where the limit comes from
	notInRun bool   // the limit was not measured in this run
	atLeast  bool   // the value must reach the limit, not stay under it
}

func (r row) ok() bool {
	if r.atLeast {
		return r.value >= r.limit
	}
	return r.value <= r.limit
}

// A measure gives the rows of one requirement.
type measure struct {
	id string
	do func(*bench) ([]row, error)
}

var measures = []measure{
	// Those that read peak memory come first: a child begins with its parent's.
	{"PERF-1", startUp},
	{"PERF-2", oneLine},
	{"PERF-4", toolLoop},
	{"PERF-13", binary},
	{"PERF-10", appendSync},
	{"PERF-7", prompt},
	{"PERF-5", stream},
	{"PERF-3", openLarge},
	{"PERF-9", browse},
	{"PERF-11", planLong},
	{"PERF-12", grow},
}

// A bench is one run of this program.
type bench struct {
	agent string
	dir   string
	n     int
	quick bool
}

func main() {
	if path := os.Getenv("VARVE_BENCH_OPEN"); path != "" {
		openChild(path)
		return
	}
	agent := flag.String("agent", "bin/agent", "the program, as `make build` makes it")
	only := flag.String("only", "", "only these requirements, comma-separated")
	n := flag.Int("n", 7, "runs of each measurement; the minimum counts")
	quick := flag.Bool("quick", false, "smaller inputs, for a look")
	flag.Parse()
	dir, err := os.MkdirTemp("", "varve-bench-")
	if err != nil {
		fail(err)
	}
	defer os.RemoveAll(dir)
	path, err := filepath.Abs(*agent)
	if err != nil {
		fail(err)
	}
	b := &bench{agent: path, dir: dir, n: *n, quick: *quick}
	tw := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "id\twhat\tfigure\tlimit\t\tlimit from")
	missed := 0
	for _, m := range measures {
		if *only != "" && !slices.Contains(strings.Split(*only, ","), m.id) {
			continue
		}
		rows, err := m.do(b)
		for _, r := range rows {
			mark := "ok"
			if !r.ok() {
				mark = "MISSED"
				missed++
			}
			from := r.from
			if r.notInRun {
				from += " (not in this run)"
			}
			fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\n", r.id, r.what, number(r.value, r.unit), number(r.limit, r.unit), mark, from)
		}
		if err != nil {
			fmt.Fprintf(tw, "%s\tcould not be measured\t%v\t\tMISSED\t\n", m.id, err)
			missed++
		}
		tw.Flush()
	}
	if missed > 0 {
		fmt.Printf("%d missed\n", missed)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "bench:", err)
	os.Exit(1)
}

func number(v float64, unit string) string {
	switch {
	case unit == "x":
		return fmt.Sprintf("%.2fx", v)
	case v == float64(int64(v)):
		return fmt.Sprintf("%.0f %s", v, unit)
	}
	return fmt.Sprintf("%.2f %s", v, unit)
}
