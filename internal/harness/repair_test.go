package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"varve/internal/content"
	"varve/internal/jsonl"
	"varve/internal/session"
)

// written is a session of n lines: its creation, and commands of the user's own.
func written(t *testing.T, path string, n int) [][]byte {
	t.Helper()
	s := New(path, content.Open(t.TempDir()), jsonl.Never, System{})
	facts := []session.Fact{{Event: session.SessionCreated{Format: session.Format, ID: "s", Workspace: "/w", Program: "test"}}}
	for i := len(facts); i < n; i++ {
		words := fmt.Appendf(nil, "$ echo %d\n%d", i, i)
		facts = append(facts, session.Fact{Event: session.ShellRan{Tokens: session.Estimate(len(words))}, Body: []session.Part{{Bytes: words}}})
	}
	if err := s.Record(t.Context(), session.MainBranch, 0, facts); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return linesOf(t, path)
}

func linesOf(t *testing.T, path string) [][]byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(b, []byte("\n"))
	return lines[:len(lines)-1]
}

func opened(t *testing.T, path string) *Session {
	t.Helper()
	s, err := Open(path, content.Open(t.TempDir()), jsonl.Never, System{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// shell records a command of the user's own, at the branch's head.
func shell(s *Session, words string) error {
	return s.Record(context.Background(), session.MainBranch, s.State(session.MainBranch).Branch.Head, []session.Fact{
		{Event: session.ShellRan{Tokens: session.Estimate(len(words))}, Body: []session.Part{{Bytes: []byte(words)}}},
	})
}

// without is the state of a session that never had some of its lines.
func without(t *testing.T, lines [][]byte, out ...int) session.State {
	t.Helper()
	f := session.NewFold()
	for i, line := range lines {
		if len(out) > 0 && i+1 == out[0] {
			out = out[1:]
			continue
		}
		e, err := session.Decode(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	return f.State(session.MainBranch)
}

// A file of 10,000 lines, whose line 4,000 is cut in half: all others are read,
// the damaged one is told with its line, place and bytes, the view is that of a
// session which never had it, and nothing is written before the repair. Then new
// lines stand behind the last one. // LOG-7, case SES-01
func TestOneBadLineHidesNothing(t *testing.T) {
	const n, bad = 10_000, 4_000
	path := filepath.Join(t.TempDir(), "s.jsonl")
	lines := written(t, path, n)
	if len(lines) != n {
		t.Fatalf("%d lines", len(lines))
	}
	want := without(t, lines, bad)
	from := len(bytes.Join(lines[:bad-1], nil))
	half := lines[bad-1][:len(lines[bad-1])/2]
	lines[bad-1] = append(bytes.Clone(half), '\n')
	left := bytes.Join(lines, nil)
	if err := os.WriteFile(path, left, 0o600); err != nil {
		t.Fatal(err)
	}

	s := opened(t, path)
	d := s.Damage()
	if len(d) != 1 || d[0].Kind != jsonl.Torn || d[0].Line != bad || d[0].From != int64(from) || d[0].To != int64(from+len(half)) {
		t.Fatalf("%+v, want line %d, bytes %d to %d", d, bad, from, from+len(half))
	}
	if got := s.State(session.MainBranch); !reflect.DeepEqual(got, want) {
		t.Error("the state is not that without the line")
	}
	views := 0
	for range want.Branch.View.All {
		views++
	}
	if views != n-2 {
		t.Errorf("%d items, %d were written and one is lost", views, n-1)
	}
	if err := shell(s, "new"); !errors.Is(err, jsonl.ErrDamaged) || !strings.Contains(err.Error(), "line 4000") {
		t.Errorf("an append before the repair: %v", err)
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, left) {
		t.Fatalf("something was written (%v)", err)
	}

	named, err := s.Repair(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Repair{{Damage: d[0], Type: "shell.ran", First: bad, Last: bad}}, named); diff != "" {
		t.Error(diff)
	}
	if err := shell(s, "new"); err != nil {
		t.Fatal(err)
	}
	s.Close()
	now := linesOf(t, path)
	if !bytes.HasPrefix(bytes.Join(now, nil), left) || len(now) != n+2 || !bytes.Contains(now[n], []byte(`"log.repaired"`)) || !bytes.Contains(now[n+1], []byte(`"new"`)) {
		t.Errorf("behind the last line stands %s", bytes.Join(now[min(n, len(now)):], nil))
	}
	intact(t, path)
	again := opened(t, path)
	if d := again.Damage(); len(d) > 0 {
		t.Errorf("opened again: %+v", d)
	}
	i := 0
	var last session.Item
	for it := range again.State(session.MainBranch).Branch.View.All {
		last = it
		i++
	}
	if text, err := again.Text(last); err != nil || i != views+1 || string(text) != "new" {
		t.Errorf("%d items, the last is %q (%v)", i, text, err)
	}
}

// What each kind of damage costs is said, and a session is whole after the
// repair: it verifies, opens and is written to, and no earlier byte has changed.
// LOG-3, LOG-4, LOG-7
func TestRepairSaysWhatIsLost(t *testing.T) {
	type cost struct {
		Kind        jsonl.Kind
		Line        int
		Type        string
		First, Last session.Seq
		Changed     bool
	}
	const ran = "shell.ran"
	big := strings.Repeat("x", 20_000)
	for _, c := range []struct {
		name string
		do   func(l [][]byte) [][]byte
		want []cost
		gone []int // what the view is without
	}{
		{"whole", func(l [][]byte) [][]byte { return l }, nil, nil},
		{"cut near its end", func(l [][]byte) [][]byte {
			l[3] = append(bytes.Clone(l[3][:len(l[3])-9]), '\n')
			return l
		}, []cost{{jsonl.Torn, 4, ran, 4, 4, false}}, []int{4}},
		{"cut before its name", func(l [][]byte) [][]byte {
			l[3] = append(bytes.Clone(l[3][:40]), '\n')
			return l
		}, []cost{{jsonl.Torn, 4, "", 4, 4, false}}, []int{4}},
		{"two in a row", func(l [][]byte) [][]byte {
			l[3], l[4] = []byte("x\n"), append(bytes.Clone(l[4][:len(l[4])-9]), '\n')
			return l
		}, []cost{{jsonl.Foreign, 4, "", 4, 4, false}, {jsonl.Foreign, 5, ran, 5, 5, false}}, []int{4, 5}},
		{"the first line", func(l [][]byte) [][]byte {
			l[0] = []byte("x\n")
			return l
		}, []cost{{jsonl.Foreign, 1, "", 1, 1, false}}, []int{1}},
		{"lines left out", func(l [][]byte) [][]byte { return append(l[:4:4], l[6:]...) }, []cost{{jsonl.Gap, 5, ran, 5, 6, false}}, []int{5, 6}},
		{"a line twice", func(l [][]byte) [][]byte { return append(l[:5:5], l[4:]...) }, []cost{{jsonl.Foreign, 6, ran, 0, 0, false}}, nil},
		{"a line put in", func(l [][]byte) [][]byte {
			return append(l[:5:5], append([][]byte{[]byte("hello\n")}, l[5:]...)...)
		}, []cost{{jsonl.Foreign, 6, "", 0, 0, false}}, nil},
		{"garbage behind all", func(l [][]byte) [][]byte { return append(l, []byte("{\"hello\":1}\n"), []byte("\x00\x01\n")) }, []cost{
			{jsonl.Foreign, 11, "", 0, 0, false}, {jsonl.Foreign, 12, "", 0, 0, false},
		}, nil},
		{"swapped", func(l [][]byte) [][]byte {
			l[5], l[6] = l[6], l[5]
			return l
		}, []cost{{jsonl.Gap, 6, ran, 6, 6, false}, {jsonl.Foreign, 7, ran, 0, 0, false}}, []int{6}},
		{"a text changed", func(l [][]byte) [][]byte {
			l[5] = bytes.Replace(l[5], []byte("$ echo"), []byte("$ Echo"), 1)
			return l
		}, []cost{{jsonl.Chain, 6, ran, 0, 0, true}}, nil},
		{"the last text is no JSON", func(l [][]byte) [][]byte { // only a look at every byte sees it
			l[9] = bytes.Replace(l[9], []byte("$ echo"), []byte(`$ \cho`), 1)
			return l
		}, []cost{{jsonl.Torn, 10, ran, 10, 10, true}}, nil},
		{"broken off at the end", func(l [][]byte) [][]byte {
			l[9] = l[9][:len(l[9])-9]
			return l
		}, []cost{{jsonl.Torn, 10, ran, 10, 10, false}}, []int{10}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s.jsonl")
			lines := written(t, path, 10)
			want := without(t, lines, c.gone...)
			left := bytes.Join(c.do(lines), nil)
			if err := os.WriteFile(path, left, 0o600); err != nil {
				t.Fatal(err)
			}
			s := opened(t, path)
			named, err := s.Repair(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var got []cost
			for _, r := range named {
				got = append(got, cost{r.Kind, r.Line, r.Type, r.First, r.Last, r.Changed})
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
			now, err := os.ReadFile(path)
			if err != nil || !bytes.HasPrefix(now, left) || c.want == nil && len(now) != len(left) {
				t.Fatalf("old bytes have changed, or something was written for nothing (%v)", err)
			}
			if v := s.State(session.MainBranch).Branch.View; !reflect.DeepEqual(v, want.Branch.View) {
				t.Errorf("the view is %+v, want %+v", v, want.Branch.View)
			}
			if err := shell(s, "new"+big); err != nil {
				t.Error(err)
			}
			if more, err := s.Repair(t.Context()); err != nil || more != nil {
				t.Errorf("and again: %+v %v", more, err)
			}
			s.Close()
			if rep, err := jsonl.Verify(path, checkLine); err != nil || rep.Bad() != -1 || rep.Piece != 0 {
				t.Errorf("%+v %v", rep, err)
			}
			again := opened(t, path)
			if d := again.Damage(); len(d) > 0 {
				t.Errorf("opened again: %+v", d)
			}
		})
	}
}

// A repair that can't be recorded says why, and changes nothing that was there;
// it is done when it can be. // LOG-8, REL-2
func TestRepairOnFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	lines := written(t, path, 10)
	lines[3] = []byte("x\n")
	left := bytes.Join(lines, nil)
	if err := os.WriteFile(path, left, 0o600); err != nil {
		t.Fatal(err)
	}
	r := &recorder{short: 40, fail: func([]string) error { return syscall.ENOSPC }}
	s, err := openOn(r, path, content.Open(t.TempDir()), jsonl.Turn, System{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 2 {
		if named, err := s.Repair(t.Context()); !errors.Is(err, jsonl.ErrFull) || named != nil {
			t.Fatalf("%v %+v", err, named)
		}
	}
	if len(s.Damage()) == 0 {
		t.Error("it counts as repaired, and nothing was recorded")
	}
	r.set(func(r *recorder) { r.fail = nil })
	named, err := s.Repair(t.Context())
	if err != nil || len(named) != 2 || named[0].Line != 4 || named[1].Kind != jsonl.Torn {
		t.Fatalf("%v %+v", err, named)
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.HasPrefix(now, left) {
		t.Error("old bytes have changed")
	}
	intact(t, path)
}

// A file with nothing left to go on from is no session. // LOG-7
func TestRepairOfNothing(t *testing.T) {
	for _, left := range []string{"", "hello\n", `{"seq":1,"prev":"`} {
		path := filepath.Join(t.TempDir(), "s.jsonl")
		if err := os.WriteFile(path, []byte(left), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := opened(t, path).Repair(t.Context()); !errors.Is(err, ErrEmpty) {
			t.Errorf("%q: %v", left, err)
		}
		if now, err := os.ReadFile(path); err != nil || string(now) != left {
			t.Errorf("%q is %q now", left, now)
		}
	}
}
