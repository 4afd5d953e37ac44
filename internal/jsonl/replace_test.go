package jsonl

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// A successor takes the place of a file as a whole: numbers are the caller's, the chain is new, what was torn is closed
// off before, and who has the old file open can't write it any more. // RPR-2, LOG-4
func TestReplace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	rest := func(n int) []byte { return fmt.Appendf(nil, `"n":%d}`, n) }
	repaired := func(Damage) []byte { return []byte(`"repaired":true}`) }
	f, err := Create(path, Options{Repaired: repaired})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Append(t.Context(), [][]byte{rest(1), rest(2), rest(3)}, nil); err != nil {
		t.Fatal(err)
	}
	other, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	old, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := old.WriteString(`{"seq":4,"pre`); err != nil {
		t.Fatal(err)
	}
	seen := 0
	f.opts.Visit = func(l Line, raw []byte) error { seen++; return nil }

	failed := errors.New("failed")
	if err := f.Replace(t.Context(), func(s *Successor) error { return errors.Join(s.Add(1, rest(1)), failed) }, nil); !errors.Is(err, failed) {
		t.Error(err)
	}
	if err := f.Replace(t.Context(), func(s *Successor) error { return s.Add(1, rest(1)) }, func() error { return failed }); !errors.Is(err, failed) {
		t.Error(err)
	}
	for _, bad := range []func(*Successor) error{
		func(s *Successor) error { return s.Add(2, rest(1)) },
		func(s *Successor) error { return errors.Join(s.Add(1, rest(1)), s.Add(1, rest(1))) },
		func(s *Successor) error { return s.Add(1, []byte("x")) },
	} {
		if err := f.Replace(t.Context(), bad, nil); !errors.Is(err, ErrShape) {
			t.Error(err)
		}
	}
	if left, err := Leftovers(path); err != nil || len(left) != 0 {
		t.Error(left, err)
	}
	if rep, err := Verify(path, nil); err != nil || rep.Events != 4 || seen != 1 { // the torn line's repair is event 4
		t.Errorf("%+v %v, %d", rep, err, seen)
	}
	if err := f.Replace(t.Context(), func(s *Successor) error { return errors.Join(s.Add(1, rest(1)), s.Add(3, rest(30))) }, nil); err != nil {
		t.Fatal(err)
	}
	rep, err := Verify(path, func(f *File, l Line, _ []byte) error { f.AllowGaps(); return nil })
	if err != nil || rep.Events != 2 || len(rep.Damage) > 0 || rep.Piece != 0 {
		t.Errorf("%+v %v", rep, err)
	}
	for _, h := range []*File{f, other} {
		if _, err := h.Append(t.Context(), [][]byte{rest(9)}, nil); !errors.Is(err, ErrGone) {
			t.Errorf("the old file is written: %v", err)
		}
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Error(st.Mode(), err)
	}
}
