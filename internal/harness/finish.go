package harness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"varve/internal/harness/drive"
	"varve/internal/session"
)

// finish takes what came of a job: also of one that was left behind. Whether
// that is still news is for the log to say.
func (l *Loop) finish(ctx context.Context, d done) {
	if w, ok := l.running[d.job.ID]; ok {
		w.cancel()
		delete(l.running, d.job.ID)
	}
	l.accept(ctx, d)
}

// accept records what came of a job, if it is still news or was waited for. An
// interrupt that waits for the log goes first: without it a job that was told to
// stop would look broken. What the job showed stays on the screen until its
// result is recorded.
func (l *Loop) accept(ctx context.Context, d done) {
	defer func() {
		if !l.busy(d.job.ID) {
			l.pulses.drop(d.job.ID)
		}
	}()
	if l.late(ctx); l.cancel != nil {
		l.keep(d)
		return
	}
	for range 3 {
		s, env := l.sess.State(l.branch), l.now()
		if !drive.Welcome(s, env, d.job) && !drive.Owed(s, d.job) {
			return
		}
		facts := drive.Accept(s, env, d.job, d.res)
		if len(facts) == 0 {
			return
		}
		if err := l.record(ctx, s, facts); !errors.Is(err, ErrConflict) {
			if err != nil && !errors.Is(err, errWritten) {
				l.keep(d)
			}
			return
		}
	}
	l.keep(d)
}

// keep holds a result that could not be recorded: it is offered again when the
// log works (LOG-8). It takes the place of an older one of its job.
func (l *Loop) keep(d done) {
	l.kept = slices.DeleteFunc(l.kept, func(k done) bool { return k.job.ID == d.job.ID })
	l.kept = append(l.kept, d)
	l.tried = l.clock.Now()
}

// offer records the results that were kept, as far as the log works.
func (l *Loop) offer(ctx context.Context) {
	for _, d := range slices.Clone(l.kept) {
		l.kept = l.kept[1:]
		l.accept(ctx, d)
	}
	for _, r := range slices.Clone(l.ran) {
		l.ran = l.ran[1:]
		_ = l.recordRan(ctx, r)
	}
}

// A ran is a command of the user's own that has run, and what to do when that is
// recorded.
type ran struct {
	cmd  drive.Ran
	done func()
}

// recordRan records a command that has run. What can't be recorded is kept, and
// offered again when the log works: it did run.
func (l *Loop) recordRan(ctx context.Context, r ran) error {
	err := l.admit(ctx, r.cmd)
	if err != nil {
		l.ran = append(l.ran, r)
		l.tried = l.clock.Now()
		return err
	}
	r.done()
	return nil
}

// waits reports whether something waits for the log.
func (l *Loop) waits() bool { return len(l.kept)+len(l.ran) > 0 }

// retry tries the log again after a fault. The fault is over when what had to
// be recorded is, or when there is nothing that has to be.
func (l *Loop) retry(ctx context.Context) {
	if l.Fault() == nil && !l.waits() || l.clock.Now().Sub(l.tried) < time.Second {
		return
	}
	err := l.sess.CatchUp()
	if err == nil {
		err = l.sess.Sync()
	}
	if err != nil {
		l.setFault(err)
		return
	}
	l.unsynced = false
	l.offer(ctx)
	if !l.waits() && l.cancel == nil && (l.held == nil || len(drive.Settle(l.sess.State(l.branch), l.now())) == 0) {
		l.setFault(nil)
	}
}

// stopNow stops the jobs of an open turn or a compaction though that can't be recorded yet: no
// full disk keeps a command running that a person wants to end (TUI-5, LOG-8).
func (l *Loop) stopNow(c drive.Cancel) bool {
	b := l.sess.State(l.branch).Branch
	if l.held == nil || l.Fault() == nil || b.Turn == nil && b.Compaction == nil {
		return false
	}
	l.cancel = &c
	for _, w := range l.running {
		if w.stopped.IsZero() {
			w.cancel()
			w.stopped = l.clock.Now()
		}
	}
	return true
}

// late records a cancel that could not be recorded when it was asked for. It
// goes before everything that follows or waits for the log.
func (l *Loop) late(ctx context.Context) {
	if c := l.cancel; c != nil {
		l.cancel = nil
		if err := l.admit(ctx, *c); errors.Is(err, ErrConflict) { // a turn that is over by now needs none
			l.cancel = c
		}
	}
}

// expire leaves jobs behind that were told to stop and did not.
func (l *Loop) expire(ctx context.Context) {
	now := l.clock.Now()
	for id, w := range l.running {
		if w.stopped.IsZero() || now.Sub(w.stopped) < grace {
			continue
		}
		delete(l.running, id)
		l.accept(ctx, done{w.job, drive.Result{Fault: &drive.Fault{Where: string(w.job.Kind), Kind: "hung", Abandoned: true}}})
	}
}

// end interrupts what still runs, records what it had, and closes the run. It
// begins nothing: what waits in the queue stays there.
func (l *Loop) end(stop context.CancelFunc) {
	defer stop()
	if l.held == nil {
		return
	}
	defer l.held.release()
	ctx := context.Background()
	l.closing = true
	b := l.sess.State(l.branch).Branch
	mine := b.Run == l.env.Run && (b.Compaction != nil || b.Asked != nil)
	if t := b.Turn; (t != nil && t.Run == l.env.Run || mine) && l.cancel == nil {
		l.cancel = &drive.Cancel{By: "closed"}
	}
	deadline := l.clock.After(grace)
	for waiting := true; waiting; {
		l.settle(ctx)
		l.reconcile(ctx)
		if len(l.running) == 0 && !l.waits() {
			break
		}
		select {
		case d := <-l.results:
			l.finish(ctx, d)
		case <-deadline:
			for _, w := range l.running {
				w.stopped = time.Time{}.Add(1) // long ago: leave it behind now
			}
			l.expire(ctx)
			l.offer(ctx)
			waiting = false
		}
	}
	l.settle(ctx)
	if s := l.sess.State(l.branch); s.Branch.Run == l.env.Run {
		_ = l.record(ctx, s, []session.Fact{{Event: session.RunEnded{Run: l.env.Run, How: "closed"}}})
	}
	if err := l.sess.Sync(); err != nil || l.waits() {
		l.lost = fmt.Errorf("%w: %w", ErrLost, cmp.Or(l.Fault(), err, errUnwritten))
	}
}

// ErrLost is returned by [Local.Close] where the log could not be written to
// the end.
var ErrLost = errors.New("what came last could not be recorded, and is lost")

var errUnwritten = errors.New("the session could not be written")

// sessionName is a session's id, from its path.
func sessionName(path string) string {
	return strings.TrimSuffix(filepath.Base(path), ".jsonl")
}
