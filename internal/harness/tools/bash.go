package tools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

const (
	defaultTimeout = 120 * time.Second
	maxTimeout     = 600 * time.Second
	maxCommand     = 100 << 10 // bytes; one argument of a process holds at most 128 KiB
)

func prepareBash(_ context.Context, p *prep) (step, error) {
	command := p.args.str("command")
	switch {
	case strings.TrimSpace(command) == "":
		return nil, errors.New("command is empty")
	case strings.IndexByte(command, 0) >= 0:
		return nil, errors.New("command holds a NUL byte; a shell can't be given one")
	case len(command) > maxCommand:
		return nil, fmt.Errorf("command is %s long, at most %s; write it to a file and run that", size(int64(len(command))), size(maxCommand))
	}
	background := p.args.is("background")
	timeout, limit := defaultTimeout, ""
	if ms := p.args.int("timeout_ms", 0); ms != 0 {
		timeout = time.Duration(ms) * time.Millisecond
		if timeout < 0 || timeout > maxTimeout {
			return nil, fmt.Errorf("timeout_ms is %d; it may be 1 to %d", ms, maxTimeout.Milliseconds())
		}
	} else if background {
		timeout, limit = 0, "no time limit"
	}
	if timeout > 0 {
		limit = "at most " + timeout.String()
	}
	if background {
		limit = "in the background, " + limit
	}
	dir := p.workspace
	if w := p.args.str("workdir"); w != "" {
		at, err := p.take(w)
		if err != nil {
			return nil, err
		}
		if fi, err := os.Stat(at.Real); err != nil || !fi.IsDir() {
			return nil, fmt.Errorf("workdir %s is not a folder", w)
		}
		dir = at.Real
	}
	p.plan.Effects = []Effect{Execs}
	p.plan.Command, p.plan.Workdir, p.plan.Subject = command, dir, command
	p.showCommand(command, dir, limit)
	return func(ctx context.Context, show Progress) (r Result) {
		look := p.files.begin(ctx, p.known.Seen())
		defer func() {
			r.Changes, r.Watched = look.end(ctx)
			r.Watched = r.Watched && r.Job == nil // it may change more
		}()
		c, err := p.start(command, dir, show)
		if err != nil {
			return refuse(fmt.Errorf("bash: the shell did not start: %w", cause(err)))
		}
		defer p.jobs.wg.Done()
		defer func() { r.Fault = c.out.hush() }()
		if background {
			return p.background(c, timeout, "started in the background")
		}
		return p.foreground(ctx, c, timeout)
	}, nil
}

func (p *prep) foreground(ctx context.Context, c *proc, timeout time.Duration) Result {
	stop := time.NewTimer(timeout)
	defer stop.Stop()
	move := time.NewTimer(p.Foreground)
	defer move.Stop()
	why := ""
	select {
	case <-c.exited:
	case <-ctx.Done():
		why = ByUser
	case <-p.jobs.closing:
		why = ByUser
	case <-stop.C:
		why = ByTimeout
	case <-move.C:
		return p.background(c, unspent(timeout, time.Since(c.began)), fmt.Sprintf("still running after %s and moved to the background", p.Foreground))
	}
	if why != "" {
		c.end(p.Grace)
		return p.ended(c, why)
	}
	linger := time.NewTimer(p.Linger)
	defer linger.Stop()
	select {
	case <-c.eof:
	case <-ctx.Done():
		c.end(p.Grace)
		return p.ended(c, ByUser)
	case <-linger.C: // a child in the background holds the pipe; nobody waits for it (case TOL-01)
	}
	return p.ended(c, "")
}

// ended is the result of a command that exited. What it left running becomes a job without a time limit.
func (p *prep) ended(c *proc, why string) Result {
	r := Result{Interrupted: why}
	var notes []string
	var j *job
	if pids, unknown := c.left(); why == "" && (len(pids) > 0 || unknown) {
		j = p.jobs.adopt(p, c, 0)
		r.Job = &Job{j.id, c.pid}
		who := "pid " + pidList(pids)
		if unknown {
			who = "pid unknown, it holds the output open"
		}
		notes = append(notes, fmt.Sprintf("[a background process is still running: %s; it is %s for job_output and job_kill]", who, j.id))
	}
	o := c.out.since(place{})
	if j != nil {
		j.seen(o.end)
	}
	text := p.printed(&r, o)
	if o.empty() {
		text = "[no output]\n"
	}
	took := time.Since(c.began)
	how := c.exit.words()
	r.IsError = c.exit.code != 0 || why != ""
	switch why {
	case ByUser:
		notes = append(notes, "[interrupted by the user; the command and its children were ended ("+how+") after "+lasted(took)+"]")
	case ByTimeout:
		notes = append(notes, "[timeout: the command and its children were ended ("+how+") after "+lasted(took)+"; timeout_ms may be up to 600000]")
	default:
		notes = append(notes, "["+how+" after "+lasted(took)+"]")
	}
	r.Exit, r.Signal = c.exit.facts()
	r.Text = []byte(newline(text) + strings.Join(notes, "\n"))
	return r
}

func (e exit) words() string {
	if e.signal != "" {
		return "killed by " + e.signal
	}
	return fmt.Sprintf("exit code %d", e.code)
}

func (e exit) facts() (code *int, signal string) {
	if e.signal != "" {
		return nil, e.signal
	}
	return new(e.code), ""
}

// lasted is a duration for people: 12 ms, 3.4 s, 2m5s.
func lasted(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// unspent is what is left of a time limit: at least something, since 0 is none.
func unspent(timeout, took time.Duration) time.Duration { return max(timeout-took, time.Nanosecond) }

func (p *prep) background(c *proc, timeout time.Duration, how string) Result {
	j := p.jobs.adopt(p, c, timeout)
	r := Result{Job: &Job{j.id, c.pid}}
	o := c.out.since(place{})
	j.seen(o.end)
	text := ""
	if !o.empty() {
		text = newline(p.printed(&r, o))
	}
	limit := ""
	if timeout > 0 {
		limit = ", it is ended " + lasted(timeout) + " from now"
	}
	r.Text = fmt.Appendf(nil, "%s[%s: %s (pid %d)%s; job_output reads on, job_kill ends it]", text, how, j.id, c.pid, limit)
	return r
}
