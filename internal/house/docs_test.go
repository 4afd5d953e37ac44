package house

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// documents are the pages that people read, with their text, by path from the root.
func documents(t *testing.T) map[string]string {
	t.Helper()
	docs := map[string]string{}
	for _, name := range []string{"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"} {
		docs[name] = read(t, name)
	}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(p) != ".md" {
			return err
		}
		name, err := filepath.Rel(root, p)
		docs[filepath.ToSlash(name)] = read(t, filepath.ToSlash(name))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return docs
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Error(err)
	}
	return string(b)
}

func exists(name string) bool {
	_, err := os.Stat(filepath.Join(root, name))
	return err == nil
}

// planned says whether the path lies in a room that is in the table and not built yet: then it is a plan, no mistake.
func planned(name string) bool {
	for _, r := range floors {
		if (name == r.path || strings.HasPrefix(name, r.path+"/")) && !exists(r.path) {
			return true
		}
	}
	return false
}

// prose is the text without its fenced blocks, and the lines of each of those.
func prose(text string) (out string, fences [][]string) {
	var b strings.Builder
	inside := false
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "```"):
			if inside = !inside; inside {
				fences = append(fences, nil)
			}
		case inside:
			fences[len(fences)-1] = append(fences[len(fences)-1], strings.TrimSpace(line))
		default:
			b.WriteString(line)
		}
	}
	return b.String(), fences
}

var (
	code = regexp.MustCompile("`([^`\n]+)`")
	link = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	// A place in a file is named by what stands there, never by its number: numbers move with every edit.
	numbered = regexp.MustCompile(`([\w./-]+\.(?:go|md|txt|sh|jsonl)):\d+|#L\d+`)
)

// candidates are the places where a path in backticks may lie, from the root; none where it is no path of ours. A path
// with a placeholder (<name>, NNN, *, …) is an example.
func candidates(doc, token string) []string {
	if strings.ContainsAny(token, " <>*{}$…~|\"'()=") || strings.Contains(token, "NNN") || strings.Contains(token, "://") {
		return nil
	}
	token = strings.TrimSuffix(token, "/")
	first, _, nested := strings.Cut(token, "/")
	file := slices.Contains([]string{".go", ".md"}, path.Ext(token))
	switch {
	case slices.Contains([]string{"cmd", "internal", "docs", "tools", ".ci"}, first):
		return []string{token}
	case !nested:
		return nil
	case slices.ContainsFunc(floors, func(r room) bool { return strings.Split(r.short(), "/")[0] == first }):
		return []string{"internal/" + token, path.Join(path.Dir(doc), token)}
	case file && first != ".agents" && first != "":
		return []string{token, path.Join(path.Dir(doc), token)}
	}
	return nil
}

// untrue is what a page says about the repository that does not hold.
func untrue(doc, text string) []string {
	var wrong []string
	plain, _ := prose(text)
	for _, m := range code.FindAllStringSubmatch(plain, -1) {
		if at := candidates(doc, m[1]); len(at) > 0 && !slices.ContainsFunc(at, exists) && !slices.ContainsFunc(at, planned) {
			wrong = append(wrong, fmt.Sprintf("`%s` does not exist", m[1]))
		}
	}
	for _, m := range link.FindAllStringSubmatch(plain, -1) {
		target, _, _ := strings.Cut(m[1], "#")
		if target == "" || strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
			continue
		}
		if !exists(path.Join(path.Dir(doc), target)) {
			wrong = append(wrong, fmt.Sprintf("the link to %s leads nowhere", m[1]))
		}
	}
	for _, m := range numbered.FindAllStringSubmatch(text, -1) {
		if m[1] == "" || exists(m[1]) || exists("internal/"+m[1]) || exists(path.Join(path.Dir(doc), m[1])) {
			wrong = append(wrong, m[0]+" is a line number, and will be another one tomorrow: name what stands there")
		}
	}
	return wrong
}

func TestDocumentsNameWhatExists(t *testing.T) {
	for name, text := range documents(t) {
		for _, w := range untrue(name, text) {
			t.Errorf("%s: %s", name, w)
		}
	}
}

func TestUntrueIsSeen(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"see `internal/hause`", "does not exist"},
		{"see `internal/house/`", ""},
		{"see `house/doc.go`", ""},
		{"see `house/dog.go`", "does not exist"},
		{"see `docs/nothing.md`", "does not exist"},
		{"see `docs/decisions/NNN-why.md` and `internal/<room>`", ""},
		{"see `charm.land/bubbletea/v2` and `go test ./...`", ""},
		{"see `.agents/commands/x.md`", ""},
		{"see [this](../README.md#top)", ""},
		{"see [this](REEDME.md)", "leads nowhere"},
		{"see [this](https://example.com/x.md)", ""},
		{"it stands in internal/house/doc.go:3", "line number"},
		{"it stands in ../README.md#L3", "line number"},
		{"a run prints calc.go:12 here", ""},
		{"```\nsee `internal/hause`\n```", ""},
	} {
		got := strings.Join(untrue("docs/x.md", c.text), "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.text, got, c.want)
		}
	}
}

// A decision is one page with four parts. It is superseded by a later one, never edited, and the index lists all.
func TestDecisionsAreIndexed(t *testing.T) {
	names, _ := filepath.Glob(filepath.Join(root, "docs/decisions/[0-9]*.md"))
	if len(names) == 0 {
		t.Fatal("docs/decisions has no page")
	}
	var rows []string
	for i, p := range names {
		name := filepath.Base(p)
		text := read(t, "docs/decisions/"+name)
		first, _, _ := strings.Cut(text, "\n")
		title, ok := strings.CutPrefix(first, fmt.Sprintf("# %03d: ", i))
		if !ok || !strings.HasPrefix(name, fmt.Sprintf("%03d-", i)) {
			t.Errorf("docs/decisions/%s: want number %03d in its name, and \"# %03d: title\" in its first line", name, i, i)
		}
		for _, part := range []string{"## Context", "## Choice", "## What it costs", "## What we gave up"} {
			if !strings.Contains(text, "\n"+part+"\n") {
				t.Errorf("docs/decisions/%s has no %q", name, part)
			}
		}
		if n := strings.Count(text, "\n"); n > 60 {
			t.Errorf("docs/decisions/%s has %d lines: one page is 60", name, n)
		}
		rows = append(rows, fmt.Sprintf("- [%03d](%s) %s", i, name, title))
	}
	var listed []string
	for line := range strings.Lines(read(t, "docs/decisions/README.md")) {
		if strings.HasPrefix(line, "- [") {
			listed = append(listed, strings.TrimSpace(line))
		}
	}
	if want, got := strings.Join(rows, "\n"), strings.Join(listed, "\n"); got != want {
		t.Errorf("docs/decisions/README.md lists\n%s\nand should list\n%s", got, want)
	}
}

// ARCHITECTURE.md prints the table between two marks; UPDATE=1 writes it there.
func TestArchitecturePrintsTheFloors(t *testing.T) {
	const begin, end = "<!-- floors: printed by internal/house, UPDATE=1 rewrites it -->\n", "<!-- end of floors -->\n"
	var table strings.Builder
	table.WriteString("| floor | package | its one sentence | may import (ours) |\n|---|---|---|---|\n")
	for _, r := range floors {
		name := "`" + r.path + "`"
		if r.tree {
			name += " and below"
		}
		says := r.says
		if r.pure {
			says += " (**pure**)"
		}
		fmt.Fprintf(&table, "| %d | %s | %s | %s |\n", r.floor, name, says, r.may)
	}
	text := read(t, "ARCHITECTURE.md")
	head, rest, ok := strings.Cut(text, begin)
	printed, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("ARCHITECTURE.md lacks the marks %q and %q", begin, end)
	}
	if printed == table.String() {
		return
	}
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(filepath.Join(root, "ARCHITECTURE.md"), []byte(head+begin+table.String()+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("ARCHITECTURE.md prints\n%s\nand the table is\n%s\nUPDATE=1 go test ./internal/house writes it", printed, table.String())
}
