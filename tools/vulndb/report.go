package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// report sorts findings by what they ask of us. Each list has one line per vulnerability.
type report struct {
	reached   []string // our code can call it, in a dependency
	unreached []string // in a dependency, and nothing of ours calls it
	std       []string // in the standard library of the toolchain in use
}

// read takes the stream of messages that govulncheck -format=json writes. A finding comes once per depth of knowledge
// (module, package, symbol): the deepest counts.
func read(r io.Reader) (report, error) {
	type frame struct{ Module, Version, Package, Function, Receiver string }
	type finding struct {
		OSV          string  `json:"osv"`
		FixedVersion string  `json:"fixed_version"`
		Trace        []frame `json:"trace"`
	}
	summaries, deepest := map[string]string{}, map[string]finding{}
	for dec := json.NewDecoder(r); ; {
		var m struct {
			OSV *struct {
				ID      string `json:"id"`
				Summary string `json:"summary"`
			} `json:"osv"`
			Finding *finding `json:"finding"`
		}
		if err := dec.Decode(&m); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return report{}, err
		}
		if m.OSV != nil {
			summaries[m.OSV.ID] = m.OSV.Summary
		}
		if f := m.Finding; f != nil {
			if len(f.Trace) == 0 {
				return report{}, fmt.Errorf("finding %s without a trace", f.OSV)
			}
			key := f.OSV + " " + f.Trace[0].Module
			if old, ok := deepest[key]; !ok || old.Trace[0].Function == "" {
				deepest[key] = *f
			}
		}
	}
	var out report
	for _, key := range slices.Sorted(maps.Keys(deepest)) {
		f := deepest[key]
		at := f.Trace[0]
		line := fmt.Sprintf("%s in %s %s: %s", f.OSV, at.Module, at.Version, summaries[f.OSV])
		if f.FixedVersion != "" {
			line += " (mended in " + f.FixedVersion + ")"
		}
		switch {
		case at.Module == "stdlib" || at.Module == "toolchain":
			out.std = append(out.std, line)
		case at.Function != "":
			out.reached = append(out.reached, line+", reached through "+at.Package+"."+strings.TrimPrefix(at.Receiver+"."+at.Function, "."))
		default:
			out.unreached = append(out.unreached, line)
		}
	}
	return out, nil
}

func (r report) String() string {
	var b strings.Builder
	for _, part := range []struct {
		title string
		lines []string
	}{
		{"reached in dependencies", r.reached},
		{"in dependencies, never called", r.unreached},
		{"in the standard library (a newer Go mends them)", r.std},
	} {
		fmt.Fprintf(&b, "  %s: %d\n", part.title, len(part.lines))
		for _, l := range part.lines {
			fmt.Fprintf(&b, "    %s\n", l)
		}
	}
	return b.String()
}
