package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"
)

const maxFound = 100 // files of one glob

// found is a file of a search, with what it is sorted by.
type found struct {
	rel  string
	when time.Time
	size int64
}

func newest(a, b found) int { return cmp.Or(b.when.Compare(a.when), cmp.Compare(a.rel, b.rel)) }

// folder resolves the path argument of a search into an existing file or folder.
func (p *prep) folder(name string) (Path, fs.FileInfo, error) {
	p.plan.Effects = []Effect{Reads}
	at, err := p.take(name)
	if err != nil {
		return at, nil, err
	}
	fi, err := os.Lstat(at.Real)
	if errors.Is(err, fs.ErrNotExist) {
		return at, nil, errors.New(p.missing(at))
	}
	if err != nil {
		return at, nil, fmt.Errorf("%s can't be read: %w", name, cause(err))
	}
	return at, fi, nil
}

func prepareGlob(_ context.Context, p *prep) (step, error) {
	pattern, name := p.args.str("pattern"), p.args.str("path")
	if pattern == "" {
		return nil, errNoPattern
	}
	if strings.HasPrefix(pattern, "/") && name == "" { // an absolute pattern names its own folder
		name, pattern = doublestar.SplitPattern(pattern)
	}
	pattern = strings.TrimPrefix(pattern, "./")
	if !doublestar.ValidatePattern(pattern) {
		return nil, fmt.Errorf("pattern %q is not a valid glob (unclosed [ or {)", clip(pattern, 200))
	}
	// The fixed beginning is walked from, so that a pattern can name a folder that is ignored or hidden.
	if base, rest := doublestar.SplitPattern(pattern); base != "." && base != "" {
		name, pattern = filepath.Join(cmp.Or(name, "."), base), rest
	}
	at, fi, err := p.folder(name)
	if err != nil {
		return nil, err
	}
	if !fi.IsDir() {
		return nil, fmt.Errorf("%s is not a folder", name)
	}
	return func(ctx context.Context, _ Progress) Result {
		w := walk{hidden: strings.HasPrefix(pattern, ".") || strings.Contains(pattern, "/.")}
		var hits []found
		w.visit = func(f file) error {
			if ok, _ := doublestar.Match(pattern, f.rel); !ok {
				return nil
			}
			if fi, err := f.entry.Info(); err == nil {
				hits = append(hits, found{f.rel, fi.ModTime(), fi.Size()})
			}
			return nil
		}
		if err := w.run(ctx, at.Real); err != nil {
			return p.searchFailed(ctx, err)
		}
		slices.SortFunc(hits, newest)
		var b strings.Builder
		for _, h := range hits[:min(len(hits), maxFound)] {
			b.WriteString(p.name(filepath.Join(at.Real, h.rel)) + "\n")
		}
		var foot []string
		switch {
		case len(hits) == 0:
			foot = append([]string{"no file matches"}, w.notes()...)
		case len(hits) > maxFound:
			foot = []string{fmt.Sprintf("the newest %d of %s; %s left out", maxFound, plural(len(hits), "file", "files"), count(len(hits)-maxFound))}
		}
		var r Result
		if n := len(hits) - maxFound; n > 0 {
			r.LeftOut.Lines = int64(n)
		}
		p.headOnly(&r, b.String(), footer(foot))
		return r
	}, nil
}

// name is a real path as a result lists it.
func (p *prep) name(real string) string { return visibleName(p.rel(real)) }

func footer(notes []string) string {
	if len(notes) == 0 {
		return ""
	}
	return "[" + strings.Join(notes, "; ") + "]\n"
}

// notes are what a walk passed by, for when it explains a result.
func (w *walk) notes() (notes []string) {
	if w.ignored > 0 {
		notes = append(notes, plural(w.ignored, "entry", "entries")+" excluded by ignore files (name the folder in path to see into it)")
	}
	if w.dotted > 0 {
		notes = append(notes, plural(w.dotted, "hidden entry", "hidden entries")+" not searched (name it in path)")
	}
	if w.skipped > 0 {
		notes = append(notes, plural(w.skipped, "folder", "folders")+" could not be read")
	}
	return notes
}

func (p *prep) searchFailed(ctx context.Context, err error) Result {
	if ctx.Err() != nil {
		return interrupted(p.call.Name + " had not finished")
	}
	return refuse(fmt.Errorf("%s: %w", p.call.Name, err))
}
