package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"varve/internal/session"
	"varve/internal/tui/plain"
)

// chat is the conversation: the transcript, a question where one waits, what
// is queued, and the composer.
type chat struct {
	tr       *transcript
	comp     *Composer
	question *approval
	guard    time.Time     // until then nothing answers the question
	asking   bool          // older entries are on their way
	asked    map[want]bool // content that is on its way or was given
	loading  session.Seq   // the question whose text is on its way
	focused  bool
	hint     string    // one line above the composer, until the next key
	typed    time.Time // when a key was last pressed in the composer
	planOpen bool
	fullOnce bool // the full mode was confirmed
	composer int  // the first line of the composer in the last frame, and of what it offers
	popup    int  // how many lines that is
	queueAt  int  // the first line of what waits, and the one behind it
	queueTo  int
	toasts   []toastRow
	toasted  int // the first line of the toasts in the last frame
}

func newChat(l look, comp *Composer) *chat {
	return &chat{tr: newTranscript(l), comp: comp, asked: map[want]bool{}, focused: true}
}

// newWants lists content that visible rows need and nobody asked for yet.
func (c *chat) newWants() []want {
	var out []want
	for _, w := range c.tr.wants() {
		if !c.asked[w] {
			c.asked[w] = true
			out = append(out, w)
		}
	}
	return out
}

// questions keeps the question that is shown in step with those that wait.
func (c *chat) questions(r *Root) tea.Cmd {
	open := waiting(r.state)
	if len(open) == 0 || !r.ours || r.paused() {
		// What another window asks is answered there, and what a run that is
		// gone asked is asked again when the turn goes on.
		c.question, c.loading = nil, 0
		return nil
	}
	first := open[0]
	if c.question != nil && c.question.question == first.Question || c.loading == first.Question {
		return nil
	}
	c.question = &approval{question: first.Question, call: first.ID, name: first.Name, what: "call"}
	c.hold(r.now, typingPause)
	c.loading = first.Question
	epoch := r.epoch
	return tea.Batch(r.tells("needs an answer"), func() tea.Msg {
		b, err := r.agent.Body(r.ctx, first.Question, 0)
		rule := ""
		if err == nil {
			rule, err = r.agent.Rule(r.ctx, first.ID)
		}
		return questionMsg{epoch, first.Question, "", b, rule, err}
	})
}

// ask shows a question whose text has come.
func (c *chat) ask(m questionMsg, now time.Time) {
	q := c.question
	if q == nil || q.question != m.question {
		return
	}
	c.hold(now, typingPause)
	if m.err != nil {
		// What can't be shown can't be allowed; it can be refused.
		q.shown, q.broken = "This can't be shown, so it can only be refused: "+m.err.Error(), true
		return
	}
	q.shown, q.rule, q.ready = string(m.shown), m.rule, true
	if len(m.rule) > longestRule {
		q.rule = "" // it would not be read: the call can be allowed once
	}
	switch {
	case q.name == "bash":
		q.what = "command"
	case q.name == "edit" || q.name == "multiedit" || q.name == "write":
		q.what = "diff"
	}
}

// longestRule is the longest rule that is offered, in bytes: it has to be
// seen whole to be given (PERM-2).
const longestRule = 300

func (c *chat) paste(text string) tea.Cmd {
	c.hint = ""
	if c.question != nil && c.question.saying {
		c.question.reason.write(oneLine(text))
		return nil
	}
	return c.comp.Paste(text)
}

// working reports whether a turn runs.
func working(s session.State) bool { return s.Branch.Turn != nil }

// paused reports whether the open turn is nobody's.
func (r *Root) paused() bool {
	t := r.state.Branch.Turn
	return t != nil && !r.busy && (!r.ours || t.Run != r.state.Branch.Run)
}

// view draws the conversation into the frame, and says where the cursor is.
func (c *chat) view(r *Root) (lines []string, x, y int, cursor bool) {
	w, h := r.frame.W, r.frame.H
	l := r.look()
	shown := r.state
	shown.Session.Mode = r.mode()
	status := statusLine(w, l, r.id, shown, r.forks, r.doing())
	var below []string
	x, y = -1, -1
	if c.question != nil {
		more := max(len(waiting(r.state))-1, 0)
		c.question.why = c.tr.whyAsked(c.question.call)
		to := c.lettersTo(r.now)
		if len(r.overlays) > 0 {
			to = keysCovered
		}
		below = c.question.view(w, h*2/3, h-1, l, more, to)
		if !c.comp.Empty() && h >= 12 {
			// What is being written stays in sight.
			rows, cx, cy := c.comp.View(w, 2, r.frame.Theme)
			x, y, cursor = cx, cy+len(below), true
			below = append(below, rows...)
		}
		if c.question.saying {
			x, y, cursor = c.question.at.off, c.question.at.line, true
		}
	} else {
		c.comp.Placeholder = placeholder(r, w)
		popup := c.comp.Popup(w, max(h/3, 3), r.frame.Theme)
		comp, cx, cy := c.comp.View(w, max(h/3, 3), r.frame.Theme)
		x, y, cursor = cx, cy+len(popup), true
		c.popup = len(popup)
		below = append(popup, comp...)
	}
	above := c.notices(r, w, l)
	room := max(h-1-len(below)-len(above), 0)
	if need := max(2, len(r.toasts)); room < need && len(above) > 0 {
		above = above[:max(len(above)-(need-room), 0)]
		room = max(h-1-len(below)-len(above), 0)
	}
	var tr []string
	if c.tr.count() == 0 && c.tr.last == 0 {
		tr = welcome(w, room, l, r)
	} else {
		tr = c.tr.view(w, room)
	}
	c.tr.height = room
	lines = append(lines, tr...)
	c.layToasts(r, lines, w, h, l)
	c.queueAt, c.queueTo = c.queueAt+len(lines), min(c.queueTo, len(above))+len(lines)
	lines = append(lines, above...)
	c.composer = len(lines)
	y += len(lines)
	lines = append(lines, below...)
	if over := len(lines) - (h - 1); over > 0 {
		lines, y, c.toasted = lines[over:], y-over, c.toasted-over
	}
	return append(lines, status), x, y, cursor
}

// notices stand between the conversation and the composer: the fault of the
// log, a paused turn, the plan, what is queued, a hint.
func (c *chat) notices(r *Root, w int, l look) []string {
	var out []string
	if !c.tr.following() {
		out = append(out, l.ink(inkDim, plain.Truncate(c.tr.belowView(), w)))
	}
	if c.planOpen || working(r.state) {
		out = append(out, c.tr.plan(w, l, c.planOpen)...)
	}
	if r.fault != "" {
		out = append(out, inked(l, inkError, plain.Clean("✗ "+r.fault), w)...)
	}
	switch {
	case r.busy && !working(r.state):
		out = append(out, inked(l, inkWarn, "Another window has this session open: it is followed here.", w)...)
	case r.busy:
		out = append(out, inked(l, inkWarn, "Another window works on this session: it is followed here.", w)...)
	case r.paused():
		out = append(out, inked(l, inkWarn, c.pausedWords(r), w)...)
	}
	if says := c.tr.summing.waits(r.stopKey()); says != "" {
		out = append(out, l.ink(inkDim, plain.Truncate("▸ "+says, w)))
	}
	queue, most := r.state.Branch.Queue, max(r.frame.H/5, 2)
	c.queueAt = len(out)
	if n := len(queue) - most; n > 0 {
		out = append(out, l.ink(inkDim, plain.Truncate(fmt.Sprintf("  … %d more before these", n), w)))
		queue = queue[n:]
	}
	for _, q := range queue {
		mark := "queued: "
		switch {
		case q.Held:
			mark = "held: "
		case q.Kind == "steer":
			mark = "for this turn: "
		}
		out = append(out, l.ink(inkDim, plain.Truncate("▸ "+mark+strings.Join(strings.Fields(c.tr.queued(q.ID)), " "), w)))
	}
	if n := len(queue); n > 0 && w >= 40 {
		says := "  " + r.frame.Keys.Key(ActEditQueued) + " edits the last one, " + r.frame.Keys.Key(ActQueue) + " shows all"
		if slices.ContainsFunc(r.state.Branch.Queue, func(q session.Queued) bool { return q.Held }) {
			if working(r.state) {
				says = "  After this turn Enter on an empty line sends it;" + says[1:]
			} else {
				says = "  Enter on an empty line sends it;" + says[1:]
			}
		}
		out = append(out, l.ink(inkDim, plain.Truncate(says, w)))
	}
	c.queueTo = len(out)
	if c.comp.Given() {
		out = append(out, l.ink(inkDim, plain.Truncate(r.frame.Keys.Key(ActSend)+" sends it, typing replaces it:", w)))
	}
	if c.hint != "" {
		out = append(out, l.ink(inkDim, plain.Truncate(c.hint, w)))
	}
	return out
}

// pausedWords say what can be done about a turn that was left open.
func (c *chat) pausedWords(r *Root) string {
	switch {
	case r.state.Branch.ReadOnly != "":
		return "A turn was left open. It can't go on here: this session can only be read now."
	case !r.writable():
		return "A turn was left open. It can't go on before that is mended."
	case !c.comp.Empty():
		return "A turn was left open. What is written below goes on with it when it is sent; " + r.stopKey() + " ends it."
	}
	return "A turn was left open. Enter goes on with it; a message does too; " + r.stopKey() + " ends it."
}

// placeholder stands where nothing is written: what can be done now.
func placeholder(r *Root, w int) string {
	idle, more := "Say what you want done", " · / commands · "+r.frame.Keys.Key(ActHelp)+" help"
	long := "Enter queues what you write · " + r.frame.Keys.Key(ActSteer) + " sends it into this turn · " + r.stopKey() + " stops"
	switch {
	case !r.runs() && plain.Width(idle+more) > w-4:
		return idle
	case !r.runs():
		return idle + more
	case plain.Width(long) > w-4 && r.chat.comp.EscLeaves() && w >= 60:
		return r.frame.Keys.Key(ActSteer) + " sends it into this turn · " + r.stopKey() + " stops"
	case plain.Width(long) > w-4:
		return r.frame.Keys.Key(ActSteer) + " sends into this turn"
	}
	return long
}

// stopKey is how the turn is stopped from the composer: with the keys of vi Esc leaves the writing first.
func (r *Root) stopKey() string {
	key := r.frame.Keys.Key(ActInterrupt)
	if key == KeyText("esc") && r.chat.comp.EscLeaves() {
		key += " " + key
	}
	return key
}

// inked is a sentence in lines of width w.
func inked(l look, role, s string, w int) []string {
	lines := plain.Wrap(s, w)
	for i := range lines {
		lines[i] = l.ink(role, lines[i])
	}
	return lines
}

// scriptWords say who answers in a model's place (PRV-11).
func scriptWords(id Identity) string {
	if id.Puppet != "" {
		return "The model here is a person, who answers by pages in " + oneLine(shortPath(id.Puppet, id.Home)) + "; the tools and files are real."
	}
	return "The model here is a script, not a model; the tools and files are real."
}

// welcome is what an empty session shows.
func welcome(w, h int, l look, r *Root) []string {
	w = max(w-2, 8)
	_, version, _ := strings.Cut(r.id.Program, " ")
	name := []string{plain.Truncate(l.ink(inkAccent, "Varve")+l.ink(inkDim, "  "+version), w), ""}
	says := plain.Wrap("Say what you want done in "+shortPath(r.id.Workspace, r.id.Home)+".", w)
	keys := inked(l, inkDim, "? help   / commands   @ files   ! shell   Ctrl+P everything", w)
	var script []string
	switch {
	case r.id.Script:
		script = append([]string{""}, inked(l, inkWarn, scriptWords(r.id), w)...)
	case r.id.Setup:
		script = append([]string{""}, inked(l, inkWarn, "No model is chosen yet: Enter shows the ways to begin.", w)...)
	}
	// Where there is little room the keys go first; that the model is a script
	// is said as long as possible (PRV-11).
	text := slices.Concat(name, says, keys, script)
	for _, less := range [][]string{slices.Concat(name, says, script), slices.Concat(says, script), script} {
		if len(text) > h {
			text = less
		}
	}
	out := make([]string, max((h-len(text))/2, 0), h)
	for _, s := range text[:min(len(text), h)] {
		out = append(out, strings.TrimRight(" "+s, " "))
	}
	for len(out) < h {
		out = append(out, "")
	}
	return out
}
