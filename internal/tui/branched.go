package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"varve/internal/session"
)

type branchedMsg struct {
	epoch int
	more  bool // the session has more than one branch
	gaps  []Gap
}

// branched asks whether the session has more than one branch: then the one on
// the screen is named; and for the places that can't be read.
func (r *Root) branched() tea.Cmd {
	epoch := r.epoch
	return func() tea.Msg { return branchedMsg{epoch, r.agent.Branched(r.ctx), r.agent.Gaps(r.ctx)} }
}

// asksBranched reports an event at which it is asked how many branches there are:
// of another branch nothing is followed here.
func asksBranched(e session.Entry) bool {
	switch e.Event.(type) {
	case session.BranchCreated, session.UserSaid, session.TurnEnded:
		return true
	}
	return false
}

// knows takes what is known of the session. Places that can't be read are marked
// where they are, so the conversation is read anew for them.
func (r *Root) knows(m branchedMsg) tea.Cmd {
	if m.epoch != r.epoch {
		return nil
	}
	if slices.Equal(r.chat.tr.gaps, m.gaps) {
		r.forks = m.more
		return nil
	}
	cmd := r.anew(r.id)
	r.chat.tr.gaps, r.forks = m.gaps, m.more
	return cmd
}
