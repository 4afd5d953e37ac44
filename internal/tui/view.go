package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"varve/internal/tui/plain"
)

// The smallest window that is drawn into.
const (
	leastW = 20
	leastH = 6
)

// leastMargin is how many columns of what lies below are shown beside a box.
const leastMargin = 12

// tooSmall reports whether nothing of the conversation can be shown.
func (r *Root) tooSmall() bool { return r.frame.W < leastW || r.frame.H < leastH }

// View lays the overlays over the conversation.
func (r *Root) View() tea.View {
	w, h := r.frame.W, r.frame.H
	v := tea.NewView("")
	v.AltScreen, v.ReportFocus = true, true
	if r.looks.Mouse {
		v.MouseMode = tea.MouseModeCellMotion
	}
	v.WindowTitle, v.ProgressBar = r.title(), r.progress()
	if r.tooSmall() {
		v.Content = plain.Truncate("window too small", max(w, 1))
		return v
	}
	lines, x, y, cursor := r.base()
	content := strings.Join(lines, "\n")
	if floating := r.floating(); len(floating) > 0 {
		cursor = false
		layers := []*lipgloss.Layer{lipgloss.NewLayer(content).Z(0)}
		for i, o := range floating {
			box := o.View(r.frame)
			bx, by := overlayAt(r.frame, box)
			if bx < leastMargin { // a letter or two beside a box are no text
				side := strings.Repeat(" ", bx)
				box, bx = side+strings.ReplaceAll(box, "\n", "\n"+side), 0
				right := strings.Repeat(" ", max(w-plain.Width(firstRow(box)), 0))
				box = strings.ReplaceAll(box, "\n", right+"\n") + right
			}
			layers = append(layers, lipgloss.NewLayer(box).X(bx).Y(by).Z(i+1))
			if c, ok := o.(cursored); ok {
				x, y = c.Cursor(r.frame)
				cursor = true
			} else {
				cursor = false
			}
		}
		content = lipgloss.NewCanvas(w, h).Compose(lipgloss.NewCompositor(layers...)).Render()
	}
	v.Content = content
	if cursor && x >= 0 && y >= 0 && y < h {
		v.Cursor = tea.NewCursor(min(x, w-1), y)
	}
	return v
}

func firstRow(s string) string {
	first, _, _ := strings.Cut(s, "\n")
	return first
}
