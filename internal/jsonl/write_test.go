package jsonl

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// A file whose numbers jump is whole where its first line says that it may, and
// what its lines say is what was given.
func TestWriterMakesAWholeFile(t *testing.T) { // BRN-9
	defer syscall.Umask(syscall.Umask(0))
	path := filepath.Join(t.TempDir(), "a", "b", "x.jsonl")
	rests := []string{`"type":"first"}`, `"type":"second"}`, `"type":"third"}`}
	seqs := []uint64{1, 7, 8}
	err := Place(path, func(w io.Writer) error {
		lines := NewWriter(w)
		for i, rest := range rests {
			if err := lines.Add(seqs[i], []byte(rest)); err != nil {
				return err
			}
		}
		for _, bad := range []error{lines.Add(8, []byte(rests[0])), lines.Add(9, []byte("x")), lines.Add(9, []byte("\"a\n\"}"))} {
			if !errors.Is(bad, ErrShape) {
				t.Errorf("%v", bad)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for p, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if st, err := os.Stat(p); err != nil || st.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", p, st.Mode(), err)
		}
	}
	var got []string
	var at []uint64
	rep, err := Verify(path, func(f *File, l Line, raw []byte) error {
		f.AllowGaps()
		rest, err := Rest(raw)
		got, at = append(got, string(rest)), append(at, l.Seq)
		return err
	})
	if err != nil || len(rep.Damage) > 0 || !slices.Equal(got, rests) || !slices.Equal(at, seqs) {
		t.Errorf("%v at %v: %+v, %v", got, at, rep, err)
	}
	if _, err := Rest([]byte(`{"seq":1}`)); !errors.Is(err, ErrShape) {
		t.Error(err)
	}
}

// What can't be filled is not there, and what was there stays.
func TestPlaceIsAllOrNothing(t *testing.T) { // LOG-8
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	fails := errors.New("no")
	fill := func(text string, err error) error {
		return Place(path, func(w io.Writer) error {
			if _, werr := io.WriteString(w, text); werr != nil {
				return werr
			}
			return err
		})
	}
	if err := fill("half", fails); !errors.Is(err, fails) {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	if err := errors.Join(fill("whole", nil), fill("again", nil)); err != nil {
		t.Error(err)
	}
	if err := fill("half", fails); !errors.Is(err, fails) {
		t.Error(err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "again" {
		t.Errorf("%q, %v", b, err)
	}
}
