package index

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// FileName is the index's, in the state folder.
const FileName = "sessions.index"

// An Index is what is known of the sessions under a data directory. It may be
// used by several goroutines.
type Index struct {
	dataDir, path string

	work sync.Mutex // held by the one Refresh or Finish at a time

	mu    sync.Mutex
	rows  map[string]*row // by path
	dirty bool            // there is more to know than the index file has
}

// Open reads the index in the state folder, and no session.
func Open(dataDir, stateDir string) *Index {
	x := &Index{dataDir: dataDir, path: filepath.Join(stateDir, FileName)}
	x.rows = load(x.path, dataDir)
	if x.rows == nil {
		x.rows, x.dirty = map[string]*row{}, true
	}
	return x
}

// Rows lists the sessions as they are known, newest first. A session is listed
// once it has a user message (LOG-9); a damaged one with its damage (BRW-4).
func (x *Index) Rows() []Info {
	x.mu.Lock()
	defer x.mu.Unlock()
	all := make([]*row, 0, len(x.rows))
	for _, r := range x.rows {
		if r.listed() {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b *row) int {
		if c := b.Changed.Compare(a.Changed); c != 0 {
			return c
		}
		return strings.Compare(a.Path, b.Path)
	})
	out := make([]Info, len(all))
	for i, r := range all {
		out[i] = r.Info
	}
	return out
}

// Refresh brings the rows in line with the files: one directory is read for each
// workspace, each file is looked at, and those that changed are read. Of what was
// appended it reads what is new; a large file that it doesn't know, or not any
// more, it reads at both ends, and Finish reads it whole.
func (x *Index) Refresh(ctx context.Context) error {
	x.work.Lock()
	defer x.work.Unlock()
	dir := filepath.Join(x.dataDir, "sessions")
	workspaces, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("list sessions: %w", err)
	}
	x.mu.Lock()
	old := x.rows
	x.mu.Unlock()
	kept, changed := make([]*row, 0, len(old)), []*row(nil) // the latter have path, size and time
	for _, w := range workspaces {
		if !w.IsDir() {
			continue
		}
		err := eachFile(filepath.Join(dir, w.Name()), func(path string, size, mtime int64) {
			if r := old[path]; r != nil && r.size == size && r.mtime == mtime {
				kept = append(kept, r)
			} else {
				changed = append(changed, &row{Info: Info{Path: path}, size: size, mtime: mtime})
			}
		})
		if err != nil {
			return fmt.Errorf("list sessions: %w", err)
		}
	}
	if len(changed) == 0 && len(kept) == len(old) {
		return ctx.Err()
	}
	rows := make(map[string]*row, len(kept)+len(changed))
	for _, r := range kept {
		rows[r.Path] = r
	}
	var mu sync.Mutex
	each(ctx, changed, func(c *row) {
		r := update(ctx, old[c.Path], c.Path, c.size, c.mtime)
		mu.Lock()
		defer mu.Unlock()
		rows[c.Path] = r
	})
	if err := ctx.Err(); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.rows, x.dirty = rows, true
	return nil
}

// eachFile visits the session files of a workspace. One that can't be looked at
// has no size.
func eachFile(dir string, visit func(path string, size, mtime int64)) error {
	d, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return err
	}
	dir += string(filepath.Separator)
	for _, name := range names {
		if !strings.HasSuffix(name, ".jsonl") {
			continue
		}
		size, mtime, err := stampAt(int(d.Fd()), name)
		if !errors.Is(err, fs.ErrNotExist) { // else it was removed meanwhile
			visit(dir+name, size, mtime)
		}
	}
	return nil
}

// each does something for each row, on all processors, until ctx is done.
func each(ctx context.Context, rows []*row, do func(*row)) {
	next := make(chan *row)
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(rows)) {
		wg.Go(func() {
			for r := range next {
				do(r)
			}
		})
	}
	for _, r := range rows {
		if ctx.Err() != nil {
			break
		}
		next <- r
	}
	close(next)
	wg.Wait()
}

// waiting are the rows that were not read whole, the smallest first.
func (x *Index) waiting() []*row {
	x.mu.Lock()
	defer x.mu.Unlock()
	var out []*row
	for _, r := range x.rows {
		if !r.Whole {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b *row) int { return int(a.Size - b.Size) })
	return out
}

// Waiting is how many files are known by their two ends only.
func (x *Index) Waiting() int { return len(x.waiting()) }

// Finish reads those files whole, until ctx is done. After each of them it calls
// read, if that is not nil, from any goroutine.
func (x *Index) Finish(ctx context.Context, read func()) error {
	x.work.Lock()
	defer x.work.Unlock()
	each(ctx, x.waiting(), func(old *row) {
		size, mtime, err := stamp(old.Path)
		if err != nil {
			return // it is gone, which the next Refresh sees
		}
		r := &row{Info: Info{ID: old.ID, Path: old.Path, Changed: old.Changed}, size: size, mtime: mtime}
		if readWhole(ctx, r) != nil {
			return
		}
		x.mu.Lock()
		x.rows[r.Path], x.dirty = r, true
		x.mu.Unlock()
		if read != nil {
			read()
		}
	})
	return ctx.Err()
}

// Save writes the index file, where there is something new. Without it the next
// listing takes longer, and no more is lost.
func (x *Index) Save() error {
	x.mu.Lock()
	rows, dirty := x.rows, x.dirty
	if dirty {
		rows = maps.Clone(rows)
	}
	x.dirty = false
	x.mu.Unlock()
	if !dirty {
		return nil
	}
	err := save(x.path, x.dataDir, rows)
	if err != nil {
		x.mu.Lock()
		x.dirty = true
		x.mu.Unlock()
	}
	return err
}

// An Update is a whole list, as it is known now.
type Update struct {
	Rows    []Info
	Waiting int   // files that are still to be read whole
	Err     error // the folders can't be read: the list is as it was
}

// Follow brings the list up to date and sends it whenever more is known: at once
// what the index has, then what stands in the files, then each large file as it
// was read whole. Who reads slowly misses lists, never the last one. The channel
// is closed when all is known and saved, or ctx is done.
func (x *Index) Follow(ctx context.Context) <-chan Update {
	out := make(chan Update, 1)
	var mu sync.Mutex
	send := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		u := Update{x.Rows(), x.Waiting(), err}
		select {
		case <-out:
		default:
		}
		out <- u
	}
	send(nil)
	go func() {
		defer close(out)
		err := x.Refresh(ctx)
		if ctx.Err() != nil {
			return
		}
		send(err)
		if err == nil {
			err = x.Finish(ctx, func() { send(nil) })
		}
		_ = x.Save() // see Save
		if err == nil {
			send(nil)
		}
	}()
	return out
}
