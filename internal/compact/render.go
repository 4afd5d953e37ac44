package compact

import (
	_ "embed" // prompts
	"fmt"
	"strings"

	"varve/internal/session"
)

// What summarizers are asked. The texts are recorded with each compaction, so
// a change of one changes no earlier request.
var (
	//go:embed prompts/handoff.md
	handoffPrompt string
	//go:embed prompts/map.md
	mapPrompt string
	//go:embed prompts/reduce.md
	reducePrompt string
	//go:embed prompts/reread.md
	rereadPrompt string
	//go:embed prompts/audit.md
	auditPrompt string
	//go:embed prompts/correct.md
	correctPrompt string
)

// Prompt is what the text that is installed has to be, with what the user
// wants in it, and how long it may be (CMP-9, CMP-16).
func Prompt(focus string, target *int) string {
	p := strings.TrimSpace(handoffPrompt)
	if focus != "" {
		p += "\n\nThe user asks to keep in particular: " + focus
	}
	if target != nil {
		p += fmt.Sprintf("\n\nUse at most %d tokens.", *target)
	}
	return p
}

// A Source is what a unit is about.
type Source struct {
	Items  []session.Item // one_shot and map: to be summarized; of a reread: raw
	Prompt session.Piece  // what the installed text has to be
	Texts  []session.Piece
	Names  []string // of Texts
	Remind []string // sections that were missing
}

// Render is the message that asks for a unit. Texts of the session are named,
// not copied: whoever sends it loads them.
func Render(u Unit, s Source) []session.Piece {
	var w writer
	switch u.Stage {
	case "one_shot":
		w.put(s.Prompt)
		if len(s.Items) > 0 {
			w.lit("\n\nThe conversation, item by item:\n")
			w.items(s.Items)
			w.lit("\n\nNow write the handoff.")
		}
	case "map":
		w.lit(strings.TrimSpace(mapPrompt) + "\n")
		w.items(s.Items)
		w.lit("\n\nNow write the notes of this part.")
	case "reduce":
		w.lit(strings.TrimSpace(reducePrompt))
		if u.Final {
			w.lit("\n\nWhat you write is the handoff itself:\n\n")
			w.put(s.Prompt)
		}
		if len(u.Reread) == 0 {
			w.lit("\n\n" + strings.TrimSpace(rereadPrompt))
		}
		w.texts(s)
		if len(u.Reread) > 0 {
			w.lit("\n\nThe raw items that you asked for:\n")
			w.items(s.Items)
		}
	case "audit":
		w.lit(strings.TrimSpace(auditPrompt))
		w.texts(s)
	case "correct":
		w.lit(strings.TrimSpace(correctPrompt) + "\n\nWhat a handoff has to be:\n\n")
		w.put(s.Prompt)
		w.texts(s)
	}
	if len(s.Remind) > 0 {
		w.lit("\n\nYour last handoff had no " + strings.Join(s.Remind, ", no ") + ". Every heading is needed.")
	}
	return w.out
}

type writer struct{ out []session.Piece }

func (w *writer) lit(s string) {
	if n := len(w.out); n > 0 && w.out[n-1].At == 0 {
		w.out[n-1].Lit += s
		return
	}
	w.out = append(w.out, session.Piece{Lit: s})
}

func (w *writer) put(p session.Piece) {
	if p.At == 0 {
		w.lit(p.Lit)
		return
	}
	w.out = append(w.out, p)
}

func (w *writer) texts(s Source) {
	for i, p := range s.Texts {
		w.lit("\n\n=== " + s.Names[i] + "\n\n")
		w.put(p)
	}
}

// items writes a transcript. What is native to a provider is not text, and
// says nothing to another.
func (w *writer) items(items []session.Item) {
	for _, it := range items {
		if it.Text.Encoding != "" || it.Kind == session.ReasoningItem {
			continue
		}
		w.lit("\n\n[" + it.ID.String() + " " + labelOf(it) + "]\n")
		w.put(session.Piece{At: it.At, B: it.Text.B})
		for _, m := range it.Media {
			w.lit("\n[" + m.Handle + "]")
		}
	}
}

func labelOf(it session.Item) string {
	switch it.Kind {
	case session.CheckpointItem:
		return "earlier handoff"
	case session.CallItem:
		return "tool call " + it.Name
	case session.ResultItem:
		s := "result of " + it.Call.String()
		if it.Failed {
			s += ", an error"
		}
		return s
	case session.ShellItem:
		return "the user's own command"
	}
	if it.Marked != "" {
		return string(it.Kind) + ", " + it.Marked
	}
	return string(it.Kind)
}
