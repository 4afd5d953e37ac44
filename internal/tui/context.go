package tui

import (
	"fmt"
	"strings"

	"varve/internal/session"
	"varve/internal/tui/plain"
	"varve/internal/words"
)

// ContextInfo is what fills the window, for /context (TUI-6). Sizes are tokens.
type ContextInfo struct {
	Model    string
	Used     session.Tokens
	Capacity int // 0: not known
	Sizing   int // what is drawn against where it is not
	Trigger  int // where a compaction begins, 0: none
	Layers   []ContextLayer
	Facts    []ContextFact
}

// A ContextLayer is one kind of what is in the next request. Its size is an
// estimate.
type ContextLayer struct {
	Name          string
	Items, Tokens int
}

// A ContextFact is a line below the table.
type ContextFact struct{ Name, Says string }

// Glyphs of the picture. Neighbours differ, also without colours.
var (
	fills    = [...]string{"█", "▓", "▒"}
	freeCell = "·"
)

// TriggerMark stands in the picture where a compaction begins.
const TriggerMark = "┃"

// Lines draws it in lines of at most w columns: the whole as one bar with a mark
// where a compaction begins, then a row for each layer, then the facts.
func (c ContextInfo) Lines(w int) []string {
	w = max(w, narrow)
	out := plain.Wrap(c.head(), w)
	out = append(out, c.picture(w), "")
	out = append(out, c.table(w)...)
	out = append(out, "")
	for _, f := range c.Facts {
		lead, says := 16, f.Says
		if w < 50 {
			lead, says = 2, f.Name+": "+f.Says
		}
		for i, s := range plain.Wrap(plain.Clean(says), w-lead) {
			name := ""
			switch {
			case i == 0 && w < 50:
				out = append(out, s)
				continue
			case i == 0:
				name = plain.Truncate(f.Name, lead-1)
			}
			out = append(out, name+strings.Repeat(" ", lead-plain.Width(name))+s)
		}
	}
	return out
}

func (c ContextInfo) room() int {
	if c.Capacity > 0 {
		return c.Capacity
	}
	return max(c.Sizing, 1)
}

func (c ContextInfo) head() string {
	of := func(n int, by string) string { return words.Tokens(session.Tokens{N: n, By: by}) }
	s := fmt.Sprintf("%s: the next request has %s tokens", plain.Clean(c.Model), words.Tokens(c.Used))
	switch over := c.Used.N - c.Capacity; {
	case c.Capacity <= 0:
		return s + "; how many the model takes is not known, the picture is drawn for " + of(c.Sizing, "est") + "."
	case over > 0:
		return fmt.Sprintf("%s of %s: %s too many.", s, of(c.Capacity, "provider"), of(over, "provider"))
	}
	return fmt.Sprintf("%s of %s, %d %%.", s, of(c.Capacity, "provider"), c.Used.N*100/c.Capacity)
}

// picture is one bar for the whole. What is over the room fills it.
func (c ContextInfo) picture(w int) string {
	room, sum := c.room(), 0
	for _, l := range c.Layers {
		sum += l.Tokens
	}
	cells := make([]string, 0, w)
	// Layers are estimates: they share what is known of the whole.
	full := min((c.Used.N*w+room-1)/room, w)
	for i, at := 0, 0; i < len(c.Layers); i++ {
		at += c.Layers[i].Tokens
		for len(cells) < full*at/max(sum, 1) {
			cells = append(cells, fills[i%len(fills)])
		}
	}
	for len(cells) < w {
		cells = append(cells, freeCell)
	}
	if c.Trigger > 0 && c.Trigger <= room {
		cells[min(c.Trigger*w/room, w-1)] = TriggerMark
	}
	return strings.Join(cells, "")
}

func (c ContextInfo) table(w int) []string {
	tail := 15 // items and tokens
	if w < 36 {
		tail = 9 // tokens
	}
	name, most := 10, 1
	for _, l := range c.Layers {
		name, most = max(name, plain.Width(plain.Clean(l.Name))), max(most, l.Tokens)
	}
	name = min(name, max(w-tail-2, 6))
	bar := min(w-name-tail-4, 40)
	row := func(mark, what, items, tokens, rest string) string {
		what = plain.Truncate(plain.Clean(what), name)
		s := mark + " " + what + strings.Repeat(" ", max(name-plain.Width(what), 0)) + fmt.Sprintf("%6s%9s", items, tokens)[15-tail:]
		return strings.TrimRight(s+"  "+rest, " ")
	}
	out := []string{row(" ", "", "items", "tokens", "")}
	for i, l := range c.Layers {
		rest := ""
		if bar >= 8 && l.Tokens > 0 {
			rest = strings.Repeat(fills[i%len(fills)], max(l.Tokens*bar/most, 1))
		}
		out = append(out, row(fills[i%len(fills)], l.Name, fmt.Sprint(l.Items), words.Tokens(session.Tokens{N: l.Tokens}), rest))
	}
	return out
}
