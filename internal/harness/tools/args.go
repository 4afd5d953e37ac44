package tools

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
)

// args are the decoded arguments of a call, by their table name: string, int, bool, []string or []args.
type args map[string]any

func (a args) str(name string) string { s, _ := a[name].(string); return s }
func (a args) is(name string) bool    { v, _ := a[name].(bool); return v }
func (a args) list(name string) []args {
	v, _ := a[name].([]args)
	return v
}

func (a args) int(name string, or int) int {
	if v, ok := a[name].(int); ok {
		return v
	}
	return or
}

// aliases are names that models trained on other agents use, in snake case (TOOL-1). The first one the tool has is meant.
func aliases(name string) []string {
	switch name {
	case "path", "file", "filepath", "filename", "target_file":
		return []string{"file_path", "path"}
	case "file_path", "dir", "directory", "folder":
		return []string{"path", "workdir"}
	case "cwd", "working_directory":
		return []string{"workdir", "path"}
	case "cmd", "script":
		return []string{"command"}
	case "old_text", "old_str", "old", "search":
		return []string{"old_string"}
	case "new_text", "new_str", "new", "replace", "replacement":
		return []string{"new_string"}
	case "contents", "text", "file_text":
		return []string{"content"}
	case "query", "regex", "regexp":
		return []string{"pattern"}
	case "glob", "file_pattern":
		return []string{"include", "pattern"}
	case "case_insensitive", "i":
		return []string{"ignore_case"}
	case "output_mode":
		return []string{"mode"}
	case "head_limit", "max_results":
		return []string{"limit"}
	case "timeout":
		return []string{"timeout_ms"}
	case "run_in_background", "is_background":
		return []string{"background"}
	case "job", "id", "bash_id", "shell_id":
		return []string{"job_id"}
	case "todos", "tasks", "todo_list":
		return []string{"items"}
	case "max_depth":
		return []string{"depth"}
	}
	return nil
}

func find(spec []arg, name string) *arg {
	at := func(n string) *arg {
		if i := slices.IndexFunc(spec, func(a arg) bool { return a.name == n }); i >= 0 {
			return &spec[i]
		}
		return nil
	}
	if a := at(name); a != nil {
		return a
	}
	s := snake(name)
	if a := at(s); a != nil {
		return a
	}
	for _, n := range aliases(s) {
		if a := at(n); a != nil {
			return a
		}
	}
	return nil
}

// snake turns filePath, FilePath, file-path and -i into snake case.
func snake(s string) string {
	var b strings.Builder
	for i, r := range strings.TrimLeft(s, "-") {
		switch {
		case r == '-':
			b.WriteByte('_')
		case unicode.IsUpper(r):
			if i > 0 {
				b.WriteByte('_')
			}
			b.WriteRune(unicode.ToLower(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// decode reads one JSON object against the table. Nothing at all counts as {}.
func decode(spec []arg, raw []byte) (args, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = []byte("{}")
	}
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	v, err := d.ReadValue()
	if err != nil {
		return nil, badJSON(raw, err)
	}
	v = slices.Clone(v)
	if _, err := d.ReadToken(); err != io.EOF {
		at := d.InputOffset()
		var se *jsontext.SyntacticError
		if errors.As(err, &se) {
			at = se.ByteOffset
		}
		return nil, fmt.Errorf("arguments go on after the JSON object, at byte %d (%s); send one JSON object and nothing else", at, near(raw, at))
	}
	if v.Kind() != '{' {
		return nil, fmt.Errorf("arguments must be one JSON object, not %s; arguments: %s", kindName(v.Kind()), usage(spec))
	}
	return object(spec, v)
}

func badJSON(raw []byte, err error) error {
	var se *jsontext.SyntacticError
	if !errors.As(err, &se) {
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			return fmt.Errorf("arguments are not valid JSON: they end too early, at byte %d; send the whole object", len(raw))
		}
		return fmt.Errorf("arguments are not valid JSON: %w", err)
	}
	if errors.Is(se.Err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("arguments are not valid JSON: they end too early, at byte %d; send the whole object", len(raw))
	}
	return fmt.Errorf("arguments are not valid JSON: %v at byte %d (%s); send one valid JSON object", se.Err, se.ByteOffset, near(raw, se.ByteOffset))
}

func near(raw []byte, at int64) string {
	i := int(min(max(at, 0), int64(len(raw))))
	line := 1 + bytes.Count(raw[:i], []byte("\n"))
	col := i - bytes.LastIndexByte(raw[:i], '\n')
	return fmt.Sprintf("line %d column %d, near %q", line, col, strings.ToValidUTF8(string(raw[max(0, i-20):min(len(raw), i+20)]), "\uFFFD"))
}

func usage(spec []arg) string {
	var ns []string
	for _, a := range spec {
		if a.required {
			ns = append(ns, a.name+" (required)")
		} else {
			ns = append(ns, a.name)
		}
	}
	return strings.Join(ns, ", ")
}

func object(spec []arg, v jsontext.Value) (args, error) {
	d := jsontext.NewDecoder(bytes.NewReader(v))
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	got := args{}
	var unknown []string
	for d.PeekKind() != '}' {
		t, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		name := t.String()
		val, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		a := find(spec, name)
		switch {
		case a == nil:
			unknown = append(unknown, strconv.Quote(clip(name, 60)))
			continue
		case val.Kind() == 'n':
			continue
		case got[a.name] != nil:
			return nil, fmt.Errorf("argument %s is given twice (once as %q)", a.name, name)
		}
		if got[a.name], err = value(a, val); err != nil {
			return nil, err
		}
	}
	if unknown != nil {
		return nil, fmt.Errorf("unknown argument %s; valid: %s", strings.Join(unknown, ", "), usage(spec))
	}
	for _, a := range spec {
		if a.required && got[a.name] == nil {
			return nil, fmt.Errorf("argument %s is missing; arguments: %s", a.name, usage(spec))
		}
	}
	return got, nil
}

// value accepts what the table says, and three frequent slips that leave no doubt: a number or a boolean in a
// string, a whole number written as 3.0, and an array that was encoded twice.
func value(a *arg, v jsontext.Value) (any, error) {
	wrong := func(want string) error {
		return fmt.Errorf("argument %s must be %s, not %s", a.name, want, kindName(v.Kind()))
	}
	var s string
	if v.Kind() == '"' {
		b, err := jsontext.AppendUnquote(nil, v)
		if err != nil {
			return nil, err
		}
		s = string(b)
	}
	switch a.kind {
	case str:
		if v.Kind() != '"' {
			return nil, wrong("a string")
		}
		if a.enum != nil && !slices.Contains(a.enum, s) {
			return nil, fmt.Errorf("argument %s must be one of %s, not %q", a.name, strings.Join(a.enum, ", "), clip(s, 60))
		}
		return s, nil
	case integer:
		if v.Kind() != '0' && v.Kind() != '"' {
			return nil, wrong("an integer")
		}
		if v.Kind() == '0' {
			s = string(v)
		}
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || f != float64(int32(f)) {
			return nil, fmt.Errorf("argument %s must be an integer, not %s", a.name, clip(string(v), 60))
		}
		return int(f), nil
	case boolean:
		if v.Kind() == 't' || s == "true" {
			return true, nil
		}
		if v.Kind() == 'f' || s == "false" {
			return false, nil
		}
		return nil, wrong("true or false")
	}
	if inner := jsontext.Value(s); strings.HasPrefix(strings.TrimSpace(s), "[") && inner.IsValid() {
		v = jsontext.Value(strings.TrimSpace(s))
	} else if v.Kind() == '"' && a.kind == strs {
		return []string{s}, nil
	}
	if v.Kind() != '[' {
		return nil, wrong("an array")
	}
	return elements(a, v)
}

func elements(a *arg, v jsontext.Value) (any, error) {
	d := jsontext.NewDecoder(bytes.NewReader(v))
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	ss, os := []string{}, []args{}
	for d.PeekKind() != ']' {
		e, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		n := len(ss) + len(os) + 1
		if a.kind == strs {
			if e.Kind() != '"' {
				return nil, fmt.Errorf("argument %s: element %d must be a string, not %s", a.name, n, kindName(e.Kind()))
			}
			b, _ := jsontext.AppendUnquote(nil, e)
			ss = append(ss, string(b))
			continue
		}
		if e.Kind() != '{' {
			return nil, fmt.Errorf("argument %s: element %d must be an object, not %s", a.name, n, kindName(e.Kind()))
		}
		o, err := object(a.fields, e)
		if err != nil {
			return nil, fmt.Errorf("argument %s, element %d: %w", a.name, n, err)
		}
		os = append(os, o)
	}
	if a.kind == strs {
		return ss, nil
	}
	return os, nil
}

func kindName(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '[':
		return "an array"
	}
	return "an object"
}
