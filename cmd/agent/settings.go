package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"varve/internal/providers/openaichat"
	"varve/internal/session"
	"varve/internal/setup"
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
			fprintln(e.out, string(setup.Masked(setup.ParsePath(args[0]), v)))
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
		&cobra.Command{
			Use: "edit", Short: "Open setup.json in $EDITOR, and check what it was made", Args: cobra.NoArgs,
			RunE: with(func(m *machine, _ []string) error { return m.edit(e) }),
		},
		&cobra.Command{
			Use: "check", Short: "Say what in the settings does not run, and why", Args: cobra.NoArgs,
			RunE: with(func(m *machine, _ []string) error { return m.check(e) }),
		},
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

func secretPath(key string) bool { return setup.IsSecret(setup.ParsePath(key)) }

func modelsCommand(e *env, f *flags) *cobra.Command {
	c := &cobra.Command{
		Use: "models [list]", Short: "List the models that can be used", Args: cobra.MaximumNArgs(1),
		Example: "  agent models\n  agent models show openai/gpt-5.6",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] != "list" {
				return exit(exitUsage, "%q: it is `agent models list` or `agent models show provider/model`", args[0])
			}
			m, err := warned(e, f)
			if err != nil {
				return err
			}
			warnCatalogue(e)
			return m.listModels(c.Context(), e)
		},
	}
	c.AddCommand(refreshCommand(e, f), &cobra.Command{
		Use: "show PROVIDER/MODEL", Short: "Show a model's window, and who says so", Args: takes(1, whichModel),
		RunE: func(c *cobra.Command, args []string) error {
			m, err := warned(e, &flags{model: args[0]})
			if err != nil {
				return err
			}
			warnCatalogue(e)
			model, _, err := m.model()
			if err != nil {
				return err
			}
			t, err := m.reach(c.Context(), model)
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
			fmt.Fprintf(e.out, "%s\n  api      %s\n  address  %s\n", oneLine(model.String()), model.API, oneLine(t.Endpoint.BaseURL))
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
		fmt.Fprintf(tw, "%s\t%s\t%s\n", oneLine(name), windowWords(i), oneLine(cmp.Or(i.State, strings.TrimSuffix(i.Key+"; "+i.Price, "; "))))
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
