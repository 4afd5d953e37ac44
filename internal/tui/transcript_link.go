package tui

import (
	"fmt"
	"slices"
	"strings"

	"varve/internal/session"
	"varve/internal/tui/plain"
	"varve/internal/words"
)

// Some rows say less or more because of their neighbours: attempts that failed
// are one line, and none where the turn's end tells it; a turn's end has the
// provider's words. A link depends on nothing but at most linkReach rows before
// it, and making it twice is making it once: so it comes out the same
// whatever pages the rows came with.

// linkReach is how far back a link looks.
const linkReach = 16

// link links rows from up to to, and on while they depend on each other.
func (t *transcript) link(from, to int) {
	for i := from; i < len(t.rows) && (i < to || t.rows[i-1].linked()); i++ {
		switch r := t.rows[i]; r.kind {
		case rowTry:
			t.linkTry(i)
		case rowEnded:
			t.linkEnded(i, r)
		default:
			if i > 0 && t.rows[i-1].kind == rowTry {
				t.tried(i)
			}
		}
	}
}

func (r *row) linked() bool { return r.kind == rowTry || r.kind == rowEnded }

// linkTry says in the row of a lost run what it was doing.
func (t *transcript) linkTry(i int) {
	if t.rows[i].event.(session.ReplyRejected).Class != "lost" {
		return
	}
	for j := i - 1; j >= max(0, i-linkReach); j-- {
		if l := t.rows[j]; l.kind == rowLost {
			l.head = lostWords("while the model was answering")
			l.forget()
			return
		}
	}
}

// tried makes one line of the attempts right before row i.
func (t *transcript) tried(i int) {
	n := 0
	var last *row
	for j := i - 1; j >= 0 && t.rows[j].kind == rowTry; j-- {
		r := t.rows[j]
		r.hidden = true
		if r.event.(session.ReplyRejected).Class == "lost" {
			continue // the run's end says it
		}
		n++
		if last == nil {
			last = r
		}
	}
	if last == nil {
		return
	}
	what, _, _ := strings.Cut(words.Waiting(kindOf(last.event.(session.ReplyRejected)), 0), ".")
	last.head = fmt.Sprintf("⟳ %s: it was asked again.", what)
	if n > 1 {
		last.head = fmt.Sprintf("⟳ %s: it was asked again after %d attempts.", what, n)
	}
	last.hidden = last.told
	last.forget()
}

func kindOf(ev session.ReplyRejected) string {
	if ev.Error != nil {
		return ev.Error.Kind
	}
	return ev.Class
}

// linkEnded gives the end of a turn the words of what ended it, and hides the
// rows that had them.
func (t *transcript) linkEnded(i int, r *row) {
	ev := r.event.(session.TurnEnded)
	detail := ""
	if ev.Status == "failed" {
		detail = t.detail(i)
	} else if i > 0 && t.rows[i-1].kind == rowTry {
		t.tried(i)
	}
	r.head = plain.Clean(words.TurnEnded(ev, detail).String())
	r.hidden = r.head == ""
	if ev.Status == "interrupted" {
		r.ink = inkWarn
	}
	r.forget()
}

// detail is what the provider or the system said last before row i.
func (t *transcript) detail(i int) string {
	said := ""
	for j := i - 1; j >= max(0, i-linkReach); j-- {
		r := t.rows[j]
		switch r.kind {
		case rowTry, rowFault:
			if said == "" {
				said = r.src.text
			}
			if r.kind == rowTry || said == r.src.text {
				r.hidden, r.told = true, true
			}
		case rowAssistant, rowReasoning, rowCall, rowEnded:
			return said
		case rowUser:
			if r.mark == "" {
				return said
			}
		}
	}
	return said
}

// chosen shows the choice of a model, where it is another one than before.
func (t *transcript) chosen(r *row) {
	i, _ := slices.BinarySearchFunc(t.models, r, func(a, b *row) int { return int(a.at) - int(b.at) })
	t.models = slices.Insert(t.models, i, r)
	for _, k := range [...]int{i, i + 1} {
		if k > 0 && k < len(t.models) {
			a, b := t.models[k-1].event.(session.ModelChosen), t.models[k].event.(session.ModelChosen)
			t.models[k].hidden = a.Model == b.Model && a.Reasoning == b.Reasoning
		}
	}
}

func modelWords(ev session.ModelChosen) string {
	s := "Model: " + ev.Model.String()
	if ev.Reasoning != "" {
		s += ", reasoning " + ev.Reasoning
	}
	switch ev.By {
	case "", "user":
	case "router":
		s += " (chosen by the router"
		if n := len(ev.Skipped); n > 0 {
			s += fmt.Sprintf("; %s: %s", ev.Skipped[n-1].Model, ev.Skipped[n-1].Why)
		}
		s += ")"
	default:
		s += " (" + ev.By + ")"
	}
	return plain.Clean(words.OneLine(s))
}

// lostWords is the row of a run that nobody closed.
func lostWords(doing string) string {
	if doing == "" {
		return "The program ended without closing the session."
	}
	return "The program ended " + doing + "."
}

func repairWords(ev session.LogRepaired) string {
	n := words.Bytes(max(ev.To-ev.From, 0))
	switch ev.Kind {
	case "torn":
		return "The session's file ended in the middle of a line: " + n + " were set aside."
	case "foreign":
		return "The session's file has " + n + " that are no event: they were set aside."
	case "gap":
		return "Part of the session's file is missing. What is left is shown."
	}
	return "The session's file was repaired (" + ev.Kind + ", " + n + ")."
}

// holes puts a row for each gap that begins behind one event, and before the next.
func (t *transcript) holes(from, to session.Seq, rows *[]*row) {
	for _, g := range t.gaps {
		at := g.First
		if g.Changed {
			at = g.First + 1 // behind what it is about
		}
		if at <= from || at > to || at == to && !g.Changed {
			continue
		}
		r := &row{kind: rowNotice, ink: inkWarn, at: g.First, n: t.base + len(*rows)}
		switch {
		case g.Changed:
			r.head = fmt.Sprintf("Event %d, before this line, was changed after it was written.", g.First)
		case g.First == g.Last:
			r.head = fmt.Sprintf("Here event %d of this session can't be read: it may have been part of this conversation.", g.First)
		default:
			r.head = fmt.Sprintf("Here events %d to %d of this session can't be read: they may have been part of this conversation.", g.First, g.Last)
		}
		*rows = append(*rows, r)
	}
}
