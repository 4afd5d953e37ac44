package harness

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"varve/internal/content"
	"varve/internal/harness/drive"
	"varve/internal/harness/tools"
	"varve/internal/jsonl"
	"varve/internal/providers"
	"varve/internal/session"
)

// Options say how a session is run on this machine.
type Options struct {
	DataDir   string
	StateDir  string
	Workspace string
	Branch    string // "" is the one that was used last
	Program   string // "varve 0.1.0"
	Interface string // tui, run, demo

	Interactive bool
	MaxRequests int
	Model       session.Model // of a new session
	Reasoning   string
	ModelBy     string // "flag" changes the model of a resumed session too
	Settings    session.SessionConfigured
	Policy      jsonl.Policy
	Resolve     Resolve
	Summarizers func() []session.Model           // the configured list of now; nil: that of Settings
	Renew       func() session.SessionConfigured // the settings of now, Summarizers included; nil: Settings
	NoTurns     bool                             // no turn is begun here, whatever waits in the queue
	Judge       func(session.State, tools.Plan) Judgement
	Look        func(ctx context.Context) (Assembly, error)
	Tools       tools.Config // Workspace, Blobs and callbacks are set here
	Clock       Clock

	// For tests: what touches the disk, and what does the jobs.
	layer jsonl.Layer
	store content.Layer
	hands func(Runner) Runner
}

func (o Options) blobs() *content.Store {
	if o.store != nil {
		return content.OpenOn(o.DataDir, o.store)
	}
	return content.Open(o.DataDir)
}

// Local is one branch of a session, run on this machine.
type Local struct {
	Session *Session
	Branch  string

	opts Options
	run  string
	loop *Loop
	box  *tools.Box
	stop context.CancelFunc
	done sync.WaitGroup

	pulsed atomic.Int64 // when a follower was last told of pulses alone, unix nanoseconds
	skip   atomic.Pointer[skip]
	chosen atomic.Pointer[session.Model] // instead of opts.Model
}

// Start returns a new session. Its file is made with the first message.
func Start(ctx context.Context, o Options) (*Local, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return nil, fmt.Errorf("session id: %w", err)
	}
	blobs := o.blobs()
	return local(ctx, o, newOn(o.layer, PathFor(o.DataDir, o.Workspace, id.String()), blobs, o.Policy, o.Clock), blobs)
}

// Resume opens an existing session. Nothing is written and nothing runs before
// a person acts (LOG-14).
func Resume(ctx context.Context, o Options, path string) (*Local, error) {
	blobs := o.blobs()
	s, err := openOn(o.layer, path, blobs, o.Policy, o.Clock)
	if err != nil {
		return nil, err
	}
	if o.Branch == "" {
		o.Branch = s.LastBranch()
	} else if err := s.live(o.Branch); err != nil {
		s.Close()
		return nil, fmt.Errorf("branch %s: %w", o.Branch, err)
	}
	l, err := local(ctx, o, s, blobs)
	if err != nil {
		s.Close()
	}
	return l, err
}

func local(ctx context.Context, o Options, s *Session, blobs *content.Store) (*Local, error) {
	run := make([]byte, 0, 8)
	id, err := uuid.NewRandom()
	if err != nil {
		return nil, fmt.Errorf("run id: %w", err)
	}
	run = append(run, id.String()[:8]...)
	l := &Local{Session: s, Branch: cmp.Or(o.Branch, session.MainBranch), opts: o, run: string(run)}

	conf := o.Tools
	conf.Workspace, conf.Blobs = o.Workspace, blobs
	conf.JobEnded = l.jobEnded
	conf.FirstJob = s.State(l.Branch).Session.Jobs + 1
	if l.box, err = tools.New(conf); err != nil {
		return nil, err
	}
	l.loop = NewLoop(s, l.Branch, o.StateDir, drive.Env{Run: l.run, Interactive: o.Interactive, MaxRequests: o.MaxRequests}, nil, o.Clock)
	l.loop.opening, l.loop.renewed, l.loop.noTurns = l.opening, l.renewed, o.NoTurns
	hands := &Hands{
		sess: s, box: l.box, pulses: l.loop.pulses, clock: o.Clock, judge: o.Judge, look: o.Look,
		speaker: &Speaker{sess: s, resolve: o.Resolve, summarizers: o.Summarizers, pulses: l.loop.pulses, clock: o.Clock, key: sessionName(s.Path())},
	}
	l.loop.run = hands.Run
	if o.hands != nil {
		l.loop.run = o.hands(hands.Run)
	}

	ctx, l.stop = context.WithCancel(ctx)
	l.done.Go(func() { l.loop.Run(ctx) })
	if o.Interactive {
		l.done.Go(func() { l.watch(ctx) })
	}
	return l, nil
}

// Close interrupts what runs, closes the run in the log, and ends every
// process that the session started.
//
// It returns what could not be recorded and is lost with the program.
func (l *Local) Close() error {
	l.stop()
	l.done.Wait()
	l.box.Close()
	return errors.Join(l.loop.lost, l.Session.Close())
}

// ID is the session's id.
func (l *Local) ID() string { return sessionName(l.Session.Path()) }

// Submit asks for cmd. Nil means accepted, not finished: what comes of it is
// in the log.
func (l *Local) Submit(ctx context.Context, cmd drive.Command) error {
	switch cmd.(type) {
	case drive.Resume, drive.Say:
		// A wrong setting is seen before a turn that was left open is touched.
		if s := l.State(); s.Branch.Turn != nil && !l.Ours() {
			m := cmp.Or(s.Branch.Model, l.opts.Model) // an old log may name none
			if _, err := l.opts.Resolve(ctx, m); err != nil {
				return err
			}
		}
	}
	return l.loop.Submit(ctx, cmd)
}

// State is where the branch stands.
func (l *Local) State() session.State { return l.Session.State(l.Branch) }

// Pulses is what passes while the session works.
func (l *Local) Pulses() *Pulses { return l.loop.Pulses() }

// Fault says why nothing can be recorded at the moment, or nil (LOG-8).
func (l *Local) Fault() error { return l.loop.Fault() }

// Ours reports whether this process works on the branch.
func (l *Local) Ours() bool { return l.State().Branch.Run == l.run }

// Busy reports whether another process works on the branch.
func (l *Local) Busy() bool { return !l.Ours() && Held(l.opts.StateDir, l.ID(), l.Branch) }

// Paused reports whether the branch has an open turn that nobody works on.
func (l *Local) Paused() bool {
	s := l.State()
	return drive.Paused(s, s.Branch.Turn != nil && s.Branch.Turn.Run == l.run || l.Busy())
}

// opening is what this run records before its first act.
func (l *Local) opening(ctx context.Context, s session.State) ([]session.Fact, error) {
	o := l.opts
	var out []session.Fact
	if s.Session.ID == "" {
		out = append(out, session.Fact{Event: session.SessionCreated{
			Format: session.Format, ID: l.ID(), Workspace: session.PathKey(o.Workspace), Program: o.Program,
		}})
	}
	out = append(out, l.renewed(s)...)
	model := s.Branch.Model
	if m := l.chosen.Load(); m != nil {
		o.Model = *m
	}
	if model == (session.Model{}) || o.ModelBy == "flag" && o.Model != model {
		model = o.Model
		by := o.ModelBy
		if by == "" {
			by = "user"
		}
		out = append(out, session.Fact{Event: session.ModelChosen{Model: o.Model, Reasoning: o.Reasoning, By: by}})
	}
	if s.Branch.Tools.At == 0 {
		target, err := o.Resolve(ctx, model)
		if err != nil {
			return nil, err
		}
		defined, err := l.defineTools(target.Adapter)
		if err != nil {
			return nil, err
		}
		out = append(out, defined)
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return append(out, session.Fact{Event: session.RunStarted{
		Run: l.run, PID: os.Getpid(), Host: host, Program: o.Program, Interface: o.Interface,
	}}), nil
}

// settings are those of now: they may have changed since the program began, in
// this window, in another one or by hand (SUM-7).
func (l *Local) settings() session.SessionConfigured {
	if l.opts.Renew != nil {
		return l.opts.Renew()
	}
	conf := l.opts.Settings
	if l.opts.Summarizers != nil {
		conf.Summarizers = l.opts.Summarizers()
	}
	return conf
}

// renewed are the settings of now, where those of the log are others: at the
// beginning of a run, of a turn and of a compaction between turns.
func (l *Local) renewed(s session.State) []session.Fact {
	conf := l.settings()
	conf.Run, conf.Fingerprint = l.run, fingerprint(conf)
	// The settings themselves count: a session that somebody else wrote (BRN-9)
	// grants nothing by a fingerprint of ours.
	if s.Session.Settings.Fingerprint == conf.Fingerprint && fingerprint(s.Session.Settings) == conf.Fingerprint {
		return nil
	}
	return []session.Fact{{Event: conf}}
}

func (l *Local) defineTools(a providers.Adapter) (session.Fact, error) {
	var specs []providers.ToolSpec
	names := []string{}
	off := l.settings().DisabledTools
	for _, t := range tools.Specs() {
		if slices.Contains(off, t.Name) {
			continue
		}
		specs = append(specs, providers.ToolSpec{Name: t.Name, Description: t.Description, Schema: t.Schema})
		names = append(names, t.Name)
	}
	b, err := a.Tools(specs)
	if err != nil {
		return session.Fact{}, err
	}
	list, err := json.Marshal(names)
	if err != nil {
		return session.Fact{}, err
	}
	return session.Fact{
		Event: session.ToolsDefined{
			API:   a.API(),
			Names: session.Text{B: 0, MediaType: "application/json"}, Definitions: session.Text{B: 1, MediaType: "application/json"},
			Tokens: session.Estimate(len(b)),
		},
		Body: []session.Part{{Bytes: list, MediaType: "application/json"}, {Bytes: b, MediaType: "application/json"}},
	}, nil
}

func fingerprint(c session.SessionConfigured) string {
	c.Run, c.Fingerprint = "", ""
	b, err := json.Marshal(c)
	if err != nil {
		panic("harness: internal error: " + err.Error())
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// jobEnded records the end of a background job. A session that is closing has
// no use for it: the next run marks the job as lost.
func (l *Local) jobEnded(e tools.JobEnded) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = l.loop.Submit(ctx, drive.JobEnded{Job: e.ID, Exit: e.Exit, Why: e.Why})
}

// Choose is the model of a session that has chosen none yet.
func (l *Local) Choose(m session.Model) {
	l.chosen.Store(&m)
}

// Rule is the narrow rule that "always" would keep for an open call.
func (l *Local) Rule(ctx context.Context, call session.ItemID) (string, bool) {
	h := &Hands{sess: l.Session}
	c, err := h.call(call)
	if err != nil {
		return "", false
	}
	p := l.box.Plan(ctx, c, known{l.Session, l.State()})
	if p.Refused != nil {
		return "", false
	}
	return Narrow(p, l.opts.Workspace)
}

// Shell runs a command of the user's own and records it, output and all. Where
// its start can't be recorded it is not run.
func (l *Local) Shell(ctx context.Context, command string) error {
	if err := l.Fault(); err != nil {
		return err
	}
	if err := l.Submit(context.WithoutCancel(ctx), drive.Runs{Command: []byte(command)}); err != nil {
		return err
	}
	args, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		return err
	}
	began := l.opts.Clock.Now()
	job := "shell:" + command
	l.loop.pulses.put(Pulse{Job: job, Kind: "shell", Name: command, Began: began, Last: began})
	from := l.Session.moment()
	r := l.box.Run(ctx, tools.Call{ID: "shell", Name: "bash", Args: args}, known{l.Session, l.State()}, func(newest []byte) {
		l.loop.pulses.put(Pulse{Job: job, Kind: "shell", Name: command, Began: began, Text: newest, Last: l.opts.Clock.Now()})
	})
	said := drive.Ran{Command: []byte(command), Output: r.Text, DurationMS: r.DurationMS, Watched: r.Watched}
	if changes := l.Session.unrecorded(r.Changes, from); len(changes) > 0 {
		said.Files = []session.Fact{l.Session.changed(changes, "shell", session.ItemID{})}
	}
	if r.Exit != nil {
		said.Exit = *r.Exit
	} else if r.IsError {
		said.Exit = -1
	}
	// It stays on the screen until it is recorded.
	var rerr error
	if err := l.loop.do(context.WithoutCancel(ctx), func() {
		rerr = l.loop.recordRan(context.WithoutCancel(ctx), ran{said, func() { l.loop.pulses.drop(job) }})
	}); err != nil {
		l.loop.pulses.drop(job)
		return err
	}
	return rerr
}
