package session

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// A purge writes lines anew (RPR-2). What it does not mean to change stays byte
// for byte: unknown keys, unknown events, the escaping.

// Envelop is [Scan], for lines too whose keys or spacing are not ours.
func Envelop(line []byte) (Envelope, error) {
	if e, ok := Scan(line); ok {
		return e, nil
	}
	return scanLoose(line)
}

// Each visits the entries of the body, in order. One of a shape that only a
// newer program knows has an error.
func (e Envelope) Each(visit func(i int, p Part, err error) error) error {
	return eachPart(e.Body, func(i int, v jsontext.Value) (bool, error) {
		p, err := parsePart(v)
		return true, visit(i, p, err)
	})
}

// Rest is the line of e without seq and prev, in the canonical form, with other
// facts, where data is not nil, and other body entries, by their places. Parts of
// more than InlineLimit bytes are refused.
func (e Envelope) Rest(data []byte, swap map[int]Part) ([]byte, error) {
	if data == nil {
		data = e.Data
	}
	b := make([]byte, 0, len(e.Data)+len(e.Body)+256)
	b = AppendQuoted(append(b, `"branch":`...), e.Branch)
	b = AppendQuoted(append(b, `,"at":`...), e.At)
	b = AppendQuoted(append(b, `,"type":`...), e.Type)
	if e.Must {
		b = append(b, `,"must":true`...)
	}
	b = append(append(b, `,"data":`...), data...)
	if e.Body == nil {
		return append(b, '}'), nil
	}
	b = append(b, `,"body":[`...)
	used := 0
	err := eachPart(e.Body, func(i int, v jsontext.Value) (bool, error) {
		if i > 0 {
			b = append(b, ',')
		}
		p, ok := swap[i]
		if !ok {
			b = append(b, v...)
			return true, nil
		}
		used++
		var err error
		b, err = appendPart(b, p)
		return true, err
	})
	if err != nil {
		return nil, err
	}
	if used < len(swap) {
		return nil, fmt.Errorf("body has fewer entries than are changed: %w", ErrLine)
	}
	// Keys that a newer program puts behind the body follow it.
	return append(append(append(b, ']'), behind(e.Body)...), '}'), nil
}

// behind is what stands behind the list that a body begins with.
func behind(body []byte) []byte {
	d := jsontext.NewDecoder(bytes.NewBuffer(body))
	if err := d.SkipValue(); err != nil {
		return nil
	}
	return body[d.InputOffset():]
}

// SetFacts returns facts with other values for some of their keys, in place; nil
// takes a key out. A key that is not there is added at the end.
func SetFacts(data []byte, set map[string][]byte) ([]byte, error) {
	out := []byte{'{'}
	add := func(name, v []byte) { out = append(append(append(append(out, name...), ':'), v...), ',') }
	there := map[string]bool{}
	err := members(data, func(name, v jsontext.Value) {
		key, err := jsontext.AppendUnquote(nil, name)
		if now, ok := set[string(key)]; err == nil && ok {
			if there[string(key)] = true; now == nil {
				return
			}
			v = now
		}
		add(name, v)
	})
	if err != nil {
		return nil, err
	}
	for _, key := range slices.Sorted(maps.Keys(set)) {
		if v := set[key]; v != nil && !there[key] {
			add(AppendQuoted(nil, []byte(key)), v)
		}
	}
	return append(bytes.TrimSuffix(out, []byte(",")), '}'), nil
}
