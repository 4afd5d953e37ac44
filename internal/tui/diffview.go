package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"varve/internal/tui/markdown"
	"varve/internal/tui/plain"
)

// A FileDiff is a file before a session changed it, and after.
type FileDiff struct {
	Path          string // absolute
	Op            string // create, modify, delete
	Before, After string
	Why           string // why the two sides can't be shown, "" if they can
	Since         bool   // the file is no longer as the session left it
}

// maxDiffLines is how many lines of one file are shown: what is left out is
// counted.
const maxDiffLines = 2000

func (r *Root) diffCommand(string) tea.Cmd {
	return func() tea.Msg {
		files, commands, err := r.agent.Changes(r.ctx)
		return changesMsg{files, unseen(commands), err}
	}
}

type changesMsg struct {
	files  []FileDiff
	unseen string
	err    error
}

// unseen says what /diff can't know, "" for nothing.
func unseen(commands int) string {
	if commands == 0 {
		return ""
	}
	return fmt.Sprintf("%d %s ran here, and may have changed more than was recorded.", commands, plural(commands, "command"))
}

func (m changesMsg) on(r *Root) tea.Cmd {
	switch {
	case m.err != nil:
		return viewMsg{err: m.err}.on(r)
	case len(m.files) == 0:
		r.say("info", strings.TrimSpace("No change of a file is recorded in this session. "+m.unseen))
		return nil
	}
	d := &diffView{files: m.files, unseen: m.unseen, theme: r.frame.Theme}
	for _, f := range m.files {
		d.names = append(d.names, shownPath(f.Path, r.id.Workspace, r.id.Home))
	}
	d.lines = d.draw
	d.title = "Changed in this session"
	r.open(&d.textView)
	return nil
}

// A diffView shows changes of files. It is drawn once for a width.
type diffView struct {
	textView
	files  []FileDiff
	names  []string
	unseen string
	theme  Theme
	width  int
	drawn  []string
}

func (d *diffView) draw(w int) []string {
	if d.width == w {
		return d.drawn
	}
	d.width, d.drawn = w, nil
	var body []string
	added, removed := 0, 0
	for i, f := range d.files {
		p := markdown.Diff(f.Before, f.After, markdown.DiffOptions{Theme: d.theme.Markdown(), Width: w, Max: maxDiffLines})
		added, removed = added+p.Added, removed+p.Removed
		says := fmt.Sprintf("  +%d −%d", p.Added, p.Removed)
		switch {
		case f.Why != "":
			says = ""
		case f.Op == "create":
			says += "  new"
		case f.Op == "delete":
			says += "  deleted"
		}
		room := max(w-plain.Width(says), 8)
		body = append(body, "", d.theme.Title.Of(plain.Truncate(d.names[i], room))+d.theme.Dim.Of(says))
		if f.Since {
			for _, s := range plain.Wrap("The file is not as the session left it: somebody changed it since.", w) {
				body = append(body, d.theme.Warn.Of(s))
			}
		}
		if f.Why != "" {
			for _, s := range plain.Wrap(oneLine("It was changed, and can't be shown: "+f.Why), w) {
				body = append(body, d.theme.Dim.Of(s))
			}
		}
		for _, l := range p.Lines {
			body = append(body, plain.Truncate(l.Text, w))
		}
	}
	head := []string{plain.Truncate(fmt.Sprintf("%d %s, +%d −%d", len(d.files), plural(len(d.files), "file"), added, removed), w)}
	if d.unseen != "" {
		for _, s := range plain.Wrap(d.unseen, w) {
			head = append(head, d.theme.Dim.Of(s))
		}
	}
	d.drawn = append(head, body...)
	return d.drawn
}
