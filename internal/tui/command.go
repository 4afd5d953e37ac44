package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"varve/internal/harness/drive"
	"varve/internal/session"
)

// Commands that begin with "/", and the answers of overlays.

// command carries out a command of the table.
func (r *Root) command(name, args string) tea.Cmd {
	if cmd, ok := r.chat.comp.Commands.Find(name); ok && cmd.run != nil {
		return cmd.run(r, args)
	}
	r.chat.hint = (&LaterCommand{name}).Error()
	return nil
}

func acts(a Action) func(*Root, string) tea.Cmd {
	return func(r *Root, _ string) tea.Cmd { return r.do(a, InChat) }
}

func (r *Root) resumeCommand(args string) tea.Cmd {
	if args != "" {
		return r.switchTo(args)
	}
	return r.sessions()
}

func (r *Root) modelCommand(args string) tea.Cmd {
	p, m, ok := strings.Cut(args, "/")
	if !ok {
		return r.models()
	}
	return func() tea.Msg {
		rows, err := r.agent.Models(r.ctx)
		if err != nil {
			return failedMsg{err}
		}
		i := slices.IndexFunc(rows, func(x ModelInfo) bool {
			return x.Model.Provider == p && (x.Model.Model == m || x.Model.Model == "" || x.Unasked)
		})
		if i < 0 {
			return failedMsg{fmt.Errorf("%s: no such provider or model; /model lists them", args)}
		}
		row := rows[i]
		row.Model.Model = m
		return modelMsg{row}
	}
}

func (r *Root) contextCommand(string) tea.Cmd {
	return func() tea.Msg {
		info, err := r.agent.Context(r.ctx)
		return contextMsg{info, err}
	}
}

func (r *Root) renameCommand(args string) tea.Cmd {
	if args == "" {
		r.say("error", "/rename wants a title")
		return nil
	}
	return func() tea.Msg {
		if err := r.agent.Submit(r.ctx, drive.Rename{Title: []byte(args)}); err != nil {
			return failedMsg{err}
		}
		return saidMsg{"success", "The session is called " + args + "."}
	}
}

// copy hands the last answer, or its n-th code block, to the clipboard. The only one
// it has goes without its number.
func (r *Root) copy(args string) tea.Cmd {
	text := r.chat.tr.answer()
	if args != "" {
		blocks := r.chat.tr.lastCode()
		n, err := strconv.Atoi(args)
		if args == "code" && len(blocks) < 2 {
			n, err = 1, nil
		}
		switch {
		case err != nil || n < 1:
			r.say("error", "/copy takes the number of a code block of the last answer, from 1; with one block alone, /copy code is enough.")
			return nil
		case len(blocks) == 0:
			r.say("warning", "There is no code block to copy: the number is one of a code block; /copy alone takes the last answer whole.")
			return nil
		case n > len(blocks):
			r.say("warning", fmt.Sprintf("The last answer with code has %d code %s.", len(blocks), plural(len(blocks), "block")))
			return nil
		}
		text = blocks[n-1]
	}
	if text == "" {
		r.say("warning", "There is no answer to copy yet.")
		return nil
	}
	return r.copied(text)
}

func sizeOf(s string) string {
	n := strings.Count(strings.TrimRight(s, "\n"), "\n") + 1
	if n == 1 {
		return "one line"
	}
	return fmt.Sprintf("%d lines", n)
}

func (r *Root) switchTo(id string) tea.Cmd {
	if r.atWork() {
		r.askToLeave("Going to another session", leaveMsg{id})
		return nil
	}
	return r.leave(id)
}

// askToLeave asks before what runs here is interrupted by going elsewhere.
func (r *Root) askToLeave(going string, then tea.Msg) {
	says := "A turn is running. " + going + " interrupts it; this one is kept, and can be resumed."
	if !r.runs() {
		says = "The conversation is being summarized. " + going + " stops that; what was accepted is kept."
	}
	box := NewConfirm("Another session", says,
		Choice{Label: "Stay", Key: "n"}, Choice{Label: "Interrupt and go", Key: "y", Msg: then})
	box.OfTurn = true
	r.open(box)
}

type leaveMsg struct{ id string }

func (r *Root) leave(id string) tea.Cmd {
	return func() tea.Msg {
		who, err := r.agent.Switch(r.ctx, id)
		return switchedMsg{who, err}
	}
}

// A rooted message knows what it does, so that what belongs together stands in
// one file.
type rooted interface{ on(r *Root) tea.Cmd }

// chosen takes the answers of overlays and of commands.
func (r *Root) chosen(msg tea.Msg) tea.Cmd {
	switch m := msg.(type) {
	case rooted:
		return m.on(r)
	case failedMsg:
		if !errors.Is(m.err, drive.ErrNothing) && !errors.Is(m.err, context.Canceled) {
			r.unsaid(m.err)
		}
	case refusedMsg:
		r.refused(m)
	case unansweredMsg:
		if !errors.Is(m.err, context.Canceled) {
			r.say("error", r.faultWords(m.err))
		}
		if q := r.chat.question; q != nil && q.question == m.question {
			q.asked = false
		}
	case takenBackMsg:
		if d := r.chat.comp.Draft().Whole(); d != "" {
			m.text += "\n" + d // something was written meanwhile
		}
		r.chat.comp.SetText(m.text)
	case saidMsg:
		r.say(m.level, m.text)
	case givenUpMsg:
		r.givenUp(m)
	case shellDoneMsg:
		r.shellDone(m)
	case FilesMsg:
		r.chat.comp.Listed(m)
	case historyMsg:
		if m.err != nil {
			r.say("warning", "The history can't be read: "+m.err.Error())
		}
		r.chat.comp.Load(ParseHistory(m.lines))
	case offersMsg:
		return r.listOffers(m)
	case backMsg:
		return r.offers()
	case offerMsg:
		return r.takeOffer(m)
	case takenMsg:
		return r.taken(m)
	case usedMsg:
		if m.err != nil {
			r.say("error", m.err.Error())
			return nil
		}
		r.id = m.id
		r.say("success", "The model is "+m.id.Model.String()+" from now on.")
	case PickRowsMsg:
		return r.toPicker(m)
	case modelMsg:
		return r.choose(m)
	case reasonMsg:
		level := m.level
		if level == "default" {
			level = ""
		}
		return r.submit(drive.Choose{Model: r.model(), Reasoning: level, By: "user"})
	case switchedMsg:
		return r.switched(m)
	case contextMsg:
		if m.err != nil {
			r.say("error", m.err.Error())
			return nil
		}
		r.open(&textView{title: "Context", lines: m.info.Lines})
	case editMsg:
		return edited(m)
	case editedMsg:
		if m.err != nil {
			r.say("error", "The editor failed: "+m.err.Error())
			return nil
		}
		r.chat.comp.SetText(m.text)
	case modeMsg:
		r.chat.fullOnce = r.chat.fullOnce || m.mode == "full"
		return r.submit(drive.SetMode{Mode: m.mode})
	case leaveMsg:
		return r.leave(m.id)
	case turnMsg:
		return r.act(m.Turn)
	case operateMsg:
		return r.operate(m)
	case plannedMsg:
		return r.planned(m)
	case backToMsg:
		return r.backTo(m)
	case operatedMsg:
		return r.operated(m)
	case elsewhereMsg:
		return r.goesOn(m)
	case forkedMsg:
		return r.forked(m)
	case wentMsg:
		return r.went(m)
	case branchedMsg:
		return r.knows(m)
	case copyMsg:
		return r.copied(m.text)
	case askQuitMsg:
		if !r.atWork() {
			return tea.Quit // the turn has ended meanwhile
		}
		r.askQuit()
	case quitMsg:
		return tea.Quit
	case PaletteMsg:
		if m.Command == "" {
			return r.do(m.Action, InChat)
		}
		if !strings.HasSuffix(m.Command, " ") {
			return r.command(strings.TrimPrefix(m.Command, "/"), "")
		}
		if r.chat.comp.Empty() {
			return r.chat.comp.Paste(m.Command) // its words follow
		}
		return r.command(strings.TrimSpace(strings.TrimPrefix(m.Command, "/")), "")
	}
	return nil
}

// model is the one that the next request goes to.
func (r *Root) model() session.Model {
	if m := r.state.Branch.Model; m != (session.Model{}) {
		return m
	}
	return r.id.Model
}

// switched shows another session.
func (r *Root) switched(m switchedMsg) tea.Cmd {
	if m.err != nil {
		r.say("error", m.err.Error())
		return nil
	}
	r.epoch++
	r.id, r.state, r.version, r.fault, r.pulses = m.id, session.State{}, 0, "", nil
	r.busy, r.ours, r.forks, r.waits, r.full, r.unwritten, r.toasts = false, false, false, false, false, "", nil
	r.frame.State, r.titled = r.state, titled{}
	old := r.chat
	r.chat = newChat(r.look(), old.comp)
	r.chat.focused = old.focused
	if m.id.Draft != "" && r.chat.comp.Empty() {
		r.chat.comp.Give(m.id.Draft)
		r.given = r.chat.comp.Draft().Whole()
	}
	return tea.Batch(r.tail(), r.customs())
}
