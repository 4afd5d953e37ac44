package assemble

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"varve/internal/session"
)

// A Command is a prompt of the user's own, kept as Markdown: it is text that is
// sent when the user asks for it, and runs nothing.
type Command struct {
	Name    string // the file's, without .md
	Says    string // description of its front matter, else its first line
	Args    string // argument-hint of its front matter
	Path    string
	Project bool // of the workspace, not of the user
	text    string
}

// Commands are those that were found, the user's first, by name.
type Commands struct {
	List    []Command
	Omitted []session.AssemblySource // what can't be taken, with the reason
	Held    string                   // the project's folder, that is not read before the workspace is trusted (SEC-4)
}

// LookCommands reads commands/ of the user's folder and, once it is trusted,
// .agents/commands/ of the project. Limits are those of any source (ASM-2).
func LookCommands(ctx context.Context, w Where) (Commands, error) {
	var c Commands
	c.take(filepath.Join(w.ConfigDir, "commands"), w.ConfigDir, false)
	root := projectRoot(w.Workspace)
	dir := filepath.Join(root, ".agents", "commands")
	if w.Trusted {
		c.take(dir, root, true)
	} else if st, err := os.Stat(dir); err == nil && st.IsDir() {
		c.Held = dir
	}
	return c, ctx.Err()
}

func (c *Commands) take(dir, within string, project bool) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	r := &Report{Texts: map[string][]byte{}}
	if err != nil {
		r.omit("commands", dir, 0, "unreadable: "+reason(err))
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".md")
		if !ok || e.IsDir() {
			continue
		}
		r.file(name, filepath.Join(dir, e.Name()), within)
	}
	for _, s := range r.Sources {
		switch s.Outcome {
		case Published:
			cmd := command(string(r.Texts[s.Key]))
			cmd.Name, cmd.Path, cmd.Project = s.Key, s.Path, project
			if strings.TrimSpace(cmd.text) == "" {
				s.Why = "there is nothing below its front matter"
				c.Omitted = append(c.Omitted, s)
				continue
			}
			c.List = append(c.List, cmd)
		case Blank:
			s.Why = "it is blank"
			c.Omitted = append(c.Omitted, s)
		default:
			c.Omitted = append(c.Omitted, s)
		}
	}
}

// command reads front matter of "key: value" lines between two "---", where
// there is any, and the text.
func command(doc string) (c Command) {
	c.text = doc
	if head, rest, ok := strings.Cut(strings.TrimPrefix(doc, "---\n"), "\n---\n"); ok && strings.HasPrefix(doc, "---\n") {
		c.text = rest
		for line := range strings.SplitSeq(head, "\n") {
			key, value, _ := strings.Cut(line, ":")
			value = strings.Trim(strings.TrimSpace(value), `"'`)
			switch strings.TrimSpace(key) {
			case "description":
				c.Says = value
			case "argument-hint":
				c.Args = value
			}
		}
	}
	if c.Says == "" {
		first, _, _ := strings.Cut(strings.TrimSpace(c.text), "\n")
		c.Says = strings.TrimSpace(strings.TrimLeft(first, "# "))
	}
	return c
}

// Prompt is the text with the words that stand behind the command in place of
// $ARGUMENTS; where it has no place for them they follow it.
func (c Command) Prompt(args string) string {
	text := strings.TrimSpace(c.text)
	switch {
	case strings.Contains(text, "$ARGUMENTS"):
		return strings.ReplaceAll(text, "$ARGUMENTS", args)
	case args != "":
		return fmt.Sprintf("%s\n\n%s", text, args)
	}
	return text
}
