package tui

// sidesWidth is the least width at which a change is drawn side by side.
const sidesWidth = 120

// sides draws changes side by side, or in one column again. Only rows with a change
// are drawn anew.
func (d *reader) sides() {
	t := d.tr
	if d.r.frame.W < sidesWidth {
		d.note = "side by side needs a window of 120 columns"
		return
	}
	t.redraw(func() {
		t.look.sides = !t.look.sides
		for _, r := range t.rows {
			if r.kind == rowCall && changesFiles(r.name) {
				r.forget()
			}
		}
	})
	d.note = "changes are in one column"
	if t.look.sides {
		d.note = "changes are side by side"
	}
}
