package tools

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// age gives files times, the first the newest.
func (k *bench) age(names ...string) {
	for i, n := range names {
		at := time.Unix(1_700_000_000-int64(i), 0)
		os.Chtimes(k.path(n), at, at)
	}
}

func TestGrep(t *testing.T) { // TOOL table
	k := newBench(t)
	k.put("b.go", "package b\n\nfunc Foo() {\n\tfoo()\n}\n")
	k.put("a.go", "package a\n// foo, FOO\r\n")
	k.put("sub/c.ts", "foo\n"+strings.Repeat("y", 600)+" foo\n")
	k.put("bin", "foo\x00foo\n")
	k.put("skipped/x.go", "foo\n")
	k.put(".hidden/x.go", "foo\n")
	k.put(".gitignore", "skipped/\n*.log\n!keep.log\n")
	k.put("x.log", "foo\n")
	k.put("keep.log", "foo at last")
	k.put("sub/.gitignore", "/d.ts\n")
	k.put("sub/d.ts", "foo\n")
	os.Symlink("b.go", k.path("link.go"))
	k.age("b.go", "a.go", "sub/c.ts", "keep.log")
	for _, c := range []struct {
		args m
		want string
	}{
		{m{"pattern": "foo"}, "b.go\n4:\tfoo()\n\na.go\n2:// foo, FOO\n\nsub/c.ts\n1:foo\n2:" + strings.Repeat("y", 500) + " [cut here: 604 bytes in all]\n\nkeep.log\n1:foo at last\n[1 binary file skipped]\n"},
		{m{"pattern": "foo", "mode": "files"}, "b.go\na.go\nsub/c.ts\nkeep.log\n[1 binary file skipped]\n"},
		{m{"pattern": "foo", "mode": "count", "include": "*.{ts,go}"}, "b.go:1\na.go:1\nsub/c.ts:2\n"},
		{m{"pattern": "foo", "ignore_case": true, "include": "*.go"}, "b.go\n3:func Foo() {\n4:\tfoo()\n\na.go\n2:// foo, FOO\n"},
		{m{"pattern": "foo()", "literal": true}, "b.go\n4:\tfoo()\n[1 binary file skipped]\n"},
		{m{"pattern": `^func \w+\(`}, "b.go\n3:func Foo() {\n[1 binary file skipped]\n"},
		{m{"pattern": `FOO$`, "path": "a.go"}, "a.go\n2:// foo, FOO\n"}, // a CRLF line
		{m{"pattern": "foo", "include": "*.go", "limit": 1}, "b.go\n4:\tfoo()\n[the first 1 of 2 matching lines in 2 files; 1 left out, narrow the search or raise limit]\n"},
		{m{"pattern": "foo", "limit": 1, "mode": "files", "include": "*.go"}, "b.go\n[the newest 1 of 2 files; 1 left out]\n"},
		{m{"pattern": "foo", "path": "b.go", "context": 1}, "b.go\n3-func Foo() {\n4:\tfoo()\n5-}\n"},
		{m{"pattern": "foo", "path": "skipped"}, "skipped/x.go\n1:foo\n"},
		{m{"pattern": "foo", "path": ".hidden"}, ".hidden/x.go\n1:foo\n"},
		{m{"pattern": "foo", "path": "x.log"}, "x.log\n1:foo\n"},
		{m{"pattern": "foo", "include": "sub/**"}, "sub/c.ts\n1:foo\n2:" + strings.Repeat("y", 500) + " [cut here: 604 bytes in all]\n"},
		{m{"pattern": "nowhere", "include": "*.go"}, "[no match in 2 files; 2 entries excluded by ignore files (name the folder in path to see into it); 3 hidden entries not searched (name it in path)]\n"},
	} {
		if c.args["pattern"] == "nowhere" {
			c.want = string(k.ok(k.do("grep", c.args), "no match in 2 files", "excluded by ignore files", "hidden entries not searched").Text)
		}
		if got := string(k.ok(k.do("grep", c.args)).Text); got != c.want {
			t.Errorf("%v:\n%s\nwant\n%s", c.args, got, c.want)
		}
	}
	for args, want := range map[string]string{
		`{"pattern":""}`:                     "pattern is empty",
		`{"pattern":"a("}`:                   "pattern is not a valid regular expression: missing closing ): \"a(\"",
		`{"pattern":"a\nb"}`:                 "matches within a line",
		`{"pattern":"a","path":"nope"}`:      "nope does not exist",
		`{"pattern":"a","include":"[a"}`:     "not a valid glob",
		`{"pattern":"a","path":"/dev/zero"}`: "is a device",
	} {
		k.fails(k.do("grep", args), want)
	}
}

// Whatever way a pattern is searched (block, literal first, folded), it finds what a plain look at each line finds.
func TestGrepAgreesWithALineByLineLook(t *testing.T) {
	k := newBench(t)
	rapid.Check(t, func(rt *rapid.T) {
		var lines []string
		for range rapid.IntRange(0, 40).Draw(rt, "n") {
			lines = append(lines, rapid.StringMatching(`[abAB .]{0,6}`).Draw(rt, "line"))
		}
		eol := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(rt, "eol")
		text := strings.Join(lines, eol)
		if rapid.Bool().Draw(rt, "final") && len(lines) > 0 {
			text += eol
		} else if len(lines) > 0 && lines[len(lines)-1] == "" {
			lines = lines[:len(lines)-1] // nothing after the last newline is no line
		}
		pattern := rapid.SampledFrom([]string{"a", "ab", "a.b", "^a", "b$", "^$", "[^a]", `\s`, "(?i)ab", "a|b", "(ab)+", `\bab\b`, "^", `\Aa`, `b\z`, "a*", "[^b]*a", "x"}).Draw(rt, "pattern")
		fold := rapid.Bool().Draw(rt, "fold")
		ctx := rapid.IntRange(0, 2).Draw(rt, "context")
		k.put("f", text)
		var a, b []string
		re := regexp.MustCompile(map[bool]string{true: "(?i)", false: ""}[fold] + pattern)
		hit := map[int]bool{}
		for i, l := range lines {
			hit[i] = re.MatchString(l)
		}
		for i, l := range lines {
			near := false
			for j := i - ctx; j <= i+ctx; j++ {
				near = near || hit[j]
			}
			if hit[i] {
				a = append(a, fmt.Sprintf("%d:%s", i+1, l))
			} else if near {
				a = append(a, fmt.Sprintf("%d-%s", i+1, l))
			}
		}
		r := k.do("grep", m{"pattern": pattern, "path": "f", "ignore_case": fold, "context": ctx})
		for _, l := range strings.Split(strings.TrimSuffix(string(r.Text), "\n"), "\n")[1:] {
			if l != "--" {
				b = append(b, l)
			}
		}
		if !slices.Equal(a, b) {
			rt.Fatalf("%q fold %v in %q:\n got %q\nwant %q", pattern, fold, text, b, a)
		}
	})
}

func TestGrepOverBlocks(t *testing.T) { // case TOL-10
	k := newBench(t)
	var b strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&b, "line %d of a file that takes several blocks\n", i+1)
	}
	k.put("big", b.String())
	k.ok(k.do("grep", m{"pattern": "line (20000|39999) ", "path": "big", "context": 1}),
		"big\n19999-line 19999 of", "\n20000:line 20000", "\n20001-line", "\n--\n39998-line", "39999:line 39999", "\n40000-line 40000")
	r := k.ok(k.do("grep", m{"pattern": "line", "path": "big"}), "the first 100 of 40,000 matching lines in 1 file; 39,900 left out")
	if r.LeftOut.Lines != 39_900 {
		t.Errorf("%+v", r.LeftOut)
	}
	k.put("one.json", "{"+strings.Repeat(`"k":"v",`, 2_500_000)+`"needle":1}`)
	k.ok(k.do("grep", m{"pattern": "needle", "path": "one.json"}), "1:{\"k\"", "[cut here: 20,000,012 bytes in all]")
	k.ok(k.do("grep", m{"pattern": "needle", "path": "one.json", "mode": "count"}), "one.json:1\n")
}

func TestGrepTextIsBounded(t *testing.T) { // TOOL-2
	k := newBench(t)
	for i := range 10 {
		k.put(fmt.Sprintf("f%d", i), strings.Repeat(strings.Repeat("x", 490)+"\n", 50))
	}
	r := k.ok(k.do("grep", m{"pattern": "x", "limit": 500}), "lines, ", `left out; read file_path "item:c1" has the whole output`)
	full, err := k.blobs.Get(r.Full.SHA256)
	if err != nil || strings.Count(string(full), "xxx\n") != 500 {
		t.Errorf("%v: the kept text has %d lines", err, strings.Count(string(full), "xxx\n"))
	}
	k.ok(k.do("read", m{"file_path": "item:c1", "offset": -1}), "xxxx")
}

func TestSearchStopsOnEsc(t *testing.T) {
	k := newBench(t)
	k.put("f", "x")
	ctx, esc := context.WithCancel(t.Context())
	esc()
	for tool, a := range map[string]m{"grep": {"pattern": "x"}, "glob": {"pattern": "*"}, "ls": {}} {
		c := k.call(tool, a)
		if r := k.Run(ctx, c, k, nil); r.Interrupted != ByUser {
			t.Errorf("%s: %+v", tool, r)
		}
		_, do := k.prepare(t.Context(), c, k)
		if r := do(ctx, nil); r.Interrupted != ByUser || !r.IsError {
			t.Errorf("%s: %+v", tool, r)
		}
	}
}

func TestIgnoreRulesAgreeWithGit(t *testing.T) { // TOOL table
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	k := newBench(t)
	k.put(".gitignore", "*.log\n!keep.log\n/build\nnode_modules/\n**/tmp\ndoc/*.txt\nfoo/**/bar\n\\#lit\ntrail \nA[0-9]\n/x/*\n!/x/y\n# comment\n")
	k.put("deep/.gitignore", "/only\nmore*\n!more.go\n")
	if out, err := exec.Command("git", "-C", k.ws, "init", "-q").CombinedOutput(); err != nil {
		t.Skipf("git init: %v %s", err, out)
	}
	k.put(".git/info/exclude", "excluded\n")
	for _, p := range []string{
		"a.log", "keep.log", "sub/keep.log", "build/x", "sub/build/x", "node_modules/a/b.js", "s/node_modules/z", "a/tmp/q", "tmp", "doc/a.txt",
		"doc/s/a.txt", "foo/bar", "foo/a/b/bar", "#lit", "trail", "A1", "x/y", "x/z", "node_modules.txt", "deep/only", "deep/sub/only", "deep/more.c", "deep/more.go",
		"excluded", "deep/excluded/q", "deep/d/x.log", "plain.go",
	} {
		k.put(p, "")
	}
	var want []string
	out, err := exec.Command("git", "-C", k.ws, "ls-files", "-co", "--exclude-standard").Output()
	if err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(string(out)) {
		if l = strings.TrimSuffix(l, "\n"); !strings.Contains(l, ".gitignore") {
			want = append(want, strings.Trim(l, `"`))
		}
	}
	got := strings.Split(strings.TrimSuffix(string(k.do("glob", m{"pattern": "**"}).Text), "\n"), "\n")
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	// From a folder below, the rules above still hold.
	got = strings.Fields(string(k.do("glob", m{"pattern": "**", "path": "deep"}).Text))
	slices.Sort(got)
	if want := []string{"deep/more.go", "deep/sub/only"}; !slices.Equal(got, want) {
		t.Errorf("below: %q, want %q", got, want)
	}
}

func TestGlob(t *testing.T) { // TOOL table
	k := newBench(t)
	for _, f := range []string{"a.go", "b/c.go", "b/d/e.go", "b/x.ts", ".github/w.yml", "dist/out.js", "odd\nname.go"} {
		k.put(f, "")
	}
	k.put(".gitignore", "dist\n")
	k.age("b/d/e.go", "a.go", "b/c.go", "b/x.ts", "odd\nname.go")
	for _, c := range []struct {
		args m
		want string
	}{
		{m{"pattern": "**/*.go"}, "b/d/e.go\na.go\nb/c.go\nodd⟨U+000A⟩name.go\n"},
		{m{"pattern": "*.go"}, "a.go\nodd⟨U+000A⟩name.go\n"},
		{m{"pattern": "b/**/*.{go,ts}"}, "b/d/e.go\nb/c.go\nb/x.ts\n"},
		{m{"pattern": "**/*.go", "path": "b"}, "b/d/e.go\nb/c.go\n"},
		{m{"pattern": k.ws + "/b/*.ts"}, "b/x.ts\n"},
		{m{"pattern": ".github/*"}, ".github/w.yml\n"},
		{m{"pattern": "**/.github/*"}, ".github/w.yml\n"},
		{m{"pattern": "dist/**"}, "dist/out.js\n"},
	} {
		if got := string(k.ok(k.do("glob", c.args)).Text); got != c.want {
			t.Errorf("%v:\n%s\nwant\n%s", c.args, got, c.want)
		}
	}
	k.ok(k.do("glob", m{"pattern": "**/*.rs"}), "[no file matches; 1 entry excluded by ignore files")
	k.fails(k.do("glob", m{"pattern": "{a"}), "not a valid glob")
	k.fails(k.do("glob", m{"pattern": "nope/*.go"}), "nope does not exist")
	for i := range 130 {
		k.put(fmt.Sprintf("many/%03d.txt", i), "")
	}
	r := k.ok(k.do("glob", m{"pattern": "many/*.txt"}), "[the newest 100 of 130 files; 30 left out]")
	if strings.Count(string(r.Text), "\n") != 101 || r.LeftOut.Lines != 30 {
		t.Errorf("%+v\n%s", r.LeftOut, r.Text)
	}
	if p := k.Plan(t.Context(), k.call("glob", m{"pattern": "/etc/*.conf"}), k); p.Paths[0].Inside || p.Paths[0].Real != "/etc" {
		t.Errorf("an absolute pattern is judged as %+v", p.Paths)
	}
	if p := k.Plan(t.Context(), k.call("glob", m{"pattern": "../*.conf"}), k); p.Paths[0].Inside {
		t.Errorf("a pattern above the workspace is judged as %+v", p.Paths)
	}
}

func TestLs(t *testing.T) { // TOOL table
	k := newBench(t)
	for _, f := range []string{"a/b/c/d/e.go", "a/z.go", "m/x.js", "top.md", ".git/config", "odd\x1b[2J"} {
		k.put(f, "")
	}
	k.put(".gitignore", "m/\n")
	os.Symlink("top.md", k.path("ln"))
	want := `./
  .git/ (not entered)
  .gitignore
  a/
    b/
      c/ …
    z.go
  ln -> top.md
  m/ (ignored)
  odd⟨U+001B⟩[2J
  top.md
`
	if got := string(k.ok(k.do("ls", m{})).Text); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := string(k.ok(k.do("ls", m{"path": "a", "depth": 1, "ignore": []string{"z.*"}})).Text); got != "a/\n  b/ …\n" {
		t.Errorf("got\n%s", got)
	}
	k.ok(k.do("ls", m{"path": "m"}), "m/\n  x.js\n")
	k.fails(k.do("ls", m{"path": "top.md"}), "top.md is not a folder")
	k.fails(k.do("ls", m{"path": "tap.md"}), "does not exist; near it: top.md")
	for i := range 1500 {
		k.put(fmt.Sprintf("crowd/%04d", i), "")
	}
	r := k.ok(k.do("ls", m{}), "\n  top.md\n", "510 more]", "511 entries left out (at most 1,000 are listed)")
	if r.LeftOut.Lines != 511 {
		t.Errorf("%+v", r.LeftOut)
	}
	os.Mkdir(k.path("none"), 0o755)
	k.ok(k.do("ls", m{"path": "none"}), "none/\n[empty]")
}

var sink Result

func BenchmarkBashTrue(b *testing.B) { // PERF-4
	k := newBench(b)
	c := Call{ID: "c", Name: "bash", Args: []byte(`{"command":"true"}`)}
	for b.Loop() {
		sink = k.Run(b.Context(), c, k, nil)
	}
}

// What the same costs without us, for comparison.
func BenchmarkBareBashTrue(b *testing.B) {
	for b.Loop() {
		exec.Command("bash", "-c", "true").Run()
	}
}

func BenchmarkRead(b *testing.B) { // PERF-4
	k := newBench(b)
	k.put("f", strings.Repeat("a line of a file as long as they are\n", 1000))
	c := Call{ID: "c", Name: "read", Args: []byte(`{"file_path":"f"}`)}
	for b.Loop() {
		sink = k.Run(b.Context(), c, k, nil)
	}
}

func BenchmarkGrep(b *testing.B) {
	src := filepath.Join(os.Getenv("GOROOT"), "src")
	if out, err := exec.Command("go", "env", "GOROOT").Output(); err == nil {
		src = filepath.Join(strings.TrimSpace(string(out)), "src")
	}
	for name, a := range map[string]m{
		"literal":   {"pattern": "ErrUnexpectedEOF"},
		"fold":      {"pattern": "unexpectedeof", "ignore_case": true},
		"needle":    {"pattern": `func \w+Handler\(`},
		"no-prefix": {"pattern": `[a-z]+_[0-9]+\(`},
		"two":       {"pattern": `Unlockpt|grantpt`},
	} {
		b.Run(name, func(b *testing.B) {
			k := newBench(b, func(c *Config) { c.Workspace = src })
			c := k.call("grep", a)
			for b.Loop() {
				sink = k.Run(b.Context(), c, k, nil)
			}
		})
	}
}
