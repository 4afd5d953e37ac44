package tui

import (
	"strings"
	"time"

	"varve/internal/harness/drive"
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
	p.aside(func() func() {
		err := p.a.Shell(p.ctx, command)
		return func() {
			if err != nil {
				p.refused(err)
			}
		}
	})
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
