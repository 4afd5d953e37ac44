package tools

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// gitat is a repository that has files in the workspace.
type gitat struct {
	root   string // of its work tree
	dir    string // its .git
	common string // where objects and excludes are: of a linked work tree another one

	index   sig // as it was read
	unsure  bool
	exclude [2]sig
	listed  bool // the folders of its work tree were looked through
	read    bool
}

// repository is the one whose work tree begins at a folder, or nil.
func repository(root string) *gitat {
	r := &gitat{root: root, dir: filepath.Join(root, ".git")}
	at := sigAt(r.dir)
	switch {
	case at.is(unix.S_IFDIR):
	case at.is(unix.S_IFREG) && at.size < 4096:
		b, _, err := load(context.Background(), r.dir)
		to, ok := strings.CutPrefix(strings.TrimRight(string(b), "\r\n"), "gitdir: ")
		if err != nil || !ok {
			return nil
		}
		if r.dir = to; !filepath.IsAbs(to) {
			r.dir = filepath.Join(root, to)
		}
	default:
		return nil
	}
	var err error
	if r.dir, err = realpath(filepath.Clean(r.dir)); err != nil || sigAt(filepath.Join(r.dir, "HEAD")) == (sig{}) {
		return nil
	}
	r.common = r.dir
	if b, _, err := load(context.Background(), filepath.Join(r.dir, "commondir")); err == nil {
		if r.common = strings.TrimRight(string(b), "\r\n"); !filepath.IsAbs(r.common) {
			r.common = filepath.Join(r.dir, r.common)
		}
		if r.common, err = realpath(r.common); err != nil {
			return nil
		}
	}
	return r
}

// indexes reads what git tracks, where that has changed. It reports whether anything was read.
func (w *watch) indexes(s *sight) (news bool) {
	if len(w.repos) == 0 {
		for d := w.box.workspace; ; d = filepath.Dir(d) {
			if r := repository(d); r != nil {
				w.repos = []*gitat{r}
				break
			}
			if d == "/" {
				s.part()
				return false
			}
		}
	}
	for i := 0; i < len(w.repos); i++ {
		r := w.repos[i]
		path := filepath.Join(r.dir, "index")
		now := sigAt(path)
		if x := r.excludes(w.box); x != r.exclude {
			r.exclude, r.listed = x, false
		}
		if r.read && now == r.index && !r.unsure {
			continue
		}
		if again := repository(r.root); again == nil || again.dir != r.dir || w.track(s, r, path, now) != nil {
			s.part()
			w.repos = slices.Delete(w.repos, i, i+1)
			w.based = false
			i--
			continue
		}
		news = true
	}
	return news
}

// track takes in what an index names.
func (w *watch) track(s *sight, r *gitat, path string, now sig) error {
	if now.size > maxIndex {
		return errIndex
	}
	var list []tracked
	if now != (sig{}) {
		data, _, err := load(context.Background(), path)
		if err != nil {
			return err
		}
		if list, err = parseIndex(data); err != nil || len(list) > maxWatched {
			return errIndex
		}
	}
	for _, d := range w.folders {
		for _, f := range d.files {
			if f.repo == r {
				f.git = nil
			}
		}
	}
	for i := range list {
		e := &list[i]
		path := r.root + "/" + e.path
		if !within(w.box.workspace, path) || w.box.guards(path) {
			continue
		}
		if e.mode&gitType == gitRepo {
			w.nested(path)
			continue
		}
		d, name := w.folder(filepath.Dir(path)), filepath.Base(path)
		f := d.files[name]
		if f == nil {
			f = &watched{unsettled: true, found: w.number}
			d.files[name] = f
			if s.recording && !w.appeared(path) {
				f.was = "git did not track it before"
			}
		}
		f.git, f.repo = e, r
	}
	r.index, r.unsure, r.read = now, now.fresh(), true
	return nil
}

// nested reports whether a folder is a repository of its own, which is then looked at too.
func (w *watch) nested(path string) bool {
	if slices.ContainsFunc(w.repos, func(r *gitat) bool { return r.root == path }) {
		return true
	}
	if sigAt(path+"/.git") == (sig{}) {
		return false
	}
	r := repository(path)
	if r != nil {
		w.repos = append(w.repos, r)
	}
	return r != nil
}

// vouches reports whether a file is as git noted it when it held what git tracks there.
func (r *gitat) vouches(e *tracked, now sig) bool {
	same := func(t [2]uint32, ns int64) bool {
		return uint32(ns/1e9) == t[0] && (t[1] == 0 || uint32(ns%1e9) == t[1])
	}
	noted := int64(e.mtime[0])*1e9 + int64(e.mtime[1])
	return e.noted && now.is(unix.S_IFREG) && e.mode&gitType != gitLink && uint32(now.size) == e.size &&
		same(e.mtime, now.mtime) && (e.ctime == [2]uint32{} || same(e.ctime, now.ctime)) && (e.ino == 0 || e.ino == uint32(now.ino)) &&
		noted < r.index.mtime && (e.mode&0o100 != 0) == (now.mode&0o100 != 0) && !now.fresh()
}

// excludes is where ignore rules stand outside the work tree.
func (r *gitat) excludes(b *Box) [2]sig {
	return [2]sig{sigAt(filepath.Join(r.common, "info", "exclude")), sigAt(b.gitConfig("ignore"))}
}

// gitConfig is a file of the person's own settings of git.
func (b *Box) gitConfig(name string) string {
	dir := b.env("XDG_CONFIG_HOME")
	if dir == "" {
		dir = filepath.Join(b.env("HOME"), ".config")
	}
	return filepath.Join(dir, "git", name)
}

// ignores is the rules above a folder of the work tree, and where it is there.
func (w *watch) ignores(r *gitat, at string) (rules []rule, comps []string) {
	rules = ignoreFile(nil, w.box.gitConfig("ignore"), 0)
	rules = ignoreFile(rules, filepath.Join(r.common, "info", "exclude"), 0)
	if at == r.root {
		return rules, nil
	}
	comps = strings.Split(strings.TrimPrefix(at, r.root+"/"), "/")
	d := r.root
	for i, c := range comps {
		rules = ignoreFile(rules, filepath.Join(d, ".gitignore"), i)
		d = filepath.Join(d, c)
	}
	return rules, comps
}
