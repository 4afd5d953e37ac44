package index

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"varve/internal/session"
)

// A Query says what is looked for, in any case (see needle).
type Query struct {
	Text  string
	Limit int // of hits, 0 is 50; the rest is counted

	// Content opens what the content store has under a hash. Its reader fails where
	// the bytes are not those.
	Content func(sha string) (io.ReadCloser, error)
}

// Found is what a search found.
type Found struct {
	Hits     []Hit // newest first
	LeftOut  int   // hits behind the limit
	Sessions []string
	Damaged  int // lines that are no events, were not repaired, and were not searched
	Lost     int // texts that could not be read from the content store, and files
}

// ErrText says that there is nothing to look for.
var ErrText = errors.New("the text to look for is empty, or no UTF-8")

// Search looks for the messages of these sessions that hold a text. The paths of
// those sessions that have one are in Sessions. A message that was redacted is not
// found, nor what stands on deleted branches alone; one that was replaced is found
// by both of its texts. Files may grow while they are searched; a file that is gone is no session.
func Search(ctx context.Context, in []Info, q Query) (Found, error) {
	if q.Text == "" || !utf8.ValidString(q.Text) {
		return Found{}, ErrText
	}
	if q.Limit == 0 {
		q.Limit = 50
	}
	s := &search{ctx: ctx, Query: q, needle: newNeedle(q.Text), segment: 8 << 20}
	return s.run(in)
}

type search struct {
	ctx context.Context
	Query
	needle  *needle
	reach   map[*Info]map[string]session.Seq // how far branches count, of files with deleted ones
	segment int64                            // bytes of a file that are searched in one go
}

// A piece is a stretch of a file: the lines that begin in it.
type piece struct {
	file     *Info
	from, to int64

	hits    []Hit            // the last ones, at most Limit
	items   []session.ItemID // of all of them
	notes   []note
	damaged []int64 // offsets
	repairs [][2]int64
	lost    int
	err     error
}

// A note is what an event says about messages that stand elsewhere.
type note struct {
	role  role
	entry session.Seq    // of a queue: queues writes it, speaks takes it
	item  session.ItemID // that takes it, or is hidden
	hit   *Hit           // nil where the text has none
	place int            // how many items came before
}

func (s *search) run(in []Info) (Found, error) {
	var found Found
	var all []*piece
	s.reach = map[*Info]map[string]session.Seq{}
	for i := range in {
		if in[i].Whole && slices.ContainsFunc(in[i].Branches, func(b Branch) bool { return b.Deleted }) {
			s.reach[&in[i]] = reached(in[i].Branches)
		}
		size, _, err := stamp(in[i].Path)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				found.Lost++
			}
			continue
		}
		for at := int64(0); at < size; at += s.segment {
			all = append(all, &piece{file: &in[i], from: at, to: min(at+s.segment, size)})
		}
	}
	next := make(chan *piece)
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(all)) {
		wg.Go(func() {
			buf := make([]byte, 256<<10)
			for p := range next {
				buf, p.err = s.piece(p, buf)
			}
		})
	}
	for _, p := range all {
		if s.ctx.Err() != nil {
			break
		}
		next <- p
	}
	close(next)
	wg.Wait()
	if err := s.ctx.Err(); err != nil {
		return found, err
	}
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].file == all[0].file {
			n++
		}
		s.join(all[:n], &found)
		all = all[n:]
	}
	slices.SortStableFunc(found.Hits, func(a, b Hit) int {
		return cmp.Or(b.At.Compare(a.At), strings.Compare(a.Path, b.Path), cmp.Compare(b.Item.Seq, a.Item.Seq), cmp.Compare(b.Item.Part, a.Item.Part))
	})
	if n := len(found.Hits) - s.Limit; n > 0 {
		found.Hits, found.LeftOut = found.Hits[:s.Limit], found.LeftOut+n
	}
	return found, nil
}

// join adds up the pieces of one file, in order: a message that takes its text
// from the queue is a hit where that text is, and one that was redacted is none.
func (s *search) join(pieces []*piece, found *Found) {
	queue := map[session.Seq]*Hit{}
	var items []session.ItemID
	var hits []Hit
	var damaged []int64
	var repairs [][2]int64
	for _, p := range pieces {
		if p.err != nil {
			if !errors.Is(p.err, fs.ErrNotExist) {
				found.Lost++
			}
			continue
		}
		damaged, repairs = append(damaged, p.damaged...), append(repairs, p.repairs...)
		found.Lost += p.lost
		at := 0
		for _, n := range p.notes {
			items, at = append(items, p.items[at:n.place]...), n.place
			switch n.role {
			case queues:
				queue[n.entry] = n.hit
			case speaks:
				if h := queue[n.entry]; h != nil {
					taken := *h
					taken.Item = n.item
					taken.Branch, taken.At = n.hit.Branch, n.hit.At
					items, hits = append(items, n.item), append(hits, taken)
				}
			case hides, swaps:
				items = slices.DeleteFunc(items, func(id session.ItemID) bool { return id == n.item })
				hits = slices.DeleteFunc(hits, func(h Hit) bool { return h.Item == n.item })
				p.hits = slices.DeleteFunc(p.hits, func(h Hit) bool { return h.Item == n.item })
				if n.role == swaps {
					items, hits = append(items, n.item), append(hits, *n.hit)
				}
			}
		}
		items = append(items, p.items[at:]...)
		hits = append(hits, p.hits...)
	}
	for _, off := range damaged {
		if !slices.ContainsFunc(repairs, func(r [2]int64) bool { return r[0] <= off && off < r[1] }) {
			found.Damaged++
		}
	}
	if len(items) == 0 {
		return
	}
	found.Sessions = append(found.Sessions, pieces[0].file.Path)
	found.Hits = append(found.Hits, hits...)
	found.LeftOut += len(items) - len(hits)
}

// piece searches the lines that begin in a stretch of a file. The line that the
// stretch begins inside of is the one before's.
func (s *search) piece(p *piece, buf []byte) ([]byte, error) {
	f, err := os.Open(p.file.Path)
	if err != nil {
		return buf, err
	}
	defer f.Close()
	at, have := p.from, 0 // buf[:have] stands before at in the file
	skip := false
	if p.from > 0 { // a line begins here if the byte before is an LF
		at, skip = p.from-1, true
	}
	for at-int64(have) < p.to {
		if err := s.ctx.Err(); err != nil {
			return buf, err
		}
		if have == len(buf) {
			buf = append(buf, make([]byte, len(buf))...)
		}
		n, err := f.ReadAt(buf[have:], at)
		if n == 0 {
			if err == io.EOF { // what is left has no LF: it is not there yet
				return buf, nil
			}
			return buf, err
		}
		look := have
		at, have = at+int64(n), have+n
		base, start := at-int64(have), 0 // of buf in the file
		for {
			i := bytes.IndexByte(buf[max(start, look):have], '\n')
			if i < 0 {
				break
			}
			i += max(start, look)
			switch {
			case skip:
				skip = false
			case base+int64(start) >= p.to:
				return buf, nil
			default:
				s.line(p, buf[start:i], base+int64(start))
			}
			start = i + 1
		}
		if have = copy(buf, buf[start:have]); skip {
			have = 0 // however long that line is
		}
	}
	return buf, nil
}

// line looks at one line.
func (s *search) line(p *piece, raw []byte, off int64) {
	env, ok := session.Scan(raw)
	if ok {
		switch roleOf(env.Type) {
		case silent:
			return
		case speaks:
			// A message of the queue's has no text on its line.
			if env.Body != nil && s.needle.raw.index(env.Body, 0) < 0 && plainly(env.Body) {
				return
			}
		}
	}
	e, err := session.Decode(raw)
	if err == nil {
		err = s.event(p, e)
	}
	if err != nil {
		p.damaged = append(p.damaged, off)
	}
}

func (s *search) event(p *piece, e session.Entry) error {
	hit := func(item session.ItemID, kind string, x excerpt) *Hit {
		return &Hit{
			Path: p.file.Path, Session: p.file.ID, Branch: e.Branch, Item: item, Kind: kind, At: e.At,
			Before: x.before, Match: x.match, After: x.after,
		}
	}
	var queued text
	var entry session.Seq
	switch ev := e.Event.(type) {
	case session.InputQueued:
		entry, queued = e.Seq, text{e.Seq.Item(), "user", []int{ev.Text.B}}
	case session.InputEdited:
		entry, queued = ev.Entry, text{e.Seq.Item(), "user", []int{ev.Text.B}}
	case session.LogRepaired:
		p.repairs = append(p.repairs, [2]int64{ev.From, ev.To})
	case session.ItemReplaced:
		n := note{role: hides, item: ev.Item, place: len(p.items)}
		if ev.Why != "redact" {
			x, found, lost, err := s.in(e, text{ev.Item, "replacement", []int{ev.Text.B}})
			if lost {
				p.lost++
			}
			if !found || s.left(p.file, e) {
				return err
			}
			n.role, n.hit = swaps, hit(ev.Item, "replacement", x)
		}
		p.notes = append(p.notes, n)
		return nil
	case session.UserSaid:
		if ev.Entry != 0 && !s.left(p.file, e) {
			p.notes = append(p.notes, note{role: speaks, entry: ev.Entry, item: e.Seq.Item(), hit: hit(e.Seq.Item(), "user", excerpt{}), place: len(p.items)})
		}
	}
	if entry != 0 {
		x, found, lost, err := s.in(e, queued)
		if lost {
			p.lost++
		}
		n := note{role: queues, entry: entry, place: len(p.items)}
		if found {
			n.hit = hit(queued.item, queued.kind, x)
		}
		p.notes = append(p.notes, n)
		return err
	}
	if s.left(p.file, e) {
		return nil
	}
	for _, t := range textsOf(e) {
		x, found, lost, err := s.in(e, t)
		if err != nil {
			return err
		}
		if lost {
			p.lost++
		}
		if found {
			p.items = append(p.items, t.item)
			if p.hits = append(p.hits, *hit(t.item, t.kind, x)); len(p.hits) >= 2*s.Limit {
				p.hits = append(p.hits[:0], p.hits[len(p.hits)-s.Limit:]...)
			}
		}
	}
	return nil
}

// left reports an event that deleted branches alone have.
func (s *search) left(file *Info, e session.Entry) bool {
	reach := s.reach[file]
	if reach == nil || e.Seq <= reach[e.Branch] {
		return false
	}
	return slices.ContainsFunc(file.Branches, func(b Branch) bool { return b.Name == e.Branch && b.Deleted })
}

// Matching keeps those of the sessions whose title, first message, folder or
// content has a text.
func Matching(ctx context.Context, in []Info, q Query) ([]Info, Found, error) {
	if q.Text == "" || !utf8.ValidString(q.Text) {
		return nil, Found{}, fmt.Errorf("filter sessions: %w", ErrText)
	}
	n := newNeedle(q.Text)
	var rest, out []Info
	for _, i := range in {
		if !n.inRow(i) {
			rest = append(rest, i)
		}
	}
	q.Limit = 1
	found, err := Search(ctx, rest, q)
	if err != nil {
		return nil, found, err
	}
	for _, i := range in {
		if n.inRow(i) || slices.Contains(found.Sessions, i.Path) {
			out = append(out, i)
		}
	}
	return out, found, nil
}

func (n *needle) inRow(i Info) bool {
	for _, s := range []string{i.Title, i.First, i.Workspace} {
		if at, _ := n.find([]byte(s), 0); at >= 0 {
			return true
		}
	}
	return slices.ContainsFunc(i.Branches, func(b Branch) bool {
		at, _ := n.find([]byte(b.Title), 0)
		return at >= 0
	})
}
