package scripted

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"
)

// A program is a reply made ready: everything that can be computed before serving has been.
type program struct {
	status int
	header [][2]string
	body   []byte // whole reply; nil for a stream
	ops    []op
	issued issued
}

// An op is one action of a program.
type op struct {
	code  opCode
	b     []byte
	n     int   // opSplit: piece length; opFill: times; opLoop: rounds, 0 for ever
	cuts  []int // opSplit: offsets into b, instead of n
	flush bool
	usage bool // skipped when the request did not ask for usage and the vendor waits to be asked
	d     time.Duration
	wait  <-chan struct{}
	body  []op
}

type opCode uint8

const (
	opWrite opCode = iota
	opSplit
	opFill
	opSleep
	opFlush
	opWait
	opHang
	opClean
	opDirty
	opReset
	opLoop
)

// issued is what a stream made the client know: the vendor compares replayed history with it.
type issued struct {
	text, reasoning string
	callIDs         []string
}

// An encoder turns the high-level steps of one API kind into events. Each kind has one; they share the emitter.
type encoder interface {
	// encode emits the events of st, or reports that the kind has no such thing.
	encode(e *emitter, st Step) error
	// note records what an unnamed event tells the client.
	note(is *issued, data []byte)
}

func encoderFor(k Kind) (encoder, error) {
	switch k {
	case OpenAIChat:
		return &chat{}, nil
	}
	return nil, fmt.Errorf("kind %s has no encoder yet: use raw, chunk and event", k)
}

// An emitter collects ops and knows the modes that steps have switched on.
type emitter struct {
	p      *program
	enc    encoder
	ends   string
	every  int
	cuts   []int
	pace   int
	manual bool // flush only when told
}

func compile(k Kind, steps []Step) (*program, error) {
	enc, err := encoderFor(k)
	if err != nil {
		enc = nil // bytes need none
	}
	e := &emitter{p: &program{}, enc: enc, ends: "\n"}
	zip := false
	ops, err := e.run(k, steps, &zip)
	if err != nil {
		return nil, err
	}
	e.p.ops = ops
	if zip && e.p.body != nil {
		var buf bytes.Buffer
		w := gzip.NewWriter(&buf)
		_, _ = w.Write(e.p.body) // to memory
		_ = w.Close()
		e.p.body = buf.Bytes()
		e.p.header = append(e.p.header, [2]string{"Content-Encoding", "gzip"})
	}
	return e.p, nil
}

// run compiles a list of steps; loops compile their bodies with the same modes.
func (e *emitter) run(k Kind, steps []Step, zip *bool) ([]op, error) {
	outer := e.p.ops
	e.p.ops = nil
	for _, st := range steps {
		switch st.verb {
		case vLoop:
			body, err := e.run(k, st.body, zip)
			if err != nil {
				return nil, err
			}
			e.p.ops = append(e.p.ops, op{code: opLoop, n: st.n, body: body})
		case vGzip:
			*zip = true
		default:
			if err := e.step(k, st); err != nil {
				return nil, err
			}
		}
	}
	ops := e.p.ops
	e.p.ops = outer
	return ops, nil
}

func (e *emitter) step(k Kind, st Step) error {
	switch st.verb {
	case vChunk:
		e.event("", st.b)
	case vEvent:
		e.event(st.s, st.b)
	case vRaw:
		e.write(st.b, false)
	case vFill:
		e.p.ops = append(e.p.ops, op{code: opFill, b: st.b, n: st.n, flush: !e.manual})
	case vEnds:
		e.ends = map[string]string{"lf": "\n", "crlf": "\r\n", "cr": "\r"}[st.s]
	case vSplitEvery:
		e.every = st.n
	case vSplitAt:
		for _, s := range st.parts {
			n, _ := strconv.Atoi(s) // written by the parser
			e.cuts = append(e.cuts, n)
		}
	case vPace:
		e.pace = st.n
	case vSleep:
		e.add(op{code: opSleep, d: st.d})
	case vFlush:
		e.add(op{code: opFlush})
	case vAutoFlush:
		e.manual = st.n == 0
	case vHang:
		e.add(op{code: opHang})
	case vWait:
		e.add(op{code: opWait, wait: st.wait})
	case vClose:
		e.add(op{code: map[string]opCode{"clean": opClean, "dirty": opDirty, "reset": opReset}[st.s]})
	case vStatus:
		e.p.status = st.n
	case vHeader:
		e.p.header = append(e.p.header, [2]string{http.CanonicalHeaderKey(st.s), st.t})
	case vBody:
		e.p.body = st.b
		if e.p.body == nil {
			e.p.body = []byte{}
		}
	default:
		if e.enc == nil {
			return fmt.Errorf("kind %s has no encoder yet: use raw, chunk and event", k)
		}
		return e.enc.encode(e, st)
	}
	return nil
}

func (e *emitter) add(o op) { e.p.ops = append(e.p.ops, o) }

// event frames data as one SSE event with the line ends in force.
func (e *emitter) event(name string, data []byte) {
	b := make([]byte, 0, len(name)+len(data)+24)
	if name != "" {
		b = append(append(append(b, "event: "...), name...), e.ends...)
	}
	b = append(append(append(b, "data: "...), data...), e.ends...)
	e.write(append(b, e.ends...), false)
	if name == "" && e.enc != nil {
		e.enc.note(&e.p.issued, data)
	}
}

// write adds bytes with the split in force. A `split at` holds for one write.
func (e *emitter) write(b []byte, usage bool) {
	o := op{code: opWrite, b: b, flush: !e.manual, usage: usage}
	switch {
	case len(e.cuts) > 0:
		o.code, o.cuts, e.cuts = opSplit, e.cuts, nil
	case e.every > 0:
		o.code, o.n = opSplit, e.every
	case e.manual && !usage && len(e.p.ops) > 0:
		if last := &e.p.ops[len(e.p.ops)-1]; last.code == opWrite && !last.flush && !last.usage {
			last.b = append(last.b[:len(last.b):len(last.b)], b...)
			return
		}
	}
	e.add(o)
}

// paced calls emit for each token of s, with pauses between; without a pace it calls it once.
func (e *emitter) paced(s string, emit func(string)) {
	if e.pace <= 0 {
		emit(s)
		return
	}
	for s != "" {
		n := min(4, len(s))
		for n < len(s) && !utf8.RuneStart(s[n]) {
			n++
		}
		emit(s[:n])
		s = s[n:]
		e.add(op{code: opSleep, d: time.Second / time.Duration(e.pace)})
	}
}
