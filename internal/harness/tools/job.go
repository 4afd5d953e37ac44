package tools

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// jobs is the commands of a Box that outlive their call, and what must be waited for when it closes.
type jobs struct {
	closing chan struct{}
	shell   func() string
	wg      sync.WaitGroup // the goroutines of all commands

	mu   sync.Mutex
	byID map[string]*job
	next int
	shut bool
}

type job struct {
	id   string
	call string
	proc *proc
	kill chan struct{} // closed by the first job_kill
	look chan struct{} // asks the watcher to see whether a silent rest is gone
	done chan struct{} // closed when it has ended; why is set before

	mu     sync.Mutex
	read   place
	killed bool
	why    string
}

// Whys of a job's end.
const (
	jobExited  = "exited"
	jobKilled  = "killed"
	jobTimeout = "timeout"
	jobClosed  = "closed"
)

func (js *jobs) init(b *Box) {
	js.next = b.FirstJob
	js.byID = map[string]*job{}
	js.closing = make(chan struct{})
	js.shell = sync.OnceValue(b.shell)
}

func (js *jobs) close() {
	js.mu.Lock()
	if !js.shut {
		js.shut = true
		close(js.closing)
	}
	js.mu.Unlock()
	js.wg.Wait()
}

// adopt makes a job of a running command; timeout 0 is none. It is watched until nothing is left of it.
func (js *jobs) adopt(p *prep, c *proc, timeout time.Duration) *job {
	js.mu.Lock()
	defer js.mu.Unlock()
	j := &job{
		id: fmt.Sprintf("job-%d", js.next), call: p.call.ID, proc: c,
		kill: make(chan struct{}), look: make(chan struct{}, 1), done: make(chan struct{}),
	}
	js.next++
	js.byID[j.id] = j
	js.wg.Go(func() { p.Box.watch(j, timeout) })
	return j
}

func (b *Box) watch(j *job, timeout time.Duration) {
	c := j.proc
	var late <-chan time.Time
	if timeout > 0 {
		t := time.NewTimer(timeout)
		defer t.Stop()
		late = t.C
	}
	exited, eof, why := c.exited, c.eof, ""
	for why == "" {
		select {
		case <-exited:
			exited = nil
		case <-eof:
			eof = nil
		case <-j.look:
		case <-j.kill:
			why = jobKilled
		case <-late:
			why = jobTimeout
		case <-b.jobs.closing:
			why = jobClosed
		}
		// Children that hold no output tell nobody of their end: they stay a job until asked about, killed or closed.
		if why == "" && exited == nil && eof == nil {
			if pids, _ := c.left(); len(pids) == 0 {
				why = jobExited
			}
		}
	}
	if why != jobExited {
		c.end(b.Grace)
	}
	j.mu.Lock()
	j.why = why
	j.mu.Unlock()
	close(j.done)
	if b.JobEnded != nil {
		e := JobEnded{ID: j.id, Call: j.call, Why: why}
		e.Exit, e.Signal = c.exit.facts()
		b.JobEnded(e)
	}
}

func (j *job) seen(end place) {
	j.mu.Lock()
	j.read = end
	j.mu.Unlock()
}

// unread takes what the job printed since the last time. An ended job that was read keeps no output.
func (j *job) unread() output {
	j.mu.Lock()
	defer j.mu.Unlock()
	if closed(j.done) {
		defer j.proc.out.drop()
	}
	o := j.proc.out.since(j.read)
	j.read = o.end
	return o
}

func (j *job) state() string {
	took := lasted(time.Since(j.proc.began))
	switch {
	case !closed(j.done) && closed(j.proc.exited):
		pids, _ := j.proc.left()
		return fmt.Sprintf("%s: the command itself ended (%s), what it started still runs (pid %s)", j.id, j.proc.exit.words(), pidList(pids))
	case !closed(j.done):
		return fmt.Sprintf("%s: running for %s, pid %d", j.id, took, j.proc.pid)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	words := map[string]string{jobKilled: "ended by job_kill, ", jobTimeout: "ended by its timeout, ", jobClosed: "ended with the program, "}[j.why]
	return fmt.Sprintf("%s: %s%s", j.id, words, j.proc.exit.words())
}

func (p *prep) job() (*job, error) {
	id := p.args.str("job_id")
	p.plan.Subject = id
	p.jobs.mu.Lock()
	defer p.jobs.mu.Unlock()
	if j := p.jobs.byID[id]; j != nil {
		return j, nil
	}
	if len(p.jobs.byID) == 0 {
		return nil, fmt.Errorf("there is no job %q; none was started since the program was. One of before is lost to it: if its processes still run, end them by the pid in its first result", clip(id, 60))
	}
	return nil, fmt.Errorf("there is no job %q; there are: %s", clip(id, 60), strings.Join(slices.Sorted(maps.Keys(p.jobs.byID)), ", "))
}

func prepareJobOutput(_ context.Context, p *prep) (step, error) {
	j, err := p.job()
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, _ Progress) Result {
		if closed(j.proc.exited) && closed(j.proc.eof) {
			if pids, _ := j.proc.left(); len(pids) == 0 { // nothing is left, so the watcher is about to say so
				select {
				case j.look <- struct{}{}:
				default:
				}
				select {
				case <-j.done:
				case <-ctx.Done():
				}
			}
		}
		state := j.state() // before the output: what is said to have ended has nothing more to say
		var r Result
		o := j.unread()
		text := p.printed(&r, o)
		if o.empty() {
			text = "[no new output]\n"
		}
		r.Text = []byte(newline(text) + "[" + state + "]")
		return r
	}, nil
}

func prepareJobKill(_ context.Context, p *prep) (step, error) {
	j, err := p.job()
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, _ Progress) Result {
		if closed(j.done) {
			return Result{Text: []byte("[" + j.state() + "; it had ended before]")}
		}
		j.mu.Lock()
		if !j.killed {
			j.killed = true
			close(j.kill)
		}
		j.mu.Unlock()
		<-j.done // at most the grace
		return Result{Text: []byte("[" + j.state() + "; job_output has what it still printed]")}
	}, nil
}

var errClosed = errors.New("the program is ending; no command is started")
