package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"varve/internal/harness"
	"varve/internal/session"
	"varve/internal/words"
)

// What the interface asks of the workspace, and of what fills the window.

// maxFiles is how many paths completion looks at.
const maxFiles = 20_000

// Files asks git, so that ignored files are left out; elsewhere it walks.
// Repository settings can't make git run anything (SEC-4).
func (d *desk) Files(ctx context.Context) ([]string, error) {
	cmd := exec.CommandContext(ctx, "git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = d.m.workspace
	cmd.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0")
	if b, err := cmd.Output(); err == nil {
		files := strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
		return files[:min(len(files), maxFiles)], nil
	}
	var out []string
	err := filepath.WalkDir(d.m.workspace, func(path string, e os.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return nil // a folder that can't be read has no names to offer
		case len(out) >= maxFiles:
			return filepath.SkipAll
		case e.IsDir() && path != d.m.workspace && (strings.HasPrefix(e.Name(), ".") || e.Name() == "node_modules"):
			return filepath.SkipDir
		case !e.IsDir():
			if rel, err := filepath.Rel(d.m.workspace, path); err == nil {
				out = append(out, rel)
			}
		}
		return nil
	})
	return out, err
}

// gitBranch reads the branch's name from .git, without running git.
func gitBranch(dir string) string {
	for ; ; dir = filepath.Dir(dir) {
		b, err := os.ReadFile(filepath.Join(dir, ".git", "HEAD"))
		if err == nil {
			s := strings.TrimSpace(string(b))
			if name, ok := strings.CutPrefix(s, "ref: refs/heads/"); ok {
				return name
			}
			return s[:min(len(s), 8)]
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// contextText says what fills the window, by layer.
func contextText(ctx context.Context, m *machine, l *harness.Local) (string, error) {
	s := l.State()
	size := map[session.ItemKind]int{}
	count := map[session.ItemKind]int{}
	for it := range s.Branch.View.All {
		size[it.Kind] += it.Tokens.N
		count[it.Kind]++
	}
	occ := s.Occupancy()
	capacity := session.Capacity{Source: "none"}
	if t, err := m.resolve(ctx, s.Branch.Model); err == nil {
		capacity = t.Window
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s, next request: %s tokens", s.Branch.Model, words.Tokens(occ))
	if capacity.N > 0 {
		fmt.Fprintf(&b, " of %d (%s), %d %%\n", capacity.N, capacity.Source, occ.N*100/capacity.N)
	} else {
		b.WriteString("; the window is unknown until the provider reports one\n")
	}
	row := func(name string, n, tokens int) {
		bar := ""
		if total := s.Branch.Occupied(); total > 0 {
			bar = strings.Repeat("█", min(tokens*30/total, 30))
		}
		fmt.Fprintf(&b, "%-22s %5d  ~%-8d %s\n", name, n, tokens, bar)
	}
	b.WriteString("\nlayer                  count  tokens\n")
	row("tools", 1, s.Branch.Tools.Tokens.N)
	for _, k := range []session.ItemKind{
		session.InstructionItem, session.CheckpointItem, session.UserItem, session.ShellItem, session.AssistantItem, session.ReasoningItem,
		session.CallItem, session.ResultItem, session.PlanKind,
	} {
		if count[k] > 0 {
			row(string(k), count[k], size[k])
		}
	}
	b.WriteString("\nlayers are our estimates; the total is the provider's where it has no ~\n")
	return b.String(), nil
}
