package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// A reader is the transcript as a screen of its own (TUI-3): everything in full,
// each item folds alone, letters are keys, and there is no border that the
// terminal's own selection would take along (TUI-9). It lies below every other
// overlay and covers the conversation. Where it is left is where the conversation
// is afterwards.
type reader struct {
	r     *Root
	tr    *transcript // that is shown
	item  *row        // the chosen one, nil for none
	mark  *row        // where what is to be copied begins
	find  *find
	ask   *field // a search that is being written
	note  string // until the next key
	code  code
	room  int // lines of the transcript in the last frame
	ahead map[*row]inRow
}

// inRow are the places of a search in a row, for the lines that they were found in.
type inRow struct {
	first *string
	n     int
	at    [][]span
}

// A code is the code block that was copied last.
type code struct {
	row   *row
	block int
}

// read opens the transcript.
func (r *Root) read() {
	if r.reader() != nil {
		return
	}
	r.overlays = append([]overlay{&reader{r: r}}, r.overlays...)
	r.reader().takes()
}

// reader is the transcript where it is open.
func (r *Root) reader() *reader {
	if len(r.overlays) > 0 {
		if d, ok := r.overlays[0].(*reader); ok {
			return d
		}
	}
	return nil
}

// base draws what lies below everything.
func (r *Root) base() (lines []string, x, y int, cursor bool) {
	if d := r.reader(); d != nil {
		return d.draw(r.frame)
	}
	return r.chat.view(r)
}

// floating are the overlays that lie on it.
func (r *Root) floating() []overlay {
	if r.reader() != nil {
		return r.overlays[1:]
	}
	return r.overlays
}

// takes shows the transcript in full that is the conversation's by now.
func (d *reader) takes() {
	t := d.r.chat.tr
	if d.tr == t {
		return
	}
	d.tr, d.item, d.mark, d.find, d.ahead = t, nil, nil, nil, nil
	t.pinned = true
	if !t.all {
		t.unfold()
	}
}

func (d *reader) close() {
	t := d.tr
	t.pinned, t.older, t.sought, t.homing = false, false, nil, false
	for _, r := range t.rows {
		if r.shut {
			r.shut = false
			r.forget()
		}
	}
	if t.all {
		t.unfold()
	}
}

// Update takes keys, mouse and paste.
func (d *reader) Update(msg tea.Msg, f Frame) (overlay, tea.Cmd) {
	d.takes()
	switch m := msg.(type) {
	case tea.PasteMsg:
		if d.ask != nil {
			d.ask.write(m.Content)
		}
	case tea.MouseWheelMsg:
		d.tr.scroll(wheel(m))
	case tea.MouseClickMsg:
		if m.Button == tea.MouseLeft && m.Y < d.room {
			return d, d.click(m.X, m.Y)
		}
	case tea.KeyPressMsg:
		d.note, d.tr.homing = "", false
		if d.ask != nil {
			d.askKey(m, f)
			return d, nil
		}
		act, _ := f.Keys.Action(m, InRead)
		if act == ActReadClose || act == ActExpand {
			d.close()
			return nil, nil
		}
		return d, d.do(act)
	}
	return d, nil
}

func (d *reader) do(act Action) tea.Cmd {
	t := d.tr
	if act != ActReadCode {
		d.code = code{}
	}
	switch act {
	case ActReadUp:
		t.scroll(-1)
	case ActReadDown:
		t.scroll(1)
	case ActReadPageUp:
		t.page(-1)
	case ActReadPageDn:
		t.page(1)
	case ActReadFirst:
		t.home()
	case ActReadLast:
		t.end()
	case ActReadNextItem:
		d.move(1)
	case ActReadPrevItem:
		d.move(-1)
	case ActReadFold:
		if r := d.chosen(); r != nil && r.folds() {
			d.item = r
			t.toggle(r)
		}
	case ActReadFind:
		d.ask = new(field)
		*d.ask = newField("")
	case ActReadOlder, ActReadNewer:
		d.again(act)
	case ActReadMark:
		if d.mark != nil {
			d.mark = nil
		} else if d.mark = d.chosen(); d.mark != nil {
			d.item, d.note = d.mark, "marked: choose where it ends, then "+d.r.frame.Keys.Key(ActReadCopy)+" copies all of it"
		}
	case ActReadCopy:
		return d.copy()
	case ActReadCode:
		return d.copyCode()
	case ActReadSides:
		d.sides()
	case ActReadMouse:
		d.r.looks.Mouse = !d.r.looks.Mouse
		d.note = "the mouse is the terminal's: it selects text as it does elsewhere"
		if d.r.looks.Mouse {
			d.note = "the mouse is the program's: it folds, scrolls and chooses"
		}
	case ActReadHelp:
		return answer(PaletteMsg{Action: ActHelp})
	}
	return nil
}

// again goes to the next match.
func (d *reader) again(act Action) {
	switch {
	case d.find == nil:
		d.note = d.r.frame.Keys.Key(ActReadFind) + " searches first"
	case act == ActReadOlder:
		d.find.goTo(-1, d.tr)
		d.goes()
	default:
		d.find.goTo(1, d.tr)
		d.goes()
	}
}

// goes lets a search go on for a moment, and chooses the item that it has come to:
// the next key is for that one.
func (d *reader) goes() {
	d.find.step(d.tr)
	if f := d.find; f.toward == 0 && !f.first && f.row != nil {
		d.item = f.row
	}
}

// askKey is a key while a search is written.
func (d *reader) askKey(k tea.KeyPressMsg, f Frame) {
	switch act, _ := f.Keys.Action(k, InList); act {
	case ActClose:
		d.ask = nil
	case ActChoose:
		text := strings.TrimSpace(d.ask.String())
		d.ask, d.ahead, d.tr.older, d.tr.sought = nil, nil, false, nil
		if d.find = nil; text != "" {
			d.find = newFind(text, d.tr)
			d.goes()
		}
	default:
		d.ask.key(k, act)
	}
}

// chosen is the item that keys are for: the chosen one where it is in view, else
// the first that is.
func (d *reader) chosen() *row {
	for _, l := range d.tr.shown {
		if l.row == d.item {
			return d.item
		}
	}
	for _, l := range d.tr.shown {
		if l.n == 0 {
			return l.row
		}
	}
	if len(d.tr.shown) > 0 {
		return d.tr.shown[0].row
	}
	return nil
}

// move chooses the next item, or the one before, and brings its head into view.
func (d *reader) move(by int) {
	t := d.tr
	from := d.chosen()
	if from == nil {
		return
	}
	i := t.index(from)
	if d.item != from && by > 0 {
		i-- // the first in view is the first to be chosen
	}
	for i += by; i >= 0 && i < t.count(); i += by {
		if len(t.lines(i)) > 0 {
			d.item = t.at(i)
			t.reveal(d.item, 0)
			return
		}
	}
}

// click chooses the item under the pointer and folds or unfolds it. A click on an
// address copies it.
func (d *reader) click(x, y int) tea.Cmd {
	if u := d.tr.linkAt(x, y); u != "" {
		return d.r.copied(u)
	}
	if r := d.tr.rowAt(y); r != nil {
		d.item, d.code = r, code{}
		d.tr.click(y)
	}
	return nil
}

// marked are the items that are to be copied, by their places.
func (d *reader) marked() (from, to int) {
	to = d.tr.index(d.chosen())
	if from = d.tr.index(d.mark); from < 0 {
		from = to
	}
	return min(from, to), max(from, to)
}

// copy hands the chosen items to the clipboard, as they were written.
func (d *reader) copy() tea.Cmd {
	from, to := d.marked()
	var texts []string
	for i := max(from, 0); i <= to; i++ {
		if r := d.tr.at(i); !r.hidden && r.source() != "" {
			texts = append(texts, r.source())
		}
	}
	if len(texts) == 0 {
		d.note = "there is no text to copy here"
		return nil
	}
	d.mark = nil
	return d.r.copied(strings.Join(texts, "\n\n"))
}

// copyCode hands a code block in view to the clipboard: the chosen item's first
// one, or the first of all; asked again, the one behind it.
func (d *reader) copyCode() tea.Cmd {
	var all []code
	var texts []string
	for y, l := range d.tr.shown {
		if text, ok := d.tr.codeAt(y); ok {
			if k := (code{l.row, d.tr.blockAt(y)}); !slices.Contains(all, k) {
				all, texts = append(all, k), append(texts, text)
			}
		}
	}
	if len(all) == 0 {
		d.note = "no code block is in view"
		return nil
	}
	i := (slices.Index(all, d.code) + 1) % len(all)
	if own := slices.IndexFunc(all, func(k code) bool { return k.row == d.item }); d.code == (code{}) && own >= 0 {
		i = own
	}
	d.code = all[i]
	if len(all) > 1 {
		d.note = fmt.Sprintf("code block %d of the %d in view", i+1, len(all))
	}
	return d.r.copied(texts[i])
}
