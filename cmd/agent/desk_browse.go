package main

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"varve/internal/harness"
	"varve/internal/index"
	"varve/internal/jsonl"
	"varve/internal/session"
	"varve/internal/tui"
	"varve/internal/words"
)

// What the browser reads of sessions that may not be on the screen (BRW-2).

const (
	maxPeek     = 40   // messages of a preview
	maxPeekText = 4000 // bytes of each

	// largePeek is a file, in bytes, that takes a while to read: it is waited for
	// until the choice rests.
	largePeek  = 64 << 20
	pauseLarge = 700 * time.Millisecond
)

// An otherSession is the one that was looked at last: the next look at it reads
// what is new.
type otherSession struct {
	mu sync.Mutex
	s  *harness.Session
}

// A seat is a session that is open for a while. local is the loop where it is the
// one on the screen, else nil.
type seat struct {
	s     *harness.Session
	local *harness.Local
	done  func()
}

// here is the branch on the screen, "" where it is another session's.
func (x seat) here() string {
	if x.local == nil {
		return ""
	}
	return x.local.Branch
}

// sit opens a session, "" for the one on the screen. The seat is to be left with
// done.
func (d *desk) sit(ctx context.Context, id string) (seat, error) {
	l, err := d.at(ctx)
	if id == "" {
		if err != nil {
			return seat{}, err
		}
		return seat{l.Session, l, func() {}}, nil
	}
	if l != nil && err == nil && l.ID() == id {
		return seat{l.Session, l, func() {}}, nil
	}
	path, err := index.Find(d.m.folders.Data, id)
	if err != nil {
		return seat{}, err
	}
	o := &d.other
	o.mu.Lock()
	if o.s != nil && o.s.Path() == path && o.s.CatchUp() == nil {
		return seat{o.s, nil, o.mu.Unlock}, nil
	}
	if o.s != nil {
		_ = o.s.Close() // it was read only, or what was written is on the disk
		o.s = nil
	}
	if ctx.Err() == nil {
		o.s, err = d.m.openWhile(ctx, path)
	} else {
		err = ctx.Err()
	}
	if err != nil {
		o.s = nil
		o.mu.Unlock()
		return seat{}, err
	}
	return seat{o.s, nil, o.mu.Unlock}, nil
}

// Tree reads the branches of a session with their messages and checkpoints.
func (d *desk) Tree(ctx context.Context, id string) (tui.Tree, error) {
	x, err := d.sit(ctx, id)
	if err != nil {
		return tui.Tree{}, err
	}
	defer x.done()
	out := tui.Tree{Session: strings.TrimSuffix(lastPart(x.s.Path()), ".jsonl"), Limbs: limbs(x.s, x.here())}
	if st := x.s.State(session.MainBranch).Session; st.Title != 0 {
		if b, err := x.s.Load(st.Title, 0); err == nil {
			out.Title = words.OneLine(string(b))
		}
	}
	if out.Title == "" && len(out.Limbs) > 0 {
		out.Title = out.Limbs[0].First
	}
	if n := x.s.Damage(); len(n) > 0 {
		out.Damage = words.Count(len(n), "place") + " can't be read"
	}
	points, err := checkpoints(ctx, x.s.Path())
	if err != nil {
		return out, err
	}
	now := time.Now()
	for i := range out.Limbs {
		l := &out.Limbs[i]
		l.Marks = slices.Concat(messageMarks(x.s, l.Name, now), checkpointMarks(x.s, points[l.Name], now))
		slices.SortStableFunc(l.Marks, func(a, b tui.Mark) int { return cmp.Compare(a.Seq, b.Seq) })
	}
	out.Restores, err = restores(x.s)
	return out, err
}

func lastPart(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// messageMarks are the newest messages of the user's that a branch recorded
// itself and still has.
func messageMarks(s *harness.Session, branch string, now time.Time) (out []tui.Mark) {
	var items []session.Item
	for it := range s.State(branch).Branch.View.Recorded {
		if it.Kind == session.UserItem {
			items = append(items, *it)
		}
	}
	for _, it := range slices.Backward(items) {
		e, err := s.Entry(it.ID.Seq)
		if err != nil || e.Branch != branch || len(out) == maxTurns {
			break // what it took over comes before its own
		}
		m := tui.Mark{Seq: it.ID.Seq, Age: ago(e.At, now)}
		if b, err := s.Text(it); err == nil {
			m.Text = words.OneLine(string(b))
		} else {
			m.Text = "(" + words.OneLine(err.Error()) + ")"
		}
		out = append(out, m)
	}
	return out
}

func checkpointMarks(s *harness.Session, at []session.Seq, now time.Time) (out []tui.Mark) {
	for _, q := range at {
		e, err := s.Entry(q)
		if err != nil {
			continue // it is damage, and said so
		}
		m := tui.Mark{Seq: q, Checkpoint: true, Age: ago(e.At, now)}
		if ev, ok := e.Event.(session.CheckpointCommitted); ok {
			if b, err := s.Load(q, ev.Text.B); err == nil {
				m.Text = words.OneLine(session.Handoff(string(b)))
			}
		}
		out = append(out, m)
	}
	return out
}

// checkpoints are the committed ones of each branch. The fold keeps only the one
// that stands.
func checkpoints(ctx context.Context, path string) (map[string][]session.Seq, error) {
	f, err := jsonl.Open(path, jsonl.Options{ReadOnly: true})
	if err != nil {
		return nil, nil // nothing is recorded yet, or it was said before
	}
	defer f.Close()
	out := map[string][]session.Seq{}
	err = f.CatchUp(func(_ jsonl.Line, raw []byte) error {
		if env, ok := session.Scan(raw); ok && string(env.Type) == "checkpoint.committed" {
			out[string(env.Branch)] = append(out[string(env.Branch)], env.Seq)
		}
		return ctx.Err()
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	_ = err // what can't be read is damage, which opening the session found
	return out, nil
}

// Peek reads the last messages at a point.
func (d *desk) Peek(ctx context.Context, at tui.Point) ([]tui.Message, error) {
	if path, err := index.Find(d.m.folders.Data, at.Session); err == nil && fileSize(path) > largePeek {
		select {
		case <-time.After(pauseLarge):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	x, err := d.sit(ctx, at.Session)
	if err != nil {
		return nil, err
	}
	defer x.done()
	branch := cmp.Or(at.Branch, x.s.LastBranch())
	view := x.s.State(branch).Branch.View
	if at.At != (session.Reference{}) {
		b, err := x.s.Select(at.At)
		if err != nil {
			return nil, err
		}
		view = b.View
	}
	var items []session.Item // the last ones, in two halves
	for it := range view.All {
		switch it.Kind {
		case session.UserItem, session.AssistantItem, session.ShellItem, session.CallItem, session.CheckpointItem:
			if items = append(items, it); len(items) == 2*maxPeek {
				items = append(items[:0], items[maxPeek:]...)
			}
		}
	}
	var out []tui.Message
	for _, it := range items[max(len(items)-maxPeek, 0):] {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		m := tui.Message{Who: map[session.ItemKind]string{
			session.UserItem: "you", session.AssistantItem: "agent", session.ShellItem: "shell", session.CallItem: it.Name, session.CheckpointItem: "checkpoint",
		}[it.Kind]}
		b, err := x.s.Text(it)
		switch {
		case err != nil:
			m.Text = "(" + words.OneLine(err.Error()) + ")"
		case it.Kind == session.CallItem:
			m.Text = words.OneLine(words.Gist(it.Name, string(b)))
		default:
			text := string(b)
			if it.Kind == session.CheckpointItem {
				text = session.Handoff(text)
			}
			m.Text = peeked(text)
		}
		if it.Marked != "" {
			m.Text += " … (" + it.Marked + ")"
		}
		out = append(out, m)
	}
	if at.At == (session.Reference{}) {
		if v, ok := reverted(x.s, branch, items); ok {
			m := tui.Message{Who: "revert " + v.Name, Text: "went back to here"}
			if b, err := x.s.Load(v.At, v.Preview.B); err == nil {
				m.Text += ", before “" + words.OneLine(string(b)) + "”"
			}
			out = append(out, m)
		}
	}
	return out, nil
}

// peeked is the beginning of a text, with a sign where it goes on.
func peeked(s string) string {
	if len(s) <= maxPeekText {
		return s
	}
	s = strings.ToValidUTF8(s[:maxPeekText], "")
	if i := strings.LastIndexAny(s, " \n"); i > maxPeekText/2 {
		s = s[:i]
	}
	return s + " …"
}

// reverted is the revert with which a branch ends: nothing was said behind it, and
// it was not taken back. items are those of its view.
func reverted(s *harness.Session, branch string, items []session.Item) (session.Label, bool) {
	for _, l := range s.Limbs() {
		if l.Name != branch || len(l.Labels) == 0 {
			continue
		}
		v := l.Labels[len(l.Labels)-1]
		late := slices.ContainsFunc(items, func(it session.Item) bool { return it.ID.Seq > v.At })
		return v, v.Back == 0 && !late
	}
	return session.Label{}, false
}
