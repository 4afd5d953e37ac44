package content

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// CAS-2, CAS-5: what is held is there, and stays until it is let go.
func TestHold(t *testing.T) {
	dir := t.TempDir()
	s := Open(dir)
	if _, err := s.Hold([]string{helloSHA}); !errors.Is(err, ErrMissing) {
		t.Errorf("no folder: %v", err)
	}
	if _, err := s.Put([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	path, _ := s.Path(helloSHA)
	other := helloSHA[:63] + "0"
	if _, err := s.Hold([]string{helloSHA, other}); !errors.Is(err, ErrMissing) {
		t.Errorf("one of two: %v", err)
	}
	if got := held(filepath.Dir(path)); got != "none" {
		t.Errorf("a hold that was refused keeps %s", got)
	}
	if _, err := s.Hold([]string{"../x"}); !errors.Is(err, ErrHash) {
		t.Error(err)
	}
	free, err := s.Hold([]string{helloSHA, helloSHA})
	if err != nil {
		t.Fatal(err)
	}
	if got := held(filepath.Dir(path)); got != "sh" {
		t.Errorf("held %s", got)
	}
	free()
	if got := held(filepath.Dir(path)); got != "none" {
		t.Errorf("let go, and held %s", got)
	}
}

// CAS-4, CAS-5: what is used is asked while no put goes on in the folder; where that fails, nothing more goes.
func TestSweep(t *testing.T) {
	s := Open(t.TempDir())
	var all []string
	for i := range byte(40) {
		sha, err := s.Put([]byte{i})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, sha)
	}
	slices.Sort(all)
	var listed []string
	if err := s.Each(func(b Blob) error { listed = append(listed, b.SHA256); return nil }); err != nil || !slices.Equal(listed, all) {
		t.Fatal(listed, err)
	}
	keep := map[string]bool{all[3]: true, all[17]: true}
	asked, gone := 0, []string{}
	at := 0
	used := func() (func(string) bool, error) {
		path, _ := s.Path(all[at])
		if got := held(filepath.Dir(path)); got != "ex" {
			t.Errorf("asked while held %s", got)
		}
		asked++
		return func(sha string) bool { return keep[sha] }, nil
	}
	if err := s.Sweep(all[:1], time.Now().Add(-time.Hour), used, func(sha string) { t.Error("young, and removed") }); err != nil {
		t.Error(err)
	}
	for at = range all {
		if err := s.Sweep(all[at:at+1], time.Now().Add(time.Hour), used, func(sha string) { gone = append(gone, sha) }); err != nil {
			t.Error(err)
		}
	}
	if asked != 41 || len(gone) != 38 || slices.Contains(gone, all[3]) {
		t.Error(asked, gone)
	}
	left := []string{}
	if err := s.Each(func(b Blob) error { left = append(left, b.SHA256); return nil }); err != nil || !slices.Equal(left, []string{all[3], all[17]}) {
		t.Error(left, err)
	}
	failed := errors.New("a session can't be read")
	if err := s.Sweep(left, time.Now().Add(time.Hour), func() (func(string) bool, error) { return nil, failed }, nil); !errors.Is(err, failed) {
		t.Error(err)
	}
	if ok, _ := s.Has(all[3]); !ok {
		t.Error("it went all the same")
	}
	tmp := filepath.Join(s.root, tempPrefix+"x")
	if err := os.WriteFile(tmp, []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Leftovers(time.Now().Add(-time.Hour)); err != nil || len(got) != 0 {
		t.Error(got, err)
	}
	if got, err := s.Leftovers(time.Now().Add(time.Hour)); err != nil || got[tmp] != 3 || len(got) != 1 {
		t.Error(got, err)
	}
}

// What a purge notes is there until it is taken away, and is no blob and no leftover. // RPR-2, CAS-4
func TestDoom(t *testing.T) {
	s := Open(t.TempDir())
	if got, err := s.Doomed(); err != nil || len(got) != 0 {
		t.Error(got, err)
	}
	for _, shas := range [][]string{{helloSHA, helloSHA[:63] + "0"}, {helloSHA}} {
		if err := s.Doom("a-session", shas); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Doomed(); err != nil || len(got) != 1 || !slices.Equal(got["a-session"], shas) {
			t.Error(got, err)
		}
	}
	if err := s.Each(func(b Blob) error { return errors.New(b.SHA256) }); err != nil {
		t.Error(err)
	}
	if left, err := s.Leftovers(time.Now().Add(time.Hour)); err != nil || len(left) != 0 {
		t.Error(left, err)
	}
	for range 2 {
		if err := s.Undoom("a-session"); err != nil {
			t.Error(err)
		}
	}
	if got, err := s.Doomed(); err != nil || len(got) != 0 {
		t.Error(got, err)
	}
}
