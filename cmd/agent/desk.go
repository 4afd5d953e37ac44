package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"varve/internal/demo"
	"varve/internal/harness"
	"varve/internal/harness/drive"
	"varve/internal/index"
	"varve/internal/jsonl"
	"varve/internal/session"
	"varve/internal/setup"
	"varve/internal/tui"
)

// A desk is this machine as the interface sees it: a session that is opened
// while the first frame is already on the screen (TUI-1).
type desk struct {
	m      *machine
	folder string // that the program was started in
	ctx    context.Context

	mu    sync.Mutex
	opts  harness.Options // of the session that is opened next; its folder is the desk's
	ident tui.Identity
	path  string // of the session to open, "" for a new one
	open  chan struct{}
	local *harness.Local
	err   error

	calm  calm
	other otherSession

	drafts  sync.Mutex
	draft   draftFile
	drafted bool // the last draft was saved
}

var _ tui.Agent = (*desk)(nil)

// newDesk begins to open a session and returns at once.
func newDesk(ctx context.Context, m *machine, o harness.Options, path string) *desk {
	home, _ := os.UserHomeDir()
	d := &desk{m: m, folder: m.workspace, ctx: ctx, opts: o, path: path}
	d.ident = tui.Identity{
		Workspace: m.workspace, Home: home, GitBranch: gitBranch(m.workspace), Model: o.Model, Mode: m.settings().Permissions.Mode,
		Script: m.script, Puppet: m.puppet, Program: programName(), Notice: m.notice, Setup: o.Model == (session.Model{}) && path == "",
		Price: (&priceTag{of: m.price}).cost,
	}
	d.draft, d.ident.Draft = takeDraft(m.folders.State, d.folder)
	if path != "" {
		d.ident.Session = strings.TrimSuffix(filepath.Base(path), ".jsonl")
	}
	d.start(path)
	return d
}

func (d *desk) start(path string) {
	open := make(chan struct{})
	d.open, d.path = open, path
	go func() {
		defer close(open)
		l, err := d.opened(d.options(), path, "")
		d.mu.Lock()
		d.local, d.err = l, err
		d.mu.Unlock()
	}()
}

// options are a copy: who opens a session has its own.
func (d *desk) options() harness.Options {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.opts
}

// workspace is the folder that the desk is in.
func (d *desk) workspace() string { return d.options().Workspace }

func (d *desk) opened(o harness.Options, path, branch string) (*harness.Local, error) {
	if path == "" {
		return harness.Start(d.ctx, o)
	}
	o.Branch = branch
	return harness.Resume(d.ctx, o, path)
}

// at waits until the session is open.
func (d *desk) at(ctx context.Context) (*harness.Local, error) {
	d.mu.Lock()
	open := d.open
	d.mu.Unlock()
	select {
	case <-open:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.local, d.err
}

// Close closes the session that is open.
func (d *desk) Close() error {
	d.calm.be(false)
	l, err := d.at(context.Background())
	if err != nil || l == nil {
		return err
	}
	return l.Close()
}

func (d *desk) Follow(ctx context.Context, after session.Seq, version uint64) (drive.Update, error) {
	l, err := d.at(ctx)
	if err != nil {
		return drive.Update{}, err
	}
	u, err := follow(ctx, l, after, version)
	d.calm.look(u)
	if damage := l.Session.Damage(); err == nil && u.Fault == nil && len(damage) > 0 {
		u.Fault = fmt.Errorf("line %d of this session can't be read: it is shown read-only; `agent session repair %s` closes that off, so that it can go on", damage[0].Line, l.ID())
	}
	u.Fault = said(u.Fault)
	return u, err
}

// follow is Follow for who begins with version 0, having seen nothing: where
// the session stands is news to them, though nothing comes after the tail.
func follow(ctx context.Context, l *harness.Local, after session.Seq, version uint64) (drive.Update, error) {
	if version > 0 {
		u, err := l.Follow(ctx, after, version-1)
		u.Version++
		return u, err
	}
	pulses, v := l.Pulses().Read()
	entries, err := l.Entries(after)
	return drive.Update{Entries: entries, State: l.State(), Pulses: pulses, Version: v + 1, Fault: l.Fault(), Ours: l.Ours(), Busy: l.Busy()}, err
}

func (d *desk) Submit(ctx context.Context, cmd drive.Command) error {
	l, err := d.at(ctx)
	if err != nil {
		return err
	}
	return said(l.Submit(ctx, cmd))
}

func (d *desk) Body(ctx context.Context, q session.Seq, b int) ([]byte, error) {
	l, err := d.at(ctx)
	if err != nil {
		return nil, err
	}
	return l.Session.Load(q, b)
}

func (d *desk) Shell(ctx context.Context, command string) error {
	l, err := d.at(ctx)
	if err != nil {
		return err
	}
	return l.Shell(ctx, command)
}

func (d *desk) Switch(ctx context.Context, id string) (tui.Identity, error) {
	return d.OpenAt(ctx, id, "")
}

// OpenAt opens a branch of a session, "" for the one that was used last.
func (d *desk) OpenAt(ctx context.Context, id, branch string) (tui.Identity, error) {
	path := ""
	if id != "" {
		var err error
		if path, err = index.Find(d.m.folders.Data, id); err != nil {
			return tui.Identity{}, err
		}
	}
	old, _ := d.at(ctx) // one that could not be opened can be left
	if old != nil && path != "" && old.Session.Path() == path {
		if branch == "" || branch == old.Branch {
			return d.Identity(), nil
		}
		return d.Branch(ctx, branch)
	}
	// The other one is opened first: where that fails, this one stays, and the
	// desk in its folder.
	o, err := d.optionsFor(path)
	if err != nil {
		return tui.Identity{}, err
	}
	l, err := d.opened(o, path, branch)
	if err != nil {
		return tui.Identity{}, err
	}
	notice := ""
	if old != nil {
		if err := old.Close(); err != nil {
			notice = err.Error()
		}
	}
	d.mu.Lock()
	d.open = make(chan struct{})
	close(d.open)
	d.path, d.local, d.err = path, l, nil
	d.ident.Session, d.ident.Notice, d.ident.Draft = id, notice, ""
	d.ident.Workspace, d.ident.GitBranch = o.Workspace, gitBranch(o.Workspace)
	d.opts.Workspace, d.opts.Judge, d.opts.Look, d.opts.Tools = o.Workspace, o.Judge, o.Look, o.Tools // settings may be newer by now
	if path == "" && d.m.cast().sample != "" {
		d.ident.Draft = demo.Prompt
	}
	d.mu.Unlock()
	return d.Identity(), nil
}

// optionsFor are those of the session that is opened next: in its own folder, or
// for a new one in the present. The desk stays where it is: opening may fail. The
// demo's project is written anew for a new one, since it may be half mended by now.
func (d *desk) optionsFor(path string) (harness.Options, error) {
	o := d.options()
	folder := o.Workspace
	switch {
	case path != "":
		var err error
		if folder, err = folderOf(path, folder); err != nil {
			return o, err
		}
	case d.m.cast().sample != "":
		folder = d.m.cast().sample
	}
	if folder != o.Workspace {
		there, err := d.m.optionsIn(folder, "tui", true)
		if err != nil {
			return o, err
		}
		there.Model, there.ModelBy = o.Model, o.ModelBy
		o = there
	}
	if path == "" && d.m.cast().sample != "" {
		return o, renewSample(folder)
	}
	return o, nil
}

func (d *desk) Rule(ctx context.Context, call session.ItemID) (string, error) {
	l, err := d.at(ctx)
	if err != nil {
		return "", err
	}
	rule, _ := l.Rule(ctx, call)
	return rule, nil
}

// errDemoRule says that a rule of the demo's is not kept: the screen adds that it
// holds until the end.
var errDemoRule = errors.New("nothing of the demo is kept there")

func (d *desk) Allow(_ context.Context, rule string) error {
	d.m.grants.Lock()
	d.m.granted = append(d.m.granted, rule)
	d.m.grants.Unlock()
	if d.m.cast().sample != "" {
		return errDemoRule
	}
	return setup.Edit(d.m.settings().Path, func(dr *setup.Draft) error {
		at := setup.Path{"permissions", "allow"}
		var list []string
		if v := dr.Get(at); v != nil {
			if err := json.Unmarshal(v, &list); err != nil {
				return fmt.Errorf("permissions.allow: %w", err)
			}
		}
		for _, r := range list {
			if r == rule {
				return nil
			}
		}
		return dr.Set(at, append(list, rule))
	})
}

func (d *desk) Context(ctx context.Context) (tui.ContextInfo, error) {
	l, err := d.at(ctx)
	if err != nil {
		return tui.ContextInfo{}, err
	}
	st := l.State()
	if st.Branch.Model == (session.Model{}) {
		st.Branch.Model = d.Identity().Model // that it would begin with
	}
	return d.m.contextOf(d.m.report(ctx, l.Session, st)), nil
}

func (d *desk) Lost(ctx context.Context) bool {
	l, err := d.at(ctx)
	return err == nil && lost(l)
}

// lost reports that the file of a session that was begun is not there any more.
func lost(l *harness.Local) bool {
	if l.State().Session.ID == "" {
		return false
	}
	_, err := os.Lstat(l.Session.Path())
	return errors.Is(err, fs.ErrNotExist) || errors.Is(l.Fault(), jsonl.ErrGone)
}

func (d *desk) Editor() []string {
	for _, v := range []string{"VISUAL", "EDITOR"} {
		if f := strings.Fields(os.Getenv(v)); len(f) > 0 {
			return f
		}
	}
	return nil
}

func (d *desk) Identity() tui.Identity {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ident
}
