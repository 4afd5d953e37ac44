package eval

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// A Trace names what was played.
type Trace struct {
	Revision string   `json:"revision"` // of its bytes
	Bytes    int      `json:"bytes"`
	Turns    int      `json:"settled_turns"`
	Markers  []string `json:"markers"`
	Stale    string   `json:"stale_marker"`
}

// A Report is what came of all paths.
type Report struct {
	Trace  Trace    `json:"trace"`
	Rows   []Row    `json:"paths"`
	Limits []string `json:"does_not_show"`
}

// Limits are what no figure here shows.
var Limits = []string{
	"whether a model's summary keeps what matters: the replies are scripted, and hand on what reached them",
	"whether an audit by a model would see what a map left out",
	"which strategy is better: outputs are as short as the script, and a provider's cache and prices are not played",
	"how long it takes: orchestration on loopback is not a provider's latency, so no time is given",
}

// OK reports whether every row holds.
func (r Report) OK() bool {
	for _, row := range r.Rows {
		if len(row.Faults) > 0 {
			return false
		}
	}
	return len(r.Rows) == len(paths)
}

// Write prints the table for people.
func (r Report) Write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "The same trace through %d paths: %d settled turns, one open, %d bytes, revision %s.\n"+
		"%d markers of the task's state have to stand in the last prompt; the fact that was overruled must not,\n"+
		"where something stands for the old turns. Replies are scripted, over HTTP and SSE on this machine.\n\n",
		len(r.Rows), r.Trace.Turns, r.Trace.Bytes, r.Trace.Revision, len(r.Trace.Markers))
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "path\trequests\tof these to summarizers\tinput\toutput\tpeak prompt\tlast prompt\tmarkers\tstale fact\tsource bytes\t")
	for _, row := range r.Rows {
		old := "gone"
		switch {
		case row.Stale && row.Raw:
			old = "there, raw"
		case row.Stale:
			old = "there"
		}
		bytes := "all kept"
		if !row.Preserved {
			bytes = "CHANGED"
		}
		mark := ""
		if len(row.Faults) > 0 {
			mark = "DOES NOT HOLD"
		}
		fmt.Fprintf(tw, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d of %d\t%s\t%s\t%s\n", row.Path, row.Requests, row.Summarizers, row.Input, row.Output,
			row.Peak, row.Last, len(row.Kept), len(r.Trace.Markers), old, bytes, mark)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for _, row := range r.Rows {
		for _, f := range row.Faults {
			fmt.Fprintf(&b, "\n%s: %s", row.Path, f)
		}
	}
	fmt.Fprintln(&b, "\nTokens: input and output as the scripted provider reports them, prompts as the program estimates them.\nThis does not show:")
	for _, l := range r.Limits {
		fmt.Fprintln(&b, "- "+l)
	}
	for line := range strings.Lines(b.String()) {
		if _, err := io.WriteString(w, strings.TrimRight(line, " \n")+"\n"); err != nil {
			return err
		}
	}
	return nil
}
