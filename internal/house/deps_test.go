package house

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// program skips a test until there is a program to look at.
func program(t *testing.T) {
	t.Helper()
	if mains, _ := filepath.Glob(filepath.Join(root, "cmd/agent/*.go")); len(mains) == 0 {
		t.Skip("cmd/agent does not exist yet")
	}
}

// modules are those that the go list arguments name, with their folders, for all systems together.
func modules(t *testing.T, args ...string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, goos := range systems {
		cmd := exec.Command("go", append([]string{"list", "-deps", "-f", "{{with .Module}}{{.Path}}\t{{.Dir}}{{end}}"}, args...)...)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		for line := range strings.Lines(string(out)) {
			if path, dir, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && path != module {
				found[path] = dir
			}
		}
	}
	return found
}

// unlike says where what is used and what is listed differ.
func unlike(used map[string]string, listed map[string]string, where string) []string {
	var wrong []string
	for _, path := range slices.Sorted(maps.Keys(used)) {
		if listed[path] == "" {
			wrong = append(wrong, fmt.Sprintf("%s is %s and not on its list: add it with the reason, or do without", path, where))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(listed)) {
		if _, ok := used[path]; !ok {
			wrong = append(wrong, fmt.Sprintf("%s is on the list and not %s any more: take it off", path, where))
		}
	}
	return wrong
}

func TestDependenciesAreThoseWeChose(t *testing.T) { // PERF-13, SEC-7
	program(t)
	read(t, "go.mod") // go list reads it too, where the test cache cannot see that
	inside := modules(t, "./cmd/agent")
	around := modules(t, "-test", "./...")
	for path := range inside {
		delete(around, path)
	}
	for _, w := range append(unlike(inside, linked, "linked into bin/agent"), unlike(around, beside, "used by tests")...) {
		t.Error(w)
	}
	direct := exec.Command("go", "list", "-m", "-f", "{{if not (or .Indirect .Main)}}{{.Path}}{{end}}", "all")
	direct.Dir = root
	out, err := direct.Output()
	if err != nil {
		t.Fatalf("go list -m: %v", err)
	}
	for _, path := range strings.Fields(string(out)) {
		if linked[path] == "" && beside[path] == "" {
			t.Errorf("go.mod requires %s and nothing uses it: go mod tidy", path)
		}
	}
}

func TestUnlikeSeesBothSides(t *testing.T) {
	got := unlike(map[string]string{"a": "/a", "b": "/b"}, map[string]string{"b": "why", "c": "why"}, "used")
	if len(got) != 2 || !strings.HasPrefix(got[0], "a is used") || !strings.HasPrefix(got[1], "c is on the list") {
		t.Errorf("got %q", got)
	}
}

// licencesOf names the licences that a text grants; none where it is a text that we do not know.
func licencesOf(text string) []string {
	text = strings.Join(strings.Fields(text), " ")
	if strings.Contains(text, "Mozilla Public License") { // names others as its secondary licences
		return []string{"MPL-2.0"}
	}
	var found []string
	for _, c := range []struct{ words, name string }{
		{"GENERAL PUBLIC LICENSE", "GPL"},
		{"Apache License, Version 2.0", "Apache-2.0"},
		{"Apache License Version 2.0", "Apache-2.0"},
		{"Permission is hereby granted, free of charge", "MIT"},
		{"Redistribution and use in source and binary forms", "BSD"},
		{"Permission to use, copy, modify, and", "ISC"},
	} {
		if strings.Contains(text, c.words) && !slices.Contains(found, c.name) {
			found = append(found, c.name)
		}
	}
	return found
}

func TestLicences(t *testing.T) { // SEC-7
	program(t)
	inside := modules(t, "./cmd/agent")
	for path, dir := range modules(t, "-test", "./...") {
		var texts []string
		for _, pattern := range []string{"LICEN[CS]E*", "COPYING*", "licen[cs]e*"} {
			names, _ := filepath.Glob(filepath.Join(dir, pattern))
			texts = append(texts, names...)
		}
		if len(texts) == 0 {
			t.Errorf("%s has no licence in %s", path, dir)
		}
		for _, name := range texts {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Error(err)
				continue
			}
			granted := licencesOf(string(text))
			if len(granted) == 0 {
				t.Errorf("%s: %s is a licence that we do not know: read it", path, filepath.Base(name))
			}
			for _, l := range granted {
				if _, ships := inside[path]; licences[l] == "" || ships && licences[l] != "linked" {
					t.Errorf("%s comes under %s, which this project does not take in", path, l)
				}
			}
			t.Logf("%s: %s", path, strings.Join(granted, " and "))
		}
	}
}

func TestLicencesAreToldApart(t *testing.T) {
	for text, want := range map[string]string{
		"Apache License\n  Version 2.0, January 2004":                                                "Apache-2.0",
		"The MIT License\n\nPermission is hereby granted, free of\ncharge, to any person":            "MIT",
		"Redistribution and use in source and binary forms, with or without":                         "BSD",
		"Permission to use, copy, modify, and/or distribute this software":                           "ISC",
		"Mozilla Public License Version 2.0 ... GNU GENERAL PUBLIC LICENSE as secondary":             "MPL-2.0",
		"GNU GENERAL PUBLIC LICENSE Version 3":                                                       "GPL",
		"MIT and Apache.\nPermission is hereby granted, free of charge\nApache License\nVersion 2.0": "Apache-2.0 MIT",
		"All rights reserved.": "",
	} {
		if got := strings.Join(licencesOf(text), " "); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if licences["GPL"] != "" {
		t.Error("GPL may not be linked into a program under MIT")
	}
}

// The limits of the program as it is shipped (PERF-13).
const (
	maxSize = 30 << 20 // bytes, stripped
	maxInit = 5.0      // milliseconds before main, of all packages together
)

func TestProgramIsSmallAndStartsAtOnce(t *testing.T) { // PERF-13
	program(t)
	if testing.Short() {
		t.Skip("builds the program")
	}
	bin := filepath.Join(t.TempDir(), "agent")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", bin, "./cmd/agent")
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	info, err := os.Stat(bin)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > maxSize {
		t.Errorf("the program has %.1f MB, %d are allowed", float64(info.Size())/(1<<20), maxSize>>20)
	}
	// What a package costs before main is the same work each time: the least of several runs is nearest to it, whatever
	// else the machine does.
	least := map[string]float64{}
	for range 15 {
		run := exec.Command(bin, "version")
		run.Env = append(os.Environ(), "GODEBUG=inittrace=1", "HOME="+t.TempDir())
		var trace strings.Builder
		run.Stderr = &trace
		if err := run.Run(); err != nil {
			t.Fatalf("agent version: %v\n%s", err, trace.String())
		}
		costs := initCosts(trace.String())
		if len(costs) == 0 {
			t.Fatalf("no init trace in %q", trace.String())
		}
		for name, ms := range costs {
			if old, ok := least[name]; !ok || ms < old {
				least[name] = ms
			}
		}
	}
	var sum float64
	for _, ms := range least {
		sum += ms
	}
	dear := slices.SortedFunc(maps.Keys(least), func(a, b string) int { return int((least[b] - least[a]) * 1e6) })
	dear = dear[:min(5, len(dear))]
	for i, name := range dear {
		dear[i] = fmt.Sprintf("%s %.3f", name, least[name])
	}
	t.Logf("%.1f MB, %.2f ms before main; dearest, in ms: %s", float64(info.Size())/(1<<20), sum, strings.Join(dear, ", "))
	if sum > maxInit {
		t.Errorf("package initialization takes %.2f ms, %.0f are allowed; dearest, in ms: %s", sum, maxInit, strings.Join(dear, ", "))
	}
}

// initCosts reads what GODEBUG=inittrace=1 prints, "init PKG @0.5 ms, 0.018 ms clock, …", as milliseconds per package.
func initCosts(trace string) map[string]float64 {
	costs := map[string]float64{}
	for line := range strings.Lines(trace) {
		f := strings.Fields(line)
		if len(f) > 6 && f[0] == "init" && f[6] == "clock," {
			if ms, err := strconv.ParseFloat(f[4], 64); err == nil {
				costs[f[1]] = ms
			}
		}
	}
	return costs
}

func TestInitTraceIsRead(t *testing.T) {
	got := initCosts("init time @0.5 ms, 0.25 ms clock, 392 bytes, 7 allocs\nvarve 0.1\n")
	if len(got) != 1 || got["time"] != 0.25 {
		t.Errorf("got %v", got)
	}
}
