package house

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A file that needs more than a sitting to read is two files. Tests are lists of cases and may be longer.
const (
	longest     = 400
	longestTest = 800
)

// long are the files that may be longer, each with the reason.
var long = map[string]string{}

// ourFiles walks the Go files of the repository, by their path from its root. Fixtures are not ours to shorten.
func ourFiles(t *testing.T, see func(name string, text []byte)) {
	t.Helper()
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, p)
		if d.IsDir() {
			if d.Name() == "testdata" || name != "." && strings.HasPrefix(d.Name(), ".") || name == "tmp" || name == "bin" {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(p) == ".go" {
			text, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			see(filepath.ToSlash(name), text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestFilesAreReadAtOneSitting(t *testing.T) {
	seen := map[string]bool{}
	ourFiles(t, func(name string, text []byte) {
		limit := longest
		if strings.HasSuffix(name, "_test.go") {
			limit = longestTest
		}
		n := bytes.Count(text, []byte("\n"))
		if reason := long[name]; reason != "" {
			seen[name] = true
			if n <= limit {
				t.Errorf("%s is short again (%d lines): take it off the list", name, n)
			}
		} else if n > limit {
			t.Errorf("%s has %d lines, %d are allowed: it will read better as two files (or name it in internal/house, with the reason)", name, n, limit)
		}
	})
	for name := range long {
		if !seen[name] {
			t.Errorf("%s is on the list of long files and does not exist", name)
		}
	}
}

// early are the places that may do work before main, each with the reason.
var early = map[string]string{}

// beforeMain finds work that every start of the program pays for: init functions, and regular expressions compiled
// into package variables.
func beforeMain(fset *token.FileSet, file *ast.File) []string {
	var found []string
	at := func(n ast.Node) int { return fset.Position(n.Pos()).Line }
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.Name == "init" {
				found = append(found, fmt.Sprintf("line %d: an init function", at(d)))
			}
		case *ast.GenDecl:
			if d.Tok != token.VAR {
				continue
			}
			ast.Inspect(d, func(n ast.Node) bool {
				if _, later := n.(*ast.FuncLit); later {
					return false
				}
				if call, ok := n.(*ast.CallExpr); ok {
					if sel, ok := call.Fun.(*ast.SelectorExpr); ok && strings.HasPrefix(sel.Sel.Name, "MustCompile") {
						found = append(found, fmt.Sprintf("line %d: %s", at(n), sel.Sel.Name))
					}
				}
				return true
			})
		}
	}
	return found
}

func TestNothingRunsBeforeMain(t *testing.T) { // PERF-1, PERF-13
	ourFiles(t, func(name string, text []byte) {
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "tools/") || early[name] != "" {
			return
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, text, 0)
		if err != nil {
			t.Error(err)
			return
		}
		for _, w := range beforeMain(fset, file) {
			t.Errorf("%s: %s runs at every start, before the first paint: use sync.OnceValue", name, w)
		}
	})
	for _, c := range []struct {
		code string
		want int
	}{
		{`func init() {}`, 1},
		{`import "regexp"; var re = regexp.MustCompile("x")`, 1},
		{`import "regexp"; var re = sync.OnceValue(func() any { return regexp.MustCompile("x") })`, 0},
		{`type t int; func (t) init() {}`, 0},
	} {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, "x.go", "package x; "+c.code, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := beforeMain(fset, file); len(got) != c.want {
			t.Errorf("%s: %s, want %s", c.code, got, strconv.Itoa(c.want))
		}
	}
}

// largest is how many bytes a file may have that is kept: what is larger was built, and is no source.
const largest = 512 << 10

func TestNothingBuiltIsKept(t *testing.T) {
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, p)
		switch name {
		case ".git", "bin", ".cache", "tmp":
			return filepath.SkipDir
		}
		if info, err := d.Info(); err == nil && !d.IsDir() && info.Size() > largest {
			t.Errorf("%s has %d bytes: build into bin/", name, info.Size())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
