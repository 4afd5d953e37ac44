package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"varve/internal/index"
	"varve/internal/providers/openaichat"
	"varve/internal/session"
	"varve/internal/setup"
	"varve/internal/tui"
	"varve/internal/words"
)

func configCommand(e *env, f *flags) *cobra.Command {
	c := &cobra.Command{
		Use: "config", Short: "Read and change setup.json", Args: aCommand,
		Long: "Read and change setup.json. `agent config list` names every key with its default, for instance\n" +
			"context.compaction.threshold_tokens: from which size on a conversation is summarized.",
		Example: `  agent config list
  agent config set providers.local.base_url http://127.0.0.1:8080/v1
  agent models
  agent config set model.provider local
  agent config set model.model some-model
  agent config get model.model`,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	with := func(do func(m *machine, args []string) error) func(*cobra.Command, []string) error {
		return func(_ *cobra.Command, args []string) error {
			m, err := newMachine(f)
			if err != nil {
				return err
			}
			return do(m, args)
		}
	}
	c.AddCommand(
		&cobra.Command{Use: "path", Short: "Say where setup.json is", Args: cobra.NoArgs, RunE: with(func(m *machine, _ []string) error {
			fprintln(e.out, m.settings().Path)
			return nil
		})},
		&cobra.Command{Use: "list", Short: "Name every key, with its default and what may stand there", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
			return listKeys(e)
		}},
		&cobra.Command{Use: "get KEY", Short: "Print a value of the file", Args: takes(1, whichKey), RunE: with(func(m *machine, args []string) error {
			d, err := setup.OpenDraft(m.settings().Path)
			if err != nil {
				return exit(exitUsage, "%w", err)
			}
			v := d.Get(setup.ParsePath(args[0]))
			if v == nil {
				return exit(exitUsage, "%s is not set in %s (%s)", args[0], m.settings().Path, m.settings().Origin(args[0]))
			}
			if secretPath(args[0]) {
				fprintln(e.out, "•••")
				return nil
			}
			fprintln(e.out, string(v))
			return nil
		})},
		&cobra.Command{Use: "set KEY VALUE", Short: "Change a value of the file (JSON, or plain text)", Args: takes(2, whichKey, whichValue), RunE: with(func(m *machine, args []string) error {
			now, err := setValue(m.settings().Path, args[0], args[1])
			if err != nil {
				return exit(exitUsage, "%w", err)
			}
			if err := m.reload(); err != nil {
				return exit(exitUsage, "%w", err)
			}
			fprintln(e.err, args[0]+" is "+shownValue(args[0], now)+" now, in "+m.settings().Path)
			return nil
		})},
		&cobra.Command{Use: "edit", Short: "Open setup.json in $EDITOR", Args: cobra.NoArgs, RunE: with(func(m *machine, _ []string) error {
			editor := os.Getenv("VISUAL")
			if editor == "" {
				editor = os.Getenv("EDITOR")
			}
			if editor == "" {
				return exit(exitUsage, "no editor: set $EDITOR, or open %s yourself", m.settings().Path)
			}
			cmd := exec.Command("sh", "-c", editor+` "$1"`, "sh", m.settings().Path)
			cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
			if err := cmd.Run(); err != nil {
				return exit(exitFailed, "%s: %w", editor, err)
			}
			return nil
		})},
		&cobra.Command{Use: "check", Short: "Say what in the settings does not run, and why", Args: cobra.NoArgs, RunE: with(func(m *machine, _ []string) error {
			if m.fault != nil {
				return exit(exitUsage, "%w", m.fault)
			}
			for _, p := range m.settings().Problems {
				fprintln(e.out, p.Error())
			}
			for _, p := range m.settings().Unknown() {
				fprintln(e.out, p.Error())
			}
			looks := tui.LookProblems(m.settings().Appearance)
			for _, p := range looks {
				fprintln(e.out, p.Error())
			}
			if err := badRules(m.settings()); err != nil {
				return err
			}
			if m.settings().Model.Provider != "" && m.settings().Model.Model != "" {
				if _, _, err := m.model(); err != nil {
					return err
				}
			}
			if len(m.settings().Problems) > 0 {
				return exit(exitUsage, "%s", words.Count(len(m.settings().Problems), "value")+" of "+m.settings().Path+" can't be used; the defaults run instead")
			}
			if len(looks) > 0 {
				return exit(exitUsage, "%s", words.Count(len(looks), "line")+" of appearance can't be done as asked; the rest of it holds")
			}
			if len(m.settings().Unknown()) > 0 {
				fprintln(e.out, m.settings().Path+" can be used; nothing reads what stands above")
				return nil
			}
			if !m.settings().Written() {
				fprintln(e.out, "there is no setup.json, and there need not be: the defaults run. It would be "+m.settings().Path)
				return nil
			}
			fprintln(e.out, m.settings().Path+" is fine")
			return nil
		})},
	)
	return c
}

// listKeys names what setup.json may hold.
func listKeys(e *env) error {
	tw := tabwriter.NewWriter(e.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "KEY\tDEFAULT\tVALUES\tWHAT IT IS")
	for _, k := range setup.Keys() {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", k.Key, k.Default, k.Values, strings.ReplaceAll(k.Says, "`", ""))
	}
	return tw.Flush()
}

func secretPath(key string) bool {
	p := setup.ParsePath(key)
	return len(p) > 0 && (p[len(p)-1] == "api_key" || len(p) > 2 && p[len(p)-2] == "headers")
}

func modelsCommand(e *env, f *flags) *cobra.Command {
	c := &cobra.Command{
		Use: "models [list]", Short: "List the models that can be used", Args: cobra.MaximumNArgs(1),
		Example: "  agent models\n  agent models show openai/gpt-5.6",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] != "list" {
				return exit(exitUsage, "%q: it is `agent models list` or `agent models show provider/model`", args[0])
			}
			m, err := newMachine(f)
			if err != nil {
				return err
			}
			m.warn(e)
			warnCatalogue(e)
			return m.listModels(c.Context(), e)
		},
	}
	c.AddCommand(refreshCommand(e, f), &cobra.Command{
		Use: "show PROVIDER/MODEL", Short: "Show a model's window, and who says so", Args: takes(1, whichModel),
		RunE: func(c *cobra.Command, args []string) error {
			m, err := newMachine(&flags{model: args[0]})
			if err != nil {
				return err
			}
			warnCatalogue(e)
			model, _, err := m.model()
			if err != nil {
				return err
			}
			t, err := m.resolve(c.Context(), model)
			if err != nil {
				return exit(exitUsage, "%w", err)
			}
			window := t.Window
			if window.Source != "setting" { // the provider's report goes before the catalogue (PRV-8)
				ctx, cancel := context.WithTimeout(c.Context(), 5*time.Second)
				defer cancel()
				if info, err := openaichat.Window(ctx, t.Endpoint, model.Model); err == nil && info.Window > 0 {
					window = session.Capacity{N: info.Window, Source: "reported by " + info.WindowSource}
				}
			}
			fmt.Fprintf(e.out, "%s\n  api      %s\n  address  %s\n", model, model.API, t.Endpoint.BaseURL)
			if window.Source == "catalogue" {
				window.Source = catalogueWords()
			}
			if window.N > 0 {
				fmt.Fprintf(e.out, "  window   %d tokens (%s)\n", window.N, window.Source)
			} else {
				fmt.Fprintf(e.out, "  window   unknown: nothing is assumed until the provider reports one\n")
			}
			if known, ok := published(model, t.Endpoint.BaseURL); ok {
				fmt.Fprintf(e.out, "  price    %s (%s)\n", priceWords(known), catalogueWords())
				fmt.Fprintf(e.out, "  model    %s (%s)\n", cmp.Or(strings.Join(abilities(known), ", "), "answers in text"), catalogueWords())
			}
			return nil
		},
	})
	return c
}

func (m *machine) listModels(ctx context.Context, e *env) error {
	tw := tabwriter.NewWriter(e.out, 0, 0, 2, ' ', 0)
	silent := m.builtInServers()
	for _, i := range m.models(ctx) {
		name := i.Model.String()
		if i.Model.Model == "" {
			name = i.Model.Provider
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\n", name, windowWords(i), cmp.Or(i.State, strings.TrimSuffix(i.Key+"; "+i.Price, "; ")))
		silent = slices.DeleteFunc(silent, func(u setup.Usable) bool { return u.Name == i.Model.Provider })
	}
	err := tw.Flush()
	var tried []string
	for _, u := range silent {
		tried = append(tried, u.Name+" "+u.BaseURL)
	}
	if len(tried) > 0 {
		fprintln(e.err, "No answer from the local servers that are known by name: "+strings.Join(tried, ", "))
	}
	return err
}

// builtInServers are the servers on this machine that need no settings.
func (m *machine) builtInServers() []setup.Usable {
	return slices.DeleteFunc(m.settings().Usables(), func(u setup.Usable) bool { return !u.BuiltIn || u.Key != setup.KeyNotNeeded })
}

func doctorCommand(e *env, f *flags) *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Check what this program needs here", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			m, err := newMachine(f)
			if err != nil {
				return err
			}
			return m.doctor(c.Context(), e)
		},
	}
}

// doctor says what is well and what is not, a line each; the exit code is 1
// where something is not.
func (m *machine) doctor(ctx context.Context, e *env) error {
	bad := 0
	say := func(ok bool, what, detail string) {
		mark := "ok  "
		if !ok {
			mark = "BAD "
			bad++
		}
		fprintln(e.out, mark+what+": "+detail)
	}
	printVersion(e.out)
	if m.fault != nil {
		say(false, "settings", m.fault.Error())
	} else if !m.settings().Written() {
		say(true, "settings", "there is no setup.json, the defaults run; it would be "+m.settings().Path)
	} else {
		say(len(m.settings().Problems) == 0, "settings", fmt.Sprintf("%s, %s", m.settings().Path, words.Count(len(m.settings().Problems), "problem")))
	}
	for _, p := range m.settings().Problems {
		fprintln(e.out, "      "+p.Error())
	}
	model, _, err := m.model()
	switch {
	case err != nil:
		say(false, "model", asStarted(err.Error()))
		fprintln(e.out, asStarted("      choose one: `agent models` lists them; `agent config set model.provider NAME` and `agent config set model.model NAME` keep the choice"))
	default:
		t, err := m.resolve(ctx, model)
		if err != nil {
			say(false, "model", asStarted(err.Error()))
			break
		}
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		if _, err := openaichat.Models(ctx, t.Endpoint); err != nil {
			say(false, "provider", words.OneLine(err.Error()))
		} else {
			say(true, "provider", model.String()+" answers at "+t.Endpoint.BaseURL)
		}
	}
	for _, tool := range []string{"sh", "git"} {
		path, err := exec.LookPath(tool)
		if err != nil {
			path = "not found; commands that need it will fail"
		}
		say(err == nil, tool, path)
	}
	all, err := index.List(m.folders.Data)
	damaged := []string{}
	for _, s := range all {
		if s.Damage != "" {
			damaged = append(damaged, s.ID)
		}
	}
	switch {
	case err != nil:
		say(false, "sessions", err.Error())
	case len(damaged) > 0:
		say(false, "sessions", fmt.Sprintf("%d of %d can't be read whole: %s", len(damaged), len(all), strings.Join(damaged, ", ")))
	default:
		say(true, "sessions", words.Count(len(all), "session")+" under "+m.folders.Data)
	}
	if bad > 0 {
		return &exitError{code: exitFailed}
	}
	return nil
}

func resumeCommand(e *env, f *flags) *cobra.Command {
	var goOn bool
	c := &cobra.Command{
		Use: "resume [ID]", Short: "Open a session again, in the interface", Args: takes(0, whichSession),
		RunE: func(c *cobra.Command, args []string) error {
			id := ""
			if len(args) == 1 {
				id = args[0]
			}
			return resumeInterface(c.Context(), e, f, id, goOn)
		},
	}
	plainFlag(c, f)
	c.Flags().BoolVar(&goOn, "go", false, "go on with its paused turn at once")
	return c
}

var errNoTerminal = errors.New("the interface needs a terminal: use `agent run` in scripts")
