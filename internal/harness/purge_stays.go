package harness

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"varve/internal/session"
)

// A Remnant is a place of a session that says words of a text again, which a
// redaction or a purge of that text leaves where they are: RPR-1 swaps messages
// of the user's and results alone.
type Remnant struct {
	Event   session.Seq    `json:"event"`
	Item    session.ItemID `json:"item,omitzero"` // zero: it is no item
	Branch  string         `json:"branch"`
	Type    string         `json:"type"` // of the event
	Kind    string         `json:"kind,omitempty"`
	Name    string         `json:"name,omitempty"` // of a call's tool
	Words   int            `json:"words"`          // how many of them
	Shown   []string       `json:"shown,omitempty"`
	Content bool           `json:"content,omitempty"` // some of it is stored content
}

// Which words tell of a text: those of so many runes, and shorter ones with a
// digit in them. All others stand in too many texts by chance.
const (
	tellingRunes  = 8
	tellingDigits = 5
	tellingMost   = 64 // that are looked for, the longest
)

// Remnants lists what says words of items again, in order of events. The events
// that are the items' own are not among them.
func (s *Session) Remnants(ctx context.Context, items []session.ItemID) ([]Remnant, error) {
	p := &Purging{own: map[session.Seq]bool{}, blobs: map[string]bool{}}
	ids := map[session.ItemID]bool{}
	for _, id := range items {
		if _, found := s.Item(id); found {
			ids[id] = true
		}
	}
	texts, err := s.ownEvents(ctx, p, ids)
	if err != nil {
		return nil, err
	}
	p.texts, p.Eraser = texts, session.NewEraser(nil, "")
	return s.remnants(ctx, p)
}

// A spot is a body entry of an event.
type spot struct {
	at session.Seq
	b  int
}

// remnants lists what says words of p's texts, and would still say them without
// what the eraser takes out.
func (s *Session) remnants(ctx context.Context, p *Purging) ([]Remnant, error) {
	words := telling(p.texts)
	if err := s.eachEntry(ctx, func(_ session.Envelope, e session.Entry, _ []byte) error {
		if len(words) == 0 || !framing(e) {
			return nil
		}
		// A plain word that the program or the project says itself tells nothing.
		return s.eachText(e, func(_ int, b []byte, _ bool) {
			b = bytes.ToLower(b)
			words = slices.DeleteFunc(words, func(w []byte) bool { return bytes.IndexFunc(w, unicode.IsDigit) < 0 && bytes.Contains(b, w) })
		})
	}); err != nil || len(words) == 0 {
		return nil, err
	}
	type showing struct {
		item session.Item
		on   []string
	}
	shown := map[spot]showing{}
	for _, l := range s.Limbs() {
		if l.Deleted {
			continue
		}
		for it := range s.State(l.Name).Branch.View.All {
			at := spot{it.At, it.Text.B}
			shown[at] = showing{it, append(shown[at].on, l.Name)}
		}
	}
	var out []Remnant
	err := s.eachEntry(ctx, func(_ session.Envelope, e session.Entry, _ []byte) error {
		if p.own[e.Seq] || framing(e) {
			return nil
		}
		return s.eachText(e, func(i int, b []byte, content bool) {
			b, _ = p.Eraser.Text(b)
			b = bytes.ToLower(b)
			n := 0
			for _, w := range words {
				if bytes.Contains(b, w) {
					n++
				}
			}
			if n == 0 {
				return
			}
			r := Remnant{Event: e.Seq, Branch: e.Branch, Type: e.Type, Words: n, Content: content}
			it, ok := s.itemAt(e, i)
			if at, is := shown[spot{e.Seq, i}]; is {
				it, ok, r.Shown = at.item, true, at.on
			}
			if ok {
				r.Item, r.Kind, r.Name = it.ID, string(it.Kind), it.Name
			}
			if k := len(out) - 1; k >= 0 && out[k].Event == r.Event && out[k].Item == r.Item {
				out[k].Words, out[k].Content = max(out[k].Words, n), out[k].Content || content
				out[k].Shown = append(out[k].Shown, r.Shown...)
				return
			}
			out = append(out, r)
		})
	})
	return out, err
}

// framing reports an event that says what stands around a conversation.
func framing(e session.Entry) bool {
	switch e.Event.(type) {
	case session.ToolsDefined, session.ToolsExtended, session.InstructionPublished, session.AssemblyReported, session.CatalogPublished:
		return true
	}
	return false
}

// eachText visits the body of an event. Content that is lost says nothing.
func (s *Session) eachText(e session.Entry, visit func(i int, b []byte, content bool)) error {
	parts, err := e.Parts()
	if err != nil {
		return err
	}
	for i, part := range parts {
		if b, err := s.Bytes(part); err == nil {
			visit(i, b, part.Ref != nil)
		}
	}
	return nil
}

// itemAt is the item whose text is a body entry of an event.
func (s *Session) itemAt(e session.Entry, b int) (session.Item, bool) {
	id := e.Seq.Item()
	if r, ok := e.Event.(session.ReplyCompleted); ok {
		i := slices.IndexFunc(r.Parts, func(p session.ReplyPart) bool { return p.B == b })
		if i < 0 {
			return session.Item{}, false
		}
		id.Part = i + 1
	}
	return s.Item(id)
}

// telling are the words of texts that tell of them, in lower case, the longest
// first.
func telling(texts [][]byte) (out [][]byte) {
	for _, t := range texts {
		for _, w := range bytes.FieldsFunc(bytes.ToLower(t), func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-", r)
		}) {
			w = bytes.Trim(w, "_-")
			n := utf8.RuneCount(w)
			if n < tellingDigits || n < tellingRunes && bytes.IndexFunc(w, unicode.IsDigit) < 0 {
				continue
			}
			if !slices.ContainsFunc(out, func(o []byte) bool { return bytes.Equal(o, w) }) {
				out = append(out, w)
			}
			if len(out) > 16*tellingMost { // a large result: the rest says no more
				break
			}
		}
	}
	slices.SortStableFunc(out, func(a, b []byte) int { return len(b) - len(a) })
	return out[:min(len(out), tellingMost)]
}
