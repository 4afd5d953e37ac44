package tui

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"varve/internal/tui/plain"
)

// A picker that looks deeper finds rows also by what stands behind them, as
// sessions by what was said in them (BRW-1). What its rows say is found at once;
// what is behind them comes later, stands below it and moves nothing.

// A Deeper is how a picker looks behind its rows.
type Deeper struct {
	// Look looks for what is typed, and answers with a PickFoundMsg. A newer call
	// ends it, with "" too.
	Look  func(text string) tea.Cmd
	Group string // the heading of what is found so
	None  string // said too where nothing matches
}

// A PickFoundMsg brings what was found behind the rows of the picker of that
// name, or says why nothing could be looked for.
type PickFoundMsg struct {
	Name, Text string
	Found      []PickFound // best first
	Note       string      // what could not be looked at
	Err        error
}

// A PickFound is a row that holds what was looked for, and the line that does.
type PickFound struct{ Key, Before, Match, After string }

// enoughToLook is how many characters a picker looks behind its rows for.
const enoughToLook = 3

// looked is what a picker found behind its rows.
type looked struct {
	text  string // that was looked for, "" for nothing
	waits bool
	PickFoundMsg
}

// deepen looks behind the rows for what is typed now, or ends looking.
func (p *Picker) deepen() tea.Cmd {
	if p.Deeper == nil {
		return nil
	}
	text := strings.TrimSpace(p.filter.String())
	if text == p.behind.text && text != "" {
		return nil
	}
	p.behind = looked{}
	if utf8.RuneCountInString(text) < enoughToLook {
		return p.Deeper.Look("")
	}
	p.behind = looked{text: text, waits: true}
	return p.Deeper.Look(text)
}

// found takes what was found, unless something else is typed by now. The choice
// and what is in view stay.
func (p *Picker) found(m PickFoundMsg) {
	if m.Name != p.Name || m.Text != p.behind.text {
		return
	}
	for i, x := range m.Found {
		m.Found[i].Before, m.Found[i].Match, m.Found[i].After = oneLine(x.Before), oneLine(x.Match), oneLine(x.After)
	}
	p.behind = looked{text: m.Text, PickFoundMsg: m}
	at, top := p.list.at, p.list.top
	p.match()
	p.list.top = top
	p.list.Select(at)
}

// findWords finds the rows that hold every word of what is typed, as it is
// written but for its case, or whose key begins so. They keep their order.
func (p *Picker) findWords() []ranked {
	words := strings.Fields(strings.ToLower(p.filter.String()))
	var out []ranked
	for i, r := range p.rows {
		title := strings.ToLower(r.Title)
		text := title + "\n" + strings.ToLower(r.Also)
		x := ranked{Index: i}
		if slices.ContainsFunc(words, func(w string) bool {
			at := strings.Index(title, w)
			for b := range len(w) {
				if at >= 0 && len(title) == len(r.Title) {
					x.At = append(x.At, at+b)
				}
			}
			return !strings.Contains(text, w) && !strings.HasPrefix(r.Key, w)
		}) {
			continue
		}
		out = append(out, x)
	}
	return out
}

// addFound puts what was found behind the rows below those that are shown.
func (p *Picker) addFound() {
	if len(p.behind.Found) == 0 {
		return
	}
	at := map[string]int{}
	for i, r := range p.rows {
		at[r.Key] = i
	}
	for _, l := range p.shown {
		if l.row >= 0 {
			delete(at, p.rows[l.row].Key)
		}
	}
	head := false
	for _, x := range p.behind.Found {
		i, ok := at[x.Key]
		if !ok {
			continue
		}
		if !head {
			p.add(pickLine{row: -1, head: p.Deeper.Group})
			head = true
		}
		p.add(pickLine{row: i})
		p.add(pickLine{row: -1, found: &x})
	}
}

// state is the row below the filter: what is looked at, and what there is to say.
func (p *Picker) state() string {
	switch {
	case p.refused != "":
		return p.refused
	case p.wait || p.err != nil:
		return ""
	case p.behind.waits:
		return "titles and folders; looking in messages …"
	case p.behind.Err != nil:
		return oneLine(p.behind.Err.Error())
	case p.behind.Note != "":
		return oneLine(p.behind.Note)
	}
	return p.Says
}

// draw is the line that holds what was found, so that it can be seen.
func (x PickFound) draw(width int, th Theme) string {
	room := max(width-4, 1)
	match := plain.Truncate(x.Match, room)
	before := x.Before
	for most := max(room-plain.Width(match), 0) / 2; plain.Width(before) > most; {
		_, n := utf8.DecodeRuneInString(strings.TrimPrefix(before, "…"))
		if before = strings.TrimPrefix(before, "…")[n:]; before == "" {
			break
		}
		before = "…" + before
	}
	after := plain.Truncate(x.After, max(room-plain.Width(before)-plain.Width(match), 0))
	return fitLine("    "+th.Dim.Of(before)+th.Match.Of(match)+th.Dim.Of(after), width)
}

// nothingFound is said where no row is shown and something is typed.
func (p *Picker) nothingFound() string {
	says := "nothing matches " + fmt.Sprintf("%q", p.filter.String())
	switch {
	case p.Deeper == nil:
		return says
	case p.behind.waits:
		return "no title or folder has " + fmt.Sprintf("%q", p.filter.String())
	case p.behind.text == "":
		return says + " in titles and folders"
	case p.behind.Err != nil:
		return says + " in titles and folders; messages could not be searched"
	}
	return says + p.Deeper.None
}
