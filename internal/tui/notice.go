package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"varve/internal/session"
	"varve/internal/tui/plain"
	"varve/internal/words"
)

// Notices: where toasts stand, and all of a session's.

// A noticeReader reads the toasts of a session, of all its branches and runs.
type noticeReader interface {
	// Notices returns about n toasts before an event, 0 for the end, oldest
	// first, and the event before which to go on, 0 where there are no more.
	Notices(ctx context.Context, before session.Seq, n int) ([]session.Entry, session.Seq, error)
}

// pastKept is how many toasts of this window /toasts still knows, and noticePage
// how many of the log it reads at once.
const (
	pastKept   = 500
	noticePage = 50
)

// noted shows a toast of the log. What it makes up for goes.
func (r *Root) noted(ev session.ToastPosted) {
	text, about := words.Toast(ev), words.Subject(ev)
	r.toasts = r.toasts.over(about, ev.Level)
	if ev.Code == "compaction.failed" && ev.Args["kind"] == "cancelled" {
		return // the conversation says it at the same moment
	}
	r.say(ev.Level, text)
	r.past[len(r.past)-1].about = loggedToast
	r.toasts = r.toasts.offering(text, ev.Actions).telling(text, about)
}

// offered does what the newest notice that has it offers, and takes that off
// (SUM-4).
func (r *Root) offered(action string) tea.Cmd {
	i := r.toasts.offers(action)
	if i < 0 {
		r.chat.hint = "No notice on the screen offers that; /toasts has the earlier ones."
		return nil
	}
	r.toasts = r.toasts.without1(i)
	return noticeActed{action}.on(r)
}

// offerKeys say which key does what is offered.
func (r *Root) offerKeys(actions []string) string {
	var out []string
	for _, a := range actions {
		act, does := offerOf(a)
		if key := r.frame.Keys.Key(act); act != "" && key != "" {
			out = append(out, key+" "+does)
		}
	}
	return strings.Join(out, " · ")
}

func offerOf(action string) (act Action, does string) {
	switch action {
	case "retry":
		return ActSumAgain, "try again"
	case "anew": // in its place, where it was refused (MR-11)
		return ActSumAgain, "begin anew"
	case "focus": // or would be
		return ActSumAgain, "begin anew…"
	case "models":
		return ActSumModels, "Summarization models"
	case "go_on":
		return ActSumWithout, "go on without"
	}
	return "", ""
}

// loggedToast marks a toast of this window that /toasts reads from the log.
const loggedToast = "log"

// layToasts draws the toasts over lines, which are the conversation's: into its
// last rows where those are free, else over its first. Nothing moves for them.
func (c *chat) layToasts(r *Root, lines []string, w, h int, l look) {
	c.toasts, c.toasted = nil, 0
	if len(r.toasts) == 0 {
		return
	}
	shown := r.toasts.fit(len(lines))
	most := min(max(h/5, min(h/3, toastsShown+1)), len(lines))
	keys := toastKeys{offers: r.offerKeys}
	if w >= overlayNarrow {
		keys.hides = r.frame.Keys.Key(ActDismiss) + " hides it"
	}
	c.toasts = shown.rows(w, most, keys, l)
	for i, x := range c.toasts { // as the window has them, for a click
		c.toasts[i].of = slices.IndexFunc(r.toasts, func(y toast) bool { return y.text == shown[x.of].text && y.level == shown[x.of].level })
	}
	free := 0
	for i := len(lines) - 1; i >= 0 && lines[i] == ""; i-- {
		free++
	}
	if free >= len(c.toasts) {
		c.toasted = len(lines) - len(c.toasts)
	}
	for i, x := range c.toasts {
		lines[c.toasted+i] = x.text
	}
}

// A notice is a row of the list of notices.
type notice struct {
	at          time.Time
	level, text string
	actions     []string // of the log's
	event       session.Seq
}

// A noticeList shows the notices of a session, newest first, those that only
// this window showed among them. More is read when the end comes near.
type noticeList struct {
	epoch   int
	rows    []notice
	list    list
	next    session.Seq // to go on before, 0 for no more
	reading bool
	failed  string
	now     func() time.Time
	more    func(before session.Seq) tea.Cmd
}

type (
	noticesMsg struct {
		epoch   int
		entries []session.Entry
		next    session.Seq
		err     error
	}
	// noticeDoMsg asks for what can be done about a notice.
	noticeDoMsg struct{ actions []string }
	noticeActed struct{ action string }
)

func (r *Root) toastsCommand(string) tea.Cmd {
	o := &noticeList{epoch: r.epoch, reading: true, now: func() time.Time { return r.now }, more: r.readNotices}
	for _, x := range slices.Backward(r.past) {
		if x.about != loggedToast {
			o.rows = append(o.rows, notice{at: x.until, level: x.level, text: toastText(x.text)})
		}
	}
	o.list.n = len(o.rows)
	r.open(o)
	return r.readNotices(0)
}

func (r *Root) readNotices(before session.Seq) tea.Cmd {
	epoch := r.epoch
	return func() tea.Msg {
		entries, next, err := r.agent.Notices(r.ctx, before, noticePage)
		return noticesMsg{epoch, entries, next, err}
	}
}

func (m noticesMsg) on(r *Root) tea.Cmd {
	for i, o := range r.overlays {
		if l, ok := o.(*noticeList); ok && l.epoch == m.epoch {
			r.overlays = slices.Clone(r.overlays)
			r.overlays[i] = l.came(m)
		}
	}
	return nil
}

// came takes in what was read. The chosen row stays the chosen one.
func (o *noticeList) came(m noticesMsg) *noticeList {
	n := *o
	n.reading, n.next, n.failed = false, m.next, ""
	if m.err != nil {
		n.failed = "Earlier notices can't be read: " + oneLine(m.err.Error())
	}
	n.rows = slices.Clone(o.rows)
	for _, e := range slices.Backward(m.entries) {
		if ev, ok := e.Event.(session.ToastPosted); ok && words.Toast(ev) != "" {
			n.rows = append(n.rows, notice{at: e.At, level: ev.Level, text: toastText(words.Toast(ev)), actions: runnable(ev.Actions), event: e.Seq})
		}
	}
	var chosen notice
	if len(o.rows) > 0 {
		chosen = o.rows[o.list.at]
	}
	slices.SortStableFunc(n.rows, func(a, b notice) int { return b.at.Compare(a.at) })
	n.list.n = len(n.rows)
	if o.list.at > 0 { // who has not moved yet sees the newest
		n.list.Select(slices.IndexFunc(n.rows, func(x notice) bool { return x.at.Equal(chosen.at) && x.text == chosen.text && x.event == chosen.event }))
	}
	return &n
}

// runnable are the actions that a key can carry out.
func runnable(actions []string) []string {
	return slices.DeleteFunc(slices.Clone(actions), func(a string) bool { return actionWords(a) == "" })
}

func actionWords(action string) string {
	switch action {
	case "retry":
		return "summarize again"
	case "anew":
		return "begin anew, without what was accepted"
	case "focus":
		return "begin anew, with what to keep in particular"
	case "models":
		return "show who is asked to summarize"
	}
	return ""
}

func (o *noticeList) box(f Frame) box { return boxFor(f, min(f.W-4, 110), max(f.H-2, 10)) }

func (o *noticeList) Update(msg tea.Msg, f Frame) (overlay, tea.Cmd) {
	n := *o
	b := n.box(f)
	page := n.listRows(f)
	switch msg := msg.(type) {
	case tea.MouseWheelMsg:
		n.list.Move(wheel(msg))
	case tea.MouseClickMsg:
		if row := b.row(msg.X, msg.Y); row >= 0 && row < page && msg.Button == tea.MouseLeft {
			from, to := n.list.Window(page)
			if at := from + row; at < to {
				if at == n.list.at && len(n.rows[at].actions) > 0 {
					return nil, answer(noticeDoMsg{n.rows[at].actions})
				}
				n.list.Select(at)
			}
		}
	case tea.KeyPressMsg:
		act, _ := f.Keys.Action(msg, InList)
		switch {
		case act == ActClose:
			return nil, nil
		case act == ActChoose && len(n.rows) > 0 && len(n.rows[n.list.at].actions) > 0:
			return nil, answer(noticeDoMsg{n.rows[n.list.at].actions})
		}
		n.list.Do(act, page)
	}
	n.list.Window(page)
	if n.next != 0 && !n.reading && n.list.at+2*page >= len(n.rows) {
		n.reading = true
		return &n, n.more(n.next)
	}
	return &n, nil
}

// listRows is how many rows the list has: the rest of the box is the chosen one
// in full.
func (o *noticeList) listRows(f Frame) int { return max(o.box(f).innerH()-len(o.detail(f)), 1) }

// detail is the chosen notice in full.
func (o *noticeList) detail(f Frame) []string {
	if len(o.rows) == 0 {
		return nil
	}
	w, x := o.box(f).innerW(), o.rows[o.list.at]
	where := "this window only: nothing of the session"
	if x.event != 0 {
		where = fmt.Sprintf("event %d", x.event)
	}
	out := []string{"", f.Theme.Dim.Of(plain.Truncate(x.at.In(o.now().Location()).Format("2006-01-02 15:04:05")+" · "+x.level+" · "+where, w))}
	out = append(out, plain.Wrap(x.text, w)...)
	most := max(o.box(f).innerH()/2, 3)
	if len(out) > most {
		out = append(out[:most-1], plain.Truncate(out[most-1], w-2)+" …")
	}
	return out
}

func (o *noticeList) View(f Frame) string {
	b := o.box(f)
	detail := o.detail(f)
	page := o.listRows(f)
	l := o.list
	from, to := l.Window(page)
	var rows []string
	for i := from; i < to; i++ {
		rows = append(rows, o.row(i, b.innerW(), f.Theme))
	}
	switch {
	case len(o.rows) == 0 && o.reading:
		rows = append(rows, "Reading the session …")
	case len(o.rows) == 0 && o.failed == "":
		rows = append(rows, "There were none.")
	}
	for len(rows) < page {
		rows = append(rows, "")
	}
	if o.failed != "" {
		rows[max(len(rows)-1, 0)] = f.Theme.Error.Of(plain.Truncate(o.failed, b.innerW()))
	}
	foot := f.Keys.Key(ActClose) + " close"
	if len(o.rows) > 0 && len(o.rows[o.list.at].actions) > 0 {
		foot = f.Keys.Key(ActChoose) + " what can be done · " + foot
	}
	if len(o.rows) > page {
		all := ""
		if o.next != 0 {
			all = "+"
		}
		foot = fmt.Sprintf("%d of %d%s · %s", o.list.at+1, len(o.rows), all, foot)
	}
	return b.draw("Notices", foot, append(rows, detail...), f.Theme)
}

// row is a notice on one line: when, its mark, its words.
func (o *noticeList) row(i, w int, th Theme) string {
	x := o.rows[i]
	at, now := x.at.In(o.now().Location()), o.now()
	when := at.Format("15:04:05")
	if at.YearDay() != now.YearDay() || at.Year() != now.Year() {
		when = at.Format("Jan 02  ")
	}
	_, mark := toast{level: x.level}.mark()
	return listItem{Title: when + " " + mark + " " + strings.TrimSpace(x.text), Selected: i == o.list.at}.draw(w, w, th)
}

// on asks which of what can be done, where there is more than one.
func (m noticeDoMsg) on(r *Root) tea.Cmd {
	if len(m.actions) == 1 {
		return noticeActed{m.actions[0]}.on(r)
	}
	var rows []PickRow
	for _, a := range m.actions {
		rows = append(rows, PickRow{Title: actionWords(a), Value: a})
	}
	r.open(NewPicker("What can be done", rows, func(row PickRow) tea.Msg { return noticeActed{row.Value.(string)} }))
	return nil
}

func (m noticeActed) on(r *Root) tea.Cmd {
	switch m.action {
	case "retry", "anew":
		return r.compact("")
	case "focus":
		r.open(newAsk("Summarize anew", "What is to be kept in particular? What was accepted of the last summary is not used.", false, func(s string) tea.Msg { return focusMsg(s) }))
	case "models":
		return r.settings(sumBlock)
	}
	return nil
}

// A focusMsg is what a summary is to keep in particular.
type focusMsg string

func (m focusMsg) on(r *Root) tea.Cmd { return r.compact(string(m)) }
