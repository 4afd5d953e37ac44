package tui

import (
	tea "charm.land/bubbletea/v2"

	"varve/internal/harness/drive"
	"varve/internal/words"
)

// compact asks for a compaction (CMP-9).
func (r *Root) compact(focus string) tea.Cmd {
	r.chat.tr.end()
	return r.submit(drive.Compact{Focus: []byte(focus)})
}

// fillsUp says once that the window is nearly full and stays so, each time that
// it comes to be (CMP-3). It is said on this screen only.
func (r *Root) fillsUp() {
	percent := drive.Unattended(r.state)
	if percent > 0 && !r.full {
		r.say("warning", words.Unattended(percent))
	}
	r.full = percent > 0
}
