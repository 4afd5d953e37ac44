package jsonl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var ctx = context.Background()

// rest is the caller's part of a line.
func rest(kind, body string) []byte {
	b, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return fmt.Appendf(nil, `"branch":"main","type":%q,"data":{"a":{"n":1}},"body":[%s]}`, kind, b)
}

func rests(kinds ...string) (out [][]byte) {
	for _, k := range kinds {
		out = append(out, rest(k, "{}"))
	}
	return out
}

func repaired(d Damage) []byte {
	return fmt.Appendf(nil, `"branch":"main","type":"log.repaired","data":{"kind":%q,"from":%d,"to":%d,"sha256":%q,"line":%d}}`,
		d.Kind, d.From, d.To, d.SHA256, d.Line)
}

// kindOf is the type of a line, by the shape that rest gives it.
func kindOf(raw []byte) string {
	_, after, _ := bytes.Cut(raw, []byte(`"type":"`))
	kind, _, _ := bytes.Cut(after, []byte(`"`))
	return string(kind)
}

// A reader is an owner of a File: it keeps the kinds of what it saw, and forgives
// what the file says was repaired.
type reader struct {
	t    failer
	f    *File
	seen []string // seq:kind
}

type failer interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

func (r *reader) visit(l Line, raw []byte) error {
	if r.f == nil {
		return errors.New("visit during Open")
	}
	r.seen = append(r.seen, fmt.Sprintf("%d:%s", l.Seq, kindOf(raw)))
	return forgive(r.f, l, raw)
}

func forgive(f *File, _ Line, raw []byte) error {
	if kindOf(raw) != "log.repaired" {
		return nil
	}
	var e struct {
		Data struct {
			From, To int64
			SHA256   string
		}
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		return err
	}
	return f.Forgive(e.Data.From, e.Data.To, e.Data.SHA256)
}

func (r *reader) take(l []Line, err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, l := range l {
		raw, err := r.f.Read(l)
		if err != nil {
			r.t.Fatal(err)
		}
		r.seen = append(r.seen, fmt.Sprintf("%d:%s", l.Seq, kindOf(raw)))
	}
}

func (r *reader) append(kinds ...string) {
	r.t.Helper()
	r.take(r.f.Append(ctx, rests(kinds...), nil))
}

func open(t failer, path string, o Options) *reader {
	t.Helper()
	r := &reader{t: t}
	o.Visit = r.visit
	if o.Repaired == nil {
		o.Repaired = repaired
	}
	if o.Policy == "" {
		o.Policy = Never
	}
	var err error
	if r.f, err = Open(path, o); err != nil {
		t.Fatal(err)
	}
	if err := r.f.CatchUp(nil); err != nil {
		t.Fatal(err)
	}
	return r
}

func create(t failer, path string, o Options) *reader {
	t.Helper()
	r := &reader{t: t}
	o.Visit, o.Repaired = r.visit, repaired
	var err error
	if r.f, err = Create(path, o); err != nil {
		t.Fatal(err)
	}
	return r
}

func read(t failer, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func write(t failer, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// clean checks the file to its last byte, and that a quick reading sees the same.
func clean(t failer, path string) (seen []string) {
	t.Helper()
	r, err := Verify(path, forgiveAnd(func(l Line, raw []byte) { seen = append(seen, fmt.Sprintf("%d:%s", l.Seq, kindOf(raw))) }))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Damage) > 0 || r.Piece != 0 {
		t.Fatalf("%+v in\n%s", r, read(t, path))
	}
	q := open(t, path, Options{ReadOnly: true})
	defer q.f.Close()
	if d := cmp.Diff(seen, q.seen); d != "" || len(q.f.Damage()) > 0 {
		t.Fatalf("verify and a quick reading differ (damage %+v):\n%s\n%s", q.f.Damage(), d, read(t, path))
	}
	return seen
}

func forgiveAnd(see func(Line, []byte)) func(*File, Line, []byte) error {
	return func(f *File, l Line, raw []byte) error {
		see(l, raw)
		return forgive(f, l, raw)
	}
}

// sample is a file whose lines have braces where a cut is easily misread.
func sample(t failer, path string) []byte {
	t.Helper()
	w := create(t, path, Options{Policy: Never})
	for i, body := range []string{"hello", `{"a":{}} }`, "x\ny\u2028\x00é}"} {
		w.take(w.f.Append(ctx, [][]byte{rest(fmt.Sprintf("k%d", i+1), body)}, nil))
	}
	w.f.Close()
	return read(t, path)
}

func TestLineFormat(t *testing.T) { // LOG-2, events.md "The line"
	path := filepath.Join(t.TempDir(), "a.jsonl")
	w := create(t, path, Options{})
	w.append("one", "two")
	one := `{"seq":1,"prev":"00000000000000000000000000000000","branch":"main","type":"one","data":{"a":{"n":1}},"body":["{}"]}`
	two := fmt.Sprintf(`{"seq":2,"prev":"%s","branch":"main","type":"two","data":{"a":{"n":1}},"body":["{}"]}`, hexOf([]byte(one))[:32])
	if d := cmp.Diff(one+"\n"+two+"\n", string(read(t, path))); d != "" {
		t.Fatal(d)
	}
	if got, want := w.f.Last(), (Line{2, int64(len(one)) + 1, len(two)}); got != want {
		t.Fatalf("last %v, want %v", got, want)
	}
}

func TestCutAtEveryByte(t *testing.T) { // case SES-02, REL-1, LOG-3, LOG-7
	path := filepath.Join(t.TempDir(), "a.jsonl")
	all := sample(t, path)
	for k := range len(all) + 1 {
		now := resume(t, path, all[:k], "new")
		if n := bytes.Count(now, []byte("log.repaired")); n > 1 {
			t.Fatalf("cut at %d: %d repairs of one tear:\n%s", k, n, now)
		}
	}
}

// resume appends to what a crash left, and returns the new file. What was a whole
// event is one still; nothing else is; no byte changed.
func resume(t failer, path string, left []byte, kind string) []byte {
	t.Helper()
	write(t, path, left)
	before := open(t, path, Options{ReadOnly: true})
	before.f.Close()
	if d := before.f.Damage(); len(d) > 0 {
		t.Fatalf("cut at %d: a crash is called damage: %+v\n%s", len(left), d, left)
	}
	r := open(t, path, Options{})
	r.append(kind)
	if err := r.f.CatchUp(nil); err != nil {
		t.Fatal(err)
	}
	r.f.Close()
	now := read(t, path)
	if !bytes.HasPrefix(now, left) {
		t.Fatalf("cut at %d: old bytes changed:\n%s", len(left), now)
	}
	seen := clean(t, path)
	if d := cmp.Diff(seen, r.seen); d != "" {
		t.Fatalf("cut at %d: the writer saw otherwise:\n%s", len(left), d)
	}
	want := events(before.seen)
	if piece := left[bytes.LastIndexByte(left, '\n')+1:]; json.Valid(piece) {
		want = append(want, events([]string{":" + kindOf(piece)})...)
		if !bytes.HasPrefix(now[len(left):], []byte("\n{")) {
			t.Fatalf("cut at %d: a whole event was not kept:\n%s", len(left), now)
		}
	} else if len(piece) > 0 && !bytes.Contains(now[len(left):], []byte("log.repaired")) {
		t.Fatalf("cut at %d: closed off without a word:\n%s", len(left), now)
	}
	want = append(want, kind)
	if d := cmp.Diff(want, events(seen)); d != "" {
		t.Fatalf("cut at %d:\n%s\n%s", len(left), d, now)
	}
	return now
}

// events are the kinds that were seen, without repairs.
func events(seen []string) (kinds []string) {
	for _, s := range seen {
		if _, kind, _ := strings.Cut(s, ":"); kind != "log.repaired" {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

func TestCutTheRepairAtEveryByte(t *testing.T) { // REL-1: a crash while closing off a crash
	path := filepath.Join(t.TempDir(), "a.jsonl")
	all := sample(t, path)
	last := bytes.LastIndexByte(all[:len(all)-1], '\n') + 1
	for _, k := range []int{1, last + 30, len(all) - 3, bytes.LastIndexByte(all[:len(all)-2], '}') + 1} {
		once := resume(t, path, all[:k], "new")
		for j := k; j <= len(once); j++ {
			twice := resume(t, path, once[:j], "newer")
			if j%61 == 0 {
				for i := j; i <= len(twice); i += 11 {
					resume(t, path, twice[:i], "newest")
				}
			}
		}
	}
}

func TestLastLine(t *testing.T) { // case SES-02, LOG-7
	const one = `{"seq":1,"prev":"00000000000000000000000000000000","branch":"main","type":"one"}`
	prev := hexOf([]byte(one))[:32]
	for _, c := range []struct {
		name, left string
		want       []string // "" first: appending is refused
	}{
		{"whole", one, []string{"1:one", "2:new"}},
		{"empty", "", []string{"1:new"}},
		{"zeros of a power cut", one + "\n\x00\x00\x00", []string{"1:one", "2:log.repaired", "3:new"}},
		{"half a character", one + "\n" + `{"seq":2,"prev":"` + prev + `","branch":"` + "\xc3", []string{"1:one", "2:log.repaired", "3:new"}},
		{"JSON, but another chain", one + "\n" + `{"seq":2,"prev":"` + strings.Repeat("0", 32) + `","branch":"main","type":"x"}`, []string{"1:one", "2:log.repaired", "3:new"}},
		{"JSON, but another number", one + "\n" + `{"seq":3,"prev":"` + prev + `","branch":"main","type":"x"}`, []string{"1:one", "2:log.repaired", "3:new"}},
		{"closed like an event, and none", one + "\n" + `{"seq":2,"prev":"` + prev + `","branch":"main"}}`, []string{"1:one", "2:log.repaired", "3:new"}},
		{"another program's words", one + "\nhello", []string{"1:one", "2:log.repaired", "3:new"}},
		{"another program's line", one + "\nhello\n", []string{"", "1:one"}},
		{"a blank line", one + "\n\n", []string{"", "1:one"}},
		{"torn, and a blank line", one + "\n" + `{"seq":2,"pre` + "\n\n", []string{"", "1:one"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.jsonl")
			write(t, path, []byte(c.left))
			r := open(t, path, Options{})
			lines, err := r.f.Append(ctx, rests("new"), nil)
			if c.want[0] == "" {
				if !errors.Is(err, ErrDamaged) || len(r.f.Damage()) == 0 || string(read(t, path)) != c.left {
					t.Fatalf("not refused: %v, %+v", err, r.f.Damage())
				}
				if _, err := r.f.Repair(ctx); err != nil { // and the offer works
					t.Fatal(err)
				}
				r.append("new")
				clean(t, path)
				return
			}
			r.take(lines, err)
			if d := cmp.Diff(c.want, clean(t, path)); d != "" {
				t.Fatal(d)
			}
		})
	}
}

func TestShapeIsChecked(t *testing.T) { // case SES-04
	path := filepath.Join(t.TempDir(), "a.jsonl")
	w := create(t, path, Options{})
	for _, bad := range []string{"", "}", `{"type":"x"}`, `"type":"x"`, "\"type\":\n\"x\"}"} {
		if _, err := w.f.Append(ctx, [][]byte{rest("ok", ""), []byte(bad)}, nil); !errors.Is(err, ErrShape) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if len(read(t, path)) > 0 {
		t.Fatal("something was written")
	}
}

// Several Files, appends of any size, crashes at any byte of a write, refusals:
// what is in the file is what was acknowledged, in order, and old bytes stay.
func TestManyHands(t *testing.T) { // LOG-3, LOG-6, LOG-7, REL-1, REL-3
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		path := filepath.Join(dir, fmt.Sprintf("%x.jsonl", rapid.Uint64().Draw(t, "name")))
		defer os.Remove(path)
		create(t, path, Options{Policy: Never}).f.Close()
		var want []string // the kinds of what was acknowledged
		var old []byte
		n := 0
		hands := map[int]*reader{}
		hand := func() *reader {
			i := rapid.IntRange(0, 2).Draw(t, "hand")
			if hands[i] == nil {
				hands[i] = open(t, path, Options{})
			}
			return hands[i]
		}
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				var batch [][]byte
				var kinds []string
				for range rapid.IntRange(1, 3).Draw(t, "lines") {
					n++
					kinds = append(kinds, fmt.Sprint("k", n))
					batch = append(batch, rest(kinds[len(kinds)-1], rapid.String().Draw(t, "body")))
				}
				h := hand()
				h.take(h.f.Append(ctx, batch, nil))
				want = append(want, kinds...)
			},
			"refuse": func(t *rapid.T) {
				if _, err := hand().f.Append(ctx, rests("no"), func() error { return context.Canceled }); err != context.Canceled {
					t.Fatal(err)
				}
			},
			"crash": func(t *rapid.T) {
				n++
				whole := append(appendHead(nil, 0, sum{}), rest(fmt.Sprint("k", n), "}}")...)
				h := hand()
				h.f.opts.Layer = failing{after: rapid.IntRange(0, len(whole)-1).Draw(t, "after"), err: os.ErrDeadlineExceeded}
				if l, err := h.f.Append(ctx, [][]byte{rest(fmt.Sprint("k", n), "}}")}, nil); err == nil || l != nil {
					t.Fatalf("%v %v", l, err)
				}
				h.f.opts.Layer = Disk{}
			},
			"reopen": func(t *rapid.T) {
				for i, h := range hands {
					h.f.Close()
					delete(hands, i)
				}
			},
			"": func(t *rapid.T) {
				now := read(t, path)
				if !bytes.HasPrefix(now, old) {
					t.Fatal("old bytes changed")
				}
				old = now
				for _, h := range hands {
					if err := h.f.CatchUp(nil); err != nil {
						t.Fatal(err)
					}
					if d := h.f.Damage(); len(d) > 0 {
						t.Fatalf("%+v", d)
					}
				}
			},
		})
		h := hand()
		h.append("end")
		if d := cmp.Diff(append(want, "end"), events(clean(t, path))); d != "" {
			t.Fatal(d)
		}
		for _, h := range hands {
			if err := h.f.CatchUp(nil); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(clean(t, path), h.seen); d != "" {
				t.Fatalf("a hand saw otherwise:\n%s", d)
			}
			h.f.Close()
		}
	})
}

// failing is a disk that takes a few more bytes and then fails.
type failing struct {
	Disk
	after int
	err   error
}

func (l failing) Write(f *os.File, p []byte) (int, error) {
	if len(p) <= l.after {
		return f.Write(p)
	}
	n, err := f.Write(p[:l.after])
	if err == nil {
		err = l.err
	}
	return n, err
}
