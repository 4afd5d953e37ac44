package harness

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"varve/internal/compact"
	"varve/internal/harness/drive"
	"varve/internal/session"
)

// grace is how long a stopped job may take to hand over what it has. After
// it the job is left behind and closed without it, so that an interrupt
// answers within 300 ms whatever hangs (TUI-5).
const grace = 200 * time.Millisecond

// A Runner performs one job against a frozen state.
type Runner func(ctx context.Context, s session.State, j drive.Job) drive.Result

// A Loop drives one branch of a session.
type Loop struct {
	sess   *Session
	branch string
	run    Runner
	clock  Clock
	pulses *Pulses
	state  string // the state directory, for the run lock

	env      drive.Env
	opening  func(context.Context, session.State) ([]session.Fact, error) // before the first act of this run
	renewed  func(session.State) []session.Fact                           // settings that have changed, before a turn begins
	noTurns  bool
	commands chan request
	results  chan done
	foreign  chan struct{}
	closed   chan struct{}

	// Owned by the loop.
	held     *hold
	running  map[string]*work
	counting string        // the job whose wait is shown
	kept     []done        // results that could not be recorded yet
	ran      []ran         // commands of the user's own, the same
	cancel   *drive.Cancel // asked for, and not recorded yet
	closing  bool          // nothing is begun any more
	lost     error         // what could not be recorded, once the loop has ended
	unsynced bool          // something depends on lines that a sync did not bring to the disk
	tried    time.Time     // when the log was tried last, while there is a fault

	mu    sync.Mutex
	fault error // why nothing can be recorded at the moment (LOG-8)
}

type request struct {
	cmd   drive.Command
	do    func() // instead of a command
	reply chan error
}

type done struct {
	job drive.Job
	res drive.Result
}

// work is one running job and the way to stop it.
type work struct {
	job     drive.Job
	cancel  context.CancelFunc
	stopped time.Time // when it was told to stop, zero while it is welcome
}

// NewLoop returns a loop for a branch. Call [Loop.Run] to start it: it works
// on nothing before the first command that it admits (LOG-14).
func NewLoop(s *Session, branch, stateDir string, env drive.Env, run Runner, clock Clock) *Loop {
	l := &Loop{
		sess: s, branch: branch, run: run, clock: clock, pulses: &Pulses{}, state: stateDir, env: env,
		commands: make(chan request), results: make(chan done), foreign: make(chan struct{}, 1),
		closed: make(chan struct{}), running: map[string]*work{},
	}
	l.env.Running = l.busy
	return l
}

// Pulses is what passes while jobs run.
func (l *Loop) Pulses() *Pulses { return l.pulses }

// Fault says why nothing can be recorded at the moment, or nil.
func (l *Loop) Fault() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fault
}

// Submit hands cmd to the loop and reports whether it was accepted. What
// comes of it is in the log.
func (l *Loop) Submit(ctx context.Context, cmd drive.Command) error {
	return l.ask(ctx, request{cmd: cmd, reply: make(chan error, 1)})
}

// do runs f where the loop decides, between two decisions.
func (l *Loop) do(ctx context.Context, f func()) error {
	return l.ask(ctx, request{do: f, reply: make(chan error, 1)})
}

func (l *Loop) ask(ctx context.Context, r request) error {
	select {
	case l.commands <- r:
		return <-r.reply
	case <-l.closed:
		return errors.New("the session is closed")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Nudge tells the loop that others appended to the log.
func (l *Loop) Nudge() {
	select {
	case l.foreign <- struct{}{}:
	default:
	}
}

// Run is the loop. It returns when ctx is done; then all its jobs have been
// stopped, and the run is closed in the log.
func (l *Loop) Run(ctx context.Context) {
	jobs, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer close(l.closed)
	defer l.end(stop)
	for {
		l.settle(ctx)
		wait := l.reconcile(jobs)
		var timer <-chan time.Time
		if wait >= 0 {
			timer = l.clock.After(wait)
		}
		select {
		case <-ctx.Done():
			return
		case r := <-l.commands:
			if r.do != nil {
				r.do()
				r.reply <- nil
				continue
			}
			r.reply <- l.admit(ctx, r.cmd)
		case d := <-l.results:
			l.finish(ctx, d)
		case <-l.foreign:
			if err := l.sess.CatchUp(); err != nil {
				l.setFault(err)
			}
		case <-timer:
			l.expire(ctx)
			l.retry(ctx)
		}
	}
}

// busy reports whether a job is at work, or done with its result waiting for
// the log: neither is to be started again.
func (l *Loop) busy(id string) bool {
	_, runs := l.running[id]
	return runs || slices.ContainsFunc(l.kept, func(d done) bool { return d.job.ID == id })
}

func (l *Loop) now() drive.Env {
	env := l.env
	env.Now = l.clock.Now()
	return env
}

// admit decides a command. Where nothing came of it before this run has
// recorded its start, the run lock is free again for others.
func (l *Loop) admit(ctx context.Context, cmd drive.Command) error {
	err := l.decide(ctx, cmd)
	if l.held != nil && l.sess.State(l.branch).Branch.Run != l.env.Run {
		l.held.release()
		l.held = nil
	}
	if errors.Is(err, errWritten) {
		return nil // it counts; the fault says what is wrong
	}
	if c, ok := cmd.(drive.Cancel); ok && err != nil && l.stopNow(c) {
		return nil
	}
	return err
}

// decide decides anew when others were faster.
func (l *Loop) decide(ctx context.Context, cmd drive.Command) error {
	for range 3 {
		if err := l.hold(ctx); err != nil {
			return err
		}
		s := l.sess.State(l.branch)
		env := l.now()
		if s.Branch.Run != env.Run && l.opening != nil {
			var err error
			if env.Opening, err = l.opening(ctx, s); err != nil {
				return err
			}
			if env.Focus, err = l.focus(s); err != nil {
				return err
			}
		}
		facts, err := drive.Admit(s, env, cmd)
		if err != nil {
			return err
		}
		if len(facts) == 0 {
			return nil
		}
		err = l.record(ctx, s, l.begins(s, facts))
		if !errors.Is(err, ErrConflict) {
			return err
		}
	}
	return ErrConflict
}

// hold takes the run lock, once. What was recorded before it was taken is
// read first.
func (l *Loop) hold(ctx context.Context) error {
	if l.held != nil {
		return nil
	}
	h, err := take(ctx, l.state, sessionName(l.sess.Path()), l.branch)
	if err != nil {
		return err
	}
	if err := l.sess.CatchUp(); err != nil {
		h.release()
		return err
	}
	l.held = h
	return nil
}

func (l *Loop) record(ctx context.Context, s session.State, facts []session.Fact) error {
	err := l.sess.Record(ctx, l.branch, s.Branch.Head, facts)
	fault := err
	switch {
	case errors.Is(err, ErrConflict):
		return err
	case errors.Is(err, errWritten):
		l.unsynced = true
	case err == nil && l.unsynced: // a line that was written says nothing about those before it
		fault = l.sess.Sync()
		l.unsynced = fault != nil
	}
	l.setFault(fault)
	return err
}

// setFault keeps why nothing can be recorded, and wakes the followers where
// that is news.
func (l *Loop) setFault(err error) {
	l.mu.Lock()
	was := l.fault
	l.fault = err
	l.mu.Unlock()
	if err != nil {
		l.tried = l.clock.Now()
	}
	if (was == nil) != (err == nil) || was != nil && was.Error() != err.Error() {
		l.pulses.touch()
	}
}

// settle records what follows, until nothing does. A fault of the log stops
// it: what is not on the disk has not happened (LOG-8). An interrupt that waits
// for the log goes first, or what was to stop would be started when it works.
func (l *Loop) settle(ctx context.Context) {
	if l.held == nil {
		return
	}
	if l.late(ctx); l.cancel != nil {
		return
	}
	for {
		s := l.sess.State(l.branch)
		if l.closing && s.Branch.Turn == nil {
			return
		}
		facts := drive.Settle(s, l.now())
		if len(facts) == 0 || l.noTurns && opensTurn(s, facts) {
			return
		}
		facts = l.begins(s, facts)
		if err := l.record(ctx, s, facts); err != nil && !errors.Is(err, ErrConflict) {
			return
		}
	}
}

// reconcile stops what is no longer welcome, starts what is wanted, and says
// how long until something is due: negative for nothing.
func (l *Loop) reconcile(ctx context.Context) time.Duration {
	wait := time.Duration(-1)
	due := func(at, now time.Time) {
		if d := max(at.Sub(now), 0); wait < 0 || d < wait {
			wait = d
		}
	}
	s, env := l.sess.State(l.branch), l.now()
	for _, w := range l.running {
		if w.stopped.IsZero() && !drive.Welcome(s, env, w.job) {
			w.cancel()
			w.stopped = env.Now
		}
		if !w.stopped.IsZero() {
			due(w.stopped.Add(grace), env.Now)
		}
	}
	fault := l.Fault()
	if fault != nil || l.waits() {
		due(l.tried.Add(time.Second), env.Now)
	}
	if l.held == nil || fault != nil {
		return wait
	}
	started := map[drive.Kind]int{}
	for _, w := range l.running {
		started[w.job.Kind]++
	}
	counts := ""
	defer func() {
		if l.counting != counts {
			l.pulses.drop(l.counting)
			l.counting = counts
		}
	}()
	for _, j := range drive.Want(s, env) {
		if l.busy(j.ID) || started[j.Kind] >= limit(j.Kind) {
			continue
		}
		if j.NotBefore.After(env.Now) {
			l.pulses.put(Pulse{Job: j.ID, Kind: "retry", Until: j.NotBefore, Why: why(s)})
			counts = j.ID
			due(j.NotBefore, env.Now)
			continue
		}
		l.pulses.drop(j.ID)
		started[j.Kind]++
		jctx, cancel := context.WithCancel(ctx)
		l.running[j.ID] = &work{job: j, cancel: cancel}
		go func() {
			r := l.guarded(jctx, s, j)
			select {
			case l.results <- done{j, r}:
			case <-l.closed:
			}
		}()
	}
	return wait
}

// limit is how many jobs of a kind may run at once: how many hands, not what
// to do.
func limit(k drive.Kind) int {
	switch k {
	case drive.Judge, drive.Tool:
		return 8
	case drive.Ask:
		return compact.MaxMaps
	}
	return 1
}

func why(s session.State) string {
	if t := s.Branch.Turn; t != nil && t.Rejection != nil {
		if t.Rejection.Error != nil {
			return t.Rejection.Error.Kind
		}
		return t.Rejection.Class
	}
	return ""
}

// guarded runs a job and catches its panic at the border (REL-7). A plan that
// can't be shown is not tried for ever.
func (l *Loop) guarded(ctx context.Context, s session.State, j drive.Job) (r drive.Result) {
	defer func() {
		if p := recover(); p != nil {
			text := fmt.Sprintf("%v\n%s", p, debug.Stack())
			r = drive.Result{Fault: &drive.Fault{Where: string(j.Kind), Kind: "panic", Text: []byte(text)}}
		}
		if r.Fault != nil && j.Kind == drive.ShowPlan {
			r.Facts = append(r.Facts, planNotShown(j.Plan))
		}
	}()
	return l.run(ctx, s, j)
}
