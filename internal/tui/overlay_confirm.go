package tui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"varve/internal/tui/plain"
)

// A Choice is one answer to a question.
type Choice struct {
	Key   string // one character that chooses it
	Label string
	Msg   tea.Msg // what choosing says; nil says nothing
}

// Confirm asks a question. Its first choice is the one that Enter takes before another was gone to, so it has to be the
// harmless one. Esc closes it with what Closed says, nil for no answer.
type Confirm struct {
	Closed   tea.Msg
	Quit     tea.Msg // what the key says that quits when pressed twice (Ctrl+C); nil: it closes
	OfTurn   bool    // it is about the turn that runs, and goes with it
	Title    string
	Question string // may be long: it scrolls
	Choices  []Choice
	at, top  int
}

// NewConfirm asks a question.
func NewConfirm(title, question string, choices ...Choice) *Confirm {
	return &Confirm{Title: title, Question: plain.Clean(question), Choices: choices}
}

// Update takes the letters of the choices, and the keys of lists.
func (c *Confirm) Update(msg tea.Msg, f Frame) (overlay, tea.Cmd) {
	b, text := c.layout(f)
	page := b.innerH() - len(c.Choices) - 1
	switch msg := msg.(type) {
	case tea.MouseWheelMsg:
		c.top += wheel(msg)
	case tea.MouseClickMsg:
		if i := b.row(msg.X, msg.Y) - (b.innerH() - len(c.Choices)); msg.Button == tea.MouseLeft && i >= 0 && i < len(c.Choices) {
			return nil, answer(c.Choices[i].Msg)
		}
	case tea.KeyPressMsg:
		if act, _ := f.Keys.Action(msg, InChat|WhenAgain); act == ActQuit && c.Quit != nil {
			return nil, answer(c.Quit)
		}
		act, _ := f.Keys.Action(msg, InList)
		switch act {
		case ActClose:
			return nil, answer(c.Closed)
		case ActChoose:
			return nil, answer(c.Choices[c.at].Msg)
		case ActListUp, ActLeft:
			c.at = max(c.at-1, 0)
		case ActListDown, ActRight:
			c.at = min(c.at+1, len(c.Choices)-1)
		case ActListPageUp:
			c.top -= max(page, 1)
		case ActListPageDn:
			c.top += max(page, 1)
		default:
			for _, choice := range c.Choices {
				if strings.EqualFold(msg.Text, choice.Key) && choice.Key != "" {
					return nil, answer(choice.Msg)
				}
			}
		}
	}
	c.top = max(min(c.top, len(text)-page), 0)
	return c, nil
}

func (c *Confirm) layout(f Frame) (b box, text []string) {
	width := min(f.W-4, 72)
	if f.W < overlayNarrow {
		width = f.W
	}
	text = plain.Wrap(c.Question, width-4)
	return boxFor(f, width, len(text)+len(c.Choices)+3), text
}

// View draws the question and the choices; the choices are always in view.
func (c *Confirm) View(f Frame) string {
	b, text := c.layout(f)
	page := max(b.innerH()-len(c.Choices)-1, 0)
	top := max(min(c.top, len(text)-page), 0)
	rows := append([]string{}, text[top:min(top+page, len(text))]...)
	foot := c.foot(b.w-6, page < len(text), f)
	for len(rows) < page+1 {
		rows = append(rows, "")
	}
	for i, choice := range c.Choices {
		label := choice.Label
		if choice.Key != "" {
			label = choice.Key + "  " + label
		}
		rows = append(rows, listItem{Title: label, Selected: i == c.at}.draw(b.innerW(), 0, f.Theme))
	}
	return b.draw(c.Title, foot, rows, f.Theme)
}

// foot names the keys that fit in w columns: that a row is chosen is seen, and
// what quits whatever is chosen is said longest.
func (c *Confirm) foot(w int, scrolls bool, f Frame) string {
	scroll, choose, closes, quits := "", f.Keys.Key(ActChoose)+" choose", f.Keys.Key(ActClose)+" close", ""
	if scrolls {
		scroll = bothKeys(f.Keys.Key(ActListPageUp), f.Keys.Key(ActListPageDn)) + " scroll"
	}
	if quit, _, _ := strings.Cut(f.Keys.Key(ActQuit), " "); c.Quit != nil && quit != "" {
		quits = quit + " quits"
	}
	foot := func() string {
		return strings.Join(slices.DeleteFunc([]string{scroll, choose, closes, quits}, func(s string) bool { return s == "" }), " · ")
	}
	if plain.Width(foot()) > w && (scrolls || quits != "") {
		choose = ""
	}
	if plain.Width(foot()) > w && quits != "" {
		closes = ""
	}
	return foot()
}
