package tui

import (
	"errors"
	"strings"
	"time"

	"varve/internal/harness/drive"
	"varve/internal/session"
	"varve/internal/words"
)

// What the plain mode takes.

// line is what was written. Lines that come at once were pasted: they become one
// message, which is sent by an empty line and by nothing else (case TUI-01).
func (p *linear) line(s string, more <-chan string) {
	n := 1
	for p.Terminal {
		select {
		case next, ok := <-more:
			if ok {
				s += "\n" + next
				n++
				continue
			}
		case <-time.After(pasteGap):
		}
		break
	}
	switch {
	case n > 1 && p.question != 0:
		p.say("%s came at once, before the question was answered: nothing was taken.", words.Count(n, "line"))
	case n > 1:
		p.draft = strings.TrimRight(p.half+s, "\n")
		p.half = ""
		p.say("%s came at once. An empty line sends them as one message, /drop forgets them.", words.Count(n, "line"))
	case strings.HasSuffix(s, `\`) && p.question == 0:
		p.half += strings.TrimSuffix(s, `\`) + "\n"
	default:
		s, p.half = p.half+s, ""
		p.take(s)
	}
}

func (p *linear) take(s string) {
	was := p.confirm
	p.confirm = ""
	text := strings.TrimSpace(s)
	command := isCommand(text)
	switch {
	case p.question != 0 && !command:
		p.answer(text)
	case text == "":
		p.nothing()
	case command:
		p.command(text, was == text)
	case strings.HasPrefix(text, "!"):
		p.shell(strings.TrimSpace(text[1:]))
	default:
		p.draft = ""
		p.message(s)
	}
}

func (p *linear) message(text string) {
	queued := p.works()
	if !p.submit(drive.Say{Text: []byte(text)}) {
		p.draft = text
		p.say("An empty line sends it again.")
		return
	}
	if queued {
		p.say("It waits for the end of this turn. /steer sends words into the turn.")
		return
	}
	p.sent++
}

func (p *linear) shell(command string) {
	if command == "" {
		return
	}
	go func() {
		if err := p.a.Shell(p.ctx, command); err != nil {
			p.failed <- err
		}
	}()
}

// nothing is an empty line: it sends what is there to be sent.
func (p *linear) nothing() {
	switch {
	case p.draft != "":
		text := p.draft
		p.draft = ""
		p.message(text)
	case p.paused():
		p.submit(drive.Resume{})
	case working(p.state):
		p.still()
	default:
		for _, q := range p.state.Branch.Queue {
			if q.Held {
				p.submit(drive.SendHeld{Entry: q.ID})
				return
			}
		}
		p.status()
	}
}

// answer takes a line for the question, if it is an answer. What was written
// before the question could be read is none.
func (p *linear) answer(text string) {
	if p.Terminal && p.since(p.asked) < typingPause {
		p.say("That was written before the question could be read: it was not taken.")
		return
	}
	letter, why, _ := strings.Cut(text, " ")
	a := drive.Answer{Question: p.question}
	switch strings.ToLower(letter) {
	case "y", "yes":
		a.Answer = "once"
	case "n", "no":
		a.Answer, a.Words = "deny", []byte(strings.TrimSpace(why))
	case "s":
		a.Answer, a.Rule = "run", p.rule
	case "a":
		a.Answer, a.Rule = "always", p.rule
	}
	if a.Answer == "" || a.Answer != "deny" && (why != "" || p.broken) || (a.Answer == "run" || a.Answer == "always") && p.rule == "" {
		p.say("That is no answer to the question, and was not sent. Answer y or n; /stop stops the turn.")
		return
	}
	if !p.submit(a) {
		return
	}
	p.question, p.answered = 0, a.Question
	if a.Answer == "always" {
		if err := p.a.Allow(p.ctx, p.rule); err != nil {
			p.say("Notice, error: the rule can't be kept in the settings, so it holds for this session: %s", err)
		}
	}
}

// linearHelp are the commands that the plain mode has; the others want the screen.
const linearHelp = `Commands:
/status: model, mode, branch, context, cost, queue
/stop: stop the turn
/steer WORDS: send words into the running turn
/compact [focus]: summarize the conversation so far
/model PROVIDER/MODEL: another model for the next request
/mode ask, edit or full: what runs without a question
/toasts: the notices so far
/rename TITLE: give this session a title
/drop: forget what an empty line would send
/quit: leave; the session is kept
!COMMAND runs a command of your own. A line that ends in \ goes on in the next one.`

func (p *linear) command(text string, again bool) {
	name, args := cutCommand(text)
	if cmds, _ := NewCommands(); len(name) > 1 {
		if c, ok := cmds.Find(name[1:]); ok {
			name = "/" + c.Name
		}
	}
	switch name {
	case "/help":
		p.say("%s", linearHelp)
	case "/status", "/context", "/usage":
		p.status()
	case "/stop":
		if !p.works() && !p.paused() {
			p.say("There is nothing to stop.")
			return
		}
		p.submit(drive.Cancel{By: "user"})
	case "/steer":
		if args == "" || !p.works() {
			p.say("/steer wants words, while a turn runs.")
			return
		}
		p.submit(drive.Say{Text: []byte(args), Steer: true})
	case "/compact":
		p.submit(drive.Compact{Focus: []byte(args)})
	case "/model":
		p.model(args)
	case "/mode":
		p.mode(args, again, text)
	case "/toasts":
		p.toasts()
	case "/rename":
		if args == "" {
			p.say("/rename wants a title.")
		} else if p.submit(drive.Rename{Title: []byte(args)}) {
			p.say("The session is called %s.", args)
		}
	case "/drop":
		p.draft, p.half = "", ""
		p.say("Forgotten.")
	case "/exit":
		if p.works() && !again {
			p.confirm = text
			p.say("Work is under way. %s once more stops it and quits; the session is kept.", text)
			return
		}
		p.done = true
	default:
		cmds, _ := NewCommands()
		_, _, err := cmds.Parse(text)
		var unknown *UnknownCommand
		if errors.As(err, &unknown) {
			p.say("T%s. /help lists commands.", strings.TrimPrefix(unknown.Error(), "t"))
			return
		}
		p.say("%s is not there in plain mode: nothing was done. The interface without --plain has it, or see `agent --help`.", name)
	}
}

func (p *linear) model(args string) {
	provider, model, ok := strings.Cut(args, "/")
	rows, err := p.a.Models(p.ctx)
	switch {
	case err != nil:
		p.refused(err)
		return
	case !ok:
		p.say("/model wants PROVIDER/MODEL. There are:")
		for _, x := range rows {
			if x.Model.Model == "" {
				p.say("  %s: %s", x.Model.Provider, x.State)
				continue
			}
			p.say("  %s, %s%s", x.Model, modelNote(x), strings.TrimRight(", "+x.State, ", "))
		}
		return
	}
	for _, x := range rows {
		if x.Model.Provider != provider || x.Model.Model != model && x.Model.Model != "" {
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
