package tui

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"varve/internal/harness/drive"
	"varve/internal/session"
	"varve/internal/words"
)

// LinearOptions say how the plain mode starts.
type LinearOptions struct {
	In       io.Reader
	Out      io.Writer
	Terminal bool   // In is one: a person types, and what is pasted comes at once
	Prompt   string // sent at once; with Draft an empty line sends it
	Draft    bool
	GoOn     bool             // go on with the paused turn
	Signals  <-chan os.Signal // SIGINT stops the turn, twice it quits; another one quits
	Now      func() time.Time
}

// How long lines that follow each other are one paste, how long nothing answers a
// question that has just come, and how often it is said that work goes on.
const (
	pasteGap  = 40 * time.Millisecond
	stillGoes = 30 * time.Second
)

// linear is the interface as lines of text, for screen readers and for terminals
// that show nothing else: what happens is told once, in its order, each thing on a
// line that begins with who speaks; what belongs to it is indented, so that no text
// of a model or a tool can pass for a line of the program's. Nothing is drawn over,
// coloured or animated. linear_say.go has what is said,
// linear_take.go what is taken, linear_commands.go what begins with "/".
type linear struct {
	LinearOptions
	ctx     context.Context
	a       Agent
	id      Identity
	tr      *transcript
	state   session.State
	update  drive.Update
	version uint64

	told      int          // rows before this number were told
	calls     map[*row]int // how far calls were told
	order     []*row       // that are not over
	was       string       // what goes on, as it was said last
	full      bool         // the window is nearly full, and that was said
	retry     time.Time    // of the wait that was said last
	sent      int          // messages from here that were not told yet: they stand there
	question  session.Seq  // that was told
	answered  session.Seq  // the one that was answered last
	asked     time.Time    // when
	rule      string
	broken    bool   // the question can't be shown
	draft     string // that an empty line sends
	half      string // of a message whose lines end in \
	confirm   string // a command that is given once more to be done
	over      bool   // nothing more comes in
	done      bool
	interrupt time.Time
	wrote     error       // why nothing more can be said, or why it ended
	asides    int         // what is done beside, and did not answer yet
	back      chan func() // their answers
}

// EndedError says that a signal ended the plain mode.
type EndedError struct{ os.Signal }

func (e EndedError) Error() string { return "ended by " + e.String() }

// RunLinear shows a session as lines until it is left, and returns what is written
// and not sent. The error is what Follow or the output said, an [EndedError], or
// nil.
func RunLinear(ctx context.Context, a Agent, o LinearOptions) (draft string, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if o.Now == nil {
		o.Now = time.Now
	}
	p := &linear{LinearOptions: o, ctx: ctx, a: a, id: a.Identity(), calls: map[*row]int{}, back: make(chan func())}
	p.tr = newTranscript(look{workspace: p.id.Workspace, now: o.Now, ink: func(_, s string) string { return s }})
	err = p.run()
	return p.draft, err
}

func (p *linear) run() error {
	p.greet()
	entries, err := p.a.Tail(p.ctx, 300)
	if err != nil {
		p.say("Notice, error: %s", err)
	}
	p.tr.add(entries)
	p.rows()
	updates, lines := make(chan updateMsg, 1), make(chan string)
	follow := func() {
		after, version := p.tr.last, p.version
		go func() {
			u, err := p.a.Follow(p.ctx, after, version)
			updates <- updateMsg{Update: u, err: err}
		}()
	}
	follow()
	go p.read(lines)
	still := time.NewTicker(stillGoes)
	defer still.Stop()
	for first := true; !p.done && p.wrote == nil; {
		in := lines
		if !p.ready() {
			in = nil // it waits where it comes from
		}
		select {
		case m := <-updates:
			if m.err != nil {
				return m.err
			}
			p.updated(m.Update)
			if first {
				first = false
				p.begin()
			}
			follow()
		case line, ok := <-in:
			if !ok {
				p.over, lines = true, nil
				p.ended()
				continue
			}
			p.line(line, lines)
		case s := <-p.Signals:
			p.signal(s)
		case answer := <-p.back:
			p.asides--
			answer()
			p.ended()
		case <-still.C:
			p.still()
		}
	}
	return p.wrote
}

// read hands over what comes in, line by line.
func (p *linear) read(lines chan<- string) {
	defer close(lines)
	b := bufio.NewReaderSize(p.In, 1<<16)
	for {
		line, err := b.ReadString('\n')
		if line != "" {
			select {
			case lines <- strings.TrimRight(line, "\r\n"):
			case <-p.ctx.Done():
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// ready reports whether a line would be taken. Who types may always write; what
// comes from a file waits until the turn is over, or for its question.
func (p *linear) ready() bool {
	if p.Terminal || p.version == 0 {
		return p.version > 0
	}
	return p.question != 0 || p.sent == 0 && p.asides == 0 && !p.works()
}

// aside does what may take a while, and then what that answered.
func (p *linear) aside(does func() (then func())) {
	p.asides++
	go func() {
		then := does()
		select {
		case p.back <- then:
		case <-p.ctx.Done():
		}
	}()
}

// works reports whether something goes on here.
func (p *linear) works() bool {
	s := p.state
	return p.update.Ours && (working(s) && s.Branch.Turn.Run == s.Branch.Run || compacting(s)) && !p.update.Busy
}

func (p *linear) paused() bool {
	t := p.state.Branch.Turn
	return t != nil && !p.update.Busy && (!p.update.Ours || t.Run != p.state.Branch.Run)
}

func (p *linear) updated(u drive.Update) {
	if p.version > 0 {
		for _, e := range u.Entries {
			if wentBack(e) {
				p.say("Notice: another window went back to an earlier message; what follows goes on from there.")
			}
		}
	}
	fault := p.update.Fault
	p.tr.add(u.Entries)
	p.tr.works(u.Ours || u.Busy)
	first := p.version == 0
	p.update, p.state, p.version = u, u.State, u.Version
	for _, e := range u.Entries {
		if _, ok := e.Event.(session.UserSaid); ok && p.sent > 0 {
			p.sent--
		}
	}
	p.rows()
	for _, e := range u.Entries {
		if ev, ok := e.Event.(session.ToastPosted); ok && !first {
			p.notice(ev)
		}
	}
	if u.Fault != nil && (fault == nil || fault.Error() != u.Fault.Error()) {
		p.say("Notice, error: %s", u.Fault)
	}
	percent := drive.Unattended(u.State)
	if percent > 0 && !p.full {
		p.say("Notice, warning: %s", words.Unattended(percent))
	}
	p.full = percent > 0
	p.waits()
	p.goes()
	p.asks()
	p.ended()
}

// begin does what the program was started for.
func (p *linear) begin() {
	if p.id.Draft != "" && !p.Draft {
		p.draft = p.id.Draft
		p.say("Written before and not sent: %s\nAn empty line sends it, /drop forgets it.", p.draft)
	}
	switch {
	case p.Prompt != "" && p.Draft:
		p.draft = p.Prompt
		p.say("Suggested message: %s\nAn empty line sends it.", p.Prompt)
	case p.Prompt != "":
		p.message(p.Prompt)
	case p.GoOn:
		p.submit(drive.Resume{})
	case p.paused():
		p.say("A turn was left open. An empty line goes on with it, a message does too, /stop ends it.")
	}
}

// ended leaves where nothing more comes in and nothing goes on.
func (p *linear) ended() {
	if !p.over || p.version == 0 {
		return
	}
	switch {
	case p.question != 0:
		q := p.question
		p.question = 0
		p.say("Nothing more comes in, so this is refused.")
		p.submit(drive.Answer{Question: q, Answer: "deny"})
	case p.sent == 0 && p.asides == 0 && !p.works():
		p.done = true
	}
}

// signal is Ctrl+C, or the end.
func (p *linear) signal(s os.Signal) {
	again := p.Now().Sub(p.interrupt) < twiceWithin
	switch {
	case s != syscall.SIGINT:
		p.wrote = EndedError{s}
	case again:
		p.done = true
	case p.works():
		p.interrupt = p.Now()
		p.say("Stopping. Ctrl+C again quits.")
		p.submit(drive.Cancel{By: "user"})
	default:
		p.interrupt = p.Now()
		p.say("Ctrl+C again quits.")
	}
}

// submit asks for a command, and says at once why it is refused.
func (p *linear) submit(cmd drive.Command) bool {
	err := p.a.Submit(p.ctx, cmd)
	if err != nil {
		p.refused(err)
	}
	return err == nil
}

func (p *linear) refused(err error) {
	switch {
	case errors.Is(err, drive.ErrNothing):
		p.say("There is nothing to do.")
	case !errors.Is(err, context.Canceled):
		p.say("Notice, error: %s", words.OneLine(err.Error()))
	}
}
