package harness

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The places that can't be read are known by their events, before a repair and after.
func TestGapsOfADamagedSession(t *testing.T) { // LOG-7, BRW-4
	for name, c := range map[string]struct {
		spoil       func(lines [][]byte) [][]byte
		want, after []Gap
	}{
		"whole":    {func(l [][]byte) [][]byte { return l }, nil, nil},
		"garbled":  {func(l [][]byte) [][]byte { l[3] = []byte("garbled\n"); return l }, []Gap{{4, 4, false}}, []Gap{{4, 4, false}}},
		"two away": {func(l [][]byte) [][]byte { return slices.Delete(l, 3, 5) }, []Gap{{4, 5, false}}, []Gap{{4, 5, false}}},
		"a letter": {func(l [][]byte) [][]byte { l[3] = bytes.Replace(l[3], []byte("echo"), []byte("Echo"), 1); return l }, []Gap{{4, 4, true}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s.jsonl")
			lines := c.spoil(written(t, path, 9))
			if err := os.WriteFile(path, bytes.Join(lines, nil), 0o600); err != nil {
				t.Fatal(err)
			}
			s := opened(t, path)
			if got := s.Gaps(); !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v (damage %v)", got, c.want, s.Damage())
			}
			if _, err := s.Repair(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := opened(t, path).Gaps(); !slices.Equal(got, c.after) {
				t.Errorf("repaired: %v, want %v", got, c.after)
			}
		})
	}
}
