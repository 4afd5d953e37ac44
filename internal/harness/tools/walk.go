package tools

import (
	"bufio"
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
)

// rule is one line of an ignore file, for what lies below its folder.
type rule struct {
	gitignore.Pattern
	depth int  // of its folder, in components below the top
	name  bool // has no slash: it judges the last component alone (folders above were judged on the way down)
}

// walk goes through the files of a folder in the order of names, without following symlinks, past what ignore files
// exclude (.gitignore and .ignore of every folder from the repository's root down, .git/info/exclude) and past ".git".
type walk struct {
	hidden bool // also what begins with a dot
	visit  func(file) error

	skipped int // folders that could not be read
	ignored int // entries that ignore files exclude
	dotted  int // hidden entries passed by
}

// file is one file of a walk; rel is relative to its root, with slashes.
type file struct {
	rel   string
	entry fs.DirEntry
}

func (w *walk) run(ctx context.Context, root string) error {
	rules, comps := above(root)
	return w.dir(ctx, root, "", comps, rules)
}

// above finds the ignore rules that stand above a folder, from its repository's root down, and the folder's
// components below that. A folder that they exclude was named on purpose: then they don't hold for its content.
func above(root string) (rules []rule, comps []string) {
	top := root
	for d := root; d != "/"; d = filepath.Dir(d) {
		if _, err := os.Lstat(filepath.Join(d, ".git")); err == nil {
			top = d
			break
		}
	}
	if top != root {
		comps = strings.Split(root[len(top)+1:], "/")
	}
	rules = ignoreFile(rules, filepath.Join(top, ".git", "info", "exclude"), 0)
	d := top
	for i, c := range comps { // the folder's own ignore files are read on entering it
		rules = ignoreFile(rules, filepath.Join(d, ".gitignore"), i)
		rules = ignoreFile(rules, filepath.Join(d, ".ignore"), i)
		if excluded(rules, comps[:i+1], true) {
			return nil, comps
		}
		d = filepath.Join(d, c)
	}
	return rules, comps
}

// inside adds the rules of a folder's own ignore files. entries are its content, sorted.
func inside(rules []rule, abs string, entries []fs.DirEntry, depth int) []rule {
	rules = slices.Clip(rules)
	for _, name := range []string{".gitignore", ".ignore"} {
		if _, ok := slices.BinarySearchFunc(entries, name, func(e fs.DirEntry, n string) int { return strings.Compare(e.Name(), n) }); ok {
			rules = ignoreFile(rules, filepath.Join(abs, name), depth)
		}
	}
	return rules
}

func ignoreFile(rules []rule, path string, depth int) []rule {
	f, _, err := openFile(path)
	if err != nil {
		return rules
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		line := strings.TrimSuffix(string(bytes.TrimPrefix(sc.Bytes(), []byte(bom))), "\r")
		if strings.TrimSpace(line) == "" || line[0] == '#' {
			continue
		}
		if strings.HasPrefix(line, `\#`) {
			line = line[1:]
		}
		name := !strings.Contains(strings.TrimSuffix(strings.TrimRight(line, " "), "/"), "/")
		rules = append(rules, rule{gitignore.ParsePattern(line, nil), depth, name})
	}
	return rules
}

func excluded(rules []rule, comps []string, dir bool) bool {
	for _, r := range slices.Backward(rules) {
		path := comps[r.depth:]
		if r.name {
			path = path[len(path)-1:]
		}
		if m := r.Match(path, dir); m > gitignore.NoMatch {
			return m == gitignore.Exclude
		}
	}
	return false
}

func (w *walk) dir(ctx context.Context, abs, rel string, comps []string, rules []rule) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	entries, err := os.ReadDir(abs)
	if err != nil && len(entries) == 0 {
		if rel == "" {
			return cause(err)
		}
		w.skipped++
		return nil
	}
	rules = inside(rules, abs, entries, len(comps))
	comps = append(slices.Clip(comps), "")
	for _, e := range entries {
		name := e.Name()
		if name == ".git" {
			continue
		}
		if !w.hidden && name[0] == '.' {
			w.dotted++
			continue
		}
		comps[len(comps)-1] = name
		if excluded(rules, comps, e.IsDir()) {
			w.ignored++
			continue
		}
		f := file{rel: name, entry: e}
		if rel != "" {
			f.rel = rel + "/" + name
		}
		if e.IsDir() {
			if err := w.dir(ctx, filepath.Join(abs, name), f.rel, comps, rules); err != nil {
				return err
			}
		} else if err := w.visit(f); err != nil {
			return err
		}
	}
	return nil
}
