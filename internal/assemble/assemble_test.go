package assemble

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ASM-1, ASM-2, ASM-3, SEC-4: what is taken, in which order, and what is said
// of the rest.
func TestLook(t *testing.T) {
	root := t.TempDir()
	conf, repo := filepath.Join(root, "conf"), filepath.Join(root, "repo")
	sub := filepath.Join(repo, "a", "b")
	put := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put(filepath.Join(repo, ".git", "HEAD"), "")
	put(filepath.Join(conf, "AGENTS.md"), "\uFEFFuser\r\nrules\r")
	put(filepath.Join(conf, "prompts", "b.txt"), "b")
	put(filepath.Join(conf, "prompts", "a.md"), "a")
	put(filepath.Join(conf, "prompts", "skip.json"), "{}")
	put(filepath.Join(repo, "AGENTS.md"), "root rules")
	put(filepath.Join(repo, "CLAUDE.md"), "not read: there is an AGENTS.md")
	put(filepath.Join(repo, "a", "CLAUDE.md"), "claude")
	put(filepath.Join(repo, "a", "GEMINI.md"), " \n\t")
	put(filepath.Join(sub, "AGENTS.md"), strings.Repeat("ä", SourceLimit+1))
	put(filepath.Join(repo, ".agents", "prompts", "p.md"), "project prompt")

	got := func(trusted bool) map[string]string {
		r, err := Look(t.Context(), Where{Workspace: sub, ConfigDir: conf, Platform: "linux/amd64", Trusted: trusted})
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]string{}
		for _, s := range r.Sources {
			text := string(r.Texts[s.Key])
			if s.Key == "00-agent" {
				if !strings.Contains(text, sub) {
					t.Error("the built-in prompt does not name the workspace")
				}
				text = "…"
			}
			out[s.Key] = s.Outcome + " " + s.Why + "|" + text
		}
		return out
	}
	want := map[string]string{
		"00-agent":                "published |…",
		"10-user/AGENTS.md":       "published |user\nrules\n",
		"20-user-prompts/a.md":    "published |a",
		"20-user-prompts/b.txt":   "published |b",
		"30-project/00/AGENTS.md": "published |root rules",
		"30-project/01/CLAUDE.md": "published |claude",
		"30-project/01/GEMINI.md": "blank |",
		"30-project/02/AGENTS.md": "omitted longer than 65536 characters|",
	}
	if d := cmp.Diff(want, got(false)); d != "" {
		t.Errorf("untrusted (-want +got):\n%s", d)
	}
	want["40-project-prompts/p.md"] = "published |project prompt"
	if d := cmp.Diff(want, got(true)); d != "" {
		t.Errorf("trusted (-want +got):\n%s", d)
	}
}

// ASM-2: what can't be read or leads elsewhere is left out, and said.
func TestLeftOut(t *testing.T) {
	root := t.TempDir()
	repo := filepath.Join(root, "repo")
	out := filepath.Join(root, "outside.md")
	for _, err := range []error{
		os.MkdirAll(filepath.Join(repo, ".git"), 0o755),
		os.WriteFile(out, []byte("secret"), 0o644),
		os.Symlink(out, filepath.Join(repo, "AGENTS.md")),
		os.Mkdir(filepath.Join(repo, "x"), 0o755),
		os.WriteFile(filepath.Join(repo, "x", "AGENTS.md"), []byte("caf\xe9"), 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	r, err := Look(t.Context(), Where{Workspace: filepath.Join(repo, "x"), Platform: "p"})
	if err != nil {
		t.Fatal(err)
	}
	var why []string
	for _, s := range r.Sources[1:] {
		why = append(why, s.Outcome+": "+strings.ReplaceAll(s.Why, repo, "REPO"))
	}
	want := []string{"omitted: it leads out of REPO", "omitted: not valid UTF-8"}
	if d := cmp.Diff(want, why); d != "" {
		t.Error(d)
	}
}

// ASM-2: the limit for all leaves sources out whole, in order.
func TestTotalLimit(t *testing.T) {
	conf := t.TempDir()
	dir := filepath.Join(conf, "prompts")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, n := range []string{"a", "b", "c", "d", "e"} {
		if err := os.WriteFile(filepath.Join(dir, n+".md"), []byte(strings.Repeat(n, SourceLimit)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Look(t.Context(), Where{Workspace: t.TempDir(), ConfigDir: conf, Platform: "p"})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, s := range r.Sources {
		if s.Outcome == Published {
			n++
		}
	}
	if n != 4 || r.Sources[4].Outcome != Omitted {
		t.Errorf("%d published, want the prompt and three; fourth prompt file: %+v", n, r.Sources[4])
	}
}
