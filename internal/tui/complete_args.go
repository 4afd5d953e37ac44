package tui

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"varve/internal/tui/plain"
)

// What stands behind a command: models, themes, sessions, labels, code blocks.

// An argOffer is one word, or some, that a command takes.
type argOffer struct {
	Value string // as it is written; "" is shown, and can't be taken
	Title string // shown instead of it
	Note  string
}

func (o argOffer) shown() string {
	if o.Title != "" {
		return oneLine(o.Title)
	}
	return oneLine(o.Value)
}

// An argsMsg brings what a command takes. It answers Composer.Args.
type argsMsg struct {
	of   string // the command's name
	rows []argOffer
	err  error
}

func (m argsMsg) on(r *Root) tea.Cmd {
	r.chat.comp.argued(m)
	return nil
}

// argsAt is the command whose words are being written, and where they begin.
func (c *Composer) argsAt() (cmd Command, from spot, query string, ok bool) {
	t := &c.text
	if t.cur.line != 0 || len(t.lines) != 1 {
		return Command{}, spot{}, "", false
	}
	s := t.lines[0].s[:t.cur.off]
	head, _ := cutCommand(s)
	if !isCommand(s) || len(head) == len(s) {
		return Command{}, spot{}, "", false
	}
	cmd, ok = c.Commands.Find(head[1:])
	if !ok || cmd.offer == nil || cmd.Later {
		return Command{}, spot{}, "", false
	}
	query = strings.TrimLeft(s[len(head):], " \t")
	return cmd, spot{0, len(s) - len(query)}, query, true
}

// argued takes what a command was asked for.
func (c *Composer) argued(m argsMsg) {
	o := &c.offer
	if o.kind != offerArgs || o.closed || o.of != m.of {
		return
	}
	o.args, o.waiting, o.err = m.rows, false, m.err
	c.rank(o.query)
}

// rankArgs ranks by what is written and shown: what is that, then what begins so,
// then what holds the letters; by the notes where nothing does.
func rankArgs(query string, all []argOffer) []ranked {
	found := rank(query, len(all), func(i int) string { return all[i].shown() + " " + all[i].Value }, nil)
	if len(found) == 0 {
		found = rank(query, len(all), func(i int) string { return all[i].Note }, nil)
		for i := range found {
			found[i].At = nil
		}
	}
	for i := range found {
		switch a := all[found[i].Index]; {
		case query == "":
		case a.Value == query:
			found[i].Score += 10000
		case strings.HasPrefix(a.Value, query), strings.HasPrefix(a.shown(), query):
			found[i].Score += 1000
		}
	}
	slices.SortStableFunc(found, func(a, b ranked) int { return cmp.Compare(b.Score, a.Score) })
	return found
}

// picked says that Enter takes the chosen row: of words behind a command only where
// something was written of them, or one was gone to. Otherwise it runs the command
// as it stands.
func (o *offer) picked() bool { return o.kind != offerArgs || o.moved || o.query != "" }

// step goes to another row; to the first where none was chosen yet.
func (o *offer) step(by int) {
	if o.picked() {
		o.list.Move(by)
	}
	o.moved = true
}

// takeArg puts the chosen words behind the command, and says that it can be run.
func (c *Composer) takeArg() bool {
	o, t := c.offer, &c.text
	row := o.args[o.rows[o.list.at].Index]
	if row.Value == "" {
		return false
	}
	t.replace(o.from, t.end(), noChips(plain.Clean(row.Value)))
	c.offer = offer{kind: offerArgs, from: o.from, of: o.of, closed: true}
	return true
}

// argRow is a row as it is drawn.
func (o *offer) argRow(i int) listItem {
	a := o.args[o.rows[i].Index]
	return listItem{
		Title: a.shown(), Note: oneLine(a.Note), Marks: o.rows[i].At, Dim: a.Value == "",
		Selected: i == o.list.at && o.picked(),
	}
}

// args asks what a command takes.
func (r *Root) args(cmd Command) tea.Cmd {
	ask := cmd.offer(r)
	return func() tea.Msg {
		rows, err := ask()
		return argsMsg{cmd.Name, rows, err}
	}
}

// Each of these looks at the screen's own state at once, and asks the agent later.
type argsOf func(r *Root) func() ([]argOffer, error)

func offerModels(r *Root) func() ([]argOffer, error) {
	return func() (out []argOffer, err error) {
		list, err := r.agent.Models(r.ctx)
		for _, m := range list {
			a := argOffer{Value: m.Model.String(), Note: modelNote(m)}
			if m.Model.Model == "" {
				a = argOffer{Title: m.Model.Provider, Note: m.State}
			}
			out = append(out, a)
		}
		return out, err
	}
}

func offerThemes(r *Root) func() ([]argOffer, error) {
	themes := r.themes
	return func() (out []argOffer, err error) {
		for _, name := range themes.Names() {
			out = append(out, argOffer{Value: name, Note: themes.themeNote(name)})
		}
		return out, nil
	}
}

func offerSessions(r *Root) func() ([]argOffer, error) {
	home := r.id.Home
	return func() (out []argOffer, err error) {
		ctx, stop := context.WithCancel(r.ctx)
		defer stop()
		known := <-r.agent.Browse(ctx) // what is known at once
		list, err := known.Sessions, known.Err
		for _, here := range []bool{true, false} {
			for _, s := range list {
				if s.Here != here {
					continue
				}
				note := s.Age
				if !here {
					note += ", " + shortPath(s.Workspace, home)
				}
				out = append(out, argOffer{Value: s.ID, Title: s.Title, Note: note})
			}
		}
		return out, err
	}
}

func offerLabels(r *Root) func() ([]argOffer, error) {
	return func() (out []argOffer, err error) {
		limbs, err := r.agent.Limbs(r.ctx)
		for _, l := range limbs {
			for i := len(l.Reverts) - 1; l.Here && i >= 0; i-- {
				out = append(out, argOffer{Value: l.Reverts[i].Label, Note: l.Reverts[i].Preview + ", " + l.Reverts[i].Age})
			}
		}
		return out, err
	}
}

func offerCode(r *Root) func() ([]argOffer, error) {
	blocks := r.chat.tr.lastCode()
	return func() (out []argOffer, err error) {
		for i, code := range blocks {
			first, _, _ := strings.Cut(strings.TrimSpace(code), "\n")
			out = append(out, argOffer{Value: fmt.Sprint(i + 1), Note: first + ", " + sizeOf(code)})
		}
		return out, nil
	}
}
