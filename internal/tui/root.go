package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"varve/internal/harness/drive"
	"varve/internal/session"
	"varve/internal/setup"
	"varve/internal/tui/paint"
)

// Root is the program's model: the session as it was last read, the
// conversation, and what lies on it. Messages go to the first of these that
// wants them: the window, the log, the top overlay, an open question, the
// conversation.
type Root struct {
	ctx      context.Context
	agent    Agent
	id       Identity
	frame    Frame
	looks    setup.Appearance
	themes   Themes
	profile  colorprofile.Profile
	dark     bool
	clockNow func() time.Time
	now      time.Time // of the last message
	chat     *chat
	overlays []overlay
	toasts   toasts
	past     []toast // every toast of this run, for /toasts
	state    session.State
	version  uint64
	pulses   []drive.Pulse
	fault    string
	// unwritten is the newest fault since which nothing was recorded, as a toast
	// has it.
	unwritten string
	waits     bool // for the other window to be done
	full      bool // the window is nearly full, and that was said
	busy      bool // another process works on the branch
	forks     bool // the session has more than one branch
	epoch     int  // of the session: messages of an older one are late
	ticking   bool
	due       time.Time // when the next tick comes, while ticking
	draft     string    // as it is to be saved
	kept      string    // as it was saved last
	given     string    // what the program itself put into the composer
	drafting  bool      // a save is due
	saving    bool      // one is on its way
	typed     bool      // since the last one
	more      bool      // input was waiting behind the key that is handled
	twice     Twice
	ours      bool   // this process works on the branch
	first     string // a prompt to send as soon as the session is there
	goOn      bool   // go on with the paused turn at once
	titled
	shells []context.CancelFunc // of the user's own commands that run, nil for one that has ended
}

// Options say how the interface starts.
type Options struct {
	Prompt string // sent at once; with Draft it is only written
	Draft  bool
	GoOn   bool // go on with the paused turn
	Looks  setup.Appearance
	Colors colorprofile.Profile // what the terminal can show
	Now    func() time.Time
}

// New returns the interface of an agent, with an empty conversation. Nothing
// is asked of the agent yet but who it is.
func New(ctx context.Context, a Agent, o Options) *Root {
	r := &Root{ctx: ctx, agent: a, id: a.Identity(), clockNow: o.Now, dark: true, looks: o.Looks, profile: o.Colors, goOn: o.GoOn}
	if r.clockNow == nil {
		r.clockNow = time.Now
	}
	r.now = r.clockNow()
	r.frame.Keys, _ = NewKeymap(o.Looks.Keys)
	r.themes, _ = NewThemes(o.Looks.Themes)
	r.frame.Theme, _ = r.themes.Pick(o.Looks.Theme, r.profile, r.dark)
	cmds, _ := NewCommands()
	r.chat = newChat(r.look(), NewComposer(History{}, cmds))
	r.chat.comp.Files, r.chat.comp.Args = r.files, r.args
	r.chat.comp.UseVim(o.Looks.Vim)
	switch {
	case o.Draft:
		r.chat.comp.Give(o.Prompt)
		r.given = r.chat.comp.Draft().Whole()
	case r.id.Draft != "":
		r.chat.comp.SetText(r.id.Draft)
		r.draft = r.chat.comp.Draft().Whole()
		r.kept = r.draft
		r.first = o.Prompt
	default:
		r.first = o.Prompt
	}
	for _, p := range LookProblems(o.Looks) {
		r.say("warning", p.Error())
	}
	return r
}

// Messages that answer commands of ours. Each that is about a session carries
// its epoch.
type (
	tailMsg struct {
		epoch   int
		entries []session.Entry
		err     error
	}
	updateMsg struct {
		epoch int
		drive.Update
		err error
	}
	olderMsg struct {
		epoch   int
		entries []session.Entry
		err     error
	}
	bodyMsg struct {
		epoch int
		want  want
		bytes []byte
		err   error
	}
	questionMsg struct {
		epoch    int
		question session.Seq
		what     string
		shown    []byte
		rule     string
		err      error
	}
	tickMsg    time.Time
	draftMsg   struct{}
	failedMsg  struct{ err error }
	refusedMsg struct {
		err   error
		draft string
	}
	saidMsg    struct{ level, text string }
	historyMsg struct {
		lines []string
		err   error
	}
	switchedMsg struct {
		id  Identity
		err error
	}
	contextMsg struct {
		info ContextInfo
		err  error
	}
	editMsg struct {
		argv []string
		file string
	}
	editedMsg struct {
		text string
		err  error
	}
)

// Init asks for what is there: the tail of the session, then what follows.
func (r *Root) Init() tea.Cmd {
	cmds := []tea.Cmd{r.tail(), r.history(), r.customs()}
	if r.id.Setup {
		cmds = append(cmds, r.offers())
	}
	return tea.Batch(cmds...)
}

func (r *Root) tail() tea.Cmd {
	epoch := r.epoch
	return func() tea.Msg {
		entries, err := r.agent.Tail(r.ctx, 300)
		return tailMsg{epoch, entries, err}
	}
}

// follow waits for what comes after the last entry. The log is the queue: if
// drawing is slow the next read is longer, and nothing is lost.
func (r *Root) follow() tea.Cmd {
	epoch, after, version := r.epoch, r.chat.tr.last, r.version
	return func() tea.Msg {
		u, err := r.agent.Follow(r.ctx, after, version)
		return updateMsg{epoch, u, err}
	}
}

func (r *Root) history() tea.Cmd {
	return func() tea.Msg {
		lines, err := r.agent.History(r.ctx)
		return historyMsg{lines, err}
	}
}

func (r *Root) files() tea.Cmd {
	return func() tea.Msg {
		files, err := r.agent.Files(r.ctx)
		return FilesMsg{Paths: files, Err: err} // an error stands where they would be offered
	}
}

// submit asks for a command. A refusal is shown; the words of a message come
// back to the composer.
func (r *Root) submit(cmd drive.Command) tea.Cmd {
	return func() tea.Msg {
		err := r.agent.Submit(r.ctx, cmd)
		if err == nil {
			return nil
		}
		if s, ok := cmd.(drive.Say); ok {
			return refusedMsg{err, string(s.Text)}
		}
		return failedMsg{err}
	}
}

// Update routes a message.
func (r *Root) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	r.now = r.clockNow()
	cmd := r.update(msg)
	return r, tea.Batch(cmd, r.clock(), r.fetch(), r.seeks(), r.keepDraft())
}

func (r *Root) update(msg tea.Msg) tea.Cmd {
	switch m := msg.(type) {
	case tea.WindowSizeMsg:
		r.frame.W, r.frame.H = m.Width, m.Height
		return r.toBrowser(nil, m)
	case tea.BackgroundColorMsg:
		r.dark = m.IsDark()
		r.restyle()
		return nil
	case tea.FocusMsg:
		r.chat.focused = true
		return nil
	case tea.BlurMsg:
		r.chat.focused = false
		return nil
	case TwiceMsg:
		if m.turn == r.twice.turn {
			r.twice.Expire(m)
			r.chat.hint = ""
		}
		return nil
	case draftMsg:
		return r.saveDraft()
	case keptMsg:
		return r.draftKept(m)
	case tickMsg:
		r.ticking = false
		r.toasts = r.toasts.at(r.now)
		return nil
	}
	if cmd, ok := r.log(msg); ok {
		return cmd
	}
	if n := len(r.overlays); n > 0 && isInput(msg) {
		return r.toOverlay(msg)
	}
	switch m := msg.(type) {
	case tea.KeyPressMsg:
		r.typed = true
		return r.key(m)
	case tea.PasteMsg:
		r.typed = true
		return r.chat.paste(m.Content)
	case tea.MouseWheelMsg:
		if m.Button == tea.MouseWheelUp {
			r.chat.tr.scroll(-3)
		} else if m.Button == tea.MouseWheelDown {
			r.chat.tr.scroll(3)
		}
		return nil
	case tea.MouseClickMsg:
		if m.Button == tea.MouseLeft {
			return r.click(m.X, m.Y)
		}
		return nil
	}
	return r.chosen(msg)
}

// isInput tells keys, mouse and paste, which go to what lies on top, from
// messages that carry their addressee.
func isInput(msg tea.Msg) bool {
	switch msg.(type) {
	case tea.KeyPressMsg, tea.KeyReleaseMsg, tea.PasteMsg, tea.MouseMsg:
		return true
	}
	return false
}

func (r *Root) toOverlay(msg tea.Msg) tea.Cmd {
	n := len(r.overlays)
	if k, ok := msg.(tea.KeyPressMsg); ok {
		switch act, _ := r.frame.Keys.Action(k, InView); act {
		case ActSuspend:
			return tea.Suspend
		case ActRedraw:
			return paint.Redraw()
		}
	}
	if r.tooSmall() {
		return nil // what isn't shown takes no answer
	}
	top, cmd := r.overlays[n-1].Update(msg, r.frame)
	r.overlays = r.overlays[: n-1 : n-1]
	if top != nil {
		r.overlays = append(r.overlays, top)
	} else { // the next key may have been meant for it
		r.chat.hold(r.now, typingPause)
	}
	return cmd
}

func (r *Root) open(o overlay) { r.overlays = append(r.overlays[:len(r.overlays):len(r.overlays)], o) }

// restyle takes the theme that fits what is known now.
func (r *Root) restyle() {
	theme, _ := r.themes.Pick(r.looks.Theme, r.profile, r.dark)
	if theme == r.frame.Theme {
		return
	}
	r.frame.Theme = theme
	r.chat.tr.restyle(r.look())
}

func (r *Root) look() look {
	th := r.frame.Theme
	return look{sides: r.looks.Diff != oneColumn, full: r.frame.Keys.Key(ActExpand), end: r.frame.Keys.Key(ActScrollBottom), workspace: r.id.Workspace, markdown: th.Markdown(), now: func() time.Time { return r.now }, ink: func(role, s string) string {
		switch role {
		case inkDim:
			return th.Dim.Of(s)
		case inkAccent:
			return th.Accent.Of(s)
		case inkUser:
			return th.User.Of(s)
		case inkOK:
			return th.OK.Of(s)
		case inkWarn:
			return th.Warn.Of(s)
		case inkError:
			return th.Error.Of(s)
		}
		return s
	}}
}

// More says whether more input was there behind the key that comes next. It
// is called by the painter.
func (r *Root) More(more bool) { r.more = more }

// Again reports whether the last frame shows what nobody asked for yet, or what
// moves by itself. It is asked by the painter.
func (r *Root) Again() bool {
	return r.chat.tr.lacking() || !r.ticking && r.chat.tr.wake() > 0
}

// Pace lets text that streams be painted 30 times a second: fewer bytes, and
// no eye sees the difference. It is asked by the painter.
func (r *Root) Pace() time.Duration {
	if r.chat.tr.streams() {
		return time.Second / 30
	}
	return 0
}
