package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"varve/internal/session"
)

const runPage = "../../docs/run.md"

func runPageText(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(runPage)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// walkFile visits the syntax of a Go file.
func walkFile(t *testing.T, file string, visit func(ast.Node) bool) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, visit)
}

func stringLit(t *testing.T, e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(lit.Value)
	if err != nil {
		t.Fatal(err)
	}
	return s, true
}

// lineTypes are the types of stream-json lines that report.go makes.
func lineTypes(t *testing.T) []string {
	t.Helper()
	// A reply's parts are lines under the names of their kinds.
	types := []string{string(session.AssistantItem), string(session.ReasoningItem), string(session.CallItem), string(session.NativeItem)}
	walkFile(t, "report.go", func(n ast.Node) bool {
		if kv, ok := n.(*ast.KeyValueExpr); ok {
			if k, ok := kv.Key.(*ast.Ident); ok && k.Name == "Type" {
				if s, ok := stringLit(t, kv.Value); ok {
					types = append(types, s)
				}
			}
		}
		return true
	})
	return types
}

// RUN-1: the page names each type of line, with its row and an example.
func TestRunPageNamesEveryLine(t *testing.T) {
	text := runPageText(t)
	types := lineTypes(t)
	if len(types) < 10 {
		t.Fatalf("report.go has types %q: fewer than there are", types)
	}
	for _, s := range types {
		if !strings.Contains(text, fmt.Sprintf("\n| `%s` |", s)) {
			t.Errorf("%s has no row for the type %s", runPage, s)
		}
		if !strings.Contains(text, fmt.Sprintf(`"type":%q`, s)) {
			t.Errorf("%s has no example of the type %s", runPage, s)
		}
	}
}

// RUN-1: and each member, each exit code, each kind of error.
func TestRunPageNamesEveryMember(t *testing.T) {
	text := runPageText(t)
	for _, v := range []any{result{}, usage{}, runError{}, refused{}, compacted{}, streamLine{}, planLine{}} {
		for f := range reflect.TypeOf(v).Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if !strings.Contains(text, "`"+name+"`") {
				t.Errorf("%s does not tell of %T's member %s", runPage, v, name)
			}
		}
	}
	walkFile(t, "main.go", func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "exit") || len(spec.Values) != 1 {
			return true
		}
		if lit, ok := spec.Values[0].(*ast.BasicLit); ok && !strings.Contains(text, "\n| "+lit.Value+" |") {
			t.Errorf("%s has no row for exit code %s (%s)", runPage, lit.Value, spec.Names[0].Name)
		}
		return true
	})
	kinds := 0
	walkFile(t, "../../internal/words/words.go", func(n ast.Node) bool {
		f, ok := n.(*ast.FuncDecl)
		if !ok {
			return true
		}
		if f.Name.Name != "Failure" {
			return false
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if c, ok := n.(*ast.CaseClause); ok {
				for _, e := range c.List {
					kind, ok := stringLit(t, e)
					kinds++
					code := "| 1 |"
					switch {
					case kind == "settings":
						code = "| 2 |"
					case providerKind(kind):
						code = "| 3 |"
					}
					if row := regexp.MustCompile("(?m)^\\|.*`" + kind + "`.*" + regexp.QuoteMeta(code) + "$"); !ok || !row.MatchString(text) {
						t.Errorf("%s does not say that an error of kind %s has exit code %s", runPage, kind, code)
					}
				}
			}
			return true
		})
		return false
	})
	if kinds < 20 {
		t.Errorf("only %d kinds of error were found in words", kinds)
	}
}

// The examples are lines and an object of the shapes that the program prints.
func TestRunPageExamplesDecode(t *testing.T) {
	n := 0
	for _, m := range regexp.MustCompile("(?ms)^```json\n(.*?)^```$").FindAllStringSubmatch(runPageText(t), -1) {
		d := json.NewDecoder(strings.NewReader(m[1]))
		for d.More() {
			var raw json.RawMessage
			if err := d.Decode(&raw); err != nil {
				t.Fatal(err)
			}
			n++
			var v any = &result{}
			if bytes.Contains(raw, []byte(`"type":`)) {
				v = &streamLine{}
			}
			strict := json.NewDecoder(bytes.NewReader(raw))
			strict.DisallowUnknownFields()
			if err := strict.Decode(v); err != nil {
				t.Errorf("%s: %v\n%s", runPage, err, raw)
			}
		}
	}
	if n < 11 {
		t.Errorf("%s has %d examples", runPage, n)
	}
}
