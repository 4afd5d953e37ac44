package harness

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs a part of a test in a process of its own where a test has
// started this binary for that; else the tests, which leave no goroutine.
func TestMain(m *testing.M) {
	if part := os.Getenv("VARVE_TEST_PART"); part != "" {
		parts()[part]()
		return
	}
	goleak.VerifyTestMain(m)
}

// parts are what other processes do, by name.
func parts() map[string]func() {
	return map[string]func(){"work": workForever, "wait": waitForever, "leave": leaveBehind, "compactToTheEnd": compactToTheEnd}
}
