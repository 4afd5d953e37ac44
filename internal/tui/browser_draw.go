package tui

import (
	"fmt"
	"strings"

	"varve/internal/tui/plain"
	"varve/internal/words"
)

// How the browser is drawn. Only rows in view are.

const (
	browseWide  = 100 // columns from which the preview stands beside the list
	browseTall  = 18  // rows from which it stands below it
	browseTitle = 26  // columns that a title keeps
)

// A layout is where things of the browser are in a window.
type layout struct {
	box          box
	said         []string // rows of the notice, or of what there is to say
	head         bool     // columns have their names
	listY, listH int      // in the window
	listW        int
	pane         bool
	paneX, paneY int
	paneW, paneH int
	detail       bool
	foot         [][]footKey
	footY        int
	keys         Keymap
}

func (b *browser) layout(f Frame) layout {
	l := layout{box: boxFor(f, f.W, f.H), keys: f.Keys}
	w, h := l.box.innerW(), l.box.innerH()
	wide := f.W >= browseWide
	l.pane = (b.preview == 1 || b.preview == 0 && wide) && len(b.lines) > 0
	l.foot = b.foot(f, w, h, l.pane)
	says, whole := b.says()
	l.said = []string{plain.Truncate(says, w)}
	if whole {
		l.said = plain.Wrap(says, w)
		l.said = l.said[:min(len(l.said), max(h/3, 1))]
	}
	l.detail = h >= 9
	l.head = h >= 14 && b.tree == nil && len(b.lines) > 0
	l.listY = l.box.y + 1 + 1 + len(l.said)
	left := h - 1 - len(l.said) - len(l.foot)
	if l.detail {
		left--
	}
	if l.head {
		l.listY++
		left--
	}
	l.listW, l.listH = w, max(left, 1)
	l.footY = l.box.y + l.box.h - 1 - len(l.foot)
	switch {
	case !l.pane:
	case wide:
		l.paneW = w / 3
		l.listW = w - l.paneW - 3
		l.paneX, l.paneY, l.paneH = l.box.x+2+l.listW+3, l.listY, l.listH
	case h >= browseTall:
		l.paneH = l.listH / 2
		l.listH -= l.paneH + 1
		l.paneX, l.paneY, l.paneW = l.box.x+2, l.listY+l.listH+1, w
	default: // in the place of the list, but for the chosen row
		l.paneH = l.listH - 1
		l.listH = 1
		l.paneX, l.paneY, l.paneW = l.box.x+2, l.listY+1, w
	}
	return l
}

func (l layout) inPane(x, y int) bool {
	return l.pane && x >= l.paneX && x < l.paneX+l.paneW && y >= l.paneY && y < l.paneY+l.paneH
}

// foot lays the keys into rows: as many as they need where there is room, else
// one, of which a key shows the next part. There are as many for each row of the
// tree, so that nothing jumps.
func (b *browser) foot(f Frame, w, h int, pane bool) [][]footKey {
	most := 1
	switch {
	case h >= 20:
		most = 4
	case h >= 18:
		most = 3
	}
	kinds := []lineKind{sessionRow}
	if b.tree != nil {
		kinds = []lineKind{limbRow, messageRow, checkpointRow, revertRow, takenRow}
	}
	now := kinds[0]
	if l, ok := b.chosen(); ok {
		now = l.kind()
	}
	lay := func(kind lineKind, w int) (rows [][]footKey) {
		used := 0
		for _, k := range b.footKeys(kind, pane) {
			key := f.Keys.Key(k.act)
			if key == "" {
				continue
			}
			n := plain.Width(key) + 1 + plain.Width(k.says) + 3
			if len(rows) == 0 || used+n-3 > w {
				rows, used = append(rows, nil), 0
			}
			rows[len(rows)-1] = append(rows[len(rows)-1], k)
			used += n
		}
		return rows
	}
	rows := lay(now, w)
	high := len(rows)
	for _, kind := range kinds {
		if kind != now {
			high = max(high, len(lay(kind, w)))
		}
	}
	if high <= most {
		for len(rows) < high {
			rows = append(rows, nil)
		}
		return rows
	}
	more := footKey{ActBrowseKeys, "more"}
	rows = lay(now, w-plain.Width(f.Keys.Key(more.act)+" "+more.says)-3)
	return [][]footKey{append(rows[b.page%len(rows)], more)}
}

// keyAt is the key of the foot at a place of the window, "" for none.
func (l layout) keyAt(x, y int) Action {
	i := y - l.footY
	if i < 0 || i >= len(l.foot) {
		return ""
	}
	at := l.box.x + 2
	for _, k := range l.foot[i] {
		n := plain.Width(l.keys.Key(k.act) + " " + k.says)
		if x >= at && x < at+n {
			return k.act
		}
		at += n + 3
	}
	return ""
}

// View draws the browser.
func (b *browser) View(f Frame) string {
	l, th := b.layout(f), f.Theme
	w := l.box.innerW()
	field, _ := b.filter.view(pickLabel, b.hint(w), w, th)
	rows := []string{field}
	st := th.style(map[string]string{"error": inkError, "warning": inkWarn, "success": inkOK}[b.notice.level])
	if b.notice.text == "" {
		st = th.Dim
	}
	for _, s := range l.said {
		rows = append(rows, st.Of(s))
	}
	cols := b.columns(l.listW)
	if l.head {
		rows = append(rows, th.Dim.Of(cols.head(l.listW)))
	}
	list := b.listRows(l, cols, th)
	pane := b.paneRows(l, th)
	switch {
	case !l.pane:
		rows = append(rows, list...)
	case l.listW < w:
		for i, s := range list {
			rows = append(rows, fitLine(s, l.listW)+th.Border.Of(" │ ")+pane[i])
		}
	default:
		rows = append(rows, list...)
		if l.paneY > l.listY+l.listH {
			rows = append(rows, th.Border.Of(strings.Repeat("─", w)))
		}
		rows = append(rows, pane...)
	}
	if l.detail {
		rows = append(rows, th.Dim.Of(plain.Truncate(b.detail(), w)))
	}
	for _, keys := range l.foot {
		var parts []string
		for _, k := range keys {
			parts = append(parts, f.Keys.Key(k.act)+" "+k.says)
		}
		rows = append(rows, th.Dim.Of(plain.Truncate(strings.Join(parts, " · "), w)))
	}
	return l.box.draw(b.title(), b.count(), rows, th)
}

// Cursor is in the filter.
func (b *browser) Cursor(f Frame) (x, y int) {
	bx := boxFor(f, f.W, f.H)
	_, cx := b.filter.view(pickLabel, b.hint(bx.innerW()), bx.innerW(), f.Theme)
	return bx.x + 2 + cx, bx.y + 1
}

func (b *browser) title() string {
	if b.tree == nil {
		return "Sessions"
	}
	if b.tree.tree.Title == "" {
		return "Sessions · branches of one"
	}
	return "Sessions · branches of “" + b.tree.tree.Title + "”"
}

// count is how many rows there are.
func (b *browser) count() string {
	one := "session"
	if b.tree != nil {
		one = "branch"
	}
	n := words.Count(b.scoped, one)
	if one == "branch" && b.scoped != 1 {
		n = fmt.Sprintf("%d branches", b.scoped)
	}
	if b.shown != b.scoped {
		n = fmt.Sprintf("%d of %s", b.shown, n)
	}
	if b.tree == nil && b.waiting > 0 && !b.whole {
		n += fmt.Sprintf(" · %d large still to be read", b.waiting)
	}
	return n
}

// mark is what a screen without colour has of the level.
func (n browserNotice) mark() string {
	switch n.level {
	case "error":
		return "✗ "
	case "warning":
		return "! "
	case "success":
		return "✓ "
	}
	return ""
}

func (b *browser) hint(width int) string {
	switch {
	case b.tree != nil:
		return "type to filter"
	case width < overlayNarrow:
		return "type to find; messages too"
	}
	return "type to find titles, folders, messages (from 3 letters)"
}

// says is what stands below the filter: what became of what was asked for, or
// what is shown. The former is to be read whole.
func (b *browser) says() (s string, whole bool) {
	switch {
	case b.notice.text != "":
		return b.notice.mark() + oneLine(b.notice.text), true
	case b.tree != nil && b.tree.reads && b.tree.lines == nil:
		return "reading the session …", false
	case b.tree != nil && b.tree.tree.Damage != "":
		return "damaged: " + oneLine(b.tree.tree.Damage) + "; what is shown is the rest", true
	case b.tree != nil:
		return "its branches, and what is in them", false
	case b.err != nil && len(b.lines) == 0:
		return "the sessions can't be listed", false
	case b.err != nil:
		return oneLine(b.err.Error()), true
	}
	where := "this folder"
	if b.all {
		where = "all folders"
	}
	where += ", " + sortNames[b.sort]
	switch {
	case b.said.waits:
		return where + "; looking in messages …", false
	case b.said.err != nil:
		return "messages could not be searched: " + oneLine(b.said.err.Error()), true
	case b.said.note != "":
		return oneLine(b.said.note), true
	case b.elsewhere > 0:
		return where + fmt.Sprintf("; said in %s of other folders too", words.Count(b.elsewhere, "session")), true
	}
	return where, false
}

// nothing is said where no row is shown.
func (b *browser) nothing(k Keymap) string {
	typed := fmt.Sprintf("%q", b.filter.String())
	switch {
	case b.tree != nil && b.tree.err != nil:
		return "The session can't be read: " + oneLine(b.tree.err.Error())
	case b.tree != nil && b.tree.reads:
		return "reading"
	case b.tree != nil && b.scoped == 0:
		return "Nothing was said in this session yet: it has no branch."
	case b.tree != nil:
		return "nothing matches " + typed
	case b.err != nil:
		return oneLine(b.err.Error())
	case b.shelf == nil, b.scoped == 0 && !b.whole:
		return "looking for sessions"
	case b.scoped == 0 && len(b.shelf.all) > 0:
		return "There is no session in this folder yet; " + k.Key(ActBrowseFolders) + " shows " + words.Count(len(b.shelf.all), "session") + " of others."
	case b.scoped == 0:
		return "There is no session yet: the first message begins one."
	case b.said.waits:
		return "no title or folder has " + typed
	case b.said.text == "":
		return "nothing matches " + typed + " in titles and folders"
	case b.said.err != nil:
		return "nothing matches " + typed + " in titles and folders; messages could not be searched"
	}
	says := "nothing matches " + typed + " in titles, folders or messages"
	if !b.all {
		says += " of this folder; " + k.Key(ActBrowseFolders) + " looks in all folders"
	}
	return says + ". In the shell `agent session search` lists the messages themselves."
}

// fit makes rows exactly n.
func fit(rows []string, n int) []string {
	rows = rows[:min(len(rows), max(n, 0))]
	for len(rows) < n {
		rows = append(rows, "")
	}
	return rows
}

func (b *browser) listRows(l layout, cols columns, th Theme) []string {
	var rows []string
	if len(b.lines) == 0 {
		for _, s := range plain.Wrap(b.nothing(l.keys), l.listW) {
			rows = append(rows, th.Dim.Of(s))
		}
		return fit(rows, l.listH)
	}
	from, to := b.list.Window(l.listH)
	for i := from; i < to; i++ {
		rows = append(rows, b.row(i, l.listW, cols, th))
	}
	return fit(rows, l.listH)
}

var _ cursored = (*browser)(nil)
