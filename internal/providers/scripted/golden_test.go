package scripted

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// REL-4: the exact bytes of every reply, one golden per family. UPDATE=1 writes them anew; play_test.go and oracle_test.go
// say why they are right.
func TestGoldenBytes(t *testing.T) {
	families := map[string]*strings.Builder{}
	for _, sc := range all(t) {
		out := families[sc.File]
		if out == nil {
			out = &strings.Builder{}
			families[sc.File] = out
		}
		s, cl := open(t, Options{Clock: newInstant(), Prefix: PrefixIgnore})
		sc.Lenient, sc.Key = true, ""
		if err := s.Play(sc); err != nil {
			t.Fatal(err)
		}
		for i, b := range sc.Script {
			fmt.Fprintf(out, "== %s reply %d\n", sc.ID, i+1)
			if hangs(b.Steps) {
				s.update(func() { s.played++ })
				out.WriteString("(hangs)\n")
				continue
			}
			resp, err := post(t.Context(), t, cl, s.URL(), hello)
			if err != nil {
				if !errors.Is(err, io.EOF) {
					t.Errorf("%s: %v", sc.ID, err)
				}
				out.WriteString("(cut before headers)\n")
				continue
			}
			body, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			fmt.Fprintf(out, "HTTP %d", resp.StatusCode)
			var names []string
			for name := range resp.Header {
				if name != "Date" && name != "Cache-Control" {
					names = append(names, name)
				}
			}
			slices.Sort(names)
			for _, name := range names {
				fmt.Fprintf(out, " %s=%q", name, strings.ReplaceAll(resp.Header.Get(name), s.URL()[len("http://127.0.0.1"):], ":PORT"))
			}
			out.WriteByte('\n')
			if len(body) > 16<<10 {
				fmt.Fprintf(out, "(%d bytes, sha256 %x)\n", len(body), sha256.Sum256(body))
				body = nil
			}
			for line := range strings.SplitAfterSeq(string(body), "\n") {
				if line != "" {
					fmt.Fprintf(out, "%q\n", line)
				}
			}
			if err != nil {
				fmt.Fprintf(out, "(%v)\n", err)
			}
		}
		cl.CloseIdleConnections()
		s.Close()
	}
	for name, got := range families {
		file := filepath.Join("testdata", "golden", name)
		if os.Getenv("UPDATE") != "" {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")); d != "" {
			t.Errorf("%s (UPDATE=1 to accept):\n%s", name, d)
		}
	}
}
