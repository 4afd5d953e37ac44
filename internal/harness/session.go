package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"varve/internal/content"
	"varve/internal/jsonl"
	"varve/internal/session"
)

// A Session is one session file in this process: its log, its fold and its
// content. It is the only writer of the file here; loops record through it.
type Session struct {
	path   string
	blobs  *content.Store
	opts   jsonl.Options
	clock  Clock
	writes sync.Mutex // one append, with its fold, at a time

	mu     sync.RWMutex
	file   *jsonl.File // nil until the first event
	leaky  bool        // numbers are left out on purpose
	others uint64      // lines read that this process did not write itself
	fold   *session.Fold
	seen   []string                 // the files that were observed, as they came
	lines  []jsonl.Line             // by seq, without gaps unless it is an export
	inside map[string][]session.Seq // content that the file itself carries, by hash
	moved  chan struct{}
	format error // a version that this program can't read
}

// ErrFormat is the kind of a session that a newer program wrote.
var ErrFormat = errors.New("this session was written by a newer version of the program")

// New returns a session that has no file yet: it is made with the first
// event, at path.
func New(path string, blobs *content.Store, policy jsonl.Policy, clock Clock) *Session {
	return newOn(nil, path, blobs, policy, clock)
}

// newOn is New on another layer; nil is the disk.
func newOn(layer jsonl.Layer, path string, blobs *content.Store, policy jsonl.Policy, clock Clock) *Session {
	s := &Session{path: path, blobs: blobs, clock: clock, fold: session.NewFold(), moved: make(chan struct{})}
	s.opts = jsonl.Options{Policy: policy, Layer: layer, Visit: s.visit, Repaired: s.repaired}
	return s
}

// Open opens an existing session and folds it. It writes nothing and starts
// nothing (LOG-14). Damage is kept in [Session.Damage]; the rest still loads.
func Open(path string, blobs *content.Store, policy jsonl.Policy, clock Clock) (*Session, error) {
	return openOn(nil, path, blobs, policy, clock)
}

// CatchUp reads what other processes appended. It waits for an append of this
// process that is under way: lines are folded in the order of the file.
func (s *Session) CatchUp() error { return s.catchUp(context.Background()) }

func (s *Session) catchUp(ctx context.Context) error {
	s.writes.Lock()
	defer s.writes.Unlock()
	if f := s.opened(); f != nil {
		err := f.CatchUp(func(l jsonl.Line, raw []byte) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return s.visit(l, raw)
		})
		if err != nil {
			return err
		}
	}
	return s.format
}

func (s *Session) opened() *jsonl.File {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.file
}

// Path is where the file is, or will be.
func (s *Session) Path() string { return s.path }

// Damage is what can't be read, in file order.
func (s *Session) Damage() []jsonl.Damage {
	if f := s.opened(); f != nil {
		return f.Damage()
	}
	return nil
}

// visit folds one line. It is called for every line that this process did not
// write itself.
func (s *Session) visit(l jsonl.Line, raw []byte) error {
	e, err := session.Decode(raw)
	if err != nil {
		return fmt.Errorf("%w: %w", jsonl.ErrUnreadable, err)
	}
	switch ev := e.Event.(type) {
	case session.SessionCreated:
		if ev.Format > session.Format {
			s.format = fmt.Errorf("%w: it has format %d, this one reads up to %d: update the program", ErrFormat, ev.Format, session.Format)
			return s.format
		}
		if ev.From != nil && ev.From.Gaps {
			s.file.AllowGaps()
			s.leaky = true
		}
	case session.LogRepaired:
		if err := s.file.Forgive(ev.From, ev.To, ev.SHA256); err != nil {
			return fmt.Errorf("%w: %w", jsonl.ErrUnreadable, err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.others++
	return s.apply(l, e)
}

// foreign counts the lines that other processes have written, so far as they
// are known here.
func (s *Session) foreign() uint64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.others
}

// apply folds an entry and wakes who waits for one. The caller holds mu.
func (s *Session) apply(l jsonl.Line, e session.Entry) error {
	if o, ok := e.Event.(session.FileObserved); ok {
		if _, known := s.fold.File(o.Path); !known {
			s.seen = append(s.seen, o.Path)
		}
	}
	if err := s.fold.Apply(e); err != nil {
		return fmt.Errorf("%w: %w", jsonl.ErrUnreadable, err)
	}
	s.lines = append(s.lines, l)
	if ev, ok := e.Event.(session.ContentCarried); ok && ev.MissingWhy == "" {
		if s.inside == nil {
			s.inside = map[string][]session.Seq{}
		}
		s.inside[ev.SHA256] = append(s.inside[ev.SHA256], e.Seq)
	}
	close(s.moved)
	s.moved = make(chan struct{})
	return nil
}

// repaired is the event that closes off a torn line (LOG-7).
func (s *Session) repaired(d jsonl.Damage) []byte {
	rest, err := session.EncodeRest(session.Fact{
		Branch: session.MainBranch,
		Event:  session.LogRepaired{Kind: string(d.Kind), From: d.From, To: d.To, SHA256: d.SHA256, Line: d.Line},
	}, s.clock.Now())
	if err != nil {
		panic("harness: internal error: " + err.Error())
	}
	return rest
}

// State returns where a branch stands now.
func (s *Session) State(branch string) session.State {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.fold.State(branch)
}

// Head is the seq of the last event that was read or written.
func (s *Session) Head() session.Seq {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.fold.Head()
}

// line finds the line of an event, by its place first: seqs are contiguous
// but in exports.
func (s *Session) line(q session.Seq) (jsonl.Line, *jsonl.File, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	i := s.after(q - 1)
	if i == len(s.lines) || session.Seq(s.lines[i].Seq) != q {
		return jsonl.Line{}, nil, false
	}
	return s.lines[i], s.file, true
}

// after is the index of the first line past q. The caller holds mu.
func (s *Session) after(q session.Seq) int {
	if n := len(s.lines); n > 0 && session.Seq(s.lines[n-1].Seq) == session.Seq(n) {
		return min(int(q), n)
	}
	lo, hi := 0, len(s.lines)
	for lo < hi {
		if m := (lo + hi) / 2; session.Seq(s.lines[m].Seq) > q {
			hi = m
		} else {
			lo = m + 1
		}
	}
	return lo
}

// Entry reads the event at q, with its texts.
func (s *Session) Entry(q session.Seq) (session.Entry, error) {
	l, f, ok := s.line(q)
	if !ok {
		return session.Entry{}, fmt.Errorf("event %d: not in this session", q)
	}
	raw, err := f.Read(l)
	if err != nil {
		return session.Entry{}, err
	}
	return session.Decode(raw)
}

// Load returns the bytes of body entry b of the event at q. Referenced content
// is read from the store and checked; content that is lost or changed damages
// this item only (CAS-3).
func (s *Session) Load(q session.Seq, b int) ([]byte, error) {
	l, f, ok := s.line(q)
	if !ok {
		return nil, fmt.Errorf("event %d: not in this session", q)
	}
	raw, err := f.Read(l)
	if err != nil {
		return nil, err
	}
	var p session.Part
	if env, ok := session.Scan(raw); ok {
		p, err = session.PartOf(env.Body, b)
	} else {
		var e session.Entry
		if e, err = session.Decode(raw); err == nil {
			p, err = e.Part(b)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("event %d: %w", q, err)
	}
	return s.Bytes(p)
}

// Bytes returns a part's bytes, from the store where it is a reference.
func (s *Session) Bytes(p session.Part) ([]byte, error) {
	if p.Ref == nil {
		return p.Bytes, nil
	}
	b, err := s.blobs.Get(p.Ref.SHA256)
	if errors.Is(err, content.ErrMissing) {
		if own, err := s.carried(p.Ref.SHA256); err == nil {
			return own, nil
		}
	}
	return b, err
}

// Text returns an item's text.
func (s *Session) Text(it session.Item) ([]byte, error) { return s.Load(it.At, it.Text.B) }

// Entries returns the entries past q that are known here, at most max, with
// their texts.
func (s *Session) Entries(q session.Seq, max int) ([]session.Entry, error) {
	s.mu.RLock()
	i := s.after(q)
	lines, f := s.lines[i:min(i+max, len(s.lines))], s.file
	s.mu.RUnlock()
	out := make([]session.Entry, 0, len(lines))
	for _, l := range lines {
		raw, err := f.Read(l)
		if err != nil {
			return out, err
		}
		e, err := session.Decode(raw)
		if err != nil {
			return out, err
		}
		out = append(out, e)
	}
	return out, nil
}

// Moved returns a channel that is closed when there is an entry past q.
func (s *Session) Moved(q session.Seq) <-chan struct{} {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.fold.Head() > q {
		done := make(chan struct{})
		close(done)
		return done
	}
	return s.moved
}

// Sync brings everything written so far to the disk, as the policy says.
func (s *Session) Sync() error {
	if f := s.opened(); f != nil {
		return f.Sync()
	}
	return nil
}

// Close closes the file.
func (s *Session) Close() error {
	if f := s.opened(); f != nil {
		return f.Close()
	}
	return nil
}

// PathFor is where a session's file stands under the data directory (LOG-1).
func PathFor(dataDir, workspace, id string) string {
	return filepath.Join(dataDir, "sessions", workspaceKey(workspace), id+".jsonl")
}

// Exists reports whether there is a file at path.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// StateAt folds the log anew up to an event: where a branch stood then.
func (s *Session) StateAt(branch string, at session.Seq) (session.State, error) {
	f := session.NewFold()
	for after := session.Seq(0); after < at; {
		entries, err := s.Entries(after, 1000)
		if err != nil {
			return session.State{}, err
		}
		if len(entries) == 0 {
			return session.State{}, fmt.Errorf("event %d: the last one is %d", at, after)
		}
		for _, e := range entries {
			if e.Seq > at {
				break
			}
			if err := f.Apply(e); err != nil {
				return session.State{}, err
			}
		}
		after = entries[len(entries)-1].Seq
	}
	return f.State(branch), nil
}

// Before returns at most n entries before an event, oldest first.
func (s *Session) Before(q session.Seq, n int) ([]session.Entry, error) {
	s.mu.RLock()
	i := 0
	if q > 0 {
		i = s.after(q - 1)
	}
	from := max(i-n, 0)
	after := session.Seq(0)
	if from > 0 {
		after = session.Seq(s.lines[from-1].Seq)
	}
	s.mu.RUnlock()
	if i == from {
		return nil, nil
	}
	return s.Entries(after, i-from)
}
