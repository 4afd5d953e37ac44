package harness

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"varve/internal/harness/drive"
	"varve/internal/session"
)

// finish records what came of a job, if it is still news or was waited for.
func (l *Loop) finish(ctx context.Context, d done) {
	w, ok := l.running[d.job.ID]
	if !ok {
		return // left behind: it came too late
	}
	w.cancel()
	delete(l.running, d.job.ID)
	l.accept(ctx, d)
	l.pulses.drop(d.job.ID)
}

func (l *Loop) accept(ctx context.Context, d done) {
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

// keep holds a result that could not be recorded: the job counts as running,
// and the result is offered again when the log works (LOG-8).
func (l *Loop) keep(d done) {
	l.running[d.job.ID] = &work{job: d.job, cancel: func() {}, kept: true}
	l.kept = append(l.kept, d)
	l.tried = l.clock.Now()
}

// offer records the results that were kept, as far as the log works.
func (l *Loop) offer(ctx context.Context) {
	for _, d := range slices.Clone(l.kept) {
		l.kept = l.kept[1:]
		delete(l.running, d.job.ID)
		l.accept(ctx, d)
	}
}

// retry tries the log again after a fault. The fault is over when what had to
// be recorded is, or when there is nothing that has to be.
func (l *Loop) retry(ctx context.Context) {
	if l.Fault() == nil && len(l.kept) == 0 || l.clock.Now().Sub(l.tried) < time.Second {
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
	l.late(ctx)
	l.offer(ctx)
	if len(l.kept) == 0 && l.cancel == nil && (l.held == nil || len(drive.Settle(l.sess.State(l.branch), l.now())) == 0) {
		l.setFault(nil)
	}
}

// stopNow stops the jobs of an open turn though that can't be recorded yet: no
// full disk keeps a command running that a person wants to end (TUI-5, LOG-8).
func (l *Loop) stopNow(c drive.Cancel) bool {
	if l.held == nil || l.Fault() == nil || l.sess.State(l.branch).Branch.Turn == nil {
		return false
	}
	l.cancel = &c
	for _, w := range l.running {
		if !w.kept && w.stopped.IsZero() {
			w.cancel()
			w.stopped = l.clock.Now()
		}
	}
	return true
}

// late records a cancel that could not be recorded when it was asked for, and
// goes before everything else that waits for the log.
func (l *Loop) late(ctx context.Context) {
	if c := l.cancel; c != nil {
		l.cancel = nil
		_ = l.admit(ctx, *c) // a turn that is over by now needs none
	}
}

// expire leaves jobs behind that were told to stop and did not.
func (l *Loop) expire(ctx context.Context) {
	now := l.clock.Now()
	for id, w := range l.running {
		if w.kept || w.stopped.IsZero() || now.Sub(w.stopped) < grace {
			continue
		}
		delete(l.running, id)
		l.accept(ctx, done{w.job, drive.Result{Fault: &drive.Fault{Where: string(w.job.Kind), Kind: "hung", Abandoned: true}}})
		l.pulses.drop(id)
	}
}

// end interrupts what still runs, records what it had, and closes the run.
func (l *Loop) end(stop context.CancelFunc) {
	defer stop()
	if l.held == nil {
		return
	}
	defer l.held.release()
	ctx := context.Background()
	if s := l.sess.State(l.branch); s.Branch.Turn != nil && s.Branch.Turn.Run == l.env.Run {
		if facts, err := drive.Admit(s, l.now(), drive.Cancel{By: "closed"}); err == nil && len(facts) > 0 {
			_ = l.record(ctx, s, facts)
		}
	}
	deadline := l.clock.After(grace)
	for waiting := true; waiting; {
		l.settle(ctx)
		l.reconcile(ctx)
		if len(l.running) == 0 {
			break
		}
		select {
		case d := <-l.results:
			l.finish(ctx, d)
		case <-deadline:
			stop()
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
	_ = l.sess.Sync()
}

// sessionName is a session's id, from its path.
func sessionName(path string) string {
	return strings.TrimSuffix(filepath.Base(path), ".jsonl")
}
