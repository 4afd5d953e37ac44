package harness

import (
	"context"
	"time"

	"github.com/fsnotify/fsnotify"

	"varve/internal/harness/drive"
	"varve/internal/session"
)

// An Update is what is new behind a place in the log.
type Update = drive.Update

// maxUpdate is how many entries one update holds at the most.
const maxUpdate = 2000

// Follow returns what came after an event and a version of the pulses, and
// waits for it where there is nothing. A slow reader reads more at once; it
// misses no entry.
func (l *Local) Follow(ctx context.Context, after session.Seq, version uint64) (Update, error) {
	for {
		pulses, v := l.loop.pulses.Read()
		entries, seen, err := l.entries(after)
		if err == nil && len(entries) == 0 && v > version && l.early(ctx, seen) {
			continue // read again: there is more now
		}
		if err != nil || len(entries) > 0 || v > version {
			return Update{
				Entries: entries, State: l.State(), Pulses: pulses, Version: v,
				Fault: l.Fault(), Ours: l.Ours(), Busy: l.Busy(),
			}, err
		}
		select {
		case <-l.Session.Moved(seen):
		case <-l.loop.pulses.Moved(version):
		case <-ctx.Done():
			return Update{}, ctx.Err()
		}
	}
}

// pulseEvery is how often a follower is told of pulses alone, however fast a
// model writes. It is shorter than the pause between two reads of a stream that
// trickles, so that one waking of the program does both.
const pulseEvery = 33 * time.Millisecond

// early waits where the last update of pulses was a moment ago, and reports
// whether it waited. An entry ends the wait.
func (l *Local) early(ctx context.Context, after session.Seq) bool {
	now := l.opts.Clock.Now().UnixNano()
	wait := pulseEvery - time.Duration(now-l.pulsed.Load())
	if wait <= 0 || wait > pulseEvery {
		l.pulsed.Store(now)
		return false
	}
	select {
	case <-l.Session.Moved(after):
	case <-l.opts.Clock.After(wait):
	case <-ctx.Done():
	}
	return true
}

// glance is how often it is looked whether the process that holds the branch
// still lives, and how often the file is looked at where the system
// can't say that it changed.
const glance = time.Second

// watch reads what other processes append, as they do (LOG-6), and wakes the
// followers. It waits for the system to say that the file changed: a session
// that nobody works on costs nothing. Only while another process holds the
// branch it looks every second whether that one still does: the kernel tells
// nobody when it frees a lock, and the lock goes a moment after the last line.
func (l *Local) watch(ctx context.Context) {
	if l.Session.opened() == nil {
		select {
		case <-l.Session.Moved(0):
		case <-ctx.Done():
			return
		}
	}
	var changed <-chan fsnotify.Event
	var lost <-chan error // events were lost; what is in the file is not
	w, err := fsnotify.NewWatcher()
	if err == nil {
		defer w.Close()
		changed, lost = w.Events, w.Errors
		err = w.Add(l.Session.Path())
	}
	busy := l.Busy()
	for {
		before := l.Session.foreign()
		if cerr := l.Session.CatchUp(); cerr != nil || l.Session.foreign() != before {
			l.loop.Nudge()
		}
		if now := l.Busy(); now != busy {
			busy = now
			l.loop.pulses.touch()
		}
		var tick <-chan time.Time
		if err != nil || busy {
			tick = l.opts.Clock.After(glance)
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-lost:
		case <-tick:
		}
	}
}
