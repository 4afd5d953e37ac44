package tui

import (
	"context"
	"errors"

	tea "charm.land/bubbletea/v2"

	"varve/internal/harness/drive"
	"varve/internal/session"
	"varve/internal/tui/paint"
)

// What keys and commands do in the conversation.

// key takes a key that no overlay wanted. The order: a question, then the
// composer, then the conversation.
func (r *Root) key(k tea.KeyPressMsg) tea.Cmd {
	c := r.chat
	if c.tr.homing && r.haltHome(k) {
		return nil
	}
	at := InChat
	if working(r.state) {
		at |= WhenWorking
	}
	again, wait := r.twice.Press(k, r.frame.Keys)
	at |= again
	if again == 0 {
		c.hint = ""
	}
	if c.question != nil && !c.writes(k, r.now, r.more || r.tooSmall()) {
		return tea.Batch(wait, r.answerKey(k, at))
	}
	act, cmd := c.comp.Key(k, r.frame.Keys, at, r.more)
	if c.comp.TookEsc() {
		r.twice.Reset()
	}
	c.typed = r.now
	return tea.Batch(wait, cmd, r.do(act, at))
}

// answerKey is a key while a question waits. Esc stops the turn, and Ctrl+C
// twice still quits.
func (r *Root) answerKey(k tea.KeyPressMsg, at Where) tea.Cmd {
	q := r.chat.question
	act, _ := r.frame.Keys.Action(k, at|WhenEmpty)
	switch {
	case act == ActClear || q.saying && act == ActQuit:
		// The next key may be one too late for what Ctrl+C asks: as long as its
		// notice stands, and at least a moment, nothing answers.
		r.chat.hint = againQuits
		r.chat.hold(r.now, twiceWithin)
		q.saying, q.half, q.reason = false, "", nil
		return nil
	case !q.saying:
		switch {
		case k.String() == "esc" && q.half != "": // takes the first press back
			q.half = ""
			return nil
		case k.String() == "pgup" && q.scroll == 0:
			return r.do(ActScrollUp, at)
		case k.String() == "pgdown" && !r.chat.tr.following():
			return r.do(ActScrollDown, at)
		case act == ActHelp, k.Text == "" && act != "" && act != ActSend && act != ActUp && act != ActDown && !q.pages(k):
			return r.do(act, at)
		}
	}
	m, ok := q.key(k, r.frame.Keys)
	if !ok {
		return nil
	}
	return func() tea.Msg {
		if err := r.agent.Submit(r.ctx, m.Answer); err != nil {
			return unansweredMsg{m.Question, err}
		}
		if !m.keep {
			return nil
		}
		if err := r.agent.Allow(r.ctx, m.Rule); err != nil {
			return saidMsg{"error", "The rule can't be kept in the settings, so it holds for this session: " + err.Error()}
		}
		return saidMsg{"success", "Allowed from now on: " + m.Rule}
	}
}

// An unansweredMsg says that an answer was not recorded.
type unansweredMsg struct {
	question session.Seq
	err      error
}

// do carries out an action.
func (r *Root) do(act Action, at Where) tea.Cmd {
	c := r.chat
	switch act {
	case ActSend:
		return r.send(false)
	case ActSteer:
		return r.send(true)
	case ActInterrupt:
		return r.interrupt()
	case ActMessageActions:
		c.hint = ""
		return r.actOnMessage()
	case ActClear:
		return r.cleared()
	case ActQuit, ActQuitEmpty:
		return r.quit()
	case ActEditQueued:
		return r.editQueued()
	case ActQueue:
		return r.openQueue()
	case ActMode:
		return r.nextMode()
	case ActModels:
		return r.models()
	case ActReasoning:
		return r.reasoning()
	case ActSessions:
		return r.sessions()
	case ActPalette:
		r.open(NewPalette(r.frame.Keys, c.comp.Commands))
	case ActHelp:
		r.open(NewHelp(c.comp.Commands))
	case ActEditor:
		return r.edit(c.comp.Draft().Whole())
	case ActPlan:
		if c.planOpen = !c.planOpen; c.planOpen && len(c.tr.todo.tasks) == 0 {
			c.hint = "There is no plan in this branch. The next one is shown here."
		}
	case ActDismiss:
		if len(r.toasts) == 0 {
			c.hint = "There is no notice on the screen; /toasts lists the earlier ones."
		}
		r.toasts = r.toasts.dismiss()
	case ActSumAgain:
		for _, a := range []string{"anew", "focus"} { // in the place of the same again
			if r.toasts.offers(a) >= 0 {
				return r.offered(a)
			}
		}
		return r.offered("retry")
	case ActSumModels:
		return r.offered("models")
	case ActSumWithout:
		return r.offered("go_on")
	case ActExpand:
		r.read()
	case ActRedraw:
		return paint.Redraw()
	case ActSuspend:
		return tea.Suspend
	case ActScrollUp:
		c.tr.page(-1)
	case ActScrollDown:
		c.tr.page(1)
	case ActScrollLineUp:
		c.tr.scroll(-1)
	case ActScrollLineDn:
		c.tr.scroll(1)
	case ActScrollTop:
		c.tr.home()
	case ActScrollBottom:
		c.tr.end()
	case ActSettings:
		return r.settings("")
	}
	return nil
}

// send hands over what was written. Enter on nothing goes on with a turn that
// was left open, or sends what is held.
func (r *Root) send(steer bool) tea.Cmd {
	c := r.chat
	text, kind := c.comp.Value()
	var cmd tea.Cmd
	switch kind {
	case Nothing:
		if r.paused() {
			return r.submit(drive.Resume{})
		}
		if !working(r.state) {
			for _, q := range r.state.Branch.Queue {
				if q.Held {
					return r.submit(drive.SendHeld{Entry: q.ID})
				}
			}
		}
		if r.id.Setup {
			return r.offers()
		}
		return nil
	case SlashKind:
		cmd, args, err := c.comp.Commands.Parse(text)
		var later *LaterCommand
		switch {
		case errors.As(err, &later):
			c.comp.Sent()
			r.say("info", later.Error())
			return nil
		case err != nil:
			r.say("error", err.Error())
			return nil
		}
		return tea.Batch(r.remember(c.comp.Sent()), r.command(cmd.Name, args))
	case ShellKind:
		if r.id.Setup {
			return r.offers() // a session begins with its model
		}
		cmd = r.shell(text)
	default:
		if r.id.Setup {
			return r.offers()
		}
		cmd = r.submit(drive.Say{Text: []byte(text), Steer: steer && working(r.state)})
	}
	c.tr.end()
	return tea.Batch(cmd, r.remember(c.comp.Sent()))
}

// shell runs a command of the user's own. Esc ends the newest that runs.
func (r *Root) shell(command string) tea.Cmd {
	ctx, stop := context.WithCancel(r.ctx)
	r.shells = append(r.shells, stop)
	n := len(r.shells) - 1
	return func() tea.Msg {
		return shellDoneMsg{n, command, r.agent.Shell(ctx, command)}
	}
}

type shellDoneMsg struct {
	n       int
	command string
	err     error
}

// shellDone forgets a command that has ended. One that was not run because of
// another window comes back.
func (r *Root) shellDone(m shellDoneMsg) {
	r.shells[m.n]()
	r.shells[m.n] = nil
	for n := len(r.shells); n > 0 && r.shells[n-1] == nil; n-- {
		r.shells = r.shells[:n-1]
	}
	if m.err != nil {
		r.say("error", r.faultWords(m.err))
	}
	if elsewhere(m.err) && r.chat.comp.Empty() {
		r.chat.comp.SetText("!" + m.command)
	}
}

func (r *Root) remember(line string) tea.Cmd {
	if line == "" {
		return nil
	}
	return func() tea.Msg {
		if err := r.agent.Remember(r.ctx, line); err != nil {
			return saidMsg{"warning", "The history can't be saved: " + err.Error()}
		}
		return nil
	}
}

// interrupt stops the turn; where none runs it goes back to the end, or sees a
// notice off.
func (r *Root) interrupt() tea.Cmd {
	switch {
	case len(r.shells) > 0:
		r.shells[len(r.shells)-1]()
	case (working(r.state) || compacting(r.state)) && !r.busy:
		return r.submit(drive.Cancel{By: "user"})
	case !r.chat.tr.following():
		r.chat.tr.end()
	case len(r.toasts) > 0:
		r.toasts = r.toasts.dismiss()
		r.hintAgain()
	default:
		r.hintAgain()
	}
	return nil
}

// hintAgain says what the key does that was just pressed, when it is pressed
// again at once.
func (r *Root) hintAgain() {
	once, twice := r.frame.Keys.Key(ActInterrupt), r.frame.Keys.Key(ActMessageActions)
	if r.twice.Waiting() && r.chat.comp.Empty() && !working(r.state) && r.chat.tr.count() > 0 && twice == once+" "+once {
		r.chat.hint = once + " again: go back to, fork or copy a message of yours."
	}
}

// editQueued takes the newest entry that waits back into the composer.
func (r *Root) editQueued() tea.Cmd {
	q := r.state.Branch.Queue
	if len(q) == 0 {
		return nil
	}
	last := q[len(q)-1]
	if !r.chat.comp.Empty() {
		r.chat.hint = "Send or clear what is written first."
		return nil
	}
	text := r.chat.tr.queued(last.ID)
	if src := r.chat.tr.queue[last.ID]; src.missing || src.broken != "" {
		r.chat.hint = "Its text can't be read yet: try again."
		return nil
	}
	return func() tea.Msg {
		// It stands in the draft before it stands in the queue no more.
		if err := r.agent.SaveDraft(r.ctx, text); err != nil {
			return failedMsg{err}
		}
		if err := r.agent.Submit(r.ctx, drive.RemoveQueued{Entry: last.ID}); err != nil {
			return failedMsg{err}
		}
		return takenBackMsg{text}
	}
}

// A takenBackMsg brings the words of an entry that waits no more.
type takenBackMsg struct{ text string }

// nextMode goes on to the next permission mode; full is asked about once.
func (r *Root) nextMode() tea.Cmd {
	mode := r.mode()
	next := map[string]string{"ask": "edit", "edit": "full", "full": "ask"}[mode]
	if next == "" {
		next = "ask"
	}
	if next != "full" || r.chat.fullOnce {
		return r.submit(drive.SetMode{Mode: next})
	}
	// Who does not want it goes on to the mode behind it: the key goes round.
	box := NewConfirm("Full permission", "In full mode commands and edits run without asking. Only files outside the workspace still ask. Switch it on?",
		Choice{Label: "No, go on to ask mode", Key: "n", Msg: modeMsg{"ask"}}, Choice{Label: "Yes, for this session", Key: "y", Msg: modeMsg{next}})
	box.Closed = modeMsg{"ask"}
	r.open(box)
	return nil
}

// mode is the permission mode that calls of here are judged by. One that was
// switched on holds for its run, and what another run switched on is not ours.
func (r *Root) mode() string {
	if m := r.state.Session.Mode; r.ours && m != "" {
		return m
	}
	return r.id.Mode
}

type modeMsg struct{ mode string }

type modelMsg struct{ ModelInfo }

func (r *Root) reasoning() tea.Cmd {
	var rows []PickRow
	for _, s := range []string{"default", "none", "minimal", "low", "medium", "high", "xhigh", "max"} {
		rows = append(rows, PickRow{Title: s, Value: s})
	}
	r.open(NewPicker("How much the model thinks", rows, func(row PickRow) tea.Msg { return reasonMsg{row.Title} }))
	return nil
}

type reasonMsg struct{ level string }
