package main

import (
	"bytes"
	"context"
	"slices"
	"time"

	"varve/internal/harness"
	"varve/internal/harness/drive"
	"varve/internal/jsonl"
	"varve/internal/session"
	"varve/internal/tui"
	"varve/internal/words"
)

// maxTurns is how many messages are offered to go back to.
const maxTurns = 500

// Tail reads the end of the file where the session is still being opened. With
// more than one history in it, it waits for the branch's own.
func (d *desk) Tail(ctx context.Context, n int) ([]session.Entry, error) {
	d.mu.Lock()
	path, l := d.path, d.local
	d.mu.Unlock()
	if l == nil && path == "" {
		return nil, nil
	}
	if l == nil {
		out, err := fileTail(path, n)
		if err != nil || !slices.ContainsFunc(out, branches) {
			return out, err
		}
	}
	return d.Before(ctx, 0, n)
}

// branches reports an entry that shows that a file holds more than one history.
func branches(e session.Entry) bool {
	switch e.Event.(type) {
	case session.BranchCreated, session.BranchReverted, session.BranchRolledBack, session.BranchDeleted:
		return true
	}
	return e.Branch != session.MainBranch
}

func fileTail(path string, n int) ([]session.Entry, error) {
	f, err := jsonl.Open(path, jsonl.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raws, err := f.Tail(n, 4<<20)
	if err != nil {
		return nil, err
	}
	var out []session.Entry
	for _, r := range raws {
		// What can't be read here is damage, and is told when the session is
		// open.
		if e, err := session.Decode(bytes.Clone(r.Bytes)); err == nil {
			out = append(out, e)
		}
	}
	return out, nil
}

// Before reads the branch's own past.
func (d *desk) Before(ctx context.Context, q session.Seq, n int) ([]session.Entry, error) {
	l, err := d.at(ctx)
	if err != nil {
		return nil, err
	}
	return l.Session.Past(l.Branch, q, n)
}

// Turns lists the user's messages of the branch, newest first.
func (d *desk) Turns(ctx context.Context) ([]tui.Turn, error) {
	l, err := d.at(ctx)
	if err != nil {
		return nil, err
	}
	var items []session.Item
	for it := range l.State().Branch.View.Recorded { // those too that a checkpoint covers (BRN-7)
		if it.Kind == session.UserItem {
			items = append(items, *it)
		}
	}
	var out []tui.Turn
	for _, it := range slices.Backward(items) {
		if len(out) == maxTurns {
			break
		}
		t := tui.Turn{Item: it.ID.Seq}
		if b, err := l.Session.Text(it); err == nil {
			t.Text = string(b)
		} else {
			t.Text = "(" + err.Error() + ")"
		}
		if e, err := l.Session.Entry(it.ID.Seq); err == nil {
			t.Age = ago(e.At, time.Now())
		}
		out = append(out, t)
	}
	return out, nil
}

// Limbs lists the branches of the session.
func (d *desk) Limbs(ctx context.Context) ([]tui.Limb, error) {
	l, err := d.at(ctx)
	if err != nil {
		return nil, err
	}
	return limbs(l.Session, l.Branch), nil
}

// limbs are the branches of a session; here is the one on the screen.
func limbs(s *harness.Session, here string) []tui.Limb {
	line := func(q session.Seq, b int) string {
		text, err := s.Load(q, b)
		if err != nil {
			return ""
		}
		return words.OneLine(string(text))
	}
	var out []tui.Limb
	for _, x := range s.Limbs() {
		users, first := own(s, x.Name)
		limb := tui.Limb{Name: x.Name, Parent: x.Parent, Messages: users, Here: x.Name == here, Deleted: x.Deleted, From: x.From.Seq}
		if x.From.Select == "before" {
			limb.From--
		}
		if x.Title != 0 {
			limb.Title = line(x.Title, 0)
		}
		if users > 0 {
			if b, err := s.Text(first); err == nil {
				limb.First = words.OneLine(string(b))
			}
		}
		for _, v := range x.Labels {
			r := tui.Revert{Label: v.Name, Preview: line(v.At, v.Preview.B), Taken: v.Back != 0, Back: backAt(s, x.Head, v.Name), At: v.At, Left: v.Left}
			if e, err := s.Entry(v.At); err == nil {
				r.Age = ago(e.At, time.Now())
			}
			limb.Reverts = append(limb.Reverts, r)
		}
		out = append(out, limb)
	}
	return out
}

// own counts the user's messages that a branch recorded itself and still has, and
// finds the first of them.
func own(s *harness.Session, branch string) (n int, first session.Item) {
	spans := slices.DeleteFunc(s.History(branch), func(x session.Span) bool { return x.Branch != branch })
	if len(spans) == 0 {
		return 0, first
	}
	for it := range s.State(branch).Branch.View.Recorded {
		q := it.ID.Seq
		if it.Kind != session.UserItem || !slices.ContainsFunc(spans, func(x session.Span) bool { return x.From <= q && q <= x.To }) {
			continue
		}
		if n++; n == 1 {
			first = *it
		}
	}
	return n, first
}

// Branched reports that the session has branches that one can go to.
func (d *desk) Branched(ctx context.Context) bool {
	l, err := d.at(ctx)
	return err == nil && len(l.Session.Left()) > 1
}

// Gaps are the places that can't be read.
func (d *desk) Gaps(ctx context.Context) []tui.Gap {
	l, err := d.at(ctx)
	if err != nil {
		return nil
	}
	var out []tui.Gap
	for _, g := range l.Session.Gaps() {
		out = append(out, tui.Gap(g))
	}
	return out
}

// Operate does a branch operation and opens what it made.
func (d *desk) Operate(ctx context.Context, op drive.Operation) (tui.Operated, error) {
	l, err := d.at(ctx)
	if err != nil {
		return tui.Operated{}, err
	}
	text := ""
	if r, ok := op.(drive.Revert); ok {
		text = textAt(l.Session, r.Message)
	}
	out, err := l.Operate(ctx, op)
	if err != nil {
		return tui.Operated{}, err
	}
	if _, gone := op.(drive.Delete); gone || out.Branch == l.Branch { // its jobs go on
		return tui.Operated{ID: d.Identity(), Label: out.Label, Text: text, Held: len(l.State().Branch.Queue) > 0}, nil
	}
	id, err := d.Branch(ctx, out.Branch)
	return tui.Operated{ID: id, Label: out.Label, Text: text}, err
}

// Branch opens a branch of this session in place of the one that is open, or the
// same one anew.
func (d *desk) Branch(ctx context.Context, name string) (tui.Identity, error) {
	old, err := d.at(ctx)
	if err != nil {
		return tui.Identity{}, err
	}
	o := d.options()
	o.Branch = name
	l, err := harness.Resume(d.ctx, o, old.Session.Path())
	if err != nil {
		return tui.Identity{}, err
	}
	if err := old.Close(); err != nil {
		l.Close()
		return tui.Identity{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open = make(chan struct{})
	close(d.open)
	d.path, d.local, d.err = l.Session.Path(), l, nil
	d.ident.Notice, d.ident.Draft = "", ""
	return d.ident, nil
}
