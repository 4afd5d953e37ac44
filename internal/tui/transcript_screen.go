package tui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"varve/internal/tui/plain"
)

// View is not asked for: draw is what it shows.
func (d *reader) View(Frame) string { return "" }

// draw is the whole window: the transcript, what is to be said, and the keys.
func (d *reader) draw(f Frame) (lines []string, x, y int, cursor bool) {
	d.takes()
	l := d.r.look()
	var below []string
	switch {
	case d.r.fault != "":
		below = append(below, l.ink(inkError, plain.Truncate("✗ "+plain.Clean(d.r.fault), f.W)))
	case d.r.chat.question != nil:
		below = append(below, l.ink(inkWarn, plain.Truncate("A question waits for an answer: "+f.Keys.Key(ActReadClose)+" goes to it.", f.W)))
	}
	below = below[max(len(below)-f.H/2, 0):]
	d.room = max(f.H-1-len(below), 1)
	lines = d.tr.view(f.W, d.room)
	if d.tr.count() == 0 {
		lines[d.room/2] = plain.Truncate("Nothing was said yet.", f.W)
	}
	d.choose(lines, f.Theme)
	d.marks(lines, f.Theme)
	d.r.chat.layToasts(d.r, lines, f.W, f.H, l)
	lines = append(lines, below...)
	if d.ask != nil {
		row, cx := d.ask.view("search: ", "", f.W, f.Theme)
		return append(lines, strings.TrimRight(row, " ")), cx, f.H - 1, true
	}
	return append(lines, f.Theme.Dim.Of(d.foot(f))), 0, 0, false
}

// choose shows which items are chosen: their heads are.
func (d *reader) choose(lines []string, th Theme) {
	if d.item == nil && d.mark == nil {
		return
	}
	from, to := d.marked()
	for i, l := range d.tr.shown {
		if n := d.tr.index(l.row); l.n == 0 && n >= from && n <= to && (d.mark != nil || l.row == d.item) {
			lines[i] = th.Selection.Of(ansi.Strip(lines[i]))
		}
	}
}

// marks shows the places of a search.
func (d *reader) marks(lines []string, th Theme) {
	if d.find == nil {
		return
	}
	seen := map[*row]inRow{}
	for i, l := range d.tr.shown {
		p, ok := seen[l.row]
		if !ok {
			p = d.places(l.row)
			seen[l.row] = p
		}
		var parts, here []span
		for k, place := range p.at {
			for _, s := range place {
				switch {
				case s.line != l.n:
				case l.row == d.find.row && k == d.find.k && d.find.toward == 0:
					here = append(here, s)
				default:
					parts = append(parts, s)
				}
			}
		}
		lines[i] = restyled(restyled(lines[i], parts, th.Match), here, th.Selection)
	}
	d.ahead = seen
}

// places are those in a row that is in view; what was found in the last frame
// holds as long as its lines do.
func (d *reader) places(r *row) inRow {
	if len(r.drawn) == 0 {
		return inRow{}
	}
	p := d.ahead[r]
	if p.first == &r.drawn[0] && p.n == len(r.drawn) && r.kind != rowLive {
		return p
	}
	p = inRow{&r.drawn[0], len(r.drawn), d.find.in(r.drawn)}
	if r.kind != rowLive && r.n >= d.find.low && r.n < d.find.high && !r.shut {
		d.find.note(r, len(p.at))
	}
	return p
}

// foot says where one is and what keys do, as far as there is room.
func (d *reader) foot(f Frame) string {
	t := d.tr
	var says string
	switch {
	case d.note != "":
		says = d.note
	case t.homing:
		says = t.toGo() + ": any key stops"
	case d.find != nil:
		says = d.find.status(t)
	case d.item != nil && t.index(d.item) >= 0:
		says = d.item.called()
	default:
		says = "Transcript"
	}
	keys := []string{}
	for _, k := range []struct {
		a    Action
		says string
	}{
		{ActReadClose, "back"},
		{ActReadFind, "search"},
		{ActReadOlder, "next"},
		{ActReadNewer, "before"},
		{ActReadNextItem, "item"},
		{ActReadFold, "fold"},
		{ActReadCopy, "copy"},
		{ActReadCode, "code"},
		{ActReadHelp, "help"},
	} {
		if key := f.Keys.Key(k.a); key != "" && (d.find != nil || k.a != ActReadOlder && k.a != ActReadNewer) {
			keys = append(keys, key+" "+k.says)
		}
	}
	out := plain.Truncate(says, max(f.W-plain.Width(keys[0])-3, 8))
	for _, k := range keys {
		if plain.Width(out)+plain.Width(k)+3 > f.W {
			break
		}
		out += " · " + k
	}
	return plain.Truncate(out, f.W)
}

// called is what a row is, in a few words.
func (r *row) called() string {
	gist := func(s string) string { return plain.Truncate(oneLine(strings.TrimSpace(s)), 40) }
	switch r.kind {
	case rowUser:
		return "your message: " + gist(r.src.text)
	case rowAssistant:
		return "answer: " + gist(r.src.text)
	case rowReasoning:
		return "thinking: " + gist(r.src.text)
	case rowCall:
		return gist(r.name + " " + r.subject())
	case rowShell:
		return "your command: " + gist(r.src.text)
	case rowCheckpoint:
		return "summary"
	}
	return gist(r.head)
}
