package tools

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestReadShowsNumberedLines(t *testing.T) { // TOOL table
	k := newBench(t)
	var long strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&long, "line %d\n", i+1)
	}
	k.put("long", long.String())
	k.put("short", "one\ntwo")
	k.put("crlf", "one\r\ntwo\r\n")
	k.put("empty", "")
	k.put("wide", strings.Repeat("é", 2001)+"\n"+strings.Repeat("x", 20<<20)+"\nend\n")
	k.put("bom", "\uFEFFone\n")
	k.put("latin", "caf\xe9\n")
	k.put("utf16", "\xff\xfeh\x00i\x00\n\x00")
	for _, c := range []struct {
		args m
		want string
	}{
		{m{"file_path": "short"}, "1\tone\n2\ttwo\n"},
		{m{"file_path": "short", "offset": 2}, "2\ttwo\n[lines 2-2, the end]\n"},
		{m{"file_path": "short", "offset": 9}, "[no lines from 9 on: there are 2 lines]\n"},
		{m{"file_path": "short", "limit": 1}, "1\tone\n[lines 1-1 of 2; next offset 2]\n"},
		{m{"file_path": "crlf"}, "1\tone\n2\ttwo\n"},
		{m{"file_path": "empty"}, "[empty file]"},
		{m{"file_path": "bom"}, "1\tone\n"},
		{m{"file_path": "long", "offset": 3001, "limit": 2}, "3001\tline 3001\n3002\tline 3002\n[lines 3001-3002 of 5,000; next offset 3003]\n"},
		{m{"file_path": "long", "offset": -2}, "4999\tline 4999\n5000\tline 5000\n[lines 4999-5000 of 5,000]\n"},
		{m{"file_path": "short", "offset": -9}, "1\tone\n2\ttwo\n"},
		{m{"file_path": "latin"}, "1\tcaf\uFFFD\n[not valid UTF-8; bytes that are none are shown as \uFFFD, and it can't be edited]\n"},
		{m{"file_path": "utf16"}, "1\thi\n[UTF-16, shown as UTF-8; it can't be edited]\n"},
		{m{"file_path": "./long/../short"}, "1\tone\n2\ttwo\n"},
	} {
		if got := string(k.ok(k.do("read", c.args)).Text); got != c.want {
			t.Errorf("%v:\n%q, want\n%q", c.args, got, c.want)
		}
	}
	k.ok(k.do("read", m{"file_path": "long"}), "1\tline 1\n", "1980\tline 1980\n[lines 1-1980 of 5,000; next offset 1981]")
	k.ok(k.do("read", m{"file_path": "wide"}), "1\t"+strings.Repeat("é", 2000)+" [line cut here: 4,002 bytes in all]\n2\t", "x [line cut here: 20,971,520 bytes in all]\n3\tend\n", "20.0 MB, too large to be edited")
	r := k.do("read", m{"file_path": "long", "limit": 1})
	if want := (Observed{k.path("long"), hashOf([]byte(long.String())), int64(long.Len())}); len(r.Observed) != 1 || r.Observed[0] != want {
		t.Errorf("observed %+v, want %+v", r.Observed, want)
	}
}

func TestReadRefusesWhatIsNoText(t *testing.T) { // TOOL table
	k := newBench(t)
	k.put("readme.md", "x")
	k.put("src/config.go", "x")
	k.put("bin", "ab\x00cd"+strings.Repeat("z", 100))
	k.put("p.png", "\x89PNG\r\n\x1a\n"+strings.Repeat("\x00", 1016))
	k.put("p.bmp", "BM"+strings.Repeat("\x00", 98))
	if err := syscall.Mkfifo(k.path("fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"READNE.md":     "READNE.md does not exist; near it: readme.md",
		"src/confg.go":  "near it: src/config.go",
		"src/a/b/c":     "the last folder that exists is src",
		"src":           "src is a folder; use ls",
		"bin":           "bin is binary (application/octet-stream), 105 bytes; it is not shown",
		"p.png":         "p.png begins like image/png, but it is damaged (png: ",
		"p.bmp":         "p.bmp is binary (image/bmp), 100 bytes; it is not shown",
		"fifo":          "fifo is a named pipe, not a file",
		"/dev/zero":     "/dev/zero is a device, not a file",
		"item:99":       `there is no item "99"`,
		"readme.md/x/y": "readme.md/x/y can't be read: not a directory",
	} {
		k.fails(k.do("read", m{"file_path": name}), want)
	}
}

func TestReadOfAHugeLogIsBounded(t *testing.T) { // case TOL-10
	k := newBench(t)
	f, err := os.Create(k.path("log"))
	if err != nil {
		t.Fatal(err)
	}
	block := bytes.Repeat([]byte("2026-01-01 12:00:00 some line of a log, long enough to be one............\n"), 1<<14)
	lines := 0
	for range 100<<20/len(block) + 1 {
		f.Write(block)
		lines += 1 << 14
	}
	fmt.Fprintln(f, "the very end")
	f.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	k.ok(k.do("read", m{"file_path": "log"}), "1\t2026", "more follow; next offset ", "too large to be edited")
	k.ok(k.do("read", m{"file_path": "log", "offset": lines, "limit": 1}), fmt.Sprintf("%d\t2026", lines))
	r := k.ok(k.do("read", m{"file_path": "log", "offset": -1}), fmt.Sprintf("%d\tthe very end\n", lines+1))
	runtime.ReadMemStats(&after)
	if got := (after.TotalAlloc - before.TotalAlloc) >> 20; got > 16 {
		t.Errorf("%d MB allocated", got)
	}
	if r.Observed != nil {
		t.Error("hashed")
	}
}

func TestWrite(t *testing.T) { // TOOL-3, TOOL table
	k := newBench(t)
	r := k.ok(k.do("write", m{"file_path": "a/b/new.sh", "content": "x\n"}), "created a/b/new.sh (1 line, 2 bytes)")
	k.has("a/b/new.sh", "x\n")
	want := Change{Path: k.path("a/b/new.sh"), Op: Created, After: hashOf([]byte("x\n")), Mode: 0o644}
	if len(r.Changes) != 1 || r.Changes[0] != want {
		t.Errorf("changes %+v, want %+v", r.Changes, want)
	}
	os.Chmod(k.path("a/b/new.sh"), 0o750)
	r = k.ok(k.do("write", m{"file_path": "a/b/new.sh", "content": "y"}), "wrote a/b/new.sh (1 line, 1 bytes)")
	k.has("a/b/new.sh", "y")
	want = Change{Path: k.path("a/b/new.sh"), Op: Modified, Before: hashOf([]byte("x\n")), After: hashOf([]byte("y")), Mode: 0o750}
	if len(r.Changes) != 1 || r.Changes[0] != want {
		t.Errorf("changes %+v, want %+v", r.Changes, want)
	}
	if fi, _ := os.Stat(k.path("a/b/new.sh")); fi.Mode().Perm() != 0o750 {
		t.Errorf("mode %v", fi.Mode())
	}
	if got, err := k.blobs.Get(want.Before); err != nil || string(got) != "x\n" {
		t.Error("the old content was not kept")
	}
	r = k.ok(k.do("write", m{"file_path": "a/b/new.sh", "content": "y"}), "already has this content")
	if r.Changes != nil {
		t.Errorf("changes %+v", r.Changes)
	}
	k.put("unread", "x")
	k.fails(k.do("write", m{"file_path": "unread", "content": "y"}), "unread exists and has not been read in this conversation; read it first")
	k.do("read", m{"file_path": "unread"})
	k.put("unread", "z")
	k.fails(k.do("write", m{"file_path": "unread", "content": "y"}), "has changed since it was last read")
	k.has("unread", "z")
	k.fails(k.do("write", m{"file_path": "a", "content": "y"}), "a is a folder")
	k.fails(k.do("write", m{"file_path": "unread/x", "content": "y"}), "unread/x can't be read: not a directory")
	k.noTemp()
}

func TestEdit(t *testing.T) { // TOOL-3, TOOL table, case TOL-05, case TOL-07, case TOL-08
	var many strings.Builder
	for i := range 300 {
		fmt.Fprintf(&many, "row %d\n", i)
	}
	for _, c := range []struct {
		name, file    string
		from, to      string
		all           bool
		want, says    string // want "" is no change
		err           bool
		unread, fresh bool
	}{
		{name: "once", file: "one\ntwo\n", from: "two", to: "2", want: "one\n2\n", says: "edited f: 1 replacement at line 2"},
		{name: "deletion", file: "one\ntwo\n", from: "one\n", to: "", want: "two\n"},
		{name: "identical", file: "one\n", from: "one", to: "one", err: true, says: "are the same"},
		{name: "identical but for CR", file: "a\r\nb\r\n", from: "a\r\nb", to: "a\nb", err: true, says: "are the same (line endings are kept"},
		{name: "empty old", file: "one\n", from: "", to: "x", err: true, says: "old_string is empty"},
		{name: "absent", file: "one\n", from: "three and four", to: "x", err: true, says: "not in the file, not even with other whitespace"},
		{name: "ambiguous", file: "f()\nf()\nf()\n", from: "f()", to: "g()", err: true, says: "matches 3 times, at lines 1, 2, 3; include more context"},
		{name: "overlapping", file: "aaa\n", from: "aa", to: "b", err: true, says: "matches 2 times, at lines 1, 1"},
		{name: "all", file: "f()\nf()\n", from: "f()", to: "g()", all: true, want: "g()\ng()\n", says: "2 replacements at lines 1, 2"},
		{name: "all, overlapping", file: "aaa\n", from: "aa", to: "b", all: true, want: "ba\n"},
		{name: "300 lines", file: "start\n" + many.String() + "end\n", from: many.String(), to: "gone\n", want: "start\ngone\nend\n"},
		{name: "LF against CRLF", file: "a\r\nb\r\nc\r\n", from: "a\nb", to: "x\ny\nz", want: "x\r\ny\r\nz\r\nc\r\n"},
		{name: "mixed endings stay", file: "a\r\nb\nc\r\nd\n", from: "b", to: "B", want: "a\r\nB\nc\r\nd\n"},
		{name: "new lines as the span has", file: "a\r\nb\nc\nd\r\ne\r\n", from: "b\nc", to: "b\nx\nc", want: "a\r\nb\nx\nc\nd\r\ne\r\n"},
		{name: "BOM", file: "\uFEFFone\n", from: "one", to: "two", want: "\uFEFFtwo\n"},
		{name: "final newline stays away", file: "a\nb", from: "a", to: "x", want: "x\nb"},
		{name: "final newline stays", file: "a\nb\n", from: "b\n", to: "c", want: "a\nc\n"},
		{name: "CRLF final newline stays", file: "a\r\nb\r\n", from: "b\n", to: "c", want: "a\r\nc\r\n"},
		{name: "UTF-16", file: "\xff\xfea\x00", from: "a", to: "b", err: true, says: "f is UTF-16; it is not edited"},
		{name: "GBK", file: "abc \xc4\xe3\xba\xc3\n", from: "abc", to: "b", err: true, says: "not valid UTF-8"},
		{name: "Latin-1", file: "abc caf\xe9\n", from: "abc", to: "b", err: true, says: "not valid UTF-8"},
		{name: "binary", file: "abc\x00\n", from: "abc", to: "b", err: true, says: "binary"},
		{name: "unread", file: "one\n", from: "one", to: "b", err: true, unread: true, says: "has not been read"},
		{
			name: "loose", file: "if x {\n\t\tdo(a,  b)\n}\n", from: "    do(a, b)\n", to: "    do(b)\n    done()\n", want: "if x {\n\t\tdo(b)\n\t\tdone()\n}\n",
			says: "line 2. old_string matched only but for whitespace",
		},
		{name: "loose, trailing spaces", file: "func a() {  \n\treturn 1\n}\n", from: "func a() {\n\treturn 1\n}", to: "func b() {\n\treturn 2\n}", want: "func b() {\n\treturn 2\n}\n"},
		{name: "loose, CRLF", file: "\tfoo(a,  b)\r\n\tbar()\r\nend\r\n", from: "foo(a, b)\nbar()", to: "foo(a)\nbar(b)", want: "\tfoo(a)\r\n\tbar(b)\r\nend\r\n"},
		{name: "loose, inside a line", file: "x = call(1,   2) // why\n", from: "call(1, 2)", to: "call(3)", want: "x = call(3) // why\n"},
		{
			name: "loose, other steps", file: "def f(x):\n    if x:\n        for y in x:\n            go(y)\n",
			from: "  if x:\n    for y in x:\n      go(y)", to: "  if x:\n    for y in x:\n      if y:\n        go(y)\n  return x",
			want: "def f(x):\n    if x:\n        for y in x:\n            if y:\n                go(y)\n    return x\n",
		},
		{
			name: "loose, spaces for tabs", file: "func f() {\n\tif x {\n\t\tgo(y)\n\t}\n}\n",
			from: "    if x {\n        go(y)\n    }", to: "    if x {\n        if y {\n            go(y)\n        }\n    }",
			want: "func f() {\n\tif x {\n\t\tif y {\n\t\t\tgo(y)\n\t\t}\n\t}\n}\n",
		},
		{
			name: "loose, an indentation that can't be known", file: "\tdo(a,  b)\n", from: "  do(a, b)\n", to: "  do(b)\n     deep()\n",
			err: true, says: "indent",
		},
		{name: "loose, a line removed", file: "def g():\n\tx = 2\n\treturn 2\n", from: "  x = 2\n", to: "", want: "def g():\n\treturn 2\n", says: "removed"},
		{name: "loose, a line's text removed", file: "def g():\n\tx = 12\n\treturn 2\n", from: "  x = 12", to: "", want: "def g():\n\n\treturn 2\n"},
		{name: "loose, with empty lines after it", file: "a()\n\ndef g():\n\treturn 2\n\nb()\n", from: "def g():\n  return 2\n\n", to: "", want: "a()\n\nb()\n"},
		{name: "loose, with empty lines before it", file: "a()\n\ndef g():\n\treturn 2\n", from: "\ndef g():\n  return 2\n", to: "def g():\n  return 3\n", want: "a()\ndef g():\n\treturn 3\n"},
		{name: "loose, an empty line added", file: "\tx = 12\n\ty = 2\n", from: "  x = 12\n", to: "  x = 12\n\n", want: "\tx = 12\n\n\ty = 2\n"},
		{name: "loose, empty lines that are not there", file: "a()\n\tx = 12\nb()\n", from: "\n  x = 12\n\n", to: "", err: true, says: "can't be told"},
		{name: "loose twice", file: "go  on now\ngo   on now\n", from: "go on now", to: "x", err: true, says: "2 places match but for whitespace, at lines 1, 2"},
		{name: "loose word", file: "maximum\n", from: " max ", to: " y ", err: true, says: "not in the file"},
		{name: "loose inside a word", file: "prefix_do  it\n", from: " do it", to: " x", err: true, says: "not in the file"},
		{name: "fuzzy never inserts", file: "alpha  beta\n", from: "alpha beta gamma", to: "x", err: true, says: "not in the file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newBench(t)
			path := k.put("f", c.file)
			if !c.unread {
				k.seen[path] = hashOf([]byte(c.file))
			}
			old := time.Unix(1_000_000_000, 0)
			os.Chtimes(path, old, old)
			r := k.do("edit", m{"file_path": "f", "old_string": c.from, "new_string": c.to, "replace_all": c.all})
			k.says(r, c.says)
			if r.IsError != c.err {
				t.Errorf("error %v: %s", r.IsError, r.Text)
			}
			if c.err {
				fi, _ := os.Stat(path)
				if k.has("f", c.file); !fi.ModTime().Equal(old) || r.Changes != nil {
					t.Error("a refused edit touched the file")
				}
			} else {
				k.has("f", c.want)
				if k.seen[path] != hashOf([]byte(c.want)) {
					t.Error("the session does not know the new content")
				}
			}
			k.noTemp()
		})
	}
}

func TestWriteOverKeepsEncoding(t *testing.T) { // case TOL-08, TOOL-3
	k := newBench(t)
	k.putRead("bom", "\uFEFFa\n")
	k.ok(k.do("write", m{"file_path": "bom", "content": "b\n"}), "byte order mark kept")
	k.has("bom", "\uFEFFb\n")
	k.putRead("crlf", "a\r\nb\r\n")
	k.ok(k.do("write", m{"file_path": "crlf", "content": "x\ny\n"}), "CRLF line endings kept")
	k.has("crlf", "x\r\ny\r\n")
	for name, content := range map[string]string{"utf16": "\xff\xfea\x00", "gbk": "\xc4\xe3\n", "latin": "caf\xe9"} {
		k.putRead(name, content)
		k.fails(k.do("write", m{"file_path": name, "content": "x"}), "it is not edited")
		k.has(name, content)
	}
}

func TestMultieditIsAllOrNothing(t *testing.T) { // TOOL table
	k := newBench(t)
	k.putRead("f", "a\nb\nc\n")
	edits := func(es ...string) []m {
		var out []m
		for i := 0; i < len(es); i += 2 {
			out = append(out, m{"old_string": es[i], "new_string": es[i+1]})
		}
		return out
	}
	k.fails(k.do("multiedit", m{"file_path": "f", "edits": edits("a", "x", "nothing like it", "y")}), "edit 2 of 2: old_string is not in the file", "none of the edits was made")
	k.has("f", "a\nb\nc\n")
	r := k.ok(k.do("multiedit", m{"file_path": "f", "edits": edits("a", "x", "x\nb", "y")}), "edit 1 of 2: 1 replacement", "edit 2 of 2: 1 replacement")
	k.has("f", "y\nc\n")
	if len(r.Changes) != 1 {
		t.Errorf("%+v", r.Changes)
	}
	k.fails(k.do("multiedit", m{"file_path": "f", "edits": edits("y", "z", "z", "y")}), "would not change")
}

func TestEditTouchesOnlyItsSpan(t *testing.T) { // TOOL-3
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.StringMatching(`([ab \t]|\r\n|\n){0,12}`)
		before, mid, after := piece.Draw(t, "before"), "Q"+piece.Draw(t, "mid")+"Q", piece.Draw(t, "after")
		to := "R" + piece.Draw(t, "to")
		raw := before + mid + after
		out, _, err := change{from: toLF(mid), to: to}.apply(raw)
		if err != nil {
			t.Fatalf("%q in %q: %v", mid, raw, err)
		}
		if !strings.HasPrefix(out, before) || !strings.HasSuffix(out, after) || toLF(out[len(before):len(out)-len(after)]) != toLF(to) {
			t.Fatalf("%q: %q -> %q gave %q", raw, mid, to, out)
		}
	})
}

func TestShownDiffIsWhatIsWritten(t *testing.T) { // case SEC-11, PERM-2
	k := newBench(t)
	k.putRead("f", "one\ntwo\nthree\n")
	c := k.call("edit", m{"file_path": "f", "old_string": "two", "new_string": "2\u202e\x1b[8m"})
	p := k.Plan(t.Context(), c, k)
	for _, want := range []string{"file " + k.path("f"), "\n-two\n+2⟨U+202E⟩⟨U+001B⟩[8m\n", "\n--- f\n+++ f\n"} {
		if !strings.Contains(p.Shown.Text, want) {
			t.Errorf("the diff does not show %q:\n%s", want, p.Shown.Text)
		}
	}
	// The file changes, and the session reads it again, between approval and run: that is not what was shown.
	c.Judged = p.Shown.SHA256
	k.putRead("f", "ONE\ntwo\nthree\n")
	k.fails(k.Run(t.Context(), c, k, nil), "changed since it was approved")
	k.has("f", "ONE\ntwo\nthree\n")
	k.putRead("f", "one\ntwo\nthree\n")
	k.ok(k.Run(t.Context(), c, k, nil))
	k.has("f", "one\n2\u202e\x1b[8m\nthree\n")
}

func TestFileChangedBetweenPlanAndRename(t *testing.T) { // TOOL-3, SEC-3
	k := newBench(t)
	k.putRead("f", "one\n")
	p := Plan{}
	pr := &prep{Box: k.Box, call: k.call("edit", m{}), args: args{"file_path": "f", "old_string": "one", "new_string": "two"}, known: k, plan: &p}
	do, err := prepareEdit(t.Context(), pr)
	if err != nil {
		t.Fatal(err)
	}
	k.put("f", "someone else's\n")
	k.fails(do(t.Context(), nil), "it has changed since it was last read")
	k.has("f", "someone else's\n")

	pr.args = args{"file_path": "new", "content": "mine"}
	if do, err = prepareWrite(t.Context(), pr); err != nil {
		t.Fatal(err)
	}
	k.put("new", "theirs")
	k.fails(do(t.Context(), nil), "it was made meanwhile")
	k.has("new", "theirs")

	// A folder on the way is swapped for a link to the outside.
	out := t.TempDir()
	k.put("dir/x", "")
	pr.args = args{"file_path": "dir/evil", "content": "mine"}
	if do, err = prepareWrite(t.Context(), pr); err != nil {
		t.Fatal(err)
	}
	os.RemoveAll(k.path("dir"))
	os.Symlink(out, k.path("dir"))
	k.fails(do(t.Context(), nil), "now leads to another place")
	if _, err := openDir(k.path("dir"), false); err == nil {
		t.Error("openDir followed a link")
	}
	if es, _ := os.ReadDir(out); len(es) != 0 {
		t.Errorf("written outside: %v", es)
	}
	k.noTemp()
}

func TestConcurrentEditsOfOneFileLoseNothing(t *testing.T) { // TOOL-3: per-path lock, shared by Boxes
	locks := new(Locks)
	k := newBench(t, func(c *Config) { c.Locks = locks })
	other := newBench(t, func(c *Config) { c.Locks, c.Workspace = locks, k.ws })
	other.ws = k.ws
	k.putRead("f", "0\n")
	other.seen = map[string]string{k.path("f"): hashOf([]byte("0\n"))}
	k.blobs.hook = func() {
		if mu, ok := locks.m.Load(k.path("f")); !ok || mu.(*sync.Mutex).TryLock() {
			t.Error("a file is being replaced, and its path is not locked")
		}
	}
	var wg sync.WaitGroup
	results := make([]Result, 8)
	for i := range results {
		who := []*bench{k, other}[i%2]
		c := who.call("edit", m{"file_path": "f", "old_string": "0", "new_string": fmt.Sprint("made by ", i)})
		wg.Go(func() { results[i] = who.Run(t.Context(), c, who, nil) })
	}
	wg.Wait()
	won := -1
	for i, r := range results {
		if !r.IsError {
			if won >= 0 {
				t.Errorf("both %d and %d won", won, i)
			}
			won = i
		}
	}
	k.has("f", fmt.Sprintf("made by %d\n", won))
}

func TestPathsAreResolvedBeforeTheyAreJudged(t *testing.T) { // PERM-4, SEC-3
	k := newBench(t)
	out, _ := filepath.EvalSymlinks(t.TempDir())
	varve := filepath.Join(out, "varve")
	os.MkdirAll(varve, 0o700)
	os.WriteFile(filepath.Join(varve, "setup.json"), []byte("{}"), 0o600)
	b, err := New(Config{Workspace: k.ws, Protected: []string{varve}, Env: []string{"HOME=" + out}})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	k.put("sub/in", "")
	os.Symlink(out, k.path("out"))
	os.Symlink(filepath.Join(out, "not-yet"), k.path("dangling"))
	os.Symlink("sub", k.path("inlink"))
	os.Symlink("loop", k.path("loop"))
	os.Symlink("../sub/./in", k.path("sub/rel"))
	os.MkdirAll(filepath.Join(out, "deep/er"), 0o755)
	os.Symlink(filepath.Join(out, "deep/er"), k.path("deep"))
	for _, c := range []struct {
		name, real string
		inside     bool
	}{
		{".", k.ws, true},
		{"sub/in", k.path("sub/in"), true},
		{"inlink/in", k.path("sub/in"), true},
		{"sub/rel", k.path("sub/in"), true},
		{"sub/../sub/in", k.path("sub/in"), true},
		{"new/file", k.path("new/file"), true},
		{"..", filepath.Dir(k.ws), false},
		{k.ws + "x", k.ws + "x", false},
		{"out", out, false},
		{"out/x", filepath.Join(out, "x"), false},
		{"dangling", filepath.Join(out, "not-yet"), false},
		{"deep/../y", filepath.Join(out, "deep/y"), false}, // not ws/y: ".." is the target's parent
		{"~/y", filepath.Join(out, "y"), false},
		{"/proc/self/cwd/../..", "", false},
	} {
		p, err := b.resolve(c.name)
		if err != nil || c.real != "" && p.Real != c.real || p.Inside != c.inside || p.Protected {
			t.Errorf("%s: %+v (%v), want %s inside %v", c.name, p, err, c.real, c.inside)
		}
	}
	if _, err := b.resolve("loop"); err == nil {
		t.Error("a loop resolved")
	}
	for _, name := range []string{filepath.Join(varve, "setup.json"), "out/varve/new", "out/varve/../varve/setup.json"} {
		p := b.Plan(t.Context(), k.call("write", m{"file_path": name, "content": "x"}), k)
		if len(p.Paths) != 1 || !p.Paths[0].Protected || p.Refused == nil || !strings.Contains(string(p.Refused.Text), "belongs to Varve itself") {
			t.Errorf("%s: %+v", name, p)
		}
	}
	// Another spelling of a protected folder (a file system that ignores case, a second mount) is the same folder.
	b.guarded[0].real = "/spelled/otherwise"
	if !b.protected(filepath.Join(varve, "setup.json")) || b.protected(k.ws) {
		t.Error("a protected folder is known by its spelling only")
	}
	// A write through a link goes to the target, and the plan says so.
	p := b.Plan(t.Context(), k.call("write", m{"file_path": "dangling", "content": "x"}), k)
	if p.Refused != nil || p.Paths[0].Inside || !strings.Contains(p.Shown.Text, "file "+filepath.Join(out, "not-yet")) {
		t.Errorf("%+v", p)
	}
	k.putRead("sub/in", "one\n")
	k.ok(k.do("edit", m{"file_path": "sub/rel", "old_string": "one", "new_string": "two"}), "edited sub/in")
	k.has("sub/in", "two\n")
	if fi, err := os.Lstat(k.path("sub/rel")); err != nil || fi.Mode()&fs.ModeSymlink == 0 {
		t.Error("the link was replaced")
	}
}

func TestHardLinkTrickChangesOnlyTheWorkspace(t *testing.T) { // SEC-3
	k := newBench(t)
	out := filepath.Join(t.TempDir(), "outside")
	os.WriteFile(out, []byte("keep\n"), 0o600)
	if err := os.Link(out, k.path("link")); err != nil {
		t.Skip(err)
	}
	k.seen[k.path("link")] = hashOf([]byte("keep\n"))
	k.ok(k.do("edit", m{"file_path": "link", "old_string": "keep", "new_string": "own"}), "2 hard links; only this name was changed")
	k.has("link", "own\n")
	if b, _ := os.ReadFile(out); string(b) != "keep\n" {
		t.Errorf("outside: %q", b)
	}
}

func TestTemporaryFilesArePrivateAndNotGuessable(t *testing.T) { // case SEC-10, SEC-2
	k := newBench(t)
	k.putRead("secret", "old\n")
	os.Chmod(k.path("secret"), 0o600)
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	k.ok(k.do("edit", m{"file_path": "secret", "old_string": "old", "new_string": "new"}))
	if fi, _ := os.Stat(k.path("secret")); fi.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", fi.Mode())
	}
	k.noTemp()
}

func TestNothingIsWrittenWhereTheFolderIsReadOnly(t *testing.T) { // TOOL-1
	if os.Getuid() == 0 {
		t.Skip("root writes anywhere")
	}
	k := newBench(t)
	k.putRead("d/f", "one\n")
	os.Chmod(k.path("d"), 0o500)
	defer os.Chmod(k.path("d"), 0o700)
	k.fails(k.do("edit", m{"file_path": "d/f", "old_string": "one", "new_string": "two"}), "d/f not written: permission denied")
}
