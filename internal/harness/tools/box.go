package tools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"time"
)

// Call is one tool call as the model made it.
type Call struct {
	ID   string // unique in the session; `read` finds what a result left out under item:<ID>
	Name string
	Args []byte // the JSON as it came

	// Judged is the Plan.Shown.SHA256 that was allowed or approved. Run refuses when a fresh plan shows anything else
	// (another command, another real path, another diff). Empty: nobody judged, nothing to compare.
	Judged string
}

// Known is what the session knows, asked per call.
type Known interface {
	// Hash is the hex SHA-256 of the last content the session saw under a real path (Path.Real), from Observed and Changes.
	Hash(real string) (sha string, ok bool)
	// Item is the full text of what stands behind item: in a path: an item of the conversation by its id, or by the Call.ID
	// whose result it is, or a list of those of a range. The error is for the model.
	Item(id string) ([]byte, error)
	// Seen is the real paths that Hash knows.
	Seen() []string
	// Todo is the plan as it stands (PLAN-1).
	Todo() Todo
	// Tail is the result that the call with that id may mask; the error is for the model.
	Tail(call string) (Masked, error)
}

// Masked is a result that is replaced by a reference (CTX-5).
type Masked struct {
	Item, Call string // ids
	Tool       string
	Tokens     int
}

// Blobs keeps immutable bytes under the hex SHA-256 of their content.
type Blobs interface {
	Put([]byte) (sha string, err error)
	Get(sha string) ([]byte, error)
}

// Effect is what a call would do to the machine.
type Effect string

const (
	Reads  Effect = "read"
	Writes Effect = "write"
	Execs  Effect = "exec"
)

// Path is one file or folder that a call names. Real is absolute and free of symlinks and "..", also in its last
// component (PERM-4); it need not exist.
type Path struct {
	Name      string
	Real      string
	Inside    bool // in the workspace
	Protected bool // in a folder of Varve itself: never writable by a tool
}

// Shown is what an approval prompt shows: the whole of it, with nothing able to hide (SEC-11). SHA256 is hex, over Text.
type Shown struct {
	What   string // command | diff | call
	Text   string
	SHA256 string
}

// Plan is what a call would do. Making one changes nothing.
type Plan struct {
	Tool     string
	Effects  []Effect
	Paths    []Path
	Command  string // bash only
	Workdir  string // bash only, real path
	Subject  string // what a permission rule is matched against: the command, or the path (relative when inside)
	ReadOnly bool   // may run beside other calls (TOOL-6)
	Shown    Shown
	Refused  *Result // not nil: the call can't run, and this is its result
}

// Config describes the machine to a Box. Zero durations and numbers mean their defaults.
type Config struct {
	Workspace string
	TempDir   string   // private folder; commands get it as TMPDIR
	Blobs     Blobs    // nil: nothing is kept beside results
	Env       []string // environment of commands, already stripped of provider keys (SEC-2)
	Protected []string // Varve's own config, data and state folders
	Locks     *Locks   // shared by the Boxes of one process, so that sub-agents don't cross; nil: its own

	// JobEnded is told once about each job's end, from a goroutine of the Box; it must not block or call the Box.
	JobEnded func(JobEnded)
	FirstJob int // number of the first job id, so that a resumed session never reuses one; 0 means 1

	Foreground time.Duration // after which a command moves to the background; 60 s
	Grace      time.Duration // between TERM and KILL; 200 ms
	Linger     time.Duration // how long a command that exited may leave its pipe open before Run returns; 100 ms
}

// Box runs the tools of one session. Its methods may be called from several goroutines.
type Box struct {
	Config
	workspace string // real
	guarded   []guard

	jobs  jobs
	files watch
}

// New makes a Box for a workspace that exists.
func New(c Config) (*Box, error) {
	ws, err := filepath.Abs(c.Workspace)
	if err == nil {
		ws, err = realpath(ws)
	}
	if err == nil {
		var fi os.FileInfo
		if fi, err = os.Stat(ws); err == nil && !fi.IsDir() {
			err = errors.New("not a folder")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("workspace %s: %w", c.Workspace, err)
	}
	or := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	or(&c.Foreground, time.Minute)
	or(&c.Grace, 200*time.Millisecond)
	or(&c.Linger, 100*time.Millisecond)
	if c.FirstJob == 0 {
		c.FirstJob = 1
	}
	if c.Locks == nil {
		c.Locks = new(Locks)
	}
	b := &Box{Config: c, workspace: ws}
	for _, p := range c.Protected {
		g, err := newGuard(p)
		if err != nil {
			return nil, fmt.Errorf("protected folder %s: %w", p, err)
		}
		b.guarded = append(b.guarded, g)
	}
	b.jobs.init(b)
	b.files.box = b
	return b, nil
}

// Close ends every command and job of the Box (TERM, then KILL after the grace) and returns when nothing is left of them.
func (b *Box) Close() { b.jobs.close() }

// step carries out what a prepare decided.
type step func(ctx context.Context, show Progress) Result

// Progress is given the newest output of a running command, at most 64 KiB of raw bytes. The slice is shared and
// never changed afterwards; each call supersedes the one before. None comes after Run has returned.
type Progress func(newest []byte)

// prep is one call on its way: prepare fills plan and returns the step.
type prep struct {
	*Box
	call  Call
	args  args
	known Known
	plan  *Plan
}

// Plan says what a call would do, and refuses what can't be done. It changes nothing.
func (b *Box) Plan(ctx context.Context, c Call, k Known) Plan {
	p, _ := b.prepare(ctx, c, k)
	return p
}

// Run plans again, compares with what was judged, and does it. Cancelling ctx is the user's Esc: a command's whole
// group ends and Run returns with what there is, Result.Interrupted set.
func (b *Box) Run(ctx context.Context, c Call, k Known, show Progress) (r Result) {
	start := time.Now()
	defer func() {
		if v := recover(); v != nil {
			r = panicked(c.Name, v)
		}
		r.DurationMS = time.Since(start).Milliseconds()
	}()
	p, do := b.prepare(ctx, c, k)
	switch {
	case p.Refused != nil:
		r = *p.Refused
	case c.Judged != "" && c.Judged != p.Shown.SHA256:
		r = refuse(errors.New("not done: what this call would do has changed since it was approved; look again and repeat the call"))
	case ctx.Err() != nil:
		r = interrupted("not started")
	default:
		return do(ctx, show)
	}
	r.Watched = p.Command != "" // nothing ran
	return r
}

func (b *Box) prepare(ctx context.Context, c Call, k Known) (p Plan, do step) {
	p.Tool = c.Name
	defer func() {
		if v := recover(); v != nil {
			r := panicked(c.Name, v)
			p.Refused, do = &r, nil
		}
	}()
	fail := func(err error) (Plan, step) {
		r := refuse(err)
		p.Refused = &r
		return p, nil
	}
	t := toolNamed(c.Name)
	if t == nil {
		return fail(fmt.Errorf("there is no tool %q; the tools are: %s", clip(c.Name, 100), strings.Join(toolNames(), ", ")))
	}
	p.ReadOnly = t.readOnly
	a, err := decode(t.args, c.Args)
	if err != nil {
		return fail(fmt.Errorf("%s: %w", t.name, err))
	}
	do, err = t.prepare(ctx, &prep{Box: b, call: c, args: a, known: k, plan: &p})
	if err != nil {
		return fail(fmt.Errorf("%s: %w", t.name, err))
	}
	if p.Shown.Text == "" {
		p.showCall(c)
	}
	p.Shown.SHA256 = hashOf([]byte(p.Shown.Text))
	return p, do
}

// refuse is the result of a call that could not be done: one line, what is wrong and what to do.
func refuse(err error) Result {
	return Result{Text: []byte(strings.ToValidUTF8(err.Error(), "\uFFFD")), IsError: true}
}

func interrupted(what string) Result {
	return Result{Text: []byte("[interrupted by the user: " + what + "]"), IsError: true, Interrupted: ByUser}
}

func panicked(tool string, v any) Result {
	r := refuse(fmt.Errorf("%s: internal error: %v; this is a fault of the program, the session goes on", tool, v))
	r.Fault = fmt.Sprintf("panic: %v\n%s", v, debug.Stack())
	return r
}

// together runs the parts of a job in goroutines and panics in the caller's when one of them did, so that the border
// in Run holds for them too (REL-7).
func together(n int, part func(int)) {
	var wg sync.WaitGroup
	var once sync.Once
	var fault any
	for i := range n {
		wg.Go(func() {
			defer func() {
				if v := recover(); v != nil {
					once.Do(func() { fault = fmt.Sprintf("%v\n%s", v, debug.Stack()) })
				}
			}()
			part(i)
		})
	}
	wg.Wait()
	if fault != nil {
		panic(fault)
	}
}

// Locks holds one lock per real path (TOOL-3).
type Locks struct{ m sync.Map }

func (l *Locks) lock(real string) (unlock func()) {
	v, _ := l.m.LoadOrStore(real, new(sync.Mutex))
	mu := v.(*sync.Mutex)
	mu.Lock()
	return mu.Unlock
}
