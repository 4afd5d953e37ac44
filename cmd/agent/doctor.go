package main

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"varve/internal/index"
	"varve/internal/providers/openaichat"
	"varve/internal/setup"
	"varve/internal/words"
)

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
	for _, file := range m.settings().Exposed() {
		say(false, "private", file+" can be read by others: chmod 600 it")
	}
	for _, u := range m.meant() {
		if u.Key == setup.KeyMissing {
			_, err := m.settings().ResolveKey(ctx, u.Name) // there is none: nothing is run
			say(false, "key of "+u.Name, words.OneLine(strings.TrimPrefix(fmt.Sprint(err), u.Name+": ")))
			continue
		}
		from := map[string]string{"": "none needed, it is on this machine", "command": "printed by a command"}
		say(true, "key of "+u.Name, cmp.Or(from[u.From], u.From))
	}
	if err := catalogueProblem(); err != nil {
		say(false, "catalogue", err.Error())
	} else {
		say(true, "catalogue", "of models, "+strings.TrimPrefix(catalogueWords(), "catalogue "))
	}
	model, _, err := m.model()
	switch {
	case err != nil:
		say(false, "model", asStarted(err.Error()))
		fprintln(e.out, asStarted("      choose one: `agent models` lists them; `agent config set model.provider NAME` and `agent config set model.model NAME` keep the choice"))
	default:
		t, err := m.reach(ctx, model)
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

// meant are the providers that the settings speak of: of their own, or by a model.
func (m *machine) meant() []setup.Usable {
	refs := slices.Concat(m.settings().Routing.SummarizationModels, []setup.ModelRef{{Provider: m.settings().Model.Provider}})
	return slices.DeleteFunc(m.settings().Usables(), func(u setup.Usable) bool {
		return u.BuiltIn && !slices.ContainsFunc(refs, func(r setup.ModelRef) bool { return r.Provider == u.Name })
	})
}
