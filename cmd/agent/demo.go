package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"varve/internal/demo"
	"varve/internal/harness"
	"varve/internal/index"
	"varve/internal/providers"
	"varve/internal/providers/scripted"
	"varve/internal/session"
	"varve/internal/setup"
	"varve/internal/words"
)

// demoFlags say what is played.
type demoFlags struct {
	puppet string
	run    bool
	cont   bool
	output string
	dir    string
}

func demoCommand(e *env, f *flags) *cobra.Command {
	d := &demoFlags{}
	c := &cobra.Command{
		Use:   "demo [PROMPT]",
		Short: "See it work without a key: a scripted model on a sample project",
		Long: `Demo starts a scripted model on this machine and opens the interface on a small sample project.
Everything but the model is real.

With --puppet a person plays the model, and the work is done in the current folder. Each request is a
page in DIR, request-001.md and so on, which says all that a model would get. The answer is a file with
the same number, reply-001.md: text, then calls, and @send as its last line.

  I'll look at what is there.

  @call bash
  command: go test ./...
  @call write
  file_path: notes.txt
  content: <<END
  a value of
  several lines
  END
  @send

A reply without a call ends the turn. What can't be read is said in error-001.md. The head of each page
says the rest.`,
		Example: "  agent demo\n  agent demo --run\n  agent demo --puppet /tmp/pages",
		Args:    takes(0, whichPrompt),
		RunE:    func(c *cobra.Command, args []string) error { return runDemo(c.Context(), e, f, d, args) },
	}
	plainFlag(c, f)
	c.Flags().StringVar(&d.puppet, "puppet", "", "play the model by hand, with pages in this folder")
	c.Flags().BoolVar(&d.run, "run", false, "one turn without a screen")
	c.Flags().BoolVar(&d.cont, "continue", false, "go on with the last session in this folder")
	c.Flags().StringVar(&d.output, "output", "text", "with --run: text, json or stream-json")
	c.Flags().StringVar(&d.dir, "dir", "", "put the sample project into this new or empty folder (default: a temporary one)")
	return c
}

// startDemo starts the scripted provider and makes it the machine's model, under
// a name of its own: the script's, or a puppet's.
func startDemo(m *machine, h scripted.Handler, provider string) (*scripted.Server, error) {
	s, err := scripted.Open(scripted.Options{Keep: 4})
	if err != nil {
		return nil, exit(exitFailed, "demo: %w", err)
	}
	s.Handle(h)
	at := providers.Endpoint{Provider: provider, BaseURL: s.URL() + "/v1", Window: 128_000, StallTimeout: demo.Patience}
	m.recast(func(p *playing) { p.demo = map[string]providers.Endpoint{provider: at} })
	m.alter(func(set *setup.Setup) { set.Model.Provider, set.Model.Model = provider, playedModel(provider) })
	return s, nil
}

func runDemo(ctx context.Context, e *env, f *flags, d *demoFlags, args []string) error {
	m, err := newMachine(f)
	if err != nil {
		return err
	}
	var handle scripted.Handler
	provider := demo.Provider
	if d.puppet != "" {
		if err := os.MkdirAll(d.puppet, 0o700); err != nil {
			return exit(exitUsage, "--puppet: %w", err)
		}
		p := demo.Puppet{Dir: d.puppet}
		m.puppet, provider = d.puppet, demo.PuppetProvider
		if d.run {
			p.Say = func(s string) { fprintln(e.err, s) }
		}
		handle = p.Handle
	} else {
		there, _ := os.ReadDir(d.dir) // where it can't be read, writing says why
		if d.cont {
			if err := m.lastDemo(); err != nil {
				return exit(exitUsage, "%w", err)
			}
		} else if m.workspace, err = sampleProject(d.dir); err != nil {
			if errors.Is(err, demo.ErrFolder) {
				return exit(exitUsage, "--dir %s: %w; nothing was written: give a new or empty folder", d.dir, err)
			}
			return exit(exitUsage, "sample project: %w", err)
		} else if len(there) > 0 {
			m.notice = "This folder has a demo's project of before, which stays as it was left: the script may not fit it. A new folder has a new one."
		}
		if d.run && !d.cont {
			fprintln(e.err, strings.TrimSpace("The sample project is in "+words.OneLine(m.workspace)+". "+m.notice))
		}
		m.recast(func(p *playing) { p.sample = m.workspace })
		story := demo.Tally()
		if d.run {
			story.Pace = 0
		}
		handle = story.Handle
		if len(args) == 0 && !d.cont {
			args = []string{demo.Prompt}
		}
		if f.mode == "" && d.run {
			m.alter(func(set *setup.Setup) { set.Permissions.Mode = "full" }) // the script's commands, in a folder of its own
		}
		if _, err := exec.LookPath("go"); err != nil {
			m.notice = "The demo's project is in Go, and there is no go command here: its test runs will fail."
		}
	}
	s, err := startDemo(m, handle, provider)
	if err != nil {
		return err
	}
	defer s.Close()
	if d.run {
		return runOn(ctx, e, m, &runFlags{output: d.output, cont: d.cont}, args)
	}
	m.script = true
	return m.show(ctx, e, &runFlags{cont: d.cont}, args, d.puppet == "")
}

// playedModel is the model of a demo's provider.
func playedModel(provider string) string {
	if provider == demo.PuppetProvider {
		return demo.PuppetModel
	}
	return demo.Model
}

// player is who plays a model, as it is written provider/model: the script, a
// puppet, or "" for a model that is one.
func player(model string) string {
	for _, p := range []string{demo.Provider, demo.PuppetProvider} {
		if model == p+"/"+playedModel(p) {
			return p
		}
	}
	return ""
}

// player is who plays the model of this machine.
func (m *machine) player() string {
	for p := range m.cast().demo {
		return p
	}
	return ""
}

// played is the command that goes on with what was played, "" for a model that
// was no play.
func (m *machine) played(model string) string {
	switch player(model) {
	case demo.Provider:
		return self + " demo --continue"
	case demo.PuppetProvider:
		dir := "DIR"
		if m.puppet != "" {
			dir = shellWord(m.puppet)
		}
		return self + " demo --puppet " + dir + " --continue"
	}
	return ""
}

// whose says who a play's model was, and which command goes on with it.
func (m *machine) whose(model string) string {
	who := "the demo's script"
	if player(model) == demo.PuppetProvider {
		who = "a person with pages"
	}
	return fmt.Sprintf("this session's model was %s: `%s` goes on with it, or choose a model (Alt+P, --model)", who, m.played(model))
}

// howToGoOn is the command that goes on with a session in the interface.
func (m *machine) howToGoOn(l *harness.Local) string {
	if s := m.played(l.State().Branch.Model.String()); s != "" {
		return s
	}
	return self + " resume " + l.ID()
}

// howToRun is the same without a screen.
func (m *machine) howToRun(l *harness.Local) string {
	if s := m.played(l.State().Branch.Model.String()); s != "" {
		return s + " --run"
	}
	return self + " run --session " + l.ID()
}

// lastDemo goes to the folder of the last session that the demo's script
// played: one of this folder, if there is one.
func (m *machine) lastDemo() error {
	all, err := index.List(m.folders.Data)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(s index.Info) bool { return player(s.Model) != demo.Provider || s.Damage != "" })
	if len(all) == 0 {
		return errors.New("there was no demo yet: run `agent demo`")
	}
	last := all[0]
	if i := slices.IndexFunc(all, func(s index.Info) bool { return s.Workspace == session.PathKey(m.workspace) }); i >= 0 {
		last = all[i]
	}
	m.workspace = last.Workspace
	if _, err := os.Stat(last.Workspace); err != nil {
		return fmt.Errorf("the last demo's folder is gone: `agent demo` begins anew: %w", err)
	}
	return nil
}

// sampleName is how a sample's temporary folder begins.
const sampleName = "varve-demo-"

// renewSample makes a sample anew for the next session, since it may be half
// mended by now. In a folder that a person named no file is touched.
func renewSample(dir string) error {
	if strings.HasPrefix(filepath.Base(dir), sampleName) {
		return demo.Renew(dir)
	}
	return demo.Write(dir)
}

// sampleProject writes the sample into a folder, a new one where none is
// named.
func sampleProject(dir string) (string, error) {
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", sampleName); err != nil {
			return "", err
		}
	} else if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", err
	}
	return dir, demo.Write(dir)
}
