package jsonl

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// hidden is a file with damage that a quick reading does not see: a break of the
// chain far from the end, and a last line that is no JSON though it is closed.
func hidden(t failer, path string) []byte {
	t.Helper()
	w := create(t, path, Options{Policy: Never})
	for i := range 10 {
		w.take(w.f.Append(ctx, [][]byte{rest(fmt.Sprint("k", i+1), strings.Repeat("x", 20_000))}, nil))
	}
	w.f.Close()
	lines := bytes.SplitAfter(read(t, path), []byte("\n"))
	lines[1] = bytes.Replace(lines[1], []byte("xx"), []byte("xy"), 1)
	lines[9] = bytes.Replace(lines[9], []byte(`"n":1`), []byte(`"n":1,,`), 1)
	left := bytes.Join(lines, nil)
	write(t, path, left)
	return left
}

func TestRepairOfWhatOnlyVerifySees(t *testing.T) { // LOG-4, LOG-7
	path := filepath.Join(t.TempDir(), "a.jsonl")
	left := hidden(t, path)
	v, err := Verify(path, nil)
	if err != nil || len(v.Damage) != 2 || v.Damage[0].Kind != Chain || v.Damage[1].Line != 10 {
		t.Fatalf("%v, %+v", err, v.Damage)
	}
	r := open(t, path, Options{})
	if d := r.f.Damage(); len(d) != 0 {
		t.Fatalf("a quick reading sees it: %+v", d)
	}
	named, err := r.f.Repair(ctx, v.Damage...)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(v.Damage, named); d != "" {
		t.Error(d)
	}
	r.append("after")
	if !bytes.HasPrefix(read(t, path), left) {
		t.Fatal("repair changed old bytes")
	}
	// The numbers go on where both readings agree, though only one of them takes line 10 for an event.
	var seen []string
	v, err = Verify(path, forgiveAnd(func(l Line, raw []byte) { seen = append(seen, fmt.Sprintf("%d:%s", l.Seq, kindOf(raw))) }))
	if err != nil || len(v.Damage) != 0 {
		t.Errorf("%v, %+v", err, v.Damage)
	}
	if d := cmp.Diff([]string{"9:k9", "11:log.repaired", "12:log.repaired", "13:after"}, seen[8:]); d != "" {
		t.Error(d)
	}
	if q := open(t, path, Options{ReadOnly: true}); len(q.f.Damage()) != 0 || q.f.Last().Seq != 13 {
		t.Errorf("%+v, last %v", q.f.Damage(), q.f.Last())
	}
	if named, err := r.f.Repair(ctx); err != nil || named != nil {
		t.Errorf("there is nothing left to name: %v %+v", err, named)
	}
}

func TestRepairOfBytesThatMovedOn(t *testing.T) { // LOG-7
	path := filepath.Join(t.TempDir(), "a.jsonl")
	left := hidden(t, path)
	v, err := Verify(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := open(t, path, Options{})
	v.Damage[1].SHA256 = hexOf([]byte("something else"))
	if named, err := r.f.Repair(ctx, v.Damage...); !errors.Is(err, ErrChanged) || named != nil {
		t.Errorf("%v %+v", err, named)
	}
	if !bytes.Equal(left, read(t, path)) {
		t.Error("something was written")
	}
}

func TestRepairOfTheEnd(t *testing.T) { // LOG-3, LOG-7
	path := filepath.Join(t.TempDir(), "a.jsonl")
	all := sample(t, path)
	last := bytes.LastIndexByte(all[:len(all)-1], '\n') + 1
	for _, c := range []struct {
		name  string
		left  []byte
		named []Damage
		added string
	}{
		{"whole", all, nil, ""},
		{"but for its newline", all[:len(all)-1], nil, "\n"},
		{"broken off", all[:len(all)-9], []Damage{{
			Kind: Torn, Line: 3, Seq: 3, From: int64(last), To: int64(len(all) - 9), SHA256: hexOf(all[last : len(all)-9]), Bad: int64(last),
		}}, "\n{\"seq\":3,"},
	} {
		write(t, path, c.left)
		r := open(t, path, Options{})
		named, err := r.f.Repair(ctx)
		if d := cmp.Diff(c.named, named); d != "" || err != nil {
			t.Errorf("%s: %v %s", c.name, err, d)
		}
		added, ok := bytes.CutPrefix(read(t, path), c.left)
		if !ok || !strings.HasPrefix(string(added), c.added) || c.named == nil && string(added) != c.added {
			t.Errorf("%s: added %q, want %q", c.name, added, c.added)
		}
		clean(t, path)
	}
}

func TestRepairIsSeenByOthers(t *testing.T) { // LOG-6, LOG-7
	path := filepath.Join(t.TempDir(), "a.jsonl")
	lines := ten(t, path)
	lines[3] = append(lines[3][:20:20], '\n')
	write(t, path, bytes.Join(lines, nil))
	a, b := open(t, path, Options{}), open(t, path, Options{})
	if _, err := a.f.Append(ctx, rests("x"), nil); !errors.Is(err, ErrDamaged) {
		t.Fatal(err)
	}
	if named, err := b.f.Repair(ctx); err != nil || len(named) != 1 || named[0].Line != 4 {
		t.Fatalf("%v %+v", err, named)
	}
	if named, err := a.f.Repair(ctx); err != nil || named != nil { // it has been done meanwhile
		t.Errorf("%v %+v", err, named)
	}
	a.append("x")
	b.append("y")
	if seen := clean(t, path); !strings.HasPrefix(strings.Join(seen[9:], " "), "11:log.repaired 12:x 13:y") {
		t.Errorf("%q", seen)
	}
}

// A crash in the middle of a repair leaves a file that a repair makes whole.
func TestRepairCutAtEveryByte(t *testing.T) { // REL-1, LOG-7
	path := filepath.Join(t.TempDir(), "a.jsonl")
	lines := ten(t, path)
	lines[2], lines[5] = append(lines[2][:20:20], '\n'), []byte("hello\n")
	left := bytes.Join(lines, nil)
	write(t, path, left)
	r := open(t, path, Options{})
	if named, err := r.f.Repair(ctx); err != nil || len(named) != 2 {
		t.Fatalf("%v %+v", err, named)
	}
	whole := read(t, path)
	for n := len(left); n <= len(whole); n++ {
		write(t, path, whole[:n])
		r := open(t, path, Options{})
		if _, err := r.f.Repair(ctx); err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		r.append("after")
		r.f.Close()
		if !bytes.HasPrefix(read(t, path), whole[:n]) {
			t.Fatalf("cut at %d: old bytes changed", n)
		}
		if seen := events(clean(t, path)); len(seen) != 9 {
			t.Fatalf("cut at %d: %q", n, seen)
		}
	}
}

func TestRepairNeedsItsLock(t *testing.T) { // LOG-6, LOG-14
	path := filepath.Join(t.TempDir(), "a.jsonl")
	lines := ten(t, path)
	lines[3] = []byte("hello\n")
	write(t, path, bytes.Join(lines, nil))
	holder := open(t, path, Options{})
	w, err := holder.f.writer()
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := tryLock(w); !ok || err != nil {
		t.Fatal(ok, err)
	}
	defer runtime.KeepAlive(w) // a file that is collected is closed, and lets go
	r := open(t, path, Options{LockWait: -1})
	if _, err := r.f.Repair(ctx); !errors.Is(err, ErrLocked) {
		t.Error(err)
	}
	reader := open(t, path, Options{ReadOnly: true})
	if _, err := reader.f.Repair(ctx); !errors.Is(err, ErrReadOnly) {
		t.Error(err)
	}
	if !bytes.Equal(bytes.Join(lines, nil), read(t, path)) {
		t.Error("something was written")
	}
}
