package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"varve/internal/harness/drive"
	"varve/internal/session"
	"varve/internal/tui/plain"
	"varve/internal/words"
)

// The tree of a session's branches (BRW-2): to look at, to go to one, to delete
// one.

const filesStay = "Files stay as they are."

type (
	branchMsg   struct{ name string } // go there
	askGoneMsg  struct{ name string } // ask whether it is to be deleted
	goneMsg     struct{ name string } // delete it
	deletedMsg  struct{ name string } // it is
	branchedMsg struct {
		epoch int
		more  bool // the session has more than one branch
		gaps  []Gap
	}
)

func (r *Root) tree() tea.Cmd {
	p := waitingPicker(treePicker, "Branches of this session", "type to filter", func(row PickRow) tea.Msg { return branchMsg{row.Key} })
	p.Says, p.Remove, p.Removes = "Enter goes there. "+filesStay, r.removeLimb, "deletes a branch"
	r.open(p)
	return func() tea.Msg {
		limbs, err := r.agent.Limbs(r.ctx)
		return PickRowsMsg{Name: treePicker, Rows: treeRows(limbs), Err: err}
	}
}

// firstWords is how many columns of a branch's first message stand for its title.
const firstWords = 32

// treeRows are the branches below those that they come from, each with its
// reverts.
func treeRows(limbs []Limb) []PickRow {
	var rows []PickRow
	there := func(name string) bool {
		return slices.ContainsFunc(limbs, func(l Limb) bool { return l.Name == name })
	}
	var below func(parent, indent string)
	below = func(parent, indent string) {
		for _, l := range limbs {
			if l.Parent != parent && (parent != "" || there(l.Parent)) {
				continue
			}
			rows = append(rows, l.row(indent))
			for _, v := range l.Reverts {
				says := "/rollback " + v.Label + " in " + l.Name
				if v.Taken {
					says = "taken back; " + says
				}
				rows = append(rows, PickRow{Title: indent + "  " + v.Label + "  " + v.Preview, Note: v.Age, Off: says, Value: v})
			}
			below(l.Name, indent+"  ")
		}
	}
	below("", "")
	return rows
}

func (l Limb) row(indent string) PickRow {
	row := PickRow{Title: indent + l.Name, Note: words.Count(l.Messages, "message"), Also: l.First, Key: l.Name, Value: l}
	switch {
	case l.Title != "":
		row.Title += "  " + l.Title
	case l.First != "":
		row.Title += "  “" + plain.Truncate(oneLine(l.First), firstWords) + "”"
	}
	switch {
	case l.Here:
		row.Note += " · here"
	case l.Deleted:
		row.Off = "deleted"
	}
	return row
}

// removeLimb asks before a branch is deleted, or says why it can't be.
func (r *Root) removeLimb(row PickRow) (tea.Msg, string) {
	l, ok := row.Value.(Limb)
	switch {
	case !ok:
		return nil, "A revert is no branch: " + row.Off
	case l.Deleted:
		return nil, l.Name + " is deleted already."
	case l.Here:
		return nil, l.Name + " is on the screen: go to another branch first, to delete it."
	}
	return askGoneMsg{l.Name}, ""
}

// askDelete asks whether a branch is to go.
func (r *Root) askDelete(name string) {
	r.open(NewConfirm("Delete a branch", "Delete "+name+"? It can't be gone to any more. What was written in it stays in the session's file, and so do branches that came from it. "+filesStay,
		Choice{Label: "Keep it", Key: "n"}, Choice{Label: "Delete it", Key: "y", Msg: goneMsg{name}}))
}

func (r *Root) deleteBranch(name string) tea.Cmd {
	return func() tea.Msg {
		if _, err := r.agent.Operate(r.ctx, drive.Delete{Branch: name}); err != nil {
			return saidMsg{"error", name + " was not deleted: " + r.faultWords(err)}
		}
		return deletedMsg{name}
	}
}

func (r *Root) goTo(branch string) tea.Cmd {
	if branch == r.state.Branch.Name {
		return nil
	}
	if !r.idleOnly() {
		return nil
	}
	return func() tea.Msg {
		id, err := r.agent.Branch(r.ctx, branch)
		return wentMsg{id, "This is " + branch + ". " + filesStay, err}
	}
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
