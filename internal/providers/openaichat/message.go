package openaichat

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"varve/internal/providers"
	"varve/internal/session"
)

// What stands in for something, or around it. These literals are in recorded
// requests; a change of one breaks the prefix of every session once.
const (
	noOutput    = "(no output)"
	noResult    = "(no result: the call was interrupted)"
	noText      = "(empty)"
	goOn        = "Continue."
	interrupted = "\n[interrupted]"
	notShown    = " is not shown to you; ask the user what it shows" // of a medium, behind its handle (MED-3)
)

// wrapper is what a message of the runtime's own begins with, so that it is
// not taken for the person's words.
func wrapper(k session.ItemKind) string {
	switch k {
	case session.UserItem:
		return ""
	case session.ResultItem:
		return "[tool_result]\n"
	}
	return "[" + string(k) + "]\n"
}

// A writer writes one message.
type writer struct {
	*providers.Builder
	style style
	load  providers.Load
}

// A said is an item's text.
type said struct {
	session.Item
	text []byte
}

func (s said) blank() bool { return len(bytes.TrimSpace(s.text)) == 0 }

func (w *writer) text(it session.Item) (said, error) {
	text, err := w.load(it.At, it.Text.B)
	if err != nil {
		return said{}, fmt.Errorf("item %s: %w", it.ID, err)
	}
	return said{it, text}, nil
}

// str writes an item's text as the inside of a JSON string.
func (w *writer) str(s said) { w.Str(s.At, s.Text.B, s.text) }

// message writes one message and reports whether there was one to write.
func (w *writer) message(part byte, items []session.Item, names []string) (bool, error) {
	switch part {
	case partSystem:
		return w.system(items)
	case partReply:
		return w.reply(items, names)
	case partGoOn:
		w.Lit(`{"role":"user","content":"` + goOn + `"}`)
		return true, nil
	case partClosed:
		w.result(items[0], names[0])
		w.Lit(noResult + `"}`)
		return true, nil
	}
	s, err := w.text(items[0])
	if err != nil {
		return false, err
	}
	none := noText
	if part == partResult {
		w.result(items[0], names[0])
		none = noOutput
	} else {
		w.Lit(`{"role":"user","content":"` + escaped(wrapper(s.Kind)))
	}
	if s.blank() {
		if len(s.Media) == 0 {
			w.Lit(none)
		}
	} else {
		w.str(s)
	}
	for i, m := range s.Media {
		lead := "\n"
		if i == 0 && s.blank() {
			lead = ""
		}
		w.Lit(escaped(lead + "[" + m.Handle + notShown + "]"))
	}
	w.Lit(`"}`)
	return true, nil
}

func escaped(s string) string { return string(session.AppendEscaped(nil, []byte(s))) }

func (w *writer) system(items []session.Item) (bool, error) {
	some := false
	for _, it := range items {
		s, err := w.text(it)
		if err != nil {
			return false, err
		}
		if s.blank() {
			continue
		}
		if !some {
			w.Lit(`{"role":"` + w.style.role + `","content":"`)
		} else {
			w.Lit(`\n\n`)
		}
		some = true
		w.str(s)
	}
	w.Lit(`"}`)
	return some, nil
}

func (w *writer) result(call session.Item, id string) {
	w.Lit(`{"role":"tool","tool_call_id":"` + id + `"`)
	if w.style.toolName {
		w.Lit(`,"name":"` + nameOf(call.Name) + `"`)
	}
	w.Lit(`,"content":"`)
}

// A folded reply is the parts of one reply, sorted by where they go in its
// message (PRV-13).
type folded struct {
	text, thought, parts, calls []said
	details                     *said
	native                      gjson.Result // content, refusal, annotations
	own                         bool         // native may go back whole; of another model's, only the content
}

func (w *writer) fold(items []session.Item) (folded, error) {
	var f folded
	for _, it := range items {
		s, err := w.text(it)
		if err != nil {
			return f, err
		}
		enc := it.Text.Encoding
		field := strings.TrimPrefix(enc, encodingPrefix)
		own := providers.SameFamily(it.Model, w.style.asked)
		if enc != encodingMessage && field != enc && !(own && w.takes(field)) {
			continue
		}
		switch {
		case it.Kind == session.CallItem:
			f.calls = append(f.calls, s)
		case it.Kind == session.AssistantItem:
			f.text = append(f.text, s)
		case enc == encodingMessage:
			if gjson.ValidBytes(s.text) {
				f.native, f.own = gjson.ParseBytes(s.text), own
			}
		case enc == encodingDetails:
			if gjson.ValidBytes(s.text) {
				f.details = &s
			}
		case it.Kind == session.ReasoningItem && enc == encodingParts:
			f.parts = append(f.parts, s)
		case it.Kind == session.ReasoningItem && strings.HasPrefix(enc, encodingPrefix):
			f.thought = append(f.thought, s)
		}
	}
	return f, nil
}

// takes reports whether reasoning may go back in a field.
func (w *writer) takes(field string) bool {
	return slices.Contains(strings.Fields(w.style.takes), field)
}

// reply writes the parts of one reply as one assistant message. What holds
// neither text nor a call is not sent.
func (w *writer) reply(items []session.Item, names []string) (bool, error) {
	f, err := w.fold(items)
	if err != nil {
		return false, err
	}
	blank := true
	for _, s := range f.text {
		blank = blank && s.blank()
	}
	native := f.native.Get("content")
	if len(f.text) > 0 || native.Type != gjson.String || strings.TrimSpace(native.Str) == "" {
		native = gjson.Result{}
	}
	if blank && !native.Exists() && len(f.calls) == 0 {
		return false, nil
	}
	w.Lit(`{"role":"assistant"`)
	w.thoughts(f)
	w.content(f, blank, native)
	if r := f.native.Get("refusal"); f.own && w.style.refus && r.Type == gjson.String {
		w.Lit(`,"refusal":` + quoted(r.Str))
	}
	if a := f.native.Get("annotations"); f.own && w.style.notes && a.IsArray() {
		w.Lit(`,"annotations":` + a.Raw)
	}
	for i, call := range f.calls {
		lead := `,`
		if i == 0 {
			lead = `,"tool_calls":[`
		}
		w.Lit(lead + `{"id":"` + names[i] + `","type":"function","function":{"name":"` + nameOf(call.Name) + `","arguments":"`)
		w.arguments(call)
		w.Lit(`"}}`)
	}
	if len(f.calls) > 0 {
		w.Lit("]")
	}
	w.Lit("}")
	return true, nil
}

// thoughts writes reasoning as the profile wants it back.
func (w *writer) thoughts(f folded) {
	switch w.style.reasoning {
	case "none":
		return
	case "everywhere":
		w.Lit(`,"reasoning_content":"`)
		for _, s := range f.thought {
			if s.Text.Encoding == encodingPrefix+"reasoning_content" {
				w.str(s)
			}
		}
		w.Lit(`"`)
		return
	}
	if f.details != nil {
		w.Lit(`,"reasoning_details":`).Raw(f.details.At, f.details.Text.B, f.details.text)
		return
	}
	if len(f.thought) == 0 {
		return
	}
	name := f.thought[0].Text.Encoding
	w.Lit(`,` + quoted(strings.TrimPrefix(name, encodingPrefix)) + `:"`)
	for _, s := range f.thought {
		if s.Text.Encoding == name {
			w.str(s)
		}
	}
	w.Lit(`"`)
}

func (w *writer) content(f folded, blank bool, native gjson.Result) {
	if len(f.parts) > 0 && w.style.reasoning == "as it came" {
		// Several thinking parts in one message are refused.
		w.Lit(`,"content":[{"type":"thinking","thinking":[`)
		for i, s := range f.parts {
			if i > 0 {
				w.Lit(",")
			}
			w.Lit(`{"type":"text","text":"`)
			w.str(s)
			w.Lit(`"}`)
		}
		w.Lit(`]}`)
		if !blank {
			w.Lit(`,{"type":"text","text":"`)
			w.texts(f.text)
			w.Lit(`"}`)
		}
		w.Lit(`]`)
		return
	}
	switch {
	case native.Exists():
		w.Lit(`,"content":` + quoted(native.Str))
	case !blank:
		w.Lit(`,"content":"`)
		w.texts(f.text)
		w.Lit(`"`)
	case w.style.nullText:
		w.Lit(`,"content":null`)
	default:
		w.Lit(`,"content":""`)
	}
}

func (w *writer) texts(all []said) {
	for _, s := range all {
		if s.blank() && len(all) == 1 {
			continue
		}
		w.str(s)
		if s.Marked == "interrupted" {
			w.Lit(escaped(interrupted))
		}
	}
}

// arguments writes the arguments as the model wrote them. What is no JSON
// object was answered with an error; vendors would refuse it, so that an
// empty object stands for it.
func (w *writer) arguments(call said) {
	args := bytes.TrimSpace(call.text)
	switch {
	case len(args) == 0 || args[0] != '{' || !gjson.ValidBytes(args):
		w.Lit("{}")
	case loneSurrogate(args):
		w.Lit(escaped(string(pairSurrogates(args))))
	default:
		w.str(call)
	}
}
