package tools

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// maxWatched is how many files are watched at most.
const maxWatched = 100_000

// folder is one folder of the workspace, as it was last seen.
type folder struct {
	path  string // real
	rel   string // below the workspace
	files map[string]*watched
	now   sig // as it is

	// Of one that was looked through for files that git would add:
	repo   *gitat
	sig    sig // as it was then
	listed bool
	unsure bool
	in     uint64           // the look that listed it last
	other  map[string]other // what is there and not watched
	above  []rule           // what ignore files above it say of its content
	comps  []string         // where it is in its repository
}

// other is a name in a folder that is no watched file.
type other struct {
	shut  bool   // ignored, or not looked into; otherwise a folder that was
	since uint64 // the look that saw it first
}

func (w *watch) file(real string) *watched {
	d, name := w.folder(filepath.Dir(real)), filepath.Base(real)
	f := d.files[name]
	if f == nil {
		f = &watched{unsettled: true, found: w.number}
		d.files[name] = f
	}
	return f
}

func (w *watch) folder(real string) *folder {
	d := w.folders[real]
	if d == nil {
		d = &folder{path: real, rel: w.box.rel(real), files: map[string]*watched{}}
		w.folders[real] = d
	}
	return d
}

// appeared reports whether what is at a path was not there at the look before.
func (w *watch) appeared(path string) bool {
	for ; within(w.box.workspace, path) && path != w.box.workspace; path = filepath.Dir(path) {
		if d := w.folders[filepath.Dir(path)]; d != nil && d.listed {
			o, there := d.other[filepath.Base(path)]
			return !there || o.since == w.number
		}
	}
	return false
}

// sight is what a look saw.
type sight struct {
	w         *watch
	began     time.Time
	git       bool // what git tracks is looked at
	recording bool // what has changed was changed by a command

	mu     sync.Mutex
	moved  []*moved
	whole  bool // all that git tracks was seen
	relist bool // ignore files have changed
}

func (s *sight) part() {
	s.mu.Lock()
	s.whole = false
	s.mu.Unlock()
}

func (s *sight) move(m *moved) {
	s.mu.Lock()
	s.moved = append(s.moved, m)
	s.relist = s.relist || strings.HasSuffix(m.path, "/.gitignore")
	s.mu.Unlock()
}

// see finds what is not as it was last seen: of the files that the session has read, and, with git, of what git tracks
// or would add. What is new is listed before the index is read, so that a file that was there is told from one that a
// command has made.
func (w *watch) see(ctx context.Context, seen []string, git, recording bool) *sight {
	s := &sight{w: w, began: time.Now(), git: git, recording: recording, whole: git}
	if w.number++; w.folders == nil {
		w.folders = map[string]*folder{}
	}
	for _, p := range seen {
		if within(w.box.workspace, p) && p != w.box.workspace && !w.box.guards(p) {
			w.file(p).read = true
		}
	}
	if git && !w.based {
		w.indexes(s)
	}
	top, err := unix.Open(w.box.workspace, searchDir|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		s.whole = false
		return s
	}
	defer unix.Close(top)
	s.stat(ctx, top)
	if !git {
		return s
	}
	for more := true; more && ctx.Err() == nil; s.stat(ctx, top) {
		s.list(ctx)
		more = w.indexes(s) // may have found repositories inside
	}
	s.whole = s.whole && ctx.Err() == nil && len(w.repos) > 0
	return s
}

// stat looks at the files that this look has not seen yet.
func (s *sight) stat(ctx context.Context, top int) {
	var dirs []*folder
	for _, d := range s.w.folders {
		if s.git || d.read() {
			dirs = append(dirs, d)
		}
	}
	each(dirs, func(d *folder) {
		if ctx.Err() != nil || !s.folder(top, d) {
			s.part()
		}
	})
}

func (s *sight) folder(top int, d *folder) bool {
	var st unix.Stat_t
	fd, err := openIn(top, d.rel, searchDir|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	switch {
	case err == nil:
		defer unix.Close(fd)
		if err := unix.Fstat(fd, &st); err != nil {
			return false
		}
		d.now = sigOf(&st)
	case gone(err):
		d.now = sig{}
	default:
		return false
	}
	for name, f := range d.files {
		if f.at == s.w.number || !s.git && !f.read {
			continue
		}
		f.at = s.w.number
		now := sig{}
		if err == nil && unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT != unix.S_IFDIR {
			now = sigOf(&st)
		}
		switch {
		case now == f.sig && !f.unsure && !f.unsettled:
		case !s.recording && f.git != nil && f.repo.vouches(f.git, now):
			f.settle(now, held{oid: f.git.oid, repo: f.repo})
		default:
			s.move(&moved{watched: f, path: filepath.Join(d.path, name), now: now})
		}
	}
	return true
}

func (d *folder) read() bool {
	for _, f := range d.files {
		if f.read {
			return true
		}
	}
	return false
}

// list looks for files that git would add, in the folders that have changed.
func (s *sight) list(ctx context.Context) {
	w := s.w
	for _, r := range slices.Clone(w.repos) {
		if r.listed && !s.relist {
			continue
		}
		at := r.root
		if within(r.root, w.box.workspace) {
			at = w.box.workspace
		}
		rules, comps := w.ignores(r, at)
		r.listed = s.enter(ctx, w.folder(at), r, rules, comps, "", true)
	}
	s.relist = false
	for path, d := range w.folders {
		switch {
		case d.now == sig{} && d.empty():
			delete(w.folders, path)
		case d.listed && d.in != w.number && (d.now != d.sig || d.unsure):
			s.enter(ctx, d, d.repo, d.above, d.comps, "", false)
		}
	}
}

// empty reports whether nothing that could come back is known of a folder.
func (d *folder) empty() bool {
	for _, f := range d.files {
		if f.git != nil || f.read || f.sig != (sig{}) {
			return false
		}
	}
	return true
}

// enter lists a folder, and those below that are new to it (all: every one). was is why what is found there may have
// been there before.
func (s *sight) enter(ctx context.Context, d *folder, r *gitat, rules []rule, comps []string, was string, all bool) bool {
	w := s.w
	if ctx.Err() != nil || len(w.folders)+len(s.moved) > maxWatched {
		s.part()
		return false
	}
	fd, err := openDir(d.path, false)
	if err != nil {
		return gone(err)
	}
	defer unix.Close(fd)
	list, err := openIn(fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		s.part()
		return false
	}
	dir := os.NewFile(uintptr(list), d.path)
	defer dir.Close()
	var st unix.Stat_t
	if err = unix.Fstat(list, &st); err == nil {
		d.now = sigOf(&st)
	}
	entries, rerr := dir.ReadDir(-1)
	if err != nil || rerr != nil {
		s.part()
		return false
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	old := d.other
	d.repo, d.above, d.comps, d.in = r, rules, comps, w.number
	d.sig, d.unsure, d.listed, d.other = d.now, d.now.fresh(), true, map[string]other{}
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == ".gitignore" }) {
		rules = ignoreFile(slices.Clip(rules), filepath.Join(d.path, ".gitignore"), len(comps))
	}
	comps = append(slices.Clip(comps), "")
	for _, e := range entries {
		name := e.Name()
		path := filepath.Join(d.path, name)
		comps[len(comps)-1] = name
		o, known := old[name]
		why := was
		if known && o.shut {
			why = "git did not look at it before"
		}
		if !known {
			o.since = w.number
		}
		switch {
		case name == ".git":
		case e.IsDir():
			o.shut = w.box.guards(path) || w.nested(path) || excluded(rules, comps, true)
			if d.other[name] = o; o.shut {
				continue
			}
			if sub := w.folder(path); all || !sub.listed {
				s.enter(ctx, sub, r, rules, slices.Clone(comps), why, all)
			}
		case d.files[name] != nil: // tracked, read, or known from before
		case excluded(rules, comps, false):
			o.shut = true
			d.other[name] = o
		default:
			f := &watched{unsettled: true, found: w.number, at: w.number, was: why}
			d.files[name] = f
			m := &moved{watched: f, path: path}
			if err := unix.Fstatat(list, name, &st, unix.AT_SYMLINK_NOFOLLOW); err == nil {
				m.now = sigOf(&st)
			}
			s.move(m)
		}
	}
	return true
}

// guards reports whether a folder is one of Varve's own.
func (b *Box) guards(path string) bool {
	return slices.ContainsFunc(b.guarded, func(g guard) bool { return within(g.real, path) })
}
