package permit

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"
)

// TestJudge runs the scripts. A call is `tool effects path…`; a path may end in
// >real, !outside, !protected. PERM-1, PERM-4.
func TestJudge(t *testing.T) {
	datadriven.Walk(t, "testdata/judge", func(t *testing.T, path string) {
		var set []Rule
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "rules":
				set = nil
				for _, line := range strings.Split(strings.TrimSpace(d.Input), "\n") {
					if line != "" {
						set = append(set, rules(t, line)...)
					}
				}
				return "ok\n"
			case "judge":
				var out strings.Builder
				for _, line := range strings.Split(strings.TrimSpace(d.Input), "\n") {
					c := parseCall(line)
					out.WriteString(line + "\n")
					last := ""
					for _, m := range []Mode{ModeAsk, ModeEdit, ModeFull} {
						v := Judge(c, m, set)
						now := string(v.Decision) + ": " + v.Why
						if now != last {
							fmt.Fprintf(&out, "  %s %s\n", m, now)
						}
						last = now
					}
				}
				return out.String()
			}
			return "unknown command"
		})
	})
}

func parseCall(line string) Call {
	c := Call{Root: "/w"}
	if tool, command, ok := strings.Cut(line, " exec "); ok {
		c.Tool, c.Effects, c.Command = tool, []Effect{Exec}, command
		return c
	}
	fields := strings.Fields(line)
	c.Tool = fields[0]
	if len(fields) > 1 && fields[1] != "-" {
		for _, e := range strings.Split(fields[1], ",") {
			c.Effects = append(c.Effects, Effect(e))
		}
	}
	for _, f := range fields[min(2, len(fields)):] {
		if host, ok := strings.CutPrefix(f, "host="); ok {
			c.Host = host
			continue
		}
		name, marks, _ := strings.Cut(f, "!")
		name, real, linked := strings.Cut(name, ">")
		if !linked {
			real = name
		}
		if !strings.HasPrefix(real, "/") {
			real = "/w/" + real
		}
		c.Paths = append(c.Paths, Path{Name: name, Real: real, Inside: strings.HasPrefix(real, "/w/") || real == "/w", Protected: marks == "protected"})
	}
	return c
}

func TestMain(m *testing.M) {
	if os.Getenv("UPDATE") == "1" {
		flag.Set("rewrite", "true")
	}
	os.Exit(m.Run())
}

func TestRulesReadBack(t *testing.T) { // PERM-2
	for _, text := range []string{
		"bash", "bash(go test *)", "edit(docs/**)", "read(**/.env)", "bash(find . -name '*.go')", "web_fetch(*.example.com)",
		"mcp_github_*", "mcp_github_*(x)", "read(a (b))", "*", `edit(a\*b)`,
	} {
		r, err := ParseRule(text)
		if err != nil || r.String() != text {
			t.Errorf("%s: %s, %v", text, r, err)
		}
	}
	if r, err := ParseRule("  bash ( go test * ) "); err != nil || r.String() != "bash(go test *)" {
		t.Errorf("%q %v", r, err)
	}
	for text, want := range map[string]string{
		"":               "begins with the name of a tool",
		"(x)":            "begins with the name of a tool",
		"ba sh(x)":       "is no name of a tool",
		"b*sh":           "is no name of a tool",
		"bash(x":         "has no closing )",
		"bash()":         "has nothing between",
		"bash( )":        "has nothing between",
		"bash(a; b)":     "can't match: a rule for commands is plain words, and this has the operator ;",
		"bash(a && b)":   "the operator &",
		"bash(a | b)":    "the operator |",
		"bash(rm $HOME)": "an expansion ($)",
		"bash(a > b)":    "the operator >",
		`bash(a \* b)`:   "an escape",
		"bash(a 'b)":     "an open quote",
		"bash(a\nb)":     "a control character",
		"edit(a\u202eb)": "a control character",
	} {
		if r, err := ParseRule(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; want %s", text, r, err, want)
		}
	}
}

func TestPathGlobs(t *testing.T) {
	for _, row := range []struct {
		pattern, name string
		want          bool
	}{
		{"docs/**", "docs/a", true},
		{"docs/**", "docs/a/b.md", true},
		{"docs/**", "docs", true},
		{"docs/**", "docsx/a", false},
		{"docs/**", "x/docs/a", false},
		{"**/.env", ".env", true},
		{"**/.env", "a/.env", true},
		{"**/.env", "a/b/.env", true},
		{"**/.env", "a/x.env", false},
		{"**/.env", ".env/x", false},
		{"**", "a/b/c", true},
		{"**", "a", true},
		{"*", "a", true},
		{"*", "a/b", false},
		{"*.go", "a.go", true},
		{"*.go", "a/b.go", false},
		{"**/*.go", "a/b.go", true},
		{"**/*.go", "b.go", true},
		{"a/**/b", "a/b", true},
		{"a/**/b", "a/x/y/b", true},
		{"a/**/b", "a/x/y/c", false},
		{"a/**/**/b", "a/b", true},
		{"?", "a", true},
		{"?", "ä", true},
		{"?", "ab", false},
		{"?", "", false},
		{"a?c", "a/c", false},
		{`a\*b`, "a*b", true},
		{`a\*b`, "axb", false},
		{`a\?`, "a?", true},
		{`a\?`, "ab", false},
		{`a\\b`, `a\b`, true},
		{"a**b", "axxb", true},
		{"a**b", "a/b", false},
		{"[a]", "[a]", true},
		{"[a]", "a", false},
		{"{a,b}", "a", false},
		{"/etc/**", "/etc/passwd", true},
		{"/etc/**", "etc/passwd", false},
		{"*a*b*c*", "xaxbxcx", true},
		{"*a*b*c*", "xaxcxbx", false},
		{"", "", true},
		{"a", "", false},
	} {
		if got := matchPath(row.pattern, row.name); got != row.want {
			t.Errorf("%q on %q: %v", row.pattern, row.name, got)
		}
	}
	// It answers as a plain backtracking matcher does.
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`(\*\*/|a/|\*|\?|b|\\\*){0,7}`).Draw(t, "pattern")
		name := rapid.StringMatching(`(a/|b|\*|a){0,7}`).Draw(t, "name")
		if got, want := matchPath(pattern, name), naive(strings.Split(pattern, "/"), strings.Split(name, "/")); got != want {
			t.Fatalf("%q on %q: %v", pattern, name, got)
		}
		if !matchPath(escapeGlob(name), name) {
			t.Fatalf("%q does not match itself", name)
		}
	})
}

func naive(p, n []string) bool {
	switch {
	case len(p) == 0:
		return len(n) == 0
	case p[0] == "**":
		return naive(p[1:], n) || len(n) > 0 && naive(p, n[1:])
	case len(n) == 0:
		return false
	}
	return naiveName(p[0], n[0]) && naive(p[1:], n[1:])
}

func naiveName(p, n string) bool {
	switch {
	case p == "":
		return n == ""
	case p[0] == '*':
		return naiveName(p[1:], n) || n != "" && naiveName(p, n[1:])
	case n == "":
		return false
	case p[0] == '?':
		return naiveName(p[1:], n[1:])
	case p[0] == '\\' && len(p) > 1:
		return p[1] == n[0] && naiveName(p[2:], n[1:])
	}
	return p[0] == n[0] && naiveName(p[1:], n[1:])
}

func TestAlwaysAllowIsNarrow(t *testing.T) { // PERM-2, case SEC-13
	for command, others := range map[string][]string{
		"npm test":                {"npm test x", "npm tests", "npm", "npm run test", "npm test; x", "npm test --script-shell=x"},
		"rm tmp/x":                {"rm tmp/y", "rm tmp/x tmp/y", "rm -rf tmp/x", "rm tmp"},
		"go test ./...":           {"go test ./... -exec x", "go test", "go test ."},
		"find . -name '*.go'":     {"find . -name x.go", "find . -name '*.go' -delete", "find . -name *.go"},
		`git commit -m "a 'b' c"`: {"git commit -m 'a b c'", "git commit"},
		"echo 'a)' '('":           {"echo a"},
		" make  build\n":          {"make", "make builds"},
		"./run.sh":                {"run.sh", "./run.sh x"},
	} {
		r, ok := Narrow(bash(command))
		if !ok {
			t.Errorf("%s: no rule", command)
			continue
		}
		back, err := ParseRule(r.String())
		if err != nil {
			t.Errorf("%s: %v", command, err)
		}
		back.Effect = Allow
		if v := Judge(bash(command), ModeAsk, []Rule{back}); v.Decision != Allow {
			t.Errorf("%s is not allowed by its own rule %s", command, r)
		}
		for _, other := range others {
			if v := Judge(bash(other), ModeAsk, []Rule{back}); v.Decision != Ask {
				t.Errorf("%s allows %s", r, other)
			}
		}
	}
	for _, command := range []string{
		"bash -c 'x'", "sh x.sh", "bash", "python a.py", "python3 -c x", "python3.12 a.py", "/usr/bin/python3 a.py", "node x.js", "perl -e x",
		"awk x", "npx x", "sudo ls", "env ls", "ls | wc", "ls > x", "ls *.go", "cat {a,b}", "ls ~", "A=1 ls", "git -c a=b log", "find . -delete", "find . -exec rm x", "echo $X",
		"ls; ls", "", "docker run x", "eval ls", "sqlite3 x y",
	} {
		if r, ok := Narrow(bash(command)); ok {
			t.Errorf("%q would keep %s", command, r)
		}
	}
	for line, want := range map[string]string{
		"edit read,write a/b.go":          "edit(a/b.go)",
		"write write a*b?.go":             `edit(a\*b\?.go)`,
		"multiedit read,write a/b.go":     "edit(a/b.go)", // whichever tool changes it next
		"read read link>secret/x":         "read(secret/x)",
		"web_fetch net host=docs.example": "web_fetch(docs.example)",
		"mcp_x_y net":                     "mcp_x_y",
		"edit write a b":                  "",
		"read read /etc/passwd":           "",
		"edit write conf!protected":       "",
		"ls read /w":                      "",
		"bash exec":                       "",
	} {
		r, ok := Narrow(parseCall(line))
		if ok != (want != "") || ok && r.String() != want {
			t.Errorf("%s: %s, %v", line, r, ok)
		}
	}
	// Whatever is kept allows that very call, and no other command of the same words.
	rapid.Check(t, func(t *rapid.T) {
		command := rapid.StringMatching(`[a-c]( ([a-c]|'[*;a ]'|"x y"|-x|\*|\$|;|\(|=)){0,4}`).Draw(t, "command")
		other := rapid.StringMatching(`[a-c]( ([a-c]|'[*;a ]'|"x y"|-x|\*|\$|;|\(|=)){0,4}`).Draw(t, "other")
		r, ok := Narrow(bash(command))
		if !ok {
			return
		}
		if v := Judge(bash(command), ModeAsk, []Rule{r}); v.Decision != Allow {
			t.Fatalf("%s not allowed by %s", command, r)
		}
		a, _ := texts(command)
		b, simple := texts(other)
		if v := Judge(bash(other), ModeAsk, []Rule{r}); v.Decision == Allow && (!simple || strings.Join(a, "\x00") != strings.Join(b, "\x00")) {
			t.Fatalf("%s allows %s", r, other)
		}
	})
}

func TestDenyBeatsAllowInAnyOrder(t *testing.T) { // case SEC-04
	for _, set := range [][]string{{"bash", "deny bash(rm *)"}, {"deny bash(rm *)", "bash(rm *)"}, {"bash(rm x)", "deny bash"}, {"*", "deny *"}} {
		if v := Judge(bash("rm x"), ModeFull, rules(t, set...)); v.Decision != Deny {
			t.Errorf("%v: %s", set, v.Decision)
		}
	}
}

// In no mode, by no rules, does a call run that a shorter proof forbids. PERM-4
func TestNothingOpensWhatIsKeptShut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(rapid.SampledFrom([]string{"*", "bash", "edit", "read", "write", "edit(**)", "read(**)", "edit(/**)", "read(/**)", "bash(*)", "bash(ls *)"}), 0, 4).Draw(t, "rules")
		var set []Rule
		for _, text := range texts {
			r, _ := ParseRule(text)
			r.Effect = Allow
			set = append(set, r)
		}
		effects := rapid.SliceOf(rapid.SampledFrom([]Effect{Read, Write, Exec, Net, "new"})).Draw(t, "effects")
		p := Path{Name: "x", Real: "/w/x", Inside: rapid.Bool().Draw(t, "inside"), Protected: rapid.Bool().Draw(t, "protected")}
		c := Call{Tool: rapid.SampledFrom([]string{"edit", "read", "bash", "mcp_x"}).Draw(t, "tool"), Effects: effects, Paths: []Path{p}, Root: "/w"}
		if c.Tool == "bash" {
			c.Command = "ls x"
		}
		mode := rapid.SampledFrom([]Mode{ModeAsk, ModeEdit, ModeFull, "", "root"}).Draw(t, "mode")
		v := Judge(c, mode, set)
		switch {
		case p.Protected && !c.only(Read, Net):
			if v.Decision != Deny {
				t.Fatalf("%v %v: %v", c, mode, v)
			}
		case p.Protected || !p.Inside:
			if v.Decision != Ask {
				t.Fatalf("%v %v: %v", c, mode, v)
			}
		case len(set) == 0 && mode != ModeFull && !c.only(Read, Write) && v.Decision == Allow:
			t.Fatalf("%v %v: %v", c, mode, v)
		case len(set) == 0 && mode != ModeFull && mode != ModeEdit && !c.only(Read) && v.Decision == Allow:
			t.Fatalf("%v %v: %v", c, mode, v)
		}
	})
}

// A hostile command costs no more than its length allows. REL-5
func TestLongCommandsAreJudged(t *testing.T) {
	set := rules(t, "bash", "deny bash(git push --force*)", "deny read(**/.env)")
	for _, piece := range []string{"sudo ", "$(", "`", "a ", "$", "(", "sh -c '", "\"", "eval ", "; a ", "* ", "find -exec ", "\\", "x=1 ", "<", "cd a; "} {
		command := strings.Repeat(piece, (1<<17)/len(piece))
		if v := Judge(bash(command), ModeFull, set); v.Decision != Ask {
			t.Errorf("%q repeated: %s", piece, v.Decision)
		}
	}
}

func FuzzJudge(f *testing.F) { // REL-5
	for _, s := range []string{"git push --force", "sh -c 'x'", "a $(b) \"c\"", "{a,b}", "x <<E\nE", "ls *.go", "a'"} {
		f.Add(s)
	}
	set := []Rule{{Tool: "bash", Pattern: "a *", Effect: Allow}, {Tool: "bash", Pattern: "git push --force*", Effect: Deny}, {Tool: "read", Pattern: "**/.env", Effect: Deny}}
	f.Fuzz(func(t *testing.T, command string) {
		v := Judge(bash(command), ModeAsk, set)
		if words, ok := texts(command); ok {
			if len(words) == 0 || words[0] == "" {
				t.Fatalf("%q", words)
			}
			if len(words) > 1 && words[0] == "git" && words[1] == "push" && strings.Contains(strings.Join(words, " "), " --force") && v.Decision == Allow {
				t.Fatal(command)
			}
		} else if v.Decision == Allow && command != "" {
			t.Fatal(command)
		}
		Narrow(bash(command))
	})
}
