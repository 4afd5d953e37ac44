package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// A Command is what a line that begins with "/" asks for.
type Command struct {
	Name    string // without the slash
	Aliases []string
	Args    string // how its words are hinted: "" none, [x] may follow, <x> must
	Says    string
	Later   bool // its engine does not stand yet: it is shown, and refused with a sentence
	Custom  bool // the user's own, a Markdown file
	Project bool // of the folder, not of the user
	run     func(r *Root, args string) tea.Cmd
	offer   argsOf // what may stand behind it, nil for what can't be listed
}

// Commands are those that completion, help, palette and the composer know.
type Commands struct{ list []Command }

// NewCommands is the table of commands and the user's own after it. One of the user's can't take a name of the table's;
// those that tried are returned.
func NewCommands(custom ...Command) (c Commands, refused []Command) {
	c.list = commands()
	for _, own := range custom {
		own.Custom = true
		if _, taken := c.Find(own.Name); taken || !commandName(own.Name) {
			refused = append(refused, own)
			continue
		}
		own.Aliases = nil
		c.list = append(c.list, own)
	}
	return c, refused
}

// All are the commands in the table's order.
func (c Commands) All() []Command { return c.list }

// table are those of the program, own the user's.
func (c Commands) table() []Command { return c.list[:len(commands())] }
func (c Commands) own() []Command   { return c.list[len(commands()):] }

// Find is the command of a name or an alias, without the slash.
func (c Commands) Find(name string) (Command, bool) {
	for _, cmd := range c.list {
		if cmd.Name == name || slices.Contains(cmd.Aliases, name) {
			return cmd, true
		}
	}
	return Command{}, false
}

// An UnknownCommand is a line that begins with "/" and names no command. It is never sent.
type UnknownCommand struct {
	Name string // without the slash
	Near string // a suggestion, with what stands before it
}

func (e *UnknownCommand) Error() string {
	return fmt.Sprintf("there is no command /%s%s (a space before it makes it text)", e.Name, e.Near)
}

// A LaterCommand is one that this version does not do.
type LaterCommand struct{ Name string }

func (e *LaterCommand) Error() string {
	return fmt.Sprintf("/%s is not there yet; nothing was done", e.Name)
}

// Parse reads a line of kind SlashKind: the command, and the words after it. Errors: *UnknownCommand; *LaterCommand, and
// then the command is returned as well.
func (c Commands) Parse(line string) (cmd Command, args string, err error) {
	head, args := cutCommand(line)
	name := strings.TrimPrefix(head, "/")
	cmd, ok := c.Find(name)
	switch {
	case !ok:
		var names []string
		for _, known := range c.list {
			names = append(append(names, known.Name), known.Aliases...)
		}
		near := nearest(name, names)
		return Command{}, args, &UnknownCommand{name, strings.Replace(near, "mean ", "mean /", 1)}
	case cmd.Later:
		return cmd, args, &LaterCommand{cmd.Name}
	}
	return cmd, args, nil
}

// cutCommand parts a line at its first space.
func cutCommand(line string) (head, args string) {
	if at := strings.IndexAny(line, " \t\n"); at >= 0 {
		return line[:at], strings.TrimSpace(line[at:])
	}
	return line, ""
}

// isCommand says that a text asks for a command, known or not: it begins with "/", and its first word has no other. (A
// path has one, or stands on disk: that is for whoever may look.)
func isCommand(text string) bool {
	head, _ := cutCommand(text)
	return strings.HasPrefix(head, "/") && !strings.Contains(head[1:], "/")
}

func commandName(name string) bool {
	return name != "" && strings.IndexFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != ':'
	}) < 0
}

// commands is the table of commands (TUI, "Commands").
func commands() []Command {
	return []Command{
		{Name: "help", Says: "keys and commands", run: acts(ActHelp)},
		{Name: "new", Aliases: []string{"clear"}, Says: "begin a new session; this one is kept", run: func(r *Root, _ string) tea.Cmd { return r.switchTo("") }},
		{Name: "resume", Aliases: []string{"sessions"}, Args: "[session]", Says: "go on with an earlier session", run: (*Root).resumeCommand, offer: offerSessions},
		{Name: "fork", Aliases: []string{"branch"}, Says: "go on from a message in a new branch", run: func(r *Root, _ string) tea.Cmd { return r.fork() }},
		{Name: "revert", Aliases: []string{"undo"}, Says: "go back to before a message of yours", run: func(r *Root, _ string) tea.Cmd { return r.revert() }},
		{Name: "rollback", Args: "[label]", Aliases: []string{"rewind"}, Says: "take a revert back, or a restore of files", run: (*Root).rollback, offer: offerLabels},
		{Name: "tree", Says: "the branches of this session", run: func(r *Root, _ string) tea.Cmd { return r.tree() }},
		{Name: "compact", Args: "[focus]", Says: "summarize the conversation so far", run: (*Root).compact},
		{Name: "model", Args: "[provider/model]", Says: "choose the model", run: (*Root).modelCommand, offer: offerModels},
		{Name: "summarizers", Says: "the models that summarize", run: func(r *Root, _ string) tea.Cmd { return r.settings(sumBlock) }},
		{Name: "settings", Aliases: []string{"config"}, Says: "change settings", run: acts(ActSettings)},
		{Name: "context", Says: "what fills the model's window", run: (*Root).contextCommand},
		{Name: "usage", Aliases: []string{"cost"}, Says: "tokens and money so far", run: (*Root).usageCommand},
		{Name: "toasts", Says: "the notices so far", run: (*Root).toastsCommand},
		{Name: "export", Args: "[file]", Says: "write the conversation to a file: .md, .html, .jsonl", run: (*Root).exportCommand},
		{Name: "copy", Args: "[n]", Says: "copy the last answer, or code block n of it", run: (*Root).copy, offer: offerCode},
		{Name: "rename", Args: "<title>", Says: "give this session a title", run: (*Root).renameCommand},
		{Name: "init", Args: "[what matters]", Says: "have the model write a first AGENTS.md", run: (*Root).initCommand},
		{Name: "mcp", Says: "servers of tools", Later: true},
		{Name: "permissions", Says: "what is allowed without asking, and by whom", run: (*Root).permissionsCommand},
		{Name: "skills", Says: "the skills that were found", Later: true},
		{Name: "diff", Says: "what this session has changed in the files", run: (*Root).diffCommand},
		{Name: "plan", Says: "show or hide the plan", run: acts(ActPlan)},
		{Name: "theme", Args: "[theme]", Says: "choose the colours", run: (*Root).themeCommand, offer: offerThemes},
		{Name: "editor", Says: "write in your editor", run: acts(ActEditor)},
		{Name: "doctor", Says: "check the set-up", run: (*Root).doctorCommand},
		{Name: "exit", Aliases: []string{"quit"}, Says: "leave; the session is kept", run: func(r *Root, _ string) tea.Cmd { return r.quit() }},
	}
}
