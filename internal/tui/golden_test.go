package tui

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// golden compares content, without its colours, with testdata/name.golden, whose first line is "# " and the sentence: what
// to look at. UPDATE=1 writes it.
func golden(t *testing.T, name, sentence, content string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	got := "# " + sentence + "\n" + ansi.Strip(content)
	if got[len(got)-1] != '\n' {
		got += "\n"
	}
	if os.Getenv("UPDATE") != "" {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: UPDATE=1 writes it", err)
	}
	if got != string(want) {
		t.Errorf("%s is no longer what is drawn:\n%s", path, got)
	}
}
