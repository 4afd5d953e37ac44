package scripted

import (
	"encoding/json"
	"time"
)

// A Step is one instruction of a reply. High-level steps (Text, Call, Finish, …) become the chunks of the request's API
// kind; byte-level steps (Raw, Split, CloseDirty, …) are the same for every kind.
type Step struct {
	verb  verb
	s, t  string // text; name and value
	b     []byte // bytes or JSON
	n     int
	m     int
	d     time.Duration
	parts []string
	usage Usage
	body  []Step
	wait  <-chan struct{}
}

type verb uint8

const (
	vRole verb = iota + 1
	vText
	vReasoning
	vRefusal
	vCall
	vFinish
	vUsage
	vDone
	vDelta
	vChunk
	vEvent
	vRaw
	vFill
	vEnds
	vSplitEvery
	vSplitAt
	vPace
	vSleep
	vFlush
	vAutoFlush
	vClose
	vStatus
	vHeader
	vBody
	vGzip
	vHang
	vWait
	vLoop
)

// Role is the opening chunk that names the assistant and carries empty content.
func Role() Step { return Step{verb: vRole} }

// Text is one content delta per piece.
func Text(pieces ...string) Step { return Step{verb: vText, parts: pieces} }

// Reasoning is one reasoning delta per piece, in the given wire field ("" is the kind's usual one).
func Reasoning(field string, pieces ...string) Step {
	return Step{verb: vReasoning, s: field, parts: pieces}
}

// Refusal is the vendor's own refusal text.
func Refusal(text string) Step { return Step{verb: vRefusal, s: text} }

// Call is a complete tool call: a head with id and name, then args (a JSON object) in pieces of about equal length.
// With index < 0 the next free index is used; with pieces 0 head and arguments share one chunk.
func Call(index int, id, name, args string, pieces int) Step {
	return Step{verb: vCall, m: index, s: name, t: id, b: []byte(args), n: pieces}
}

// Finish states the vendor's finish reason.
func Finish(reason string) Step { return Step{verb: vFinish, s: reason} }

// UsageStep states token counts.
func UsageStep(u Usage) Step { return Step{verb: vUsage, usage: u} }

// Done is the kind's end marker (`data: [DONE]` on Chat).
func Done() Step { return Step{verb: vDone} }

// Delta is C(delta, finish) of wire.md §6.3: delta is JSON, finish "" is null.
func Delta(delta, finish string) Step { return Step{verb: vDelta, b: []byte(delta), s: finish} }

// Chunk is one SSE event with the given data, unnamed.
func Chunk(data string) Step { return Step{verb: vChunk, b: []byte(data)} }

// Event is one named SSE event.
func Event(name, data string) Step { return Step{verb: vEvent, s: name, b: []byte(data)} }

// Raw is bytes, as they are.
func Raw(b []byte) Step { return Step{verb: vRaw, b: b} }

// Fill is b, n times, without holding it in memory.
func Fill(n int, b []byte) Step { return Step{verb: vFill, n: n, b: b} }

// SplitEvery flushes after every n bytes from here on; 0 turns it off.
func SplitEvery(n int) Step { return Step{verb: vSplitEvery, n: n} }

// SplitAt flushes the next write at these offsets.
func SplitAt(offsets ...int) Step {
	st := Step{verb: vSplitAt}
	for _, n := range offsets {
		st.parts = append(st.parts, itoa(n))
	}
	return st
}

// Ends sets the line ends of the events from here on: "lf", "crlf" or "cr".
func Ends(how string) Step { return Step{verb: vEnds, s: how} }

// Pace sends text and arguments in tokens of about four bytes, perSecond of them; 0 turns it off.
func Pace(perSecond int) Step { return Step{verb: vPace, n: perSecond} }

// Sleep waits on the server's clock.
func Sleep(d time.Duration) Step { return Step{verb: vSleep, d: d} }

// Flush sends what is buffered, and the headers.
func Flush() Step { return Step{verb: vFlush} }

// AutoFlush says whether each step is flushed by itself (the default) or only at Flush.
func AutoFlush(on bool) Step {
	if on {
		return Step{verb: vAutoFlush, n: 1}
	}
	return Step{verb: vAutoFlush}
}

// CloseClean ends the reply here, well-formed. It is the default at the last step.
func CloseClean() Step { return Step{verb: vClose, s: "clean"} }

// CloseDirty ends the connection without the final chunk (HTTP/2: RST_STREAM): the client reads an unexpected EOF.
func CloseDirty() Step { return Step{verb: vClose, s: "dirty"} }

// CloseReset is CloseDirty with a TCP reset; bytes not yet read by the client may be lost.
func CloseReset() Step { return Step{verb: vClose, s: "reset"} }

// Status sets the HTTP status. It belongs before any bytes.
func Status(code int) Step { return Step{verb: vStatus, n: code} }

// Header sets a response header; an empty value removes a default one. See docs/scripted.md for {date+7s} and its like.
func Header(name, value string) Step { return Step{verb: vHeader, s: name, t: value} }

// Body is a whole reply with Content-Length. Its Content-Type is JSON if it starts as JSON, unless a Header says otherwise.
func Body(b []byte) Step { return Step{verb: vBody, b: b} }

// JSONBody is Body of a Go value.
func JSONBody(v any) (Step, error) {
	b, err := json.Marshal(v)
	return Body(b), err
}

// Gzip compresses the Body.
func Gzip() Step { return Step{verb: vGzip} }

// Hang sends nothing more until the client goes or the server closes.
func Hang() Step { return Step{verb: vHang} }

// Wait pauses the reply until ch is closed, the client goes, or the server closes.
func Wait(ch <-chan struct{}) Step { return Step{verb: vWait, wait: ch} }

// Loop plays steps n times; n 0 is until the client goes.
func Loop(n int, steps ...Step) Step { return Step{verb: vLoop, n: n, body: steps} }
