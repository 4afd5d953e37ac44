package tui

import (
	"strings"

	"varve/internal/tui/plain"
)

// under is the line at y of the last view.
func (t *transcript) under(y int) (line, bool) {
	if y < 0 || y >= len(t.shown) {
		return line{}, false
	}
	return t.shown[y], true
}

// rowAt is the row at line y of the last view, nil for none. Its item and kind
// say what can be done with it.
func (t *transcript) rowAt(y int) *row {
	l, _ := t.under(y)
	return l.row
}

// click folds or unfolds the row at line y of the last view. What is above it
// stays where it is.
func (t *transcript) click(y int) bool {
	r := t.rowAt(y)
	if r == nil || !r.folds() {
		return false
	}
	t.toggle(r)
	return true
}

// toggle folds or unfolds a row. Where everything is in full it is folded alone.
// What is above it stays where it is.
func (t *transcript) toggle(r *row) {
	if t.all {
		r.shut = !r.shut
	} else {
		r.open = !r.open
	}
	r.forget()
	if len(t.shown) == 0 {
		return
	}
	first := t.shown[0]
	t.anchor = anchor{row: first.row, line: first.n, fixed: true}
	if first.row == r {
		t.anchor.line = 0 // a row that begins above the view is shown from its head
	}
}

// textAt is the text of the row at line y as it was written: without borders,
// breaks and blanks of the screen (case TUI-08).
func (t *transcript) textAt(y int) string {
	if r := t.rowAt(y); r != nil {
		return r.source()
	}
	return ""
}

// source is what copying the row gives.
func (r *row) source() string {
	switch {
	case r.kind == rowCall && r.out.text != "":
		return strings.TrimRight(r.out.text, "\n")
	case r.kind == rowCall:
		return r.subject()
	case r.kind == rowLive && r.doc != nil:
		return strings.TrimRight(plain.CleanTabs(string(r.pulse.Text), 0), "\n")
	case r.src.text != "":
		return strings.TrimRight(r.src.text, "\n")
	}
	return r.head
}

// codeAt is the code block at line y, without its fence.
func (t *transcript) codeAt(y int) (code string, ok bool) {
	l, ok := t.under(y)
	if !ok || l.row.kind != rowAssistant && l.row.kind != rowLive || l.row.doc == nil {
		return "", false
	}
	lines := l.row.doc.Lines(max(t.width, narrow))
	if l.n >= len(lines) || lines[l.n].Block < 0 {
		return "", false
	}
	code, _, ok = l.row.doc.Code(lines[l.n].Block)
	return strings.TrimRight(code, "\n"), ok
}

// answer is the text of the last answer, as it was written.
func (t *transcript) answer() string {
	for i := len(t.rows) - 1; i >= 0; i-- {
		if t.rows[i].kind == rowAssistant {
			return t.rows[i].source()
		}
	}
	return ""
}

// lastCode is the code blocks of the last answer that has some.
func (t *transcript) lastCode() (blocks []string) {
	for i := len(t.rows) - 1; i >= 0 && len(blocks) == 0; i-- {
		r := t.rows[i]
		if r.kind != rowAssistant || !strings.Contains(r.src.text, "```") {
			continue
		}
		doc := r.document(t.look)
		lines := doc.Lines(max(t.width, narrow))
		for j, x := range lines {
			if x.Block < 0 || j > 0 && lines[j-1].Block == x.Block {
				continue
			}
			if code, _, ok := doc.Code(x.Block); ok {
				blocks = append(blocks, strings.TrimRight(code, "\n"))
			}
		}
	}
	return blocks
}

// blockAt is the number of the code block at line y, for codeAt.
func (t *transcript) blockAt(y int) int {
	l, _ := t.under(y)
	return l.row.doc.Lines(max(t.width, narrow))[l.n].Block
}
