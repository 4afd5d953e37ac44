package tools

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/bmatcuk/doublestar/v4"
)

const (
	grepLine    = 500 // characters of a line
	grepWorkers = 2
	grepBlock   = 256 << 10
	grepHuge    = 16 << 20 // a longer line is searched in pieces
)

// search is one grep: what to look for, and how to tell of it.
type search struct {
	*matcher
	mode    string
	context int
	limit   int
	stored  atomic.Int64 // matching lines of finished files
}

func prepareGrep(_ context.Context, p *prep) (step, error) {
	if p.args.str("pattern") == "" {
		return nil, errNoPattern
	}
	m, err := newMatcher(p.args.str("pattern"), p.args.is("literal"), p.args.is("ignore_case"))
	if err != nil {
		return nil, err
	}
	s := &search{matcher: m, mode: cmp.Or(p.args.str("mode"), "content"), context: p.args.int("context", 0), limit: p.args.int("limit", 100)}
	if s.limit < 1 || s.context < 0 || s.context > 100 {
		return nil, errors.New("limit counts from 1, and context is 0 to 100 lines")
	}
	s.limit = min(s.limit, maxLines)
	include := strings.TrimPrefix(p.args.str("include"), "./")
	if !doublestar.ValidatePattern(include) {
		return nil, fmt.Errorf("include %q is not a valid glob", clip(include, 200))
	}
	at, fi, err := p.folder(p.args.str("path"))
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, _ Progress) Result {
		w := walk{hidden: strings.HasPrefix(include, ".") || strings.Contains(include, "/.")}
		var files []found
		w.visit = func(f file) error {
			if !f.entry.Type().IsRegular() || !included(include, f.rel) {
				return nil
			}
			if fi, err := f.entry.Info(); err == nil {
				files = append(files, found{f.rel, fi.ModTime(), fi.Size()})
			}
			return nil
		}
		root := at.Real
		if !fi.IsDir() {
			if err := regular(fi); err != nil {
				return refuse(fmt.Errorf("grep: %s %w", at.Name, err))
			}
			root, files = filepath.Dir(at.Real), []found{{filepath.Base(at.Real), fi.ModTime(), fi.Size()}}
		} else if err := w.run(ctx, root); err != nil {
			return p.searchFailed(ctx, err)
		}
		slices.SortFunc(files, newest)
		hits := make([]fileHits, len(files))
		var taken atomic.Int64
		together(min(grepWorkers, len(files)), func(int) {
			buf := make([]byte, 0, grepBlock)
			for ctx.Err() == nil {
				i := int(taken.Add(1)) - 1
				if i >= len(files) {
					return
				}
				// Files are handed out newest first. When those that are finished fill the limit, this one is only counted.
				want := s.stored.Load() < int64(s.limit)
				hits[i] = s.file(filepath.Join(root, files[i].rel), &buf, want)
				s.stored.Add(int64(hits[i].matches))
			}
		})
		if ctx.Err() != nil {
			return p.searchFailed(ctx, ctx.Err())
		}
		return p.report(s, &w, root, files, hits)
	}, nil
}

func included(glob, rel string) bool {
	if glob == "" {
		return true
	}
	if !strings.Contains(glob, "/") {
		rel = rel[strings.LastIndexByte(rel, '/')+1:]
	}
	ok, _ := doublestar.Match(strings.TrimPrefix(glob, "/"), rel)
	return ok
}

// fileHits is what a search found in one file.
type fileHits struct {
	matches int // lines
	text    []grepRow
	binary  bool
	failed  bool
}

// grepRow is one line to show; mark is ':' for a match, '-' for context.
type grepRow struct {
	n    int
	mark byte
	line string
}

// file searches one file block by block; memory holds a block, the context and the rows that may be shown.
func (s *search) file(path string, buf *[]byte, want bool) (h fileHits) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		h.failed = true
		return h
	}
	defer f.Close()
	want = want && s.mode == "content"
	line, shown := 1, 0 // number of the block's first line, of the last row shown
	keep := (*buf)[:0]  // lines before the unsearched part (for context), then that
	before, trailing := 0, 0
	for eof := false; !eof; {
		if cap(keep)-len(keep) < grepBlock/2 { // a long line grows it
			keep = slices.Grow(keep, max(grepBlock, len(keep)))
		}
		n, err := io.ReadFull(f, keep[len(keep):cap(keep)])
		fresh := keep[len(keep) : len(keep)+n]
		keep = keep[:len(keep)+n]
		eof = err != nil
		if bytes.IndexByte(fresh, 0) >= 0 {
			return fileHits{binary: true}
		}
		end := bytes.LastIndexByte(keep, '\n') + 1
		if eof || end <= before && len(keep) > grepHuge {
			end = len(keep)
		} else if end <= before {
			continue
		}
		rest := len(keep) - end
		lines := dropCR(keep[before:end])
		copy(keep[before+len(lines):], keep[end:])
		end = before + len(lines)
		keep = keep[:end+rest]
		block := keep[:end]
		line, shown, trailing = s.block(&h, block, before, line, shown, trailing, want)
		if s.mode == "files" && h.matches > 0 {
			break
		}
		from := len(block)
		for range s.context {
			up := bytes.LastIndexByte(block[:max(from-1, 0)], '\n') + 1
			if from == 0 || len(block)-up > grepHuge/16 {
				break
			}
			from = up
		}
		before = len(block) - from
		line -= bytes.Count(block[from:], []byte{'\n'})
		keep = keep[:copy(keep, keep[from:])]
	}
	if cap(keep) <= 4<<20 {
		*buf = keep
	}
	return h
}

// block searches whole lines; the first before bytes were searched already. line is the number of the first line. It
// returns the number after the last one, the last row shown, and how much context the next block still owes.
func (s *search) block(h *fileHits, b []byte, before, line, shown, trailing int, want bool) (int, int, int) {
	row := func(n int, mark byte, start, end int) {
		if n > shown && len(h.text) < s.limit*(1+2*s.context) {
			h.text = append(h.text, grepRow{n, mark, cutLine(b[start:end])})
			shown = n
		}
	}
	f := s.in(b)
	at, num := before, line+bytes.Count(b[:before], []byte{'\n'})
	owe := func(to int) { // context after a match, up to a place
		for p, n := at, num; trailing > 0 && p < to; n++ {
			e := lineEnd(b, p)
			row(n, '-', p, e)
			p, trailing = e+1, trailing-1
		}
	}
	for {
		start, end, ok := f.next(at)
		if !ok {
			break
		}
		h.matches++
		if s.mode == "files" {
			break
		}
		if want {
			owe(start)
			if h.matches > s.limit {
				want, trailing = false, 0
			}
		}
		if want {
			n := num + bytes.Count(b[at:start], []byte{'\n'})
			p := start
			for k := range s.context {
				if p == 0 || n-k-1 <= shown {
					break
				}
				p = bytes.LastIndexByte(b[:p-1], '\n') + 1
			}
			for q, i := p, n-bytes.Count(b[p:start], []byte{'\n'}); q < start; i++ {
				e := lineEnd(b, q)
				row(i, '-', q, e)
				q = e + 1
			}
			row(n, ':', start, end)
			at, num, trailing = end+1, n+1, s.context
			continue
		}
		at = end + 1
	}
	owe(len(b))
	return line + bytes.Count(b, []byte{'\n'}), shown, trailing
}

// dropCR makes CRLF lines LF lines, in place: a line ends where its text does.
func dropCR(b []byte) []byte {
	i := bytes.Index(b, []byte("\r\n"))
	if i < 0 {
		return b
	}
	out := b[:i]
	for i < len(b) {
		j := bytes.Index(b[i+1:], []byte("\r\n"))
		next := len(b)
		if j >= 0 {
			next = i + 1 + j
		}
		out = append(out, b[i+1:next]...)
		i = next
	}
	return out
}

func lineEnd(b []byte, from int) int {
	if i := bytes.IndexByte(b[from:], '\n'); i >= 0 {
		return from + i
	}
	return len(b)
}

func cutLine(b []byte) string {
	n := room{grepLine, 1, len(b)}.head(string(b[:min(len(b), 4*grepLine)]))
	s := clean(b[:n])
	if n < len(b) {
		s += fmt.Sprintf(" [cut here: %s in all]", plural(len(b), "byte", "bytes"))
	}
	return s
}

func (p *prep) report(s *search, w *walk, root string, files []found, hits []fileHits) Result {
	var b strings.Builder
	var lines, withHits, shownLines, shownFiles, binary, failed int
	for i, h := range hits {
		if h.binary {
			binary++
		}
		if h.failed {
			failed++
		}
		if h.matches == 0 {
			continue
		}
		lines += h.matches
		withHits++
		name := p.name(filepath.Join(root, files[i].rel))
		switch {
		case s.mode != "content":
			if shownFiles < s.limit {
				shownFiles++
				if b.WriteString(name); s.mode == "count" {
					b.WriteString(":" + strconv.Itoa(h.matches))
				}
				b.WriteByte('\n')
			}
		case shownLines < s.limit && len(h.text) > 0:
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(name + "\n")
			shownFiles++
			last := 0
			for _, r := range h.text {
				if r.mark == ':' {
					if shownLines == s.limit {
						break
					}
					shownLines++
				}
				if s.context > 0 && last > 0 && r.n > last+1 {
					b.WriteString("--\n")
				}
				last = r.n
				b.WriteString(strconv.Itoa(r.n) + string(r.mark) + r.line + "\n")
			}
		}
	}
	var r Result
	var foot []string
	switch {
	case lines == 0:
		foot = append([]string{"no match in " + plural(len(files)-binary-failed, "file", "files")}, w.notes()...)
	case s.mode == "content" && shownLines < lines:
		r.LeftOut.Lines = int64(lines - shownLines)
		how := "narrow the search or raise limit"
		if s.limit == maxLines {
			how = fmt.Sprintf("%s are the most that are shown: narrow the search", count(maxLines))
		}
		foot = append(foot, fmt.Sprintf("the first %s of %s matching lines in %s; %s left out, %s",
			count(shownLines), count(lines), plural(withHits, "file", "files"), count(lines-shownLines), how))
	case s.mode != "content" && shownFiles < withHits:
		r.LeftOut.Lines = int64(withHits - shownFiles)
		foot = append(foot, fmt.Sprintf("the newest %s of %s files; %s left out", count(shownFiles), count(withHits), count(withHits-shownFiles)))
	}
	if binary > 0 {
		foot = append(foot, plural(binary, "binary file", "binary files")+" skipped")
	}
	if failed > 0 {
		foot = append(foot, plural(failed, "file", "files")+" could not be read")
	}
	p.headOnly(&r, b.String(), footer(foot))
	return r
}
