package tui

import (
	"context"
	"fmt"

	"varve/internal/harness/drive"
)

// What the fake says of branches: messages and limbs that the test gives it.
type fakeBranches struct {
	turns    []Turn
	limbs    []Limb
	restores []Restore
	plan     FilePlan // of PlanFiles
	noPlan   error
	did      FilePlan // of RestoreFiles
	noFiles  error
	refused  error // of Operate and Branch
	back     string
	held     bool
	gaps     []Gap
	slow     chan struct{} // PlanFiles takes until it is closed
}

func (a *fakeAgent) Turns(context.Context) ([]Turn, error) { return a.branches.turns, nil }

func (a *fakeAgent) Limbs(context.Context) ([]Limb, error) { return a.branches.limbs, nil }

func (a *fakeAgent) Branched(context.Context) bool { return len(a.branches.limbs) > 1 }

func (a *fakeAgent) Gaps(context.Context) []Gap { return a.branches.gaps }

func (a *fakeAgent) Restores(context.Context) ([]Restore, error) { return a.branches.restores, nil }

func (a *fakeAgent) PlanFiles(_ context.Context, op drive.Operation) (FilePlan, error) {
	a.asks("plan %T", op)
	if a.branches.slow != nil {
		<-a.branches.slow
	}
	return a.branches.plan, a.branches.noPlan
}

func (a *fakeAgent) RestoreFiles(_ context.Context, to drive.FilesTo) (FilePlan, error) {
	a.asks("restore %+v", to)
	return a.branches.did, a.branches.noFiles
}

func (a *fakeAgent) Operate(_ context.Context, op drive.Operation) (Operated, error) {
	a.asks("%s", fmt.Sprintf("%T %+v", op, op))
	out := Operated{ID: a.ident, Held: a.branches.held}
	if _, ok := op.(drive.Revert); ok {
		out.Label, out.Text = "v1", a.branches.back
	}
	return out, a.branches.refused
}

func (a *fakeAgent) Branch(_ context.Context, name string) (Identity, error) {
	a.asks("branch %s", name)
	return a.ident, a.branches.refused
}

// steps are files of a plan: "write a.txt", "leave b.txt: changed since".
func steps(list ...[3]string) (out []drive.FileStep) {
	for _, f := range list {
		step := drive.FileStep{Act: f[0], Path: f[1], Why: f[2], Have: "some hash"}
		if f[0] == "create" {
			step.Act, step.Have = drive.WriteFile, ""
		}
		out = append(out, step)
	}
	return out
}
