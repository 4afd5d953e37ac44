package tui

import (
	"cmp"
	"slices"
	"strings"
)

// What the browser lists: sessions, and below each the branches that share its
// file (BRW-1).

// A shelf is the list of sessions, made ready in a command: Update looks up rows
// in it, and sorts none.
type shelf struct {
	all   []SessionInfo
	text  []string // of each: what is found in it, in small letters
	title []string // of each, in small letters
	order [sorts][]int
}

// The orders of the list.
const (
	byRecent = iota
	bySize
	byMessages
	byTitle
	sorts
)

var sortNames = [sorts]string{"newest first", "largest first", "most messages first", "by title"}

func newShelf(all []SessionInfo) *shelf {
	s := &shelf{all: all, text: make([]string, len(all)), title: make([]string, len(all))}
	first := make([]int, len(all))
	for i, x := range all {
		first[i] = i
		s.title[i] = strings.ToLower(oneLine(x.Title))
		var b strings.Builder
		b.WriteString(s.title[i] + "\n" + strings.ToLower(x.Workspace))
		for _, br := range x.Branches[min(1, len(x.Branches)):] { // the first has the session's
			b.WriteString("\n" + strings.ToLower(oneLine(br.Title)))
		}
		s.text[i] = b.String()
	}
	by := func(how int, less func(a, b int) int) {
		s.order[how] = slices.Clone(first)
		slices.SortStableFunc(s.order[how], less)
	}
	by(byRecent, func(a, b int) int { return all[b].Changed.Compare(all[a].Changed) })
	by(bySize, func(a, b int) int { return cmp.Compare(all[b].Bytes, all[a].Bytes) })
	by(byMessages, func(a, b int) int { return cmp.Compare(all[b].Messages, all[a].Messages) })
	by(byTitle, func(a, b int) int { return cmp.Compare(s.title[a], s.title[b]) })
	return s
}

// A browseLine is a row of the browser. Of a list it is a branch of a session,
// of a tree a branch, or a place in one; or the name of a group, or what was
// found.
type browseLine struct {
	session, branch int
	head            string
	found           *Saying // of the row above

	indent string
	limb   *Limb
	begins string // of a branch: where it left its parent, "" for the first
	mark   *Mark
	revert *Revert
}

// key names what the row is about, through all lists.
func (b *browser) key(l browseLine) string {
	switch {
	case l.head != "" || l.found != nil:
		return ""
	case l.revert != nil:
		return l.limb.Name + "/" + l.revert.Label
	case l.mark != nil:
		return l.limb.Name + "/" + l.mark.Seq.Item().String()
	case l.limb != nil:
		return l.limb.Name
	}
	s := b.shelf.all[l.session]
	return s.ID + "/" + branchOf(s, l.branch).Name
}

// branchOf is a branch of a session; of one whose branches are not known, the
// session itself.
func branchOf(s SessionInfo, i int) BranchInfo {
	switch {
	case i < len(s.Branches) && len(s.Branches) > 1:
		br := s.Branches[i]
		if i == 0 {
			br.Title = s.Title
		}
		return br
	case len(s.Branches) == 1:
		br := s.Branches[0]
		br.Title = s.Title
		return br
	}
	return BranchInfo{Title: s.Title, Age: s.Age, Model: s.Model, Spent: s.Spent, Changed: s.Changed, Messages: s.Messages, Turn: s.Turn, Shown: s.Shown}
}

// arrange finds the rows that are shown, and keeps the choice where its row is
// still there.
func (b *browser) arrange() {
	was, top := b.was, b.list.top
	if l, ok := b.chosen(); ok && was == "" {
		was = b.key(l)
	}
	b.was = ""
	at := b.list.at
	b.lines, b.list = b.lines[:0], list{}
	switch {
	case b.tree != nil:
		b.arrangeTree()
	case b.shelf != nil:
		b.arrangeList()
	}
	b.list.top = top
	find := func(key string) int {
		return slices.IndexFunc(b.lines, func(l browseLine) bool { return key != "" && b.key(l) == key })
	}
	i := find(b.want)
	if i >= 0 {
		b.want = ""
	} else {
		i = find(was)
	}
	switch {
	case i >= 0:
		b.list.Select(i)
	case b.kept:
		b.list.Select(at)
	default:
		b.list.top = 0
		b.list.Select(0)
	}
	b.kept = false
}

func (b *browser) add(l browseLine) {
	b.lines = append(b.lines, l)
	b.list.fixed = append(b.list.fixed, l.head != "" || l.found != nil)
	b.list.under = append(b.list.under, l.found != nil)
	b.list.n = len(b.lines)
}

// inScope says whether a session is listed: of this folder, or damaged wherever
// it is, since its folder may not be known.
func (b *browser) inScope(s SessionInfo) bool { return b.all || s.Here || s.Damage != "" }

// arrangeList finds the sessions that hold every word of what is typed, as it is
// written but for its case, or whose id begins so; below them those in which it
// was said.
func (b *browser) arrangeList() {
	words := strings.Fields(strings.ToLower(b.filter.String()))
	s := b.shelf
	b.scoped, b.shown = 0, 0
	taken := map[int]bool{}
	for _, i := range s.order[b.sort] {
		if !b.inScope(s.all[i]) {
			continue
		}
		b.scoped++
		if slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(s.text[i], w) && !strings.HasPrefix(s.all[i].ID, w) }) {
			continue
		}
		if len(words) > 0 {
			taken[i] = true
		}
		b.shown++
		for j := range max(len(s.all[i].Branches), 1) {
			b.add(browseLine{session: i, branch: j})
		}
	}
	b.elsewhere = 0
	if b.said.text == "" || len(b.said.found) == 0 {
		return
	}
	at := map[string]int{}
	for i, x := range s.all {
		at[x.ID] = i
	}
	head := false
	for n := range b.said.found {
		x := &b.said.found[n]
		i, ok := at[x.Session]
		switch {
		case !ok || taken[i]:
			continue
		case !b.inScope(s.all[i]):
			b.elsewhere++
			continue
		}
		if !head {
			b.add(browseLine{head: "Where it was said"})
			head = true
		}
		taken[i] = true
		b.shown++
		j := max(slices.IndexFunc(s.all[i].Branches, func(br BranchInfo) bool { return br.Name == x.Branch }), 0)
		b.add(browseLine{session: i, branch: j})
		b.add(browseLine{found: x})
	}
}
