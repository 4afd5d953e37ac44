package session

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// spillAt is where a list moves to the body: with the rest of its event it
// might outgrow [FactLimit].
const spillAt = 3 << 10

// Spill moves a list that would outgrow a line's facts to the end of the body,
// as JSON, and names it in spilled (LOG-12). [Decode] puts a reply's parts and
// a plan's items back; a recipe is read where it is needed ([RequestSent.Steps]).
// The lists of other events are moved by [EncodeRest], when they have to be.
func Spill(f Fact) (Fact, error) {
	var list any
	switch ev := f.Event.(type) {
	case ReplyCompleted:
		list = ev.Parts
	case PlanChanged:
		list = ev.Items
	case RequestSent:
		list = ev.Recipe
	default:
		return f, nil
	}
	b, err := json.Marshal(list)
	if err != nil {
		return f, fmt.Errorf("encode %s: %w", Name(f.Event), err)
	}
	if len(b) <= spillAt {
		return f, nil
	}
	at := &Text{B: len(f.Body), MediaType: "application/json"}
	switch ev := f.Event.(type) {
	case ReplyCompleted:
		ev.Parts, ev.Spilled = nil, at
		f.Event = ev
	case PlanChanged:
		ev.Items, ev.Spilled = nil, at
		f.Event = ev
	case RequestSent:
		ev.Recipe, ev.Spilled = nil, at
		f.Event = ev
	}
	if _, ok := f.Event.(RequestSent); ok {
		f.Body = append(f.Body[:len(f.Body):len(f.Body)], Part{Bytes: b, MediaType: "application/json"})
	} else {
		f.Body = append(f.Body[:len(f.Body):len(f.Body)], pieces(b)...)
	}
	return f, nil
}

// pieces are body entries that together hold JSON which must be found in its
// line: no one of them is moved to the content store, which a fold never asks.
func pieces(b []byte) []Part {
	var all []Part
	for len(b) > InlineLimit {
		n := InlineLimit
		for !utf8.RuneStart(b[n]) {
			n--
		}
		all, b = append(all, Part{Bytes: b[:n], MediaType: "application/json"}), b[n:]
	}
	return append(all, Part{Bytes: b, MediaType: "application/json"})
}

// joined is what pieces have put into a body, from entry at on.
func joined(body []byte, at int) ([]byte, error) {
	if at < 0 {
		return nil, fmt.Errorf("lists in body entry %d: %w", at, ErrLine)
	}
	var all []byte
	n := 0
	err := eachPart(body, func(i int, v jsontext.Value) (bool, error) {
		n = i + 1
		if i < at {
			return true, nil
		}
		p, err := parsePart(v)
		if err == nil && p.Ref != nil {
			err = fmt.Errorf("the list is a reference: %w", ErrLine)
		}
		all = append(all, p.Bytes...)
		return true, err
	})
	if err == nil && n <= at {
		err = fmt.Errorf("body has no entry %d: %w", at, ErrLine)
	}
	return all, err
}

// spills reports whether events of this name have a field of their own for
// their one list.
func spills(name string) bool {
	return name == "reply.completed" || name == "plan.changed" || name == "request.sent"
}

// shift moves the lists out of facts that are too long: what is left names the
// body entry, n, where they begin, as one object.
func shift(data []byte, n int) (facts []byte, lists []Part, err error) {
	facts, moved := []byte{'{'}, []byte{'{'}
	err = members(data, func(name, v jsontext.Value) {
		if v.Kind() == '[' {
			moved = append(append(append(append(moved, name...), ':'), v...), ',')
		} else {
			facts = append(append(append(append(facts, name...), ':'), v...), ',')
		}
	})
	if err != nil || len(moved) == 1 {
		return data, nil, err
	}
	facts = fmt.Appendf(facts, `"spilled":{"b":%d,"media_type":"application/json"}}`, n)
	moved[len(moved)-1] = '}'
	return facts, pieces(moved), nil
}

// unshift puts lists back that shift has moved. Most facts have none, and are
// returned as they are.
func unshift(data, body []byte) ([]byte, error) {
	if !bytes.Contains(data, []byte(`"spilled"`)) {
		return data, nil
	}
	whole := []byte{'{'}
	var at *Text
	put := func(name, v jsontext.Value) {
		whole = append(append(append(append(whole, name...), ':'), v...), ',')
	}
	var bad error
	if err := members(data, func(name, v jsontext.Value) {
		if string(name) == `"spilled"` {
			bad = json.Unmarshal(v, &at)
		} else {
			put(name, v)
		}
	}); err != nil || bad != nil || at == nil {
		return data, bad // what is no object is told of by whoever decodes it
	}
	lists, err := joined(body, at.B)
	if err == nil {
		err = members(lists, put)
	}
	if err != nil {
		return nil, fmt.Errorf("spilled: %w", err)
	}
	return append(bytes.TrimSuffix(whole, []byte(",")), '}'), nil
}

// members visits what an object holds, names with their quotes.
func members(object []byte, visit func(name, v jsontext.Value)) error {
	d := jsontext.NewDecoder(bytes.NewBuffer(object))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return fmt.Errorf("no object: %w", ErrLine)
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadValue()
		if err == nil {
			name = name.Clone()
			var v jsontext.Value
			if v, err = d.ReadValue(); err == nil {
				visit(name, v)
			}
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrLine, err)
		}
	}
	if _, err := d.ReadToken(); err != nil || d.InputOffset() != int64(len(object)) {
		return fmt.Errorf("bytes after an object: %w", ErrLine)
	}
	return nil
}

// unspill puts back the lists that a fold needs. The event is then what it was
// before [Spill]: whoever recorded it and whoever reads it hold the same state.
func unspill(e Event, body []byte) (Event, error) {
	var at *Text
	var into func(b []byte) error
	switch ev := e.(type) {
	case ReplyCompleted:
		at = ev.Spilled
		ev.Spilled = nil
		into = func(b []byte) error { err := json.Unmarshal(b, &ev.Parts); e = ev; return err }
	case PlanChanged:
		at = ev.Spilled
		ev.Spilled = nil
		into = func(b []byte) error { err := json.Unmarshal(b, &ev.Items); e = ev; return err }
	}
	if at == nil {
		return e, nil
	}
	b, err := joined(body, at.B)
	if err == nil {
		err = into(b)
	}
	return e, err
}

// Steps is the recipe of a request, given the bytes of the body entry that
// Spilled names, where it names one.
func (r RequestSent) Steps(spilled []byte) ([]Step, error) {
	if r.Spilled == nil {
		return r.Recipe, nil
	}
	var steps []Step
	if err := json.Unmarshal(jsontext.Value(spilled), &steps); err != nil {
		return nil, fmt.Errorf("recipe: %w: %w", ErrLine, err)
	}
	return steps, nil
}
