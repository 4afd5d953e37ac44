package house

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// quiet says whether a pure room may import the package: it computes, and neither looks at the world nor keeps time.
func quiet(imp string) bool {
	return slices.Contains([]string{
		"bytes", "cmp", "crypto/sha256", "embed", "encoding/base64", "encoding/hex", "encoding/json", "errors", "fmt", "iter", "maps",
		"path", "slices", "sort", "strconv", "strings", "time", "unicode", "unicode/utf8",
		"sync", // sync.OnceValue and its kin only; impurities sees to it
		"github.com/go-json-experiment/json", "github.com/go-json-experiment/json/jsontext",
		"mvdan.cc/sh/v3/syntax",
	}, imp)
}

// loud are the names that a quiet package has for the world, with what to do instead.
var loud = map[string]map[string]string{
	"time": {
		"Now": "take the time as an argument", "Since": "take the time as an argument", "Until": "take the time as an argument",
		"Sleep": "a job may carry NotBefore, and the loop owns the timer", "After": "a job may carry NotBefore, and the loop owns the timer",
		"AfterFunc": "a job may carry NotBefore, and the loop owns the timer", "NewTimer": "a job may carry NotBefore, and the loop owns the timer",
		"NewTicker": "a job may carry NotBefore, and the loop owns the timer", "Tick": "a job may carry NotBefore, and the loop owns the timer",
		"Local": "the log is in UTC",
	},
	"fmt": {
		"Print": "return the text", "Printf": "return the text", "Println": "return the text",
		"Scan": "take the text as an argument", "Scanf": "take the text as an argument", "Scanln": "take the text as an argument",
	},
}

// impurities are the places in a file where a pure room would act: what its imports cannot show.
func impurities(fset *token.FileSet, file *ast.File) []string {
	var found []string
	add := func(n ast.Node, format string, args ...any) {
		p := fset.Position(n.Pos())
		found = append(found, fmt.Sprintf("%s:%d: %s", filepath.ToSlash(p.Filename), p.Line, fmt.Sprintf(format, args...)))
	}
	names := map[string]string{} // in this file -> import path
	for _, imp := range file.Imports {
		p, _ := strconv.Unquote(imp.Path.Value)
		name := p[strings.LastIndex(p, "/")+1:]
		if imp.Name != nil {
			name = imp.Name.Name
		}
		if name == "." {
			add(imp, "import of %s into our own names: then nobody can see what is used", p)
		}
		names[name] = p
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			add(n, "a goroutine: concurrency belongs in harness")
		case *ast.SelectStmt:
			add(n, "a select: concurrency belongs in harness")
		case *ast.ChanType:
			add(n, "a channel: concurrency belongs in harness")
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			if !ok || x.Obj != nil { // x.Obj: a variable of that name hides the package
				break
			}
			if instead, is := loud[names[x.Name]][n.Sel.Name]; is {
				add(n, "%s.%s: %s", names[x.Name], n.Sel.Name, instead)
			}
			if names[x.Name] == "sync" && !strings.HasPrefix(n.Sel.Name, "Once") {
				add(n, "sync.%s: one goroutine owns the state; only sync.OnceValue is of use here", n.Sel.Name)
			}
		}
		return true
	})
	return found
}

func TestPureRoomsOnlyDecide(t *testing.T) {
	for _, r := range floors {
		if !r.pure {
			continue
		}
		files, _ := filepath.Glob(filepath.Join(root, r.path, "*.go"))
		for _, f := range files {
			if strings.HasSuffix(f, "_test.go") {
				continue
			}
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, f, nil, 0)
			if err != nil {
				t.Error(err)
				continue
			}
			for _, w := range impurities(fset, file) {
				t.Errorf("%s (%s %s)", strings.TrimPrefix(w, root+"/"), r.short(), r.says)
			}
		}
	}
}

func TestImpuritiesAreSeen(t *testing.T) {
	for _, c := range []struct{ code, want string }{
		{`func f() { go f() }`, "goroutine"},
		{`func f() { select {} }`, "select"},
		{`type t struct{ c chan int }`, "channel"},
		{`import "time"; func f() any { return time.Now() }`, "time.Now"},
		{`import clock "time"; func f() any { return clock.Since }`, "time.Since"},
		{`import . "time"; func f() any { return Now() }`, "import of time"},
		{`import "fmt"; func f() { fmt.Println() }`, "fmt.Println"},
		{`import "sync"; var m sync.Mutex`, "sync.Mutex"},
		{`import "sync"; var f = sync.OnceValue(func() int { return 1 })`, ""},
		{`import "time"; func f(now time.Time) time.Time { return now.Add(time.Second) }`, ""},
		{`type clock struct{ Now int }; func f(time clock) int { return time.Now }`, ""},
	} {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, "x.go", "package x; "+c.code, 0)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(impurities(fset, file), "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.code, got, c.want)
		}
	}
}

func packageDoc(t *testing.T, name string) string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Error(err)
		return ""
	}
	if strings.HasSuffix(name, "_test.go") {
		return ""
	}
	return file.Doc.Text()
}
