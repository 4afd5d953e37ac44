package tools

import (
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is read of an index is what git lists of it, in every version. // BRN-8
func TestIndexIsReadAsGitReadsIt(t *testing.T) {
	k := inGit(t)
	k.sh(`mkdir -p deep/` + strings.Repeat("l", 200) + `; for i in $(seq 300); do echo $i >deep/f$i; done; echo x >deep/` + strings.Repeat("l", 200) + `/` + strings.Repeat("m", 250) + `; echo y >intent`)
	k.git(".", "add", "deep")
	k.git(".", "add", "-N", "intent")
	for _, version := range []string{"2", "3", "4"} {
		k.git(".", "update-index", "--index-version", version)
		b, err := os.ReadFile(k.path(".git/index"))
		if err != nil {
			t.Fatal(err)
		}
		list, err := parseIndex(b)
		if err != nil {
			t.Fatalf("version %s: %v", version, err)
		}
		var got []string
		for _, e := range list {
			got = append(got, fmt.Sprintf("%o %s 0\t%s", e.mode, hex.EncodeToString(e.oid[:]), e.path))
			if e.noted != (e.path != "intent") {
				t.Errorf("%s noted: %v", e.path, e.noted)
			}
		}
		if d := cmp.Diff(strings.Split(strings.TrimSuffix(k.git(".", "ls-files", "-s", "-z"), "\x00"), "\x00"), got); d != "" {
			t.Errorf("version %s: %s", version, d)
		}
	}
}

// An index that can't be trusted is an error, and never half of a list. // BRN-8, SEC-1
func TestIndexThatCantBeRead(t *testing.T) {
	entry := func(path string, flags uint16) []byte {
		b := make([]byte, 62)
		binary.BigEndian.PutUint32(b[24:], 0o100644)
		binary.BigEndian.PutUint16(b[60:], flags|uint16(min(len(path), 0xfff)))
		b = append(append(b, path...), 0)
		for len(b)%8 != 0 {
			b = append(b, 0)
		}
		return b
	}
	index := func(version, n uint32, parts ...[]byte) []byte {
		b := binary.BigEndian.AppendUint32([]byte("DIRC"), version)
		b = binary.BigEndian.AppendUint32(b, n)
		b = append(b, slices.Concat(parts...)...)
		sum := sha1.Sum(b)
		return append(b, sum[:]...)
	}
	extension := func(name string) []byte { return append([]byte(name), 0, 0, 0, 1, 'x') }
	good := index(2, 2, entry("a", 0), entry("b/c", 0), extension("TREE"))
	if list, err := parseIndex(good); err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	if list, err := parseIndex(append(slices.Clone(good[:len(good)-20]), make([]byte, 20)...)); err != nil || len(list) != 2 {
		t.Fatal("without a checksum", list, err)
	}
	for name, b := range map[string][]byte{
		"empty":           nil,
		"no index":        []byte(strings.Repeat("x", 100)),
		"version 1":       index(1, 1, entry("a", 0)),
		"version 5":       index(5, 1, entry("a", 0)),
		"cut":             good[:len(good)-30],
		"another sum":     append(slices.Clone(good[:len(good)-1]), good[len(good)-1]^1),
		"more entries":    index(2, 3, entry("a", 0), entry("b", 0)),
		"very many":       index(2, 1<<31, entry("a", 0)),
		"order":           index(2, 2, entry("b", 0), entry("a", 0)),
		"twice":           index(2, 2, entry("a", 0), entry("a", 0)),
		"split":           index(2, 1, entry("a", 0), extension("link")),
		"sparse":          index(3, 1, entry("a", 0), extension("sdir")),
		"extended in 2":   index(2, 1, entry("a", 0x4000)),
		"long extension":  index(2, 1, entry("a", 0), []byte("TREE\x7f\xff\xff\xff")),
		"up":              index(2, 1, entry("../a", 0)),
		"within":          index(2, 1, entry("a/../../b", 0)),
		"root":            index(2, 1, entry("/etc/passwd", 0)),
		"git's own":       index(2, 1, entry(".git/config", 0)),
		"git's, in caps":  index(2, 1, entry("a/.GIT/x", 0)),
		"no name":         index(2, 1, entry("", 0)),
		"strips too much": index(4, 1, append(append(make([]byte, 62), 9), "a\x00"...)),
	} {
		if list, err := parseIndex(b); err == nil || list != nil {
			t.Errorf("%s: %v, %v", name, list, err)
		}
	}
}

func FuzzIndex(f *testing.F) { // REL-5
	f.Add([]byte("DIRC\x00\x00\x00\x02\x00\x00\x00\x00"))
	f.Add([]byte("DIRC\x00\x00\x00\x04\x00\x00\x00\x01" + strings.Repeat("\x00", 70)))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := parseIndex(append(b, make([]byte, sha1.Size)...))
		for _, e := range list {
			if err != nil || !sane(e.path) {
				t.Errorf("%q %v", e.path, err)
			}
		}
	})
}

func BenchmarkIndex(b *testing.B) {
	raw, err := os.ReadFile(os.Getenv("INDEX"))
	if err != nil {
		b.Skip("INDEX names none")
	}
	for b.Loop() {
		if _, err := parseIndex(raw); err != nil {
			b.Fatal(err)
		}
	}
}
