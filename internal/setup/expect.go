package setup

import "github.com/go-json-experiment/json/jsontext"

// Raw is the value at a path as the user's file had it when it was read; nil where it has none.
func (s *Setup) Raw(at Path) jsontext.Value {
	if s.doc == nil {
		return nil
	}
	return valueAt(s.doc, at)
}

// Expect is a *Conflict where the value at a path is not the one that was seen, nil for none: an edit that was made while
// looking at it would undo somebody else's (SET-4).
func (d *Draft) Expect(at Path, seen jsontext.Value) error {
	if now := valueAt(d.base, at); !same(now, seen) {
		return &Conflict{Path: at, Was: seen, Now: now}
	}
	return nil
}
