package words

import "encoding/json"

// Gist is what a call of a tool is about, from its arguments: a command, a path, a
// pattern. It may be as long as these are.
func Gist(name, args string) string {
	var a map[string]any
	if json.Unmarshal([]byte(args), &a) != nil {
		return args
	}
	str := func(keys ...string) string {
		for _, k := range keys {
			if s, ok := a[k].(string); ok && s != "" {
				return s
			}
		}
		return ""
	}
	switch name {
	case "bash":
		return str("command", "cmd")
	case "read", "write", "edit", "multiedit", "ls":
		return str("file_path", "path", "filePath")
	case "grep", "glob":
		s := str("pattern")
		if p := str("path", "include"); p != "" {
			s += "  in " + p
		}
		return s
	case "job_output", "job_kill":
		return str("job_id")
	case "todo":
		if items, ok := a["items"].([]any); ok {
			return Count(len(items), "task")
		}
	}
	if len(a) == 0 {
		return ""
	}
	return args
}
