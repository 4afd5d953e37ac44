package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"varve/internal/assemble"
	"varve/internal/harness"
	"varve/internal/harness/tools"
	"varve/internal/index"
	"varve/internal/jsonl"
	"varve/internal/permit"
	"varve/internal/providers"
	"varve/internal/providers/catalogue"
	"varve/internal/providers/openaichat"
	"varve/internal/session"
	"varve/internal/setup"
)

// flags are what several commands take.
type flags struct {
	model, mode string
	cont        bool
	plain       bool
}

// A machine is this program on this machine: folders, settings, workspace.
type machine struct {
	folders   setup.Folders
	set       atomic.Pointer[setup.Setup] // as they were read last; see settings
	load      setup.Options
	fault     error // setup.json can't be used: defaults run
	workspace string
	plays     atomic.Pointer[playing]
	puppet    string // the folder of a puppet's pages, "" for none
	script    bool   // the model is a script or a puppet (PRV-11)
	notice    string // to be said once, at the start
	grants    sync.Mutex
	granted   []string // rules that were allowed since the settings were read
	goOn      bool     // go on with the paused turn
	windows   windows  // what servers on this machine have told
	temps     sync.Mutex
	temp      string // the process's folder for commands, "" while there is none
}

func newMachine(f *flags) (*machine, error) {
	folders, err := setup.Dirs()
	if err != nil {
		return nil, exit(exitUsage, "%w", err)
	}
	ws, err := os.Getwd()
	if err == nil {
		ws, err = filepath.EvalSymlinks(ws)
	}
	if err != nil {
		return nil, exit(exitUsage, "this folder can't be read: %w", err)
	}
	m := &machine{folders: folders, workspace: ws}
	catalogue.Use(cataloguePath(folders))
	over := map[string]string{}
	if f.model != "" {
		p, name, ok := strings.Cut(f.model, "/")
		if !ok || p == "" || name == "" {
			return nil, exit(exitUsage, "--model %q: write it as provider/model, for instance openai/gpt-5.6", f.model)
		}
		over["model.provider"], over["model.model"] = p, name
	}
	if f.mode != "" {
		if _, err := permit.ParseMode(f.mode); err != nil {
			return nil, exit(exitUsage, "--mode: %w", err)
		}
		over["permissions.mode"] = f.mode
	}
	if f.plain {
		over["appearance.plain"] = "true"
	}
	m.load = setup.Options{Path: folders.Setup(), State: folders.State, Flags: over, Keyring: setup.OSKeyring()}
	set, err := setup.Load(m.load)
	m.set.Store(set)
	m.fault = err
	return m, nil
}

// model is the one to start with, and how it was chosen.
func (m *machine) model() (session.Model, string, error) {
	c := m.settings().Model
	by := "user"
	if m.settings().Origin("model.model").From == setup.FromFlag {
		by = "flag"
	}
	if c.Provider == "" || c.Model == "" {
		return session.Model{}, by, exit(exitUsage, "no model is chosen: give one with --model provider/model or set it in %s; `agent demo` needs none", m.settings().Path)
	}
	model := session.Model{Provider: c.Provider, Model: c.Model}
	if ep, ok := m.cast().demo[c.Provider]; ok {
		_ = ep
		model.API = openaichat.API
		return model, by, nil
	}
	p, ok := m.settings().Provider(c.Provider)
	if !ok {
		where := "model.provider in " + m.settings().Path
		if by == "flag" {
			where = "--model"
		}
		return model, by, exit(exitUsage, "%s: %s: no such provider; known are %s", where, c.Provider, strings.Join(m.providerNames(), ", "))
	}
	model.API = p.API
	return model, by, nil
}

func (m *machine) providerNames() []string {
	var names []string
	for _, u := range m.settings().Usables() {
		names = append(names, u.Name)
	}
	return names
}

// warn says on standard error that settings could not be read, where a command
// goes on without them.
func (m *machine) warn(e *env) {
	if m.fault != nil {
		fprintln(e.err, "agent: "+m.fault.Error())
	}
}

// follow goes to the folder of a session. It is for the start: who opens sessions
// later asks folderOf.
func (m *machine) follow(path string) error {
	folder, err := folderOf(path, m.workspace)
	if err == nil {
		m.workspace = folder
	}
	return err
}

// folderOf is the folder of a session, where it was made: its files are there,
// whatever folder is ours. What is wrong with the file itself is told when it is
// opened.
func folderOf(path, ours string) (string, error) {
	info, _ := index.Look(path)
	if info.Damage != "" || info.Workspace == "" || info.Workspace == session.PathKey(ours) || strings.HasPrefix(info.Workspace, "sha256:") {
		return ours, nil
	}
	if st, err := os.Stat(info.Workspace); err != nil || !st.IsDir() {
		return "", exit(exitUsage, "the session's folder %s is not there any more: bring it back, or read the session with `agent session show %s`", info.Workspace, info.ID)
	}
	return info.Workspace, nil
}

// resolve finds a model's endpoint, just before it is used. Its key comes with the
// request alone: [harness.Target].
func (m *machine) resolve(ctx context.Context, model session.Model) (harness.Target, error) {
	return m.resolveBy(ctx, m.settings(), model)
}

func (m *machine) resolveBy(ctx context.Context, set *setup.Setup, model session.Model) (harness.Target, error) {
	_, playing := m.cast().demo[model.Provider]
	switch {
	case model == (session.Model{}):
		return harness.Target{}, exit(exitUsage, "no model is chosen: choose one with Alt+P, --model provider/model or `agent config set model.provider …`; `agent demo` needs none")
	case !playing && player(model.String()) != "":
		return harness.Target{}, exit(exitUsage, "%s", m.whose(model.String()))
	case model.API == "" && !playing: // a provider that nobody knew when the model was named
		return harness.Target{}, noProvider(model, set)
	case model.API != openaichat.API:
		return harness.Target{}, fmt.Errorf("%s speaks %s, which this version does not: choose a model of kind %s", model, model.API, openaichat.API)
	}
	t := harness.Target{Adapter: openaichat.Adapter{}, Window: session.Capacity{Source: "none"}}
	if ep, ok := m.cast().demo[model.Provider]; ok {
		t.Endpoint = ep
		t.Window = session.Capacity{N: ep.Window, Source: "setting"}
		return t, nil
	}
	p, ok := set.Provider(model.Provider)
	if !ok {
		return t, noProvider(model, set)
	}
	ready, err := set.CheckKey(model.Provider)
	if err != nil {
		return t, err
	}
	client, err := m.client()
	if err != nil {
		return t, err
	}
	t.Endpoint = providers.Endpoint{
		Client: client, Provider: model.Provider, BaseURL: p.BaseURL, StallTimeout: p.StallTimeout,
	}
	t.Endpoint.Profile = openaichat.ProfileFor(model.Provider, p.BaseURL).Name
	limits := set.Limits(setup.ModelRef{Provider: model.Provider, Model: model.Model})
	if known, ok := published(model, p.BaseURL); ok && known.Window > 0 {
		t.Window = session.Capacity{N: known.Window, Source: "catalogue"}
	}
	asks := limits.ContextWindow == nil && p.Local()
	t.Key = func(ctx context.Context, to *providers.Endpoint) error {
		err := sign(ctx, set, to)
		if err == nil && asks && !ready { // the key that was had for a request does for this too
			m.windows.begin(*to, model.Model)
		}
		return err
	}
	if asks {
		if n := m.windows.reported(ctx, t, model.Model, ready); n > 0 {
			t.Window = session.Capacity{N: n, Source: "reported"}
		}
	}
	if limits.ContextWindow != nil {
		t.Window = session.Capacity{N: *limits.ContextWindow, Source: "setting"}
		t.Endpoint.Window = *limits.ContextWindow
	}
	if limits.MaxOutputTokens != nil {
		t.OutputLimit = *limits.MaxOutputTokens
	}
	return t, nil
}

// client speaks to providers, nil for the shared one. A private CA's file is
// looked for in the settings' folder.
func (m *machine) client() (*http.Client, error) {
	file := m.settings().Network.CAFile
	if file == "" {
		return nil, nil
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(filepath.Dir(m.folders.Setup()), file)
	}
	c, err := providers.Trusting(file)
	if err != nil {
		return nil, fmt.Errorf("network.ca_file: %w", err)
	}
	return c, nil
}

// rules are the user's own. A rule that can't be read grants nothing, and is
// among the settings' problems.
func (m *machine) rules() []permit.Rule {
	var out []permit.Rule
	set := m.settings()
	add := func(texts []string, effect permit.Decision) {
		for _, t := range texts {
			r, err := permit.ParseRule(t)
			if err != nil {
				continue
			}
			r.Effect, r.Scope, r.Origin = effect, "always", set.Path
			out = append(out, r)
		}
	}
	add(set.Permissions.Deny, permit.Deny)
	add(set.Permissions.Allow, permit.Allow)
	m.grants.Lock()
	defer m.grants.Unlock()
	add(m.granted, permit.Allow)
	return out
}

// badRules are rules that can't be read: a deny rule among them would deny
// nothing, so sessions don't start with one.
func badRules(set *setup.Setup) error {
	for _, t := range slices.Concat(set.Permissions.Deny, set.Permissions.Allow) {
		if _, err := permit.ParseRule(t); err != nil {
			return exit(exitUsage, "%s: permissions: rule %q: %v", set.Path, t, err)
		}
	}
	return nil
}

// options are how sessions run here.
func (m *machine) options(iface string, interactive bool) (harness.Options, error) {
	return m.optionsIn(m.workspace, iface, interactive)
}

// optionsIn are how sessions run in a folder, wherever the machine is by then.
func (m *machine) optionsIn(folder, iface string, interactive bool) (harness.Options, error) {
	if err := badRules(m.settings()); err != nil {
		return harness.Options{}, err
	}
	temp, err := m.commandTemp()
	if err != nil {
		return harness.Options{}, err
	}
	o := harness.Options{
		DataDir: m.folders.Data, StateDir: m.folders.State, Workspace: folder,
		Program: programName(), Interface: iface, Interactive: interactive,
		Reasoning: m.settings().Model.Reasoning, Settings: m.configured(), Policy: jsonl.Policy(m.settings().Log.Sync),
		Resolve: m.resolve, Summarizers: m.summarizers, Renew: m.configured, Clock: harness.System{},
		Judge: harness.Judge(m.rules, folder, !interactive),
		Look: func(ctx context.Context) (harness.Assembly, error) {
			r, err := assemble.Look(ctx, assemble.Where{
				Workspace: folder, ConfigDir: m.folders.Config, Platform: runtime.GOOS + "/" + runtime.GOARCH,
			})
			return harness.Assembly{Fingerprint: r.Fingerprint, Sources: r.Sources, Texts: r.Texts}, err
		},
		Tools: tools.Config{
			TempDir: temp, Env: m.commandEnv(),
			Protected: []string{m.folders.Config, m.folders.Data, m.folders.State},
		},
	}
	return o, nil
}

// commandEnv is the environment of the model's commands: ours, without the
// providers' keys (SEC-2).
func (m *machine) commandEnv() []string {
	secret := m.settings().KeyEnvNames()
	return slices.DeleteFunc(os.Environ(), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(secret, name)
	})
}

// commandTemp is the one folder for commands that this process has, in however
// many folders it works: who made it removes it.
func (m *machine) commandTemp() (dir string, err error) {
	m.temps.Lock()
	defer m.temps.Unlock()
	if st, err := os.Lstat(m.temp); err == nil && st.IsDir() {
		return m.temp, nil
	}
	m.temp, err = m.privateTemp()
	return m.temp, err
}

// privateTemp is a folder of this process for commands' temporary files, with
// an unpredictable name, under the private state folder (SEC-10). Folders of
// processes that died are removed.
func (m *machine) privateTemp() (string, error) {
	parent := filepath.Join(m.folders.State, "tmp")
	if err := setup.Private(parent); err != nil {
		return "", exit(exitFailed, "no temporary folder: %w", err)
	}
	entries, err := os.ReadDir(parent)
	if err != nil {
		return "", exit(exitFailed, "no temporary folder: %w", err)
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(strings.SplitN(e.Name(), "-", 2)[0])
		if err == nil && pid > 0 && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			_ = os.RemoveAll(filepath.Join(parent, e.Name()))
		}
	}
	dir, err := os.MkdirTemp(parent, strconv.Itoa(os.Getpid())+"-")
	if err != nil {
		return "", exit(exitFailed, "no temporary folder: %w", err)
	}
	return dir, nil
}

// sessionErr gives an error about a session file its exit code.
func sessionErr(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, session.ErrNoBranch):
		return exit(exitUsage, "%w; `agent session tree` lists them", err)
	case errors.Is(err, session.ErrDeleted):
		return exit(exitUsage, "%w; `agent session tree` lists those that are there", err)
	case errors.Is(err, harness.ErrConflict), errors.Is(err, harness.ErrHeld), errors.Is(err, harness.ErrFormat),
		errors.Is(err, jsonl.ErrDamaged), errors.Is(err, jsonl.ErrGone), errors.Is(err, jsonl.ErrChanged):
		return &exitError{exitSession, err}
	}
	return &exitError{exitFailed, err}
}

// ago is an age for people.
func ago(t, now time.Time) string {
	d := now.Sub(t)
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return fmt.Sprintf("%d days ago", int(d.Hours()/24))
}
