package session_test

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"varve/internal/jsonl"
	. "varve/internal/session"
)

const page = "../../docs/session-format.md"

func update() bool { return os.Getenv("UPDATE") != "" }

// written returns the bytes of a session file that holds the facts, each at
// the time that at gives it.
func written(t testing.TB, facts []Fact) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "session.jsonl")
	f, err := jsonl.Create(path, jsonl.Options{Policy: jsonl.Never})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rests := make([][]byte, len(facts))
	for i, fact := range facts {
		if fact, err = Spill(fact); err != nil {
			t.Fatal(err)
		}
		if rests[i], err = EncodeRest(fact, sampleTime(Seq(i+1))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.Append(context.Background(), rests, nil); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func lines(b []byte) [][]byte {
	all := bytes.Split(b, []byte("\n"))
	return all[:len(all)-1]
}

func sampleFacts() []Fact {
	var facts []Fact
	for _, s := range samples() {
		facts = append(facts, s.fact)
	}
	return facts
}

// kindNames reads kinds.go for the closed set.
func kindNames(t testing.TB) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "kinds.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	ast.Inspect(file, func(n ast.Node) bool {
		if c, ok := n.(*ast.CaseClause); ok {
			for _, e := range c.List {
				if lit, ok := e.(*ast.BasicLit); ok {
					name, _ := strconv.Unquote(lit.Value)
					names = append(names, name)
				}
			}
		}
		return true
	})
	if len(names) < 70 {
		t.Fatalf("kinds.go lists only %d names", len(names))
	}
	return names
}

// rest is a line without what jsonl puts before it.
func rest(line []byte) string {
	return string(line[bytes.Index(line, []byte(`"branch":`)):])
}

// again encodes a decoded line a second time.
func again(t testing.TB, e Entry) string {
	t.Helper()
	parts, err := e.Parts()
	if err != nil {
		t.Fatalf("%d %s: %v", e.Seq, e.Type, err)
	}
	f := Fact{Branch: e.Branch, Event: e.Event, Body: parts}
	b, err := EncodeRest(f, e.At)
	if err != nil {
		t.Fatalf("%d %s: %v", e.Seq, e.Type, err)
	}
	return string(b)
}

// The page's lines are written here, and every kind is among them (LOG-12).
func TestFormatPageShowsEveryEvent(t *testing.T) {
	all := samples()
	raw := lines(written(t, sampleFacts()))
	seen := map[string]bool{}
	blocks := map[string]*strings.Builder{}
	for i, s := range all {
		seen[Name(s.fact.Event)] = true
		if blocks[s.section] == nil {
			blocks[s.section] = &strings.Builder{}
		}
		fmt.Fprintf(blocks[s.section], "%s\n", raw[i])
	}
	for _, name := range kindNames(t) {
		if !seen[name] {
			t.Errorf("no sample of %s", name)
		}
	}
	have, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	want := string(have)
	for section, b := range blocks {
		begin := "<!-- lines of " + section + ": written by internal/session, UPDATE=1 rewrites them -->\n"
		head, tail, ok := strings.Cut(want, begin)
		_, tail, ok2 := strings.Cut(tail, "<!-- end -->\n")
		if !ok || !ok2 {
			t.Fatalf("%s has no block of %s", page, section)
		}
		want = head + begin + "```jsonl\n" + b.String() + "```\n<!-- end -->\n" + tail
	}
	if want == string(have) {
		return
	}
	if !update() {
		t.Fatalf("%s is behind the code (UPDATE=1 rewrites it):\n%s", page, cmp.Diff(string(have), want))
	}
	if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// fence returns the fenced blocks of the page in one language.
func fence(t testing.TB, language string) string {
	t.Helper()
	have, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	inside := false
	for line := range strings.Lines(string(have)) {
		switch {
		case strings.HasPrefix(line, "```"):
			inside = !inside && line == "```"+language+"\n"
		case inside:
			b.WriteString(line)
		}
	}
	return b.String()
}

// Each line of the page decodes to its sample and back to the same bytes
// (SES-04), and its references name earlier lines (LOG-13).
func TestFormatPageLinesComeBack(t *testing.T) {
	all := samples()
	raw := lines([]byte(fence(t, "jsonl")))
	if len(raw) != len(all) {
		t.Fatalf("the page has %d lines, there are %d samples", len(raw), len(all))
	}
	for i, line := range raw {
		e, err := Decode(line)
		if err != nil {
			t.Fatal(err)
		}
		want := Entry{Seq: Seq(i + 1), Branch: all[i].fact.Branch, At: sampleTime(Seq(i + 1)), Type: Name(all[i].fact.Event), Must: Must(e.Type), Event: all[i].fact.Event}
		if diff := cmp.Diff(want, e, cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "body" }, cmp.Ignore())); diff != "" {
			t.Errorf("%s: %s", e.Type, diff)
		}
		if got := again(t, e); got != rest(line) {
			t.Errorf("%s comes back as\n%s\nfrom\n%s", e.Type, got, rest(line))
		}
		eachSeq(reflect.ValueOf(e.Event), func(q Seq) {
			if q >= e.Seq {
				t.Errorf("%d %s names %d, which is not earlier", e.Seq, e.Type, q)
			}
		})
		eachText(reflect.ValueOf(e.Event), func(x Text) {
			if _, err := e.Part(x.B); err != nil && !takesEntry(e.Event) {
				t.Errorf("%s names body entry %d: %v", e.Type, x.B, err)
			}
		})
	}
}

func takesEntry(e Event) bool {
	u, ok := e.(UserSaid)
	return ok && u.Entry != 0
}

// walk visits every value below v.
func walk(v reflect.Value, visit func(reflect.Value)) {
	visit(v)
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			walk(v.Elem(), visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			walk(v.Field(i), visit)
		}
	case reflect.Slice:
		for i := range v.Len() {
			walk(v.Index(i), visit)
		}
	}
}

func eachSeq(v reflect.Value, visit func(Seq)) {
	walk(v, func(v reflect.Value) {
		if q, ok := v.Interface().(Seq); ok {
			visit(q)
		}
	})
}

func eachText(v reflect.Value, visit func(Text)) {
	walk(v, func(v reflect.Value) {
		if x, ok := v.Interface().(Text); ok {
			visit(x)
		}
	})
}

// The page says what each field is.
func TestFormatPageNamesEveryField(t *testing.T) {
	have, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	// An event's words end where the next event's begin, or its list does.
	about := map[string]string{}
	bold := regexp.MustCompile("\\*\\*`([a-z_.]+)`\\*\\*([^*]*)")
	for _, m := range bold.FindAllStringSubmatch(string(have), -1) {
		words, _, _ := strings.Cut(m[2], "\n- ")
		words, _, _ = strings.Cut(words, "\n\n")
		about[m[1]] = words
	}
	// These have a place of their own in the page.
	common := []reflect.Type{reflect.TypeFor[Text](), reflect.TypeFor[Tokens](), reflect.TypeFor[Model](), reflect.TypeFor[Media](), reflect.TypeFor[Range](), reflect.TypeFor[ItemID]()}
	var fields func(typ reflect.Type) []string
	fields = func(typ reflect.Type) []string {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || slices.Contains(common, typ) {
			return nil
		}
		var names []string
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			names = append(append(names, name), fields(typ.Field(i).Type)...)
		}
		return names
	}
	for _, s := range samples() {
		name := Name(s.fact.Event)
		words, ok := about[name]
		if !ok {
			t.Errorf("the page says nothing about %s", name)
		}
		for _, field := range fields(reflect.TypeOf(s.fact.Event)) {
			if !strings.Contains(words, "`"+field+"`") && !strings.Contains(words, "`"+field+"[]`") {
				t.Errorf("%s: nothing is said about %q", name, field)
			}
		}
		item := introduces(name)
		if item != strings.Contains(words, "⇒") {
			t.Errorf("%s: introduces items: %v, but the page says otherwise", name, item)
		}
	}
}

// introduces asks the fold whether an event of this name makes an item.
func introduces(name string) bool {
	for i, s := range samples() {
		if Name(s.fact.Event) == name {
			f := NewFold()
			q := Seq(i + 1)
			if err := f.Apply(Entry{Seq: q, Branch: MainBranch, Type: name, Event: s.fact.Event}); err != nil {
				panic(err)
			}
			_, ok := f.Item(q.Item())
			return ok
		}
	}
	return false
}

// The page's reader reads the page's lines, and sees a changed byte.
func TestFormatPageReader(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "reader.go")
	if err := os.WriteFile(source, []byte(fence(t, "go")), 0o600); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "reader")
	build := exec.Command("go", "build", "-o", bin, source)
	build.Dir = dir
	build.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	read := func(in string) string {
		cmd := exec.Command(bin)
		cmd.Stdin = strings.NewReader(in)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	in := fence(t, "jsonl")
	var want strings.Builder
	for i, f := range sampleFacts() {
		fmt.Fprintf(&want, "%d %s", i+1, Name(f.Event))
		for _, p := range f.Body {
			if p.Ref == nil && !strings.Contains(string(p.Bytes), "\xe9") {
				fmt.Fprintf(&want, " %q", p.Bytes)
			} else {
				b, _ := EncodeRest(Fact{Event: BranchDeleted{}, Body: []Part{p}}, sampleTime(1))
				_, b, _ = bytes.Cut(b, []byte(`"body":[{"`))
				_, b, _ = bytes.Cut(b, []byte(`":`))
				fmt.Fprintf(&want, " <%s>", b[:len(b)-len(`}]}`)])
			}
		}
		want.WriteString("\n")
	}
	if diff := cmp.Diff(want.String(), read(in)); diff != "" {
		t.Error(diff)
	}
	if out := read(strings.Replace(in, "Fix the division", "Fix the divisiom", 1)); !strings.Contains(out, "the chain breaks before 3\n") {
		t.Error("a changed line 2 is not seen")
	}
}
