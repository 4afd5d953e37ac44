package harness

import (
	"context"
	"errors"
	"path/filepath"
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
			if err != nil {
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
	l.running[d.job.ID] = &work{job: d.job, cancel: func() {}}
	go func() {
		select {
		case <-l.clock.After(time.Second):
		case <-l.closed:
			return
		}
		select {
		case l.results <- d:
		case <-l.closed:
		}
	}()
}

// expire leaves jobs behind that were told to stop and did not, and clears a
// fault so that the log is tried again.
func (l *Loop) expire(ctx context.Context) {
	now := l.clock.Now()
	for id, w := range l.running {
		if w.stopped.IsZero() || now.Sub(w.stopped) < grace {
			continue
		}
		delete(l.running, id)
		l.accept(ctx, done{w.job, drive.Result{Fault: &drive.Fault{Where: string(w.job.Kind), Kind: "hung", Abandoned: true}}})
		l.pulses.drop(id)
	}
	l.setFault(l.sess.Sync())
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
