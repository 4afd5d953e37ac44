package tui

import "strings"

// Where the motions of vi go, by clusters: a chip, a wide character and an emoji are one each. A motion goes from a spot to
// a spot and changes nothing.

// wordClass is what a cluster is to w, b and e.
type wordClass uint8

const (
	classBlank wordClass = iota // the end of a line too
	classMark
	classWord
	classChip // each is a word of its own
)

func classOf(s string, big bool) wordClass {
	_, chip := chipAt(s)
	switch {
	case s == "", s[0] == ' ', s[0] == '\t':
		return classBlank
	case big:
		return classWord
	case chip:
		return classChip
	case inWord(s):
		return classWord
	}
	return classMark
}

// within is next that stays on the line.
func (t *draftText) within(p spot) spot {
	if t.at(p) == "" {
		return p
	}
	return t.next(p)
}

// runEnd is behind the word that p stands in.
func (t *draftText) runEnd(p spot, big bool) spot {
	class := classOf(t.at(p), big)
	if class == classChip {
		return t.within(p)
	}
	for t.at(p) != "" && classOf(t.at(p), big) == class {
		p = t.next(p)
	}
	return p
}

// wordNext is w: where the next word begins. An empty line is a word.
func (t *draftText) wordNext(p spot, big bool) spot {
	if classOf(t.at(p), big) != classBlank {
		p = t.runEnd(p, big)
	}
	for classOf(t.at(p), big) == classBlank {
		q := t.next(p)
		if q == p {
			return p
		}
		if p = q; t.lines[p.line].s == "" {
			return p
		}
	}
	return p
}

// wordEnd is e: the last character of a word, the next one's if p is at the end of its own.
func (t *draftText) wordEnd(p spot, big bool) spot {
	for {
		q := t.next(p)
		if q == p {
			return p
		}
		if p = q; classOf(t.at(p), big) != classBlank {
			break
		}
	}
	return t.prev(t.runEnd(p, big))
}

// wordBack is b: where the word before begins.
func (t *draftText) wordBack(p spot, big bool) spot {
	for {
		q := t.prev(p)
		if q == p || t.lines[q.line].s == "" {
			return q
		}
		if p = q; classOf(t.at(p), big) != classBlank {
			break
		}
	}
	class := classOf(t.at(p), big)
	for class != classChip && p.off > 0 {
		q := t.prev(p)
		if classOf(t.at(q), big) != class {
			break
		}
		p = q
	}
	return p
}

// lineText is where the text of a line begins, behind its blanks.
func (t *draftText) lineText(line int) spot {
	s := t.lines[line].s
	return spot{line, len(s) - len(strings.TrimLeft(s, " \t"))}
}

func (t *draftText) lineEnd(line int) spot { return spot{line, len(t.lines[line].s)} }

// find is f: the nth cluster right of p on its line that is what.
func (t *draftText) find(p spot, what string, n int) (spot, bool) {
	for t.at(p) != "" {
		p = t.next(p)
		s := t.at(p)
		if s == "" {
			break
		}
		if size, _ := t.cluster(s); s[:size] == what {
			if n--; n == 0 {
				return p, true
			}
		}
	}
	return p, false
}

// A stretch is what a motion takes in, for an operator.
type stretch struct {
	to    spot
	whole bool // whole lines
	takes bool // the character at to as well
}

// motion is where a key goes from the cursor, n times. ok is false where it is no motion, or goes nowhere. arg is the
// character of f and t. For an operator that is not yet all: see span.
func (t *draftText) motion(key string, n int, counted bool, arg string) (m stretch, ok bool) {
	p := t.cur
	last := len(t.lines) - 1
	repeat := func(step func(spot, bool) spot, big bool) stretch {
		for range n {
			q := step(p, big)
			if q == p {
				break
			}
			p = q
		}
		return stretch{to: p}
	}
	switch key {
	case "h":
		return repeat(func(p spot, _ bool) spot {
			if p.off == 0 {
				return p
			}
			return t.prev(p)
		}, false), true
	case "l", " ":
		return repeat(func(p spot, _ bool) spot { return t.within(p) }, false), true
	case "j":
		return stretch{to: spot{p.line + n, 0}, whole: true}, p.line+n <= last
	case "k":
		return stretch{to: spot{p.line - n, 0}, whole: true}, p.line >= n
	case "w", "W":
		return repeat(t.wordNext, key == "W"), true
	case "b", "B":
		return repeat(t.wordBack, key == "B"), true
	case "e", "E":
		m = repeat(t.wordEnd, key == "E")
		m.takes = true
		return m, true
	case "0":
		return stretch{to: spot{p.line, 0}}, true
	case "^":
		return stretch{to: t.lineText(p.line)}, true
	case "$":
		return stretch{to: t.lineEnd(min(p.line+n-1, last))}, true
	case "gg", "G":
		line := min(n-1, last)
		if key == "G" && !counted {
			line = last
		}
		return stretch{to: t.lineText(line), whole: true}, true
	case "f", "t":
		to, found := t.find(p, arg, n)
		if key == "t" {
			to = t.prev(to)
		}
		return stretch{to: to, takes: true}, found
	}
	return stretch{}, false
}

// span is what an operator takes of a motion: from and to are the first line and the last where it is whole lines.
func (t *draftText) span(key string, m stretch) (from, to spot, whole bool) {
	from, to = t.cur, m.to
	if to.before(from) {
		from, to = to, from
	}
	switch {
	case m.whole:
		return spot{from.line, 0}, t.lineEnd(to.line), true
	case m.takes:
		to = t.within(to)
	// A word at the end of a line goes without what begins the next.
	case from.line < to.line && (to.off == 0 || strings.EqualFold(key, "w") && !t.lineText(to.line).before(to)):
		to = t.lineEnd(to.line - 1)
	}
	return from, to, false
}

// onChar is a spot as the normal mode has it: on a character, not behind the last.
func (t *draftText) onChar(p spot) spot {
	if p.off > 0 && t.at(p) == "" {
		return t.prev(p)
	}
	return p
}
