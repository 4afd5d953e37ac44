package tui

// sidesWidth is the least width at which a change is drawn side by side.
const sidesWidth = 120

// oneColumn is the value of appearance.diff with which no change is drawn side by side.
const oneColumn = "unified"

func diffWord(v string) string {
	if v == oneColumn {
		return "one column"
	}
	return "side by side where there is room"
}

// beside draws changes side by side where there is room, or in one column. Only
// rows with a change are drawn anew.
func (t *transcript) beside(on bool) {
	t.redraw(func() {
		t.look.sides = on
		for _, r := range t.rows {
			if r.kind == rowCall && changesFiles(r.name) {
				r.forget()
			}
		}
	})
}

// sides changes between the two, until the setting is changed or another session
// is opened.
func (d *reader) sides() {
	t := d.tr
	if d.r.frame.W < sidesWidth {
		d.note = "side by side needs a window of 120 columns"
		return
	}
	t.beside(!t.look.sides)
	d.note = "changes are in one column"
	if t.look.sides {
		d.note = "changes are side by side"
	}
}
