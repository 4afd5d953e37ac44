package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"varve/internal/setup"
	"varve/internal/tui/plain"
	"varve/internal/words"
)

// What commands want to be told, and how it is found.
const (
	whichSession = "which session? Give its ID, or the beginning of it; `agent session list` shows them"
	whichTitle   = "which title? It comes behind the session's ID, in quotes where it has blanks"
	whichKey     = "which setting? Give its key, for instance model.model; `agent config list` names them all"
	whichValue   = "which value? It comes behind the key"
	whichModel   = "which model? Give it as provider/model; `agent models` lists them"
	whichPrompt  = "what is to be done? It is one argument, in quotes"
	whichFocus   = "what is to be kept in particular? It is one argument, in quotes"
	whichRequest = "which request? Give its number"
)

// takes holds a command to its arguments: the first least of them must be there,
// and there are no more than questions. What is missing is asked for in words.
func takes(least int, questions ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return exit(exitUsage, "%s: %s", c.CommandPath(), questions[len(args)])
		case len(args) > len(questions):
			return exit(exitUsage, "%s: %q is one argument too many: what belongs together goes in quotes", c.CommandPath(), args[len(questions)])
		}
		return nil
	}
}

// oneLine is a text of others as one line that can't drive a terminal (TUI-9).
func oneLine(s string) string { return plain.Clean(words.OneLine(s)) }

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(f.Fd())
}

// shownValue is a value of setup.json as it may be said: no key, and nothing that
// may hold one.
func shownValue(key string, v json.RawMessage) string {
	s := words.OneLine(string(v))
	if b, err := json.Marshal(v); err == nil { // as one line, however it is written in the file
		s = string(b)
	}
	switch {
	case secretPath(key):
		return "•••"
	case strings.HasPrefix(s, "{"):
		return "{…}"
	case len(s) > 200:
		return s[:strings.LastIndexByte(s[:200], ' ')+1] + "…"
	}
	return s
}

// setValue changes a value of the file, and returns what stands there now. A key that
// nothing would read is refused, and so is a rule that would deny nothing.
func setValue(path, key, value string) (json.RawMessage, error) {
	var now json.RawMessage
	err := setup.Edit(path, func(d *setup.Draft) error {
		var v any = value
		if json.Valid([]byte(value)) {
			v = json.RawMessage(value)
		}
		at := setup.ParsePath(key)
		was := d.Get(at)
		if err := d.Set(at, v); err != nil {
			return err
		}
		for _, p := range d.Unknown() {
			if name := p.Path.String(); name == key || strings.HasPrefix(key, name+".") || strings.HasPrefix(name, key+".") {
				return unknownKey(name, key)
			}
		}
		if key == "permissions.allow" || key == "permissions.deny" {
			if err := newRules(was, d.Get(at)); err != nil {
				return err
			}
		}
		now = json.RawMessage(d.Get(at))
		return nil
	})
	return now, err
}

// unknownKey says that there is no such setting, and which may have been meant: what
// is wrong may be only the beginning of the key, or in the value.
func unknownKey(name, key string) error {
	if strings.HasPrefix(key, name+".") {
		name = key
	}
	near := setup.Nearest(name)
	if near != "" {
		near = "it may be " + near + "; "
	}
	return fmt.Errorf("%s is no setting: %s`agent config list` names them all; nothing is saved", words.OneLine(name), near)
}
