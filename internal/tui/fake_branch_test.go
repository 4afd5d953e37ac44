package tui

import (
	"context"
	"fmt"

	"varve/internal/harness/drive"
)

// What the fake says of branches: messages and limbs that the test gives it.
type fakeBranches struct {
	turns   []Turn
	limbs   []Limb
	refused error // of Operate and Branch
	back    string
}

func (a *fakeAgent) Turns(context.Context) ([]Turn, error) { return a.branches.turns, nil }

func (a *fakeAgent) Limbs(context.Context) ([]Limb, error) { return a.branches.limbs, nil }

func (a *fakeAgent) Operate(_ context.Context, op drive.Operation) (Identity, string, error) {
	a.asks("%s", fmt.Sprintf("%T %+v", op, op))
	return a.ident, a.branches.back, a.branches.refused
}

func (a *fakeAgent) Branch(_ context.Context, name string) (Identity, error) {
	a.asks("branch %s", name)
	return a.ident, a.branches.refused
}
