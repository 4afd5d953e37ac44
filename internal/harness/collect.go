package harness

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"varve/internal/content"
	"varve/internal/index"
	"varve/internal/jsonl"
)

// Grace is how long content stays that nothing refers to, after it was put last
// (CAS-4).
const Grace = 7 * 24 * time.Hour

// A Collection is one pass over the content store, or what one would do.
type Collection struct {
	DataDir string
	Blobs   *content.Store
	Now     time.Time
	Grace   time.Duration // [Grace]
	Limit   int           // the most that one pass removes, 0 for no limit
	DryRun  bool          // nothing is removed
}

// A Waste is something that goes, or has gone.
type Waste struct {
	Name string // a blob's hash, or the path of what a killed writer left
	Size int64
	Put  time.Time
}

// Collected is what came of a pass.
type Collected struct {
	Sessions int // that were read
	Blobs    int // in the store when it began
	Kept     int // of those, that a session refers to
	Young    int // that nothing refers to, within the grace
	Gone     []Waste
	Leftover []Waste // of writers that were killed
	More     bool    // the limit ended the pass
}

// Run removes what no session on disk refers to and was put last before the
// grace. Where one session can't be read, nothing goes and the error is
// [ErrUnread]. It may run beside sessions that are worked on: a line that is
// being appended holds what it names (CAS-5).
func (c Collection) Run(ctx context.Context) (Collected, error) {
	then := c.Now.Add(-c.Grace)
	var out Collected
	var old []content.Blob
	young := map[string]bool{}
	err := c.Blobs.Each(func(b content.Blob) error {
		if out.Blobs++; b.Put.Before(then) {
			old = append(old, b)
		} else {
			young[b.SHA256] = true
		}
		return ctx.Err()
	})
	if err != nil {
		return out, err
	}
	count := newCensus(c.DataDir, c.Blobs)
	if err := count.take(ctx); err != nil {
		return out, err
	}
	out.Sessions = len(count.files)
	doomed, err := c.Blobs.Doomed()
	if err != nil {
		return out, err
	}
	going := map[string]content.Blob{}
	for _, b := range old {
		if !count.knows(b.SHA256) {
			going[b.SHA256] = b
		}
	}
	for sha := range young {
		if !count.knows(sha) {
			out.Young++
		}
	}
	out.Kept = out.Blobs - out.Young - len(going)
	shas := slices.Sorted(maps.Keys(going))
	if c.Limit > 0 && len(shas) > c.Limit {
		shas, out.More = shas[:c.Limit], true
	}
	gone := func(sha string) {
		out.Gone = append(out.Gone, Waste{sha, going[sha].Size, going[sha].Put})
	}
	used := func() (func(string) bool, error) { return count.knows, count.take(ctx) }
	if c.DryRun {
		for _, sha := range shas {
			gone(sha)
		}
	} else if err := c.Blobs.Sweep(shas, then, used, gone); err != nil {
		return out, err
	}
	// What is being written is no leftover, whatever the grace.
	return out, c.leftovers(&out, c.Now.Add(-max(c.Grace, Grace)), doomed, used)
}

func (c Collection) has(sha string) bool {
	ok, err := c.Blobs.Has(sha)
	return ok || err != nil
}

// leftovers removes what writers left that were killed, and finishes purges.
func (c Collection) leftovers(out *Collected, then time.Time, doomed map[string][]string, used func() (func(string) bool, error)) error {
	left, err := c.Blobs.Leftovers(then)
	if err != nil {
		return err
	}
	sessions, err := index.Files(c.DataDir)
	if err != nil {
		return err
	}
	for _, path := range sessions {
		stale, err := jsonl.Leftovers(path)
		if err != nil {
			return err
		}
		for _, p := range stale {
			if st, err := os.Lstat(p); err == nil && st.ModTime().Before(then) {
				left[p] = st.Size()
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(doomed)) {
		if c.DryRun {
			break
		}
		if err := c.Blobs.Sweep(doomed[name], whenever, used, func(sha string) { out.Gone = append(out.Gone, Waste{Name: sha}) }); err != nil {
			return err
		}
		// Where one is still there, that purge goes on, or never came to its end.
		if !slices.ContainsFunc(doomed[name], c.has) {
			if err := c.Blobs.Undoom(name); err != nil {
				return err
			}
		}
	}
	for _, p := range slices.Sorted(maps.Keys(left)) {
		if !c.DryRun {
			if err := os.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("remove what was left: %w", err)
			}
		}
		out.Leftover = append(out.Leftover, Waste{Name: strings.TrimPrefix(p, c.DataDir+string(filepath.Separator)), Size: left[p]})
	}
	return nil
}
