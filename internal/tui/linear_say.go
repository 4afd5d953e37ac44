package tui

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"varve/internal/session"
	"varve/internal/tui/plain"
	"varve/internal/words"
)

// What the plain mode says.

// say writes a line of the program's; further lines of it are indented. No text
// can drive the terminal.
func (p *linear) say(format string, args ...any) {
	text := strings.TrimRight(plain.Clean(fmt.Sprintf(format, args...)), "\n ")
	if _, err := io.WriteString(p.Out, strings.ReplaceAll(text, "\n", "\n  ")+"\n"); err != nil && p.wrote == nil {
		p.wrote = err
	}
}

func (p *linear) greet() {
	who := ""
	if p.id.Script {
		who = " " + scriptWords(p.id)
	}
	p.say("Varve in %s, plain mode.%s", shortPath(p.id.Workspace, p.id.Home), who)
	p.say("Write a message and press Enter. /help lists commands, /quit leaves.")
	if p.id.Notice != "" {
		p.say("Notice, warning: %s", p.id.Notice)
	}
}

// status is the status line in words.
func (p *linear) status() {
	s := p.state
	model := s.Branch.Model
	if model == (session.Model{}) {
		model = p.id.Model
	}
	mode := s.Session.Mode
	if mode == "" || !p.update.Ours {
		mode = p.id.Mode
	}
	says := []string{"model " + model.String() + chosenWords(p.id, s), "mode " + mode}
	if b := s.Branch.Name; b != "" {
		says = append(says, "branch "+b)
	}
	if p.id.GitBranch != "" {
		says = append(says, "git branch "+p.id.GitBranch)
	}
	says = append(says, "folder "+shortPath(p.id.Workspace, p.id.Home))
	if bar := contextBar(s); len(bar.forms) > 1 {
		says = append(says, "context "+bar.forms[1])
	}
	if used := spent(s, p.id.Price); used != "" {
		says = append(says, used)
	}
	if q := queueWords(s.Branch.Queue); q != "" {
		says = append(says, q)
	}
	p.say("Status: %s.", strings.Join(says, ", "))
}

// goes says what goes on now, where that has changed.
func (p *linear) goes() {
	now := ""
	switch {
	case p.update.Busy:
		now = "Another window works on this session: it is followed here."
	case p.works() && p.state.Branch.Compaction != nil:
		now = "Summarizing the conversation. /stop ends that."
	case p.works():
		now = "Working. /stop stops it."
	}
	if now == p.was {
		return
	}
	if now == "" {
		now, p.was = "Ready.", ""
	} else {
		p.was = now
	}
	p.say("%s", now)
}

// waits says that the next attempt waits, once for each.
func (p *linear) waits() {
	for _, x := range p.update.Pulses {
		if x.Kind == "retry" && x.Until.After(p.retry) {
			p.retry = x.Until
			p.say("%s", strings.Replace(words.Waiting(x.Why, max(x.Until.Sub(p.Now()), 0)), "Esc stops", "/stop stops", 1))
		}
	}
}

// still says that work goes on.
func (p *linear) still() {
	if !p.works() || p.question != 0 {
		return
	}
	for _, r := range p.order {
		if r.state == callRunning && !r.gone {
			p.say("Tool %s: still running, %s.", r.name, seconds(p.Now().Sub(r.began)))
			return
		}
	}
	p.say("Still working.")
}

func (p *linear) notice(ev session.ToastPosted) {
	text := words.Toast(ev)
	if ev.Code == "compaction.failed" { // its own line said why
		if text = "What can be done:"; words.Offer(ev.Actions) == "" {
			return
		}
	}
	if text == "" {
		return
	}
	level := ev.Level
	if level == "info" || level == "" {
		level = "note"
	}
	if offer := words.Offer(ev.Actions); offer != "" {
		text += " " + strings.ReplaceAll(offer, " · ", ", ") + "."
	}
	p.say("Notice, %s: %s", level, text)
}

// rows tells the rows that are new, and what became of calls.
func (p *linear) rows() {
	for _, r := range p.tr.rows {
		if r.n < p.told {
			continue
		}
		p.told = r.n + 1
		if r.kind == rowCall {
			p.order = append(p.order, r)
			continue
		}
		p.calledSoFar()
		p.row(r)
	}
	p.calledSoFar()
}

// calledSoFar tells what became of the calls that are not over, in their order.
func (p *linear) calledSoFar() {
	p.order = slices.DeleteFunc(p.order, func(r *row) bool {
		p.fetch(&r.src, true)
		if p.calls[r] == 0 && (r.state != callWaiting || r.asking) {
			p.calls[r] = 1
			p.say("Tool %s: %s", r.name, r.subject())
		}
		if r.gone && p.calls[r] == 1 {
			p.calls[r] = 2
			p.say("Tool %s: %s.", r.name, leftOpen)
		}
		if !r.over() {
			return false
		}
		delete(p.calls, r)
		p.fetch(&r.out, false)
		p.called(r)
		return true
	})
}

// called says how a call ended, and the last it wrote.
func (p *linear) called(r *row) {
	how := map[callState]string{callDone: "done", callFailed: "failed", callDenied: "refused", callStopped: "stopped"}[r.state]
	if _, _, tail := r.standing(p.Now(), ""); r.state == callDone && r.took > 0 {
		how += " in " + took(r.took)
	} else if tail != "" && tail != how {
		how += ", " + tail
	}
	text := fmt.Sprintf("Tool %s: %s.", r.name, how)
	switch {
	case r.out.broken != "":
		text += "\nIts output can't be read: " + words.OneLine(r.out.broken)
	case r.planned && r.state == callDone:
		for _, k := range r.plan {
			text += "\n" + strings.ReplaceAll(k.status, "_", " ") + ": " + k.text
		}
	case changesFiles(r.name) && r.state == callDone:
		for _, f := range r.files {
			text += "\n" + plain.Clean(p.tr.look.path(f.Path)) + " changed"
		}
	case r.name != "read" || r.state != callDone:
		for _, s := range foldTail(r.out.text, 400, p.tr.look, false, foldShell, r.left) {
			text += "\n" + strings.Replace(strings.TrimSpace(s), " (Ctrl+O)", "", 1)
		}
	}
	p.say("%s", text)
}

// row tells a row that is no call.
func (p *linear) row(r *row) {
	if r.hidden {
		return
	}
	p.fetch(&r.src, false)
	text := strings.TrimSpace(r.src.text)
	if r.src.broken != "" {
		text = "(this part can't be read: " + words.OneLine(r.src.broken) + ")"
	}
	mark := ""
	if r.mark != "" {
		mark = " (" + r.mark + ")"
	}
	switch r.kind {
	case rowUser:
		if p.version > 0 && r.mark == "" && r.entry == 0 {
			return // it was just written here
		}
		p.say("You%s: %s", mark, text)
	case rowAssistant:
		if text != "" {
			p.say("Agent%s: %s", mark, text)
		}
	case rowReasoning:
		if first, more, _ := strings.Cut(text, "\n"); first != "" {
			if more != "" {
				first += " …"
			}
			p.say("Thought: %s", first)
		}
	case rowShell:
		p.say("Command: %s", text)
	case rowCheckpoint:
		if ev, ok := r.event.(session.CheckpointCommitted); ok {
			p.say("Notice: the conversation was summarized; %s tokens became %s.", words.Tokens(ev.Before), words.Tokens(ev.After))
		}
	default:
		if r.head != "" {
			p.say("Notice: %s", r.head)
		}
	}
}

// fetch reads a text that stands elsewhere.
func (p *linear) fetch(s *source, raw bool) {
	if s.missing {
		b, err := p.a.Body(p.ctx, s.at, s.b)
		s.give(want{s.at, s.b}, b, err, raw)
	}
}

// asks tells the question that waits, all of it, and how it is answered.
func (p *linear) asks() {
	open := waiting(p.state)
	if len(open) == 0 || !p.update.Ours || p.paused() {
		p.question = 0
		return
	}
	c := open[0]
	if c.Question == p.question || c.Question == p.answered {
		return
	}
	p.question, p.rule, p.broken = c.Question, "", false
	shown, err := p.a.Body(p.ctx, c.Question, 0)
	if err == nil {
		p.rule, err = p.a.Rule(p.ctx, c.ID)
	}
	if len(p.rule) > longestRule {
		p.rule = ""
	}
	if err != nil {
		p.broken = true
		p.say("Question: %s. What it would do can't be shown, so it can only be refused: %s", c.Name, words.OneLine(err.Error()))
	} else {
		p.say("Question: may the agent do this? %s\n%s", c.Name, plain.Visible(withoutIndex(string(shown))))
	}
	if why := p.tr.whyAsked(c.ID); why != "" {
		p.say("%s", why)
	}
	if n := len(open) - 1; n > 0 {
		p.say("%s after this one.", words.Count(n, "more question"))
	}
	how := "Answer y for yes, once; n for no; n and words to say why"
	if p.broken {
		how = "Answer n for no; n and words to say why"
	}
	if p.rule != "" {
		how += "; s to allow until you quit, a to allow from now on: " + plain.Visible(p.rule)
	}
	p.say("%s. /stop stops the turn.", how)
	p.asked = p.Now()
}

// since is how long ago something was.
func (p *linear) since(t time.Time) time.Duration { return p.Now().Sub(t) }
