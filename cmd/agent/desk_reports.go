package main

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"varve/internal/assemble"
	"varve/internal/permit"
	"varve/internal/setup"
	"varve/internal/tui"
	"varve/internal/words"
)

// What commands of the interface ask for beside the session.

var _ tui.Reporter = (*desk)(nil)

func (d *desk) Usage(ctx context.Context) (tui.UsageInfo, error) {
	l, err := d.at(ctx)
	if err != nil {
		return tui.UsageInfo{}, err
	}
	u, err := l.Session.Usage(l.Branch)
	return usageOf(u, l.Branch, d.m.price), said(err)
}

func (d *desk) Changes(ctx context.Context) ([]tui.FileDiff, int, error) {
	l, err := d.at(ctx)
	if err != nil {
		return nil, 0, err
	}
	all, commands, err := l.Changes(ctx)
	out := make([]tui.FileDiff, len(all))
	for i, c := range all {
		out[i] = tui.FileDiff(c)
	}
	return out, commands, said(err)
}

// Export writes the branch that is on the screen. A name without a folder is of the
// workspace, and one without an ending is Markdown.
func (d *desk) Export(ctx context.Context, file string, replace bool) (string, error) {
	l, err := d.at(ctx)
	if err != nil {
		return "", err
	}
	if l.State().Session.UserItems == 0 {
		return "", errors.New("there is nothing to export yet: say something first")
	}
	id := l.ID()
	file = cmp.Or(file, "conversation-"+id[:min(len(id), 8)]+".md")
	if rest, ok := strings.CutPrefix(file, "~/"); ok {
		file = filepath.Join(d.Identity().Home, rest)
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(d.Identity().Workspace, file)
	}
	if filepath.Ext(file) == "" {
		file += ".md"
	}
	if st, err := os.Lstat(file); err == nil && st.IsDir() {
		return "", fmt.Errorf("%s is a folder: name a file in it", file)
	} else if err == nil && !replace {
		return "", &tui.ThereError{Path: file}
	}
	var told bytes.Buffer
	x := &exportFlags{branch: l.Branch, out: file, force: replace}
	if err := x.export(&env{out: &told, err: &told}, l.Session); err != nil {
		return "", said(err)
	}
	return strings.TrimSpace(told.String()), nil
}

func (d *desk) Doctor(ctx context.Context) (string, error) {
	var told bytes.Buffer
	err := d.m.doctor(ctx, &env{out: &told, err: &told})
	if e := (*exitError)(nil); errors.As(err, &e) && e.err == nil {
		err = nil // what is not well was said
	}
	return told.String(), said(err)
}

// Permissions says what is judged by, in the order in which it is.
func (d *desk) Permissions(ctx context.Context) (string, error) {
	l, err := d.at(ctx)
	if err != nil {
		return "", err
	}
	st, set := l.State(), d.m.settings()
	mode, from := set.Permissions.Mode, "by "+set.Origin("permissions.mode").String()
	if m := st.Session.Mode; l.Ours() && m != "" && m != mode {
		mode, from = m, "switched on in this session; new ones begin in "+mode
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Mode %s (%s)\n  %s\n", mode, from, modeWords[permit.Mode(mode)])
	list := func(title, none string, rules []string) {
		fmt.Fprintf(&b, "\n%s\n", title)
		if len(rules) == 0 {
			fmt.Fprintf(&b, "  %s\n", none)
		}
		for _, r := range rules {
			fmt.Fprintf(&b, "  %s\n", words.OneLine(r))
		}
	}
	list("Denied, whatever the mode: permissions.deny of "+set.Path, "nothing", set.Permissions.Deny)
	d.m.grants.Lock()
	kept := slices.Clone(set.Permissions.Allow)
	for _, r := range d.m.granted {
		if !slices.Contains(kept, r) {
			kept = append(kept, r)
		}
	}
	d.m.grants.Unlock()
	list("Allowed from now on: permissions.allow of "+set.Path, "nothing", kept)
	var here []string
	for _, g := range st.Session.Grants {
		if g.Run != "" && g.Run == st.Branch.Run && l.Ours() && !slices.Contains(kept, g.Rule) && !slices.Contains(here, g.Rule) {
			here = append(here, g.Rule)
		}
	}
	list("Allowed until this program ends, by an answer of yours", "nothing", here)
	b.WriteString("\nDenying beats allowing. Files outside the workspace and Varve's own always ask. Shift+Tab changes the mode of this session,\nSettings that of new ones and the rules of setup.json.\n")
	return asStarted(b.String()), nil
}

var modeWords = map[permit.Mode]string{
	permit.ModeAsk:  "reading in the workspace is free; changes and commands ask",
	permit.ModeEdit: "reading and changing files in the workspace is free; commands ask",
	permit.ModeFull: "changes and commands run without asking",
}

// own looks for the user's own commands. A project's would be read once the folder
// is trusted (SEC-4), which can't be said yet.
func (d *desk) own(ctx context.Context) (assemble.Commands, error) {
	return assemble.LookCommands(ctx, assemble.Where{Workspace: d.Identity().Workspace, ConfigDir: d.m.folders.Config})
}

func (d *desk) Customs(ctx context.Context) (list []tui.Command, notes []string) {
	found, err := d.own(ctx)
	if err != nil {
		return nil, nil // it is about to end
	}
	for _, c := range found.List {
		list = append(list, tui.Command{Name: c.Name, Args: c.Args, Says: c.Says, Project: c.Project})
	}
	for _, o := range found.Omitted {
		notes = append(notes, fmt.Sprintf("%s is no command: %s.", words.OneLine(o.Path), words.OneLine(o.Why)))
	}
	if found.Held != "" {
		notes = append(notes, "This project's .agents/commands is not read: there is no way yet to say that a folder is trusted.")
	}
	return list, notes
}

//go:embed init.md
var initPrompt string

// Expand reads the command's file as it is now.
func (d *desk) Expand(ctx context.Context, name, args string) (string, error) {
	if name == "init" {
		text := strings.TrimSpace(initPrompt)
		if args != "" {
			text += "\n\nWhat matters most to me: " + args
		}
		return text, nil
	}
	found, err := d.own(ctx)
	if err != nil {
		return "", err
	}
	for _, c := range found.List {
		if c.Name == name {
			return c.Prompt(args), nil
		}
	}
	return "", fmt.Errorf("/%s is not there any more: its file is gone, or can't be read", name)
}

// errDemoTheme says that a choice of the demo's is not kept.
var errDemoTheme = errors.New("nothing of the demo is kept there")

func (d *desk) KeepTheme(_ context.Context, name string) error {
	if d.m.cast().sample != "" {
		return errDemoTheme
	}
	return setup.Edit(d.m.settings().Path, func(dr *setup.Draft) error { return dr.Set(setup.Path{"appearance", "theme"}, name) })
}
