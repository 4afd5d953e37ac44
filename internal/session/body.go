package session

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Part decodes entry i of the body.
func (e Entry) Part(i int) (Part, error) {
	return PartOf(e.body, i)
}

// Parts decodes the whole body.
func (e Entry) Parts() ([]Part, error) {
	var all []Part
	err := eachPart(e.body, func(_ int, v jsontext.Value) (bool, error) {
		p, err := parsePart(v)
		if err == nil {
			all = append(all, p)
		}
		return true, err
	})
	return all, err
}

// PartOf decodes entry i of a body, the raw JSON list of an [Envelope].
func PartOf(body []byte, i int) (p Part, err error) {
	found := false
	err = eachPart(body, func(j int, v jsontext.Value) (bool, error) {
		if j != i {
			return true, nil
		}
		found = true
		p, err = parsePart(v)
		return false, err
	})
	if err == nil && !found {
		err = fmt.Errorf("body has no entry %d: %w", i, ErrLine)
	}
	return p, err
}

func eachPart(body []byte, visit func(int, jsontext.Value) (bool, error)) error {
	if body == nil {
		return nil
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(body))
	if _, err := d.ReadToken(); err != nil {
		return fmt.Errorf("body: %w: %w", ErrLine, err)
	}
	for i := 0; d.PeekKind() != ']'; i++ {
		v, err := d.ReadValue()
		if err != nil {
			return fmt.Errorf("body %d: %w: %w", i, ErrLine, err)
		}
		if more, err := visit(i, v); err != nil || !more {
			return err
		}
	}
	// Keys that a newer program puts behind the body may follow.
	if _, err := d.ReadToken(); err != nil {
		return fmt.Errorf("body: %w: %w", ErrLine, err)
	}
	if after := body[d.InputOffset():]; len(after) > 0 && after[0] != ',' {
		return fmt.Errorf("body: bytes after its end: %w", ErrLine)
	}
	return nil
}

func parsePart(v jsontext.Value) (Part, error) {
	if v.Kind() == '"' {
		b, err := jsontext.AppendUnquote([]byte{}, v)
		if err != nil {
			return Part{}, fmt.Errorf("body text: %w: %w", ErrLine, err)
		}
		return Part{Bytes: b}, nil
	}
	var w struct {
		B64 []byte `json:"b64"`
		Ref *Ref   `json:"ref"`
	}
	if err := json.Unmarshal(v, &w); err != nil {
		return Part{}, fmt.Errorf("body entry: %w: %w", ErrLine, err)
	}
	if w.Ref == nil && w.B64 == nil {
		return Part{}, fmt.Errorf("body entry: neither text, b64 nor ref: %w", ErrLine)
	}
	return Part{Bytes: w.B64, Ref: w.Ref}, nil
}

// Refs calls visit for every reference that a body holds, in events that this
// program does not know too: a reference has one shape (LOG-12).
func (e Envelope) Refs(visit func(Ref)) error {
	if !bytes.Contains(e.Body, []byte(`"ref"`)) {
		return nil
	}
	return eachPart(e.Body, func(_ int, v jsontext.Value) (bool, error) {
		if v.Kind() != '{' {
			return true, nil
		}
		// An entry of a shape that only a newer program knows is no reference.
		var w struct {
			Ref *Ref `json:"ref"`
		}
		if err := json.Unmarshal(v, &w); err != nil {
			return false, fmt.Errorf("body entry: %w: %w", ErrLine, err)
		}
		if w.Ref != nil {
			visit(*w.Ref)
		}
		return true, nil
	})
}
