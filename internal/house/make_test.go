package house

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// targets are the Makefile's targets, each with the line that make alone prints for it.
func targets(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^([a-z][a-z-]*):(?:[^=\n]*## (.*))?`).FindAllStringSubmatch(read(t, "Makefile"), -1) {
		found[m[1]] = m[2]
	}
	return found
}

func TestMakefileOffersWhatIsPromised(t *testing.T) {
	have := targets(t)
	for _, name := range strings.Fields("help build run setup quick test race lint check bench fuzz eval golden demo demo-check pictures install cross") {
		if have[name] == "" {
			t.Errorf("make %s is promised, and make alone does not print it", name)
		}
	}
	phony := regexp.MustCompile(`(?m)^\.PHONY:(.*)$`).FindStringSubmatch(read(t, "Makefile"))
	for name, help := range have {
		if help == "" {
			t.Errorf("make %s has no words of its own (## after its prerequisites)", name)
		}
		if phony == nil || !slices.Contains(strings.Fields(phony[1]), name) {
			t.Errorf("make %s is not in .PHONY: a file of that name would silence it", name)
		}
	}
}

// The Makefile races and vets the same pure rooms that the table has.
func TestMakefileKnowsThePureRooms(t *testing.T) {
	line := regexp.MustCompile(`(?m)^PURE_ROOMS := (.*)$`).FindStringSubmatch(read(t, "Makefile"))
	if line == nil {
		t.Fatal("the Makefile has no line PURE_ROOMS := ...")
	}
	var want []string
	for _, r := range floors {
		if r.pure {
			want = append(want, r.path)
		}
	}
	got := strings.Fields(line[1])
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("PURE_ROOMS is %s, the table says %s", got, want)
	}
}

// made are the make targets that a text tells people to use: in backticks, or as a command in a block or script.
func made(text string) []string {
	var names []string
	for _, m := range regexp.MustCompile("(?m)(?:`|^\\s*(?:\\$ )?)make ([a-z][a-z-]*)").FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	return names
}

func TestDocumentsNameTargetsThatExist(t *testing.T) {
	have := targets(t)
	texts := documents(t)
	texts[".ci/run"] = read(t, ".ci/run")
	for doc, text := range texts {
		for _, name := range made(text) {
			if _, ok := have[name]; !ok {
				t.Errorf("%s: make %s does not exist", doc, name)
			}
		}
	}
	if got := made("use `make run`, or\n    make test\nto make sure"); !slices.Equal(got, []string{"run", "test"}) {
		t.Errorf("made sees %q", got)
	}
}

// Two commands do everything, and the README says just that; CI runs the second.
func TestTwoCommandsDoEverything(t *testing.T) {
	_, fences := prose(read(t, "README.md"))
	if len(fences) == 0 {
		t.Fatal("README.md has no block of commands")
	}
	var commands []string
	for _, line := range fences[0] {
		command, _, _ := strings.Cut(line, "#")
		commands = append(commands, strings.TrimSpace(command))
	}
	if want := []string{"make run", "make test"}; !slices.Equal(commands, want) {
		t.Errorf("README.md begins with %q, want %q", commands, want)
	}
	if !regexp.MustCompile(`(?m)^\s*make test\b`).MatchString(read(t, ".ci/run")) {
		t.Error(".ci/run does not run the README's test command, make test")
	}
}
