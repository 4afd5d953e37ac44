package main

import (
	"os"
	"path/filepath"
	"testing"

	"varve/internal/demo"
)

// A new session in the demo begins with the project as it was, but in a folder
// that a person named nothing is written over. // CLI-1
func TestRenewedSample(t *testing.T) {
	for name, want := range map[string]string{sampleName + "1": "# tally", "mine": "changed"} {
		dir := filepath.Join(t.TempDir(), name)
		readme := filepath.Join(dir, "README.md")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := demo.Write(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(readme, []byte("changed"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := renewSample(dir); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(readme); err != nil || string(b[:len(want)]) != want {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
}
