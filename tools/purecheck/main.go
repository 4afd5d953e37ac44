// Command purecheck is the second reader of the pure rooms: it proves that no function in them can answer differently
// when asked twice. It follows every call, into the standard library and the dependencies too, with the determinism
// checker that Temporal ships for workflows, so that the rooms stay fit to run inside one.
//
// It is a vet tool, which gives it Go's build cache for the facts about what the rooms stand on:
//
//	go vet -vettool=bin/purecheck ./internal/session
//
// An order that comes from a map is its usual finding. Sort the keys (slices.Sorted(maps.Keys(m)) is understood), or,
// where the order cannot be seen outside, write //workflowcheck:ignore and the reason above the statement.
package main

import (
	"fmt"
	"go/ast"
	"go/types"
	"path/filepath"
	"regexp"

	"go.temporal.io/sdk/contrib/tools/workflowcheck/determinism"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/unitchecker"
)

// sortedFirst are the functions that take an order and make it one: what a map hands to them does no harm.
var sortedFirst = map[string][]string{"slices": {"Sorted", "SortedFunc", "SortedStableFunc"}}

func main() { unitchecker.Main(newAnalyzer(refs())) }

// refs are the checker's own opinions about names, with ours on top.
func refs() determinism.IdentRefs {
	refs := determinism.DefaultIdentRefs.Clone()
	for _, a := range allowed {
		refs[a.name] = false
	}
	for _, name := range refused {
		refs[name] = true
	}
	return refs
}

// newAnalyzer reports each function of the package under test that is not deterministic under refs. Test files are
// left out: a test may roll dice.
func newAnalyzer(refs determinism.IdentRefs) *analysis.Analyzer {
	facts := determinism.NewChecker(determinism.Config{
		IdentRefs:                         refs,
		SkipFiles:                         []*regexp.Regexp{regexp.MustCompile(`_test\.go$`)},
		AcceptsNonDeterministicParameters: sortedFirst,
	}).NewAnalyzer()
	return &analysis.Analyzer{
		Name:     "purecheck",
		Doc:      "reports functions of a pure room that can answer differently when asked twice",
		Requires: []*analysis.Analyzer{facts},
		Run: func(pass *analysis.Pass) (any, error) {
			found, _ := pass.ResultOf[facts].(determinism.PackageNonDeterminisms)
			for _, file := range pass.Files {
				for _, decl := range file.Decls {
					fn, ok := decl.(*ast.FuncDecl)
					if !ok {
						continue
					}
					obj, ok := pass.TypesInfo.ObjectOf(fn.Name).(*types.Func)
					if !ok {
						continue
					}
					for _, why := range found[obj.FullName()] {
						if call, ok := why.(*determinism.ReasonFuncCall); ok && len(found[call.FuncName]) > 0 {
							continue // reported where it starts
						}
						pass.Reportf(fn.Name.Pos(), "%s is not pure: %s", fn.Name.Name, explain(pass, why))
					}
				}
			}
			return nil, nil
		},
	}
}

// explain says why in one line, following the first reason of each call down to where it starts.
func explain(pass *analysis.Pass, why determinism.Reason) string {
	at := why.Pos()
	story := fmt.Sprintf("it %s (%s:%d)", why, filepath.Base(at.Filename), at.Line)
	lookup := determinism.NewPackageLookupCache(pass)
	pkg := pass.Pkg
	seen := map[string]bool{}
	for {
		call, ok := why.(*determinism.ReasonFuncCall)
		if !ok || seen[call.FuncName] {
			break
		}
		seen[call.FuncName] = true
		var known determinism.PackageNonDeterminisms
		pkg, known = lookup.PackageNonDeterminismsFromName(pkg, call.PackageName())
		reasons := known[call.FuncName]
		if len(reasons) == 0 {
			break
		}
		why = reasons[0]
		story += fmt.Sprintf("; %s %s", call.FuncName, why)
	}
	return story
}
