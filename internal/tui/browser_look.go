package tui

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
)

// What the browser looks up: what was said, and the chosen place. A newer wish
// ends an older one.

// typed finds what is typed now.
func (b *browser) typed() tea.Cmd {
	cmd := b.unsay()
	text := strings.TrimSpace(b.filter.String())
	if b.tree == nil && utf8.RuneCountInString(text) >= enoughToLook {
		b.said = saidIn{text: text, waits: true}
		ctx, stop := context.WithCancel(b.ctx)
		b.unlook = stop
		agent := b.agent
		cmd = func() tea.Msg {
			select {
			case <-time.After(pauseToLook):
			case <-ctx.Done():
				return nil
			}
			out := saidIn{text: text}
			out.found, out.note, out.err = agent.Said(ctx, text)
			if ctx.Err() != nil {
				return nil
			}
			for i, x := range out.found {
				out.found[i].Before, out.found[i].Match, out.found[i].After = oneLine(x.Before), oneLine(x.Match), oneLine(x.After)
			}
			return foundMsg{b, out}
		}
	}
	b.arrange()
	b.list.Select(0)
	return cmd
}

// unsay ends what is looked for.
func (b *browser) unsay() tea.Cmd {
	if b.unlook != nil {
		b.unlook()
		b.unlook = nil
	}
	b.said = saidIn{}
	return nil
}

// look reads the chosen place, where it is shown and another one than before.
// What is read for another place ends.
func (b *browser) look(f Frame) tea.Cmd {
	l, ok := b.chosen()
	if !ok || !b.layout(f).pane {
		return nil
	}
	key := b.point(l).Session + ":" + b.key(l) // in two trees a place may have the same name
	if key == b.peek.key {
		return nil
	}
	if b.unpeek != nil {
		b.unpeek()
	}
	ctx, stop := context.WithCancel(b.ctx)
	b.unpeek = stop
	b.peek = peeked{at: b.point(l), key: key, waits: true}
	if l.limb != nil && l.limb.Deleted {
		b.peek.waits = false
		return nil
	}
	at, agent := b.peek.at, b.agent
	return func() tea.Msg {
		select {
		case <-time.After(pauseToPeek):
		case <-ctx.Done():
			return nil
		}
		list, err := agent.Peek(ctx, at)
		if ctx.Err() != nil {
			return nil
		}
		return peekMsg{b, key, list, err}
	}
}

// point is the place that a row is about.
func (b *browser) point(l browseLine) Point {
	if l.limb != nil {
		return Point{b.tree.id, l.limb.Name, l.at()}
	}
	s := b.shelf.all[l.session]
	return Point{Session: s.ID, Branch: branchOf(s, l.branch).Name}
}

func (b *browser) chosen() (browseLine, bool) {
	if b.list.at >= len(b.lines) || b.list.heading(b.list.at) {
		return browseLine{}, false
	}
	return b.lines[b.list.at], true
}
