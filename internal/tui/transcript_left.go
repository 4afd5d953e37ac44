package tui

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"varve/internal/session"
	"varve/internal/tui/plain"
)

// What a program that ended left behind: commands of the user's own that were
// never recorded to the end, and jobs with processes. A row of it depends on
// entries on other pages, so it is told anew whenever one comes.

// left is what is known of it, by the event that says it.
type left struct {
	begun map[session.Seq]*row   // rows of commands that began
	done  map[session.Seq]string // the first lines of those that ended; "" is not known
	runs  session.Seq            // the newest event that ends or begins a run
	alone bool                   // nobody works on the branch now
	stale bool                   // something came since the rows were told
	pids  map[session.Seq]pid    // of jobs that began
	lost  []*row                 // jobs that were lost
	calls []*row                 // calls that began and have no end that was seen
}

type pid struct {
	job string
	pid int
}

func newLeft() left {
	return left{begun: map[session.Seq]*row{}, done: map[session.Seq]string{}, pids: map[session.Seq]pid{}}
}

// shellLine is the first line of a command as the log has it where it begins.
func shellLine(command string) string {
	line, _, _ := strings.Cut(command, "\n")
	if r := []rune(line); len(r) > 200 {
		line = string(r[:200]) + "…"
	}
	return plain.Clean(strings.ToValidUTF8(line, "�"))
}

// shellBegan keeps a row for a command, which is hidden unless it is lost.
func (t *transcript) shellBegan(e session.Entry, ev session.ToastPosted) *row {
	r := &row{kind: rowNotice, item: e.Seq.Item(), ink: inkWarn, hidden: true, mark: plain.Clean(ev.Args["command"])}
	r.head = "$ " + r.mark + " was running when the program ended: it may still run, and what it wrote was not kept."
	t.left.begun[e.Seq], t.left.stale = r, true
	return r
}

// shellEnded keeps that a command ended.
func (t *transcript) shellEnded(q session.Seq, s source) {
	t.left.done[q], t.left.stale = shellLine(strings.TrimPrefix(s.text, "$ ")), true
}

// works tells whether anybody works on the branch: who does not has no command
// that still runs.
func (t *transcript) works(somebody bool) {
	if t.left.alone != !somebody {
		t.left.alone, t.left.stale = !somebody, true
		t.retold()
	}
}

// lostShells shows the commands that have no end and whose run is over. An end
// belongs to the newest of its words that has none, so that older pages change
// nothing about newer rows.
func (t *transcript) lostShells() {
	if len(t.left.begun) == 0 {
		return
	}
	events := slices.Sorted(maps.Keys(t.left.begun))
	events = append(events, slices.Collect(maps.Keys(t.left.done))...)
	slices.Sort(events)
	var open []*row
	for _, q := range events {
		if r := t.left.begun[q]; r != nil {
			open = append(open, r)
			r.hides(true)
			continue
		}
		for i := len(open) - 1; i >= 0; i-- {
			if says := t.left.done[q]; says == "" || says == open[i].mark {
				open = slices.Delete(open, i, i+1)
				break
			}
		}
	}
	for _, r := range open {
		r.hides(!t.left.alone && r.at > t.left.runs)
	}
}

// hides shows a row or not.
func (r *row) hides(hide bool) {
	if r.hidden != hide {
		r.hidden = hide
		r.forget()
	}
}

// leftOpen is said of a call whose end nobody has recorded, nor will.
const leftOpen = "left open when the program ended"

func (t *transcript) callBegan(r *row) {
	t.left.calls, t.left.stale = append(t.left.calls, r), true
}

// lostCalls tells calls that run from those whose program is dead: nobody works on
// the branch, or who does has begun after them.
func (t *transcript) lostCalls() {
	t.left.calls = slices.DeleteFunc(t.left.calls, (*row).over)
	for _, r := range t.left.calls {
		if gone := t.left.alone || r.moved < t.left.runs; gone != r.gone {
			r.gone = gone
			r.forget()
		}
	}
}

// jobLost keeps the row of a job that was lost.
func (t *transcript) jobLost(r *row, job string) {
	r.job = job
	t.left.lost, t.left.stale = append(t.left.lost, r), true
}

// lostJobs names the processes of jobs that were lost. A job's number is used
// again by the next run: the newest one before its end is meant.
func (t *transcript) lostJobs() {
	for _, r := range t.left.lost {
		var at session.Seq
		for q, p := range t.left.pids {
			if p.job == r.job && q < r.at && q > at {
				at = q
			}
		}
		who := "its processes may still run"
		if p := t.left.pids[at]; p.pid != 0 {
			who = fmt.Sprintf("its processes (pid %d) may still run", p.pid)
		}
		if head := plain.Clean(fmt.Sprintf("Background job %s was lost, since the program ended; %s.", r.job, who)); head != r.head {
			r.head = head
			r.forget()
		}
	}
}

// leaves takes what an entry says of what was left behind.
func (t *transcript) leaves(e session.Entry) {
	switch ev := e.Event.(type) {
	case session.RunStarted, session.RunEnded:
		t.left.runs, t.left.stale = max(t.left.runs, e.Seq), true
	case session.JobStarted:
		t.left.pids[e.Seq], t.left.stale = pid{ev.Job, ev.PID}, true
	}
}

// retold is what a page of entries changes about rows that are there.
func (t *transcript) retold() {
	if t.left.stale {
		t.left.stale = false
		t.lostShells()
		t.lostJobs()
		t.lostCalls()
	}
}

// drop forgets a row that is dropped.
func (l *left) drop(r *row) {
	delete(l.begun, r.at)
	l.lost = slices.DeleteFunc(l.lost, func(x *row) bool { return x == r })
	l.calls = slices.DeleteFunc(l.calls, func(x *row) bool { return x == r })
}

// jobEnd is how a job ended, in words.
func jobEnd(ev session.JobEnded) string {
	why := map[string]string{"exited": "", "killed": "killed", "closed": "the program ended", "timeout": "timed out"}
	s, known := why[ev.Why]
	if !known {
		s = ev.Why
	}
	if ev.Exit != nil {
		s = strings.TrimPrefix(s+fmt.Sprintf(", exit %d", *ev.Exit), ", ")
	}
	return cmp.Or(s, "done")
}
