package tools

import (
	"cmp"
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// What a command changes is found by two looks, one before it and one after (BRN-8). Watched are the files that git
// tracks in the workspace or would add to what it tracks, and those that the session has read or made. What a file
// held before a command is in git's store, where it is as git has it, or is put into ours before the command starts
// (LOG-5). git itself is run for nothing but to read its objects, and never with the repository's settings (SEC-4).

const (
	maxBefore  = 1 << 20  // bytes of a file that is kept in case a command changes it
	maxHeld    = 16 << 20 // bytes of all that are
	maxChange  = maxEdit  // bytes of a file that a command has changed
	maxChanged = 1000     // files that one command changes
	maxChanges = 64 << 20 // bytes of them
	maxIndex   = 16 << 20 // bytes of git's index; a file takes about 100

	lookBefore = 500 * time.Millisecond // how long a command may wait for it
	lookAfter  = 2 * time.Second
	lookStop   = 100 * time.Millisecond // where somebody waits for the end (TUI-5)
	rest       = 30                     // times as long as it took, a look that took too long is not tried again

	// tick is how long after a change another may leave the same times behind.
	tick = 20 * time.Millisecond
)

// sig is what a file's content can't change without; the zero one is of no file.
type sig struct {
	dev, ino           uint64
	mode               uint32
	size, mtime, ctime int64 // bytes, nanoseconds
}

func sigOf(st *unix.Stat_t) sig {
	return sig{
		uint64(st.Dev), uint64(st.Ino), uint32(st.Mode), st.Size, //nolint:unconvert // their types differ by system
		unix.TimespecToNsec(st.Mtim), unix.TimespecToNsec(st.Ctim),
	}
}

func (s sig) is(kind uint32) bool { return s.mode&unix.S_IFMT == kind }
func (s sig) perm() uint32        { return s.mode & 0o777 }

// held says where the content of a file is kept. The zero one is of no file.
type held struct {
	sha    string // in Blobs
	oid    oid    // in git's store, as git's index has it
	repo   *gitat
	proved bool   // its bytes were seen to be those of oid
	why    string // in neither
}

// watched is one file as it was last seen.
type watched struct {
	sig       sig
	held      held
	unsure    bool     // it may have changed since, and look the same
	unsettled bool     // it was found, and not seen yet
	was       string   // of one that was found: why its content is not known, though it was there before
	counted   int64    // its part of maxHeld
	git       *tracked // as the index has it
	repo      *gitat
	read      bool   // the session has read or made it
	at        uint64 // the look that has seen it
	found     uint64 // the look that has found it
}

// watch is what is known of the workspace's files. The zero value with a box has not looked yet.
type watch struct {
	box *Box

	mu      sync.Mutex // held while files are looked at, and while a tool changes one
	number  uint64     // of looks
	folders map[string]*folder
	repos   []*gitat
	based   bool      // what git tracks was seen to its end
	running int       // commands between their two looks
	since   time.Time // when the first of them began
	pending []Change  // by commands, and not handed over yet
	again   time.Time // what git tracks is not looked at before
	heldSum atomic.Int64
}

// A look is what one command has begun with.
type look struct {
	w     *watch
	whole bool // all that git tracks was seen
	seen  []string
}

// begin looks at the files before a command. seen is the real paths that the session has read or made.
func (w *watch) begin(ctx context.Context, seen []string) *look {
	w.mu.Lock()
	defer w.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, lookBefore)
	defer cancel()
	beside := w.running > 0
	if w.running++; !beside {
		w.since = time.Now()
	}
	s := w.see(ctx, seen, w.based || !beside && time.Now().After(w.again), beside)
	ok := false
	if beside { // what has changed until now is another command's
		var changes []Change
		changes, ok = w.record(ctx, s)
		w.pending = append(w.pending, changes...)
	} else {
		ok = w.absorb(ctx, s.moved)
	}
	w.seen(ctx, s)
	return &look{w, s.whole && ok, seen}
}

// end looks at the files after a command, and hands over what has changed. whole says that this is all of it.
func (l *look) end(ctx context.Context) (changes []Change, whole bool) {
	w, limit := l.w, lookAfter
	if ctx.Err() != nil {
		limit = lookStop
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	w.running--
	s := w.see(ctx, l.seen, l.whole && w.based, true)
	changes, ok := w.record(ctx, s)
	w.seen(ctx, s)
	changes, w.pending = append(w.pending, changes...), nil
	return changes, l.whole && s.whole && ok
}

// seen notes how far a look came.
func (w *watch) seen(ctx context.Context, s *sight) {
	if !s.git {
		return
	}
	w.based = s.whole && ctx.Err() == nil
	if ctx.Err() != nil {
		w.again = time.Now().Add(rest * time.Since(s.began))
	}
}

// changing keeps looks away from a file that a tool changes and tells of.
func (w *watch) changing() (done func()) {
	w.mu.Lock()
	return w.mu.Unlock
}

// told takes in what a tool has changed, between changing and done: it is no command's.
func (w *watch) told(c Change) {
	if w.folders == nil || !within(w.box.workspace, c.Path) {
		return
	}
	f := w.file(c.Path)
	f.read = true
	h := held{sha: c.After}
	if c.After == "" && c.Op != Deleted {
		h.why = c.MissingWhy
	}
	f.settle(sigAt(c.Path), h)
}

func sigAt(path string) sig {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return sig{}
	}
	return sigOf(&st)
}

// settle makes what was found what is known.
func (f *watched) settle(now sig, h held) {
	f.sig, f.held, f.unsettled, f.was, f.unsure = now, h, false, "", now.fresh()
}

// fresh reports whether a change right now could leave the same sig.
func (s sig) fresh() bool { return s != sig{} && time.Now().UnixNano()-s.ctime < int64(tick) }

// moved is a file that is not as it was last seen, or may not be.
type moved struct {
	*watched
	path string
	now  sig

	next held
	same bool // it holds what it held
	done bool
}

// absorb takes in what no command of ours has to answer for, and keeps what one may destroy. It reports whether it came
// to the end.
func (w *watch) absorb(ctx context.Context, all []*moved) bool {
	each(all, func(m *moved) {
		if ctx.Err() != nil {
			m.unsettled = true
			return
		}
		w.heldSum.Add(-m.counted)
		m.counted = 0
		w.content(ctx, m, maxBefore, func(n int64) bool {
			if w.heldSum.Add(n) > maxHeld {
				w.heldSum.Add(-n)
				return false
			}
			m.counted = n
			return true
		})
		m.settle(m.now, m.next)
	})
	return ctx.Err() == nil
}

// each does something for all, eight at a time: most of it is waiting for the disk.
func each[T any](all []T, do func(T)) {
	var next atomic.Int64
	together(min(8, len(all)), func(int) {
		for i := next.Add(1); i <= int64(len(all)); i = next.Add(1) {
			do(all[i-1])
		}
	})
}

// content reads a file that has moved, and says where its content is kept: where it was, or in git's store (room is
// given: it need not be kept twice), or put into ours.
func (w *watch) content(ctx context.Context, m *moved, limit int64, room func(int64) bool) {
	m.next = held{}
	switch {
	case m.now == sig{}:
	case m.now.is(unix.S_IFLNK):
		m.next.why = "it is a symbolic link"
	case !m.now.is(unix.S_IFREG):
		m.next.why = "it is not a regular file"
	case m.now.size > limit:
		m.next.why = "it is larger than " + size(limit)
	}
	if m.now == (sig{}) || m.next.why != "" {
		m.same = m.now == m.sig
		return
	}
	data, _, err := load(ctx, m.path)
	switch {
	case gone(err):
		m.now, m.same = sig{}, m.sig == sig{}
		return
	case err != nil:
		m.next.why, m.same = "it "+unreadable(err).Error(), m.now == m.sig
		return
	}
	id, sha := blobID(data), hashOf(data)
	there := !m.unsettled && m.sig != sig{}
	switch {
	case there && m.held.sha == sha, there && m.held.oid == id:
		m.next, m.same = m.held, true
		m.next.proved = m.held.sha == ""
	case room != nil && m.git != nil && m.git.oid == id:
		m.next = held{oid: id, repo: m.repo, proved: true}
	case room != nil && !room(int64(len(data))):
		m.next.why = "the files that git doesn't hold are larger than " + size(maxHeld) + " together"
	default:
		m.next = w.keep(data)
	}
}

func (w *watch) keep(data []byte) held {
	if w.box.Blobs == nil {
		return held{why: "no content store"}
	}
	sha, err := w.box.Blobs.Put(data)
	if err != nil {
		return held{why: err.Error()}
	}
	return held{sha: sha}
}

// gone reports whether there is no file, or none that is reached without a link.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
}

// blobID is git's name of content.
func blobID(b []byte) oid {
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", len(b))
	h.Write(b)
	return oid(h.Sum(nil))
}

// record is what commands have changed, with the content before and after. It reports whether that is all.
func (w *watch) record(ctx context.Context, s *sight) (out []Change, whole bool) {
	var news, late []*moved
	for _, m := range s.moved {
		if m.unsettled && m.found != w.number { // what it was before the command is not known
			late = append(late, m)
		} else {
			news = append(news, m)
		}
	}
	if len(news) > maxChanged {
		late, news = s.moved, nil
	}
	whole = w.absorb(ctx, late) && len(late) == 0
	var sum atomic.Int64
	each(news, func(m *moved) {
		if ctx.Err() != nil || sum.Add(m.now.size) > maxChanges {
			m.unsettled = true
			return
		}
		w.content(ctx, m, maxChange, nil)
		m.done = true
	})
	w.fetch(ctx, news)
	for _, m := range news {
		switch {
		case !m.done:
			whole = false
			continue
		case m.was != "" && m.now.ctime < w.since.Add(-tick).UnixNano(): // it only came into view
		case m.same && m.now.perm() == m.sig.perm():
		case !utf8.ValidString(m.path): // no line of the log can name it
			whole = false
		case m.same:
			whole = false // modes are not taken back
		default:
			out = append(out, m.change())
		}
		m.settle(m.now, m.next)
	}
	slices.SortFunc(out, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return out, whole
}

func (m *moved) change() Change {
	c := Change{Path: m.path, Op: Modified, Before: m.held.sha, After: m.next.sha, Mode: m.now.perm(), MissingWhy: cmp.Or(m.was, m.held.why, m.next.why)}
	switch {
	case m.now == sig{}:
		c.Op, c.Mode = Deleted, m.sig.perm()
	case m.sig == sig{} && m.was == "":
		c.Op = Created
	}
	return c
}
