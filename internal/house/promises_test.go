package house

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// shown are the tests that the rows of docs/promises.md name, as folder and
// name, and what is wrong with the rows.
func shown(page string) (tests, wrong []string) {
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---") || strings.Contains(line, "| shown by |") {
			continue
		}
		n := 0
		for _, part := range strings.Split(cells[len(cells)-1], ";") {
			_, rest, ok := strings.Cut(part, "`")
			dir, names, ok2 := strings.Cut(rest, "`")
			if !ok || !ok2 {
				continue // a figure, not a test
			}
			for _, name := range strings.Split(names, ",") {
				tests, n = append(tests, dir+" "+strings.TrimSpace(name)), n+1
			}
		}
		if len(cells) != 2 || n == 0 {
			wrong = append(wrong, "no test is named: "+strings.TrimSpace(line))
		}
	}
	return tests, wrong
}

// there reports whether a folder has a test or script of that name.
func there(dir, name string) bool {
	if !strings.HasPrefix(name, "Test") {
		return exists(filepath.Join(dir, name))
	}
	files, _ := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
	return slices.ContainsFunc(files, func(f string) bool {
		b, err := os.ReadFile(f)
		return err == nil && strings.Contains(string(b), "\nfunc "+name+"(t *testing.T)")
	})
}

// What docs/promises.md says is shown has a test of that name.
func TestPromisesAreShown(t *testing.T) {
	tests, wrong := shown(read(t, "docs/promises.md"))
	for _, test := range tests {
		dir, name, _ := strings.Cut(test, " ")
		if !there(dir, name) {
			wrong = append(wrong, fmt.Sprintf("there is no %s in %s", name, dir))
		}
	}
	slices.Sort(wrong)
	for _, w := range slices.Compact(wrong) {
		t.Errorf("docs/promises.md: %s", w)
	}
	if len(tests) < 80 {
		t.Errorf("docs/promises.md names %d tests", len(tests))
	}
}

func TestPromisesWithoutTestsAreSeen(t *testing.T) {
	tests, wrong := shown("| promise | shown by |\n|---|---|\n| a | `x/y` TestA, TestB; `z` c.txt |\n| b | a figure |\n| c |\n")
	if got := strings.Join(tests, "; "); got != "x/y TestA; x/y TestB; z c.txt" || len(wrong) != 2 {
		t.Errorf("%s, %q", got, wrong)
	}
	for name, want := range map[string]bool{"TestPromisesAreShown": true, "TestPromises": false, "doc.go": true, "dog.txt": false} {
		if there("internal/house", name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}
