package tui

import (
	"cmp"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"varve/internal/harness/drive"
	"varve/internal/session"
	"varve/internal/tui/plain"
)

// What the browser does to sessions (BRW-3): each is one key, and what comes of it
// is said in the browser.

// A picked row is the branch that is acted on, and the place in it.
type picked struct {
	id, branch string
	title      string
	lead       bool // it stands for its session: its title is the session's
	alone      bool // no other branch is left in the file
	shown      bool // it is on the screen
	same       bool // its session is
	limb       *Limb
	mark       *Mark
	revert     *Revert
}

// pick is the chosen row.
func (b *browser) pick() (picked, bool) {
	l, ok := b.chosen()
	switch {
	case !ok:
		return picked{}, false
	case l.limb != nil:
		p := picked{id: b.tree.tree.Session, branch: l.limb.Name, title: oneLine(cmp.Or(l.limb.Title, l.limb.First, l.limb.Name)), shown: l.limb.Here, limb: l.limb, mark: l.mark, revert: l.revert}
		left := 0
		for _, x := range b.tree.tree.Limbs {
			p.same = p.same || x.Here
			if !x.Deleted {
				left++
			}
		}
		p.alone = left == 1 && !l.limb.Deleted
		return p, true
	}
	s := b.shelf.all[l.session]
	br := branchOf(s, l.branch)
	return picked{
		id: s.ID, branch: br.Name, title: oneLine(br.Title), lead: l.branch == 0, alone: len(s.Branches) == 1, shown: br.Shown, same: s.Shown,
	}, true
}

// openChosen closes the browser and goes to the chosen branch.
func (b *browser) openChosen() (overlay, tea.Cmd) {
	p, ok := b.pick()
	switch {
	case !ok:
		return b, nil
	case p.limb != nil && p.limb.Deleted:
		b.notice = browserNotice{"warning", p.branch + " is deleted: it can't be gone to. A branch that came from it can."}
		return b, nil
	}
	b.close()
	return nil, answer(goMsg{p})
}

type (
	goMsg     struct{ picked }
	leaveToOK struct{ picked } // though a turn is interrupted by it
)

func (m goMsg) on(r *Root) tea.Cmd {
	switch {
	case m.shown:
		return nil
	case r.atWork():
		r.askToLeave("Going to another session or branch", leaveToOK(m))
		return nil
	}
	return leaveToOK(m).on(r)
}

func (m leaveToOK) on(r *Root) tea.Cmd {
	return func() tea.Msg {
		id, err := r.agent.OpenAt(r.ctx, m.id, m.branch)
		if m.same {
			return wentMsg{id, "This is " + m.branch + ". " + filesStay, err}
		}
		return switchedMsg{id, err}
	}
}

// An overMsg lies something on a browser, if that is still there.
type overMsg struct {
	b    *browser
	o    overlay
	then tea.Cmd
}

func (m overMsg) on(r *Root) tea.Cmd {
	if !r.shown(m.b) {
		return nil
	}
	r.open(m.o)
	return m.then
}

func (b *browser) over(o overlay, then tea.Cmd) tea.Cmd { return answer(overMsg{b, o, then}) }

// act does to the chosen row what a key says, or says why it can't be done.
func (b *browser) act(act Action) tea.Cmd {
	p, ok := b.pick()
	deleted := ok && p.limb != nil && p.limb.Deleted
	switch {
	case !ok:
		b.notice = browserNotice{"warning", "No row is chosen."}
		return nil
	case deleted:
		b.notice = browserNotice{"warning", p.branch + " is deleted: nothing more can be done to it."}
		return nil
	case p.branch == "":
		b.notice = browserNotice{"warning", "Its branches are not known yet: it is damaged, or still being read. Enter opens it."}
		return nil
	}
	switch act {
	case ActBrowseFork:
		return answer(p.fork())
	case ActBrowseRevert:
		return b.revert(p)
	case ActBrowseRollback:
		return b.rollback(p)
	case ActBrowseRename:
		return b.rename(p)
	case ActBrowseExport:
		name := strings.Map(func(r rune) rune {
			if strings.ContainsRune(`/\:*?"<>|`, r) || r < ' ' {
				return -1
			}
			return r
		}, plain.Truncate(oneLine(p.title), 40))
		box := newAsk("Export "+p.branch, "To which file? Its name ends in .md, .html or .jsonl (which can be imported). It is made in the workspace, if no folder is named.", false,
			func(s string) tea.Msg { return exportMsg{p, s} })
		box.field.write(cmp.Or(strings.Trim(name, " .…"), p.branch) + ".md")
		return b.over(box, nil)
	case ActBrowseDelete:
		return b.delete(p)
	}
	return nil
}

// fork is at the chosen place: before a message, else behind it.
func (p picked) fork() operateMsg {
	m := operateMsg{in: &p}
	from := session.Reference{Branch: p.branch, Select: "head"}
	switch {
	case p.revert != nil:
		from.Seq = p.revert.Left
	case p.mark != nil && p.mark.Checkpoint:
		from.Seq = p.mark.Seq
	case p.mark != nil:
		from.Seq, from.Select, m.what = p.mark.Seq, "before", p.mark.Text
	}
	m.op = drive.Fork{From: from}
	return m
}

func (p picked) revertTo(t Turn) operateMsg {
	return operateMsg{drive.Revert{Branch: p.branch, Message: t.Item, Preview: []byte(oneLine(t.Text))}, t.Text, &p}
}

// revert goes to before the chosen message, or asks which.
func (b *browser) revert(p picked) tea.Cmd {
	if p.mark != nil && !p.mark.Checkpoint {
		return answer(p.revertTo(Turn{Item: p.mark.Seq, Text: p.mark.Text}))
	}
	box := waitingPicker(turnsPicker, "Revert "+p.branch+": go back to before…", "type to filter", func(row PickRow) tea.Msg { return p.revertTo(row.Value.(Turn)) })
	box.Empty = "there is no message to go back to"
	return b.over(box, b.treeOf(p, box, func(t Tree) (rows []PickRow) {
		for _, x := range turnsOf(t.Limbs, p.branch) {
			rows = append(rows, PickRow{Title: x.Text, Note: x.Age, Value: x})
		}
		return rows
	}))
}

// rollback takes the chosen revert back, or asks which.
func (b *browser) rollback(p picked) tea.Cmd {
	if p.revert != nil {
		return answer(operateMsg{op: drive.RollBack{Branch: p.branch, Label: p.revert.Label}, in: &p})
	}
	box := waitingPicker(revertsPicker, "Rollback in "+p.branch+": take a revert back, or a restore of files", "type to filter", func(row PickRow) tea.Msg { return row.Value })
	box.Empty = "nothing was reverted or restored here"
	return b.over(box, b.treeOf(p, box, func(t Tree) []PickRow {
		return rollbackRows(p.branch, t.Limbs, t.Restores, func(op drive.Operation, what string) tea.Msg { return operateMsg{op, what, &p} })
	}))
}

// treeOf reads the tree of a row for a picker.
func (b *browser) treeOf(p picked, to *Picker, rows func(Tree) []PickRow) tea.Cmd {
	ctx, agent := b.ctx, b.agent
	return func() tea.Msg {
		t, err := agent.Tree(ctx, p.id)
		return PickRowsMsg{Name: to.Name, To: to, Rows: rows(t), Err: err}
	}
}

// rollbackRows are the reverts of a branch and the restores of files, those first
// that were not taken back.
func rollbackRows(branch string, limbs []Limb, restores []Restore, back func(drive.Operation, string) tea.Msg) (rows []PickRow) {
	var taken []PickRow
	for _, l := range limbs {
		for _, v := range slices.Backward(l.Reverts) {
			if l.Name != branch {
				continue
			}
			row := PickRow{Title: v.Label + "  " + v.Preview, Note: v.Age, Value: back(drive.RollBack{Branch: branch, Label: v.Label}, "")}
			switch {
			case v.Back:
				row.Note = "taken back, and nothing was done since"
			case v.Taken:
				row.Note = "taken back, " + row.Note
			}
			if v.Taken || v.Back {
				taken = append(taken, row)
			} else {
				rows = append(rows, row)
			}
		}
	}
	for _, x := range restores {
		row := PickRow{Title: x.title(branch), Note: x.note(), Value: back(FilesBack{branch, x.Plan}, x.When)}
		if x.Back {
			taken = append(taken, row)
		} else {
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 && len(taken) > 0 {
		rows = append(rows, PickRow{Title: "all of it is taken back", Off: "choose one below to go there again"})
	}
	return append(rows, taken...)
}

func (b *browser) rename(p picked) tea.Cmd {
	what := "branch " + p.branch
	if p.lead {
		what = "session"
	}
	box := newAsk("Rename", "A title for the "+what+":", false, func(s string) tea.Msg { return renameMsg{p, s} })
	box.field.write(oneLine(p.title))
	return b.over(box, nil)
}

// delete asks.
func (b *browser) delete(p picked) tea.Cmd {
	switch {
	case p.mark != nil || p.revert != nil:
		b.notice = browserNotice{"warning", "Only a branch can be deleted: choose its row."}
		return nil
	case p.shown:
		b.notice = browserNotice{"warning", p.branch + " is on the screen: go to another branch or session first, to delete it."}
		return nil
	}
	title := "“" + plain.Truncate(p.title, 40) + "”"
	if p.title == "" {
		title = "this session"
	}
	says := "Delete " + p.branch + " of " + title + "? It can't be gone to any more. What was written in it stays in the session's file, and so do branches that came from it. " + filesStay
	choices := []Choice{{Label: "Keep it", Key: "n"}, {Label: "Delete it", Key: "y", Msg: removeMsg{p, false}}}
	if p.alone {
		says = "Delete " + title + "? It is the only branch in its file, so the session leaves the list. " + filesStay
		choices = append(choices, Choice{Label: "Delete it and its file for good", Key: "f", Msg: removeMsg{p, true}})
	}
	return b.over(NewConfirm("Delete a branch", says, choices...), nil)
}
