package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"varve/internal/session"
)

// The tree of a session's branches (BRW-2): each below the one that it comes
// from, where it leaves it, with its messages, checkpoints and reverts.

const filesStay = "Files stay as they are."

// firstWords is how many columns of a branch's first message stand for its title.
const firstWords = 32

// treeLines are the rows of a tree.
func treeLines(limbs []Limb) (out []browseLine) {
	there := func(name string) bool {
		return slices.ContainsFunc(limbs, func(l Limb) bool { return l.Name == name })
	}
	type place struct {
		at   session.Seq
		line browseLine
		limb int // a branch that leaves here, -1 for none
	}
	// A row of a branch has the branch's line before it, so that it is seen whose
	// it is behind one that leaves.
	var draw func(i int, before, within string)
	draw = func(i int, before, within string) {
		l := &limbs[i]
		out = append(out, browseLine{indent: before, limb: l, begins: leaves(limbs, l)})
		var all []place
		for j := range l.Marks {
			m := &l.Marks[j]
			all = append(all, place{m.Seq, browseLine{limb: l, mark: m}, -1})
		}
		for j := range l.Reverts {
			v := &l.Reverts[j]
			all = append(all, place{v.At, browseLine{limb: l, revert: v}, -1})
		}
		for j := range limbs {
			if j != i && limbs[j].Parent == l.Name {
				all = append(all, place{limbs[j].From, browseLine{}, j})
			}
		}
		slices.SortStableFunc(all, func(a, b place) int { return cmp.Compare(a.at, b.at) })
		for n, p := range all {
			last := n == len(all)-1
			switch {
			case p.limb >= 0 && last:
				draw(p.limb, within+"└ ", within+"  ")
			case p.limb >= 0:
				draw(p.limb, within+"├ ", within+"│ ")
			default:
				if p.line.indent = within + "│ "; last {
					p.line.indent = within + "└ "
				}
				out = append(out, p.line)
			}
		}
	}
	for i, l := range limbs {
		if l.Parent == "" || !there(l.Parent) {
			draw(i, "", "")
		}
	}
	return out
}

// leaves says where a branch left its parent, "" for one that has none.
func leaves(limbs []Limb, l *Limb) string {
	i := slices.IndexFunc(limbs, func(p Limb) bool { return p.Name == l.Parent })
	if l.Parent == "" || i < 0 {
		return ""
	}
	p := &limbs[i]
	for _, v := range p.Reverts {
		if v.Left == l.From {
			return "begins where " + v.Label + " of " + p.Name + " went back from"
		}
	}
	for _, m := range p.Marks {
		if !m.Checkpoint && m.Seq > l.From {
			return "begins before “" + wholeWords(oneLine(m.Text), firstWords) + "”"
		}
	}
	return "begins at the end of " + p.Name
}

// arrangeTree finds the rows of the tree that hold every word of what is typed.
func (b *browser) arrangeTree() {
	words := strings.Fields(strings.ToLower(b.filter.String()))
	b.scoped, b.shown = 0, 0
	for _, l := range b.tree.lines {
		if l.mark == nil && l.revert == nil {
			b.scoped++
		}
		if len(words) > 0 {
			title, note, _ := l.treeText()
			text := strings.ToLower(title + " " + note)
			if slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }) {
				continue
			}
		}
		if l.mark == nil && l.revert == nil {
			b.shown++
		}
		b.add(l)
	}
}

// treeText is what a row of the tree says; long is the note where there is room.
func (l browseLine) treeText() (title, note, long string) {
	switch {
	case l.revert != nil:
		v := l.revert
		title, note = "↶ revert "+v.Label+"  to before “"+oneLine(v.Preview)+"”", v.Age
		if v.Taken {
			note = "taken back"
		}
	case l.mark != nil && l.mark.Checkpoint:
		title, note = "◆ checkpoint  "+oneLine(l.mark.Text), l.mark.Age
	case l.mark != nil:
		title, note = "· "+oneLine(l.mark.Text), l.mark.Age
	case l.limb != nil:
		title = l.limb.Name
		switch {
		case l.limb.Title != "":
			title += "  " + oneLine(l.limb.Title)
		case l.limb.First != "":
			title += "  “" + wholeWords(oneLine(l.limb.First), firstWords) + "”"
		}
		note = fmt.Sprintf("%d of yours", l.limb.Messages)
		switch {
		case l.limb.Deleted:
			return title, "deleted", "deleted"
		case l.limb.Messages == 0 && l.limb.Parent == "":
			note = "nothing of yours"
		case l.limb.Messages == 0:
			note = "nothing new yet"
		}
		if l.limb.Here {
			note += " · here"
		}
		if l.begins != "" {
			return title, note, l.begins + ", " + note
		}
	}
	return title, note, note
}

// at is the place that a row of the tree is about.
func (l browseLine) at() session.Reference {
	switch {
	case l.revert != nil: // what it left
		return session.Reference{Branch: l.limb.Name, Seq: l.revert.Left, Select: "head"}
	case l.mark != nil && l.mark.Checkpoint:
		return session.Reference{Branch: l.limb.Name, Seq: l.mark.Seq, Select: "head"}
	case l.mark != nil:
		return session.Reference{Branch: l.limb.Name, Seq: l.mark.Seq, Select: "through"}
	}
	return session.Reference{}
}

// turnsOf are the messages that a branch can go back to, newest first: its own,
// and those that it took over.
func turnsOf(limbs []Limb, name string) (out []Turn) {
	upTo := session.Seq(1<<64 - 1)
	for name != "" {
		i := slices.IndexFunc(limbs, func(l Limb) bool { return l.Name == name })
		if i < 0 {
			break
		}
		for _, m := range slices.Backward(limbs[i].Marks) {
			if !m.Checkpoint && m.Seq <= upTo {
				out = append(out, Turn{Item: m.Seq, Text: m.Text, Age: m.Age})
			}
		}
		name, upTo = limbs[i].Parent, min(upTo, limbs[i].From)
	}
	return out
}
