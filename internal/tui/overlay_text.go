package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"varve/internal/tui/plain"
)

// A textView shows a text that only scrolls.
type textView struct {
	title, text string
	lines       func(w int) []string // instead of text: drawn for a width, at most that wide
	top         int
	goes        string  // what Enter does beside closing, "" for nothing
	to          tea.Msg // and what it says
}

func newView(title, text string) *textView { return &textView{title: title, text: plain.Clean(text)} }

func (v *textView) Update(msg tea.Msg, f Frame) (overlay, tea.Cmd) {
	page := v.box(f).innerH()
	switch msg := msg.(type) {
	case tea.MouseWheelMsg:
		v.top += wheel(msg)
	case tea.KeyPressMsg:
		if act, _ := f.Keys.Action(msg, InList); act == ActChoose && v.goes != "" {
			return nil, answer(v.to)
		}
		switch act, _ := f.Keys.Action(msg, InView); act {
		case ActClose:
			return nil, nil
		case ActListUp:
			v.top--
		case ActListDown:
			v.top++
		case ActListPageUp:
			v.top -= max(page-1, 1)
		case ActListPageDn:
			v.top += max(page-1, 1)
		case ActListFirst:
			v.top = 0
		case ActListLast:
			v.top = 1 << 30
		}
	}
	v.top = max(min(v.top, len(v.rows(f))-page), 0)
	return v, nil
}

func (v *textView) box(f Frame) box { return boxFor(f, min(f.W-4, pickWide), max(f.H-2, 10)) }

func (v *textView) rows(f Frame) []string {
	if v.lines != nil {
		return v.lines(v.box(f).innerW())
	}
	var out []string
	for _, s := range strings.Split(strings.TrimRight(v.text, "\n"), "\n") {
		out = append(out, plain.Wrap(s, v.box(f).innerW())...)
	}
	return out
}

func (v *textView) View(f Frame) string {
	b, rows := v.box(f), v.rows(f)
	top := max(min(v.top, len(rows)-b.innerH()), 0)
	end := min(top+b.innerH(), len(rows))
	foot := f.Keys.Key(ActClose) + " close"
	if v.goes != "" {
		foot = f.Keys.Key(ActChoose) + " " + v.goes + " · " + foot
	}
	if len(rows) > b.innerH() {
		foot = fmt.Sprintf("%d–%d of %d · %s", top+1, end, len(rows), foot)
	}
	return b.draw(v.title, foot, rows[top:end], f.Theme)
}

// An ask takes one line, hidden where it is a secret.
type ask struct {
	title, says string
	secret      bool
	field       field
	back        tea.Msg // what closing says
	then        func(string) tea.Msg
}

func newAsk(title, says string, secret bool, then func(string) tea.Msg) *ask {
	return &ask{title: title, says: says, secret: secret, field: newField(""), then: then}
}

func (a *ask) Update(msg tea.Msg, f Frame) (overlay, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.PasteMsg:
		a.field.write(strings.TrimSpace(msg.Content))
	case tea.KeyPressMsg:
		act, _ := f.Keys.Action(msg, InList)
		switch act {
		case ActClose:
			return nil, answer(a.back)
		case ActChoose:
			if s := strings.TrimSpace(a.field.String()); s != "" {
				return nil, answer(a.then(s))
			}
		default:
			a.field.key(msg, act)
		}
	}
	return a, nil
}

func (a *ask) box(f Frame) box { return boxFor(f, min(f.W-4, 70), 8) }

func (a *ask) View(f Frame) string {
	b := a.box(f)
	rows := plain.Wrap(a.says, b.innerW())
	return b.draw(a.title, f.Keys.Key(ActChoose)+" take · "+f.Keys.Key(ActClose)+" back", append(rows, "", a.line(f)), f.Theme)
}

func (a *ask) line(f Frame) string {
	shown := a.field
	if a.secret {
		shown = newField(strings.Repeat("•", len([]rune(a.field.String()))))
	}
	row, _ := shown.view("> ", "", a.box(f).innerW(), f.Theme)
	return row
}

// Cursor is in the line.
func (a *ask) Cursor(f Frame) (x, y int) {
	b := a.box(f)
	_, cx := a.field.view("> ", "", b.innerW(), f.Theme)
	return b.x + 2 + cx, b.y + 1 + len(plain.Wrap(a.says, b.innerW())) + 1
}
