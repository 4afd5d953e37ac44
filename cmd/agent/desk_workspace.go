package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// What the interface asks of the workspace.

// maxFiles is how many paths completion looks at.
const maxFiles = 20_000

// Files asks git, so that ignored files are left out; elsewhere it walks.
// Repository settings can't make git run anything (SEC-4).
func (d *desk) Files(ctx context.Context) ([]string, error) {
	folder := d.workspace()
	cmd := exec.CommandContext(ctx, "git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0")
	if b, err := cmd.Output(); err == nil {
		files := strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
		return files[:min(len(files), maxFiles)], nil
	}
	var out []string
	err := filepath.WalkDir(folder, func(path string, e os.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return nil // a folder that can't be read has no names to offer
		case len(out) >= maxFiles:
			return filepath.SkipAll
		case e.IsDir() && path != folder && (strings.HasPrefix(e.Name(), ".") || e.Name() == "node_modules"):
			return filepath.SkipDir
		case !e.IsDir():
			if rel, err := filepath.Rel(folder, path); err == nil {
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
