package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"

	"varve/internal/setup"
	"varve/internal/tui"
	"varve/internal/words"
)

// edit opens setup.json in the person's editor, private from its first byte on, and
// then says what of it does not run (CFG-1).
func (m *machine) edit(e *env) error {
	path := m.settings().Path
	editor := os.Getenv("VISUAL")
	if editor == "" {
		editor = os.Getenv("EDITOR")
	}
	if editor == "" {
		return exit(exitUsage, "no editor: set $EDITOR, or open %s yourself", path)
	}
	made, err := setup.Prepare(path)
	if err != nil {
		return exit(exitFailed, "%w", err)
	}
	cmd := exec.Command("sh", "-c", editor+` "$1"`, "sh", path)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	ran := cmd.Run()
	if b, err := os.ReadFile(path); made && err == nil && bytes.Equal(b, []byte(setup.Blank)) {
		_ = os.Remove(path) // nothing was written: there need not be one
	}
	hid := setup.Hide(path)
	if ran != nil {
		return exit(exitFailed, "%s: %w", editor, errors.Join(ran, hid))
	}
	if hid != nil {
		return exit(exitFailed, "others can read the settings: %w", hid)
	}
	set, err := setup.Load(m.load)
	m.set.Store(set)
	m.fault = err
	return m.check(e)
}

// check says what in the settings does not run.
func (m *machine) check(e *env) error {
	set := m.settings()
	if m.fault != nil {
		return exit(exitUsage, "%w", m.fault)
	}
	for _, p := range set.Problems {
		fprintln(e.out, p.Error())
	}
	for _, p := range set.Unknown() {
		fprintln(e.out, p.Error())
	}
	looks := tui.LookProblems(set.Appearance)
	for _, p := range looks {
		fprintln(e.out, p.Error())
	}
	if err := badRules(set); err != nil {
		return err
	}
	if set.Model.Provider != "" && set.Model.Model != "" {
		if _, _, err := m.model(); err != nil {
			return err
		}
	}
	if len(set.Problems) > 0 {
		return exit(exitUsage, "%s", words.Count(len(set.Problems), "value")+" of "+set.Path+" can't be used; the defaults run instead")
	}
	if len(looks) > 0 {
		return exit(exitUsage, "%s", words.Count(len(looks), "line")+" of appearance can't be done as asked; the rest of it holds")
	}
	if len(set.Unknown()) > 0 {
		fprintln(e.out, set.Path+" can be used; nothing reads what stands above")
		return nil
	}
	if !set.Written() {
		fprintln(e.out, "there is no setup.json, and there need not be: the defaults run. It would be "+set.Path)
		return nil
	}
	fprintln(e.out, set.Path+" is fine")
	return nil
}
