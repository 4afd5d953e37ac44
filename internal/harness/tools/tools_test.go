package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a Box in a workspace of its own, and a session that knows what the Box's results told it.
type bench struct {
	testing.TB
	*Box
	ws    string
	blobs *memBlobs
	seen  map[string]string // real path: hash
	items map[string][]byte
	todo  Todo
	n     int

	tail    Masked
	tailErr error

	told chan JobEnded
}

func (k *bench) Hash(real string) (string, bool) { s, ok := k.seen[real]; return s, ok }
func (k *bench) Item(id string) ([]byte, error) {
	if b, ok := k.items[id]; ok {
		return b, nil
	}
	return nil, fmt.Errorf("there is no item %q", id)
}
func (k *bench) Tail(string) (Masked, error) { return k.tail, k.tailErr }
func (k *bench) Seen() []string              { return slices.Sorted(maps.Keys(k.seen)) }
func (k *bench) Todo() Todo                  { return k.todo }

type memBlobs struct {
	mu   sync.Mutex
	m    map[string][]byte
	fail error
	hook func()
}

func (b *memBlobs) Put(p []byte) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.hook != nil {
		b.hook()
	}
	if b.fail != nil {
		return "", b.fail
	}
	b.m[hashOf(p)] = bytes.Clone(p)
	return hashOf(p), nil
}

func (b *memBlobs) Get(sha string) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p, ok := b.m[sha]; ok {
		return p, nil
	}
	return nil, errors.New("no such blob")
}

func newBench(t testing.TB, with ...func(*Config)) *bench {
	ws, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	k := &bench{TB: t, ws: ws, blobs: &memBlobs{m: map[string][]byte{}}, seen: map[string]string{}, items: map[string][]byte{}, told: make(chan JobEnded, 100)}
	c := Config{
		Workspace: ws, Blobs: k.blobs, Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + ws},
		JobEnded: func(e JobEnded) { k.told <- e },
	}
	for _, w := range with {
		w(&c)
	}
	if k.Box, err = New(c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	return k
}

type m = map[string]any

func (k *bench) call(tool string, a any) Call {
	raw, ok := a.(string)
	if !ok {
		b, err := json.Marshal(a)
		if err != nil {
			k.Fatal(err)
		}
		raw = string(b)
	}
	k.n++
	return Call{ID: fmt.Sprintf("c%d", k.n), Name: tool, Args: []byte(raw)}
}

func (k *bench) do(tool string, a any) Result { return k.doCtx(context.Background(), tool, a) }

func (k *bench) doCtx(ctx context.Context, tool string, a any) Result {
	c := k.call(tool, a)
	r := k.Run(ctx, c, k, nil)
	k.learn(c, r)
	return r
}

// learn does what a session does with a result.
func (k *bench) learn(c Call, r Result) {
	for _, o := range r.Observed {
		k.seen[o.Path] = o.SHA256
	}
	if r.Full != nil {
		full, err := k.blobs.Get(r.Full.SHA256)
		if err != nil {
			k.Error(err)
		}
		k.items[c.ID] = full
	}
	if r.Todo != nil {
		k.todo = *r.Todo
	}
	k.within(r)
}

// within checks what holds for every result (TOOL-2).
func (k *bench) within(r Result) {
	k.Helper()
	s := string(r.Text)
	if len([]rune(s)) > maxChars || strings.Count(s, "\n") > maxLines || len(s) > maxBytes {
		k.Errorf("result of %d bytes, %d lines is over the bounds", len(s), strings.Count(s, "\n"))
	}
	if s != strings.ToValidUTF8(s, "") || s == "" {
		k.Errorf("result is empty or not valid UTF-8: %.200q", s)
	}
	if r.LeftOut.Bytes > 0 && r.Full == nil && k.blobs.fail == nil {
		k.Errorf("%d bytes left out and not kept", r.LeftOut.Bytes)
	}
}

func (k *bench) path(name string) string { return filepath.Join(k.ws, name) }

func (k *bench) put(name, content string) string {
	k.Helper()
	if err := os.MkdirAll(filepath.Dir(k.path(name)), 0o755); err != nil {
		k.Fatal(err)
	}
	if err := os.WriteFile(k.path(name), []byte(content), 0o644); err != nil {
		k.Fatal(err)
	}
	return k.path(name)
}

// putRead puts a file that the session has read.
func (k *bench) putRead(name, content string) string {
	k.Helper()
	p := k.put(name, content)
	k.seen[p] = hashOf([]byte(content))
	return p
}

func (k *bench) has(name, want string) {
	k.Helper()
	got, err := os.ReadFile(k.path(name))
	if err != nil || string(got) != want {
		k.Errorf("%s holds %q (%v), want %q", name, got, err, want)
	}
}

func (k *bench) ok(r Result, parts ...string) Result {
	k.Helper()
	if r.IsError {
		k.Errorf("error result: %s", r.Text)
	}
	return k.says(r, parts...)
}

func (k *bench) fails(r Result, parts ...string) Result {
	k.Helper()
	if !r.IsError {
		k.Errorf("no error: %s", r.Text)
	}
	return k.says(r, parts...)
}

func (k *bench) says(r Result, parts ...string) Result {
	k.Helper()
	for _, p := range parts {
		if !strings.Contains(string(r.Text), p) {
			k.Errorf("result does not say %q:\n%.2000s", p, r.Text)
		}
	}
	return r
}

// until waits for a condition that another process brings about.
func until(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !cond(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// noTemp checks that no temporary file was left behind.
func (k *bench) noTemp() {
	k.Helper()
	filepath.WalkDir(k.ws, func(p string, _ os.DirEntry, _ error) error {
		if strings.HasPrefix(filepath.Base(p), ".varve-") {
			k.Errorf("left behind: %s", p)
		}
		return nil
	})
}

func TestSpecsAreSmallStrictAndFrozen(t *testing.T) { // TOOL-1, TOOL-4, PERF-2
	specs := Specs()
	wire, err := json.Marshal(specs)
	if err != nil {
		t.Fatal(err)
	}
	var total int
	var names []string
	for _, s := range specs {
		names = append(names, s.Name)
		total += len(`{"name":"","description":"","input_schema":},`) + len(s.Name) + len(s.Description) + len(s.Schema)
		var schema struct {
			Type                 string
			Properties           map[string]any
			Required             []string
			AdditionalProperties *bool
		}
		if err := json.Unmarshal(s.Schema, &schema, json.MatchCaseInsensitiveNames(true)); err != nil {
			t.Fatalf("%s: %v", s.Name, err)
		}
		if schema.Type != "object" || schema.AdditionalProperties == nil || *schema.AdditionalProperties {
			t.Errorf("%s: schema is not strict: %s", s.Name, s.Schema)
		}
		for _, r := range schema.Required {
			if schema.Properties[r] == nil {
				t.Errorf("%s: required %s is no property", s.Name, r)
			}
		}
	}
	t.Logf("%d bytes", total)
	if total > 6_500 {
		t.Errorf("all tools take %d bytes, at most 6500", total)
	}
	want := "read write edit multiedit bash job_output job_kill grep glob ls todo mask_tool_result"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("order %q, want %q", got, want)
	}
	if again, _ := json.Marshal(Specs()); !bytes.Equal(again, wire) {
		t.Error("two listings differ")
	}
}

func TestArgumentsAreJudgedInWords(t *testing.T) { // TOOL-1
	k := newBench(t)
	k.putRead("a.txt", "one\ntwo\n")
	for _, c := range []struct{ tool, args, want string }{
		{"nope", `{}`, `there is no tool "nope"; the tools are: read, write, edit`},
		{"read", ``, `argument file_path is missing; arguments: file_path (required), offset, limit`},
		{"read", `{"file_path":"a.txt","lines":3,"x":1}`, `unknown argument "lines", "x"; valid: file_path (required), offset, limit`},
		{"read", `["a.txt"]`, `must be one JSON object, not an array`},
		{"read", `null`, `must be one JSON object, not null`},
		{"read", `{"file_path":"a.txt"`, `end too early, at byte 20`},
		{"read", "{\n\"file_path\": a.txt}", `at byte 15 (line 2 column 14, near`},
		{"read", `{"file_path":"a.txt"} {"x":1}`, `go on after the JSON object, at byte`},
		{"read", `{"file_path":"a.txt","file_path":"b"}`, `duplicate`},
		{"read", `{"file_path":"a.txt","path":"b"}`, `argument file_path is given twice (once as "path")`},
		{"read", `{"file_path":7}`, `argument file_path must be a string, not a number`},
		{"read", `{"file_path":"a.txt","offset":1.5}`, `argument offset must be an integer`},
		{"read", `{"file_path":"a.txt","offset":1e300}`, `argument offset must be an integer`},
		{"read", `{"file_path":""}`, `file_path is empty`},
		{"read", `{"file_path":"a\u0000b"}`, `NUL`},
		{"grep", `{"pattern":"x","mode":"lines"}`, `argument mode must be one of content, files, count, not "lines"`},
		{"edit", `{"file_path":"a.txt","old_string":"one","new_string":"1","replace_all":"maybe"}`, `must be true or false`},
		{"multiedit", `{"file_path":"a.txt","edits":[{"old_string":"one"}]}`, `argument edits, element 1: argument new_string is missing`},
		{"multiedit", `{"file_path":"a.txt","edits":[3]}`, `element 1 must be an object, not a number`},
		{"multiedit", `{"file_path":"a.txt","edits":[]}`, `edits is empty`},
		{"bash", `{"command":"  "}`, `command is empty`},
		{"bash", `{"command":"true","timeout_ms":700000}`, `it may be 1 to 600000`},
	} {
		p := k.Plan(t.Context(), Call{Name: c.tool, Args: []byte(c.args)}, k)
		if p.Refused == nil || !p.Refused.IsError {
			t.Errorf("%s %s: not refused", c.tool, c.args)
			continue
		}
		if !strings.Contains(string(p.Refused.Text), c.want) || strings.Contains(string(p.Refused.Text), "\n") {
			t.Errorf("%s %s:\n got %s\nwant %s", c.tool, c.args, p.Refused.Text, c.want)
		}
		if r := k.Run(t.Context(), Call{Name: c.tool, Args: []byte(c.args)}, k, nil); string(r.Text) != string(p.Refused.Text) {
			t.Errorf("Run says %s, Plan %s", r.Text, p.Refused.Text)
		}
	}
	k.has("a.txt", "one\ntwo\n")
}

func TestFrequentSlipsAreAccepted(t *testing.T) { // TOOL-1
	k := newBench(t)
	k.putRead("a.txt", "one\ntwo\nthree\n")
	for _, c := range []struct{ tool, args, want string }{
		{"read", `{"path":"a.txt"}`, "1\tone"},
		{"read", `{"filePath":"a.txt","offset":"2"}`, "2\ttwo"},
		{"read", `{"file_path":"a.txt","offset":2.0,"limit":null}`, "2\ttwo"},
		{"bash", `{"cmd":"echo hi"}`, "hi\n"},
		{"grep", `{"pattern":"TWO","-i":true}`, "2:two"},
		{"ls", `{"file_path":"."}`, "a.txt"},
		{"ls", ``, "a.txt"},
		{"edit", `{"filePath":"a.txt","oldText":"one","newText":"1"}`, "1 replacement at line 1"},
		{"multiedit", `{"file_path":"a.txt","edits":"[{\"oldString\":\"two\",\"newString\":\"2\"}]"}`, "edit 1 of 1: 1 replacement"},
	} {
		k.ok(k.do(c.tool, c.args), c.want)
	}
	k.has("a.txt", "1\n2\nthree\n")
}

func TestPanicBecomesAResult(t *testing.T) { // REL-7
	k := newBench(t)
	r := k.Run(t.Context(), k.call("todo", m{"items": []m{{"content": "x", "status": "pending"}}}), nil, nil)
	k.fails(r, "todo: internal error", "the session goes on")
	if !strings.Contains(r.Fault, "todo.go") {
		t.Errorf("no stack: %s", r.Fault)
	}
	if p := k.Plan(t.Context(), k.call("todo", m{"items": []m{{"content": "x", "status": "pending"}}}), nil); p.Refused == nil {
		t.Error("Plan let a panic by")
	}
	defer func() {
		if v := recover(); v == nil || !strings.Contains(fmt.Sprint(v), "worker") {
			t.Errorf("a worker's panic was lost: %v", v)
		}
	}()
	together(2, func(i int) {
		if i == 1 {
			panic("worker")
		}
	})
}

func TestTodoReplacesTheWholeList(t *testing.T) { // PLAN-1, PLAN-5
	k := newBench(t)
	k.ok(k.do("todo", m{"items": []m{{"content": "a", "status": "in_progress", "active_form": "doing a"}, {"content": "b", "status": "pending"}}}),
		"task-1 [in_progress] a\ntask-2 [pending] b\n")
	// b goes on under its id, a is gone, and its id is never used again.
	k.ok(k.do("todo", m{"items": []m{{"content": "c", "status": "pending"}, {"content": "b", "status": "completed"}, {"id": "task-2", "content": "b again", "status": "pending"}}}),
		"task-3 [pending] c\ntask-2 [completed] b\ntask-4 [pending] b again")
	if k.todo.NextID != 5 {
		t.Errorf("next id %d", k.todo.NextID)
	}
	was := k.todo
	k.fails(k.do("todo", m{"items": []m{{"content": "a", "status": "in_progress"}, {"content": "b", "status": "in_progress"}}}), "2 items are in_progress")
	k.fails(k.do("todo", m{"items": []m{{"content": " ", "status": "pending"}}}), "item 1 has no content")
	if !slices.Equal(was.Items, k.todo.Items) {
		t.Error("a refused list changed the plan")
	}
	k.ok(k.do("todo", m{"items": []m{}}), "the list is empty")
	if len(k.todo.Items) != 0 || k.todo.NextID != 5 {
		t.Errorf("after emptying: %+v", k.todo)
	}
}

func TestPlanChangesNothingAndSaysEffects(t *testing.T) { // PERM-1, PERM-4, TOOL-6
	k := newBench(t)
	k.putRead("a.txt", "one\n")
	before := listing(t, k.ws)
	for _, c := range []struct {
		tool    string
		args    any
		effects string
		subject string
		alone   bool
	}{
		{"read", m{"file_path": "a.txt"}, "[read]", "a.txt", false},
		{"write", m{"file_path": "d/new.txt", "content": "x"}, "[read write]", "d/new.txt", true},
		{"edit", m{"file_path": "a.txt", "old_string": "one", "new_string": "two"}, "[read write]", "a.txt", true},
		{"bash", m{"command": "touch x"}, "[exec]", "touch x", true},
		{"grep", m{"pattern": "x"}, "[read]", ".", false},
		{"glob", m{"pattern": "*.go"}, "[read]", ".", false},
		{"ls", m{}, "[read]", ".", false},
		{"todo", m{"items": []m{}}, "[]", "", true},
	} {
		p := k.Plan(t.Context(), k.call(c.tool, c.args), k)
		if p.Refused != nil {
			t.Errorf("%s: %s", c.tool, p.Refused.Text)
		}
		if got := fmt.Sprint(p.Effects); got != c.effects || p.Subject != c.subject || p.ReadOnly == c.alone {
			t.Errorf("%s: effects %s subject %q read only %v", c.tool, got, p.Subject, p.ReadOnly)
		}
		if p.Shown.Text == "" || p.Shown.SHA256 != hashOf([]byte(p.Shown.Text)) {
			t.Errorf("%s: shown %+v", c.tool, p.Shown)
		}
	}
	if after := listing(t, k.ws); !maps.Equal(before, after) {
		t.Errorf("planning changed files: %v", after)
	}
}

func listing(t *testing.T, dir string) map[string]string {
	out := map[string]string{}
	filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil {
			t.Fatal(err)
		}
		fi, _ := d.Info()
		out[p] = fmt.Sprint(fi.Mode(), fi.Size(), fi.ModTime())
		return nil
	})
	return out
}
