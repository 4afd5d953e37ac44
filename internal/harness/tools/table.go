package tools

import (
	"context"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// Spec is a tool as a model is told about it. Schema is a JSON Schema object, strict.
type Spec struct {
	Name        string
	Description string
	Schema      []byte
	ReadOnly    bool
}

type tool struct {
	name     string
	about    string
	readOnly bool
	args     []arg
	prepare  func(context.Context, *prep) (step, error)
}

type kind uint8

const (
	str kind = iota
	integer
	boolean
	strs    // array of strings
	objects // array of objects with fields
)

type arg struct {
	name     string
	kind     kind
	required bool
	about    string
	enum     []string
	fields   []arg
}

const (
	optional = false
	required = true
)

// table is the tools in the one order in which models see them (TOOL-4). New ones go to the end.
var table = sync.OnceValue(func() []tool {
	file := arg{name: "file_path", required: true}
	edit := []arg{{name: "old_string", required: true}, {name: "new_string", required: true}, {name: "replace_all", kind: boolean}}
	return []tool{
		{"read", "Read a text file. Each line comes as number, tab, text. A footer names the next offset when there is more. " +
			"\"item:<number or call id>\" as file_path reads an item of the conversation: what a result left out, or what a summary stands for.", true, []arg{
			file,
			{"offset", integer, optional, "first line, from 1; -N reads the last N lines", nil, nil},
			{"limit", integer, optional, "lines, default 2000", nil, nil},
		}, prepareRead},
		{"write", "Write a whole file, making parent folders. An existing file must have been read first; prefer edit for changes.", false, []arg{
			file, {name: "content", required: true},
		}, prepareWrite},
		{
			"edit", "Replace old_string by new_string in a file you have read. old_string must match exactly once, so include enough " +
				"context, without line numbers; or set replace_all. Line endings are kept.", false,
			append([]arg{file}, edit...), prepareEdit,
		},
		{"multiedit", "Several edits of one file, in order, each on the result of the one before; all or none.", false, []arg{
			file, {name: "edits", kind: objects, required: true, fields: edit},
		}, prepareMultiedit},
		{"bash", "Run a shell command in the workspace; cd does not carry over to the next. No terminal, no input; stdout and stderr come together, head and tail when long. " +
			"After 60 s it goes on as a background job. Prefer read, edit, grep, glob and ls for files.", false, []arg{
			{name: "command", required: true},
			{"description", str, optional, "what it does, in a few words", nil, nil},
			{"timeout_ms", integer, optional, "then it is ended; default 120000, max 600000", nil, nil},
			{"background", boolean, optional, "return at once with a job id, e.g. for servers", nil, nil},
			{"workdir", str, optional, "", nil, nil},
		}, prepareBash},
		{
			"job_output", "New output of a background job since you last read it, and whether it still runs.", false,
			[]arg{{name: "job_id", required: true}},
			prepareJobOutput,
		},
		{
			"job_kill", "End a background job and all its processes.", false,
			[]arg{{name: "job_id", required: true}},
			prepareJobKill,
		},
		{"grep", "Search file contents by regular expression (RE2), line by line. Skips hidden, binary and .gitignore'd files unless path " +
			"names them. Newest files first.", true, []arg{
			{name: "pattern", required: true},
			{"path", str, optional, "file or folder, default the workspace", nil, nil},
			{"include", str, optional, "glob of files, e.g. *.go or src/**/*.{ts,tsx}", nil, nil},
			{"literal", boolean, optional, "pattern is plain text", nil, nil},
			{name: "ignore_case", kind: boolean},
			{"context", integer, optional, "lines around each match", nil, nil},
			{"mode", str, optional, "default content", []string{"content", "files", "count"}, nil},
			{"limit", integer, optional, "matches or files, default 100", nil, nil},
		}, prepareGrep},
		{"glob", "Find files by name pattern, e.g. **/*.go; newest first, at most 100. Skips what .gitignore excludes.", true, []arg{
			{name: "pattern", required: true},
			{"path", str, optional, "folder, default the workspace", nil, nil},
		}, prepareGlob},
		{"ls", "List a folder as a tree, at most 1000 entries.", true, []arg{
			{"path", str, optional, "default the workspace", nil, nil},
			{"depth", integer, optional, "levels, default 3", nil, nil},
			{"ignore", strs, optional, "globs to leave out", nil, nil},
		}, prepareLs},
		{"todo", "Replace your task list; use it for work of several steps and keep it current. At most one item in_progress. " +
			"Items keep their id by content.", false, []arg{
			{name: "items", kind: objects, required: true, fields: []arg{
				{name: "content", required: true},
				{"status", str, required, "", []string{"pending", "in_progress", "completed", "cancelled"}, nil},
				{"active_form", str, optional, "e.g. Running tests", nil, nil},
				{name: "id"},
			}},
		}, prepareTodo},
		{MaskName, "Replace the tool result that you were sent last by a short reference, when you have what you need of it. Its payload is kept.", false, nil, prepareMask},
	}
})

// Specs lists all tools in their frozen order, with the same bytes every time.
func Specs() []Spec {
	out := make([]Spec, 0, len(table()))
	for _, t := range table() {
		out = append(out, Spec{t.name, t.about, appendSchema(nil, t.args), t.readOnly})
	}
	return out
}

// ReadOnly reports whether a tool only reads, so that calls of it may run beside others (TOOL-6).
func ReadOnly(name string) bool {
	t := toolNamed(name)
	return t != nil && t.readOnly
}

func toolNamed(name string) *tool {
	for i := range table() {
		if t := &table()[i]; t.name == name {
			return t
		}
	}
	return nil
}

func toolNames() (names []string) {
	for _, t := range table() {
		names = append(names, t.name)
	}
	return names
}

func appendSchema(b []byte, as []arg) []byte {
	quote := func(s string) { b, _ = jsontext.AppendQuote(b, s) }
	list := func(ss []string) {
		b = append(b, '[')
		for i, s := range ss {
			if i > 0 {
				b = append(b, ',')
			}
			quote(s)
		}
		b = append(b, ']')
	}
	b = append(b, `{"type":"object","properties":{`...)
	var must []string
	for i, a := range as {
		if i > 0 {
			b = append(b, ',')
		}
		quote(a.name)
		b = append(b, `:{"type":`...)
		quote([]string{"string", "integer", "boolean", "array", "array"}[a.kind])
		if a.about != "" {
			b = append(b, `,"description":`...)
			quote(a.about)
		}
		if a.enum != nil {
			b = append(b, `,"enum":`...)
			list(a.enum)
		}
		switch a.kind {
		case strs:
			b = append(b, `,"items":{"type":"string"}`...)
		case objects:
			b = append(b, `,"items":`...)
			b = appendSchema(b, a.fields)
		}
		b = append(b, '}')
		if a.required {
			must = append(must, a.name)
		}
	}
	b = append(b, `},"required":`...)
	list(must)
	return append(b, `,"additionalProperties":false}`...)
}
