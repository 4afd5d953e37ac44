package jsonl

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ten is a file of ten events, long enough apart to be told by line.
func ten(t failer, path string) [][]byte {
	t.Helper()
	w := create(t, path, Options{Policy: Never})
	for i := range 10 {
		w.append(fmt.Sprint("k", i+1))
	}
	w.f.Close()
	return bytes.SplitAfter(read(t, path), []byte("\n"))[:10]
}

func TestDamage(t *testing.T) { // LOG-4, LOG-7, case SES-01
	type found struct {
		Kind Kind
		Line int
	}
	all := []string{"k1", "k2", "k3", "k4", "k5", "k6", "k7", "k8", "k9", "k10"}
	without := func(out ...int) (kinds []string) {
		for i, k := range all {
			if !strings.Contains(fmt.Sprint(out), fmt.Sprint(i+1)) {
				kinds = append(kinds, k)
			}
		}
		return kinds
	}
	for _, c := range []struct {
		name string
		do   func(l [][]byte) [][]byte
		want []found
		bad  func(l [][]byte) int64 // the first bad byte, of the lines as they then are
		see  []string
	}{
		{"cut in half, newline kept", func(l [][]byte) [][]byte {
			l[3] = append(l[3][:len(l[3])/2:len(l[3])/2], '\n')
			return l
		}, []found{{Torn, 4}}, func(l [][]byte) int64 { return at(l, 3) }, without(4)},
		{"two in a row", func(l [][]byte) [][]byte {
			l[3], l[4] = []byte("x\n"), []byte("\n")
			return l
		}, []found{{Foreign, 4}, {Foreign, 5}}, func(l [][]byte) int64 { return at(l, 3) }, without(4, 5)},
		{"line 1 gone bad", func(l [][]byte) [][]byte {
			l[0] = []byte("garbage\n")
			return l
		}, []found{{Foreign, 1}}, func(l [][]byte) int64 { return 0 }, without(1)},
		{"line 1 cut in half, newline kept", func(l [][]byte) [][]byte {
			l[0] = append(l[0][:50:50], '\n')
			return l
		}, []found{{Torn, 1}}, func(l [][]byte) int64 { return 0 }, without(1)},
		{
			"a line left out", func(l [][]byte) [][]byte { return append(l[:4:4], l[5:]...) },
			[]found{{Gap, 5}},
			func(l [][]byte) int64 { return at(l, 4) }, without(5),
		},
		{
			"a line twice", func(l [][]byte) [][]byte { return append(l[:5:5], l[4:]...) },
			[]found{{Foreign, 6}},
			func(l [][]byte) int64 { return at(l, 5) }, all,
		},
		{"a line put in", func(l [][]byte) [][]byte {
			return append(l[:5:5], append([][]byte{[]byte("{\"hello\":1}\n")}, l[5:]...)...)
		}, []found{{Foreign, 6}}, func(l [][]byte) int64 { return at(l, 5) }, all},
		{"edited by hand", func(l [][]byte) [][]byte {
			l[5] = bytes.Replace(l[5], []byte("main"), []byte("Main"), 1)
			return l
		}, []found{{Chain, 6}}, func(l [][]byte) int64 { return at(l, 5) }, all},
		{"two lines swapped", func(l [][]byte) [][]byte {
			l[5], l[6] = l[6], l[5]
			return l
		}, []found{{Gap, 6}, {Foreign, 7}}, func(l [][]byte) int64 { return at(l, 5) }, without(6)},
		{"line 1 of another chain", func(l [][]byte) [][]byte {
			l[0] = bytes.Replace(l[0], []byte("0000"), []byte("1111"), 1)
			return l
		}, []found{{Chain, 1}}, func(l [][]byte) int64 { return 0 }, all},
		{"last line edited", func(l [][]byte) [][]byte {
			l[9] = bytes.Replace(l[9], []byte(`"n":1`), []byte(`"n":1,,`), 1)
			return l
		}, nil, func(l [][]byte) int64 { return at(l, 9) + int64(bytes.Index(l[9], []byte(",,"))) + 1 }, all},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.jsonl")
			lines := c.do(ten(t, path))
			left := bytes.Join(lines, nil)
			write(t, path, left)

			v, err := Verify(path, nil)
			if err != nil || v.Bad() != c.bad(lines) {
				t.Errorf("verify: first bad byte %d, not %d (%v, %+v)", v.Bad(), c.bad(lines), err, v.Damage)
			}
			r := open(t, path, Options{})
			var got []found
			for _, d := range r.f.Damage() {
				got = append(got, found{d.Kind, d.Line})
				if d.SHA256 != hexOf(left[d.From:d.To]) {
					t.Errorf("%+v: another hash", d)
				}
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Fatal(d)
			}
			if d := cmp.Diff(c.see, events(r.seen)); d != "" {
				t.Error(d)
			}
			if c.want == nil { // only verify sees it
				return
			}
			if _, err := r.f.Append(ctx, rests("x"), nil); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), fmt.Sprintf("line %d", c.want[0].Line)) {
				t.Errorf("not refused: %v", err)
			}
			if !bytes.Equal(left, read(t, path)) {
				t.Fatal("the file was written to")
			}
			if _, err := r.f.Repair(ctx); err != nil || len(r.f.Damage()) > 0 {
				t.Fatalf("%v, %+v", err, r.f.Damage())
			}
			r.append("after")
			r.f.Close()
			if !bytes.HasPrefix(read(t, path), left) {
				t.Fatal("repair changed old bytes")
			}
			if d := cmp.Diff(append(c.see, "after"), events(clean(t, path))); d != "" {
				t.Error(d)
			}
		})
	}
}

func at(lines [][]byte, n int) int64 { return int64(len(bytes.Join(lines[:n], nil))) }

func TestForgiveChecksTheBytes(t *testing.T) { // LOG-7
	path := filepath.Join(t.TempDir(), "a.jsonl")
	lines := ten(t, path)
	lines[3] = []byte("xxxx\n")
	write(t, path, bytes.Join(lines, nil))
	r := open(t, path, Options{})
	d := r.f.Damage()[0]
	for _, bad := range []error{
		r.f.Forgive(d.From, d.To, hexOf([]byte("yyyy"))),
		r.f.Forgive(d.To, d.From, d.SHA256),
		r.f.Forgive(-1, d.To, d.SHA256),
		r.f.Forgive(d.From, 1<<40, d.SHA256),
	} {
		if !errors.Is(bad, ErrChanged) {
			t.Error(bad)
		}
	}
	if err := r.f.Forgive(d.From-5, d.From-1, hexOf(lines[2][len(lines[2])-5:len(lines[2])-1])); err != nil || len(r.f.Damage()) != 1 {
		t.Errorf("another range: %v, %+v", err, r.f.Damage())
	}
	if err := r.f.Forgive(d.From, d.To, d.SHA256); err != nil || len(r.f.Damage()) != 0 {
		t.Errorf("%v, %+v", err, r.f.Damage())
	}
}

func TestRepairedBytesEditedLater(t *testing.T) { // LOG-4: a repair is no licence
	path := filepath.Join(t.TempDir(), "a.jsonl")
	sample(t, path)
	now := resume(t, path, read(t, path)[:len(read(t, path))-9], "new")
	torn := bytes.Index(now, []byte(`"k3"`))
	now[torn+1] = 'K'
	write(t, path, now)
	if _, err := Verify(path, forgiveAnd(func(Line, []byte) {})); !errors.Is(err, ErrChanged) {
		t.Error(err)
	}
}

func TestUnreadableToTheOwner(t *testing.T) { // LOG-7: an unknown reference is damage too
	path := filepath.Join(t.TempDir(), "a.jsonl")
	lines := ten(t, path)
	v, err := Verify(path, func(_ *File, l Line, _ []byte) error {
		if l.Seq == 4 {
			return fmt.Errorf("no such branch: %w", ErrUnreadable)
		}
		return nil
	})
	if err != nil || len(v.Damage) != 1 || v.Damage[0].Line != 4 || v.Bad() != at(lines, 3) {
		t.Errorf("%v, %+v", err, v)
	}
}

func TestGapsOfAnExport(t *testing.T) { // BRN-9
	path := filepath.Join(t.TempDir(), "a.jsonl")
	var b []byte
	var prev sum
	for _, seq := range []uint64{1, 2, 7, 9} {
		line := append(appendHead(nil, seq, prev), rest("k", "")...)
		prev = sumOf(line)
		b = append(append(b, line...), '\n')
	}
	write(t, path, b)
	if v, err := Verify(path, nil); err != nil || len(v.Damage) != 2 {
		t.Errorf("undeclared gaps: %v, %+v", err, v)
	}
	v, err := Verify(path, func(f *File, l Line, _ []byte) error {
		f.AllowGaps()
		return nil
	})
	if err != nil || len(v.Damage) != 0 || v.Events != 4 {
		t.Errorf("declared gaps: %v, %+v", err, v)
	}
}

func TestNotALog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.txt")
	write(t, path, bytes.Repeat([]byte("words\n"), maxDamage+1))
	f, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.CatchUp(nil); !errors.Is(err, ErrDamaged) {
		t.Error(err)
	}
}

func TestChainIsCheckedFromTheLastVerifiedOn(t *testing.T) { // LOG-7
	path := filepath.Join(t.TempDir(), "a.jsonl")
	w := create(t, path, Options{})
	w.append("one", "two")
	r := open(t, path, Options{})
	line := append(appendHead(nil, 3, sum{1}), rest("three", "")...)
	write(t, path, append(append(read(t, path), line...), '\n'))
	if err := r.f.CatchUp(nil); err != nil {
		t.Fatal(err)
	}
	if d := r.f.Damage(); len(d) != 1 || d[0].Kind != Chain || d[0].Line != 2 {
		t.Errorf("%+v", d)
	}
}
