package tui

import (
	"cmp"
	"context"
	"fmt"

	"varve/internal/harness/drive"
)

// What the fake says of all sessions.
type fakeSessions struct {
	sessions []SessionInfo
	waiting  int
	slowList chan struct{} // Browse sends nothing until it is closed
	noList   error
	said     map[string][]Saying
	unsaid   string
	noSaid   error
	trees    map[string]Tree
	noTree   error
	slowTree map[string]chan struct{} // Tree of that session takes until it is closed
	noRemove error
	peeks    map[string][]Message // by session/branch/seq
	slowPeek chan struct{}        // Peek takes until it is closed, or is ended
	peekEnds int
	refusal  error // of what the browser does
	planned  FilePlan
	restored FilePlan
}

func (a *fakeAgent) Browse(ctx context.Context) <-chan Browsed {
	a.asks("browse")
	out := make(chan Browsed)
	go func() {
		defer close(out)
		if a.slowList != nil {
			select {
			case <-a.slowList:
			case <-ctx.Done():
				return
			}
		}
		select {
		case out <- Browsed{a.sessions, a.waiting, a.noList}:
		case <-ctx.Done():
		}
	}()
	return out
}

func (a *fakeAgent) Said(_ context.Context, text string) ([]Saying, string, error) {
	a.asks("said %s", text)
	return a.said[text], a.unsaid, a.noSaid
}

func (a *fakeAgent) Tree(_ context.Context, id string) (Tree, error) {
	a.asks("tree %s", id)
	if slow := a.slowTree[id]; slow != nil {
		<-slow
	}
	if t, ok := a.trees[id]; ok {
		return t, a.noTree
	}
	return Tree{Session: id, Limbs: a.branches.limbs, Restores: a.branches.restores}, a.noTree
}

func (a *fakeAgent) Peek(ctx context.Context, at Point) ([]Message, error) {
	key := fmt.Sprintf("%s/%s/%d", at.Session, at.Branch, at.At.Seq)
	a.asks("peek %s", key)
	if a.slowPeek != nil {
		select {
		case <-a.slowPeek:
		case <-ctx.Done():
			a.mu.Lock()
			a.peekEnds++
			a.mu.Unlock()
			return nil, ctx.Err()
		}
	}
	return a.peeks[key], nil
}

func (a *fakeAgent) PlanAt(_ context.Context, id string, op drive.Operation) (FilePlan, error) {
	a.asks("plan at %s %T %+v", id, op, op)
	return a.planned, a.refusal
}

func (a *fakeAgent) OperateAt(_ context.Context, id string, op drive.Operation) (Operated, error) {
	a.asks("at %s %T %+v", id, op, op)
	out := Operated{ID: a.ident, Branch: op.Of()}
	switch op.(type) {
	case drive.Fork:
		out.Branch = "b9"
	case drive.Revert:
		out.Label, out.Text = "v1", a.branches.back
	}
	return out, a.refusal
}

func (a *fakeAgent) RestoreAt(_ context.Context, id, branch string, to drive.FilesTo) (FilePlan, error) {
	a.asks("restore at %s %s %+v", id, branch, to)
	return a.restored, a.refusal
}

func (a *fakeAgent) RenameAt(_ context.Context, id, branch, title string) error {
	a.asks("rename %s %s %s", id, branch, title)
	return a.refusal
}

func (a *fakeAgent) ExportAt(_ context.Context, id, branch, file string) (string, error) {
	a.asks("export %s %s %s", id, branch, file)
	return "Branch " + branch + " is in " + file + ".", a.refusal
}

func (a *fakeAgent) RemoveAt(_ context.Context, id string) error {
	a.asks("remove %s", id)
	return cmp.Or(a.noRemove, a.refusal)
}

func (a *fakeAgent) OpenAt(_ context.Context, id, branch string) (Identity, error) {
	a.asks("open %s %s", id, branch)
	if a.noOther != nil {
		return Identity{}, a.noOther
	}
	if a.other == nil {
		return a.ident, nil
	}
	return a.other.ident, nil
}
