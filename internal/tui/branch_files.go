package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"varve/internal/harness/drive"
	"varve/internal/tui/plain"
	"varve/internal/words"
)

// What goes along with a branch operation: the conversation, files, or both
// (BRN-8). What would be done to files is shown before anything is done.

// What goes along.
const (
	onlyConversation = "conversation"
	onlyFiles        = "files"
	withFiles        = "both"
)

type (
	plannedMsg struct {
		box  *looking
		m    operateMsg
		plan FilePlan
		err  error
	}
	backToMsg struct {
		operateMsg
		along string
		plan  FilePlan
	}
	operatedMsg struct {
		backToMsg
		Operated
		err      error // of the conversation, or of files where they went alone
		filesErr error // of files behind the conversation
	}
)

// looking lies on the screen while it is found out what would be done to files.
// Whoever closes it has changed nothing.
type looking struct{ title string }

func (l *looking) Update(msg tea.Msg, f Frame) (overlay, tea.Cmd) {
	if k, ok := msg.(tea.KeyPressMsg); ok {
		if act, _ := f.Keys.Action(k, InList); act == ActClose {
			return nil, nil
		}
	}
	return l, nil
}

func (l *looking) View(f Frame) string {
	return boxFor(f, min(f.W-4, 72), 3).draw(l.title, f.Keys.Key(ActClose)+" close", []string{"Looking at what would be done to files …"}, f.Theme)
}

// operate finds out what would be done to files, and asks where that is
// something.
func (r *Root) operate(m operateMsg) tea.Cmd {
	if m.in == nil && !r.idleOnly() {
		return nil
	}
	box := &looking{along(m)}
	r.open(box)
	return func() tea.Msg {
		if m.in != nil {
			plan, err := r.agent.PlanAt(r.ctx, m.in.id, m.op)
			return plannedMsg{box, m, plan, err}
		}
		plan, err := r.agent.PlanFiles(r.ctx, m.op)
		return plannedMsg{box, m, plan, err}
	}
}

// along is the question's title.
func along(m operateMsg) string {
	if _, ok := m.op.(FilesBack); ok {
		return "Take a restore of files back?"
	}
	return "Conversation, files, or both?"
}

// planned asks what goes along, or goes on at once.
func (r *Root) planned(m plannedMsg) tea.Cmd {
	i := slices.IndexFunc(r.overlays, func(o overlay) bool { return o == overlay(m.box) })
	if i < 0 {
		return nil // closed meanwhile
	}
	r.overlays = slices.Delete(slices.Clone(r.overlays), i, i+1)
	_, alone := m.m.op.(FilesBack)
	nothing := m.plan.Fault == "" && len(m.plan.Steps) == 0
	switch {
	case m.err != nil:
		r.tell("error", r.faultWords(m.err))
	case nothing && alone:
		r.tell("info", m.plan.done())
	case nothing && m.plan.There:
		r.tell("info", m.m.op.(drive.RollBack).Label+" is taken back already, and nothing was done since: there is nothing to do.")
	case nothing:
		return r.backTo(backToMsg{m.m, onlyConversation, m.plan})
	default:
		r.open(NewConfirm(along(m.m), m.question(), m.choices()...))
	}
	return nil
}

// question says what would be done.
func (m plannedMsg) question() string {
	says := m.m.goal()
	if m.plan.There {
		says = m.m.op.(drive.RollBack).Label + " is taken back already, and nothing was done since; only files differ."
	}
	if m.plan.Fault != "" {
		return says + "\nWhat would be done to files can't be found out, so they stay as they are: " + words.OneLine(m.plan.Fault)
	}
	changes, left := m.plan.changes()
	some := words.Count(len(changes), "file")
	if len(changes) == 0 {
		some = "No file"
	}
	says += "\n" + some + " would be restored"
	if len(left) > 0 {
		says += fmt.Sprintf(", %d left alone", len(left))
	}
	says += "."
	if c := m.plan.commands(); c != "" {
		says += " " + c
	}
	return says + "\n" + m.plan.list()
}

// goal is where an operation leads to.
func (m operateMsg) goal() string {
	switch o := m.op.(type) {
	case drive.Revert:
		return "Back to before “" + m.title() + "”."
	case drive.RollBack:
		return "Revert " + o.Label + " is taken back: what it left is here again."
	case FilesBack:
		return "Files as they were before the restore of " + m.what + "."
	case drive.Fork:
		if m.what != "" {
			return "A new branch that ends before “" + m.title() + "”. Files alone make no branch."
		}
	}
	if m.in == nil {
		return "A new branch, from here. Files alone make no branch."
	}
	return "A new branch that begins " + m.begins() + ". Files alone make no branch."
}

// begins is where a fork begins, in the browser.
func (m operateMsg) begins() string {
	switch {
	case m.what != "":
		return "before “" + m.title() + "”"
	case m.in.revert != nil:
		return "where " + m.in.revert.Label + " went back from"
	case m.in.mark != nil:
		return "behind that checkpoint of " + m.in.branch
	}
	return "at the end of " + m.in.branch
}

// title is the message that it is about, as a title.
func (m operateMsg) title() string { return wholeWords(oneLine(m.what), 40) }

// wholeWords cuts a text to at most width columns, behind a word where there is
// one.
func wholeWords(s string, width int) string {
	cut := plain.Truncate(s, width)
	if cut == s {
		return s
	}
	kept := strings.TrimSuffix(cut, "…")
	if i := strings.LastIndexByte(kept, ' '); i > 0 && !strings.HasPrefix(s[len(kept):], " ") {
		kept = kept[:i]
	}
	return strings.TrimRight(kept, " ") + "…"
}

// choices are the harmless one, which Enter takes, and what can be done.
func (m plannedMsg) choices() []Choice {
	to := func(along string) tea.Msg { return backToMsg{m.m, along, m.plan} }
	_, alone := m.m.op.(FilesBack)
	conversation := Choice{Key: "c", Label: "Conversation only", Msg: to(onlyConversation)}
	changes, _ := m.plan.changes()
	switch {
	case (alone || m.plan.There) && len(changes) == 0:
		return []Choice{{Key: "n", Label: "Leave them"}}
	case alone:
		return []Choice{{Key: "n", Label: "Leave them"}, {Key: "f", Label: "Take the files back", Msg: to(onlyFiles)}}
	case m.plan.There:
		return []Choice{{Key: "n", Label: "Leave them"}, {Key: "f", Label: "Files only", Msg: to(onlyFiles)}}
	case m.plan.Fault != "", len(changes) == 0:
		return []Choice{conversation}
	}
	return []Choice{conversation, {Key: "f", Label: "Files only", Msg: to(onlyFiles)}, {Key: "b", Label: "Both", Msg: to(withFiles)}}
}

// backTo does it: the conversation first, so that what is done to files is
// recorded where one is then.
func (r *Root) backTo(m backToMsg) tea.Cmd {
	if m.in != nil {
		return r.backToAt(m)
	}
	if !r.idleOnly() {
		return nil
	}
	return func() tea.Msg {
		out := operatedMsg{backToMsg: m}
		if m.along != onlyFiles {
			if out.Operated, out.err = r.agent.Operate(r.ctx, m.op); out.err != nil || m.along == onlyConversation {
				return out
			}
		}
		did, err := r.agent.RestoreFiles(r.ctx, m.plan.To)
		out.plan = did
		if m.along == onlyFiles {
			out.err = err
		} else {
			out.filesErr = err
		}
		return out
	}
}

// operated shows the branch as it is now, and says what was done.
func (r *Root) operated(m operatedMsg) tea.Cmd {
	if m.err != nil && m.along != onlyFiles {
		if !r.conflict(m.err, m.operateMsg) {
			r.say("error", r.faultWords(m.err))
		}
		return nil
	}
	var cmd tea.Cmd
	if m.along != onlyFiles {
		cmd = r.anew(m.ID)
		if m.Text != "" && r.chat.comp.Empty() {
			r.chat.comp.SetText(m.Text)
		}
	}
	level, says := "success", m.says()
	if _, left := m.plan.changes(); m.along != onlyConversation && len(left) > 0 {
		level = "warning"
	}
	switch {
	case m.err != nil && m.plan.Restore == 0:
		level, says = "error", "No file was changed: "+r.faultWords(m.err)
	case m.err != nil:
		level, says = "error", m.plan.done()+" It can't be recorded: "+r.faultWords(m.err)
	case m.filesErr != nil:
		level = "error"
	}
	if m.filesErr != nil {
		says = m.head() + " But files: " + r.faultWords(m.filesErr)
	}
	r.say(level, says)
	return cmd
}

// head is what became of the conversation.
func (m operatedMsg) head() string {
	switch m.op.(type) {
	case drive.Revert:
		return m.goal()
	case drive.RollBack:
		s := m.goal()
		if m.Held {
			s += " What waited in the queue is held until you send it."
		}
		return s
	}
	if m.what != "" {
		return "A new branch; /tree leads back to the other."
	}
	return "A new branch, from here."
}

// says is what was done, and how it is taken back.
func (m operatedMsg) says() string {
	_, revert := m.op.(drive.Revert)
	_, rollback := m.op.(drive.RollBack)
	changes, left := m.plan.changes()
	var out []string
	add := func(s string) {
		if s != "" {
			out = append(out, s)
		}
	}
	switch m.along {
	case onlyFiles:
		add(m.plan.done())
		add("The conversation is as it was.")
		if m.plan.Restore != 0 {
			add("/rollback lists this restore, to take it back.")
		}
		return strings.Join(out, " ")
	case withFiles:
		add(m.head())
		add(m.plan.done())
	default:
		if add(m.head()); revert {
			add("It is below, to be changed.")
		}
		if revert || rollback || len(changes)+len(left) > 0 {
			add("Files are as they were.")
		}
		if len(changes)+len(left) == 0 { // else it was said before
			add(m.plan.commands())
		}
	}
	switch {
	case revert && m.along == withFiles:
		add("/rollback " + m.Label + " takes it back: choose both.")
	case revert:
		add("/rollback " + m.Label + " takes it back.")
	case m.plan.Restore != 0 && m.along == withFiles:
		add("/rollback lists the restore of files too.")
	}
	return strings.Join(out, " ")
}
