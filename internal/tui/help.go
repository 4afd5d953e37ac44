package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"varve/internal/tui/plain"
)

// Help lists the keys and the commands, from the tables they come from (TUI-12). It leaves out keys that this terminal can't
// send (case TUI-10).
type Help struct {
	Commands Commands
	top      int
}

// NewHelp is the help, at its beginning.
func NewHelp(cmds Commands) *Help { return &Help{Commands: cmds} }

// Update scrolls and closes.
func (h *Help) Update(msg tea.Msg, f Frame) (overlay, tea.Cmd) {
	page := h.box(f).innerH()
	switch msg := msg.(type) {
	case tea.MouseWheelMsg:
		h.top += wheel(msg)
	case tea.KeyPressMsg:
		act, _ := f.Keys.Action(msg, InView)
		switch act {
		case ActClose:
			return nil, nil
		case ActListUp:
			h.top--
		case ActListDown:
			h.top++
		case ActListPageUp:
			h.top -= max(page-1, 1)
		case ActListPageDn:
			h.top += max(page-1, 1)
		case ActListFirst:
			h.top = 0
		case ActListLast:
			h.top = 1 << 30
		}
	}
	h.top = max(min(h.top, len(h.rows(f))-page), 0)
	return h, nil
}

func (h *Help) box(f Frame) box { return boxFor(f, min(f.W-4, pickWide), max(f.H-2, 10)) }

// View draws the part that is in view.
func (h *Help) View(f Frame) string {
	b := h.box(f)
	rows := h.rows(f)
	top := max(min(h.top, len(rows)-b.innerH()), 0)
	end := min(top+b.innerH(), len(rows))
	foot := fmt.Sprintf("%d–%d of %d · %s, %s scroll · %s close", top+1, end, len(rows), f.Keys.Key(ActListUp), f.Keys.Key(ActListDown), f.Keys.Key(ActClose))
	return b.draw("Help", foot, rows[top:end], f.Theme)
}

// rows are all of it, as wide as the box.
func (h *Help) rows(f Frame) []string {
	width := h.box(f).innerW()
	column := min(26, width*2/5)
	var rows []string
	add := func(left, says string) {
		l, r := plain.Wrap(left, column-2), plain.Wrap(says, width-column)
		for i := range max(len(l), len(r)) {
			a, b := "", ""
			if i < len(l) {
				a = l[i]
			}
			if i < len(r) {
				b = r[i]
			}
			rows = append(rows, f.Theme.Key.Of(a)+strings.Repeat(" ", column-plain.Width(a))+b)
		}
	}
	head := func(title string) {
		if rows != nil {
			rows = append(rows, "")
		}
		rows = append(rows, f.Theme.Title.Of(title))
	}
	if len(f.Keys.wrong) > 0 {
		head("Of your keys these do not what you asked")
		for _, p := range f.Keys.wrong {
			add(oneLine(p.Action), oneLine(p.Error()))
		}
	}
	group, seen := "", map[Action]bool{}
	for _, r := range f.Keys.Actions() {
		keys := f.Keys.Keys(r.Action)
		if seen[r.Action] || len(keys) == 0 {
			continue
		}
		seen[r.Action] = true
		if r.Group != group {
			group = r.Group
			head(group)
		}
		says := r.Says
		if r.Later {
			says = "not yet: " + says
		}
		if shared := f.Keys.Elsewhere(r.Action); shared != "" {
			says += "; " + shared
		}
		if f.Keys.users[r.Action] {
			says += " (your key)"
		}
		add(strings.Join(keys, ", "), says)
	}
	head("Commands")
	for _, c := range h.Commands.table() {
		add(commandTitle(c), commandNote(c))
	}
	if own := h.Commands.own(); len(own) > 0 {
		head("Your commands: what they hold is sent as a message")
		for _, c := range own {
			add(commandTitle(c), commandNote(c))
		}
	}
	head("In a message")
	add("@path", "names a file")
	add("!command", "runs a command of your own (Esc ends it); the model sees what it wrote with your next message")
	add("/path/to", "a path is text; a space before / makes anything text")
	return rows
}
