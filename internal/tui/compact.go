package tui

import (
	tea "charm.land/bubbletea/v2"

	"varve/internal/harness/drive"
)

// compact asks for a compaction (CMP-9).
func (r *Root) compact(focus string) tea.Cmd {
	r.chat.tr.end()
	return r.submit(drive.Compact{Focus: []byte(focus)})
}
