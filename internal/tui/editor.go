package tui

import (
	"errors"
	"os"
	"os/exec"
	"strings"

	tea "charm.land/bubbletea/v2"

	"varve/internal/tui/paint"
)

// edit opens a text in the user's editor.
func (r *Root) edit(text string) tea.Cmd {
	argv := r.agent.Editor()
	if len(argv) == 0 {
		r.say("warning", "No editor: set $EDITOR.")
		return nil
	}
	return func() tea.Msg {
		f, err := os.CreateTemp("", "varve-*.md")
		if err != nil {
			return editedMsg{err: err}
		}
		_, err = f.WriteString(text)
		if err = errors.Join(err, f.Close()); err != nil {
			return editedMsg{err: err}
		}
		return editMsg{argv, f.Name()}
	}
}

// edited runs the editor on a file and reads what was made of it.
func edited(m editMsg) tea.Cmd {
	return paint.Exec(exec.Command(m.argv[0], append(m.argv[1:], m.file)...), func(err error) tea.Msg {
		defer os.Remove(m.file)
		if err != nil {
			return editedMsg{err: err}
		}
		b, err := os.ReadFile(m.file)
		return editedMsg{strings.TrimRight(string(b), "\n"), err}
	})
}
