package paint

import (
	"os/exec"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// Messages that the painter serves itself; the model sees none of them.
type (
	redrawMsg struct{}
	deafMsg   struct{ err error }
	notifyMsg string
	execMsg   struct {
		cmd  *exec.Cmd
		done func(error) tea.Msg
	}
)

// clipboard begins what sets a clipboard.
const clipboard = "\x1b]52;"

// SetClipboard hands text to the terminal's clipboard (OSC 52). It works over ssh, and through tmux where that is
// set up to let it; a terminal may refuse it or limit its length, and does not say so.
func SetClipboard(text string) tea.Cmd { return tea.Raw(ansi.SetSystemClipboard(text)) }

// Bell rings the terminal's bell.
func Bell() tea.Cmd { return tea.Raw("\a") }

// Notify asks the terminal to show text as a notification of the desktop: OSC 9, or OSC 777 where that is the
// one known, through tmux where tmux is between (TUI-11). Control characters are taken out.
func Notify(text string) tea.Cmd {
	return func() tea.Msg { return notifyMsg(printable(text)) }
}

// Redraw clears the terminal and paints the whole view again.
func Redraw() tea.Cmd { return func() tea.Msg { return redrawMsg{} } }

// Exec gives the terminal to cmd, for example an editor, and takes it again when cmd has ended. Streams that
// cmd leaves nil are the terminal's. done makes a message of cmd's error; it may be nil. The event loop
// rests meanwhile: messages wait.
func Exec(cmd *exec.Cmd, done func(error) tea.Msg) tea.Cmd {
	return func() tea.Msg { return execMsg{cmd, done} }
}

func notification(text, term string, tmux bool) string {
	seq := ansi.Notify(text)
	switch {
	case strings.HasPrefix(term, "rxvt"):
		seq = "\x1b]777;notify;" + strings.ReplaceAll(text, ";", ",") + ";\a"
	case text != "" && text[0] >= '0' && text[0] <= '9':
		seq = ansi.Notify(" " + text) // OSC 9 with a number is something else to some terminals
	}
	if tmux {
		return ansi.TmuxPassthrough(seq)
	}
	return seq
}
