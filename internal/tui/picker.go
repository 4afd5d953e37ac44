package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"varve/internal/tui/plain"
)

// A PickRow is one thing to choose. All its texts may be of elsewhere: they are cleaned when drawn.
type PickRow struct {
	Title, Note string
	Group       string // rows of a group stand together below its name; "" has none
	Also        string // is found too, and not shown; where it is "" the group is
	Key         string // names it
	Off         string // why it can't be chosen, "" if it can
	Does        string // what choosing does, "" is to choose
	Value       any    // for the answer
}

// A Picker offers rows, finds those that match what is typed, and answers with the one that was chosen.
type Picker struct {
	Title  string
	Hint   string                // in the empty filter
	Empty  string                // said where there are no rows at all
	Answer func(PickRow) tea.Msg // what choosing says
	Name   string                // to whom a PickRowsMsg is addressed
	Says   string                // below the filter

	// Mark says what marks a row as a favourite, nil for one that can't be; it
	// stays open. nil where none can.
	Mark func(PickRow) tea.Msg

	// Typed is the row for what is typed where no row holds it, nil where there
	// is none of that kind.
	Typed func(query string) (PickRow, bool)

	rows   []PickRow // the last is the one of Typed, where there is one
	given  int       // without it
	column int       // where notes begin
	lines  int       // rows and names of groups, unfiltered
	found  int       // rows that are shown
	filter field
	shown  []pickLine
	list   list
	wait   bool
	err    error
}

// A PickRowsMsg brings the rows of the picker of that name, or says why there are none. Where To is set they are for that
// picker alone: another one of its name may be of another session.
type PickRowsMsg struct {
	Name string
	To   *Picker
	Rows []PickRow
	Err  error
}

// For says that the rows are those of p.
func (m PickRowsMsg) For(p *Picker) bool { return m.Name == p.Name && (m.To == nil || m.To == p) }

// A pickLine is a row of the screen: a row to choose, or the name of a group.
type pickLine struct {
	row   int // -1: a heading
	head  string
	marks []int
}

// NewPicker offers rows; with nil it waits for them to come with a PickRowsMsg.
func NewPicker(title string, rows []PickRow, answer func(PickRow) tea.Msg) *Picker {
	p := &Picker{Title: title, Hint: "type to filter", Empty: "there is nothing to choose", Answer: answer, filter: newField(""), wait: rows == nil}
	p.SetRows(rows)
	return p
}

// SetRows replaces the rows. The filter stays, and the choice too where its row has the same key or place.
func (p *Picker) SetRows(rows []PickRow) {
	was, _ := p.chosen()
	p.rows, p.given, p.column = make([]PickRow, len(rows)), len(rows), 0
	groups := map[string]bool{"": true}
	for i, r := range rows {
		r.Title, r.Note, r.Group, r.Off = oneLine(r.Title), oneLine(r.Note), oneLine(r.Group), oneLine(r.Off)
		p.rows[i] = r
		p.column = max(p.column, plain.Width(r.Title)+2)
		groups[r.Group] = true
	}
	p.lines = len(rows) + len(groups) - 1
	at, top := p.list.at, p.list.top
	p.match()
	p.list.top = top
	p.list.Select(at)
	if was.Key != "" {
		p.Choose(func(r PickRow) bool { return r.Key == was.Key })
	}
}

// Choose puts the choice on the first row that is wanted.
func (p *Picker) Choose(wanted func(PickRow) bool) {
	for i, l := range p.shown {
		if l.row >= 0 && wanted(p.rows[l.row]) {
			p.list.Select(i)
			return
		}
	}
}

// oneLine is text of elsewhere as one clean line.
func oneLine(s string) string {
	return noChips(strings.ReplaceAll(plain.Clean(s), "\n", " "))
}

// text is what a row is found by: its title comes first.
func (r PickRow) text() string { return r.Title + " " + cmp.Or(r.Also, r.Group) }

// match finds what is shown. Where rows hold the words as they are typed, those that only hold their letters are left
// out. Groups stand in the order of their best row.
func (p *Picker) match() {
	query := p.filter.String()
	p.rows = p.rows[:p.given]
	found := asTyped(query, rank(query, len(p.rows), func(i int) string { return p.rows[i].text() }, nil), p.rows)
	var order []string
	groups := map[string][]pickLine{}
	for _, r := range found {
		g := p.rows[r.Index].Group
		if _, ok := groups[g]; !ok {
			order = append(order, g)
		}
		groups[g] = append(groups[g], pickLine{row: r.Index, marks: r.At})
	}
	p.shown, p.found, p.list = nil, len(found), list{}
	for _, g := range order {
		if g != "" {
			p.add(pickLine{row: -1, head: g})
		}
		for _, l := range groups[g] {
			p.add(l)
		}
	}
	if row, ok := p.typed(query, found); ok {
		p.add(pickLine{row: -1, head: row.Group})
		p.add(pickLine{row: len(p.rows)})
		p.rows = append(p.rows, row)
	}
	p.list.Select(0)
}

// typed is the row for what is typed, where none of those that were found holds it.
func (p *Picker) typed(query string, found []ranked) (PickRow, bool) {
	query = strings.TrimSpace(query)
	if p.Typed == nil || query == "" || slices.ContainsFunc(found, func(r ranked) bool {
		return strings.Contains(strings.ToLower(p.rows[r.Index].text()), strings.ToLower(query))
	}) {
		return PickRow{}, false
	}
	return p.Typed(query)
}

// asTyped are the rows that hold every word as it is typed, those with all of them in their title first; or all of them
// where there is none.
func asTyped(query string, found []ranked, rows []PickRow) []ranked {
	words := strings.Fields(strings.ToLower(query))
	if len(words) == 0 {
		return found
	}
	var named, also []ranked
	for _, r := range found {
		text := strings.ToLower(rows[r.Index].text())
		title, at := len(rows[r.Index].Title), []int{}
		whole := len(text) == len(rows[r.Index].text()) // else bytes are not where they were
		last := 0
		for _, w := range words {
			i := strings.Index(text, w)
			if last = max(last, i+len(w)); i < 0 {
				at = nil
				break
			}
			for j := range w {
				at = append(at, i+j)
			}
		}
		if at == nil {
			continue
		}
		if whole {
			r.At = at
		}
		if last <= title {
			named = append(named, r)
		} else {
			also = append(also, r)
		}
	}
	if all := append(named, also...); len(all) > 0 {
		return all
	}
	return found
}

func (p *Picker) add(l pickLine) {
	p.shown = append(p.shown, l)
	p.list.fixed = append(p.list.fixed, l.row < 0)
	p.list.n = len(p.shown)
}

// Update takes keys, mouse, paste, and rows for its name.
func (p *Picker) Update(msg tea.Msg, f Frame) (overlay, tea.Cmd) {
	b := p.box(f)
	switch msg := msg.(type) {
	case PickRowsMsg:
		if msg.For(p) {
			p.wait, p.err = false, msg.Err
			p.SetRows(msg.Rows)
		}
	case tea.PasteMsg:
		p.filter.write(msg.Content)
		p.match()
	case tea.MouseWheelMsg:
		p.list.Move(wheel(msg))
	case tea.MouseClickMsg:
		i := b.row(msg.X, msg.Y) - pickHead
		if from, to := p.list.Window(b.innerH() - pickHead); msg.Button == tea.MouseLeft && i >= 0 && from+i < to && !p.list.heading(from+i) {
			p.list.Select(from + i)
			return p.choose()
		}
	case tea.KeyPressMsg:
		act, _ := f.Keys.Action(msg, InList)
		switch {
		case act == ActFavourite && p.Mark != nil:
			if r, ok := p.chosen(); ok {
				return p, answer(p.Mark(r))
			}
		case act == ActClose:
			return nil, nil
		case act == ActChoose:
			return p.choose()
		case p.list.Do(act, b.innerH()-pickHead):
		default:
			if before := p.filter.String(); p.filter.key(msg, act) && p.filter.String() != before {
				p.match()
			}
		}
	}
	return p, nil
}

// choose answers with the chosen row; one that can't be chosen stays, with its reason in the foot.
func (p *Picker) choose() (overlay, tea.Cmd) {
	r, ok := p.chosen()
	if !ok || r.Off != "" {
		return p, nil
	}
	return nil, answer(p.Answer(r))
}

func (p *Picker) chosen() (PickRow, bool) {
	if p.list.at >= len(p.shown) || p.shown[p.list.at].row < 0 {
		return PickRow{}, false
	}
	return p.rows[p.shown[p.list.at].row], true
}

// A picker has a filter and an empty row above its list.
const (
	pickHead  = 2
	pickWide  = 100
	pickLabel = "> "
)

func (p *Picker) box(f Frame) box {
	// Its size does not follow the filter: a box that jumps is hard to read.
	return boxFor(f, min(f.W-4, pickWide), min(max(p.lines, 3)+pickHead+2, max(f.H-2, 10)))
}

// View draws the picker.
func (p *Picker) View(f Frame) string {
	b := p.box(f)
	row, _ := p.filter.view(pickLabel, p.Hint, b.innerW(), f.Theme)
	rows := []string{row, f.Theme.Dim.Of(plain.Truncate(p.Says, b.innerW()))}
	if len(p.shown) == 0 {
		for _, s := range plain.Wrap(p.nothing(), b.innerW()) {
			rows = append(rows, f.Theme.Dim.Of(s))
		}
		return b.draw(p.Title, p.foot(f), rows, f.Theme)
	}
	from, to := p.list.Window(b.innerH() - pickHead)
	for i := from; i < to; i++ {
		l := p.shown[i]
		if l.row < 0 {
			rows = append(rows, f.Theme.Strong.Of(plain.Truncate(l.head, b.innerW())))
			continue
		}
		r := p.rows[l.row]
		item := listItem{Title: r.Title, Note: r.Note, Marks: l.marks, Selected: i == p.list.at, Dim: r.Off != ""}
		if r.Off != "" {
			item.Note = r.Off
		}
		rows = append(rows, item.draw(b.innerW(), p.column, f.Theme))
	}
	return b.draw(p.Title, p.foot(f), rows, f.Theme)
}

// nothing is said where no row is shown.
func (p *Picker) nothing() string {
	switch {
	case p.err != nil:
		return oneLine(p.err.Error())
	case p.wait:
		return "looking"
	case len(p.rows) == 0:
		return p.Empty
	}
	return "nothing matches " + fmt.Sprintf("%q", p.filter.String())
}

// foot says how many rows there are, and what keys do; or why the chosen one can't be chosen.
func (p *Picker) foot(f Frame) string {
	does := "choose"
	if r, ok := p.chosen(); ok && r.Off != "" {
		return r.Off
	} else if ok && r.Does != "" {
		does = r.Does
	}
	count := fmt.Sprintf("%d", p.given)
	if p.found != p.given {
		count = fmt.Sprintf("%d of %d", p.found, p.given)
	}
	keys := []string{count, f.Keys.Key(ActChoose) + " " + does, f.Keys.Key(ActClose) + " close"}
	if p.Mark != nil {
		keys = append(keys, f.Keys.Key(ActFavourite)+" favourite")
	}
	for room := p.box(f).w - 6; len(keys) > 1 && plain.Width(strings.Join(keys, " · ")) > room; {
		keys = keys[:len(keys)-1]
	}
	return strings.Join(keys, " · ")
}

// Cursor is in the filter.
func (p *Picker) Cursor(f Frame) (x, y int) {
	b := p.box(f)
	_, cx := p.filter.view(pickLabel, p.Hint, b.innerW(), f.Theme)
	return b.x + 2 + cx, b.y + 1
}
