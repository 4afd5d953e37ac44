package eval

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// golden compares with a file; UPDATE=1 writes it.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := "testdata/" + name
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is now\n%s", name, got)
	}
}

// Seven paths over the same bytes, with the real harness and adapter: what
// reaches the last prompt, and what every request weighs. // EVAL-1
func TestOffline(t *testing.T) {
	r, err := Run(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range r.Rows {
		for _, f := range row.Faults {
			t.Errorf("%s: %s", row.Path, f)
		}
	}
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	golden(t, "table.txt", b.Bytes())
	_, rows, _ := strings.Cut(b.String(), "\n\n")
	rows, _, _ = strings.Cut(rows, "\n\n")
	inPage(t, map[string]string{"table": rows + "\n"})
	golden(t, "picture.svg", []byte(r.Picture()))
	if !r.OK() {
		t.Error("a row does not hold")
	}
}

// A row that does not hold is seen: each promise, broken. // EVAL-1
func TestWhatDoesNotHoldIsSaid(t *testing.T) {
	sound := func() (path, Row, story) {
		return path{name: "MapReduce", small: true, fails: true, summary: 2},
			Row{Kept: markers, Preserved: true, Summarizers: 2, Bars: []Bar{{Purpose: "agent", Tokens: agentWindow}, {Purpose: "map", Tokens: smallWindow}}},
			story{completed: turns, checkpoints: 1, sequenced: 1, asked: map[string]int{"map/0": 1, "": 7}}
	}
	if p, r, s := sound(); len(p.holds(r, s)) > 0 {
		t.Fatal(p.holds(r, s))
	}
	for want, spoil := range map[string]func(*path, *Row, *story){
		"2 turns completed of 3":         func(_ *path, _ *Row, s *story) { s.completed-- },
		"1 compactions failed":           func(_ *path, _ *Row, s *story) { s.failed++ },
		"bytes of the source":            func(_ *path, r *Row, _ *story) { r.Preserved = false },
		"4 markers of 5":                 func(_ *path, r *Row, _ *story) { r.Kept = markers[:4] },
		"the stale fact is":              func(_ *path, r *Row, _ *story) { r.Stale = true },
		"3 requests to summarizers":      func(_ *path, r *Row, _ *story) { r.Summarizers++ },
		"2 checkpoints":                  func(_ *path, _ *Row, s *story) { s.checkpoints++ },
		"maps one at a time: false":      func(_ *path, _ *Row, s *story) { s.sequenced = 0 },
		"the old buffer was put aside":   func(p *path, _ *Row, _ *story) { p.legacy = true },
		"2 results masked of 3":          func(p *path, _ *Row, s *story) { p.masks, s.masked = true, 2 },
		"map/0 was answered 2 times":     func(_ *path, _ *Row, s *story) { s.asked["map/0"]++ },
		"a prompt for map had 4001":      func(_ *path, r *Row, _ *story) { r.Bars[1].Tokens++ },
		"a prompt for agent had 20001":   func(_ *path, r *Row, _ *story) { r.Bars[0].Tokens++ },
		"the stale fact is in the last ": func(p *path, _ *Row, s *story) { p.raw, s.checkpoints = true, 0 },
	} {
		p, r, s := sound()
		spoil(&p, &r, &s)
		if got := p.holds(r, s); len(got) != 1 || !strings.HasPrefix(got[0], want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	r := Report{Rows: make([]Row, len(paths))}
	r.Rows[0].Faults = []string{"x"}
	if r.OK() || (Report{}).OK() {
		t.Error("a report that does not hold is said to be right")
	}
}
