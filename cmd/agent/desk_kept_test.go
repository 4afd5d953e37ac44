package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"varve/internal/session"
	"varve/internal/setup"
	"varve/internal/tui"
)

// What the desk keeps in the state folder.

// Nothing of the demo is kept: no key, no favourite, no model that was used last.
func TestDemoKeepsNothing(t *testing.T) { // SEC-2, SET-1
	d := newTestDesk(t)
	files := func() (out []string) {
		t.Helper()
		err := filepath.WalkDir(d.m.folders.State, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() {
				out = append(out, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	before := files()
	d.m.sample = t.TempDir()
	demo := session.Model{Provider: "demo", Model: "tally"}
	if _, err := d.StoreKey(t.Context(), "openai", "sk-1"); err == nil || !strings.Contains(err.Error(), "nothing is saved") {
		t.Errorf("a key: %v", err)
	}
	if _, err := d.Take(t.Context(), "openai", "sk-1"); err == nil || !strings.Contains(err.Error(), "nothing is saved") {
		t.Errorf("a key at the first run: %v", err)
	}
	if err := d.Prefer(t.Context(), demo, tui.Favourite); err == nil || !strings.Contains(err.Error(), "nothing is saved") {
		t.Errorf("a favourite: %v", err)
	}
	if err := d.Prefer(t.Context(), demo, tui.Used); err != nil {
		t.Errorf("nobody asked for it to be kept: %v", err)
	}
	if after := files(); !slices.Equal(after, before) {
		t.Errorf("there are %q now", after)
	}
	d.m.sample = ""
	if _, err := d.StoreKey(t.Context(), "openai", "sk-1"); err != nil || slices.Equal(files(), before) {
		t.Errorf("a key is not kept outside of the demo: %v", err)
	}
}

// A draft never stands in a folder that others can read, on its way to its place
// either.
func TestDraftIsWrittenWhereItStays(t *testing.T) { // TUI-4, SEC-10
	d := newTestDesk(t)
	shared, long := t.TempDir(), time.Unix(1_000_000_000, 0)
	t.Setenv("TMPDIR", shared)
	if err := os.Chtimes(shared, long, long); err != nil {
		t.Fatal(err)
	}
	d.save(t, "a secret plan")
	if st, err := os.Stat(shared); err != nil || !st.ModTime().Equal(long) {
		t.Errorf("something was written among everybody's temporary files: %v", err)
	}
	if b, err := os.ReadFile(d.draft.path); err != nil || string(b) != "a secret plan" {
		t.Errorf("%q, %v", b, err)
	}
}

// Windows that note models at once lose none of each other's.
func TestPreferencesOfManyWindows(t *testing.T) { // SET-3
	d := newTestDesk(t)
	const windows = 8
	begin := make(chan struct{})
	var all sync.WaitGroup
	for i := range windows {
		m := session.Model{Provider: "p", Model: fmt.Sprint("m", i)}
		all.Go(func() {
			<-begin
			if err := d.Prefer(t.Context(), m, tui.Favourite); err != nil {
				t.Error(err)
			}
		})
	}
	close(begin)
	all.Wait()
	p, err := d.m.preferred()
	if err != nil || len(p.Favourites) != windows {
		t.Errorf("%d of %d are left: %v, %v", len(p.Favourites), windows, p.Favourites, err)
	}
}

// A history that grew long is cut to its newest lines; what another window adds
// meanwhile stays.
func TestHistoryIsTrimmed(t *testing.T) { // TUI-4
	d := newTestDesk(t)
	lines := func() [][]byte {
		t.Helper()
		b, err := os.ReadFile(d.historyPath())
		if err != nil {
			t.Fatal(err)
		}
		return slices.Collect(bytes.Lines(b))
	}
	fill := func(n int, text string) {
		t.Helper()
		var b bytes.Buffer
		for i := range n {
			fmt.Fprintf(&b, `{"folder":"/elsewhere","line":"%s %d","mine":1}`+"\n", text, i)
		}
		if err := os.WriteFile(d.historyPath(), b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func() {
		t.Helper()
		if _, err := d.History(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	fill(historyMost, "line")
	read()
	if n := len(lines()); n != historyMost {
		t.Errorf("%d lines are left of %d, which are not too many", n, historyMost)
	}
	fill(historyMost+1, "line")
	begin := make(chan struct{})
	const more = 20
	var all sync.WaitGroup
	for i := range more {
		all.Go(func() {
			<-begin
			if err := d.Remember(t.Context(), fmt.Sprint("meanwhile ", i)); err != nil {
				t.Error(err)
			}
		})
	}
	close(begin)
	read()
	all.Wait()
	got := lines()
	kept := bytes.Count(bytes.Join(got, nil), []byte("meanwhile "))
	if kept != more || len(got) < historyMost/2 || len(got) > historyMost/2+more {
		t.Errorf("%d lines are left, %d of %d that came meanwhile", len(got), kept, more)
	}
	if newest := fmt.Sprintf(`{"folder":"/elsewhere","line":"line %d","mine":1}`, historyMost); !bytes.Contains(bytes.Join(got, nil), []byte(newest)) {
		t.Error("the newest is not among them, as it stood")
	}
	// A few long lines are too much as well; the newest stays, however long.
	for _, size := range []int{historyBytes / 3, historyBytes * 2 / 3} {
		fill(4, strings.Repeat("x", size))
		read()
		if got := lines(); len(got) != 1 || !bytes.Contains(got[0], []byte(" 3\"")) {
			t.Errorf("%d lines of %d bytes are left", len(got), size)
		}
	}
}

// A list of rules that is put back to nothing is taken out.
func TestRulesArePutBack(t *testing.T) { // SET-2
	d := newTestDesk(t)
	const rules = `["bash(ls)"]`
	if err := os.WriteFile(d.m.settings().Path, []byte(`{"permissions":{"allow":`+rules+`,"deny":`+rules+`},"routing":{"summarization_models":[{"provider":"p","model":"a"}]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	info, err := d.Settings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []setup.Path{{"permissions", "allow"}, {"permissions", "deny"}, {"routing", "summarization_models"}} {
		if info, err = d.Change(t.Context(), []tui.SettingEdit{{At: at, Was: info.Set.Raw(at)}}); err != nil {
			t.Fatalf("%s: %v", at, err)
		}
		if raw := info.Set.Raw(at); raw != nil {
			t.Errorf("%s is %s", at, raw)
		}
	}
}

// The beginning of a text is whole characters, wherever the cut falls.
func TestPeekedIsText(t *testing.T) { // BRW-1, TUI-9
	for _, c := range []string{"é", "語", "🙂"} {
		for shift := range 4 {
			s := peeked(strings.Repeat("a", shift) + strings.Repeat(c, maxPeekText))
			if !utf8.ValidString(s) || !strings.HasSuffix(s, c+" …") || len(s) < maxPeekText-4 {
				t.Errorf("%s, %d: it ends in %q", c, shift, s[max(len(s)-12, 0):])
			}
		}
	}
	if s := peeked("short"); s != "short" {
		t.Errorf("%q", s)
	}
}
