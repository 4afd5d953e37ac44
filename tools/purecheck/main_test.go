package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The room in testdata says beside each function what must be seen; a function without a remark must pass. It is read
// as make lint reads the real rooms, through go vet. (analysistest cannot: it wants facts in one order of bytes.)
func TestSeesChanceAndNothingElse(t *testing.T) {
	tool := filepath.Join(t.TempDir(), "purecheck")
	if out, err := exec.Command("go", "build", "-o", tool, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	room := filepath.Join("testdata", "room")
	vet := exec.Command("go", "vet", "-vettool="+tool, ".")
	vet.Dir = room
	out, err := vet.CombinedOutput()
	if err == nil {
		t.Error("go vet is content with a room that is not pure")
	}
	src, err := os.ReadFile(filepath.Join(room, "room.go"))
	if err != nil {
		t.Fatal(err)
	}
	reports := strings.Split(strings.TrimSpace(string(out)), "\n")
	for i, line := range strings.Split(string(src), "\n") {
		name := regexp.MustCompile(`^func (\w+)`).FindStringSubmatch(line)
		if name == nil {
			continue
		}
		_, want, _ := strings.Cut(line, "// want ")
		want = strings.Trim(want, "`")
		var got []string
		for _, r := range reports {
			if strings.Contains(r, ": "+name[1]+" is not pure") {
				got = append(got, r)
			}
		}
		switch {
		case want == "" && len(got) > 0:
			t.Errorf("line %d: %s should pass: %s", i+1, name[1], got)
		case want != "" && (len(got) != 1 || !regexp.MustCompile(want).MatchString(got[0])):
			t.Errorf("line %d: want %q once, got %q", i+1, want, got)
		}
	}
}
