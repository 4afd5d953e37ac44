package tui

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"varve/internal/harness/drive"
	"varve/internal/session"
	"varve/internal/tui/markdown"
	"varve/internal/words"
)

// The commands of the plain mode. What is a screen elsewhere is said in lines, or
// what does it in its place.

// linearHelp are the commands that the plain mode has.
const linearHelp = `Commands:
/status: model, mode, branch, context, cost, queue
/stop: stop the turn
/steer WORDS: send words into the running turn
/compact [focus]: summarize the conversation so far
/model [PROVIDER/MODEL]: list the models, or take another for the next request
/mode ask, edit or full: what runs without a question
/context: what fills the model's window
/usage: tokens and money so far
/diff: what this session has changed in the files
/plan: the plan
/toasts: the notices so far
/permissions: what is allowed without asking, and by whom
/doctor: check the set-up
/export [file]: write the conversation to a file: .md, .html, .jsonl
/rename TITLE: give this session a title
/init [what matters]: have the model write a first AGENTS.md
/drop: forget what an empty line would send
/quit: leave; the session is kept
!COMMAND runs a command of your own. A line that ends in \ goes on in the next one.
Your own commands work too; the others say what does their work.`

// instead says what does the work of a command that wants the screen, "" for one
// that does not.
func instead(name string) string {
	const shell = ", from a shell"
	switch name {
	case "new":
		return "/quit, and start `agent` again: that begins a new session; this one is kept."
	case "resume":
		return "`agent session list` lists the sessions and `agent resume ID --plain` opens one" + shell + "."
	case "fork", "revert", "rollback", "tree":
		return "`agent session " + name + "` does it" + shell + "; `agent session " + name + " --help` says how."
	case "settings":
		return "`agent config set NAME VALUE` changes a setting and `agent config edit` opens all of them" + shell + "."
	case "copy":
		return "select the text in your terminal, or /export FILE writes the conversation to a file."
	case "theme":
		return "there are no colours here; `agent config set appearance.theme NAME` chooses those of the screen" + shell + "."
	case "editor":
		return `a line that ends in \ goes on in the next one, and lines that are pasted are one message.`
	}
	return ""
}

// command carries out a line that begins with "/". again says that it is given once
// more.
func (p *linear) command(text string, again bool) {
	head, args := cutCommand(text)
	name := head[1:]
	cmds, _ := NewCommands()
	cmd, known := cmds.Find(name)
	if known {
		name = cmd.Name
	}
	switch name {
	case "help":
		p.say("%s", linearHelp)
	case "status":
		p.status()
	case "stop":
		if !p.works() && !p.paused() {
			p.say("There is nothing to stop.")
			return
		}
		p.submit(drive.Cancel{By: "user"})
	case "steer":
		if args == "" || !p.works() {
			p.say("/steer wants words, while a turn runs.")
			return
		}
		p.submit(drive.Say{Text: []byte(args), Steer: true})
	case "compact":
		p.submit(drive.Compact{Focus: []byte(args)})
	case "model":
		p.model(args)
	case "mode":
		p.mode(args, again, text)
	case "rename":
		if args == "" {
			p.say("/rename wants a title.")
		} else if p.submit(drive.Rename{Title: []byte(args)}) {
			p.say("The session is called %s.", args)
		}
	case "drop":
		p.draft, p.half = "", ""
		p.say("Forgotten.")
	case "exit":
		if p.works() && !again {
			p.confirm = text
			p.say("Work is under way. %s once more stops it and quits; the session is kept.", text)
			return
		}
		p.done = true
	case "init":
		p.expand(name, args)
	case "export":
		p.export(args, again, text)
	default:
		p.report(name, cmd, known, args)
	}
}

// report says what a command shows elsewhere, or who does it.
func (p *linear) report(name string, cmd Command, known bool, args string) {
	switch name {
	case "toasts":
		p.toasts()
	case "plan":
		p.plan()
	case "context":
		p.aside(func() func() {
			info, err := p.a.Context(p.ctx)
			return func() { p.tell(contextWords(info), err) }
		})
	case "usage":
		p.aside(func() func() {
			info, err := p.a.Usage(p.ctx)
			return func() { p.tell(usageWords(info), err) }
		})
	case "diff":
		p.aside(func() func() {
			files, commands, err := p.a.Changes(p.ctx)
			return func() { p.tell(p.changes(files, commands), err) }
		})
	case "permissions":
		p.aside(func() func() { text, err := p.a.Permissions(p.ctx); return func() { p.tell(text, err) } })
	case "doctor":
		p.say("Looking whether all is well here.")
		p.aside(func() func() { text, err := p.a.Doctor(p.ctx); return func() { p.tell(text, err) } })
	case "summarizers":
		p.aside(func() func() {
			info, err := p.a.Settings(p.ctx)
			return func() { p.tell(summarizerWords(info), err) }
		})
	default:
		switch in := instead(name); {
		case cmd.Later:
			p.say("%s.", (&LaterCommand{name}).Error())
		case in != "":
			p.say("/%s wants the screen. In its place: %s", name, in)
		case !known:
			p.own(name, args)
		}
	}
}

// tell says what came, or why it did not.
func (p *linear) tell(text string, err error) {
	if err != nil {
		p.refused(err)
		return
	}
	p.say("%s", strings.ReplaceAll(text, " · ", ", "))
}

// own sends what a command of the user's own stands for.
func (p *linear) own(name, args string) {
	p.aside(func() func() {
		list, _ := p.a.Customs(p.ctx)
		return func() {
			cmds, _ := NewCommands(list...)
			var unknown *UnknownCommand
			if _, _, err := cmds.Parse("/" + name); errors.As(err, &unknown) {
				p.say("T%s. /help lists commands.", strings.TrimPrefix(unknown.Error(), "t"))
				return
			}
			p.expand(name, args)
		}
	})
}

func (p *linear) expand(name, args string) {
	p.aside(func() func() {
		text, err := p.a.Expand(p.ctx, name, args)
		return func() {
			if err != nil {
				p.refused(err)
				return
			}
			p.message(text)
		}
	})
}

func (p *linear) export(file string, replace bool, text string) {
	p.aside(func() func() {
		says, err := p.a.Export(p.ctx, file, replace)
		return func() {
			var there *ThereError
			if errors.As(err, &there) {
				p.confirm = text
				p.say("%s is there already. %s once more replaces it.", oneLine(shortPath(there.Path, p.id.Home)), text)
				return
			}
			p.tell(says, err)
		}
	})
}

func (p *linear) plan() {
	tasks := p.tr.todo.tasks
	if len(tasks) == 0 {
		p.say("There is no plan in this branch.")
		return
	}
	text := "Plan:"
	for _, k := range tasks {
		text += "\n" + strings.ReplaceAll(k.status, "_", " ") + ": " + k.text
	}
	p.say("%s", text)
}

// contextWords are /context without its picture.
func contextWords(c ContextInfo) string {
	out := c.head()
	for _, l := range c.Layers {
		out += fmt.Sprintf("\n%s: %s, %s tokens", l.Name, words.Count(l.Items, "item"), words.Tokens(session.Tokens{N: l.Tokens, By: "est"}))
	}
	for _, f := range c.Facts {
		says := strings.ReplaceAll(f.Says, " ("+TriggerMark+" above)", "")
		if f.Name != "" {
			says = f.Name + ": " + says
		}
		out += "\n" + says
	}
	return out
}

// usageWords are /usage without its table.
func usageWords(info UsageInfo) string {
	var out []string
	for _, s := range info.Scopes {
		out = append(out, s.Name+":")
		if len(s.Rows) == 0 {
			out = append(out, "no request was answered yet")
		}
		untold := 0
		for _, r := range s.Rows {
			out = append(out, r.name()+": "+r.sentence())
			untold += r.Untold
		}
		if untold > 0 {
			out = append(out, untoldWords(untold))
		}
	}
	return strings.Join(append(out, usageNote), "\n")
}

// changes are the changes of files, line by line.
func (p *linear) changes(files []FileDiff, commands int) string {
	if len(files) == 0 {
		return strings.TrimSpace("No change of a file is recorded in this session. " + unseen(commands))
	}
	out := words.Count(len(files), "file") + " changed. " + unseen(commands)
	for _, f := range files {
		d := markdown.Diff(f.Before, f.After, markdown.DiffOptions{Width: 1000, Max: maxDiffLines})
		out += "\n" + shownPath(f.Path, p.id.Workspace, p.id.Home)
		switch {
		case f.Why != "":
			out += ", which can't be shown: " + oneLine(f.Why)
			continue
		case f.Op == "create":
			out += ", new"
		case f.Op == "delete":
			out += ", deleted"
		}
		out += fmt.Sprintf(": %s added, %d removed", words.Count(d.Added, "line"), d.Removed)
		if f.Since {
			out += "; somebody changed it since"
		}
		for _, l := range d.Lines {
			out += "\n" + strings.TrimRight(l.Text, " ")
		}
	}
	return out
}

// summarizerWords list the models that summarize.
func summarizerWords(info SettingsInfo) string {
	out := "The model of the session summarizes."
	for i, s := range info.Summarizers {
		if i == 0 {
			out = "Models that summarize, in this order:"
		}
		out += fmt.Sprintf("\n%d. %s/%s", i+1, s.Ref.Provider, s.Ref.Model)
		if s.Why != "" {
			out += ", which can't be asked now: " + oneLine(s.Why)
		}
	}
	return out + "\n`agent config set routing.summarization_models '[{\"provider\":\"…\",\"model\":\"…\"}]'` changes that, from a shell."
}

func (p *linear) model(args string) {
	p.aside(func() func() {
		rows, err := p.a.Models(p.ctx)
		return func() {
			if err != nil {
				p.refused(err)
				return
			}
			p.choose(args, rows)
		}
	})
}

func (p *linear) choose(args string, rows []ModelInfo) {
	provider, model, ok := strings.Cut(args, "/")
	if !ok {
		text := "/model wants PROVIDER/MODEL. There are:"
		for _, x := range rows {
			text += "\n" + listed(x)
		}
		p.say("%s", text)
		return
	}
	for _, x := range rows {
		if x.Model.Provider != provider || x.Model.Model != model && x.Model.Model != "" && !x.Unasked {
			continue
		}
		x.Model.Model = model
		if now := p.state.Branch.Model; now != (session.Model{}) && now.API != x.Model.API {
			p.say("That model speaks another protocol: it can't go on with this conversation.")
			return
		}
		if p.submit(drive.Choose{Model: x.Model, Reasoning: p.state.Branch.Reason, By: "user"}) {
			p.say("The model is %s from now on.", x.Model)
		}
		return
	}
	p.say("%s: no such provider or model; /model lists them.", args)
}

// listed is a model in a list, or a provider that has none to choose.
func listed(x ModelInfo) string {
	says := []string{x.Model.String()}
	if x.Model.Model == "" {
		says[0] = x.Model.Provider
	}
	if x.Window > 0 {
		says = append(says, "window "+tokensShort(x.Window))
	}
	if x.State != "" {
		says = append(says, x.State)
	}
	return strings.Join(says, ", ")
}

func (p *linear) mode(args string, again bool, text string) {
	switch {
	case args != "ask" && args != "edit" && args != "full":
		p.say("/mode wants ask, edit or full.")
	case args == "full" && !again:
		p.confirm = text
		p.say("In full mode commands and edits run without asking. /mode full once more switches it on.")
	case p.submit(drive.SetMode{Mode: args}):
		p.say("The mode is %s.", args)
	}
}

func (p *linear) toasts() {
	entries, next, err := p.a.Notices(p.ctx, 0, noticePage)
	if err != nil {
		p.refused(err)
		return
	}
	if len(entries) == 0 {
		p.say("There were no notices.")
	}
	for _, e := range entries {
		if ev, ok := e.Event.(session.ToastPosted); ok && words.Toast(ev) != "" {
			p.say("%s, %s: %s", e.At.In(p.Now().Location()).Format(time.DateTime), ev.Level, words.Toast(ev))
		}
	}
	if next != 0 {
		p.say("There are earlier ones.")
	}
}
