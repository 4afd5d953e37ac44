// Package drive decides what a session does next. It has four verbs, and
// together with [session.Fold] they are the whole agent:
//
//	Admit   someone asks        command       -> facts, or a refusal
//	Settle  it follows          state         -> facts
//	Want    it needs the world  state         -> jobs to start
//	Accept  the world answered  job, result   -> facts (if Welcome, or Owed)
//
// Nothing here blocks or fails for an outside reason, and nothing here reads a
// text: jobs carry ids, results carry sizes. The local harness and a hosted
// workflow differ only in how they append and how they run jobs.
//
// This file asks the concerns in order; each has a file of its own: say,
// queue, request, call, approve, plan, end, recover.
package drive

import (
	"errors"
	"slices"
	"time"

	"varve/internal/compact"
	"varve/internal/session"
)

// Env is what a decision needs to know beside the state: who decides, and
// when.
type Env struct {
	Run         string    // the run of this process; nothing is done in another's name
	Interactive bool      // a person is there to answer
	Now         time.Time // used for waits only
	MaxRequests int       // of one turn, 0 for no limit
	// Opening is what this run records before its first act: in a new file the
	// session itself, always the run.
	Opening []session.Fact
	// Focus is what the compaction that was left open is to keep in particular:
	// whoever asks for it anew says it again.
	Focus []byte
	// Running reports whether a job is being worked on here.
	Running func(id string) bool
}

func (e Env) running(id string) bool { return e.Running != nil && e.Running(id) }

// A Command is something a person or a client asks for.
type Command interface{ command() }

type (
	// Say submits a user message. Sent while a turn runs it is queued for the
	// next one, or, with Steer, for the next request of this one.
	Say struct {
		Text  []byte
		Media []session.Media
		Refs  []session.Part // what Media points to, behind the text
		Steer bool
	}
	// Runs records that a command of the user's own is about to run: what can't
	// be recorded is not run, and one that outlives the program is known.
	Runs struct{ Command []byte }
	// Ran records a command of the user's own, with what came of it.
	Ran struct {
		Command, Output []byte
		Exit            int
		DurationMS      int64
		Files           []session.Fact // what it changed
		Watched         bool           // that is all
	}
	// Cancel interrupts the open turn.
	Cancel struct{ By string }
	// Resume goes on with a paused turn.
	Resume struct{}
	// Answer answers an approval.
	Answer struct {
		Question session.Seq
		Answer   string // once, run, always, deny
		Rule     string // what run and always grant
		Words    []byte // for the model, with deny
	}
	// Choose selects a model for the next request.
	Choose struct {
		Model     session.Model
		Reasoning string
		By        string
	}
	// SetMode changes the permission mode.
	SetMode struct{ Mode string }
	// Rename gives the session a title.
	Rename struct{ Title []byte }
	// EditQueued, MoveQueued and RemoveQueued change what waits.
	EditQueued struct {
		Entry session.Seq
		Text  []byte
	}
	MoveQueued   struct{ Entry, Before session.Seq }
	RemoveQueued struct{ Entry session.Seq }
	// SendHeld lets held entries go.
	SendHeld struct{ Entry session.Seq }
	// JobEnded records the end of a background job.
	// Compact asks for a compaction at the next safe boundary.
	Compact  struct{ Focus []byte }
	JobEnded struct {
		Job  string
		Exit *int
		Why  string
	}
)

func (Say) command()          {}
func (Runs) command()         {}
func (Ran) command()          {}
func (Cancel) command()       {}
func (Resume) command()       {}
func (Answer) command()       {}
func (Choose) command()       {}
func (SetMode) command()      {}
func (Rename) command()       {}
func (EditQueued) command()   {}
func (MoveQueued) command()   {}
func (RemoveQueued) command() {}
func (SendHeld) command()     {}
func (JobEnded) command()     {}
func (Compact) command()      {}

// Refusals. A refusal is an answer: nothing was recorded.
var (
	ErrNothing  = errors.New("there is nothing to do")
	ErrGone     = errors.New("that is not there any more")
	ErrBusy     = errors.New("a turn is running: interrupt it first, or wait")
	ErrReadOnly = errors.New("this branch holds events of a newer program: it can be read, not written")
	ErrEmpty    = errors.New("the message is empty")

	// ErrConflict says that somebody else changed the branch meanwhile (LOG-6),
	// ErrHeld that another process works on it (LOG-14).
	ErrConflict = errors.New("the branch has moved on")
	ErrHeld     = errors.New("another window or process is working on this branch: close it there, then try again")
)

// Admit checks a command against the state and returns the facts that it
// makes true. What the run has to record before its first act comes first.
func Admit(s session.State, env Env, cmd Command) ([]session.Fact, error) {
	if s.Branch.ReadOnly != "" {
		return nil, ErrReadOnly
	}
	facts, err := admit(s, env, cmd)
	if err != nil {
		return nil, err
	}
	if s.Branch.Run != env.Run {
		facts = append(begin(s, env), facts...)
	}
	return facts, nil
}

func admit(s session.State, env Env, cmd Command) ([]session.Fact, error) {
	switch c := cmd.(type) {
	case Say:
		return say(s, env, c)
	case Runs:
		return shellRuns(c), nil
	case Ran:
		return shellRan(c), nil
	case Cancel:
		return cancel(s, env, c)
	case Resume:
		return resume(s, env)
	case Answer:
		return answer(s, env, c)
	case Choose:
		if c.Model == s.Branch.Model && c.Reasoning == s.Branch.Reason {
			return nil, nil
		}
		return facts(session.ModelChosen{Model: c.Model, Reasoning: c.Reasoning, By: c.By}), nil
	case SetMode:
		return facts(session.PermissionChanged{Mode: c.Mode, Op: "mode", Scope: "run"}), nil
	case JobEnded:
		if s.Branch.Run != env.Run {
			return nil, ErrNothing
		}
		return facts(session.JobEnded{Job: c.Job, Exit: c.Exit, Why: c.Why}), nil
	case Compact:
		return compactNow(s, env, c)
	case Rename:
		return []session.Fact{text(session.SessionRenamed{By: "user"}, c.Title)}, nil
	}
	return queued(s, cmd)
}

// Settle returns the facts that follow from the state alone, a step at a
// time: it is asked again until it returns none.
func Settle(s session.State, env Env) []session.Fact {
	if s.Branch.Run != env.Run || env.Run == "" || s.Branch.ReadOnly != "" {
		return nil
	}
	t := s.Branch.Turn
	if t == nil || t.Cancelled == "" {
		if f := settleCompaction(s); len(f) > 0 {
			return f
		}
		if compacting(s) {
			if a := s.Branch.Asked; a != nil && a.By == "user" && t != nil && t.Run == env.Run {
				return finish(s, env, *t) // what is answered by now can be covered (CMP-9)
			}
			return nil
		}
	}
	switch {
	case t == nil:
		return take(s, env)
	case t.Cancelled != "":
		return closeTurn(s, env, *t)
	case t.Run != env.Run:
		return nil // paused: only a person goes on with it
	}
	for _, step := range []func(session.State, Env, session.Turn) []session.Fact{rejected, settleCalls, finish, steer} {
		if f := step(s, env, *t); len(f) > 0 {
			return f
		}
	}
	return nil
}

// A Kind says what a job does.
type Kind string

// The kinds of jobs.
const (
	Discover Kind = "discover" // look for instructions
	Encode   Kind = "encode"   // make a request's bytes
	Send     Kind = "send"     // send them, once
	Judge    Kind = "judge"    // read a call's arguments, and judge it by the rules
	Tool     Kind = "tool"     // run a call
	ShowPlan Kind = "plan"     // write the plan down for the model
	Prepare  Kind = "prepare"  // see what a compaction would cover, and who may be asked
	Pack     Kind = "pack"     // write segments down
	Brief    Kind = "brief"    // make the bytes of a request to a summarizer
	Ask      Kind = "ask"      // send them, once
	Commit   Kind = "commit"   // load the handoff that is to be installed
)

func (k Kind) compacts() bool {
	return k == Prepare || k == Pack || k == Brief || k == Ask || k == Commit
}

// A Job is one thing only the world can do. Its id names what made it wanted:
// equal ids mean equal work.
type Job struct {
	ID       string
	Kind     Kind
	Turn     session.Seq
	Request  session.Seq    // Send
	Revision session.Seq    // Encode: the view's head
	Attempt  int            // Encode, Send: from 1
	Bare     bool           // Encode: without an output limit
	Call     session.ItemID // Judge, Tool
	Plan     session.Seq    // ShowPlan
	// Of a compaction: which one, and the part of it that is asked for.
	Compaction session.Seq
	Unit       compact.Unit
	NotBefore  time.Time // the loop starts it no earlier
}

// Want returns the work that the state is waiting for, most needed first.
func Want(s session.State, env Env) []Job {
	t := s.Branch.Turn
	if s.Branch.Run == env.Run && env.Run != "" && s.Branch.ReadOnly == "" && compacting(s) {
		if t == nil || t.Cancelled == "" {
			return wantCompaction(s)
		}
	}
	if t == nil || s.Branch.Run != env.Run || t.Run != env.Run || t.Cancelled != "" || s.Branch.ReadOnly != "" {
		return nil
	}
	if t.Open.Seq != 0 {
		return []Job{{ID: id(Send, t.Open.Seq), Kind: Send, Turn: t.ID, Request: t.Open.Seq, Attempt: t.Open.Attempt}}
	}
	if open(t.Calls) {
		return wantCalls(*t)
	}
	return wantRequest(s, *t)
}

// Welcome reports whether an answer to j would still be news. A running job
// that is not welcome is stopped.
func Welcome(s session.State, env Env, j Job) bool {
	t := s.Branch.Turn
	if j.Kind.compacts() {
		for _, w := range Want(s, env) {
			if w.ID == j.ID {
				return true
			}
		}
		return false
	}
	if t == nil || t.ID != j.Turn || t.Cancelled != "" || t.Run != env.Run {
		return false
	}
	for _, w := range Want(s, env) {
		if w.ID == j.ID {
			return true
		}
	}
	return false
}

// Owed reports whether the state waits for the end of j, welcome or not: a
// request that was sent and a call that was started are closed by what came
// of them.
func Owed(s session.State, j Job) bool {
	t := s.Branch.Turn
	if c := s.Branch.Compaction; j.Kind == Ask {
		return c != nil && slices.ContainsFunc(c.Open, func(a session.Asking) bool { return a.Seq == j.Request })
	}
	if t == nil || t.ID != j.Turn {
		return false
	}
	switch j.Kind {
	case Send:
		return t.Open.Seq == j.Request
	case Tool:
		c, ok := find(t.Calls, j.Call)
		return ok && c.Started && !c.Done
	}
	return false
}

// A Result is what came of a job. Sizes and hashes are facts; texts travel in
// facts' bodies and are not looked at.
type Result struct {
	Facts []session.Fact // recorded as they are: what was found, learned, changed
	Fault *Fault         // the job itself broke, nothing else is set

	Request *Encoded // Encode
	Reply   *Reply   // Send
	Verdict *Verdict // Judge
	Output  *Output  // Tool

	Prepared *Prepared // Prepare
	Packed   *Packed   // Pack, and Brief where what was asked for is too large
	Summary  *Summary  // Ask, Commit: what the text comes to
}

// Fault is a fault of our own, caught at the border (REL-7).
type Fault struct {
	Where, Kind string
	Text        []byte
	Abandoned   bool // it did not return in time and was left behind
}

// Accept turns a job's result into facts. It never returns nothing for a job
// that is owed: a job that broke closes what waited for it.
func Accept(s session.State, env Env, j Job, r Result) []session.Fact {
	var out []session.Fact
	if f := r.Fault; f != nil && !f.Abandoned {
		out = append(out, text(session.FaultRecorded{Where: f.Where, Kind: f.Kind, Job: j.ID}, f.Text))
	}
	out = append(out, r.Facts...)
	switch j.Kind {
	case Discover:
		return append(out, discovered(r)...)
	case Prepare:
		return append(out, prepared(s, r)...)
	case Pack:
		return append(out, packed(s, r)...)
	case Brief:
		return append(out, briefed(s, j, r)...)
	case Ask:
		return append(out, heard(s, env, j, r)...)
	case Commit:
		return append(out, committed(s, r)...)
	case Encode:
		return append(out, encoded(s, j, r)...)
	case Send:
		return append(out, replied(s, env, j, r)...)
	case Judge:
		return append(out, judged(s, env, j, r)...)
	case Tool:
		return append(out, toolRan(s, j, r)...)
	}
	return out
}
