package tui

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	tea "charm.land/bubbletea/v2"

	"varve/internal/harness/drive"
)

// A Reporter is what commands ask of the program behind the screen: reports to
// be read, and files that are written outside of the session.
type Reporter interface {
	// Usage is what was used so far, for /usage.
	Usage(ctx context.Context) (UsageInfo, error)
	// Changes are what this session has changed in files, for /diff, and how many
	// commands ran that may have changed more than was recorded.
	Changes(ctx context.Context) (files []FileDiff, commands int, err error)
	// Export writes this branch to a file; the ending says in which format, "" is
	// a name of its own in the workspace. The answer says what is where. A file that
	// is there is a [*ThereError], unless it is to be replaced.
	Export(ctx context.Context, file string, replace bool) (string, error)
	// Doctor is what `agent doctor` prints.
	Doctor(ctx context.Context) (string, error)
	// Permissions says what is allowed and denied, and by whom.
	Permissions(ctx context.Context) (string, error)
	// Customs lists the user's own commands, with a line for each that can't be
	// taken.
	Customs(ctx context.Context) ([]Command, []string)
	// Expand is the message that a command of the user's own stands for, or that of
	// /init.
	Expand(ctx context.Context, name, args string) (string, error)
	// KeepTheme makes a theme the user's choice for good.
	KeepTheme(ctx context.Context, name string) error
}

// A ThereError says that a file is there already. Path is absolute.
type ThereError struct{ Path string }

func (e *ThereError) Error() string { return e.Path + " is there already" }

// A viewMsg opens what a command was asked for.
type viewMsg struct {
	view overlay
	err  error
}

func (m viewMsg) on(r *Root) tea.Cmd {
	if m.err != nil {
		if !errors.Is(m.err, context.Canceled) {
			r.say("error", m.err.Error())
		}
		return nil
	}
	r.open(m.view)
	return nil
}

func (r *Root) doctorCommand(string) tea.Cmd {
	r.chat.hint = "Looking whether all is well here."
	return func() tea.Msg {
		text, err := r.agent.Doctor(r.ctx)
		return lookedMsg{viewMsg{newView("Doctor", text), err}}
	}
}

// A lookedMsg is a viewMsg of what took a while.
type lookedMsg struct{ viewMsg }

func (m lookedMsg) on(r *Root) tea.Cmd {
	r.chat.hint = ""
	return m.viewMsg.on(r)
}

func (r *Root) permissionsCommand(string) tea.Cmd {
	return func() tea.Msg {
		text, err := r.agent.Permissions(r.ctx)
		view := newView("Permissions", text)
		view.goes, view.to = "change them", toSettingsMsg{permitBlock}
		return viewMsg{view, err}
	}
}

func (r *Root) exportCommand(args string) tea.Cmd { return r.export(args, false) }

func (r *Root) export(file string, replace bool) tea.Cmd {
	return func() tea.Msg {
		says, err := r.agent.Export(r.ctx, file, replace)
		return exportedMsg{file, says, err}
	}
}

type exportedMsg struct {
	file, says string
	err        error
}

func (m exportedMsg) on(r *Root) tea.Cmd {
	var there *ThereError
	switch {
	case errors.As(m.err, &there):
		no, yes := Choice{Label: "No, leave it", Key: "n"}, Choice{Label: "Yes, replace it", Key: "y", Msg: replaceMsg{m.file}}
		if !r.chat.comp.Empty() { // it comes while something is written, whose letters are no answer
			no.Key, yes.Key = "", ""
		}
		r.open(NewConfirm("Export", oneLine(shortPath(there.Path, r.id.Home))+" is there already. Replace it?", no, yes))
	case m.err != nil:
		r.say("error", m.err.Error())
	default:
		r.say("success", m.says)
	}
	return nil
}

type replaceMsg struct{ file string }

func (m replaceMsg) on(r *Root) tea.Cmd { return r.export(m.file, true) }

// initCommand sends what asks the model for a first AGENTS.md.
func (r *Root) initCommand(args string) tea.Cmd { return r.sendExpanded("init", args) }

// sendExpanded sends the message that a command stands for. It is a message of the
// user's like any other, and waits in the queue while a turn runs.
func (r *Root) sendExpanded(name, args string) tea.Cmd {
	if r.id.Setup {
		return r.offers() // a session begins with its model
	}
	r.chat.tr.end()
	return func() tea.Msg {
		text, err := r.agent.Expand(r.ctx, name, args)
		if err == nil {
			err = r.agent.Submit(r.ctx, drive.Say{Text: []byte(text)})
		}
		if err != nil {
			return refusedMsg{err, strings.TrimSpace("/" + name + " " + args)}
		}
		return nil
	}
}

// shownPath is a path as it is shown: within the workspace from there on.
func shownPath(path, workspace, home string) string {
	if rel, err := filepath.Rel(workspace, path); err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return oneLine(rel)
	}
	return shortPath(path, home)
}
