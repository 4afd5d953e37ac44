package session

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// spillAt is where a list moves to the body: with the rest of its event it
// might outgrow [FactLimit].
const spillAt = 3 << 10

// Spill moves a list that would outgrow a line's facts to the end of the body,
// as JSON, and names it in spilled (LOG-12). [Decode] puts a reply's parts and
// a plan's items back; a recipe is read where it is needed ([RequestSent.Steps]).
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
	f.Body = append(f.Body[:len(f.Body):len(f.Body)], Part{Bytes: b, MediaType: "application/json"})
	return f, nil
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
	p, err := PartOf(body, at.B)
	if err == nil && p.Ref != nil {
		err = fmt.Errorf("the list is a reference: %w", ErrLine)
	}
	if err == nil {
		err = into(p.Bytes)
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
