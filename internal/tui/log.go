package tui

import (
	"context"
	"errors"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"varve/internal/harness/drive"
	"varve/internal/session"
	"varve/internal/words"
)

// What comes of the session, and what the screen asks for because of it.

// log takes what comes of the session.
func (r *Root) log(msg tea.Msg) (tea.Cmd, bool) {
	switch m := msg.(type) {
	case tailMsg:
		if m.epoch != r.epoch {
			return nil, true
		}
		r.chat.tr.add(m.entries)
		if m.err != nil {
			r.say("error", m.err.Error())
		}
		if r.id.Notice != "" {
			r.say("warning", r.id.Notice)
		}
		return tea.Batch(r.follow(), r.begin(), r.branched()), true
	case updateMsg:
		return r.updated(m), true
	case olderMsg:
		if m.epoch == r.epoch {
			if m.err != nil {
				r.chat.tr.bar()
				r.say("error", "Earlier entries can't be read: "+m.err.Error())
				return nil, true
			}
			r.chat.asking = false
			r.chat.tr.prepend(m.entries)
		}
		return nil, true
	case bodyMsg:
		if m.epoch == r.epoch {
			r.chat.tr.give(m.want, m.bytes, m.err)
		}
		return nil, true
	case questionMsg:
		if m.epoch == r.epoch {
			r.chat.ask(m, r.now)
		}
		return nil, true
	}
	return nil, false
}

// begin does what the program was started for.
func (r *Root) begin() tea.Cmd {
	var cmds []tea.Cmd
	switch {
	case r.first != "" && r.id.Setup: // nobody could answer yet
		r.chat.comp.SetText(r.first)
		r.first = ""
	case r.first != "":
		cmds = append(cmds, r.submit(drive.Say{Text: []byte(r.first)}))
		r.first = ""
	case r.goOn:
		cmds = append(cmds, r.submit(drive.Resume{}))
	}
	r.goOn = false
	return tea.Batch(cmds...)
}

func (r *Root) updated(m updateMsg) tea.Cmd {
	if m.epoch != r.epoch {
		return nil
	}
	if m.err != nil {
		if !errors.Is(m.err, context.Canceled) {
			r.fault = r.faultWords(m.err)
		}
		return nil
	}
	fresh := len(m.Entries) > 0
	if r.version > 0 && slices.ContainsFunc(m.Entries, wentBack) {
		return r.anew(r.id) // what is on the screen is another history
	}
	r.chat.tr.add(m.Entries)
	r.chat.tr.compacts(m.State.Branch, m.Ours, m.Busy)
	r.chat.tr.pulses(m.Pulses)
	r.pulses, r.version, r.state, r.frame.State = m.Pulses, m.Version, m.State, m.State
	r.chat.tr.holds(m.State.Branch.Plan)
	r.trouble(m.Update)
	r.chat.tr.works(m.Ours || m.Busy)
	switch {
	case m.Busy:
		r.chat.tr.asks(waitsThere)
	case r.paused():
		r.chat.tr.asks(waitsNobody)
	default:
		r.chat.tr.asks(waitsHere)
	}
	if !r.atWork() {
		r.overlays = slices.DeleteFunc(slices.Clone(r.overlays), func(o overlay) bool { c, ok := o.(*Confirm); return ok && c.OfTurn })
	}
	var cmds []tea.Cmd
	if slices.ContainsFunc(m.Entries, asksBranched) {
		cmds = append(cmds, r.branched())
	}
	if fresh {
		for _, e := range m.Entries {
			if ev, ok := e.Event.(session.ToastPosted); ok && words.Toast(ev) != "" {
				r.noted(ev)
			}
			if ev, ok := e.Event.(session.TurnEnded); ok {
				cmds = append(cmds, r.tells(endWords(ev)))
			}
		}
	}
	r.fillsUp()
	return tea.Batch(append(cmds, r.chat.questions(r), r.learnTitle(), r.follow())...)
}

// say shows a toast.
func (r *Root) say(level, text string) {
	r.toasts = r.toasts.at(r.now).post(level, text, r.now)
	r.past = append(r.past, toast{level: level, text: text, count: 1, until: r.now})
	if len(r.past) > pastKept {
		r.past = r.past[len(r.past)-pastKept:]
	}
}

// clock asks for a tick where something on the screen tells the time, or changes
// with it.
func (r *Root) clock() tea.Cmd {
	wait := r.chat.tr.wake()
	if d := r.chat.opens(r.now); d > 0 && (wait <= 0 || d < wait) {
		wait = d
	}
	if wait <= 0 && len(r.toasts) > 0 {
		wait = time.Second
	}
	due := r.now.Add(wait)
	if wait <= 0 || r.ticking && !due.Before(r.due) {
		return nil
	}
	r.ticking, r.due = true, due
	return tea.Tick(wait, func(t time.Time) tea.Msg { return tickMsg(t) })
}

// fetch asks for what visible rows need: older entries, stored content.
func (r *Root) fetch() tea.Cmd {
	var cmds []tea.Cmd
	epoch := r.epoch
	if !r.chat.asking && r.chat.tr.wantsOlder() {
		r.chat.asking = true
		q, n := r.chat.tr.first, r.chat.tr.olderPage()
		cmds = append(cmds, func() tea.Msg {
			entries, err := r.agent.Before(r.ctx, q, n)
			return olderMsg{epoch, entries, err}
		})
	}
	for _, w := range r.chat.newWants() {
		cmds = append(cmds, func() tea.Msg {
			b, err := r.agent.Body(r.ctx, w.at, w.b)
			return bodyMsg{epoch, w, b, err}
		})
	}
	return tea.Batch(cmds...)
}
