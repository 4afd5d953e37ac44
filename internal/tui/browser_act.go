package tui

import (
	"context"
	"errors"
	"strings"

	tea "charm.land/bubbletea/v2"

	"varve/internal/harness/drive"
)

// What root does for the browser, and how it is told there.

type (
	renameMsg struct {
		picked
		title string
	}
	exportMsg struct {
		picked
		file string
	}
	removeMsg struct {
		picked
		file bool
	}
	toldMsg struct { // what became of something, and whether lists are to be read anew
		text   string
		err    error  // its words follow the text
		then   string // and this those
		reload bool
	}
	didMsg struct {
		backToMsg
		Operated
		err, filesErr error
	}
)

// done is the message of what was done, or why not. It is made in a command, and
// so without root's state.
func done(err error, not, done string) toldMsg {
	if err != nil {
		return toldMsg{text: not, err: err}
	}
	return toldMsg{text: done, reload: true}
}

func (m renameMsg) on(r *Root) tea.Cmd {
	return func() tea.Msg {
		var err error
		what := "The session"
		if m.lead {
			err = r.agent.RenameAt(r.ctx, m.id, m.branch, m.title)
		} else {
			what = m.branch
			_, err = r.agent.OperateAt(r.ctx, m.id, drive.Retitle{Branch: m.branch, Title: []byte(m.title)})
		}
		if errors.Is(err, drive.ErrBusy) { // BRW-3; a name itself would do no harm
			why := "the browser changes nothing on a branch while its turn runs."
			if m.lead {
				why += " /rename names this session at once."
			}
			return toldMsg{text: "It was not renamed", err: err, then: "; " + why}
		}
		return done(err, "It was not renamed", what+" is called “"+oneLine(m.title)+"”.")
	}
}

func (m exportMsg) on(r *Root) tea.Cmd {
	return func() tea.Msg {
		says, err := r.agent.ExportAt(r.ctx, m.id, m.branch, m.file)
		return done(err, "It was not exported", says)
	}
}

func (m removeMsg) on(r *Root) tea.Cmd {
	return func() tea.Msg {
		_, err := r.agent.OperateAt(r.ctx, m.id, drive.Delete{Branch: m.branch})
		if err != nil || !m.file {
			return done(err, m.branch+" was not deleted", m.branch+" is deleted; what was written in it stays in the file.")
		}
		out := done(r.agent.RemoveAt(r.ctx, m.id), "It is deleted, but its file stays", "The session is deleted, and its file.")
		out.reload = true // the list has it no more, whatever came of its file
		return out
	}
}

// on says it where it was asked for.
func (m toldMsg) on(r *Root) tea.Cmd {
	level, text := "success", m.text
	if m.err != nil {
		level, text = "error", text+": "+r.faultWords(m.err)+m.then
	}
	b := r.tell(level, text)
	if b == nil || !m.reload {
		return nil
	}
	return tea.Batch(b.reload(), r.branched())
}

// tell says something in the browser that lies open, which it returns, else in a
// toast.
func (r *Root) tell(level, text string) *browser {
	for _, o := range r.overlays {
		if b, ok := o.(*browser); ok {
			b.notice = browserNotice{level, text}
			return b
		}
	}
	r.say(level, text)
	return nil
}

// toBrowser hands a message to the browser, wherever it lies: what was read for
// another one comes too late.
func (r *Root) toBrowser(to *browser, m tea.Msg) tea.Cmd {
	for _, o := range r.overlays {
		if b, ok := o.(*browser); ok && (to == nil || to == b) {
			_, cmd := b.Update(m, r.frame)
			return cmd
		}
	}
	return nil
}

// sessions opens the browser.
func (r *Root) sessions() tea.Cmd { return r.browse(false) }

// tree opens it with the branches of the session on the screen.
func (r *Root) tree() tea.Cmd { return r.browse(true) }

func (r *Root) browse(tree bool) tea.Cmd {
	ctx, stop := context.WithCancel(r.ctx)
	b := &browser{ctx: ctx, agent: r.agent, home: r.id.Home, filter: newField(""), end: stop}
	if tree {
		b.tree, b.only = &grown{}, true
	}
	r.open(b)
	return b.reload()
}

// backToAt does an operation on any session, and to its files: the conversation
// first, so that what is done to files is recorded where one is then.
func (r *Root) backToAt(m backToMsg) tea.Cmd {
	return func() tea.Msg {
		out := didMsg{backToMsg: m}
		branch := m.op.Of()
		if m.along != onlyFiles {
			if out.Operated, out.err = r.agent.OperateAt(r.ctx, m.in.id, m.op); out.err != nil || m.along == onlyConversation {
				return out
			}
			branch = out.Operated.Branch
		}
		out.plan, out.filesErr = r.agent.RestoreAt(r.ctx, m.in.id, branch, m.plan.To)
		return out
	}
}

// on says what was done, and shows it: in the browser, and where the branch is on
// the screen there too.
func (m didMsg) on(r *Root) tea.Cmd {
	if m.err != nil {
		r.tell("error", "Nothing was changed: "+r.faultWords(m.err))
		return nil
	}
	var cmd tea.Cmd
	_, fork := m.op.(drive.Fork)
	if m.in.shown && !fork && m.along != onlyFiles {
		cmd = r.anew(m.ID)
		if m.Text != "" && r.chat.comp.Empty() {
			r.chat.comp.SetText(m.Text)
		}
	}
	level, says := m.says(r.frame.Keys)
	b := r.tell(level, says)
	if b == nil {
		return tea.Batch(cmd, r.branched())
	}
	if fork && m.Branch != "" {
		b.want = m.Branch
		if b.tree == nil {
			b.want = m.in.id + "/" + m.Branch
		}
	}
	return tea.Batch(cmd, b.reload(), r.branched())
}

// says is what was done, and how it is taken back.
func (m didMsg) says(k Keymap) (level, says string) {
	var out []string
	level = "success"
	if _, left := m.plan.changes(); m.along != onlyConversation && len(left) > 0 {
		level = "warning"
	}
	if m.along != onlyFiles {
		switch m.op.(type) {
		case drive.Fork:
			out = append(out, m.Branch+" begins "+m.begins()+"; "+k.Key(ActChoose)+" opens it, "+k.Key(ActBrowseDelete)+" deletes it.")
		case drive.Revert:
			out = append(out, m.goal(), k.Key(ActBrowseRollback)+" takes revert "+m.Label+" back.")
		default:
			out = append(out, m.goal())
			if m.Held {
				out = append(out, "What waits in its queue is held until you send it.")
			}
		}
	}
	switch {
	case m.filesErr != nil:
		return "error", strings.Join(append(out, "Files: "+m.filesErr.Error()), " ")
	case m.along != onlyConversation:
		out = append(out, m.plan.done())
	default:
		out = append(out, "Files are as they were.")
	}
	return level, strings.Join(out, " ")
}
