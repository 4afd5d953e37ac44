package paint

import (
	"os"
	"os/exec"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
)

// Frame is the least time between two paints that no action of the user caused (TUI-13).
const Frame = time.Second / 120

// Paced is a model that lets changes which the user did not cause be painted less often than every [Frame],
// for example while text streams: fewer paints are fewer bytes. Pace is asked on the event loop, after each
// message; Frame or less means Frame.
type Paced interface{ Pace() time.Duration }

// Hurried is a model that wants to know whether more input was already there behind the key it is given next: a paste that
// arrives as keys (case TUI-01).
type Hurried interface{ More(bool) }

// Unfinished is a model whose frame may show what is still to be asked for. Again is asked on the event loop after each
// frame; true brings the model one more Update, with a message that says nothing.
type Unfinished interface{ Again() bool }

// keyed is a key press, and whether there was more behind it when it was read.
type keyed struct {
	tea.KeyPressMsg
	more bool
}

type (
	paintMsg  struct{} // the timer's call to the event loop
	againMsg  struct{} // the frame was not all
	retakeMsg struct{}
)

// painter is the model that Bubble Tea runs. The event loop owns it; what other goroutines touch is atomic
// or a channel.
type painter struct {
	Options
	in, out *os.File
	prog    *tea.Program
	model   tea.Model
	screen  *screen

	dirty, urgent, armed, closing bool // armed: the timer runs
	painted                       time.Time
	size, told                    tea.WindowSizeMsg // the terminal's, and the one the model knows
	reader                        *input            // nil while the terminal is not ours

	more         atomic.Bool // another event of the user's is on its way
	answered     chan struct{}
	answeredOnce sync.Once
	asked        time.Time // when the questions were put

	cooked atomic.Pointer[term.State] // the terminal's state before us; nil while it is not ours
	leave  atomic.Pointer[string]     // what gives it back, as of the last frame
	child  atomic.Pointer[os.Process] // that has the terminal now
	crash  atomic.Pointer[PanicError]
	signal atomic.Pointer[SignalError]
	lost   error // the terminal is gone
	deaf   error // nothing can be read from it any more
	ends   chan os.Signal
	goesOn chan struct{} // SIGCONT came while the terminal was not ours
}

// filter sees each message before Bubble Tea does, and serves those that concern the terminal.
func (p *painter) filter(_ tea.Model, msg tea.Msg) (pass tea.Msg) {
	defer p.caught()
	if p.crash.Load() != nil {
		if _, ok := msg.(tea.QuitMsg); !ok {
			return nil
		}
	}
	switch m := msg.(type) {
	case tea.QuitMsg, tea.InterruptMsg:
		p.closing = true
	case tea.WindowSizeMsg:
		if m.Width <= 0 || m.Height <= 0 || m == p.size {
			return nil
		}
		p.setSize(m)
	case tea.ColorProfileMsg:
		p.screen.setProfile(m.Profile)
	case tea.ModeReportMsg:
		switch {
		case m.Mode == ansi.ModeSynchronizedOutput && m.Value == ansi.ModeReset:
			p.screen.setSync()
		case m.Mode == ansi.ModeUnicodeCore && m.Value == ansi.ModeReset:
			p.screen.setGraphemes()
		}
	case tea.RawMsg:
		b := asBytes(m.Msg)
		p.write(b)
		if p.getenv("TMUX") != "" && strings.HasPrefix(string(b), clipboard) {
			p.write([]byte(ansi.TmuxPassthrough(string(b)))) // as tmux is set up it takes one or the other
		}
		return nil
	case notifyMsg:
		p.write([]byte(notification(string(m), p.screen.term, p.getenv("TMUX") != "")))
		return nil
	case deafMsg:
		p.deaf, p.closing = m.err, true
		return tea.QuitMsg{}
	case redrawMsg:
		p.screen.redraw()
		p.urgent = true
		return paintMsg{}
	case retakeMsg: // someone stopped us without asking, and used the terminal
		if _, err := term.MakeRaw(p.in.Fd()); err != nil {
			return p.fail(err)
		}
		p.write([]byte(p.leaving())) // what was pushed then is not pushed twice
		p.screen.enter()
		p.urgent = true
		return paintMsg{}
	case tea.SuspendMsg:
		p.release()
		p.stopProcess()
		return p.retake(tea.ResumeMsg{})
	case execMsg:
		p.release()
		err := p.run(m.cmd)
		var after tea.Msg = paintMsg{}
		if m.done != nil {
			after = p.guardMsg(m.done(err))
		}
		return p.retake(after)
	}
	if reflect.TypeOf(msg) == reflect.TypeOf(tea.Exec(nil, nil)()) {
		panic("tea.Exec cannot be served here: use paint.Exec")
	}
	return msg
}

func (p *painter) run(cmd *exec.Cmd) error {
	if cmd.Stdin == nil {
		cmd.Stdin = p.in
	}
	if cmd.Stdout == nil {
		cmd.Stdout = p.out
	}
	if cmd.Stderr == nil {
		cmd.Stderr = p.Err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	p.child.Store(cmd.Process)
	defer p.child.Store(nil)
	return cmd.Wait()
}

// retake makes the terminal ours again and goes on with msg.
func (p *painter) retake(msg tea.Msg) tea.Msg {
	if err := p.take(); err != nil {
		return p.fail(err)
	}
	p.screen.enter()
	p.setSize(p.terminalSize())
	if msg == nil {
		return paintMsg{}
	}
	return msg
}

// Init is called once, after Bubble Tea started its ticker and before the first View.
func (p *painter) Init() tea.Cmd {
	defer p.caught()
	go func() { _ = p.prog.ReleaseTerminal() }() // stops the ticker, which would wake us for ever (doc.go)
	return tea.Batch(p.guard(p.model.Init()), p.tell())
}

// tell lets the model know a new size before it sees anything else.
func (p *painter) tell() (cmd tea.Cmd) {
	if p.told != p.size {
		p.told = p.size
		p.dirty, p.urgent = true, true
		p.model, cmd = p.model.Update(p.size)
	}
	return p.guard(cmd)
}

func (p *painter) Update(msg tea.Msg) (_ tea.Model, cmd tea.Cmd) {
	defer p.caught()
	if k, ok := msg.(keyed); ok {
		if h, ok := p.model.(Hurried); ok {
			h.More(k.more)
		}
		msg = k.KeyPressMsg
	}
	p.dirty = true
	p.urgent = p.urgent || asUser(msg)
	told := p.tell()
	switch msg.(type) {
	case paintMsg:
		p.armed = false
		return p, told
	case tea.WindowSizeMsg:
		return p, told
	}
	p.model, cmd = p.model.Update(msg)
	return p, tea.Batch(told, p.guard(cmd))
}

// View is called after each Update: it paints, or leaves the paint to a timer or to the event that is on its way.
func (p *painter) View() (none tea.View) {
	defer p.caught()
	if !p.dirty || p.closing || p.crash.Load() != nil {
		return none
	}
	if wait := p.pace() - time.Since(p.painted); wait > 0 && (!p.urgent || p.more.Load()) {
		if !p.armed {
			p.armed = true
			time.AfterFunc(wait, func() { p.prog.Send(paintMsg{}) })
		}
		return none
	}
	p.dirty, p.urgent = false, false
	out := p.screen.frame(p.model.View())
	if leave := p.screen.leave; leave != p.leaving() {
		p.leave.Store(&leave)
	}
	if p.asked.IsZero() {
		p.asked = time.Now()
		out = append(out, p.questions()...)
		go p.detectProfile()
	}
	p.write(out)
	p.painted = time.Now()
	if m, ok := p.model.(Unfinished); ok && m.Again() {
		go p.prog.Send(againMsg{}) // the loop that calls us takes it
	}
	return none
}

func (p *painter) pace() time.Duration {
	if m, ok := p.model.(Paced); ok {
		return max(m.Pace(), Frame)
	}
	return Frame
}

// questions go behind the first frame. The last one is answered by every terminal: when its answer is there,
// no other is on its way any more.
func (p *painter) questions() string {
	if p.screen.plain {
		p.answeredOnce.Do(func() { close(p.answered) })
		return ""
	}
	ask := ansi.RequestKittyKeyboard + ansi.RequestBackgroundColor + ansi.RequestPrimaryDeviceAttributes
	if p.knowsModes() {
		ask = ansi.RequestModeSynchronizedOutput + ansi.RequestModeUnicodeCore + ask
	}
	return ask
}

// detectProfile asks terminfo and tmux what colours there are, which may take a process: after the first paint.
func (p *painter) detectProfile() {
	if c := colorprofile.Detect(p.out, p.Env); c > colorprofile.Env(p.Env) {
		p.prog.Send(tea.ColorProfileMsg{Profile: c})
	}
}

func (p *painter) write(b []byte) {
	if len(b) == 0 || p.lost != nil {
		return
	}
	if _, err := p.out.Write(b); err != nil {
		go p.prog.Send(p.fail(err))
	}
}

// fail ends the program because the terminal is gone.
func (p *painter) fail(err error) tea.Msg {
	if p.lost == nil {
		p.lost = err
	}
	p.closing = true
	return tea.QuitMsg{}
}

func (p *painter) setSize(size tea.WindowSizeMsg) {
	if size != p.size {
		p.size = size
		p.screen.resize(size.Width, size.Height)
	}
}

func asBytes(v any) []byte {
	switch v := v.(type) {
	case []byte:
		return v
	case string:
		return []byte(v)
	case interface{ String() string }:
		return []byte(v.String())
	}
	return nil
}
