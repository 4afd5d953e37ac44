package tui

import (
	"context"
	"errors"
)

// What the fake says of what commands ask for.
type fakeReports struct {
	usage    UsageInfo
	diffs    []FileDiff
	commands int
	there    string // a file that is there already
	noReport error
	customs  []Command
	notes    []string
	noTheme  error
}

func (a *fakeAgent) Usage(context.Context) (UsageInfo, error) {
	a.asks("usage")
	return a.reports.usage, a.reports.noReport
}

func (a *fakeAgent) Changes(context.Context) ([]FileDiff, int, error) {
	a.asks("changes")
	return a.reports.diffs, a.reports.commands, a.reports.noReport
}

func (a *fakeAgent) Export(_ context.Context, file string, replace bool) (string, error) {
	a.asks("export %q %v", file, replace)
	if file == a.reports.there && file != "" && !replace {
		return "", &ThereError{"/home/ada/work/greet/" + file}
	}
	return "Branch main is in " + file + " (md, 1.0 KB).", a.reports.noReport
}

func (a *fakeAgent) Doctor(context.Context) (string, error) {
	a.asks("doctor")
	return "ok  settings: setup.json, 0 problems\nBAD git: not found\n", a.reports.noReport
}

func (a *fakeAgent) Permissions(context.Context) (string, error) {
	a.asks("permissions")
	return "Mode: ask\n", a.reports.noReport
}

func (a *fakeAgent) Customs(context.Context) ([]Command, []string) {
	a.asks("customs")
	return a.reports.customs, a.reports.notes
}

func (a *fakeAgent) Expand(_ context.Context, name, args string) (string, error) {
	a.asks("expand %s %q", name, args)
	if name == "gone" {
		return "", errors.New("/gone is not there any more")
	}
	return "do " + name + ": " + args, nil
}

func (a *fakeAgent) KeepTheme(_ context.Context, name string) error {
	a.asks("theme %s", name)
	return a.reports.noTheme
}
