package main

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
)

// binary is PERF-13: the size of the program, and what its packages do before
// main.
func binary(b *bench) ([]row, error) {
	info, err := os.Stat(b.agent)
	if err != nil {
		return nil, err
	}
	clock := regexp.MustCompile(`(?m)^init \S+ @[0-9.]+ ms, ([0-9.]+) ms clock`)
	least := -1.0
	for range 2 * b.n {
		cmd := exec.Command(b.agent, "version")
		cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			return nil, err
		}
		sum := 0.0
		for _, m := range clock.FindAllStringSubmatch(string(out), -1) {
			v, err := strconv.ParseFloat(m[1], 64)
			if err != nil {
				return nil, err
			}
			sum += v
		}
		if least < 0 || sum < least {
			least = sum
		}
	}
	return []row{
		{id: "PERF-13", what: "size of the program, stripped", value: mb(info.Size()), unit: "MB", limit: 30, from: "PERF-13"},
		{id: "PERF-13", what: "package initialization", value: least, unit: "ms", limit: 5, from: "PERF-13"},
	}, nil
}
