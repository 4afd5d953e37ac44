package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"varve/internal/harness/drive"
	"varve/internal/session"
	"varve/internal/setup"
	"varve/internal/tui/markdown"
	"varve/internal/tui/plain"
)

// A fakeAgent is a session in memory. A test records events on its tape; what
// the screens ask for is written down.
type fakeAgent struct {
	*tape
	ident Identity

	mu       sync.Mutex
	wake     chan struct{}
	fold     *session.Fold
	folded   int
	pulses   []drive.Pulse
	version  uint64
	busy     bool
	notOurs  bool
	fault    error
	bodies   map[want]string // of what the tape holds elsewhere
	noBody   error
	answers  func(drive.Command) error // nil accepts
	asked    []drive.Command
	did      []string // what else was asked for
	branches fakeBranches
	kept     fakeSettings
	reports  fakeReports
	fakeSessions
	fakeNotices
	models  []ModelInfo
	offers  []Offer
	files   []string
	old     []string // the history
	rule    string
	noRule  error // of Allow
	lost    bool  // the session's file is gone
	noDraft error // of SaveDraft

	noTail, noOld, noFiles, noContext, noShell error

	slow, slowDraft chan struct{} // Body and SaveDraft take until it is closed
	other           *fakeAgent
	noOther         error
	older           error      // of Before
	updating        bool       // Update or View runs: nothing may be asked for
	broke           []string   // what was, all the same
	followed        chan error // an error that Follow returns
}

func newFakeAgent(t testing.TB) *fakeAgent {
	return &fakeAgent{
		tape: newTape(t), wake: make(chan struct{}), fold: session.NewFold(), followed: make(chan error, 1), rule: "bash(go test ./...)",
		ident: Identity{
			Session: "s", Workspace: "/home/ada/work/greet", Home: "/home/ada", GitBranch: "main", Mode: "ask", Program: "varve 0.1.0",
			Model: session.Model{Provider: "acme", API: "openai-chat", Model: "large"},
		},
	}
}

// asks notes a call of the screens.
func (a *fakeAgent) asks(what string, args ...any) {
	what = fmt.Sprintf(what, args...)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.updating {
		a.broke = append(a.broke, what)
	}
	a.did = append(a.did, what)
}

// tell lets who follows see what was recorded.
func (a *fakeAgent) tell() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, e := range a.entries[a.folded:] {
		if err := a.fold.Apply(e); err != nil {
			a.t.Fatal(err)
		}
	}
	a.folded = len(a.entries)
	a.version++
	close(a.wake)
	a.wake = make(chan struct{})
}

func (a *fakeAgent) Tail(_ context.Context, n int) ([]session.Entry, error) {
	a.asks("tail")
	return a.entries[max(len(a.entries)-n, 0):], a.noTail
}

func (a *fakeAgent) Before(_ context.Context, q session.Seq, n int) ([]session.Entry, error) {
	a.asks("before %d", q)
	if a.older != nil {
		return nil, a.older
	}
	return a.entries[max(int(q)-1-n, 0) : q-1], nil
}

func (a *fakeAgent) Follow(ctx context.Context, after session.Seq, version uint64) (drive.Update, error) {
	for {
		a.mu.Lock()
		wake := a.wake
		if a.folded > int(after) || a.version > version {
			u := drive.Update{
				Entries: slices.Clone(a.entries[min(int(after), a.folded):a.folded]), State: a.fold.State("main"), Pulses: a.pulses, Version: a.version,
				Fault: a.fault, Ours: !a.notOurs && !a.busy, Busy: a.busy,
			}
			a.mu.Unlock()
			return u, nil
		}
		a.mu.Unlock()
		select {
		case <-wake:
		case err := <-a.followed:
			return drive.Update{}, err
		case <-ctx.Done():
			return drive.Update{}, ctx.Err()
		}
	}
}

func (a *fakeAgent) Submit(_ context.Context, cmd drive.Command) error {
	a.asks("submit %T", cmd)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.answers != nil {
		if err := a.answers(cmd); err != nil {
			return err
		}
	}
	a.asked = append(a.asked, cmd)
	return nil
}

func (a *fakeAgent) Body(_ context.Context, q session.Seq, b int) ([]byte, error) {
	a.asks("body %d/%d", q, b)
	if a.slow != nil {
		<-a.slow
	}
	if s, ok := a.bodies[want{q, b}]; ok {
		return []byte(s), nil
	}
	if a.noBody != nil {
		return nil, a.noBody
	}
	p, err := a.entries[q-1].Part(b)
	if err == nil && p.Ref != nil {
		err = errors.New("no such content")
	}
	return p.Bytes, err
}

// Shell does not end by itself where the command says so.
func (a *fakeAgent) Shell(ctx context.Context, command string) error {
	a.asks("shell %s", command)
	if command == "hang" {
		<-ctx.Done()
		a.mu.Lock() // it is told, not asked, whenever that is
		a.did = append(a.did, "shell "+command+" ended")
		a.mu.Unlock()
	}
	return a.noShell
}

func (a *fakeAgent) Files(context.Context) ([]string, error) {
	a.asks("files")
	return a.files, a.noFiles
}

func (a *fakeAgent) Switch(_ context.Context, id string) (Identity, error) {
	a.asks("switch %s", id)
	if a.noOther != nil {
		return Identity{}, a.noOther
	}
	return a.other.ident, nil
}

func (a *fakeAgent) UseModel(_ context.Context, m session.Model) (Identity, error) {
	a.asks("use %s", m)
	id := a.ident
	id.Model, id.Setup = m, false
	return id, nil
}

func (a *fakeAgent) Offers(context.Context) ([]Offer, error) {
	a.asks("offers")
	return a.offers, nil
}

func (a *fakeAgent) Take(_ context.Context, id, secret string) (Identity, error) {
	a.asks("take %s %s", id, secret)
	who := a.ident
	who.Setup, who.Draft = false, "The tests fail."
	return who, nil
}

func (a *fakeAgent) Rule(context.Context, session.ItemID) (string, error) {
	a.asks("rule")
	return a.rule, nil
}

func (a *fakeAgent) Allow(_ context.Context, rule string) error {
	a.asks("allow %s", rule)
	return a.noRule
}

func (a *fakeAgent) Remember(_ context.Context, line string) error {
	a.asks("remember %s", line)
	return a.noOld
}

func (a *fakeAgent) History(context.Context) ([]string, error) {
	a.asks("history")
	return a.old, a.noOld
}

func (a *fakeAgent) SaveDraft(_ context.Context, text string) error {
	a.asks("draft %s", text)
	if a.slowDraft != nil {
		<-a.slowDraft
	}
	return a.noDraft
}

func (a *fakeAgent) Lost(context.Context) bool { a.asks("lost"); return a.lost }

func (a *fakeAgent) Context(context.Context) (ContextInfo, error) {
	a.asks("context")
	return aContext(), a.noContext
}

func (a *fakeAgent) Editor() []string   { return []string{"ed"} }
func (a *fakeAgent) Identity() Identity { return a.ident }

// A stage is the interface on a fake agent, in a bubble with a clock of its
// own (testing/synctest): commands run beside it and what they answer is
// handled one by one, as by Bubble Tea. Nothing of it waits in real time.
type stage struct {
	*Root
	a     *fakeAgent
	t     *testing.T
	w, h  int
	came  chan tea.Msg
	other []tea.Msg // messages that are for Bubble Tea or the painter
	quit  bool
	stop  context.CancelFunc
	paint string // the last frame, as it was drawn
}

// colourOutside colours a line of code, so that the clock of the regular
// expressions that do so runs for the next second: one that is started in a
// bubble never ends.
func colourOutside() {
	d := markdown.New(markdown.Options{})
	d.Append("```sh\nls\n```\n")
	d.Finish()
	for d.Lines(80); d.Pending(); {
		d.Lines(80)
	}
}

// onStage plays a scene.
func onStage(t *testing.T, w, h int, o Options, set, play func(*stage)) {
	t.Helper()
	colourOutside()
	over := make(chan struct{})
	defer close(over)
	go func() { // a scene may take longer than the clock runs
		for tick := time.Tick(300 * time.Millisecond); ; {
			select {
			case <-tick:
				colourOutside()
			case <-over:
				return
			}
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		s := &stage{t: t, a: newFakeAgent(t), w: w, h: h, came: make(chan tea.Msg, 1000), stop: stop}
		if set != nil {
			set(s)
		}
		s.a.tell()
		s.Root = New(ctx, s.a, o)
		s.start(s.Init())
		s.send(tea.WindowSizeMsg{Width: w, Height: h})
		play(s)
		for _, x := range s.a.broke {
			t.Errorf("I/O in Update or View: %s", x)
		}
		stop()
		time.Sleep(time.Hour) // timers run out
	})
}

// scene is onStage without colours and with nothing special before.
func scene(t *testing.T, play func(*stage)) {
	t.Helper()
	onStage(t, 80, 24, Options{Colors: colorprofile.NoTTY}, nil, play)
}

// start runs a command beside the scene.
func (s *stage) start(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	go func() {
		msg := cmd()
		if msg != nil {
			s.came <- msg
		}
	}()
}

// send handles a message, and whatever comes of it before the clock moves.
func (s *stage) send(msgs ...tea.Msg) {
	for _, m := range msgs {
		s.handle(m)
		s.settle()
	}
}

func (s *stage) settle() {
	for n := 0; ; n++ {
		if n > 10_000 {
			s.t.Fatal("messages without end")
		}
		synctest.Wait()
		select {
		case m := <-s.came:
			s.handle(m)
			continue
		default:
		}
		return
	}
}

func (s *stage) handle(m tea.Msg) {
	switch m := m.(type) {
	case tea.BatchMsg:
		for _, c := range m {
			s.start(c)
		}
		return
	case tea.QuitMsg:
		s.quit = true
		return
	}
	name := fmt.Sprintf("%T", m)
	if strings.HasPrefix(name, "paint.") || strings.HasPrefix(name, "tea.Suspend") || strings.HasPrefix(name, "tea.exec") || strings.HasPrefix(name, "tea.Raw") {
		s.other = append(s.other, m)
		return
	}
	s.watch(true)
	_, cmd := s.Update(m)
	s.frameNow()
	again := s.Again()
	s.watch(false)
	s.start(cmd)
	if again {
		s.came <- againMsg{}
	}
}

// againMsg is what the painter sends after a frame that was not all.
type againMsg struct{}

func (s *stage) watch(on bool) { s.a.mu.Lock(); s.a.updating = on; s.a.mu.Unlock() }

// frameNow draws, and holds what every frame must be: as wide and as high as
// the window, and nothing in it can drive the terminal.
func (s *stage) frameNow() tea.View {
	v := s.View()
	s.paint = v.Content
	lines := strings.Split(v.Content, "\n")
	if len(lines) > s.frame.H && s.frame.H > 0 {
		s.t.Errorf("%d lines in a window of %d:\n%s", len(lines), s.frame.H, ansi.Strip(v.Content))
	}
	for _, l := range lines {
		bare := ansi.Strip(l)
		if n := plain.Width(bare); n > max(s.frame.W, 1) {
			s.t.Errorf("a line of %d columns in a window of %d: %q", n, s.frame.W, bare)
		}
		if plain.Clean(bare) != bare {
			s.t.Errorf("a line that is not clean: %q", bare)
		}
	}
	if c := v.Cursor; c != nil && (c.X < 0 || c.X >= s.frame.W || c.Y < 0 || c.Y >= s.frame.H) {
		s.t.Errorf("the cursor is at %d,%d of %dx%d", c.X, c.Y, s.frame.W, s.frame.H)
	}
	return v
}

// now tells what was recorded, and lets it arrive.
func (s *stage) now() { s.a.tell(); s.settle() }

// asked lets a question arrive, and the moment pass in which letters are taken
// for those of a message.
func (s *stage) asked() {
	s.now()
	s.later(typingPause)
}

// later lets time pass, a little at a time, with what comes in it.
func (s *stage) later(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		time.Sleep(min(100*time.Millisecond, time.Until(end)))
		s.settle()
	}
}

// press presses keys as desk.press does: names in angle brackets.
func (s *stage) press(keys string) {
	for keys != "" {
		if end := strings.IndexByte(keys, '>'); keys[0] == '<' && end > 1 {
			s.send(keyOf(keys[1:end]))
			keys = keys[end+1:]
			continue
		}
		r := []rune(keys)[0]
		s.send(tea.KeyPressMsg{Code: r, Text: string(r)})
		keys = keys[len(string(r)):]
	}
}

// burst presses keys that came in one read: none waits for what comes of another.
func (s *stage) burst(keys ...string) {
	var cmds []tea.Cmd
	for _, k := range keys {
		_, cmd := s.Update(keyOf(k))
		cmds = append(cmds, cmd)
	}
	for _, cmd := range cmds {
		s.start(cmd)
	}
	s.settle()
}

func (s *stage) screen() string {
	lines := strings.Split(ansi.Strip(s.frameNow().Content), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

func (s *stage) sees(parts ...string) {
	s.t.Helper()
	for _, p := range parts {
		if !strings.Contains(s.screen(), p) {
			s.t.Errorf("no %q on the screen:\n%s", p, s.screen())
		}
	}
}

func (s *stage) lacks(parts ...string) {
	s.t.Helper()
	for _, p := range parts {
		if strings.Contains(s.screen(), p) {
			s.t.Errorf("%q is on the screen:\n%s", p, s.screen())
		}
	}
}

// commands are those that were accepted since the last call, as text.
func (s *stage) commands() string {
	s.a.mu.Lock()
	defer s.a.mu.Unlock()
	var out []string
	for _, c := range s.a.asked {
		switch c := c.(type) {
		case drive.Say:
			out = append(out, fmt.Sprintf("say %q steer=%v", c.Text, c.Steer))
		case drive.Answer:
			out = append(out, fmt.Sprintf("answer %d %s rule=%q words=%q", c.Question, c.Answer, c.Rule, c.Words))
		default:
			out = append(out, fmt.Sprintf("%T%+v", c, c))
		}
	}
	s.a.asked = nil
	return strings.Join(out, "; ")
}

func (s *stage) wantCommands(want string) {
	s.t.Helper()
	if got := s.commands(); got != want {
		s.t.Errorf("asked for %q, want %q", got, want)
	}
}

func (s *stage) wantDraft(want string) {
	s.t.Helper()
	if got := s.chat.comp.Draft().Whole(); got != want {
		s.t.Errorf("the draft is %q, want %q", got, want)
	}
}

// asksOf counts what the agent was asked for.
func (s *stage) asksOf(what string) (n int) {
	s.a.mu.Lock()
	defer s.a.mu.Unlock()
	for _, d := range s.a.did {
		if strings.HasPrefix(d, what) {
			n++
		}
	}
	return n
}

// begun opens the session: its first lines, a model, a run.
func (s *stage) begun() {
	s.a.put(session.SessionCreated{Format: session.Format, ID: "s", Workspace: "/home/ada/work/greet"})
	s.a.put(session.SessionConfigured{PermissionMode: "ask"})
	s.a.put(session.ModelChosen{Model: s.a.ident.Model, By: "user"})
	s.a.put(session.RunStarted{Run: "r"})
}

// works is a turn that waits for its answer.
func (s *stage) works(text string) (turn session.Seq) {
	if len(s.a.entries) == 0 {
		s.begun()
	}
	turn = s.a.say(text)
	s.a.put(session.RequestSent{Purpose: "agent", Turn: turn, Attempt: 1, Model: s.a.ident.Model, Capacity: session.Capacity{N: 200_000, Source: "catalogue"}})
	return turn
}

// question is a call that waits for a person; shown is what is asked.
func (s *stage) question(tool, args string, shown ...string) (q session.Seq) {
	open := s.a.last()
	a := s.a.answer(open, "assistant", "I'll try.", "tool_call:"+tool, args)
	return s.asksFor(call(a, 2), shown...)
}

func (s *stage) asksFor(id session.ItemID, shown ...string) session.Seq {
	s.a.put(session.CallJudged{Call: id, Verdict: "ask"})
	return s.a.put(session.ApprovalRequested{Call: id, What: "command"}, shown...)
}

// queues is an input that waits.
func (s *stage) queues(kind, text string) session.Seq {
	return s.a.put(session.InputQueued{Kind: kind}, text)
}

// play is a golden moment: the scene at each size.
func moment(t *testing.T, name, look string, o Options, set, play func(*stage)) {
	t.Helper()
	var b strings.Builder
	for _, size := range goldenSizes {
		o.Colors = colorprofile.NoTTY
		onStage(t, size[0], size[1], o, set, func(s *stage) {
			if play != nil {
				play(s)
			}
			v := s.frameNow()
			fmt.Fprintf(&b, "\n==== %dx%d\n%s\n", size[0], size[1], s.screen())
			switch {
			case v.Cursor != nil:
				fmt.Fprintf(&b, "(the cursor is at column %d of row %d)\n", v.Cursor.X, v.Cursor.Y)
			default:
				fmt.Fprintln(&b, "(no cursor)")
			}
		})
	}
	golden(t, name, look, b.String())
}

// noColours are options of a screen without colour.
func noColours() Options { return Options{Looks: setup.Appearance{}, Colors: colorprofile.NoTTY} }

// plainTime is a moment.
func plainTime() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }
