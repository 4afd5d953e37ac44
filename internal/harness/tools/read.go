package tools

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	readLines = 2_000 // lines of one read
	lineChars = 2_000 // characters of one line
)

// window is which lines a read wants: from offset (from 1), or the last tail ones.
type window struct{ offset, tail, limit int }

func prepareRead(ctx context.Context, p *prep) (step, error) {
	name := p.args.str("file_path")
	w := window{offset: p.args.int("offset", 1), limit: p.args.int("limit", readLines)}
	if w.limit < 1 {
		return nil, fmt.Errorf("limit is %d; it counts lines, from 1", w.limit)
	}
	w.limit = min(w.limit, readLines)
	if w.offset < 0 {
		w.tail, w.offset = min(-w.offset, readLines), 1
	}
	w.offset = max(w.offset, 1)
	if id, ok := strings.CutPrefix(name, "item:"); ok {
		p.plan.Subject = name
		return func(context.Context, Progress) Result { return p.readItem(id, w) }, nil
	}
	p.plan.Effects = []Effect{Reads}
	if name == "" {
		return nil, errors.New("file_path is empty")
	}
	at, err := p.take(name)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, _ Progress) Result {
		r, err := p.readFile(ctx, at, w)
		if err != nil {
			return refuse(fmt.Errorf("read: %w", err))
		}
		return r
	}, nil
}

// readItem reads an item of the conversation: what an earlier result left out, what a summary stands for. Lines longer than lineChars are broken, so that all of it can be reached.
func (p *prep) readItem(id string, w window) Result {
	full, err := p.known.Item(id)
	if err != nil {
		return refuse(fmt.Errorf("read: %w", err))
	}
	var rows strings.Builder
	for line := range strings.SplitAfterSeq(clean(full), "\n") {
		for utf8.RuneCountInString(line) > lineChars+1 {
			head := room{lineChars, 1, len(line)}.head(line)
			rows.WriteString(line[:head] + "\n")
			line = line[head:]
		}
		rows.WriteString(line)
	}
	pg := newPage(w)
	pg.write([]byte(rows.String()))
	pg.end()
	return Result{Text: pg.text(true, "")}
}

func (p *prep) readFile(ctx context.Context, at Path, w window) (Result, error) {
	f, fi, err := openFile(at.Real)
	if errors.Is(err, fs.ErrNotExist) {
		return Result{}, errors.New(p.missing(at))
	}
	if err != nil {
		return Result{}, fmt.Errorf("%s %w", at.Name, unreadable(err))
	}
	defer f.Close()
	defer stopReads(ctx, f)()

	hashed := fi.Size() <= maxEdit
	pg := newPage(w)
	var sum hash.Hash
	if hashed {
		sum = sha256.New()
	}
	buf := make([]byte, min(max(fi.Size()+1, 4<<10), 256<<10))
	var total int64
	whole := false
	valid := utf8Check{ok: true}
	for !whole && (hashed || !pg.full) {
		n, err := io.ReadFull(f, buf)
		chunk := buf[:n]
		if total == 0 {
			if utf := utf16Of(chunk); utf != nil && hashed {
				return p.readUTF16(f, at, chunk, utf, w)
			}
			if t := mediaType(chunk); t != "" {
				return p.readMedia(ctx, f, at, chunk, t, fi.Size())
			}
			if bytes.IndexByte(chunk[:min(n, 8<<10)], 0) >= 0 {
				return Result{}, fmt.Errorf("%s is binary (%s), %s; it is not shown", at.Name, http.DetectContentType(chunk), size(fi.Size()))
			}
			chunk = bytes.TrimPrefix(chunk, []byte(bom))
		}
		total += int64(n)
		if hashed {
			sum.Write(buf[:n])
		}
		valid.add(chunk)
		pg.write(chunk)
		switch {
		case err == io.EOF, err == io.ErrUnexpectedEOF:
			whole = true
		case ctx.Err() != nil:
			return interrupted("read " + at.Name), nil
		case err != nil:
			return Result{}, fmt.Errorf("%s %w", at.Name, unreadable(err))
		}
	}
	var r Result
	note := ""
	if whole {
		pg.end()
		if !valid.done() {
			note = "not valid UTF-8; bytes that are none are shown as \uFFFD, and it can't be edited"
		}
	}
	if whole && hashed {
		r.Observed = []Observed{{at.Real, hex.EncodeToString(sum.Sum(nil)), total}}
	} else {
		note = join(note, size(fi.Size())+", too large to be edited by edit or write")
	}
	if total == 0 {
		r.Text = []byte("[empty file]")
		return r, nil
	}
	r.Text = pg.text(whole, note)
	return r, nil
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// readUTF16 shows such a file; the bytes are hashed as they are, though an edit will refuse it.
func (p *prep) readUTF16(f *os.File, at Path, first []byte, order binary.ByteOrder, w window) (Result, error) {
	data := slices.Clone(first)
	rest, err := io.ReadAll(io.LimitReader(f, maxEdit))
	if err != nil {
		return Result{}, fmt.Errorf("%s %w", at.Name, unreadable(err))
	}
	data = append(data, rest...)
	units := make([]uint16, 0, len(data)/2)
	for i := 2; i+1 < len(data); i += 2 {
		units = append(units, order.Uint16(data[i:]))
	}
	pg := newPage(w)
	pg.write([]byte(string(utf16.Decode(units))))
	pg.end()
	return Result{
		Text:     pg.text(true, "UTF-16, shown as UTF-8; it can't be edited"),
		Observed: []Observed{{at.Real, hashOf(data), int64(len(data))}},
	}, nil
}

func utf16Of(b []byte) binary.ByteOrder {
	switch {
	case bytes.HasPrefix(b, []byte{0xff, 0xfe}):
		return binary.LittleEndian
	case bytes.HasPrefix(b, []byte{0xfe, 0xff}):
		return binary.BigEndian
	}
	return nil
}

// nearNames are the names in a folder that the missing one may have meant, best first.
func nearNames(dir, missing string) []string {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(10_000)
	want := strings.ToLower(missing)
	far := map[string]int{}
	for _, n := range names {
		l := strings.ToLower(n)
		d := distance(want, l)
		if stem := strings.TrimSuffix(want, filepath.Ext(want)); len(stem) > 2 && strings.Contains(l, stem) {
			d = min(d, 1)
		}
		if d <= 1+len(want)/4 {
			far[n] = d
		}
	}
	near := slices.SortedFunc(func(yield func(string) bool) {
		for n := range far {
			if !yield(n) {
				return
			}
		}
	}, func(a, b string) int { return cmp.Or(cmp.Compare(far[a], far[b]), cmp.Compare(a, b)) })
	return near[:min(len(near), 5)]
}

// distance is how many letters must change (Levenshtein); long names are as good as strangers.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		prev := row[0]
		row[0] = i + 1
		for j := range len(b) {
			next := row[j+1]
			d := prev
			if a[i] != b[j] {
				d = 1 + min(prev, next, row[j])
			}
			row[j+1], prev = d, next
		}
	}
	return row[len(b)]
}

func (p *prep) lastFolder(real string) string {
	for d := filepath.Dir(real); ; d = filepath.Dir(d) {
		if fi, err := os.Lstat(d); err == nil && fi.IsDir() || d == "/" {
			return d
		}
	}
}
