package paint

import (
	"io"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
)

// input reads the terminal from start to stop. It asks nothing of a clock while no sequence is open.
type input struct {
	src interface {
		io.ReadCloser
		Cancel() bool
	}
	stopping, stopped chan struct{}
}

func (p *painter) startInput() (*input, error) {
	src, err := uv.NewCancelReader(p.in)
	if err != nil {
		return nil, err
	}
	in := &input{src: src, stopping: make(chan struct{}), stopped: make(chan struct{})}
	chunks := make(chan []byte, 8)
	go in.read(chunks, func(err error) { p.prog.Send(deafMsg{err}) })
	go p.deliver(chunks)
	return in, nil
}

// stop ends reading, so that what is typed from now on is for someone else. What was read is still delivered.
func (in *input) stop() {
	close(in.stopping)
	if in.src.Cancel() {
		<-in.stopped
		_ = in.src.Close()
	}
}

// hangUp is how long a hang-up may take to say so itself, by its signal.
const hangUp = 200 * time.Millisecond

func (in *input) read(chunks chan<- []byte, deaf func(error)) {
	defer close(in.stopped)
	defer close(chunks)
	buf := make([]byte, 64<<10)
	for {
		n, err := in.src.Read(buf)
		if n > 0 {
			select {
			case chunks <- append([]byte(nil), buf[:n]...):
			case <-in.stopping:
				return
			}
		}
		if err != nil {
			go in.ended(err, deaf)
			return
		}
	}
}

// ended tells that nothing can be read any more, unless that was asked for. Who
// started us has died then, and another program has the terminal.
func (in *input) ended(err error, deaf func(error)) {
	select {
	case <-in.stopping:
	case <-time.After(hangUp):
		deaf(err)
	}
}

// deliver decodes what was read and sends it to the event loop. p.more says whether another event is on its
// way, so that the loop can leave the paint to the last one.
func (p *painter) deliver(chunks <-chan []byte) {
	var d decoder
	var armed time.Duration
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	for {
		var events []uv.Event
		eaten := d.eaten
		select {
		case b, ok := <-chunks:
			if !ok {
				return
			}
			events = d.feed(b)
			for range 64 { // what is there already, so that a key knows what stands behind it
				select {
				case b, ok := <-chunks:
					if ok {
						events = append(events, d.feed(b)...)
						continue
					}
				default:
				}
				break
			}
		case <-timer.C:
			events = d.expire()
		}
		wait := d.wait()
		if wait == 0 {
			timer.Stop()
		} else if wait != replyWait || armed != replyWait || d.eaten != eaten {
			timer.Reset(wait) // an unfinished answer is measured from its start, else typing would keep it open
		}
		armed = wait
		for i, e := range events {
			if i+1 < len(events) && isMotion(e) && isMotion(events[i+1]) {
				continue // only the last of a run of motions is news
			}
			if _, ok := e.(uv.PrimaryDeviceAttributesEvent); ok {
				p.answeredOnce.Do(func() { close(p.answered) })
			}
			more := i+1 < len(events) || len(chunks) > 0
			p.more.Store(more)
			if k, ok := e.(uv.KeyPressEvent); ok {
				hurried := len(chunks) > 0 || i+1 < len(events) && isWritten(events[i+1])
				p.prog.Send(keyed{tea.KeyPressMsg(k), hurried})
				continue
			}
			p.prog.Send(e) // the event loop turns Ultraviolet's events into Bubble Tea's messages
		}
	}
}

func isMotion(e uv.Event) bool {
	_, ok := e.(uv.MouseMotionEvent)
	return ok
}

// isWritten reports an event that a paste is made of. Esc behind Enter is two
// keys that a person pressed.
func isWritten(e uv.Event) bool {
	k, ok := e.(uv.KeyPressEvent)
	return ok && (k.Text != "" || k.Code == uv.KeyEnter || k.Code == uv.KeyTab || k.Mod == uv.ModCtrl && k.Code == 'j')
}

// asUser reports a message that a person caused and waits to see answered.
func asUser(msg tea.Msg) bool {
	switch msg.(type) {
	case tea.KeyPressMsg, tea.PasteMsg, tea.MouseClickMsg, tea.MouseReleaseMsg, tea.WindowSizeMsg:
		return true
	}
	return false
}
